/* target_encoder.c - the scalar of text encoders, as ops; see target_encoder.h. One pass over a text gives
 * the scores of all classes, so a contrast between two costs no more than one. */
#include "target_encoder.h"
#include "exec.h"
#include <string.h>

/* Token types of rows [b,len]: a row as long as the prompt has the prompt's; in a shorter or longer one those
 * behind so many separators are of type 1. */
static void fill_types(const asc_job *j, const int32_t *ids, size_t n, size_t b, size_t len, int32_t *out) {
    const asc_encoder_job *e = j->encoder;
    int32_t sep = j->m->encoder->cfg.sep;
    for (size_t r = 0; r < b; r++) {
        size_t seen = 0;
        for (size_t i = 0; i < len; i++) {
            size_t at = r * len + i;
            int32_t id = ids != NULL && at < n ? ids[at] : j->r->prompt_ids[i % j->r->n_prompt];
            out[at] = len == j->r->n_prompt ? e->prompt_types[i] : seen >= e->n_separators ? 1 : 0;
            if (id == sep) seen++;
        }
    }
}

void asc_encoder_rows(asc_job *j, const int32_t *ids, size_t n) {
    if (j->encoder == NULL) return;
    j->encoder->row_ids = ids;
    j->encoder->n_row_ids = n;
}

/* i32 [B,P]; NULL when all are of type 0. */
static asc_tensor *types_of(asc_job *j, int64_t b, int64_t len) {
    const asc_encoder_job *e = j->encoder;
    size_t n;
    if (e->prompt_types == NULL || j->m->encoder->types == NULL) return NULL;
    if (!asc_mul_size((size_t)b, (size_t)len, &n)) return asc_graph_poison(asc_graph_of(j->ctx));
    int32_t *types = asc_calloc(j->ctx, ASC_MEM_SCRATCH, n + 1, sizeof *types);
    if (types == NULL) return asc_graph_poison(asc_graph_of(j->ctx));
    fill_types(j, e->row_ids, e->n_row_ids, (size_t)b, (size_t)len, types);
    asc_tensor *t = asc_job_leaf(j, asc_from_i32(j->ctx, ASC_SHAPE(b, len), types));
    asc_free(j->ctx, types);
    return t;
}

bool asc_encoder_run_types(asc_job *j, asc_encoder_run *run) {
    run->types = types_of(j, run->x->shape.dims[0], run->x->shape.dims[1]);
    return run->types == NULL || !asc_tensor_poisoned(run->types);
}

/* Score of one class in logits [B,C] -> [B]. */
static asc_tensor *class_score(asc_job *j, asc_tensor *logits, int32_t which) {
    asc_ctx *ctx = j->ctx;
    int64_t b = logits->shape.dims[0];
    const asc_encoder_config *c = &j->m->encoder->cfg;
    int32_t *ids = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)b + 1, sizeof *ids);
    if (ids == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (int64_t i = 0; i < b; i++) ids[i] = which;
    asc_tensor *index = asc_job_leaf(j, asc_from_i32(ctx, ASC_SHAPE(b), ids));
    asc_free(ctx, ids);
    if (j->req->output != ASC_OUTPUT_LOGIT)
        logits = c->many_labels ? asc_neg(ctx, asc_softplus(ctx, asc_neg(ctx, logits))) /* log sigmoid */
                                : asc_log_softmax(ctx, logits);
    asc_tensor *s = asc_take_last(ctx, logits, index);
    return j->req->output == ASC_OUTPUT_PROB ? asc_exp(ctx, s) : s;
}

asc_tensor *asc_encoder_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self) {
    asc_ctx *ctx = j->ctx;
    asc_encoder *m = j->m->encoder;
    const asc_encoder_job *e = j->encoder;
    int axis[] = {-1};
    if (asc_tensor_poisoned(x)) return x;
    int64_t b = x->shape.dims[0];
    asc_encoder_run run = {.x = x, .site = site, .site_self = site_self};
    run.types = types_of(j, b, x->shape.dims[1]);
    asc_tensor *h = asc_encoder_hidden(m, &run);
    if (asc_tensor_poisoned(h)) return h;
    if (e->similar != NULL) {
        asc_tensor *other = asc_job_leaf(j, asc_from_f64(ctx, ASC_SHAPE((int64_t)e->n_similar), e->similar));
        return asc_sum(ctx, asc_mul(ctx, asc_encoder_embedding(m, h), other), 1, axis, false);
    }
    if (m->cfg.head == ASC_HEAD_TOKENS)
        h = asc_reshape(ctx, asc_slice(ctx, h, 1, (int64_t)e->token, 1), ASC_SHAPE(b, m->cfg.d_model));
    asc_tensor *logits = asc_encoder_classes(m, h);
    if (asc_tensor_poisoned(logits)) return logits;
    asc_tensor *s = class_score(j, logits, j->r->target_ids[0]);
    return j->r->n_versus == 0 ? s : asc_sub(ctx, s, class_score(j, logits, j->r->versus_ids[0]));
}

int64_t asc_encoder_key(const asc_job *j) {
    const asc_encoder_job *e = j->encoder;
    return e == NULL ? -1 : 2 * (int64_t)e->token + (e->prompt_types != NULL && j->m->encoder->types != NULL);
}

asc_status asc_encoder_sources(asc_job *j, const int32_t *ids, size_t rows, size_t len, int32_t *class_room,
                               asc_status (*add)(asc_job_batch_run *b, asc_job_source s),
                               asc_job_batch_run *b) {
    asc_encoder_job *e = j->encoder;
    asc_status st = ASC_OK;
    size_t n;
    if (e->prompt_types != NULL && j->m->encoder->types != NULL) {
        asc_free(j->ctx, e->types);
        e->types =
            asc_mul_size(rows, len, &n) ? asc_calloc(j->ctx, ASC_MEM_SCRATCH, n + 1, sizeof *e->types) : NULL;
        if (e->types == NULL) return ASC_RESOURCE_EXHAUSTED;
        fill_types(j, ids, ids != NULL ? n : 0, rows, len, e->types);
        ASC_TRY(add(b, (asc_job_source){.ids = e->types, .n = n}));
    }
    if (j->neuron.on) goto done; /* no class, no other text */
    if (e->similar != NULL) {
        st = add(b, (asc_job_source){.numbers = e->similar, .n = e->n_similar});
        goto done;
    }
    for (size_t k = 0; k < 1 + j->r->n_versus; k++) {
        int32_t which = k == 0 ? j->r->target_ids[0] : j->r->versus_ids[0];
        for (size_t i = 0; i < rows; i++) class_room[k * rows + i] = which;
        ASC_TRY(add(b, (asc_job_source){.ids = class_room + k * rows, .n = rows}));
    }
done:
    return st;
}
