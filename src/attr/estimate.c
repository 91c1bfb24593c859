/* estimate.c - see estimate.h. */
#include "estimate.h"
#include "exec.h"
#include "ops.h"
#include "target.h"
#include <string.h>

/* Seconds that a byte of fresh memory costs at its first touch. */
static asc_status touch_cost(asc_job *j, double *out) {
    enum { LEAST = 32 << 20, MOST = 128 << 20 };
    const size_t part = j->estimate->fresh / 4, bytes = part < LEAST ? LEAST : part > MOST ? MOST : part;
    const double *kept = asc_rates_find(&j->m->rates, ASC_RATE_TOUCH, ASC_PRECISION_HIGHEST, 0.0, 0.0);
    uint64_t t0 = asc_now_ns();
    *out = kept != NULL ? kept[0] : 0.0;
    if (kept != NULL) return ASC_OK;
    char *p = asc_alloc_buffer(j->ctx, ASC_MEM_SCRATCH, bytes);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < bytes; i += 4096) p[i] = 1;
    *out = asc_seconds_since(t0) / (double)bytes;
    asc_rates_keep(&j->m->rates, ASC_RATE_TOUCH, ASC_PRECISION_HIGHEST, 0.0, 0.0,
                   (double[3]){*out, 0.0, 0.0});
    asc_free(j->ctx, p);
    j->estimate->measuring += asc_seconds_since(t0);
    return ASC_OK;
}

/* ---- counting ---- */

void asc_estimate_work(asc_job *j, const asc_price *p, double seconds, double flops, double bytes) {
    asc_estimate *e = j->estimate;
    const size_t need = p->arena_bytes + p->output_bytes + p->scratch_bytes;
    if (p->arena_bytes > e->arena) e->arena = p->arena_bytes;
    if (p->scratch_bytes > e->scratch) e->scratch = p->scratch_bytes;
    asc_job_note_peak(j, e->arena + e->scratch + p->output_bytes); /* blocks stay as large as they were */
    e->flops += flops;
    e->bytes += bytes;
    e->seconds += seconds;
    if (need > e->fresh) e->fresh = need;
}

static void count(asc_job *j, const asc_price *p, double times, double rate) {
    asc_estimate_work(j, p, rate > 0.0 ? times * p->cost.flops / rate : 0.0, times * p->cost.flops,
                      times * (p->cost.bytes_read + p->cost.bytes_written));
}

/* Block by block a gradient takes a forward pass more, or two where inputs of few blocks are kept: so much of
 * all arithmetic, as a gradient takes twice what a forward pass does. */
static double forward_share(size_t keep_every) {
    return keep_every == 0 ? 0.0 : keep_every == 1 ? 1.0 / 4.0 : 2.0 / 5.0;
}

static asc_status count_batch(asc_job *j, asc_pass_kind kind, size_t len, size_t b, double times,
                              size_t keep_every) {
    asc_price p;
    double rate, forward = 0.0;
    asc_rate_of what = {.len = len, .batch = b, .backward = asc_pass_is_backward(kind)};
    bool prepares = asc_price_prepares(j->ctx, true); /* as it will be when it has run */
    asc_status st = asc_job_need(j, kind, len, b, keep_every, &p);
    (void)asc_price_prepares(j->ctx, prepares);
    if (st != ASC_OK) return st;
    const double flops = times * p.cost.flops, share = what.backward ? forward_share(keep_every) : 0.0;
    what.work = flops;
    what.one_block = keep_every > 0;
    st = asc_estimate_rate(j, &what, &rate);
    what.backward = false;
    if (st == ASC_OK && share > 0.0) st = asc_estimate_rate(j, &what, &forward);
    if (st != ASC_OK) return st;
    double seconds = rate > 0.0 ? (1.0 - share) * flops / rate : 0.0;
    if (forward > 0.0) seconds += share * flops / forward;
    asc_estimate_work(j, &p, seconds, flops, times * (p.cost.bytes_read + p.cost.bytes_written));
    return ASC_OK;
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
    const asc_rate_of what = {.len = rows, .batch = 1, .work = p->cost.flops};
    asc_status st = asc_estimate_rate(j, &what, &rate);
    if (st == ASC_OK) count(j, p, 1.0, rate);
    return st;
}

asc_status asc_estimate_gradients(asc_job *j, const asc_price *p, size_t len, size_t n, size_t passes,
                                  size_t n_backward) {
    double rate;
    const asc_rate_of what = {
        .len = len, .batch = n, .backward = true, .work = (double)passes * p->cost.flops};
    asc_status st = asc_estimate_rate(j, &what, &rate);
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
    if (st == ASC_OK)
        st = asc_estimate_rate(j, &(asc_rate_of){.len = len, .batch = 1, .work = p.cost.flops}, &rate);
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
    asc_rates *rates = &j->m->rates;
    const size_t peak = asc_memory(j->ctx).peak_total;
    const bool measured = peak > 0 && peak == rates->peak_measured; /* by an earlier dry run, for no job */
    size_t n_warnings = r->n_warnings, before = measured ? rates->peak_but_for_it : peak;
    j->estimate = &e;
    asc_status st = count_top(j);
    if (st == ASC_OK) st = j->method->run(j);
    if (st == ASC_OK) st = asc_job_target_probability(j);
    if (st == ASC_OK) st = touch_cost(j, &touch);
    asc_job_note_peak(j, e.arena + e.scratch); /* all programs are there by now */
    j->estimate = NULL;
    if (measured || asc_memory(j->ctx).peak_total > peak) {
        rates->peak_measured = asc_memory(j->ctx).peak_total;
        rates->peak_but_for_it = before;
    }
    while (r->n_warnings > n_warnings) asc_free(j->ctx, r->warnings[--r->n_warnings]); /* of scores */
    if (st != ASC_OK) return st;
    if (before > r->predicted_peak_bytes) r->predicted_peak_bytes = before;
    r->flops = e.flops;
    r->predicted_bytes_moved = e.bytes;
    r->predicted_seconds = e.seconds + touch * (double)e.fresh + asc_seconds_since(t0) - e.measuring;
    r->predicted_least_seconds = r->predicted_seconds - e.spare;
    r->converged = true;
    memset(r->scores, 0, r->n_prompt * sizeof *r->scores);
    by_tag(j, &e);
    return ASC_OK;
}
