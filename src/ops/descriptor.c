/* descriptor.c - sample cases of ops with one input; sums of tangents. */
#include "descriptor.h"
#include "ops.h"

bool asc_sample_case(int i, const asc_case *cases, int n_cases, asc_sample *out) {
    if (i < 0 || i >= n_cases) return false;
    *out = (asc_sample){.attrs = cases[i].attrs,
                        .n_in = 1,
                        .in_dtype = {ASC_DTYPE_F32},
                        .in_shape = {cases[i].shape},
                        .lo = {-2},
                        .hi = {2}};
    return true;
}

asc_tensor *asc_add_or(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    if (a == NULL) return b;
    return b == NULL ? a : asc_add(ctx, a, b);
}
