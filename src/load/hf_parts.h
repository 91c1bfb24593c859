/* hf_parts.h - what the files of the folder reader share. */
#ifndef ASC_HF_PARTS_H
#define ASC_HF_PARTS_H

#include "hf_folder.h"

/* FOLDER/FILE; NULL on exhaustion. */
char *asc_hf_path(const asc_hf_folder *f, asc_view file);
/* Maps one weight file and adds its tensors. index: NULL, or weight_map, which must place each of them there.
 */
ASC_MUST_USE asc_status asc_hf_add_file(asc_hf_folder *f, asc_view file, const asc_json *weight_map);
/* The same of bytes that stay. */
ASC_MUST_USE asc_status asc_hf_add_bytes(asc_hf_folder *f, asc_view file, const void *data, size_t size,
                                         const asc_json *weight_map);
/* Adds every file that an index lists; data: NULL, or what stands for each of them. */
ASC_MUST_USE asc_status asc_hf_add_shards(asc_hf_folder *f, const asc_json *index, const void *data,
                                          size_t size);
/* The same of the folder's own index. */
ASC_MUST_USE asc_status asc_hf_add_index(asc_hf_folder *f);
/* Builds the look-up by name; INVALID_ARGUMENT names a tensor that two files hold. */
ASC_MUST_USE asc_status asc_hf_seal(asc_hf_folder *f);
/* Whether the folder has a file of this name. */
bool asc_hf_has(const asc_hf_folder *f, const char *file);
/* The errors of a folder without config.json, or without safetensors: what lies there decides what they say.
 */
ASC_MUST_USE asc_status asc_hf_no_config(const asc_hf_folder *f);
ASC_MUST_USE asc_status asc_hf_no_weights(const asc_hf_folder *f);

#endif
