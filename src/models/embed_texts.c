/* embed_texts.c - embeddings of many texts: those of one length run together, since a pass over one short
 * text costs mostly the reading of the weights. Texts of different lengths share no pass: padding would need
 * masks in attention and in every way of pooling, and would be computed for nothing. */
#include "encoder.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    size_t n, index; /* tokens; which text */
} place;

/* Longest first: a pass that needs too much memory fails before work is done, and the rest fits into what
 * the first has left. Equals stay in order, so that results do not depend on qsort. */
static int by_length(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The embeddings of b texts of t tokens, into the rows that they belong to. ids, types: room for b * t;
 * rows: for b embeddings. */
typedef struct pass {
    int32_t *ids, *types;
    double *rows;
} pass;

static asc_status run(asc_model *m, const asc_id_text *texts, const place *at, size_t b, const pass *p,
                      double *out) {
    asc_ctx *ctx = m->ctx;
    const size_t t = at[0].n, width = asc_model_embedding_width(m);
    bool typed = false;
    for (size_t i = 0; i < b; i++) {
        const asc_id_text *x = &texts[at[i].index];
        memcpy(p->ids + i * t, x->ids, t * sizeof *p->ids);
        typed = typed || x->types != NULL;
        if (x->types != NULL)
            memcpy(p->types + i * t, x->types, t * sizeof *p->types);
        else
            memset(p->types + i * t, 0, t * sizeof *p->types);
    }
    asc_scope_begin(ctx);
    asc_encoder_run r = {.x = asc_model_embed(m, p->ids, (int64_t)b, (int64_t)t)};
    if (typed) r.types = asc_from_i32(ctx, ASC_SHAPE((int64_t)b, (int64_t)t), p->types);
    asc_tensor *e = asc_encoder_embedding(m->encoder, asc_encoder_hidden(m->encoder, &r), NULL);
    asc_status st = asc_scope_close(ctx, asc_read_f64(ctx, e, p->rows, b * width));
    for (size_t i = 0; st == ASC_OK && i < b * width; i++) {
        if (!isfinite(p->rows[i])) st = asc_model_explain_nan(m, "a text's embedding");
    }
    for (size_t i = 0; st == ASC_OK && i < b; i++)
        memcpy(out + at[i].index * width, p->rows + i * width, width * sizeof *out);
    return st;
}

static asc_status check(asc_model *m, const asc_id_text *texts, size_t n) {
    asc_status st = asc_model_needs_encoder(m);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        char what[48];
        snprintf(what, sizeof what, "text at index %zu", i);
        st = asc_model_check_ids(m, texts[i].ids, texts[i].n, what);
        if (st != ASC_OK) break;
        st = asc_model_check_types(m, texts[i].types, texts[i].n);
        if (st != ASC_OK) asc_fail_context(m->ctx, "text at index %zu", i);
    }
    return st;
}

asc_status asc_model_embed_texts(asc_model *m, const asc_id_text *texts, size_t n, double *out) {
    asc_ctx *ctx = m->ctx;
    asc_status st = check(m, texts, n);
    if (st != ASC_OK || n == 0) return st;
    const size_t width = asc_model_embedding_width(m);
    size_t room = ASC_EMBED_PASS_TOKENS, most = n < room ? n : room, total = 0, done = 0;
    for (size_t i = 0; i < n; i++) {
        if (texts[i].n > room) room = texts[i].n;
        total += texts[i].n;
    }
    place *order = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *order);
    pass p = {.ids = asc_calloc(ctx, ASC_MEM_GENERAL, room, sizeof *p.ids),
              .types = asc_calloc(ctx, ASC_MEM_GENERAL, room, sizeof *p.types),
              .rows = asc_calloc(ctx, ASC_MEM_GENERAL, most * width, sizeof *p.rows)};
    if (order == NULL || p.ids == NULL || p.types == NULL || p.rows == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; st == ASC_OK && i < n; i++) order[i] = (place){texts[i].n, i};
    if (st == ASC_OK) qsort(order, n, sizeof *order, by_length);
    for (size_t i = 0, b; st == ASC_OK && i < n; i += b) {
        const size_t t = order[i].n, fit = t < ASC_EMBED_PASS_TOKENS ? ASC_EMBED_PASS_TOKENS / t : 1;
        for (b = 1; b < fit && i + b < n && order[i + b].n == t;) b++;
        st = asc_progress(ctx, "texts", (double)done, (double)total);
        if (st == ASC_OK) st = run(m, texts, order + i, b, &p, out);
        done += b * t;
    }
    asc_free(ctx, order);
    asc_free(ctx, p.ids);
    asc_free(ctx, p.types);
    asc_free(ctx, p.rows);
    return st;
}
