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

/* A paragraph ends behind the empty lines (blanks do not count) that follow a line with something on it. */
static asc_status paragraphs(asc_view text, asc_span_list *l) {
    bool visible = false, empty_line = false; /* in this paragraph; an empty line has been seen behind it */
    size_t line = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (!blank && visible && empty_line) {
            asc_status st = asc_span_list_cut(l, line);
            if (st != ASC_OK) return st;
            empty_line = false;
        }
        if (!blank) {
            visible = true;
            empty_line = false;
            while (i + 1 < text.len && text.ptr[i + 1] != '\n') i++; /* the rest of the line */
            if (i + 1 < text.len) i++;
            line = i + 1;
        } else if (c == '\n') {
            empty_line = empty_line || visible;
            line = i + 1;
        }
    }
    return asc_span_list_finish(l, text.len, visible);
}

asc_status asc_segment(asc_ctx *ctx, asc_view text, asc_segment_unit unit, asc_span **out, size_t *out_n) {
    asc_span_list l = {.ctx = ctx};
    *out = NULL;
    *out_n = 0;
    asc_status st = unit == ASC_SEGMENT_WORD       ? asc_segment_words(text, &l)
                    : unit == ASC_SEGMENT_SENTENCE ? asc_segment_sentences(text, &l)
                                                   : paragraphs(text, &l);
    if (st != ASC_OK) {
        asc_free(ctx, l.v);
        return st;
    }
    *out = l.v;
    *out_n = l.n;
    return ASC_OK;
}
