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

static asc_status render(serve_bench *b, const asc_messages *m, const char *vars, asc_chat_prompt *out) {
    const asc_request q = {.struct_size = sizeof q,
                           .messages = m->v,
                           .n_messages = m->n,
                           .message_extras = m->extras,
                           .template_vars = {vars, vars != NULL ? strlen(vars) : 0}};
    return asc_chat_prompt_of(b->ctx, asc_subject_model(b->subject), &q, out);
}

/* Is the prompt another one without the tools? A template that knows none would drop them without a word. */
static bool tells_tools(serve_bench *b, const asc_messages *m, const asc_chat_prompt *with) {
    asc_chat_prompt p = {0};
    const bool same = render(b, m, NULL, &p) == ASC_OK && p.len == with->len &&
                      (p.len == 0 || memcmp(p.text, with->text, p.len) == 0);
    asc_chat_prompt_free(b->ctx, &p);
    return !same;
}

/* {"tools": [...]}; ended by free. False: no memory. */
static bool template_vars(const api_body *b, char **out) {
    json_t *tools = api_tools(b), *vars = tools != NULL ? json_object() : NULL;
    *out = vars != NULL && json_object_set(vars, "tools", tools) == 0 ? api_dump(vars) : NULL;
    json_decref(vars);
    return tools == NULL || *out != NULL;
}

/* The tokens of the conversation, by the model's own template. */
static bool read_prompt(api_answer *a, serve_bench *b, serve_fault *fault) {
    asc_messages m = {0};
    asc_chat_prompt p = {0};
    char *json = api_dump(api_get(&a->body, "messages")), *vars = NULL;
    bool ok = template_vars(&a->body, &vars) && json != NULL;
    if (!ok) {
        free(json);
        free(vars);
        return api_no_memory(fault);
    }
    asc_status st = asc_messages_parse(b->ctx, (asc_view){json, strlen(json)}, &m);
    if (st == ASC_OK) st = render(b, &m, vars, &p);
    if (st != ASC_OK) {
        ok = false;
        serve_fault_status(fault, b->ctx, st);
        if (st == ASC_FAILED_PRECONDITION) /* no template: of the model, not of its file's state */
            api_bad(fault, "no_chat_template", "messages", "POST /v1/completions takes a prompt as it is",
                    "%s", asc_error_message(b->ctx));
    } else if (vars != NULL && !tells_tools(b, &m, &p)) {
        ok = api_bad(fault, "no_tools_in_template", "tools", "describe them in a system message",
                     "\"tools\": this model's chat template does not describe tools to it");
    }
    a->ids = ok ? malloc((p.n_tokens + 1) * sizeof *a->ids) : NULL;
    for (size_t i = 0; a->ids != NULL && i < p.n_tokens; i++) a->ids[i] = p.tokens[i].id;
    a->n = a->ids != NULL ? p.n_tokens : 0;
    asc_chat_prompt_free(b->ctx, &p);
    asc_messages_free(b->ctx, &m);
    free(json);
    free(vars);
    return ok && (a->ids != NULL || api_no_memory(fault));
}

void api_chat(exchange *x) {
    server *s = exchange_server(x);
    serve_fault fault = {0};
    job_price price = {0};
    size_t asked = 0;
    api_answer *a = api_answer_create(x, API_CHAT, &fault);
    bool ok = a != NULL && api_plain_messages(&a->body, &fault) && read_options(a, &asked, &fault);
    if (ok) {
        serve_bench *b = server_lock_bench(s);
        ok = api_need_decoder(b, &fault) && read_prompt(a, b, &fault) &&
             api_answer_price(a, s, b, asked, a->question != NULL ? EXPLAINED_TOKENS : 0, &price, &fault);
        server_unlock_bench(s);
    }
    api_submit(x, ok, &kind_chat, a, &price, &fault);
}
