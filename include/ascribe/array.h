/* ascribe/array.h - arrays in host memory: what goes into a net and what files (.npy, .npz, CSV, pictures)
 * hold.
 */
#ifndef ASCRIBE_ARRAY_H
#define ASCRIBE_ARRAY_H

#include "ascribe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types: X(ENUM, name as in .npy and ONNX, bytes). Booleans are bytes 0 or 1. */
#define ASC_ELEM_TABLE(X)                                                                                    \
    X(F32, "float32", 4)                                                                                     \
    X(F64, "float64", 8)                                                                                     \
    X(F16, "float16", 2)                                                                                     \
    X(I8, "int8", 1)                                                                                         \
    X(I16, "int16", 2)                                                                                       \
    X(I32, "int32", 4)                                                                                       \
    X(I64, "int64", 8)                                                                                       \
    X(U8, "uint8", 1)                                                                                        \
    X(U16, "uint16", 2)                                                                                      \
    X(U32, "uint32", 4)                                                                                      \
    X(U64, "uint64", 8)                                                                                      \
    X(BOOL, "bool", 1)

typedef enum asc_elem {
#define ASC_ELEM_ENUM(e, name, bytes) ASC_ELEM_##e,
    ASC_ELEM_TABLE(ASC_ELEM_ENUM)
#undef ASC_ELEM_ENUM
        ASC_N_ELEMS
} asc_elem;

ASC_API const char *asc_elem_name(asc_elem e); /* "float32"; NULL when e is none */
ASC_API size_t asc_elem_bytes(asc_elem e);
ASC_API bool asc_elem_is_float(asc_elem e);

/* A row-major array. Borrowed where a function takes it const; `data` may be unaligned. */
typedef struct asc_array {
    asc_elem elem;
    asc_shape shape;
    const void *data;
} asc_array;

ASC_API int64_t asc_array_count(const asc_array *a); /* elements; -1 on overflow or a negative dimension */
/* Elements [first, first + n) as doubles: exact but for 64-bit integers above 2^53. */
ASC_API void asc_array_get(const asc_array *a, int64_t first, int64_t n, double *out);

/* Frees an array that a reader below made (data and all). NULL data is accepted. */
ASC_API void asc_array_free(asc_ctx *ctx, asc_array *a);

/* Reads a .npy file; Fortran order is put into row-major order, big-endian files into the machine's. Errors:
 * NOT_FOUND, DATA_LOSS (truncated, lying header), UNIMPLEMENTED (object, structured, string, complex,
 * pickles). */
ASC_API ASC_MUST_USE asc_status asc_npy_read(asc_ctx *ctx, const char *path, asc_array *out);
/* Writes a .npy file, all of it or nothing. */
ASC_API ASC_MUST_USE asc_status asc_npy_write(asc_ctx *ctx, const char *path, const asc_array *a);

#ifdef __cplusplus
}
#endif
#endif
