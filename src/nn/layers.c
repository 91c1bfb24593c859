/* layers.c - see layers.h. */
#include "layers.h"
#include <math.h>

asc_tensor *asc_project(asc_ctx *ctx, asc_tensor *x, const asc_proj *p) {
    asc_tensor *y = asc_matmul(ctx, x, p->w, false, !p->transposed);
    if (p->b != NULL) y = asc_add(ctx, y, p->b);
    for (size_t i = 0; i < p->n_lora; i++) {
        const asc_lora *l = &p->lora[i];
        asc_tensor *low = asc_matmul(ctx, asc_matmul(ctx, x, l->a, false, true), l->b, false, true);
        y = asc_add(ctx, y, asc_scale(ctx, low, l->scale));
    }
    return y;
}

asc_tensor *asc_activate(asc_ctx *ctx, asc_tensor *x, asc_mlp_act act) {
    switch (act) {
    case ASC_MLP_SILU:
        return asc_silu(ctx, x);
    case ASC_MLP_GELU:
        return asc_gelu(ctx, x);
    case ASC_MLP_GELU_TANH:
        return asc_gelu_tanh(ctx, x);
    case ASC_MLP_RELU:
        return asc_relu(ctx, x);
    case ASC_MLP_RELU_SQUARED:
        return asc_square(ctx, asc_relu(ctx, x));
    case ASC_MLP_QUICK_GELU:
        return asc_mul(ctx, x, asc_sigmoid(ctx, asc_scale(ctx, x, 1.702)));
    case ASC_MLP_TANH:
    case ASC_N_MLP_ACTS:
        break;
    }
    return asc_tanh(ctx, x);
}

asc_tensor *asc_gated(asc_ctx *ctx, asc_tensor *gate, asc_tensor *up, asc_mlp_act act) {
    return act == ASC_MLP_SILU ? asc_swiglu(ctx, gate, up) : asc_mul(ctx, asc_activate(ctx, gate, act), up);
}

asc_tensor *asc_gated_cut(asc_ctx *ctx, asc_tensor *gate, asc_tensor *up, double alpha, double limit) {
    asc_tensor *g = asc_clip(ctx, gate, -INFINITY, limit);
    asc_tensor *u = asc_shift(ctx, asc_clip(ctx, up, -limit, limit), 1.0);
    return asc_mul(ctx, asc_mul(ctx, g, asc_sigmoid(ctx, asc_scale(ctx, g, alpha))), u);
}

asc_tensor *asc_activate_xielu(asc_ctx *ctx, asc_tensor *x, const asc_xielu *a) {
    asc_tensor *up = asc_scale(ctx, asc_square(ctx, x), a->positive);
    asc_tensor *low = asc_sub(ctx, asc_expm1(ctx, asc_clip(ctx, x, -INFINITY, a->eps)), x);
    asc_tensor *is_up = asc_less(ctx, asc_full(ctx, ASC_SCALAR_SHAPE, 0.0), x);
    asc_tensor *bent = asc_where(ctx, is_up, up, asc_scale(ctx, low, a->negative));
    return asc_add(ctx, bent, asc_scale(ctx, x, a->beta));
}

static asc_tensor *of_experts(asc_ctx *ctx, asc_tensor *x, const asc_experts *e, asc_tensor *chosen) {
    asc_tensor *y = asc_expert_matmul(ctx, x, e->w, chosen, !e->transposed);
    return e->b != NULL ? asc_add(ctx, y, asc_gather(ctx, e->b, chosen)) : y;
}

/* The neurons [B,T,k,F] of the chosen experts of x [B,T,k,D]. */
static asc_tensor *neurons(asc_ctx *ctx, asc_tensor *x, const asc_mixture *m, asc_tensor *chosen) {
    asc_tensor *g = NULL, *u;
    if (m->gate_up.w != NULL) {
        asc_tensor *both = of_experts(ctx, x, &m->gate_up, chosen);
        if (both->poison != ASC_OK) return both;
        asc_shape s = both->shape;
        const int64_t f = s.dims[3] / 2;
        both = asc_reshape(ctx, both,
                           m->paired ? ASC_SHAPE(s.dims[0], s.dims[1], s.dims[2], f, 2)
                                     : ASC_SHAPE(s.dims[0], s.dims[1], s.dims[2], 2, f));
        s.dims[3] = f;
        g = asc_reshape(ctx, asc_slice(ctx, both, m->paired ? 4 : 3, 0, 1), s);
        u = asc_reshape(ctx, asc_slice(ctx, both, m->paired ? 4 : 3, 1, 1), s);
    } else {
        if (m->gate.w != NULL) g = of_experts(ctx, x, &m->gate, chosen);
        u = of_experts(ctx, x, &m->up, chosen);
    }
    if (g == NULL) return asc_activate(ctx, u, m->act);
    return m->limit > 0.0 ? asc_gated_cut(ctx, g, u, m->alpha, m->limit) : asc_gated(ctx, g, u, m->act);
}

asc_tensor *asc_mix(asc_ctx *ctx, asc_tensor *h, const asc_mixture *m) {
    if (h->poison != ASC_OK || h->shape.rank != 3) return h;
    const int64_t b = h->shape.dims[0], t = h->shape.dims[1], d = h->shape.dims[2], k = m->used;
    int last[] = {-1}, experts[] = {2};
    asc_tensor *score = asc_matmul(ctx, h, m->router, false, true);
    if (m->router_bias != NULL) score = asc_add(ctx, score, m->router_bias);
    asc_tensor *p = m->sigmoid ? score : asc_softmax(ctx, score);
    asc_tensor *by = p;
    if (m->choice_bias != NULL) by = asc_add(ctx, m->sigmoid ? asc_sigmoid(ctx, score) : p, m->choice_bias);
    asc_tensor *chosen = asc_top_k(ctx, by, k, true);
    asc_tensor *share = asc_take_along(ctx, p, chosen, -1);
    if (m->sigmoid) share = asc_sigmoid(ctx, share);
    if (m->normalised) share = asc_div(ctx, share, asc_sum(ctx, share, 1, last, true));
    if (m->share_scale > 0.0) share = asc_scale(ctx, share, m->share_scale);
    share = asc_reshape(ctx, share, ASC_SHAPE(b, t, k, 1));
    asc_tensor *rows = asc_broadcast(ctx, asc_reshape(ctx, h, ASC_SHAPE(b, t, 1, d)), ASC_SHAPE(b, t, k, d));
    if (m->scale_input) rows = asc_mul(ctx, rows, share);
    asc_tensor *y = of_experts(ctx, neurons(ctx, rows, m, chosen), &m->down, chosen);
    if (!m->scale_input) y = asc_mul(ctx, y, share);
    return asc_sum(ctx, y, 1, experts, false);
}

asc_tensor *asc_split_heads(asc_ctx *ctx, asc_tensor *x, int64_t head_dim) {
    asc_shape s = x->shape;
    if (s.rank < 1 || s.rank >= ASC_MAX_RANK) return asc_reshape(ctx, x, ASC_SHAPE(-1, 1, head_dim));
    s.dims[s.rank] = head_dim;
    s.dims[s.rank - 1] /= head_dim;
    s.rank++;
    return asc_reshape(ctx, x, s);
}

asc_tensor *asc_soft_cap(asc_ctx *ctx, asc_tensor *x, double c) {
    if (!(c > 0.0)) return x;
    return asc_scale(ctx, asc_tanh(ctx, asc_scale(ctx, x, 1.0 / c)), c);
}

void asc_alibi_slopes(int64_t heads, double most, double *out) {
    int64_t n = 1;
    while (2 * n <= heads) n *= 2;
    for (int64_t i = 0; i < heads; i++)
        out[i] = i < n ? exp2(-most / (double)n * (double)(i + 1))
                       : exp2(-most / (double)(2 * n) * (double)(2 * (i - n) + 1));
}

/* Column at which a wave turns `turns` times within the original context. */
static double yarn_column(const asc_rope_config *c, double turns) {
    const double two_pi = 6.283185307179586;
    return (double)c->n_rot * log(c->original_context / (turns * two_pi)) / (2.0 * log(c->base));
}

void asc_rope_frequencies(const asc_rope_config *c, const double *divide, double *out, double *out_mscale) {
    int64_t half = c->n_rot / 2;
    double lo = 0.0, hi = 0.0;
    *out_mscale = 1.0;
    if (c->scaling == ASC_ROPE_YARN) {
        lo = yarn_column(c, c->beta_fast);
        hi = yarn_column(c, c->beta_slow);
        if (!c->unrounded) {
            lo = floor(lo);
            hi = ceil(hi);
        }
        if (lo < 0.0) lo = 0.0;
        if (hi > (double)(c->n_rot - 1)) hi = (double)(c->n_rot - 1);
        *out_mscale = c->attn_factor * (1.0 + 0.1 * log(c->factor));
    }
    for (int64_t i = 0; i < half; i++) {
        double f = pow(c->base, -2.0 * (double)i / (double)c->n_rot);
        if (divide != NULL) f /= divide[i];
        if (c->scaling == ASC_ROPE_LINEAR) f /= c->factor;
        if (c->scaling == ASC_ROPE_YARN) {
            double span = hi - lo > 0.0 || hi - lo < 0.0 ? hi - lo : 0.001;
            double t = ((double)i - lo) / span;
            double keep = 1.0 - (t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t); /* 1 = fast wave, not stretched */
            f = f / c->factor * (1.0 - keep) + f * keep;
        }
        out[i] = f;
    }
}
