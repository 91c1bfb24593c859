/* decoder_family.h - what the name of an architecture says about a model and its file does not. */
#ifndef ASC_DECODER_FAMILY_H
#define ASC_DECODER_FAMILY_H

#include "decoder.h"

/* One row of the table in decoder_families.c. Zero means: as in llama, but for rotary pairs, which there are
 * (2i, 2i+1) since the converter permutes rows. */
typedef struct asc_family {
    const char *name;       /* general.architecture */
    const char *model_type; /* what config.json calls it, if that differs; the first of several */
    bool interleaved;       /* rotary pairs (2i, 2i+1) */
    bool permuted;          /* because the converter re-ordered the rows of q and k in each head */
    bool no_pre_norms, post_norms;
    bool embed_scale; /* sqrt(D) */
    bool layer_norm;  /* with attention.layer_norm_epsilon */
    bool plain_mlp;   /* not gated */
    bool parallel;    /* blocks; use_parallel_residual overrules it */
    bool learned_positions;
    bool logits_divided;  /* by logit_scale, instead of multiplied (Granite) */
    bool nope_full;       /* no rotary embedding on layers without a window (Cohere 2) */
    bool local_rope;      /* layers with a window have a rotary embedding of their own */
    bool nope_if_windows; /* ... nope_full only where there are windows (EXAONE 4) */
    bool experts;         /* must be there; elsewhere expert_count may be absent */
    bool raw_shares;    /* the chosen experts' shares are not made to add up to 1, unless the file says so */
    bool shared_expert; /* there may be an expert that every token takes */
    bool shared_gate;   /* ... and it has a gate */
    bool more_experts; /* further keys of mixtures are read: what the scores become, a factor, how many layers
                          to the next mixture; shared_expert as so many experts side by side */
    bool sigmoid_shares;    /* unless the file says so */
    bool qk_norm_optional;  /* where the file has their weights */
    bool bare_norms;        /* norms without weights */
    bool clip_qkv;          /* attention.clamp_kqv is read */
    bool qk_norm_late;      /* behind the rotary embedding */
    bool norms_swapped;     /* where there is attn_norm_2, that is attention's norm and attn_norm the MLP's
                               (Falcon) */
    const char *ffn_norm;   /* NULL = "ffn_norm" */
    bool embed_norm, sinks; /* asc_decoder_config's */
    double alibi;           /* asc_decoder_config.alibi; 0 = none */
    bool alibi_key;         /* attention.max_alibi_bias says it, and must be there */
    bool exact_yarn;        /* the ramp's ends are not rounded to columns, as in the model's own program */
    bool minicpm;           /* factors that older files do not have */
    bool grows;             /* attention.temperature_scale: asc_decoder_config's q_grow, in every layer */
    bool xielu;             /* xielu.* has the activation's numbers, one a layer each */
    /* asc_decoder_config's swiglu_limit and swiglu_alpha */
    double swiglu_limit, swiglu_alpha;
    bool llama4; /* chunks, NoPE layers, queries that grow, sigmoid shares of what experts read, as Llama 4 */
    int local_of;           /* with a window: every n-th layer sees all, the others the window; 0 = all the
                               window */
    int nope_of;            /* every n-th layer has no rotary embedding; 0 = none */
    int wide_scale_layers;  /* the size with this many layers scales by sqrt(D / H), not sqrt(head_dim) */
    double local_rope_base; /* unless rope.freq_base_swa says; 0 = the model's base, without its scaling */
    asc_qk_norm qk_norm;
    asc_mlp_act act;
} asc_family;

const asc_family *asc_family_find(asc_view name); /* NULL when unknown */

#endif
