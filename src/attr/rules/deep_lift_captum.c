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

static void own_at_both(asc_vjp_args *a, asc_tensor **gin, asc_tensor **gin0) {
    asc_rule_own_at(a, a->in, a->y, a->g, gin);
    if (a->st == ASC_OK) asc_rule_own_at(a, a->in0, a->y0, a->g0, gin0);
}

/* The layer's own derivative, of each run at its own place. */
static void plain(asc_vjp_args *a) { own_at_both(a, a->gin, a->gin0); }

/* The rescale rule with the derivative where the two inputs are closer than 1e-10: m and m0 = of each run's
 * cotangent. */
static bool rescaled(asc_vjp_args *a, asc_tensor **m, asc_tensor **m0) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *own[ASC_MAX_IN], *own0[ASC_MAX_IN];
    own_at_both(a, own, own0);
    if (a->st != ASC_OK) return false;
    asc_tensor *d = asc_sub(ctx, a->in[0], a->in0[0]), *rise = asc_sub(ctx, a->y, a->y0);
    asc_tensor *near = asc_less(ctx, asc_abs(ctx, d), asc_rule_const(ctx, EPS));
    *m = asc_rule_ratio(ctx, asc_mul(ctx, a->g, rise), d, near, own[0]);
    *m0 = asc_rule_ratio(ctx, asc_mul(ctx, a->g0, rise), d, near, own0[0]);
    return true;
}

void asc_dl_captum_rescale(asc_vjp_args *a) {
    if (lost(a)) {
        plain(a);
    } else if (a->need[0]) {
        (void)rescaled(a, &a->gin[0], &a->gin0[0]);
    }
}

/* Minus the mean over all elements of the batch, inputs and baselines: examples are coupled, as they are in
 * Captum 0.8 and 0.9. */
void asc_dl_captum_softmax(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *m, *m0;
    int axes[ASC_MAX_RANK];
    if (lost(a)) {
        plain(a);
        return;
    }
    if (!a->need[0] || !rescaled(a, &m, &m0)) return;
    for (int k = 0; k < m->shape.rank; k++) axes[k] = k;
    asc_tensor *mean = asc_mean(ctx, asc_rule_mean2(ctx, m, m0), m->shape.rank, axes, true);
    a->gin[0] = asc_sub(ctx, m, mean);
    a->gin0[0] = asc_sub(ctx, m0, mean);
}

/* What is not moved keeps its derivative; elsewhere both runs get the same. */
void asc_dl_captum_max_pool(asc_vjp_args *a) {
    if (lost(a)) {
        plain(a);
    } else {
        asc_dl_extremum(a);
    }
}
