/* hf_text.h - what a folder says about texts: tokenizer, special tokens, chat template. */
#ifndef ASC_HF_TEXT_H
#define ASC_HF_TEXT_H

#include "hf_folder.h"
#include "model.h"

/* m->tokenizer, of n_vocab rows. Without a tokenizer.json it is one of ids (tokenizer_ids.h). */
ASC_MUST_USE asc_status asc_hf_read_tokenizer(asc_model *m, const asc_hf_folder *f, int64_t n_vocab);
/* m->chat_template: chat_template.jinja, or that of tokenizer_config.json (a text, or a list of which
 * "default" is taken). */
ASC_MUST_USE asc_status asc_hf_read_template(asc_model *m, const asc_hf_folder *f);

#endif
