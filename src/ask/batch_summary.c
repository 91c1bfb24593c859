/* batch_summary.c - a results file as a whole: how many prompts, and which words carried the most. A word's
 * total is the sum of its scores over the prompts it stands in; words are told apart without case and without
 * the blanks around them. */
#include "batch_parts.h"
#include "ctx.h"
#include "hash.h"
#include "strbuf.h"
#include "text_parts.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { TOP = 10, MAX_CLASSES = 20, MAX_WORDS = 1 << 22 };

typedef struct word {
    asc_view text, class; /* class {NULL, 0}: over all */
    uint64_t hash;
    size_t n;
    double sum, largest; /* of scores; of |score| */
} word;

typedef struct class_of {
    asc_view name;
    uint64_t hash;
    size_t n;
} class_of;

/* Where things are by their hashes: index + 1 each; n is a power of two, at least twice the things. */
typedef struct slots {
    uint32_t *at;
    size_t n;
} slots;

typedef struct summary {
    asc_ctx *ctx;
    asc_arena arena;
    word *words;
    size_t n_words, cap_words;
    slots by_word, by_class;
    class_of *classes;
    size_t n_classes, cap_classes;
    size_t n_ok, n_failed, n_unsure; /* unsure: not converged */
    double value;                    /* sum */
    asc_strbuf scratch;
} summary;

static size_t first_slot(const slots *t, uint64_t hash) { return hash & (t->n - 1); }
static size_t next_slot(const slots *t, size_t at) { return (at + 1) & (t->n - 1); }

/* Room for one more than the n things whose hashes lie `stride` bytes apart. */
static asc_status more_slots(asc_ctx *ctx, slots *t, const void *hashes, size_t stride, size_t n) {
    slots more = {.n = t->n == 0 ? 1024 : 2 * t->n};
    if (2 * (n + 1) <= t->n) return ASC_OK;
    more.at = asc_calloc(ctx, ASC_MEM_GENERAL, more.n, sizeof *more.at);
    if (more.at == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        uint64_t hash;
        memcpy(&hash, (const char *)hashes + i * stride, sizeof hash);
        size_t at = first_slot(&more, hash);
        while (more.at[at] != 0) at = next_slot(&more, at);
        more.at[at] = (uint32_t)i + 1;
    }
    asc_free(ctx, t->at);
    *t = more;
    return ASC_OK;
}

/* Of n things that may be none yet. */
static const void *hashes_of(const void *things, size_t offset) {
    return things != NULL ? (const char *)things + offset : NULL;
}

static asc_status count_word(summary *s, asc_view text, asc_view class, double score) {
    slots *t = &s->by_word;
    asc_status st =
        more_slots(s->ctx, t, hashes_of(s->words, offsetof(word, hash)), sizeof *s->words, s->n_words);
    if (st != ASC_OK) return st;
    uint64_t h = asc_hash64(text.ptr, text.len, class.ptr == NULL ? 1 : asc_hash64(class.ptr, class.len, 2));
    size_t at = first_slot(t, h);
    word *w = NULL;
    for (; t->at[at] != 0; at = next_slot(t, at)) {
        word *have = &s->words[t->at[at] - 1];
        bool same = have->hash == h && asc_view_eq(have->text, text) &&
                    (have->class.ptr == NULL) == (class.ptr == NULL) && asc_view_eq(have->class, class);
        if (same) {
            w = have;
            break;
        }
    }
    if (w == NULL) {
        if (s->n_words == MAX_WORDS)
            return ASC_FAIL(s->ctx, ASC_RESOURCE_EXHAUSTED, "more than %d different words", MAX_WORDS);
        st = asc_grow(s->ctx, ASC_MEM_GENERAL, (void **)&s->words, &s->cap_words, s->n_words + 1,
                      sizeof *s->words);
        char *copy = st == ASC_OK ? asc_arena_strdup(&s->arena, text) : NULL;
        if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
        w = &s->words[s->n_words++];
        *w = (word){.text = asc_view_make(copy, text.len), .class = class, .hash = h};
        t->at[at] = (uint32_t)s->n_words;
    }
    w->n++;
    w->sum += score;
    w->largest = fmax(w->largest, fabs(score));
    return ASC_OK;
}

/* The class with this name; its view stays. */
static asc_status class_named(summary *s, asc_view name, class_of **out) {
    slots *t = &s->by_class;
    asc_status st = more_slots(s->ctx, t, hashes_of(s->classes, offsetof(class_of, hash)), sizeof *s->classes,
                               s->n_classes);
    if (st != ASC_OK) return st;
    const uint64_t h = asc_hash64(name.ptr, name.len, 2);
    size_t at = first_slot(t, h);
    for (; t->at[at] != 0; at = next_slot(t, at)) {
        *out = &s->classes[t->at[at] - 1];
        if ((*out)->hash == h && asc_view_eq((*out)->name, name)) return ASC_OK;
    }
    st = asc_grow(s->ctx, ASC_MEM_GENERAL, (void **)&s->classes, &s->cap_classes, s->n_classes + 1,
                  sizeof *s->classes);
    char *copy = st == ASC_OK ? asc_arena_strdup(&s->arena, name) : NULL;
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    *out = &s->classes[s->n_classes++];
    **out = (class_of){.name = asc_view_make(copy, name.len), .hash = h};
    t->at[at] = (uint32_t)s->n_classes;
    return ASC_OK;
}

/* Without blanks around it, case folded, into scratch. */
static asc_view folded(summary *s, asc_view v) {
    while (v.len > 0 && (unsigned char)v.ptr[0] <= ' ') {
        v.ptr++;
        v.len--;
    }
    while (v.len > 0 && (unsigned char)v.ptr[v.len - 1] <= ' ') v.len--;
    asc_strbuf_clear(&s->scratch);
    for (size_t i = 0; i < v.len;) {
        uint32_t cp = 0;
        char out[4];
        i += asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL);
        asc_strbuf_add(&s->scratch, out,
                       asc_utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)cp), out));
    }
    return asc_strbuf_view(&s->scratch);
}

static asc_status add_result(summary *s, const asc_json *r) {
    asc_view name = asc_json_str(asc_json_get(r, "label"));
    if (name.ptr == NULL || name.len == 0)
        name = asc_json_str(asc_json_get(asc_json_get(r, "target"), "text"));
    class_of *c = NULL;
    asc_status st = class_named(s, name.ptr != NULL ? name : asc_view_of(""), &c);
    if (st != ASC_OK) return st;
    c->n++;
    asc_view class = c->name;
    s->n_ok++;
    s->value += asc_json_num(asc_json_get(r, "value"), 0.0);
    s->n_unsure += asc_json_bool(asc_json_get(r, "converged"), true) ? 0 : 1;
    const asc_json *features = asc_json_get(r, "features");
    for (size_t i = 0; st == ASC_OK && i < asc_json_len(features); i++) {
        const asc_json *f = asc_json_at(features, i);
        asc_view text = folded(s, asc_json_str(asc_json_get(f, "text")));
        double score = asc_json_num(asc_json_get(f, "score"), 0.0);
        if (text.len == 0 || !isfinite(score)) continue;
        st = asc_strbuf_status(&s->scratch);
        if (st == ASC_OK) st = count_word(s, text, (asc_view){NULL, 0}, score);
        if (st == ASC_OK) st = count_word(s, text, class, score);
    }
    return st;
}

static asc_status read_all(summary *s, const char *path, asc_view text) {
    size_t pos = 0, number = 0;
    asc_view line;
    bool ended;
    asc_status st = ASC_OK;
    while (st == ASC_OK && asc_batch_next_line(text, &pos, &line, &ended)) {
        asc_json *root = NULL;
        number++;
        if (asc_batch_blank(line)) continue;
        st = asc_json_parse(s->ctx, line.ptr, line.len, &root);
        asc_view status = asc_json_str(asc_json_get(root, "status"));
        const asc_json *r = asc_json_get(root, "result");
        if (st == ASC_INVALID_ARGUMENT && !ended) { /* a run is writing it, or was killed */
            asc_error_clear(s->ctx);
            st = ASC_OK;
        } else if (st == ASC_OK && asc_view_eqs(status, "ok") && asc_json_typeof(r) == ASC_JSON_OBJECT) {
            st = add_result(s, r);
        } else if (st == ASC_OK && asc_view_eqs(status, "error")) {
            s->n_failed++;
        } else if (st == ASC_OK || st == ASC_INVALID_ARGUMENT) {
            asc_error_clear(s->ctx);
            ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT, "'%s': line %zu is no result of a batch", path, number);
            st = asc_hint(s->ctx, "give a file that 'ascribe explain --prompts ... --out' wrote");
        }
        asc_json_free(root);
        if (st == ASC_OK) st = asc_poll_cancel(s->ctx);
    }
    return st;
}

static int by_total(const void *a, const void *b) {
    const word *x = a, *y = b;
    double p = fabs(x->sum), q = fabs(y->sum);
    if (p > q || p < q) return p > q ? -1 : 1;
    int c = memcmp(x->text.ptr, y->text.ptr, x->text.len < y->text.len ? x->text.len : y->text.len);
    return c != 0 ? c : (x->text.len > y->text.len) - (x->text.len < y->text.len);
}

static int by_count(const void *a, const void *b) {
    const class_of *x = a, *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

static bool of_class(const word *w, asc_view class) {
    return (w->class.ptr == NULL) == (class.ptr == NULL) && asc_view_eq(w->class, class);
}

static void put_table(const summary *s, asc_view class, size_t top, bool json, asc_text *t) {
    size_t shown = 0;
    if (json) asc_text_array(t, "words");
    for (size_t i = 0; i < s->n_words && shown < top; i++) {
        const word *w = &s->words[i];
        if (!of_class(w, class)) continue;
        shown++;
        if (json) {
            asc_text_object(t, NULL);
            asc_text_str(t, "text", w->text);
            asc_text_int(t, "prompts", (int64_t)w->n);
            asc_text_num(t, "total", w->sum);
            asc_text_num(t, "mean", w->sum / (double)w->n);
            asc_text_num(t, "largest", w->largest);
            asc_text_end(t);
            continue;
        }
        asc_text_adds(t, "  ");
        size_t columns = asc_text_shown(t, w->text, 30);
        asc_text_blanks(t, columns < 30 ? 30 - columns : 0);
        asc_text_addf(t, " %7zu %+12.4g %+12.4g %12.4g\n", w->n, w->sum, w->sum / (double)w->n, w->largest);
    }
    if (json) asc_text_end(t);
}

static void put_head(asc_text *t) {
    asc_text_addf(t, "  %-30s %7s %12s %12s %12s\n", "", "times", "total", "mean", "largest");
}

static void put_text(const summary *s, size_t top, asc_text *t) {
    asc_text_addf(t, "%zu prompts explained, %zu failed, %zu not converged; mean value %.4g\n\n", s->n_ok,
                  s->n_failed, s->n_unsure, s->n_ok > 0 ? s->value / (double)s->n_ok : 0.0);
    if (s->n_ok == 0) return;
    asc_text_adds(t, "Over all prompts, by total score\n");
    put_head(t);
    put_table(s, (asc_view){NULL, 0}, top, false, t);
    for (size_t i = 0; i < s->n_classes && i < MAX_CLASSES && s->n_classes > 1; i++) {
        asc_text_adds(t, "\n\"");
        asc_text_shown(t, s->classes[i].name, 60);
        asc_text_addf(t, "\" (%zu prompts)\n", s->classes[i].n);
        put_head(t);
        put_table(s, s->classes[i].name, top, false, t);
    }
    if (s->n_classes > MAX_CLASSES)
        asc_text_addf(t, "\nand %zu other answers (--json has them all)\n", s->n_classes - MAX_CLASSES);
}

static void put_json(const summary *s, size_t top, asc_text *t) {
    asc_text_object(t, NULL);
    asc_text_int(t, "schema", 1);
    asc_text_int(t, "explained", (int64_t)s->n_ok);
    asc_text_int(t, "failed", (int64_t)s->n_failed);
    asc_text_int(t, "not_converged", (int64_t)s->n_unsure);
    asc_text_num(t, "mean_value", s->n_ok > 0 ? s->value / (double)s->n_ok : (double)NAN);
    put_table(s, (asc_view){NULL, 0}, top, true, t);
    asc_text_array(t, "classes");
    for (size_t i = 0; i < s->n_classes; i++) {
        asc_text_object(t, NULL);
        asc_text_str(t, "class", s->classes[i].name);
        asc_text_int(t, "prompts", (int64_t)s->classes[i].n);
        put_table(s, s->classes[i].name, top, true, t);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

asc_status asc_batch_summary(asc_ctx *ctx, const char *results, size_t top, bool json, asc_text *out) {
    summary s = {.ctx = ctx};
    asc_map map = {.fd = -1};
    asc_arena_init(&s.arena, ctx, ASC_MEM_GENERAL);
    asc_strbuf_init(&s.scratch, ctx);
    asc_status st = asc_map_open(ctx, results, &map);
    if (st == ASC_OK) st = read_all(&s, results, asc_view_make((const char *)map.data, map.size));
    if (st == ASC_OK) {
        if (s.n_words > 0) qsort(s.words, s.n_words, sizeof *s.words, by_total);
        if (s.n_classes > 0) qsort(s.classes, s.n_classes, sizeof *s.classes, by_count);
        if (json)
            put_json(&s, top > 0 ? top : TOP, out);
        else
            put_text(&s, top > 0 ? top : TOP, out);
        st = asc_text_status(out);
    }
    asc_map_close(ctx, &map);
    asc_strbuf_deinit(&s.scratch);
    asc_free(ctx, s.words);
    asc_free(ctx, s.by_word.at);
    asc_free(ctx, s.by_class.at);
    asc_free(ctx, s.classes);
    asc_arena_deinit(&s.arena);
    return st;
}
