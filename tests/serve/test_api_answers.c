/* test_api_answers.c - chat and completions over HTTP against the library asked directly: texts,
 * log-probabilities, ends, streams, the attribution of the answer; and bodies with something wrong. */
#include "api_test.h"
#include "ascribe/chat.h"
#include <math.h>

enum { NEW = 12 };

typedef struct told {
    char text[4096];
    double lp[NEW], top[NEW][3];
    int32_t id[NEW], top_id[NEW][3];
    size_t n, n_text;
} told;

static bool hear(void *self, const asc_generated *g) {
    told *t = self;
    memcpy(t->text + t->n_text, g->text.ptr != NULL ? g->text.ptr : "", g->text.len);
    t->n_text += g->text.len;
    t->text[t->n_text] = '\0';
    t->id[t->n] = g->id;
    for (size_t i = 0; i < g->n_top; i++) t->top[t->n][i] = g->top[i].logprob;
    for (size_t i = 0; i < g->n_top; i++) t->top_id[t->n][i] = g->top[i].id;
    t->lp[t->n++] = g->logprob;
    return true;
}

/* A text as JSON has it: what is no UTF-8 became U+FFFD. */
static void as_json(char *text, size_t size) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_text *t;
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_text_array(t, NULL);
    asc_text_str(t, NULL, (asc_view){text, strlen(text)});
    asc_text_end(t);
    json_t *v = json_loads(asc_text_view(t).ptr, 0, NULL);
    snprintf(text, size, "%s", json_string_value(json_array_get(v, 0)));
    json_decref(v);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

/* What the library itself answers; in a context of its own, as the worker's. */
static asc_finish directly(const char *path, const char *prompt, const char *user, asc_generate_options o,
                           bool shown, told *t, size_t *n_prompt) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_model *m;
    asc_chat_prompt p = {0};
    asc_token *tokens = NULL;
    int32_t ids[256], out[NEW];
    size_t n = 0, n_out;
    asc_finish why;
    assert_ok(ctx, asc_model_open(ctx, path, NULL, &m));
    const asc_message message = {{"user", 4}, {user, user != NULL ? strlen(user) : 0}};
    if (user != NULL) {
        assert_ok(ctx, asc_chat_prompt_make(ctx, m, &message, 1, &p));
        for (n = 0; n < p.n_tokens; n++) ids[n] = p.tokens[n].id;
    } else {
        const asc_tokenize_options to = {.struct_size = sizeof to, .add_bos_eos = true};
        assert_ok(ctx, asc_tokenize(ctx, asc_model_tokenizer(m), (asc_view){prompt, strlen(prompt)}, &to,
                                    &tokens, &n));
        for (size_t i = 0; i < n; i++) ids[i] = tokens[i].id;
    }
    *t = (told){.n = 0};
    *n_prompt = n;
    o.struct_size = sizeof o;
    o.keep_prompt = true; /* as the server asks; the bits do not depend on what it was asked before */
    o.max_tokens = o.max_tokens > 0 ? o.max_tokens : NEW;
    o.on_generated = hear;
    o.self = t;
    o.out_finish = &why;
    assert_ok(ctx, asc_generate(m, ids, n, &o, out, &n_out));
    asc_chat_prompt_free(ctx, &p);
    asc_tokens_free(ctx, tokens);
    asc_model_close(m);
    test_ctx_end(ctx);
    if (shown) as_json(t->text, sizeof t->text);
    return why;
}

/* JSON has the shortest digits that give the same double back: equal means equal bits. The server may have
 * kept a prompt's keys (tests/models/test_kept_prompt.c: the tolerance). */
static bool same(const json_t *a, double b) {
    return fabs(json_real_value(a) - b) <= suite_rows_differ(1e-4);
}

static void check_chat_tokens(json_t *list, const told *t) {
    assert_int_equal(json_array_size(list), t->n);
    for (size_t i = 0; i < t->n; i++) {
        json_t *k = json_array_get(list, i);
        assert_true(same(at(k, "logprob"), t->lp[i]));
        assert_int_equal(json_array_size(at(k, "top_logprobs")), 3);
        for (size_t r = 0; r < 3; r++)
            assert_true(same(at(json_array_get(at(k, "top_logprobs"), r), "logprob"), t->top[i][r]));
    }
}

static void chat(void **state) {
    fixture *f = *state;
    told t;
    size_t n;
    directly(f->path, NULL, "tell me", (asc_generate_options){.n_top = 3, .ignore_eos = true}, true, &t, &n);
    reply r = api_call(
        f->s, "POST", "/v1/chat/completions",
        "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"tell me\"}]}],"
        "\"temperature\": 0, \"max_completion_tokens\": 12, \"logprobs\": true, \"top_logprobs\": 3,"
        "\"ignore_eos\": true, \"user\": \"me\", \"seed\": null}");
    assert_int_equal(r.status, 200);
    assert_string_equal(text_at(r.json, "object"), "chat.completion");
    assert_string_equal(text_at(r.json, "choices.0.message.role"), "assistant");
    assert_string_equal(text_at(r.json, "choices.0.message.content"), t.text);
    assert_string_equal(text_at(r.json, "choices.0.finish_reason"), "length");
    assert_int_equal(json_integer_value(at(r.json, "usage.prompt_tokens")), n);
    assert_int_equal(json_integer_value(at(r.json, "usage.completion_tokens")), NEW);
    check_chat_tokens(at(r.json, "choices.0.logprobs.content"), &t);
    reply_free(&r);
}

typedef struct stream {
    char text[4096];
    size_t n_tokens, n_done, n_usage;
    const char *finish;
    json_t *attribution;
    json_t *tokens;
} stream;

static void hear_event(void *self, const char *name, const char *data) {
    stream *s = self;
    assert_string_equal(name, "");
    assert_int_equal(s->n_done, 0);
    if (strcmp(data, "[DONE]") == 0) {
        s->n_done++;
        return;
    }
    json_t *v = json_loads(data, 0, NULL), *content = at(v, "choices.0.delta.content");
    assert_non_null(v);
    if (content == NULL) content = at(v, "choices.0.text");
    if (json_is_string(content)) strcat(s->text, json_string_value(content));
    json_array_extend(s->tokens, at(v, "choices.0.logprobs.content"));
    if (json_is_string(at(v, "choices.0.finish_reason")))
        s->finish = strcmp(text_at(v, "choices.0.finish_reason"), "stop") == 0 ? "stop" : "length";
    if (json_is_object(at(v, "usage"))) {
        s->n_usage++;
        s->n_tokens = (size_t)json_integer_value(at(v, "usage.completion_tokens"));
        assert_int_equal(json_array_size(at(v, "choices")), 0);
    }
    if (at(v, "attribution") != NULL) s->attribution = json_deep_copy(at(v, "attribution"));
    json_decref(v);
}

static void chat_stream(void **state) {
    fixture *f = *state;
    told t;
    size_t n;
    directly(f->path, NULL, "tell me", (asc_generate_options){.n_top = 3, .ignore_eos = true}, true, &t, &n);
    reply r = api_call(
        f->s, "POST", "/v1/chat/completions",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"tell me\", \"name\": \"me\", \"audio\": null}],"
        "\"temperature\": 0,"
        "\"max_tokens\": 12, \"logprobs\": true, \"top_logprobs\": 3, \"ignore_eos\": true,"
        "\"stream\": true, \"stream_options\": {\"include_usage\": true},"
        "\"attribution\": {\"method\": \"saliency\"}}");
    stream s = {.tokens = json_array()};
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Type"), "text/event-stream");
    each_event(&r, hear_event, &s);
    assert_string_equal(s.text, t.text);
    assert_string_equal(s.finish, "length");
    assert_int_equal(s.n_tokens, NEW);
    assert_int_equal(s.n_usage, 1);
    assert_int_equal(s.n_done, 1);
    check_chat_tokens(s.tokens, &t);
    assert_string_equal(text_at(s.attribution, "method.name"), "saliency");
    json_t *ids = at(s.attribution, "target.ids");
    assert_int_equal(json_array_size(ids), NEW);
    for (size_t i = 0; i < NEW; i++) assert_int_equal(json_integer_value(json_array_get(ids, i)), t.id[i]);
    json_decref(s.attribution);
    json_decref(s.tokens);
    reply_free(&r);
}

/* The legacy shape, with the prompt in front; token_logprobs of the prompt come from one run of the whole
 * text. */
static void completion(void **state) {
    fixture *f = *state;
    told t;
    size_t n;
    directly(f->path, "some words", NULL,
             (asc_generate_options){.n_top = 3, .ignore_eos = true, .max_tokens = 5}, true, &t, &n);
    reply r =
        api_call(f->s, "POST", "/v1/completions",
                 "{\"prompt\": [\"some words\"], \"temperature\": 0, \"max_tokens\": 5, \"logprobs\": 3,"
                 "\"echo\": true, \"ignore_eos\": true, \"n\": 1}");
    assert_int_equal(r.status, 200);
    char want[4200];
    snprintf(want, sizeof want, "some words%s", t.text);
    assert_string_equal(text_at(r.json, "choices.0.text"), want);
    json_t *lp = at(r.json, "choices.0.logprobs.token_logprobs"),
           *top = at(r.json, "choices.0.logprobs.top_logprobs"),
           *offset = at(r.json, "choices.0.logprobs.text_offset");
    assert_int_equal(json_array_size(lp), n + 5);
    assert_int_equal(json_array_size(top), n + 5);
    assert_true(json_is_null(json_array_get(lp, 0)) && json_is_null(json_array_get(top, 0)));
    for (size_t i = 0; i < 5; i++) {
        assert_true(same(json_array_get(lp, n + i), t.lp[i]));
        json_t *o = json_array_get(top, n + i);
        const char *key;
        json_t *v;
        double best = -INFINITY;
        json_object_foreach(o, key, v) best = fmax(best, json_real_value(v));
        assert_true(fabs(best - t.top[i][0]) <= suite_rows_differ(1e-4));
    }
    for (size_t i = 1; i < n + 5; i++)
        assert_true(json_integer_value(json_array_get(offset, i)) >=
                    json_integer_value(json_array_get(offset, i - 1)));
    assert_int_equal(json_integer_value(json_array_get(offset, n)), strlen("some words"));
    reply_free(&r);
}

/* Stop strings, the same seed, and a stream against the whole. */
static void stops_and_seeds(void **state) {
    fixture *f = *state;
    told t;
    size_t n;
    directly(f->path, "some words", NULL, (asc_generate_options){.ignore_eos = true}, false, &t, &n);
    char stop[8] = "", body[512];
    memcpy(stop, t.text + t.n_text / 2, 3);
    json_t *s = json_pack("{s:s,s:i,s:i,s:b,s:[s]}", "prompt", "some words", "temperature", 0, "max_tokens",
                          NEW, "ignore_eos", 1, "stop", stop);
    char *text = s != NULL ? json_dumps(s, 0) : NULL;
    if (text != NULL) { /* NULL: the cut fell into a character */
        reply r = api_call(f->s, "POST", "/v1/completions", text);
        assert_string_equal(text_at(r.json, "choices.0.finish_reason"), "stop");
        *strstr(t.text, stop) = '\0';
        assert_string_equal(text_at(r.json, "choices.0.text"), t.text);
        reply_free(&r);
    }
    free(text);
    json_decref(s);
    char first[4096] = "";
    for (int i = 0; i < 3; i++) {
        snprintf(
            body, sizeof body,
            "{\"prompt\": \"some words\", \"max_tokens\": 12, \"seed\": %d, \"top_p\": 0.9, \"stream\": %s}",
            i == 1 ? 8 : 7, i == 2 ? "true" : "false");
        reply r = api_call(f->s, "POST", "/v1/completions", body);
        stream got = {.tokens = json_array()};
        assert_int_equal(r.status, 200);
        if (i == 2) each_event(&r, hear_event, &got);
        if (i == 0) snprintf(first, sizeof first, "%s", text_at(r.json, "choices.0.text"));
        if (i == 1) assert_string_not_equal(first, text_at(r.json, "choices.0.text"));
        if (i == 2) assert_string_equal(first, got.text);
        json_decref(got.tokens);
        reply_free(&r);
    }
}

typedef struct parts {
    char text[3][4096];
    size_t finished[3], n_done;
} parts;

static void hear_part(void *self, const char *name, const char *data) {
    parts *p = self;
    assert_string_equal(name, "");
    if (strcmp(data, "[DONE]") == 0) {
        p->n_done++;
        return;
    }
    json_t *v = json_loads(data, 0, NULL);
    const json_int_t i = json_integer_value(at(v, "choices.0.index"));
    assert_true(i >= 0 && i < 3);
    if (text_at(v, "choices.0.text") != NULL) strcat(p->text[i], text_at(v, "choices.0.text"));
    p->finished[i] += json_is_string(at(v, "choices.0.finish_reason"));
    json_decref(v);
}

/* Answer i of n is the one of seed + i, its tokens and log-probabilities too; whole and as a stream. */
static void several(void **state) {
    fixture *f = *state;
    char body[512];
    parts p = {.n_done = 0};
    told t[3];
    size_t n, tokens = 0;
    static const char some[] =
        "{\"prompt\": \"some words\", \"max_tokens\": 12, \"seed\": 7, \"top_p\": 0.9, "
        "\"n\": 3, \"best_of\": 3, \"stop\": \"e\", \"echo\": true, \"logprobs\": 3";
    snprintf(body, sizeof body, "%s}", some);
    reply whole = api_call(f->s, "POST", "/v1/completions", body);
    assert_int_equal(whole.status, 200);
    assert_int_equal(json_array_size(at(whole.json, "choices")), 3);
    for (size_t i = 0; i < 3; i++) {
        static const asc_view stop = {"e", 1};
        directly(f->path, "some words", NULL,
                 (asc_generate_options){
                     .temperature = 1, .seed = 7 + i, .top_p = 0.9, .stop = &stop, .n_stop = 1, .n_top = 3},
                 true, &t[i], &n);
        json_t *c = json_array_get(at(whole.json, "choices"), i), *lp = at(c, "logprobs.token_logprobs");
        const char *text = text_at(c, "text");
        assert_memory_equal(text, "some words", strlen("some words"));
        assert_string_equal(text + strlen("some words"), t[i].text);
        assert_int_equal(json_integer_value(at(c, "index")), i);
        assert_true(json_array_size(lp) >= n && json_array_size(lp) <= n + t[i].n);
        for (size_t k = n; k < json_array_size(lp); k++)
            assert_true(same(json_array_get(lp, k), t[i].lp[k - n]));
        assert_int_equal(json_integer_value(json_array_get(at(c, "logprobs.text_offset"), n)),
                         strlen("some words"));
        tokens += t[i].n;
    }
    assert_string_not_equal(t[0].text, t[1].text);
    assert_int_equal(json_integer_value(at(whole.json, "usage.completion_tokens")), tokens);
    assert_int_equal(json_integer_value(at(whole.json, "usage.prompt_tokens")), n);
    snprintf(body, sizeof body, "%s, \"stream\": true}", some);
    reply r = api_call(f->s, "POST", "/v1/completions", body);
    assert_int_equal(r.status, 200);
    each_event(&r, hear_part, &p);
    assert_int_equal(p.n_done, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(p.finished[i], 1);
        assert_string_equal(p.text[i], text_at(json_array_get(at(whole.json, "choices"), i), "text"));
    }
    reply_free(&r);
    reply_free(&whole);
    r = api_call(f->s, "POST", "/v1/chat/completions",
                 "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"max_tokens\": 4, \"n\": 2, "
                 "\"temperature\": 0, \"response_format\": {\"type\": \"text\"}}");
    assert_int_equal(r.status, 200);
    assert_string_equal(text_at(r.json, "choices.0.message.content"),
                        text_at(r.json, "choices.1.message.content"));
    reply_free(&r);
}

/* The attribution under an answer is what /v1/explain says of the same prompt and these tokens. */
static void attribution(void **state) {
    fixture *f = *state;
    reply r = api_call(
        f->s, "POST", "/v1/completions",
        "{\"prompt\": \"some words here\", \"temperature\": 0, \"max_tokens\": 3, \"ignore_eos\": true,"
        "\"attribution\": {\"features\": \"token\"}}");
    assert_int_equal(r.status, 200);
    json_t *a = at(r.json, "attribution");
    char *ids = json_dumps(at(a, "target.ids"), JSON_COMPACT), body[400];
    snprintf(body, sizeof body,
             "{\"prompt\": \"some words here\", \"features\": \"token\", \"target_ids\": %s}", ids);
    reply e = api_call(f->s, "POST", "/v1/explain", body);
    assert_int_equal(e.status, 200);
    assert_true(json_equal(at(a, "features"), at(e.json, "features")));
    assert_true(json_equal(at(a, "value"), at(e.json, "value")));
    assert_int_equal(json_array_size(at(a, "target.ids")), 3);
    free(ids);
    reply_free(&e);
    reply_free(&r);
}

static void wrong(void **state) {
    fixture *f = *state;
    static const struct {
        const char *path, *body;
        int status;
        const char *param, *says;
    } rows[] = {
        {"completions", "", 400, NULL, "empty"},
        {"completions", "{", 400, NULL, "line 1"},
        {"completions", "[]", 400, NULL, "no JSON object"},
        {"completions", "nul", 400, NULL, "no JSON"},
        {"completions", "{\"prompt\": \"\xff\"}", 400, NULL, "no JSON"},
        {"completions", "{\"prompt\": \"\\ud800\"}", 400, NULL, "no JSON"},
        {"completions", "{\"prompt\": \"a\", \"prompt\": \"b\"}", 400, NULL, "no JSON"},
        {"completions", "{\"prompt\": \"a\", \"max_tokens\": 1e999}", 400, NULL, "no JSON"},
        {"completions", "{\"prompt\": \"a\", \"max_tokens\": 123456789012345678901234567890}", 400, NULL,
         "no JSON"},
        {"completions", "{}", 400, "prompt", "missing"},
        {"completions", "{\"prompt\": null}", 400, "prompt", "null"},
        {"completions", "{\"prompt\": \"\"}", 400, "prompt", "no tokens"},
        {"completions", "{\"prompt\": []}", 400, "prompt", "empty list"},
        {"completions", "{\"prompt\": [1, -2]}", 400, "prompt", "list"},
        {"completions", "{\"prompt\": [1, 99999999]}", 400, "prompt", "ids are 0 to"},
        {"completions", "{\"prompt\": [\"a\", \"b\"]}", 400, "prompt", "not supported"},
        {"completions", "{\"prompt\": \"a\", \"n\": 0}", 400, "n", "1 to 16"},
        {"completions", "{\"prompt\": \"a\", \"n\": 17}", 400, "n", "1 to 16"},
        {"completions", "{\"prompt\": \"a\", \"n\": 2, \"attribution\": {}}", 400, "n", "one answer"},
        {"completions", "{\"prompt\": \"a\", \"response_format\": {\"type\": \"text\"}}", 400,
         "response_format", "not supported"},
        {"chat/completions",
         "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"response_format\": {\"type\": "
         "\"json_object\"}}",
         400, "response_format", "grammar"},
        {"chat/completions",
         "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"response_format\": \"text\"}", 400,
         "response_format", "object"},
        {"completions", "{\"prompt\": \"a\", \"best_of\": 3}", 400, "best_of", "not supported"},
        {"completions", "{\"prompt\": \"a\", \"suffix\": \"b\"}", 400, "suffix", "not supported"},
        {"completions", "{\"prompt\": \"a\", \"colour\": \"red\"}", 400, "colour", "no field"},
        {"completions", "{\"prompt\": \"a\", \"temperature\": \"hot\"}", 400, "temperature", "\"hot\""},
        {"completions", "{\"prompt\": \"a\", \"temperature\": -1}", 400, "temperature", "-1"},
        {"completions", "{\"prompt\": \"a\", \"max_tokens\": 1.5}", 400, "max_tokens", "whole"},
        {"completions", "{\"prompt\": \"a\", \"max_tokens\": 0}", 400, "max_tokens", "0"},
        {"completions", "{\"prompt\": \"a\", \"max_tokens\": 100000}", 400, "prompt", "context"},
        {"completions", "{\"prompt\": \"a\", \"stream\": 1}", 400, "stream", "true or false"},
        {"completions", "{\"prompt\": \"a\", \"stop\": []}", 400, "stop", "list"},
        {"completions", "{\"prompt\": \"a\", \"stop\": [\"\"]}", 400, "stop", "empty"},
        {"completions", "{\"prompt\": \"a\", \"logit_bias\": {\"x\": 1}}", 400, "logit_bias", "\"x\""},
        {"completions", "{\"prompt\": \"a\", \"logit_bias\": {\"5\": 1000}}", 400, "logit_bias",
         "-100 to 100"},
        {"completions", "{\"prompt\": \"a\", \"logit_bias\": {\"99999999\": 1}}", 400, "logit_bias",
         "no token"},
        {"completions", "{\"prompt\": \"a\", \"stream_options\": {}}", 400, "stream_options", "goes with"},
        {"completions", "{\"prompt\": \"a\", \"model\": \"gpt-9\"}", 404, "model", "gpt-9"},
        {"completions", "{\"prompt\": \"a\", \"attribution\": {\"target\": \"b\"}}", 400, "attribution",
         "no place"},
        {"completions", "{\"prompt\": \"a\", \"attribution\": {\"methud\": \"b\"}}", 400, "attribution",
         "methud"},
        {"completions", "{\"prompt\": \"a\", \"attribution\": 3}", 400, "attribution", "object"},
        {"chat/completions", "{\"messages\": []}", 400, "messages", "at least one"},
        {"chat/completions", "{\"messages\": \"hi\"}", 400, "messages", "list"},
        {"chat/completions", "{\"messages\": [{\"role\": \"user\"}]}", 400, "messages[0]", "content"},
        {"chat/completions", "{\"messages\": [{\"content\": \"a\"}]}", 400, "messages[0]", "role"},
        {"chat/completions", "{\"messages\": [{\"role\": \"user\", \"content\": \"a\", \"audio\": 1}]}", 400,
         "messages[0]", "audio"},
        {"chat/completions",
         "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]}", 400,
         "messages[0]", "not supported"},
        {"chat/completions",
         "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"top_logprobs\": 2}", 400,
         "top_logprobs", "goes with"},
        {"chat/completions", "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": []}", 400,
         "tools", "1 to 128"},
        {"embeddings", "{\"input\": \"a\"}", 400, "model", "no embeddings"},
        {"tokenize", "{}", 400, "text", "either"},
        {"tokenize", "{\"text\": \"a\", \"ids\": [1]}", 400, "ids", "either"},
        {"tokenize", "{\"ids\": [99999999]}", 400, NULL, "99999999"},
        {"explain", "{\"prompt\": \"a\", \"format\": \"xml\"}", 400, "format", "xml"},
        {"explain", "{\"prompt\": \"a\", \"format\": \"html\", \"stream\": true}", 400, "format", "stream"},
        {"explain", "{\"prompt\": \"a\", \"promt\": \"b\"}", 400, "promt", "no field"},
        {"explain", "{\"prompt\": \"a\", \"steps\": \"many\"}", 400, "steps", "steps"},
        {"explain", "{\"prompt\": \"a\", \"method\": \"magic\"}", 400, NULL, "magic"},
        {"explain", "{}", 400, NULL, "prompt"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[64];
        snprintf(path, sizeof path, "/v1/%s", rows[i].path);
        reply r = api_call(f->s, "POST", path, rows[i].body);
        const char *param = text_at(r.json, "error.param"), *message = text_at(r.json, "error.message");
        if (r.status != rows[i].status || message == NULL || strstr(message, rows[i].says) == NULL ||
            (rows[i].param != NULL && (param == NULL || strcmp(param, rows[i].param) != 0)))
            fail_msg("%s %s: %d %s", rows[i].path, rows[i].body, r.status, r.body);
        reply_free(&r);
    }
}

static void deep(void **state) {
    fixture *f = *state;
    enum { DEPTH = 100000 };
    char *body = malloc(DEPTH + 1);
    memset(body, '[', DEPTH);
    body[DEPTH] = '\0';
    reply r = api_call(f->s, "POST", "/v1/completions", body);
    assert_int_equal(r.status, 400);
    assert_non_null(strstr(r.body, "deep"));
    reply_free(&r);
    free(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chat),       cmocka_unit_test(chat_stream),
                                       cmocka_unit_test(completion), cmocka_unit_test(stops_and_seeds),
                                       cmocka_unit_test(several),    cmocka_unit_test(attribution),
                                       cmocka_unit_test(wrong),      cmocka_unit_test(deep)};
    return cmocka_run_group_tests_name("answers over HTTP", tests, chat_up, chat_down);
}
