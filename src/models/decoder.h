/* decoder.h - one configurable decoder language model: RMS norm, rotary embedding, grouped keys, optional q/k
 * norm, biases, post-norms, soft caps, windows. What a family needs is a row of a table in decoder_config.c.
 * Shapes: B sequences of T tokens, D = d_model, H heads, G key heads, V vocabulary. */
#ifndef ASC_DECODER_H
#define ASC_DECODER_H

#include "gguf.h"
#include "layers.h"

typedef struct asc_family {
    const char *name;                      /* general.architecture */
    bool interleaved;                      /* rotary pairs (2i, 2i+1) */
    bool qk_norm, post_norms, embed_scale; /* sqrt(D) on embeddings */
    bool alternate_window;                 /* the window holds on layers 0, 2, 4, ... */
    asc_gate gate;
} asc_family;

const asc_family *asc_family_find(asc_view name);
/* "llama, qwen2, ..." for messages. */
const char *asc_family_names(void);

typedef struct asc_decoder_config {
    const asc_family *family;
    int64_t n_layers, d_model, n_heads, n_kv, head_dim, d_ff, n_vocab, context;
    double eps, attn_cap, final_cap, attn_scale;
    int64_t window; /* 0 = none */
    asc_rope_config rope;
} asc_decoder_config;

typedef struct asc_layer {
    const char *attn_label, *mlp_label; /* "blocks.3.attn"; interned */
    asc_tensor *attn_norm, *wq, *wk, *wv, *bq, *bk, *bv, *q_norm, *k_norm, *wo, *bo, *attn_post_norm;
    asc_tensor *ffn_norm, *w_gate, *w_up, *w_down, *ffn_post_norm;
} asc_layer;

typedef struct asc_decoder {
    asc_ctx *ctx;
    asc_decoder_config cfg;
    asc_tensor *embed, *out_norm, *head; /* head == embed when tied */
    asc_tensor *inv_freq;
    double mscale;
    asc_layer *layers; /* n_layers */
    bool has_bias;
    asc_tensor **owned; /* every weight, retained */
    size_t n_owned, cap_owned;
} asc_decoder;

/* Reads and checks the metadata. INVALID_ARGUMENT names the key. */
ASC_MUST_USE asc_status asc_decoder_configure(asc_ctx *ctx, const asc_gguf *g, asc_decoder_config *out);
/* Binds every tensor of the file; one that the family does not know is refused by name. */
ASC_MUST_USE asc_status asc_decoder_load(asc_ctx *ctx, const asc_gguf *g, bool expand, asc_decoder *out);
void asc_decoder_unload(asc_decoder *d);
/* DATA_LOSS naming the first tensor that holds NaN or infinity; ASC_OK if none does. Slow: reads all weights.
 */
ASC_MUST_USE asc_status asc_decoder_check_finite(asc_ctx *ctx, const asc_gguf *g);

/* Sites: where a value can be read or replaced during a run. */
#define ASC_SITE_TABLE(X)                                                                                    \
    X(EMBED, "embed", false)                                                                                 \
    X(ATTN_IN, "attn.in", true)                                                                              \
    X(ATTN_OUT, "attn.out", true)                                                                            \
    X(MLP_IN, "mlp.in", true)                                                                                \
    X(MLP_OUT, "mlp.out", true)                                                                              \
    X(BLOCK_OUT, "out", true)                                                                                \
    X(FINAL_NORM, "final_norm", false)
typedef enum asc_decoder_site {
#define ASC_SITE_ENUM(e, name, per_layer) ASC_SITE_##e,
    ASC_SITE_TABLE(ASC_SITE_ENUM)
#undef ASC_SITE_ENUM
        ASC_N_SITES
} asc_decoder_site;
/* Gets the value at a site ([B,T,D]; the last block may hold only its last rows, see `tail`) and returns it
 * or another of the same shape. layer is -1 for sites that are not per layer. */
typedef asc_tensor *(*asc_site_fn)(void *self, asc_decoder_site site, int64_t layer, asc_tensor *value);

/* Keys and values of earlier positions, per layer [B,P,G,D]; owned by the scope they were kept in. */
typedef struct asc_kv {
    asc_tensor *k, *v;
} asc_kv;

typedef struct asc_decoder_run {
    asc_tensor *x;      /* embeddings [B,T,D] as looked up, before the model's own factor */
    int64_t pos;        /* position of the first token: the length of past */
    const asc_kv *past; /* n_layers entries, or NULL */
    asc_kv *out_kv;     /* n_layers entries to receive past + new, or NULL */
    int64_t tail; /* how many last tokens of each sequence are wanted; 0 = all T. The last block computes only
                     those */
    bool whole_last_block; /* sites of the last block must see all T rows */
    asc_site_fn site;      /* NULL = none */
    void *site_self;
} asc_decoder_run;

asc_tensor *asc_decoder_embed(asc_decoder *d, const int32_t *ids, int64_t b, int64_t t); /* [B,T,D] */
/* What enters the first block: [B,T,D]. */
asc_tensor *asc_decoder_entry(asc_decoder *d, const asc_decoder_run *run);
/* Blocks first .. end - 1 on the residual stream x [B,T,D]; run->x is not read. [B,tail,D] behind the last
 * block, else [B,T,D]. The whole model in pieces is the same ops on the same values as in one. */
asc_tensor *asc_decoder_blocks(asc_decoder *d, const asc_decoder_run *run, int64_t first, int64_t end,
                               asc_tensor *x);
/* Residual stream after the last block, entry and all blocks: [B,tail,D]. */
asc_tensor *asc_decoder_hidden(asc_decoder *d, const asc_decoder_run *run);
/* Final norm, head, soft cap of hidden [..,D] -> [..,V]. */
asc_tensor *asc_decoder_logits(asc_decoder *d, asc_tensor *hidden, asc_site_fn site, void *site_self);

#endif
