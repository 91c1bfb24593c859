/* estimate.c - see estimate.h. */
#include "estimate.h"
#include "exec.h"
#include "ops.h"
#include "target.h"
#include <string.h>

static double seconds_since(uint64_t t0) { return (double)(asc_now_ns() - t0) * 1e-9; }

/* ---- rates ---- */

asc_status asc_estimate_timed(asc_job *j, asc_status (*step)(asc_job *j, asc_tensor *x, asc_tensor *g),
                              asc_tensor *x, asc_tensor *g, asc_timing *out) {
    static const double LONG = 1.0, ENOUGH = 0.1;
    enum { MOST_ROUNDS = 12 };
    asc_ctx *ctx = j->ctx;
    asc_exec_stats before = asc_exec_stats_of(ctx), after;
    *out = (asc_timing){0};
    for (int round = 0; round < MOST_ROUNDS; round++) {
        asc_scope_begin(ctx);
        asc_status st = asc_scope_close(ctx, step(j, x, g));
        if (st != ASC_OK) return st;
        after = asc_exec_stats_of(ctx);
        *out = (asc_timing){after.flops - before.flops, after.seconds - before.seconds};
        if (round == 0 && out->seconds < LONG) before = after;
        if (out->seconds > (round == 0 ? LONG : ENOUGH)) break;
    }
    return ASC_OK;
}

static asc_tensor *one_block(asc_job *j, asc_tensor *x) {
    asc_decoder *d = &j->m->decoder;
    int64_t l = (d->cfg.n_layers - 1) / 2;
    return asc_decoder_blocks(d, &(asc_decoder_run){.x = x}, l, l + 1, x);
}

static asc_status forward_block(asc_job *j, asc_tensor *x, asc_tensor *g) {
    (void)g;
    asc_tensor *y = one_block(j, x);
    return asc_run(j->ctx, &y, 1);
}

static asc_status both_block(asc_job *j, asc_tensor *x, asc_tensor *g) {
    asc_tensor *y = one_block(j, x), *gx;
    asc_grad(j->ctx, y, g, &x, 1, &gx);
    return asc_run(j->ctx, &gx, 1);
}

static asc_status score(asc_job *j, asc_tensor *x, bool backward) {
    asc_ctx *ctx = j->ctx;
    asc_answer answers[2];
    int64_t t = x->shape.dims[1];
    (void)asc_job_answers(j, answers);
    int64_t n = (int64_t)(answers[0].n - answers[0].first);
    if (n > t) answers[0].first = answers[0].n - (size_t)(n = t);
    asc_tensor *h = n == t ? x : asc_slice(ctx, x, 1, t - n, n), *ts[2];
    asc_status st = asc_run(ctx, &h, 1);
    if (st != ASC_OK) return st;
    ts[0] = asc_answer_score(j, h, &answers[0]);
    if (backward) asc_grad(ctx, ts[0], asc_full(ctx, ts[0]->shape, 1.0), &h, 1, &ts[1]);
    return asc_run(ctx, ts, backward ? 2 : 1);
}

static asc_status forward_head(asc_job *j, asc_tensor *x, asc_tensor *g) {
    (void)g;
    return score(j, x, false);
}
static asc_status both_head(asc_job *j, asc_tensor *x, asc_tensor *g) {
    (void)g;
    return score(j, x, true);
}

/* Encoders: the whole model at once; they are shallow, and a text is short. */
static asc_status forward_whole(asc_job *j, asc_tensor *x, asc_tensor *g) {
    (void)g;
    asc_tensor *y = asc_job_scalar(j, x, NULL, NULL);
    return asc_run(j->ctx, &y, 1);
}
static asc_status both_whole(asc_job *j, asc_tensor *x, asc_tensor *g) {
    (void)g;
    asc_tensor *y = asc_job_scalar(j, x, NULL, NULL), *gx = y;
    if (!asc_tensor_poisoned(y)) asc_grad(j->ctx, y, asc_full(j->ctx, y->shape, 1.0), &x, 1, &gx);
    return asc_run(j->ctx, &gx, 1);
}

/* Arithmetic a second over the whole model at b prompts of len tokens, from one block and the head. */
static asc_status measure(asc_job *j, bool backward, size_t len, size_t b, double *rate) {
    asc_ctx *ctx = j->ctx;
    double layers = (double)j->m->info.n_layers;
    asc_timing block = {0}, head = {0};
    asc_status st = ASC_OK;
    *rate = 0.0;
    int32_t *ids = asc_calloc(ctx, ASC_MEM_SCRATCH, b * len + 1, sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < b * len; i++) ids[i] = j->r->prompt_ids[i % j->r->n_prompt];
    asc_scope_begin(ctx);
    asc_tensor *x = asc_model_embed(j->m, ids, (int64_t)b, (int64_t)len), *g = NULL;
    ASC_TRY(asc_run(ctx, &x, 1));
    asc_tensor_detach(x);
    if (j->encoder != NULL || j->neuron.on) {
        ASC_TRY(asc_estimate_timed(j, backward ? both_whole : forward_whole, x, NULL, &block));
        if (block.seconds > 0.0) *rate = block.flops / block.seconds;
        goto done;
    }
    if (backward) {
        g = asc_scale(ctx, x, 0.5); /* any values: their time is the same */
        ASC_TRY(asc_run(ctx, &g, 1));
        asc_tensor_detach(g);
    }
    ASC_TRY(asc_estimate_timed(j, backward ? both_block : forward_block, x, g, &block));
    ASC_TRY(asc_estimate_timed(j, backward ? both_head : forward_head, x, g, &head));
    double t = layers * block.seconds + head.seconds;
    if (t > 0.0) *rate = (layers * block.flops + head.flops) / t;
done:
    asc_free(ctx, ids);
    return asc_scope_close(ctx, st);
}

/* The rate at about so many rows: one that the model remembers, or a new one. Rows of several texts of an
 * encoder, counted together, are texts as long as the prompt: a longer one may pass its context. */
static asc_status rate_at(asc_job *j, bool backward, size_t len, size_t b, double *out) {
    asc_estimate *e = j->estimate;
    const double rows = (double)(len * b);
    if (j->encoder != NULL && len > j->r->n_prompt) {
        b = (len * b + j->r->n_prompt - 1) / j->r->n_prompt;
        len = j->r->n_prompt;
    }
    const bool whole = j->encoder != NULL || j->neuron.on;
    const asc_rate_kind kind =
        (asc_rate_kind)((whole ? ASC_RATE_WHOLE_FORWARD : ASC_RATE_FORWARD) + backward);
    const asc_precision level = j->ctx->precision;
    const double *kept = asc_rates_find(&j->m->rates, kind, level, rows, 0.0);
    if (kept != NULL) {
        *out = kept[0];
        return ASC_OK;
    }
    uint64_t t0 = asc_now_ns();
    size_t base = asc_price_base(j->ctx);
    asc_status st = measure(j, backward, len, b, out);
    e->measuring += seconds_since(t0);
    if (asc_price_base(j->ctx) > base) e->probes += asc_price_base(j->ctx) - base;
    if (st != ASC_OK) return st;
    asc_rates_keep(&j->m->rates, kind, level, rows, 0.0, (double[3]){*out, 0.0, 0.0});
    return ASC_OK;
}

asc_status asc_estimate_rate(asc_job *j, size_t len, double *out) { return rate_at(j, false, len, 1, out); }

/* Seconds that a byte of fresh memory costs at its first touch. */
static asc_status touch_cost(asc_job *j, double *out) {
    enum { BYTES = 32 << 20 };
    const double *kept = asc_rates_find(&j->m->rates, ASC_RATE_TOUCH, ASC_PRECISION_HIGHEST, 0.0, 0.0);
    uint64_t t0 = asc_now_ns();
    *out = kept != NULL ? kept[0] : 0.0;
    if (kept != NULL) return ASC_OK;
    char *p = asc_alloc_buffer(j->ctx, ASC_MEM_SCRATCH, BYTES);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < BYTES; i += 4096) p[i] = 1;
    *out = seconds_since(t0) / BYTES;
    asc_rates_keep(&j->m->rates, ASC_RATE_TOUCH, ASC_PRECISION_HIGHEST, 0.0, 0.0,
                   (double[3]){*out, 0.0, 0.0});
    asc_free(j->ctx, p);
    j->estimate->measuring += seconds_since(t0);
    return ASC_OK;
}

/* ---- counting ---- */

void asc_estimate_work(asc_job *j, const asc_price *p, double seconds, double flops, double bytes) {
    asc_estimate *e = j->estimate;
    size_t need = p->arena_bytes + p->output_bytes + p->scratch_bytes;
    asc_job_note_peak(j, need);
    e->flops += flops;
    e->bytes += bytes;
    e->seconds += seconds;
    if (need > e->fresh) e->fresh = need;
    if (p->arena_bytes > e->arena) e->arena = p->arena_bytes;
    if (p->scratch_bytes > e->scratch) e->scratch = p->scratch_bytes;
}

static void count(asc_job *j, const asc_price *p, double times, double rate) {
    asc_estimate_work(j, p, rate > 0.0 ? times * p->cost.flops / rate : 0.0, times * p->cost.flops,
                      times * (p->cost.bytes_read + p->cost.bytes_written));
}

static asc_status count_batch(asc_job *j, asc_pass_kind kind, size_t len, size_t b, double times,
                              size_t keep_every) {
    asc_price p;
    double rate;
    bool backward = asc_pass_is_backward(kind);
    bool prepares = asc_price_prepares(j->ctx, true); /* as it will be when it has run */
    asc_status st = asc_job_need(j, kind, len, b, keep_every, &p);
    (void)asc_price_prepares(j->ctx, prepares);
    if (st == ASC_OK) st = rate_at(j, backward, len, b, &rate);
    if (st == ASC_OK) count(j, &p, times, rate);
    return st;
}

asc_status asc_estimate_passes(asc_job *j, asc_pass_kind kind, size_t len, size_t n, const asc_way *way) {
    bool backward = asc_pass_is_backward(kind);
    size_t full = n / way->batch, rest = n % way->batch;
    asc_status st = ASC_OK;
    if (full > 0) st = count_batch(j, kind, len, way->batch, (double)full, way->keep_every);
    if (st == ASC_OK && rest > 0) st = count_batch(j, kind, len, rest, 1.0, way->keep_every);
    j->r->n_forward += n;
    j->r->n_backward += backward ? n * (kind == ASC_PASS_THROUGH ? 2 : 1) : 0; /* of the unit, too */
    return st;
}

asc_status asc_estimate_program(asc_job *j, const asc_price *p, size_t rows) {
    double rate;
    asc_status st = rate_at(j, false, rows, 1, &rate);
    if (st == ASC_OK) count(j, p, 1.0, rate);
    return st;
}

asc_status asc_estimate_gradients(asc_job *j, const asc_price *p, size_t len, size_t n, size_t passes,
                                  size_t n_backward) {
    double rate;
    asc_status st = rate_at(j, true, len, n, &rate);
    if (st == ASC_OK) count(j, p, (double)passes, rate);
    j->r->n_forward += passes;
    j->r->n_backward += n_backward;
    return st;
}

/* ---- the job ---- */

/* A pass over `len` tokens that ends in the last one's logits (encoders: in what is explained). */
static asc_status count_ends(asc_job *j, size_t len) {
    asc_ctx *ctx = j->ctx;
    asc_decoder *d = &j->m->decoder;
    asc_price p;
    double rate;
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    asc_tensor *ids = asc_price_leaf(ctx, ASC_DTYPE_I32, ASC_SHAPE(1, (int64_t)len));
    asc_decoder_run run = {.x = asc_record_prompts(j, ids), .tail = 1};
    asc_tensor *y = j->encoder != NULL || j->neuron.on
                        ? asc_job_scalar(j, run.x, NULL, NULL)
                        : asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    bool prepares = asc_price_prepares(ctx, true);
    asc_status st = asc_price_of(ctx, &y, 1, &p);
    (void)asc_price_prepares(ctx, prepares);
    asc_price_end(ctx);
    st = asc_scope_close(ctx, st);
    if (st == ASC_OK) st = rate_at(j, false, len, 1, &rate);
    if (st == ASC_OK) count(j, &p, 1.0, rate);
    return st;
}

/* The pass for the model's own next tokens, and the answer's if the model writes it. */
static asc_status count_top(asc_job *j) {
    j->r->n_forward++;
    asc_status st = count_ends(j, j->r->n_prompt);
    const bool given = j->req->target.ptr != NULL || j->req->target_ids != NULL;
    return st != ASC_OK || j->encoder != NULL || given || j->r->n_target < 2 ? st : asc_estimate_answer(j);
}

/* What is predicted to be live at the peak, by what it is for. */
static void by_tag(asc_job *j, const asc_estimate *e) {
    asc_mem_stats m = asc_memory(j->ctx);
    size_t *tags = j->r->predicted_tags, sum = 0;
    for (int i = 0; i < ASC_MEM_N_TAGS; i++) tags[i] = m.live_bytes[i];
    tags[ASC_MEM_ACTIVATIONS] = 0; /* what the measurements left is used again */
    tags[ASC_MEM_SCRATCH] = e->scratch;
    for (int i = 0; i < ASC_MEM_N_TAGS; i++) sum += tags[i];
    if (j->r->predicted_peak_bytes > sum) tags[ASC_MEM_ACTIVATIONS] = j->r->predicted_peak_bytes - sum;
}

asc_status asc_estimate_job(asc_job *j, uint64_t t0) {
    asc_result *r = j->r;
    asc_estimate e = {0};
    double touch = 0.0;
    size_t n_warnings = r->n_warnings, before = asc_memory(j->ctx).peak_total;
    j->estimate = &e;
    asc_status st = count_top(j);
    if (st == ASC_OK) st = j->method->run(j);
    if (st == ASC_OK) st = asc_job_target_probability(j);
    if (st == ASC_OK) st = touch_cost(j, &touch);
    asc_job_note_peak(j, e.arena + e.scratch); /* all programs are there by now */
    j->estimate = NULL;
    while (r->n_warnings > n_warnings) asc_free(j->ctx, r->warnings[--r->n_warnings]); /* of scores */
    if (st != ASC_OK) return st;
    if (before > r->predicted_peak_bytes) r->predicted_peak_bytes = before;
    r->flops = e.flops;
    r->predicted_bytes_moved = e.bytes;
    r->predicted_seconds = e.seconds + touch * (double)e.fresh + seconds_since(t0) - e.measuring;
    r->converged = true;
    memset(r->scores, 0, r->n_prompt * sizeof *r->scores);
    by_tag(j, &e);
    return ASC_OK;
}
