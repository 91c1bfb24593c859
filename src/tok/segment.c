/* segment.c - see segment.h; the list of spans. */
#include "segment_list.h"

asc_status asc_span_list_cut(asc_span_list *l, size_t end) {
    asc_status st = asc_grow(l->ctx, ASC_MEM_TOKENIZER, (void **)&l->v, &l->cap, l->n + 1, sizeof *l->v);
    if (st != ASC_OK) return st;
    l->v[l->n++] = (asc_span){l->start, end};
    l->start = end;
    return ASC_OK;
}

asc_status asc_span_list_finish(asc_span_list *l, size_t len, bool visible) {
    if (l->start == len) return ASC_OK;
    if (visible || l->n == 0) return asc_span_list_cut(l, len);
    l->v[l->n - 1].end = len;
    return ASC_OK;
}

asc_status asc_segment(asc_ctx *ctx, asc_view text, asc_segment_unit unit, asc_span **out, size_t *out_n) {
    asc_span_list l = {.ctx = ctx};
    *out = NULL;
    *out_n = 0;
    asc_status st = unit == ASC_SEGMENT_WORD ? asc_segment_words(text, &l) : asc_segment_sentences(text, &l);
    if (st != ASC_OK) {
        asc_free(ctx, l.v);
        return st;
    }
    *out = l.v;
    *out_n = l.n;
    return ASC_OK;
}
