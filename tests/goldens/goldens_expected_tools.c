/* goldens_expected_tools.c - rows about attacks, metrics, data sets read in batches, LimeBase and quadrature.
 */
#include "ascribe/dataset.h"
#include "ascribe/lime.h"
#include "ascribe/metrics.h"
#include "ascribe/robust.h"
#include "goldens_expected.h"
#include "goldens_literal.h"
#include "quadrature.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

asc_json *expected_args(goldens *g, expected_row *row);
bool expected_prepare(config *c, expected_row *row, const asc_json *args, asc_view model);

static bool refuse(expected_row *row, const char *why) {
    row->why = why;
    return false;
}

/* ---- attacks */

bool expected_attack(config *c, expected_row *row, ours *out) {
    asc_json *args = expected_args(c->g, row);
    asc_adversarial *a = NULL;
    asc_attack how = {.struct_size = sizeof how};
    double bounds[2] = {-INFINITY, INFINITY};
    bool ok = args != NULL && expected_prepare(c, row, args, row->col[COL_MODEL]),
         pgd = asc_view_eqs(row->col[COL_METHOD], "PGD");
    if (ok && asc_json_bool(asc_json_get(args, "random_start"), false))
        ok = refuse(row, "a random start of another generator");
    if (ok) {
        asc_view b = asc_json_str(asc_json_get(args, "bounds")),
                 loss = asc_json_str(asc_json_get(args, "loss_func"));
        if (b.ptr != NULL &&
            sscanf(b.ptr, "{lower_bound:%lf, upper_bound:%lf", &bounds[0], &bounds[1]) == 2 &&
            isfinite(bounds[0]))
            c->q.bounds = bounds;
        c->q.targeted = asc_json_bool(asc_json_get(args, "targeted"), false);
        c->q.epsilon = asc_json_num(asc_json_get(args, "epsilon"), 0.0);
        c->q.radius = asc_json_num(asc_json_get(args, "radius"), 0.0);
        c->q.step_size = asc_json_num(asc_json_get(args, "step_size"), 0.0);
        c->q.steps = (size_t)asc_json_int(asc_json_get(args, "step_num"), 0);
        how.ball = asc_view_eqs(asc_json_str(asc_json_get(args, "norm")), "L2") ? ASC_BALL_L2 : ASC_BALL_LINF;
        if (loss.ptr != NULL && memmem(loss.ptr, loss.len, "CrossEntropy", 12) != NULL)
            how.loss = ASC_LOSS_CROSS_ENTROPY;
        else if (loss.ptr != NULL)
            ok = refuse(row, "a loss defined in the test");
        ok = ok && config_masks(c, asc_json_get(args, "mask"), c->n_moving);
        how.masks = c->q.masks;
        how.n_masks = c->q.n_masks;
        c->q.masks = NULL;
        c->q.n_masks = 0;
    }
    asc_view test = row->col[COL_TEST];
    if (ok && asc_json_get(args, "loss_func") == NULL &&
        memmem(test.ptr, test.len, "loss_defined", 12) != NULL)
        ok = refuse(row, "a loss defined in the test");
    if (ok && pgd && c->q.steps == 0) ok = refuse(row, "no step at all: 0 means the default here");
    ok = ok &&
         (pgd ? asc_pgd(c->model->net, &c->q, &how, &a) : asc_fgsm(c->model->net, &c->q, &how, &a)) == ASC_OK;
    for (size_t i = 0; ok && i < a->n_inputs; i++) ours_add(out, a->inputs[i].data, &a->inputs[i].shape);
    asc_adversarial_destroy(c->g->ctx, a);
    asc_json_free(args);
    c->line = c->args = NULL;
    return ok;
}

/* ---- metrics */

/* The tests' local perturbations: every element moves by a small constant. */
typedef struct shift {
    const config *c;
    double by;
} shift;

static void shifted(void *self, size_t example, size_t sample, asc_example_inputs x, double *const *perturbed,
                    double *const *perturbation) {
    const shift *s = self;
    (void)example;
    (void)sample;
    for (size_t k = 0; k < s->c->n_moving; k++) {
        const asc_shape *d = &s->c->inputs[k].shape;
        size_t n = (size_t)asc_shape_elems(d) / (size_t)d->dims[0];
        for (size_t i = 0; i < n; i++) {
            perturbed[k][i] = x[k][i] - s->by;
            perturbation[k][i] = s->by;
        }
    }
}

static bool infidelity(config *c, expected_row *row, const asc_json *args, asc_metric **m) {
    golden_array arrays[CONFIG_MAX] = {0};
    asc_array scores[CONFIG_MAX] = {0};
    const asc_json *given = asc_json_get(args, "attributions");
    shift s = {c, 0.0009};
    asc_infidelity_request how = {.struct_size = sizeof how,
                                  .scores = scores,
                                  .n_scores = c->n_moving,
                                  .samples = (size_t)asc_json_int(asc_json_get(args, "n_perturb_samples"), 0),
                                  .normalize = asc_json_bool(asc_json_get(args, "normalize"), false),
                                  .perturb = shifted,
                                  .self = &s};
    if (!asc_view_eqs(asc_json_str(asc_json_get(args, "perturb_func")), "callable:_local_perturb_func"))
        return refuse(row, "a perturbation defined in the test");
    bool ok = config_items(given) == c->n_moving && c->n_moving <= CONFIG_MAX;
    for (size_t i = 0; ok && i < c->n_moving; i++) {
        ok = golden_array_read(config_item(given, i), &arrays[i]);
        scores[i] = arrays[i].a;
    }
    if (!ok) refuse(row, "only a summary of the attributions was recorded");
    ok = ok && asc_infidelity(c->model->net, &c->q, &how, m) == ASC_OK;
    for (size_t i = 0; i < CONFIG_MAX; i++) golden_array_free(&arrays[i]);
    return ok;
}

bool expected_metric(config *c, expected_row *row, ours *out) {
    asc_json *args = expected_args(c->g, row);
    asc_view model = row->col[COL_MODEL];
    asc_metric *m = NULL;
    bool sensitivity = asc_view_eqs(row->col[COL_METHOD], "sensitivity_max"), ok = args != NULL;
    const golden_class *k = NULL;
    if (ok && sensitivity) { /* "Class.attribute(Model)" */
        const char *dot = memchr(model.ptr, '.', model.len), *open = memchr(model.ptr, '(', model.len);
        ok = dot != NULL && open != NULL;
        if (ok) k = golden_class_find((asc_view){model.ptr, (size_t)(dot - model.ptr)});
        if (ok) model = (asc_view){open + 1, (size_t)(model.ptr + model.len - open) - 2};
        if (k == NULL) ok = refuse(row, "a class without a method");
    }
    ok = ok && expected_prepare(c, row, args, model);
    if (ok && sensitivity) {
        asc_sensitivity_request how = {.struct_size = sizeof how,
                                       .samples =
                                           (size_t)asc_json_int(asc_json_get(args, "n_perturb_samples"), 0)};
        asc_view f = asc_json_str(asc_json_get(args, "perturb_func"));
        c->q.method = k->method;
        c->q.rule = k->rule;
        /* the tests' own function moves by 1e-4 and less than the default's 0.02 */
        how.radius = asc_view_eqs(f, "callable:default_perturb_func") ? 0.02 : 1e-4;
        if (k->stochastic) ok = refuse(row, "the sensitivity of a stochastic method");
        ok = ok && asc_sensitivity(c->model->net, &c->q, &how, &m) == ASC_OK;
    } else if (ok) {
        ok = infidelity(c, row, args, &m);
    }
    if (ok) ours_add(out, m->values, &(asc_shape){1, {(int64_t)m->n}});
    asc_metric_destroy(c->g->ctx, m);
    asc_json_free(args);
    c->line = c->args = NULL;
    return ok;
}

/* ---- data sets: the rows share a set of 5 examples; dataloader_attr#025 (the features of a plain sum,
 * ablated to 0, are the numbers themselves) shows it. Walked in batches of 2. */

static double set_a[] = {0.0, 0.1, 0.3, 0.4, 0.6, 0.7, 0.9, 1.0, 1.2, 1.3},
              set_b[] = {0.1, 0.2, 0.3, 0.2, 0.4, 0.5, 0.3, 0.2, 0.8, 0.1,
                         0.2, 0.5, 1.1, 0.7, 0.1, 0.7, 0.6, 1.4, 1.2, 0.4},
              set_c[] = {0, 1, 0, 0, 1};
enum { EXAMPLES = 5 };

static asc_status batch(void *self, size_t i, asc_array *out, bool *end) {
    int64_t first = 2 * (int64_t)i, n = EXAMPLES - first < 2 ? EXAMPLES - first : 2;
    (void)self;
    *end = n <= 0;
    if (*end) return ASC_OK;
    out[0] = (asc_array){ASC_ELEM_F64, {2, {n, 2}}, set_a + 2 * first};
    out[1] = (asc_array){ASC_ELEM_F64, {3, {n, 2, 2}}, set_b + 4 * first};
    out[2] = (asc_array){ASC_ELEM_F64, {2, {n, 1}}, set_c + first};
    return ASC_OK;
}

bool expected_stream(config *c, expected_row *row, ours *out) {
    static const char ones[] = "{\"linear.weight\": [[1,1,1,1,1,1,1]], \"linear.bias\": [0]}";
    asc_dataset data = {.struct_size = sizeof data, .n_values = 3, .batch = batch};
    asc_dataset_request q = {.struct_size = sizeof q};
    asc_json *args = expected_args(c->g, row), *state = NULL;
    asc_attribution *r = NULL;
    char key[96];
    bool end, sum = asc_view_eqs(row->col[COL_MODEL], "callable:sum_forward"), ok = args != NULL;
    if (ok && asc_json_get(args, "input_roles") != NULL) ok = refuse(row, "a reduction defined in the test");
    snprintf(key, sizeof key, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_KEY]));
    batch(NULL, 0, c->inputs, &end);
    c->n_arrays = c->n_moving = 3;
    ok = ok && asc_json_parse(c->g->ctx, ones, sizeof ones - 1, &state) == ASC_OK &&
         config_model(c, "Linear", sum ? NULL : key, sum ? state : NULL);
    const asc_json *b = asc_json_get(args, "baselines");
    for (size_t i = 0; ok && b != NULL && i < 3; i++) {
        const asc_json *one = config_item(b, i);
        if (golden_array_read(one, &c->baselines[i])) {
            c->bases[i] = c->baselines[i].a;
        } else {
            c->base_numbers[i] = asc_json_num(one, 0.0);
            c->bases[i] = (asc_array){.elem = ASC_ELEM_F64, .data = &c->base_numbers[i]};
        }
    }
    ok = ok && config_masks(c, asc_json_get(args, "feature_mask"), 3);
    q.baselines = c->bases;
    q.n_baselines = b != NULL ? 3 : 0;
    q.masks = c->q.masks;
    q.n_masks = c->q.n_masks;
    q.per_walk = (size_t)asc_json_int(asc_json_get(args, "perturbations_per_pass"), 0);
    ok = ok && asc_dataset_attribute(c->model->net, &data, &q, &r) == ASC_OK;
    if (ok && asc_json_bool(asc_json_get(args, "return_input_shape"), true)) {
        ours_of(r, out);
    } else if (ok) { /* features in one row per number */
        double v[EXAMPLES * 7];
        for (size_t e = 0; e < EXAMPLES; e++) {
            size_t n = 0;
            for (size_t k = 0; k < r->n_scores; k++) {
                size_t m = (size_t)asc_shape_elems(&r->scores[k].shape) / EXAMPLES;
                for (size_t i = 0; i < m && n < 7; i++) v[e * 7 + n++] = r->scores[k].data[e * m + i];
            }
        }
        ours_add(out, v, &(asc_shape){2, {EXAMPLES, 7}});
    }
    asc_attribution_destroy(c->g->ctx, r);
    asc_json_free(state);
    asc_json_free(args);
    return ok;
}

/* ---- LimeBase: the tests keep or drop each group by a fair coin, over a kernel too wide to matter */

typedef struct coins {
    uint64_t state;
    size_t n;
} coins;

static bool toss(void *self, size_t example, size_t sample, asc_lime_inputs x, double *z,
                 double *const *perturbed) {
    coins *s = self;
    (void)example;
    (void)sample;
    (void)x;
    (void)perturbed;
    for (size_t i = 0; i < s->n; i++) { /* xorshift64 */
        s->state ^= s->state << 13;
        s->state ^= s->state >> 7;
        s->state ^= s->state << 17;
        z[i] = (double)(s->state >> 40 & 1);
    }
    return true;
}

bool expected_lime_base(config *c, expected_row *row, uint64_t seed, ours *out) {
    goldens *g = c->g;
    asc_json *args = expected_args(g, row);
    asc_attribution *r = NULL;
    coins s = {seed * 0x9E3779B97F4A7C15u,
               (size_t)asc_json_int(asc_json_get(args, "num_interp_features"), 0)};
    asc_lime_def def = {
        .struct_size = sizeof def, .self = &s, .n_features = s.n, .in_features = true, .perturb = toss};
    config_free(c);
    *c = (config){.g = g};
    snprintf(c->name, sizeof c->name, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_ID]));
    bool ok = args != NULL && expected_prepare(c, row, args, row->col[COL_MODEL]);
    if (ok && asc_json_typeof(asc_json_get(args, "feature_mask")) == ASC_JSON_STRING)
        ok = refuse(row, "masks were not understood");
    ok = ok && config_masks(c, asc_json_get(args, "feature_mask"), c->n_moving);
    size_t groups = 0, all = s.n; /* fewer than features when masks leave gaps: the others stay 0 */
    for (size_t i = 0; i < c->q.n_masks; i++) {
        for (int64_t k = 0; k < asc_array_count(&c->masks[i]); k++) {
            double id;
            asc_array_get(&c->masks[i], k, 1, &id);
            if ((size_t)id + 1 > groups) groups = (size_t)id + 1;
        }
    }
    if (groups > 0 && groups < s.n) def.n_features = s.n = groups;
    c->q.surrogate = "lasso";
    c->q.penalty = 1.0;
    c->q.kernel_width = 1000.0;
    c->q.samples = (size_t)asc_json_int(asc_json_get(args, "n_samples"), 0);
    ok = ok && asc_lime_base(c->model->net, &c->q, &def, &r) == ASC_OK;
    if (ok) {
        double v[64] = {0};
        for (size_t i = 0; i < s.n && i < 64; i++) v[i] = r->scores[0].data[i];
        ours_add(out, v, &(asc_shape){2, {1, (int64_t)all}});
    }
    asc_attribution_destroy(g->ctx, r);
    c->line = c->args = NULL;
    asc_json_free(args);
    return ok;
}

/* ---- quadrature: the line of the assertion says what is listed. The trapezoid's weights are Captum's. */

bool expected_quadrature(goldens *g, expected_row *row, ours *out) {
    static const struct {
        const char *line;
        asc_rule rule;
        bool nodes;
    } kinds[] = {{":89", ASC_RULE_RIEMANN_LEFT, false},
                 {":109", ASC_RULE_RIEMANN_TRAPEZOID, false},
                 {":119", ASC_RULE_RIEMANN_RIGHT, true},
                 {":122", ASC_RULE_RIEMANN_MIDDLE, true}};
    asc_view line = row->col[COL_LINE], list = row->col[COL_EXPECTED];
    double nodes[8], weights[8];
    size_t n = 1, k = 0;
    for (size_t i = 0; i < list.len; i++) n += list.ptr[i] == ',';
    while (k < 4 && (line.len < strlen(kinds[k].line) || memcmp(line.ptr + line.len - strlen(kinds[k].line),
                                                                kinds[k].line, strlen(kinds[k].line)) != 0))
        k++;
    if (k == 4 || n > 8) return refuse(row, "an assertion of another kind");
    if (asc_rule_nodes(g->ctx, kinds[k].rule, n, nodes, weights) != ASC_OK) return false;
    bool captum = kinds[k].rule == ASC_RULE_RIEMANN_TRAPEZOID;
    for (size_t i = 0; captum && i < n; i++) weights[i] *= ((double)n - 1.0) / (double)n;
    ours_add(out, kinds[k].nodes ? nodes : weights, &(asc_shape){1, {(int64_t)n}});
    return true;
}
