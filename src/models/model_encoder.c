/* model_encoder.c - what a model is when it is a text encoder: facts, classes, embeddings. */
#include "encoder.h"
#include "model.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* [V, width of the tables] */
static asc_tensor *table(const asc_model *m) {
    return m->kind == ASC_MODEL_ENCODER ? m->encoder->embed : m->decoder.embed;
}

asc_tensor *asc_model_rows(const asc_model *m, asc_tensor *ids) {
    asc_tensor *x = asc_gather(m->ctx, table(m), ids);
    if (m->kind != ASC_MODEL_ENCODER || asc_tensor_poisoned(x)) return x;
    const asc_encoder_config *c = &m->encoder->cfg;
    return c->word_width < c->d_model ? asc_pad(m->ctx, x, -1, 0, c->d_model - c->word_width) : x;
}

asc_tensor *asc_model_embed(asc_model *m, const int32_t *ids, int64_t b, int64_t t) {
    const char *label = asc_set_label(m->ctx, "embed");
    asc_tensor *x = asc_model_rows(m, asc_from_i32(m->ctx, ASC_SHAPE(b, t), ids));
    asc_set_label(m->ctx, label);
    return x;
}

bool asc_model_shares_prefixes(const asc_model *m) {
    return m->kind == ASC_MODEL_DECODER && !m->decoder.cfg.not_causal;
}

asc_status asc_model_needs_decoder(const asc_model *m, const char *what) {
    if (m->kind == ASC_MODEL_DECODER) return ASC_OK;
    ASC_FAIL(m->ctx, ASC_FAILED_PRECONDITION, "'%s' is a text encoder (%s): it cannot %s", m->path,
             m->info.architecture, what);
    return asc_hint(m->ctx, "ascribe explain --text TEXT works on encoders; language models continue texts");
}

asc_status asc_model_needs_encoder(const asc_model *m) {
    if (m->kind == ASC_MODEL_ENCODER) return ASC_OK;
    ASC_FAIL(m->ctx, ASC_FAILED_PRECONDITION, "'%s' is a language model (%s), no text encoder", m->path,
             m->info.architecture);
    return asc_hint(m->ctx, "use asc_model_logits, or --prompt on the command line");
}

asc_status asc_encoder_no_adapters(const asc_model *m, size_t n_adapters) {
    if (n_adapters == 0) return ASC_OK;
    ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': adapters on text encoders are not supported", m->path);
    return asc_hint(m->ctx, "merge the adapter into the model with PEFT (merge_and_unload) and open that");
}

size_t asc_model_n_classes(const asc_model *m) {
    if (m->kind != ASC_MODEL_ENCODER) return 0;
    const asc_encoder_config *c = &m->encoder->cfg;
    return c->head == ASC_HEAD_CLASSES || c->head == ASC_HEAD_TOKENS ? (size_t)c->n_classes : 0;
}

const char *asc_model_class_name(const asc_model *m, size_t i) {
    return i < asc_model_n_classes(m) ? m->encoder->cfg.labels[i] : NULL;
}

asc_status asc_model_need_classes(const asc_model *m) {
    if (asc_model_n_classes(m) > 0) return ASC_OK;
    ASC_FAIL(m->ctx, ASC_FAILED_PRECONDITION, "'%s' has no classes: its head is no classifier", m->path);
    return asc_hint(m->ctx, "explain the similarity with another text instead: --similar-to TEXT");
}

/* "positive, negative, ... (28 more)" */
static void list_names(const asc_model *m, char out[400]) {
    size_t n = asc_model_n_classes(m), len = 0;
    for (size_t i = 0; i < n; i++) {
        asc_view v = asc_view_cut(asc_view_of(m->encoder->cfg.labels[i]), 40);
        if (len + v.len + 24 > 400) {
            snprintf(out + len, 400 - len, ", ... (%zu more)", n - i);
            return;
        }
        len += (size_t)snprintf(out + len, 400 - len, "%s" ASC_VIEW_FMT, i > 0 ? ", " : "", ASC_VIEW_ARG(v));
    }
}

asc_status asc_model_find_class(const asc_model *m, asc_view name, int32_t *out) {
    asc_status st = asc_model_need_classes(m);
    size_t n = asc_model_n_classes(m), number = 0, found = n;
    *out = -1;
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < n && found == n; i++) {
        if (asc_view_eqs(name, m->encoder->cfg.labels[i])) found = i;
    }
    for (size_t i = 0; i < n && found == n; i++) {
        const char *l = m->encoder->cfg.labels[i];
        if (strlen(l) == name.len && asc_strncasecmp(l, name.ptr, name.len) == 0) found = i;
    }
    for (size_t i = 0; found == n && i < name.len; i++) {
        bool digit = name.ptr[i] >= '0' && name.ptr[i] <= '9';
        number = digit && number <= n ? 10 * number + (size_t)(name.ptr[i] - '0') : n;
        if (i + 1 == name.len && number < n) found = number;
        if (!digit) break;
    }
    if (found < n) {
        *out = (int32_t)found;
        return ASC_OK;
    }
    char names[400] = "";
    asc_view cut = asc_view_cut(name, 60);
    list_names(m, names);
    ASC_FAIL(m->ctx, ASC_NOT_FOUND, "the model has no class '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(cut));
    return asc_hint(m->ctx, "its classes, which can also be given by number from 0 on: %s", names);
}

/* What leaves the last block for one text; in the caller's scope. */
static asc_tensor *hidden_of(asc_model *m, const int32_t *ids, const int32_t *types, size_t n) {
    asc_encoder_run run = {.x = asc_model_embed(m, ids, 1, (int64_t)n)};
    if (types != NULL) run.types = asc_from_i32(m->ctx, ASC_SHAPE(1, (int64_t)n), types);
    return asc_encoder_hidden(m->encoder, &run);
}

asc_status asc_model_check_types(asc_model *m, const int32_t *types, size_t n) {
    for (size_t i = 0; types != NULL && i < n; i++) {
        if (types[i] == 0 || (types[i] > 0 && types[i] < m->encoder->cfg.n_types)) continue;
        return ASC_FAIL(m->ctx, ASC_OUT_OF_RANGE, "token type %d at place %zu; the model has %lld", types[i],
                        i, (long long)m->encoder->cfg.n_types);
    }
    return ASC_OK;
}

static asc_status check(asc_model *m, const int32_t *ids, const int32_t *types, size_t n) {
    asc_status st = asc_model_needs_encoder(m);
    if (st == ASC_OK) st = asc_model_check_ids(m, ids, n, "text");
    return st == ASC_OK ? asc_model_check_types(m, types, n) : st;
}

asc_status asc_model_classify(asc_model *m, const int32_t *ids, const int32_t *types, size_t n, float *out) {
    asc_ctx *ctx = m->ctx;
    asc_status st = check(m, ids, types, n);
    if (st == ASC_OK) st = asc_model_need_classes(m);
    if (st != ASC_OK) return st;
    size_t n_out = asc_model_n_classes(m) * (m->encoder->cfg.head == ASC_HEAD_TOKENS ? n : 1);
    asc_scope_begin(ctx);
    st = asc_read_f32(ctx, asc_encoder_classes(m->encoder, hidden_of(m, ids, types, n), NULL), out, n_out);
    st = asc_scope_close(ctx, st);
    for (size_t i = 0; st == ASC_OK && i < n_out; i++) {
        if (!isfinite(out[i])) st = asc_model_explain_nan(m, "a class's score");
    }
    return st;
}

asc_status asc_model_score_tokens(asc_model *m, const int32_t *ids, const int32_t *types, size_t n,
                                  const int32_t *at, size_t n_at, float *out) {
    asc_ctx *ctx = m->ctx;
    const asc_encoder_config *c = &m->encoder->cfg;
    size_t n_out;
    asc_status st = check(m, ids, types, n);
    if (st == ASC_OK && !asc_mul_size(n_at, (size_t)c->n_classes, &n_out)) st = ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) return st;
    asc_scope_begin(ctx);
    asc_tensor *h = hidden_of(m, ids, types, n);
    if (h->poison == ASC_OK)
        h = asc_gather(ctx, asc_reshape(ctx, h, ASC_SHAPE((int64_t)n, c->d_model)),
                       asc_from_i32(ctx, ASC_SHAPE((int64_t)n_at), at));
    if (h->poison == ASC_OK) h = asc_encoder_classes(m->encoder, h, NULL);
    st = asc_scope_close(ctx, asc_read_f32(ctx, h, out, n_out));
    for (size_t i = 0; st == ASC_OK && i < n_out; i++) {
        if (!isfinite(out[i])) st = asc_model_explain_nan(m, "a token's score");
    }
    return st;
}

size_t asc_model_embedding_width(const asc_model *m) {
    return m->kind == ASC_MODEL_ENCODER ? (size_t)m->encoder->cfg.embed_width : 0;
}

asc_status asc_model_embed_text(asc_model *m, const int32_t *ids, size_t n, double *out) {
    asc_ctx *ctx = m->ctx;
    asc_status st = check(m, ids, NULL, n);
    if (st != ASC_OK) return st;
    size_t width = asc_model_embedding_width(m);
    asc_scope_begin(ctx);
    st = asc_read_f64(ctx, asc_encoder_embedding(m->encoder, hidden_of(m, ids, NULL, n), NULL), out, width);
    st = asc_scope_close(ctx, st);
    for (size_t i = 0; st == ASC_OK && i < width; i++) {
        if (!isfinite(out[i])) st = asc_model_explain_nan(m, "the text's embedding");
    }
    return st;
}

void asc_model_encoder_info(asc_model *m) {
    static const char *const heads[] = {[ASC_HEAD_NONE] = NULL,
                                        [ASC_HEAD_CLASSES] = "classes",
                                        [ASC_HEAD_TOKENS] = "tokens",
                                        [ASC_HEAD_WORDS] = "words",
                                        [ASC_HEAD_SPAN] = "span"};
    const asc_encoder_config *c = &m->encoder->cfg;
    m->info = (asc_model_info){.path = m->path,
                               .architecture = c->architecture,
                               .name = m->name != NULL ? m->name : "",
                               .n_layers = c->n_layers,
                               .d_model = c->d_model,
                               .n_heads = c->n_heads,
                               .n_kv_heads = c->n_heads,
                               .head_dim = c->head_dim,
                               .d_ff = c->d_ff,
                               .n_vocab = c->n_vocab,
                               .context_length = c->context,
                               .file_bytes = m->weights->file_bytes,
                               .encoder = true,
                               .head = heads[c->head]};
    for (size_t k = 0; k < m->weights->n; k++) {
        const asc_weight *t = &m->weights->v[k];
        int64_t n = 1;
        for (int r = 0; r < t->rank; r++) n *= t->dims[r];
        m->info.n_params += n;
    }
    m->info.n_params_blocks = m->info.n_params - c->n_vocab * c->word_width;
}
