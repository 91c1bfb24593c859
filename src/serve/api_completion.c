/* api_completion.c - POST /v1/completions: a text as it is, and how it goes on. */
#include "api_generate.h"
#include <stdlib.h>
#include <string.h>

static const job_kind kind_completion = {
    .name = "completion", .run = api_answer_run, .failed = api_answer_failed, .destroy = api_answer_destroy};

enum { ABSENT_TOKENS = 16 };

static bool read_options(api_answer *a, size_t *asked, serve_fault *fault) {
    const api_body *b = &a->body;
    a->logprobs = api_get(b, "logprobs") != NULL;
    a->n_top = (size_t)api_whole(b, "logprobs", 0);
    a->echo = api_flag(b, "echo", false);
    *asked = (size_t)api_whole(b, "max_tokens", ABSENT_TOKENS);
    if (*asked == 0 && !a->echo)
        return api_bad(fault, "invalid_value", "max_tokens", "0 goes with \"echo\"", "\"max_tokens\" is 0");
    if (*asked == 0 && api_get(b, "attribution") != NULL)
        return api_bad(fault, "invalid_value", "attribution", "ask for at least one token",
                       "\"attribution\" explains an answer, and \"max_tokens\" is 0");
    return api_answer_options(a, fault);
}

static bool keep_text(api_answer *a, asc_view v, size_t n, serve_fault *fault) {
    a->prompt = malloc(v.len + 1);
    a->starts = calloc(n + 1, sizeof *a->starts);
    if (a->prompt == NULL || a->starts == NULL) return api_no_memory(fault);
    memcpy(a->prompt, v.ptr != NULL ? v.ptr : "", v.len);
    a->prompt[v.len] = '\0';
    a->prompt_len = v.len;
    return true;
}

/* The tokens of a text that is to be continued: what begins one, not what ends one. */
static bool by_text(api_answer *a, serve_bench *b, asc_view text, serve_fault *fault) {
    const asc_tokenizer *tk = asc_model_tokenizer(asc_subject_model(b->subject));
    const asc_tokenizer_info info = asc_tokenizer_get_info(tk);
    const asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
    asc_token *tokens = NULL;
    size_t n = 0;
    asc_status st = asc_tokenize(b->ctx, tk, text, &o, &tokens, &n);
    if (st != ASC_OK) serve_fault_status(fault, b->ctx, st);
    if (info.add_eos && n > 0 && tokens[n - 1].id == info.eos) n--;
    if (text.len == 0) n = 0;
    a->ids = st == ASC_OK ? malloc((n + 1) * sizeof *a->ids) : NULL;
    for (size_t i = 0; a->ids != NULL && i < n; i++) a->ids[i] = tokens[i].id;
    a->n = a->ids != NULL ? n : 0;
    bool ok = st == ASC_OK;
    if (ok) ok = a->ids != NULL && keep_text(a, text, a->n, fault);
    for (size_t i = 1; ok && i < a->n; i++) {
        const size_t from = tokens[i - 1].start, to = tokens[i].start;
        a->starts[i] = a->starts[i - 1] + api_n_characters((asc_view){text.ptr + from, to - from});
    }
    asc_tokens_free(b->ctx, tokens);
    return ok || (st == ASC_OK && api_no_memory(fault));
}

static bool by_ids(api_answer *a, serve_bench *b, const json_t *list, serve_fault *fault) {
    const asc_tokenizer *tk = asc_model_tokenizer(asc_subject_model(b->subject));
    asc_text *t = NULL;
    a->ids = api_ids(list, &a->n);
    if (a->ids == NULL || asc_text_create(b->ctx, &t) != ASC_OK) return api_no_memory(fault);
    for (size_t i = 0; i < a->n; i++) asc_text_add(t, asc_token_piece(tk, a->ids[i]));
    const bool ok = keep_text(a, asc_text_view(t), a->n, fault);
    for (size_t i = 0; ok && i + 1 < a->n; i++)
        a->starts[i + 1] = a->starts[i] + api_n_characters(asc_token_piece(tk, a->ids[i]));
    asc_text_destroy(t);
    return ok;
}

static bool read_prompt(api_answer *a, serve_bench *b, serve_fault *fault) {
    const json_t *p = api_get(&a->body, "prompt");
    if (json_is_array(p) && !json_is_number(json_array_get(p, 0))) p = json_array_get(p, 0);
    if (json_is_array(p)) return by_ids(a, b, p, fault);
    return by_text(a, b, (asc_view){json_string_value(p), json_string_length(p)}, fault);
}

void api_completion(exchange *x) {
    server *s = exchange_server(x);
    serve_fault fault = {0};
    job_price price = {0};
    size_t asked = 0;
    api_answer *a = api_answer_create(x, API_COMPLETION, &fault);
    bool ok = a != NULL && read_options(a, &asked, &fault);
    if (ok) {
        serve_bench *b = server_lock_bench(s);
        ok = api_need_decoder(b, &fault) && read_prompt(a, b, &fault) &&
             api_answer_price(a, s, b, asked, 0, &price, &fault);
        if (ok && asked == 0) a->o.max_tokens = 0;
        server_unlock_bench(s);
    }
    api_submit(x, ok, &kind_completion, a, &price, &fault);
}
