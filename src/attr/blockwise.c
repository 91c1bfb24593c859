/* blockwise.c - see blockwise.h.
 *
 * Pricing walks the same steps as running: a step's results are then stand-ins of the same shape, and what is
 * held at every moment is added up. So what is predicted is what happens. Middle blocks are alike and priced
 * once. */
#include "blockwise.h"
#include "exec.h"
#include "grad.h"
#include "held.h"
#include "ops.h"
#include "rehearse.h"
#include "target.h"

/* One answer's way through the model. */
typedef struct way {
    asc_answer answer;
    asc_held *in; /* [L + 1]: what enters block l; the last one what leaves the model */
    asc_held g;   /* cotangent of what enters the block that comes next */
    asc_held f;   /* score [B] */
} way;

typedef struct walk {
    asc_job *j;
    asc_tensor *x;
    int64_t b, n_layers, keep_every;
    bool at_site; /* the gradient ends at an inner value of block j->site_layer */
    way ways[2];
    size_t n_ways;
    asc_held out_f, out_g, out_act;
    asc_ledger bill;
    asc_price forward_once, backward_once; /* of a middle block */
    bool knows_forward, knows_backward;
} walk;

/* Ends a step's scope: its values ts become leaves held in to[]. once: where the price of a step of this
 * kind is remembered, or NULL. */
static asc_status finish(walk *w, asc_status st, asc_tensor **ts, asc_held *const *to, size_t n,
                         asc_price *once) {
    asc_ctx *ctx = w->j->ctx;
    if (st == ASC_OK) st = asc_ledger_compute(&w->bill, ts, n, once);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        asc_tensor *t = ts[i];
        bool made = t->op != NULL && t != w->x; /* else a leaf that someone holds already */
        if (made) {
            st = asc_held_keep(&w->bill, to[i], t);
        } else if (asc_tensor_poisoned(t)) {
            st = asc_graph_take_error(asc_graph_of(ctx));
        } else {
            asc_held_set(&w->bill, to[i], t, false);
        }
    }
    return asc_scope_close(ctx, st);
}

static bool is_middle(const walk *w, int64_t l) { return l > 0 && l < w->n_layers - 1; }

/* Blocks l .. l of an answer on x, with a site hook if the gradient ends inside. The past is only recorded:
 * nothing reads it behind this call. */
static asc_tensor *record(walk *w, const way *v, int64_t l, asc_tensor *x, asc_site_catcher *c) {
    return asc_answer_block(w->j, w->b, &v->answer, l, w->at_site ? asc_catch_site : NULL, NULL, c, x);
}

/* What enters block 0. */
static asc_tensor *entry(walk *w, const way *v) {
    asc_decoder_run run = {.x = asc_answer_join(w->j, w->x, &v->answer)};
    return run.x->poison != ASC_OK ? run.x : asc_decoder_entry(&w->j->m->decoder, &run);
}

static asc_status forward(walk *w, way *v, int64_t l) {
    asc_ctx *ctx = w->j->ctx;
    asc_site_catcher none = {.layer = -2};
    asc_held *to = &v->in[l + 1];
    asc_status st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    asc_scope_begin(ctx);
    if (w->bill.pricing && is_middle(w, l) && w->knows_forward) {
        asc_ledger_add(&w->bill, &w->forward_once);
        asc_held_stand_in(&w->bill, to, &v->in[l].t->shape);
        return asc_scope_close(ctx, ASC_OK);
    }
    asc_tensor *y;
    bool again = asc_rehearse_begin(ctx);
    do {
        y = record(w, v, l, l == 0 ? entry(w, v) : v->in[l].t, &none);
    } while (asc_rehearsed(ctx, ASC_OK, &again, &y, 1));
    st = finish(w, st, &y, &to, 1, is_middle(w, l) ? &w->forward_once : NULL);
    w->knows_forward = w->knows_forward || is_middle(w, l);
    return st;
}

/* From the scalar to what left the last block; sign: -1 for the contrast. */
static asc_status head(walk *w, way *v, double sign) {
    asc_ctx *ctx = w->j->ctx;
    asc_scope_begin(ctx);
    asc_tensor *hidden = v->in[w->n_layers].t, *ts[2] = {NULL, NULL};
    bool again = asc_rehearse_begin(ctx);
    do {
        ts[0] = asc_answer_score(w->j, hidden, &v->answer);
        asc_tensor *seed = asc_full(ctx, ASC_SHAPE(w->b), 1.0);
        if (sign < 0.0) seed = asc_neg(ctx, seed);
        asc_grad(ctx, ts[0], seed, &hidden, 1, &ts[1]);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, 2));
    asc_held *to[2] = {&v->f, &v->g};
    asc_status st = finish(w, ASC_OK, ts, to, 2, NULL);
    asc_held_drop(&w->bill, &v->in[w->n_layers]);
    return st;
}

/* The gradients of both answers at an inner value of the prompt's tokens, which those are equal in. */
static void sum_of_ways(const walk *w, asc_tensor **g, asc_tensor **at) {
    asc_ctx *ctx = w->j->ctx;
    int64_t p = w->x->shape.dims[1];
    if (w->n_ways < 2) return;
    if ((*g)->poison == ASC_OK && (*g)->shape.dims[1] > p) *g = asc_slice(ctx, *g, 1, 0, p);
    if ((*at)->poison == ASC_OK && (*at)->shape.dims[1] > p) *at = asc_slice(ctx, *at, 1, 0, p);
    if (w->out_g.t != NULL) *g = asc_add(ctx, w->out_g.t, *g);
}

/* Runs block l again, and the gradient through it. */
static asc_status backward(walk *w, way *v, int64_t l) {
    asc_job *j = w->j;
    asc_ctx *ctx = j->ctx;
    asc_site_catcher c = {.site = j->site, .layer = j->site_layer};
    bool ends = w->at_site && l == j->site_layer;
    asc_status st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    asc_scope_begin(ctx);
    if (w->bill.pricing && is_middle(w, l) && !ends && w->knows_backward) {
        asc_ledger_add(&w->bill, &w->backward_once);
        asc_held_stand_in(&w->bill, &v->g, &v->in[l].t->shape);
        asc_held_drop(&w->bill, &v->in[l]);
        return asc_scope_close(ctx, ASC_OK);
    }
    asc_tensor *ts[2] = {NULL, NULL};
    const size_t n = ends ? 2 : 1;
    bool again = asc_rehearse_begin(ctx);
    do {
        c.value = NULL;
        asc_tensor *y = record(w, v, l, v->in[l].t, &c), *g = NULL, *at = ends ? c.value : v->in[l].t;
        if (at == NULL) at = v->in[l].t; /* only after an error, which finish returns */
        asc_grad(ctx, y, v->g.t, &at, 1, &g);
        if (ends) sum_of_ways(w, &g, &at);
        ts[0] = g;
        ts[1] = at;
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, n));
    asc_held *to[2] = {ends ? &w->out_g : &v->g, &w->out_act};
    bool memo = is_middle(w, l) && !ends;
    st = finish(w, ASC_OK, ts, to, n, memo ? &w->backward_once : NULL);
    w->knows_backward = w->knows_backward || memo;
    asc_held_drop(&w->bill, &v->in[l]);
    return st;
}

/* Through block 0 and what lies before it, of both answers at once: the sum of their gradients is then made
 * in the order of the plain way. ts: the gradient and where it is taken. */
static void record_root(walk *w, asc_tensor **ts) {
    asc_job *j = w->j;
    asc_ctx *ctx = j->ctx;
    asc_tensor *y[2], *seed[2], *at[2], *g[2] = {NULL, NULL};
    for (size_t k = 0; k < w->n_ways; k++) {
        asc_site_catcher c = {.site = j->site, .layer = j->site_layer};
        y[k] = record(w, &w->ways[k], 0, entry(w, &w->ways[k]), &c);
        seed[k] = w->ways[k].g.t;
        at[k] = w->at_site && c.value != NULL ? c.value : w->x;
    }
    const size_t n_at = w->at_site ? w->n_ways : 1; /* both begin with the same embeddings */
    asc_grad(ctx, w->n_ways == 1 ? y[0] : asc_concat(ctx, y, 2, 1),
             w->n_ways == 1 ? seed[0] : asc_concat(ctx, seed, 2, 1), at, n_at, g);
    if (n_at == 2) {
        int64_t p = w->x->shape.dims[1];
        for (int k = 0; k < 2; k++) {
            if (g[k]->poison == ASC_OK && g[k]->shape.dims[1] > p) g[k] = asc_slice(ctx, g[k], 1, 0, p);
            if (at[k]->poison == ASC_OK && at[k]->shape.dims[1] > p) at[k] = asc_slice(ctx, at[k], 1, 0, p);
        }
        g[0] = asc_add(ctx, g[0], g[1]);
    }
    ts[0] = g[0];
    ts[1] = at[0];
}

static asc_status root(walk *w) {
    asc_ctx *ctx = w->j->ctx;
    asc_tensor *ts[2] = {NULL, NULL};
    asc_held *to[2] = {&w->out_g, &w->out_act};
    asc_scope_begin(ctx);
    bool again = asc_rehearse_begin(ctx);
    do {
        record_root(w, ts);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, 2));
    return finish(w, ASC_OK, ts, to, 2, NULL);
}

/* Is what enters block l kept from the first run? The last group of blocks is always whole. */
static bool keeps(const walk *w, int64_t l) {
    return l % w->keep_every == 0 || l >= (w->n_layers - 1) / w->keep_every * w->keep_every;
}

/* Forwards from block `first`, whose input is held (or is 0), until what enters block `end` is. */
static asc_status run_to(walk *w, way *v, int64_t first, int64_t end, bool keep_all) {
    asc_status st = ASC_OK;
    for (int64_t l = first; st == ASC_OK && l < end; l++) {
        st = forward(w, v, l);
        if (l > first && !keep_all && !keeps(w, l)) asc_held_drop(&w->bill, &v->in[l]);
    }
    return st;
}

static asc_status one_way(walk *w, way *v, double sign) {
    int64_t stop = w->at_site && w->j->site_layer > 0 ? w->j->site_layer : 1;
    asc_status st = run_to(w, v, 0, w->n_layers, false);
    if (st == ASC_OK) st = head(w, v, sign);
    for (int64_t l = w->n_layers - 1; st == ASC_OK && l >= stop; l--) {
        int64_t from = l;
        while (from > 0 && v->in[from].t == NULL) from--;
        st = run_to(w, v, from, l, true);
        if (st == ASC_OK) st = backward(w, v, l);
    }
    return st;
}

/* f: of the target, less that of the contrast. */
static asc_status combine(walk *w) {
    asc_ctx *ctx = w->j->ctx;
    asc_scope_begin(ctx);
    asc_tensor *f = w->n_ways == 1 ? w->ways[0].f.t : asc_sub(ctx, w->ways[0].f.t, w->ways[1].f.t);
    asc_held *to = &w->out_f;
    return finish(w, ASC_OK, &f, &to, 1, NULL);
}

static asc_status go(walk *w) {
    asc_job *j = w->j;
    asc_answer answers[2];
    asc_status st = ASC_OK;
    w->n_ways = asc_job_answers(j, answers);
    w->b = w->x->shape.dims[0];
    w->n_layers = j->m->info.n_layers;
    w->at_site = j->site != ASC_SITE_EMBED;
    for (size_t k = 0; k < w->n_ways; k++) {
        w->ways[k].answer = answers[k];
        w->ways[k].in = asc_calloc(j->ctx, ASC_MEM_GENERAL, (size_t)w->n_layers + 1, sizeof(asc_held));
        if (w->ways[k].in == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t k = 0; st == ASC_OK && k < w->n_ways; k++) st = one_way(w, &w->ways[k], k == 0 ? 1.0 : -1.0);
    if (st == ASC_OK) st = combine(w);
    return st == ASC_OK && w->out_g.t == NULL ? root(w) : st;
}

static void deinit(walk *w) {
    for (size_t k = 0; k < 2; k++) {
        way *v = &w->ways[k];
        for (int64_t l = 0; v->in != NULL && l <= w->n_layers; l++) asc_held_drop(&w->bill, &v->in[l]);
        asc_free(w->j->ctx, v->in);
        asc_held_drop(&w->bill, &v->g);
        asc_held_drop(&w->bill, &v->f);
    }
}

asc_status asc_blockwise_gradient(asc_job *j, asc_tensor *x, size_t keep_every, asc_tensor **out_f,
                                  asc_tensor **out_g, asc_tensor **out_act) {
    walk w = {.j = j, .x = x, .keep_every = (int64_t)keep_every, .bill = {.ctx = j->ctx}};
    *out_f = *out_g = NULL;
    if (out_act != NULL) *out_act = NULL;
    asc_status st = asc_run(j->ctx, &x, 1);
    if (st == ASC_OK) st = go(&w);
    deinit(&w);
    if (st == ASC_OK) {
        *out_f = w.out_f.t;
        *out_g = w.out_g.t;
        if (out_act != NULL) *out_act = w.out_act.t;
    } else {
        asc_held_drop(&w.bill, &w.out_f);
        asc_held_drop(&w.bill, &w.out_g);
    }
    if (st != ASC_OK || out_act == NULL) asc_held_drop(&w.bill, &w.out_act);
    return st;
}

asc_status asc_blockwise_price(asc_job *j, size_t b, size_t p, size_t keep_every, asc_price *out) {
    asc_ctx *ctx = j->ctx;
    walk w = {.j = j, .keep_every = (int64_t)keep_every, .bill = {.ctx = ctx, .pricing = true}};
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    w.x = asc_price_leaf(ctx, ASC_DTYPE_F32, ASC_SHAPE((int64_t)b, (int64_t)p, j->m->info.d_model));
    asc_status st = asc_tensor_poisoned(w.x) ? asc_graph_take_error(asc_graph_of(ctx)) : go(&w);
    deinit(&w);
    asc_held_drop(&w.bill, &w.out_f);
    asc_held_drop(&w.bill, &w.out_g);
    asc_held_drop(&w.bill, &w.out_act);
    asc_price_end(ctx);
    *out = w.bill.sum;
    return asc_scope_close(ctx, st);
}
