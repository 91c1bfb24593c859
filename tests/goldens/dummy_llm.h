/* dummy_llm.h - the model of Captum's tests of language models, with weights that anyone can make: an
 * embedding, one transformer layer without a causal mask, a head; tokens are character codes. */
#ifndef ASC_DUMMY_LLM_H
#define ASC_DUMMY_LLM_H

#include "model.h"

typedef struct dummy_llm {
    asc_model m;
    asc_weights no_file; /* what asks for the file finds none to check */
    asc_layer layer;
    asc_layer_plan plan;
} dummy_llm;

/* In the current scope of ctx, which must outlive its use; then end it. */
ASC_MUST_USE asc_status dummy_llm_begin(asc_ctx *ctx, dummy_llm *out);
void dummy_llm_end(dummy_llm *d);

#endif
