/* inspect_folder.h - ascribe/inspect.h for Hugging Face folders: config.json's values, with the keys of inner
 * objects behind dots ("rope_scaling.factor"), and the tensors under the files' own names. */
#ifndef ASC_INSPECT_FOLDER_H
#define ASC_INSPECT_FOLDER_H

#include "ascribe/inspect.h"
#include "hf_folder.h"

typedef struct asc_inspect_folder asc_inspect_folder;

ASC_MUST_USE asc_status asc_inspect_folder_open(asc_ctx *ctx, const char *path, asc_inspect_folder **out);
void asc_inspect_folder_close(asc_inspect_folder *f); /* NULL is accepted */
asc_inspect_info asc_inspect_folder_info(const asc_inspect_folder *f);
bool asc_inspect_folder_key(const asc_inspect_folder *f, size_t i, asc_meta_key *out);
bool asc_inspect_folder_value(const asc_inspect_folder *f, size_t i, size_t j, asc_meta_value *out);
bool asc_inspect_folder_tensor(const asc_inspect_folder *f, size_t i, asc_tensor_entry *out);

#endif
