/* api_explain.c - POST /v1/explain: a question (include/ascribe/ask.h) with a few keys of the transport
 * beside it. The reply is the document that `ascribe explain --json` writes. */
#include "api.h"
#include "page.h"
#include <stdlib.h>
#include <string.h>

typedef struct asked {
    char *question; /* JSON */
    bool stream, save, html;
} asked;

static void destroy(void *self) {
    asked *a = self;
    if (a == NULL) return;
    free(a->question);
    free(a);
}

static void send_json(job *j, const char *event, json_t *take_v) {
    char *s = take_v != NULL ? api_dump(take_v) : NULL;
    if (s != NULL) job_event(j, event, (asc_view){s, strlen(s)});
    free(s);
    json_decref(take_v);
}

static void progress(job *j, void *self, const char *what, double done, double total) {
    const asked *a = self;
    if (a->stream)
        send_json(j, "progress", json_pack("{s:s,s:f,s:f}", "what", what, "done", done, "total", total));
}

static void failed(job *j, void *self, const char *code, const char *message, const char *hint) {
    const asked *a = self;
    if (a->stream)
        send_json(j, "error",
                  json_pack("{s:{s:s,s:s,s:s,s:n,s:s}}", "error", "message", message, "type", "server_error",
                            "code", code, "param", "hint", hint));
}

/* Saved before the reply begins, so that its id can be a header; of a stream, an event. */
static asc_status save(const asked *a, job *j, const job_place *at, asc_view json, asc_view html) {
    char id[17];
    serve_fault fault = {0};
    if (!store_put(at->server, json, html, id, &fault)) return job_fail_fault(j, &fault);
    if (a->stream)
        send_json(j, "saved", json_pack("{s:s}", "id", id));
    else
        job_header(j, "X-Result-Id", id);
    return ASC_OK;
}

static void send_command(job *j, const asc_question *q, asc_text *t) {
    asc_text_clear(t);
    if (!asc_question_command(q, t) || asc_text_status(t) != ASC_OK) return;
    const asc_view v = asc_text_view(t);
    send_json(j, "command", json_pack("{s:s#}", "command", v.ptr, (int)v.len));
}

static asc_status answer(asked *a, job *j, const job_place *at, const asc_question *q, asc_answer *answer,
                         asc_text *json, asc_text *html) {
    char policy[1024];
    asc_answer_json(answer, json);
    if (a->save || a->html) asc_answer_html(answer, html);
    asc_status st = asc_text_status(json);
    if (st == ASC_OK) st = asc_text_status(html);
    if (st == ASC_OK && a->save) st = save(a, j, at, asc_text_view(json), asc_text_view(html));
    if (st != ASC_OK) return st;
    if (a->html) {
        page_result_policy(asc_text_view(html), policy, sizeof policy);
        job_header(j, "Content-Security-Policy", policy);
        return api_send(j, html, "text/html; charset=utf-8");
    }
    if (!a->stream) return api_send(j, json, "application/json");
    asc_text_clear(html);
    api_compact(html, asc_text_view(json));
    st = asc_text_status(html);
    if (st == ASC_OK && job_event(j, "result", asc_text_view(html))) send_command(j, q, json);
    return st;
}

static asc_status run(job *j, const job_place *at, void *self) {
    asked *a = self;
    asc_question *q = NULL;
    asc_answer *r = NULL;
    asc_text *json = NULL, *html = NULL;
    asc_status st =
        asc_question_parse(at->subject, (asc_view){a->question, strlen(a->question)}, NULL, 0, &q);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &json);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &html);
    if (st == ASC_OK && a->stream) job_begin(j, 200, "text/event-stream");
    if (st == ASC_OK) st = asc_ask(at->subject, q, &r);
    if (st == ASC_OK) {
        const asc_result *result = asc_answer_result(r);
        if (result != NULL) job_count_tokens(j, result->n_prompt, result->n_target);
        st = answer(a, j, at, q, r, json, html);
    }
    asc_text_destroy(html);
    asc_text_destroy(json);
    asc_answer_destroy(r);
    asc_question_destroy(q);
    return st;
}

static const job_kind kind_explain = {
    .name = "explain", .run = run, .progress = progress, .failed = failed, .destroy = destroy};

/* The key that a message of the question's reader begins with: `"steps": ...`. */
static void name_key(serve_fault *f) {
    const char *end = f->message[0] == '"' ? strchr(f->message + 1, '"') : NULL;
    const size_t n = end != NULL ? (size_t)(end - f->message - 1) : 0;
    if (n == 0 || n >= sizeof f->param || f->param[0] != '\0') return;
    memcpy(f->param, f->message + 1, n);
    f->param[n] = '\0';
}

static bool read_asked(asked *a, api_body *b, serve_fault *fault) {
    const asc_view format = api_text(b, "format");
    a->stream = api_flag(b, "stream", false);
    a->save = api_flag(b, "save", false);
    a->html = format.len == 4 && memcmp(format.ptr, "html", 4) == 0;
    if (a->stream && a->html)
        return api_bad(fault, "invalid_value", "format", "ask for json, or without \"stream\"",
                       "\"format\": a page is not sent as a stream");
    for (size_t i = 0; i < b->table->n; i++) json_object_del(b->root, b->table->fields[i].name);
    a->question = api_dump(b->root);
    return a->question != NULL || api_no_memory(fault);
}

/* What it will take: asked without being done. */
static bool price_of(serve_bench *b, const asked *a, job_price *out, serve_fault *fault) {
    asc_question *q = NULL;
    asc_answer *r = NULL;
    asc_status st = asc_question_parse(b->subject, (asc_view){a->question, strlen(a->question)}, NULL, 0, &q);
    if (st == ASC_OK) {
        asc_question_set_dry_run(q, true);
        st = asc_ask(b->subject, q, &r);
    }
    if (st == ASC_OK) {
        const asc_result *of_prompt = asc_answer_result(r);
        const asc_attribution *of_net = asc_answer_attribution(r);
        if (of_prompt != NULL)
            *out = (job_price){of_prompt->predicted_seconds, of_prompt->predicted_peak_bytes,
                               of_prompt->n_prompt + of_prompt->n_target};
        if (of_net != NULL) *out = (job_price){of_net->predicted_seconds, of_net->predicted_peak_bytes, 0};
    } else {
        serve_fault_status(fault, b->ctx, st);
        if (st == ASC_FAILED_PRECONDITION) fault->status = 400;
        name_key(fault);
    }
    asc_answer_destroy(r);
    asc_question_destroy(q);
    return st == ASC_OK;
}

void api_explain(exchange *x) {
    server *s = exchange_server(x);
    serve_fault fault = {0};
    job_price price = {0};
    api_body body = {0};
    asked *a = calloc(1, sizeof *a);
    bool ok = a != NULL || api_no_memory(&fault);
    ok = ok && api_body_read(API_EXPLAIN, exchange_body(x), &body, &fault) && read_asked(a, &body, &fault);
    api_body_free(&body);
    if (ok) {
        serve_bench *b = server_lock_bench(s);
        ok = price_of(b, a, &price, &fault);
        server_unlock_bench(s);
    }
    api_submit(x, ok, &kind_explain, a, &price, &fault);
}
