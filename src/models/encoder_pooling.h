/* encoder_pooling.h - how a sentence-transformers folder makes one vector of a text: modules.json and the
 * folders that it lists. */
#ifndef ASC_ENCODER_POOLING_H
#define ASC_ENCODER_POOLING_H

#include "encoder.h"
#include "hf_folder.h"

/* Sets cfg->pooling, stages and embed_width; without modules.json it is the mean and cfg->plain_pooling.
 * Tensors of Dense modules join f's, called PATH/linear.weight. INVALID_ARGUMENT (a listed module without its
 * config, sizes that do not fit), NOT_FOUND (its weights), UNIMPLEMENTED (another kind of module, pooling or
 * activation, by name). */
ASC_MUST_USE asc_status asc_encoder_read_pooling(asc_ctx *ctx, asc_hf_folder *f, asc_encoder_config *cfg);

/* Opens a text encoder's folder as m: config, weights, pooling; m->tokenizer is set before, or NULL. */
struct asc_model;
ASC_MUST_USE asc_status asc_encoder_open(struct asc_model *m, asc_hf_folder *f);

#endif
