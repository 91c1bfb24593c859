/* lrp_ops.c - relevance through everything that is not a layer: sums, products of two values that move,
 * choices, softmax, norms. */
#include "lrp_parts.h"
#include "norm.h"
#include "rows.h"

/* The epsilon rule, R_k = x_k VJP_k(R / z), for ops that are linear in all that moves. */
void asc_lrp_generic(asc_vjp_args *a) {
    for (int k = 0; k < a->n_in; k++) {
        if (a->moving[k] && !a->need[k]) {
            asc_rule_fall_back(a);
            return;
        }
    }
    asc_lrp_linear(a, a->y, asc_rules_of(a)->o.epsilon);
}

/* Two terms share by their size. A constant that is a layer's bias has its part in that layer's denominators.
 */
void asc_lrp_sum(asc_vjp_args *a) {
    if (asc_rules_of(a)->frame->is_bias[a->slot]) {
        for (int k = 0; k < a->n_in; k++) {
            if (a->need[k]) a->gin[k] = a->g;
        }
    } else if (asc_rules_of(a)->o.compat_captum) {
        asc_rule_own(a); /* Captum sees no functional ops: relevance is multiplied by their derivative */
    } else {
        asc_lrp_linear(a, a->y, asc_rules_of(a)->o.epsilon);
    }
}

static int first_moving(const asc_vjp_args *a) {
    for (int k = 0; k < a->n_in; k++) {
        if (a->need[k]) return k;
    }
    return 0;
}

/* f(x) = (f(x) / x) x: all of it, whatever the slope. Of several inputs (a power, a slope) the first that
 * moves. */
void asc_lrp_pass(asc_vjp_args *a) {
    const int k = first_moving(a);
    if (a->need[k]) a->gin[k] = asc_unbroadcast(a->ctx, a->g, a->in[k]);
}

/* Half to each factor, spread by size: R_a = a VJP_a(R / z) / 2. */
void asc_lrp_halves(asc_vjp_args *a) {
    asc_lrp_linear(a, a->y, asc_rules_of(a)->o.epsilon);
    for (int k = 0; k < a->n_in && asc_rule_n_moving(a) > 1; k++) {
        if (a->need[k] && a->gin[k] != NULL) a->gin[k] = asc_scale(a->ctx, a->gin[k], 0.5);
    }
}

void asc_lrp_mul(asc_vjp_args *a) {
    const asc_rules *r = asc_rules_of(a);
    asc_tensor *sum = r->frame->biased[a->slot];
    const int only = asc_lrp_beside_routing(a);
    if (only >= 0) {
        if (a->need[only]) a->gin[only] = asc_unbroadcast(a->ctx, a->g, a->in[only]);
    } else if (asc_rule_n_moving(a) > 1 && !r->o.compat_captum) {
        for (int k = 0; k < a->n_in; k++) {
            if (a->need[k]) a->gin[k] = asc_unbroadcast(a->ctx, asc_scale(a->ctx, a->g, 0.5), a->in[k]);
        }
    } else if (sum != NULL) {
        asc_lrp_linear(a, sum, r->o.epsilon);
    } else if (r->o.compat_captum) {
        asc_rule_own(a);
    } else {
        asc_lrp_pass(a);
    }
}

/* The denominator only scales: all of it goes to the numerator if that moves. */
void asc_lrp_div(asc_vjp_args *a) {
    const asc_rules *r = asc_rules_of(a);
    asc_tensor *sum = r->frame->biased[a->slot];
    if (sum != NULL && !a->moving[1]) {
        asc_lrp_linear(a, sum, r->o.epsilon);
    } else if (r->o.compat_captum) {
        asc_rule_own(a);
    } else {
        asc_lrp_pass(a);
    }
}

/* To the one that was chosen; a bound that does not move takes nothing. */
void asc_lrp_pick(asc_vjp_args *a) {
    if (asc_rule_n_moving(a) == 1) {
        asc_lrp_pass(a);
    } else {
        asc_rule_own(a);
    }
}

/* First order at the input: R_i = x_i (R_i - y_i sum_j R_j) (Achtibat et al. 2024, proposition 3.1); what the
 * softmax gives for no scores at all is a bias and absorbs the rest. */
void asc_lrp_softmax(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    if (asc_rules_of(a)->o.compat_captum) {
        asc_rule_own(a);
        return;
    }
    asc_tensor *rest = asc_sub(ctx, a->g, asc_mul(ctx, a->y, asc_row_sum(ctx, a->g)));
    /* Masked entries, -inf, have no share: -inf times 0 is not 0. */
    asc_tensor *seen = asc_where(ctx, a->y, a->in[0], asc_rule_const(ctx, 0));
    a->gin[0] = asc_mul(ctx, seen, rest);
}

/* y = (x - mean) r w + b (RMS: without mean and b), with r = 1 / sqrt(var + eps) held fixed: linear in x, the
 * epsilon rule. */
void asc_lrp_norm(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const asc_rules *rules = asc_rules_of(a);
    if (asc_rule_n_moving(a) != 1 || !a->need[0]) {
        asc_rule_fall_back(a);
        return;
    }
    if (rules->o.compat_captum) {
        asc_rule_own(a);
        return;
    }
    const bool centred = a->y->op->opcode == ASC_OPCODE_LAYER_NORM;
    asc_tensor *x = a->in[0], *c = centred ? asc_norm_centred(ctx, x) : x;
    asc_tensor *s = asc_mul(ctx, asc_lrp_share(ctx, a->g, a->y, rules->o.epsilon), a->in[1]);
    asc_tensor *u = asc_mul(ctx, s, asc_norm_rstd(ctx, c, a->attrs->f[0]));
    if (centred) u = asc_sub(ctx, u, asc_row_mean(ctx, u));
    a->gin[0] = asc_mul(ctx, x, u);
}
