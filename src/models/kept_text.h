/* kept_text.h - the embedding of the text that others were last compared with, which stays with the model: a
 * file of texts is compared with one and the same text, line after line. */
#ifndef ASC_KEPT_TEXT_H
#define ASC_KEPT_TEXT_H

#include "model.h"

typedef struct asc_kept_text {
    int32_t *ids; /* n */
    size_t n;
    double *embedding;
    double flops;      /* of making it */
    uint64_t settings; /* of the context, when it was made: device, mode, levels of precision */
} asc_kept_text;

/* As asc_model_embed_text, unless the last text was the same and nothing changed that its bits depend on.
 * *saved: FLOP that were not computed for it, 0 when the model ran. */
ASC_MUST_USE asc_status asc_model_embed_kept(asc_model *m, const int32_t *ids, size_t n, double *out,
                                             double *saved);
void asc_model_forget_text(asc_model *m);

#endif
