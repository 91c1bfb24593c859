/* gguf_vocab.h - the tokenizer that a GGUF file holds in its tokenizer.ggml.* metadata. */
#ifndef ASC_GGUF_VOCAB_H
#define ASC_GGUF_VOCAB_H

#include "ascribe/tokens.h"
#include "gguf.h"

/* Builds the tokenizer; it keeps nothing of the file, which may be closed. End it with asc_tokenizer_destroy.
 * Errors name the file and the key: those of asc_tokenizer_create, INVALID_ARGUMENT (a key of the wrong
 * kind), FAILED_PRECONDITION (the file has shrunk). */
ASC_MUST_USE asc_status asc_tokenizer_from_gguf(asc_ctx *ctx, const asc_gguf *g, asc_tokenizer **out);

#endif
