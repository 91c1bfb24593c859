/* answer.c - what is explained: the target tokens (given, or chosen by the model) and the model's own next
 * tokens. */
#include "method.h"
#include "neuron.h"
#include "target_encoder.h"
#include "view.h"
#include <math.h>
#include <string.h>

static asc_status copy_ids(asc_job *j, const int32_t *ids, size_t n, int32_t **out, size_t *out_n) {
    *out = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (n > 0) memcpy(*out, ids, n * sizeof **out);
    *out_n = n;
    return ASC_OK;
}

static asc_status text_of(asc_job *j, const int32_t *ids, size_t n, char **out, size_t *out_len) {
    asc_strbuf b;
    asc_strbuf_init(&b, j->ctx);
    for (size_t i = 0; i < n; i++) asc_strbuf_addv(&b, asc_token_piece(asc_model_tokenizer(j->m), ids[i]));
    *out = asc_strbuf_take(&b, out_len);
    asc_status st = *out != NULL ? ASC_OK : asc_strbuf_status(&b);
    asc_strbuf_deinit(&b);
    return st;
}

static asc_status merges(asc_job *j, const char *what) {
    bool space = j->req->prompt.len > 0 && j->req->prompt.ptr[j->req->prompt.len - 1] == ' ';
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the %s's tokens merge with the prompt's last token", what);
    return asc_hint(j->ctx,
                    space ? "move the space: end the prompt without it and begin the target with it"
                          : "begin the %s at a token border (often with a space), or give token ids",
                    what);
}

/* The tokens that follow the prompt's when both are written as one text. Apart they may be others: some
 * tokenizers put a space before each text, and letters at the seam may join. Where they join, the model never
 * sees the seam that the score is about, so it is refused. */
static asc_status behind_prompt(asc_job *j, asc_view text, const char *what, asc_token **out, size_t *first,
                                size_t *n) {
    asc_ctx *ctx = j->ctx;
    const asc_tokenizer *tk = asc_model_tokenizer(j->m);
    asc_tokenizer_info info = asc_tokenizer_get_info(tk);
    asc_strbuf both;
    asc_strbuf_init(&both, ctx);
    asc_strbuf_addv(&both, j->req->prompt);
    asc_strbuf_addv(&both, text);
    asc_status st = asc_strbuf_status(&both);
    asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
    if (st == ASC_OK) st = asc_tokenize(ctx, tk, asc_strbuf_view(&both), &o, out, n);
    if (st == ASC_OK && info.add_eos && info.eos >= 0 && *n > 0) --*n; /* the end token behind the text */
    size_t p = j->r->n_prompt;
    *first = p;
    bool same = st == ASC_OK && *n > p && (*out)[p].start == j->req->prompt.len;
    for (size_t i = 0; same && i < p; i++) same = (*out)[i].id == j->r->prompt_ids[i];
    if (st == ASC_OK && !same) st = merges(j, what);
    asc_strbuf_deinit(&both);
    return st;
}

static asc_status from_text(asc_job *j, asc_view text, const char *what, int32_t **out, size_t *out_n) {
    asc_ctx *ctx = j->ctx;
    const asc_tokenizer *tk = asc_model_tokenizer(j->m);
    asc_token *t = NULL;
    size_t first = 0, n = 0;
    asc_status st = ASC_OK;
    *out = NULL;
    *out_n = 0;
    if (text.len > 0 && j->req->prompt.ptr != NULL) {
        st = behind_prompt(j, text, what, &t, &first, &n);
    } else if (text.len > 0) { /* a new text begins behind a control token only */
        bool control = asc_token_get_type(tk, j->r->prompt_ids[j->r->n_prompt - 1]) == ASC_TOKEN_CONTROL;
        asc_tokenize_options o = {.struct_size = sizeof o, .continues = !control};
        st = asc_tokenize(ctx, tk, text, &o, &t, &n);
    }
    if (st == ASC_OK && n == first) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the %s is empty", what);
        st = asc_hint(ctx,
                      "give at least one character, or leave it out to explain the model's own next token");
    }
    int32_t *ids = st == ASC_OK ? asc_calloc(ctx, ASC_MEM_GENERAL, n - first, sizeof *ids) : NULL;
    if (st == ASC_OK && ids == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t i = first; st == ASC_OK && i < n; i++) ids[i - first] = t[i].id;
    asc_tokens_free(ctx, t);
    *out = ids;
    *out_n = st == ASC_OK ? n - first : 0;
    return st;
}

static asc_status by_generation(asc_job *j, size_t count) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    if (count > (size_t)j->m->info.context_length) count = (size_t)j->m->info.context_length;
    int32_t *ids = asc_calloc(ctx, ASC_MEM_GENERAL, count + 1, sizeof *ids);
    size_t n = 0;
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_generate_options o = {.struct_size = sizeof o, .max_tokens = count};
    asc_status st = asc_generate(j->m, r->prompt_ids, r->n_prompt, &o, ids, &n);
    asc_exec_trim(ctx); /* the stores of keys and values: no pass of the method has buffers like them */
    asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(j->m));
    if (st == ASC_OK && n > 1 && (ids[n - 1] == tk.eos || ids[n - 1] == tk.eot))
        n--; /* the answer without its end mark */
    if (st == ASC_OK) st = copy_ids(j, ids, n, &r->target_ids, &r->n_target);
    asc_free(ctx, ids);
    return st;
}

/* The next-token distribution of the whole prompt from its logits z, for the divergence from it. A dry run
 * has no logits: any will do. */
static asc_status keep_distribution(asc_job *j, const float *z, double top, double sum) {
    size_t v = (size_t)j->m->decoder.cfg.n_vocab;
    j->whole_p = asc_calloc(j->ctx, ASC_MEM_GENERAL, v, sizeof *j->whole_p);
    j->whole_log_p = asc_calloc(j->ctx, ASC_MEM_GENERAL, v, sizeof *j->whole_log_p);
    if (j->whole_p == NULL || j->whole_log_p == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; z != NULL && i < v; i++) {
        j->whole_log_p[i] = (double)z[i] - top - log(sum);
        j->whole_p[i] = exp(j->whole_log_p[i]);
    }
    return ASC_OK;
}

/* Those that another job has found; false when they are of something else. */
static bool take_known(asc_job *j) {
    const asc_job *k = j->known;
    asc_result *r = j->r;
    if (k == NULL || k->m != j->m || k->r->n_top == 0 || k->r->n_prompt != r->n_prompt ||
        j->req->output == ASC_OUTPUT_KL ||
        memcmp(k->r->prompt_ids, r->prompt_ids, r->n_prompt * sizeof *r->prompt_ids) != 0)
        return false;
    memcpy(r->top, k->r->top, sizeof r->top);
    r->n_top = k->r->n_top;
    j->max_logit = k->max_logit;
    return true;
}

/* The most likely next tokens, and the size of logits for the noise model. */
static asc_status find_top(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    size_t v = (size_t)j->m->info.n_vocab;
    if (take_known(j)) return ASC_OK;
    float *z = asc_calloc(ctx, ASC_MEM_SCRATCH, v, sizeof *z);
    if (z == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_model_logits(j->m, r->prompt_ids, r->n_prompt, 1, z);
    double top = -INFINITY, sum = 0.0;
    for (size_t i = 0; st == ASC_OK && i < v; i++) {
        top = fmax(top, (double)z[i]);
        j->max_logit = fmax(j->max_logit, fabs((double)z[i]));
    }
    for (size_t i = 0; st == ASC_OK && i < v; i++) sum += exp((double)z[i] - top);
    for (size_t k = 0; st == ASC_OK && k < ASC_N_TOP && k < v; k++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < v; i++) {
            bool taken = false;
            for (size_t q = 0; q < k; q++) taken = taken || r->top[q].id == (int32_t)i;
            if (!taken && (best == SIZE_MAX || z[i] > z[best])) best = i;
        }
        r->top[r->n_top++] = (asc_candidate){.id = (int32_t)best, .prob = exp((double)z[best] - top) / sum};
    }
    if (st == ASC_OK && j->req->output == ASC_OUTPUT_KL) st = keep_distribution(j, z, top, sum);
    r->n_forward++;
    asc_free(ctx, z);
    return st;
}

/* All scores would be 0, whatever the prompt says; the answers of a dry run are not known. */
static asc_status refuse_itself(asc_job *j) {
    const asc_result *r = j->r;
    const bool known = !j->req->dry_run || j->req->target.ptr != NULL || j->req->target_ids != NULL;
    if (!known || r->n_versus == 0 || r->n_versus != r->n_target ||
        memcmp(r->target_ids, r->versus_ids, r->n_target * sizeof *r->target_ids) != 0)
        return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the answer '%.60s' against itself", r->target);
    return asc_hint(j->ctx, "name another answer with --versus");
}

asc_status asc_job_targets(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const asc_request *q = j->req;
    asc_result *r = j->r;
    asc_status st = ASC_OK;
    if (j->encoder != NULL) return asc_encoder_targets(j);
    if (j->neuron.on) return asc_neuron_target(j);
    if (!q->dry_run) ASC_TRY(find_top(j));
    if (q->dry_run && q->output == ASC_OUTPUT_KL) ASC_TRY(keep_distribution(j, NULL, 0.0, 1.0));
    if (q->target_ids != NULL) {
        ASC_TRY(asc_model_check_ids(j->m, q->target_ids, q->n_target_ids, "target"));
        ASC_TRY(copy_ids(j, q->target_ids, q->n_target_ids, &r->target_ids, &r->n_target));
    } else if (q->target.ptr != NULL) {
        ASC_TRY(from_text(j, q->target, "target", &r->target_ids, &r->n_target));
    } else if (q->generate > 1 && !q->dry_run) {
        ASC_TRY(by_generation(j, q->generate));
    } else if (!q->dry_run) {
        ASC_TRY(copy_ids(j, &r->top[0].id, 1, &r->target_ids, &r->n_target));
    } else { /* a price does not depend on which tokens they are; the model stops at its context */
        size_t n = q->generate > 0 ? q->generate : 1,
               room = (size_t)j->m->info.context_length + 1 - r->n_prompt;
        if (n > room) n = room;
        r->target_ids = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *r->target_ids);
        if (r->target_ids == NULL) return ASC_RESOURCE_EXHAUSTED;
        r->n_target = n;
    }
    if (q->versus_ids != NULL) {
        ASC_TRY(asc_model_check_ids(j->m, q->versus_ids, q->n_versus_ids, "contrast"));
        ASC_TRY(copy_ids(j, q->versus_ids, q->n_versus_ids, &r->versus_ids, &r->n_versus));
    } else if (q->versus.ptr != NULL) {
        ASC_TRY(from_text(j, q->versus, "contrast", &r->versus_ids, &r->n_versus));
    }
    ASC_TRY(text_of(j, r->target_ids, r->n_target, &r->target, &r->target_len));
    ASC_TRY(text_of(j, r->versus_ids, r->n_versus, &r->versus, &r->versus_len));
    ASC_TRY(refuse_itself(j));
    size_t longest = r->n_target > r->n_versus ? r->n_target : r->n_versus;
    if ((uint64_t)(r->n_prompt + longest) > (uint64_t)j->m->info.context_length + 1) {
        ASC_FAIL(ctx, ASC_OUT_OF_RANGE,
                 "prompt and target together have %zu tokens; this model's context is %lld",
                 r->n_prompt + longest, (long long)j->m->info.context_length);
        st = asc_hint(ctx, "shorten the prompt or the target");
    }
done:
    return st;
}
