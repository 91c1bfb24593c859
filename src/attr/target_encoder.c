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

bool asc_encoder_hides(const asc_job *j) {
    return j->encoder != NULL && j->baseline == ASC_BASELINE_MASK && !j->method->by_gradient;
}

static void fill_seen(const asc_job *j, size_t n, double *out) {
    const int32_t *ids = j->encoder->hidden;
    for (size_t i = 0; i < n; i++) out[i] = ids == NULL || ids[i] >= 0 ? 1.0 : 0.0;
}

/* [B,len], a leaf; NULL where every token is seen. */
static asc_tensor *seen_leaf(asc_job *j, int64_t b, int64_t len) {
    asc_ctx *ctx = j->ctx;
    size_t n;
    if (!asc_encoder_hides(j)) return NULL;
    double *v =
        asc_mul_size((size_t)b, (size_t)len, &n) ? asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *v) : NULL;
    if (v == NULL) return asc_graph_poison(asc_graph_of(ctx));
    fill_seen(j, n, v);
    asc_tensor *t = asc_job_leaf(j, asc_from_f64(ctx, ASC_SHAPE(b, len), v));
    asc_free(ctx, v);
    return t;
}

bool asc_encoder_run_types(asc_job *j, asc_encoder_run *run) {
    const int64_t b = run->x->shape.dims[0], len = run->x->shape.dims[1];
    run->types = types_of(j, b, len);
    if (run->types != NULL && asc_tensor_poisoned(run->types)) return false;
    run->seen = seen_leaf(j, b, len);
    return run->seen == NULL || !asc_tensor_poisoned(run->seen);
}

/* Scores at `index` [..] of logits [..,C]: log-probabilities, or logits if those are explained. */
static asc_tensor *scores_at(asc_job *j, asc_tensor *logits, asc_tensor *index) {
    asc_ctx *ctx = j->ctx;
    if (j->req->output != ASC_OUTPUT_LOGIT)
        logits = j->m->encoder->cfg.many_labels
                     ? asc_neg(ctx, asc_softplus(ctx, asc_neg(ctx, logits))) /* log sigmoid */
                     : asc_log_softmax(ctx, logits);
    return asc_take_last(ctx, logits, index);
}

static asc_tensor *of_output(asc_job *j, asc_tensor *s) {
    return j->req->output == ASC_OUTPUT_PROB ? asc_exp(j->ctx, s) : s;
}

/* ids of every row, a leaf: [b,n], or [b * n]. */
static asc_tensor *rows_leaf(asc_job *j, size_t b, const int32_t *ids, size_t n, bool flat) {
    asc_ctx *ctx = j->ctx;
    size_t all;
    int32_t *v = asc_mul_size(b, n, &all) ? asc_calloc(ctx, ASC_MEM_SCRATCH, all + 1, sizeof *v) : NULL;
    if (v == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < b; i++) memcpy(v + i * n, ids, n * sizeof *v);
    asc_tensor *t = asc_from_i32(ctx, flat ? ASC_SHAPE((int64_t)all) : ASC_SHAPE((int64_t)b, (int64_t)n), v);
    asc_free(ctx, v);
    return asc_job_leaf(j, t);
}

/* The score that is asked for of the target's s[0] and the rival's s[1]. */
static bool asked(const asc_job *j, asc_encoder_which which, int k) {
    return k == 0 ? which != ASC_RIVAL : which != ASC_TARGET && j->r->n_versus > 0;
}
static asc_tensor *difference(asc_job *j, asc_tensor *const s[2]) {
    return s[0] == NULL ? s[1] : s[1] == NULL ? s[0] : asc_sub(j->ctx, s[0], s[1]);
}

/* Score of one class in logits [B,C] -> [B]. */
static asc_tensor *class_score(asc_job *j, asc_tensor *logits, int32_t which) {
    asc_tensor *index = rows_leaf(j, (size_t)logits->shape.dims[0], &which, 1, true);
    return of_output(j, scores_at(j, logits, index));
}

/* Places of the masks in rows [b,len], counted through all rows. A row without its prompt's other words still
 * has the masks; one in which mask tokens stand for words has its prompt's length. */
static asc_status fill_places(const asc_job *j, const int32_t *ids, size_t n, size_t b, size_t len,
                              int32_t *out) {
    const asc_encoder_job *e = j->encoder;
    const int32_t mask = j->m->encoder->cfg.mask;
    for (size_t r = 0; r < b; r++) {
        size_t seen = 0;
        int32_t *row = out + r * e->n_places;
        for (size_t i = 0; ids != NULL && i < len && r * len + i < n; i++) {
            if (ids[r * len + i] != mask) continue;
            if (seen < e->n_places) row[seen] = (int32_t)(r * len + i);
            seen++;
        }
        if (seen == e->n_places) continue;
        if (len != j->r->n_prompt && ids != NULL) {
            ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
                     "a text of another length has %zu mask tokens, not the %zu that are asked about", seen,
                     e->n_places);
            return asc_hint(j->ctx, "let something else than the mask token stand for absent words");
        }
        for (size_t k = 0; k < e->n_places; k++)
            row[k] = (int32_t)(r * len) + (e->places[k] < (int32_t)len ? e->places[k] : 0);
    }
    return ASC_OK;
}

/* i32 [B * n_places] */
static asc_tensor *places_leaf(asc_job *j, size_t b, size_t len) {
    asc_ctx *ctx = j->ctx;
    const asc_encoder_job *e = j->encoder;
    size_t n;
    int32_t *at =
        asc_mul_size(b, e->n_places, &n) ? asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *at) : NULL;
    asc_tensor *t = at == NULL || fill_places(j, e->row_ids, e->n_row_ids, b, len, at) != ASC_OK
                        ? asc_graph_poison(asc_graph_of(ctx))
                        : asc_job_leaf(j, asc_from_i32(ctx, ASC_SHAPE((int64_t)n), at));
    asc_free(ctx, at);
    return t;
}

/* Masked words: the sum over the masks of the scores of their words: [B]. */
static asc_tensor *words_scalar(asc_job *j, asc_tensor *h, asc_encoder_which which) {
    asc_ctx *ctx = j->ctx;
    asc_encoder *m = j->m->encoder;
    const asc_encoder_job *e = j->encoder;
    const asc_result *r = j->r;
    const int64_t b = h->shape.dims[0], len = h->shape.dims[1], k = (int64_t)e->n_places;
    int axis[] = {-1};
    asc_tensor *s[2] = {NULL, NULL}, *at = places_leaf(j, (size_t)b, (size_t)len);
    h = asc_gather(ctx, asc_reshape(ctx, h, ASC_SHAPE(b * len, m->cfg.d_model)), at);
    asc_tensor *logits = h->poison != ASC_OK ? h : asc_encoder_classes(m, h, NULL);
    if (asc_tensor_poisoned(logits)) return logits;
    for (int i = 0; i < 2; i++) {
        if (!asked(j, which, i)) continue;
        asc_tensor *index = rows_leaf(j, (size_t)b, i == 0 ? r->target_ids : r->versus_ids, (size_t)k, true);
        s[i] = asc_reshape(ctx, scores_at(j, logits, index), ASC_SHAPE(b, k));
        s[i] = of_output(j, asc_sum(ctx, s[i], 1, axis, false));
    }
    return difference(j, s);
}

/* Answers in the text: the scores that one begins at its first token and ends at its last: [B]. */
static asc_tensor *span_scalar(asc_job *j, asc_tensor *h, asc_encoder_which which) {
    static const int turn[] = {0, 2, 1};
    asc_ctx *ctx = j->ctx;
    const asc_encoder_job *e = j->encoder;
    int axis[] = {-1};
    const size_t b = (size_t)h->shape.dims[0];
    asc_tensor *s[2] = {NULL, NULL}, *logits = asc_encoder_classes(j->m->encoder, h, NULL);
    if (asc_tensor_poisoned(logits)) return logits;
    logits = asc_transpose(ctx, logits, 3, turn);
    for (int i = 0; i < 2; i++) {
        if (!asked(j, which, i)) continue;
        asc_tensor *index = rows_leaf(j, b, i == 0 ? e->answer : e->rival, 2, false);
        s[i] = of_output(j, asc_sum(ctx, scores_at(j, logits, index), 1, axis, false));
    }
    return difference(j, s);
}

/* Places in the text are known only in texts as long as the prompt. */
static asc_status same_length(asc_job *j, asc_head_kind head, int64_t len) {
    if ((head != ASC_HEAD_TOKENS && head != ASC_HEAD_SPAN) || len == (int64_t)j->r->n_prompt) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
             "what is explained lies at a place of the text, which moves when the text gets %s",
             len < (int64_t)j->r->n_prompt ? "shorter" : "longer");
    return asc_hint(j->ctx, "let a token stand for absent words: --baseline pad, or token:ID");
}

asc_tensor *asc_encoder_score(asc_job *j, asc_tensor *h, asc_tensor *seen, asc_encoder_which which) {
    asc_ctx *ctx = j->ctx;
    asc_encoder *m = j->m->encoder;
    const asc_encoder_job *e = j->encoder;
    int axis[] = {-1};
    if (asc_tensor_poisoned(h)) return h;
    if (e->similar != NULL) {
        asc_tensor *other = asc_job_leaf(j, asc_from_f64(ctx, ASC_SHAPE((int64_t)e->n_similar), e->similar));
        return asc_sum(ctx, asc_mul(ctx, asc_encoder_embedding(m, h, seen), other), 1, axis, false);
    }
    if (m->cfg.head == ASC_HEAD_WORDS) return words_scalar(j, h, which);
    if (m->cfg.head == ASC_HEAD_SPAN) return span_scalar(j, h, which);
    if (m->cfg.head == ASC_HEAD_TOKENS)
        h = asc_reshape(ctx, asc_slice(ctx, h, 1, (int64_t)e->token, 1),
                        ASC_SHAPE(h->shape.dims[0], m->cfg.d_model));
    asc_tensor *s[2] = {NULL, NULL}, *logits = asc_encoder_classes(m, h, seen);
    if (asc_tensor_poisoned(logits)) return logits;
    for (int k = 0; k < 2; k++) {
        if (asked(j, which, k))
            s[k] = class_score(j, logits, k == 0 ? j->r->target_ids[0] : j->r->versus_ids[0]);
    }
    return difference(j, s);
}

asc_tensor *asc_encoder_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self) {
    if (asc_tensor_poisoned(x)) return x;
    if (j->encoder->similar == NULL && same_length(j, j->m->encoder->cfg.head, x->shape.dims[1]) != ASC_OK)
        return asc_graph_poison(asc_graph_of(j->ctx));
    asc_encoder_run run = {.x = x, .site = site, .site_self = site_self};
    if (!asc_encoder_run_types(j, &run)) return asc_graph_poison(asc_graph_of(j->ctx));
    return asc_encoder_score(j, asc_encoder_hidden(j->m->encoder, &run), run.seen, ASC_BOTH);
}

int64_t asc_encoder_key(const asc_job *j) {
    const asc_encoder_job *e = j->encoder;
    if (e == NULL) return -1;
    return 4 * (int64_t)e->token + 2 * asc_encoder_hides(j) +
           (e->prompt_types != NULL && j->m->encoder->types != NULL);
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
    if (asc_encoder_hides(j)) {
        asc_free(j->ctx, e->seen);
        e->seen =
            asc_mul_size(rows, len, &n) ? asc_calloc(j->ctx, ASC_MEM_SCRATCH, n + 1, sizeof *e->seen) : NULL;
        if (e->seen == NULL) return ASC_RESOURCE_EXHAUSTED;
        fill_seen(j, n, e->seen);
        ASC_TRY(add(b, (asc_job_source){.numbers = e->seen, .n = n}));
    }
    if (j->neuron.on) goto done; /* no class, no other text */
    if (e->similar != NULL) {
        st = add(b, (asc_job_source){.numbers = e->similar, .n = e->n_similar});
        goto done;
    }
    const asc_head_kind head = j->m->encoder->cfg.head;
    const size_t each = head == ASC_HEAD_WORDS ? e->n_places : head == ASC_HEAD_SPAN ? 2 : 1;
    if (head == ASC_HEAD_WORDS) {
        ASC_TRY(fill_places(j, ids, ids != NULL ? rows * len : 0, rows, len, class_room));
        ASC_TRY(add(b, (asc_job_source){.ids = class_room, .n = rows * each}));
        class_room += rows * each;
    }
    for (size_t k = 0; k < (j->r->n_versus > 0 ? 2 : 1); k++) {
        const int32_t *which = head == ASC_HEAD_SPAN ? (k == 0 ? e->answer : e->rival)
                               : k == 0              ? j->r->target_ids
                                                     : j->r->versus_ids;
        for (size_t i = 0; i < rows; i++) memcpy(class_room + i * each, which, each * sizeof *which);
        ASC_TRY(add(b, (asc_job_source){.ids = class_room, .n = rows * each}));
        class_room += rows * each;
    }
done:
    return st;
}
