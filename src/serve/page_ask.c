/* page_ask.c - the form without scripts: its fields become a question, the answer is a page. */
#include "page.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Browsers send line breaks of forms as CR LF. */
static json_t *text_json(asc_view v) {
    char *t = malloc(v.len + 1);
    size_t n = 0;
    if (t == NULL) return NULL;
    for (size_t i = 0; i < v.len; i++)
        if (v.ptr[i] != '\r' || i + 1 == v.len || v.ptr[i + 1] != '\n') t[n++] = v.ptr[i];
    json_t *j = json_stringn(t, n); /* NULL: not UTF-8 */
    free(t);
    return j;
}

static json_t *base64_json(asc_view v) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = (v.len + 2) / 3 * 4, n = 0;
    char *t = malloc(len + 1);
    if (t == NULL) return NULL;
    for (size_t i = 0; i < v.len; i += 3) {
        unsigned long b = (unsigned long)(unsigned char)v.ptr[i] << 16;
        if (i + 1 < v.len) b |= (unsigned long)(unsigned char)v.ptr[i + 1] << 8;
        if (i + 2 < v.len) b |= (unsigned char)v.ptr[i + 2];
        t[n++] = digits[b >> 18];
        t[n++] = digits[b >> 12 & 63];
        t[n++] = i + 1 < v.len ? digits[b >> 6 & 63] : '=';
        t[n++] = i + 2 < v.len ? digits[b & 63] : '=';
    }
    json_t *j = json_stringn_nocheck(t, n);
    free(t);
    return j;
}

/* A field as its key's type wants it; what does not read so stays a text, and the question's parser says what
 * is wrong with it. */
static json_t *value_json(asc_key_type type, asc_view v) {
    json_t *j = NULL;
    switch (type) {
    case ASC_KEY_TEXT:
    case ASC_KEY_CHOICE:
        return text_json(v);
    case ASC_KEY_PICTURE:
    case ASC_KEY_BASE64:
        return base64_json(v);
    case ASC_KEY_BOOL:
        return json_true();
    default:
        j = json_loadb(v.ptr, v.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        return j != NULL ? j : text_json(v);
    }
}

/* False: the field is no text that JSON can carry. */
static bool put_field(json_t *o, const char *name, json_t *value) {
    if (value == NULL) return false;
    return json_object_set_new(o, name, value) == 0;
}

char *page_question(exchange *x, asc_subject_kind kind) {
    json_t *o = json_object();
    const asc_question_key *k;
    bool ok = o != NULL;
    for (size_t i = 0; ok && (k = asc_question_key_at(i)) != NULL; i++) {
        asc_view v = exchange_field(x, k->name);
        if (v.len == 0 || !page_key_known(k, kind)) continue;
        ok = put_field(o, k->name, value_json(k->type, v));
    }
    asc_view text = exchange_field(x, "ask-text"), as = exchange_field(x, "ask-as");
    bool user = as.len == 4 && memcmp(as.ptr, "user", 4) == 0;
    if (ok && text.len > 0) ok = put_field(o, user ? "user" : "prompt", text_json(text));
    char *json = ok ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return json;
}

/* ---- the job ----------------------------------------------------------------------------------------------
 */

typedef struct asked {
    char *json;
} asked;

static void destroy(void *self) {
    asked *a = self;
    free(a->json);
    free(a);
}

static asc_status run(job *j, const job_place *at, void *self) {
    asked *a = self;
    asc_question *q = NULL;
    asc_answer *answer = NULL;
    asc_text *t = NULL;
    char policy[1024];
    asc_status st = asc_question_parse(at->subject, (asc_view){a->json, strlen(a->json)}, NULL, 0, &q);
    if (st == ASC_OK) st = asc_ask(at->subject, q, &answer);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &t);
    if (st == ASC_OK) {
        asc_answer_html(answer, t);
        st = asc_text_status(t);
    }
    if (st == ASC_OK) {
        const asc_result *r = asc_answer_result(answer);
        if (r != NULL) job_count_tokens(j, r->n_prompt, r->n_target);
        page_result_policy(asc_text_view(t), policy, sizeof policy);
        job_header(j, "Content-Security-Policy", policy);
        job_begin(j, 200, "text/html; charset=utf-8");
        job_write(j, asc_text_view(t));
    }
    asc_text_destroy(t);
    asc_answer_destroy(answer);
    asc_question_destroy(q);
    return st;
}

static const job_kind kind_asked = {.name = "page", .run = run, .destroy = destroy};

/* What it will take: asked without being done. */
static asc_status price_of(serve_bench *b, const char *json, job_price *out) {
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_status st = asc_question_parse(b->subject, (asc_view){json, strlen(json)}, NULL, 0, &q);
    if (st == ASC_OK) {
        asc_question_set_dry_run(q, true);
        st = asc_ask(b->subject, q, &a);
    }
    if (st == ASC_OK) {
        const asc_result *r = asc_answer_result(a);
        const asc_attribution *net = asc_answer_attribution(a);
        const asc_request *req = asc_question_request(q);
        if (r != NULL)
            *out = (job_price){r->predicted_seconds, r->predicted_peak_bytes,
                               r->n_prompt + r->n_target + (req != NULL ? req->generate : 0)};
        if (net != NULL) *out = (job_price){net->predicted_seconds, net->predicted_peak_bytes, 0};
    }
    asc_answer_destroy(a);
    asc_question_destroy(q);
    return st;
}

void page_ask(exchange *x) {
    server *s = exchange_server(x);
    if (!exchange_is_trusted(x) && !exchange_login(x, exchange_field(x, "token"))) {
        exchange_fail(x, 401, "unauthorized", NULL, "this server wants its token",
                      "put it into the field of the form", 0);
        return;
    }
    job_price price = {0};
    asked *a = calloc(1, sizeof *a);
    serve_bench *b = server_lock_bench(s);
    if (a != NULL) a->json = page_question(x, asc_subject_get_kind(b->subject));
    if (a == NULL || a->json == NULL) {
        server_unlock_bench(s);
        free(a);
        exchange_fail(x, 400, "invalid_argument", NULL, "a field of the form is no text (UTF-8)",
                      "send the form in UTF-8", 0);
        return;
    }
    serve_fault fault = {0};
    asc_status st = price_of(b, a->json, &price);
    if (st != ASC_OK) serve_fault_status(&fault, b->ctx, st);
    if (st == ASC_FAILED_PRECONDITION) fault.status = 400; /* something the model lacks, not the server */
    server_unlock_bench(s);
    if (st != ASC_OK) exchange_fail_fault(x, &fault);
    if (st != ASC_OK)
        destroy(a);
    else
        exchange_submit(x, &kind_asked, a, &price);
}
