/* rule_parts.h - what the rules share. All of them record ops; none computes. */
#ifndef ASC_RULE_PARTS_H
#define ASC_RULE_PARTS_H

#include "ops.h"
#include "rules.h"

/* A row of a table: what is done with cotangents of an op. */
typedef struct asc_rule_row {
    int opcode;
    asc_vjp_fn fn; /* NULL = the op's own VJP */
    const char *name;
} asc_rule_row;

ASC_MUST_USE asc_status asc_rules_init(asc_ctx *ctx, const asc_rule_options *o, const char *name,
                                       asc_rules *out);

static inline asc_rules *asc_rules_of(const asc_vjp_args *a) { return a->self; }
int asc_rule_n_moving(const asc_vjp_args *a);
/* The op's own VJP as it stands; refuses an op that has none. */
void asc_rule_own(asc_vjp_args *a);
/* The op's own VJP at other inputs (and the y that belongs to them) for another cotangent; gin is filled
 * where needed. */
void asc_rule_own_at(asc_vjp_args *a, asc_tensor *const *in, asc_tensor *y, asc_tensor *g, asc_tensor **gin);
/* Own VJP of an op that picks by integers; falls back where these move. */
void asc_rule_indexed(asc_vjp_args *a);
/* By the options: refuses, or uses the gradient or a local path and notes it. */
void asc_rule_fall_back(asc_vjp_args *a);
/* Linear in the one input that moves: own VJP. Otherwise the decomposition, otherwise a fall-back. */
void asc_rule_general(asc_vjp_args *a);

/* The row of an op in the tables of deep-lift and lrp. */
asc_rule_row asc_dl_row(const asc_op *op);
asc_rule_row asc_lrp_row(const asc_op *op);

/* Scalars and elementwise helpers; results broadcast. */
asc_tensor *asc_rule_const(asc_ctx *ctx, double v);
asc_tensor *asc_rule_mean2(asc_ctx *ctx, asc_tensor *a,
                           asc_tensor *b); /* (a + b) / 2; a itself when a == b */
asc_tensor *asc_rule_is_zero(asc_ctx *ctx, asc_tensor *a);
/* num / den where flag is 0, other where it is not; nothing is divided by zero there. */
asc_tensor *asc_rule_ratio(asc_ctx *ctx, asc_tensor *num, asc_tensor *den, asc_tensor *flag,
                           asc_tensor *other);

/* deep_lift_*.c */
void asc_dl_secant(asc_vjp_args *a);    /* pointwise, one moving input */
void asc_dl_piecewise(asc_vjp_args *a); /* the same for piecewise linear ops */
void asc_dl_smooth(asc_vjp_args *a);
void asc_dl_square(asc_vjp_args *a);
void asc_dl_recip(asc_vjp_args *a);
void asc_dl_sqrt(asc_vjp_args *a);
void asc_dl_rsqrt(asc_vjp_args *a);
void asc_dl_exp(asc_vjp_args *a);
void asc_dl_log(asc_vjp_args *a);
void asc_dl_tanh(asc_vjp_args *a);
void asc_dl_sigmoid(asc_vjp_args *a);
void asc_dl_sin(asc_vjp_args *a);
void asc_dl_cos(asc_vjp_args *a);
void asc_dl_product(asc_vjp_args *a);
void asc_dl_experts(asc_vjp_args *a);
void asc_dl_take_along(asc_vjp_args *a);
void asc_dl_div(asc_vjp_args *a);
void asc_dl_where(asc_vjp_args *a);
void asc_dl_compare(asc_vjp_args *a);
void asc_dl_extremum(asc_vjp_args *a); /* max, max pooling, maximum, minimum */
void asc_dl_softmax(asc_vjp_args *a);
void asc_dl_log_softmax(asc_vjp_args *a);
void asc_dl_log_sum_exp(asc_vjp_args *a);
void asc_dl_norm(asc_vjp_args *a);
/* Mean slopes of exp and log between a pair of arguments, given the values there. */
asc_tensor *asc_dl_exp_slope(asc_ctx *ctx, asc_tensor *d, asc_tensor *e, asc_tensor *e0);
asc_tensor *asc_dl_log_slope(asc_ctx *ctx, asc_tensor *x, asc_tensor *x0);
/* Captum's own rules, and whether Captum has one for an op. */
bool asc_dl_captum_hooks(int opcode);
void asc_dl_captum_rescale(asc_vjp_args *a);
void asc_dl_captum_softmax(asc_vjp_args *a);
void asc_dl_captum_max_pool(asc_vjp_args *a);

#endif
