/* trie_estimate.c - the price of a trie. A block's time is a number a token and another a pair of a query and
 * a key that it sees: both are measured here, on the pass with the most pairs and on the same tokens without
 * any keys but their own. */
#include "estimate.h"
#include "exec.h"
#include "neuron.h"
#include "trie_values.h"

typedef struct rates {
    double token, pair, row; /* seconds in one block; of a row of the head */
} rates;

/* Seconds of computing ts(self), behind a first run that touches fresh memory and makes the program. */
static asc_status timed(asc_ctx *ctx, asc_tensor *(*step)(void *self), void *self, double *out) {
    static const double ENOUGH = 0.1;
    enum { MOST_ROUNDS = 8 };
    double before = 0.0, sum = 0.0;
    int rounds = 0;
    for (; rounds <= MOST_ROUNDS && sum < ENOUGH; rounds++) {
        asc_scope_begin(ctx);
        asc_tensor *y = step(self);
        asc_status st = asc_scope_close(ctx, asc_run(ctx, &y, 1));
        if (st != ASC_OK) return st;
        const double now = asc_exec_stats_of(ctx).seconds;
        if (rounds > 0) sum += now - before;
        before = now;
    }
    *out = sum / (rounds - 1);
    return ASC_OK;
}

typedef struct probe {
    asc_packed x;
    asc_tensor *stream, *hidden;
    int64_t block;
} probe;

static asc_tensor *one_block(void *self) {
    probe *p = self;
    return asc_packed_block(&p->x, p->block, p->stream);
}
static asc_tensor *one_head(void *self) {
    probe *p = self;
    asc_packed_numbers(&p->x, p->hidden);
    return p->x.results[p->x.n_results - 1]; /* of the last part: all are alike */
}

/* Values of ids that later runs start from. */
static asc_tensor *fixed(asc_job *j, asc_tensor *x, asc_status *st) {
    if (*st == ASC_OK) *st = asc_run(j->ctx, &x, 1);
    if (*st == ASC_OK) asc_tensor_detach(x);
    return x;
}

/* Are logits made? Not of a neuron, nor where passes only keep keys and values. */
static bool has_head(const asc_job *j, const asc_trie_plan *plan) {
    return plan->look.n_layers > 0 && !j->neuron.on;
}

/* Seconds of one block of a pass, and of a row of the head: with the pass's keys or (alone) with every token
 * seeing only itself. */
static asc_status time_pass(asc_job *j, const asc_trie_plan *plan, asc_trie_pass *p, bool alone,
                            double *block, double *head) {
    asc_ctx *ctx = j->ctx;
    asc_kv *store = NULL;
    probe r = {.block = (j->m->decoder.cfg.n_layers - 1) / 2};
    const size_t tail = plan->look.tail < p->n ? plan->look.tail : p->n;
    r.x = (asc_packed){.j = j, .n = p->n, .tail = tail, .past = p->past, .n_layers = 1};
    r.x.whole = plan->whole;
    asc_scope_begin(ctx);
    for (size_t i = 0; alone && i < p->past + p->n; i++) p->parent[i] = -1;
    asc_status st = asc_packed_store(j, p->past, r.block, r.block + 1, false, &store);
    r.x.store = store;
    if (st == ASC_OK) st = asc_packed_leaves(&r.x, p);
    if (st != ASC_OK) goto done;
    r.stream = fixed(j, asc_gather(ctx, j->m->decoder.embed, r.x.ids), &st);
    r.hidden = fixed(j, asc_slice(ctx, r.stream, 1, 0, (int64_t)tail), &st);
    if (st == ASC_OK) st = timed(ctx, one_block, &r, block);
    *head = 0.0;
    if (st == ASC_OK && !alone && has_head(j, plan)) {
        st = timed(ctx, one_head, &r, head);
        *head /= (double)(tail - (r.x.n_parts - 1) * r.x.part);
    }
done:
    asc_packed_deinit(&r.x);
    asc_free(ctx, store);
    return asc_scope_close(ctx, st);
}

/* On the pass that has the most pairs. */
static asc_status measure(asc_job *j, const asc_trie *t, const asc_trie_plan *plan, rates *out) {
    asc_trie_walk w;
    bool more = true;
    double with, head, unused, without;
    *out = (rates){0};
    asc_status st;
    ASC_TRY(asc_trie_walk_init(&w, t, plan->most, plan->store, plan->look.past, plan->look.tail));
    do {
        ASC_TRY(asc_trie_walk_next(&w, &more));
    } while (more && w.pass.pairs < plan->look.most_pairs);
    if (!more) goto done;
    const double n = (double)w.pass.n, pairs = w.pass.pairs;
    const asc_rate_kind kind = has_head(j, plan) ? ASC_RATE_TRIE_ROWS : ASC_RATE_TRIE;
    const double *kept = asc_rates_find(&j->m->rates, kind, j->ctx->precision, n, pairs);
    if (kept != NULL) {
        *out = (rates){.token = kept[0], .pair = kept[1], .row = kept[2]};
        goto done;
    }
    ASC_TRY(time_pass(j, plan, &w.pass, false, &with, &head));
    ASC_TRY(time_pass(j, plan, &w.pass, true, &without, &unused));
    out->pair = with > without && pairs > n ? (with - without) / (pairs - n) : 0.0;
    out->token = with / n - out->pair * pairs / n;
    out->row = head;
    asc_rates_keep(&j->m->rates, kind, j->ctx->precision, n, pairs,
                   (double[3]){out->token, out->pair, out->row});
done:
    asc_trie_walk_deinit(&w);
    return st;
}

asc_status asc_trie_estimate(asc_job *j, const asc_trie *t, const asc_trie_plan *plan) {
    const asc_decoder_config *c = &j->m->decoder.cfg;
    asc_estimate *e = j->estimate;
    const double blocks = (double)asc_neuron_blocks(j);
    rates r;
    uint64_t t0 = asc_now_ns();
    const size_t base = asc_price_base(j->ctx);
    asc_status st = measure(j, t, plan, &r);
    e->measuring += (double)(asc_now_ns() - t0) * 1e-9;
    if (asc_price_base(j->ctx) > base) e->probes += asc_price_base(j->ctx) - base;
    if (st != ASC_OK) return st;
    /* The largest pass, scaled to the tokens of all; what it counts for attention is an upper bound. */
    const asc_trie_survey *s = &plan->look;
    const double keys = (double)(s->past + s->n),
                 pair_flops = (double)c->n_heads * (4.0 * (double)c->head_dim + 5.0);
    const double in_last = (double)(j->neuron.on ? s->n : s->tail);
    const double bound = pair_flops * keys * ((blocks - 1.0) * (double)s->n + in_last);
    const double share = (double)s->tokens / (double)s->n;
    const double linear = plan->need.cost.flops > bound ? plan->need.cost.flops - bound : 0.0;
    const double seconds =
        blocks * (r.token * (double)s->tokens + r.pair * s->pairs) + r.row * (double)s->tails;
    e->held += plan->store_bytes;
    asc_estimate_work(j, &plan->need, seconds, share * linear + blocks * pair_flops * s->pairs,
                      share * (plan->need.cost.bytes_read + plan->need.cost.bytes_written));
    e->held -= plan->store_bytes;
    return ASC_OK;
}
