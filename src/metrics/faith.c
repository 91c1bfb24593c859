/* faith.c - every method on one prompt, and what the prompts that its scores point at say about them. All
 * methods' prompts are run together, since many are the same. */
#include "ascribe/metrics.h"
#include "coalitions.h"
#include "encoder.h"
#include "faith_curves.h"
#include "hash.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SUBSETS = 64, MAX_METHODS = 64 };

typedef struct faith {
    asc_ctx *ctx;
    asc_model *m;
    const asc_faith_options *o;
    asc_request base; /* with the answer fixed, so that every method explains the same */
    asc_job job;      /* for the metrics: its removal is the options' */
    asc_faith *out;
    double *scores; /* [n_methods, n] */
    size_t n, subsets;
    char label[32], other_label[32];
    int32_t *other_ids; /* a random answer of as many tokens */
} faith;

static bool is_random(const char *method) { return strcmp(method, "random") == 0; }

static bool answers(const asc_result *r, const char *kind) {
    return r->answer_kind != NULL && strcmp(r->answer_kind, kind) == 0;
}

static asc_status fix_answer(faith *s) {
    const asc_result *r = s->job.r;
    asc_request *q = &s->base;
    if (answers(r, "span")) {
        q->target = (asc_view){r->target, r->target_len};
        return ASC_OK;
    }
    if (s->m->kind == ASC_MODEL_ENCODER && !answers(r, "word")) {
        const asc_encoder_config *c = &s->m->encoder->cfg;
        if (q->similar_to.ptr != NULL || r->label == NULL || c->n_classes < 2) return ASC_OK;
        for (int64_t i = 0; i < c->n_classes; i++) {
            if (c->labels == NULL || strcmp(c->labels[i], r->label) != 0) continue;
            snprintf(s->label, sizeof s->label, "%lld", (long long)i);
            snprintf(s->other_label, sizeof s->other_label, "%lld", (long long)((i + 1) % c->n_classes));
            q->label = (asc_view){s->label, strlen(s->label)};
        }
        return ASC_OK;
    }
    q->target = (asc_view){NULL, 0};
    q->generate = 0;
    q->target_ids = r->target_ids;
    q->n_target_ids = r->n_target;
    s->other_ids = asc_calloc(s->ctx, ASC_MEM_GENERAL, r->n_target + 1, sizeof *s->other_ids);
    if (s->other_ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r->n_target; i++)
        s->other_ids[i] = (int32_t)(asc_uniform(q->seed, 0x6f74686572, i) * (double)s->m->info.n_vocab);
    return ASC_OK;
}

/* Scores of one method; a reason in *why when it cannot run here. */
static asc_status scores_of(faith *s, asc_model *m, const asc_request *q, double *out, asc_faith_row *row,
                            char **why) {
    asc_result *r = NULL;
    asc_status st = asc_explain_beside(m, q, &s->job, &r);
    if (st == ASC_OK && r->n_features != s->n) {
        st = ASC_FAIL(s->ctx, ASC_UNIMPLEMENTED, "its features are others (%zu, not %zu)", r->n_features,
                      s->n);
    }
    if (st == ASC_OK) {
        for (size_t i = 0; i < s->n; i++) out[i] = r->features[i].score;
        if (row != NULL) {
            row->seconds = r->seconds;
            row->n_forward = r->n_forward;
            row->n_backward = r->n_backward;
            row->converged = r->converged;
        }
    }
    asc_result_destroy(s->ctx, r);
    if (st == ASC_OK || st == ASC_CANCELLED) return st;
    if (why != NULL && *why == NULL) {
        *why = asc_strdup_view(s->ctx, ASC_MEM_GENERAL, asc_view_of(asc_error_message(s->ctx)));
        if (*why == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    asc_error_clear(s->ctx);
    return ASC_UNIMPLEMENTED;
}

/* Spearman's correlation with what the method says of something else; sizes only, or with signs. */
static asc_status compare(faith *s, asc_model *m, const asc_request *q, const double *scores, bool sizes,
                          double *other, double *out) {
    asc_status st = scores_of(s, m, q, other, NULL, NULL);
    if (st == ASC_UNIMPLEMENTED) return ASC_OK; /* not known here */
    double *mine = st == ASC_OK ? asc_calloc(s->ctx, ASC_MEM_GENERAL, s->n, sizeof *mine) : NULL;
    if (st == ASC_OK && mine == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; st == ASC_OK && i < s->n; i++) {
        mine[i] = sizes ? fabs(scores[i]) : scores[i];
        other[i] = sizes ? fabs(other[i]) : other[i];
    }
    if (st == ASC_OK) st = asc_rank_correlation(s->ctx, mine, other, s->n, out);
    asc_free(s->ctx, mine);
    return st;
}

static asc_status sanity(faith *s, const asc_request *q, const double *scores, asc_faith_row *row) {
    double *other = asc_calloc(s->ctx, ASC_MEM_GENERAL, s->n, sizeof *other);
    if (other == NULL) return ASC_RESOURCE_EXHAUSTED;
    const asc_method *me = asc_methods[asc_method_find(q->method)];
    asc_request alt = *q;
    bool encoder = s->m->kind == ASC_MODEL_ENCODER, labels = s->other_label[0] != '\0';
    asc_status st = ASC_OK;
    if (s->other_ids != NULL)
        alt.target_ids = s->other_ids;
    else
        alt.label = (asc_view){s->other_label, strlen(s->other_label)};
    if (s->other_ids != NULL || labels)
        st = compare(s, s->m, &alt, scores, true, other, &row->metric[ASC_FAITH_OTHER_ANSWER]);
    if (st == ASC_OK && s->o->shuffled != NULL)
        st = compare(s, s->o->shuffled, q, scores, true, other, &row->metric[ASC_FAITH_OTHER_WEIGHTS]);
    if (st == ASC_OK && me->needs_baseline) {
        alt = *q;
        alt.baseline = encoder           ? me->by_gradient ? ASC_BASELINE_ZERO : ASC_BASELINE_PAD
                       : me->by_gradient ? ASC_BASELINE_MEAN
                                         : ASC_BASELINE_EOS;
        st = compare(s, s->m, &alt, scores, false, other, &row->metric[ASC_FAITH_OTHER_BASELINE]);
    }
    asc_free(s->ctx, other);
    return st;
}

/* The other prompt is for methods that compare two. */
static void keep_what_is_read(asc_request *q) {
    const int known = asc_method_find(q->method);
    if (known >= 0 && asc_method_reads(&asc_methods[known]->info, "corrupted")) return;
    q->corrupted = (asc_view){NULL, 0};
    q->corrupted_ids = NULL;
    q->n_corrupted_ids = 0;
}

static asc_status run_method(faith *s, size_t k) {
    asc_faith_row *row = &s->out->rows[k];
    double *scores = s->scores + k * s->n;
    for (int i = 0; i < ASC_N_FAITH; i++) row->metric[i] = (double)NAN;
    row->converged = true;
    if (is_random(s->o->methods[k])) {
        for (size_t i = 0; i < s->n; i++) scores[i] = asc_uniform(s->base.seed, 0x636f6e74726f6c, i) - 0.5;
        return ASC_OK;
    }
    asc_request q = s->base;
    q.method = s->o->methods[k];
    keep_what_is_read(&q);
    asc_status st = scores_of(s, s->m, &q, scores, row, &row->why);
    if (st == ASC_UNIMPLEMENTED && row->why != NULL) return ASC_OK;
    return st == ASC_OK && s->o->sanity ? sanity(s, &q, scores, row) : st;
}

static asc_status measure(faith *s) {
    asc_ctx *ctx = s->ctx;
    size_t n = s->n, per = asc_faith_n_rows(n), k = s->o->n_methods, rows, bytes;
    asc_status st = ASC_OK;
    uint8_t *present = NULL;
    double *values = NULL, *sums = NULL;
    size_t *order = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *order);
    if (!asc_mul_size(per, k, &rows) || !asc_mul_size(rows + s->subsets, n, &bytes) || order == NULL) {
        asc_free(ctx, order);
        return ASC_RESOURCE_EXHAUSTED;
    }
    present = asc_calloc(ctx, ASC_MEM_GENERAL, bytes + 1, 1);
    values = asc_calloc(ctx, ASC_MEM_GENERAL, rows + s->subsets, sizeof *values);
    sums = asc_calloc(ctx, ASC_MEM_GENERAL, s->subsets + 1, sizeof *sums);
    if (present == NULL || values == NULL || sums == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    memset(present, 1, bytes); /* methods that failed ask for nothing new */
    for (size_t i = 0; i < k; i++) {
        if (s->out->rows[i].why == NULL) asc_faith_fill(s->scores + i * n, n, order, present + i * per * n);
    }
    uint8_t *halves = present + rows * n;
    asc_faith_subsets(s->base.seed, s->subsets, n, halves);
    uint64_t before = s->job.r->n_forward;
    ASC_TRY(asc_job_coalition_values(&s->job, present, rows + s->subsets, values));
    s->out->n_forward = s->job.r->n_forward - before;
    s->out->tokens_run = s->job.r->tokens_run;
    s->out->tokens_plain = s->job.r->tokens_plain;
    for (size_t i = 0; i < k; i++) {
        asc_faith_row *row = &s->out->rows[i];
        const double *scores = s->scores + i * n, *v = values + i * per;
        if (row->why != NULL) continue;
        asc_faith_measure(v, scores, n, s->job.req->output == ASC_OUTPUT_LOGPROB, row->metric);
        s->out->value = v[0];
        s->out->empty = v[n];
        for (size_t a = 0; a < s->subsets; a++) {
            sums[a] = 0.0;
            for (size_t f = 0; f < n; f++) sums[a] += halves[a * n + f] != 0 ? scores[f] : 0.0;
        }
        ASC_TRY(
            asc_rank_correlation(ctx, sums, values + rows, s->subsets, &row->metric[ASC_FAITH_LINEAR_FIT]));
    }
done:
    asc_free(ctx, order);
    asc_free(ctx, present);
    asc_free(ctx, values);
    asc_free(ctx, sums);
    return st;
}

static asc_status check(asc_ctx *ctx, const asc_request *req, const asc_faith_options *o) {
    if (req == NULL || o == NULL || req->struct_size != sizeof *req || o->struct_size != sizeof *o ||
        o->n_methods < 1 || o->n_methods > MAX_METHODS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "evaluate: 1 to %d methods, and the sizes of this library",
                        MAX_METHODS);
    if (req->neuron != NULL && req->neuron[0] != '\0') {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "faithfulness is measured of answers and classes, not of a neuron");
        return asc_hint(ctx, "leave the neuron out");
    }
    for (size_t i = 0; i < o->n_methods; i++) {
        if (is_random(o->methods[i]) || asc_method_find(o->methods[i]) >= 0) continue;
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "unknown method '%.60s'", o->methods[i]);
        return asc_hint(ctx, "ascribe methods lists them; \"random\" is the control");
    }
    return ASC_OK;
}

asc_status asc_faith_run(asc_model *m, const asc_request *req, const asc_faith_options *o, asc_faith **out) {
    asc_ctx *ctx = m->ctx;
    *out = NULL;
    asc_status st = check(ctx, req, o);
    if (st != ASC_OK) return st;
    faith s = {.ctx = ctx, .m = m, .o = o, .base = *req, .subsets = o->subsets > 0 ? o->subsets : SUBSETS};
    s.base.dry_run = s.base.per_token = false;
    s.base.want_sha256 = false;
    asc_request probe = s.base;
    probe.method = "feature-ablation";
    probe.baseline = o->removal;
    probe.baseline_token = o->removal_token;
    keep_what_is_read(&probe);
    s.out = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *s.out);
    if (s.out == NULL) return ASC_RESOURCE_EXHAUSTED;
    s.out->rows = asc_calloc(ctx, ASC_MEM_GENERAL, o->n_methods, sizeof *s.out->rows);
    if (s.out->rows == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    s.out->n_rows = o->n_methods;
    ASC_TRY(asc_job_init(&s.job, m, &probe));
    s.n = s.out->n_features = s.job.n_groups;
    ASC_TRY(fix_answer(&s));
    s.scores = asc_calloc(ctx, ASC_MEM_GENERAL, o->n_methods * s.n + 1, sizeof *s.scores);
    if (s.scores == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t k = 0; k < o->n_methods; k++) ASC_TRY(run_method(&s, k));
    ASC_TRY(measure(&s));
    *out = s.out;
    s.out = NULL;
done:
    if (s.job.ctx != NULL) asc_job_deinit(&s.job);
    asc_free(ctx, s.scores);
    asc_free(ctx, s.other_ids);
    asc_faith_destroy(ctx, s.out);
    return st;
}

void asc_faith_destroy(asc_ctx *ctx, asc_faith *f) {
    if (f == NULL) return;
    for (size_t i = 0; i < f->n_rows; i++) asc_free(ctx, f->rows[i].why);
    asc_free(ctx, f->rows);
    asc_free(ctx, f);
}
