/* goldens_onnx.c - attributions on ONNX files: case.json beside model.onnx, or with a file inside a wheel on
 * PyPI (the script that calls this program unpacks it). */
#include "file.h"
#include "goldens_array.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_IN = 8, MAX_ELEMS = 1 << 22 };

typedef struct onnx_case {
    goldens *g;
    asc_net *net;
    const char *file; /* name of the model file within its folder: some fields are per file */
    const asc_json *k;
    golden_array in[MAX_IN], rows;
    asc_array inputs[MAX_IN];
    int64_t index[64 * ASC_MAX_RANK];
    asc_target target;
    bool no_batch, f64;
    double floor; /* of the noise of an array */
    double flips; /* largest noise of an integrated gradient in this file */
} onnx_case;

/* A string, or the entry of this file in an object. */
static asc_view per_file(const onnx_case *c, const asc_json *j) {
    return asc_json_typeof(j) == ASC_JSON_OBJECT ? asc_json_str(asc_json_get(j, c->file)) : asc_json_str(j);
}

static bool has_text(const asc_json *o, const char *key, const char *part) {
    asc_view v = asc_json_str(asc_json_get(o, key));
    char text[256];
    snprintf(text, sizeof text, ASC_VIEW_FMT, ASC_VIEW_ARG(v));
    return v.ptr != NULL && strstr(text, part) != NULL;
}

static void copy_text(asc_view v, char *out, size_t size) {
    snprintf(out, size, ASC_VIEW_FMT, ASC_VIEW_ARG(v));
}

/* Our scores as the file lays them out: summed over the last axis, or one value per cell of a coarser grid.
 */
static void reduce(const asc_json *a, const asc_scores *s, double *out, const asc_shape *want) {
    size_t n = (size_t)asc_shape_elems(&s->shape), m = (size_t)asc_shape_elems(want);
    if (n == m) {
        memcpy(out, s->data, n * sizeof *out);
    } else if (has_text(asc_json_get(a, "options"), "reduction", "sum over the last axis")) {
        for (size_t i = 0; i < m; i++) {
            out[i] = 0.0;
            for (size_t k = 0; k < n / m; k++) out[i] += s->data[i * (n / m) + k];
        }
    } else { /* any element of a cell: the first */
        for (size_t i = 0; i < m; i++) {
            size_t rest = i, at = 0, step = 1;
            for (int d = want->rank - 1; d >= 0; d--) {
                size_t cell = rest % (size_t)want->dims[d],
                       width = (size_t)(s->shape.dims[d] / want->dims[d]);
                rest /= (size_t)want->dims[d];
                at += cell * width * step;
                step *= (size_t)s->shape.dims[d];
            }
            out[i] = s->data[at];
        }
    }
}

/* Captum's occlusion divides in f32: its arrays hold such numbers whatever their type says. */
static bool kept_in_f32(const asc_json *j) {
    golden_array a;
    bool all = true;
    if (!golden_array_read(j, &a)) return false;
    for (int64_t i = 0; all && i < asc_array_count(&a.a); i++) {
        double v;
        asc_array_get(&a.a, i, 1, &v);
        all = (double)(float)v == v;
    }
    golden_array_free(&a);
    return all;
}

static void compare(onnx_case *c, const asc_json *a, const asc_scores *s, const char *what) {
    goldens *g = c->g;
    golden_array want;
    double *got = malloc(MAX_ELEMS * sizeof *got);
    double noise = asc_json_num(asc_json_get(a, "f32_noise"), 0.0), largest = 0.0, worst = 0.0;
    bool rounded = kept_in_f32(asc_json_get(a, "array"));
    if (got == NULL) abort();
    largest = fabs(asc_json_num(asc_json_get(asc_json_get(a, "summary"), "max_abs"), 0.0));
    /* f64: two programs' sums differ by a few hundred roundings; arrays kept in f32 by its roundoff. f32: the
     * noise that was recorded is one draw; another order of sums gives a few times that. */
    /* a path through kinks may take another branch at some node in one f32 program and not in the other: how
     * much that can be shows in the worst case of the file */
    if (asc_view_eqs(asc_json_str(asc_json_get(a, "method")), "IntegratedGradients"))
        noise = fmax(noise, c->flips);
    bool refolded =
        strcmp(c->file, "model.onnx") != 0; /* the newer exporter folds norms into f32 weights again */
    double tolerance = c->f64 && !refolded ? (rounded ? 1e-7 : 1e-8) : GOLDENS_FACTOR * fmax(noise, c->floor);
    if (golden_array_read(asc_json_get(a, "array"), &want)) {
        size_t n = (size_t)asc_array_count(&want.a);
        if (n > MAX_ELEMS || asc_shape_elems(&s->shape) > MAX_ELEMS) abort();
        reduce(a, s, got, &want.a.shape);
        for (size_t i = 0; i < n; i++) {
            double w;
            asc_array_get(&want.a, (int64_t)i, 1, &w);
            worst = fmax(worst, fabs(got[i] - w));
        }
        goldens_check(g, worst / (largest * tolerance + 1e-300), "%s: off by %.3g of the largest", what,
                      worst / largest);
    }
    const asc_json *samples = asc_json_get(a, "samples");
    for (size_t i = 0; i < asc_json_len(samples); i++) {
        const asc_json *pair = asc_json_at(samples, i);
        int64_t at = asc_json_int(asc_json_at(pair, 0), 0);
        if (at < 0 || at >= asc_shape_elems(&s->shape)) continue;
        worst = fabs(s->data[at] - asc_json_num(asc_json_at(pair, 1), 0.0));
        goldens_check(g, worst / (largest * fmax(tolerance, c->f64 ? 1e-8 : 0.0) + 1e-300),
                      "%s: sample %zu off by %.3g of the largest", what, i, worst / largest);
    }
    golden_array_free(&want);
    free(got);
}

/* One group per cell of the expected array. */
static int64_t *cell_mask(const asc_json *a, const asc_shape *input, asc_array *out) {
    const asc_json *shape = asc_json_get(asc_json_get(a, "array"), "shape");
    int64_t n = asc_shape_elems(input) / input->dims[0];
    int64_t *ids = malloc((size_t)n * sizeof *ids);
    if (ids == NULL || (int)asc_json_len(shape) != input->rank) {
        free(ids);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, id = 0, step = 1;
        for (int d = input->rank - 1; d >= 1; d--) {
            int64_t cells = asc_json_int(asc_json_at(shape, (size_t)d), 1), at = rest % input->dims[d];
            rest /= input->dims[d];
            id += at * cells / input->dims[d] * step;
            step *= cells;
        }
        ids[i] = id;
    }
    *out = (asc_array){.elem = ASC_ELEM_I64, .shape = *input, .data = ids};
    out->shape.dims[0] = 1;
    return ids;
}

static size_t read_ints(const asc_json *list, int64_t *out, size_t most) {
    size_t n = asc_json_len(list) < most ? asc_json_len(list) : most;
    for (size_t i = 0; i < n; i++) out[i] = asc_json_int(asc_json_at(list, i), 0);
    return n;
}

static void run_one(onnx_case *c, const asc_json *a) {
    goldens *g = c->g;
    char name[64], site[256] = "", neuron[256] = "", what[400];
    const asc_json *o = asc_json_get(a, "options");
    copy_text(asc_json_str(asc_json_get(a, "method")), name, sizeof name);
    const golden_class *k = golden_class_find(asc_view_of(name));
    bool old = asc_json_get(a, "reference") != NULL && !asc_json_bool(asc_json_get(a, "reference"), true);
    /* Captum's own numbers where they are not what the method means: met with compat_captum where an op has
     * no rule, or where a ReLU feeds a pool. What its pools lose in overlapping windows is not copied. */
    bool compat = old && (asc_json_get(o, "variant") != NULL || has_text(a, "note", "no rule in Captum"));
    if ((old && !compat) || asc_json_get(a, "captum_error") != NULL) return;
    if (k == NULL) {
        goldens_fail(g, "unknown method %s", name);
        return;
    }
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = k->method,
                          .inputs = c->inputs,
                          .n_inputs = asc_net_n_inputs(c->net),
                          .no_batch = c->no_batch,
                          .target = c->target,
                          .norm = k->norm,
                          .rule = k->rule,
                          .resize = "nearest",
                          .compat_captum = compat,
                          .steps = (size_t)asc_json_int(asc_json_get(o, "n_steps"), 0)};
    asc_array base[MAX_IN] = {{0}}, site_base = {0}, mask = {0};
    int64_t window[ASC_MAX_RANK], stride[ASC_MAX_RANK], unit[ASC_MAX_RANK], *ids = NULL;
    double low = asc_json_num(asc_json_get(o, "baseline"), 0.0), zero = 0.0;
    char rule[32];
    if (k->rule != NULL && asc_json_get(o, "rule") != NULL) { /* LRP's option of this name is another */
        copy_text(asc_json_str(asc_json_get(o, "rule")), rule, sizeof rule);
        q.rule = rule;
    }
    const char *at = site;
    bool fixed[MAX_IN] = {0};
    copy_text(per_file(c, asc_json_get(a, "of")), site, sizeof site);
    for (size_t i = 0; i < q.n_inputs; i++) {
        bool is_input = strcmp(site, asc_net_input(c->net, i).name) == 0;
        if (is_input) at = NULL;
        base[i] = (asc_array){.elem = ASC_ELEM_F64, .shape = {0}, .data = &low};
        if (has_text(o, "baseline", "tokens 256")) low = 256.0;
    }
    for (size_t i = 0; i < q.n_inputs; i++)
        fixed[i] = at == NULL && strcmp(site, asc_net_input(c->net, i).name) != 0;
    if (q.n_inputs > 1 && at == NULL) q.fixed = fixed;
    q.baselines = base;
    q.n_baselines = q.n_inputs;
    if (asc_json_get(o, "layer") != NULL) { /* NULL entry: the layer is not in this file */
        copy_text(per_file(c, asc_json_get(o, "layer")), neuron, sizeof neuron);
        if (neuron[0] == '\0') return;
    }
    if (at != NULL && site[0] == '\0') return;
    if (k->layer && at == NULL) { /* guided grad-cam: scores of the input, by way of a layer */
        q.neuron.value = neuron;
    } else if (at != NULL) {
        q.at = &at;
        q.n_at = 1;
    }
    if (k->neuron || strcmp(k->method, "neuron-conductance") == 0) {
        asc_target unit_target = {.value = neuron, .n_rows = 1, .index = unit};
        unit_target.rank = (int)read_ints(asc_json_get(o, "neuron"), unit, ASC_MAX_RANK);
        if (k->neuron)
            q.target = unit_target;
        else
            q.neuron = unit_target;
    }
    if (has_text(o, "baseline", "zero") && at != NULL) {
        site_base = (asc_array){.elem = ASC_ELEM_F64, .data = &zero};
        q.at_baselines = &site_base;
        q.n_at_baselines = 1;
    }
    if (asc_json_get(o, "baselines") != NULL && c->rows.data != NULL) base[0] = c->rows.a;
    if (asc_json_get(o, "feature_mask") != NULL && (ids = cell_mask(a, &c->inputs[0].shape, &mask)) != NULL) {
        q.masks = &mask;
        q.n_masks = 1;
    }
    if (asc_json_get(o, "window") != NULL) {
        q.n_window = read_ints(asc_json_get(o, "window"), window, ASC_MAX_RANK);
        read_ints(asc_json_get(o, "strides"), stride, ASC_MAX_RANK);
        q.window = window;
        q.stride = stride;
    }
    if (has_text(o, "rule", "alpha 1 beta 0")) {
        /* Captum's Alpha1_Beta0_Rule keeps the positive weights, whatever the signs of the inputs */
        static const asc_rule_choice rules[] = {{.op = "conv", .rule = "z-plus"},
                                                {.rule = "epsilon", .a = 1e-9}};
        q.rules = rules;
        q.n_rules = 2;
        /* folded into the weights, batch normalisation changes which of them are positive */
        if (strcmp(c->file, "model.onnx") != 0) return;
    }
    snprintf(what, sizeof what, "%s at %s (%s)", name, site, c->file);
    asc_attribution *r = NULL;
    if (asc_attribute(c->net, &q, &r) != ASC_OK)
        goldens_fail(g, "%s: %s", what, asc_error_message(g->ctx));
    else if (r->n_scores < 1)
        goldens_fail(g, "%s: no scores", what);
    else
        compare(c, a, &r->scores[0], what);
    if (r != NULL) goldens_asked(g, c->net, &q, r, what);
    asc_attribution_destroy(g->ctx, r);
    free(ids);
}

static bool read_inputs(onnx_case *c) {
    const asc_json *in = asc_json_get(c->k, "inputs");
    for (size_t i = 0; i < asc_net_n_inputs(c->net); i++) {
        const asc_json *j = asc_json_get(in, asc_net_input(c->net, i).name);
        if (i >= MAX_IN || !golden_array_read(j, &c->in[i])) {
            goldens_fail(c->g, "no input %s", asc_net_input(c->net, i).name);
            return false;
        }
        c->inputs[i] = c->in[i].a;
    }
    golden_array_read(asc_json_get(c->k, "baselines"), &c->rows);
    return true;
}

/* The index counts the batch as well: it is dropped where the net is run example by example. */
static void read_target(onnx_case *c, char *name, size_t size) {
    const asc_json *t = asc_json_get(c->k, "target"), *many = asc_json_get(c->k, "targets");
    bool batch = asc_net_input(c->net, 0).batch && asc_net_output(c->net, 0).batch && !c->no_batch;
    if (many != NULL) {
        c->target = (asc_target){.n_rows = read_ints(many, c->index, 64), .rank = 1, .index = c->index};
        return;
    }
    copy_text(asc_json_str(asc_json_get(t, "value")), name, size);
    int rank = (int)read_ints(asc_json_get(t, "index"), c->index, ASC_MAX_RANK);
    c->target = (asc_target){.value = name, .n_rows = 1, .rank = rank - batch, .index = c->index + batch};
}

static void check_outputs(onnx_case *c) {
    goldens *g = c->g;
    const asc_json *outs = asc_json_get(c->k, "outputs");
    const asc_json *noise = asc_json_get(asc_json_get(c->k, "conversion_error"), "torch_f32");
    for (size_t i = 0; i < asc_net_n_outputs(c->net); i++) {
        golden_array want;
        asc_array got = {0};
        const char *name = asc_net_output(c->net, i).name;
        double worst = 0.0, largest = 1e-3;
        if (!golden_array_read(asc_json_get(outs, name), &want)) continue;
        if (asc_net_run(c->net, c->inputs, asc_net_n_inputs(c->net), &name, 1, &got) != ASC_OK) {
            goldens_fail(g, "output %s: %s", name, asc_error_message(g->ctx));
        } else if (asc_array_count(&got) != asc_array_count(&want.a)) {
            goldens_fail(g, "output %s has %lld elements", name, (long long)asc_array_count(&got));
        } else {
            for (int64_t e = 0; e < asc_array_count(&got); e++) {
                double a, b;
                asc_array_get(&got, e, 1, &a);
                asc_array_get(&want.a, e, 1, &b);
                largest = fmax(largest, fabs(b));
                worst = fmax(worst, fabs(a - b));
            }
            /* what was recorded is another f32 program's: two f32 roundings of a net, at least 1e-5 of the
             * largest */
            double tolerance = GOLDENS_FACTOR * fmax(asc_json_num(noise, 0.0), 1.25e-6);
            goldens_check(g, worst / (largest * tolerance), "output %s (%s): off by %.3g of the largest",
                          name, c->file, worst / largest);
        }
        asc_array_free(g->ctx, &got);
        golden_array_free(&want);
    }
}

static bool is_site(const asc_net *net, const char *name) {
    const char *s;
    for (size_t i = 0; (s = asc_net_site(net, i)) != NULL; i++)
        if (strcmp(s, name) == 0) return true;
    return false;
}

/* Values in the middle of the net: shape, sum and 2-norm of those that are sites here. A sum of many values
 * may cancel: of the norm times the root of their number. */
static void check_trace(onnx_case *c) {
    const asc_json *all = asc_json_get(c->k, "trace");
    for (size_t i = 0; i < asc_json_len(all); i++) {
        const asc_json *one = asc_json_at(all, i);
        char name[256];
        const char *site = name;
        asc_array got = {0};
        copy_text(asc_json_str(asc_json_at(one, 0)), name, sizeof name);
        if (!is_site(c->net, name)) continue;
        if (asc_net_run(c->net, c->inputs, asc_net_n_inputs(c->net), &site, 1, &got) != ASC_OK) {
            goldens_fail(c->g, "value %s: %s", name, asc_error_message(c->g->ctx));
            continue;
        }
        double sum = 0.0, squares = 0.0, n = (double)asc_array_count(&got);
        for (int64_t e = 0; e < asc_array_count(&got); e++) {
            double v;
            asc_array_get(&got, e, 1, &v);
            sum += v;
            squares += v * v;
        }
        double want_sum = asc_json_num(asc_json_at(one, 2), NAN),
               norm = asc_json_num(asc_json_at(one, 3), NAN),
               tolerance = c->f64 ? 1e-6 : 1e-5; /* exporters write constants in f32 */
        goldens_check(c->g, fabs(sqrt(squares) - norm) / (norm * tolerance + 1e-30),
                      "value %s: norm %.9g, expected %.9g", name, sqrt(squares), norm);
        goldens_check(c->g, fabs(sum - want_sum) / (norm * sqrt(n) * tolerance + 1e-30),
                      "value %s: sum %.9g, expected %.9g", name, sum, want_sum);
        asc_array_free(c->g->ctx, &got);
    }
}

static void run_case(goldens *g, asc_net *net, const char *file, const char *name, const asc_json *k,
                     double floor, double flips) {
    char value[256];
    onnx_case c = {.g = g,
                   .net = net,
                   .file = file,
                   .k = k,
                   .floor = floor,
                   .flips = flips,
                   .f64 = strcmp(g->device, "cpu") != 0};
    c.no_batch = !asc_net_input(net, 0).batch || strcmp(name, "silero_vad") == 0;
    const asc_json *all = asc_json_get(k, "attributions");
    if (read_inputs(&c)) {
        read_target(&c, value, sizeof value);
        check_outputs(&c);
        check_trace(&c);
        for (size_t i = 0; i < asc_json_len(all); i++) run_one(&c, asc_json_at(all, i));
    }
    for (size_t i = 0; i < MAX_IN; i++) golden_array_free(&c.in[i]);
    golden_array_free(&c.rows);
}

/* Smallest noise that counts: a figure of a case can be small by luck, so a quarter of the median of its
 * case. */
static double noise_floor(const asc_json *k) {
    double v[256], floor = 6e-8;
    const asc_json *all = asc_json_get(k, "attributions");
    size_t n = 0;
    for (size_t i = 0; i < asc_json_len(all) && n < 256; i++) {
        double x = asc_json_num(asc_json_get(asc_json_at(all, i), "f32_noise"), 0.0);
        if (x > 0.0) v[n++] = x;
    }
    for (size_t i = 1; i < n; i++) {
        for (size_t j = i; j > 0 && v[j - 1] > v[j]; j--) {
            double x = v[j];
            v[j] = v[j - 1];
            v[j - 1] = x;
        }
    }
    if (n > 0) floor = fmax(floor, v[n / 2] / 4.0);
    return floor;
}

static double worst_flip(const asc_json *cases) {
    double worst = 0.0;
    for (size_t i = 0; i < asc_json_len(cases); i++) {
        const asc_json *all = asc_json_get(asc_json_at(cases, i), "attributions");
        for (size_t k = 0; k < asc_json_len(all); k++) {
            const asc_json *a = asc_json_at(all, k);
            if (asc_view_eqs(asc_json_str(asc_json_get(a, "method")), "IntegratedGradients"))
                worst = fmax(worst, asc_json_num(asc_json_get(a, "f32_noise"), 0.0));
        }
    }
    return worst;
}

static void run_file(goldens *g, const asc_json *root, const char *name, const char *path, const char *file) {
    asc_net *net = NULL;
    if (asc_onnx_open(g->ctx, path, &net) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        return;
    }
    const asc_json *cases = asc_json_get(root, "cases");
    for (size_t i = 0; i < asc_json_len(cases) && !(g->quick && i > 0); i++)
        run_case(g, net, file, name, asc_json_at(cases, i), noise_floor(asc_json_at(cases, i)),
                 worst_flip(cases));
    asc_net_close(net);
}

bool goldens_onnx(goldens *g, const char *folder) {
    char path[4200], name[128];
    char *text = NULL;
    size_t len = 0;
    asc_json *root = NULL;
    bool ran = false;
    snprintf(path, sizeof path, "%s/case.json", folder);
    if (asc_file_read(g->ctx, path, (size_t)1 << 30, &text, &len) != ASC_OK ||
        goldens_parse(g->ctx, text, len, &root) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        asc_free(g->ctx, text);
        return true;
    }
    copy_text(asc_json_str(asc_json_get(root, "name")), name, sizeof name);
    const asc_json *files = asc_json_get(root, "files"), *about;
    void *iter = NULL;
    asc_view file;
    while (asc_json_next(files, &iter, &file, &about)) {
        char one[256];
        copy_text(file, one, sizeof one);
        snprintf(path, sizeof path, "%s/%s", folder, one);
        if (strchr(one, '/') != NULL || access(path, R_OK) != 0) continue;
        run_file(g, root, name, path, one);
        ran = true;
    }
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (!ran && access(path, R_OK) == 0) {
        run_file(g, root, name, path, "model.onnx");
        ran = true;
    }
    const char *models = getenv("ASC_GOLDEN_MODELS");
    snprintf(path, sizeof path, "%s/%s.onnx", models != NULL ? models : "models/onnx", name);
    if (!ran && access(path, R_OK) == 0) {
        run_file(g, root, name, path, "model.onnx");
        ran = true;
    }
    if (!ran) snprintf(g->first, sizeof g->first, "no model file for %s (make goldens fetches it)", name);
    asc_json_free(root);
    asc_free(g->ctx, text);
    return ran;
}
