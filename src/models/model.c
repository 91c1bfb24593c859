/* model.c - opening a model file and what can be asked of it; see ascribe/model.h. */
#include "model.h"
#include "model_doubts.h"
#include "adapter.h"
#include "compiled.h"
#include "encoder.h"
#include "encoder_gguf.h"
#include "gguf_vocab.h"
#include "hf_folder.h"
#include "hf_model.h"
#include "kept_prompt.h"
#include "kept_text.h"
#include "rehearse.h"
#include "site_edits.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void fill_info(asc_model *m) {
    const asc_decoder_config *c = &m->decoder.cfg;
    asc_model_info *i = &m->info;
    *i = (asc_model_info){.path = m->path,
                          .architecture = c->architecture,
                          .name = m->name,
                          .n_layers = c->n_layers,
                          .d_model = c->d_model,
                          .n_heads = c->n_heads,
                          .n_kv_heads = c->n_kv,
                          .head_dim = c->head_dim,
                          .d_ff = c->d_ff,
                          .n_vocab = c->n_vocab,
                          .context_length = c->context,
                          .file_bytes = m->weights->file_bytes,
                          .scale_free = !m->decoder.has_bias,
                          .tied_head = m->decoder.head.w == m->decoder.embed};
    for (size_t k = 0; k < m->weights->n; k++) {
        const asc_weight *t = &m->weights->v[k];
        int64_t n = 1;
        for (int r = 0; r < t->rank; r++) n *= t->dims[r];
        i->n_params += n;
        if (!asc_view_eqs(t->name, "token_embd.weight") && !asc_view_eqs(t->name, "output.weight"))
            i->n_params_blocks += n;
    }
}

/* Every refusal of a file says what to do about it, also where the place that found the fault knows no
 * better. */
static asc_status with_remedy(asc_ctx *ctx, asc_status st) {
    if (ctx->error.code != st || ctx->error.hint[0] != '\0') return st;
    if (st == ASC_UNIMPLEMENTED)
        return asc_hint(ctx, "this program cannot run such a file; ascribe inspect shows what it holds");
    return asc_hint(ctx, "the file is damaged or was converted wrongly; fetch or convert it again");
}

/* A GGUF file: weights, metadata, vocabulary and chat template in one. */
static asc_status open_gguf(asc_model *m, const asc_model_options *o, bool *read) {
    asc_ctx *ctx = m->ctx;
    asc_gguf *g;
    asc_decoder_config cfg = {0};
    asc_view name;
    asc_status st = asc_gguf_open(ctx, m->path, &g);
    if (st != ASC_OK) return st;
    *read = true;
    ASC_TRY(asc_weights_from_gguf(ctx, g, &m->weights));
    if (m->shuffle_seed != 0) ASC_TRY(asc_weights_shuffle(m->weights, m->shuffle_seed));
    m->file = g;
    ASC_TRY(asc_gguf_get_str_or(ctx, g, "general.name", asc_view_of(""), &name));
    m->name = asc_strdup_view(ctx, ASC_MEM_GENERAL, name);
    if (m->name == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (asc_encoder_is_gguf(g)) {
        ASC_TRY(asc_encoder_no_adapters(m, o->n_adapters));
        st = asc_encoder_gguf_open(m, g);
        goto done;
    }
    ASC_TRY(asc_decoder_configure(ctx, g, &cfg));
    asc_lora_base base = {.path = m->path, .cfg = &cfg, .gguf = true};
    base.model_type = asc_family_model_type(cfg.architecture);
    ASC_TRY(asc_lora_open(ctx, o->adapters, o->n_adapters, &base, &m->lora));
    ASC_TRY(
        asc_decoder_load(ctx, m->weights, &cfg, o->weights == ASC_WEIGHTS_EXPANDED, m->lora, &m->decoder));
    ASC_TRY(asc_tokenizer_from_gguf(ctx, g, &m->tokenizer));
    const asc_gguf_kv *kv = asc_gguf_kv_find(g, "tokenizer.chat_template");
    if (kv != NULL && !kv->is_array && kv->values.type == ASC_GGUF_STRING)
        m->chat_template = asc_gguf_str_at(kv->values, 0);
done:
    asc_decoder_config_deinit(ctx, &cfg);
    return st;
}

asc_status asc_model_open(asc_ctx *ctx, const char *path, const asc_model_options *opts, asc_model **out) {
    asc_status st = ASC_OK;
    bool read = false;
    *out = NULL;
    asc_model_options o = {.struct_size = sizeof o};
    if (opts != NULL)
        memcpy(&o, opts, opts->struct_size < sizeof o ? opts->struct_size : sizeof o); /* older callers */
    asc_model *m = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *m);
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    m->ctx = ctx;
    if (opts != NULL && opts->struct_size >= sizeof *opts) m->shuffle_seed = opts->shuffle_seed;
    m->path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(path));
    if (m->path == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (asc_hf_is_folder(path)) {
        ASC_TRY(asc_hf_model_open(m, &o, &read));
    } else {
        ASC_TRY(open_gguf(m, &o, &read));
    }
    if (m->kind == ASC_MODEL_ENCODER)
        asc_model_encoder_info(m);
    else
        fill_info(m);
    m->info.adapters = m->lora != NULL ? m->lora->list : NULL;
    m->info.n_adapters = m->lora != NULL ? m->lora->n_list : 0;
    size_t n_tokens = asc_tokenizer_get_info(m->tokenizer).n_vocab;
    if ((int64_t)n_tokens > m->info.n_vocab) {
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                      "'%s': %zu tokens, but the embedding table has only %lld rows", path, n_tokens,
                      (long long)m->info.n_vocab);
        goto done;
    }
    if (m->file != NULL) asc_model_doubts(ctx, m->file, m->info.architecture, m->info.n_vocab);
    *out = m;
    m = NULL;
done:
    if (st != ASC_OK && read) st = with_remedy(ctx, st); /* it could be read, so what it says is at fault */
    asc_model_close(m);
    return st;
}

void asc_model_close(asc_model *m) {
    if (m == NULL) return;
    asc_ctx *ctx = m->ctx;
    asc_capture_forget(ctx, m);
    asc_model_forget_prompt(m);
    asc_model_forget_text(m);
    asc_site_edits *edits = asc_model_edits(m);
    if (edits != NULL) asc_site_edits_deinit(ctx, edits);
    asc_free(ctx, edits);
    asc_tokenizer_destroy(m->tokenizer);
    asc_decoder_unload(&m->decoder);
    if (m->encoder != NULL) asc_encoder_unload(m->encoder);
    asc_free(ctx, m->encoder);
    asc_lora_close(m->lora);
    asc_weights_close(m->weights);
    asc_free(ctx, m->path);
    asc_free(ctx, m->name);
    asc_free(ctx, m->owned_template);
    asc_free(ctx, m);
}

asc_model_info asc_model_get_info(const asc_model *m) { return m->info; }
const asc_tokenizer *asc_model_tokenizer(const asc_model *m) { return m->tokenizer; }

asc_view asc_model_chat_template(const asc_model *m) { return m->chat_template; }

asc_status asc_model_template_failed(const asc_model *m, asc_status st) {
    asc_ctx *ctx = m->ctx;
    if (ctx->error.code != st || st == ASC_CANCELLED) return st;
    if (ctx->error.hint[0] == '\0')
        asc_hint(
            ctx,
            "the file's template does not fit these messages; write the conversation out in the model's own "
            "format and pass it with --prompt");
    return asc_fail_context(ctx, "'%s'", m->path);
}

asc_status asc_model_sha256(asc_model *m, const char **out) {
    *out = NULL;
    if (m->sha256[0] == '\0') {
        asc_status st = asc_weights_sha256(m->weights, m->sha256);
        if (st != ASC_OK) return st;
    }
    *out = m->sha256;
    return ASC_OK;
}

static const struct {
    const char *name;
    bool per_layer;
} sites[] = {
#define ROW(e, name, per_layer) {name, per_layer},
    ASC_SITE_TABLE(ROW)
#undef ROW
};

bool asc_model_site(const asc_model *m, size_t i, char *out, size_t out_size) {
    size_t n_layers = (size_t)m->info.n_layers, per = 0;
    for (size_t s = 0; s < ASC_N_SITES; s++) per += sites[s].per_layer ? 1 : 0;
    if (i == 0) {
        snprintf(out, out_size, "%s", sites[ASC_SITE_EMBED].name);
        return true;
    }
    if (i == 1 + per * n_layers) {
        snprintf(out, out_size, "%s",
                 m->kind == ASC_MODEL_ENCODER ? "pooled" : sites[ASC_SITE_FINAL_NORM].name);
        return true;
    }
    if (i > per * n_layers) return false;
    snprintf(out, out_size, "blocks.%zu.%s", (i - 1) / per, sites[1 + (i - 1) % per].name);
    return true;
}

bool asc_model_find_site(const asc_model *m, asc_view name, asc_decoder_site *site, int64_t *layer) {
    char text[96];
    for (size_t i = 0; asc_model_site(m, i, text, sizeof text); i++) {
        if (!asc_view_eqs(name, text)) continue;
        size_t per = ASC_N_SITES - 2;
        bool last = i == 1 + per * (size_t)m->info.n_layers;
        *site = i == 0 ? ASC_SITE_EMBED : last ? ASC_SITE_FINAL_NORM : (asc_decoder_site)(1 + (i - 1) % per);
        *layer = i == 0 || last ? -1 : (int64_t)((i - 1) / per);
        return true;
    }
    return false;
}

asc_status asc_model_check_ids(asc_model *m, const int32_t *ids, size_t n, const char *what) {
    asc_ctx *ctx = m->ctx;
    if (n == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the %s has no tokens", what);
        return asc_hint(ctx, "give at least one word");
    }
    if ((uint64_t)n > (uint64_t)m->info.context_length) {
        ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "the %s has %zu tokens; this model's context is %lld", what, n,
                 (long long)m->info.context_length);
        return asc_hint(ctx, "shorten the text");
    }
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 0 && ids[i] < m->info.n_vocab) continue;
        ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "the %s holds id %d at place %zu; ids are 0 to %lld", what, ids[i], i,
                 (long long)m->info.n_vocab - 1);
        return asc_hint(ctx, "ids must come from this model's own tokenizer (ascribe tokenize)");
    }
    return asc_weights_check(m->weights);
}

asc_status asc_model_explain_nan(asc_model *m, const char *what) {
    asc_status st = asc_decoder_check_finite(m->ctx, m->weights);
    if (st != ASC_OK) return st;
    ASC_FAIL(m->ctx, ASC_OUT_OF_RANGE, "'%s': %s is not a finite number although all weights are", m->path,
             what);
    if (strcmp(m->ctx->device_name, "reference") == 0)
        return asc_hint(m->ctx,
                        "an intermediate value overflowed even f64: the weights make no sense; fetch the "
                        "file again");
    return asc_hint(m->ctx,
                    "an intermediate value overflowed f32; try --device reference, which computes in f64");
}

asc_status asc_model_logits(asc_model *m, const int32_t *ids, size_t n, size_t n_rows, float *out) {
    asc_ctx *ctx = m->ctx;
    asc_decoder *d = &m->decoder;
    asc_status st = asc_model_needs_decoder(m, "predict next tokens");
    if (st == ASC_OK) st = asc_model_check_ids(m, ids, n, "prompt");
    if (st != ASC_OK) return st;
    if (n_rows < 1 || n_rows > n)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu rows of logits asked of %zu tokens", n_rows, n);
    asc_scope_begin(ctx);
    asc_tensor *y;
    bool again = asc_rehearse_begin(ctx);
    do {
        asc_decoder_run run = {.x = asc_decoder_embed(d, ids, 1, (int64_t)n), .tail = (int64_t)n_rows};
        y = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    } while (asc_rehearsed(ctx, ASC_OK, &again, &y, 1));
    size_t n_out = n_rows * (size_t)d->cfg.n_vocab;
    st = asc_read_f32(ctx, y, out, n_out);
    st = asc_scope_close(ctx, st);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < n_out; i++) {
        if (!isfinite(out[i])) return asc_model_explain_nan(m, "a logit");
    }
    return ASC_OK;
}
