/* generate.c - continuing a text token by token. Keys and values of earlier positions are kept, so a step
 * reads each weight once. Which token comes is the sampler's (sampler.h), what its text shows stop_text.h's.
 */
#include "exec.h"
#include "hash.h"
#include "kept_prompt.h"
#include "model.h"
#include "profile.h"
#include "sampler.h"
#include "stop_text.h"
#include <math.h>
#include <string.h>

typedef struct gen {
    asc_model *m;
    const asc_generate_options *o;
    asc_kept_keys kept;
    size_t n_prompt; /* tokens of the prompt whose keys are for the next call */
    asc_sampler sampler;
    asc_stop_text text;
    float *logits;
    asc_token_logprob top[ASC_MAX_TOP];
} gen;

/* Runs t tokens after the kept ones; leaves the logits of the last one, and keeps them too. steady: as a
 * prompt of which any part may be kept. */
static asc_status step(gen *g, const int32_t *ids, int64_t t, bool steady) {
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
    const bool many = steady && asc_set_many_rows(ctx, true);
    asc_decoder_run run = {.x = asc_decoder_embed(d, ids, 1, t), .tail = 1};
    if (!asc_tensor_poisoned(run.x) && steady) st = asc_kept_keys_attend_many(&g->kept, &run);
    if (!asc_tensor_poisoned(run.x) && !steady) asc_kept_keys_attend(&g->kept, &run);
    asc_tensor *y = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    if (steady) asc_set_many_rows(ctx, many);
    all[0] = y;
    if (st == ASC_OK && !asc_tensor_poisoned(y)) {
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

/* The token behind n + n_new others. Keys of a shorter sequence may be turned by other frequencies
 * (longrope): then all of it is computed anew, as a run without kept keys would. */
static asc_status next_step(gen *g, const int32_t *ids, size_t n, const int32_t *new_ids, size_t n_new) {
    if (asc_decoder_same_lengths(&g->m->decoder, g->kept.n, g->kept.n + 1))
        return step(g, &new_ids[n_new - 1], 1, false);
    int32_t *all = asc_calloc(g->m->ctx, ASC_MEM_GENERAL, n + n_new, sizeof *all);
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(all, ids, n * sizeof *all);
    memcpy(all + n, new_ids, n_new * sizeof *all);
    asc_kept_keys_cut(&g->kept, 0);
    g->n_prompt = 0;
    asc_status st = step(g, all, (int64_t)(n + n_new), false);
    asc_free(g->m->ctx, all);
    return st;
}

/* Tells the callbacks of token `id` and says whether the text ends with it. */
static asc_status tell(gen *g, int32_t id, bool last, asc_finish *out) {
    asc_model *m = g->m;
    const asc_generate_options *o = g->o;
    const asc_tokenizer *tk = m->tokenizer;
    const int64_t v = m->decoder.cfg.n_vocab;
    const asc_tokenizer_info info = asc_tokenizer_get_info(tk);
    const double lp = (double)g->logits[id] - asc_logits_mass(g->logits, v);
    if (!isfinite(lp)) return asc_model_explain_nan(m, "a logit");
    asc_generated t = {.struct_size = sizeof t, .id = id, .logprob = lp};
    if ((id == info.eos || id == info.eot) && !o->ignore_eos) {
        t.finish = ASC_FINISH_END;
    } else if (last) {
        t.finish = ASC_FINISH_LENGTH;
    }
    asc_status st = ASC_OK;
    if (o->on_generated != NULL || o->n_stop > 0) {
        const bool mute = asc_token_get_type(tk, id) == ASC_TOKEN_CONTROL;
        bool stopped = false;
        st = asc_stop_text_add(&g->text, mute ? (asc_view){0} : asc_token_piece(tk, id),
                               t.finish != ASC_FINISH_NONE, &t.text, &stopped);
        if (stopped) t.finish = ASC_FINISH_STOP;
    }
    if (st != ASC_OK) return st;
    if (o->on_generated != NULL) {
        t.top = g->top;
        t.n_top = o->n_top < (size_t)v ? o->n_top : (size_t)v;
        asc_top_logprobs(g->logits, v, g->top, t.n_top);
    }
    *out = t.finish;
    bool go_on = o->on_token == NULL || o->on_token(o->self, id, lp);
    if (o->on_generated != NULL && !o->on_generated(o->self, &t)) go_on = false;
    if (!go_on && t.finish == ASC_FINISH_NONE) *out = ASC_FINISH_CALLER;
    return ASC_OK;
}

static asc_status loop(gen *g, const int32_t *ids, size_t n, int32_t *out_ids, size_t *out_n,
                       asc_finish *why) {
    asc_model *m = g->m;
    const size_t kept = (size_t)g->kept.n;
    asc_status st = step(g, ids + kept, (int64_t)(n - kept), g->o->keep_prompt);
    if (st == ASC_OK && g->o->keep_prompt) g->n_prompt = n;
    for (size_t i = 0; st == ASC_OK && i < g->o->max_tokens; i++) {
        const int32_t id = asc_sampler_next(&g->sampler, g->logits, i);
        const bool last = i + 1 == g->o->max_tokens || g->kept.n >= m->decoder.cfg.context;
        out_ids[(*out_n)++] = id;
        st = tell(g, id, last, why);
        if (st != ASC_OK || *why != ASC_FINISH_NONE) break;
        st = asc_poll_cancel(m->ctx);
        if (st == ASC_OK) st = next_step(g, ids, n, out_ids, *out_n);
        if (st == ASC_OK) st = asc_mark(m->ctx, "token");
    }
    return st;
}

/* The caller's options as this library knows them: those behind the end of an older struct are 0. */
static asc_status read_options(asc_ctx *ctx, const asc_generate_options *from, asc_generate_options *to) {
    *to = (asc_generate_options){0};
    if (from == NULL || from->struct_size < offsetof(asc_generate_options, top_p))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: options are missing or of no known size");
    memcpy(to, from, from->struct_size < sizeof *to ? from->struct_size : sizeof *to);
    if (to->n_top > ASC_MAX_TOP)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: %zu likeliest tokens asked for; at most %d",
                        to->n_top, ASC_MAX_TOP);
    return ASC_OK;
}

asc_status asc_generate(asc_model *m, const int32_t *ids, size_t n, const asc_generate_options *opts,
                        int32_t *out_ids, size_t *out_n) {
    asc_ctx *ctx = m->ctx;
    asc_generate_options o;
    asc_finish why = ASC_FINISH_NONE;
    *out_n = 0;
    asc_status st = asc_model_needs_decoder(m, "continue a text");
    if (st == ASC_OK) st = asc_model_check_ids(m, ids, n, "prompt");
    if (st == ASC_OK) st = read_options(ctx, opts, &o);
    if (st != ASC_OK) return st;
    gen g = {.m = m, .o = &o};
    if (o.out_finish != NULL) *o.out_finish = ASC_FINISH_NONE;
    ASC_TRY(asc_stop_text_init(ctx, o.stop, o.n_stop, &g.text));
    ASC_TRY(asc_sampler_init(ctx, &o, m->decoder.cfg.n_vocab, ids, n, &g.sampler));
    if (!o.keep_prompt || !asc_model_take_prompt(m, ids, n, &g.kept))
        ASC_TRY(asc_kept_keys_init(&m->decoder, &g.kept));
    g.logits = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)m->decoder.cfg.n_vocab, sizeof *g.logits);
    if (g.logits == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK && o.max_tokens > 0) st = loop(&g, ids, n, out_ids, out_n, &why);
    if (o.out_finish != NULL) *o.out_finish = o.max_tokens == 0 ? ASC_FINISH_LENGTH : why;
    if (g.n_prompt > 0) asc_model_keep_prompt(m, ids, g.n_prompt, &g.kept);
done:
    asc_kept_keys_deinit(&g.kept);
    asc_sampler_deinit(&g.sampler);
    asc_stop_text_deinit(&g.text);
    asc_free(ctx, g.logits);
    return st;
}
