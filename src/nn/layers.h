/* layers.h - blocks that models are built from. They only build ops; a NULL weight or bias means "not there".
 */
#ifndef ASC_LAYERS_H
#define ASC_LAYERS_H

#include "ops.h"

/* x [..,K] times w [N,K] transposed, plus bias [N] (may be NULL) -> [..,N]. w may be stored weights. */
asc_tensor *asc_linear(asc_ctx *ctx, asc_tensor *x, asc_tensor *w, asc_tensor *bias);

typedef enum asc_gate { ASC_GATE_SILU, ASC_GATE_GELU_TANH } asc_gate;
/* down(act(gate x) * (up x)) */
asc_tensor *asc_gated_mlp(asc_ctx *ctx, asc_tensor *x, asc_tensor *w_gate, asc_tensor *w_up,
                          asc_tensor *w_down, asc_gate gate);

/* Splits the last axis [.., H*D] into [.., H, D]. */
asc_tensor *asc_split_heads(asc_ctx *ctx, asc_tensor *x, int64_t head_dim);

/* c tanh(x / c); c <= 0 returns x. */
asc_tensor *asc_soft_cap(asc_ctx *ctx, asc_tensor *x, double c);

/* Inverse frequencies of rotary embeddings. */
typedef enum asc_rope_scaling { ASC_ROPE_NONE, ASC_ROPE_LINEAR, ASC_ROPE_YARN } asc_rope_scaling;
typedef struct asc_rope_config {
    int64_t n_rot; /* columns of a head that turn; even */
    double base;   /* > 1 */
    asc_rope_scaling scaling;
    double factor;                                 /* of linear and yarn; >= 1 */
    double original_context, beta_fast, beta_slow; /* yarn */
    double attn_factor;                            /* yarn: extra factor on cos and sin; 1 by default */
} asc_rope_config;
/* Writes n_rot/2 inverse frequencies and the factor on cos and sin. `divide` (n_rot/2 entries, may be NULL)
 * divides each frequency (llama3 scaling). YaRN: Peng et al. 2023, section 3.4; ramp ends rounded down and
 * up. */
void asc_rope_frequencies(const asc_rope_config *c, const float *divide, double *out, double *out_mscale);

#endif
