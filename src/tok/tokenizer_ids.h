/* tokenizer_ids.h - a stand-in where a model comes without its tokenizer, and the ids of special tokens that
 * lie in other files than the vocabulary. */
#ifndef ASC_TOKENIZER_IDS_H
#define ASC_TOKENIZER_IDS_H

#include "ascribe/tokens.h"

/* Tokens 0 .. n - 1 called "<0>", "<1>", ...; prompts as ids work. asc_tokenize of a text that is not empty
 * is FAILED_PRECONDITION with `why` (static text). End it with asc_tokenizer_destroy. */
ASC_MUST_USE asc_status asc_tokenizer_of_ids(asc_ctx *ctx, size_t n, const char *why, asc_tokenizer **out);

/* The ids of tokens with a role; those outside of the vocabulary change nothing. */
void asc_tokenizer_set_bos(asc_tokenizer *tk, int64_t id);
void asc_tokenizer_set_eos(asc_tokenizer *tk, int64_t id);
void asc_tokenizer_set_eot(asc_tokenizer *tk, int64_t id);
void asc_tokenizer_set_pad(asc_tokenizer *tk, int64_t id);

#endif
