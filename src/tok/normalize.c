/* normalize.c - runs the steps of a normaliser. */
#include "char_sets.h"
#include "normalizer.h"
#include "unicode_forms.h"

void asc_norm_scratch_init(asc_ctx *ctx, asc_norm_scratch *s) {
    *s = (asc_norm_scratch){.other = {.ctx = ctx}, .changes = {.ctx = ctx}, .cuts = {.ctx = ctx}};
}

void asc_norm_scratch_deinit(asc_norm_scratch *s) {
    asc_aligned_deinit(&s->other);
    asc_free(s->changes.ctx, s->changes.v);
    asc_free(s->cuts.ctx, s->cuts.v);
}

/* What was written to `other` becomes the text. */
static void exchange(asc_aligned *text, asc_norm_scratch *s) {
    asc_aligned t = *text;
    *text = s->other;
    s->other = t;
    s->other.len = 0;
}

static asc_status apply(asc_aligned *text, size_t base, size_t removed, asc_norm_scratch *s) {
    s->other.len = 0;
    asc_status st = asc_aligned_change(&s->other, text, 0, text->len, base, &s->changes, removed);
    if (st == ASC_OK) exchange(text, s);
    return st;
}

/* Drops characters: the kept one before them remembers how many. */
static asc_status filter(asc_aligned *text, size_t base, bool (*drop)(uint32_t cp), asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    size_t removed = 0;
    bool any = false;
    s->changes.n = 0;
    for (size_t i = 0; i < text->len;) {
        uint32_t cp;
        i += asc_utf8_decode(text->bytes + i, text->len - i, &cp, NULL);
        if (!drop(cp)) {
            ASC_TRY(asc_changes_add(&s->changes, cp, 0));
        } else if (s->changes.n > 0) {
            s->changes.v[s->changes.n - 1].change--;
            any = true;
        } else {
            removed++;
        }
    }
    if (any || removed > 0) st = apply(text, base, removed, s);
done:
    return st;
}

/* Exchanges characters one for one. */
static asc_status map(asc_aligned *text, size_t base, uint32_t (*to)(uint32_t cp), asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    bool any = false;
    s->changes.n = 0;
    for (size_t i = 0; i < text->len;) {
        uint32_t cp;
        i += asc_utf8_decode(text->bytes + i, text->len - i, &cp, NULL);
        uint32_t now = to(cp);
        any |= now != cp;
        ASC_TRY(asc_changes_add(&s->changes, now, 0));
    }
    if (any) st = apply(text, base, 0, s);
done:
    return st;
}

static asc_status lowercase(asc_aligned *text, size_t base, asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    s->changes.n = 0;
    for (size_t i = 0; i < text->len;) {
        uint32_t cp;
        i += asc_utf8_decode(text->bytes + i, text->len - i, &cp, NULL);
        if (cp == 0x130) { /* I with a dot: i and a dot above */
            ASC_TRY(asc_changes_add(&s->changes, 'i', 0));
            ASC_TRY(asc_changes_add(&s->changes, 0x307, 1));
        } else {
            ASC_TRY(asc_changes_add(&s->changes, asc_char_lower(cp), 0));
        }
    }
    st = apply(text, base, 0, s);
done:
    return st;
}

static asc_status strip(asc_aligned *text, size_t base, bool left, bool right, asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    size_t first = 0, removed = 0, last = 0, n = 0; /* visible text is [first, last) */
    bool seen = false;
    for (size_t i = 0; i < text->len; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(text->bytes + i, text->len - i, &cp, NULL);
        bool blank = asc_char_is_space(cp);
        if (!seen && blank && left) {
            first = i + n;
            removed++;
        } else if (!blank || !left) {
            seen = true;
        }
        if (!blank) last = i + n;
    }
    if (!right) last = text->len;
    if (last < first) last = first;
    if (first == 0 && last == text->len) return ASC_OK;
    s->changes.n = 0;
    for (size_t i = first; i < last; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(text->bytes + i, text->len - i, &cp, NULL);
        ASC_TRY(asc_changes_add(&s->changes, cp, 0));
    }
    st = apply(text, base, removed, s);
done:
    return st;
}

static bool bert_drops(uint32_t cp) { return asc_char_is_control(cp); }
static uint32_t bert_blank(uint32_t cp) { return asc_char_is_space(cp) ? ' ' : cp; }

static asc_status chinese(asc_aligned *text, size_t base, asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    s->changes.n = 0;
    for (size_t i = 0; i < text->len;) {
        uint32_t cp;
        i += asc_utf8_decode(text->bytes + i, text->len - i, &cp, NULL);
        bool is = cp >= 0x3400 && asc_char_is_chinese(cp);
        if (is) ASC_TRY(asc_changes_add(&s->changes, ' ', 0));
        ASC_TRY(asc_changes_add(&s->changes, cp, is));
        if (is) ASC_TRY(asc_changes_add(&s->changes, ' ', 1));
    }
    st = apply(text, base, 0, s);
done:
    return st;
}

static asc_status unicode_form(asc_aligned *text, size_t base, asc_unicode_form form, asc_norm_scratch *s) {
    asc_status st = asc_unicode_changes(asc_aligned_view(text), form, &s->changes);
    return st == ASC_OK ? apply(text, base, 0, s) : st;
}

static asc_status bert(asc_aligned *text, size_t base, const asc_norm_step *b, asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    if (b->clean_text) {
        ASC_TRY(filter(text, base, bert_drops, s));
        ASC_TRY(map(text, base, bert_blank, s));
    }
    if (b->chinese) ASC_TRY(chinese(text, base, s));
    if (b->strip_accents) {
        ASC_TRY(unicode_form(text, base, ASC_NFD, s));
        ASC_TRY(filter(text, base, asc_char_is_accent, s));
    }
    if (b->lowercase) ASC_TRY(lowercase(text, base, s));
done:
    return st;
}

/* The rules of SentencePiece's nmt_nfkc before NFKC: control characters go, odd spaces become spaces. */
static bool nmt_drops(uint32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
           c == 0x9F;
}
static uint32_t nmt_blank(uint32_t c) {
    bool blank = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                 (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                 c == 0xFFFD;
    return blank ? ' ' : c;
}

static asc_status precompiled(asc_aligned *text, size_t base, const asc_charsmap *m, asc_norm_scratch *s) {
    bool changed = false;
    asc_status st = asc_charsmap_changes(m, asc_aligned_view(text), &s->changes, &changed);
    return st == ASC_OK && changed ? apply(text, base, 0, s) : st;
}

static asc_status step(asc_ctx *ctx, const asc_norm_step *p, asc_aligned *text, size_t base, bool continues,
                       asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    s->other.len = 0;
    switch (p->kind) {
    case ASC_NORM_NFD:
    case ASC_NORM_NFKD:
    case ASC_NORM_NFC:
    case ASC_NORM_NFKC:
        return unicode_form(text, base, (asc_unicode_form)p->kind, s);
    case ASC_NORM_LOWERCASE:
        return lowercase(text, base, s);
    case ASC_NORM_STRIP:
        return strip(text, base, p->left, p->right, s);
    case ASC_NORM_STRIP_ACCENTS:
        return filter(text, base, asc_char_is_mark, s);
    case ASC_NORM_BERT:
        return bert(text, base, p, s);
    case ASC_NORM_REPLACE:
        ASC_TRY(asc_pattern_cut(ctx, p->pattern, asc_aligned_view(text), &s->cuts));
        ASC_TRY(asc_aligned_replace(&s->other, text, 0, text->len, base, &s->cuts,
                                    (asc_view){p->text, p->text_len}));
        exchange(text, s);
        return ASC_OK;
    case ASC_NORM_PREPEND:
        if (continues) return ASC_OK;
        ASC_TRY(asc_aligned_prepend(&s->other, text, 0, text->len, base, (asc_view){p->text, p->text_len}));
        exchange(text, s);
        return ASC_OK;
    case ASC_NORM_BYTE_LEVEL:
        ASC_TRY(asc_aligned_bytes(&s->other, text, 0, text->len, base));
        exchange(text, s);
        return ASC_OK;
    case ASC_NORM_NMT:
        ASC_TRY(filter(text, base, nmt_drops, s));
        return map(text, base, nmt_blank, s);
    case ASC_NORM_PRECOMPILED:
        return precompiled(text, base, &p->map, s);
    }
done:
    return st;
}

asc_status asc_normalize(asc_ctx *ctx, const asc_normalizer *n, asc_aligned *text, size_t base,
                         bool continues, asc_norm_scratch *s) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < n->n && st == ASC_OK; i++) st = step(ctx, &n->v[i], text, base, continues, s);
    return st;
}
