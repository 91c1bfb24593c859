/* hf_model.c - opens a Hugging Face folder as a model; what kind it is, config.json says. */
#include "hf_model.h"
#include "adapter.h"
#include "encoder_pooling.h"
#include "hf_family.h"
#include "hf_text.h"
#include "view.h"

/* The folder's own name, for reports. */
static asc_view base_name(const char *path) {
    asc_view v = asc_view_of(path), out = v;
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] == '/') out = asc_view_make(v.ptr + i + 1, v.len - i - 1);
    }
    return out.len > 0 ? out : v;
}

static asc_status open_decoder(asc_model *m, asc_hf_folder *f, const asc_model_options *o) {
    asc_status st = ASC_OK;
    asc_hf_family family;
    asc_decoder_config cfg = {0};
    ASC_TRY(asc_weights_create(m->ctx, f->path, &m->weights));
    ASC_TRY(asc_hf_configure(f, &m->weights->arena, &family, &cfg));
    ASC_TRY(asc_hf_fill(f, &family, &cfg, m->weights));
    asc_hf_folder_give(f, m->weights);
    if (m->shuffle_seed != 0) ASC_TRY(asc_weights_shuffle(m->weights, m->shuffle_seed));
    int64_t n_vocab = cfg.n_vocab;
    asc_lora_base base = {.path = m->path, .cfg = &cfg, .model_type = family.model_type};
    ASC_TRY(asc_lora_open(m->ctx, o->adapters, o->n_adapters, &base, &m->lora));
    ASC_TRY(
        asc_decoder_load(m->ctx, m->weights, &cfg, o->weights == ASC_WEIGHTS_EXPANDED, m->lora, &m->decoder));
    ASC_TRY(asc_hf_read_tokenizer(m, f, n_vocab));
    ASC_TRY(asc_hf_read_template(m, f));
done:
    asc_decoder_config_deinit(m->ctx, &cfg);
    return st;
}

asc_status asc_hf_model_open(asc_model *m, const asc_model_options *o, bool *read) {
    asc_hf_folder *f;
    asc_status st = asc_hf_folder_open(m->ctx, m->path, &f);
    if (st != ASC_OK) return st;
    *read = true;
    m->name = asc_strdup_view(m->ctx, ASC_MEM_GENERAL, base_name(f->path));
    asc_view type = asc_json_str(asc_json_get(f->config, "model_type"));
    if (m->name == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
    } else if (asc_view_eqs(type, "vit") || asc_view_eqs(type, "deit")) {
        ASC_FAIL(m->ctx, ASC_FAILED_PRECONDITION, "'%s' is an image classifier: it reads no text", m->path);
        st = asc_hint(m->ctx, "ascribe explain FOLDER --image FILE; in C, asc_vision_open");
    } else if (asc_encoder_is_family(type)) {
        st = asc_encoder_no_adapters(m, o->n_adapters);
        if (st == ASC_OK) st = asc_encoder_open(m, f);
    } else {
        st = open_decoder(m, f, o);
    }
    asc_hf_folder_close(f);
    return st;
}
