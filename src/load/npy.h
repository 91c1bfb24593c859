/* npy.h - NumPy's array file, versions 1 to 3: what its header says, and its elements in row-major order.
 * Format: numpy/lib/format.py of NumPy; docs/formats/arrays.md. */
#ifndef ASC_NPY_H
#define ASC_NPY_H

#include "alloc.h"
#include "ascribe/array.h"
#include "strbuf.h"

enum { ASC_NPY_MAX_HEADER = 1 << 16 }; /* bytes of the header's text */

typedef struct asc_npy {
    asc_elem elem;
    asc_shape shape;
    bool fortran;  /* first index fastest */
    bool swap;     /* the other byte order */
    size_t offset; /* of the elements */
    size_t bytes;  /* of the elements; checked against the length */
} asc_npy;

/* DATA_LOSS (truncated, lying or malformed header), UNIMPLEMENTED (element types that are no plain numbers,
 * pickles, more than ASC_MAX_RANK dimensions), RESOURCE_EXHAUSTED (over a limit). Each has a hint. */
ASC_MUST_USE asc_status asc_npy_parse(asc_ctx *ctx, const void *data, size_t size, asc_npy *out);
/* A copy of the elements, row-major, in the machine's byte order; freed by asc_array_free. */
ASC_MUST_USE asc_status asc_npy_copy(asc_ctx *ctx, const void *data, const asc_npy *npy, asc_array *out);
/* Appends header and elements (version 1, row-major, little-endian). INVALID_ARGUMENT for impossible arrays.
 */
ASC_MUST_USE asc_status asc_npy_print(asc_ctx *ctx, const asc_array *a, asc_strbuf *out);

#endif
