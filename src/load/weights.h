/* weights.h - the named tensors of a model, whatever files they lie in: a GGUF file or a folder of
 * safetensors. Names are the GGUF convention's ("blk.3.attn_q.weight"); readers of other formats rename (and
 * cut fused tensors into views) while they fill the table. Elements stay where the files have them, mapped
 * and read-only. */
#ifndef ASC_WEIGHTS_H
#define ASC_WEIGHTS_H

#include "alloc.h"
#include "file.h"
#include "gguf.h"
#include "name_index.h"

typedef struct asc_weight {
    asc_view name;   /* first: asc_name_index reads it */
    asc_view source; /* the file's own name, for messages; equal to `name` for GGUF files */
    asc_dtype dtype;
    int rank;        /* 1 to 4 */
    int64_t dims[4]; /* outermost first */
    const void *data;
    bool transposed; /* a matrix stored [in, out]: dims are as stored */
} asc_weight;

typedef struct asc_weights {
    asc_ctx *ctx;
    char *path; /* of the GGUF file or the folder, for messages */
    asc_weight *v;
    size_t n, cap;
    asc_gguf *gguf; /* owned; NULL for folders */
    asc_map *maps;  /* weight files of folders, in the order of their names; closed with the weights */
    size_t n_maps, cap_maps;
    void **copies; /* of asc_weights_shuffle, and of what files hold in wider types */
    size_t n_copies, cap_copies;
    asc_arena arena; /* names, index */
    asc_name_index index;
    size_t file_bytes; /* of all files */
} asc_weights;

/* The tensors of a GGUF file. take_gguf is closed with the weights; it is consumed also when this fails. On
 * failure *out is NULL. */
ASC_MUST_USE asc_status asc_weights_from_gguf(asc_ctx *ctx, asc_gguf *take_gguf, asc_weights **out);
/* An empty table for a reader to fill: asc_weights_add for each tensor, then asc_weights_seal once. */
ASC_MUST_USE asc_status asc_weights_create(asc_ctx *ctx, const char *path, asc_weights **out);
/* Copies the names into the table. */
ASC_MUST_USE asc_status asc_weights_add(asc_weights *w, const asc_weight *weight);
/* Builds the look-up by name. INVALID_ARGUMENT when two tensors have one name. */
ASC_MUST_USE asc_status asc_weights_seal(asc_weights *w);
void asc_weights_close(asc_weights *w); /* NULL is accepted */

/* NULL when absent. The position in the table is found - w->v. */
const asc_weight *asc_weights_find(const asc_weights *w, const char *name);
/* Exchanges the rows of every matrix whose name says that it belongs to a block ("blk.3.", "layers.3.", ...),
 * in copies that belong to the table: the same numbers, and nothing of what they mean. Before anything reads
 * them. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_weights_shuffle(asc_weights *w, uint64_t seed);
/* FAILED_PRECONDITION when a mapped file is now shorter than when it was opened; call it before long reads.
 */
ASC_MUST_USE asc_status asc_weights_check(const asc_weights *w);
/* Lower-case hex SHA-256: of the GGUF file; for a folder of the concatenated hashes of its weight files in
 * the order of their names. Reads every byte. */
ASC_MUST_USE asc_status asc_weights_sha256(const asc_weights *w, char hex[65]);

#endif
