/* safetensors.h - the header of a safetensors file, checked before anything of it is used: shared by arrays
 * for nets (array_files.h) and the folders of language models (hf_folder.h). */
#ifndef ASC_SAFETENSORS_H
#define ASC_SAFETENSORS_H

#include "array_files.h"

enum {
    ASC_SAFETENSORS_BF16 = ASC_N_ELEMS, /* no element type of arrays */
};

/* One tensor of a file. The name is lent for the call; the data lies in the file's memory, unaligned. */
typedef struct asc_safetensor {
    asc_view name;
    int elem; /* an asc_elem, or ASC_SAFETENSORS_BF16 */
    asc_shape shape;
    const uint8_t *data;
    size_t bytes;
} asc_safetensor;
typedef asc_status (*asc_safetensors_fn)(void *self, const asc_safetensor *t);

/* Calls fn for every tensor in the header's order, after all of the file was checked. Errors as of
 * asc_safetensors_parse, and those of fn; each names the tensor. */
ASC_MUST_USE asc_status asc_safetensors_each(asc_ctx *ctx, const void *data, size_t size,
                                             asc_safetensors_fn fn, void *self);
/* Arrays have no element type for bf16: its n unaligned values become f32 in *a, whose data is the caller's
 * to free (asc_free). */
ASC_MUST_USE asc_status asc_safetensors_widen(asc_ctx *ctx, const uint8_t *bf16, size_t n, asc_array *a);
/* The asc_dtype that weights of a model of this element type have; -1 for what is neither f32, f16 nor bf16.
 */
int asc_safetensors_dtype(int elem);

#endif
