/* model_like.h - a model opened once more, for another thread. */
#ifndef ASC_MODEL_LIKE_H
#define ASC_MODEL_LIKE_H

#include "model.h"

/* Opens m's files in a context of its own; weights: as m was opened. FAILED_PRECONDITION when they are other
 * files by now; errors of asc_model_open, in ctx. *out is NULL on failure. Only reads m: several threads may
 * do this at once. */
ASC_MUST_USE asc_status asc_model_open_like(const asc_model *m, asc_ctx *ctx, asc_weights_mode weights,
                                            asc_model **out);

#endif
