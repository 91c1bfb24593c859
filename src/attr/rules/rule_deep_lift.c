/* rule_deep_lift.c - the table of DeepLift. Each rule gives multipliers m with sum of m (x - x0) = g (y -
 * y0), so the whole sums to the difference of the explained value (completeness), whatever the net is made
 * of. An op that has no row: one input and elementwise = rescale rule; linear in the one input that moves =
 * its own VJP; else its decomposition; else a fall-back. */
#include <string.h>

#include "rule_parts.h"

static const asc_rule_row rows[] = {
    /* linear in all that can move */
    {ASC_OPCODE_ADD, NULL, "linear"},
    {ASC_OPCODE_SUB, NULL, "linear"},
    {ASC_OPCODE_SCALE, NULL, "linear"},
    {ASC_OPCODE_SHIFT, NULL, "linear"},
    {ASC_OPCODE_NEG, NULL, "linear"},
    {ASC_OPCODE_SUM, NULL, "linear"},
    {ASC_OPCODE_MEAN, NULL, "linear"},
    {ASC_OPCODE_PAD, NULL, "linear"},
    {ASC_OPCODE_CONCAT, NULL, "linear"},
    {ASC_OPCODE_CAST, asc_rule_indexed, "linear"},
    {ASC_OPCODE_GATHER, asc_rule_indexed, "linear"},
    {ASC_OPCODE_SCATTER_ADD, asc_rule_indexed, "linear"},
    {ASC_OPCODE_TAKE_LAST, asc_rule_indexed, "linear"},
    {ASC_OPCODE_PUT_LAST, asc_rule_indexed, "linear"},
    {ASC_OPCODE_TAKE_ALONG, asc_dl_take_along, "linear; k-th largest"},
    {ASC_OPCODE_PUT_ALONG, asc_rule_indexed, "linear"},
    {ASC_OPCODE_POOL_TAKE, asc_rule_indexed, "linear"},
    {ASC_OPCODE_POOL_PUT, asc_rule_indexed, "linear"},
    /* products */
    {ASC_OPCODE_MUL, asc_dl_product, "product"},
    {ASC_OPCODE_MATMUL, asc_dl_product, "product"},
    {ASC_OPCODE_MATMUL_BIAS, asc_dl_product, "product"},
    {ASC_OPCODE_CONV, asc_dl_product, "product"},
    {ASC_OPCODE_CONV_GRAD_INPUT, asc_dl_product, "product"},
    {ASC_OPCODE_CONV_GRAD_WEIGHT, asc_dl_product, "product"},
    {ASC_OPCODE_EXPERT_MATMUL, asc_dl_experts, "product; a jump to the row"},
    {ASC_OPCODE_DIV, asc_dl_div, "product with the reciprocal"},
    {ASC_OPCODE_SQUARE, asc_dl_square, "product"},
    /* elementwise */
    {ASC_OPCODE_RELU, asc_dl_piecewise, "rescale"},
    {ASC_OPCODE_ABS, asc_dl_piecewise, "rescale"},
    {ASC_OPCODE_CLIP, asc_dl_piecewise, "rescale"},
    {ASC_OPCODE_LEAKY_RELU, asc_dl_piecewise, "rescale"},
    {ASC_OPCODE_HARD_SIGMOID, asc_dl_piecewise, "rescale"},
    {ASC_OPCODE_PRELU, asc_dl_piecewise, "rescale"},
    {ASC_OPCODE_RECIP, asc_dl_recip, "rescale"},
    {ASC_OPCODE_SQRT, asc_dl_sqrt, "rescale"},
    {ASC_OPCODE_RSQRT, asc_dl_rsqrt, "rescale"},
    {ASC_OPCODE_EXP, asc_dl_exp, "rescale"},
    {ASC_OPCODE_LOG, asc_dl_log, "rescale"},
    {ASC_OPCODE_SIN, asc_dl_sin, "rescale"},
    {ASC_OPCODE_COS, asc_dl_cos, "rescale"},
    {ASC_OPCODE_TANH, asc_dl_tanh, "rescale"},
    {ASC_OPCODE_SIGMOID, asc_dl_sigmoid, "rescale"},
    {ASC_OPCODE_ERF, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_SILU, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_GELU, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_GELU_TANH, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_SOFTPLUS, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_MISH, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_ATAN, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_ASINH, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_SINH, asc_dl_smooth, "rescale"},
    {ASC_OPCODE_COSH, asc_dl_smooth, "rescale"},
    /* choices */
    {ASC_OPCODE_MAX, asc_dl_extremum, "maximum"},
    {ASC_OPCODE_MIN, asc_dl_extremum, "minimum"},
    {ASC_OPCODE_MAX_POOL, asc_dl_extremum, "maximum"},
    {ASC_OPCODE_MAXIMUM, asc_dl_extremum, "maximum"},
    {ASC_OPCODE_MINIMUM, asc_dl_extremum, "minimum"},
    {ASC_OPCODE_WHERE, asc_dl_where, "choice"},
    {ASC_OPCODE_EQUAL, asc_dl_compare, "step"},
    {ASC_OPCODE_LESS, asc_dl_compare, "step"},
    {ASC_OPCODE_LESS_EQUAL, asc_dl_compare, "step"},
    {ASC_OPCODE_BITWISE, asc_dl_secant, "rescale"},
    /* rows */
    {ASC_OPCODE_SOFTMAX, asc_dl_softmax, "softmax"},
    {ASC_OPCODE_LOG_SOFTMAX, asc_dl_log_softmax, "softmax"},
    {ASC_OPCODE_LOG_SUM_EXP, asc_dl_log_sum_exp, "softmax"},
    {ASC_OPCODE_LAYER_NORM, asc_dl_norm, "norm"},
    {ASC_OPCODE_RMS_NORM, asc_dl_norm, "norm"},
    {ASC_OPCODE_SDPA, asc_vjp_decomposed_rules, "decomposed"},
    {ASC_OPCODE_SDPA_TREE, asc_vjp_decomposed_rules, "decomposed"},
    {ASC_OPCODE_SWIGLU, asc_vjp_decomposed_rules, "decomposed"},
};

/* The layers that Captum hooks. */
static const asc_rule_row captum_rows[] = {
    {ASC_OPCODE_RELU, asc_dl_captum_rescale, "rescale"},
    {ASC_OPCODE_ELU, asc_dl_captum_rescale, "rescale"},
    {ASC_OPCODE_LEAKY_RELU, asc_dl_captum_rescale, "rescale"},
    {ASC_OPCODE_SOFTPLUS, asc_dl_captum_rescale, "rescale"},
    {ASC_OPCODE_SIGMOID, asc_dl_captum_rescale, "rescale"},
    {ASC_OPCODE_TANH, asc_dl_captum_rescale, "rescale"},
    {ASC_OPCODE_SOFTMAX, asc_dl_captum_softmax, "softmax"},
    {ASC_OPCODE_MAX_POOL, asc_dl_captum_max_pool, "maximum"},
};

static const asc_rule_row *find(const asc_rule_row *table, size_t n, int opcode) {
    for (size_t i = 0; i < n; i++) {
        if (table[i].opcode == opcode) return &table[i];
    }
    return NULL;
}

static asc_rule_row deduced(const asc_op *op) {
    if (op->fuse == ASC_FUSE_POINTWISE && (op->max_in == 1 || op->decompose == NULL))
        return (asc_rule_row){op->opcode, asc_dl_secant, "rescale"};
    if ((op->flags & ASC_OP_NO_GRAD) != 0) return (asc_rule_row){op->opcode, NULL, "none"};
    if (op->fuse == ASC_FUSE_VIEW) return (asc_rule_row){op->opcode, NULL, "linear"};
    return (asc_rule_row){op->opcode, asc_rule_general,
                          op->decompose != NULL ? "linear or decomposed" : "linear or a fall-back"};
}

asc_rule_row asc_dl_row(const asc_op *op) {
    const asc_rule_row *row = find(rows, sizeof rows / sizeof rows[0], op->opcode);
    return row != NULL ? *row : deduced(op);
}

static const asc_rule_row *captum_row(int opcode) {
    return find(captum_rows, sizeof captum_rows / sizeof captum_rows[0], opcode);
}

bool asc_dl_captum_hooks(int opcode) { return captum_row(opcode) != NULL; }

asc_status asc_rules_init_deep_lift(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out) {
    asc_status st = asc_rules_init(ctx, o, "deep-lift", out);
    out->grad.both = o->compat_captum; /* it runs inputs and baselines as one batch, backwards as well */
    for (size_t i = 0; i < ASC_N_OPS; i++) {
        if (!o->compat_captum) {
            out->grad.vjp[i] = asc_dl_row(asc_ops[i]).fn;
            continue;
        }
        const asc_rule_row *row = captum_row((int)i);
        out->grad.vjp[i] = row != NULL ? row->fn : NULL;
    }
    return st;
}
