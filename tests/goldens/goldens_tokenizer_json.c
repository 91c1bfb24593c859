/* goldens_tokenizer_json.c - tokenizer.json files against the program that defines them: ids, strings,
 * ranges, masks and decoded texts, all exact. */
#include "alloc.h"
#include "file.h"
#include "goldens.h"
#include "tokenizer_json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static asc_tokenizer *tokenizer; /* of the file being run */

bool goldens_tokenizer_open(goldens *g, const char *path) {
    char *text = NULL;
    size_t len = 0;
    asc_status st = asc_file_read(g->ctx, path, ASC_TOKENIZER_JSON_MAX, &text, &len);
    if (st == ASC_OK) st = asc_tokenizer_from_json(g->ctx, asc_view_make(text, len), path, &tokenizer);
    asc_free(g->ctx, text);
    if (st != ASC_OK) goldens_fail(g, "%s", asc_error_message(g->ctx));
    return st == ASC_OK;
}

void goldens_tokenizer_close(void) {
    asc_tokenizer_destroy(tokenizer);
    tokenizer = NULL;
}

static void same(goldens *g, bool ok, const char *what, asc_view text) {
    text = asc_view_cut(text, 40);
    goldens_check(g, ok ? 0.0 : 2.0, "'" ASC_VIEW_FMT "': %s differ", ASC_VIEW_ARG(text), what);
}

static bool same_ints(const asc_json *want, size_t n, int64_t (*at)(const asc_encoding *e, size_t i),
                      const asc_encoding *e) {
    bool ok = asc_json_typeof(want) == ASC_JSON_ARRAY && asc_json_len(want) == n;
    for (size_t i = 0; ok && i < n; i++) ok = asc_json_int(asc_json_at(want, i), -1) == at(e, i);
    return ok;
}

static int64_t id_at(const asc_encoding *e, size_t i) { return e->ids[i]; }
static int64_t special_at(const asc_encoding *e, size_t i) { return e->special[i]; }
static int64_t type_at(const asc_encoding *e, size_t i) { return e->type_ids[i]; }

static int64_t chars_before(asc_view text, size_t at) {
    int64_t n = 0;
    for (size_t i = 0; i < at && i < text.len; i++) n += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return n;
}

static bool same_spans(const asc_json *want, const asc_encoding *e, asc_view a, asc_view b, bool chars) {
    bool ok = asc_json_len(want) == e->n;
    for (size_t i = 0; ok && i < e->n; i++) {
        asc_view text = e->sequence[i] == 1 ? b : a;
        int64_t from = (int64_t)e->spans[i].start, to = (int64_t)e->spans[i].end;
        if (chars) {
            from = chars_before(text, e->spans[i].start);
            to = chars_before(text, e->spans[i].end);
        }
        const asc_json *w = asc_json_at(want, i);
        ok = asc_json_int(asc_json_at(w, 0), -1) == from && asc_json_int(asc_json_at(w, 1), -1) == to;
    }
    return ok;
}

static void check_encoding(goldens *g, const asc_json *line, const asc_encoding *e, asc_view a, asc_view b) {
    const asc_json *tokens = asc_json_get(line, "tokens"), *j;
    same(g, same_ints(asc_json_get(line, "ids"), e->n, id_at, e), "ids", a);
    if (tokens != NULL) {
        bool ok = asc_json_len(tokens) == e->n;
        for (size_t i = 0; ok && i < e->n; i++)
            ok = asc_view_eq(asc_json_str(asc_json_at(tokens, i)), e->names[i]);
        same(g, ok, "tokens", a);
    }
    if ((j = asc_json_get(line, "offsets")) != NULL) same(g, same_spans(j, e, a, b, true), "offsets", a);
    if ((j = asc_json_get(line, "offsets_chars")) != NULL)
        same(g, same_spans(j, e, a, b, true), "offsets_chars", a);
    if ((j = asc_json_get(line, "byte_offsets")) != NULL)
        same(g, same_spans(j, e, a, b, false), "byte_offsets", a);
    if ((j = asc_json_get(line, "offsets_bytes")) != NULL)
        same(g, same_spans(j, e, a, b, false), "offsets_bytes", a);
    if ((j = asc_json_get(line, "special_mask")) != NULL)
        same(g, same_ints(j, e->n, special_at, e), "special_mask", a);
    if ((j = asc_json_get(line, "type_ids")) != NULL) same(g, same_ints(j, e->n, type_at, e), "type_ids", a);
}

static void check_decoded(goldens *g, const asc_json *line, const asc_encoding *e, asc_view text) {
    static const char *const keys[] = {"decoded", "decoded_with_special"};
    for (int special = 0; special < 2; special++) {
        const asc_json *want = asc_json_get(line, keys[special]);
        char *got = NULL;
        size_t len = 0;
        if (want == NULL) continue;
        if (asc_detokenize(g->ctx, tokenizer, e->ids, e->n, special == 1, &got, &len) != ASC_OK) {
            goldens_fail(g, "%s", asc_error_message(g->ctx));
        } else {
            same(g, asc_view_eq(asc_json_str(want), asc_view_make(got, len)), keys[special], text);
        }
        asc_tokens_free(g->ctx, got);
    }
}

/* The same ids from asc_tokenize, with ranges that tile the text. */
static void check_tiles(goldens *g, const asc_encoding *e, asc_view text, const asc_tokenize_options *o) {
    asc_token *t = NULL;
    size_t n = 0, at = 0;
    bool ok = asc_tokenize(g->ctx, tokenizer, text, o, &t, &n) == ASC_OK && n == e->n;
    for (size_t i = 0; ok && i < n; i++) {
        ok = t[i].id == e->ids[i] && t[i].start == at && t[i].end >= at;
        at = t[i].end;
    }
    same(g, ok && (n == 0 || at == text.len), "tiling ranges", text);
    asc_tokens_free(g->ctx, t);
}

void goldens_tokenizer_json(goldens *g, const asc_json *line) {
    asc_view a = asc_json_str(asc_json_get(line, "text")), b = asc_json_str(asc_json_get(line, "pair"));
    const asc_json *bare = asc_json_get(line, "ids_without_special");
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true, .add_bos_eos = true};
    asc_encoding e;
    if (asc_encode(g->ctx, tokenizer, a, b.ptr != NULL ? &b : NULL, &o, &e) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        return;
    }
    check_encoding(g, line, &e, a, b);
    check_decoded(g, line, &e, a);
    if (b.ptr == NULL) check_tiles(g, &e, a, &o);
    asc_encoding_free(g->ctx, &e);
    if (bare == NULL) return;
    o.add_bos_eos = false;
    if (asc_encode(g->ctx, tokenizer, a, b.ptr != NULL ? &b : NULL, &o, &e) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        return;
    }
    same(g, same_ints(bare, e.n, id_at, &e), "ids_without_special", a);
    asc_encoding_free(g->ctx, &e);
}
