/* norm.c - first and second derivatives of row normalisation, as recorded ops. */
#include "norm.h"
#include "ops.h"
#include "rows.h"

asc_tensor *asc_norm_fill(asc_ctx *ctx, const asc_tensor *a, double value) {
    return asc_full(ctx, ASC_SHAPE(a->shape.dims[a->shape.rank - 1]), value);
}

asc_tensor *asc_norm_centred(asc_ctx *ctx, asc_tensor *a) { return asc_sub(ctx, a, asc_row_mean(ctx, a)); }

asc_tensor *asc_norm_rstd(asc_ctx *ctx, asc_tensor *c, double eps) {
    return asc_rsqrt(ctx, asc_shift(ctx, asc_row_mean(ctx, asc_square(ctx, c)), eps));
}

static asc_tensor *mean_of(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return asc_row_mean(ctx, asc_mul(ctx, a, b));
}

asc_tensor *asc_norm_first(asc_ctx *ctx, asc_tensor *c, asc_tensor *r, asc_tensor *u) {
    asc_tensor *n = asc_mul(ctx, c, r);
    return asc_mul(ctx, r, asc_sub(ctx, u, asc_mul(ctx, n, mean_of(ctx, n, u))));
}

/* Written with n = c r, which keeps every factor near 1 where r itself may be large:
 * r^2 (3 n M(h n) M(u n) - n M(h u) - h M(u n) - u M(h n)). */
asc_tensor *asc_norm_second(asc_ctx *ctx, asc_tensor *c, asc_tensor *r, asc_tensor *u, asc_tensor *h) {
    asc_tensor *n = asc_mul(ctx, c, r);
    asc_tensor *hn = mean_of(ctx, h, n), *un = mean_of(ctx, u, n), *hu = mean_of(ctx, h, u);
    asc_tensor *along_n = asc_sub(ctx, asc_scale(ctx, asc_mul(ctx, hn, un), 3), hu);
    asc_tensor *sum = asc_sub(ctx, asc_mul(ctx, n, along_n), asc_mul(ctx, h, un));
    sum = asc_sub(ctx, sum, asc_mul(ctx, u, hn));
    return asc_mul(ctx, asc_square(ctx, r), sum);
}
