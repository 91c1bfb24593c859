/* goldens_expected_call.c - one row's call of an attribution method as a request. */
#include "goldens_expected.h"
#include "goldens_literal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(expected_row *row, const char *why) {
    row->why = why;
    return false;
}

/* "A(B)" -> A and B; otherwise B alone. */
static asc_view inner(asc_view method) {
    const char *open = memchr(method.ptr, '(', method.len);
    return open != NULL ? (asc_view){open + 1, (size_t)(method.ptr + method.len - open) - 2} : method;
}

/* All of the row's arguments as one JSON object; values that are not values are strings. */
asc_json *expected_args(goldens *g, expected_row *row) {
    static const struct {
        const char *key;
        column col;
    } more[] = {
        {"inputs", COL_INPUTS}, {"baselines", COL_BASELINES}, {"target", COL_TARGET}, {"layer", COL_LAYER}};
    size_t room = 64;
    for (int i = 0; i < N_COLUMNS; i++) room += row->col[i].len;
    char *text = malloc(room + 64);
    if (text == NULL) abort();
    size_t n = (size_t)snprintf(text, room, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_OTHER]));
    for (size_t i = 0; i < 4; i++) {
        asc_view v = row->col[more[i].col];
        if (v.len == 0) continue;
        n += (size_t)snprintf(text + n, room + 64 - n, ";%s=" ASC_VIEW_FMT, more[i].key, ASC_VIEW_ARG(v));
    }
    asc_json *j = golden_arguments(g->ctx, (asc_view){text, n});
    free(text);
    if (j == NULL) row->why = "arguments were not understood";
    return j;
}

static bool is_text(const asc_json *j) { return asc_json_typeof(j) == ASC_JSON_STRING; }

/* Rule choices of "{site:Rule(a=1,...), site:Rule(...)}". */
static size_t read_rules(asc_view text, asc_rule_choice *out, char (*names)[32], size_t most) {
    static const struct {
        const char *captum, *rule;
        double a;
    } rules[] = {{"EpsilonRule", "epsilon", 1e-9},
                 {"GammaRule", "gamma", 0.25},
                 {"Alpha1_Beta0_Rule", "alpha-beta", 1.0},
                 {"IdentityRule", "identity", 0.0}};
    char copy[512], *p = copy;
    size_t n = 0;
    snprintf(copy, sizeof copy, ASC_VIEW_FMT, ASC_VIEW_ARG(text));
    while (n < most && (p = strpbrk(p, "{, ")) != NULL) {
        p += strspn(p, "{, ");
        char *colon = strchr(p, ':'), *open = strchr(p, '(');
        if (colon == NULL || open == NULL || colon > open) continue;
        snprintf(names[n], sizeof names[0], "%.*s", (int)(colon - p), p);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            size_t len = strlen(rules[i].captum);
            if (strncmp(colon + 1, rules[i].captum, len) != 0 || colon[1 + len] != '(') continue;
            char *gamma = strstr(open, "gamma=");
            out[n] = (asc_rule_choice){.site = names[n], .rule = rules[i].rule, .a = rules[i].a};
            if (gamma != NULL && gamma < open + 20 && i == 1) out[n].a = strtod(gamma + 6, NULL);
            n++;
            break;
        }
        p = strchr(open, ')');
        if (p == NULL) break;
    }
    return n;
}

/* Inputs, model, target, masks, layer. The arguments stay with the caller. */
bool expected_prepare(config *c, expected_row *row, const asc_json *args, asc_view model) {
    char name[64], key[96];
    c->line = c->args = args;
    c->q = (asc_attr_request){.struct_size = sizeof c->q, .inputs = c->inputs, .fixed = c->fixed};
    snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(model));
    snprintf(key, sizeof key, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_KEY]));
    if (is_text(asc_json_get(args, "inputs")))
        return refuse(row, "only a summary of the inputs was recorded");
    if (asc_json_get(args, "inputs") == NULL) return refuse(row, "inputs were not recorded");
    if (is_text(asc_json_get(args, "baselines"))) return refuse(row, "baselines not recorded or a function");
    if (is_text(asc_json_get(args, "additional_forward_args")))
        return refuse(row, "arguments were not recorded");
    c->many_arguments = strstr(name, "_MultiArgs") != NULL;
    if (!config_inputs(c)) return refuse(row, "inputs were not understood");
    c->q.n_inputs = c->n_arrays;
    c->options.multi_input_module =
        memmem(row->col[COL_LAYER].ptr, row->col[COL_LAYER].len, "multi_relu", 10) != NULL;
    if (!config_model(c, name, key[0] != '\0' ? key : NULL, NULL)) return false;
    config_target(c, asc_json_get(args, "target"), &c->q.target);
    return true;
}

/* The first element of each group of each example, for results in the space of features. */
static void by_feature(const config *c, ours *o) {
    enum { MOST = 64 };
    size_t examples = (size_t)c->inputs[0].shape.dims[0], n = 0;
    double *v = calloc(examples * MOST, sizeof *v);
    if (v == NULL) abort();
    for (size_t e = 0; e < examples; e++) {
        size_t next = 0;
        for (size_t k = 0; k < o->n; k++) {
            size_t size = o->size[k] / examples;
            for (size_t i = 0; i < size; i++, next++) {
                double id = (double)next;
                if (c->q.n_masks > 0) {
                    int64_t m = asc_array_count(&c->masks[k]);
                    asc_array_get(&c->masks[k], (int64_t)(e * size + i) % m, 1, &id);
                }
                if (id >= MOST) continue;
                v[e * MOST + (size_t)id] = o->data[k][e * size + i];
                if ((size_t)id >= n) n = (size_t)id + 1;
            }
        }
    }
    for (size_t e = 0; e < examples; e++) memmove(v + e * n, v + e * MOST, n * sizeof *v);
    ours_free(o);
    ours_add(o, v, &(asc_shape){2, {(int64_t)examples, (int64_t)n}});
    free(v);
}

static bool read_options(config *c, expected_row *row, const asc_json *args, bool tunnel) {
    static const struct {
        const char *captum, *name;
    } noises[] = {{"smoothgrad", "smoothgrad"}, {"smoothgrad_sq", "smoothgrad-sq"}, {"vargrad", "vargrad"}};
    asc_attr_request *q = &c->q;
    asc_view model = asc_json_str(asc_json_get(args, "interpretable_model"));
    q->steps = (size_t)asc_json_int(asc_json_get(args, "n_steps"), 0);
    q->samples = (size_t)asc_json_int(asc_json_get(args, tunnel ? "nt_samples" : "n_samples"), 0);
    q->rows_per_pass = (size_t)asc_json_int(asc_json_get(args, "perturbations_per_eval"), 0) +
                       (size_t)asc_json_int(asc_json_get(args, "internal_batch_size"), 0);
    q->no_multiply = !asc_json_bool(asc_json_get(args, "_multiply_by_inputs"), true);
    q->relu = asc_json_bool(asc_json_get(args, "relu_attributions"), false);
    q->keep_channels = !asc_json_bool(asc_json_get(args, "attr_dim_summation"), true);
    const asc_json *stdevs = asc_json_get(args, "stdevs");
    if (stdevs != NULL) {
        c->stdev = asc_json_num(stdevs, 0.0);
        q->stdevs = &c->stdev;
        q->n_stdevs = 1;
    }
    for (size_t i = 0; i < 3; i++) {
        if (asc_view_eqs(asc_json_str(asc_json_get(args, "nt_type")), noises[i].captum))
            q->noise = noises[i].name;
    }
    if (model.ptr != NULL && memmem(model.ptr, model.len, "SGD", 3) != NULL)
        return refuse(row, "a surrogate trained by stochastic gradient descent");
    if (model.ptr != NULL && memmem(model.ptr, model.len, "Lasso", 5) != NULL) {
        /* these tests all use a kernel so wide that every sample counts the same */
        q->surrogate = "lasso";
        q->penalty = 1.0;
        q->kernel_width = 1000.0;
    }
    if (is_text(asc_json_get(args, "custom_attribution_func")))
        return refuse(row, "a formula defined in the test");
    if (is_text(asc_json_get(args, "neuron_selector"))) return refuse(row, "a neuron selected by a function");
    return true;
}

/* BasicModelWithSparseInputs sums over its examples, so that it has no batch: Captum, which takes the first
 * dimension for one anyway, ablates columns of the first input and the second, a list, as a whole. Said by
 * masks here. */
static void mask_columns(config *c) {
    static int64_t columns[] = {0, 1, 2}, list[] = {3};
    c->masks[0] = (asc_array){ASC_ELEM_I64, {2, {1, 3}}, columns};
    c->masks[1] = (asc_array){.elem = ASC_ELEM_I64, .data = list};
    c->q.masks = c->masks;
    c->q.n_masks = 2;
}

static bool aim(config *c, expected_row *row, const golden_class *k, const asc_json *args, asc_target *unit) {
    bool through = strcmp(k->method, "guided-grad-cam") == 0 || strcmp(k->method, "neuron-conductance") == 0;
    bool on_layer = k->layer && strcmp(k->method, "guided-grad-cam") != 0;
    const asc_json *mask = asc_json_get(args, on_layer ? "layer_mask" : "feature_mask");
    c->at_inputs = asc_json_bool(asc_json_get(args, "attribute_to_layer_input"), false) ||
                   asc_json_bool(asc_json_get(args, "attribute_to_neuron_input"), false);
    const asc_json *layer = asc_json_get(args, "layer");
    if (layer != NULL && asc_json_typeof(layer) == ASC_JSON_ARRAY) {
        config_layer(c, layer);
    } else if (row->col[COL_LAYER].len > 0) {
        config_layer_named(c, row->col[COL_LAYER]);
    } else if (strcmp(k->method, "guided-grad-cam") == 0) { /* not recorded: the tests' own */
        config_layer_named(c, c->n_moving > 1 ? (asc_view){"conv1", 5} : (asc_view){"relu1", 5});
    }
    if (row->col[COL_LAYER].len > 0 && c->q.n_at == 0)
        return refuse(row, "the layer is not a site of the toy model");
    if (!config_masks(c, mask, on_layer ? c->q.n_at : c->n_moving))
        return refuse(row, "masks were not understood");
    if (asc_view_eqs(row->col[COL_MODEL], "BasicModelWithSparseInputs")) {
        if (c->inputs[1].shape.dims[0] == 0 && asc_view_eqs(row->col[COL_CHECKED], "attr[1]"))
            return refuse(row, "a score for an input without elements");
        if (strcmp(k->method, "feature-permutation") == 0)
            return refuse(row, "a model that sums over its examples has one example here");
        mask_columns(c);
        if (c->inputs[1].shape.dims[0] == 0) c->q.n_masks = 1;
    }
    for (size_t i = 0; i < c->n_moving; i++) {
        if (c->bases[i].data != NULL && c->bases[i].shape.rank > 1 &&
            c->bases[i].shape.dims[c->bases[i].shape.rank - 1] <
                c->inputs[i].shape.dims[c->inputs[i].shape.rank - 1])
            return refuse(row, "a baseline broadcast over features: given in full here");
    }
    if (on_layer && !config_at_baselines(c, asc_json_get(args, "layer_baselines")))
        return refuse(row, "layer baselines were not understood");
    if (k->neuron || strcmp(k->method, "neuron-conductance") == 0) {
        if (!config_unit(c, unit)) return false;
        if (k->neuron)
            c->q.target = *unit;
        else
            c->q.neuron = *unit;
    } else if (through) {
        c->q.neuron = (asc_target){.value = c->sites[0]};
    }
    if (!k->layer || through) c->q.n_at = 0;
    if (strcmp(k->method, "layer-activation") == 0) c->q.target = (asc_target){0};
    return true;
}

static bool attribute(config *c, expected_row *row, const asc_json *args, uint64_t seed, ours *out) {
    asc_view captum = inner(row->col[COL_METHOD]), model = row->col[COL_MODEL];
    const golden_class *k = golden_class_find(captum);
    bool tunnel = captum.len != row->col[COL_METHOD].len;
    asc_target unit = {0};
    asc_attribution *r = NULL;
    char rule[32], names[8][32];
    asc_rule_choice rules[8];
    if (k == NULL) return refuse(row, "a class without a method");
    if (!expected_prepare(c, row, args, model)) return false;
    c->q.method = tunnel ? "noise-tunnel" : k->method;
    c->q.base = tunnel ? k->method : NULL;
    c->q.rule = k->rule;
    c->q.norm = k->norm;
    c->q.seed = seed;
    if (!read_options(c, row, args, tunnel)) return false;
    if (!config_window(c)) return refuse(row, "strides of another length cannot be given here");
    asc_view method = asc_json_str(asc_json_get(args, "method"));
    if (method.ptr != NULL) {
        snprintf(rule, sizeof rule, ASC_VIEW_FMT, ASC_VIEW_ARG(method));
        c->q.rule = rule;
    }
    if (!aim(c, row, k, args, &unit)) return false;
    asc_view given = asc_json_str(asc_json_get(args, "rules"));
    c->q.n_rules = given.ptr != NULL ? read_rules(given, rules, names, 8) : 0;
    c->q.rules = rules;
    c->q.compat_captum = expected_needs_compat(c, row);
    bool ok = asc_attribute(c->model->net, &c->q, &r) == ASC_OK;
    if (ok) {
        if (!r->stochastic || seed < 2) goldens_asked(c->g, c->model->net, &c->q, r, c->name);
        ours_of(r, out);
        if (!asc_json_bool(asc_json_get(args, "return_input_shape"), true)) by_feature(c, out);
    }
    asc_attribution_destroy(c->g->ctx, r);
    return ok;
}

/* A call needs its own config: 20 seeds share the row's. */
bool expected_call(config *c, expected_row *row, uint64_t seed, ours *out) {
    goldens *g = c->g;
    asc_json *args = expected_args(g, row);
    if (args == NULL) return false;
    config_free(c);
    *c = (config){.g = g};
    snprintf(c->name, sizeof c->name, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_ID]));
    bool ok = attribute(c, row, args, seed, out);
    c->line = c->args = NULL;
    asc_json_free(args);
    return ok;
}

bool expected_needs_compat(const config *c, const expected_row *row) {
    static const char *const ids[] = {/* the trapezoid's weights add up to (n-1)/n */
                                      "integrated_gradients_basic#080", "internal_influence#004",
                                      "internal_influence#005", "internal_influence#034",
                                      "internal_influence#035",
                                      /* LRP: the relevance of a sum of two inputs is given to each of them */
                                      "lrp#007", "lrp#008"};
    (void)c;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (asc_view_eqs(row->col[COL_ID], ids[i])) return true;
    }
    return asc_view_eqs(row->col[COL_METHOD], "FeaturePermutation") &&
           asc_view_eqs(row->col[COL_CHECKED], "attr");
}
