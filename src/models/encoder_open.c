/* encoder_open.c - a text encoder from a Hugging Face folder: config, weights, tokenizer, and how sentences
 * are pooled. */
#include "encoder.h"
#include "encoder_pooling.h"
#include "hf_text.h"
#include "model.h"
#include "view.h"

/* All tensors under their own names. Whole numbers are buffers (position_ids), which say nothing. */
static asc_status table_of(asc_ctx *ctx, asc_hf_folder *f, asc_weights **out) {
    asc_status st = asc_weights_create(ctx, f->path, out);
    for (size_t i = 0; st == ASC_OK && i < f->n; i++) {
        asc_weight w;
        if (f->v[i].elem == ASC_ELEM_I64 || f->v[i].elem == ASC_ELEM_I32) continue;
        st = asc_hf_weight_of(f, &f->v[i], f->v[i].name, &w);
        if (st == ASC_OK) st = asc_hf_put(f, &f->v[i], 0, &w, *out);
    }
    if (st == ASC_OK) st = asc_weights_seal(*out);
    if (st == ASC_OK) asc_hf_folder_give(f, *out);
    return st;
}

asc_status asc_encoder_open(asc_model *m, asc_hf_folder *f) {
    asc_ctx *ctx = m->ctx;
    asc_encoder_config cfg;
    asc_status st = asc_encoder_configure(ctx, f->path, f->config, &cfg);
    if (st != ASC_OK) return st;
    m->kind = ASC_MODEL_ENCODER;
    m->encoder = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *m->encoder);
    st = m->encoder == NULL ? ASC_RESOURCE_EXHAUSTED : asc_encoder_read_pooling(ctx, f, &cfg);
    if (st == ASC_OK) st = table_of(ctx, f, &m->weights);
    if (st == ASC_OK && m->shuffle_seed != 0) st = asc_weights_shuffle(m->weights, m->shuffle_seed);
    if (st == ASC_OK) st = asc_hf_read_tokenizer(m, f, cfg.n_vocab);
    if (st != ASC_OK) {
        asc_encoder_config_deinit(ctx, &cfg);
        return st;
    }
    st = asc_encoder_load(ctx, m->weights, &cfg, m->encoder);
    if (st != ASC_OK) return st;
    asc_encoder_special_tokens(m);
    return ASC_OK;
}
