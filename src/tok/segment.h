/* segment.h - words and sentences of a text as byte ranges, and the tokens that belong to each: the features
 * that people read. Works on any bytes; what is not UTF-8 counts as U+FFFD. */
#ifndef ASC_SEGMENT_H
#define ASC_SEGMENT_H

#include "ascribe/tokens.h"

typedef enum asc_segment_unit {
    ASC_SEGMENT_WORD, /* visible characters with the white space before them: "The", " capital", "\n\nof" */
    ASC_SEGMENT_PARAGRAPH, /* up to and with the empty lines behind it */
    ASC_SEGMENT_SENTENCE /* up to . ! ? and their like, or an empty line; white space before it included */
} asc_segment_unit;

/* Splits text into spans that tile it (none for an empty text; one for a text of white space only). White
 * space at the end belongs to the last span. Scripts without spaces (Han, kana, Thai, Lao, Khmer, Myanmar)
 * are split into characters, punctuation staying with its neighbour; grapheme clusters (accents, emoji
 * sequences) stay whole. *out is freed with asc_free. Errors: RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_segment(asc_ctx *ctx, asc_view text, asc_segment_unit unit, asc_span **out,
                                    size_t *out_n);

/* Tokens [first, last) of a token list and bytes [start, end) of the text that they cover together. */
typedef struct asc_token_group {
    size_t first, last;
    size_t start, end;
} asc_token_group;

/* Groups the tokens of a text (their ranges tile it) by the spans they lie in (which tile it, too): a token
 * goes to the span of its first visible byte, or of its first byte when it is white space. A token that
 * reaches into the next span joins both into one group. With tk (may be NULL) every control token is a group
 * by itself. Every token is in exactly one group, groups are in order, a span without tokens has none. *out
 * is freed with asc_free. Errors: RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_group_tokens(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                                         const asc_token *tokens, size_t n_tokens, const asc_span *spans,
                                         size_t n_spans, asc_token_group **out, size_t *out_n);

#endif
