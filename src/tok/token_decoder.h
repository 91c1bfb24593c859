/* token_decoder.h - ids back to text the way a tokenizer file says ("decoder"): steps that change a list of
 * strings, which is joined at the end. A Sequence is laid out flat. */
#ifndef ASC_TOKEN_DECODER_H
#define ASC_TOKEN_DECODER_H

#include "json.h"
#include "pattern.h"

typedef enum asc_decoder_kind {
    ASC_DECODE_BYTE_LEVEL,
    ASC_DECODE_WORDPIECE,
    ASC_DECODE_METASPACE,
    ASC_DECODE_BYTE_FALLBACK,
    ASC_DECODE_FUSE,
    ASC_DECODE_STRIP,
    ASC_DECODE_REPLACE,
    ASC_DECODE_BPE,
    ASC_DECODE_CTC
} asc_decoder_kind;

typedef struct asc_decoder_step {
    asc_decoder_kind kind;
    char *text; /* wordpiece: prefix; metaspace, strip: the character; replace: by this; bpe: suffix; ctc: pad
                 */
    char *other; /* ctc: what stands between words */
    size_t text_len, other_len;
    bool cleanup;       /* wordpiece, ctc */
    bool drop_first;    /* metaspace: the mark of the first token was put there */
    size_t start, stop; /* strip: at most so many at the ends */
    asc_pattern *pattern;
} asc_decoder_step;

typedef struct asc_token_decoder {
    asc_decoder_step *v;
    size_t n, cap;
    bool present; /* no decoder: tokens are joined with spaces */
} asc_token_decoder;

/* A list of strings. */
typedef struct asc_strings {
    asc_strbuf bytes;
    size_t *end; /* string i is bytes [end[i-1], end[i]) */
    size_t n, cap;
} asc_strings;

void asc_strings_init(asc_ctx *ctx, asc_strings *s);
void asc_strings_deinit(asc_ctx *ctx, asc_strings *s);
asc_view asc_strings_at(const asc_strings *s, size_t i);
/* Appends to the string being made; asc_strings_end closes it. */
ASC_MUST_USE asc_status asc_strings_end(asc_ctx *ctx, asc_strings *s);

ASC_MUST_USE asc_status asc_token_decoder_init(asc_ctx *ctx, asc_token_decoder *d, const asc_json *j);
void asc_token_decoder_deinit(asc_ctx *ctx, asc_token_decoder *d);
/* The text of a list of tokens, appended to out; tokens is used up. */
ASC_MUST_USE asc_status asc_token_decode(asc_ctx *ctx, const asc_token_decoder *d, asc_strings *tokens,
                                         asc_strbuf *out);

#endif
