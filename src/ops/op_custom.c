/* op_custom.c - an op of the caller's own: shape, values and gradient are functions that the caller gives
 * (asc_custom_op). The pointer to them stands in an attribute slot that has no name, so that no program text
 * can forge one; text therefore names an example built in here, y = a^2 b, which the tests of all ops run
 * too. Forward derivative: the gradient is linear in g, so tangent = d/dg of sum over k of <gin_k(g),
 * tangent_k>. */
#include "ops.h"
#include <string.h>

static bool example_shape(void *self, const asc_shape *in, int n_in, asc_shape *out) {
    (void)self;
    *out = in[0];
    return n_in == 2 && asc_shape_eq(&in[0], &in[1]);
}

static void example_forward(void *self, const asc_values *in, int n_in, const asc_values *out) {
    int64_t idx[ASC_MAX_RANK] = {0}, off[3] = {0}, strides[3][ASC_MAX_RANK];
    (void)self, (void)n_in;
    if (asc_shape_elems(&out->shape) == 0) return;
    memcpy(strides[0], in[0].strides, sizeof strides[0]);
    memcpy(strides[1], in[1].strides, sizeof strides[1]);
    memcpy(strides[2], out->strides, sizeof strides[2]);
    do {
        const double a = in[0].data[off[0]];
        out->data[off[2]] = a * a * in[1].data[off[1]];
    } while (
        asc_nd_next(out->shape.rank, out->shape.dims, idx, 3, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void example_vjp(void *self, asc_ctx *ctx, asc_tensor *y, asc_tensor *g, asc_tensor *const *in,
                        int n_in, asc_tensor **gin) {
    (void)self, (void)y, (void)n_in;
    gin[0] = asc_mul(ctx, g, asc_scale(ctx, asc_mul(ctx, in[0], in[1]), 2.0));
    gin[1] = asc_mul(ctx, g, asc_square(ctx, in[0]));
}

static const asc_custom_op example = {.struct_size = sizeof example,
                                      .name = "custom",
                                      .shape = example_shape,
                                      .forward = example_forward,
                                      .vjp = example_vjp};

/* Stands beside the pointer, so that numbers that merely got into the slot are not followed. */
static int64_t seal_of(int64_t pointer) {
    return (int64_t)(((uint64_t)pointer ^ 0x9E3779B97F4A7C15u) * 0xD1B54A32D192ED03u);
}

static bool sealed(const asc_attrs *attrs) {
    return attrs->i[0] == 0 ? attrs->i[1] == 0 : attrs->i[1] == seal_of(attrs->i[0]);
}

/* Of sealed attributes. */
static const asc_custom_op *def_of(const asc_attrs *attrs) {
    const asc_custom_op *def = &example;
    if (attrs->i[0] != 0) memcpy(&def, &attrs->i[0], sizeof def);
    return def;
}

asc_tensor *asc_custom(asc_ctx *ctx, const asc_custom_op *def, asc_tensor *const *in, int n_in) {
    asc_attrs attrs = {0};
    _Static_assert(sizeof def <= sizeof attrs.i[0], "a pointer fits a slot");
    if (def == NULL || def->struct_size != sizeof *def || def->name == NULL || def->forward == NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "custom: the op lacks a name or forward, or is that of another library");
        return asc_graph_poison(asc_graph_of(ctx));
    }
    memcpy(&attrs.i[0], &def, sizeof def);
    attrs.i[1] = seal_of(attrs.i[0]);
    return asc_apply(ctx, &asc_op_custom, &attrs, in, n_in);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (!sealed(c->attrs)) return asc_infer_fail(ctx, c, "the attributes name no op of the caller's");
    const asc_custom_op *def = def_of(c->attrs);
    bool fits = true;
    for (int k = 0; k < c->n_in; k++) {
        if (c->in_dtype[k] != ASC_DTYPE_F32 && c->in_dtype[k] != ASC_DTYPE_I32)
            return asc_infer_fail(ctx, c, "%.60s: input %d must be f32 or i32", def->name, k);
        fits = fits && (def->shape != NULL || asc_shape_eq(&c->in_shape[k], &c->in_shape[0]));
    }
    if (def == &example)
        for (int k = 0; k < c->n_in; k++) fits = fits && c->in_dtype[k] == ASC_DTYPE_F32;
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[0];
    if (def->shape != NULL) {
        c->shape = (asc_shape){0};
        fits = fits && def->shape(def->self, c->in_shape, c->n_in, &c->shape);
    }
    if (!fits) return asc_infer_fail(ctx, c, "%.60s: the inputs do not fit together", def->name);
    for (int i = 0; i < c->shape.rank; i++) fits = fits && c->shape.dims[i] >= 0;
    if (!fits || c->shape.rank < 0 || c->shape.rank > ASC_MAX_RANK)
        return asc_infer_fail(ctx, c, "%.60s: its shape function gave an impossible shape", def->name);
    return ASC_OK;
}

static asc_values values_of(const asc_nd *a) {
    asc_values v = {.data = a->data, .shape = {.rank = a->rank}};
    memcpy(v.shape.dims, a->dims, sizeof v.shape.dims);
    memcpy(v.strides, a->strides, sizeof v.strides);
    return v;
}

static void ref(const asc_ref_args *a) {
    const asc_custom_op *def = def_of(a->attrs);
    asc_values in[ASC_MAX_IN], out = values_of(&a->out);
    for (int k = 0; k < a->n_in; k++) in[k] = values_of(&a->in[k]);
    def->forward(def->self, in, a->n_in, &out);
}

static void vjp(asc_vjp_args *a) {
    const asc_custom_op *def = def_of(a->attrs);
    asc_graph *g = asc_graph_of(a->ctx);
    asc_tensor *gin[ASC_MAX_IN] = {0};
    if (def->vjp == NULL) {
        ASC_FAIL(a->ctx, ASC_UNIMPLEMENTED, "custom op '%.60s' has no gradient", def->name);
        asc_hint(a->ctx, "give it a vjp, or use a method that needs no gradients");
    } else {
        def->vjp(def->self, a->ctx, a->y, a->g, a->in, a->n_in, gin);
    }
    for (int k = 0; k < a->n_in; k++) {
        if (!a->need[k]) continue;
        a->gin[k] = def->vjp == NULL ? asc_graph_poison(g) : gin[k];
        if (gin[k] == NULL || gin[k]->poison != ASC_OK || asc_shape_eq(&gin[k]->shape, &a->in[k]->shape))
            continue;
        ASC_FAIL(a->ctx, ASC_INVALID_ARGUMENT,
                 "custom op '%.60s': the gradient of input %d has another shape", def->name, k);
        a->gin[k] = asc_graph_poison(g);
    }
}

static asc_tensor *jvp(asc_jvp_args *a) {
    static const int all[ASC_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    asc_tensor *g = asc_full(a->ctx, asc_tensor_shape(a->y), 0.0), *sum = NULL, *out = NULL;
    asc_vjp_args v = {.ctx = a->ctx, .y = a->y, .g = g, .in = a->in, .attrs = a->attrs, .n_in = a->n_in};
    for (int k = 0; k < a->n_in; k++) v.need[k] = a->tin[k] != NULL;
    vjp(&v);
    for (int k = 0; k < a->n_in; k++) {
        if (a->tin[k] == NULL || v.gin[k] == NULL) continue;
        asc_tensor *p = asc_mul(a->ctx, v.gin[k], a->tin[k]);
        if (p->poison == ASC_OK && p->shape.rank > 0) p = asc_sum(a->ctx, p, p->shape.rank, all, false);
        sum = sum == NULL ? p : asc_add(a->ctx, sum, p);
    }
    if (sum != NULL) asc_grad(a->ctx, sum, NULL, &g, 1, &out);
    return out;
}

static bool sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {
        {.rank = 2, .dims = {3, 4}}, {.rank = 0}, {.rank = 3, .dims = {2, 1, 3}}};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){.n_in = 2,
                        .in_dtype = {ASC_DTYPE_F32, ASC_DTYPE_F32},
                        .in_shape = {shapes[i], shapes[i]},
                        .lo = {-2, -2},
                        .hi = {2, 2}};
    return true;
}

const asc_op asc_op_custom = {
    ASC_OP_FIELDS(CUSTOM, custom, 1, ASC_MAX_IN),
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pointwise,
    .doc = "An op of the caller's own (asc_custom_op); in text and samples an example, y = a^2 b.",
    .formula = "y = f(inputs)",
};
