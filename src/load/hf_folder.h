/* hf_folder.h - a model as the Hugging Face libraries save it: a folder with config.json and its tensors in
 * model.safetensors, or in shards that model.safetensors.index.json lists. Opening maps the files and checks
 * all headers against each other; what the tensors mean is for the layers above. Files named in the index
 * must lie in the folder itself. docs/formats/huggingface.md. */
#ifndef ASC_HF_FOLDER_H
#define ASC_HF_FOLDER_H

#include "json.h"
#include "name_index.h"
#include "safetensors.h"
#include "weights.h"

enum {
    ASC_HF_MAX_CONFIG = 1 << 24, /* bytes of config.json and its like */
    ASC_HF_MAX_INDEX = 1 << 26,  /* bytes of model.safetensors.index.json */
    ASC_HF_MAX_SHARDS = 4096,
    ASC_HF_MAX_TENSORS = 1 << 20
};

typedef struct asc_hf_tensor {
    asc_view name; /* first: asc_name_index reads it */
    int elem;      /* an asc_elem, or ASC_SAFETENSORS_BF16 */
    asc_shape shape;
    const uint8_t *data; /* mapped, unaligned */
    size_t bytes;
    size_t file; /* which of the maps */
    bool used;   /* asc_hf_put has seen it, or a list says that it has no effect */
} asc_hf_tensor;

typedef struct asc_hf_folder {
    asc_ctx *ctx;
    char *path;       /* of the folder */
    asc_json *config; /* config.json, an object */
    asc_hf_tensor *v; /* all tensors, file by file */
    size_t n, cap;
    asc_map *maps; /* weight files in the order of their names; none after asc_hf_folder_give */
    size_t n_maps, cap_maps, file_bytes;
    asc_arena arena; /* names, index */
    asc_name_index index;
} asc_hf_folder;

/* Whether asc_hf_folder_open is the one to ask: a folder, a file NAME.safetensors, or a JSON file of such a
 * folder. */
bool asc_hf_is_folder(const char *path);
/* Opens a folder, or the folder of a file of it; NAME.safetensors there is then the only weight file, unless
 * the index lists it. NOT_FOUND (missing config, weights, shards), DATA_LOSS (damaged headers),
 * INVALID_ARGUMENT (bad JSON, files that contradict the index or each other), UNIMPLEMENTED (weights as
 * pickles, adapters alone). On failure *out is NULL. */
ASC_MUST_USE asc_status asc_hf_folder_open(asc_ctx *ctx, const char *path, asc_hf_folder **out);
/* A folder in memory, for tests: texts of config.json and of an index ({NULL,0} = none), and a weight file
 * that stays as long as the folder and is what every name in the index stands for. Errors as above. */
ASC_MUST_USE asc_status asc_hf_folder_parse(asc_ctx *ctx, asc_view config, asc_view index, const void *data,
                                            size_t size, asc_hf_folder **out);
void asc_hf_folder_close(asc_hf_folder *f); /* NULL is accepted */

/* Text of another file of the folder, NUL-terminated; free it with asc_free. *out = NULL when there is no
 * such file. */
ASC_MUST_USE asc_status asc_hf_text(const asc_hf_folder *f, const char *file, size_t limit, char **out,
                                    size_t *out_len);
/* The same as JSON, an object; free it with asc_json_free. INVALID_ARGUMENT names the file. */
ASC_MUST_USE asc_status asc_hf_json(const asc_hf_folder *f, const char *file, asc_json **out);

/* Adds tensor t to the table as as->name, whose rank, dims and transposed it takes from `as`, beginning
 * `first` elements into t, without a copy: f32, f16 or bf16; f64 as f32, in a copy of the table's own, with a
 * warning of values that f32 cannot hold. UNIMPLEMENTED names any other type. */
ASC_MUST_USE asc_status asc_hf_put(const asc_hf_folder *f, asc_hf_tensor *t, int64_t first,
                                   const asc_weight *as, asc_weights *w);
/* Experts in MXFP4 under that name, as [E,rows,cols], in a copy of the table's own: blocks, NAME_blocks, with
 * NAME_scales of the folder. INVALID_ARGUMENT unless these fit each other (hf_mxfp4.c). */
ASC_MUST_USE asc_status asc_hf_put_mxfp4(const asc_hf_folder *f, asc_hf_tensor *blocks, asc_view name,
                                         asc_weights *w);
/* t's own shape as a weight called name. UNIMPLEMENTED beyond four dimensions. */
ASC_MUST_USE asc_status asc_hf_weight_of(const asc_hf_folder *f, const asc_hf_tensor *t, asc_view name,
                                         asc_weight *out);
/* Hands the mapped files to the table: it closes them. */
void asc_hf_folder_give(asc_hf_folder *f, asc_weights *w);
/* UNIMPLEMENTED naming the first tensor that is not used. what: "a llama model". */
ASC_MUST_USE asc_status asc_hf_all_used(const asc_hf_folder *f, const char *what);

#endif
