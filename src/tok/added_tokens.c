/* added_tokens.c - see added_tokens.h. */
#include "added_tokens.h"
#include "char_sets.h"
#include "json_want.h"
#include "vocab.h"

static const char where[] = "added_tokens";

asc_added_token *asc_added_find(const asc_added *a, asc_view content) {
    int32_t i = asc_pieces_find(&a->contents, content, ASC_PIECES_ALL);
    return i >= 0 ? &a->v[i] : NULL;
}

/* Appends a piece to a list that has room for it. */
static asc_status push_piece(asc_ctx *ctx, asc_pieces *p, asc_view v, bool listed) {
    asc_status st = asc_pieces_reserve(ctx, p, v.len + 1);
    if (st != ASC_OK) return st;
    if (v.len > 0) memcpy(p->bytes + p->bytes_len, v.ptr, v.len);
    asc_pieces_push(p, v.len, ASC_TOKEN_CONTROL, listed);
    return ASC_OK;
}

/* The number that a new token gets. */
static int64_t next_id(const asc_added *a, const asc_word_model *m) {
    int64_t n = (int64_t)m->n_entries;
    return a->max_id < 0 ? n : a->max_id >= n || n == 0 ? (int64_t)a->max_id + 1 : n;
}

static asc_status read_flags(asc_ctx *ctx, asc_added_token *t, const asc_json *j) {
    asc_status st = ASC_OK;
    ASC_TRY(asc_want_bool(ctx, j, "single_word", where, false, &t->single_word));
    ASC_TRY(asc_want_bool(ctx, j, "lstrip", where, false, &t->lstrip));
    ASC_TRY(asc_want_bool(ctx, j, "rstrip", where, false, &t->rstrip));
    ASC_TRY(asc_want_bool(ctx, j, "special", where, false, &t->special));
    ASC_TRY(asc_want_bool(ctx, j, "normalized", where, !t->special, &t->normalized));
done:
    return st;
}

static asc_status add(asc_ctx *ctx, asc_added *a, const asc_json *j, const asc_word_model *m) {
    asc_status st = ASC_OK;
    asc_view content;
    int64_t id, given;
    ASC_TRY(asc_want_object(ctx, j, "added_tokens: an entry"));
    ASC_TRY(asc_want_str(ctx, j, "content", where, &content));
    ASC_TRY(asc_want_int(ctx, j, "id", where, 0, UINT32_MAX, -1, &given));
    if (content.len == 0) return ASC_OK;
    if (content.len > ASC_TOK_MAX_PIECE)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: token %lld has more than %d bytes", where,
                        (long long)given, ASC_TOK_MAX_PIECE);
    asc_added_token *t = asc_added_find(a, content);
    if (t != NULL) return read_flags(ctx, t, j); /* once more: the later word holds */
    id = asc_word_model_find(m, content);
    if (id < 0) id = next_id(a, m);
    if (id >= ASC_TOK_MAX_TOKENS)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "%s: more than %d tokens", where, ASC_TOK_MAX_TOKENS);
    if (id != given) {
        asc_view cut = asc_view_cut(content, 64);
        asc_logf(ctx, ASC_LOG_WARN, "added_tokens: '" ASC_VIEW_FMT "' is token %lld, the file says %lld",
                 ASC_VIEW_ARG(cut), (long long)id, (long long)given);
    }
    ASC_TRY(asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&a->v, &a->cap, a->n + 1, sizeof *a->v));
    a->v[a->n] = (asc_added_token){
        .content = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, content), .len = content.len, .id = (int32_t)id};
    t = &a->v[a->n];
    if (t->content == NULL) return ASC_RESOURCE_EXHAUSTED;
    a->n++;
    ASC_TRY(push_piece(ctx, &a->contents, content, true));
    if (id > a->max_id) a->max_id = (int32_t)id;
    ASC_TRY(read_flags(ctx, t, j));
done:
    return st;
}

static asc_status put(asc_ctx *ctx, asc_added_set *s, asc_view content, size_t which) {
    s->which[s->contents.n] = which;
    return push_piece(ctx, &s->contents, content, false);
}

/* Special tokens stand first. Of two with the same text the last is found, as in the program that defines
 * this: the matcher takes the smallest number among equals, so the list is filled from its end. */
static asc_status fill_set(asc_ctx *ctx, asc_added *a, bool normalized, const asc_normalizer *n,
                           asc_added_set *s) {
    asc_status st = ASC_OK;
    asc_norm_scratch scratch;
    asc_aligned text = {.ctx = ctx};
    asc_norm_scratch_init(ctx, &scratch);
    ASC_TRY(asc_pieces_init(ctx, &s->contents, a->n));
    s->which = asc_calloc(ctx, ASC_MEM_TOKENIZER, a->n + 1, sizeof *s->which);
    if (s->which == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
    for (int special = 0; special <= 1; special++) {
        for (size_t i = a->n; i-- > 0;) {
            asc_added_token *t = &a->v[i];
            if (t->special != (special == 1) || t->normalized != normalized) continue;
            text.len = 0;
            ASC_TRY(asc_aligned_load(&text, (asc_view){t->content, t->len}, 0));
            if (normalized) ASC_TRY(asc_normalize(ctx, n, &text, 0, false, &scratch));
            t->shown = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, asc_aligned_view(&text));
            t->shown_len = text.len;
            if (t->shown == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
            ASC_TRY(put(ctx, s, asc_aligned_view(&text), i));
        }
    }
    ASC_TRY(asc_special_set_init(ctx, &s->set, &s->contents));
done:
    asc_norm_scratch_deinit(&scratch);
    asc_aligned_deinit(&text);
    return st;
}

asc_status asc_added_init(asc_ctx *ctx, asc_added *a, const asc_json *list, const asc_word_model *m,
                          const asc_normalizer *n) {
    asc_status st = ASC_OK;
    *a = (asc_added){.max_id = -1};
    if (asc_json_typeof(list) != ASC_JSON_NULL && asc_json_typeof(list) != ASC_JSON_ARRAY)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s is %s, not a list", where, asc_want_type_name(list));
    ASC_TRY(asc_pieces_init(ctx, &a->contents, asc_json_len(list)));
    for (size_t i = 0; i < asc_json_len(list); i++) ASC_TRY(add(ctx, a, asc_json_at(list, i), m));
    ASC_TRY(fill_set(ctx, a, false, n, &a->raw));
    ASC_TRY(fill_set(ctx, a, true, n, &a->normalized));
done:
    return st;
}

static void set_deinit(asc_ctx *ctx, asc_added_set *s) {
    asc_pieces_deinit(ctx, &s->contents);
    asc_special_set_deinit(ctx, &s->set);
    asc_free(ctx, s->which);
}

void asc_added_deinit(asc_ctx *ctx, asc_added *a) {
    for (size_t i = 0; i < a->n; i++) {
        asc_free(ctx, a->v[i].content);
        asc_free(ctx, a->v[i].shown);
    }
    asc_free(ctx, a->v);
    asc_pieces_deinit(ctx, &a->contents);
    set_deinit(ctx, &a->raw);
    set_deinit(ctx, &a->normalized);
    *a = (asc_added){0};
}

/* The character that ends at `at`, or 0. */
static uint32_t before(asc_view t, size_t at, size_t *len) {
    uint32_t cp = 0;
    size_t i = at;
    while (i > 0 && at - i < 4) {
        if (((unsigned char)t.ptr[--i] & 0xC0) != 0x80) break;
    }
    *len = at - i;
    if (at > 0) asc_utf8_decode(t.ptr + i, at - i, &cp, NULL);
    return cp;
}

static bool word_at(asc_view t, size_t at) {
    uint32_t cp;
    if (at >= t.len) return false;
    asc_utf8_decode(t.ptr + at, t.len - at, &cp, NULL);
    return asc_char_is_word(cp);
}

static bool alone(asc_view t, size_t start, size_t end) {
    size_t n;
    return !(start > 0 && asc_char_is_word(before(t, start, &n))) && !word_at(t, end);
}

static size_t strip_left(asc_view t, size_t start, size_t limit) {
    size_t n;
    while (start > limit && asc_char_is_space(before(t, start, &n))) start -= n;
    return start < limit ? limit : start;
}

static size_t strip_right(asc_view t, size_t end) {
    while (end < t.len) {
        uint32_t cp;
        size_t n = asc_utf8_decode(t.ptr + end, t.len - end, &cp, NULL);
        if (!asc_char_is_space(cp)) break;
        end += n;
    }
    return end;
}

static bool filtered(const asc_added_token *t, uint32_t from, uint32_t to, const asc_added_filter *f) {
    if (!t->special) return false;
    if (!f->special) return true;
    size_t lo = 0, hi = f->n_plain; /* the first plain range that ends behind `from` */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->plain[mid].end <= from) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < f->n_plain && f->plain[lo].start < to;
}

asc_status asc_added_cut(asc_ctx *ctx, const asc_added *a, const asc_added_set *set, const asc_aligned *text,
                         size_t start, size_t end, const asc_added_filter *filter, asc_sections *out) {
    asc_status st = ASC_OK;
    asc_view t = {text->bytes + start, end - start};
    size_t done = 0; /* bytes of t that are in a section */
    for (size_t pos = 0; pos < t.len && set->set.n > 0;) {
        if ((pos & 4095) == 0) ASC_TRY(asc_poll_cancel(ctx));
        int32_t i = asc_special_at(&set->set, &set->contents, t, pos, t.len, t.len);
        if (i < 0) {
            pos++;
            continue;
        }
        const asc_added_token *x = &a->v[set->which[i]];
        size_t first = pos, last = pos + asc_pieces_at(&set->contents, (size_t)i).len;
        pos = last; /* what is passed over is not looked at again */
        if (x->single_word && !alone(t, first, last)) continue;
        if (filtered(x, text->from[start + first], text->to[start + last - 1], filter)) continue;
        if (x->lstrip) first = strip_left(t, first, done);
        if (x->rstrip) last = strip_right(t, last);
        if (done < first)
            ASC_TRY(asc_sections_add(
                out, (asc_section){start + done, start + first, text->from[start + done], -1, 0, 0}));
        if (first < last)
            ASC_TRY(asc_sections_add(
                out, (asc_section){start + first, start + last, text->from[start + first], x->id,
                                   text->from[start + first], text->to[start + last - 1]}));
        done = last;
    }
    if (done < t.len)
        ASC_TRY(asc_sections_add(out, (asc_section){start + done, end, text->from[start + done], -1, 0, 0}));
done:
    return st;
}
