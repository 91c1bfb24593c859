/* decoder.c - the forward pass, as ops. Reads like the formula: errors poison the result (ascribe/tensor.h).
 */
#include "site_edits.h"

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

/* pos: places of the run's tokens, of which v may hold the last ones. */
static asc_tensor *at_site(asc_decoder *d, const asc_decoder_run *r, asc_decoder_site site, int64_t layer,
                           asc_tensor *v, asc_tensor *pos) {
    v = asc_site_edits_apply(d->ctx, d->edits, site, layer, v, pos);
    return r->site != NULL ? r->site(r->site_self, site, layer, v) : v;
}

static asc_tensor *norm(asc_decoder *d, asc_tensor *x, const asc_norm *n) {
    if (n->w == NULL) return x;
    return d->cfg.norm == ASC_NORM_RMS ? asc_rms_norm(d->ctx, x, n->w, d->cfg.eps)
                                       : asc_layer_norm(d->ctx, x, n->w, n->b, d->cfg.eps);
}

static asc_tensor *scaled(asc_decoder *d, asc_tensor *x, double factor) {
    return factor > 0.0 || factor < 0.0 ? asc_scale(d->ctx, x, factor) : x;
}

/* The last n tokens of x [B,T,..]. */
static asc_tensor *last_tokens(asc_ctx *ctx, asc_tensor *x, int64_t n) {
    int64_t t = x->shape.rank > 1 ? x->shape.dims[1] : n;
    return n == t ? x : asc_slice(ctx, x, 1, t - n, n);
}

/* What one attention works on. */
typedef struct qkv {
    asc_tensor *q, *k, *v; /* [B,R,H,D], [B,T,G,D], [B,T,G,D] */
} qkv;

/* y [B,T,(H+2G)*D] of a fused projection. */
static qkv cut_fused(asc_decoder *d, asc_tensor *y, int64_t rows) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    qkv s;
    if (c->fused_qkv_shards > 0 && y->poison == ASC_OK) { /* [B,T,n,3,D/n] */
        const int64_t n = c->fused_qkv_shards, b = y->shape.dims[0], t = y->shape.dims[1];
        const asc_shape each = ASC_SHAPE(b, t, c->n_heads, c->head_dim);
        y = asc_reshape(ctx, y, ASC_SHAPE(b, t, n, 3, c->n_heads * c->head_dim / n));
        s.q = last_tokens(ctx, asc_reshape(ctx, asc_slice(ctx, y, 3, 0, 1), each), rows);
        s.v = asc_reshape(ctx, asc_slice(ctx, y, 3, 1, 1), each);
        s.k = asc_reshape(ctx, asc_slice(ctx, y, 3, 2, 1), each);
        return s;
    }
    if (c->fused_qkv_by_head) {
        const int64_t each = c->n_heads / c->n_kv, d_head = c->head_dim;
        y = asc_split_heads(ctx, y, (each + 2) * d_head);
        s.q = asc_slice(ctx, last_tokens(ctx, y, rows), 3, 0, each * d_head);
        s.k = asc_slice(ctx, y, 3, each * d_head, d_head);
        s.v = asc_slice(ctx, y, 3, (each + 1) * d_head, d_head);
        if (each > 1 && s.q->poison == ASC_OK)
            s.q =
                asc_reshape(ctx, s.q, ASC_SHAPE(s.q->shape.dims[0], s.q->shape.dims[1], c->n_heads, d_head));
        return s;
    }
    y = asc_split_heads(ctx, y, c->head_dim);
    s.q = asc_slice(ctx, last_tokens(ctx, y, rows), 2, 0, c->n_heads);
    s.k = asc_slice(ctx, y, 2, c->n_heads, c->n_kv);
    s.v = asc_slice(ctx, y, 2, c->n_heads + c->n_kv, c->n_kv);
    return s;
}

/* y [B,T,H,D], each head normalised by itself, without weights. */
static asc_tensor *norm_bare(asc_decoder *d, asc_tensor *y) {
    const asc_shape row = ASC_SHAPE(d->cfg.head_dim);
    const asc_norm plain = {.w = asc_full(d->ctx, row, 1.0), .b = asc_full(d->ctx, row, 0.0)};
    return norm(d, y, &plain);
}

/* y [B,T,H,D], each head normalised by itself, times weights [H,D]. */
static asc_tensor *norm_each(asc_decoder *d, asc_tensor *y, const asc_norm *n) {
    return n->w != NULL ? asc_mul(d->ctx, norm_bare(d, y), n->w) : y;
}

static asc_tensor *heads(asc_decoder *d, asc_tensor *h, const asc_proj *p, const asc_norm *n) {
    asc_tensor *y = asc_project(d->ctx, h, p);
    if (d->cfg.qk_norm == ASC_QK_NORM_WIDE && n != NULL) y = norm(d, y, n);
    y = asc_split_heads(d->ctx, y, d->cfg.head_dim);
    if (d->cfg.qk_norm == ASC_QK_NORM_EACH && n != NULL) return norm_each(d, y, n);
    return d->cfg.qk_norm == ASC_QK_NORM_HEAD && !d->cfg.qk_norm_late && n != NULL ? norm(d, y, n) : y;
}

static qkv project(asc_decoder *d, const asc_layer *w, asc_tensor *h, int64_t rows) {
    asc_ctx *ctx = d->ctx;
    const double most = d->cfg.clip_qkv;
    qkv s;
    if (w->qkv.w != NULL) {
        s = cut_fused(d, asc_project(ctx, h, &w->qkv), rows);
        if (d->cfg.qk_norm == ASC_QK_NORM_HEAD && !d->cfg.qk_norm_late) {
            s.q = norm(d, s.q, &w->q_norm);
            s.k = norm(d, s.k, &w->k_norm);
        }
    } else {
        s = (qkv){.q = heads(d, last_tokens(ctx, h, rows), &w->q, &w->q_norm),
                  .k = heads(d, h, &w->k, &w->k_norm),
                  .v = heads(d, h, &w->v, NULL)};
    }
    if (most > 0.0)
        s = (qkv){.q = asc_clip(ctx, s.q, -most, most),
                  .k = asc_clip(ctx, s.k, -most, most),
                  .v = asc_clip(ctx, s.v, -most, most)};
    return s;
}

/* Positions of the run's tokens and of its last rows, and the frequencies for a sequence of this length. */
typedef struct place {
    asc_tensor *pos, *last;
    int64_t rows, whole;
} place;

static asc_tensor *turn(asc_decoder *d, asc_tensor *x, asc_tensor *pos, int rope, int64_t whole) {
    if (rope == ASC_ROPE_OFF || d->cfg.positions != ASC_POSITIONS_ROTARY) return x;
    bool is_long = (double)whole > d->cfg.rope[rope].original_context;
    asc_tensor *f = is_long && d->inv_freq_long[rope] != NULL ? d->inv_freq_long[rope] : d->inv_freq[rope];
    return asc_rope(d->ctx, x, pos, f, d->cfg.rope_interleaved, false, d->mscale[rope]);
}

/* Queries q [B,R,H,D] at positions pos [R] grow with them. */
static asc_tensor *grown(asc_decoder *d, asc_tensor *q, asc_tensor *pos) {
    asc_ctx *ctx = d->ctx;
    if (pos->poison != ASC_OK) return pos;
    /* half a position more keeps the quotient off the whole numbers */
    asc_tensor *at = asc_shift(ctx, asc_cast(ctx, pos, ASC_DTYPE_F32), d->cfg.q_grow_all ? 0.5 : 1.5);
    asc_tensor *steps = asc_floor(ctx, asc_scale(ctx, at, 1.0 / d->cfg.q_floor));
    asc_tensor *by = asc_shift(ctx, asc_scale(ctx, asc_log1p(ctx, steps), d->cfg.q_grow), 1.0);
    return asc_mul(ctx, q, asc_reshape(ctx, by, ASC_SHAPE(pos->shape.dims[0], 1, 1)));
}

static asc_tensor *attention(asc_decoder *d, const asc_decoder_run *run, int64_t l, asc_tensor *h,
                             const place *at) {
    asc_ctx *ctx = d->ctx;
    const asc_layer *w = &d->layers[l];
    const asc_decoder_config *c = &d->cfg;
    int rope = c->plan[l].rope;
    qkv s = project(d, w, h, at->rows);
    s.k = turn(d, s.k, at->pos, rope, at->whole);
    s.q = turn(d, s.q, at->last, rope, at->whole);
    if (c->qk_norm_late) {
        s.k = norm(d, s.k, &w->k_norm);
        s.q = norm(d, s.q, &w->q_norm);
    }
    if (c->qk_norm == ASC_QK_NORM_TURNED && rope != ASC_ROPE_OFF) {
        s.k = norm_bare(d, s.k);
        s.q = norm_bare(d, s.q);
    }
    if (c->q_grow > 0.0 && (c->q_grow_all || rope == ASC_ROPE_OFF)) s.q = grown(d, s.q, at->last);
    if (c->scale_by_depth) s.q = asc_scale(ctx, s.q, 1.0 / (double)(l + 1));
    asc_tensor *o;
    if (run->attend != NULL) {
        o = run->attend(run->attend_self, l, s.q, s.k, s.v);
    } else {
        if (run->past != NULL) {
            asc_tensor *ks[2] = {run->past[l].k, s.k}, *vs[2] = {run->past[l].v, s.v};
            s.k = asc_concat(ctx, ks, 2, 1);
            s.v = asc_concat(ctx, vs, 2, 1);
        }
        if (run->out_kv != NULL) run->out_kv[l] = (asc_kv){.k = s.k, .v = s.v};
        o = asc_decoder_attend(d, l, s.q, s.k, s.v, NULL);
    }
    asc_shape flat = s.q->shape;
    if (flat.rank == 4) {
        flat.rank = 3;
        flat.dims[2] = c->n_heads * c->head_dim;
        o = asc_reshape(ctx, o, flat);
    }
    asc_tensor *y = asc_project(ctx, at_site(d, run, ASC_SITE_ATTN_HEADS, l, o, at->last), &w->o);
    return c->block == ASC_BLOCK_POST ? y : norm(d, y, &w->attn_post_norm);
}

/* Of one expert that every token takes, beside those that the router chooses. */
static asc_tensor *shared(asc_decoder *d, const asc_layer *w, asc_tensor *h) {
    asc_ctx *ctx = d->ctx;
    asc_tensor *u = asc_gated(ctx, asc_project(ctx, h, &w->gate), asc_project(ctx, h, &w->up), d->cfg.act);
    asc_tensor *y = asc_project(ctx, u, &w->down);
    if (w->shared_gate == NULL) return y;
    return asc_mul(ctx, y, asc_sigmoid(ctx, asc_matmul(ctx, h, w->shared_gate, false, true)));
}

static asc_tensor *mlp(asc_decoder *d, const asc_decoder_run *run, int64_t l, asc_tensor *h,
                       const place *at) {
    asc_ctx *ctx = d->ctx;
    const asc_decoder_config *c = &d->cfg;
    const asc_layer *w = &d->layers[l];
    asc_tensor *u;
    if (w->router != NULL) {
        const asc_mixture m = {.router = w->router,
                               .router_bias = w->router_bias,
                               .choice_bias = w->choice_bias,
                               .gate = w->gate_exps,
                               .up = w->up_exps,
                               .gate_up = w->gate_up_exps,
                               .down = w->down_exps,
                               .paired = c->paired_experts,
                               .used = c->n_experts_used,
                               .normalised = c->norm_top_k,
                               .sigmoid = c->sigmoid_shares,
                               .scale_input = c->scale_expert_input,
                               .share_scale = c->share_scale,
                               .limit = c->swiglu_limit,
                               .alpha = c->swiglu_alpha,
                               .act = c->act};
        asc_tensor *mixed = asc_mix(ctx, h, &m);
        if (w->up.w != NULL) mixed = asc_add(ctx, mixed, shared(d, w, h));
        return norm(d, mixed, &w->ffn_post_norm);
    }
    if (c->gated) {
        asc_tensor *g = asc_project(ctx, h, &w->gate);
        u = asc_gated(ctx, g, asc_project(ctx, h, &w->up), c->act);
    } else {
        u = asc_project(ctx, h, &w->up);
        u = c->xielu ? asc_activate_xielu(ctx, u, &w->xielu) : asc_activate(ctx, u, c->act);
    }
    asc_tensor *y = asc_project(ctx, at_site(d, run, ASC_SITE_MLP_ACT, l, u, at->last), &w->down);
    return c->block == ASC_BLOCK_POST ? y : norm(d, y, &w->ffn_post_norm);
}

static asc_tensor *block(asc_decoder *d, const asc_decoder_run *run, int64_t l, asc_tensor *x,
                         const place *at) {
    asc_ctx *ctx = d->ctx;
    const asc_layer *w = &d->layers[l];
    bool parallel = d->cfg.block == ASC_BLOCK_PARALLEL, post = d->cfg.block == ASC_BLOCK_POST;
    const char *label = asc_set_label(ctx, w->attn_label);
    asc_tensor *h = at_site(d, run, ASC_SITE_ATTN_IN, l, norm(d, x, &w->attn_norm), at->pos);
    asc_tensor *a = at_site(d, run, ASC_SITE_ATTN_OUT, l, attention(d, run, l, h, at), at->last);
    x = last_tokens(ctx, x, at->rows);
    asc_tensor *mid = asc_add(ctx, x, scaled(d, a, d->cfg.residual_scale));
    if (post) mid = norm(d, mid, &w->attn_post_norm);
    asc_set_label(ctx, w->mlp_label);
    asc_tensor *in = parallel ? x : mid;
    h = w->ffn_norm.w != NULL || !parallel ? norm(d, in, &w->ffn_norm) : last_tokens(ctx, h, at->rows);
    asc_tensor *m = mlp(d, run, l, at_site(d, run, ASC_SITE_MLP_IN, l, h, at->last), at);
    m = at_site(d, run, ASC_SITE_MLP_OUT, l, m, at->last);
    x = asc_add(ctx, mid, scaled(d, m, d->cfg.residual_scale));
    if (post) x = norm(d, x, &w->ffn_post_norm);
    asc_set_label(ctx, label);
    return at_site(d, run, ASC_SITE_BLOCK_OUT, l, x, at->last);
}

asc_tensor *asc_decoder_entry(asc_decoder *d, const asc_decoder_run *run) {
    if (run->x->poison != ASC_OK) return run->x;
    asc_tensor *pos = run->positions != NULL ? run->positions : positions(d, run->pos, run->x->shape.dims[1]);
    asc_tensor *x = scaled(d, at_site(d, run, ASC_SITE_EMBED, -1, run->x, pos), d->cfg.embed_scale);
    x = norm(d, x, &d->embed_norm);
    if (d->pos_embed == NULL) return x;
    return asc_add(d->ctx, x, asc_gather(d->ctx, d->pos_embed, pos));
}

asc_tensor *asc_decoder_blocks(asc_decoder *d, const asc_decoder_run *run, int64_t first, int64_t end,
                               asc_tensor *x) {
    if (x->poison != ASC_OK) return x;
    asc_ctx *ctx = d->ctx;
    int64_t t = x->shape.dims[1], tail = run->tail > 0 ? run->tail : t;
    int64_t whole = run->whole > 0 ? run->whole : run->pos + t;
    asc_tensor *pos = run->positions != NULL ? run->positions : positions(d, run->pos, t);
    place all = {.pos = pos, .last = pos, .rows = t, .whole = whole};
    place cut = all;
    cut.rows = tail;
    if (tail != t)
        cut.last = run->positions != NULL ? asc_slice(ctx, pos, 0, t - tail, tail)
                                          : positions(d, run->pos + t - tail, tail);
    for (int64_t l = first; l < end; l++) {
        bool last = l == d->cfg.n_layers - 1 && !run->whole_last_block;
        x = block(d, run, l, x, last ? &cut : &all);
    }
    return end == d->cfg.n_layers && run->whole_last_block ? last_tokens(ctx, x, tail) : x;
}

asc_tensor *asc_decoder_hidden(asc_decoder *d, const asc_decoder_run *run) {
    if (run->x->poison != ASC_OK) return run->x;
    return asc_decoder_blocks(d, run, 0, d->cfg.n_layers, asc_decoder_entry(d, run));
}

asc_tensor *asc_decoder_logits(asc_decoder *d, asc_tensor *hidden, asc_site_fn site, void *site_self) {
    asc_ctx *ctx = d->ctx;
    const char *label = asc_set_label(ctx, "head");
    asc_tensor *h = norm(d, hidden, &d->out_norm);
    const asc_decoder_run run = {.site = site, .site_self = site_self};
    h = at_site(d, &run, ASC_SITE_FINAL_NORM, -1, h, NULL);
    h = scaled(d, asc_project(ctx, h, &d->head), d->cfg.logit_scale);
    h = asc_soft_cap(ctx, h, d->cfg.final_cap);
    asc_set_label(ctx, label);
    return h;
}
