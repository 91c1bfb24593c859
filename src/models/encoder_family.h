/* encoder_family.h - what differs between the families of text encoders: keys of their configs, names of
 * their tensors, their heads. */
#ifndef ASC_ENCODER_FAMILY_H
#define ASC_ENCODER_FAMILY_H

#include "encoder.h"
#include "hf_values.h"

/* Names without ".weight" and ".bias"; NULL = the family has none. Those of a layer stand behind `layer`.
 * Base tensors may have the prefix or not (a file of the bare model lacks it); names that begin with '^' in
 * the head belong to the base as well. Without `gate`, a gated MLP's halves lie in `up`. */
typedef struct asc_encoder_names {
    const char *prefix;
    /* From the width of the tables (embedding_size) to the model's; NULL: these are one. */
    const char *project;
    const char *word, *position, *type, *embed_norm, *relative, *final_norm;
    const char *layer;                         /* has one %lld, or two: group and block in it (ALBERT) */
    const char *relative_norm, *pos_k, *pos_q; /* DeBERTa; pos_k and pos_q of a layer */
    const char *q, *k, *v, *qkv, *o, *attn_norm, *gate, *up, *down, *mlp_norm;
    const char *plain_up;                                 /* stands for `up` where the MLP is not gated */
    const char *router, *up_exps, *down_exps, *exps_bias; /* whole names, but of the router */
    const char *q_bias, *v_bias; /* whole names, of a qkv without a bias of its own (DeBERTa v1) */
    const char *head_dense, *head_norm, *head;
    const char *token_dense, *token_norm;         /* in front of the classifier of tokens, and of spans */
    const char *words_dense, *words_norm, *words; /* of a masked language model; `words` has the table's
                                                     weight where the file has none */
    const char *words_bias;                       /* where the bias may be instead of with `words` */
    const char *later_dense, *later_norm, *later_bias; /* DeBERTa's other head of masked words; always tied */
    const char *span;
} asc_encoder_names;

typedef struct asc_encoder_family {
    const char *model_type;
    const asc_encoder_names *names;
    /* keys of config.json */
    const char *width, *layers, *heads, *ff, *act, *eps; /* act NULL: encoder_nomic.c knows */
    const char *positions;                               /* NULL = max_position_embeddings */
    double default_eps;
    const char *default_act; /* of `act` and `words_act`; NULL = gelu */
    bool behind_pad;         /* positions begin behind that of the padding token (RoBERTa) */
    bool fixed_pad;          /* ... which is 1 for positions, whatever the config says (MPNet) */
    bool rotary;  /* Nomic BERT: rotary positions instead of a table, gated, biases in norms and heads only */
    bool grouped; /* ALBERT: layers share weights in groups, and `project` is always there */
    bool deberta; /* places in attention's scores (encoder_deberta.c) */
    bool by_head; /* ... of DeBERTa v1: rows of qkv stand head by head; no buckets, no norm of the table */
    bool alibi;   /* a config whose position_embedding_type is alibi (Jina) */
    bool modern;  /* ModernBERT: rotary positions, local windows, pre-norm, gated */
    asc_mlp_act head_act;
    const char *words_act; /* key of config.json; NULL = gelu */
    const char *class_act; /* of the classifier's first layer; NULL = head_act */
} asc_encoder_family;

/* Rows with the same model_type stand side by side: the one whose `width` a config has is meant. */
extern const asc_encoder_family asc_encoder_families[];
extern const size_t asc_n_encoder_families;

/* encoder_config.c: UNIMPLEMENTED by the key's name. k: keys of config.json. */
ASC_MUST_USE asc_status asc_encoder_refuse(const asc_hf_keys *k, const char *key);

/* encoder_nomic.c: what Nomic BERT's config says beside its sizes, into act, biases and the one rope. */
ASC_MUST_USE asc_status asc_encoder_nomic(const asc_hf_keys *k, asc_encoder_config *c);

/* encoder_deberta.c: what DeBERTa's config says beside its sizes, into c->deberta, n_types, n_positions. */
ASC_MUST_USE asc_status asc_encoder_deberta(const asc_hf_keys *k, asc_encoder_config *c);
/* Which row each pair of t tokens takes: i32 [2,T*T]; NULL where scores know nothing of places. */
asc_tensor *asc_deberta_places(asc_encoder *e, int64_t t);
/* What layer l adds to the products of q and k [B,H,T,Dh], before these are scaled: [B,H,T,T]. */
asc_tensor *asc_deberta_scores(asc_encoder *e, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *places);

#endif
