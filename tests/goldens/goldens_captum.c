/* goldens_captum.c - Captum's shared test configurations on its toy models (captum_config_golden.jsonl):
 * every pair of a configuration and a class. Deterministic pairs are compared within the tolerance that
 * Captum's own tests use; for stochastic ones the recorded number is one draw, so it must lie within 4
 * deviations of our mean over 60 seeds, or be no further out than draws of ours go (goldens_draws.h). */
#include "goldens_config.h"
#include "goldens_draws.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 300 };

/* Arrays of a result in order, whatever lists and tuples they stand in. */
static void collect(const asc_json *j, const asc_json **out, size_t *n) {
    const asc_json *t = asc_json_get(j, "tuple");
    if (asc_json_get(j, "shape") != NULL) {
        if (*n < 16) out[(*n)++] = j;
        return;
    }
    if (t == NULL) t = j;
    for (size_t i = 0; i < asc_json_len(t) && asc_json_typeof(t) == ASC_JSON_ARRAY; i++)
        collect(asc_json_at(t, i), out, n);
}

/* How far a recorded number is from ours, in what it may be: a number of one run (d is NULL), or one draw. */
static double distance(double ours, double v, const golden_draws *d, double tolerance) {
    double room =
        tolerance + 1e-5 * fabs(v); /* the recorded numbers are f32 sums: 1e-5 of their size on top */
    return d != NULL ? golden_draws_distance(d, v, room) : fabs(ours - v) / room;
}

/* ours: over the runs (deterministic: one run, NULL). False, and nothing counted, when `again` is allowed and
 * a draw lies too far out. */
static bool compare(config *c, const char *what, const asc_json *want, const asc_attribution *r,
                    golden_draws *const *ours, bool again, double tolerance) {
    const asc_json *arrays[16];
    double worst[16] = {0};
    size_t n = 0;
    collect(want, arrays, &n);
    if (n != r->n_scores) {
        goldens_fail(c->g, "%s: %zu arrays for %zu", what, r->n_scores, n);
        return true;
    }
    for (size_t k = 0; k < n; k++) {
        golden_array w;
        if (!golden_array_read(arrays[k], &w) ||
            asc_array_count(&w.a) != asc_shape_elems(&r->scores[k].shape)) {
            goldens_fail(c->g, "%s: array %zu has another size", what, k);
            golden_array_free(&w);
            return true;
        }
        for (int64_t i = 0; i < asc_array_count(&w.a); i++) {
            double v;
            asc_array_get(&w.a, i, 1, &v);
            worst[k] = fmax(worst[k],
                            distance(r->scores[k].data[i], v, ours != NULL ? &ours[k][i] : NULL, tolerance));
        }
        golden_array_free(&w);
        if (again && worst[k] > 1.0) return false;
    }
    for (size_t k = 0; k < n; k++) goldens_check(c->g, worst[k], "%s: array %zu", what, k);
    return true;
}

/* Captum's mean and deviation over `runs` runs against ours over MANY: means within 4 standard errors of
 * their difference, deviations within 30 %, which is 5 standard errors of a deviation over 300 runs of a
 * normal number, or absent on both sides. */
static void compare_distribution(config *c, const char *what, const asc_json *result,
                                 const asc_attribution *r, golden_draws *const *ours) {
    const asc_json *means[16], *deviations[16];
    size_t n = 0, m = 0;
    double runs = asc_json_num(asc_json_get(result, "runs"), 1.0);
    collect(asc_json_get(result, "mean"), means, &n);
    collect(asc_json_get(result, "std"), deviations, &m);
    if (n != r->n_scores || m != n) {
        goldens_fail(c->g, "%s: %zu arrays for %zu", what, r->n_scores, n);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        golden_array a, b = {0};
        double worst = 0.0, wide = 0.0;
        if (!golden_array_read(means[k], &a) || !golden_array_read(deviations[k], &b) ||
            asc_array_count(&a.a) != asc_shape_elems(&r->scores[k].shape)) {
            goldens_fail(c->g, "%s: array %zu has another size", what, k);
        } else {
            for (int64_t i = 0; i < asc_array_count(&a.a); i++) {
                double u, s, d = golden_draws_deviation(&ours[k][i]);
                asc_array_get(&a.a, i, 1, &u);
                asc_array_get(&b.a, i, 1, &s);
                double error = sqrt(s * s / runs + d * d / MANY), small = 1e-3 + 1e-4 * fabs(u);
                worst = fmax(worst, fabs(ours[k][i].mean - u) / (4.0 * error + small));
                wide = fmax(wide, fabs(d - s) / (0.3 * s + small));
            }
            goldens_check(c->g, worst, "%s: mean of array %zu", what, k);
            goldens_check(c->g, wide, "%s: deviation of array %zu", what, k);
        }
        golden_array_free(&a);
        golden_array_free(&b);
    }
}

/* A stochastic method over seeds. r: of the last; NULL when a run failed. */
static asc_attribution *run_seeds(config *c, const char *what, int seeds, golden_draws *ours[16]) {
    asc_attribution *r = NULL;
    for (int s = 0; s < seeds; s++) {
        asc_attribution_destroy(c->g->ctx, r);
        c->q.seed = (uint64_t)s + 1;
        if (asc_attribute(c->model->net, &c->q, &r) != ASC_OK) {
            goldens_fail(c->g, "%s: %s", what, asc_error_message(c->g->ctx));
            return NULL;
        }
        if (s == 0) goldens_asked(c->g, c->model->net, &c->q, r, what);
        for (size_t k = 0; k < r->n_scores && k < 16; k++) {
            size_t m = (size_t)asc_shape_elems(&r->scores[k].shape);
            if (s == 0 && (ours[k] = calloc(m + 1, sizeof *ours[k])) == NULL) abort();
            for (size_t i = 0; i < m; i++) golden_draws_add(&ours[k][i], r->scores[k].data[i]);
        }
    }
    return r;
}

/* want: one draw of Captum's, or NULL: result has its mean and deviation. */
static void stochastic(config *c, const char *what, const asc_json *want, const asc_json *result,
                       double tolerance) {
    bool done = false;
    for (int turn = 0; turn < 2 && !done; turn++) {
        golden_draws *ours[16] = {0};
        asc_attribution *r = run_seeds(c, what,
                                       want == NULL ? MANY
                                       : turn == 0  ? GOLDEN_FEW
                                                    : GOLDEN_MANY,
                                       ours);
        done = r == NULL || want == NULL || compare(c, what, want, r, ours, turn == 0, tolerance);
        if (r != NULL && want == NULL) compare_distribution(c, what, result, r, ours);
        for (size_t k = 0; k < 16; k++) free(ours[k]);
        asc_attribution_destroy(c->g->ctx, r);
    }
}

static void check_delta(config *c, const char *what, const asc_json *want, const asc_attribution *r,
                        double tolerance) {
    golden_array w;
    if (!golden_array_read(want, &w)) return;
    if ((size_t)asc_array_count(&w.a) != r->n_delta) {
        goldens_fail(c->g, "%s: %zu deltas for %lld", what, r->n_delta, (long long)asc_array_count(&w.a));
    } else {
        double worst = 0.0;
        for (size_t i = 0; i < r->n_delta; i++) {
            double v;
            asc_array_get(&w.a, (int64_t)i, 1, &v);
            worst = fmax(worst, fabs(r->delta[i] - v));
        }
        /* a delta is the small difference of sums in f32: their roundoff, for sums up to a few hundred */
        goldens_check(c->g, worst / fmax(tolerance, 2e-3), "%s: delta", what);
    }
    golden_array_free(&w);
}

/* Pairs whose recorded number comes from one of Captum's faults (docs/captum-differences.md): LRP sees
 * modules alone, so that a sum of inputs hands its relevance to each of them and a factor multiplies it. */
static bool is_fault(const config *c, const char *method) {
    return strcmp(method, "lrp") == 0 && (c->n_moving > 1 || c->options.multidim_output);
}

static void run_class(config *c, asc_view captum, const asc_json *result) {
    char name[64], what[300];
    snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(captum));
    snprintf(what, sizeof what, "%s of %s", name, c->name);
    const golden_class *k = golden_class_find(captum);
    if (k == NULL) {
        goldens_fail(c->g, "%s: unknown class", what);
        return;
    }
    bool tunnel = asc_json_bool(asc_json_get(c->line, "noise_tunnel"), false),
         random = k->stochastic || asc_json_bool(asc_json_get(result, "stochastic"), false);
    bool distribution = asc_json_get(result, "runs") != NULL;
    if (random && !distribution && c->g->quick) return;
    asc_attr_request saved = c->q;
    asc_target unit = {0};
    bool through_layer =
        strcmp(k->method, "guided-grad-cam") == 0 || strcmp(k->method, "neuron-conductance") == 0;
    c->q.method = tunnel ? "noise-tunnel" : k->method;
    c->q.base = tunnel ? k->method : NULL;
    c->q.rule = k->rule;
    c->q.norm = k->norm;
    c->q.compat_captum = (random && !tunnel) || is_fault(c, k->method);
    c->q.samples = (size_t)asc_json_int(asc_json_get(c->args, tunnel ? "nt_samples" : "n_samples"), 0);
    /* Captum's default here is the trapezoid, whose weights do not add up to 1 */
    if (strcmp(k->method, "neuron-conductance") == 0) {
        c->q.rule = "riemann-trapezoid";
        c->q.compat_captum = true;
    }
    if (k->neuron || strcmp(k->method, "neuron-conductance") == 0) {
        if (!config_unit(c, &unit)) goldens_fail(c->g, "%s: %s", what, asc_error_message(c->g->ctx));
        if (k->neuron)
            c->q.target = unit;
        else
            c->q.neuron = unit;
    }
    if (through_layer && !k->neuron && unit.value == NULL) c->q.neuron = (asc_target){.value = c->sites[0]};
    if (!k->layer || through_layer) c->q.n_at = 0;
    if (strcmp(k->method, "layer-activation") == 0) c->q.target = (asc_target){0};
    double tolerance = asc_json_num(asc_json_get(c->line, "target_delta"), 1e-4);
    const asc_json *attr = asc_json_get(result, "attr");
    if (random) {
        stochastic(c, what, distribution ? NULL : attr, result, tolerance);
    } else {
        asc_attribution *r = NULL;
        if (asc_attribute(c->model->net, &c->q, &r) != ASC_OK) {
            goldens_fail(c->g, "%s: %s", what, asc_error_message(c->g->ctx));
        } else {
            compare(c, what, attr, r, NULL, false, tolerance);
            goldens_asked(c->g, c->model->net, &c->q, r, what);
            if (strcmp(k->method, "lrp") != 0)
                check_delta(c, what, asc_json_get(result, "delta"), r, tolerance);
        }
        asc_attribution_destroy(c->g->ctx, r);
    }
    free(c->weights);
    c->weights = NULL;
    c->q = saved;
}

static bool open_model(config *c) {
    char model[64];
    asc_view m = asc_json_str(asc_json_get(c->line, "model"));
    snprintf(model, sizeof model, ASC_VIEW_FMT, ASC_VIEW_ARG(m));
    c->options.multi_input_module = asc_json_bool(asc_json_get(c->line, "multi_input_module"), false);
    return config_model(c, model, NULL, asc_json_get(c->line, "state_dict"));
}

void goldens_captum_config(goldens *g, const asc_json *line) {
    config c = {.g = g, .line = line, .args = asc_json_get(line, "args")};
    asc_view name = asc_json_str(asc_json_get(line, "name"));
    snprintf(c.name, sizeof c.name, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
    c.q = (asc_attr_request){.struct_size = sizeof c.q, .inputs = c.inputs, .fixed = c.fixed};
    if (!config_inputs(&c)) {
        goldens_fail(g, "%s: inputs", c.name);
    } else if (!open_model(&c)) {
        goldens_fail(g, "%s: %s", c.name, asc_error_message(g->ctx));
    } else {
        void *iter = NULL;
        asc_view key;
        const asc_json *result;
        c.q.n_inputs = c.n_arrays;
        config_target(&c, asc_json_get(c.args, "target"), &c.q.target);
        config_layer(&c, asc_json_get(line, "layer"));
        config_window(&c);
        c.stdev = asc_json_num(asc_json_get(c.args, "stdevs"), 0.0);
        if (asc_json_get(c.args, "stdevs") != NULL) {
            c.q.stdevs = &c.stdev;
            c.q.n_stdevs = 1;
        }
        c.q.rows_per_pass = (size_t)asc_json_int(asc_json_get(c.args, "perturbations_per_eval"), 0);
        c.q.rows_per_pass += (size_t)asc_json_int(asc_json_get(c.args, "internal_batch_size"), 0);
        while (asc_json_next(asc_json_get(line, "results"), &iter, &key, &result)) run_class(&c, key, result);
    }
    config_free(&c);
}
