/* op_pool_take.c - elements of spatial planes at i32 indices, as max_pool_index gives them: x [B,C,in] and
 * index [B,C,out] give y [B,C,out], y[b,c,o] = x[b,c] at row-major index[b,c,o] of its plane. An index
 * outside the plane (-1: a window without elements) gives 0. Transpose: pool_put. */
#include "pool.h"

asc_tensor *asc_pool_take(asc_ctx *ctx, asc_tensor *x, asc_tensor *index) {
    return asc_apply(ctx, &asc_op_pool_take, NULL, (asc_tensor *[]){x, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *x = &c->in_shape[0], *index = &c->in_shape[1];
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (index->rank != x->rank || index->dims[0] != x->dims[0] || index->dims[1] != x->dims[1])
        return asc_infer_fail(ctx, c, "x and index must agree in rank, batch and channels");
    c->dtype = ASC_DTYPE_F32;
    c->shape = *index;
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_planes x = asc_planes_of(&a->in[0]), index = asc_planes_of(&a->in[1]),
                     y = asc_planes_of(&a->out);
    const int64_t *in = x.size, *out = y.size, n = in[0] * in[1] * in[2], n_out = out[0] * out[1] * out[2];
    for (int64_t job = 0; job < y.batch * y.channels * n_out; job++) {
        const int64_t p = job / n_out, b = p / y.channels, c = p % y.channels, o = job % n_out,
                      o0 = o / (out[1] * out[2]), o1 = o / out[2] % out[1], o2 = o % out[2];
        const double at = index.data[b * index.b_stride + c * index.c_stride + o0 * index.stride[0] +
                                     o1 * index.stride[1] + o2 * index.stride[2]];
        double v = 0;
        if (at >= 0 && at < (double)n) {
            const int64_t k = (int64_t)at;
            v = x.data[b * x.b_stride + c * x.c_stride + k / (in[1] * in[2]) * x.stride[0] +
                       k / in[2] % in[1] * x.stride[1] + k % in[2] * x.stride[2]];
        }
        y.data[b * y.b_stride + c * y.c_stride + o0 * y.stride[0] + o1 * y.stride[1] + o2 * y.stride[2]] = v;
    }
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_pool_put(a->ctx, a->g, a->in[1], a->in[0]->shape.dims + 2);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_pool_take(a->ctx, a->tin[0], a->in[1]);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape x, index;
    } cases[] = {
        {{4, {1, 2, 3, 4}}, {4, {1, 2, 2, 2}}},
        {{3, {2, 3, 5}}, {3, {2, 3, 7}}},
        {{5, {1, 1, 2, 3, 2}}, {5, {1, 1, 1, 2, 3}}},
        {{3, {1, 1, 1}}, {3, {1, 1, 1}}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    double n = 1;
    for (int d = 2; d < cases[i].x.rank; d++) n *= (double)cases[i].x.dims[d];
    *out = asc_sample_indexed(cases[i].x, cases[i].index, n);
    out->lo[1] = -1; /* -1: no element */
    return true;
}

const asc_op asc_op_pool_take = {
    ASC_OP_FIELDS(POOL_TAKE, pool_take, 2, 2),
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Elements of spatial planes by i32 indices (from max_pool_index); 0 for indices outside.",
    .formula = "y[b,c,o] = x[b,c,index[b,c,o]]",
};
