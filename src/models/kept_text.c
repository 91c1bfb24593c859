/* kept_text.c - see kept_text.h. */
#include "kept_text.h"
#include "ascribe/precision.h"
#include "exec.h"
#include "hash.h"
#include "runtime.h"
#include <string.h>

static uint64_t settings_of(const asc_ctx *ctx) {
    const int32_t numbers[] = {(int32_t)ctx->precision, ctx->isa, asc_runtime_of(ctx)->emulates};
    uint64_t h = asc_hash64(numbers, sizeof numbers, 0);
    const char *site;
    asc_precision level;
    bool used;
    h = asc_hash64(ctx->device_name, strlen(ctx->device_name), h);
    h = asc_hash64(ctx->mode_name, strlen(ctx->mode_name), h);
    for (size_t i = 0; asc_precision_at(ctx, i, &site, &level, &used); i++)
        h = asc_hash64(site, strlen(site), h + (uint64_t)level);
    return h;
}

/* Without memory for it nothing is kept. */
static void keep(asc_model *m, const int32_t *ids, size_t n, const double *embedding, double flops) {
    asc_ctx *ctx = m->ctx;
    const size_t width = asc_model_embedding_width(m);
    asc_model_forget_text(m);
    asc_kept_text *t = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *t);
    if (t == NULL) goto failed;
    m->text = t;
    *t = (asc_kept_text){.n = n, .flops = flops, .settings = settings_of(ctx)};
    t->ids = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *t->ids);
    t->embedding = asc_calloc(ctx, ASC_MEM_GENERAL, width, sizeof *t->embedding);
    if (t->ids == NULL || t->embedding == NULL) goto failed;
    memcpy(t->ids, ids, n * sizeof *ids);
    memcpy(t->embedding, embedding, width * sizeof *embedding);
    return;
failed:
    asc_error_clear(ctx);
    asc_model_forget_text(m);
}

asc_status asc_model_embed_kept(asc_model *m, const int32_t *ids, size_t n, double *out, double *saved) {
    const asc_kept_text *t = m->text;
    *saved = 0.0;
    if (t != NULL && t->n == n && memcmp(t->ids, ids, n * sizeof *ids) == 0 &&
        t->settings == settings_of(m->ctx)) {
        memcpy(out, t->embedding, asc_model_embedding_width(m) * sizeof *out);
        *saved = t->flops;
        return ASC_OK;
    }
    const double before = asc_exec_stats_of(m->ctx).flops;
    const asc_status st = asc_model_embed_text(m, ids, n, out);
    if (st == ASC_OK) keep(m, ids, n, out, asc_exec_stats_of(m->ctx).flops - before);
    return st;
}

void asc_model_forget_text(asc_model *m) {
    if (m->text == NULL) return;
    asc_free(m->ctx, m->text->ids);
    asc_free(m->ctx, m->text->embedding);
    asc_free(m->ctx, m->text);
    m->text = NULL;
}
