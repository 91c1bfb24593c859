/* api_chat.c - POST /v1/chat/completions: the conversation in the model's own format, and its answer. */
#include "api_generate.h"
#include <stdlib.h>
#include <string.h>

static const job_kind kind_chat = {
    .name = "chat", .run = api_answer_run, .failed = api_answer_failed, .destroy = api_answer_destroy};

enum { EXPLAINED_TOKENS = 64 }; /* of an answer that is to be explained, unless the request says how many */

static bool read_options(api_answer *a, size_t *asked, serve_fault *fault) {
    const api_body *b = &a->body;
    const json_t *old = api_get(b, "max_tokens"), *new = api_get(b, "max_completion_tokens");
    a->logprobs = api_flag(b, "logprobs", false);
    a->n_top = (size_t)api_whole(b, "top_logprobs", 0);
    if (api_get(b, "top_logprobs") != NULL && !a->logprobs)
        return api_bad(fault, "invalid_value", "top_logprobs", "set \"logprobs\" to true",
                       "\"top_logprobs\" goes with \"logprobs\"");
    if (old != NULL && new != NULL &&
        api_whole(b, "max_tokens", 0) != api_whole(b, "max_completion_tokens", 0))
        return api_bad(fault, "invalid_value", "max_tokens", "give one of them",
                       "\"max_tokens\" and \"max_completion_tokens\" differ");
    *asked = (size_t)api_whole(b, new != NULL ? "max_completion_tokens" : "max_tokens", 0);
    return api_answer_options(a, fault);
}

/* Of messages what templates read: a name, or keys that a client sends along as null, are left out. Then also
 * the attribution's question has them this way. */
static bool plain_messages(api_body *b, serve_fault *fault) {
    json_t *from = api_get(b, "messages"), *to = json_array();
    bool ok = to != NULL;
    for (size_t i = 0; ok && i < json_array_size(from); i++) {
        json_t *m = json_array_get(from, i), *k = json_object();
        ok = k != NULL && json_object_set(k, "role", json_object_get(m, "role")) == 0 &&
             json_object_set(k, "content", json_object_get(m, "content")) == 0;
        if (ok) ok = json_array_append(to, k) == 0;
        json_decref(k);
    }
    if (ok) ok = json_object_set(b->root, "messages", to) == 0;
    json_decref(to);
    return ok || api_no_memory(fault);
}

/* The tokens of the conversation, by the model's own template. */
static bool read_prompt(api_answer *a, serve_bench *b, serve_fault *fault) {
    asc_messages m = {0};
    asc_chat_prompt p = {0};
    char *json = api_dump(api_get(&a->body, "messages"));
    if (json == NULL) return api_no_memory(fault);
    asc_status st = asc_messages_parse(b->ctx, (asc_view){json, strlen(json)}, &m);
    if (st == ASC_OK) st = asc_chat_prompt_make(b->ctx, asc_subject_model(b->subject), m.v, m.n, &p);
    if (st != ASC_OK) {
        serve_fault_status(fault, b->ctx, st);
        if (st == ASC_FAILED_PRECONDITION) /* no template: of the model, not of its file's state */
            api_bad(fault, "no_chat_template", "messages", "POST /v1/completions takes a prompt as it is",
                    "%s", asc_error_message(b->ctx));
    }
    a->ids = st == ASC_OK ? malloc((p.n_tokens + 1) * sizeof *a->ids) : NULL;
    for (size_t i = 0; a->ids != NULL && i < p.n_tokens; i++) a->ids[i] = p.tokens[i].id;
    a->n = a->ids != NULL ? p.n_tokens : 0;
    asc_chat_prompt_free(b->ctx, &p);
    asc_messages_free(b->ctx, &m);
    free(json);
    return st == ASC_OK && (a->ids != NULL || api_no_memory(fault));
}

void api_chat(exchange *x) {
    server *s = exchange_server(x);
    serve_fault fault = {0};
    job_price price = {0};
    size_t asked = 0;
    api_answer *a = api_answer_create(x, API_CHAT, &fault);
    bool ok = a != NULL && plain_messages(&a->body, &fault) && read_options(a, &asked, &fault);
    if (ok) {
        serve_bench *b = server_lock_bench(s);
        ok = api_need_decoder(b, &fault) && read_prompt(a, b, &fault) &&
             api_answer_price(a, s, b, asked, a->question != NULL ? EXPLAINED_TOKENS : 0, &price, &fault);
        server_unlock_bench(s);
    }
    if (ok) {
        exchange_submit(x, &kind_chat, a, &price);
        return;
    }
    exchange_fail_fault(x, &fault);
    api_answer_destroy(a);
}
