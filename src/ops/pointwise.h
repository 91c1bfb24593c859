/* pointwise.h - what the pointwise ops share: walks for reference kernels, sample cases, tangents under
 * broadcasting, and macros that write the parts of a one-input or two-input op that never differ.
 *
 * An op file defines EXPR, the scalar expression, once: it is compiled into the reference kernel and, as
 * text, becomes the descriptor's `expr`, so the two cannot disagree. Keep it free of macros that the C
 * library may expand. */
#ifndef ASC_POINTWISE_H
#define ASC_POINTWISE_H

#include "descriptor.h"
#include "ops.h"
#include <math.h>

#define ASC_TEXT_OF(x) #x
#define ASC_TEXT(x) ASC_TEXT_OF(x)

/* Walks out and all inputs row by row (last axis) with the shape of out; an input is repeated where it is
 * broadcast. Array 0 is out, array k + 1 is input k; at most three inputs. */
typedef struct asc_rows {
    int rank; /* axes outside the rows */
    int n_arrays;
    int64_t n;       /* elements of a row */
    int64_t step[4]; /* stride inside a row */
    int64_t off[4];  /* where the row starts */
    int64_t idx[ASC_MAX_RANK];
    int64_t dims[ASC_MAX_RANK];
    int64_t strides[4][ASC_MAX_RANK];
} asc_rows;
/* False when there is nothing to do (a dimension of 0). */
bool asc_rows_begin(asc_rows *w, const asc_ref_args *a);
bool asc_rows_next(asc_rows *w);

static inline void asc_ref_unary(const asc_ref_args *a, double (*f)(double)) {
    asc_rows w;
    for (bool more = asc_rows_begin(&w, a); more; more = asc_rows_next(&w)) {
        double *y = a->out.data + w.off[0];
        const double *x = a->in[0].data + w.off[1];
        for (int64_t i = 0; i < w.n; i++) y[i * w.step[0]] = f(x[i * w.step[1]]);
    }
}

/* f gets the attributes s0 and s1 too. */
static inline void asc_ref_param(const asc_ref_args *a, double (*f)(double, double, double)) {
    const double s0 = a->attrs->f[0], s1 = a->attrs->f[1];
    asc_rows w;
    for (bool more = asc_rows_begin(&w, a); more; more = asc_rows_next(&w)) {
        double *y = a->out.data + w.off[0];
        const double *x = a->in[0].data + w.off[1];
        for (int64_t i = 0; i < w.n; i++) y[i * w.step[0]] = f(x[i * w.step[1]], s0, s1);
    }
}

static inline void asc_ref_binary(const asc_ref_args *a, double (*f)(double, double)) {
    asc_rows w;
    for (bool more = asc_rows_begin(&w, a); more; more = asc_rows_next(&w)) {
        double *y = a->out.data + w.off[0];
        const double *x0 = a->in[0].data + w.off[1], *x1 = a->in[1].data + w.off[2];
        for (int64_t i = 0; i < w.n; i++) y[i * w.step[0]] = f(x0[i * w.step[1]], x1[i * w.step[2]]);
    }
}

static inline void asc_ref_ternary(const asc_ref_args *a, double (*f)(double, double, double)) {
    asc_rows w;
    for (bool more = asc_rows_begin(&w, a); more; more = asc_rows_next(&w)) {
        double *y = a->out.data + w.off[0];
        const double *x0 = a->in[0].data + w.off[1], *x1 = a->in[1].data + w.off[2];
        const double *x2 = a->in[2].data + w.off[3];
        for (int64_t i = 0; i < w.n; i++)
            y[i * w.step[0]] = f(x0[i * w.step[1]], x1[i * w.step[2]], x2[i * w.step[3]]);
    }
}

/* Sample cases: ranks 0 to 4, odd sizes, size-1 broadcasting (two inputs). False when there is no case i. */
bool asc_sample_unary(int i, asc_sample *out, double lo, double hi, double min_gap);
bool asc_sample_binary(int i, asc_sample *out, double lo, double hi, double min_gap);
/* Gives a sample n float attributes; true, so that it can end a sample function. */
bool asc_sample_params(asc_sample *out, const double *params, int n);

/* A tangent, NULL or not, brought to the shape of y. */
asc_tensor *asc_tangent_like(asc_ctx *ctx, asc_tensor *t, const asc_tensor *y);
/* A scalar constant; broadcasts against anything. */
asc_tensor *asc_scalar(asc_ctx *ctx, double value);
/* silu'(x) = s + x s (1 - s) and silu''(x) = s (1 - s) (2 + x (1 - 2 s)) with s = sigmoid(x), from
 * primitives. */
asc_tensor *asc_silu_slope(asc_ctx *ctx, asc_tensor *x);
asc_tensor *asc_silu_curve(asc_ctx *ctx, asc_tensor *x);

/* Kernel of an op with one input (or two) from EXPR in a (and b). */
#define ASC_UNARY_REF                                                                                        \
    static double value(double a) { return EXPR; }                                                           \
    static void ref(const asc_ref_args *args) { asc_ref_unary(args, value); }
#define ASC_BINARY_REF                                                                                       \
    static double value(double a, double b) { return EXPR; }                                                 \
    static void ref(const asc_ref_args *args) { asc_ref_binary(args, value); }

/* The same for one input and the float attributes s0 (PARAM) or s0 and s1 (PARAMS). */
#define ASC_UNARY_PARAM_REF                                                                                  \
    static double value(double a, double s0, double unused) {                                                \
        (void)unused;                                                                                        \
        return EXPR;                                                                                         \
    }                                                                                                        \
    static void ref(const asc_ref_args *args) { asc_ref_param(args, value); }
#define ASC_UNARY_PARAMS_REF                                                                                 \
    static double value(double a, double s0, double s1) { return EXPR; }                                     \
    static void ref(const asc_ref_args *args) { asc_ref_param(args, value); }

/* The Jacobian of a one-input pointwise op is diagonal, so one function `chain(ctx, x, y, g)` = g dy/dx
 * serves both directions. */
#define ASC_UNARY_RULES                                                                                      \
    static void vjp(asc_vjp_args *a) {                                                                       \
        if (a->need[0]) a->gin[0] = chain(a->ctx, a->in[0], a->y, a->g);                                     \
    }                                                                                                        \
    static asc_tensor *jvp(asc_jvp_args *a) {                                                                \
        return a->tin[0] == NULL ? NULL : chain(a->ctx, a->in[0], a->y, a->tin[0]);                          \
    }

/* The same with attributes: `chain(ctx, x, attrs, g)`. */
#define ASC_UNARY_PARAM_RULES                                                                                \
    static void vjp(asc_vjp_args *a) {                                                                       \
        if (a->need[0]) a->gin[0] = chain(a->ctx, a->in[0], a->attrs, a->g);                                 \
    }                                                                                                        \
    static asc_tensor *jvp(asc_jvp_args *a) {                                                                \
        return a->tin[0] == NULL ? NULL : chain(a->ctx, a->in[0], a->attrs, a->tin[0]);                      \
    }

#define ASC_UNARY_SAMPLES(lo, hi, min_gap)                                                                   \
    static bool sample(int i, asc_sample *out) { return asc_sample_unary(i, out, lo, hi, min_gap); }
#define ASC_BINARY_SAMPLES(lo, hi, min_gap)                                                                  \
    static bool sample(int i, asc_sample *out) { return asc_sample_binary(i, out, lo, hi, min_gap); }

/* Builders of ops without attributes. */
#define ASC_UNARY_BUILDER(op)                                                                                \
    asc_tensor *asc_##op(asc_ctx *ctx, asc_tensor *a) {                                                      \
        return asc_apply(ctx, &asc_op_##op, &(asc_attrs){.i = {0}}, &a, 1);                                  \
    }
#define ASC_BINARY_BUILDER(op)                                                                               \
    asc_tensor *asc_##op(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {                                       \
        return asc_apply(ctx, &asc_op_##op, &(asc_attrs){.i = {0}}, (asc_tensor *[]){a, b}, 2);              \
    }

/* Fields of the descriptor that are the same for all. */
#define ASC_POINTWISE_FIELDS .fuse = ASC_FUSE_POINTWISE, .expr = ASC_TEXT(EXPR)
#define ASC_UNARY_FIELDS(E, op) ASC_OP_FIELDS_OF(E, op, 1, 1, asc_infer_same, sample), ASC_POINTWISE_FIELDS
#define ASC_BINARY_FIELDS(E, op)                                                                             \
    ASC_OP_FIELDS_OF(E, op, 2, 2, asc_infer_float, sample), ASC_POINTWISE_FIELDS, .cost = asc_cost_pointwise

#endif
