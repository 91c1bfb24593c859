/* pretok.c - see pretok.h. The patterns, with \s = White_Space, \p{L} and \p{N} = categories of Unicode:
 *   gpt-2      's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   smollm     every \p{N} by itself, then gpt-2's pattern inside each remaining run
 *   llama-bpe  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 *              \s*[\r\n]+|\s+(?!\S)|\s+
 *   qwen2      the same with \p{N} instead of \p{N}{1,3}
 *   jais-2     as llama-bpe, but white space in pieces of 512, 256, ... 8, 4, 2 or 1: see jais2_spaces
 * (GPT-2, Llama 3 and Qwen2 as published in their tokenizer files.) Who uses which: pretok_table.c. */
#include "pretok.h"
#include "unicode.h"
#include "view.h"

typedef struct look {
    uint32_t cp;
    asc_char_class cls;
    size_t end; /* offset behind the character */
} look;

/* The character at pos; at the end of the scan a character of no length that nothing wants. */
static look at(asc_scan *s, size_t pos) {
    if (pos >= s->end) return (look){0, ASC_CHAR_SPACE, pos};
    look c;
    s->n_looks++;
    c.end = pos + asc_utf8_decode(s->text + pos, s->end - pos, &c.cp, NULL);
    c.cls = asc_char_classify(c.cp);
    return c;
}

static bool is_newline(look c) { return c.cp == '\r' || c.cp == '\n'; }

/* End of the run of this class from pos on, at most `most` characters. */
static size_t run(asc_scan *s, size_t pos, asc_char_class cls, size_t most) {
    for (; pos < s->end && most > 0; most--) {
        look c = at(s, pos);
        if (c.cls != cls) break;
        pos = c.end;
    }
    return pos;
}

/* One of 's 't 're 've 'm 'll 'd at pos: its end, else pos. With any_case also U+017F, which folds to s. */
static size_t contraction(asc_scan *s, size_t pos, bool any_case) {
    if (s->text[pos] != '\'') return pos;
    look a = at(s, pos + 1);
    uint32_t x = a.cp;
    if (any_case && x == 0x17F) x = 's';
    if (any_case && x >= 'A' && x <= 'Z') x |= 0x20;
    if (pos + 1 >= s->end) return pos;
    if (x == 's' || x == 't' || x == 'm' || x == 'd') return a.end;
    look b = at(s, a.end);
    uint32_t y = b.cp;
    if (any_case && y >= 'A' && y <= 'Z') y |= 0x20;
    if (a.end < s->end && ((x == 'r' && y == 'e') || (x == 'v' && y == 'e') || (x == 'l' && y == 'l')))
        return b.end;
    return pos;
}

/* \s+(?!\S)|\s+ : white space up to the last character before a visible one, or all of it when it is one
 * character or nothing visible follows. */
static size_t spaces(asc_scan *s, size_t pos) {
    size_t last = pos, end = pos;
    while (end < s->end) {
        look c = at(s, end);
        if (c.cls != ASC_CHAR_SPACE) break;
        last = end;
        end = c.end;
    }
    return end == s->end || last == pos ? end : last;
}

size_t asc_scan_gpt2(asc_scan *s, size_t pos) {
    size_t e = contraction(s, pos, false);
    if (e > pos) return e;
    look c = at(s, pos);
    size_t start = pos;
    if (c.cp == ' ') { /* " ?": the space goes with what follows, unless that is white space or nothing */
        start = c.end;
        c = at(s, start);
    }
    if (c.cls != ASC_CHAR_SPACE) return run(s, start, c.cls, SIZE_MAX);
    return spaces(s, pos);
}

size_t asc_scan_smollm(asc_scan *s, size_t pos) {
    look c = at(s, pos);
    if (c.cls == ASC_CHAR_NUMBER) return c.end;
    if (pos >= s->run_end) {
        size_t e = c.end;
        while (e < s->end) {
            c = at(s, e);
            if (c.cls == ASC_CHAR_NUMBER) break;
            e = c.end;
        }
        s->run_end = e;
    }
    asc_scan part = {.text = s->text, .end = s->run_end};
    size_t e = asc_scan_gpt2(&part, pos);
    s->n_looks += part.n_looks;
    return e;
}

/* \s*[\r\n]+ : to behind the last line break of the white space at pos, else pos. */
static size_t through_newlines(asc_scan *s, size_t pos) {
    size_t found = pos;
    for (size_t e = pos; e < s->end;) {
        look c = at(s, e);
        if (c.cls != ASC_CHAR_SPACE) break;
        e = c.end;
        if (is_newline(c)) found = e;
    }
    return found;
}

/* \s{512}(?!\S)|\s{256}(?!\S)|...|\s{4}(?!\S)|\s{1,2}(?!\S)|\s : the most of these that do not end before a
 * visible character. */
static size_t jais2_spaces(asc_scan *s, size_t pos) {
    size_t ends[513], n = 0; /* ends[k]: behind k characters of white space; ends[n] is the last known */
    bool more = false;       /* white space goes on behind them */
    ends[0] = pos;
    while (n < 512 && ends[n] < s->end) {
        look c = at(s, ends[n]);
        if (c.cls != ASC_CHAR_SPACE) break;
        ends[++n] = c.end;
    }
    if (n > 0) more = ends[n] == s->end || at(s, ends[n]).cls == ASC_CHAR_SPACE;
    const size_t most = more ? n : n > 0 ? n - 1 : 0; /* so many are not before a visible one */
    for (size_t k = 512; k >= 4; k /= 2)
        if (k <= most) return ends[k];
    return most >= 2 ? ends[2] : n > 0 ? ends[1] : pos;
}

/* through_newlines, which looks at each character of a long white space once. */
static size_t through_newlines_once(asc_scan *s, size_t pos) {
    if (pos >= s->run_end) {
        s->run_line = s->run_end = pos;
        for (look c; s->run_end < s->end; s->run_end = c.end) {
            c = at(s, s->run_end);
            if (c.cls != ASC_CHAR_SPACE) break;
            if (is_newline(c)) s->run_line = c.end;
        }
    }
    return s->run_line > pos ? s->run_line : pos;
}

static size_t llama3_like(asc_scan *s, size_t pos, size_t most_digits, bool jais2) {
    size_t e = contraction(s, pos, true);
    if (e > pos) return e;
    look c = at(s, pos), d = at(s, c.end);
    if (c.cls == ASC_CHAR_LETTER) return run(s, pos, ASC_CHAR_LETTER, SIZE_MAX);
    if (c.cls == ASC_CHAR_NUMBER) return run(s, pos, ASC_CHAR_NUMBER, most_digits);
    if (!is_newline(c) && d.cls == ASC_CHAR_LETTER) return run(s, c.end, ASC_CHAR_LETTER, SIZE_MAX);
    size_t start = c.cp == ' ' && d.cls == ASC_CHAR_OTHER ? c.end : pos;
    e = run(s, start, ASC_CHAR_OTHER, SIZE_MAX);
    if (e > start) {
        while (e < s->end && is_newline(at(s, e))) e++;
        return e;
    }
    if (jais2) {
        e = through_newlines_once(s, pos);
        return e > pos ? e : jais2_spaces(s, pos);
    }
    e = through_newlines(s, pos);
    return e > pos ? e : spaces(s, pos);
}

size_t asc_scan_llama3(asc_scan *s, size_t pos) { return llama3_like(s, pos, 3, false); }
size_t asc_scan_qwen2(asc_scan *s, size_t pos) { return llama3_like(s, pos, 1, false); }
size_t asc_scan_jais2(asc_scan *s, size_t pos) { return llama3_like(s, pos, 3, true); }
