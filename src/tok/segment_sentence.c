/* segment_sentence.c - sentences by rules: a mark that ends one, then closing quotes and brackets, then white
 * space or the end. A full stop may also belong to an abbreviation, a number or an initial; the tables below
 * decide. */
#include "segment_list.h"
#include "unicode.h"
#include "view.h"
#include <utf8proc.h>

typedef enum abbreviation {
    ABBR_NONE,
    ABBR_NEVER_ENDS, /* a name or more words follow: Mr. */
    ABBR_NUMBER,     /* does not end a sentence before a digit: p. 5 */
    ABBR_MAY_END     /* ends one before a capital letter: etc. */
} abbreviation;

static const struct {
    const char *word; /* lower case, without the last full stop */
    abbreviation kind;
} abbreviations[] = {
    {"mr", ABBR_NEVER_ENDS},  {"mrs", ABBR_NEVER_ENDS},    {"ms", ABBR_NEVER_ENDS},
    {"dr", ABBR_NEVER_ENDS},  {"prof", ABBR_NEVER_ENDS},   {"rev", ABBR_NEVER_ENDS},
    {"st", ABBR_NEVER_ENDS},  {"mt", ABBR_NEVER_ENDS},     {"gen", ABBR_NEVER_ENDS},
    {"col", ABBR_NEVER_ENDS}, {"sgt", ABBR_NEVER_ENDS},    {"capt", ABBR_NEVER_ENDS},
    {"lt", ABBR_NEVER_ENDS},  {"gov", ABBR_NEVER_ENDS},    {"sen", ABBR_NEVER_ENDS},
    {"rep", ABBR_NEVER_ENDS}, {"vs", ABBR_NEVER_ENDS},     {"cf", ABBR_NEVER_ENDS},
    {"viz", ABBR_NEVER_ENDS}, {"eg", ABBR_NEVER_ENDS},     {"ie", ABBR_NEVER_ENDS},
    {"ca", ABBR_NEVER_ENDS},  {"approx", ABBR_NEVER_ENDS}, {"resp", ABBR_NEVER_ENDS},
    {"no", ABBR_NUMBER},      {"nr", ABBR_NUMBER},         {"p", ABBR_NUMBER},
    {"pp", ABBR_NUMBER},      {"vol", ABBR_NUMBER},        {"fig", ABBR_NUMBER},
    {"figs", ABBR_NUMBER},    {"eq", ABBR_NUMBER},         {"sec", ABBR_NUMBER},
    {"ch", ABBR_NUMBER},      {"art", ABBR_NUMBER},        {"jan", ABBR_NUMBER},
    {"feb", ABBR_NUMBER},     {"mar", ABBR_NUMBER},        {"apr", ABBR_NUMBER},
    {"jun", ABBR_NUMBER},     {"jul", ABBR_NUMBER},        {"aug", ABBR_NUMBER},
    {"sep", ABBR_NUMBER},     {"sept", ABBR_NUMBER},       {"oct", ABBR_NUMBER},
    {"nov", ABBR_NUMBER},     {"dec", ABBR_NUMBER},        {"etc", ABBR_MAY_END},
    {"al", ABBR_MAY_END},     {"inc", ABBR_MAY_END},       {"ltd", ABBR_MAY_END},
    {"co", ABBR_MAY_END},     {"corp", ABBR_MAY_END},      {"jr", ABBR_MAY_END},
    {"sr", ABBR_MAY_END},     {"dept", ABBR_MAY_END},
};

typedef struct scan {
    asc_view text;
    size_t sentence; /* first visible byte of the sentence being read; SIZE_MAX = none yet */
} scan;

/* The code point at pos, *end behind it; 0 at the end of the text. */
static uint32_t at(asc_view text, size_t pos, size_t *end) {
    uint32_t cp = 0;
    *end = pos;
    if (pos < text.len) *end = pos + asc_utf8_decode(text.ptr + pos, text.len - pos, &cp, NULL);
    return cp;
}

static bool is_wide_stop(uint32_t cp) { /* no white space follows these: 。！？ and the half-width stop */
    return cp == 0x3002 || cp == 0xFF01 || cp == 0xFF1F || cp == 0xFF61;
}

static bool is_stop(uint32_t cp) { /* . ! ? ellipsis, interrobang, Arabic question mark, danda */
    return cp == '.' || cp == '!' || cp == '?' || cp == 0x2026 || cp == 0x203D || cp == 0x061F ||
           cp == 0x0964 || cp == 0x0965;
}

static bool is_closer(uint32_t cp) {
    if (cp < 0x80) return cp != 0 && strchr("\"')]}*_`", (int)cp) != NULL;
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_PE || c == UTF8PROC_CATEGORY_PF;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool
is_letter_byte(char c) { /* bytes of other scripts count, so that their words are not "initials" */
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (unsigned char)c >= 0x80;
}

/* What the word that ends before the full stop at `stop` is. */
static abbreviation abbreviation_at(const scan *s, size_t stop) {
    enum { LONGEST = 12 };
    const char *p = s->text.ptr;
    size_t start = stop, dots = 0, digits = 0;
    while (start > s->sentence && stop - start <= LONGEST) {
        char c = p[start - 1];
        if (!is_letter_byte(c) && !is_digit(c) && c != '.') break;
        dots += c == '.';
        digits += is_digit(c);
        start--;
    }
    size_t n = stop - start;
    if (n == 0 || n > LONGEST) return ABBR_NONE;
    if (digits == n) return start == s->sentence ? ABBR_NEVER_ENDS : ABBR_NONE; /* "1. First" */
    if (digits > 0) return ABBR_NONE;
    if (n == 1 && p[start] >= 'A' && p[start] <= 'Z' && p[start] != 'I')
        return ABBR_NEVER_ENDS; /* "J. Smith" */
    if (dots > 0 && n >= 3 && n <= 2 * dots + 2 && p[start] != '.')
        return ABBR_NEVER_ENDS; /* "e.g", "U.S", "Ph.D" */
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++) {
        const char *w = abbreviations[i].word;
        size_t k = 0;
        while (k < n && w[k] != '\0' && (p[start + k] | 0x20) == w[k]) k++;
        if (k == n && w[k] == '\0') return abbreviations[i].kind;
    }
    return ABBR_NONE;
}

/* Does the mark at [stop, marks) with closing characters up to `end` end a sentence? White space or nothing
 * follows. */
static bool ends_sentence(const scan *s, size_t stop, size_t marks, size_t end) {
    size_t next = end, after;
    uint32_t cp = at(s->text, next, &after);
    while (next < s->text.len && asc_char_is_space(cp)) {
        next = after;
        cp = at(s->text, next, &after);
    }
    if (next == s->text.len) return true;
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    bool lower = c == UTF8PROC_CATEGORY_LL, one_dot = marks - stop == 1 && s->text.ptr[stop] == '.';
    bool loud = s->text.ptr[marks - 1] == '!' || s->text.ptr[marks - 1] == '?';
    if (lower && (!loud || end > marks)) return false; /* "etc. and", "\"Stop!\" he said" */
    if (!one_dot) return true;
    switch (abbreviation_at(s, stop)) {
    case ABBR_NEVER_ENDS:
        return false;
    case ABBR_NUMBER:
        return asc_char_classify(cp) != ASC_CHAR_NUMBER;
    case ABBR_MAY_END:
        return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LO;
    default:
        return true;
    }
}

/* Behind the white space at pos; *empty_line: it has at least two line breaks, or a paragraph separator. */
static size_t skip_space(asc_view text, size_t pos, bool *empty_line) {
    size_t breaks = 0;
    for (size_t end; pos < text.len; pos = end) {
        uint32_t cp = at(text, pos, &end);
        if (!asc_char_is_space(cp)) break;
        bool pair = cp == '\r' && end < text.len && text.ptr[end] == '\n';
        if ((cp == '\n' || cp == '\r' || cp == 0x85 || cp == 0x2028) && !pair) breaks++;
        if (cp == 0x2029) breaks += 2;
    }
    *empty_line = breaks >= 2;
    return pos;
}

asc_status asc_segment_sentences(asc_view text, asc_span_list *l) {
    asc_status st = ASC_OK;
    scan s = {text, SIZE_MAX};
    for (size_t pos = 0, end; pos < text.len; pos = end) {
        uint32_t cp = at(text, pos, &end), next;
        if (asc_char_is_space(cp)) {
            bool empty_line;
            end = skip_space(text, pos, &empty_line);
            if (empty_line && s.sentence != SIZE_MAX) {
                ASC_TRY(asc_span_list_cut(l, pos));
                s.sentence = SIZE_MAX;
            }
            continue;
        }
        if (s.sentence == SIZE_MAX) s.sentence = pos;
        if (!is_stop(cp) && !is_wide_stop(cp)) continue;
        bool wide = is_wide_stop(cp);
        size_t marks = end, after;
        for (; next = at(text, marks, &after), is_stop(next) || is_wide_stop(next); marks = after) {
            wide = wide || is_wide_stop(next);
        }
        for (end = marks; next = at(text, end, &after), is_closer(next); end = after) {
        }
        bool space = end == text.len || asc_char_is_space(next);
        if (wide || (space && ends_sentence(&s, pos, marks, end))) {
            ASC_TRY(asc_span_list_cut(l, end));
            s.sentence = SIZE_MAX;
        }
    }
    ASC_TRY(asc_span_list_finish(l, text.len, s.sentence != SIZE_MAX));
done:
    return st;
}
