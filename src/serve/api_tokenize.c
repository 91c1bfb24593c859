/* api_tokenize.c - POST /v1/tokenize: a text to tokens with their bytes, or ids to their text. Needs no job.
 */
#include "api.h"
#include <stdlib.h>
#include <string.h>

static void put_token(asc_text *t, const asc_tokenizer *tk, int32_t id, asc_view name) {
    asc_text_object(t, NULL);
    asc_text_int(t, "id", id);
    asc_text_bytes(t, "text", name.ptr != NULL ? name : asc_token_piece(tk, id));
}

static void begin(asc_text *t, size_t n) {
    asc_text_object(t, NULL);
    asc_text_int(t, "n", (int64_t)n);
    asc_text_array(t, "tokens");
}

static void end(asc_text *t, const int32_t *ids, size_t n, asc_view text) {
    asc_text_end(t);
    asc_text_array(t, "ids");
    for (size_t i = 0; i < n; i++) asc_text_int(t, NULL, ids[i]);
    asc_text_end(t);
    asc_text_bytes(t, "text", text);
    asc_text_end(t);
}

/* Ranges are bytes of the text; {0, 0} of what was put around it. */
static asc_status by_text(serve_bench *b, const api_body *body, asc_text *t) {
    const asc_tokenizer *tk = asc_model_tokenizer(asc_subject_model(b->subject));
    const asc_view text = api_text(body, "text");
    const asc_tokenize_options o = {.struct_size = sizeof o,
                                    .add_bos_eos = api_flag(body, "add_special", true),
                                    .parse_special = api_flag(body, "parse_special", false)};
    if (asc_subject_get_kind(b->subject) == ASC_SUBJECT_ENCODER) {
        asc_encoding e;
        asc_status st = asc_encode(b->ctx, tk, text, NULL, &o, &e);
        if (st != ASC_OK) return st;
        begin(t, e.n);
        for (size_t i = 0; i < e.n; i++) {
            put_token(t, tk, e.ids[i], e.names[i]);
            asc_text_int(t, "start", (int64_t)e.spans[i].start);
            asc_text_int(t, "end", (int64_t)e.spans[i].end);
            asc_text_end(t);
        }
        end(t, e.ids, e.n, text);
        asc_encoding_free(b->ctx, &e);
        return ASC_OK;
    }
    asc_token *tokens = NULL;
    size_t n = 0;
    asc_status st = asc_tokenize(b->ctx, tk, text, &o, &tokens, &n);
    int32_t *ids = st == ASC_OK ? malloc((n + 1) * sizeof *ids) : NULL;
    if (st == ASC_OK && ids == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK) {
        begin(t, n);
        for (size_t i = 0; i < n; i++) {
            ids[i] = tokens[i].id;
            put_token(t, tk, tokens[i].id, (asc_view){0});
            asc_text_int(t, "start", (int64_t)tokens[i].start);
            asc_text_int(t, "end", (int64_t)tokens[i].end);
            asc_text_end(t);
        }
        end(t, ids, n, text);
    }
    free(ids);
    asc_tokens_free(b->ctx, tokens);
    return st;
}

static asc_status by_ids(serve_bench *b, const json_t *list, asc_text *t) {
    const asc_tokenizer *tk = asc_model_tokenizer(asc_subject_model(b->subject));
    size_t n = 0, len = 0;
    char *text = NULL;
    int32_t *ids = api_ids(list, &n);
    asc_status st =
        ids != NULL ? asc_detokenize(b->ctx, tk, ids, n, true, &text, &len) : ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK) {
        begin(t, n);
        for (size_t i = 0; i < n; i++) {
            put_token(t, tk, ids[i], (asc_view){0});
            asc_text_end(t);
        }
        end(t, ids, n, (asc_view){text, len});
    }
    asc_tokens_free(b->ctx, text);
    free(ids);
    return st;
}

/* The reply has some hundred bytes for each token, and is held until its client has read it. */
enum { MOST_TEXT = 1 << 20 };

static bool fits(const api_body *body, bool text, serve_fault *fault) {
    char message[96];
    if ((text ? api_text(body, "text").len : json_array_size(api_get(body, "ids"))) <= MOST_TEXT) return true;
    snprintf(message, sizeof message, "\"%s\": more than %d %s", text ? "text" : "ids", MOST_TEXT,
             text ? "bytes" : "tokens");
    serve_fault_set(fault, 413, "text_too_long", text ? "text" : "ids", message, "ask for a piece at a time");
    return false;
}

void api_tokenize(exchange *x) {
    serve_fault fault = {0};
    api_body body = {0};
    asc_text *t = NULL;
    bool ok = api_body_read(API_TOKENIZE, exchange_body(x), &body, &fault);
    const bool text = ok && api_get(&body, "text") != NULL, ids = ok && api_get(&body, "ids") != NULL;
    if (ok && text == ids)
        ok = api_bad(&fault, "missing_field", text ? "ids" : "text", "a text is split, ids are put together",
                     "give either \"text\" or \"ids\"");
    ok = ok && fits(&body, text, &fault);
    serve_bench *b = server_lock_bench(exchange_server(x));
    ok = ok && api_need_tokens(b, &fault);
    if (ok) {
        asc_status st = asc_text_create(b->ctx, &t);
        if (st == ASC_OK) st = text ? by_text(b, &body, t) : by_ids(b, api_get(&body, "ids"), t);
        if (st == ASC_OK) st = asc_text_status(t);
        if (st != ASC_OK) serve_fault_status(&fault, b->ctx, st);
        if (st == ASC_FAILED_PRECONDITION) fault.status = 400;
        ok = st == ASC_OK;
    }
    if (ok)
        api_reply(x, t);
    else
        exchange_fail_fault(x, &fault);
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
    api_body_free(&body);
}
