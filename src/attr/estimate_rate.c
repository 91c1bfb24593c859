/* estimate_rate.c - how fast this machine runs a model, measured at the very shape of a pass: some blocks one
 * behind another, as they are in the pass (a single one, run again and again, would find its weights and its
 * values in the cache), and the head. How many blocks: as many as take a small part of what is to be priced.
 */
#include "estimate.h"
#include "exec.h"
#include "target.h"
#include <stdlib.h>
#include <string.h>

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static asc_status once(asc_ctx *ctx, asc_estimate_step step, void *self, asc_timing *out) {
    const double flops = asc_exec_stats_of(ctx).flops;
    const uint64_t t0 = asc_now_ns();
    asc_scope_begin(ctx);
    const asc_status st = asc_scope_close(ctx, step(self));
    *out = (asc_timing){asc_exec_stats_of(ctx).flops - flops, asc_seconds_since(t0)};
    return st;
}

asc_status asc_estimate_timed(asc_ctx *ctx, asc_estimate_step step, void *self, asc_timing *out) {
    static const double LONG = 1.0, ENOUGH = 0.1;
    enum { MOST_ROUNDS = 11 };
    double seconds[MOST_ROUNDS], sum = 0.0;
    int n = 0;
    asc_status st = once(ctx, step, self, out);
    if (st != ASC_OK || out->seconds > LONG) return st;
    while (n < MOST_ROUNDS && sum < ENOUGH) {
        st = once(ctx, step, self, out);
        if (st != ASC_OK) return st;
        sum += seconds[n++] = out->seconds;
    }
    qsort(seconds, (size_t)n, sizeof *seconds, ascending);
    out->seconds = seconds[n / 2]; /* a round that something interrupted is none */
    return ASC_OK;
}

typedef struct probe {
    asc_job *j;
    asc_tensor *x, *g; /* g: NULL = forwards only */
    int64_t n_blocks;
} probe;

static asc_status run_blocks(void *self) {
    probe *p = self;
    asc_decoder *d = &p->j->m->decoder;
    const int64_t first = (d->cfg.n_layers - p->n_blocks) / 2;
    asc_tensor *y = asc_decoder_blocks(d, &(asc_decoder_run){.x = p->x}, first, first + p->n_blocks, p->x);
    if (p->g != NULL) asc_grad(p->j->ctx, y, p->g, &p->x, 1, &y);
    return asc_run(p->j->ctx, &y, 1);
}

static asc_status run_head(void *self) {
    probe *p = self;
    asc_job *j = p->j;
    asc_ctx *ctx = j->ctx;
    asc_answer answers[2];
    int64_t t = p->x->shape.dims[1];
    (void)asc_job_answers(j, answers);
    int64_t n = (int64_t)(answers[0].n - answers[0].first);
    if (n > t) answers[0].first = answers[0].n - (size_t)(n = t);
    asc_tensor *h = n == t ? p->x : asc_slice(ctx, p->x, 1, t - n, n), *ts[2];
    asc_status st = asc_run(ctx, &h, 1);
    if (st != ASC_OK) return st;
    ts[0] = asc_answer_score(j, h, &answers[0]);
    if (p->g != NULL) asc_grad(ctx, ts[0], asc_full(ctx, ts[0]->shape, 1.0), &h, 1, &ts[1]);
    return asc_run(ctx, ts, p->g != NULL ? 2 : 1);
}

/* Encoders: the whole model at once; they are shallow, and a text is short. */
static asc_status run_whole(void *self) {
    probe *p = self;
    asc_ctx *ctx = p->j->ctx;
    asc_tensor *y = asc_job_scalar(p->j, p->x, NULL, NULL), *gx = y;
    if (p->g != NULL && !asc_tensor_poisoned(y))
        asc_grad(ctx, y, asc_full(ctx, y->shape, 1.0), &p->x, 1, &gx);
    return asc_run(ctx, &gx, 1);
}

/* Blocks to run, when one took so long at first: a twentieth of what is priced by it (`work` in FLOP), within
 * bounds, and never more than a pass keeps the values of. */
static int64_t enough_blocks(const asc_job *j, const asc_timing *one, const asc_rate_of *what) {
    static const double PART = 0.05, LEAST = 0.05, MOST = 0.4;
    const int64_t all =
        what->one_block || strcmp(j->ctx->mode_name, "eager") == 0 ? 1 : j->m->decoder.cfg.n_layers;
    double seconds = one->flops > 0.0 ? PART * what->work / one->flops * one->seconds : 0.0;
    seconds = seconds > MOST ? MOST : seconds < LEAST ? LEAST : seconds;
    const double n = seconds / one->seconds;
    return n < 2.0 ? 1 : n < (double)all ? (int64_t)n : all;
}

static asc_status time_blocks(probe *p, const asc_rate_of *what, asc_timing *out) {
    const double layers = (double)p->j->m->info.n_layers;
    asc_timing one, head = {0};
    p->n_blocks = 1;
    asc_status st = once(p->j->ctx, run_blocks, p, &one); /* touches fresh memory, makes the program */
    if (st == ASC_OK) p->n_blocks = enough_blocks(p->j, &one, what);
    if (st == ASC_OK) st = asc_estimate_timed(p->j->ctx, run_blocks, p, out);
    if (st == ASC_OK) st = asc_estimate_timed(p->j->ctx, run_head, p, &head);
    out->seconds = layers / (double)p->n_blocks * out->seconds + head.seconds;
    out->flops = layers / (double)p->n_blocks * out->flops + head.flops;
    return st;
}

/* Arithmetic a second over the whole model at b prompts of len tokens. */
static asc_status measure(asc_job *j, const asc_rate_of *what, double *rate) {
    asc_ctx *ctx = j->ctx;
    const size_t n = what->batch * what->len;
    asc_timing all = {0};
    asc_status st = ASC_OK;
    probe p = {.j = j};
    *rate = 0.0;
    int32_t *ids = asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) ids[i] = j->r->prompt_ids[i % j->r->n_prompt];
    asc_scope_begin(ctx);
    p.x = asc_model_embed(j->m, ids, (int64_t)what->batch, (int64_t)what->len);
    ASC_TRY(asc_run(ctx, &p.x, 1));
    asc_tensor_detach(p.x);
    if (what->backward) {
        p.g = asc_scale(ctx, p.x, 0.5); /* any values: their time is the same */
        ASC_TRY(asc_run(ctx, &p.g, 1));
        asc_tensor_detach(p.g);
    }
    if (j->encoder != NULL || j->neuron.on)
        ASC_TRY(asc_estimate_timed(ctx, run_whole, &p, &all));
    else
        ASC_TRY(time_blocks(&p, what, &all));
    if (all.seconds > 0.0) *rate = all.flops / all.seconds;
done:
    asc_free(ctx, ids);
    return asc_scope_close(ctx, st);
}

/* Rows of several texts of an encoder, counted together, are texts as long as the prompt: a longer one may
 * pass its context. */
asc_status asc_estimate_rate(asc_job *j, const asc_rate_of *what, double *out) {
    asc_estimate *e = j->estimate;
    asc_rate_of w = *what;
    const double rows = (double)(w.len * w.batch);
    if (j->encoder != NULL && w.len > j->r->n_prompt) {
        w.batch = (w.len * w.batch + j->r->n_prompt - 1) / j->r->n_prompt;
        w.len = j->r->n_prompt;
    }
    const bool whole = j->encoder != NULL || j->neuron.on;
    const asc_rate_kind kind =
        (asc_rate_kind)((whole ? ASC_RATE_WHOLE_FORWARD : ASC_RATE_FORWARD) + w.backward);
    const asc_precision level = j->ctx->precision;
    const double *kept = asc_rates_find(&j->m->rates, kind, level, rows, 0.0);
    if (kept != NULL) {
        *out = kept[0];
        return ASC_OK;
    }
    uint64_t t0 = asc_now_ns();
    size_t base = asc_price_base(j->ctx);
    asc_status st = measure(j, &w, out);
    e->measuring += asc_seconds_since(t0);
    if (asc_price_base(j->ctx) > base) e->probes += asc_price_base(j->ctx) - base;
    if (st != ASC_OK) return st;
    asc_rates_keep(&j->m->rates, kind, level, rows, 0.0, (double[3]){*out, 0.0, 0.0});
    return ASC_OK;
}
