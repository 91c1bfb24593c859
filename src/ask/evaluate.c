/* evaluate.c - faithfulness of methods over many prompts: means, intervals, who is best and who is good
 * enough for less. */
#include "alloc.h"
#include "ascribe/evaluate.h"
#include "batch_parts.h"
#include "ctx.h"
#include "hash.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESAMPLES = 1000 };

typedef struct sums {
    asc_ctx *ctx;
    asc_evaluation *e;
    size_t n_methods, n, cap; /* n prompts so far */
    double *metric;           /* [n, n_methods, ASC_N_FAITH] */
    double *rank;             /* [n, n_methods]; NaN where a method failed */
    double *seconds;          /* [n_methods], sums over the prompts where it ran; so the next two */
    double *n_forward, *n_backward;
    size_t *n_ran;
} sums;

/* Places of the methods in one metric of one prompt, 1 = best, equals share; adds them to `place`. */
static void add_places(const sums *s, const asc_faith_row *rows, size_t metric, double *place,
                       size_t *count) {
    int better = asc_faith_at(metric)->better;
    for (size_t i = 0; i < s->n_methods; i++) {
        double mine = (double)better * rows[i].metric[metric], ahead = 0.0, equal = 0.0;
        if (isnan(mine) || rows[i].why != NULL) continue;
        for (size_t k = 0; k < s->n_methods; k++) {
            double other = (double)better * rows[k].metric[metric];
            if (k == i || isnan(other) || rows[k].why != NULL) continue;
            ahead += other > mine ? 1.0 : 0.0;
            equal += other > mine || other < mine ? 0.0 : 1.0;
        }
        place[i] += 1.0 + ahead + 0.5 * equal;
        count[i]++;
    }
}

static asc_status add_prompt(sums *s, const asc_faith *f) {
    asc_ctx *ctx = s->ctx;
    size_t m = s->n_methods, cap = s->cap;
    asc_status st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&s->metric, &cap, s->n + 1,
                             m * ASC_N_FAITH * sizeof *s->metric);
    if (st == ASC_OK)
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&s->rank, &s->cap, s->n + 1, m * sizeof *s->rank);
    if (st != ASC_OK) return st;
    size_t *count = asc_calloc(ctx, ASC_MEM_GENERAL, m, sizeof *count);
    if (count == NULL) return ASC_RESOURCE_EXHAUSTED;
    double *place = s->rank + s->n * m;
    for (size_t i = 0; i < m; i++) place[i] = 0.0;
    for (size_t q = 0; q < ASC_N_FAITH; q++) {
        if (asc_faith_at(q)->decides) add_places(s, f->rows, q, place, count);
        for (size_t i = 0; i < m; i++) {
            const asc_faith_row *row = &f->rows[i];
            s->metric[(s->n * m + i) * ASC_N_FAITH + q] = row->why == NULL ? row->metric[q] : (double)NAN;
        }
    }
    for (size_t i = 0; i < m; i++) {
        const asc_faith_row *row = &f->rows[i];
        asc_evaluated *e = &s->e->methods[i];
        place[i] = count[i] > 0 ? place[i] / (double)count[i] : (double)NAN;
        if (row->why != NULL) {
            e->n_failed++;
            if (e->why == NULL) e->why = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(row->why));
            continue;
        }
        e->n_unsure += row->converged ? 0 : 1;
        s->seconds[i] += row->seconds;
        s->n_forward[i] += (double)row->n_forward;
        s->n_backward[i] += (double)row->n_backward;
        s->n_ran[i]++;
    }
    asc_free(ctx, count);
    s->n++;
    return ASC_OK;
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Percentile bootstrap over the known ones of v[0], v[stride], ... */
static asc_status bootstrap(asc_ctx *ctx, const double *v, size_t n, size_t stride, asc_faith_mean *out) {
    *out = (asc_faith_mean){.mean = (double)NAN, .low = (double)NAN, .high = (double)NAN};
    double *known = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *known),
           *means = asc_calloc(ctx, ASC_MEM_GENERAL, RESAMPLES, sizeof *means), sum = 0.0;
    asc_status st = known == NULL || means == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    size_t k = 0;
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (isnan(v[i * stride])) continue;
        known[k++] = v[i * stride];
        sum += v[i * stride];
    }
    if (st == ASC_OK && k > 0) {
        for (size_t r = 0; r < RESAMPLES; r++) {
            means[r] = 0.0;
            for (size_t i = 0; i < k; i++)
                means[r] += known[(size_t)(asc_uniform(1, r, i) * (double)k)] / (double)k;
        }
        qsort(means, RESAMPLES, sizeof *means, by_value);
        *out = (asc_faith_mean){.mean = sum / (double)k,
                                .low = means[RESAMPLES * 25 / 1000],
                                .high = means[RESAMPLES * 975 / 1000],
                                .n = k};
    }
    asc_free(ctx, known);
    asc_free(ctx, means);
    return st;
}

/* The best has the lowest mean rank; recommended is the cheapest one that is not surely behind it. The
 * control and methods that failed anywhere are never recommended. */
static asc_status conclude(sums *s) {
    asc_evaluation *e = s->e;
    size_t m = s->n_methods;
    asc_status st = ASC_OK;
    e->best = e->recommended = -1;
    e->n_prompts = s->n;
    double *behind = asc_calloc(s->ctx, ASC_MEM_GENERAL, s->n + 1, sizeof *behind);
    if (behind == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < m; i++) {
        asc_evaluated *x = &e->methods[i];
        double ran = s->n_ran[i] > 0 ? (double)s->n_ran[i] : (double)NAN;
        x->seconds = s->seconds[i] / ran;
        x->n_forward = s->n_forward[i] / ran;
        x->n_backward = s->n_backward[i] / ran;
        for (size_t q = 0; q < ASC_N_FAITH; q++)
            ASC_TRY(bootstrap(s->ctx, s->metric + i * ASC_N_FAITH + q, s->n, m * ASC_N_FAITH, &x->metric[q]));
        ASC_TRY(bootstrap(s->ctx, s->rank + i, s->n, m, &x->rank));
        bool candidate = x->rank.n > 0 && x->n_failed == 0 && !asc_view_eqs(asc_view_of(x->method), "random");
        if (candidate && (e->best < 0 || x->rank.mean < e->methods[e->best].rank.mean)) e->best = (int)i;
    }
    for (size_t i = 0; i < m && e->best >= 0; i++) {
        asc_evaluated *x = &e->methods[i];
        for (size_t p = 0; p < s->n; p++) behind[p] = s->rank[p * m + i] - s->rank[p * m + (size_t)e->best];
        ASC_TRY(bootstrap(s->ctx, behind, s->n, 1, &x->behind));
        bool candidate =
            x->behind.n > 0 && x->n_failed == 0 && !asc_view_eqs(asc_view_of(x->method), "random");
        bool as_good = candidate && (x->behind.low <= 0.0 || (int)i == e->best);
        if (as_good && (e->recommended < 0 || x->seconds < e->methods[e->recommended].seconds))
            e->recommended = (int)i;
    }
done:
    asc_free(s->ctx, behind);
    return st;
}

static asc_status note_failure(asc_ctx *ctx, asc_evaluation *e, size_t line) {
    char text[600];
    e->n_failed++;
    if (e->first_failure == NULL) {
        snprintf(text, sizeof text, "prompt %zu: %.500s", line, asc_error_message(ctx));
        e->first_failure = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(text));
        if (e->first_failure == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    asc_error_clear(ctx);
    return ASC_OK;
}

static asc_status one_line(sums *s, asc_model *m, asc_view line, size_t number, const asc_request *req,
                           const asc_faith_options *o) {
    asc_batch_line l;
    asc_faith *f = NULL;
    asc_status st = asc_batch_line_read(s->ctx, m, line, req, &l);
    if (st == ASC_OK) st = asc_faith_run(m, &l.request, o, &f);
    if (st == ASC_OK)
        st = add_prompt(s, f);
    else if (st != ASC_CANCELLED)
        st = note_failure(s->ctx, s->e, number);
    asc_faith_destroy(s->ctx, f);
    asc_batch_line_free(&l);
    return st;
}

static asc_status make(sums *s, const asc_faith_options *o, asc_evaluation **out) {
    asc_ctx *ctx = s->ctx;
    size_t n = o->n_methods;
    asc_evaluation *e = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *e);
    *out = s->e = e;
    if (e == NULL) return ASC_RESOURCE_EXHAUSTED;
    e->methods = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *e->methods);
    s->seconds = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *s->seconds);
    s->n_forward = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *s->n_forward);
    s->n_backward = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *s->n_backward);
    s->n_ran = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *s->n_ran);
    if (e->methods == NULL || s->seconds == NULL || s->n_forward == NULL || s->n_backward == NULL ||
        s->n_ran == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    e->n_methods = s->n_methods = n;
    for (size_t i = 0; i < n; i++) {
        int known = asc_method_find(o->methods[i]);
        e->methods[i].method = known >= 0 ? asc_method_at((size_t)known)->name : "random";
    }
    return ASC_OK;
}

asc_status asc_evaluate(asc_model *m, const char *prompts, const asc_request *req, const asc_faith_options *o,
                        asc_evaluation **out) {
    asc_ctx *ctx = m->ctx;
    sums s = {.ctx = ctx};
    asc_map map = {.fd = -1};
    asc_evaluation *e = NULL;
    size_t pos = 0, total = 0, at = 0;
    asc_view line, text;
    bool ended;
    uint64_t begun = asc_now_ns();
    *out = NULL;
    asc_status st = make(&s, o, &e);
    if (st == ASC_OK) st = asc_batch_open(ctx, prompts, &map, &text, &total);
    if (st != ASC_OK) goto done;
    while (asc_batch_next_line(text, &pos, &line, &ended)) {
        if (asc_batch_blank(line)) continue;
        ASC_TRY(asc_map_check(ctx, &map));
        ASC_TRY(one_line(&s, m, line, ++at, req, o));
        ASC_TRY(asc_progress(ctx, "prompts evaluated", (double)at, (double)total));
    }
    if (s.n == 0) {
        char why[600];
        snprintf(why, sizeof why, "%s", e->first_failure != NULL ? e->first_failure : "none ran");
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "no prompt of '%s' could be evaluated; %s", prompts, why);
        st = asc_hint(ctx, "try one of them with ascribe explain");
        goto done;
    }
    ASC_TRY(conclude(&s));
    e->seconds = (double)(asc_now_ns() - begun) * 1e-9;
    *out = e;
    e = NULL;
done:
    asc_map_close(ctx, &map);
    asc_free(ctx, s.metric);
    asc_free(ctx, s.rank);
    asc_free(ctx, s.seconds);
    asc_free(ctx, s.n_forward);
    asc_free(ctx, s.n_backward);
    asc_free(ctx, s.n_ran);
    asc_evaluation_destroy(ctx, e);
    return st;
}

void asc_evaluation_destroy(asc_ctx *ctx, asc_evaluation *e) {
    if (e == NULL) return;
    for (size_t i = 0; i < e->n_methods; i++) asc_free(ctx, e->methods[i].why);
    asc_free(ctx, e->methods);
    asc_free(ctx, e->first_failure);
    asc_free(ctx, e);
}
