/* attack.c - adversarial inputs by the sign of the gradient: one step (FGSM), or several with projection
 * (PGD). */
#include "ascribe/robust.h"
#include "metric.h"
#include "stretch.h"
#include <math.h>
#include <string.h>

/* Gradients below this do not move an element, as in Captum. */
static const double FLAT = 1e-6;

typedef struct attack_job {
    asc_task *t;
    const asc_attr_request *req;
    const asc_attack *how;
    asc_block now; /* [n] the inputs as attacked so far */
    double **mask; /* [n_at] of [n or 1, size]; NULL = 1 */
    size_t *mask_rows;
    double step;
    double *f; /* [n] */
    bool move; /* sink takes a step; otherwise it only notes f */
} attack_job;

static void fill(void *self, size_t row, size_t var, double *out) {
    const attack_job *j = self;
    memcpy(out, j->now.rows[row * j->t->n_at + var], j->t->at[var].size * sizeof *out);
}

/* Derivative of the loss with respect to the explained number. */
static double slope(const attack_job *j, size_t e, double f) {
    if (j->how->slope != NULL) return j->how->slope(j->how->self, e, f);
    if (j->how->loss != ASC_LOSS_NLL) return -1.0; /* the target is the value, or already a log-softmax */
    return f > 0.0 || f < 0.0 ? -1.0 / f : -1e300; /* of 0: only the sign is used */
}

static void into_bounds(const attack_job *j, double *x) {
    const double *b = j->req->bounds;
    if (b != NULL) *x = *x < b[0] ? b[0] : *x > b[1] ? b[1] : *x;
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    attack_job *j = self;
    j->f[row] = x->f[0];
    if (!j->move) return ASC_OK;
    double by = slope(j, row, x->f[0]), step = j->req->targeted ? -j->step : j->step;
    for (size_t k = 0; k < j->t->n_at; k++) {
        double *to = j->now.rows[row * j->t->n_at + k];
        size_t size = j->t->at[k].size;
        const double *mask = j->mask[k] != NULL ? j->mask[k] + (j->mask_rows[k] > 1 ? row : 0) * size : NULL;
        for (size_t i = 0; i < size; i++) {
            double g = by * x->g[k][i];
            if (fabs(g) > FLAT) to[i] += (g > 0.0 ? step : -step) * (mask != NULL ? mask[i] : 1.0);
        }
    }
    return ASC_OK;
}

/* One pass over the batch: notes f and, if move, takes a step. */
static asc_status pass(attack_job *j, bool move) {
    j->move = move;
    asc_rows rows = {.n = j->t->n, .self = j, .fill = fill};
    asc_pass p = {.rows = &rows, .want_gradients = move, .what = "steps", .self = j, .sink = sink};
    return asc_task_run(j->t, &p);
}

/* Back into the ball of `radius` around the input, each input of each example by itself; then into the
 * bounds. */
static void project(const attack_job *j, double radius) {
    for (size_t row = 0; row < j->t->n * j->t->n_at; row++) {
        const asc_var *v = &j->t->at[row % j->t->n_at];
        const double *x = asc_var_row(j->t, v, row / j->t->n_at);
        double *to = j->now.rows[row], norm = 0.0, shrink = 1.0;
        for (size_t i = 0; i < v->size; i++) norm += (to[i] - x[i]) * (to[i] - x[i]);
        norm = sqrt(norm);
        if (j->how->ball == ASC_BALL_L2 && norm > radius) shrink = radius / norm;
        for (size_t i = 0; radius < INFINITY && i < v->size; i++) {
            double d = to[i] - x[i];
            if (j->how->ball == ASC_BALL_LINF) d = d > radius ? radius : d < -radius ? -radius : d;
            to[i] = j->how->ball == ASC_BALL_L2 && shrink >= 1.0 ? to[i] : x[i] + d * shrink;
        }
        for (size_t i = 0; i < v->size; i++) into_bounds(j, &to[i]);
    }
}

/* A uniform point of the ball: in the L2 ball a normal direction at a radius whose size-th power is uniform.
 */
static void start_at_random(const attack_job *j, double radius) {
    for (size_t row = 0; row < j->t->n * j->t->n_at; row++) {
        size_t k = row % j->t->n_at, size = j->t->at[k].size;
        const double *mask =
            j->mask[k] != NULL ? j->mask[k] + (j->mask_rows[k] > 1 ? row / j->t->n_at : 0) * size : NULL;
        double *to = j->now.rows[row], norm = 0.0, far = radius;
        bool l2 = j->how->ball == ASC_BALL_L2;
        for (size_t i = 0; l2 && i < size; i++) norm += pow(asc_task_normal(j->t, k, i), 2.0);
        if (l2)
            far *= pow(asc_task_uniform(j->t, k, size), 1.0 / (double)size) / (norm > 0.0 ? sqrt(norm) : 1.0);
        for (size_t i = 0; i < size; i++) {
            double d =
                l2 ? far * asc_task_normal(j->t, k, i) : radius * (2.0 * asc_task_uniform(j->t, k, i) - 1.0);
            to[i] += d * (mask != NULL ? mask[i] : 1.0);
            into_bounds(j, &to[i]);
        }
    }
}

/* ---- set-up and result
 * -------------------------------------------------------------------------------------------- */

static asc_status read_mask(attack_job *j, size_t k, const asc_array *a) {
    const asc_var *v = &j->t->at[k];
    asc_shape full = {.rank = v->shape.rank + 1, .dims = {(int64_t)j->t->n}}, fit;
    char got[128], want[128];
    memcpy(full.dims + 1, v->shape.dims, (size_t)v->shape.rank * sizeof *full.dims);
    int64_t n = asc_array_count(a), elems = asc_shape_elems(&full);
    if (n < 1 || a->data == NULL || !asc_shape_broadcast(&a->shape, &full, &fit) ||
        !asc_shape_eq(&fit, &full)) {
        return ASC_FAIL(j->t->ctx, ASC_INVALID_ARGUMENT, "the mask of '%.60s' has shape %s, the input %s",
                        v->name, asc_shape_text(&a->shape, got), asc_shape_text(&full, want));
    }
    j->mask[k] = asc_calloc(j->t->ctx, ASC_MEM_GENERAL, (size_t)elems + 1, sizeof **j->mask);
    j->mask_rows[k] = j->t->n;
    if (j->mask[k] == NULL) return ASC_RESOURCE_EXHAUSTED;
    return asc_array_stretch(j->t->ctx, a, &full, j->mask[k]);
}

static asc_status set_up(attack_job *j) {
    asc_task *t = j->t;
    if (j->how->struct_size != sizeof *j->how) {
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "attack: struct_size is not that of this library");
    }
    if (j->req->bounds != NULL && !(j->req->bounds[0] <= j->req->bounds[1])) {
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "attack: bounds %g to %g hold nothing",
                        j->req->bounds[0], j->req->bounds[1]);
    }
    if (t->at_sites) return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "attack: at: only inputs can be attacked");
    if (j->how->n_masks > 0 && j->how->n_masks != t->n_at) {
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "attack: %zu masks for %zu inputs", j->how->n_masks,
                        t->n_at);
    }
    asc_status st = asc_metric_one_number(t, "an attack");
    if (st == ASC_OK) st = asc_block_init(t, t->n, &j->now);
    j->mask = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *j->mask);
    j->mask_rows = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *j->mask_rows);
    j->f = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *j->f);
    if (st == ASC_OK && (j->mask == NULL || j->mask_rows == NULL || j->f == NULL))
        st = ASC_RESOURCE_EXHAUSTED;
    for (size_t e = 0; st == ASC_OK && e < t->n; e++) asc_block_load(t, &j->now, e, e);
    for (size_t k = 0; st == ASC_OK && k < j->how->n_masks; k++) st = read_mask(j, k, &j->how->masks[k]);
    return st;
}

static asc_status make_result(attack_job *j, asc_adversarial **out) {
    asc_task *t = j->t;
    asc_adversarial *a = asc_calloc(t->ctx, ASC_MEM_GENERAL, 1, sizeof *a);
    *out = a;
    if (a == NULL) return ASC_RESOURCE_EXHAUSTED;
    a->n_examples = t->n;
    a->inputs = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *a->inputs);
    a->before = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *a->before);
    a->after = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *a->after);
    if (a->inputs == NULL || a->before == NULL || a->after == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < t->n_at; k++) {
        asc_scores *s = &a->inputs[k];
        a->n_inputs = k + 1;
        s->shape = t->req->inputs[t->at[k].input].shape;
        s->name = asc_strdup_view(t->ctx, ASC_MEM_GENERAL, asc_view_of(t->at[k].name));
        s->data = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * t->at[k].size + 1, sizeof *s->data);
        if (s->name == NULL || s->data == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}

static asc_status attack(asc_net *net, const asc_attr_request *req, const asc_attack *how, size_t steps,
                         double step, double radius, asc_adversarial **out) {
    asc_task t;
    asc_attr_request q = *req;
    attack_job j = {.t = &t, .req = req, .how = how, .step = step};
    asc_adversarial *a = NULL;
    asc_status st;
    *out = NULL;
    q.method = "saliency"; /* attacks what gradients reach */
    q.n_masks = 0;
    if (how->loss == ASC_LOSS_CROSS_ENTROPY) q.target.transform = ASC_TRANSFORM_LOG_SOFTMAX;
    ASC_TRY(asc_task_init(&t, net, &q));
    ASC_TRY(set_up(&j));
    ASC_TRY(make_result(&j, &a));
    ASC_TRY(pass(&j, false));
    memcpy(a->before, j.f, t.n * sizeof *j.f);
    if (how->random_start) start_at_random(&j, radius);
    for (size_t i = 0; i < steps; i++) {
        ASC_TRY(pass(&j, true));
        project(&j, radius);
        ASC_TRY(asc_progress(t.ctx, "steps", (double)(i + 1), (double)steps));
    }
    ASC_TRY(pass(&j, false));
    memcpy(a->after, j.f, t.n * sizeof *j.f);
    for (size_t row = 0; row < t.n * t.n_at; row++) {
        size_t k = row % t.n_at, e = row / t.n_at, size = t.at[k].size;
        memcpy(a->inputs[k].data + e * size, j.now.rows[row], size * sizeof(double));
    }
    a->n_forward = t.r->n_forward;
    a->n_backward = t.r->n_backward;
    *out = a;
    a = NULL;
done:
    asc_adversarial_destroy(net->ctx, a);
    for (size_t k = 0; j.mask != NULL && k < t.n_at; k++) asc_free(net->ctx, j.mask[k]);
    asc_free(net->ctx, j.mask);
    asc_free(net->ctx, j.mask_rows);
    asc_free(net->ctx, j.f);
    if (t.ctx != NULL) asc_block_deinit(&t, &j.now);
    asc_task_deinit(&t);
    return st;
}

asc_status asc_fgsm(asc_net *net, const asc_attr_request *req, const asc_attack *how, asc_adversarial **out) {
    asc_attack one = *how;
    one.random_start = false;
    return attack(net, req, &one, 1, req->epsilon, (double)INFINITY, out);
}

asc_status asc_pgd(asc_net *net, const asc_attr_request *req, const asc_attack *how, asc_adversarial **out) {
    *out = NULL;
    bool steps = req->steps > 0 && req->step_size > 0.0;
    if (!(req->radius > 0.0) || (!steps && (req->steps > 0 || !how->random_start))) {
        ASC_FAIL(net->ctx, ASC_INVALID_ARGUMENT, "pgd: %zu steps of %g in a radius of %g", req->steps,
                 req->step_size, req->radius);
        return asc_hint(net->ctx, "set steps, step_size and radius");
    }
    return attack(net, req, how, req->steps, req->step_size, req->radius, out);
}

void asc_adversarial_destroy(asc_ctx *ctx, asc_adversarial *a) {
    if (a == NULL) return;
    for (size_t k = 0; k < a->n_inputs; k++) {
        asc_free(ctx, a->inputs[k].name);
        asc_free(ctx, a->inputs[k].data);
    }
    asc_free(ctx, a->inputs);
    asc_free(ctx, a->before);
    asc_free(ctx, a->after);
    asc_free(ctx, a);
}
