/* estimate_answer.c - the price of an answer that the model writes itself: a pass over the prompt that keeps
 * its keys and values, then one token after another. A step reads every weight from memory for one row, so
 * its rate is that of the whole model; a single block, measured again and again, would stay in the cache. */
#include "estimate.h"
#include "exec.h"
#include "kept_keys.h"

typedef struct stepper {
    asc_job *j;
    asc_tensor *x;
    asc_kept_keys kept;
} stepper;

/* A token behind the kept ones, as asc_generate runs it, but for choosing the next. */
static asc_status whole_step(void *self) {
    stepper *s = self;
    asc_decoder *d = &s->j->m->decoder;
    asc_decoder_run run = {.x = s->x, .tail = 1};
    asc_kept_keys_attend(&s->kept, &run);
    asc_tensor *y = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    return asc_run(s->j->ctx, &y, 1);
}

/* Keys and values of n tokens, all 0. */
static asc_status keep_zeros(asc_kept_keys *kept, int64_t n) {
    asc_decoder *d = kept->d;
    const asc_shape shape = ASC_SHAPE(1, n, d->cfg.n_kv, d->cfg.head_dim);
    asc_tensor *zeros = asc_full(d->ctx, shape, 0.0);
    asc_status st = asc_run(d->ctx, &zeros, 1);
    for (int64_t l = 0; l < d->cfg.n_layers; l++) kept->now[l] = (asc_kv){.k = zeros, .v = zeros};
    return st == ASC_OK ? asc_kept_keys_append(kept, n) : st;
}

static asc_status measure(asc_job *j, int64_t n_kept, double *out) {
    asc_ctx *ctx = j->ctx;
    asc_timing t = {0};
    const size_t base = asc_price_base(ctx);
    const uint64_t t0 = asc_now_ns();
    stepper s = {.j = j};
    asc_scope_begin(ctx);
    asc_status st = asc_kept_keys_init(&j->m->decoder, &s.kept);
    if (st == ASC_OK) st = keep_zeros(&s.kept, n_kept);
    s.x = asc_decoder_embed(&j->m->decoder, j->r->prompt_ids, 1, 1);
    if (st == ASC_OK) st = asc_run(ctx, &s.x, 1);
    if (st == ASC_OK) asc_tensor_detach(s.x);
    if (st == ASC_OK) st = asc_estimate_timed(ctx, whole_step, &s, &t);
    asc_kept_keys_deinit(&s.kept);
    st = asc_scope_close(ctx, st);
    j->estimate->measuring += asc_seconds_since(t0);
    if (asc_price_base(ctx) > base) j->estimate->probes += asc_price_base(ctx) - base;
    if (st == ASC_OK) *out = t.seconds;
    return st;
}

/* Seconds of a step with so many tokens kept. */
static asc_status time_of_step(asc_job *j, int64_t n_kept, double *out) {
    const asc_precision level = j->ctx->precision;
    const double *kept = asc_rates_find(&j->m->rates, ASC_RATE_STEP, level, (double)n_kept, 0.0);
    *out = kept != NULL ? kept[0] : 0.0;
    if (kept != NULL) return ASC_OK;
    asc_status st = measure(j, n_kept, out);
    if (st == ASC_OK)
        asc_rates_keep(&j->m->rates, ASC_RATE_STEP, level, (double)n_kept, 0.0, (double[3]){*out, 0.0, 0.0});
    return st;
}

/* What t tokens behind the kept ones take, as asc_generate runs them. */
static asc_status price_step(asc_job *j, asc_kept_keys *kept, int64_t t, asc_price *out) {
    asc_ctx *ctx = j->ctx;
    asc_decoder *d = &j->m->decoder;
    const int64_t n_layers = d->cfg.n_layers;
    asc_tensor **all = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n_layers * 2 + 1, sizeof(asc_tensor *));
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_decoder_run run = {.x = asc_decoder_embed(d, j->r->prompt_ids, 1, t), .tail = 1};
    if (!asc_tensor_poisoned(run.x)) asc_kept_keys_attend(kept, &run);
    all[0] = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    asc_status st = asc_tensor_poisoned(all[0]) ? asc_graph_take_error(asc_graph_of(ctx)) : ASC_OK;
    for (int64_t l = 0; st == ASC_OK && l < n_layers; l++) {
        all[1 + 2 * l] = kept->now[l].k;
        all[2 + 2 * l] = kept->now[l].v;
    }
    const bool prepares = asc_price_prepares(ctx, true);
    if (st == ASC_OK) st = asc_price_of(ctx, all, (size_t)n_layers * 2 + 1, out);
    (void)asc_price_prepares(ctx, prepares);
    asc_free(ctx, all);
    return st;
}

/* Adds a pass, with `beside` bytes of stores and logits. */
static void add(asc_job *j, const asc_price *p, size_t beside, double times, double seconds) {
    asc_price all = *p;
    if (!asc_add_size(all.output_bytes, beside, &all.output_bytes)) all.output_bytes = SIZE_MAX;
    asc_estimate_work(j, &all, times * seconds, times * p->cost.flops,
                      times * (p->cost.bytes_read + p->cost.bytes_written));
}

static asc_status price_both(asc_job *j, int64_t prompt, int64_t half_way, asc_price *first,
                             asc_price *step) {
    asc_ctx *ctx = j->ctx;
    asc_kept_keys kept;
    asc_status st = asc_kept_keys_init(&j->m->decoder, &kept);
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    if (st == ASC_OK) st = price_step(j, &kept, prompt, first);
    if (st == ASC_OK) st = asc_kept_keys_pretend(&kept, prompt, asc_kept_keys_room(half_way));
    if (st == ASC_OK) st = price_step(j, &kept, 1, step);
    asc_kept_keys_deinit(&kept);
    asc_price_end(ctx);
    return asc_scope_close(ctx, st);
}

asc_status asc_estimate_answer(asc_job *j) {
    asc_decoder *d = &j->m->decoder;
    const int64_t prompt = (int64_t)j->r->n_prompt, last = prompt + (int64_t)j->r->n_target - 1;
    const int64_t row = d->cfg.n_kv * d->cfg.head_dim * (int64_t)sizeof(float);
    const int64_t half_way = (prompt + last) / 2; /* the mean of a step's attention */
    const size_t logits = (size_t)d->cfg.n_vocab * sizeof(float);
    asc_price first = {0}, step = {0};
    double rate = 0.0, step_seconds = 0.0;
    asc_status st = price_both(j, prompt, half_way, &first, &step);
    const asc_rate_of what = {.len = (size_t)prompt, .batch = 1, .work = first.cost.flops};
    if (st == ASC_OK) st = asc_estimate_rate(j, &what, &rate);
    if (st == ASC_OK) st = time_of_step(j, half_way, &step_seconds);
    if (st != ASC_OK) return st;
    int64_t room = asc_kept_keys_room(prompt), both = room;
    add(j, &first, (size_t)((2 * d->cfg.n_layers * room + room) * row) + logits, 1.0,
        rate > 0.0 ? first.cost.flops / rate : 0.0);
    while (room < last) { /* growing stores are there twice, and each room has a program of its own */
        both = room + asc_kept_keys_room(room + 1);
        room = asc_kept_keys_room(room + 1);
        j->estimate->held += step.program_bytes + step.code_bytes;
    }
    add(j, &step, (size_t)((2 * d->cfg.n_layers * both + room) * row) + logits, (double)(last - prompt),
        step_seconds);
    return ASC_OK;
}
