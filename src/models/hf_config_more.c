/* hf_config_more.c - what config.json says in single families and no field of hf_family.h tells: keys that
 * choose between layouts. Sources: the configuration and model classes of transformers 5.24. */
#include "hf_family.h"
#include "view.h"

static asc_status heads(asc_hf_reading *r, const char *key, int64_t n) {
    r->c->n_kv = n;
    return r->c->n_heads % n == 0 ? ASC_OK
                                  : asc_hf_invalid(&r->k, key, "a divisor of the number of attention heads");
}

/* Falcon: one key head (7b), as many as heads, or groups (40b, 180b, 11b); attention and MLP side by side
 * with one norm or two, or one after the other. */
asc_status asc_hf_more_falcon(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    bool grown, one, parallel;
    int64_t n_kv = r->c->n_heads, norms;
    ASC_TRY(asc_hf_flag(&r->k, "new_decoder_architecture", false, &grown));
    ASC_TRY(asc_hf_flag(&r->k, "multi_query", true, &one));
    ASC_TRY(asc_hf_flag(&r->k, "parallel_attn", true, &parallel));
    if (grown || !one) ASC_TRY(asc_hf_count(&r->k, "num_kv_heads", n_kv, 1 << 16, &n_kv));
    if (!grown && !one && n_kv != r->c->n_heads)
        return asc_hf_refuse(&r->k, "num_kv_heads", "without new_decoder_architecture: as many as heads");
    ASC_TRY(heads(r, "num_kv_heads", grown || !one ? n_kv : 1));
    ASC_TRY(asc_hf_count(&r->k, "num_ln_in_parallel_attn", grown ? 2 : 1, 2, &norms));
    if (!grown && norms == 2)
        return asc_hf_refuse(&r->k, "num_ln_in_parallel_attn", "2 needs new_decoder_architecture");
    r->c->block = grown || parallel ? ASC_BLOCK_PARALLEL : ASC_BLOCK_SERIAL;
done:
    return st;
}

asc_status asc_hf_more_bigcode(asc_hf_reading *r) {
    bool one;
    asc_status st = asc_hf_flag(&r->k, "multi_query", true, &one);
    if (st == ASC_OK && one) st = heads(r, "multi_query", 1);
    return st;
}

asc_status asc_hf_more_opt(asc_hf_reading *r) {
    int64_t width = r->c->d_model;
    asc_status st = asc_hf_count(&r->k, "word_embed_proj_dim", width, 1 << 24, &width);
    if (st != ASC_OK || width == r->c->d_model) return st;
    return asc_hf_refuse(&r->k, "word_embed_proj_dim", "supported: the same as hidden_size");
}

/* rotary_dim columns of a head turn. */
asc_status asc_hf_more_gptj(asc_hf_reading *r) {
    int64_t n;
    asc_status st = asc_hf_count(&r->k, "rotary_dim", 64, r->c->head_dim, &n);
    if (st != ASC_OK) return st;
    if (n % 2 != 0) return asc_hf_invalid(&r->k, "rotary_dim", "an even number");
    r->f.partial_default = (double)n / (double)r->c->head_dim;
    return ASC_OK;
}
