/* target.c - the scalar that is explained, as ops. A span of M target tokens is teacher-forced: their
 * embeddings follow the prompt, and only the M rows that predict them get logits, so a span costs one pass.
 */
#include "exec.h"
#include "method.h"
#include "neuron.h"
#include "target.h"
#include "target_encoder.h"
#include <string.h>

asc_tensor *asc_job_embed(asc_job *j, const int32_t *ids, int64_t b, int64_t n) {
    const char *label = asc_set_label(j->ctx, "embed");
    asc_tensor *at = asc_job_leaf(j, asc_from_i32(j->ctx, ASC_SHAPE(b, n), ids));
    asc_tensor *x = at->poison == ASC_OK ? asc_model_rows(j->m, at) : at;
    asc_set_label(j->ctx, label);
    return x;
}

/* The prefix's keys and values for each of b prompts, of blocks first .. end - 1; NULL when out of memory. */
static asc_kv *repeat_prefix(asc_job *j, int64_t b, int64_t first, int64_t end) {
    asc_kv *past = asc_calloc(j->ctx, ASC_MEM_GENERAL, (size_t)j->m->info.n_layers, sizeof *past);
    for (int64_t l = first; past != NULL && l < end; l++) {
        asc_job_leaf(j, j->prefix[l].k);
        asc_job_leaf(j, j->prefix[l].v);
        asc_shape s = asc_tensor_shape(j->prefix[l].k);
        if (s.rank > 0) s.dims[0] = b;
        past[l].k = b == 1 ? j->prefix[l].k : asc_broadcast(j->ctx, j->prefix[l].k, s);
        past[l].v = b == 1 ? j->prefix[l].v : asc_broadcast(j->ctx, j->prefix[l].v, s);
    }
    return past;
}

asc_tensor *asc_answer_join(asc_job *j, asc_tensor *x, const asc_answer *s) {
    asc_ctx *ctx = j->ctx;
    int64_t b = x->shape.dims[0];
    if (s->n < 2 || x->poison != ASC_OK) return x;
    size_t m = s->n - 1, bytes;
    int32_t *rep =
        asc_mul_size((size_t)b, m, &bytes) ? asc_calloc(ctx, ASC_MEM_GENERAL, bytes, sizeof *rep) : NULL;
    if (rep == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (int64_t i = 0; i < b; i++) memcpy(rep + (size_t)i * m, s->ids, m * sizeof *rep);
    asc_tensor *parts[2] = {x, asc_job_embed(j, rep, b, (int64_t)m)};
    asc_free(ctx, rep);
    return asc_concat(ctx, parts, 2, 1);
}

asc_status asc_answer_run(asc_job *j, int64_t b, const asc_answer *s, int64_t first, int64_t end,
                          asc_site_fn site, void *self, asc_decoder_run *out, asc_kv **out_past) {
    *out_past = NULL;
    if (j->n_prefix > 0 && (*out_past = repeat_prefix(j, b, first, end)) == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    *out = (asc_decoder_run){.tail = (int64_t)(s->n - s->first),
                             .site = site,
                             .site_self = self,
                             .whole_last_block = site != NULL,
                             .past = *out_past,
                             .pos = (int64_t)j->n_prefix};
    return ASC_OK;
}

asc_tensor *asc_answer_block(asc_job *j, int64_t b, const asc_answer *s, int64_t l, asc_site_fn site,
                             asc_attend_fn attend, void *self, asc_tensor *x) {
    asc_decoder_run run;
    asc_kv *past;
    asc_status st = asc_answer_run(j, b, s, l, l + 1, site, self, &run, &past);
    run.attend = attend;
    run.attend_self = self;
    asc_tensor *y = st == ASC_OK ? asc_decoder_blocks(&j->m->decoder, &run, l, l + 1, x)
                                 : asc_graph_poison(asc_graph_of(j->ctx));
    asc_free(j->ctx, past);
    return y;
}

/* Minus the divergence from the whole prompt's distribution p: sum p (log q - log p). */
static asc_tensor *divergence(asc_job *j, asc_tensor *logits) {
    asc_ctx *ctx = j->ctx;
    int axes[] = {-2, -1};
    int64_t v = j->m->decoder.cfg.n_vocab;
    asc_tensor *p = asc_job_leaf(j, asc_from_f64(ctx, ASC_SHAPE(v), j->whole_p));
    asc_tensor *log_p = asc_job_leaf(j, asc_from_f64(ctx, ASC_SHAPE(v), j->whole_log_p));
    asc_tensor *change = asc_sub(ctx, asc_log_softmax(ctx, logits), log_p);
    return asc_sum(ctx, asc_mul(ctx, change, p), 2, axes, false);
}

asc_tensor *asc_answer_tokens(asc_job *j, asc_tensor *hidden, const asc_answer *s) {
    asc_ctx *ctx = j->ctx;
    if (hidden->poison != ASC_OK) return hidden;
    size_t b = (size_t)hidden->shape.dims[0], n = s->n - s->first, bytes;
    int32_t *rep =
        asc_mul_size(b, n, &bytes) ? asc_calloc(ctx, ASC_MEM_GENERAL, bytes + 1, sizeof *rep) : NULL;
    if (rep == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < b; i++) memcpy(rep + i * n, s->ids + s->first, n * sizeof *rep);
    asc_tensor *logits = asc_decoder_logits(&j->m->decoder, hidden, NULL, NULL);
    asc_tensor *index = asc_job_leaf(j, asc_from_i32(ctx, ASC_SHAPE((int64_t)b, (int64_t)n), rep));
    asc_free(ctx, rep);
    if (j->req->output != ASC_OUTPUT_LOGIT) logits = asc_log_softmax(ctx, logits);
    return asc_take_last(ctx, logits, index);
}

/* The whole answer's score from its tokens' [B,n]. */
static asc_tensor *whole_of(asc_job *j, asc_tensor *tokens, bool keep_axis) {
    int axis[] = {-1};
    asc_tensor *sum = asc_sum(j->ctx, tokens, 1, axis, keep_axis);
    return j->req->output == ASC_OUTPUT_PROB ? asc_exp(j->ctx, sum) : sum;
}

/* The whole's score, then the tokens'. */
static asc_tensor *numbers_of(asc_job *j, asc_tensor *tokens) {
    asc_ctx *ctx = j->ctx;
    asc_tensor *each = j->req->output == ASC_OUTPUT_PROB ? asc_exp(ctx, tokens) : tokens;
    asc_tensor *both[2] = {whole_of(j, tokens, true), each};
    return asc_concat(ctx, both, 2, 1);
}

asc_tensor *asc_answer_score(asc_job *j, asc_tensor *hidden, const asc_answer *s) {
    if (hidden->poison != ASC_OK) return hidden;
    if (j->req->output == ASC_OUTPUT_KL)
        return divergence(j, asc_decoder_logits(&j->m->decoder, hidden, NULL, NULL));
    return whole_of(j, asc_answer_tokens(j, hidden, s), false);
}

asc_tensor *asc_answer_numbers(asc_job *j, asc_tensor *hidden, const asc_answer *s) {
    asc_ctx *ctx = j->ctx;
    if (hidden->poison != ASC_OK) return hidden;
    if (!j->req->per_token) {
        asc_tensor *y = asc_answer_score(j, hidden, s);
        return y->poison != ASC_OK ? y : asc_reshape(ctx, y, ASC_SHAPE(hidden->shape.dims[0], 1));
    }
    return numbers_of(j, asc_answer_tokens(j, hidden, s));
}

/* Scores of the answer's tokens [B,n-first]: where every token sees all others, each needs a pass of its own,
 * over the prompt and the tokens before it. */
static asc_tensor *tokens_of(asc_job *j, asc_tensor *x, const asc_answer *s) {
    asc_ctx *ctx = j->ctx;
    asc_decoder_run run;
    asc_kv *past;
    asc_tensor *all = NULL;
    for (size_t k = s->first; k < s->n; k++) {
        const asc_answer one = {.ids = s->ids, .n = k + 1, .first = k};
        if (asc_answer_run(j, x->shape.dims[0], &one, 0, j->m->decoder.cfg.n_layers, NULL, NULL, &run,
                           &past) != ASC_OK)
            return asc_graph_poison(asc_graph_of(ctx));
        run.x = asc_answer_join(j, x, &one);
        asc_tensor *t = asc_answer_tokens(j, asc_decoder_hidden(&j->m->decoder, &run), &one);
        asc_free(ctx, past);
        asc_tensor *both[2] = {all, t};
        all = all == NULL ? t : asc_concat(ctx, both, 2, 1);
    }
    return all != NULL ? all : x;
}

bool asc_job_token_passes(const asc_job *j) {
    asc_answer answers[2];
    if (j->m->kind != ASC_MODEL_DECODER || !j->m->decoder.cfg.not_causal || j->req->output == ASC_OUTPUT_KL)
        return false;
    asc_job_answers(j, answers);
    return answers[0].n - answers[0].first > 1 || answers[1].n > 1;
}

static asc_tensor *score_of(asc_job *j, asc_tensor *x, const asc_answer *s, asc_site_fn site, void *self) {
    asc_decoder_run run;
    if (asc_job_token_passes(j) && site == NULL) return whole_of(j, tokens_of(j, x, s), false);
    asc_kv *past;
    if (asc_answer_run(j, x->shape.dims[0], s, 0, j->m->info.n_layers, site, self, &run, &past) != ASC_OK)
        return asc_graph_poison(asc_graph_of(j->ctx));
    run.x = asc_answer_join(j, x, s);
    asc_tensor *hidden = asc_decoder_hidden(&j->m->decoder, &run);
    asc_free(j->ctx, past);
    return asc_answer_score(j, hidden, s);
}

size_t asc_job_answers(const asc_job *j, asc_answer out[2]) {
    size_t end = j->span_end > 0 ? j->span_end : j->r->n_target;
    if (j->req->output == ASC_OUTPUT_KL || j->neuron.on) end = 1; /* nothing follows the prompt */
    out[0] = (asc_answer){.ids = j->r->target_ids, .n = end, .first = j->span_start};
    out[1] = (asc_answer){.ids = j->r->versus_ids, .n = j->r->n_versus};
    return j->r->n_versus > 0 ? 2 : 1;
}

size_t asc_job_width(const asc_job *j) {
    asc_answer answers[2];
    asc_job_answers(j, answers);
    return j->req->per_token ? 1 + answers[0].n - answers[0].first : 1;
}

asc_tensor *asc_job_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self) {
    asc_answer answers[2];
    size_t n = asc_job_answers(j, answers);
    if (asc_tensor_poisoned(x)) return x;
    if (j->neuron.on) return asc_neuron_scalar(j, x, site, site_self);
    if (j->m->kind == ASC_MODEL_ENCODER) return asc_encoder_scalar(j, x, site, site_self);
    asc_tensor *s = score_of(j, x, &answers[0], site, site_self);
    return n == 1 ? s : asc_sub(j->ctx, s, score_of(j, x, &answers[1], site, site_self));
}

asc_tensor *asc_job_numbers(asc_job *j, asc_tensor *x) {
    asc_ctx *ctx = j->ctx;
    asc_answer answers[2];
    asc_decoder_run run;
    asc_kv *past;
    if (asc_tensor_poisoned(x)) return x;
    if (!j->req->per_token) {
        asc_tensor *y = asc_job_scalar(j, x, NULL, NULL);
        return y->poison != ASC_OK ? y : asc_reshape(ctx, y, ASC_SHAPE(x->shape.dims[0], 1));
    }
    asc_job_answers(j, answers); /* one: question.c refuses rows of a contrast */
    if (asc_job_token_passes(j)) return numbers_of(j, tokens_of(j, x, &answers[0]));
    if (asc_answer_run(j, x->shape.dims[0], &answers[0], 0, j->m->decoder.cfg.n_layers, NULL, NULL, &run,
                       &past) != ASC_OK)
        return asc_graph_poison(asc_graph_of(ctx));
    run.x = asc_answer_join(j, x, &answers[0]);
    asc_tensor *hidden = asc_decoder_hidden(&j->m->decoder, &run);
    asc_free(ctx, past);
    return asc_answer_numbers(j, hidden, &answers[0]);
}

asc_tensor *asc_record_prompts(asc_job *j, asc_tensor *ids) { return asc_model_rows(j->m, ids); }

asc_tensor *asc_record_points(asc_job *j, asc_tensor *x, asc_tensor *x0, asc_tensor *a) {
    return asc_add(j->ctx, asc_mul(j->ctx, asc_sub(j->ctx, x, x0), a), x0);
}

asc_tensor *asc_record_parts(asc_job *j, asc_tensor *grad, asc_tensor *x, asc_tensor *x0) {
    int axis[] = {-1};
    return asc_sum(j->ctx, asc_mul(j->ctx, grad, asc_sub(j->ctx, x, x0)), 1, axis, false);
}

asc_tensor *asc_catch_site(void *self, asc_decoder_site site, int64_t layer, asc_tensor *value) {
    asc_site_catcher *c = self;
    if (site == c->site && layer == c->layer && c->value == NULL) c->value = value;
    return value;
}

/* The first n tokens of a value [B,T,D]. */
static asc_tensor *first_tokens(asc_ctx *ctx, asc_tensor *v, int64_t n) {
    return v->poison != ASC_OK || v->shape.dims[1] == n ? v : asc_slice(ctx, v, 1, 0, n);
}

/* A contrast at an inner value: the two answers' passes have it each, equal in the prompt's tokens of a
 * causal model. There their gradients add up, the contrast's with its sign. */
static asc_tensor *contrast_at_site(asc_job *j, asc_tensor *x, asc_tensor **grad, asc_tensor **act) {
    asc_ctx *ctx = j->ctx;
    asc_answer answers[2];
    asc_tensor *y[2], *at[2], *g[2];
    asc_job_answers(j, answers);
    for (int k = 0; k < 2; k++) {
        asc_site_catcher c = {.site = j->site, .layer = j->site_layer};
        y[k] = score_of(j, x, &answers[k], asc_catch_site, &c);
        at[k] = c.value != NULL ? c.value : x;
    }
    asc_tensor *diff = asc_sub(ctx, y[0], y[1]);
    *act = first_tokens(ctx, at[0], x->shape.dims[1]);
    if (grad == NULL) return diff;
    *grad = diff;
    if (asc_tensor_poisoned(diff)) return diff;
    asc_grad(ctx, diff, asc_full(ctx, diff->shape, 1.0), at, 2, g);
    for (int k = 0; k < 2; k++) g[k] = first_tokens(ctx, g[k], x->shape.dims[1]);
    *grad = asc_add(ctx, g[0], g[1]);
    return diff;
}

asc_tensor *asc_record_scalar(asc_job *j, asc_tensor *x, asc_tensor **grad, asc_tensor **act) {
    asc_ctx *ctx = j->ctx;
    asc_site_catcher c = {.site = j->site, .layer = j->site_layer};
    bool at_embed = j->site == ASC_SITE_EMBED;
    if (!at_embed && j->encoder == NULL && j->r->n_versus > 0 && x->poison == ASC_OK)
        return contrast_at_site(j, x, grad, act);
    asc_tensor *y = asc_job_scalar(j, x, at_embed ? NULL : asc_catch_site, &c);
    *act = at_embed || c.value == NULL ? x : c.value; /* NULL: only after an error, which the run returns */
    if (grad == NULL) return y;
    *grad = y;
    if (!asc_tensor_poisoned(y)) asc_grad(ctx, y, asc_full(ctx, y->shape, 1.0), act, 1, grad);
    return y;
}
