/* op_matmul_bias.c - a matrix product with a bias in one op, so that rules for layers see the whole layer: y
 * = A B + bias, A and B as in matmul, the bias [N] added to every row. Gradient: matmul's for a and b; g
 * summed over all rows for the bias. The bias is added to the finished sum. Not linear in any one input (an
 * affine map), so it has no flags that say so. */
#include "ops.h"

asc_tensor *asc_matmul_bias(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, asc_tensor *bias, bool ta, bool tb) {
    return asc_apply(ctx, &asc_op_matmul_bias, &(asc_attrs){.i = {ta, tb}}, (asc_tensor *[]){a, b, bias}, 3);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 2);
    if (st == ASC_OK) st = asc_op_matmul.infer(ctx, c);
    if (st != ASC_OK) return st;
    if (c->in_shape[2].rank != 1 || c->in_shape[2].dims[0] != c->shape.dims[c->shape.rank - 1])
        return asc_infer_fail(ctx, c, "the bias must be [%lld]", (long long)c->shape.dims[c->shape.rank - 1]);
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *y = &a->out, *bias = &a->in[2];
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, strides[2][ASC_MAX_RANK] = {{0}};
    asc_ref_args product = *a;
    product.n_in = 2;
    asc_op_matmul.ref(&product);
    if (asc_nd_elems(y) == 0) return;
    for (int k = 0; k < y->rank; k++) strides[0][k] = y->strides[k];
    strides[1][y->rank - 1] = bias->strides[0];
    do y->data[off[0]] += bias->data[off[1]];
    while (asc_nd_next(y->rank, y->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    asc_vjp_args product = *a;
    product.n_in = 2;
    asc_op_matmul.vjp(&product);
    for (int k = 0; k < 2; k++) a->gin[k] = product.gin[k];
    if (a->need[2]) a->gin[2] = asc_unbroadcast(a->ctx, a->g, a->in[2]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL || a->tin[1] != NULL) {
        asc_jvp_args product = *a;
        product.n_in = 2;
        t = asc_op_matmul.jvp(&product);
    }
    if (a->tin[2] == NULL) return t;
    return t != NULL ? asc_add(a->ctx, t, a->tin[2])
                     : asc_broadcast(a->ctx, a->tin[2], asc_tensor_shape(a->y));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    return asc_add(ctx, asc_matmul(ctx, in[0], in[1], attrs->i[0] != 0, attrs->i[1] != 0), in[2]);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_call product = *c;
    product.n_in = 2;
    asc_op_matmul.cost(&product, out);
    out->flops += (double)asc_shape_elems(&c->shape);
    out->bytes_read += 4 * (double)asc_shape_elems(&c->in_shape[2]);
}

static bool sample(int i, asc_sample *out) {
    if (!asc_op_matmul.sample(i, out)) return false;
    const asc_shape *b = &out->in_shape[1];
    out->n_in = 3;
    out->in_shape[2] = ASC_SHAPE(b->dims[b->rank - (out->attrs.i[1] != 0 ? 2 : 1)]);
    out->lo[2] = -1;
    out->hi[2] = 1;
    return true;
}

static const asc_attr_def attr_defs[] = {{"ta", ASC_ATTR_BOOL, 0}, {"tb", ASC_ATTR_BOOL, 1}};

const asc_op asc_op_matmul_bias = {
    ASC_OP_FIELDS(MATMUL_BIAS, matmul_bias, 3, 3),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_GEMM,
    .cost = cost,
    .doc = "Matrix product over the last two axes plus a bias for each column: a whole linear layer.",
    .formula = "y[m,n] = sum_k A[m,k] B[k,n] + bias[n]",
};
