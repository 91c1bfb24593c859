/* op_pool_put.c - the transpose of pool_take: y [B,C,size] is 0, and every g[b,c,o] is added to the element
 * of its plane that index[b,c,o] names. Windows may overlap: what meets is summed, in the order of o. Indices
 * outside the plane are left out. Gradient: pool_take. */
#include "pool.h"

asc_tensor *asc_pool_put(asc_ctx *ctx, asc_tensor *g, asc_tensor *index, const int64_t *size) {
    asc_attrs attrs = {.i = {0}};
    asc_window_set_size(&attrs, asc_spatial_rank(g), size);
    return asc_apply(ctx, &asc_op_pool_put, &attrs, (asc_tensor *[]){g, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const int64_t *size = c->attrs->i + ASC_WIN_SIZE;
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[1]))
        return asc_infer_fail(ctx, c, "values and indices differ in shape");
    const int n = c->in_shape[0].rank - 2;
    for (int d = 0; d < ASC_MAX_SPATIAL; d++)
        if (d < n ? size[d] < 0 : size[d] != 0)
            return asc_infer_fail(ctx, c, "spatial axis %d: no size of %lld", d, (long long)size[d]);
    asc_infer_planes(c, c->in_shape[0].dims[0], c->in_shape[0].dims[1], n, size);
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_planes g = asc_planes_of(&a->in[0]), index = asc_planes_of(&a->in[1]),
                     y = asc_planes_of(&a->out);
    const int64_t *in = y.size, *out = g.size, n = in[0] * in[1] * in[2], n_out = out[0] * out[1] * out[2];
    if (asc_nd_elems(&a->out) == 0) return;
    asc_nd_fill(&a->out, 0);
    for (int64_t job = 0; job < g.batch * g.channels * n_out; job++) {
        const int64_t p = job / n_out, b = p / g.channels, c = p % g.channels, o = job % n_out,
                      o0 = o / (out[1] * out[2]), o1 = o / out[2] % out[1], o2 = o % out[2];
        const double at = index.data[b * index.b_stride + c * index.c_stride + o0 * index.stride[0] +
                                     o1 * index.stride[1] + o2 * index.stride[2]];
        if (!(at >= 0 && at < (double)n)) continue;
        const int64_t k = (int64_t)at;
        y.data[b * y.b_stride + c * y.c_stride + k / (in[1] * in[2]) * y.stride[0] +
               k / in[2] % in[1] * y.stride[1] + k % in[2] * y.stride[2]] +=
            g.data[b * g.b_stride + c * g.c_stride + o0 * g.stride[0] + o1 * g.stride[1] + o2 * g.stride[2]];
    }
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_pool_take(a->ctx, a->g, a->in[1]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL) return NULL;
    return asc_pool_put(a->ctx, a->tin[0], a->in[1], a->attrs->i + ASC_WIN_SIZE);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape g;
        int64_t size[ASC_MAX_SPATIAL];
    } cases[] = {
        {{4, {1, 2, 3, 3}}, {3, 2}}, /* fewer elements than values: some meet */
        {{3, {2, 3, 2}}, {7}},
        {{5, {1, 1, 2, 2, 1}}, {2, 1, 3}},
        {{3, {1, 1, 1}}, {1}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    double n = 1;
    for (int d = 0; d < cases[i].g.rank - 2; d++) n *= (double)cases[i].size[d];
    *out = asc_sample_indexed(cases[i].g, cases[i].g, n);
    out->lo[1] = -1;
    asc_window_set_size(&out->attrs, cases[i].g.rank - 2, cases[i].size);
    return true;
}

static const asc_attr_def attr_defs[] = {{"size", ASC_ATTR_AXES, ASC_WIN_SIZE}};

const asc_op asc_op_pool_put = {
    ASC_OP_FIELDS(POOL_PUT, pool_put, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Values added up at i32 indices of zero planes: the transpose of pool_take.",
    .formula = "y[b,c,k] = sum_{o: index[b,c,o] = k} g[b,c,o]",
};
