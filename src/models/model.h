/* model.h - what a model is inside the library; see ascribe/model.h. */
#ifndef ASC_MODEL_H
#define ASC_MODEL_H

#include "ascribe/model.h"
#include "decoder.h"

struct asc_model {
    asc_ctx *ctx;
    asc_gguf *file;
    asc_decoder decoder;
    asc_tokenizer *tokenizer;
    asc_model_info info;
    char *path, *name;
    char sha256[65]; /* "" until asked for */
};

/* INVALID_ARGUMENT / OUT_OF_RANGE unless 1 <= n <= context and every id is in the vocabulary. `what` names
 * the ids. */
ASC_MUST_USE asc_status asc_model_check_ids(asc_model *m, const int32_t *ids, size_t n, const char *what);
/* When a result is not finite: the reason (weights named), or NUMERIC trouble said plainly. */
asc_status asc_model_explain_nan(asc_model *m, const char *what);

/* After asc_chat_render failed with st on the model's own template: adds the file, and a remedy if none is
 * known. Returns st. */
asc_status asc_model_template_failed(const asc_model *m, asc_status st);

/* "blocks.3.mlp.out" -> site and layer; false when there is no such site. */
bool asc_model_find_site(const asc_model *m, asc_view name, asc_decoder_site *site, int64_t *layer);

#endif
