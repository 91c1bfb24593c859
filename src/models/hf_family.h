/* hf_family.h - what the families of Hugging Face folders differ in: one row each (hf_families.c), read by
 * hf_config*.c (config.json) and hf_names.c (tensors). Defaults are those of the family's own configuration
 * class, for keys that a file leaves out. */
#ifndef ASC_HF_FAMILY_H
#define ASC_HF_FAMILY_H

#include "decoder.h"
#include "hf_folder.h"
#include "hf_values.h"

/* Which layers see a window of sliding_window tokens. */
typedef enum asc_hf_windows {
    ASC_HF_WINDOW_NONE,   /* the key is not looked at */
    ASC_HF_WINDOW_ALL,    /* all, if the key has a number */
    ASC_HF_WINDOW_SWITCH, /* all, if use_sliding_window */
    ASC_HF_WINDOW_QWEN,   /* if use_sliding_window, from layer max_window_layers on, or as layer_types says */
    ASC_HF_WINDOW_TYPES,  /* as layer_types says, else all but every sliding_window_pattern-th */
    ASC_HF_WINDOW_NOPE /* if use_sliding_window, as layer_types says, else those without rotary embedding */
} asc_hf_windows;
/* Which layers turn queries and keys. */
typedef enum asc_hf_rope_layers {
    ASC_HF_ROPE_ALL,
    ASC_HF_ROPE_TWO,    /* layers with a window have a rope of their own, without scaling */
    ASC_HF_ROPE_WINDOW, /* only layers with a window */
    ASC_HF_ROPE_LOCAL,  /* the same, but all layers if sliding_window is null (EXAONE 4) */
    ASC_HF_ROPE_LISTED, /* no_rope_layers: 1 where there is one; else all but every interval-th */
    ASC_HF_ROPE_NEVER   /* learned positions */
} asc_hf_rope_layers;

/* A place for a tensor. `hf` and `gguf` are names without prefix, layer and ".weight" or ".bias". */
typedef struct asc_hf_name {
    const char *hf, *gguf; /* gguf: NULL = has no effect, "=NAME": stored [in, out], "+NAME": of experts, see
                              hf_names.c; "*NAME": of experts in MXFP4 */
} asc_hf_name;

struct asc_hf_reading;

/* Zero and NULL mean what most families have: asc_hf_family_filled puts it in. */
typedef struct asc_hf_family {
    const char *model_type, *classes; /* "LlamaForCausalLM ...": what `architectures` may hold */
    const char *quantised;            /* a quant_method that is read here; NULL = none */
    const asc_hf_name *whole, *layer; /* names outside and inside of layers; end with {NULL, NULL} */
    const char *const *keys;          /* pairs: our name of a key, the family's own; end with NULL */
    asc_norm_kind norm;
    const char *eps_key; /* "rms_norm_eps" */
    double eps;          /* 1e-6 */
    bool norm_bias, plus_one, no_pre_norms, post_norms;
    bool embed_norm, sinks; /* asc_decoder_config's */
    double alibi;           /* asc_decoder_config.alibi; 0 = none */
    bool bare_norms;        /* norms have no weights (OLMo 1) */
    asc_block_kind block;
    const char *parallel_key; /* a flag that chooses the kind of block; `block` is its default */
    asc_qk_norm qk_norm;
    const char *qk_norm_key;   /* a flag that says whether there is one; NULL = always */
    bool qk_normed;            /* its default */
    bool qk_norm_late;         /* behind the rotary embedding (HunYuan) */
    const char *act_key, *act; /* "hidden_act", "silu" */
    bool gelu_is_tanh;         /* "gelu" means the tanh form */
    bool plain_mlp;            /* not gated */
    int wide_mlp;              /* width of the MLP, in widths of the model, where the key is absent */
    /* Which projections have a bias: NULL = none, "" = all, else the flag that says so; `biased`: its
     * default. */
    const char *qkv_bias, *o_bias, *mlp_bias;
    bool biased;
    bool only_qkv_biased;    /* the default of the other two is false */
    bool one_kv;             /* as many key heads as heads, whatever the config says */
    int64_t position_offset; /* rows of the table of learned positions before that of the first token */
    bool alpha_ropes;        /* "dynamic" with a key alpha: another base (HunYuan) */
    int64_t n_kv, head_dim, context; /* defaults; 0 = n_heads, d_model / n_heads, the key is required */
    bool tied;                       /* tie_word_embeddings unless said otherwise */
    double theta, theta_local;       /* 1e4 */
    const char *theta_key, *theta_local_key, *partial_key; /* outside of rope_parameters */
    bool partial;                                          /* a part of a head's columns can turn */
    double partial_default;                                /* 1 */
    bool ropes_fixed;                                      /* no key says base, scaling and share */
    bool ropes_needed;            /* without rope_parameters there is a scaling that no key tells */
    bool interleaved, phi3_ropes; /* Phi-3: "su" and "yarn" are old names of longrope, and nothing else */
    asc_hf_rope_layers rope_layers;
    asc_hf_windows windows;
    int64_t window, pattern; /* defaults; 0 = none; WINDOW_TYPES without a pattern: all layers */
    /* "layer_types", "sliding_window", "full_attention", "sliding_attention" */
    const char *types_key, *window_key, *full_word, *local_word;
    bool types_needed;     /* there is no default */
    bool pattern_fixed;    /* no key says the pattern */
    const char *chunk_key; /* layers that turn see chunks of so many tokens; NULL = never */
    int64_t chunk;         /* its default */
    bool by_head;          /* fused q, k, v by key head: its queries, its key, its value */
    int64_t qkv_shards;    /* fused in so many pieces, each of queries, values, keys (CodeGen); 0 = not */
    bool embed_sqrt;       /* embeddings times sqrt(d_model) */
    double query_scalar;   /* query_pre_attn_scalar's default; 0 = the scale is 1 / sqrt(head_dim) */
    bool caps;             /* soft caps: the keys are looked at, */
    bool final_only;       /* or that of the logits alone */
    double attn_cap, final_cap; /* their defaults; 0 = none */
    double attn_scale;          /* instead of 1 / sqrt(head_dim); 0 = that */
    bool unscaled;              /* scores are not divided at all (GPT-Neo) */
    const char *scale_key;      /* a flag; false: scores are not divided by sqrt(head_dim). NULL = always */
    const char *depth_key; /* a flag, false by default: asc_decoder_config.scale_by_depth; NULL = never */
    const char *clip_key;  /* a number or null: asc_decoder_config.clip_qkv; NULL = never */
    bool multipliers;      /* Granite's four factors */
    double logit_scale;    /* default; 0 = the key is not looked at */
    const char *experts_key, *expert_width_key; /* NULL: no mixture */
    const char *top_k_key;                      /* a flag, false by default; NULL = always made to sum to 1 */
    bool raw_shares;                            /* ... or never */
    bool normed_shares;                         /* the flag's default is true */
    int64_t extra_layers; /* layers behind the last that predict further tokens and are not read; by `more` */
    int64_t n_experts, n_used, expert_width; /* defaults; width 0: the key is required */
    /* layers with a mixture, by number; else every so-manyth. "decoder_sparse_step"; NULL = no such list */
    const char *moe_list_key, *moe_step_key;
    const char
        *shared_width_key; /* of an expert that every token takes, with a gate of its own; NULL = none */
    int64_t shared_width;
    /* Keys that change the numbers in a way the decoder does not know: pairs of key and the only value that
     * is fine ("false", "true", "null"; absent and null always are); NULL, or ends with NULL. */
    const char *const *fixed;
    /* What no field above says; called once the sizes are read. NULL = nothing. */
    asc_status (*more)(struct asc_hf_reading *r);
} asc_hf_family;

/* NULL when there is no such row; rows in order, NULL behind the last. */
const asc_hf_family *asc_hf_family_find(asc_view model_type);
const asc_hf_family *asc_hf_family_at(size_t i);
asc_hf_family asc_hf_family_filled(const asc_hf_family *row);

/* A config being read. */
typedef struct asc_hf_reading {
    asc_hf_keys k;
    asc_hf_family f;  /* filled */
    asc_arena *arena; /* of lists that live as long as the weights */
    asc_decoder_config *c;
    int64_t moe_first, moe_end; /* layers that can have a mixture; end 0 = all */
} asc_hf_reading;
/* The name that this family gives a key. */
const char *asc_hf_key_name(const asc_hf_family *f, const char *key);
/* hf_config_more.c: what single families have of their own. */
ASC_MUST_USE asc_status asc_hf_more_falcon(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_bigcode(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_opt(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_gptj(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_mpt(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_gpt_oss(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_apertus(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_granitemoeshared(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_llama4(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_dbrx(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_glm4_moe(asc_hf_reading *r);
ASC_MUST_USE asc_status asc_hf_more_ernie_moe(asc_hf_reading *r);
/* hf_config_rope.c: c->rope and n_ropes. Needs head_dim and context. */
ASC_MUST_USE asc_status asc_hf_read_ropes(asc_hf_reading *r);
/* hf_config_layers.c: c->plan. */
ASC_MUST_USE asc_status asc_hf_read_layers(asc_hf_reading *r);

/* hf_config.c: everything in config.json that a forward pass needs. On success end *out
 * with asc_decoder_config_deinit, unless asc_decoder_load took it. */
ASC_MUST_USE asc_status asc_hf_configure(const asc_hf_folder *folder, asc_arena *arena,
                                         asc_hf_family *out_family, asc_decoder_config *out);
/* hf_names.c: fills the table under GGUF names; every tensor of the folder has a place, or is on a list of
 * those without effect. */
ASC_MUST_USE asc_status asc_hf_fill(asc_hf_folder *folder, const asc_hf_family *f,
                                    const asc_decoder_config *c, asc_weights *w);
/* The GGUF name of a tensor of such a folder, "model.layers.0.self_attn.q_proj.weight"; false when it has no
 * place or is one of many experts. */
bool asc_hf_gguf_name(const asc_hf_family *f, asc_view name, char *out, size_t size);

#endif
