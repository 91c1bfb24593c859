/* trie_estimate.c - the price of a trie. Passes are alike in their tokens and differ in what these see: in
 * the pairs of a query and a key, and in how those lie. So some passes, spread over the walk, are run through
 * some blocks each, as they would be run, and the others are set beside them: a block's time is a number a
 * token and another a pair, the line through what was measured. */
#include "estimate.h"
#include "exec.h"
#include "neuron.h"
#include "trie_values.h"
#include <math.h>

typedef struct rates {
    double token, pair, row; /* seconds in one block; of a row of the head */
} rates;

typedef struct probe {
    asc_packed x;
    asc_tensor *stream, *hidden;
    int64_t first, end; /* blocks */
} probe;

static asc_status run_blocks(void *self) {
    probe *p = self;
    asc_packed_blocks(&p->x, p->first, p->end, p->stream);
    return asc_run(p->x.j->ctx, p->x.results, p->x.n_results);
}
static asc_status run_head(void *self) {
    probe *p = self;
    asc_packed_numbers(&p->x, p->hidden);
    return asc_run(p->x.j->ctx, &p->x.results[p->x.n_results - 1], 1); /* of the last part: all are alike */
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

/* Seconds of a block of a pass, of which n_blocks are run. row: NULL, or the seconds of a row of the head. */
static asc_status time_pass(asc_job *j, const asc_trie_plan *plan, const asc_trie_pass *p, int64_t n_blocks,
                            double *block, double *row) {
    asc_ctx *ctx = j->ctx;
    asc_kv *store = NULL;
    probe r = {.first = (asc_neuron_blocks(j) - n_blocks) / 2};
    asc_timing t = {0};
    r.end = r.first + n_blocks;
    r.x = (asc_packed){.j = j, .n = p->n, .tail = p->tail, .past = p->past, .whole = plan->whole};
    r.x.n_layers = p->n_layers > 0 ? plan->look.n_layers : 0;
    r.x.keep = p->n_keep > 0;
    asc_scope_begin(ctx);
    asc_status st = asc_packed_store(j, p->past, r.first, r.end, false, &store);
    r.x.store = store;
    if (st == ASC_OK) st = asc_packed_leaves(&r.x, p);
    if (st != ASC_OK) goto done;
    r.stream = fixed(j, asc_gather(ctx, j->m->decoder.embed, r.x.ids), &st);
    r.hidden = fixed(j, asc_slice(ctx, r.stream, 1, 0, (int64_t)p->tail), &st);
    if (st == ASC_OK) st = asc_estimate_timed(ctx, run_blocks, &r, &t);
    *block = t.seconds / (double)n_blocks;
    if (st == ASC_OK && row != NULL) {
        st = asc_estimate_timed(ctx, run_head, &r, &t);
        *row = t.seconds / (double)(p->tail - (r.x.n_parts - 1) * r.x.part);
    }
done:
    asc_packed_deinit(&r.x);
    asc_free(ctx, store);
    return asc_scope_close(ctx, st);
}

/* Sums over the passes measured, for the line through them. */
typedef struct sums {
    double n, tokens, pairs, seconds, pp, ps; /* pairs and seconds a token: their products */
} sums;

static void add(sums *s, const asc_trie_pass *p, double seconds) {
    const double n = (double)p->n, x = p->pairs / n, y = seconds / n;
    s->n++;
    s->tokens += n;
    s->pairs += p->pairs;
    s->seconds += seconds;
    s->pp += x * x;
    s->ps += x * y;
}

/* Least squares of seconds a token; no pairs for nothing, and no tokens. */
static void line(const sums *s, rates *out) {
    const double x = s->pairs / s->tokens, y = s->seconds / s->tokens, spread = s->pp / s->n - x * x;
    double slope = spread > 0.01 * x * x ? (s->ps / s->n - x * y) / spread : 0.0;
    slope = fmin(fmax(slope, 0.0), 0.9 * y / x);
    out->pair = slope;
    out->token = y - slope * x;
}

/* Passes that are measured, out of so many: few of few. */
static size_t n_samples(size_t passes) { return passes < 3 ? 1 : passes < 8 ? 2 : passes < 24 ? 4 : 6; }

static asc_status measure_passes(asc_job *j, const asc_trie *t, const asc_trie_plan *plan, rates *out) {
    static const double PART = 0.05, LEAST = 0.1, MOST = 1.0; /* of all passes; seconds */
    const int64_t blocks = asc_neuron_blocks(j);
    const size_t n = plan->look.passes, samples = n_samples(n);
    asc_trie_walk w;
    bool more = true, head = has_head(j, plan);
    double block = 0.0;
    int64_t n_blocks = 1;
    sums s = {0};
    asc_status st;
    ASC_TRY(asc_trie_walk_init(&w, t, plan->most, plan->store, plan->look.past, plan->look.tail));
    for (size_t i = 0, k = 0; blocks > 0 && (k < samples || head); i++) {
        ASC_TRY(asc_trie_walk_next(&w, &more));
        if (!more) break;
        const bool sample = k < samples && i == (2 * k + 1) * n / (2 * samples);
        const bool row = head && w.pass.n_layers > 0 && (sample || k == samples);
        if (!sample && !row) continue;
        if (k == 0) {
            ASC_TRY(time_pass(j, plan, &w.pass, 1, &block, NULL));
            const double all = PART * (double)n * (double)blocks * block,
                         each = fmin(fmax(all, LEAST), MOST) / (2.0 * (double)samples * block);
            n_blocks = each < 2.0 ? 1 : each < (double)blocks ? (int64_t)each : blocks;
        }
        if (k > 0 || n_blocks > 1 || row)
            ASC_TRY(time_pass(j, plan, &w.pass, sample ? n_blocks : 1, &block, row ? &out->row : NULL));
        if (row) head = false;
        if (sample) add(&s, &w.pass, block);
        k += sample;
    }
    if (s.n > 0.0) line(&s, out);
done:
    asc_trie_walk_deinit(&w);
    return st;
}

static asc_status measure(asc_job *j, const asc_trie *t, const asc_trie_plan *plan, rates *out) {
    const asc_rate_kind kind = has_head(j, plan) ? ASC_RATE_TRIE_ROWS : ASC_RATE_TRIE;
    const double rows = (double)plan->look.n, pairs = plan->look.pairs / (double)plan->look.passes;
    const double *kept = asc_rates_find(&j->m->rates, kind, j->ctx->precision, rows, pairs);
    *out = (rates){0};
    if (kept != NULL) {
        *out = (rates){.token = kept[0], .pair = kept[1], .row = kept[2]};
        return ASC_OK;
    }
    asc_status st = measure_passes(j, t, plan, out);
    if (st != ASC_OK) return st;
    asc_rates_keep(&j->m->rates, kind, j->ctx->precision, rows, pairs,
                   (double[3]){out->token, out->pair, out->row});
    return ASC_OK;
}

/* Operations of all passes, from those of the largest: what it counts for attention is an upper bound, the
 * head and the last block have the tails' rows only. */
static double flops_of(const asc_job *j, const asc_trie_plan *plan) {
    const asc_decoder_config *c = &j->m->decoder.cfg;
    const asc_trie_survey *s = &plan->look;
    const double blocks = (double)asc_neuron_blocks(j), last = j->neuron.on ? 0.0 : 1.0;
    const double head = has_head(j, plan) ? 2.0 * (double)c->d_model * (double)c->n_vocab : 0.0;
    const double in_blocks =
        plan->need.cost.flops - head * (double)s->tail - asc_packed_priced_flops(j, s->n, s->tail, s->past);
    const double rows = (blocks - last) * (double)s->n + last * (double)s->tail,
                 all = (blocks - last) * (double)s->tokens + last * (double)s->tails;
    return fmax(in_blocks, 0.0) / fmax(rows, 1.0) * all + head * (double)s->tails +
           blocks * asc_packed_pair_flops(j) * s->pairs;
}

asc_status asc_trie_estimate(asc_job *j, const asc_trie *t, const asc_trie_plan *plan) {
    asc_estimate *e = j->estimate;
    const double blocks = (double)asc_neuron_blocks(j);
    rates r;
    uint64_t t0 = asc_now_ns();
    const size_t base = asc_price_base(j->ctx);
    asc_status st = measure(j, t, plan, &r);
    e->measuring += asc_seconds_since(t0);
    if (asc_price_base(j->ctx) > base) e->probes += asc_price_base(j->ctx) - base;
    if (st != ASC_OK) return st;
    const asc_trie_survey *s = &plan->look;
    const double share = (double)s->tokens / (double)s->n;
    const double seconds =
        blocks * (r.token * (double)s->tokens + r.pair * s->pairs) + r.row * (double)s->tails;
    e->held += plan->store_bytes;
    asc_estimate_work(j, &plan->need, seconds, flops_of(j, plan),
                      share * (plan->need.cost.bytes_read + plan->need.cost.bytes_written));
    e->held -= plan->store_bytes;
    return ASC_OK;
}
