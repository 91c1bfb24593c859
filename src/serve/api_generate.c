/* api_generate.c - from a body to what the library is asked: options, limits, price. */
#include "api_generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void api_tokens_add(api_tokens *l, const asc_generated *t) {
    if (l->n == l->cap) {
        const size_t cap = l->cap * 2 + 16;
        api_token *v = realloc(l->v, cap * sizeof *v);
        if (v == NULL) l->failed = true;
        if (v == NULL) return;
        l->v = v;
        l->cap = cap;
    }
    api_token *to = &l->v[l->n];
    *to = (api_token){.t = *t};
    to->t.text = (asc_view){0};
    if (t->n_top > 0) {
        to->top = malloc(t->n_top * sizeof *to->top);
        if (to->top == NULL) l->failed = true;
        if (to->top == NULL) return;
        memcpy(to->top, t->top, t->n_top * sizeof *to->top);
    }
    to->t.top = to->top;
    l->n++;
}

static void tokens_free(api_tokens *l) {
    for (size_t i = 0; i < l->n; i++) free(l->v[i].top);
    free(l->v);
    *l = (api_tokens){0};
}

void api_answer_destroy(void *self) {
    api_answer *a = self;
    if (a == NULL) return;
    tokens_free(&a->told);
    tokens_free(&a->prompt_told);
    api_body_free(&a->body);
    free(a->ids);
    free(a->prompt);
    free(a->starts);
    free(a->question);
    free(a);
}

static void read_stops(api_answer *a) {
    const json_t *v = api_get(&a->body, "stop");
    a->o.stop = a->stop;
    if (json_is_string(v)) {
        a->stop[0] = api_text(&a->body, "stop");
        a->o.n_stop = 1;
    }
    for (size_t i = 0; i < json_array_size(v) && i < sizeof a->stop / sizeof *a->stop; i++) {
        const json_t *s = json_array_get(v, i);
        a->stop[i] = (asc_view){json_string_value(s), json_string_length(s)};
        a->o.n_stop = i + 1;
    }
}

static void read_bias(api_answer *a) {
    const char *key;
    json_t *v;
    a->o.bias = a->bias;
    json_object_foreach(api_get(&a->body, "logit_bias"), key, v) {
        if (a->o.n_bias == API_MAX_BIAS) break;
        a->bias[a->o.n_bias++] =
            (asc_logit_bias){.id = (int32_t)strtol(key, NULL, 10), .add = json_number_value(v)};
    }
}

bool api_is_given(const char *key) {
    static const char *const given[] = {"prompt",    "text",     "messages", "user",
                                        "system",    "ids",      "template", "values",
                                        "documents", "question", "target",   "target_ids",
                                        "generate",  "dry_run",  "tools",    "template_vars"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (strcmp(given[i], key) == 0) return true;
    return false;
}

/* The attribution's keys, and the prompt beside them. */
static bool read_attribution(api_answer *a, serve_fault *fault) {
    json_t *v = api_get(&a->body, "attribution"), *value;
    const char *name;
    if (v == NULL) return true;
    json_object_foreach(v, name, value) {
        if (!api_is_given(name)) continue;
        return api_bad(fault, "invalid_value", "attribution",
                       "the prompt is the request's and the target is the answer; give method, features, ...",
                       "\"attribution\": \"%s\" has no place here", name);
    }
    json_t *q = json_copy(v);
    json_t *prompt = api_get(&a->body, a->chat ? "messages" : "prompt");
    if (json_is_array(prompt) && !a->chat && !json_is_integer(json_array_get(prompt, 0)))
        prompt = json_array_get(prompt, 0);
    const char *key = a->chat ? "messages" : json_is_string(prompt) ? "prompt" : "ids";
    json_t *tools = a->chat ? api_tools(&a->body) : NULL;
    if (q != NULL && json_object_set(q, key, prompt) == 0 &&
        (tools == NULL || json_object_set(q, "tools", tools) == 0))
        a->question = api_dump(q);
    json_decref(q);
    return a->question != NULL || api_no_memory(fault);
}

bool api_answer_options(api_answer *a, serve_fault *fault) {
    const api_body *b = &a->body;
    const json_t *options = api_get(b, "stream_options");
    a->stream = api_flag(b, "stream", false);
    a->usage = json_is_true(json_object_get(options, "include_usage"));
    if (options != NULL && !a->stream)
        return api_bad(fault, "invalid_value", "stream_options", "set \"stream\" to true",
                       "\"stream_options\" goes with \"stream\"");
    a->o = (asc_generate_options){.struct_size = sizeof a->o,
                                  .temperature = api_number(b, "temperature", 1.0),
                                  .top_p = api_number(b, "top_p", 1.0),
                                  .min_p = api_number(b, "min_p", 0.0),
                                  .top_k = (int)api_whole(b, "top_k", 0),
                                  .repetition_penalty = api_number(b, "repetition_penalty", 1.0),
                                  .presence_penalty = api_number(b, "presence_penalty", 0.0),
                                  .frequency_penalty = api_number(b, "frequency_penalty", 0.0),
                                  .ignore_eos = api_flag(b, "ignore_eos", false),
                                  .keep_prompt = true, /* of a conversation only what is new is run */
                                  .seed = (uint64_t)api_whole(b, "seed", 0)};
    /* The smallest share that leaves anything is the likeliest token; the library takes 0 for no filter. */
    if (a->o.top_p == 0.0) a->o.top_p = 1e-12;
    if (api_get(b, "seed") == NULL && getrandom(&a->o.seed, sizeof a->o.seed, 0) != sizeof a->o.seed)
        a->o.seed = (uint64_t)(uintptr_t)a ^ (uint64_t)a->created;
    a->n_choices = (size_t)api_whole(b, "n", 1);
    if (api_whole(b, "best_of", (int64_t)a->n_choices) != (int64_t)a->n_choices)
        return api_bad(fault, "unsupported_value", "best_of", "leave it out",
                       "\"best_of\" is %lld and \"n\" %zu: answers to choose from are not supported",
                       (long long)api_whole(b, "best_of", 1), a->n_choices);
    if (a->n_choices > 1 && api_get(b, "attribution") != NULL)
        return api_bad(fault, "invalid_value", "n", "ask for each in a request of its own",
                       "\"attribution\" explains one answer, and \"n\" is %zu", a->n_choices);
    read_stops(a);
    read_bias(a);
    a->o.n_top = a->n_top;
    return read_attribution(a, fault);
}

/* What explaining an answer of max_tokens takes, by the planner; any ids do. */
static bool price_attribution(api_answer *a, serve_bench *b, job_price *price, serve_fault *fault) {
    json_t *q = json_loads(a->question, JSON_ALLOW_NUL, NULL), *ids = json_array();
    asc_question *question = NULL;
    asc_answer *answer = NULL;
    for (size_t i = 0; ids != NULL && i < a->o.max_tokens; i++)
        json_array_append_new(ids, json_integer(a->ids[0]));
    char *json = q != NULL && json_object_set_new(q, "target_ids", ids) == 0 ? api_dump(q) : NULL;
    json_decref(q);
    if (json == NULL) return api_no_memory(fault);
    asc_status st = asc_question_parse(b->subject, (asc_view){json, strlen(json)}, NULL, 0, &question);
    if (st == ASC_OK) {
        asc_question_set_dry_run(question, true);
        st = asc_ask(b->subject, question, &answer);
    }
    free(json);
    if (st == ASC_OK) {
        const asc_result *r = asc_answer_result(answer);
        price->seconds += r->predicted_seconds;
        if (r->predicted_peak_bytes > price->bytes) price->bytes = r->predicted_peak_bytes;
    } else {
        serve_fault_status(fault, b->ctx, st);
        snprintf(fault->param, sizeof fault->param, "attribution");
    }
    asc_answer_destroy(answer);
    asc_question_destroy(question);
    return st == ASC_OK;
}

bool api_answer_price(api_answer *a, const server *s, serve_bench *b, size_t asked, size_t absent,
                      job_price *out, serve_fault *fault) {
    const asc_model_info m = asc_model_get_info(asc_subject_model(b->subject));
    const size_t context = (size_t)m.context_length, most = server_options(s)->max_tokens;
    const size_t limit = most > 0 && most < context ? most : context;
    if (a->n == 0)
        return api_bad(fault, "invalid_value", a->chat ? "messages" : "prompt", "give at least one word",
                       "the prompt has no tokens");
    if (a->n + asked > context)
        return api_bad(fault, "context_length_exceeded", a->chat ? "messages" : "prompt",
                       "shorten the prompt or ask for fewer tokens",
                       "the prompt has %zu tokens, the answer may have %zu; this model's context is %zu",
                       a->n, asked, context);
    for (size_t i = 0; i < a->n; i++)
        if (a->ids[i] < 0 || a->ids[i] >= m.n_vocab)
            return api_bad(fault, "invalid_value", "prompt", "POST /v1/tokenize gives the ids of a text",
                           "token %zu of the prompt is no token of this model; ids are 0 to %lld", i,
                           (long long)m.n_vocab - 1);
    for (size_t i = 0; i < a->o.n_bias; i++)
        if (a->bias[i].id >= m.n_vocab)
            return api_bad(fault, "invalid_value", "logit_bias", "POST /v1/tokenize gives the ids of a text",
                           "\"logit_bias\": %d is no token of this model; ids are 0 to %lld", a->bias[i].id,
                           (long long)m.n_vocab - 1);
    size_t rest = limit > a->n ? limit - a->n : 1;
    if (absent > 0 && absent < rest) rest = absent;
    a->o.max_tokens = asked > 0 ? asked : rest;
    /* Orders of magnitude of a core or two, and what the first run of a program takes; what such jobs took
     * corrects them (serve_queue.c). */
    const double flops = 2.0 * (double)m.n_params * (double)a->n, read = (double)m.file_bytes;
    out->tokens = a->n + a->n_choices * a->o.max_tokens;
    out->seconds = 0.05 + flops / 5e10 + (0.001 + read / 1e10) * (double)(a->n_choices * a->o.max_tokens);
    out->bytes =
        asc_generate_bytes(asc_subject_model(b->subject), a->n, a->o.max_tokens); /* one after another */
    return a->question == NULL || price_attribution(a, b, out, fault);
}

api_answer *api_answer_create(exchange *x, api_which which, serve_fault *fault) {
    const server *s = exchange_server(x);
    api_answer *a = calloc(1, sizeof *a);
    if (a == NULL) {
        (void)api_no_memory(fault);
        return NULL;
    }
    a->chat = which == API_CHAT;
    a->created = (int64_t)time(NULL);
    api_model_id(s, a->model);
    if (api_body_read(which, exchange_body(x), &a->body, fault) && api_check_model(s, &a->body, fault))
        return a;
    api_answer_destroy(a);
    return NULL;
}
