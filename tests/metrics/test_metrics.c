/* Infidelity, sensitivity and removal curves. The numbers are captum 0.9.0's in float64 on the same net with
 * the same perturbations: infidelity(), infidelity_perturb_func_decorator, sensitivity_max with
 * Saliency(abs=False) and 200-node IntegratedGradients as the scores. */
#include "attr/toy_nets.h"
#include "ascribe/metrics.h"

enum { N = 2, SAMPLES = 4 };
static int one = 1;
static int64_t class1 = 1;
static double x[N * TOY_IN];
static const double slopes[N * TOY_IN] = {
    -0.08928596648, -0.433331506638, -0.0494458997155, -0.100336177664, -0.525278413721, -0.619579657328,
    0.32959247294,  -0.161832209145, 0.256639057332,   -0.395255296791, 0.0356655868985, -0.126413104101};
static const double paths[N * TOY_IN] = {0.653640176412, 0.552772645269,  0.218707461219,  1.22545229176,
                                         0.193506325612, -0.557124797728, 1.37016621043,   0.519661090236,
                                         0.392964042676, 0.217699346214,  0.0321304968606, -0.669128428767};

static double shift(size_t sample, size_t i) { return 0.3 * (double)toy_number(5000 + 10 * sample + i); }

static void perturb(void *self, size_t example, size_t sample, asc_example_inputs in,
                    double *const *perturbed, double *const *perturbation) {
    assert_true(in[0][0] == x[example * TOY_IN]);
    ++*(int *)self;
    for (size_t i = 0; i < TOY_IN; i++) {
        perturbation[0][i] = shift(sample, i);
        perturbed[0][i] -= shift(sample, i);
    }
}

static void move(void *self, size_t example, size_t sample, asc_example_inputs in, double *const *perturbed) {
    assert_true(in[0][0] == x[example * TOY_IN]);
    (void)self;
    for (size_t i = 0; i < TOY_IN; i++) perturbed[0][i] += shift(sample, i);
}

static asc_attr_request request(const asc_array *in, const char *method) {
    for (size_t i = 0; i < N * TOY_IN; i++) x[i] = 2.0 * (double)toy_number(300 + i);
    return (asc_attr_request){.struct_size = sizeof(asc_attr_request),
                              .method = method,
                              .inputs = in,
                              .n_inputs = 1,
                              .norm = "signed",
                              .target = {.n_rows = 1, .rank = 1, .index = &class1}};
}

static void test_infidelity(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
    asc_array in = {ASC_ELEM_F64, {2, {N, TOY_IN}}, x}, s = {ASC_ELEM_F64, {2, {N, TOY_IN}}, slopes},
              a = {ASC_ELEM_F64, {2, {N, TOY_IN}}, paths};
    asc_attr_request q = request(&in, "saliency");
    const double quarter = 0.25;
    const asc_array base = {ASC_ELEM_F64, {0, {0}}, &quarter};
    const struct {
        const asc_array *scores;
        bool normalize, derive, per_input, base;
        double want[N];
    } cases[] = {{&s, false, false, false, false, {0.000116451857165, 0.000253594508235}},
                 {NULL, false, false, false, false, {0.000116451857165, 0.000253594508235}},
                 {&s, true, false, false, false, {0.000115865957817, 0.000250089732378}},
                 {&s, false, true, false, false, {0.000116451857165, 0.000253594508235}},
                 {&a, false, true, true, false, {0.0316851081903, 0.0401602008225}},
                 {&a, false, true, true, true, {0.0462293723569, 0.041930139691}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int calls = 0;
        asc_metric *m;
        asc_infidelity_request how = {.struct_size = sizeof how,
                                      .scores = cases[i].scores,
                                      .n_scores = 1,
                                      .samples = SAMPLES,
                                      .normalize = cases[i].normalize,
                                      .derive = cases[i].derive,
                                      .per_input = cases[i].per_input,
                                      .perturb = perturb,
                                      .self = &calls};
        q.baselines = &base;
        q.n_baselines = cases[i].base ? 1 : 0;
        assert_ok(ctx, asc_infidelity(net, &q, &how, &m));
        assert_int_equal(m->n, N);
        assert_int_equal(calls, N * SAMPLES);
        for (int e = 0; e < N; e++) toy_near(m->values[e], cases[i].want[e], 2e-9);
        asc_metric_destroy(ctx, m);
    }
    /* noise of its own: small for the slope, the same for every chunk, and beta close to 1 */
    double first[N] = {0};
    q.n_baselines = 0;
    for (size_t rows = 0; rows < 7; rows += 3) {
        asc_metric *m;
        asc_infidelity_request how = {.struct_size = sizeof how, .samples = 100};
        q.rows_per_pass = rows;
        assert_ok(ctx, asc_infidelity(net, &q, &how, &m));
        for (int e = 0; e < N; e++) {
            assert_true(m->values[e] > 0.0 && m->values[e] < 1e-6 && fabs(m->betas[e] - 1.0) < 0.05);
            if (rows > 0) toy_near(m->values[e], first[e], 1e-18);
            first[e] = m->values[e];
        }
        asc_metric_destroy(ctx, m);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_sensitivity(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
    asc_array in = {ASC_ELEM_F64, {2, {N, TOY_IN}}, x};
    asc_attr_request q = request(&in, "saliency");
    const struct {
        const char *norm;
        double want[N];
    } cases[] = {{NULL, {0.395800742062, 0.439390006831}},
                 {"l1", {0.468691037671, 0.438545503378}},
                 {"inf", {0.306200110028, 0.445448346883}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_metric *m;
        asc_sensitivity_request how = {
            .struct_size = sizeof how, .samples = SAMPLES, .norm = cases[i].norm, .perturb = move};
        assert_ok(ctx, asc_sensitivity(net, &q, &how, &m));
        for (int e = 0; e < N; e++) {
            toy_near(m->values[e], cases[i].want[e], 2e-9);
            assert_true(m->means[e] > 0.0 && m->means[e] < m->values[e]);
        }
        asc_metric_destroy(ctx, m);
    }
    asc_metric *m;
    asc_sensitivity_request how = {.struct_size = sizeof how, .radius = 1e-5};
    q.method = "shapley-value-sampling"; /* the same draws each time: what is left comes from the input */
    assert_ok(ctx, asc_sensitivity(net, &q, &how, &m));
    for (int e = 0; e < N; e++) assert_true(m->values[e] > 0.0 && m->values[e] < 1e-4);
    asc_metric_destroy(ctx, m);
    how.norm = "l3";
    assert_int_equal(asc_sensitivity(net, &q, &how, &m), ASC_INVALID_ARGUMENT);
    assert_null(m);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Of sum c_i x_i^2 every curve is known: what is removed is gone. */
static void test_curves(void **state) {
    (void)state;
    const double c[TOY_IN] = {1, -2, 3, 0.5, 0, 4}, v[TOY_IN] = {1, 1, 1, 1, 1, 1};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_additive, &one, ASC_SHAPE(-1, TOY_IN));
    asc_array in = {ASC_ELEM_F64, {2, {1, TOY_IN}}, v}, scores = {ASC_ELEM_F64, {2, {1, TOY_IN}}, c};
    asc_attr_request q = request(&in, "feature-ablation");
    q.target = (asc_target){0};
    for (int given = 0; given < 2; given++) {
        asc_curves *r;
        asc_curves_request how = {
            .struct_size = sizeof how, .scores = given ? &scores : NULL, .n_scores = given ? 1 : 0};
        assert_ok(ctx, asc_removal_curves(net, &q, &how, &r));
        const double deletion[7] = {6.5, 2.5, -0.5, -1.5, -2, -2, 0},
                     insertion[7] = {0, 4, 7, 8, 8.5, 8.5, 6.5};
        assert_int_equal(r->n_points, 7);
        for (int p = 0; p < 7; p++) {
            toy_near(r->fraction[p], p / 6.0, 1e-15);
            toy_near(r->deletion[p], deletion[p], 1e-5);
            toy_near(r->insertion[p], insertion[p], 1e-5);
            toy_near(r->least[p], insertion[6 - p], 1e-5);
        }
        toy_near(r->random[0], 6.5, 1e-5);
        toy_near(r->random[6], 0, 1e-5);
        toy_near(r->deletion_area[0], (3.25 + 2.5 - 0.5 - 1.5 - 2 - 2) / 6.0, 1e-5);
        toy_near(r->insertion_area[0], (4 + 7 + 8 + 8.5 + 8.5 + 3.25) / 6.0, 1e-5);
        toy_near(r->gap[0], r->insertion_area[0] - r->deletion_area[0], 1e-5);
        assert_true(r->random_area[0] > r->deletion_area[0] && r->random_area[0] < r->least_area[0]);
        asc_curves_destroy(ctx, r);
    }
    /* groups: {0,1,2} has mean 2/3, {3,4,5} has 1.5 and goes first; two steps */
    const int32_t groups[TOY_IN] = {7, 7, 7, 9, 9, 9};
    asc_array mask = {ASC_ELEM_I32, {2, {1, TOY_IN}}, groups};
    asc_curves *r;
    asc_curves_request how = {.struct_size = sizeof how, .scores = &scores, .n_scores = 1};
    q.masks = &mask;
    q.n_masks = 1;
    assert_ok(ctx, asc_removal_curves(net, &q, &how, &r));
    const double two[3] = {6.5, 2, 0};
    assert_int_equal(r->n_points, 3);
    for (int p = 0; p < 3; p++) toy_near(r->deletion[p], two[p], 1e-5);
    asc_curves_destroy(ctx, r);
    how.n_scores = 2;
    assert_int_equal(asc_removal_curves(net, &q, &how, &r), ASC_INVALID_ARGUMENT);
    assert_null(r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_infidelity), cmocka_unit_test(test_sensitivity),
                                       cmocka_unit_test(test_curves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
