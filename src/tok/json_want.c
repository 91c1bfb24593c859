/* json_want.c - see json_want.h. */
#include "json_want.h"
#include "alloc.h"
#include <string.h>

const char *asc_want_type_name(const asc_json *j) {
    switch (asc_json_typeof(j)) {
    case ASC_JSON_NULL:
        return "null";
    case ASC_JSON_BOOL:
        return "true or false";
    case ASC_JSON_INT:
    case ASC_JSON_REAL:
        return "a number";
    case ASC_JSON_STRING:
        return "a string";
    case ASC_JSON_ARRAY:
        return "a list";
    case ASC_JSON_OBJECT:
        break;
    }
    return "an object";
}

static asc_status wrong(asc_ctx *ctx, const asc_json *j, const char *key, const char *where,
                        const char *want) {
    if (asc_json_typeof(j) == ASC_JSON_NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"%s\" is missing; it is %s", where, key, want);
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"%s\" is %s, not %s", where, key, asc_want_type_name(j),
                    want);
}

asc_status asc_want_object(asc_ctx *ctx, const asc_json *j, const char *where) {
    if (asc_json_typeof(j) == ASC_JSON_OBJECT) return ASC_OK;
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s is %s, not an object", where, asc_want_type_name(j));
}

asc_status asc_want_list(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                         const asc_json **out) {
    *out = asc_json_get(obj, key);
    return asc_json_typeof(*out) == ASC_JSON_ARRAY ? ASC_OK : wrong(ctx, *out, key, where, "a list");
}

/* What components without a "type" are, as the program that defines these files tells them: by keys that no
 * other one of their section has. RoBERTa's come before BERT's, of which they have all. */
static const struct {
    const char *list; /* key of the section's sequences */
    const char *keys[2], *type;
} untyped[] = {
    {"normalizers", {"normalizers", NULL}, "Sequence"},
    {"normalizers", {"clean_text", "lowercase"}, "BertNormalizer"},
    {"normalizers", {"strip_left", "strip_right"}, "Strip"},
    {"normalizers", {"pattern", "content"}, "Replace"},
    {"normalizers", {"prepend", NULL}, "Prepend"},
    {"processors", {"cls", "trim_offsets"}, "RobertaProcessing"},
    {"processors", {"cls", "sep"}, "BertProcessing"},
    {"processors", {"single", "pair"}, "TemplateProcessing"},
    {"decoders", {"suffix", NULL}, "BPEDecoder"},
    {"decoders", {"prefix", "cleanup"}, "WordPiece"},
    {"decoders", {"pad_token", "word_delimiter_token"}, "CTC"},
    {"decoders", {"pattern", "content"}, "Replace"},
    {"decoders", {"content", "start"}, "Strip"},
};

/* The "type" of a component of a section whose sequences are called `list`. */
static asc_status type_of(asc_ctx *ctx, const asc_json *j, const char *where, const char *list,
                          asc_view *out) {
    asc_status st = asc_want_object(ctx, j, where);
    if (st != ASC_OK) return st;
    for (size_t i = 0; asc_json_get(j, "type") == NULL && i < sizeof untyped / sizeof *untyped; i++) {
        const char *const *keys = untyped[i].keys;
        if (strcmp(untyped[i].list, list) != 0 || asc_json_get(j, keys[0]) == NULL ||
            (keys[1] != NULL && asc_json_get(j, keys[1]) == NULL))
            continue;
        *out = asc_view_of(untyped[i].type);
        return ASC_OK;
    }
    return asc_want_str(ctx, j, "type", where, out);
}

asc_status asc_want_str(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                        asc_view *out) {
    const asc_json *j = asc_json_get(obj, key);
    *out = asc_json_str(j);
    return out->ptr != NULL ? ASC_OK : wrong(ctx, j, key, where, "a string");
}

asc_status asc_want_str_or(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                           asc_view *out) {
    *out = (asc_view){NULL, 0};
    if (asc_json_typeof(asc_json_get(obj, key)) == ASC_JSON_NULL) return ASC_OK;
    return asc_want_str(ctx, obj, key, where, out);
}

asc_status asc_want_bool(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where, bool fallback,
                         bool *out) {
    const asc_json *j = asc_json_get(obj, key);
    *out = asc_json_bool(j, fallback);
    asc_json_type t = asc_json_typeof(j);
    return t == ASC_JSON_NULL || t == ASC_JSON_BOOL ? ASC_OK : wrong(ctx, j, key, where, "true or false");
}

asc_status asc_want_int(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where, int64_t lo,
                        int64_t hi, int64_t fallback, int64_t *out) {
    const asc_json *j = asc_json_get(obj, key);
    *out = fallback;
    if (asc_json_typeof(j) == ASC_JSON_NULL && fallback >= lo) return ASC_OK;
    if (asc_json_typeof(j) != ASC_JSON_INT) return wrong(ctx, j, key, where, "a whole number");
    *out = asc_json_int(j, fallback);
    if (*out >= lo && *out <= hi) return ASC_OK;
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"%s\" is %lld, not from %lld to %lld", where, key,
                    (long long)*out, (long long)lo, (long long)hi);
}

static asc_status each(asc_ctx *ctx, const asc_json *j, const char *where, const char *key, asc_want_fn fn,
                       void *self, int depth) {
    asc_status st = ASC_OK;
    asc_view type;
    const asc_json *list;
    if (depth > ASC_WANT_MAX_DEPTH)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "%s: more than %d sequences in each other", where,
                        ASC_WANT_MAX_DEPTH);
    ASC_TRY(type_of(ctx, j, where, key, &type));
    if (!asc_view_eqs(type, "Sequence")) return fn(ctx, self, type, j);
    ASC_TRY(asc_want_list(ctx, j, key, where, &list));
    for (size_t i = 0; i < asc_json_len(list); i++)
        ASC_TRY(each(ctx, asc_json_at(list, i), where, key, fn, self, depth + 1));
done:
    return st;
}

asc_status asc_want_each(asc_ctx *ctx, const asc_json *j, const char *where, const char *key, asc_want_fn fn,
                         void *self) {
    return each(ctx, j, where, key, fn, self, 0);
}

asc_status asc_want_unknown(asc_ctx *ctx, const char *where, asc_view type, const char *known) {
    asc_view cut = asc_view_cut(type, 64);
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s: type '" ASC_VIEW_FMT "' is not known", where, ASC_VIEW_ARG(cut));
    asc_hint(ctx, "known are %s", known);
    return ASC_UNIMPLEMENTED;
}

asc_status asc_want_kind_of(asc_ctx *ctx, const char *where, asc_view type, const asc_want_kind *kinds,
                            size_t n, const char *known, int *out) {
    for (size_t i = 0; i < n; i++) {
        if (!asc_view_eqs(type, kinds[i].type)) continue;
        *out = kinds[i].kind;
        return ASC_OK;
    }
    *out = -1;
    return asc_want_unknown(ctx, where, type, known);
}

asc_status asc_want_step(asc_ctx *ctx, const asc_want_steps *section, asc_view type, void **steps, size_t n,
                         size_t *cap, int *kind) {
    asc_status st =
        asc_want_kind_of(ctx, section->where, type, section->kinds, section->n_kinds, section->known, kind);
    if (st == ASC_OK) st = asc_grow(ctx, ASC_MEM_TOKENIZER, steps, cap, n + 1, section->step_bytes);
    if (st == ASC_OK) memset((char *)*steps + n * section->step_bytes, 0, section->step_bytes);
    return st;
}

asc_status asc_want_pattern(asc_ctx *ctx, const asc_json *obj, const char *where, asc_view *text,
                            bool *regex) {
    const asc_json *p = asc_json_get(obj, "pattern");
    if (asc_json_typeof(p) == ASC_JSON_OBJECT) {
        *text = asc_json_str(asc_json_get(p, "String"));
        *regex = false;
        if (text->ptr != NULL) return ASC_OK;
        *text = asc_json_str(asc_json_get(p, "Regex"));
        *regex = true;
        if (text->ptr != NULL) return ASC_OK;
    }
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                    "%s: \"pattern\" is neither {\"String\": ...} nor {\"Regex\": ...}", where);
}

asc_status asc_want_char(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                         asc_view *out) {
    uint32_t cp;
    asc_status st = asc_want_str(ctx, obj, key, where, out);
    if (st != ASC_OK) return st;
    if (out->len > 0 && asc_utf8_decode(out->ptr, out->len, &cp, NULL) == out->len) return ASC_OK;
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"%s\" is not a single character", where, key);
}
