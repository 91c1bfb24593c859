/* pretok_cut.c - runs the patterns of a pre-tokenizer. A pattern sees one piece at a time, as if there were
 * nothing else. Patterns want UTF-8; what is not counts as U+FFFD, as everywhere in this folder. */
#include "pretok.h"

asc_status asc_pretok_compile(asc_ctx *ctx, const asc_pretok *p, asc_pretok_patterns *out) {
    asc_status st = ASC_OK;
    *out = (asc_pretok_patterns){0};
    while (out->n < ASC_PRETOK_PATTERNS && p->pattern[out->n] != NULL) {
        ASC_TRY(asc_pattern_create(ctx, asc_view_of(p->pattern[out->n]), true, &out->v[out->n]));
        out->n++;
    }
done:
    if (st != ASC_OK) asc_pretok_patterns_deinit(ctx, out);
    return st;
}

void asc_pretok_patterns_deinit(asc_ctx *ctx, asc_pretok_patterns *p) {
    for (size_t i = 0; i < p->n; i++) asc_pattern_destroy(ctx, p->v[i]);
    *p = (asc_pretok_patterns){0};
}

/* Cuts every piece in cuts. */
static asc_status refine(asc_ctx *ctx, const asc_pattern *p, asc_view text, asc_cuts *cuts, asc_cuts *piece,
                         asc_cuts *next) {
    asc_status st = ASC_OK;
    next->n = 0;
    for (size_t i = 0; i < cuts->n; i++) {
        asc_cut c = cuts->v[i];
        ASC_TRY(asc_pattern_cut(ctx, p, (asc_view){text.ptr + c.start, c.end - c.start}, piece));
        for (size_t k = 0; k < piece->n; k++) {
            asc_cut x = piece->v[k];
            if (x.start < x.end) ASC_TRY(asc_cuts_add(next, c.start + x.start, c.start + x.end, x.match));
        }
    }
    asc_cuts t = *cuts;
    *cuts = *next;
    *next = t;
done:
    return st;
}

asc_status asc_pretok_cut(asc_ctx *ctx, const asc_pretok_patterns *p, asc_view text, asc_span part,
                          asc_cuts *cuts) {
    asc_status st = ASC_OK;
    asc_cuts piece = {.ctx = ctx}, next = {.ctx = ctx};
    asc_aligned copy = {.ctx = ctx};
    asc_view view = {text.ptr + part.start, part.end - part.start};
    bool valid = asc_utf8_check(view) == view.len;
    cuts->n = 0;
    if (view.len == 0) return ASC_OK;
    if (!valid) {
        ASC_TRY(asc_aligned_load(&copy, view, part.start));
        view = asc_aligned_view(&copy);
    }
    ASC_TRY(asc_cuts_add(cuts, 0, view.len, false));
    for (size_t i = 0; i < p->n; i++) ASC_TRY(refine(ctx, p->v[i], view, cuts, &piece, &next));
    for (size_t i = 0; i < cuts->n; i++) {
        asc_cut *c = &cuts->v[i];
        c->start = valid ? part.start + c->start : copy.from[c->start];
        c->end = valid ? part.start + c->end : copy.to[c->end - 1];
    }
done:
    asc_aligned_deinit(&copy);
    asc_free(ctx, piece.v);
    asc_free(ctx, next.v);
    return st;
}
