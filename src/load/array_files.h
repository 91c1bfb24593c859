/* array_files.h - files that hold many named arrays (.npz, safetensors), read from memory that stays. */
#ifndef ASC_ARRAY_FILES_H
#define ASC_ARRAY_FILES_H

#include "alloc.h"
#include "ascribe/array.h"
#include "view.h"

/* Receives each array. take_array: its data is the receiver's, also when it fails (asc_array_free); otherwise
 * it lies in the file's memory. The name is lent for the call. */
typedef struct asc_array_sink {
    asc_status (*put)(void *self, asc_view name, const asc_array *a, bool take_array);
    void *self;
} asc_array_sink;

enum { ASC_SAFETENSORS_MAX_HEADER = 100000000 }; /* bytes; the limit of the format's own library */

/* Every member NAME.npy of a zip file as NAME. Elements that lie ready are not copied. Errors as of
 * asc_npy_parse and asc_zip_open, with the member's name. */
ASC_MUST_USE asc_status asc_npz_parse(asc_ctx *ctx, const void *data, size_t size,
                                      const asc_array_sink *sink);

/* Every tensor. Not copied, but bf16, which is expanded to f32. DATA_LOSS (lengths, offsets, gaps, overlaps,
 * bad JSON), UNIMPLEMENTED (element type, by name; more than ASC_MAX_RANK dimensions), RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_safetensors_parse(asc_ctx *ctx, const void *data, size_t size,
                                              const asc_array_sink *sink);

#endif
