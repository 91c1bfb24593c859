/* adapter.h - low-rank adapters (LoRA, Hu et al. 2021) as files: a PEFT folder (adapter_config.json with
 * adapter_model.safetensors) or a GGUF file of general.type "adapter". Each adds scale B (A x) to projections
 * of a model. Their matrices are copied to f32, B's rows brought into the order in which the model has them.
 * docs/formats/adapters.md. */
#ifndef ASC_ADAPTER_H
#define ASC_ADAPTER_H

#include "ascribe/model.h"
#include "decoder.h"

enum { ASC_MAX_ADAPTERS = 64 };

/* One pair of matrices. */
typedef struct asc_lora_part {
    asc_view name;      /* of the weight: "blk.0.attn_q.weight" */
    asc_view source;    /* the file's own name of it, for messages */
    const float *a, *b; /* [rank,in], [out,rank]; NULL = not yet read */
    int64_t rank, in, out;
    double scale; /* the file's own times the user's */
    size_t adapter;
    bool used;
} asc_lora_part;

typedef struct asc_lora_set {
    asc_ctx *ctx;
    asc_arena arena; /* names, matrices */
    asc_lora_part *v;
    size_t n, cap;
    asc_adapter *list; /* what was asked for; paths in the arena */
    size_t n_list;
} asc_lora_set;

/* What adapters are for. */
typedef struct asc_lora_base {
    const char *path;
    const asc_decoder_config *cfg;
    bool gguf;              /* a GGUF file; else a Hugging Face folder */
    const char *model_type; /* as config.json calls the family */
} asc_lora_base;

/* Reads every adapter of the list. NOT_FOUND, INVALID_ARGUMENT (another model, damaged), UNIMPLEMENTED (kinds
 * of adapters that are not plain LoRA: the key is named). *out is NULL when n is 0, and on failure. */
ASC_MUST_USE asc_status asc_lora_open(asc_ctx *ctx, const asc_adapter *list, size_t n,
                                      const asc_lora_base *base, asc_lora_set **out);
void asc_lora_close(asc_lora_set *s); /* NULL is accepted */
/* INVALID_ARGUMENT naming the first part that found no place in the model. */
ASC_MUST_USE asc_status asc_lora_all_used(const asc_lora_set *s, const char *model_path);

/* For the readers: the part of this weight and adapter, made if need be. */
ASC_MUST_USE asc_status asc_lora_part_of(asc_lora_set *s, size_t adapter, asc_view name, asc_view source,
                                         asc_lora_part **out);
/* rows x cols elements as f32; UNIMPLEMENTED names types that do not expand. */
ASC_MUST_USE asc_status asc_lora_copy(asc_lora_set *s, asc_view source, asc_dtype type, const void *data,
                                      int64_t rows, int64_t cols, const float **out);
/* adapter_peft.c, adapter_gguf.c: adapter i of the list. */
ASC_MUST_USE asc_status asc_lora_read_peft(asc_lora_set *s, size_t i, const asc_lora_base *base);
ASC_MUST_USE asc_status asc_lora_read_gguf(asc_lora_set *s, size_t i, const asc_lora_base *base);
/* The same for what the files hold. */
ASC_MUST_USE asc_status asc_lora_parse_peft(asc_lora_set *s, size_t i, const asc_lora_base *base,
                                            asc_view config, const void *weights, size_t size);
ASC_MUST_USE asc_status asc_lora_parse_gguf(asc_lora_set *s, size_t i, const asc_lora_base *base,
                                            const asc_gguf *g);

#endif
