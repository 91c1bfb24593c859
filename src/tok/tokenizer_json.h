/* tokenizer_json.h - tokenizers from Hugging Face's tokenizer.json (docs/tokenizers.md says what is read). */
#ifndef ASC_TOKENIZER_JSON_H
#define ASC_TOKENIZER_JSON_H

#include "ascribe/tokens.h"

enum { ASC_TOKENIZER_JSON_MAX = 1 << 28 }; /* bytes of a file; the largest in use have 35 MB */

/* Builds a tokenizer from the text of a tokenizer.json; name (a path) is for messages. Nothing of the text is
 * kept. The sections for truncation and padding are not applied; the padding token is known from there.
 * Errors name the file and the section: INVALID_ARGUMENT, UNIMPLEMENTED (a component that is not known, by
 * name), RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_tokenizer_from_json(asc_ctx *ctx, asc_view json_text, const char *name,
                                                asc_tokenizer **out);
/* The same of a text whose "model" has no "vocab" and "merges": lists stand for them (word_model.h; NULL: the
 * text has them). */
struct asc_word_lists;
ASC_MUST_USE asc_status asc_tokenizer_from_stages(asc_ctx *ctx, asc_view json_text,
                                                  const struct asc_word_lists *lists, const char *name,
                                                  asc_tokenizer **out);
/* Takes bos_token, eos_token, unk_token, pad_token, mask_token, cls_token and sep_token (strings, or objects
 * with "content") from the text of a tokenizer_config.json. Tokens that the tokenizer lacks are ignored with
 * a warning. For a tokenizer that nobody else uses yet. Errors: INVALID_ARGUMENT (not JSON). */
ASC_MUST_USE asc_status asc_tokenizer_json_config(asc_ctx *ctx, asc_tokenizer *tk, asc_view json_text,
                                                  const char *name);
/* Gives the tokenizer as many ids as a model has rows: those that the file does not name are unused tokens
 * without text. Errors: RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_tokenizer_json_rows(asc_ctx *ctx, asc_tokenizer *tk, size_t n_rows);

#endif
