/* job_capture.c - see job_capture.h. */
#include "job_capture.h"
#include "target.h"
#include "target_encoder.h"
#include <string.h>

enum { MOST_SIZES = 16, FIXED_SIZES = 13 };

asc_tensor *asc_job_leaf(asc_job *j, asc_tensor *t) {
    if (j->leaves == NULL || t->poison != ASC_OK) return t;
    if (asc_grow(j->ctx, ASC_MEM_PROGRAM, (void **)&j->leaves->tensors, &j->leaves->cap, j->leaves->n + 1,
                 sizeof(asc_tensor *)) != ASC_OK)
        return asc_graph_poison(asc_graph_of(j->ctx));
    asc_capture_param(t);
    j->leaves->tensors[j->leaves->n++] = t;
    return t;
}

static asc_status add(asc_job_batch_run *b, asc_job_source s) {
    asc_status st = asc_grow(b->j->ctx, ASC_MEM_PROGRAM, (void **)&b->sources, &b->cap_sources,
                             b->n_sources + 1, sizeof *b->sources);
    if (st == ASC_OK) b->sources[b->n_sources++] = s;
    return st;
}

/* The leaves of asc_job_scalar for `rows` prompts, in its order: see score_of and asc_answer_tokens in
 * target.c. */
static asc_status add_target(asc_job_batch_run *b, const asc_answer *s, size_t rows, int32_t *room) {
    asc_job *j = b->j;
    const int32_t *ids = s->ids;
    size_t n = s->n, scored = n - s->first;
    asc_status st = ASC_OK;
    for (size_t i = 0; i < rows; i++) {
        memcpy(room + i * scored, ids + s->first, scored * sizeof *ids);
        if (n > 1) memcpy(room + rows * n + i * (n - 1), ids, (n - 1) * sizeof *ids);
    }
    if (n > 1) ASC_TRY(add(b, (asc_job_source){.ids = room + rows * n, .n = rows * (n - 1)}));
    for (int64_t l = 0; j->n_prefix > 0 && l < j->m->info.n_layers; l++) {
        ASC_TRY(add(b, (asc_job_source){.tensor = j->prefix[l].k}));
        ASC_TRY(add(b, (asc_job_source){.tensor = j->prefix[l].v}));
    }
    if (j->req->output == ASC_OUTPUT_KL) {
        const size_t v = (size_t)j->m->decoder.cfg.n_vocab;
        ASC_TRY(add(b, (asc_job_source){.numbers = j->whole_p, .n = v}));
        ASC_TRY(add(b, (asc_job_source){.numbers = j->whole_log_p, .n = v}));
    } else {
        ASC_TRY(add(b, (asc_job_source){.ids = room, .n = rows * scored}));
    }
done:
    return st;
}

static asc_status list_sources(asc_job_batch_run *b, size_t rows, size_t len, const asc_job_source *first,
                               size_t n_first) {
    asc_job *j = b->j;
    asc_answer answers[2];
    size_t n_answers = asc_job_answers(j, answers), n = answers[0].n, m = answers[1].n, total;
    asc_status st = ASC_OK;
    for (size_t i = 0; i < n_first; i++) ASC_TRY(add(b, first[i]));
    if (!asc_mul_size(2 * (n + m), rows, &total)) return ASC_RESOURCE_EXHAUSTED;
    b->ids = asc_calloc(j->ctx, ASC_MEM_PROGRAM, total + 1, sizeof *b->ids);
    if (b->ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (j->encoder != NULL) return asc_encoder_sources(j, first[0].ids, rows, len, b->ids, add, b);
    if (j->neuron.on) goto done;
    ASC_TRY(add_target(b, &answers[0], rows, b->ids));
    if (n_answers > 1) ASC_TRY(add_target(b, &answers[1], rows, b->ids + 2 * n * rows));
done:
    return st;
}

static void unmark(const asc_job_leaves *l) {
    for (size_t i = 0; i < l->n; i++) l->tensors[i]->param = false;
}

/* A tensor that is listed twice (the prefix under a contrast) is one parameter: the first place counts. */
static asc_status capture(asc_job_batch_run *b, const int64_t *key, size_t n_key,
                          asc_status (*record)(void *self, asc_tensor **outs), void *self) {
    asc_job *j = b->j;
    asc_ctx *ctx = j->ctx;
    asc_job_leaves leaves = {0};
    asc_tensor **outs = asc_calloc(ctx, ASC_MEM_PROGRAM, b->n_outs + 1, sizeof(asc_tensor *));
    if (outs == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx);
    asc_capture_begin(ctx, false);
    j->leaves = &leaves;
    asc_status st = record(self, outs);
    j->leaves = NULL;
    bool fixed = asc_capture_end(ctx) == NULL;
    if (st == ASC_OK) st = asc_graph_take_error(asc_graph_of(ctx));
    if (st == ASC_OK && leaves.n != b->n_sources)
        st = ASC_FAIL(ctx, ASC_INTERNAL, "a batch has %zu leaves, not %zu", leaves.n, b->n_sources);
    if (st == ASC_OK && fixed)
        st = asc_capture_make(ctx, j->m, key, n_key * sizeof *key, leaves.tensors, leaves.n, outs, b->n_outs,
                              NULL, 0, &b->capture);
    if (st == ASC_OK && !fixed) st = asc_capture_note(ctx, j->m, key, n_key * sizeof *key, NULL, 0);
    unmark(&leaves);
    st = asc_scope_close(ctx, st);
    asc_free(ctx, leaves.tensors);
    asc_free(ctx, outs);
    return st;
}

static void fill(asc_job_batch_run *b) {
    asc_ctx *ctx = b->j->ctx;
    for (size_t i = 0; i < b->n_sources; i++) {
        const asc_job_source *s = &b->sources[i];
        if (s->tensor != NULL) {
            asc_capture_bind(ctx, b->capture, i, s->tensor->buf);
        } else if (s->ids != NULL) {
            asc_capture_write(ctx, b->capture, i, 0, ASC_DTYPE_I32, s->ids, (int64_t)s->n);
        } else {
            asc_capture_write(ctx, b->capture, i, 0, ASC_DTYPE_F64, s->numbers, (int64_t)s->n);
        }
    }
}

asc_status asc_job_captured(asc_job_batch_run *b, asc_job *j, const int64_t *sizes, size_t n_sizes,
                            size_t rows, const asc_job_source *first, size_t n_first, size_t n_outs,
                            asc_status (*record)(void *self, asc_tensor **outs), void *self) {
    asc_ctx *ctx = j->ctx;
    asc_status st = ASC_OK;
    asc_answer answers[2];
    asc_job_answers(j, answers);
    int64_t key[MOST_SIZES + FIXED_SIZES] = {
        (int64_t)rows,           (int64_t)j->n_prefix,
        (int64_t)answers[0].n,   (int64_t)answers[0].first,
        (int64_t)answers[1].n,   (int64_t)j->req->per_token,
        (int64_t)j->req->output, (int64_t)asc_graph_of(ctx)->level,
        asc_encoder_key(j),      (int64_t)j->neuron.on,
        (int64_t)j->neuron.site, j->neuron.layer * ((int64_t)1 << 32) + j->neuron.index,
        j->neuron.token};
    *b = (asc_job_batch_run){.j = j, .n_outs = n_outs};
    if (!asc_exec_compiles(ctx) || asc_job_token_passes(j)) return ASC_OK;
    if (n_sizes > MOST_SIZES) return ASC_FAIL(ctx, ASC_INTERNAL, "a batch of %zu sizes", n_sizes);
    memcpy(key + FIXED_SIZES, sizes, n_sizes * sizeof *sizes);
    ASC_TRY(list_sources(b, rows, (size_t)sizes[1], first, n_first));
    b->capture = asc_capture_find(ctx, j->m, key, (FIXED_SIZES + n_sizes) * sizeof *key);
    if (b->capture == NULL) ASC_TRY(capture(b, key, FIXED_SIZES + n_sizes, record, self));
    if (b->capture == NULL || !asc_capture_runs(b->capture)) {
        asc_capture_count_refused(ctx, "the model looks at values");
        b->capture = NULL;
        goto done;
    }
    fill(b);
    ASC_TRY(asc_capture_run(ctx, b->capture));
done:
    return st;
}

asc_status asc_job_captured_read(asc_job_batch_run *b, size_t out, double *to, size_t n) {
    return asc_capture_read_f64(b->j->ctx, b->capture, out, to, n);
}

void asc_job_captured_deinit(asc_job_batch_run *b) {
    asc_ctx *ctx = b->j->ctx;
    for (size_t i = 0; b->capture != NULL && i < b->n_sources; i++) {
        if (b->sources[i].tensor != NULL) asc_capture_bind(ctx, b->capture, i, NULL); /* the job's again */
    }
    asc_free(ctx, b->sources);
    asc_free(ctx, b->ids);
}
