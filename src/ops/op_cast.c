/* op_cast.c - a in another element type: i32 <-> f32, or stored weights (blocks, f16, bf16) expanded to f32.
 * f32 to i32 cuts towards 0, stays inside the i32 range and turns NaN into 0; i32 to f32 rounds above 2^24.
 * Gradient: f32 to f32 passes g, every other pair has none (integers do not vary, stored weights are
 * constants). */
#include "move.h"
#include <math.h>

static const asc_attr_def attr_defs[] = {{"dtype", ASC_ATTR_DTYPE, 0}};

asc_tensor *asc_cast(asc_ctx *ctx, asc_tensor *a, int dtype) {
    return asc_apply(ctx, &asc_op_cast, &(asc_attrs){.i = {dtype}}, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    int64_t to = c->attrs->i[0];
    asc_dtype from = c->in_dtype[0];
    bool plain = from == ASC_DTYPE_F32 || from == ASC_DTYPE_I32;
    bool stored = asc_dtype_of(from)->is_weight_only && asc_dtype_expand(from) != NULL;
    if (!(to == ASC_DTYPE_F32 && (plain || stored)) && !(to == ASC_DTYPE_I32 && plain))
        return asc_infer_fail(ctx, c, "no conversion to %s",
                              to >= 0 && to < ASC_N_DTYPES ? asc_dtype_of((asc_dtype)to)->name
                                                           : "an unknown type");
    c->dtype = (asc_dtype)to;
    c->shape = c->in_shape[0];
    return ASC_OK;
}

static double to_int(double x) {
    if (isnan(x)) return 0;
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : trunc(x);
}

static void ref(const asc_ref_args *a) {
    asc_nd_copy(&a->out, a->in[0].data, a->in[0].strides);
    if (a->attrs->i[0] != ASC_DTYPE_I32 || asc_nd_elems(&a->out) == 0) return;
    int64_t idx[ASC_MAX_RANK] = {0}, off = 0;
    do a->out.data[off] = to_int(a->out.data[off]);
    while (asc_nd_next(a->out.rank, a->out.dims, idx, 1, &a->out.strides, &off));
}

static bool smooth(const asc_tensor *from, const asc_attrs *attrs) {
    return from->dtype == ASC_DTYPE_F32 && attrs->i[0] == ASC_DTYPE_F32;
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0] && smooth(a->in[0], a->attrs)) a->gin[0] = a->g;
}

static asc_tensor *jvp(asc_jvp_args *a) { return smooth(a->in[0], a->attrs) ? a->tin[0] : NULL; }

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->bytes_read = asc_cost_bytes(c->in_dtype[0], (double)asc_shape_elems(&c->in_shape[0]));
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_dtype from, to;
        asc_shape shape;
    } cases[] = {
        {ASC_DTYPE_F32, ASC_DTYPE_F32, {.rank = 2, .dims = {3, 5}}},
        {ASC_DTYPE_I32, ASC_DTYPE_F32, {.rank = 1, .dims = {7}}},
        {ASC_DTYPE_F32, ASC_DTYPE_I32, {.rank = 3, .dims = {2, 1, 3}}},
        {ASC_DTYPE_I32, ASC_DTYPE_I32, {.rank = 0}},
        {ASC_DTYPE_F16, ASC_DTYPE_F32, {.rank = 2, .dims = {3, 5}}},
        {ASC_DTYPE_Q8_0, ASC_DTYPE_F32, {.rank = 2, .dims = {3, 32}}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){
        .n_in = 1, .in_dtype = {cases[i].from}, .in_shape = {cases[i].shape}, .lo = {-9}, .hi = {9}};
    out->no_grad[0] = cases[i].from != ASC_DTYPE_F32 || cases[i].to != ASC_DTYPE_F32;
    out->attrs.i[0] = cases[i].to;
    return true;
}

const asc_op asc_op_cast = {
    ASC_OP_FIELDS(CAST, cast, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .doc =
        "Another element type: i32 <-> f32, stored weights -> f32; f32 to i32 cuts towards 0, NaN gives 0.",
    .formula = "y = a as dtype",
};
