/* api_out.c - JSON that goes out: in one line for events, put together of documents, with texts of tokens. */
#include "api.h"
#include <string.h>

/* A line break and the blanks behind it are layout: inside strings JSON writes them as escapes. */
void api_compact(asc_text *to, asc_view json) {
    size_t from = 0;
    while (json.len > 0 && json.ptr[json.len - 1] == '\n') json.len--;
    while (from < json.len) {
        const char *nl = memchr(json.ptr + from, '\n', json.len - from);
        const size_t end = nl != NULL ? (size_t)(nl - json.ptr) : json.len;
        asc_text_add(to, (asc_view){json.ptr + from, end - from});
        for (from = end; from < json.len && (json.ptr[from] == '\n' || json.ptr[from] == ' ');) from++;
    }
}

void api_graft(asc_text *to, asc_view object, const char *key, asc_view document) {
    size_t n = object.len;
    while (n > 0 && object.ptr[n - 1] != '}') n--;
    if (n > 0) n--;
    while (n > 0 && (object.ptr[n - 1] == '\n' || object.ptr[n - 1] == ' ')) n--;
    asc_text_add(to, (asc_view){object.ptr, n});
    asc_text_addf(to, ",\n  \"%s\": ", key);
    asc_text_add(to, document);
    asc_text_adds(to, "}\n");
}

bool api_is_utf8(asc_view v) {
    json_t *s = json_stringn(v.ptr != NULL ? v.ptr : "", v.len);
    json_decref(s);
    return s != NULL;
}

void api_token_text(asc_text *out, const asc_tokenizer *tk, int32_t id) {
    const asc_view v = asc_token_piece(tk, id);
    if (api_is_utf8(v)) {
        asc_text_add(out, v);
        return;
    }
    asc_text_adds(out, "bytes:");
    for (size_t i = 0; i < v.len; i++) asc_text_addf(out, "\\x%02x", (unsigned)(unsigned char)v.ptr[i]);
}

size_t api_n_characters(asc_view v) {
    size_t n = 0;
    for (size_t i = 0; i < v.len; i++) n += ((unsigned char)v.ptr[i] & 0xC0) != 0x80;
    return n;
}

asc_status api_send(job *j, asc_text *t, const char *content_type) {
    const asc_status st = asc_text_status(t);
    if (st != ASC_OK) return st;
    job_begin(j, 200, content_type);
    job_write(j, asc_text_view(t));
    return ASC_OK;
}

void api_reply(exchange *x, asc_text *t) {
    if (t == NULL || asc_text_status(t) != ASC_OK)
        exchange_fail(x, 503, "out_of_memory", NULL, "not enough memory for the reply", NULL, 1);
    else
        exchange_reply(x, 200, "application/json", asc_text_view(t));
}

void api_submit(exchange *x, bool ok, const job_kind *kind, void *self, const job_price *price,
                const serve_fault *fault) {
    if (ok) {
        exchange_submit(x, kind, self, price);
        return;
    }
    exchange_fail_fault(x, fault);
    kind->destroy(self);
}
