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

asc_tensor *asc_mix(asc_ctx *ctx, asc_tensor *h, const asc_mixture *m) {
    if (h->poison != ASC_OK || h->shape.rank != 3) return h;
    const int64_t b = h->shape.dims[0], t = h->shape.dims[1], d = h->shape.dims[2], k = m->used;
    int last[] = {-1}, experts[] = {2};
    asc_tensor *p = asc_softmax(ctx, asc_matmul(ctx, h, m->router, false, true));
    asc_tensor *chosen = asc_top_k(ctx, p, k, true);
    asc_tensor *share = asc_take_along(ctx, p, chosen, -1);
    if (m->normalised) share = asc_div(ctx, share, asc_sum(ctx, share, 1, last, true));
    asc_tensor *rows = asc_broadcast(ctx, asc_reshape(ctx, h, ASC_SHAPE(b, t, 1, d)), ASC_SHAPE(b, t, k, d));
    asc_tensor *u;
    if (m->gate != NULL) {
        asc_tensor *g = asc_expert_matmul(ctx, rows, m->gate, chosen, true);
        u = asc_gated(ctx, g, asc_expert_matmul(ctx, rows, m->up, chosen, true), m->act);
    } else {
        u = asc_activate(ctx, asc_expert_matmul(ctx, rows, m->up, chosen, true), m->act);
    }
    asc_tensor *y = asc_expert_matmul(ctx, u, m->down, chosen, !m->down_by_rows);
    return asc_sum(ctx, asc_mul(ctx, y, asc_reshape(ctx, share, ASC_SHAPE(b, t, k, 1))), 1, experts, false);
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
