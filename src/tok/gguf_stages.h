/* gguf_stages.h - vocabularies in GGUF files that are stages of a tokenizer.json: tokenizer.ggml.model "bert"
 * (WordPiece), "t5" (Unigram; also XLM-RoBERTa's) and "gemma4" (BPE over characters, with bytes for the
 * rest).
 */
#ifndef ASC_GGUF_STAGES_H
#define ASC_GGUF_STAGES_H

#include "ascribe/tokens.h"
#include "gguf.h"

/* *handled false (and *out NULL): `model` is none of these. Errors: those of asc_tokenizer_from_gguf. */
ASC_MUST_USE asc_status asc_gguf_stages_create(asc_ctx *ctx, const asc_gguf *g, asc_view model, bool *handled,
                                               asc_tokenizer **out);

#endif
