/* sweep.c - see sweep.h. As in blockwise.c, pricing walks the same steps as running, with stand-ins for what
 * a step makes. A block is recorded twice: forwards, and again when the cotangent of its result is there. */
#include "sweep.h"
#include "estimate.h"
#include "exec.h"
#include "grad.h"
#include "held.h"
#include "job_blocks.h"
#include "ops.h"
#include "rehearse.h"
#include "sweep_whole.h"
#include <string.h>

enum { MOST_OUTS = 1 + ASC_SWEEP_N_SITES };

/* A site's value in the run, in the partner's run, and the cotangent that arrived. */
typedef struct seen {
    asc_tensor *v[2], *c;
} seen;

typedef struct walk {
    asc_sweep *s;
    asc_job *j;
    asc_answer answer;
    double sign;
    int64_t b, p, t, n_layers;
    asc_tensor *x[2], *by;
    int n_runs; /* 2 with partners */
    asc_held *in[2];
    asc_held g, f[2];
    seen seen[ASC_SWEEP_N_SITES];
    int64_t layer; /* being recorded */
    int run;       /* likewise */
    asc_rules plain;
    asc_rules *rules;
    asc_grad_rules grad; /* the rules' own, with the sweep's eye on values */
    double *host;        /* what a block's outputs are read into */
    size_t n_host;
    double *parts;
    asc_ledger bill;
    asc_price forward_once, backward_once; /* of a middle block */
    bool knows_forward, knows_backward;
} walk;

const char *asc_sweep_site_name(asc_sweep_site site) {
    static const char *const names[] = {"out", "attn.out", "mlp.out", "heads", "attention"};
    return (unsigned)site < ASC_SWEEP_N_SITES ? names[site] : NULL;
}

static bool wants(const walk *w, asc_sweep_site site) { return (w->s->want >> site & 1) != 0; }

static bool is_middle(const walk *w, int64_t l) { return l > 0 && l < w->n_layers - 1; }

/* ---- recording a block ---- */

static void note(walk *w, asc_sweep_site site, asc_tensor *v) {
    if (wants(w, site)) w->seen[site].v[w->run] = v;
}

static asc_tensor *at_site(void *self, asc_decoder_site site, int64_t layer, asc_tensor *v) {
    walk *w = self;
    if (layer != w->layer) return v;
    if (site == ASC_SITE_ATTN_OUT) note(w, ASC_SWEEP_ATTN, v);
    if (site == ASC_SITE_MLP_OUT) note(w, ASC_SWEEP_MLP, v);
    if (site == ASC_SITE_BLOCK_OUT) note(w, ASC_SWEEP_OUT, v);
    return v;
}

static asc_tensor *inside(void *self, int64_t layer, bool probs, asc_tensor *v) {
    walk *w = self;
    if (layer == w->layer) note(w, probs ? ASC_SWEEP_PROBS : ASC_SWEEP_HEADS, v);
    return v;
}

/* Block l of run k on x. Probabilities of every head and pair of tokens are not made for values alone. */
static asc_tensor *record(walk *w, int64_t l, int k, asc_tensor *x, bool look) {
    look = look || !w->s->values_only;
    const bool watched = look && (wants(w, ASC_SWEEP_HEADS) || wants(w, ASC_SWEEP_PROBS));
    const asc_block_eyes eyes = {.site = look && w->s->want != 0 ? at_site : NULL,
                                 .inner = watched ? inside : NULL,
                                 .probs = watched && wants(w, ASC_SWEEP_PROBS),
                                 .self = w};
    w->layer = l;
    w->run = k;
    return asc_job_block(w->j, &w->answer, l, &eyes, x);
}

/* What enters block l in run k. */
static asc_tensor *entering(walk *w, int64_t l, int k) {
    return l > 0 ? w->in[k][l].t : asc_job_entry(w->j, w->x[k], &w->answer);
}

/* ---- numbers ---- */

static asc_tensor *by_width(asc_ctx *ctx, asc_tensor *t) { return asc_sum(ctx, t, 1, (int[]){-1}, false); }

static bool is_relevance(const walk *w) { return w->grad.seed_is_value; }

static asc_tensor *reduced(walk *w, const seen *s) {
    asc_ctx *ctx = w->j->ctx;
    asc_tensor *v = s->v[0];
    if (s->c == NULL) return by_width(ctx, asc_full(ctx, v->shape, 0.0)); /* the value does not reach f */
    if (is_relevance(w)) return by_width(ctx, s->c);
    if (w->n_runs > 1) v = asc_sub(ctx, v, s->v[1]);
    return by_width(ctx, asc_mul(ctx, s->c, v));
}

/* The heads' probabilities [..,t,t], made one matrix [b,t,t] here: read one by one they would be as many
 * times larger. */
static asc_tensor *mean_of_heads(walk *w, const seen *s) {
    asc_ctx *ctx = w->j->ctx;
    const int64_t heads = asc_job_heads(w->j);
    asc_tensor *p = s->v[0];
    if (!w->s->values_only) {
        if (s->c == NULL) return asc_full(ctx, ASC_SHAPE(w->b, w->t, w->t), 0.0);
        p = asc_mul(ctx, p, w->sign < 0.0 ? asc_neg(ctx, s->c) : s->c);
        p = asc_relu(ctx, p);
    }
    p = asc_reshape(ctx, p, ASC_SHAPE(w->b, heads, w->t, w->t));
    return asc_scale(ctx, asc_sum(ctx, p, 1, (int[]){1}, false), 1.0 / (double)heads);
}

/* Appends what is wanted of the block that was recorded. */
static size_t list_wanted(walk *w, asc_tensor **ts, size_t n) {
    for (int k = 0; k < ASC_SWEEP_PROBS; k++) {
        if (wants(w, (asc_sweep_site)k) && !w->s->values_only && w->seen[k].v[0] != NULL)
            ts[n++] = reduced(w, &w->seen[k]);
    }
    const seen *s = &w->seen[ASC_SWEEP_PROBS];
    if (s->v[0] != NULL) ts[n++] = asc_tensor_poisoned(s->v[0]) ? s->v[0] : mean_of_heads(w, s);
    return n;
}

/* Reads them, in the same order, and shows them. */
static asc_status show(walk *w, int64_t l, asc_tensor *const *ts) {
    asc_ctx *ctx = w->j->ctx;
    asc_sweep_block blk = {.layer = l, .sign = w->sign, .b = w->b, .t = w->t, .heads = asc_job_heads(w->j)};
    double *at = w->host;
    size_t next = 0;
    if (w->s->sink == NULL) return ASC_OK;
    for (int k = 0; k < ASC_SWEEP_N_SITES; k++) {
        if (!wants(w, (asc_sweep_site)k) || (w->s->values_only && k != ASC_SWEEP_PROBS)) continue;
        size_t n = (size_t)asc_tensor_elems(ts[next]);
        if (n > w->n_host - (size_t)(at - w->host))
            return ASC_FAIL(ctx, ASC_INTERNAL, "block %lld shows more than was foreseen", (long long)l);
        asc_status st = asc_read_f64(ctx, ts[next++], at, n);
        if (st != ASC_OK) return st;
        blk.reduced[k] = at;
        at += n;
    }
    return w->s->sink(w->s->self, &blk);
}

static size_t host_elems(const walk *w) {
    const size_t bt = (size_t)(w->b * w->t), h = (size_t)asc_job_heads(w->j);
    size_t n = (size_t)(w->b * w->p) + 1;
    for (int k = 0; k < ASC_SWEEP_HEADS; k++) n += wants(w, (asc_sweep_site)k) ? bt : 0;
    n += wants(w, ASC_SWEEP_HEADS) ? bt * h : 0;
    n += wants(w, ASC_SWEEP_PROBS) ? bt * (size_t)w->t : 0;
    return n;
}

/* ---- cotangents ---- */

static asc_status on_value(asc_ctx *ctx, void *self, asc_tensor *value, asc_tensor *cotangent) {
    walk *w = ((asc_rules *)self)->observer;
    (void)ctx;
    for (int k = 0; k < ASC_SWEEP_N_SITES; k++) {
        if (w->seen[k].v[0] == value) w->seen[k].c = cotangent;
    }
    return ASC_OK;
}

static void back(walk *w, asc_tensor *const *y, asc_tensor *seed, asc_tensor *const *x, asc_tensor **g) {
    asc_ctx *ctx = w->j->ctx;
    if (w->n_runs > 1 && w->s->rules != NULL) {
        asc_grad_paired(ctx, &w->grad, y[0], y[1], seed, &x[0], &x[1], 1, g);
    } else {
        asc_grad_with_rules(ctx, &w->grad, y[0], seed, x, 1, g);
    }
}

/* ---- steps ---- */

static asc_status forward(walk *w, int64_t l, int k) {
    asc_ctx *ctx = w->j->ctx;
    asc_held *to = &w->in[k][l + 1];
    bool once = is_middle(w, l);
    asc_status st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    asc_scope_begin(ctx);
    memset(w->seen, 0, sizeof w->seen);
    if (w->bill.pricing && once && w->knows_forward) {
        asc_ledger_add(&w->bill, &w->forward_once);
        asc_held_stand_in(&w->bill, to, &w->in[k][l].t->shape);
        return asc_scope_close(ctx, ASC_OK);
    }
    asc_tensor *ts[1];
    bool again = asc_rehearse_begin(ctx);
    do {
        memset(w->seen, 0, sizeof w->seen);
        ts[0] = record(w, l, k, entering(w, l, k), false);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, 1));
    st = asc_ledger_compute(&w->bill, ts, 1, once ? &w->forward_once : NULL);
    w->knows_forward = w->knows_forward || once;
    if (st == ASC_OK) st = asc_held_keep(&w->bill, to, ts[0]);
    return asc_scope_close(ctx, st);
}

static asc_status head(walk *w) {
    asc_ctx *ctx = w->j->ctx;
    asc_tensor *hidden[2], *ts[3], *g;
    size_t n;
    asc_status st = ASC_OK;
    asc_scope_begin(ctx);
    bool again = asc_rehearse_begin(ctx);
    do {
        n = 0;
        g = NULL;
        for (int k = 0; k < w->n_runs; k++) {
            hidden[k] = w->in[k][w->n_layers].t;
            ts[n++] = asc_job_end(w->j, hidden[k], &w->answer, w->sign < 0.0);
        }
        if (!w->s->values_only && !asc_tensor_poisoned(ts[0])) {
            asc_tensor *seed = is_relevance(w) ? ts[0] : asc_full(ctx, ts[0]->shape, 1.0);
            back(w, ts, w->sign < 0.0 ? asc_neg(ctx, seed) : seed, hidden, &g);
            ts[n++] = g;
        }
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, n));
    st = asc_ledger_compute(&w->bill, ts, n, NULL);
    for (int k = 0; st == ASC_OK && k < w->n_runs; k++) st = asc_held_keep(&w->bill, &w->f[k], ts[k]);
    if (st == ASC_OK && g != NULL) st = asc_held_keep(&w->bill, &w->g, g);
    for (int k = 0; k < w->n_runs; k++) asc_held_drop(&w->bill, &w->in[k][w->n_layers]);
    return asc_scope_close(ctx, st);
}

/* What arrives at the embeddings, as numbers. */
static asc_tensor *parts_of(walk *w, asc_tensor *g) {
    asc_ctx *ctx = w->j->ctx;
    if (is_relevance(w)) return by_width(ctx, g);
    asc_tensor *by = w->by != NULL ? w->by : w->n_runs > 1 ? asc_sub(ctx, w->x[0], w->x[1]) : w->x[0];
    return by_width(ctx, asc_mul(ctx, g, by));
}

static asc_status add_parts(walk *w, asc_tensor *parts) {
    const size_t n = (size_t)(w->b * w->p);
    asc_status st = asc_read_f64(w->j->ctx, parts, w->host, n);
    for (size_t i = 0; st == ASC_OK && i < n; i++) w->parts[i] += w->host[i];
    return st;
}

/* Block l anew, the gradient through it if there is one, and what is wanted of it. */
static size_t record_back(walk *w, int64_t l, asc_tensor **ts) {
    asc_tensor *x[2] = {NULL, NULL}, *y[2] = {NULL, NULL}, *g = NULL;
    memset(w->seen, 0, sizeof w->seen);
    for (int k = 0; k < w->n_runs; k++) {
        x[k] = l > 0 ? w->in[k][l].t : w->x[k];
        y[k] = record(w, l, k, entering(w, l, k), true);
    }
    if (w->s->values_only) {
        ts[0] = y[0];
        return asc_tensor_poisoned(y[0]) ? 1 : list_wanted(w, ts, 0);
    }
    back(w, y, w->g.t, x, &g);
    if (w->n_runs > 1 && asc_tensor_poisoned(y[1])) g = y[1]; /* derivatives alone do not look at it */
    ts[0] = asc_tensor_poisoned(g) || l > 0 ? g : parts_of(w, g);
    return asc_tensor_poisoned(g) ? 1 : list_wanted(w, ts, 1);
}

static asc_status backward(walk *w, int64_t l) {
    asc_ctx *ctx = w->j->ctx;
    bool once = is_middle(w, l);
    asc_status st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    asc_scope_begin(ctx);
    memset(w->seen, 0, sizeof w->seen);
    if (w->bill.pricing && once && w->knows_backward) {
        asc_ledger_add(&w->bill, &w->backward_once);
        for (int k = 0; k < w->n_runs; k++) asc_held_drop(&w->bill, &w->in[k][l]);
        return asc_scope_close(ctx, ASC_OK); /* the cotangent keeps its shape */
    }
    asc_tensor *ts[MOST_OUTS];
    size_t n;
    bool again = asc_rehearse_begin(ctx);
    do {
        n = record_back(w, l, ts);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, n));
    st = asc_ledger_compute(&w->bill, ts, n, once ? &w->backward_once : NULL);
    w->knows_backward = w->knows_backward || once;
    const size_t first = w->s->values_only ? 0 : 1;
    if (st == ASC_OK && n > first && !w->bill.pricing) st = show(w, l, ts + first);
    if (st == ASC_OK && l > 0 && !w->s->values_only) st = asc_held_keep(&w->bill, &w->g, ts[0]);
    if (st == ASC_OK && l == 0 && !w->s->values_only && !w->bill.pricing) st = add_parts(w, ts[0]);
    for (int k = 0; k < w->n_runs; k++) asc_held_drop(&w->bill, &w->in[k][l]);
    return asc_scope_close(ctx, st);
}

static asc_status read_values(walk *w) {
    double *to[2] = {w->s->f, w->s->f0};
    for (int k = 0; k < w->n_runs; k++) {
        if (to[k] == NULL) continue;
        asc_status st = asc_read_f64(w->j->ctx, w->f[k].t, w->host, (size_t)w->b);
        if (st != ASC_OK) return st;
        for (int64_t i = 0; i < w->b; i++) to[k][i] += w->sign * w->host[i];
    }
    return ASC_OK;
}

static asc_status go(walk *w) {
    asc_job *j = w->j;
    asc_ctx *ctx = j->ctx;
    asc_status st = ASC_OK;
    w->n_layers = j->m->info.n_layers;
    w->t = w->p + (int64_t)w->answer.n - 1;
    w->n_host = host_elems(w);
    if (!w->bill.pricing) w->host = asc_calloc(ctx, ASC_MEM_SCRATCH, w->n_host, sizeof *w->host);
    for (int k = 0; k < w->n_runs; k++) {
        w->in[k] = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)w->n_layers + 1, sizeof *w->in[k]);
        if (w->in[k] == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    if (!w->bill.pricing && w->host == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t l = 0; st == ASC_OK && l < w->n_layers; l++) {
        for (int k = 0; st == ASC_OK && k < w->n_runs; k++) st = forward(w, l, k);
    }
    if (st == ASC_OK) st = head(w);
    if (st == ASC_OK && !w->bill.pricing) st = read_values(w);
    for (int64_t l = w->n_layers; st == ASC_OK && l-- > 0;) st = backward(w, l);
    return st;
}

static void deinit(walk *w) {
    for (int k = 0; k < 2; k++) {
        for (int64_t l = 0; w->in[k] != NULL && l <= w->n_layers; l++) asc_held_drop(&w->bill, &w->in[k][l]);
        asc_free(w->j->ctx, w->in[k]);
        asc_held_drop(&w->bill, &w->f[k]);
    }
    asc_held_drop(&w->bill, &w->g);
    asc_free(w->j->ctx, w->host);
}

static asc_status one_answer(asc_sweep *s, const asc_answer *answer, double sign, int64_t p,
                             asc_tensor *const x[2], asc_tensor *by, bool pricing, asc_price *sum) {
    walk w = {.s = s,
              .j = s->j,
              .answer = *answer,
              .sign = sign,
              .b = x[0]->shape.dims[0],
              .p = p,
              .x = {x[0], x[1]},
              .by = by,
              .n_runs = s->paired ? 2 : 1,
              .plain = {.ctx = s->j->ctx, .grad = {.name = "gradient"}},
              .parts = s->parts,
              .bill = {.ctx = s->j->ctx, .pricing = pricing}};
    w.rules = s->rules != NULL ? s->rules : &w.plain;
    w.grad = w.rules->grad;
    w.grad.self = w.rules;
    w.grad.on_value = on_value;
    w.grad.watched = NULL;
    w.grad.after = NULL;
    w.rules->observer = &w;
    asc_status st = go(&w);
    w.rules->observer = NULL;
    deinit(&w);
    if (sum == NULL) return st;
    asc_price_add(sum, &w.bill.sum, w.n_host * sizeof(double));
    return st;
}

/* One program: nothing inside is looked at, and blocks are not walked through. */
static bool is_whole(const asc_sweep *s) {
    return s->j->neuron.on || (s->j->m->kind == ASC_MODEL_ENCODER && s->want == 0);
}

asc_status asc_sweep_price(const asc_sweep *s, size_t b, asc_price *out) {
    const size_t p = s->j->r->n_prompt;
    asc_sweep copy = *s;
    asc_ctx *ctx = s->j->ctx;
    asc_answer answers[2];
    asc_status st = ASC_OK;
    size_t n = asc_job_walks(s->j, answers), ends = 0;
    const bool whole = is_whole(s);
    const asc_shape shape = ASC_SHAPE((int64_t)b, (int64_t)p, s->j->m->info.d_model);
    *out = (asc_price){0};
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    asc_tensor *ts[3] = {asc_price_leaf(ctx, ASC_DTYPE_F32, shape), NULL, NULL};
    if (s->paired) ts[1] = asc_price_leaf(ctx, ASC_DTYPE_F32, shape);
    if (s->has_by) ts[2] = asc_price_leaf(ctx, ASC_DTYPE_F32, shape);
    for (int i = 0; i < 3; i++) {
        if (ts[i] != NULL && asc_tensor_poisoned(ts[i])) st = asc_graph_take_error(asc_graph_of(ctx));
        if (ts[i] != NULL) ends += asc_price_buffer(ctx, ASC_DTYPE_F32, &shape);
    }
    if (st == ASC_OK && whole) st = asc_sweep_whole_price(s, ts, out);
    for (size_t k = 0; st == ASC_OK && !whole && k < n; k++)
        st = one_answer(&copy, &answers[k], k == 0 ? 1.0 : -1.0, (int64_t)p, ts, ts[2], true, out);
    asc_price_end(ctx);
    out->output_bytes += ends;
    return asc_scope_close(ctx, st);
}

static asc_status count(asc_sweep *s) {
    asc_price sum;
    bool prepares = asc_price_prepares(s->j->ctx, true);
    asc_status st = asc_sweep_price(s, s->b, &sum);
    (void)asc_price_prepares(s->j->ctx, prepares);
    if (st == ASC_OK) st = asc_estimate_program(s->j, &sum, s->b * s->j->r->n_prompt);
    return st;
}

asc_status asc_sweep_run(asc_sweep *s) {
    asc_job *j = s->j;
    asc_answer answers[2];
    const size_t b = s->b, p = j->r->n_prompt;
    const size_t n = asc_job_walks(j, answers);
    asc_tensor *x[2] = {s->x, s->x0};
    asc_status st = ASC_OK;
    for (size_t i = 0; s->f != NULL && i < b; i++) s->f[i] = 0.0;
    for (size_t i = 0; s->f0 != NULL && i < b; i++) s->f0[i] = 0.0;
    for (size_t i = 0; s->parts != NULL && i < b * p; i++) s->parts[i] = 0.0;
    j->r->n_forward += b * (s->paired ? 2 : 1);
    j->r->n_backward += s->values_only ? 0 : b;
    if (j->estimate != NULL) return count(s);
    if (asc_tensor_poisoned(s->x) || (s->paired && asc_tensor_poisoned(s->x0)))
        return asc_graph_take_error(asc_graph_of(j->ctx));
    const bool whole = is_whole(s);
    if (whole) st = asc_sweep_whole(s);
    for (size_t k = 0; st == ASC_OK && !whole && k < n; k++) {
        if (k > 0 && j->req->memory_bytes > 0) asc_exec_trim(j->ctx); /* its passes have another length */
        st = one_answer(s, &answers[k], k == 0 ? 1.0 : -1.0, (int64_t)p, x, s->by, false, NULL);
    }
    return st == ASC_OK ? asc_progress(j->ctx, "blocks", (double)j->r->n_forward, 0.0) : st;
}
