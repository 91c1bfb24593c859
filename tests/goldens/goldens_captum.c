/* goldens_captum.c - Captum's shared test configurations on its toy models (captum_config_golden.jsonl):
 * every pair of a configuration and a class. Deterministic pairs are compared within the tolerance that
 * Captum's own tests use; for stochastic ones the recorded number is one draw, so it must lie within 3
 * deviations of our mean over 20 seeds. */
#include "goldens_array.h"
#include "toy_models.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX = 8, MAX_INDEX = 4096, SEEDS = 20 };

typedef struct config {
    goldens *g;
    const asc_json *line, *args;
    char name[128];
    toy *model;
    golden_array arrays[2 * MAX], baselines[MAX];
    asc_array inputs[2 * MAX], bases[2 * MAX];
    size_t n_arrays, n_moving;
    toy_options options;
    int64_t index[MAX_INDEX], unit[MAX];
    int64_t window[MAX * ASC_MAX_RANK];
    double stdev, numbers[2 * MAX], *weights;
    bool fixed[2 * MAX];
    char sites[MAX][96];
    const char *at[MAX];
    asc_attr_request q;
} config;

/* Entry i of an array or {"tuple": [...]}, itself when it is neither. */
static const asc_json *item(const asc_json *j, size_t i) {
    const asc_json *t = asc_json_get(j, "tuple");
    if (t != NULL) return asc_json_at(t, i);
    return i == 0 ? j : NULL;
}

static size_t items(const asc_json *j) {
    const asc_json *t = asc_json_get(j, "tuple");
    return t != NULL ? asc_json_len(t) : j != NULL ? 1 : 0;
}

static bool read_inputs(config *c) {
    const asc_json *in = asc_json_get(c->args, "inputs"),
                   *more = asc_json_get(c->args, "additional_forward_args");
    c->n_moving = items(in);
    for (size_t i = 0; i < items(in) && c->n_arrays < MAX; i++) {
        if (!golden_array_read(item(in, i), &c->arrays[c->n_arrays])) return false;
        c->inputs[c->n_arrays] = c->arrays[c->n_arrays].a;
        c->n_arrays++;
    }
    for (size_t i = 0; i < items(more) && c->n_arrays < 2 * MAX; i++) {
        const asc_json *j = item(more, i);
        asc_json_type t = asc_json_typeof(j);
        if (t == ASC_JSON_NULL) continue;
        if (t == ASC_JSON_BOOL) {
            c->options.multidim_output = asc_json_bool(j, false);
            continue;
        }
        if (t == ASC_JSON_INT || t == ASC_JSON_REAL) {
            c->numbers[i] = asc_json_num(j, 0.0);
            c->inputs[c->n_arrays] = (asc_array){.elem = ASC_ELEM_F64, .data = &c->numbers[i]};
        } else if (golden_array_read(j, &c->arrays[c->n_arrays])) {
            c->inputs[c->n_arrays] = c->arrays[c->n_arrays].a;
        } else {
            return false;
        }
        c->fixed[c->n_arrays++] = true;
    }
    const asc_json *b = asc_json_get(c->args, "baselines");
    for (size_t i = 0; i < items(b) && i < MAX; i++) {
        if (!golden_array_read(item(b, i), &c->baselines[i])) return false;
        c->bases[i] = c->baselines[i].a;
    }
    if (b != NULL) {
        c->q.baselines = c->bases;
        c->q.n_baselines = c->n_arrays;
    }
    return true;
}

static bool read_target(config *c, const asc_json *j, asc_target *out) {
    golden_array a;
    *out = (asc_target){.index = c->index, .rank = 1};
    if (j == NULL || asc_json_typeof(j) == ASC_JSON_NULL) {
        *out = (asc_target){0};
    } else if (asc_json_typeof(j) == ASC_JSON_INT) {
        c->index[0] = asc_json_int(j, 0);
        out->n_rows = 1;
    } else if (golden_array_read(j, &a)) {
        out->n_rows = (size_t)asc_array_count(&a.a);
        for (size_t i = 0; i < out->n_rows && i < MAX_INDEX; i++) {
            double v;
            asc_array_get(&a.a, (int64_t)i, 1, &v);
            c->index[i] = (int64_t)v;
        }
        golden_array_free(&a);
    } else if (asc_json_typeof(j) == ASC_JSON_ARRAY) {
        out->n_rows = asc_json_len(j);
        for (size_t i = 0; i < out->n_rows; i++) {
            const asc_json *e = asc_json_at(j, i);
            out->rank = (int)items(e);
            for (size_t d = 0; d < items(e); d++)
                c->index[i * (size_t)out->rank + d] = asc_json_int(item(e, d), 0);
        }
    } else {
        return false;
    }
    return true;
}

static bool has_site(const config *c, const char *name) {
    for (size_t i = 0; asc_net_site(c->model->net, i) != NULL; i++) {
        if (strcmp(asc_net_site(c->model->net, i), name) == 0) return true;
    }
    return false;
}

static void add_site(config *c, asc_view name) {
    char plain[64], one[96];
    snprintf(plain, sizeof plain, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
    if (has_site(c, plain)) {
        snprintf(c->sites[c->q.n_at], sizeof c->sites[0], "%s", plain);
        c->at[c->q.n_at] = c->sites[c->q.n_at];
        c->q.n_at++;
        return;
    }
    for (int i = 1; i < 3; i++) { /* a module of two outputs */
        snprintf(one, sizeof one, "%s.relu%d", plain, i);
        if (!has_site(c, one)) continue;
        snprintf(c->sites[c->q.n_at], sizeof c->sites[0], "%s", one);
        c->at[c->q.n_at] = c->sites[c->q.n_at];
        c->q.n_at++;
    }
}

static void read_layer(config *c) {
    const asc_json *l = asc_json_get(c->line, "layer");
    if (asc_json_typeof(l) == ASC_JSON_STRING) add_site(c, asc_json_str(l));
    for (size_t i = 0; i < asc_json_len(l); i++) add_site(c, asc_json_str(asc_json_at(l, i)));
    c->q.at = c->at;
}

/* Slices select several units: a weight of 1 at each. shape is that of one example's value at the site. */
static bool unit_weights(config *c, const asc_json *sel, const asc_shape *shape) {
    size_t n = (size_t)asc_shape_elems(shape);
    c->weights = calloc(n + 1, sizeof *c->weights);
    if (c->weights == NULL) abort();
    for (size_t e = 0; e < n; e++) {
        size_t rest = e;
        bool in = true;
        for (int d = shape->rank - 1; d >= 0; d--) {
            int64_t at = (int64_t)(rest % (size_t)shape->dims[d]);
            rest /= (size_t)shape->dims[d];
            const asc_json *s = item(sel, (size_t)d), *r = asc_json_get(s, "slice");
            if (s == NULL) continue;
            if (r == NULL) {
                in = in && at == asc_json_int(s, -1);
                continue;
            }
            int64_t from = asc_json_int(asc_json_at(r, 0), 0),
                    to = asc_json_int(asc_json_at(r, 1), shape->dims[d]),
                    step = asc_json_int(asc_json_at(r, 2), 1);
            in = in && at >= from && at < to && (at - from) % step == 0;
        }
        c->weights[e] = in ? 1.0 : 0.0;
    }
    return true;
}

static bool read_unit(config *c, asc_target *out) {
    const asc_json *sel = asc_json_get(c->args, "neuron_selector");
    asc_array v = {0};
    const char *site = c->sites[0];
    *out = (asc_target){.value = site};
    if (asc_net_run(c->model->net, c->inputs, c->n_arrays, &site, 1, &v) != ASC_OK) return false;
    asc_shape s = {.rank = v.shape.rank - 1};
    for (int d = 0; d < s.rank; d++) s.dims[d] = v.shape.dims[d + 1];
    asc_array_free(c->g->ctx, &v);
    unit_weights(c, sel, &s);
    out->weights = c->weights;
    out->weight_rows = 1;
    return true;
}

static void read_window(config *c) {
    const asc_json *w = asc_json_get(c->args, "sliding_window_shapes");
    bool nested = asc_json_get(item(w, 0), "tuple") != NULL;
    for (size_t i = 0; i < items(w); i++) {
        const asc_json *one = nested ? item(w, i) : NULL;
        for (size_t d = 0; nested && d < items(one); d++)
            c->window[c->q.n_window++] = asc_json_int(item(one, d), 1);
        if (!nested) c->window[c->q.n_window++] = asc_json_int(item(w, i), 1);
    }
    c->q.window = c->window;
}

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

/* ours: mean over the runs and its deviation (deterministic: one run, NULL). */
static void compare(config *c, const char *what, const asc_json *want, const asc_attribution *r,
                    double *const *mean, double *const *deviation, double tolerance) {
    const asc_json *arrays[16];
    size_t n = 0;
    collect(want, arrays, &n);
    if (n != r->n_scores) {
        goldens_fail(c->g, "%s: %zu arrays for %zu", what, r->n_scores, n);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        golden_array w;
        if (!golden_array_read(arrays[k], &w) ||
            asc_array_count(&w.a) != asc_shape_elems(&r->scores[k].shape)) {
            goldens_fail(c->g, "%s: array %zu has another size", what, k);
            golden_array_free(&w);
            continue;
        }
        double worst = 0.0;
        for (int64_t i = 0; i < asc_array_count(&w.a); i++) {
            double v;
            asc_array_get(&w.a, i, 1, &v);
            double d = mean != NULL ? deviation[k][i] : 0.0,
                   ours = mean != NULL ? mean[k][i] : r->scores[k].data[i];
            /* the recorded numbers are f32 sums: 1e-5 of their size on top */
            worst = fmax(worst,
                         fabs(ours - v) / (tolerance + 1e-5 * fabs(v) + 3.0 * d * sqrt(1.0 + 1.0 / SEEDS)));
        }
        goldens_check(c->g, worst, "%s: array %zu", what, k);
        golden_array_free(&w);
    }
}

/* Mean and deviation of a stochastic method over seeds. */
static void stochastic(config *c, const char *what, const asc_json *want, double tolerance) {
    double *mean[16] = {0}, *deviation[16] = {0};
    asc_attribution *r = NULL;
    size_t n = 0;
    for (int s = 0; s < SEEDS; s++) {
        asc_attribution_destroy(c->g->ctx, r);
        c->q.seed = (uint64_t)s + 1;
        if (asc_attribute(c->model->net, &c->q, &r) != ASC_OK) {
            goldens_fail(c->g, "%s: %s", what, asc_error_message(c->g->ctx));
            return;
        }
        n = r->n_scores < 16 ? r->n_scores : 16;
        for (size_t k = 0; k < n; k++) {
            size_t m = (size_t)asc_shape_elems(&r->scores[k].shape);
            if (s == 0) {
                mean[k] = calloc(m, sizeof(double));
                deviation[k] = calloc(m, sizeof(double));
                if (mean[k] == NULL || deviation[k] == NULL) abort();
            }
            for (size_t i = 0; i < m; i++) { /* Welford */
                double d = r->scores[k].data[i] - mean[k][i];
                mean[k][i] += d / (s + 1);
                deviation[k][i] += d * (r->scores[k].data[i] - mean[k][i]);
            }
        }
    }
    for (size_t k = 0; k < n; k++) {
        size_t m = (size_t)asc_shape_elems(&r->scores[k].shape);
        for (size_t i = 0; i < m; i++) deviation[k][i] = sqrt(deviation[k][i] / (SEEDS - 1));
    }
    compare(c, what, want, r, mean, deviation, tolerance);
    for (size_t k = 0; k < 16; k++) {
        free(mean[k]);
        free(deviation[k]);
    }
    asc_attribution_destroy(c->g->ctx, r);
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
    asc_attr_request saved = c->q;
    asc_target unit = {0};
    bool through_layer =
        strcmp(k->method, "guided-grad-cam") == 0 || strcmp(k->method, "neuron-conductance") == 0;
    c->q.method = tunnel ? "noise-tunnel" : k->method;
    c->q.base = tunnel ? k->method : NULL;
    c->q.rule = k->rule;
    c->q.norm = k->norm;
    c->q.compat_captum = random && !tunnel;
    c->q.samples = (size_t)asc_json_int(asc_json_get(c->args, tunnel ? "nt_samples" : "n_samples"), 0);
    /* Captum's default here is the trapezoid, whose weights do not add up to 1 */
    if (strcmp(k->method, "neuron-conductance") == 0) {
        c->q.rule = "riemann-trapezoid";
        c->q.compat_captum = true;
    }
    if (k->neuron || strcmp(k->method, "neuron-conductance") == 0) {
        if (!read_unit(c, &unit)) goldens_fail(c->g, "%s: %s", what, asc_error_message(c->g->ctx));
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
        stochastic(c, what, attr, tolerance);
    } else {
        asc_attribution *r = NULL;
        if (asc_attribute(c->model->net, &c->q, &r) != ASC_OK) {
            goldens_fail(c->g, "%s: %s", what, asc_error_message(c->g->ctx));
        } else {
            compare(c, what, attr, r, NULL, NULL, tolerance);
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
    char model[64], path[4200];
    asc_view m = asc_json_str(asc_json_get(c->line, "model"));
    snprintf(model, sizeof model, ASC_VIEW_FMT, ASC_VIEW_ARG(m));
    c->options.multi_input_module = asc_json_bool(asc_json_get(c->line, "multi_input_module"), false);
    snprintf(path, sizeof path, "%s/captum_model_weights.jsonl", c->g->folder);
    if (access(path, R_OK) != 0) { /* the models do not change: the copy beside the tests */
        const char *data = getenv("ASC_TEST_DATA");
        snprintf(path, sizeof path, "%s/goldens/captum_model_weights.jsonl",
                 data != NULL ? data : "tests/data");
    }
    const asc_json *state = asc_json_get(c->line, "state_dict");
    if (toy_open(c->g->ctx, path, model, NULL, state, &c->options, c->inputs, c->n_arrays, &c->model) ==
        ASC_OK)
        return true;
    goldens_fail(c->g, "%s: %s", c->name, asc_error_message(c->g->ctx));
    return false;
}

void goldens_captum_config(goldens *g, const asc_json *line) {
    config c = {.g = g, .line = line, .args = asc_json_get(line, "args")};
    asc_view name = asc_json_str(asc_json_get(line, "name"));
    snprintf(c.name, sizeof c.name, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
    c.q = (asc_attr_request){.struct_size = sizeof c.q, .inputs = c.inputs, .fixed = c.fixed};
    if (!read_inputs(&c)) {
        goldens_fail(g, "%s: inputs", c.name);
    } else if (open_model(&c)) {
        void *iter = NULL;
        asc_view key;
        const asc_json *result;
        c.q.n_inputs = c.n_arrays;
        read_target(&c, asc_json_get(c.args, "target"), &c.q.target);
        read_layer(&c);
        read_window(&c);
        c.stdev = asc_json_num(asc_json_get(c.args, "stdevs"), 0.0);
        if (asc_json_get(c.args, "stdevs") != NULL) {
            c.q.stdevs = &c.stdev;
            c.q.n_stdevs = 1;
        }
        c.q.rows_per_pass = (size_t)asc_json_int(asc_json_get(c.args, "perturbations_per_eval"), 0);
        c.q.rows_per_pass += (size_t)asc_json_int(asc_json_get(c.args, "internal_batch_size"), 0);
        while (asc_json_next(asc_json_get(line, "results"), &iter, &key, &result)) run_class(&c, key, result);
    }
    toy_close(g->ctx, c.model);
    for (size_t i = 0; i < 2 * MAX; i++) golden_array_free(&c.arrays[i]);
    for (size_t i = 0; i < MAX; i++) golden_array_free(&c.baselines[i]);
}
