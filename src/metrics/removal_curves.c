/* removal_curves.c - deletion and insertion curves, with a random order as the control. */
#include "metric.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 100, DELETION = 0, INSERTION = 1, RANDOM = 2, N_CURVES = 3 };

typedef struct curve_job {
    asc_task *t;
    asc_curves *c;
    size_t m, points;
    size_t *count;   /* [points]: features removed or put in */
    int32_t *place;  /* [n, m]: 0 = the largest score */
    int32_t *last;   /* [n, m]: m - 1 - place */
    int32_t *random; /* [m]: the same for all examples */
} curve_job;

/* Rows: curve by curve, example by example, point by point. */
static size_t example(void *self, size_t row) {
    const curve_job *j = self;
    return row / j->points % j->t->n;
}

static void fill(void *self, size_t row, size_t var, double *out) {
    const curve_job *j = self;
    size_t e = example(self, row), k = j->count[row % j->points], curve = row / j->points / j->t->n;
    const int32_t *rank = curve == INSERTION  ? j->place + e * j->m
                          : curve == DELETION ? j->last + e * j->m
                                              : j->random;
    asc_coalition_fill(j->t, e, var, rank, (int32_t)(curve == INSERTION ? k : j->m - k), out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    curve_job *j = self;
    size_t curve = row / j->points / j->t->n;
    double *to = curve == INSERTION ? j->c->insertion : curve == DELETION ? j->c->deletion : j->c->random;
    to[row % (j->points * j->t->n)] = x->f[0];
    return ASC_OK;
}

typedef struct ranked {
    double score;
    int32_t feature;
} ranked;

static int by_score(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Places of the features of every example by falling score; a group's score is the mean of its elements'. */
static asc_status rank_features(curve_job *j, double *const *scores) {
    asc_ctx *ctx = j->t->ctx;
    ranked *order = asc_calloc(ctx, ASC_MEM_GENERAL, j->m + 1, sizeof *order);
    double *members = asc_calloc(ctx, ASC_MEM_GENERAL, j->m + 1, sizeof *members);
    for (size_t e = 0; order != NULL && members != NULL && e < j->t->n; e++) {
        for (size_t g = 0; g < j->m; g++) {
            order[g] = (ranked){0.0, (int32_t)g};
            members[g] = 0.0;
        }
        for (size_t k = 0; k < j->t->n_at; k++) {
            const asc_var *v = &j->t->at[k];
            for (size_t i = 0; i < v->size; i++) {
                int32_t g = asc_var_feature(v, e, i);
                order[g].score += scores[k][e * v->size + i];
                members[g] += 1.0;
            }
        }
        for (size_t g = 0; g < j->m; g++) order[g].score /= members[g] > 0.0 ? members[g] : 1.0;
        qsort(order, j->m, sizeof *order, by_score);
        for (size_t p = 0; p < j->m; p++) {
            j->place[e * j->m + (size_t)order[p].feature] = (int32_t)p;
            j->last[e * j->m + (size_t)order[p].feature] = (int32_t)(j->m - 1 - p);
        }
    }
    for (size_t g = 0; g < j->m; g++) j->random[g] = (int32_t)g;
    for (size_t g = j->m; g > 1; g--) {
        size_t o = (size_t)(asc_task_uniform(j->t, 0, g) * (double)g);
        int32_t was = j->random[g - 1];
        j->random[g - 1] = j->random[o];
        j->random[o] = was;
    }
    bool ok = order != NULL && members != NULL;
    asc_free(ctx, order);
    asc_free(ctx, members);
    return ok ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static double area(const asc_curves *c, const double *y) {
    double sum = 0.0;
    for (size_t p = 0; p + 1 < c->n_points; p++) {
        sum += 0.5 * (y[p] + y[p + 1]) * (c->fraction[p + 1] - c->fraction[p]);
    }
    return sum;
}

/* Deletion of the least is insertion of the largest, read backwards. */
static void finish(curve_job *j) {
    asc_curves *c = j->c;
    for (size_t e = 0; e < c->n; e++) {
        size_t at = e * c->n_points;
        for (size_t p = 0; p < c->n_points; p++) c->least[at + p] = c->insertion[at + c->n_points - 1 - p];
        c->deletion_area[e] = area(c, c->deletion + at);
        c->insertion_area[e] = area(c, c->insertion + at);
        c->random_area[e] = area(c, c->random + at);
        c->least_area[e] = area(c, c->least + at);
        c->gap[e] = c->least_area[e] - c->deletion_area[e];
    }
}

static asc_status alloc(curve_job *j, size_t steps) {
    asc_ctx *ctx = j->t->ctx;
    asc_curves *c = j->c = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *c);
    size_t cells, ranks;
    if (c == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (!asc_mul_size(j->t->n, steps + 1, &cells) || !asc_mul_size(j->t->n, j->m, &ranks) ||
        cells > SIZE_MAX / 64) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "removal curves: %zu steps are too many", steps);
    }
    c->n = j->t->n;
    c->n_points = j->points = steps + 1;
    double **const arrays[] = {&c->deletion,      &c->insertion,      &c->random,      &c->least,
                               &c->deletion_area, &c->insertion_area, &c->random_area, &c->least_area,
                               &c->gap,           &c->fraction};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = asc_calloc(ctx, ASC_MEM_GENERAL,
                                i < 4   ? cells
                                : i < 9 ? c->n
                                        : c->n_points,
                                sizeof(double));
        if (*arrays[i] == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    j->count = asc_calloc(ctx, ASC_MEM_GENERAL, c->n_points, sizeof *j->count);
    j->place = asc_calloc(ctx, ASC_MEM_GENERAL, ranks + 1, sizeof *j->place);
    j->last = asc_calloc(ctx, ASC_MEM_GENERAL, ranks + 1, sizeof *j->last);
    j->random = asc_calloc(ctx, ASC_MEM_GENERAL, j->m + 1, sizeof *j->random);
    if (j->count == NULL || j->place == NULL || j->last == NULL || j->random == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t p = 0; p <= steps; p++) {
        j->count[p] = (size_t)llround((double)p * (double)j->m / (double)steps);
        c->fraction[p] = (double)j->count[p] / (double)j->m;
    }
    return ASC_OK;
}

asc_status asc_removal_curves(asc_net *net, const asc_attr_request *req, const asc_curves_request *how,
                              asc_curves **out) {
    asc_task t;
    curve_job j = {.t = &t};
    double **scores = NULL;
    asc_status st;
    *out = NULL;
    ASC_TRY(asc_task_init(&t, net, req));
    if (how->struct_size != sizeof *how) {
        st = ASC_FAIL(t.ctx, ASC_INVALID_ARGUMENT, "removal curves: struct_size is not that of this library");
        goto done;
    }
    ASC_TRY(asc_metric_one_number(&t, "a removal curve"));
    ASC_TRY(asc_task_ends(&t, false));
    ASC_TRY(asc_metric_scores(&t, how->scores, how->n_scores, &scores));
    j.m = t.n_features;
    if (j.m == 0) {
        st = ASC_FAIL(t.ctx, ASC_INVALID_ARGUMENT, "removal curves: there is no feature");
        goto done;
    }
    size_t steps = how->points > 0 ? how->points : MOST_POINTS;
    ASC_TRY(alloc(&j, steps < j.m ? steps : j.m));
    ASC_TRY(rank_features(&j, scores));
    asc_rows rows = {.n = N_CURVES * t.n * j.points, .self = &j, .example = example, .fill = fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t.at_sites, .what = "removed rows", .self = &j, .sink = sink};
    ASC_TRY(asc_task_run(&t, &pass));
    finish(&j);
    j.c->n_forward = t.r->n_forward;
    *out = j.c;
    j.c = NULL;
done:
    if (t.ctx != NULL) asc_metric_scores_free(&t, scores);
    asc_curves_destroy(net->ctx, j.c);
    asc_free(net->ctx, j.count);
    asc_free(net->ctx, j.place);
    asc_free(net->ctx, j.last);
    asc_free(net->ctx, j.random);
    asc_task_deinit(&t);
    return st;
}

void asc_curves_destroy(asc_ctx *ctx, asc_curves *c) {
    if (c == NULL) return;
    double *const arrays[] = {c->deletion,       c->insertion,   c->random,     c->least, c->deletion_area,
                              c->insertion_area, c->random_area, c->least_area, c->gap,   c->fraction};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) asc_free(ctx, arrays[i]);
    asc_free(ctx, c);
}
