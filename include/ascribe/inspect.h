/* ascribe/inspect.h - what a model file holds: metadata and tensors, also of architectures that cannot be
 * run. Nothing is copied; strings live until asc_inspect_close.
 */
#ifndef ASCRIBE_INSPECT_H
#define ASCRIBE_INSPECT_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_inspect asc_inspect;

/* Maps the file and checks its header. Errors name file, offset, key or tensor. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_inspect_open(asc_ctx *ctx, const char *path, asc_inspect **out);
ASC_API void asc_inspect_close(asc_inspect *f); /* NULL is accepted */

typedef struct asc_inspect_info {
    const char *format; /* "GGUF", or "safetensors" for a Hugging Face folder */
    uint32_t version;
    size_t file_bytes, alignment;
    size_t n_keys, n_tensors;
    asc_view architecture; /* {NULL, 0} if the file does not say */
} asc_inspect_info;
ASC_API asc_inspect_info asc_inspect_get_info(const asc_inspect *f);

typedef struct asc_meta_key {
    asc_view key;
    const char *type; /* of the value or of the elements: "u32", "string", ... */
    bool is_array;
    size_t count; /* 1 unless an array */
} asc_meta_key;
ASC_API bool asc_inspect_key(const asc_inspect *f, size_t i,
                             asc_meta_key *out); /* false when i is past the last */

typedef enum asc_meta_kind {
    ASC_META_INT,
    ASC_META_REAL,
    ASC_META_BOOL,
    ASC_META_STRING,
    ASC_META_OTHER
} asc_meta_kind;
typedef struct asc_meta_value {
    asc_meta_kind kind;
    int64_t i;  /* INT, BOOL */
    double x;   /* REAL */
    asc_view s; /* STRING; any bytes */
} asc_meta_value;
/* Element `j` of the value of key i; false when there is none. */
ASC_API bool asc_inspect_value(const asc_inspect *f, size_t i, size_t j, asc_meta_value *out);

typedef struct asc_tensor_entry {
    asc_view name;
    const char *type; /* "Q4_1", "F32", ... */
    int rank;
    int64_t dims[4]; /* outermost first */
    size_t bytes;
    uint64_t file_offset;
} asc_tensor_entry;
ASC_API bool asc_inspect_tensor(const asc_inspect *f, size_t i,
                                asc_tensor_entry *out); /* false when past the last */

#ifdef __cplusplus
}
#endif
#endif
