/* layers.h - blocks that models are built from. They only build ops; a NULL weight or bias means "not there".
 */
#ifndef ASC_LAYERS_H
#define ASC_LAYERS_H

#include "ops.h"

#define ASC_MLP_TABLE(X)                                                                                     \
    X(SILU, "silu")                                                                                          \
    X(GELU, "gelu") /* erf form */                                                                           \
    X(GELU_TANH, "gelu_tanh")                                                                                \
    X(RELU, "relu")                                                                                          \
    X(RELU_SQUARED, "relu2")                                                                                 \
    X(QUICK_GELU, "quick_gelu") /* x sigmoid(1.702 x) */                                                     \
    X(TANH, "tanh")
typedef enum asc_mlp_act {
#define ASC_MLP_ENUM(e, name) ASC_MLP_##e,
    ASC_MLP_TABLE(ASC_MLP_ENUM)
#undef ASC_MLP_ENUM
        ASC_N_MLP_ACTS
} asc_mlp_act;
asc_tensor *asc_activate(asc_ctx *ctx, asc_tensor *x, asc_mlp_act act);
/* act(gate) * up */
asc_tensor *asc_gated(asc_ctx *ctx, asc_tensor *gate, asc_tensor *up, asc_mlp_act act);
/* gpt-oss: g sigmoid(alpha g) (1 + u), where g is the gate cut above at `limit` and u is up cut on both
 * sides.
 */
asc_tensor *asc_gated_cut(asc_ctx *ctx, asc_tensor *gate, asc_tensor *up, double alpha, double limit);
/* xIELU (Huang and Schlag 2024): for x > 0 positive x^2 + beta x, else negative (expm1(min(x, eps)) - x) +
 * beta x. */
typedef struct asc_xielu {
    double positive, negative, beta, eps;
} asc_xielu;
asc_tensor *asc_activate_xielu(asc_ctx *ctx, asc_tensor *x, const asc_xielu *a);

/* A low-rank addition to a projection: scale B (A x), A [r,in], B [out,r]. */
typedef struct asc_lora {
    asc_tensor *a, *b;
    double scale;
} asc_lora;

/* A projection of the last axis. Files hold [out,in] (the rule) or [in,out] (`transposed`: GPT-2). */
typedef struct asc_proj {
    asc_tensor *w, *b; /* b may be NULL */
    bool transposed;
    const asc_lora *lora; /* n_lora of them, added up; the owner of the projection's tensors has them */
    size_t n_lora;
} asc_proj;
asc_tensor *asc_project(asc_ctx *ctx, asc_tensor *x, const asc_proj *p);

/* A stack of E matrices [E,out,in], or [E,in,out] if `transposed`, and of E vectors [E,out] or NULL. */
typedef struct asc_experts {
    asc_tensor *w, *b;
    bool transposed;
} asc_experts;
/* A mixture of experts of F neurons. */
typedef struct asc_mixture {
    asc_tensor *router, *router_bias; /* [E,D]; [E] or NULL */
    asc_tensor *choice_bias;          /* [E], added where experts are chosen and nowhere else; NULL = none */
    asc_experts gate, up, down;       /* gate.w NULL: not gated */
    asc_experts gate_up;              /* instead of gate and up if its w is there: 2F, the gate's first, */
    bool paired;                      /* or g0 u0 g1 u1 ... */
    int64_t used;                     /* experts of each token */
    bool normalised;                  /* their shares are made to add up to 1 */
    bool sigmoid;        /* a share is the sigmoid of the router's score, not of a softmax over all */
    bool scale_input;    /* the share multiplies what an expert reads, not what it gives */
    double share_scale;  /* of every share; 0 = 1 */
    double limit, alpha; /* limit > 0: asc_gated_cut instead of act */
    asc_mlp_act act;
} asc_mixture;
/* h [B,T,D] through the experts that the router chooses for each token: the `used` of the largest shares.
 * Which ones is piecewise constant; their shares have a gradient. */
asc_tensor *asc_mix(asc_ctx *ctx, asc_tensor *h, const asc_mixture *m);

/* Splits the last axis [.., H*D] into [.., H, D]. */
asc_tensor *asc_split_heads(asc_ctx *ctx, asc_tensor *x, int64_t head_dim);

/* c tanh(x / c); c <= 0 returns x. */
asc_tensor *asc_soft_cap(asc_ctx *ctx, asc_tensor *x, double c);

/* Slopes of ALiBi's heads (Press et al. 2022): powers of 2^(-most/n), n the largest power of two up to
 * `heads`; heads beyond n take every second one of twice as many. most is 8 in every model known here. */
void asc_alibi_slopes(int64_t heads, double most, double *out);

/* Inverse frequencies of rotary embeddings. */
typedef enum asc_rope_scaling { ASC_ROPE_NONE, ASC_ROPE_LINEAR, ASC_ROPE_YARN } asc_rope_scaling;
typedef struct asc_rope_config {
    int64_t n_rot; /* columns of a head that turn; even */
    double base;   /* > 1 */
    asc_rope_scaling scaling;
    double factor;                                 /* of linear and yarn; >= 1 */
    double original_context, beta_fast, beta_slow; /* yarn */
    bool unrounded;                                /* yarn: the ramp's ends are not rounded to columns */
    double attn_factor;                            /* yarn: extra factor on cos and sin; 1 by default */
    /* n_rot/2 divisors of the frequencies each, owned by the file's reader as long as the model; NULL = none.
     * llama3 scaling has one set. longrope (Phi-3) has a second one for sequences longer than
     * original_context, and cos and sin are multiplied by long_mscale whatever the length. */
    const double *divide, *divide_long;
    double long_mscale; /* 0 = 1 */
} asc_rope_config;
/* Writes n_rot/2 inverse frequencies and the factor on cos and sin. `divide` (n_rot/2 entries, may be NULL)
 * divides each frequency (llama3 scaling). YaRN: Peng et al. 2023, section 3.4; ramp ends rounded down and
 * up, but for `unrounded`. */
void asc_rope_frequencies(const asc_rope_config *c, const double *divide, double *out, double *out_mscale);

#endif
