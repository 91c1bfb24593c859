/* hf_model.h - models from Hugging Face folders. */
#ifndef ASC_HF_MODEL_H
#define ASC_HF_MODEL_H

#include "model.h"

/* Opens m->path: a folder, or a file of one. *read is set once its files could be read, so that a later
 * refusal is the model's. What m holds afterwards is ended by asc_model_close, also when this fails. */
ASC_MUST_USE asc_status asc_hf_model_open(asc_model *m, const asc_model_options *o, bool *read);

#endif
