/* lrp_layers.c - relevance through layers: matmul, convolution, products with constants. With x the input, w
 * the weights, b the bias and z_j = sum_i x_i w_ij + b_j, each rule is a choice of contributions c_ij, and
 *   R_i = sum_j c_ij / (sum_i c_ij + bias_j + eps sign) R_j.
 * The sums over j are VJPs of the layer itself with other weights, so padding, strides, groups and shared
 * weights are what they are in the layer. The bias takes part in the denominators, where it absorbs
 * relevance, unless the choice says otherwise. It may be an input of the op or a constant that is added right
 * behind it. epsilon     c = x w                       (Bach et al. 2015) gamma       c = x (w + gamma w+),
 * bias b + gamma b+          (Montavon et al. 2019); Captum leaves b as it is alpha-beta  alpha of the
 * positive x w, minus beta of the negative ones; positive, negative part of the bias z-plus      c = x w+,
 * bias b              (alpha 1, beta 0 for inputs that are not negative; Captum's Alpha1_Beta0_Rule whatever
 * their sign) w-square    c = w^2                       (Montavon et al. 2017), no bias flat        c = 1
 * (Lapuschkin et al. 2019), no bias z-box       c = x w - low w+ - high w-    (Montavon et al. 2017), no bias
 *   identity    R_i = R_j, for layers that keep the shape */
#include "lrp_parts.h"

static const double STABLE = 1e-9; /* in denominators of the rules that have no epsilon of their own */

asc_tensor *asc_lrp_share(asc_ctx *ctx, asc_tensor *relevance, asc_tensor *z, double eps) {
    if (eps == 0) { /* 0 / 0 = 0: nothing was contributed */
        asc_tensor *none = asc_rule_is_zero(ctx, z);
        return asc_rule_ratio(ctx, relevance, z, none, asc_rule_const(ctx, 0));
    }
    asc_tensor *negative = asc_less(ctx, z, asc_rule_const(ctx, 0));
    return asc_div(ctx, relevance, asc_where(ctx, negative, asc_shift(ctx, z, -eps), asc_shift(ctx, z, eps)));
}

void asc_lrp_linear(asc_vjp_args *a, asc_tensor *z, double eps) {
    asc_tensor *gin[ASC_MAX_IN];
    asc_rule_own_at(a, a->in, a->y, asc_lrp_share(a->ctx, a->g, z, eps), gin);
    for (int k = 0; k < a->n_in && a->st == ASC_OK; k++) {
        if (a->need[k]) a->gin[k] = asc_mul(a->ctx, a->in[k], gin[k]);
    }
}

/* ---- one layer, taken apart ---- */

enum { BIAS = 2 }; /* input of matmul_bias and conv that holds their bias, if there is one */

static bool takes_experts(const asc_vjp_args *a) { return a->y->op->opcode == ASC_OPCODE_EXPERT_MATMUL; }
static bool takes_bias(const asc_vjp_args *a) { return a->n_in > BIAS && !takes_experts(a); }

typedef struct layer {
    asc_vjp_args *a;
    int x, w;         /* inputs: what moves, and the weights */
    asc_tensor *sum;  /* the addition behind it that is its bias; NULL = none */
    asc_tensor *bias; /* as it is added to y, any broadcasting shape; NULL = none */
    bool has_input_bias;
} layer;

/* The constant that `sum` adds to y. */
static asc_tensor *added(asc_ctx *ctx, const asc_tensor *sum, const asc_tensor *y) {
    if (sum->op->opcode == ASC_OPCODE_SHIFT) return asc_rule_const(ctx, sum->attrs.f[0]);
    if (sum->op->opcode == ASC_OPCODE_SUB) return asc_neg(ctx, sum->in[1]);
    return sum->in[sum->in[0] == y ? 1 : 0];
}

/* The op with other inputs. Its bias, if it takes one, is left out (zeros). */
static asc_tensor *apply(const layer *l, asc_tensor *x, asc_tensor *w) {
    asc_vjp_args *a = l->a;
    asc_tensor *in[ASC_MAX_IN];
    for (int k = 0; k < a->n_in; k++) in[k] = a->in[k];
    in[l->x] = x;
    in[l->w] = w;
    if (l->has_input_bias) in[BIAS] = asc_full(a->ctx, in[BIAS]->shape, 0);
    return asc_apply(a->ctx, a->y->op, a->attrs, in, a->n_in);
}

/* x times the VJP, with weights w, of the shares s. */
static asc_tensor *back(const layer *l, asc_tensor *x, asc_tensor *w, asc_tensor *s) {
    asc_vjp_args *a = l->a;
    asc_tensor *in[ASC_MAX_IN], *gin[ASC_MAX_IN];
    for (int k = 0; k < a->n_in; k++) in[k] = a->in[k];
    in[l->x] = x;
    in[l->w] = w;
    asc_rule_own_at(a, in, a->y, s, gin);
    return a->st == ASC_OK ? gin[l->x] : asc_graph_poison(asc_graph_of(a->ctx));
}

static asc_tensor *positive(asc_ctx *ctx, asc_tensor *t) {
    return asc_maximum(ctx, t, asc_rule_const(ctx, 0));
}
static asc_tensor *negative(asc_ctx *ctx, asc_tensor *t) {
    return asc_minimum(ctx, t, asc_rule_const(ctx, 0));
}

static asc_tensor *plus(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return b == NULL ? a : asc_add(ctx, a, b);
}

/* What the op adds for its bias input: the op of zeros. */
static asc_tensor *input_bias(const layer *l) {
    asc_vjp_args *a = l->a;
    asc_tensor *in[ASC_MAX_IN];
    for (int k = 0; k < a->n_in; k++) in[k] = a->in[k];
    in[l->x] = asc_full(a->ctx, in[l->x]->shape, 0);
    return asc_apply(a->ctx, a->y->op, a->attrs, in, a->n_in);
}

static layer open_layer(asc_vjp_args *a, bool no_bias) {
    layer l = {.a = a, .x = a->moving[0] ? 0 : 1, .w = a->moving[0] ? 1 : 0};
    l.sum = asc_rules_of(a)->frame->biased[a->slot];
    l.has_input_bias = takes_bias(a);
    if (no_bias) return l;
    if (l.has_input_bias) l.bias = input_bias(&l);
    if (l.sum != NULL) {
        asc_tensor *more = added(a->ctx, l.sum, a->y);
        l.bias = l.bias == NULL ? more : asc_add(a->ctx, l.bias, more);
    }
    return l;
}

static asc_tensor *weights(const layer *l) {
    asc_tensor *w = l->a->in[l->w];
    return w->dtype == ASC_DTYPE_F32 ? w : asc_cast(l->a->ctx, w, ASC_DTYPE_F32);
}

/* ---- the rules ---- */

/* Contributions x w' with the denominators' own bias. */
static asc_tensor *one_weight(const layer *l, asc_tensor *w, asc_tensor *bias) {
    asc_ctx *ctx = l->a->ctx;
    asc_tensor *x = l->a->in[l->x], *z = plus(ctx, apply(l, x, w), bias);
    return asc_mul(ctx, x, back(l, x, w, asc_lrp_share(ctx, l->a->g, z, STABLE)));
}

static asc_tensor *gamma_rule(const layer *l, double gamma) {
    asc_ctx *ctx = l->a->ctx;
    asc_tensor *w = weights(l), *bias = l->bias;
    w = asc_add(ctx, w, asc_scale(ctx, positive(ctx, w), gamma));
    if (bias != NULL && !asc_rules_of(l->a)->o.compat_captum)
        bias = asc_add(ctx, bias, asc_scale(ctx, positive(ctx, bias), gamma));
    return one_weight(l, w, bias);
}

/* The share `by` of the contributions of one sign: x and w of equal signs (or of unequal ones). */
static asc_tensor *one_sign(const layer *l, bool equal, double by) {
    asc_ctx *ctx = l->a->ctx;
    asc_tensor *x = l->a->in[l->x], *w = weights(l), *xp = positive(ctx, x), *xn = negative(ctx, x);
    asc_tensor *up = equal ? positive(ctx, w) : negative(ctx, w),
               *un = equal ? negative(ctx, w) : positive(ctx, w);
    asc_tensor *z = asc_add(ctx, apply(l, xp, up), apply(l, xn, un));
    if (l->bias != NULL) z = asc_add(ctx, z, equal ? positive(ctx, l->bias) : negative(ctx, l->bias));
    asc_tensor *s = asc_lrp_share(ctx, asc_scale(ctx, l->a->g, by), z, STABLE);
    return asc_add(ctx, asc_mul(ctx, xp, back(l, xp, up, s)), asc_mul(ctx, xn, back(l, xn, un, s)));
}

static asc_tensor *alpha_beta(const layer *l, double alpha, double beta) {
    asc_tensor *r = one_sign(l, true, alpha);
    return beta == 0 ? r : asc_add(l->a->ctx, r, one_sign(l, false, -beta));
}

/* Contributions that do not depend on the input: w' itself. */
static asc_tensor *no_input(const layer *l, asc_tensor *w) {
    asc_ctx *ctx = l->a->ctx;
    asc_tensor *ones = asc_full(ctx, l->a->in[l->x]->shape, 1);
    return back(l, ones, w, asc_lrp_share(ctx, l->a->g, apply(l, ones, w), 0));
}

static asc_tensor *z_box(const layer *l, double low, double high) {
    asc_ctx *ctx = l->a->ctx;
    asc_tensor *x = l->a->in[l->x], *w = weights(l), *wp = positive(ctx, w), *wn = negative(ctx, w);
    asc_tensor *lo = asc_full(ctx, x->shape, low), *hi = asc_full(ctx, x->shape, high);
    asc_tensor *z = asc_sub(ctx, asc_sub(ctx, apply(l, x, w), apply(l, lo, wp)), apply(l, hi, wn));
    asc_tensor *s = asc_lrp_share(ctx, l->a->g, z, STABLE);
    asc_tensor *r = asc_mul(ctx, x, back(l, x, w, s));
    r = asc_sub(ctx, r, asc_scale(ctx, back(l, lo, wp, s), low));
    return asc_sub(ctx, r, asc_scale(ctx, back(l, hi, wn, s), high));
}

static void epsilon(asc_vjp_args *a, const asc_lrp_choice *c) {
    asc_tensor *sum = asc_rules_of(a)->frame->biased[a->slot], *z = sum != NULL ? sum : a->y;
    if (c->no_bias && (sum != NULL || takes_bias(a))) {
        layer l = open_layer(a, true);
        z = takes_bias(a) ? apply(&l, a->in[l.x], a->in[l.w]) : a->y;
    }
    asc_lrp_linear(a, z, c->a);
}

static void identity(asc_vjp_args *a) {
    const int k = a->moving[0] ? 0 : 1;
    if (asc_shape_eq(&a->in[k]->shape, &a->g->shape)) {
        a->gin[k] = a->g;
        return;
    }
    a->st = ASC_FAIL(a->ctx, ASC_INVALID_ARGUMENT, "rule identity at '%.60s': %s changes the shape",
                     a->y->label != NULL ? a->y->label : "", a->y->op->name);
}

static void weighted(asc_vjp_args *a, const asc_lrp_choice *c) {
    layer l = open_layer(a, c->no_bias);
    asc_ctx *ctx = a->ctx;
    asc_tensor **out = &a->gin[l.x];
    switch (c->rule) {
    case ASC_LRP_GAMMA:
        *out = gamma_rule(&l, c->a);
        break;
    case ASC_LRP_ALPHA_BETA:
        if (c->b == 0 && asc_rules_of(a)->o.compat_captum) { /* Alpha1_Beta0_Rule */
            *out = one_weight(&l, positive(ctx, weights(&l)), l.bias);
        } else {
            *out = alpha_beta(&l, c->a, c->b);
        }
        break;
    case ASC_LRP_Z_PLUS:
        *out = one_weight(&l, positive(ctx, weights(&l)), l.bias);
        break;
    case ASC_LRP_W_SQUARE:
        *out = no_input(&l, asc_square(ctx, weights(&l)));
        break;
    case ASC_LRP_FLAT:
        *out = no_input(&l, asc_full(ctx, a->in[l.w]->shape, 1));
        break;
    case ASC_LRP_Z_BOX:
        *out = z_box(&l, c->a, c->b);
        break;
    default:
        break;
    }
}

void asc_lrp_layer(asc_vjp_args *a) {
    const int chosen = takes_experts(a) && a->moving[2]; /* which matrix: held fixed */
    if (asc_rule_n_moving(a) - chosen != 1 || (!a->need[0] && !a->need[1])) {
        asc_lrp_halves(a);
        return;
    }
    const asc_lrp_choice c = asc_lrp_choose(a);
    if (c.rule == ASC_LRP_EPSILON) {
        epsilon(a, &c);
    } else if (c.rule == ASC_LRP_IDENTITY) {
        identity(a);
    } else {
        weighted(a, &c);
    }
}
