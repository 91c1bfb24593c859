/* target.c - the scalar that is explained, as ops. A span of M target tokens is teacher-forced: their
 * embeddings follow the prompt, and only the M rows that predict them get logits, so a span costs one pass.
 */
#include "exec.h"
#include "method.h"
#include <string.h>

asc_tensor *asc_job_embed(asc_job *j, const int32_t *ids, int64_t b, int64_t n) {
    asc_tensor *x = asc_decoder_embed(&j->m->decoder, ids, b, n);
    if (x->poison != ASC_OK) return x;
    asc_tensor *leaf = asc_job_leaf(j, x->in[1]); /* rows of a table: input 1 holds the ids */
    return leaf->poison == ASC_OK ? x : leaf;
}

/* The prefix's keys and values for each of b prompts; NULL when out of memory. */
static asc_kv *repeat_prefix(asc_job *j, int64_t b) {
    int64_t n = j->m->decoder.cfg.n_layers;
    asc_kv *past = asc_calloc(j->ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *past);
    for (int64_t l = 0; past != NULL && l < n; l++) {
        asc_job_leaf(j, j->prefix[l].k);
        asc_job_leaf(j, j->prefix[l].v);
        asc_shape s = asc_tensor_shape(j->prefix[l].k);
        if (s.rank > 0) s.dims[0] = b;
        past[l].k = b == 1 ? j->prefix[l].k : asc_broadcast(j->ctx, j->prefix[l].k, s);
        past[l].v = b == 1 ? j->prefix[l].v : asc_broadcast(j->ctx, j->prefix[l].v, s);
    }
    return past;
}

/* Rows that predict `ids` after each of B prompts x [B,P,D]: [B,M,V]. */
static asc_tensor *rows_of(asc_job *j, asc_tensor *x, const int32_t *rep, int64_t b, int64_t m,
                           asc_site_fn site, void *self) {
    asc_decoder *d = &j->m->decoder;
    if (m > 1) {
        asc_tensor *parts[2] = {x, asc_job_embed(j, rep, b, m - 1)};
        x = asc_concat(j->ctx, parts, 2, 1);
    }
    asc_kv *past = NULL;
    if (j->n_prefix > 0) {
        past = repeat_prefix(j, b);
        if (past == NULL) return asc_graph_poison(asc_graph_of(j->ctx));
    }
    asc_decoder_run run = {.x = x,
                           .tail = m,
                           .site = site,
                           .site_self = self,
                           .whole_last_block = site != NULL,
                           .past = past,
                           .pos = (int64_t)j->n_prefix};
    asc_tensor *hidden = asc_decoder_hidden(d, &run);
    asc_free(j->ctx, past);
    return asc_decoder_logits(d, hidden, NULL, NULL);
}

static asc_tensor *score_of(asc_job *j, asc_tensor *x, const int32_t *ids, size_t n, asc_site_fn site,
                            void *self) {
    asc_ctx *ctx = j->ctx;
    int64_t b = x->shape.dims[0], m = (int64_t)n;
    size_t count = (size_t)b * n;
    int axis[] = {-1};
    int32_t *rep = asc_calloc(ctx, ASC_MEM_GENERAL, count + 1, 2 * sizeof *rep);
    if (rep == NULL) return asc_graph_poison(asc_graph_of(ctx));
    int32_t *context = rep + count + 1; /* [B, M-1]: all target tokens but the last */
    for (int64_t i = 0; i < b; i++) {
        memcpy(rep + (size_t)i * n, ids, n * sizeof *ids);
        if (n > 1) memcpy(context + (size_t)i * (n - 1), ids, (n - 1) * sizeof *ids);
    }
    asc_tensor *logits = rows_of(j, x, context, b, m, site, self);
    asc_tensor *index = asc_job_leaf(j, asc_from_i32(ctx, ASC_SHAPE(b, m), rep));
    asc_free(ctx, rep);
    if (j->req->output != ASC_OUTPUT_LOGIT) logits = asc_log_softmax(ctx, logits);
    asc_tensor *s = asc_sum(ctx, asc_take_last(ctx, logits, index), 1, axis, false);
    return j->req->output == ASC_OUTPUT_PROB ? asc_exp(ctx, s) : s;
}

asc_tensor *asc_job_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self) {
    asc_result *r = j->r;
    if (asc_tensor_poisoned(x)) return x;
    asc_tensor *s = score_of(j, x, r->target_ids, r->n_target, site, site_self);
    if (r->n_versus == 0) return s;
    return asc_sub(j->ctx, s, score_of(j, x, r->versus_ids, r->n_versus, site, site_self));
}
