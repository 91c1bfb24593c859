/* decoder.c - the forward pass, as ops. Reads like the formula: errors poison the result (ascribe/tensor.h).
 */
#include "decoder.h"
#include <math.h>

static asc_tensor *at_site(const asc_decoder_run *r, asc_decoder_site site, int64_t layer, asc_tensor *v) {
    return r->site != NULL ? r->site(r->site_self, site, layer, v) : v;
}

asc_tensor *asc_decoder_embed(asc_decoder *d, const int32_t *ids, int64_t b, int64_t t) {
    const char *label = asc_set_label(d->ctx, "embed");
    asc_tensor *x = asc_gather(d->ctx, d->embed, asc_from_i32(d->ctx, ASC_SHAPE(b, t), ids));
    asc_set_label(d->ctx, label);
    return x;
}

static asc_tensor *positions(asc_decoder *d, int64_t first, int64_t n) {
    asc_ctx *ctx = d->ctx;
    return asc_cast(ctx, asc_iota(ctx, n, (double)first, 1.0), ASC_DTYPE_I32);
}

static asc_tensor *heads(asc_decoder *d, asc_tensor *h, asc_tensor *w, asc_tensor *b, asc_tensor *norm) {
    asc_tensor *x = asc_split_heads(d->ctx, asc_linear(d->ctx, h, w, b), d->cfg.head_dim);
    return norm != NULL ? asc_rms_norm(d->ctx, x, norm, d->cfg.eps) : x;
}

/* The last n tokens of x [B,T,D]. */
static asc_tensor *last_tokens(asc_ctx *ctx, asc_tensor *x, int64_t n) {
    int64_t t = x->shape.dims[1];
    return n == t ? x : asc_slice(ctx, x, 1, t - n, n);
}

static asc_tensor *attention(asc_decoder *d, const asc_decoder_run *run, int64_t l, asc_tensor *h,
                             asc_tensor *pos, int64_t rows) {
    asc_ctx *ctx = d->ctx;
    const asc_layer *w = &d->layers[l];
    const asc_decoder_config *c = &d->cfg;
    asc_tensor *k = heads(d, h, w->wk, w->bk, w->k_norm), *v = heads(d, h, w->wv, w->bv, NULL);
    k = asc_rope(ctx, k, pos, d->inv_freq, c->family->interleaved, false, d->mscale);
    if (run->past != NULL) {
        asc_tensor *ks[2] = {run->past[l].k, k}, *vs[2] = {run->past[l].v, v};
        k = asc_concat(ctx, ks, 2, 1);
        v = asc_concat(ctx, vs, 2, 1);
    }
    if (run->out_kv != NULL) run->out_kv[l] = (asc_kv){.k = k, .v = v};
    int64_t t = h->shape.rank > 1 ? h->shape.dims[1] : rows;
    asc_tensor *q = heads(d, last_tokens(ctx, h, rows), w->wq, w->bq, w->q_norm);
    asc_tensor *qpos = rows == t ? pos : positions(d, run->pos + t - rows, rows);
    q = asc_rope(ctx, q, qpos, d->inv_freq, c->family->interleaved, false, d->mscale);
    int64_t window = c->family->alternate_window && l % 2 == 1 ? 0 : c->window;
    asc_tensor *o = asc_sdpa(ctx, q, k, v, c->attn_scale, true, window, c->attn_cap);
    asc_shape flat = q->shape;
    if (flat.rank == 4) {
        flat.rank = 3;
        flat.dims[2] = c->n_heads * c->head_dim;
        o = asc_reshape(ctx, o, flat);
    }
    o = asc_linear(ctx, o, w->wo, w->bo);
    return w->attn_post_norm != NULL ? asc_rms_norm(ctx, o, w->attn_post_norm, c->eps) : o;
}

static asc_tensor *block(asc_decoder *d, const asc_decoder_run *run, int64_t l, asc_tensor *x,
                         asc_tensor *pos, int64_t rows) {
    asc_ctx *ctx = d->ctx;
    const asc_layer *w = &d->layers[l];
    const char *label = asc_set_label(ctx, w->attn_label);
    asc_tensor *h = at_site(run, ASC_SITE_ATTN_IN, l, asc_rms_norm(ctx, x, w->attn_norm, d->cfg.eps));
    asc_tensor *a = at_site(run, ASC_SITE_ATTN_OUT, l, attention(d, run, l, h, pos, rows));
    x = asc_add(ctx, last_tokens(ctx, x, rows), a);
    asc_set_label(ctx, w->mlp_label);
    h = at_site(run, ASC_SITE_MLP_IN, l, asc_rms_norm(ctx, x, w->ffn_norm, d->cfg.eps));
    asc_tensor *m = asc_gated_mlp(ctx, h, w->w_gate, w->w_up, w->w_down, d->cfg.family->gate);
    if (w->ffn_post_norm != NULL) m = asc_rms_norm(ctx, m, w->ffn_post_norm, d->cfg.eps);
    x = asc_add(ctx, x, at_site(run, ASC_SITE_MLP_OUT, l, m));
    asc_set_label(ctx, label);
    return at_site(run, ASC_SITE_BLOCK_OUT, l, x);
}

asc_tensor *asc_decoder_entry(asc_decoder *d, const asc_decoder_run *run) {
    asc_tensor *x = at_site(run, ASC_SITE_EMBED, -1, run->x);
    return d->cfg.family->embed_scale ? asc_scale(d->ctx, x, sqrt((double)d->cfg.d_model)) : x;
}

asc_tensor *asc_decoder_blocks(asc_decoder *d, const asc_decoder_run *run, int64_t first, int64_t end,
                               asc_tensor *x) {
    if (x->poison != ASC_OK) return x;
    int64_t t = x->shape.dims[1], tail = run->tail > 0 ? run->tail : t;
    asc_tensor *pos = positions(d, run->pos, t);
    for (int64_t l = first; l < end; l++) {
        bool cut = l == d->cfg.n_layers - 1 && !run->whole_last_block;
        x = block(d, run, l, x, pos, cut ? tail : t);
    }
    return end == d->cfg.n_layers && run->whole_last_block ? last_tokens(d->ctx, x, tail) : x;
}

asc_tensor *asc_decoder_hidden(asc_decoder *d, const asc_decoder_run *run) {
    if (run->x->poison != ASC_OK) return run->x;
    return asc_decoder_blocks(d, run, 0, d->cfg.n_layers, asc_decoder_entry(d, run));
}

asc_tensor *asc_decoder_logits(asc_decoder *d, asc_tensor *hidden, asc_site_fn site, void *site_self) {
    asc_ctx *ctx = d->ctx;
    const char *label = asc_set_label(ctx, "head");
    asc_tensor *h = asc_rms_norm(ctx, hidden, d->out_norm, d->cfg.eps);
    if (site != NULL) h = site(site_self, ASC_SITE_FINAL_NORM, -1, h);
    h = asc_soft_cap(ctx, asc_linear(ctx, h, d->head, NULL), d->cfg.final_cap);
    asc_set_label(ctx, label);
    return h;
}
