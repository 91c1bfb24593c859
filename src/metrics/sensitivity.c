/* sensitivity.c - the largest change of the scores among inputs close by. The method runs once per sample on
 * the whole batch, with the same draws each time, so that what differs comes from the input. */
#include "metric.h"
#include <math.h>
#include <string.h>

enum { DEFAULT_SAMPLES = 10 };

typedef struct sens_job {
    asc_task *t;
    const asc_sensitivity_request *how;
    asc_attr_request q; /* with inputs replaced */
    asc_array *inputs;  /* [n_inputs] */
    double **moved;     /* [n_in]: perturbed values, [n, size] */
    double **rows;      /* [n_in] of one example */
    const double **x;
    char norm; /* '1', '2', 'i' */
    uint64_t n_forward;
} sens_job;

static void make_sample(sens_job *j, size_t s) {
    double radius = j->how->radius > 0.0 ? j->how->radius : 0.02;
    for (size_t e = 0; e < j->t->n; e++) {
        uint64_t index = 0;
        for (size_t k = 0; k < j->t->n_in; k++) {
            size_t size = j->t->in[k].size;
            j->x[k] = asc_var_row(j->t, &j->t->in[k], e);
            j->rows[k] = j->moved[k] + e * size;
            memcpy(j->rows[k], j->x[k], size * sizeof(double));
            for (size_t i = 0; j->how->perturb == NULL && i < size; i++) {
                j->rows[k][i] += radius * (2.0 * asc_task_uniform(j->t, s, index++) - 1.0);
            }
        }
        if (j->how->perturb != NULL) j->how->perturb(j->how->self, e, s, j->x, j->rows);
    }
}

/* Norm of a - b over all score arrays of example e; b NULL = 0. */
static double distance(const sens_job *j, const asc_attribution *a, const asc_attribution *b, size_t e) {
    double norm = 0.0;
    for (size_t k = 0; k < a->n_scores; k++) {
        size_t size = (size_t)asc_shape_elems(&a->scores[k].shape) / j->t->n;
        for (size_t i = e * size; i < (e + 1) * size; i++) {
            double d = fabs(a->scores[k].data[i] - (b != NULL ? b->scores[k].data[i] : 0.0));
            if (j->norm == 'i') norm = fmax(norm, d);
            if (j->norm != 'i') norm += j->norm == '1' ? d : d * d;
        }
    }
    return j->norm == '2' ? sqrt(norm) : norm;
}

static asc_status run_samples(sens_job *j, asc_metric *m) {
    asc_ctx *ctx = j->t->ctx;
    size_t samples = j->how->samples > 0 ? j->how->samples : DEFAULT_SAMPLES;
    asc_attribution *plain, *near;
    asc_status st = asc_attribute(j->t->net, j->t->req, &plain);
    if (st != ASC_OK) return st;
    j->n_forward = plain->n_forward;
    for (size_t s = 0; st == ASC_OK && s < samples; s++) {
        make_sample(j, s);
        st = asc_attribute(j->t->net, &j->q, &near);
        if (st != ASC_OK) break;
        j->n_forward += near->n_forward;
        for (size_t e = 0; e < j->t->n; e++) {
            double size = distance(j, plain, NULL, e),
                   d = distance(j, near, plain, e) / (size > 0.0 ? size : 1.0);
            m->values[e] = fmax(m->values[e], d);
            m->means[e] += d / (double)samples;
        }
        asc_attribution_destroy(ctx, near);
        st = asc_progress(ctx, "perturbed attributions", (double)(s + 1), (double)samples);
    }
    asc_attribution_destroy(ctx, plain);
    return st;
}

static asc_status check(sens_job *j) {
    const asc_sensitivity_request *how = j->how;
    asc_ctx *ctx = j->t->ctx;
    if (how->struct_size != sizeof *how) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "sensitivity: struct_size is not that of this library");
    }
    if (!(how->radius >= 0.0) || !isfinite(how->radius)) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "sensitivity: radius is %g", how->radius);
    }
    const char *norm = how->norm != NULL ? how->norm : "l2";
    j->norm = strcmp(norm, "l2") == 0    ? '2'
              : strcmp(norm, "l1") == 0  ? '1'
              : strcmp(norm, "inf") == 0 ? 'i'
                                         : '?';
    if (j->norm == '?') {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "sensitivity: no norm '%.40s'", norm);
        return asc_hint(ctx, "one of l1, l2, inf");
    }
    return ASC_OK;
}

static asc_status alloc(sens_job *j) {
    asc_task *t = j->t;
    j->inputs = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->req->n_inputs + 1, sizeof *j->inputs);
    j->moved = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_in + 1, sizeof *j->moved);
    j->rows = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_in + 1, sizeof *j->rows);
    j->x = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_in + 1, sizeof *j->x);
    if (j->inputs == NULL || j->moved == NULL || j->rows == NULL || j->x == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < t->req->n_inputs; i++) j->inputs[i] = t->req->inputs[i];
    for (size_t k = 0; k < t->n_in; k++) {
        const asc_var *v = &t->in[k];
        j->moved[k] = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * v->size + 1, sizeof **j->moved);
        if (j->moved[k] == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (!asc_elem_is_float(v->elem)) {
            ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "sensitivity: input '%.60s' holds integers", v->name);
            return asc_hint(t->ctx, "fix it; only floating-point inputs can move a little");
        }
        j->inputs[v->input].elem = ASC_ELEM_F64;
        j->inputs[v->input].data = j->moved[k];
    }
    j->q = *t->req;
    j->q.inputs = j->inputs;
    return ASC_OK;
}

asc_status asc_sensitivity(asc_net *net, const asc_attr_request *req, const asc_sensitivity_request *how,
                           asc_metric **out) {
    asc_task t;
    sens_job j = {.t = &t, .how = how};
    asc_metric *m = NULL;
    asc_status st;
    *out = NULL;
    ASC_TRY(asc_task_init(&t, net, req));
    ASC_TRY(check(&j));
    ASC_TRY(alloc(&j));
    ASC_TRY(asc_metric_create(t.ctx, t.n, true, false, &m));
    ASC_TRY(run_samples(&j, m));
    m->n_forward = j.n_forward;
    *out = m;
    m = NULL;
done:
    asc_metric_destroy(net->ctx, m);
    for (size_t k = 0; j.moved != NULL && k < t.n_in; k++) asc_free(net->ctx, j.moved[k]);
    asc_free(net->ctx, j.inputs);
    asc_free(net->ctx, j.moved);
    asc_free(net->ctx, j.rows);
    asc_free(net->ctx, j.x);
    asc_task_deinit(&t);
    return st;
}
