/* goldens_config.c - reads one of Captum's calls into a request. */
#include "goldens_config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Entry i of an array or {"tuple": [...]}, itself when it is neither. */
const asc_json *config_item(const asc_json *j, size_t i) {
    const asc_json *t = asc_json_get(j, "tuple");
    if (t != NULL) return asc_json_at(t, i);
    return i == 0 ? j : NULL;
}

size_t config_items(const asc_json *j) {
    const asc_json *t = asc_json_get(j, "tuple");
    return t != NULL ? asc_json_len(t) : j != NULL ? 1 : 0;
}

static bool add_number(config *c, double v) {
    if (c->n_arrays == 2 * CONFIG_MAX) return false;
    c->numbers[c->n_arrays] = v;
    c->inputs[c->n_arrays] = (asc_array){.elem = ASC_ELEM_F64, .data = &c->numbers[c->n_arrays]};
    c->fixed[c->n_arrays++] = true;
    return true;
}

/* A further argument of the forward function. */
static bool read_more(config *c, const asc_json *j) {
    asc_json_type t = asc_json_typeof(j);
    golden_array a;
    if (t == ASC_JSON_NULL) return true;
    if (t == ASC_JSON_BOOL) {
        c->options.multidim_output = asc_json_bool(j, false);
        return true;
    }
    if (c->many_arguments && t == ASC_JSON_INT) {
        c->options.column = asc_json_int(j, 0);
        return true;
    }
    if (t == ASC_JSON_INT || t == ASC_JSON_REAL) return add_number(c, asc_json_num(j, 0.0));
    if (c->n_arrays == 2 * CONFIG_MAX || !golden_array_read(j, &a)) return false;
    if (c->many_arguments && a.a.shape.rank == 1) {
        bool ok = true;
        for (int64_t i = 0; i < asc_array_count(&a.a); i++) {
            double v = 0.0;
            asc_array_get(&a.a, i, 1, &v);
            ok = ok && add_number(c, v);
        }
        golden_array_free(&a);
        return ok;
    }
    c->arrays[c->n_arrays] = a;
    c->inputs[c->n_arrays] = a.a;
    c->fixed[c->n_arrays++] = true;
    return true;
}

bool config_inputs(config *c) {
    const asc_json *in = asc_json_get(c->args, "inputs"),
                   *more = asc_json_get(c->args, "additional_forward_args");
    c->n_moving = config_items(in);
    for (size_t i = 0; i < config_items(in) && c->n_arrays < CONFIG_MAX; i++) {
        if (!golden_array_read(config_item(in, i), &c->arrays[c->n_arrays])) return false;
        c->inputs[c->n_arrays] = c->arrays[c->n_arrays].a;
        c->n_arrays++;
    }
    for (size_t i = 0; i < config_items(more); i++) {
        if (!read_more(c, config_item(more, i))) return false;
    }
    const asc_json *b = asc_json_get(c->args, "baselines");
    bool none = asc_json_typeof(b) == ASC_JSON_NULL;
    for (size_t i = 0; !none && i < config_items(b) && i < CONFIG_MAX; i++) {
        const asc_json *one = config_item(b, i);
        asc_json_type t = asc_json_typeof(one);
        if (t == ASC_JSON_INT || t == ASC_JSON_REAL || t == ASC_JSON_BOOL) {
            c->base_numbers[i] =
                t == ASC_JSON_BOOL ? (double)asc_json_bool(one, false) : asc_json_num(one, 0.0);
            c->bases[i] = (asc_array){.elem = ASC_ELEM_F64, .data = &c->base_numbers[i]};
        } else if (golden_array_read(one, &c->baselines[i])) {
            c->bases[i] = c->baselines[i].a;
        } else {
            return false;
        }
    }
    if (b != NULL && !none) {
        c->q.baselines = c->bases;
        c->q.n_baselines = c->n_arrays;
    }
    return true;
}

bool config_target(config *c, const asc_json *j, asc_target *out) {
    golden_array a;
    *out = (asc_target){.index = c->index, .rank = 1};
    if (j == NULL || asc_json_typeof(j) == ASC_JSON_NULL) {
        *out = (asc_target){0};
    } else if (asc_json_typeof(j) == ASC_JSON_INT) {
        c->index[0] = asc_json_int(j, 0);
        out->n_rows = 1;
    } else if (asc_json_get(j, "tuple") != NULL) { /* of every example */
        out->n_rows = 1;
        out->rank = (int)config_items(j);
        for (size_t d = 0; d < config_items(j) && d < CONFIG_MAX; d++)
            c->index[d] = asc_json_int(config_item(j, d), 0);
    } else if (golden_array_read(j, &a)) {
        out->n_rows = (size_t)asc_array_count(&a.a);
        for (size_t i = 0; i < out->n_rows && i < CONFIG_MAX_INDEX; i++) {
            double v;
            asc_array_get(&a.a, (int64_t)i, 1, &v);
            c->index[i] = (int64_t)v;
        }
        golden_array_free(&a);
    } else if (asc_json_typeof(j) == ASC_JSON_ARRAY) {
        out->n_rows = asc_json_len(j);
        for (size_t i = 0; i < out->n_rows; i++) {
            const asc_json *e = asc_json_at(j, i);
            out->rank = (int)config_items(e);
            for (size_t d = 0; d < config_items(e); d++)
                c->index[i * (size_t)out->rank + d] = asc_json_int(config_item(e, d), 0);
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

static void add(config *c, const char *name) {
    if (c->q.n_at == CONFIG_MAX) return;
    snprintf(c->sites[c->q.n_at], sizeof c->sites[0], "%s", name);
    c->at[c->q.n_at] = c->sites[c->q.n_at];
    c->q.n_at++;
}

static void add_layer(config *c, asc_view name) {
    char one[96];
    const char *in = c->at_inputs ? ".in" : "";
    if (c->n_layers == CONFIG_MAX) return;
    c->layer_first[c->n_layers++] = c->q.n_at;
    snprintf(one, sizeof one, ASC_VIEW_FMT "%s", ASC_VIEW_ARG(name), in);
    if (has_site(c, one)) {
        add(c, one);
    } else {
        for (int i = 1; i < 3; i++) { /* a module of two outputs */
            snprintf(one, sizeof one, ASC_VIEW_FMT ".relu%d%s", ASC_VIEW_ARG(name), i, in);
            if (has_site(c, one)) add(c, one);
        }
    }
    c->layer_first[c->n_layers] = c->q.n_at;
}

void config_layer_named(config *c, asc_view name) {
    add_layer(c, name);
    c->q.at = c->at;
}

void config_layer(config *c, const asc_json *layer) {
    if (asc_json_typeof(layer) == ASC_JSON_STRING) add_layer(c, asc_json_str(layer));
    for (size_t i = 0; i < asc_json_len(layer); i++) add_layer(c, asc_json_str(asc_json_at(layer, i)));
    c->q.at = c->at;
}

/* An array that is kept to the end. */
static bool keep(config *c, const asc_json *j, asc_array *out) {
    if (c->n_others == 4 * CONFIG_MAX || !golden_array_read(j, &c->others[c->n_others])) return false;
    *out = c->others[c->n_others++].a;
    return true;
}

bool config_at_baselines(config *c, const asc_json *j) {
    if (j == NULL || asc_json_typeof(j) == ASC_JSON_NULL) return true;
    for (size_t i = 0; i < c->q.n_at && i < CONFIG_MAX; i++)
        if (!keep(c, config_item(j, i), &c->at_baselines[i])) return false;
    c->q.at_baselines = c->at_baselines;
    c->q.n_at_baselines = c->q.n_at;
    return true;
}

/* Group numbers are whole. */
bool config_masks(config *c, const asc_json *j, size_t n) {
    if (j == NULL || asc_json_typeof(j) == ASC_JSON_NULL) return true;
    if (n > CONFIG_MAX) return false;
    size_t kept = config_items(j);
    for (size_t i = 0; i < n && i < config_items(j); i++) {
        if (asc_json_typeof(config_item(j, i)) == ASC_JSON_INT) { /* one group for the whole input */
            c->mask_numbers[i] = asc_json_int(config_item(j, i), 0);
            c->masks[i] = (asc_array){.elem = ASC_ELEM_I64, .data = &c->mask_numbers[i]};
            continue;
        }
        if (!keep(c, config_item(j, i), &c->masks[i])) return false;
        golden_array *m = &c->others[c->n_others - 1];
        if (m->a.elem == ASC_ELEM_F64) {
            double *from = m->data;
            for (int64_t k = 0; k < asc_array_count(&m->a); k++) {
                int64_t v = (int64_t)from[k];
                memcpy((char *)m->data + (size_t)k * sizeof v, &v, sizeof v); /* in its place */
            }
            m->a.elem = ASC_ELEM_I64;
        }
        c->masks[i] = m->a;
        if (asc_array_count(&m->a) == 0 && i + 1 == kept)
            kept--; /* an input without elements has no features */
    }
    c->q.masks = c->masks;
    c->q.n_masks = kept;
    return true;
}

/* A neuron selected by a function: JSON has none, so it is a text, or an object that is neither a tuple nor a
 * slice. The only one among Captum's configurations sums over the units of an example. */
static bool is_function(const asc_json *sel) {
    return asc_json_typeof(sel) == ASC_JSON_STRING ||
           (asc_json_typeof(sel) == ASC_JSON_OBJECT && asc_json_get(sel, "tuple") == NULL &&
            asc_json_get(sel, "slice") == NULL);
}

/* Slices select several units: a weight of 1 at each. shape is that of one example's value at the site. */
static bool unit_weights(config *c, const asc_json *sel, const asc_shape *shape) {
    size_t n = (size_t)asc_shape_elems(shape);
    const bool every = is_function(sel);
    c->weights = calloc(n + 1, sizeof *c->weights);
    if (c->weights == NULL) abort();
    for (size_t e = 0; e < n; e++) {
        size_t rest = e;
        bool in = true;
        for (int d = shape->rank - 1; d >= 0 && !every; d--) {
            int64_t at = (int64_t)(rest % (size_t)shape->dims[d]);
            rest /= (size_t)shape->dims[d];
            const asc_json *s = config_item(sel, (size_t)d), *r = asc_json_get(s, "slice");
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

bool config_unit(config *c, asc_target *out) {
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

/* Entries of `j` for input i of rank r (behind the batch) to out[0..*n): a number counts for every dimension.
 */
static void entries(const asc_json *j, size_t i, int r, int64_t *out, size_t *n) {
    const size_t most = CONFIG_MAX * ASC_MAX_RANK;
    bool number = asc_json_typeof(j) == ASC_JSON_INT,
         several = asc_json_get(j, "tuple") != NULL && asc_json_get(config_item(j, 0), "tuple") != NULL;
    for (size_t k = 0; k < config_items(j) && !several; k++)
        several = asc_json_typeof(j) == ASC_JSON_OBJECT && asc_json_get(config_item(j, k), "tuple") != NULL;
    const asc_json *one = number ? j : several ? config_item(j, i) : i == 0 ? j : NULL;
    if (asc_json_typeof(one) == ASC_JSON_INT) {
        for (int d = 0; d < r && *n < most; d++) out[(*n)++] = asc_json_int(one, 1);
        return;
    }
    for (size_t d = 0; one != NULL && d < config_items(one) && *n < most; d++)
        out[(*n)++] = asc_json_int(config_item(one, d), 1);
}

bool config_window(config *c) {
    const asc_json *w = asc_json_get(c->args, "sliding_window_shapes"), *s = asc_json_get(c->args, "strides");
    size_t n_stride = 0;
    if (w == NULL) return true;
    for (size_t i = 0; i < c->n_moving; i++) {
        int rank = c->inputs[i].shape.rank - 1;
        entries(w, i, rank, c->window, &c->q.n_window);
        if (s != NULL && asc_json_typeof(s) != ASC_JSON_NULL) entries(s, i, rank, c->stride, &n_stride);
    }
    c->q.window = c->window;
    if (n_stride > 0) c->q.stride = c->stride;
    return n_stride == 0 || n_stride == c->q.n_window; /* there is no other way to say it */
}

bool config_model(config *c, const char *class_name, const char *key, const asc_json *state) {
    /* beside the cases, at the top of the folder, and the copy beside the tests: the models do not change */
    const char *data = getenv("ASC_TEST_DATA"), *const folders[] = {c->g->beside, c->g->folder};
    bool none = key != NULL && strcmp(key, "none") == 0; /* of weights */
    asc_status st = ASC_NOT_FOUND;
    for (size_t i = 0; i < 3 && st != ASC_OK; i++) {
        char path[4400];
        snprintf(path, sizeof path, "%s%s/captum_model_weights.jsonl",
                 i < 2          ? folders[i]
                 : data != NULL ? data
                                : "tests/data",
                 i < 2 ? "" : "/goldens");
        if (!none && i < 2 && access(path, R_OK) != 0) continue;
        st = toy_open(c->g->ctx, none ? NULL : path, class_name, none ? NULL : key, state, &c->options,
                      c->inputs, c->n_arrays, &c->model);
    }
    return st == ASC_OK;
}

void config_free(config *c) {
    toy_close(c->g->ctx, c->model);
    free(c->weights);
    for (size_t i = 0; i < 2 * CONFIG_MAX; i++) golden_array_free(&c->arrays[i]);
    for (size_t i = 0; i < CONFIG_MAX; i++) golden_array_free(&c->baselines[i]);
    for (size_t i = 0; i < c->n_others; i++) golden_array_free(&c->others[i]);
}
