/* splitter_json.c - reads the "pre_tokenizer" section of a tokenizer file. */
#include "json_want.h"
#include "splitter.h"

static const char where[] = "pre_tokenizer";
static const char known[] =
    "ByteLevel, Split, Whitespace, WhitespaceSplit, BertPreTokenizer, Punctuation, Digits, Metaspace, "
    "CharDelimiterSplit, UnicodeScripts, FixedLength, Sequence";

static const asc_want_kind types[] = {
    {"ByteLevel", ASC_SPLIT_BYTE_LEVEL},    {"Split", ASC_SPLIT_PATTERN},
    {"Whitespace", ASC_SPLIT_WHITESPACE},   {"WhitespaceSplit", ASC_SPLIT_WHITESPACE_ONLY},
    {"BertPreTokenizer", ASC_SPLIT_BERT},   {"Punctuation", ASC_SPLIT_PUNCTUATION},
    {"Digits", ASC_SPLIT_DIGITS},           {"Metaspace", ASC_SPLIT_METASPACE},
    {"CharDelimiterSplit", ASC_SPLIT_CHAR}, {"UnicodeScripts", ASC_SPLIT_SCRIPTS},
    {"FixedLength", ASC_SPLIT_FIXED}};

/* GPT-2's pattern (openai/gpt-2, encoder.py), as ByteLevel uses it. */
static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static asc_status behavior(asc_ctx *ctx, const asc_json *j, asc_split_behavior *out) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                        "Contiguous"};
    asc_view v;
    asc_status st = asc_want_str_or(ctx, j, "behavior", where, &v);
    *out = ASC_SPLIT_ISOLATED;
    if (st != ASC_OK || v.ptr == NULL) return st;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!asc_view_eqs(v, names[i])) continue;
        *out = (asc_split_behavior)i;
        return ASC_OK;
    }
    v = asc_view_cut(v, 64);
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                    "%s: \"behavior\" is '" ASC_VIEW_FMT "', not Removed, Isolated, MergedWithPrevious, "
                    "MergedWithNext or Contiguous",
                    where, ASC_VIEW_ARG(v));
}

static asc_status mark(asc_ctx *ctx, asc_split_step *s, const asc_json *j, const char *key) {
    asc_view v;
    asc_status st = asc_want_char(ctx, j, key, where, &v);
    if (st != ASC_OK) return st;
    memcpy(s->mark, v.ptr, v.len);
    s->mark_len = v.len;
    return ASC_OK;
}

static asc_status metaspace(asc_ctx *ctx, asc_split_step *s, const asc_json *j) {
    asc_status st = ASC_OK;
    asc_view scheme;
    bool prefix;
    ASC_TRY(mark(ctx, s, j, "replacement"));
    ASC_TRY(asc_want_bool(ctx, j, "split", where, true, &s->split));
    ASC_TRY(asc_want_bool(ctx, j, "add_prefix_space", where, true, &prefix)); /* files before version 0.15 */
    ASC_TRY(asc_want_str_or(ctx, j, "prepend_scheme", where, &scheme));
    s->prepend = prefix ? ASC_PREPEND_ALWAYS : ASC_PREPEND_NEVER;
    if (scheme.ptr == NULL) return ASC_OK;
    if (asc_view_eqs(scheme, "always")) {
        s->prepend = ASC_PREPEND_ALWAYS;
    } else if (asc_view_eqs(scheme, "first")) {
        s->prepend = ASC_PREPEND_FIRST;
    } else if (asc_view_eqs(scheme, "never")) {
        s->prepend = ASC_PREPEND_NEVER;
    } else {
        scheme = asc_view_cut(scheme, 64);
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                      "%s: \"prepend_scheme\" is '" ASC_VIEW_FMT "', not always, first or never", where,
                      ASC_VIEW_ARG(scheme));
    }
done:
    return st;
}

static asc_status fill(asc_ctx *ctx, asc_split_step *s, const asc_json *j) {
    asc_status st = ASC_OK;
    asc_view text;
    bool flag;
    int64_t n;
    switch (s->kind) {
    case ASC_SPLIT_BYTE_LEVEL:
        ASC_TRY(asc_want_bool(ctx, j, "add_prefix_space", where, true, &s->prefix_space));
        ASC_TRY(asc_want_bool(ctx, j, "use_regex", where, true, &flag));
        if (flag) ASC_TRY(asc_pattern_create(ctx, asc_view_of(gpt2), true, &s->pattern));
        break;
    case ASC_SPLIT_PATTERN:
        ASC_TRY(asc_want_pattern(ctx, j, where, &text, &flag));
        ASC_TRY(behavior(ctx, j, &s->behavior));
        ASC_TRY(asc_want_bool(ctx, j, "invert", where, false, &s->invert));
        ASC_TRY(asc_pattern_create(ctx, text, flag, &s->pattern));
        break;
    case ASC_SPLIT_PUNCTUATION:
        ASC_TRY(behavior(ctx, j, &s->behavior));
        break;
    case ASC_SPLIT_DIGITS:
        ASC_TRY(asc_want_bool(ctx, j, "individual_digits", where, false, &flag));
        s->behavior = flag ? ASC_SPLIT_ISOLATED : ASC_SPLIT_CONTIGUOUS;
        break;
    case ASC_SPLIT_METASPACE:
        ASC_TRY(metaspace(ctx, s, j));
        break;
    case ASC_SPLIT_CHAR:
        ASC_TRY(mark(ctx, s, j, "delimiter"));
        break;
    case ASC_SPLIT_FIXED:
        ASC_TRY(asc_want_int(ctx, j, "length", where, 1, INT32_MAX, 5, &n));
        s->length = (size_t)n;
        break;
    default:
        break;
    }
done:
    return st;
}

static const asc_want_steps section = {where, types, sizeof types / sizeof *types, known,
                                       sizeof(asc_split_step)};

static asc_status add(asc_ctx *ctx, void *self, asc_view type, const asc_json *j) {
    asc_splitter *s = self;
    int kind;
    asc_status st = asc_want_step(ctx, &section, type, (void **)&s->v, s->n, &s->cap, &kind);
    if (st != ASC_OK) return st;
    s->v[s->n].kind = (asc_split_kind)kind;
    return fill(ctx, &s->v[s->n++], j);
}

asc_status asc_splitter_init(asc_ctx *ctx, asc_splitter *s, const asc_json *j) {
    *s = (asc_splitter){0};
    return asc_json_typeof(j) == ASC_JSON_NULL ? ASC_OK
                                               : asc_want_each(ctx, j, where, "pretokenizers", add, s);
}

void asc_splitter_deinit(asc_ctx *ctx, asc_splitter *s) {
    for (size_t i = 0; i < s->n; i++) asc_pattern_destroy(ctx, s->v[i].pattern);
    asc_free(ctx, s->v);
    *s = (asc_splitter){0};
}
