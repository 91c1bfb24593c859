/* segment_list.h - what both kinds of splitting share: the growing list of spans. Only for segment_*.c. */
#ifndef ASC_SEGMENT_LIST_H
#define ASC_SEGMENT_LIST_H

#include "alloc.h"
#include "segment.h"

typedef struct asc_span_list {
    asc_ctx *ctx;
    asc_span *v;
    size_t n, cap;
    size_t start; /* of the span being built */
} asc_span_list;

/* Ends the current span at `end` and begins the next there. */
ASC_MUST_USE asc_status asc_span_list_cut(asc_span_list *l, size_t end);
/* The end of the text: what is left is a span of its own if it is visible, else part of the last one. */
ASC_MUST_USE asc_status asc_span_list_finish(asc_span_list *l, size_t len, bool visible);

ASC_MUST_USE asc_status asc_segment_words(asc_view text, asc_span_list *l);
ASC_MUST_USE asc_status asc_segment_sentences(asc_view text, asc_span_list *l);

#endif
