/* encoder.h - one configurable text encoder with a head: BERT, DistilBERT, RoBERTa, XLM-R, MPNet, DeBERTa,
 * ModernBERT and sentence embeddings made of them. What a family needs is a row of the table in
 * encoder_names.c. Shapes: B texts of T tokens, D = d_model, H heads, V vocabulary, C classes. */
#ifndef ASC_ENCODER_H
#define ASC_ENCODER_H

#include "decoder.h"
#include "json.h"
#include "strbuf.h"

/* What stands on top of the last block. */
typedef enum asc_head_kind {
    ASC_HEAD_NONE,    /* only embeddings */
    ASC_HEAD_CLASSES, /* one score for each class of a text */
    ASC_HEAD_TOKENS,  /* one score for each class of each token */
    ASC_HEAD_WORDS,   /* one score for each token of the vocabulary, at each token (masked language model) */
    ASC_HEAD_SPAN     /* two scores for each token: the answer begins, or ends there */
} asc_head_kind;

/* One vector of all tokens' vectors. */
typedef enum asc_pooling {
    ASC_POOL_FIRST,
    ASC_POOL_MAX,
    ASC_POOL_MEAN,
    ASC_POOL_MEAN_SQRT, /* the sum over sqrt(T) */
    ASC_POOL_WEIGHTED,  /* the mean, token t (from 1 on) with weight t */
    ASC_POOL_LAST,
    ASC_N_POOLINGS
} asc_pooling;

/* What follows pooling in a sentence encoder: a layer, or division by the length. */
enum { ASC_MAX_EMBED_STAGES = 8 };
typedef struct asc_embed_stage {
    bool dense; /* otherwise the vector is given length 1 */
    int64_t in, out;
    bool bias, act_on;
    asc_mlp_act act;
    char name[64]; /* of its tensors, without ".weight": "2_Dense/linear" */
} asc_embed_stage;

/* What attention's scores know of distances in DeBERTa (encoder_deberta.c). */
typedef struct asc_deberta {
    bool on;                   /* they know something */
    int parts;                 /* what scores are made of; divides their variance */
    bool on_key, on_query;     /* of a query and a key's place, of a key and a query's ("c2p", "p2c") */
    bool shared;               /* places go through the projections of tokens */
    bool normed;               /* the table is normalised */
    int64_t span;              /* the table has twice so many rows */
    int64_t buckets, farthest; /* buckets 0: each distance has a row */
} asc_deberta;

struct asc_encoder_family; /* encoder_family.h */

/* Everything that the forward pass needs to know, from config.json. The plan and the labels are the config's
 * (asc_encoder_config_deinit). */
typedef struct asc_encoder_config {
    const struct asc_encoder_family *family;
    const char *architecture; /* "bert"; static */
    int64_t n_layers, d_model, n_heads, head_dim, d_ff, n_vocab, context;
    int64_t word_width; /* of the tables of words, places and types; below d_model they are projected */
    /* ALBERT: n_layers blocks in n_groups groups with weights of their own, each used by several blocks in a
     * row; a group is n_inner blocks, one after the other. n_groups 0: every block has weights of its own. */
    int64_t n_groups, n_inner;
    int64_t n_positions;    /* rows of the table of learned positions; 0 = none */
    bool alibi;             /* scores fall with the distance, by a slope of each head (Jina) */
    int64_t first_position; /* row of the first token's position (RoBERTa: pad + 1) */
    int64_t n_types;        /* token types; 0 = none */
    double eps;
    asc_mlp_act act;
    bool pre_norm;   /* x += attn(norm x); otherwise x = norm(x + attn x) */
    bool gated;      /* one projection holds the activated half and then the factor (ModernBERT), or two do */
    bool gate_in_up; /* one does, though the family has names for two */
    bool attn_bias, mlp_bias, norm_bias, head_bias; /* where biases must be, and only there */
    bool up_bias;                                   /* of up and gate; mlp_bias is of down */
    int64_t n_experts, n_experts_used;              /* of layers whose plan says moe */
    bool norm_top_k, down_by_rows;                  /* down: [E,F,D] */
    int64_t n_buckets, max_distance; /* relative positions added to attention's scores (MPNet); 0 = none */
    asc_deberta deberta;
    asc_layer_plan *plan; /* n_layers; window: tokens up to so far away on both sides are seen, 0 = all */
    asc_rope_config rope[ASC_N_ROPES];
    int n_ropes;
    asc_head_kind head;
    asc_pooling head_pool;
    bool has_head_dense;
    bool later_words; /* DeBERTa: the head of masked words is the one of `legacy: false` */
    bool words_said;  /* ... and the config says so, or the opposite */
    asc_mlp_act head_act;
    double head_eps;  /* of a norm behind the head's first layer; 0 = there is none */
    bool many_labels; /* each class has a probability of its own (sigmoid), not a share (softmax) */
    int64_t n_classes;
    char **labels; /* n_classes names */
    /* of the text's embedding: ways of pooling, side by side, and what follows */
    asc_pooling pooling[ASC_N_POOLINGS];
    int n_poolings;
    bool plain_pooling; /* nothing said how: the mean */
    asc_embed_stage stages[ASC_MAX_EMBED_STAGES];
    int n_stages;
    int64_t embed_width;
    int32_t pad, cls, sep, mask; /* ids; -1 = none */
} asc_encoder_config;
void asc_encoder_config_deinit(asc_ctx *ctx, asc_encoder_config *c);

typedef struct asc_encoder_layer {
    const char *attn_label, *mlp_label;       /* "blocks.3.attn"; interned */
    asc_proj q, k, v, qkv, o;                 /* either q, k, v or qkv */
    asc_tensor *q_bias, *v_bias;              /* [D], of a qkv by head (DeBERTa v1); NULL: none */
    asc_proj pos_k, pos_q;                    /* DeBERTa: of places; w NULL: those of tokens, or none */
    asc_proj gate, up, down;                  /* gate.w NULL: none, or its half lies in up */
    asc_tensor *router, *up_exps, *down_exps; /* of a mixture; [E,D], [E,F,D], [E,F,D] or in GGUF [E,D,F] */
    asc_tensor *exps_bias;                    /* [D], added to what the mixture gives; NULL = none */
    asc_norm attn_norm, mlp_norm;             /* attn_norm.w NULL: none (ModernBERT's first block) */
} asc_encoder_layer;

typedef struct asc_encoder {
    asc_ctx *ctx;
    asc_encoder_config cfg;
    asc_tensor *embed, *positions, *types; /* [V,D]; [n_positions,D]; [n_types,D] */
    asc_proj project;                      /* from word_width to d_model; w NULL: none */
    asc_norm embed_norm, final_norm;       /* final_norm.w NULL: none */
    asc_tensor *relative;                  /* [n_buckets,H]; DeBERTa: [2 span,D] */
    asc_norm relative_norm;                /* of DeBERTa's table; w NULL: none */
    asc_tensor *inv_freq[ASC_N_ROPES];
    asc_encoder_layer *layers;
    asc_proj head_dense, head;
    asc_norm head_norm;
    asc_proj stages[ASC_MAX_EMBED_STAGES];
    asc_owned owned;              /* every weight */
    struct asc_site_edits *edits; /* site_edits.h: of every run; NULL = none. The model's */
} asc_encoder;

/* Appends "bert, roberta, ...", for messages. */
void asc_encoder_list_families(asc_strbuf *out);
bool asc_encoder_is_family(asc_view model_type);
/* Reads the config.json of the folder `path`, which is for messages. INVALID_ARGUMENT or UNIMPLEMENTED names
 * the key. On success end *out with asc_encoder_config_deinit, unless asc_encoder_load took it. */
ASC_MUST_USE asc_status asc_encoder_configure(asc_ctx *ctx, const char *path, const asc_json *config,
                                              asc_encoder_config *out);
/* Binds every tensor by the names of the family's files; one that has no place is refused by name. take_cfg
 * is consumed, also when this fails. The weights stay open as long as the encoder. */
ASC_MUST_USE asc_status asc_encoder_load(asc_ctx *ctx, const asc_weights *w, asc_encoder_config *take_cfg,
                                         asc_encoder *out);
void asc_encoder_unload(asc_encoder *e);

typedef struct asc_encoder_run {
    asc_tensor *x;     /* word embeddings [B,T,D] as looked up (asc_model_rows) */
    asc_tensor *types; /* i32 [B,T]; NULL: all 0 */
    /* [B,T]: 1, or 0 where no token sees this one and no pooling takes it (an attention mask); NULL: all 1 */
    asc_tensor *seen;
    asc_site_fn site; /* NULL = none; sites are those of decoders */
    void *site_self;
    /* Sees what each head hands to the output projection [B,T,H,D] and, with show_probs, attention's
     * probabilities [B,H,T,T] before; returns them, or others of their shape. NULL = none */
    asc_tensor *(*inner)(void *self, int64_t layer, bool probs, asc_tensor *v);
    void *inner_self;
    bool show_probs;
} asc_encoder_run;

/* What enters the first block: [B,T,D]. */
asc_tensor *asc_encoder_entry(asc_encoder *e, const asc_encoder_run *run);
/* Block l alone on x [B,T,D]; of run only site and inner are looked at. */
asc_tensor *asc_encoder_block(asc_encoder *e, const asc_encoder_run *run, int64_t l, asc_tensor *x);
/* The final norm, if there is one. */
asc_tensor *asc_encoder_finish(asc_encoder *e, asc_tensor *x);
/* All three, one after the other: [B,T,D]. */
asc_tensor *asc_encoder_hidden(asc_encoder *e, const asc_encoder_run *run);
/* Scores of the classes: [B,C]; of heads that speak of tokens [..,C] for hidden [..,D], with C = V for words
 * and 2 for spans. The encoder has a head. seen: as of the run. */
asc_tensor *asc_encoder_classes(asc_encoder *e, asc_tensor *hidden, asc_tensor *seen);
/* The text's embedding, of length 1: [B,embed_width]. */
asc_tensor *asc_encoder_embedding(asc_encoder *e, asc_tensor *hidden, asc_tensor *seen);

#endif
