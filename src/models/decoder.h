/* decoder.h - one configurable decoder language model: RMS norm, rotary embedding, grouped keys, optional q/k
 * norm, biases, post-norms, soft caps, windows. What a family needs is a row of a table in decoder_config.c.
 * Shapes: B sequences of T tokens, D = d_model, H heads, G key heads, V vocabulary. */
#ifndef ASC_DECODER_H
#define ASC_DECODER_H

#include "layers.h"
#include "owned.h"
#include "weights.h"

typedef enum asc_norm_kind { ASC_NORM_RMS, ASC_NORM_LAYER } asc_norm_kind;
typedef enum asc_qk_norm {
    ASC_QK_NORM_NONE,
    ASC_QK_NORM_HEAD,   /* over each head's columns: weight [head_dim] (Qwen3, Gemma 3) */
    ASC_QK_NORM_WIDE,   /* over all heads together, before they are split: weight [H*head_dim] (OLMo 2) */
    ASC_QK_NORM_TURNED, /* the same behind the rotary embedding, without weights, where there is one (Llama 4)
                         */
    ASC_QK_NORM_EACH    /* over each head's columns, with weights for each head: [H,head_dim] (Cohere) */
} asc_qk_norm;
/* How attention and MLP add to the stream x. */
typedef enum asc_block_kind {
    ASC_BLOCK_SERIAL,   /* x += attn(norm x); x += mlp(norm x) */
    ASC_BLOCK_POST,     /* x = norm(x + attn(x)); x = norm'(x + mlp(x)): the norms are the post norms */
    ASC_BLOCK_PARALLEL, /* x += attn(norm x) + mlp(norm' x) (GPT-NeoX); norm' = norm when ffn_norm is absent
                         */
} asc_block_kind;
/* Pairs of columns that turn together. */
typedef enum asc_positions { ASC_POSITIONS_ROTARY, ASC_POSITIONS_LEARNED, ASC_POSITIONS_NONE } asc_positions;

enum { ASC_ROPE_OFF = -1, ASC_N_ROPES = 2 }; /* ropes: 0 = the model's, 1 = of its local layers (Gemma 3) */

/* What differs from layer to layer. */
typedef struct asc_layer_plan {
    int64_t window;  /* a token sees itself and window - 1 before it; 0 = all before it */
    int64_t chunk;   /* ... and of those what stands in its own run of so many positions; 0 = all (Llama 4) */
    int rope;        /* which of the ropes; ASC_ROPE_OFF = none (NoPE layers of SmolLM3) */
    bool moe;        /* a mixture of experts instead of the MLP */
    asc_xielu xielu; /* from a file's metadata; other files have it in tensors */
} asc_layer_plan;

/* Everything that the forward pass needs to know; filled from GGUF metadata (decoder_config.c) or
 * config.json. The plan is the config's (asc_decoder_config_deinit). Zero means: absent, not scaled, no cap.
 */
typedef struct asc_decoder_config {
    const char *architecture; /* "llama"; static or owned by the file's reader for as long as the model */
    int64_t n_layers, d_model, n_heads, n_kv, head_dim, d_ff, n_vocab, context;
    asc_layer_plan *plan; /* n_layers */
    asc_norm_kind norm;
    double eps;
    bool norm_plus_one; /* norms multiply by 1 + weight (Gemma in Hugging Face files) */
    bool bare_norms;    /* norms have neither weight nor bias (OLMo 1) */
    bool norms_swapped; /* attn_norm_2, if there, is attention's norm and attn_norm the MLP's (Falcon in GGUF)
                         */
    const char *ffn_norm; /* its tensor's name; NULL = "ffn_norm" */
    asc_block_kind block;
    bool pre_norms, post_norms; /* OLMo 2 has only the latter, Gemma 2 both */
    asc_qk_norm qk_norm;
    bool qk_norm_late;       /* of heads, behind the rotary embedding (HunYuan) */
    int64_t position_offset; /* row of the first token in the table of learned positions (OPT: 2) */
    asc_positions positions;
    bool rope_interleaved; /* rotary pairs (2i, 2i+1); otherwise (i, i + n_rot/2) */
    asc_rope_config rope[ASC_N_ROPES];
    int n_ropes;
    asc_mlp_act act;
    bool gated;               /* down(act(gate x) * up x); otherwise down(act(up x)) */
    int64_t fused_qkv_shards; /* attn_qkv rows stand in so many pieces, each of queries, values, keys */
    bool fused_qkv_by_head;   /* attn_qkv rows stand by key head: its q, k, v (GPT-NeoX, Falcon) */
    double attn_scale, attn_cap, final_cap;
    bool scale_by_depth; /* layer l divides its attention scores by l + 1 as well (an option of GPT-2) */
    /* ALiBi: scores plus alibi_scale times a head's slope times the key's position; the least slope is
     * 2^-alibi. 0 = none. */
    double alibi, alibi_scale;
    bool alibi_rounded; /* slopes, positions and their products are rounded to bf16 (Falcon) */
    bool embed_norm;    /* behind the embeddings (BLOOM) */
    /* Layers that do not turn multiply queries by 1 + q_grow log(1 + floor((position + 1) / q_floor)), or all
     * layers by that of the position itself. */
    double q_floor, q_grow;
    bool q_grow_all;
    bool sinks;      /* each head has a score without a value in its softmax (gpt-oss) */
    double clip_qkv; /* q, k and v are cut to -clip_qkv .. clip_qkv (an option of OLMoE); 0 = not */
    double embed_scale, residual_scale, logit_scale; /* factors; 0 = 1. Logits are multiplied */
    int64_t n_experts, n_experts_used, d_expert;
    int64_t extra_layers; /* behind the last: they predict further tokens, and are not read (GGUF) */
    int64_t d_shared;     /* width of an expert that every token takes; 0 = none */
    bool shared_gate;     /* it has a gate */
    bool norm_top_k;      /* the chosen experts' weights are made to add up to 1 */
    bool paired_experts, sigmoid_shares, scale_expert_input; /* asc_mixture's */
    double share_scale, swiglu_limit, swiglu_alpha;          /* asc_mixture's */
    bool xielu;      /* the MLP's activation, with numbers of each layer, instead of act (Apertus) */
    bool not_causal; /* every token sees every other; no prefix can be shared */
} asc_decoder_config;
void asc_decoder_config_deinit(asc_ctx *ctx, asc_decoder_config *c);

typedef struct asc_norm {
    asc_tensor *w, *b; /* w NULL: no such norm; b NULL: no bias */
} asc_norm;

typedef struct asc_layer {
    const char *attn_label, *mlp_label; /* "blocks.3.attn"; interned */
    asc_norm attn_norm, q_norm, k_norm, attn_post_norm, ffn_norm, ffn_post_norm;
    asc_tensor *sinks;        /* [H] or NULL */
    asc_proj q, k, v, qkv, o; /* either q, k, v or qkv */
    asc_proj gate, up, down;
    asc_tensor *router, *router_bias, *choice_bias;          /* [E,D]; [E] or NULL, both */
    asc_experts gate_exps, up_exps, gate_up_exps, down_exps; /* asc_mixture's */
    asc_xielu xielu;                                         /* if the config says so */
    asc_tensor
        *shared_gate; /* [1,D]: the sigmoid of its product is the share of gate, up and down; or NULL */
} asc_layer;

typedef struct asc_decoder {
    asc_ctx *ctx;
    asc_decoder_config cfg;
    asc_tensor *embed, *pos_embed; /* [V,D]; [context,D] or NULL */
    asc_norm out_norm;
    asc_proj head;                                                  /* its w is embed when tied */
    asc_tensor *inv_freq[ASC_N_ROPES], *inv_freq_long[ASC_N_ROPES]; /* long: NULL unless longrope */
    asc_tensor *slopes;  /* ALiBi: [H,1,1], or if rounded a table [context,H]; NULL = none */
    asc_norm embed_norm; /* behind the embeddings (BLOOM) */
    double mscale[ASC_N_ROPES];
    asc_layer *layers; /* n_layers */
    bool has_bias;
    asc_owned owned;              /* every weight */
    struct asc_site_edits *edits; /* site_edits.h: of every run; NULL = none. The model's */
    void **copies;                /* elements of owned weights that lie in no file as they are needed */
    size_t n_copies, cap_copies;
} asc_decoder;

/* Reads and checks a GGUF file's metadata. INVALID_ARGUMENT or UNIMPLEMENTED names the key. On success end
 * *out with asc_decoder_config_deinit, unless asc_decoder_load took it. */
ASC_MUST_USE asc_status asc_decoder_configure(asc_ctx *ctx, const asc_gguf *g, asc_decoder_config *out);
/* "llama, qwen2, ..." for messages. */
const char *asc_family_names(void);
/* What config.json calls the family of a GGUF architecture; the name itself where that is the same. */
const char *asc_family_model_type(const char *name);
/* Binds every tensor; one that the config has no place for is refused by name, since ignoring it would change
 * the numbers. take_cfg is consumed, also when this fails. The weights stay open as long as the decoder. lora
 * (adapter.h; NULL = none): what is added to projections, or to their weights if these are expanded; every
 * part of it must fit one. */
struct asc_lora_set;
ASC_MUST_USE asc_status asc_decoder_load(asc_ctx *ctx, const asc_weights *w, asc_decoder_config *take_cfg,
                                         bool expand, struct asc_lora_set *lora, asc_decoder *out);
void asc_decoder_unload(asc_decoder *d);
/* DATA_LOSS naming the first tensor that holds NaN or infinity; ASC_OK if none does. Slow: reads all weights.
 */
ASC_MUST_USE asc_status asc_decoder_check_finite(asc_ctx *ctx, const asc_weights *w);

/* Sites: where a value can be read or replaced during a run. attn.heads: what the heads hand to the output
 * projection, side by side [B,T,H*head_dim]; mlp.act: the MLP's neurons, what its down projection reads
 * [B,T,d_ff] (none in a mixture of experts, whose tokens go to different ones). */
#define ASC_SITE_TABLE(X)                                                                                    \
    X(EMBED, "embed", false)                                                                                 \
    X(ATTN_IN, "attn.in", true)                                                                              \
    X(ATTN_HEADS, "attn.heads", true)                                                                        \
    X(ATTN_OUT, "attn.out", true)                                                                            \
    X(MLP_IN, "mlp.in", true)                                                                                \
    X(MLP_ACT, "mlp.act", true)                                                                              \
    X(MLP_OUT, "mlp.out", true)                                                                              \
    X(BLOCK_OUT, "out", true)                                                                                \
    X(FINAL_NORM, "final_norm", false)
typedef enum asc_decoder_site {
#define ASC_SITE_ENUM(e, name, per_layer) ASC_SITE_##e,
    ASC_SITE_TABLE(ASC_SITE_ENUM)
#undef ASC_SITE_ENUM
        ASC_N_SITES
} asc_decoder_site;
/* Gets the value at a site, behind the model's own edits ([B,T,D], or as wide as the site is; the last block
 * may hold only its last rows, see `tail`) and returns it or another of the same shape. layer is -1 for sites
 * that are not per layer. */
typedef asc_tensor *(*asc_site_fn)(void *self, asc_decoder_site site, int64_t layer, asc_tensor *value);

/* Keys and values of earlier positions, per layer [B,P,G,D]; owned by the scope they were kept in. */
typedef struct asc_kv {
    asc_tensor *k, *v;
} asc_kv;

/* Attention of layer l: q [B,R,H,D] (the last R tokens), k and v [B,T,G,D] of this run's tokens, turned by
 * their positions; returns [B,R,H,D]. A run with its own says which tokens see which. */
typedef asc_tensor *(*asc_attend_fn)(void *self, int64_t layer, asc_tensor *q, asc_tensor *k, asc_tensor *v);

/* Gets the probabilities of a layer's attention [B,G,H/G*T,S] and returns them or others. */
typedef struct asc_attend_eyes {
    asc_tensor *(*probs)(void *self, int64_t layer, asc_tensor *p);
    void *self;
} asc_attend_eyes;
/* decoder_attend.c: attention of layer l of tokens that stand in a row, of which the first S - T keys are of
 * earlier runs: q [B,T,H,D], k and v [B,S,G,D] -> [B,T,H,D]; eyes may be NULL. */
asc_tensor *asc_decoder_attend(asc_decoder *d, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                               const asc_attend_eyes *eyes);
/* The same of tokens that are a tree; in: what asc_sdpa_tree takes. */
asc_tensor *asc_decoder_attend_tree(asc_decoder *d, int64_t l, asc_tensor *const *in);

typedef struct asc_decoder_run {
    asc_tensor *x; /* embeddings [B,T,D] as looked up, before the model's own factor */
    int64_t pos;   /* position of the first token: the length of past */
    int64_t whole; /* length of the whole sequence, where more tokens follow in later runs; 0 = pos + T */
    const asc_kv *past; /* n_layers entries, or NULL */
    asc_kv *out_kv;     /* n_layers entries to receive past + new, or NULL */
    int64_t tail; /* how many last tokens of each sequence are wanted; 0 = all T. The last block computes only
                     those */
    asc_tensor *positions; /* i32 [T]; NULL: pos, pos + 1, ... */
    asc_attend_fn attend;  /* NULL: every token sees past and itself and what stands before it */
    void *attend_self;
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
/* Whether runs of sequences of these two whole lengths turn keys by the same frequencies, so that one can use
 * keys of the other; true for every model but those with longrope across its original context. */
bool asc_decoder_same_lengths(const asc_decoder *d, int64_t a, int64_t b);
/* Residual stream after the last block, entry and all blocks: [B,tail,D]. */
asc_tensor *asc_decoder_hidden(asc_decoder *d, const asc_decoder_run *run);
/* Final norm, head, soft cap of hidden [..,D] -> [..,V]. */
asc_tensor *asc_decoder_logits(asc_decoder *d, asc_tensor *hidden, asc_site_fn site, void *site_self);

#endif
