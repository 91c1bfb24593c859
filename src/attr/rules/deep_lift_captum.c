/* deep_lift_captum.c - DeepLift as Captum does it (compat_captum): rules at the layers that Captum hooks, the
 * plain gradient everywhere else. */
#include "rule_parts.h"

static const double EPS = 1e-10; /* Captum's default */

/* Captum 0.9 loses the rule of a layer that another layer with a rule feeds directly (a pool behind a ReLU,
 * an activation behind a pool): what it puts in place of the gradient comes after the other layer has looked.
 * The layer that is attributed to has no rule, and does no harm. */
static bool lost(const asc_vjp_args *a) {
    const asc_op *before = a->in[0]->op;
    return before != NULL && !a->end[0] && asc_dl_captum_hooks(before->opcode);
}

/* The rescale rule with the derivative where the two inputs are closer than 1e-10. */
static asc_tensor *rescaled(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *own[ASC_MAX_IN];
    asc_rule_own_at(a, a->in, a->y, a->g, own);
    if (a->st != ASC_OK) return asc_graph_poison(asc_graph_of(ctx));
    asc_tensor *d = asc_sub(ctx, a->in[0], a->in0[0]);
    asc_tensor *near = asc_less(ctx, asc_abs(ctx, d), asc_rule_const(ctx, EPS));
    return asc_rule_ratio(ctx, asc_mul(ctx, a->g, asc_sub(ctx, a->y, a->y0)), d, near, own[0]);
}

void asc_dl_captum_rescale(asc_vjp_args *a) {
    if (lost(a)) {
        asc_rule_own(a);
    } else if (a->need[0]) {
        a->gin[0] = rescaled(a);
    }
}

/* Minus the mean over all elements of the batch: examples are coupled, as they are in Captum 0.8 and 0.9. */
void asc_dl_captum_softmax(asc_vjp_args *a) {
    if (lost(a)) {
        asc_rule_own(a);
        return;
    }
    if (!a->need[0]) return;
    asc_tensor *m = rescaled(a);
    int axes[ASC_MAX_RANK];
    for (int k = 0; k < m->shape.rank; k++) axes[k] = k;
    a->gin[0] = asc_sub(a->ctx, m, asc_mean(a->ctx, m, m->shape.rank, axes, true));
}

void asc_dl_captum_max_pool(asc_vjp_args *a) {
    if (lost(a)) {
        asc_rule_own(a);
    } else {
        asc_dl_extremum(a);
    }
}
