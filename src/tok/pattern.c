/* pattern.c - see pattern.h. The only file that knows Oniguruma. */
#include "pattern.h"
#include "char_sets.h"
#include "digit_groups.h"
#include "strbuf.h"
#include "view.h"
#include <oniguruma.h>

struct asc_pattern {
    char *literal; /* a fixed text, when it is not empty */
    size_t literal_len;
    regex_t *regex;
    asc_digit_groups digits; /* not NONE: regex is that of a run of digits */
    OnigMatchParam *limits;
};

static asc_status failed(asc_ctx *ctx, int code, const OnigErrorInfo *info, asc_view pattern) {
    char words[ONIG_MAX_ERROR_MESSAGE_LEN + 1];
    bool limit = code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER ||
                 code == ONIGERR_MATCH_STACK_LIMIT_OVER || code == ONIGERR_MEMORY;
    int n = info != NULL ? onig_error_code_to_str((OnigUChar *)words, code, info)
                         : onig_error_code_to_str((OnigUChar *)words, code);
    words[n < 0 ? 0 : n] = '\0';
    if (pattern.ptr == NULL) {
        ASC_FAIL(ctx, limit ? ASC_RESOURCE_EXHAUSTED : ASC_INTERNAL, "regular expression: %s", words);
        if (limit) asc_hint(ctx, "the tokenizer's pattern takes too many steps on this text");
        return limit ? ASC_RESOURCE_EXHAUSTED : ASC_INTERNAL;
    }
    asc_view cut = asc_view_cut(pattern, 60);
    return ASC_FAIL(ctx, limit ? ASC_RESOURCE_EXHAUSTED : ASC_INVALID_ARGUMENT,
                    "regular expression '" ASC_VIEW_FMT "': %s", ASC_VIEW_ARG(cut), words);
}

/* What stands at `at` of a pattern and is written otherwise for this Oniguruma: 6.9.10, which the program
 * that tokenizer files are made for has, counts symbols as well as punctuation as [:punct:], older ones only
 * punctuation and some of ASCII, and do not know \\p{PosixPunct}. NULL = as it is. */
static const char *other_words(asc_view text, size_t at, bool in_class, size_t *len) {
    static const struct {
        const char *from, *to;
        bool in_class;
    } words[] = {{"[:punct:]", "\\p{P}\\p{S}", true},
                 {"[:^punct:]", "[^\\p{P}\\p{S}]", true},
                 {"\\p{PosixPunct}", "[\\p{P}\\p{S}]", false},
                 {"\\p{^PosixPunct}", "[^\\p{P}\\p{S}]", false},
                 {"\\P{PosixPunct}", "[^\\p{P}\\p{S}]", false}};
    asc_view rest = asc_view_make(text.ptr + at, text.len - at);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((words[i].in_class && !in_class) || !asc_view_starts(rest, asc_view_of(words[i].from))) continue;
        *len = strlen(words[i].from);
        return words[i].to;
    }
    return NULL;
}

/* The pattern in this Oniguruma's words, appended to out. */
static void reword(asc_view text, asc_strbuf *out) {
    size_t depth = 0, n; /* of brackets */
    for (size_t i = 0; i < text.len; i += n) {
        const char *other = other_words(text, i, depth > 0, &n);
        if (other != NULL) {
            asc_strbuf_adds(out, other);
            continue;
        }
        n = text.ptr[i] == '\\' && i + 1 < text.len ? 2 : 1;
        depth += text.ptr[i] == '[';
        depth -= text.ptr[i] == ']' && depth > 0;
        asc_strbuf_add(out, text.ptr + i, n);
    }
}

asc_status asc_pattern_create(asc_ctx *ctx, asc_view text, bool regex, asc_pattern **out) {
    asc_status st = ASC_OK;
    *out = NULL;
    if (text.len > ASC_PATTERN_MAX) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a pattern of %zu bytes, more than %d", text.len,
                        ASC_PATTERN_MAX);
    }
    asc_strbuf words;
    asc_strbuf_init(&words, ctx);
    asc_pattern *p = asc_calloc(ctx, ASC_MEM_TOKENIZER, 1, sizeof *p);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (!regex && text.len > 0) {
        p->literal = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, text);
        p->literal_len = text.len;
        if (p->literal == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
    } else { /* an empty text matches everywhere, as an empty expression does */
        OnigErrorInfo info = {0};
        OnigEncoding utf8 = ONIG_ENCODING_UTF8;
        char run[64];
        p->digits = asc_digit_groups_of(text, run);
        if (p->digits != ASC_DIGITS_NONE) text = asc_view_of(run);
        reword(text, &words);
        ASC_TRY(asc_strbuf_status(&words));
        const OnigUChar *begin = (const OnigUChar *)(words.ptr != NULL ? words.ptr : "");
        onig_initialize(&utf8, 1);
        int rc =
            onig_new(&p->regex, begin, begin + words.len, ONIG_OPTION_NONE, utf8, ONIG_SYNTAX_DEFAULT, &info);
        if (rc != ONIG_NORMAL) {
            p->regex = NULL;
            ASC_TRY(failed(ctx, rc, &info, text));
        }
        p->limits = onig_new_match_param();
        if (p->limits == NULL) ASC_TRY(ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory"));
        onig_initialize_match_param(p->limits);
        onig_set_retry_limit_in_match_of_match_param(p->limits, ASC_PATTERN_MAX_RETRIES);
        onig_set_retry_limit_in_search_of_match_param(p->limits, ASC_PATTERN_MAX_SEARCH);
        onig_set_match_stack_limit_size_of_match_param(p->limits, ASC_PATTERN_MAX_STACK);
    }
    *out = p;
    p = NULL;
done:
    asc_pattern_destroy(ctx, p);
    asc_strbuf_deinit(&words);
    return st;
}

void asc_pattern_destroy(asc_ctx *ctx, asc_pattern *p) {
    if (p == NULL) return;
    asc_free(ctx, p->literal);
    if (p->limits != NULL) onig_free_match_param(p->limits);
    if (p->regex != NULL) onig_free(p->regex);
    asc_free(ctx, p);
}

/* Debian's Oniguruma knows Unicode 14, the program that tokenizer files are made for 16. For a search a newer
 * character is exchanged for an old one of its category and its length in UTF-8, so that places in the text
 * stay. 0 = that length does not come up. */
static const struct {
    uint32_t three, four;
} stand_in[ASC_CHAR_NEWER_HAN + 1] = {{0, 0},
                                      {0x1E00, 0x10400},
                                      {0x1E01, 0x10428},
                                      {0x1F88, 0},
                                      {0x1D2C, 0x16B40}, /* Lu Ll Lt Lm */
                                      {0x1200, 0x10280},
                                      {0x20D0, 0x1D167},
                                      {0x0903, 0x1D165},
                                      {0x20DD, 0},
                                      {0x0966, 0x1D7CE}, /* Lo Mn Mc Me Nd */
                                      {0x2160, 0x10140},
                                      {0x2070, 0x10107},
                                      {0x203F, 0},
                                      {0x2010, 0x10EAD},
                                      {0x2045, 0}, /* Nl No Pc Pd Ps */
                                      {0x2046, 0},
                                      {0x2018, 0},
                                      {0x2019, 0},
                                      {0x2020, 0x10100},
                                      {0x2044, 0x1D6C1}, /* Pe Pi Pf Po Sm */
                                      {0x20A0, 0},
                                      {0x1FBD, 0x1F3FB},
                                      {0x2300, 0x1F300},
                                      {0x2000, 0},
                                      {0x2061, 0x1BCA0}, /* Sc Sk So Zs Cf */
                                      {0x4E00, 0x20000}};

/* A copy of the text with stand-ins, or NULL in *out when it needs none. */
static asc_status with_stand_ins(asc_ctx *ctx, asc_view text, char **out) {
    *out = NULL;
    for (size_t i = 0, n; i < text.len; i += n) {
        n = 1;
        if ((unsigned char)text.ptr[i] < 0xE0) continue;
        uint32_t cp;
        n = asc_utf8_decode(text.ptr + i, text.len - i, &cp, NULL);
        unsigned kind = asc_char_newer(cp);
        uint32_t other = n == 3 ? stand_in[kind].three : stand_in[kind].four;
        if (kind == 0 || other == 0) continue;
        if (*out == NULL) {
            *out = asc_alloc(ctx, ASC_MEM_TOKENIZER, text.len);
            if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
            memcpy(*out, text.ptr, text.len);
        }
        asc_utf8_encode(other, *out + i);
    }
    return ASC_OK;
}

static asc_status add_match(asc_cuts *cuts, size_t *prev, size_t start, size_t end) {
    asc_status st = ASC_OK;
    if (*prev != start) ASC_TRY(asc_cuts_add(cuts, *prev, start, false));
    ASC_TRY(asc_cuts_add(cuts, start, end, true));
    *prev = end;
done:
    return st;
}

static asc_status cut_literal(const asc_pattern *p, asc_view text, asc_cuts *cuts, size_t *prev) {
    asc_status st = ASC_OK;
    for (size_t at = 0; at < text.len;) {
        const char *hit = memmem(text.ptr + at, text.len - at, p->literal, p->literal_len);
        if (hit == NULL) break;
        size_t start = (size_t)(hit - text.ptr);
        at = start + p->literal_len;
        ASC_TRY(add_match(cuts, prev, start, at));
    }
done:
    return st;
}

/* Cuts the run of digits [start, end) from its end, in threes; s: the text that was searched. */
static asc_status cut_digits(const asc_pattern *p, const OnigRegion *region, const char *s, asc_cuts *cuts,
                             size_t *prev) {
    asc_status st = ASC_OK;
    const size_t start = (size_t)region->beg[0], end = (size_t)region->end[0];
    const bool groups = p->digits == ASC_DIGITS_GROUPS;
    size_t left = 0; /* digits from i on */
    for (size_t i = start; i < end; i++) left += ((unsigned char)s[i] & 0xC0) != 0x80;
    if (groups && region->beg[1] < 0) return ASC_OK; /* no group may end where the run does */
    for (size_t i = start, group = start; i < end && st == ASC_OK;) {
        if (!groups && left % 3 == 0) st = add_match(cuts, prev, i, i);
        for (i++; i < end && ((unsigned char)s[i] & 0xC0) == 0x80;) i++;
        left--;
        if (!groups || left % 3 != 0 || st != ASC_OK) continue;
        st = add_match(cuts, prev, group, i);
        group = i;
    }
    return st;
}

asc_status asc_pattern_cut(asc_ctx *ctx, const asc_pattern *p, asc_view text, asc_cuts *cuts) {
    asc_status st = ASC_OK;
    size_t prev = 0, last = SIZE_MAX; /* where the match before ended */
    OnigRegion *region = NULL;
    char *copy = NULL;
    cuts->n = 0;
    if (text.len == 0) return asc_cuts_add(cuts, 0, 0, false);
    if (p->literal != NULL) {
        ASC_TRY(cut_literal(p, text, cuts, &prev));
    } else {
        ASC_TRY(with_stand_ins(ctx, text, &copy));
        const OnigUChar *s = (const OnigUChar *)(copy != NULL ? copy : text.ptr), *e = s + text.len;
        region = onig_region_new();
        if (region == NULL) ASC_TRY(ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory"));
        for (size_t at = 0, steps = 0; at <= text.len; steps++) {
            if ((steps & 255) == 0) ASC_TRY(asc_poll_cancel(ctx));
            int rc = onig_search_with_param(p->regex, s, e, s + at, e, region, ONIG_OPTION_NONE, p->limits);
            if (rc == ONIG_MISMATCH) break;
            if (rc < 0) ASC_TRY(failed(ctx, rc, NULL, (asc_view){NULL, 0}));
            size_t start = (size_t)region->beg[0], end = (size_t)region->end[0];
            if (p->digits != ASC_DIGITS_NONE) {
                ASC_TRY(cut_digits(p, region, (const char *)s, cuts, &prev));
                at = end;
                continue;
            }
            if (start == end && last == end) { /* nothing, right behind a match: one character on */
                uint32_t cp;
                at += at < text.len ? asc_utf8_decode(text.ptr + at, text.len - at, &cp, NULL) : 1;
                continue;
            }
            at = last = end;
            if (start < prev) continue; /* \K and look-behind may point back: never twice the same text */
            ASC_TRY(add_match(cuts, &prev, start, end));
        }
    }
    if (prev != text.len) ASC_TRY(asc_cuts_add(cuts, prev, text.len, false));
done:
    if (region != NULL) onig_region_free(region, 1);
    asc_free(ctx, copy);
    return st;
}
