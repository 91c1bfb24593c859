/* text_logprobs.c - how probable a model holds the tokens of a given text. The blocks run once; the head runs
 * on a few rows at a time, since all rows of logits would be larger than everything else together. */
#include "exec.h"
#include "model.h"
#include "rehearse.h"
#include "sampler.h"
#include <math.h>

enum { ROWS = 32 };

typedef struct reading {
    asc_model *m;
    const int32_t *ids;
    size_t n, n_top;
    asc_on_generated on;
    void *self;
    float *hidden, *logits; /* [n,D], [ROWS,V] */
    bool stopped;
} reading;

/* Tells of the tokens that rows first .. first + rows - 1 predict. */
static asc_status tell(reading *r, size_t first, size_t rows) {
    asc_model *m = r->m;
    const int64_t v = m->decoder.cfg.n_vocab;
    asc_token_logprob top[ASC_MAX_TOP];
    for (size_t i = 0; i < rows && !r->stopped; i++) {
        const float *x = r->logits + i * (size_t)v;
        asc_generated t = {.struct_size = sizeof t, .id = r->ids[first + i + 1], .top = top};
        t.logprob = (double)x[t.id] - asc_logits_mass(x, v);
        if (!isfinite(t.logprob)) return asc_model_explain_nan(m, "a logit");
        t.n_top = r->n_top < (size_t)v ? r->n_top : (size_t)v;
        asc_top_logprobs(x, v, top, t.n_top);
        r->stopped = !r->on(r->self, &t);
    }
    return ASC_OK;
}

static asc_status head(reading *r, size_t first, size_t rows) {
    asc_decoder *d = &r->m->decoder;
    asc_ctx *ctx = r->m->ctx;
    const size_t width = (size_t)d->cfg.d_model;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(1, (int64_t)rows, d->cfg.d_model), r->hidden + first * width);
    asc_status st =
        asc_read_f32(ctx, asc_decoder_logits(d, x, NULL, NULL), r->logits, rows * (size_t)d->cfg.n_vocab);
    return asc_scope_close(ctx, st);
}

static asc_status blocks(reading *r) {
    asc_decoder *d = &r->m->decoder;
    asc_ctx *ctx = r->m->ctx;
    asc_scope_begin(ctx);
    asc_tensor *hidden;
    bool again = asc_rehearse_begin(ctx);
    do {
        asc_decoder_run run = {.x = asc_decoder_embed(d, r->ids, 1, (int64_t)r->n)};
        hidden = asc_decoder_hidden(d, &run);
    } while (asc_rehearsed(ctx, ASC_OK, &again, &hidden, 1));
    asc_status st = asc_read_f32(ctx, hidden, r->hidden, r->n * (size_t)d->cfg.d_model);
    return asc_scope_close(ctx, st);
}

asc_status asc_model_logprobs(asc_model *m, const int32_t *ids, size_t n, size_t n_top, asc_on_generated on,
                              void *self) {
    asc_ctx *ctx = m->ctx;
    reading r = {.m = m, .ids = ids, .n = n, .n_top = n_top, .on = on, .self = self};
    size_t n_hidden, n_logits;
    asc_status st = asc_model_needs_decoder(m, "predict next tokens");
    if (st == ASC_OK) st = asc_model_check_ids(m, ids, n, "text");
    if (st == ASC_OK && n_top > ASC_MAX_TOP)
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu likeliest tokens asked for; at most %d", n_top,
                      ASC_MAX_TOP);
    if (st != ASC_OK) return st;
    const asc_generated first = {.struct_size = sizeof first, .id = ids[0], .logprob = NAN};
    if (!on(self, &first) || n == 1) return ASC_OK;
    if (!asc_mul_size(n, (size_t)m->decoder.cfg.d_model, &n_hidden) ||
        !asc_mul_size(ROWS, (size_t)m->decoder.cfg.n_vocab, &n_logits))
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a text of %zu tokens is too long", n);
    r.hidden = asc_calloc(ctx, ASC_MEM_SCRATCH, n_hidden, sizeof *r.hidden);
    r.logits = asc_calloc(ctx, ASC_MEM_SCRATCH, n_logits, sizeof *r.logits);
    if (r.hidden == NULL || r.logits == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK) st = blocks(&r);
    for (size_t i = 0; st == ASC_OK && i + 1 < n && !r.stopped; i += ROWS) {
        const size_t rows = n - 1 - i < ROWS ? n - 1 - i : ROWS;
        st = asc_poll_cancel(ctx);
        if (st == ASC_OK) st = head(&r, i, rows);
        if (st == ASC_OK) st = tell(&r, i, rows);
    }
    asc_free(ctx, r.hidden);
    asc_free(ctx, r.logits);
    return st;
}
