/* op_mod.c - the remainder of a / b, with broadcasting. fmod = 0: it has the sign of b, as Python's % and
 * NumPy's mod; fmod = 1: the sign of a, as C's fmod. Exact. b = 0 and a infinite give NaN. Gradient: g to a;
 * to b -g times the whole quotient, which is found by rounding (a - y) / b, so that no quotient is off by
 * one. */
#include "pointwise.h"

#define EXPR s0 != 0 || fmod(a, b) == 0 || (fmod(a, b) < 0) == (b < 0) ? fmod(a, b) : fmod(a, b) + b

static const asc_attr_def attr_defs[] = {{"fmod", ASC_ATTR_FLOAT, 0}};

asc_tensor *asc_mod(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, bool c_sign) {
    return asc_apply(ctx, &asc_op_mod, &(asc_attrs){.f = {c_sign}}, (asc_tensor *[]){a, b}, 2);
}

static void ref(const asc_ref_args *args) {
    double s0 = args->attrs->f[0];
    asc_rows w;
    for (bool more = asc_rows_begin(&w, args); more; more = asc_rows_next(&w)) {
        for (int64_t i = 0; i < w.n; i++) {
            double a = args->in[0].data[w.off[1] + i * w.step[1]];
            double b = args->in[1].data[w.off[2] + i * w.step[2]];
            args->out.data[w.off[0] + i * w.step[0]] = EXPR;
        }
    }
}

static asc_tensor *quotient(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, asc_tensor *y) {
    return asc_round(ctx, asc_div(ctx, asc_sub(ctx, a, y), b));
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    if (a->need[0]) a->gin[0] = asc_unbroadcast(ctx, a->g, a->in[0]);
    if (!a->need[1]) return;
    asc_tensor *q = quotient(ctx, a->in[0], a->in[1], a->y);
    a->gin[1] = asc_unbroadcast(ctx, asc_neg(ctx, asc_mul(ctx, a->g, q)), a->in[1]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *t = asc_tangent_like(ctx, a->tin[0], a->y);
    if (a->tin[1] == NULL) return t;
    asc_tensor *q = quotient(ctx, a->in[0], a->in[1], a->y);
    return asc_add_or(ctx, t, asc_neg(ctx, asc_mul(ctx, a->tin[1], q)));
}

/* Quotients stay between whole numbers, where the derivative jumps. */
static bool sample(int i, asc_sample *out) {
    if (!asc_sample_binary(i, out, 1.1, 1.4, 0)) return false;
    if (i % 2 != 0) out->lo[0] = -1.4, out->hi[0] = -1.1;
    out->lo[1] = 0.9;
    out->hi[1] = 1.05;
    out->attrs.f[0] = i / 2 % 2;
    return true;
}

const asc_op asc_op_mod = {
    ASC_BINARY_FIELDS(MOD, mod),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .flags = ASC_OP_INPLACE,
    .doc = "Remainder, with broadcasting; the sign of b, or of a with fmod = 1; NaN for b = 0.",
    .formula = "y = a - b floor(a / b), trunc for fmod",
};
