/* generate.c - continuing a text token by token. Keys and values of earlier positions are kept, so a step
 * reads each weight once. Greedy by default: the largest logit, the smallest id among equals. */
#include "exec.h"
#include "hash.h"
#include "kept_keys.h"
#include "model.h"
#include "profile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct gen {
    asc_model *m;
    const asc_generate_options *o;
    asc_kept_keys kept;
    float *logits;
} gen;

/* Runs t tokens after the kept ones; leaves the logits of the last one, and keeps them too. */
static asc_status step(gen *g, const int32_t *ids, int64_t t) {
    asc_model *m = g->m;
    asc_ctx *ctx = m->ctx;
    asc_decoder *d = &m->decoder;
    int64_t n_layers = d->cfg.n_layers;
    asc_status st = ASC_OK;
    const int depth = asc_prof_push(ctx, t > 1 ? "prompt" : "token", g->kept.n);
    asc_tensor **all = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n_layers * 2 + 1, sizeof(asc_tensor *));
    if (all == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) goto done;
    asc_scope_begin(ctx);
    asc_decoder_run run = {.x = asc_decoder_embed(d, ids, 1, t), .tail = 1};
    if (!asc_tensor_poisoned(run.x)) asc_kept_keys_attend(&g->kept, &run);
    asc_tensor *y = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    all[0] = y;
    if (!asc_tensor_poisoned(y)) {
        for (int64_t l = 0; l < n_layers; l++) {
            all[1 + 2 * l] = g->kept.now[l].k;
            all[2 + 2 * l] = g->kept.now[l].v;
        }
        st = asc_run(ctx, all, (size_t)n_layers * 2 + 1);
        if (st == ASC_OK) st = asc_read_f32(ctx, y, g->logits, (size_t)d->cfg.n_vocab);
        if (st == ASC_OK) st = asc_kept_keys_append(&g->kept, t);
    }
    st = asc_scope_close(ctx, st);
    asc_free(ctx, all);
done:
    asc_prof_pop(ctx, depth);
    return st;
}

static double log_sum_exp(const float *x, int64_t n) {
    double top = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, (double)x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - top);
    return top + log(sum);
}

static int64_t greedy(const float *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        if (x[i] > x[best]) best = i;
    }
    return best;
}

/* The k-th largest value, by repeated halving of the value range: no sort of the vocabulary. */
static float kth_largest(const float *x, int64_t n, int k) {
    float lo = x[0], hi = x[0];
    for (int64_t i = 1; i < n; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    for (int it = 0; it < 60; it++) {
        float mid = lo + (hi - lo) / 2;
        int64_t above = 0;
        for (int64_t i = 0; i < n; i++) above += x[i] >= mid ? 1 : 0;
        if (above >= k) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static int64_t draw(const float *x, int64_t n, const asc_generate_options *o, uint64_t index) {
    float floor_value = o->top_k > 0 && o->top_k < n ? kth_largest(x, n, o->top_k) : -INFINITY;
    double top = (double)x[greedy(x, n)], sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] >= floor_value) sum += exp(((double)x[i] - top) / o->temperature);
    }
    double u = asc_uniform(o->seed, 0x67656e, index) * sum, acc = 0.0;
    int64_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] >= floor_value)) continue;
        acc += exp(((double)x[i] - top) / o->temperature);
        last = i;
        if (acc > u) return i;
    }
    return last;
}

/* The token behind n + n_new others. Keys of a shorter sequence may be turned by other frequencies
 * (longrope): then all of it is computed anew, as a run without kept keys would. */
static asc_status next_step(gen *g, const int32_t *ids, size_t n, const int32_t *new_ids, size_t n_new) {
    if (asc_decoder_same_lengths(&g->m->decoder, g->kept.n, g->kept.n + 1))
        return step(g, &new_ids[n_new - 1], 1);
    int32_t *all = asc_calloc(g->m->ctx, ASC_MEM_GENERAL, n + n_new, sizeof *all);
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(all, ids, n * sizeof *all);
    memcpy(all + n, new_ids, n_new * sizeof *all);
    asc_kept_keys_clear(&g->kept);
    asc_status st = step(g, all, (int64_t)(n + n_new));
    asc_free(g->m->ctx, all);
    return st;
}

static asc_status loop(gen *g, const int32_t *ids, size_t n, int32_t *out_ids, size_t *out_n) {
    asc_model *m = g->m;
    int64_t v = m->decoder.cfg.n_vocab;
    asc_tokenizer_info tk = asc_tokenizer_get_info(m->tokenizer);
    asc_status st = step(g, ids, (int64_t)n);
    for (size_t i = 0; st == ASC_OK && i < g->o->max_tokens; i++) {
        int64_t id = g->o->temperature > 0.0 ? draw(g->logits, v, g->o, i) : greedy(g->logits, v);
        double lp = (double)g->logits[id] - log_sum_exp(g->logits, v);
        if (!isfinite(lp)) return asc_model_explain_nan(m, "a logit");
        out_ids[(*out_n)++] = (int32_t)id;
        if (g->o->on_token != NULL && !g->o->on_token(g->o->self, (int32_t)id, lp)) break;
        bool end = id == tk.eos || id == tk.eot;
        if ((end && !g->o->ignore_eos) || i + 1 == g->o->max_tokens || g->kept.n >= m->decoder.cfg.context)
            break;
        st = asc_poll_cancel(m->ctx);
        if (st == ASC_OK) st = next_step(g, ids, n, out_ids, *out_n);
        if (st == ASC_OK) st = asc_mark(m->ctx, "token");
    }
    return st;
}

asc_status asc_generate(asc_model *m, const int32_t *ids, size_t n, const asc_generate_options *opts,
                        int32_t *out_ids, size_t *out_n) {
    asc_ctx *ctx = m->ctx;
    *out_n = 0;
    asc_status st = asc_model_needs_decoder(m, "continue a text");
    if (st == ASC_OK) st = asc_model_check_ids(m, ids, n, "prompt");
    if (st != ASC_OK) return st;
    if (opts == NULL || opts->struct_size < sizeof *opts || opts->temperature < 0.0 || opts->top_k < 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: options are missing or negative");
    gen g = {.m = m, .o = opts};
    st = asc_kept_keys_init(&m->decoder, &g.kept);
    g.logits = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)m->decoder.cfg.n_vocab, sizeof *g.logits);
    if (g.logits == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK && opts->max_tokens > 0) st = loop(&g, ids, n, out_ids, out_n);
    asc_kept_keys_deinit(&g.kept);
    asc_free(ctx, g.logits);
    return st;
}
