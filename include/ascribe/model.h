/* ascribe/model.h - language models from GGUF files: open, inspect, run forwards, generate.
 *
 * A model is its file (mapped, read-only), a function that builds ops, and named sites. It is never modified.
 * A model belongs to the context it was opened in and is closed before that context ends.
 */
#ifndef ASCRIBE_MODEL_H
#define ASCRIBE_MODEL_H

#include "ascribe/array.h"
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
    const char *head; /* of an encoder: "classes", "tokens" (a class each), "words" (masked language model),
                         "span" (question answering); NULL: embeddings only, or no encoder */
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

/* ---- inner values: one run in which they are read and replaced ---- */

/* Makes new values of a site's own: records ops (ascribe/ops.h) on rows [n, width], a row for each token, and
 * returns a tensor of the same shape. Each row by itself: a run may bring rows of many prompts, or of one
 * token. Gradients go through it. NULL ends the run. */
typedef asc_tensor *(*asc_site_change)(void *self, asc_ctx *ctx, asc_tensor *rows);

/* Puts values in the place of a site's, for the rest of the run. */
typedef struct asc_site_patch {
    const char *site; /* as asc_model_site names it */
    asc_array values; /* floats [n tokens, width of the site], [n_tokens, width], or [1, width]: one row for
                         all of them. Not looked at with change */
    const size_t *tokens; /* which tokens' values are replaced, counted from 0; NULL = all of them */
    size_t n_tokens;
    asc_site_change change; /* instead of values */
    void *self;
} asc_site_patch;

typedef enum asc_run_head {
    ASC_RUN_NOTHING,
    ASC_RUN_LOGITS,   /* language models: [n_rows, n_vocab] */
    ASC_RUN_CLASSES,  /* classifiers: [classes]; token classifiers: [n, classes] */
    ASC_RUN_EMBEDDING /* text encoders: [width] */
} asc_run_head;

/* Zero-initialise, then set struct_size. Everything is borrowed for the length of the call. */
typedef struct asc_model_run_options {
    size_t struct_size;
    const int32_t *ids;
    size_t n;
    const int32_t *types;    /* encoders: token types; NULL = all 0 */
    const char *const *read; /* sites; what is read at a replaced site is what was put there */
    size_t n_read;
    const asc_site_patch *patches; /* at most one whole one, or several about other tokens, for each site */
    size_t n_patches;
    asc_run_head head;
    size_t n_rows; /* logits after so many last tokens; 0 = 1 */
} asc_model_run_options;

/* Runs a model once. out_values[i] receives the value at read[i], [n, width] ([width] of an encoder's
 * "pooled"), *out_head what the head gives (may be NULL with ASC_RUN_NOTHING): float32 (float64 on the
 * reference device) arrays that asc_array_free frees. No token is added. Errors: NOT_FOUND (a site, by name),
 * INVALID_ARGUMENT (a patch of another size, the size it should have is named), OUT_OF_RANGE,
 * FAILED_PRECONDITION (a site that this model never comes to, a head that it does not have), those of
 * asc_model_logits. */
ASC_API ASC_MUST_USE asc_status asc_model_run(asc_model *m, const asc_model_run_options *opts,
                                              asc_array *out_values, asc_array *out_head);

/* Puts values in the place of sites' in everything that the model does from now on: logits, answers, scores
 * of explanations (gradients go through: a value that is put there has none, one that is changed has the
 * change's). n = 0 ends it. One site may be named several times; patches follow each other. Values are
 * copied; change and self must live until then. tokens are places in the sequence, whatever its length: of a
 * prompt and the answer behind it, of a prompt with parts left out its own. NULL = every token, for which
 * values are one row. asc_model_run's own patches follow these. Errors: those of asc_model_run;
 * INVALID_ARGUMENT also when a change makes something else of a row because others stand beside it; the model
 * is then as it was. */
ASC_API ASC_MUST_USE asc_status asc_model_hold(asc_model *m, const asc_site_patch *patches, size_t n);

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

/* A text as an encoder reads it: ids with its special tokens. types: of the tokens, NULL = all 0. Borrowed.
 */
typedef struct asc_id_text {
    const int32_t *ids, *types;
    size_t n;
} asc_id_text;

/* Tokens that run together at most; a longer text runs alone. */
enum { ASC_EMBED_PASS_TOKENS = 1024 };

/* Embeddings of many texts, out [n, width]: those of equal length run together, so that the weights are read
 * once for many. A kernel may add up in another order for more rows, so a figure can differ from
 * asc_model_embed_text's in the last digits of f32 (a few 1e-7 of a vector of length 1; not on the reference
 * device); the same texts have the same bits. Progress and cancel between passes. Errors: those of
 * asc_model_embed_text, with the text's index, before anything runs; CANCELLED. out is then unspecified. */
ASC_API ASC_MUST_USE asc_status asc_model_embed_texts(asc_model *m, const asc_id_text *texts, size_t n,
                                                      double *out);

/* Called for each new token with its id and log-probability; false stops. */
typedef bool (*asc_on_token)(void *self, int32_t id, double logprob);

/* A token and how probable the model holds it: its own distribution, in nats, before temperature, penalties
 * and bias. */
typedef struct asc_token_logprob {
    int32_t id;
    double logprob;
} asc_token_logprob;

typedef struct asc_logit_bias {
    int32_t id;
    double add; /* to the token's logit, finite */
} asc_logit_bias;

/* Why a text ends. */
typedef enum asc_finish {
    ASC_FINISH_NONE,   /* it goes on */
    ASC_FINISH_END,    /* an end token */
    ASC_FINISH_STOP,   /* a stop string */
    ASC_FINISH_LENGTH, /* max_tokens, or the model's context */
    ASC_FINISH_CALLER  /* a callback said so */
} asc_finish;

/* One token of a text. Arrays and text live during the call. */
typedef struct asc_generated {
    size_t struct_size;
    int32_t id;
    double logprob;               /* NaN: the first token of a given text, behind nothing */
    const asc_token_logprob *top; /* the most probable tokens at this place, in order (equals: by id) */
    size_t n_top;
    /* What can be shown now: whole characters, nothing that may turn out to be a stop string, nothing of
     * one. May be empty; may hold text of earlier tokens. Bytes that belong to no character come as they are:
     * at the latest with the last token. Control tokens have no text. */
    asc_view text;
    asc_finish finish; /* of the last token; else NONE */
} asc_generated;
typedef bool (*asc_on_generated)(void *self, const asc_generated *t);

enum { ASC_MAX_STOPS = 64, ASC_MAX_STOP_BYTES = 4096, ASC_MAX_TOP = 64 };

/* Zero-initialise, then set struct_size. Zeros are the defaults: nothing is left out, nothing changed. */
typedef struct asc_generate_options {
    size_t struct_size;
    size_t max_tokens;
    bool ignore_eos;    /* go on after an end token */
    double temperature; /* 0 = greedy: the largest logit, the smallest id among equals */
    int top_k;          /* 0 = all; with temperature > 0 */
    uint64_t seed;
    asc_on_token on_token;
    void *self; /* of every callback */
    /* ---- since 0.2 ---- */
    /* Of the tokens that top_k left, in this order, with temperature > 0: the fewest that hold top_p of the
     * probability (0 or 1 = all), and those at least min_p as probable as the likeliest. */
    double top_p, min_p;
    /* Change logits before the choice, also a greedy one, in this order: bias; the logit of a token in prompt
     * or answer divided (negative: multiplied) by repetition_penalty (0 or 1 = off); less presence_penalty
     * for a token in the answer, less frequency_penalty for each time it is there. */
    const asc_logit_bias *bias;
    size_t n_bias;
    double repetition_penalty, presence_penalty, frequency_penalty;
    const asc_view *stop; /* strings that end the text, across token borders; none may be empty */
    size_t n_stop;
    size_t n_top; /* of asc_generated.top, at most ASC_MAX_TOP */
    asc_on_generated on_generated;
    asc_finish *out_finish; /* why the text ended; NULL = not wanted */
    /* The prompt's keys stay with the model (at most 128 MiB), and the next call that also says so runs only
     * what its prompt does not have in common with this one: turns of a conversation. Rounds otherwise than a
     * call that does not say so, but the same whatever was asked before. */
    bool keep_prompt;
} asc_generate_options;

/* Bytes that asc_generate allocates at most for a prompt of n tokens and max_tokens behind it, beside the
 * model: its store of keys and values, which is there twice while it grows, the run over the prompt, logits,
 * programs. From sizes alone: nothing is run. 0: m is no decoder; SIZE_MAX: more than can be counted. */
ASC_API size_t asc_generate_bytes(const asc_model *m, size_t n, size_t max_tokens);

/* Continues ids. out_ids holds opts->max_tokens entries, *out_n is how many were written (an end token and
 * those of a stop string included). Errors as asc_model_logits, INVALID_ARGUMENT naming the option,
 * OUT_OF_RANGE (a bias for no token). */
ASC_API ASC_MUST_USE asc_status asc_generate(asc_model *m, const int32_t *ids, size_t n,
                                             const asc_generate_options *opts, int32_t *out_ids,
                                             size_t *out_n);
/* How probable the model holds each token of a given text behind those before it: calls `on` for each of
 * them, text and finish left empty, until it returns false. Holds a few rows of logits at a time. Errors as
 * asc_model_logits, INVALID_ARGUMENT (n_top). */
ASC_API ASC_MUST_USE asc_status asc_model_logprobs(asc_model *m, const int32_t *ids, size_t n, size_t n_top,
                                                   asc_on_generated on, void *self);

#ifdef __cplusplus
}
#endif
#endif
