/* model_doubts.h - warns of metadata that makes no sense and changes no number. */
#ifndef ASC_MODEL_DOUBTS_H
#define ASC_MODEL_DOUBTS_H

#include "gguf.h"

/* A warning in the context's log for each entry; n_vocab: rows of the embedding table. */
void asc_model_doubts(asc_ctx *ctx, const asc_gguf *g, const char *architecture, int64_t n_vocab);

#endif
