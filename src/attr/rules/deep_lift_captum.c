/* deep_lift_captum.c - DeepLift as Captum does it (compat_captum): rules at the layers that Captum hooks, the
 * plain gradient everywhere else. */
#include "rule_parts.h"

static const double EPS = 1e-10; /* Captum's default */

/* Captum 0.9 loses the rule of every second layer of those that feed one another directly (a pool behind a
 * ReLU, an activation behind a pool): what the layer before puts in place of the gradient comes after this
 * one has looked. A layer that has lost its own does no harm to the next, nor does the one attributed to. */
static bool lost(const asc_vjp_args *a) {
    size_t before = 0;
    for (const asc_tensor *t = a->in[0]; t->op != NULL && asc_dl_captum_hooks(t->op->opcode); t = t->in[0]) {
        for (size_t i = 0; i < a->n_ends; i++) {
            if (a->ends[i] == t) return before % 2 == 1;
        }
        before++;
    }
    return before % 2 == 1;
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
