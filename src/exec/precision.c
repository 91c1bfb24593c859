/* precision.c - see ascribe/precision.h. */
#include "ascribe/precision.h"
#include "compiled.h"
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
    double u = asc_precision_roundoff(ctx->precision);
    const char *site;
    asc_precision level;
    bool used;
    for (size_t i = 0; asc_precision_at(ctx, i, &site, &level, &used); i++) {
        if (asc_precision_roundoff(level) > u) u = asc_precision_roundoff(level);
    }
    return u;
}

asc_status asc_set_precision_at(asc_ctx *ctx, const char *site, asc_precision level) {
    if (site == NULL || site[0] == '\0' || (unsigned)level >= ASC_N_PRECISIONS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a level of precision needs a site and a level");
    asc_capture_forget(ctx, NULL); /* recorded at the old levels */
    return asc_level_set_at(ctx, site, level);
}

void asc_emulate_levels(asc_ctx *ctx, bool on) {
    asc_runtime *rt = asc_runtime_of(ctx);
    rt->emulates = on && strcmp(ctx->device_name, "reference") != 0;
    asc_capture_forget(ctx, NULL); /* made the other way */
    asc_exec_cache_clear(ctx);
}

void asc_allow_int8(asc_ctx *ctx, bool allow) { asc_runtime_of(ctx)->allow_int8 = allow; }

asc_status asc_precision_check(asc_ctx *ctx) {
    const char *site;
    asc_precision level = ctx->precision;
    bool used, found = level == ASC_PRECISION_INT8;
    for (size_t i = 0; !found && asc_precision_at(ctx, i, &site, &level, &used); i++)
        found = level == ASC_PRECISION_INT8;
    if (!found || asc_runtime_of(ctx)->allow_int8) return ASC_OK;
    ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "int8 products are good for rankings, not for final numbers");
    return asc_hint(ctx, "use --precision high or medium, or --force-int8 (asc_allow_int8) if you mean it");
}
