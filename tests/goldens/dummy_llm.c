/* dummy_llm.c - see dummy_llm.h. Every weight is filled row by row from a fresh generator
 * x <- (16843009 x + 3014898611) mod 2^32 from 1, each value x / 2^32. */
#include "dummy_llm.h"
#include "tokenizer_ids.h"
#include <math.h>
#include <stdlib.h>

enum { D = 10, H = 2, F = 2048, V = 256 };

static asc_tensor *filled(asc_ctx *ctx, asc_shape s) {
    int64_t n = 1;
    for (int k = 0; k < s.rank; k++) n *= s.dims[k];
    float *v = malloc((size_t)n * sizeof *v);
    if (v == NULL) abort();
    uint32_t x = 1;
    for (int64_t i = 0; i < n; i++) {
        x = 16843009u * x + 3014898611u;
        v[i] = (float)((double)x / 4294967296.0);
    }
    asc_tensor *t = asc_from_f32(ctx, s, v);
    free(v);
    return t;
}

static asc_tensor *constant(asc_ctx *ctx, int64_t n, float value) {
    float v[F];
    for (int64_t i = 0; i < n; i++) v[i] = value;
    return asc_from_f32(ctx, ASC_SHAPE(n), v);
}

static asc_norm plain_norm(asc_ctx *ctx) {
    return (asc_norm){.w = constant(ctx, D, 1.0f), .b = constant(ctx, D, 0.0f)};
}

asc_status dummy_llm_begin(asc_ctx *ctx, dummy_llm *d) {
    *d = (dummy_llm){.plan = {.rope = ASC_ROPE_OFF}};
    asc_decoder *m = &d->m.decoder;
    asc_layer *l = &d->layer;
    m->ctx = d->m.ctx = d->no_file.ctx = ctx;
    d->m.weights = &d->no_file;
    m->layers = l;
    m->has_bias = true;
    m->cfg = (asc_decoder_config){.architecture = "dummy",
                                  .n_layers = 1,
                                  .d_model = D,
                                  .n_heads = H,
                                  .n_kv = H,
                                  .head_dim = D / H,
                                  .d_ff = F,
                                  .n_vocab = V,
                                  .context = 512,
                                  .plan = &d->plan,
                                  .norm = ASC_NORM_LAYER,
                                  .eps = 1e-5,
                                  .block = ASC_BLOCK_POST,
                                  .post_norms = true,
                                  .positions = ASC_POSITIONS_NONE,
                                  .act = ASC_MLP_RELU,
                                  .attn_scale = 1.0 / sqrt((double)D / H),
                                  .not_causal = true};
    m->embed = filled(ctx, ASC_SHAPE(V, D));
    l->attn_label = l->mlp_label = "layer";
    l->qkv.w = filled(ctx, ASC_SHAPE(3 * D, D));
    l->o.w = filled(ctx, ASC_SHAPE(D, D));
    l->up.w = filled(ctx, ASC_SHAPE(F, D));
    l->down.w = filled(ctx, ASC_SHAPE(D, F));
    l->attn_post_norm = plain_norm(ctx);
    l->ffn_post_norm = plain_norm(ctx);
    m->head = (asc_proj){.w = filled(ctx, ASC_SHAPE(V, D)), .b = constant(ctx, V, 0.5f)};
    d->m.path = d->m.name = (char *)(uintptr_t) "DummyLLM";
    d->m.info = (asc_model_info){.path = d->m.path,
                                 .architecture = "dummy",
                                 .name = d->m.name,
                                 .n_layers = 1,
                                 .d_model = D,
                                 .n_heads = H,
                                 .n_kv_heads = H,
                                 .head_dim = D / H,
                                 .d_ff = F,
                                 .n_vocab = V,
                                 .context_length = 512};
    return asc_tokenizer_of_ids(ctx, V, "tokens of this model are character codes", &d->m.tokenizer);
}

void dummy_llm_end(dummy_llm *d) { asc_tokenizer_destroy(d->m.tokenizer); }
