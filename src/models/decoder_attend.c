/* decoder_attend.c - a layer's attention. What ALiBi adds to scores is a product of columns that queries and
 * keys get beside their own, so that the ops compute it with everything else; a sink is such a column, too,
 * where all keys are seen or tokens are a tree. A chunk ends a tree; tokens in a row are cut into pieces for
 * chunks, and for windows with a sink, so that what is held does not grow by the square of their number.
 * Attention is taken apart where somebody looks at probabilities, and for those windows. */
#include "attention.h"
#include "decoder.h"

static asc_attrs attrs_of(const asc_decoder *d, int64_t l) {
    const asc_decoder_config *c = &d->cfg;
    return (asc_attrs){.i = {[ASC_ATTN_CAUSAL] = !c->not_causal, [ASC_ATTN_WINDOW] = c->plan[l].window},
                       .f = {[ASC_ATTN_SCALE] = c->attn_scale, [ASC_ATTN_CAP] = c->attn_cap}};
}

/* x [B,T,H,D] with the columns of more [1,T or 1,H or 1,n] behind it. */
static asc_tensor *beside(asc_ctx *ctx, asc_tensor *x, asc_tensor *more) {
    const int64_t *n = x->shape.dims;
    if (more->poison != ASC_OK) return more;
    asc_tensor *all[2] = {x, asc_broadcast(ctx, more, ASC_SHAPE(n[0], n[1], n[2], more->shape.dims[3]))};
    return asc_concat(ctx, all, 2, 3);
}

static asc_tensor *zeros(asc_ctx *ctx, int64_t n) { return asc_full(ctx, ASC_SHAPE(1, 1, 1, n), 0.0); }

/* Columns whose product, times the scale, is ALiBi's: of keys at positions pos [S], the position or, where
 * that is rounded, what each head of the group adds; of queries, the slope or a 1 in the head's own column.
 */
static asc_tensor *of_keys(asc_decoder *d, asc_tensor *pos) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const int64_t s = pos->shape.dims[0];
    if (!c->alibi_rounded) return asc_reshape(ctx, asc_cast(ctx, pos, ASC_DTYPE_F32), ASC_SHAPE(1, s, 1, 1));
    return asc_reshape(ctx, asc_gather(ctx, d->slopes, pos), ASC_SHAPE(1, s, c->n_kv, c->n_heads / c->n_kv));
}

static asc_tensor *of_queries(asc_decoder *d) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const int64_t each = c->n_heads / c->n_kv;
    asc_tensor *x = d->slopes;
    if (c->alibi_rounded) {
        asc_tensor *i = asc_iota(ctx, each, 0.0, 1.0);
        x = asc_equal(ctx, asc_reshape(ctx, i, ASC_SHAPE(each, 1)), asc_reshape(ctx, i, ASC_SHAPE(1, each)));
        x = asc_broadcast(ctx, x, ASC_SHAPE(c->n_kv, each, each));
    }
    x = asc_scale(ctx, x, 1.0 / c->attn_scale);
    return asc_reshape(ctx, x, ASC_SHAPE(1, 1, c->n_heads, c->alibi_rounded ? each : 1));
}

static int64_t n_columns(const asc_decoder *d) {
    return d->slopes == NULL ? 0 : d->cfg.alibi_rounded ? d->cfg.n_heads / d->cfg.n_kv : 1;
}

/* mask [T,S], and of it what is in the query's own chunk; positions are those of tokens in a row. */
static asc_tensor *in_chunk(asc_decoder *d, int64_t chunk, int64_t t, int64_t s, asc_tensor *mask) {
    asc_ctx *ctx = d->ctx;
    if (chunk == 0) return mask;
    /* half a token more keeps the quotient of a chunk's first token off the whole number */
    asc_tensor *at = asc_iota(ctx, s, 0.5 / (double)chunk, 1.0 / (double)chunk);
    at = asc_floor(ctx, at);
    asc_tensor *same = asc_equal(ctx, asc_reshape(ctx, asc_slice(ctx, at, 0, s - t, t), ASC_SHAPE(t, 1)),
                                 asc_reshape(ctx, at, ASC_SHAPE(1, s)));
    return mask != NULL ? asc_mul(ctx, mask, same) : same;
}

static asc_tensor *apart(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                         const asc_attend_eyes *eyes) {
    asc_ctx *ctx = d->ctx;
    const asc_attrs attrs = attrs_of(d, l);
    const int64_t t = q->shape.dims[1], s = k->shape.dims[1];
    asc_attn_parts parts;
    const asc_attn_more more = {.mask =
                                    in_chunk(d, d->cfg.plan[l].chunk, t, s, asc_attn_mask(ctx, &attrs, t, s)),
                                .sink = d->layers[l].sinks};
    asc_attn_record_more(ctx, &attrs, q, k, v, &more, &parts);
    if (eyes != NULL) parts.p = eyes->probs(eyes->self, l, parts.p);
    parts.D = v->shape.dims[3];
    return asc_attn_unfold_q(ctx, &parts, asc_matmul(ctx, parts.p, parts.v, false, false));
}

/* What stands at the sink: before all keys, with a score that is the same for each query of a head, and no
 * value. */
static asc_tensor *with_sink(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const int64_t b = k->shape.dims[0], h = c->n_heads, g = c->n_kv, n = c->head_dim;
    asc_tensor *score = asc_scale(ctx, d->layers[l].sinks, 1.0 / c->attn_scale);
    asc_tensor *mark[2] = {asc_full(ctx, ASC_SHAPE(b, 1, g, n), 0.0),
                           asc_full(ctx, ASC_SHAPE(b, 1, g, 1), 1.0)};
    asc_tensor *keys[2] = {asc_concat(ctx, mark, 2, 3), beside(ctx, k, zeros(ctx, 1))};
    asc_tensor *values[2] = {asc_full(ctx, ASC_SHAPE(b, 1, g, n + 1), 0.0), beside(ctx, v, zeros(ctx, 1))};
    q = beside(ctx, q, asc_reshape(ctx, score, ASC_SHAPE(1, 1, h, 1)));
    k = asc_concat(ctx, keys, 2, 1);
    v = asc_concat(ctx, values, 2, 1);
    asc_tensor *y = asc_sdpa(ctx, q, k, v, c->attn_scale, !c->not_causal, 0, c->attn_cap);
    return asc_slice(ctx, y, 3, 0, n);
}

/* Queries that stand in the same piece of the positions, with the keys that they can see: the piece's own,
 * and with a window those of it before the piece. */
static asc_tensor *in_pieces(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v) {
    enum { LEAST = 256 }; /* queries; fewer make more programs' steps than they save */
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const int64_t chunk = c->plan[l].chunk, window = c->plan[l].window, s = k->shape.dims[1],
                  begin = s - q->shape.dims[1],
                  size = chunk > 0        ? chunk
                         : window > LEAST ? window
                                          : LEAST;
    const size_t n = (size_t)((s - 1) / size - begin / size + 1);
    asc_tensor **parts = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *parts), *y;
    if (parts == NULL) return asc_graph_poison(asc_graph_of(ctx));
    int64_t a = begin;
    for (size_t i = 0; i < n; i++) {
        const int64_t first = a / size * size, end = first + size < s ? first + size : s;
        const int64_t low = chunk > 0 ? first : a >= window ? a - window + 1 : 0;
        asc_tensor *qi = asc_slice(ctx, q, 1, a - begin, end - a), *ki = asc_slice(ctx, k, 1, low, end - low),
                   *vi = asc_slice(ctx, v, 1, low, end - low);
        parts[i] = d->layers[l].sinks != NULL
                       ? apart(d, l, qi, ki, vi, NULL)
                       : asc_sdpa(ctx, qi, ki, vi, c->attn_scale, !c->not_causal, window, c->attn_cap);
        a = end;
    }
    y = asc_concat_many(ctx, parts, n, 1);
    asc_free(ctx, parts);
    return y;
}

asc_tensor *asc_decoder_attend(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                               const asc_attend_eyes *eyes) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const int64_t n = n_columns(d);
    if (q->poison != ASC_OK) return q;
    if (k->poison != ASC_OK || v->poison != ASC_OK) return k->poison != ASC_OK ? k : v;
    if (n > 0) {
        asc_tensor *pos = asc_cast(ctx, asc_iota(ctx, k->shape.dims[1], 0.0, 1.0), ASC_DTYPE_I32);
        q = beside(ctx, q, of_queries(d));
        k = beside(ctx, k, of_keys(d, pos));
    }
    if (eyes != NULL) return apart(d, l, q, k, v, eyes);
    if (c->plan[l].chunk > 0 || (d->layers[l].sinks != NULL && c->plan[l].window > 0))
        return in_pieces(d, l, q, k, v);
    if (d->layers[l].sinks != NULL) return with_sink(d, l, q, k, v);
    if (n > 0) v = beside(ctx, v, zeros(ctx, n));
    asc_tensor *y = asc_sdpa(ctx, q, k, v, c->attn_scale, !c->not_causal, c->plan[l].window, c->attn_cap);
    return n > 0 ? asc_slice(ctx, y, 3, 0, c->head_dim) : y;
}

/* Of each key the one before it in its own chunk, -1 at a chunk's first. What is not before a key stands for
 * the one before it, as in asc_sdpa_tree. */
static asc_tensor *chunk_parents(asc_decoder *d, int64_t chunk, asc_tensor *parent, asc_tensor *pos) {
    asc_ctx *ctx = d->ctx;
    const double of = 1.0 / (double)chunk;
    asc_tensor *at = asc_scale(ctx, asc_shift(ctx, asc_cast(ctx, pos, ASC_DTYPE_F32), 0.5), of);
    at = asc_floor(ctx, at);
    asc_tensor *up = asc_minimum(ctx, asc_cast(ctx, parent, ASC_DTYPE_F32),
                                 asc_iota(ctx, parent->shape.dims[0], -1.0, 1.0));
    asc_tensor *row = asc_maximum(ctx, up, asc_full(ctx, ASC_SCALAR_SHAPE, 0.0)); /* -1 is no row; it stays */
    asc_tensor *same = asc_equal(ctx, at, asc_gather(ctx, at, asc_cast(ctx, row, ASC_DTYPE_I32)));
    up = asc_where(ctx, same, up, asc_full(ctx, ASC_SCALAR_SHAPE, -1.0));
    return asc_cast(ctx, up, ASC_DTYPE_I32);
}

asc_tensor *asc_decoder_attend_tree(asc_decoder *d, int64_t l, asc_tensor *const *given) {
    enum { Q, K, V, PARENT, POS, PAST_K, PAST_V, N_IN };
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const int64_t n = n_columns(d);
    const bool sink = d->layers[l].sinks != NULL;
    asc_tensor *in[N_IN];
    for (int i = 0; i < N_IN; i++) in[i] = given[i];
    for (int i = 0; i < N_IN; i++) {
        if (in[i] != NULL && in[i]->poison != ASC_OK) return in[i];
    }
    if (c->plan[l].chunk > 0) in[PARENT] = chunk_parents(d, c->plan[l].chunk, in[PARENT], in[POS]);
    if (n > 0 || sink) {
        const int64_t past = in[PAST_K] != NULL ? in[PAST_K]->shape.dims[1] : 0, now = in[K]->shape.dims[1];
        asc_tensor *add = sink ? zeros(ctx, 1) : of_keys(d, in[POS]);
        asc_tensor *q = sink ? asc_reshape(ctx, asc_scale(ctx, d->layers[l].sinks, 1.0 / c->attn_scale),
                                           ASC_SHAPE(1, 1, c->n_heads, 1))
                             : of_queries(d);
        in[Q] = beside(ctx, in[Q], q);
        in[K] = beside(ctx, in[K], sink ? add : asc_slice(ctx, add, 1, past, now));
        in[V] = beside(ctx, in[V], zeros(ctx, sink ? 1 : n));
        if (in[PAST_K] != NULL) {
            in[PAST_K] = beside(ctx, in[PAST_K], sink ? add : asc_slice(ctx, add, 1, 0, past));
            in[PAST_V] = beside(ctx, in[PAST_V], zeros(ctx, sink ? 1 : n));
        }
    }
    asc_tensor *y = sink ? asc_sdpa_tree_sink(ctx, in, c->attn_scale, c->plan[l].window, c->attn_cap)
                         : asc_sdpa_tree(ctx, in, c->attn_scale, c->plan[l].window, c->attn_cap);
    return n > 0 || sink ? asc_slice(ctx, y, 3, 0, c->head_dim) : y;
}
