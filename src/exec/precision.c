/* precision.c - see ascribe/precision.h. */
#include "ascribe/precision.h"
#include "runtime.h"
#include <string.h>

double asc_precision_roundoff(asc_precision p) {
    switch (p) {
    case ASC_PRECISION_HIGH: /* left out: mm, hl, lh, each at most 2^-18 of the product */
        return 0x1p-16;
    case ASC_PRECISION_MEDIUM: /* both factors rounded to 8 significant bits */
        return 0x1p-8;
    case ASC_PRECISION_INT8: /* 127 steps to the largest number of the row */
        return 0x1p-7;
    default: /* bf16x6 leaves out ml, lm, ll: below 2^-25, so the f32 sums decide */
        return 0x1p-24;
    }
}

double asc_ctx_roundoff(const asc_ctx *ctx) {
    if (strcmp(ctx->device_name, "reference") == 0) return 0x1p-53;
    return asc_precision_roundoff(ctx->precision);
}
