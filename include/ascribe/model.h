/* ascribe/model.h - language models from GGUF files: open, inspect, run forwards, generate.
 *
 * A model is its file (mapped, read-only), a function that builds ops, and named sites. It is never modified.
 * A model belongs to the context it was opened in and is closed before that context ends.
 */
#ifndef ASCRIBE_MODEL_H
#define ASCRIBE_MODEL_H

#include "ascribe/tensor.h"
#include "ascribe/tokens.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_model asc_model;

/* What to do with quantised matrices: expand panels before each use, or keep an f32 copy. */
typedef enum asc_weights_mode { ASC_WEIGHTS_AUTO, ASC_WEIGHTS_STORED, ASC_WEIGHTS_EXPANDED } asc_weights_mode;

/* A low-rank adapter (LoRA) on top of a decoder: a PEFT folder or a GGUF file, and a factor beside its own.
 */
typedef struct asc_adapter {
    const char *path;
    double scale; /* 1 = as trained; 0 = the model alone */
} asc_adapter;

typedef struct asc_model_options {
    size_t struct_size;
    asc_weights_mode weights;    /* AUTO = stored */
    const asc_adapter *adapters; /* added up; the weights stay as they are stored */
    size_t n_adapters;
    /* Not 0: a model that has learnt nothing, the rows of its blocks' matrices exchanged; for sanity checks
     * of methods. Copies the blocks' weights. */
    uint64_t shuffle_seed;
} asc_model_options;

typedef struct asc_model_info {
    const char *path;
    const char *architecture;
    const char *name; /* general.name, "" if absent */
    int64_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab, context_length;
    int64_t n_params;        /* all stored elements */
    int64_t n_params_blocks; /* outside the embedding table and the head */
    size_t file_bytes;
    bool scale_free; /* RMS norms and no biases: the path from a zero baseline has no meaning
                        (docs/methods.md) */
    bool tied_head;
    bool encoder;                /* a text encoder: classes and embeddings, no next tokens */
    const asc_adapter *adapters; /* as asked for when it was opened */
    size_t n_adapters;
} asc_model_info;

/* Opens a GGUF file, checks it and its tokenizer. Errors name file, key or tensor: NOT_FOUND,
 * INVALID_ARGUMENT, UNIMPLEMENTED (architecture, type or feature, by name), DATA_LOSS, RESOURCE_EXHAUSTED.
 * *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_model_open(asc_ctx *ctx, const char *path, const asc_model_options *opts,
                                               asc_model **out);
ASC_API void asc_model_close(asc_model *m); /* NULL is accepted */
ASC_API asc_model_info asc_model_get_info(const asc_model *m);
ASC_API const asc_tokenizer *asc_model_tokenizer(const asc_model *m);
/* The file's own chat template; {NULL, 0} when it has none. */
ASC_API asc_view asc_model_chat_template(const asc_model *m);
/* Lower-case hex SHA-256 of the file; computed once (it reads the whole file), then remembered. */
ASC_API ASC_MUST_USE asc_status asc_model_sha256(asc_model *m, const char **out);

/* Every site of the model, "embed", "blocks.0.attn.out", ...; false when i is past the last. */
ASC_API bool asc_model_site(const asc_model *m, size_t i, char *out, size_t out_size);

/* Logits after each of the last n_rows of n ids (n >= n_rows >= 1): out is [n_rows, n_vocab]. No token is
 * added. Errors: INVALID_ARGUMENT (no ids, id out of range), OUT_OF_RANGE (longer than the model's context),
 * DATA_LOSS (weights hold NaN or infinity, the tensor is named), CANCELLED. */
ASC_API ASC_MUST_USE asc_status asc_model_logits(asc_model *m, const int32_t *ids, size_t n, size_t n_rows,
                                                 float *out);

/* ---- text encoders ---- */

/* Classes of a classifier; 0 when it is none. A token classifier has them for each token. */
ASC_API size_t asc_model_n_classes(const asc_model *m);
ASC_API const char *asc_model_class_name(const asc_model *m, size_t i); /* NULL when i is past the last */
/* Scores (logits) of the classes for one text with its special tokens: out is [classes], of a token
 * classifier [n, classes]. types: of the tokens, NULL = all 0. Errors as asc_model_logits;
 * FAILED_PRECONDITION when it is no classifier. */
ASC_API ASC_MUST_USE asc_status asc_model_classify(asc_model *m, const int32_t *ids, const int32_t *types,
                                                   size_t n, float *out);
/* The embedding of a text, as the folder pools it (the mean over the tokens where it does not say), of length
 * 1. */
ASC_API size_t asc_model_embedding_width(const asc_model *m); /* 0: no encoder */
ASC_API ASC_MUST_USE asc_status asc_model_embed_text(asc_model *m, const int32_t *ids, size_t n, double *out);

/* Called for each new token with its id and log-probability; false stops. */
typedef bool (*asc_on_token)(void *self, int32_t id, double logprob);

typedef struct asc_generate_options {
    size_t struct_size;
    size_t max_tokens;
    bool ignore_eos;    /* go on after an end token */
    double temperature; /* 0 = greedy: the largest logit, the smallest id among equals */
    int top_k;          /* 0 = all; with temperature > 0 */
    uint64_t seed;
    asc_on_token on_token;
    void *self;
} asc_generate_options;

/* Continues ids. out_ids holds opts->max_tokens entries, *out_n is how many were written (an end token
 * included). Errors as asc_model_logits. */
ASC_API ASC_MUST_USE asc_status asc_generate(asc_model *m, const int32_t *ids, size_t n,
                                             const asc_generate_options *opts, int32_t *out_ids,
                                             size_t *out_n);

#ifdef __cplusplus
}
#endif
#endif
