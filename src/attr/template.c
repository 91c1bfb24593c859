/* template.c - see ascribe/template.h: the grammar of placeholders, and filling them. */
#include "ascribe/template.h"
#include "alloc.h"
#include "strbuf.h"
#include "view.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PLACEHOLDERS = 1 << 16 };

/* A piece of a template: literal text, or a placeholder's field. */
typedef struct piece {
    bool field;
    asc_view text; /* of a field: what stands between the braces */
    size_t at;     /* its byte in the template */
} piece;

/* Line and column (in bytes) of a byte, from 1. */
static void place_of(asc_view t, size_t at, size_t *line, size_t *column) {
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < at && i < t.len; i++) {
        ++*column;
        if (t.ptr[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}

static asc_status odd(asc_ctx *ctx, asc_view t, size_t at, const char *what, const char *hint) {
    size_t line, column;
    place_of(t, at, &line, &column);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "template, line %zu, column %zu: %s", line, column, what);
    return asc_hint(ctx, "%s", hint);
}

/* The piece at *pos; *pos goes behind it. A doubled brace is a piece of one. */
static asc_status next_piece(asc_ctx *ctx, asc_view t, size_t *pos, piece *out) {
    size_t i = *pos;
    char c = t.ptr[i];
    *out = (piece){.at = i};
    if (c == '{' || c == '}') {
        if (i + 1 < t.len && t.ptr[i + 1] == c) {
            out->text = asc_view_make(t.ptr + i, 1);
            *pos = i + 2;
            return ASC_OK;
        }
        if (c == '}') return odd(ctx, t, i, "a single '}'", "write }} for the character");
        size_t end = i + 1;
        while (end < t.len && t.ptr[end] != '}' && t.ptr[end] != '{') end++;
        if (end == t.len)
            return odd(ctx, t, i, "a placeholder that is not closed", "write {{ for the character");
        if (t.ptr[end] == '{')
            return odd(ctx, t, end, "a placeholder inside another", "close the first one with }");
        out->field = true;
        out->text = asc_view_make(t.ptr + i + 1, end - i - 1);
        *pos = end + 1;
        return ASC_OK;
    }
    while (i < t.len && t.ptr[i] != '{' && t.ptr[i] != '}') i++;
    out->text = asc_view_make(t.ptr + *pos, i - *pos);
    *pos = i;
    return ASC_OK;
}

/* What numbering a template uses: Python refuses to mix {} and {0}. */
typedef struct filling {
    asc_ctx *ctx;
    asc_view t;
    const asc_template_value *values;
    size_t n, next;
    bool automatic, numbered;
    bool *used;
    int32_t *feature; /* of each value; -1 = none yet */
    int32_t n_features;
    asc_template *out;
    size_t cap;
    asc_strbuf text;
} filling;

static bool is_number(asc_view f) {
    for (size_t i = 0; i < f.len; i++)
        if (f.ptr[i] < '0' || f.ptr[i] > '9') return false;
    return f.len > 0;
}

static asc_status by_place(filling *f, const piece *p, size_t *which) {
    bool automatic = p->text.len == 0;
    f->automatic = f->automatic || automatic;
    f->numbered = f->numbered || !automatic;
    if (f->automatic && f->numbered)
        return odd(f->ctx, f->t, p->at, "{} and {0} in one template", "use one of the two");
    uint64_t k = 0;
    for (size_t i = 0; i < p->text.len && k < UINT32_MAX; i++) k = 10 * k + (uint64_t)(p->text.ptr[i] - '0');
    if (automatic) k = f->next++;
    size_t seen = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->values[i].name.ptr != NULL) continue;
        if (seen++ == k) {
            *which = i;
            return ASC_OK;
        }
    }
    char what[96];
    snprintf(what, sizeof what, "no value number %llu: there are %zu without a name", (unsigned long long)k,
             seen);
    return odd(f->ctx, f->t, p->at, what, "give more values; they are counted from 0");
}

static asc_status by_name(filling *f, const piece *p, size_t *which) {
    char what[160];
    for (size_t i = 0; i < f->n; i++) {
        if (f->values[i].name.ptr != NULL && asc_view_eq(f->values[i].name, p->text)) {
            *which = i;
            return ASC_OK;
        }
    }
    asc_view name = asc_view_cut(p->text, 60);
    bool more =
        memchr(p->text.ptr, '!', p->text.len) != NULL || memchr(p->text.ptr, ':', p->text.len) != NULL ||
        memchr(p->text.ptr, '.', p->text.len) != NULL || memchr(p->text.ptr, '[', p->text.len) != NULL;
    snprintf(what, sizeof what,
             more ? "the placeholder {" ASC_VIEW_FMT "} is more than a name"
                  : "no value for the placeholder {" ASC_VIEW_FMT "}",
             ASC_VIEW_ARG(name));
    return odd(f->ctx, f->t, p->at, what,
               more ? "conversions, formats and fields of values are not supported; write {name}"
                    : "give it as NAME=VALUE, or write {{ and }} for braces");
}

static asc_status add_slot(filling *f, size_t which) {
    const asc_template_value *v = &f->values[which];
    asc_template *o = f->out;
    if (o->n_slots >= MOST_PLACEHOLDERS)
        return ASC_FAIL(f->ctx, ASC_RESOURCE_EXHAUSTED, "a template of more than %d placeholders",
                        MOST_PLACEHOLDERS);
    asc_status st =
        asc_grow(f->ctx, ASC_MEM_GENERAL, (void **)&o->slots, &f->cap, o->n_slots + 1, sizeof *o->slots);
    if (st != ASC_OK) return st;
    if (f->feature[which] < 0) f->feature[which] = f->n_features++;
    size_t start = f->text.len;
    asc_strbuf_addv(&f->text, v->text);
    o->slots[o->n_slots++] = (asc_prompt_slot){.start = start,
                                               .end = f->text.len,
                                               .feature = f->feature[which],
                                               .baselines = v->baselines,
                                               .n_baselines = v->n_baselines,
                                               .label = v->name};
    f->used[which] = true;
    return ASC_OK;
}

/* Values of one group get the feature of its first; others theirs when they are used. */
static void number_groups(filling *f) {
    for (size_t i = 0; i < f->n; i++) {
        f->feature[i] = -1;
        if (f->values[i].group < 0) continue;
        for (size_t k = 0; k < i && f->feature[i] < 0; k++)
            if (f->values[k].group == f->values[i].group) f->feature[i] = f->feature[k];
        if (f->feature[i] < 0) f->feature[i] = f->n_features++;
    }
}

/* Is value i the second of its name? */
static bool is_double(const filling *f, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (f->values[k].name.ptr != NULL && asc_view_eq(f->values[k].name, f->values[i].name)) return true;
    return false;
}

static asc_status unused(filling *f) {
    size_t place = 0;
    for (size_t i = 0; i < f->n; i++) {
        asc_view name = asc_view_cut(f->values[i].name, 60);
        if (f->values[i].name.ptr == NULL) place++;
        if (f->used[i]) continue;
        if (f->values[i].name.ptr != NULL && is_double(f, i)) {
            ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "two values for the placeholder {" ASC_VIEW_FMT "}",
                     ASC_VIEW_ARG(name));
            return asc_hint(f->ctx, "give one value for each name");
        }
        if (f->values[i].name.ptr != NULL)
            ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "no placeholder takes the value '" ASC_VIEW_FMT "'",
                     ASC_VIEW_ARG(name));
        else
            ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "no placeholder takes value number %zu", place - 1);
        return asc_hint(f->ctx, "leave the value out, or put a placeholder into the template");
    }
    return ASC_OK;
}

static asc_status fill(filling *f) {
    asc_status st = ASC_OK;
    number_groups(f);
    for (size_t pos = 0; st == ASC_OK && pos < f->t.len;) {
        piece p;
        size_t which = 0;
        st = next_piece(f->ctx, f->t, &pos, &p);
        if (st == ASC_OK && !p.field) {
            asc_strbuf_addv(&f->text, p.text);
            continue;
        }
        if (st == ASC_OK)
            st = p.text.len == 0 || is_number(p.text) ? by_place(f, &p, &which) : by_name(f, &p, &which);
        if (st == ASC_OK && f->values[which].text.len == 0)
            st = odd(f->ctx, f->t, p.at,
                     "the value of this placeholder is empty: there is nothing to ascribe to",
                     "give it a text, or take the placeholder out");
        if (st == ASC_OK) st = add_slot(f, which);
    }
    return st == ASC_OK ? unused(f) : st;
}

asc_status asc_template_fill(asc_ctx *ctx, asc_view text, const asc_template_value *values, size_t n,
                             asc_template *out) {
    filling f = {.ctx = ctx, .t = text, .values = values, .n = n, .out = out};
    *out = (asc_template){0};
    asc_strbuf_init(&f.text, ctx);
    asc_strbuf_adds(&f.text, "");
    f.used = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *f.used);
    f.feature = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *f.feature);
    asc_status st = f.used == NULL || f.feature == NULL ? ASC_RESOURCE_EXHAUSTED : fill(&f);
    if (st == ASC_OK) {
        out->text = asc_strbuf_take(&f.text, &out->len);
        if (out->text == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    asc_strbuf_deinit(&f.text);
    asc_free(ctx, f.used);
    asc_free(ctx, f.feature);
    if (st != ASC_OK) asc_template_free(ctx, out);
    return st;
}

void asc_template_free(asc_ctx *ctx, asc_template *t) {
    asc_free(ctx, t->text);
    asc_free(ctx, t->slots);
    *t = (asc_template){0};
}
