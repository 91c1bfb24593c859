/* corrupted.c - see corrupted.h. */
#include "corrupted.h"
#include "target_encoder.h"
#include "view.h"
#include <string.h>

static asc_status refuse(asc_job *j) {
    const char *name = j->method->info.name;
    if (j->req->messages != NULL) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s takes two prompts, not a conversation", name);
        return asc_hint(j->ctx, "give the conversation as one --prompt in the model's own format");
    }
    if (j->req->corrupted.ptr != NULL || j->req->corrupted_ids != NULL) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s needs a second prompt", name);
    return asc_hint(j->ctx, "give one of as many tokens, which differs where it matters: --corrupted TEXT");
}

/* Framed as the text is, with the same second text. */
static asc_status read_encoder_text(asc_job *j, size_t *n) {
    asc_encoder_text t;
    asc_status st = asc_encoder_tokens(j->m, j->req->corrupted, j->req->second, 0, &t);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < t.n && i < j->r->n_prompt; i++) j->other[i] = t.tokens[i].id;
    *n = t.n;
    asc_encoder_text_free(j->ctx, &t);
    return ASC_OK;
}

static asc_status read_text(asc_job *j, size_t *n) {
    const asc_tokenizer *tk = asc_model_tokenizer(j->m);
    asc_tokenize_options to = {.struct_size = sizeof to, .add_bos_eos = true};
    asc_token *tokens = NULL;
    *n = 0;
    if (j->req->corrupted.len == 0) return ASC_OK;
    if (j->encoder != NULL) return read_encoder_text(j, n);
    asc_status st = asc_tokenize(j->ctx, tk, j->req->corrupted, &to, &tokens, n);
    asc_tokenizer_info info = asc_tokenizer_get_info(tk);
    if (st == ASC_OK && info.add_eos && *n > 0 && tokens[*n - 1].id == info.eos &&
        tokens[*n - 1].start == tokens[*n - 1].end)
        --*n; /* as of the prompt: it is to be continued */
    for (size_t i = 0; st == ASC_OK && i < *n && i < j->r->n_prompt; i++) j->other[i] = tokens[i].id;
    asc_tokens_free(j->ctx, tokens);
    return st;
}

static asc_status name_baseline(asc_job *j) {
    char *text = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_of("the other prompt"));
    if (text == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_free(j->ctx, j->r->baseline);
    j->r->baseline = text;
    return ASC_OK;
}

asc_status asc_job_corrupted(asc_job *j) {
    const asc_request *q = j->req;
    const asc_result *r = j->r;
    size_t n = q->n_corrupted_ids;
    asc_status st = refuse(j);
    if (st != ASC_OK) return st;
    asc_free(j->ctx, j->other);
    j->other = asc_calloc(j->ctx, ASC_MEM_GENERAL, r->n_prompt + 1, sizeof *j->other);
    if (j->other == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (q->corrupted_ids == NULL) {
        st = read_text(j, &n);
        if (st != ASC_OK) return st;
    } else if (n == r->n_prompt) {
        memcpy(j->other, q->corrupted_ids, n * sizeof *j->other);
    }
    if (n != r->n_prompt) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the corrupted prompt has %zu tokens, the prompt %zu", n,
                 r->n_prompt);
        return asc_hint(j->ctx, "replace words by words of as many tokens (ascribe tokenize shows them)");
    }
    for (size_t i = 0; j->encoder != NULL && i < n; i++) {
        if (!asc_encoder_fixed(j, i) || j->other[i] == r->prompt_ids[i]) continue;
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the corrupted text has no mask token at place %zu", i);
        return asc_hint(j->ctx, "both texts hide the same words");
    }
    if (memcmp(j->other, r->prompt_ids, n * sizeof *j->other) == 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the corrupted prompt is the prompt");
        return asc_hint(j->ctx, "change the words whose part in the answer is asked for");
    }
    st = asc_model_check_ids(j->m, j->other, n, "corrupted prompt");
    return st == ASC_OK ? name_baseline(j) : st;
}
