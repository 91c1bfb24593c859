/* encoder_gguf.h - text encoders in GGUF files. */
#ifndef ASC_ENCODER_GGUF_H
#define ASC_ENCODER_GGUF_H

#include "encoder.h"
#include "model.h"

/* Is the file's architecture one of the encoders'? Its metadata was read without error. */
bool asc_encoder_is_gguf(const asc_gguf *g);
/* "bert, nomic-bert, ...", for messages. */
const char *asc_encoder_gguf_names(void);
/* Opens it as m, whose weights are those of g already: config, encoder, tokenizer. INVALID_ARGUMENT and
 * UNIMPLEMENTED name the key or the tensor. */
ASC_MUST_USE asc_status asc_encoder_gguf_open(asc_model *m, const asc_gguf *g);

#endif
