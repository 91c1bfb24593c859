/* fuzz_json.c - the JSON reader and writer: what is read, walked and written reads back as the same; chat
 * files too. */
#include "chat.h"
#include "json.h"
#include "view.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok) {
    if (!ok) abort();
}

enum { MAX_DEPTH = 60 }; /* the writer ends at 63 */

/* Writes a node; false when it nests too deep for the writer. */
static bool put(asc_jsonw *w, const asc_json *j, int depth) {
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    if (depth > MAX_DEPTH) return false;
    switch (asc_json_typeof(j)) {
    case ASC_JSON_NULL:
        asc_jsonw_null(w);
        break;
    case ASC_JSON_BOOL:
        asc_jsonw_bool(w, asc_json_bool(j, false));
        break;
    case ASC_JSON_INT:
        asc_jsonw_int(w, asc_json_int(j, 0));
        break;
    case ASC_JSON_REAL:
        asc_jsonw_num(w, asc_json_num(j, 0));
        break;
    case ASC_JSON_STRING:
        asc_jsonw_str(w, asc_json_str(j));
        break;
    case ASC_JSON_ARRAY:
        asc_jsonw_begin_array(w);
        for (size_t i = 0; i < asc_json_len(j); i++)
            if (!put(w, asc_json_at(j, i), depth + 1)) return false;
        asc_jsonw_end_array(w);
        break;
    case ASC_JSON_OBJECT:
        asc_jsonw_begin_object(w);
        while (asc_json_next(j, &iter, &key, &item)) {
            asc_jsonw_key(w, key.ptr);
            if (!put(w, item, depth + 1)) return false;
        }
        asc_jsonw_end_object(w);
        break;
    }
    return true;
}

static bool numeric(asc_json_type t) { return t == ASC_JSON_INT || t == ASC_JSON_REAL; }

static void same(const asc_json *a, const asc_json *b) {
    asc_json_type t = asc_json_typeof(a);
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    if (numeric(t)) { /* 1e2 is written as 100, so a real may come back as an integer */
        double x = asc_json_num(a, 0), y = asc_json_num(b, 1);
        require(numeric(asc_json_typeof(b)) && !(x < y) && !(x > y));
        return;
    }
    require(t == asc_json_typeof(b) && asc_json_len(a) == asc_json_len(b));
    require(asc_json_bool(a, false) == asc_json_bool(b, false));
    require(asc_view_eq(asc_json_str(a), asc_json_str(b)));
    if (t == ASC_JSON_ARRAY)
        for (size_t i = 0; i < asc_json_len(a); i++) same(asc_json_at(a, i), asc_json_at(b, i));
    while (asc_json_next(a, &iter, &key, &item)) same(item, asc_json_get(b, key.ptr));
}

static void round_trip(asc_ctx *ctx, const asc_json *j, bool compact) {
    asc_strbuf b;
    asc_jsonw w;
    asc_strbuf_init(&b, ctx);
    asc_jsonw_init(&w, &b, compact);
    if (put(&w, j, 0)) {
        asc_json *back = NULL;
        require(asc_strbuf_status(&b) == ASC_OK);
        require(asc_json_parse(ctx, b.ptr, b.len, &back) == ASC_OK);
        same(j, back);
        asc_json_free(back);
    }
    asc_strbuf_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx *ctx = NULL;
    asc_json *j = NULL;
    asc_chat_messages m;
    if (asc_ctx_create_base(NULL, &ctx) != ASC_OK) return 0;
    if (asc_json_parse(ctx, (const char *)data, size, &j) == ASC_OK) {
        round_trip(ctx, j, true);
        round_trip(ctx, j, false);
    }
    asc_json_free(j);
    (void)!asc_chat_parse_json(ctx, (const char *)data, size, &m);
    asc_chat_messages_free(ctx, &m);
    require(ctx->mem.live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
