/* segment_word.c - words: cuts between grapheme clusters (utf8proc; Unicode annex 29), before white space and
 * around the characters of scripts that are written without it. */
#include "segment_list.h"
#include "unicode.h"
#include "view.h"
#include <utf8proc.h>

typedef enum kind {
    KIND_SPACE,
    KIND_WORD,  /* part of a run of visible characters */
    KIND_ALONE, /* a word by itself: ideograph, kana, Thai consonant */
    KIND_OPEN,  /* belongs to what follows: opening bracket, Thai vowel written before its consonant */
    KIND_CLOSE  /* belongs to what is before: closing bracket, full stop, small kana */
} kind;

typedef struct range {
    uint32_t first, last;
} range;

static bool within(const range *r, size_t n, uint32_t cp) {
    for (size_t i = 0; i < n; i++) {
        if (cp >= r[i].first && cp <= r[i].last) return true;
    }
    return false;
}
#define WITHIN(table, cp) within(table, sizeof table / sizeof *table, cp)

/* Unicode blocks of scripts without spaces between words (Blocks.txt). */
static const range no_spaces[] = {
    {0x0E00, 0x0EFF},   /* Thai, Lao */
    {0x1000, 0x109F},   /* Myanmar */
    {0x1780, 0x17FF},   /* Khmer */
    {0x2E80, 0x30FF},   /* radicals, CJK punctuation, Hiragana, Katakana */
    {0x31F0, 0x31FF},   /* Katakana extensions */
    {0x3400, 0x4DBF},   /* ideographs */
    {0x4E00, 0x9FFF},   /* ideographs */
    {0xA9E0, 0xA9FF},   /* Myanmar */
    {0xAA60, 0xAA7F},   /* Myanmar */
    {0xF900, 0xFAFF},   /* ideographs */
    {0xFF66, 0xFF9F},   /* half-width Katakana */
    {0x1AFF0, 0x1B16F}, /* Kana supplements */
    {0x20000, 0x3FFFF}, /* ideographs */
};
/* Kana that are never first: line-break class CJ (LineBreak.txt). */
static const range small_kana[] = {
    {0x3041, 0x3041}, {0x3043, 0x3043}, {0x3045, 0x3045}, {0x3047, 0x3047}, {0x3049, 0x3049},
    {0x3063, 0x3063}, {0x3083, 0x3083}, {0x3085, 0x3085}, {0x3087, 0x3087}, {0x308E, 0x308E},
    {0x3095, 0x3096}, {0x30A1, 0x30A1}, {0x30A3, 0x30A3}, {0x30A5, 0x30A5}, {0x30A7, 0x30A7},
    {0x30A9, 0x30A9}, {0x30C3, 0x30C3}, {0x30E3, 0x30E3}, {0x30E5, 0x30E5}, {0x30E7, 0x30E7},
    {0x30EE, 0x30EE}, {0x30F5, 0x30F6}, {0x31F0, 0x31FF}, {0xFF67, 0xFF6F},
};
/* Vowels written before the consonant they follow in speech (property Logical_Order_Exception). */
static const range before_consonant[] = {{0x0E40, 0x0E44}, {0x0EC0, 0x0EC4}};

static kind kind_of(uint32_t cp) {
    if (cp < 0x80) { /* fast; ASCII brackets keep to their run but for the ends of ideographic words */
        if (cp == '(' || cp == '[' || cp == '{') return KIND_OPEN;
        asc_char_class c = asc_char_classify(cp);
        return c == ASC_CHAR_SPACE ? KIND_SPACE : c == ASC_CHAR_OTHER && cp > ' ' ? KIND_CLOSE : KIND_WORD;
    }
    if (asc_char_is_space(cp)) return KIND_SPACE;
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PI:
        return KIND_OPEN;
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_PD:
        return KIND_CLOSE;
    case UTF8PROC_CATEGORY_LM: /* length and repetition marks */
        return WITHIN(no_spaces, cp) ? KIND_CLOSE : KIND_WORD;
    default:
        break;
    }
    if (!WITHIN(no_spaces, cp)) return KIND_WORD;
    if (WITHIN(small_kana, cp)) return KIND_CLOSE;
    return WITHIN(before_consonant, cp) ? KIND_OPEN : KIND_ALONE;
}

/* The grapheme cluster at pos: its kind; *end behind it. */
static kind cluster(asc_view text, size_t pos, size_t *end) {
    uint32_t first, prev, cp;
    utf8proc_int32_t state = 0;
    size_t e = pos + asc_utf8_decode(text.ptr + pos, text.len - pos, &first, NULL);
    bool all_space = asc_char_is_space(first);
    for (prev = first; e < text.len; prev = cp) {
        size_t n = asc_utf8_decode(text.ptr + e, text.len - e, &cp, NULL);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)prev, (utf8proc_int32_t)cp, &state)) break;
        all_space = all_space && asc_char_is_space(cp);
        e += n;
    }
    *end = e;
    kind k = kind_of(first);
    return k == KIND_SPACE && !all_space ? KIND_WORD : k; /* a space that carries an accent is visible */
}

asc_status asc_segment_words(asc_view text, asc_span_list *l) {
    asc_status st = ASC_OK;
    bool visible = false; /* the span being built has something visible */
    bool alone = false;   /* ... a character of the scripts without spaces */
    bool opening = false; /* ... and nothing but punctuation so far, which then belongs to what follows */
    for (size_t pos = 0, end; pos < text.len; pos = end) {
        kind k = cluster(text, pos, &end);
        bool cut = k == KIND_SPACE || (alone && k != KIND_CLOSE) || (k == KIND_ALONE && !opening);
        if (visible && cut) {
            ASC_TRY(asc_span_list_cut(l, pos));
            visible = alone = opening = false;
        }
        if (k == KIND_SPACE) continue;
        opening = (k == KIND_OPEN || k == KIND_CLOSE) && (!visible || opening);
        alone = alone || k == KIND_ALONE;
        visible = true;
    }
    ASC_TRY(asc_span_list_finish(l, text.len, visible));
done:
    return st;
}
