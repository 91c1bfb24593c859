/* gguf.h - reader for GGUF model files, versions 2 and 3, little-endian (docs/formats/gguf.md).
 *
 * Opening maps the file, reads its header and checks all of it: afterwards every view and pointer handed out
 * here lies inside the file, no tensor overlaps another, and look-ups cannot fail for a malformed file.
 * Nothing is copied; views, arrays and tensor data stay valid until asc_gguf_close. Errors name the file, the
 * byte offset or the key or tensor, and the remedy (asc_error_hint). A reader is not changed by any call but
 * close. */
#ifndef ASC_GGUF_H
#define ASC_GGUF_H

#include "ctx.h"
#include "dtype.h"

/* Limits, checked before anything is allocated for them. */
enum {
    ASC_GGUF_MAX_KEYS = 65536,
    ASC_GGUF_MAX_TENSORS = 65536,
    ASC_GGUF_MAX_KEY_BYTES = 65535, /* of the format itself */
    ASC_GGUF_MAX_NAME_BYTES = 255,  /* of a tensor; the format says 64 */
    ASC_GGUF_MAX_DEPTH = 4,         /* arrays within arrays */
    ASC_GGUF_MIN_ALIGNMENT = 8,     /* of the format itself; keeps every element aligned in a mapped file */
    ASC_GGUF_MAX_ALIGNMENT = 65536,
    ASC_GGUF_MAX_RANK = 4
};

typedef struct asc_gguf asc_gguf; /* opaque */

/* Types of metadata values; the numbers are the file's. */
#define ASC_GGUF_TYPE_TABLE(X)                                                                               \
    X(U8, "u8", 0, 1)                                                                                        \
    X(I8, "i8", 1, 1)                                                                                        \
    X(U16, "u16", 2, 2)                                                                                      \
    X(I16, "i16", 3, 2)                                                                                      \
    X(U32, "u32", 4, 4)                                                                                      \
    X(I32, "i32", 5, 4)                                                                                      \
    X(F32, "f32", 6, 4)                                                                                      \
    X(BOOL, "bool", 7, 1)                                                                                    \
    X(STRING, "string", 8, 0)                                                                                \
    X(ARRAY, "array", 9, 0)                                                                                  \
    X(U64, "u64", 10, 8)                                                                                     \
    X(I64, "i64", 11, 8)                                                                                     \
    X(F64, "f64", 12, 8)

typedef enum asc_gguf_type {
#define ASC_GGUF_TYPE_ENUM(e, name, number, bytes) ASC_GGUF_##e = number,
    ASC_GGUF_TYPE_TABLE(ASC_GGUF_TYPE_ENUM)
#undef ASC_GGUF_TYPE_ENUM
        ASC_GGUF_N_TYPES
} asc_gguf_type;
const char *asc_gguf_type_name(asc_gguf_type t); /* "u32"; never NULL */

/* A run of values of one type; pass it by value, read it with the asc_gguf_*_at functions below. */
typedef struct asc_gguf_array {
    asc_gguf_type type; /* of the elements */
    size_t count;
    const uint8_t *data;   /* as in the file: unaligned, little-endian */
    const uint32_t *index; /* strings: where element i starts in data; NULL when there is only one */
} asc_gguf_array;

/* One metadata entry. A single value is a run of one. */
typedef struct asc_gguf_kv {
    asc_view key;
    bool is_array;
    asc_gguf_array values;
    uint64_t file_offset; /* of the value */
} asc_gguf_kv;

typedef struct asc_gguf_tensor {
    asc_view name;
    int rank; /* 1 to 4 */
    int64_t
        dims[ASC_GGUF_MAX_RANK]; /* outermost first, the file's order reversed: a matrix is [rows, cols] */
    asc_dtype dtype;
    const void *data; /* cols contiguous; aligned as the file says when the file is mapped */
    size_t bytes;
    uint64_t file_offset; /* of data */
} asc_gguf_tensor;

/* Maps `path` and reads its header. On failure *out is NULL. Close with asc_gguf_close.
 * Errors: those of asc_map_open; INVALID_ARGUMENT (not GGUF, or a field makes no sense), DATA_LOSS (cut
 * short), UNIMPLEMENTED (version, byte order, tensor type, split file: named), RESOURCE_EXHAUSTED (a limit,
 * memory). */
ASC_MUST_USE asc_status asc_gguf_open(asc_ctx *ctx, const char *path, asc_gguf **out);
/* The same for a file in memory, borrowed until close; any alignment. */
ASC_MUST_USE asc_status asc_gguf_parse(asc_ctx *ctx, const void *data, size_t size, asc_gguf **out);
void asc_gguf_close(asc_ctx *ctx, asc_gguf *g); /* NULL is accepted */

/* FAILED_PRECONDITION when the mapped file is now shorter than when it was opened; touching its lost part
 * would end the process. Call it before a long read of tensor data. Always OK for a file in memory. */
ASC_MUST_USE asc_status asc_gguf_check(asc_ctx *ctx, const asc_gguf *g);
/* Lower-case hex SHA-256 of the whole file, NUL-terminated. Reads every byte. Errors: as asc_gguf_check. */
ASC_MUST_USE asc_status asc_gguf_sha256(asc_ctx *ctx, const asc_gguf *g, char hex[65]);

const char *asc_gguf_name(const asc_gguf *g); /* path as given (a long one loses its start), or "(memory)" */
uint32_t asc_gguf_version(const asc_gguf *g);
size_t asc_gguf_size(const asc_gguf *g);      /* bytes of the file */
size_t asc_gguf_alignment(const asc_gguf *g); /* of tensor data */

/* Metadata, in file order. */
size_t asc_gguf_kv_count(const asc_gguf *g);
const asc_gguf_kv *asc_gguf_kv_at(const asc_gguf *g, size_t i);          /* NULL when i is out of range */
const asc_gguf_kv *asc_gguf_kv_find(const asc_gguf *g, const char *key); /* NULL when absent */

/* Typed values. get_X demands the key (NOT_FOUND when absent); get_X_or sets *out to `fallback` when it is
 * absent. Both refuse a value of another kind (INVALID_ARGUMENT; the message names file, key and both types):
 * u64 and i64 take any integer type whose value fits, f64 takes f32 and f64 and only finite values. On error
 * *out is not changed. */
ASC_MUST_USE asc_status asc_gguf_get_u64(asc_ctx *ctx, const asc_gguf *g, const char *key, uint64_t *out);
ASC_MUST_USE asc_status asc_gguf_get_i64(asc_ctx *ctx, const asc_gguf *g, const char *key, int64_t *out);
ASC_MUST_USE asc_status asc_gguf_get_f64(asc_ctx *ctx, const asc_gguf *g, const char *key, double *out);
ASC_MUST_USE asc_status asc_gguf_get_bool(asc_ctx *ctx, const asc_gguf *g, const char *key, bool *out);
ASC_MUST_USE asc_status asc_gguf_get_str(asc_ctx *ctx, const asc_gguf *g, const char *key, asc_view *out);
ASC_MUST_USE asc_status asc_gguf_get_u64_or(asc_ctx *ctx, const asc_gguf *g, const char *key,
                                            uint64_t fallback, uint64_t *out);
ASC_MUST_USE asc_status asc_gguf_get_i64_or(asc_ctx *ctx, const asc_gguf *g, const char *key,
                                            int64_t fallback, int64_t *out);
ASC_MUST_USE asc_status asc_gguf_get_f64_or(asc_ctx *ctx, const asc_gguf *g, const char *key, double fallback,
                                            double *out);
ASC_MUST_USE asc_status asc_gguf_get_bool_or(asc_ctx *ctx, const asc_gguf *g, const char *key, bool fallback,
                                             bool *out);
ASC_MUST_USE asc_status asc_gguf_get_str_or(asc_ctx *ctx, const asc_gguf *g, const char *key,
                                            asc_view fallback, asc_view *out);

/* Arrays; the kind says which element types are taken. The _or form gives a count of 0 when the key is
 * absent. */
typedef enum asc_gguf_kind {
    ASC_GGUF_STRINGS,
    ASC_GGUF_INTEGERS, /* any integer type */
    ASC_GGUF_FLOATS,   /* f32, f64; not checked for NaN and infinity */
    ASC_GGUF_BOOLS
} asc_gguf_kind;
ASC_MUST_USE asc_status asc_gguf_get_array(asc_ctx *ctx, const asc_gguf *g, const char *key,
                                           asc_gguf_kind kind, asc_gguf_array *out);
ASC_MUST_USE asc_status asc_gguf_get_array_or(asc_ctx *ctx, const asc_gguf *g, const char *key,
                                              asc_gguf_kind kind, asc_gguf_array *out);

/* Elements. Out of range, or of another kind: "", 0, 0.0. Constant time. */
asc_view asc_gguf_str_at(asc_gguf_array a, size_t i); /* any bytes; UTF-8 is not checked */
int64_t asc_gguf_int_at(asc_gguf_array a,
                        size_t i);                  /* integers and bools; a u64 above INT64_MAX gives that */
double asc_gguf_num_at(asc_gguf_array a, size_t i); /* floats, integers and bools */

/* Tensors, in file order. */
size_t asc_gguf_tensor_count(const asc_gguf *g);
const asc_gguf_tensor *asc_gguf_tensor_at(const asc_gguf *g, size_t i);           /* NULL when out of range */
const asc_gguf_tensor *asc_gguf_tensor_find(const asc_gguf *g, const char *name); /* NULL when absent */

#endif
