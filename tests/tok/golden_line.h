/* golden_line.h - test side: walks a JSON Lines file, and compares tokens with an array of ids. */
#ifndef TEST_GOLDEN_LINE_H
#define TEST_GOLDEN_LINE_H

#include "ascribe/tokens.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include "view.h"

/* Parses the next line of *rest; NULL at the end. */
static inline asc_json *golden_next(asc_ctx *ctx, asc_view *rest) {
    if (rest->len == 0) return NULL;
    const char *nl = memchr(rest->ptr, '\n', rest->len);
    size_t n = nl != NULL ? (size_t)(nl - rest->ptr) : rest->len;
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, rest->ptr, n, &j));
    size_t skip = nl != NULL ? n + 1 : n;
    rest->ptr += skip;
    rest->len -= skip;
    return j;
}

static inline bool golden_ids_equal(const asc_json *want, const asc_token *t, size_t n) {
    if (asc_json_len(want) != n) return false;
    for (size_t i = 0; i < n; i++) {
        if (asc_json_int(asc_json_at(want, i), -1) != t[i].id) return false;
    }
    return true;
}

static inline void golden_print(const char *what, const asc_json *want, const asc_token *t, size_t n) {
    fprintf(stderr, "%s\n  want", what);
    for (size_t i = 0; i < asc_json_len(want); i++)
        fprintf(stderr, " %d", (int)asc_json_int(asc_json_at(want, i), -1));
    fprintf(stderr, "\n  got ");
    for (size_t i = 0; i < n; i++) fprintf(stderr, " %d[%zu,%zu)", (int)t[i].id, t[i].start, t[i].end);
    fprintf(stderr, "\n");
}

/* The ranges tile the text whenever there is a token at all. */
static inline void assert_tiles(const asc_token *t, size_t n, size_t len) {
    for (size_t i = 0, at = 0; i < n; at = t[i++].end) {
        assert_int_equal(t[i].start, at);
        assert_true(t[i].end >= t[i].start);
    }
    if (n > 0) assert_int_equal(t[n - 1].end, len);
}

static inline size_t golden_base64(asc_view v, char *out) {
    static const char abc[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    size_t n = 0, have = 0;
    for (size_t i = 0; i < v.len && v.ptr[i] != '='; i++) {
        bits = bits << 6 | (uint32_t)(strchr(abc, v.ptr[i]) - abc);
        have += 6;
        if (have >= 8) out[n++] = (char)(bits >> (have -= 8) & 255);
    }
    return n;
}

#endif
