/* word_model_json.c - reads the "model" section of a tokenizer file. */
#include "json_want.h"
#include "plain.h"
#include "vocab.h"
#include "word_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char where[] = "model";

/* Names by id, borrowed from the document. */
typedef struct vocab {
    asc_view *name; /* {NULL, 0} = hole */
    size_t n, n_entries;
} vocab;

static asc_status bad_entry(asc_ctx *ctx, asc_view name, const char *what, int64_t id) {
    asc_view cut = asc_view_cut(name, 64);
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "model: \"vocab\": '" ASC_VIEW_FMT "' %s %lld",
                    ASC_VIEW_ARG(cut), what, (long long)id);
}

/* Ids may have holes, but not so that a small file asks for much memory. */
static int64_t largest_id(size_t entries) {
    uint64_t most = 4 * (uint64_t)entries + 65536;
    return most < ASC_TOK_MAX_TOKENS ? (int64_t)most : ASC_TOK_MAX_TOKENS - 1;
}

static asc_status check_name(asc_ctx *ctx, asc_view name, size_t *total) {
    *total += name.len;
    if (name.len > ASC_TOK_MAX_PIECE)
        return bad_entry(ctx, name, "is too long; a token has at most bytes:", ASC_TOK_MAX_PIECE);
    return ASC_OK;
}

static asc_status alloc_names(asc_ctx *ctx, vocab *v, size_t n) {
    v->n = n;
    v->name = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *v->name);
    return v->name != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* {"token": id, ...} */
static asc_status read_map(asc_ctx *ctx, const asc_json *j, vocab *v) {
    asc_status st = ASC_OK;
    const asc_json *map = asc_json_get(j, "vocab"), *value;
    void *iter = NULL;
    asc_view name;
    int64_t most = -1;
    size_t total = 0;
    ASC_TRY(asc_want_object(ctx, map, "model: \"vocab\""));
    v->n_entries = asc_json_len(map);
    int64_t limit = largest_id(v->n_entries);
    while (asc_json_next(map, &iter, &name, &value)) {
        int64_t id = asc_json_int(value, -1);
        if (asc_json_typeof(value) != ASC_JSON_INT || id < 0 || id > limit)
            ASC_TRY(bad_entry(ctx, name, "has an id that is no number from 0 to", limit));
        ASC_TRY(check_name(ctx, name, &total));
        if (id > most) most = id;
    }
    ASC_TRY(alloc_names(ctx, v, (size_t)(most + 1)));
    iter = NULL;
    while (asc_json_next(map, &iter, &name, &value)) {
        asc_view *slot = &v->name[asc_json_int(value, 0)];
        if (slot->ptr != NULL)
            ASC_TRY(bad_entry(ctx, name, "has the id of another token:", asc_json_int(value, 0)));
        *slot = name;
    }
done:
    return st;
}

/* [["token", score], ...] */
static asc_status read_scores(asc_ctx *ctx, const asc_json *j, vocab *v) {
    asc_status st = ASC_OK;
    const asc_json *list;
    size_t total = 0;
    ASC_TRY(asc_want_list(ctx, j, "vocab", where, &list));
    v->n_entries = asc_json_len(list);
    if (v->n_entries > ASC_TOK_MAX_TOKENS)
        ASC_TRY(ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "model: \"vocab\" has more than %d tokens",
                         ASC_TOK_MAX_TOKENS));
    ASC_TRY(alloc_names(ctx, v, v->n_entries));
    for (size_t i = 0; i < v->n; i++) {
        const asc_json *pair = asc_json_at(list, i), *score = asc_json_at(pair, 1);
        asc_json_type t = asc_json_typeof(score);
        v->name[i] = asc_json_str(asc_json_at(pair, 0));
        if (asc_json_typeof(pair) != ASC_JSON_ARRAY || asc_json_len(pair) != 2 || v->name[i].ptr == NULL ||
            (t != ASC_JSON_INT && t != ASC_JSON_REAL)) {
            ASC_TRY(
                ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "model: \"vocab\"[%zu] is not [\"token\", score]", i));
        }
        ASC_TRY(check_name(ctx, v->name[i], &total));
    }
done:
    return st;
}

/* Those of lists, in the order of their ids. */
static asc_status read_lists(asc_ctx *ctx, const asc_word_lists *l, vocab *v) {
    asc_status st = ASC_OK;
    size_t total = 0;
    if (l->n_tokens > ASC_TOK_MAX_TOKENS)
        ASC_TRY(ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "more than %d tokens", ASC_TOK_MAX_TOKENS));
    v->n_entries = l->n_tokens;
    ASC_TRY(alloc_names(ctx, v, l->n_tokens));
    for (size_t i = 0; i < v->n; i++) {
        v->name[i] = l->token(l->self, i);
        ASC_TRY(check_name(ctx, v->name[i], &total));
    }
done:
    return st;
}

static asc_status keep_names(asc_ctx *ctx, asc_word_model *m, const vocab *v) {
    asc_status st = ASC_OK;
    ASC_TRY(asc_pieces_init(ctx, &m->names, v->n));
    for (size_t i = 0; i < v->n; i++) {
        asc_view t = v->name[i];
        ASC_TRY(asc_pieces_reserve(ctx, &m->names, t.len + 1));
        if (t.len > 0) memcpy(m->names.bytes + m->names.bytes_len, t.ptr, t.len);
        asc_pieces_push(&m->names, t.len, ASC_TOKEN_NORMAL, t.ptr != NULL);
    }
    m->n_entries = v->n_entries;
done:
    return st;
}

/* The tokens "<0x00>" to "<0xFF>". */
static void find_bytes(const asc_word_model *m, int32_t byte_id[256]) {
    for (unsigned b = 0; b < 256; b++) {
        char name[] = "<0x00>";
        name[3] = "0123456789ABCDEF"[b >> 4];
        name[4] = "0123456789ABCDEF"[b & 15];
        byte_id[b] = asc_pieces_find(&m->names, (asc_view){name, 6}, ASC_PIECES_ALL);
    }
}

static asc_status find_unk(asc_ctx *ctx, asc_word_model *m, asc_view name) {
    m->unk = -1;
    if (name.ptr == NULL) return ASC_OK;
    m->unk = asc_pieces_find(&m->names, name, ASC_PIECES_ALL);
    if (m->unk < 0) {
        name = asc_view_cut(name, 64);
        asc_logf(ctx, ASC_LOG_WARN, "model: the unknown token '" ASC_VIEW_FMT "' is not in the vocabulary",
                 ASC_VIEW_ARG(name));
    }
    return ASC_OK;
}

static asc_status bad_merge(asc_ctx *ctx, size_t i, const char *what, asc_view piece) {
    piece = asc_view_cut(piece, 64);
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "model: \"merges\"[%zu] %s '" ASC_VIEW_FMT "'", i, what,
                    ASC_VIEW_ARG(piece));
}

static bool split_text(asc_view v, asc_view *left, asc_view *right) {
    const char *gap = v.len > 0 ? memchr(v.ptr, ' ', v.len) : NULL;
    if (gap == NULL) return false;
    *left = (asc_view){v.ptr, (size_t)(gap - v.ptr)};
    *right = (asc_view){gap + 1, v.len - left->len - 1};
    return memchr(right->ptr, ' ', right->len) == NULL;
}

/* "left right" or ["left", "right"]. */
static bool split_merge(const asc_json *j, asc_view *left, asc_view *right) {
    if (asc_json_typeof(j) != ASC_JSON_ARRAY) return split_text(asc_json_str(j), left, right);
    *left = asc_json_str(asc_json_at(j, 0));
    *right = asc_json_str(asc_json_at(j, 1));
    return asc_json_len(j) == 2 && left->ptr != NULL && right->ptr != NULL;
}

static asc_status add_merge(asc_ctx *ctx, asc_word_model *m, size_t i, asc_view left, asc_view right,
                            char *room) {
    int32_t l = asc_pieces_find(&m->names, left, ASC_PIECES_ALL);
    int32_t r = asc_pieces_find(&m->names, right, ASC_PIECES_ALL);
    if (l < 0) return bad_merge(ctx, i, "joins what is no token:", left);
    if (r < 0) return bad_merge(ctx, i, "joins what is no token:", right);
    if (right.len < m->bpe.prefix_len) return bad_merge(ctx, i, "joins a token without the prefix:", right);
    size_t tail = right.len - m->bpe.prefix_len;
    memcpy(room, left.ptr, left.len);
    memcpy(room + left.len, right.ptr + m->bpe.prefix_len, tail);
    asc_view whole = {room, left.len + tail};
    int32_t id = asc_pieces_find(&m->names, whole, ASC_PIECES_ALL);
    if (id < 0) return bad_merge(ctx, i, "makes what is no token:", whole);
    asc_merge_table_set(&m->bpe.merges, (asc_merge){l, r, (uint32_t)i, id});
    return ASC_OK;
}

/* By rank, from the document or from lists. */
static asc_status read_merges(asc_ctx *ctx, asc_word_model *m, const asc_json *j,
                              const asc_word_lists *lists) {
    asc_status st = ASC_OK;
    const asc_json *merges = NULL;
    char *room = NULL;
    if (lists == NULL) ASC_TRY(asc_want_list(ctx, j, "merges", where, &merges));
    const size_t n = lists != NULL ? lists->n_merges : asc_json_len(merges);
    if (n > ASC_TOK_MAX_MERGES)
        ASC_TRY(ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "model: \"merges\" has more than %d entries",
                         ASC_TOK_MAX_MERGES));
    room = asc_alloc(ctx, ASC_MEM_TOKENIZER, 2 * ASC_TOK_MAX_PIECE);
    if (room == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
    ASC_TRY(asc_merge_table_init(ctx, &m->bpe.merges, n));
    for (size_t i = 0; i < n; i++) {
        const asc_json *at = lists == NULL ? asc_json_at(merges, i) : NULL;
        const asc_view text = lists != NULL ? lists->merge(lists->self, i) : asc_json_str(at);
        asc_view left = {NULL, 0}, right = {NULL, 0};
        if (lists == NULL && asc_view_starts(text, asc_view_of("#version"))) continue; /* of a merges.txt */
        if (lists != NULL ? !split_text(text, &left, &right) : !split_merge(at, &left, &right))
            ASC_TRY(bad_merge(ctx, i, "is not two tokens with a space between them, nor a pair:", text));
        ASC_TRY(add_merge(ctx, m, i, left, right, room));
    }
done:
    asc_free(ctx, room);
    return st;
}

static asc_status keep_affix(asc_ctx *ctx, const asc_json *j, const char *key, char **out, size_t *len) {
    asc_view v;
    asc_status st = asc_want_str_or(ctx, j, key, where, &v);
    if (st != ASC_OK) return st;
    if (v.len > ASC_TOK_MAX_PIECE)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "model: \"%s\" has more than %d bytes", key,
                        ASC_TOK_MAX_PIECE);
    *out = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, v);
    *len = v.len;
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status read_bpe(asc_ctx *ctx, asc_word_model *m, const asc_json *j, const asc_word_lists *lists) {
    asc_status st = ASC_OK;
    asc_merge_model *b = &m->bpe;
    asc_view unk;
    ASC_TRY(asc_want_str_or(ctx, j, "unk_token", where, &unk));
    ASC_TRY(find_unk(ctx, m, unk));
    b->unk = m->unk;
    ASC_TRY(keep_affix(ctx, j, "continuing_subword_prefix", &b->prefix, &b->prefix_len));
    ASC_TRY(keep_affix(ctx, j, "end_of_word_suffix", &b->suffix, &b->suffix_len));
    ASC_TRY(asc_want_bool(ctx, j, "fuse_unk", where, false, &b->fuse_unk));
    ASC_TRY(asc_want_bool(ctx, j, "ignore_merges", where, false, &b->ignore_merges));
    ASC_TRY(asc_want_bool(ctx, j, "byte_fallback", where, false, &m->byte_fallback));
    if (asc_json_num(asc_json_get(j, "dropout"), 0.0) != 0.0)
        asc_logf(ctx, ASC_LOG_INFO, "model: \"dropout\" is for training and not applied");
    b->has_bytes = m->byte_fallback;
    find_bytes(m, b->byte_id);
    for (uint32_t cp = 0; cp < 2048; cp++) {
        char utf8[4];
        size_t n = asc_utf8_encode(cp, utf8);
        b->quick[cp] = asc_pieces_find(&m->names, (asc_view){utf8, n}, ASC_PIECES_ALL);
    }
    ASC_TRY(read_merges(ctx, m, j, lists));
done:
    return st;
}

static asc_view name_at(void *self, size_t i) { return ((const vocab *)self)->name[i]; }

static asc_status read_wordpiece(asc_ctx *ctx, asc_word_model *m, const asc_json *j, vocab *v) {
    asc_status st = ASC_OK;
    asc_view unk;
    int64_t most;
    asc_wordpiece_spec spec = {.self = v, .n_tokens = v->n, .token = name_at};
    ASC_TRY(asc_want_str_or(ctx, j, "unk_token", where, &unk));
    ASC_TRY(find_unk(ctx, m, unk.ptr != NULL ? unk : asc_view_of("[UNK]")));
    ASC_TRY(asc_want_str_or(ctx, j, "continuing_subword_prefix", where, &spec.inside));
    if (spec.inside.ptr == NULL) spec.inside = asc_view_of("##");
    ASC_TRY(asc_want_int(ctx, j, "max_input_chars_per_word", where, 0, INT32_MAX, 100, &most));
    spec.unk = m->unk;
    spec.max_chars = (size_t)most;
    ASC_TRY(asc_wordpiece_init(ctx, &m->wordpiece, &spec));
done:
    return st;
}

typedef struct scored {
    const vocab *v;
    const asc_json *list;
} scored;
static asc_view scored_name(void *self, size_t i) { return ((const scored *)self)->v->name[i]; }

/* The number that the program which defines these files makes of the decimals that v stands for: its reader
 * (serde_json 1.0, without the feature float_roundtrip) rounds the digits to a double and divides by a power
 * of ten, which is up to a unit in the last place away from v. That decides between paths of equal sums, as
 * those of a run of one letter. */
static double as_read_there(double v) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[40];
    uint64_t digits = 0;
    int shift = 0;
    bool fraction = false;
    const char *c = text;
    if (!isfinite(v)) return v;
    asc_snprintf(text, sizeof text, "%.*e", asc_json_digits(v) - 1, fabs(v));
    for (; *c != '\0' && *c != 'e'; c++) {
        if (*c < '0' || *c > '9') {
            fraction = true;
            continue;
        }
        digits = 10 * digits + (uint64_t)(*c - '0');
        shift -= fraction;
    }
    shift += *c == 'e' ? (int)strtol(c + 1, NULL, 10) : 0;
    if (shift < -22 || shift > 22) return v; /* no score of a language */
    double x = shift < 0 ? (double)digits / tens[-shift] : (double)digits * tens[shift];
    return copysign(x, v);
}

static double scored_score(void *self, size_t i) {
    return as_read_there(asc_json_num(asc_json_at(asc_json_at(((const scored *)self)->list, i), 1), 0.0));
}

static asc_status read_unigram(asc_ctx *ctx, asc_word_model *m, const asc_json *j, const vocab *v,
                               const asc_word_lists *lists) {
    asc_status st = ASC_OK;
    int64_t unk;
    int32_t byte_id[256];
    scored self = {v, asc_json_get(j, "vocab")};
    asc_unigram_spec spec = {.self = &self, .n_tokens = v->n, .token = scored_name, .score = scored_score};
    if (lists != NULL) {
        spec.self = lists->self;
        spec.token = lists->token;
        spec.score = lists->score;
    }
    ASC_TRY(asc_want_int(ctx, j, "unk_id", where, -1, (int64_t)v->n - 1, -1, &unk));
    ASC_TRY(asc_want_bool(ctx, j, "byte_fallback", where, false, &m->byte_fallback));
    m->unk = spec.unk = (int32_t)unk;
    find_bytes(m, byte_id);
    if (m->byte_fallback) spec.byte_id = byte_id;
    ASC_TRY(asc_unigram_init(ctx, &m->unigram, &spec));
done:
    return st;
}

asc_status asc_word_model_init(asc_ctx *ctx, asc_word_model *m, const asc_json *j,
                               const asc_word_lists *lists) {
    static const char *const types[] = {"BPE", "WordPiece", "Unigram", "WordLevel"};
    asc_status st = ASC_OK;
    vocab v = {0};
    asc_view type, unk;
    *m = (asc_word_model){.unk = -1};
    ASC_TRY(asc_want_object(ctx, j, where));
    ASC_TRY(asc_want_str_or(ctx, j, "type", where, &type));
    /* Files of the first versions do not say: only BPE has merges, only Unigram scores. */
    if (type.ptr == NULL)
        type = asc_view_of(asc_json_get(j, "merges") != NULL                             ? "BPE"
                           : asc_json_typeof(asc_json_get(j, "vocab")) == ASC_JSON_ARRAY ? "Unigram"
                                                                                         : "WordPiece");
    size_t kind = 0;
    while (kind < 4 && !asc_view_eqs(type, types[kind])) kind++;
    if (kind == 4) ASC_TRY(asc_want_unknown(ctx, where, type, "BPE, WordPiece, Unigram, WordLevel"));
    m->kind = (asc_word_model_kind)kind;
    ASC_TRY(lists != NULL                  ? read_lists(ctx, lists, &v)
            : m->kind == ASC_MODEL_UNIGRAM ? read_scores(ctx, j, &v)
                                           : read_map(ctx, j, &v));
    ASC_TRY(keep_names(ctx, m, &v));
    switch (m->kind) {
    case ASC_MODEL_BPE:
        ASC_TRY(read_bpe(ctx, m, j, lists));
        break;
    case ASC_MODEL_WORDPIECE:
        ASC_TRY(read_wordpiece(ctx, m, j, &v));
        break;
    case ASC_MODEL_UNIGRAM:
        ASC_TRY(read_unigram(ctx, m, j, &v, lists));
        break;
    case ASC_MODEL_WORDLEVEL:
        ASC_TRY(asc_want_str_or(ctx, j, "unk_token", where, &unk));
        ASC_TRY(find_unk(ctx, m, unk));
        break;
    }
done:
    asc_free(ctx, v.name);
    return st;
}
