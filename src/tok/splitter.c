/* splitter.c - runs the steps of a pre-tokenizer. A step looks at one section at a time, as if there were
 * nothing else. */
#include "splitter.h"
#include "char_sets.h"

void asc_split_scratch_init(asc_ctx *ctx, asc_split_scratch *s) {
    *s = (asc_split_scratch){.other = {.ctx = ctx},
                             .piece = {.ctx = ctx},
                             .next = {.ctx = ctx},
                             .cuts = {.ctx = ctx},
                             .more = {.ctx = ctx}};
}

void asc_split_scratch_deinit(asc_split_scratch *s) {
    asc_ctx *ctx = s->other.ctx;
    asc_aligned_deinit(&s->other);
    asc_aligned_deinit(&s->piece);
    asc_free(ctx, s->next.v);
    asc_free(ctx, s->cuts.v);
    asc_free(ctx, s->more.v);
}

asc_status asc_sections_add(asc_sections *s, asc_section x) {
    asc_status st = asc_grow(s->ctx, ASC_MEM_TOKENIZER, (void **)&s->v, &s->cap, s->n + 1, sizeof *s->v);
    if (st == ASC_OK && (s->n & 1023) == 0) st = asc_poll_cancel(s->ctx);
    if (st == ASC_OK) s->v[s->n++] = x;
    return st;
}

/* Classes of characters; a character is a match when it is of the class. */
typedef struct by_class {
    bool (*is)(uint32_t cp);
    uint32_t mark; /* when `is` is NULL: this character */
} by_class;

static asc_status cut_chars(asc_view text, by_class c, asc_cuts *cuts) {
    asc_status st = ASC_OK;
    size_t last = 0;
    cuts->n = 0;
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(text.ptr + i, text.len - i, &cp, NULL);
        if (c.is != NULL ? !c.is(cp) : cp != c.mark) continue;
        if (last < i) ASC_TRY(asc_cuts_add(cuts, last, i, false));
        ASC_TRY(asc_cuts_add(cuts, i, i + n, true));
        last = i + n;
    }
    if (last < text.len) ASC_TRY(asc_cuts_add(cuts, last, text.len, false));
done:
    return st;
}

/* Runs of word characters and runs of what is neither word nor white space; white space is the match. */
static asc_status cut_words(asc_view text, asc_cuts *cuts) {
    asc_status st = ASC_OK;
    int kind = -1; /* of the run: 0 space, 1 word, 2 other */
    size_t start = 0;
    cuts->n = 0;
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(text.ptr + i, text.len - i, &cp, NULL);
        int k = asc_char_is_word(cp) ? 1 : asc_char_is_space(cp) ? 0 : 2;
        if (kind >= 0 && k != kind) {
            ASC_TRY(asc_cuts_add(cuts, start, i, kind == 0));
            start = i;
        }
        kind = k;
    }
    if (kind >= 0) ASC_TRY(asc_cuts_add(cuts, start, text.len, kind == 0));
done:
    return st;
}

/* A cut before every change of script. Kana count as Han; what goes with any script in front of the first one
 * that does not is dropped. */
static asc_status cut_scripts(asc_view text, asc_cuts *cuts) {
    asc_status st = ASC_OK;
    unsigned last = 0;
    size_t start = 0;
    cuts->n = 0;
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(text.ptr + i, text.len - i, &cp, NULL);
        unsigned script = asc_char_script(cp);
        if (script == 0 || script == last) continue;
        if (last != 0) ASC_TRY(asc_cuts_add(cuts, start, i, false));
        start = i;
        last = script;
    }
    if (last != 0) ASC_TRY(asc_cuts_add(cuts, start, text.len, false));
done:
    return st;
}

static asc_status cut_fixed(asc_view text, size_t length, asc_cuts *cuts) {
    asc_status st = ASC_OK;
    size_t start = 0, count = 0;
    cuts->n = 0;
    for (size_t i = 0, n; i < text.len; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(text.ptr + i, text.len - i, &cp, NULL);
        if (count == length) {
            ASC_TRY(asc_cuts_add(cuts, start, i, false));
            start = i;
            count = 0;
        }
        count++;
    }
    if (count > 0) ASC_TRY(asc_cuts_add(cuts, start, text.len, false));
done:
    return st;
}

/* Joins and drops cuts in place. */
static void behave(asc_cuts *c, asc_split_behavior b) {
    bool previous = false; /* the cut before was a match */
    size_t kept = 0;
    if (b == ASC_SPLIT_ISOLATED) return;
    if (b == ASC_SPLIT_WITH_NEXT) { /* from the end: a match takes up what is behind it */
        size_t at = c->n;
        for (size_t i = c->n; i-- > 0;) {
            asc_cut x = c->v[i];
            if (x.match && !previous && at < c->n) {
                c->v[at].start = x.start;
            } else {
                c->v[--at] = x;
            }
            previous = x.match;
        }
        memmove(c->v, c->v + at, (c->n - at) * sizeof *c->v);
        c->n -= at;
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        asc_cut x = c->v[i];
        bool join = b == ASC_SPLIT_CONTIGUOUS ? x.match == previous
                                              : b == ASC_SPLIT_WITH_PREVIOUS && x.match && !previous;
        if (b == ASC_SPLIT_REMOVED && x.match) continue;
        if (join && kept > 0) {
            c->v[kept - 1].end = x.end;
        } else {
            c->v[kept++] = x;
        }
        previous = x.match;
    }
    c->n = kept;
}

/* The cuts of bytes [start, ...) as sections of `text`; empty ones vanish. */
static asc_status emit(const asc_aligned *text, size_t start, const asc_cuts *cuts, asc_sections *out) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < cuts->n; i++) {
        size_t a = start + cuts->v[i].start, b = start + cuts->v[i].end;
        if (a < b) ASC_TRY(asc_sections_add(out, (asc_section){a, b, text->from[a], -1, 0, 0}));
    }
done:
    return st;
}

static uint32_t mark_of(const asc_split_step *p) {
    uint32_t cp = 0;
    if (p->mark_len > 0) asc_utf8_decode(p->mark, p->mark_len, &cp, NULL);
    return cp;
}

/* The cuts that a step makes in a text which it does not change. */
static asc_status find(asc_ctx *ctx, const asc_split_step *p, asc_view text, asc_split_scratch *s) {
    asc_status st = ASC_OK;
    switch (p->kind) {
    case ASC_SPLIT_BYTE_LEVEL:
    case ASC_SPLIT_PATTERN:
        ASC_TRY(asc_pattern_cut(ctx, p->pattern, text, &s->cuts));
        for (size_t i = 0; p->invert && i < s->cuts.n; i++) s->cuts.v[i].match = !s->cuts.v[i].match;
        behave(&s->cuts, p->kind == ASC_SPLIT_PATTERN ? p->behavior : ASC_SPLIT_ISOLATED);
        break;
    case ASC_SPLIT_WHITESPACE:
        ASC_TRY(cut_words(text, &s->cuts));
        behave(&s->cuts, ASC_SPLIT_REMOVED);
        break;
    case ASC_SPLIT_WHITESPACE_ONLY:
        ASC_TRY(cut_chars(text, (by_class){.is = asc_char_is_space}, &s->cuts));
        behave(&s->cuts, ASC_SPLIT_REMOVED);
        break;
    case ASC_SPLIT_PUNCTUATION:
        ASC_TRY(cut_chars(text, (by_class){.is = asc_char_is_punctuation}, &s->cuts));
        behave(&s->cuts, p->behavior);
        break;
    case ASC_SPLIT_DIGITS:
        ASC_TRY(cut_chars(text, (by_class){.is = asc_char_is_digit}, &s->cuts));
        behave(&s->cuts, p->behavior);
        break;
    case ASC_SPLIT_CHAR:
        ASC_TRY(cut_chars(text, (by_class){.mark = mark_of(p)}, &s->cuts));
        behave(&s->cuts, ASC_SPLIT_REMOVED);
        break;
    case ASC_SPLIT_METASPACE:
        ASC_TRY(cut_chars(text, (by_class){.mark = mark_of(p)}, &s->cuts));
        behave(&s->cuts, ASC_SPLIT_WITH_NEXT);
        break;
    case ASC_SPLIT_SCRIPTS:
        ASC_TRY(cut_scripts(text, &s->cuts));
        break;
    case ASC_SPLIT_FIXED:
        ASC_TRY(cut_fixed(text, p->length, &s->cuts));
        break;
    case ASC_SPLIT_BERT:
        ASC_TRY(cut_chars(text, (by_class){.is = asc_char_is_space}, &s->more));
        behave(&s->more, ASC_SPLIT_REMOVED);
        break;
    }
done:
    return st;
}

static asc_status bert(asc_ctx *ctx, const asc_split_step *p, const asc_aligned *text, asc_section x,
                       asc_split_scratch *s) {
    asc_status st = ASC_OK;
    ASC_TRY(find(ctx, p, (asc_view){text->bytes + x.start, x.end - x.start}, s));
    for (size_t i = 0; i < s->more.n; i++) {
        asc_cut w = s->more.v[i];
        asc_view word = {text->bytes + x.start + w.start, w.end - w.start};
        ASC_TRY(cut_chars(word, (by_class){.is = asc_char_is_punctuation}, &s->cuts));
        ASC_TRY(emit(text, x.start + w.start, &s->cuts, &s->next));
    }
done:
    return st;
}

/* Byte level and metaspace write the section anew, to the end of `other`. */
static asc_status rewrite(asc_ctx *ctx, const asc_split_step *p, const asc_aligned *text, asc_section x,
                          bool no_prefix, asc_split_scratch *s) {
    asc_status st = ASC_OK;
    asc_aligned *piece = &s->piece, *other = &s->other;
    asc_view mark = {p->mark, p->mark_len}, old = {text->bytes + x.start, x.end - x.start};
    bool byte_level = p->kind == ASC_SPLIT_BYTE_LEVEL;
    piece->len = 0;
    if (byte_level) {
        bool space = p->prefix_space && !no_prefix && old.ptr[0] != ' ';
        if (space) {
            ASC_TRY(asc_aligned_prepend(piece, text, x.start, x.end, x.base, (asc_view){" ", 1}));
        } else {
            ASC_TRY(asc_aligned_copy(piece, text, x.start, x.end));
        }
    } else {
        size_t at = other->len;
        ASC_TRY(cut_chars(old, (by_class){.mark = ' '}, &s->cuts));
        ASC_TRY(asc_aligned_replace(other, text, x.start, x.end, x.base, &s->cuts, mark));
        bool has = asc_view_starts((asc_view){other->bytes + at, other->len - at}, mark);
        bool first = p->prepend == ASC_PREPEND_FIRST && x.base == 0;
        if (!has && !no_prefix && (p->prepend == ASC_PREPEND_ALWAYS || first)) {
            ASC_TRY(asc_aligned_prepend(piece, other, at, other->len, x.base, mark));
        } else {
            ASC_TRY(asc_aligned_copy(piece, other, at, other->len));
        }
        other->len = at;
    }
    if (byte_level ? p->pattern != NULL : p->split) {
        ASC_TRY(find(ctx, p, asc_aligned_view(piece), s));
    } else {
        s->cuts.n = 0;
        ASC_TRY(asc_cuts_add(&s->cuts, 0, piece->len, false));
    }
    for (size_t i = 0; i < s->cuts.n; i++) {
        asc_cut c = s->cuts.v[i];
        size_t at = other->len;
        if (c.start == c.end) continue;
        if (byte_level) {
            ASC_TRY(asc_aligned_bytes(other, piece, c.start, c.end, piece->from[c.start]));
        } else {
            ASC_TRY(asc_aligned_copy(other, piece, c.start, c.end));
        }
        ASC_TRY(asc_sections_add(&s->next, (asc_section){at, other->len, other->from[at], -1, 0, 0}));
    }
done:
    return st;
}

static asc_status run(asc_ctx *ctx, const asc_split_step *p, asc_aligned *text, asc_sections *list,
                      bool continues, asc_split_scratch *s) {
    asc_status st = ASC_OK;
    bool changes = p->kind == ASC_SPLIT_BYTE_LEVEL || p->kind == ASC_SPLIT_METASPACE;
    s->next.n = 0;
    s->other.len = 0;
    for (size_t i = 0; i < list->n; i++) {
        asc_section x = list->v[i];
        if (x.id >= 0) {
            ASC_TRY(asc_sections_add(&s->next, x));
        } else if (changes) {
            ASC_TRY(rewrite(ctx, p, text, x, continues && i == 0, s));
        } else if (p->kind == ASC_SPLIT_BERT) {
            ASC_TRY(bert(ctx, p, text, x, s));
        } else {
            ASC_TRY(find(ctx, p, (asc_view){text->bytes + x.start, x.end - x.start}, s));
            ASC_TRY(emit(text, x.start, &s->cuts, &s->next));
        }
    }
    asc_sections t = *list;
    *list = s->next;
    s->next = t;
    if (changes) {
        asc_aligned a = *text;
        *text = s->other;
        s->other = a;
    }
done:
    return st;
}

asc_status asc_split(asc_ctx *ctx, const asc_splitter *s, asc_aligned *text, asc_sections *list,
                     bool continues, asc_split_scratch *scratch) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < s->n && st == ASC_OK; i++) st = run(ctx, &s->v[i], text, list, continues, scratch);
    return st;
}
