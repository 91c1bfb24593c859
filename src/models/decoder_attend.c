/* decoder_attend.c - a layer's attention: the op where it says all, else taken apart: scores that fall with
 * the distance (ALiBi), chunks beyond which a token does not see, a sink that takes a part of the softmax. */
#include "attention.h"
#include "decoder.h"

static asc_attrs attrs_of(const asc_decoder *d, int64_t l) {
    const asc_decoder_config *c = &d->cfg;
    return (asc_attrs){.i = {[ASC_ATTN_CAUSAL] = !c->not_causal, [ASC_ATTN_WINDOW] = c->plan[l].window},
                       .f = {[ASC_ATTN_SCALE] = c->attn_scale, [ASC_ATTN_CAP] = c->attn_cap}};
}

/* Positions of the queries [T,1] and keys [1,S], as numbers. */
typedef struct places {
    asc_tensor *q, *k;
} places;

static asc_tensor *distance_bias(asc_decoder *d, const places *at) {
    asc_ctx *ctx = d->ctx;
    const int64_t s = at->k->shape.dims[1];
    static const int swap[] = {1, 0};
    if (d->slopes == NULL) return NULL;
    if (d->cfg.alibi_rounded) { /* a table [context,H] of what is added at each key */
        asc_tensor *keys = asc_cast(ctx, asc_reshape(ctx, at->k, ASC_SHAPE(s)), ASC_DTYPE_I32);
        asc_tensor *rows = asc_transpose(ctx, asc_gather(ctx, d->slopes, keys), 2, swap);
        return asc_reshape(ctx, rows, ASC_SHAPE(d->cfg.n_heads, 1, s));
    }
    return asc_mul(ctx, d->slopes, asc_sub(ctx, at->k, at->q));
}

/* mask, and of it what is in the query's own chunk. */
static asc_tensor *in_chunk(asc_decoder *d, int64_t chunk, const places *at, asc_tensor *mask) {
    asc_ctx *ctx = d->ctx;
    if (chunk == 0) return mask;
    /* half a token more keeps the quotient of a chunk's first token off the whole number */
    const double of = 1.0 / (double)chunk;
    asc_tensor *q = asc_floor(ctx, asc_scale(ctx, asc_shift(ctx, at->q, 0.5), of));
    asc_tensor *k = asc_floor(ctx, asc_scale(ctx, asc_shift(ctx, at->k, 0.5), of));
    asc_tensor *same = asc_equal(ctx, q, k);
    return mask != NULL ? asc_mul(ctx, mask, same)
                        : asc_broadcast(ctx, same, ASC_SHAPE(at->q->shape.dims[0], at->k->shape.dims[1]));
}

static asc_tensor *apart(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                         asc_tensor *mask, const places *at, const asc_attend_eyes *eyes) {
    asc_ctx *ctx = d->ctx;
    const asc_attrs attrs = attrs_of(d, l);
    asc_attn_parts s;
    const asc_attn_more more = {.mask = in_chunk(d, d->cfg.plan[l].chunk, at, mask),
                                .bias = distance_bias(d, at),
                                .sink = d->layers[l].sinks};
    asc_attn_record_more(ctx, &attrs, q, k, v, &more, &s);
    if (eyes != NULL) s.p = eyes->probs(eyes->self, l, s.p);
    return asc_attn_unfold_q(ctx, &s, asc_matmul(ctx, s.p, s.v, false, false));
}

static bool is_plain(const asc_decoder *d, int64_t l) {
    return d->slopes == NULL && d->cfg.plan[l].chunk == 0 && d->layers[l].sinks == NULL;
}

asc_tensor *asc_decoder_attend(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                               const asc_attend_eyes *eyes) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    if (q->poison != ASC_OK) return q;
    if (k->poison != ASC_OK || v->poison != ASC_OK) return k->poison != ASC_OK ? k : v;
    if (eyes == NULL && is_plain(d, l))
        return asc_sdpa(ctx, q, k, v, c->attn_scale, !c->not_causal, c->plan[l].window, c->attn_cap);
    const asc_attrs attrs = attrs_of(d, l);
    const int64_t t = q->shape.dims[1], s = k->shape.dims[1];
    const places at = {.q = asc_reshape(ctx, asc_iota(ctx, t, (double)(s - t), 1.0), ASC_SHAPE(t, 1)),
                       .k = asc_reshape(ctx, asc_iota(ctx, s, 0.0, 1.0), ASC_SHAPE(1, s))};
    return apart(d, l, q, k, v, asc_attn_mask(ctx, &attrs, t, s), &at, eyes);
}

asc_tensor *asc_decoder_attend_tree(asc_decoder *d, int64_t l, asc_tensor *const *in) {
    enum { Q, K, V, PARENT, POS, PAST_K, PAST_V };
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    if (is_plain(d, l)) return asc_sdpa_tree(ctx, in, c->attn_scale, c->plan[l].window, c->attn_cap);
    for (int i = 0; i <= PAST_V; i++) {
        if (in[i] != NULL && in[i]->poison != ASC_OK) return in[i];
    }
    asc_tensor *k = in[K], *v = in[V];
    if (in[PAST_K] != NULL) {
        asc_tensor *ks[2] = {in[PAST_K], k}, *vs[2] = {in[PAST_V], v};
        k = asc_concat(ctx, ks, 2, 1);
        v = asc_concat(ctx, vs, 2, 1);
    }
    const int64_t t = in[Q]->shape.dims[1], s = in[POS]->shape.dims[0];
    asc_tensor *pos = asc_cast(ctx, in[POS], ASC_DTYPE_F32);
    const places at = {.q = asc_reshape(ctx, asc_slice(ctx, pos, 0, s - t, t), ASC_SHAPE(t, 1)),
                       .k = asc_reshape(ctx, pos, ASC_SHAPE(1, s))};
    asc_tensor *mask = asc_tree_mask(ctx, in[PARENT], in[POS], t, c->plan[l].window);
    return apart(d, l, in[Q], k, v, mask, &at, NULL);
}
