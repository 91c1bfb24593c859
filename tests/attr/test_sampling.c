/* What every perturbation method promises: a row of a batch is the row by itself, permuting the batch
 * permutes the result, chunks and threads change nothing; and what the sampling ones promise besides: sums,
 * additive functions, honest standard errors, an end at the tolerance. */
#include "toy_nets.h"

/* 2^9 sets: more than the samples below, so that they are drawn. */
enum { ROWS = 4, WIDE = 9 };
static int one = 1;
static int64_t class1 = 1;
static const char *const methods[] = {
    "feature-ablation", "shapley-value-sampling", "shapley-values", "kernel-shap", "lime", "occlusion"};
static const int64_t window[1] = {2};

static void numbers(double *x, size_t n, uint64_t from) {
    for (size_t i = 0; i < n; i++) x[i] = 2.0 * (double)toy_number(from + i);
}

static asc_attr_request request(const char *method, const asc_array *in) {
    return (asc_attr_request){.struct_size = sizeof(asc_attr_request),
                              .method = method,
                              .inputs = in,
                              .n_inputs = 1,
                              .samples = 31,
                              .window = window,
                              .n_window = 1,
                              .seed = 5,
                              .target = {.n_rows = 1, .rank = 1, .index = &class1}};
}

static void run(asc_ctx *ctx, asc_net *net, const asc_attr_request *q, double *out, size_t n) {
    asc_attribution *r = toy_check(ctx, net, q, 0, NULL, 0, 0);
    memcpy(out, r->scores[0].data, n * sizeof *out);
    asc_attribution_destroy(ctx, r);
}

static void same(const char *what, const char *method, const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= 2e-6))
            fail_msg("%s, %s: %zu: %.9g is not %.9g", what, method, i, a[i], b[i]);
    }
}

static void test_rows_are_independent(void **state) {
    (void)state;
    double x[ROWS * WIDE], swapped[ROWS * WIDE], all[ROWS * WIDE], got[ROWS * WIDE];
    numbers(x, ROWS * WIDE, 300);
    for (int e = 0; e < ROWS; e++) memcpy(swapped + e * WIDE, x + (e + 1) % ROWS * WIDE, WIDE * sizeof *x);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        for (int stop = 0; stop < 2; stop++) { /* with a tolerance each row ends by itself */
            asc_array in = {ASC_ELEM_F64, {2, {ROWS, WIDE}}, x};
            asc_attr_request q = request(methods[m], &in);
            q.tolerance = stop ? 0.1 : 0.0;
            q.samples = stop ? 60 : 31;
            run(ctx, net, &q, all, ROWS * WIDE);
            for (size_t rows = 1; rows < 40; rows += 19) {
                q.rows_per_pass = rows;
                run(ctx, net, &q, got, ROWS * WIDE);
                same("chunks", methods[m], got, all, ROWS * WIDE);
            }
            q.rows_per_pass = 0;
            in.data = swapped;
            run(ctx, net, &q, got, ROWS * WIDE);
            for (int e = 0; e < ROWS; e++) {
                same("permuted batch", methods[m], got + e * WIDE, all + (e + 1) % ROWS * WIDE, WIDE);
            }
            in.shape.dims[0] = 1;
            for (int e = 0; e < ROWS; e++) {
                in.data = x + e * WIDE;
                run(ctx, net, &q, got, WIDE);
                same("single row", methods[m], got, all + e * WIDE, WIDE);
            }
        }
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_threads(void **state) {
    (void)state;
    double x[ROWS * WIDE], first[ROWS * WIDE], got[ROWS * WIDE];
    numbers(x, ROWS * WIDE, 40);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        for (int threads = 1; threads < 4; threads++) {
            asc_ctx_options o = {.struct_size = sizeof o, .n_threads = threads};
            asc_ctx *ctx;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
            asc_array in = {ASC_ELEM_F64, {2, {ROWS, WIDE}}, x};
            asc_attr_request q = request(methods[m], &in);
            run(ctx, net, &q, threads == 1 ? first : got, ROWS * WIDE);
            for (int i = 0; threads > 1 && i < ROWS * WIDE; i++) assert_true(got[i] == first[i]);
            asc_net_close(net);
            test_ctx_end(ctx);
        }
    }
}

/* c_i x_i^2 belongs to element i, whatever the order and however few the samples. */
static void test_additive(void **state) {
    (void)state;
    const double c[TOY_IN] = {1, -2, 3, 0.5, 0, 4};
    double x[TOY_IN], want[TOY_IN];
    numbers(x, TOY_IN, 3);
    for (int i = 0; i < TOY_IN; i++) want[i] = c[i] * x[i] * x[i];
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_additive, &one, ASC_SHAPE(-1, TOY_IN));
    asc_array in = {ASC_ELEM_F64, {2, {1, TOY_IN}}, x};
    for (size_t m = 0; m < 4; m++) {
        asc_attr_request q = request(methods[m], &in);
        q.target = (asc_target){0};
        q.samples = m == 3 ? 30 : 1;
        toy_scores(ctx, net, &q, 0, want, TOY_IN, 1e-5);
        q.samples = m == 3 ? 30 : 7;
        asc_attribution *r = toy_check(ctx, net, &q, 0, want, TOY_IN, 1e-5);
        assert_true(r->error_bound < 1e-3); /* nothing is uncertain but rounding */
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Exact values of a net with interactions, three ways; samples scatter about them as their standard errors
 * say. */
static void test_standard_errors(void **state) {
    (void)state;
    double x[WIDE], want[WIDE], largest = 0.0;
    numbers(x, WIDE, 11);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
    asc_array in = {ASC_ELEM_F64, {2, {1, WIDE}}, x};
    asc_attr_request q = request("shapley-values", &in);
    asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
    memcpy(want, r->scores[0].data, sizeof want);
    assert_true(fabs(r->delta[0]) < 1e-5 && !r->stochastic);
    asc_attribution_destroy(ctx, r);
    q.method = "kernel-shap";
    q.samples = 512; /* 2^9: all of them */
    r = toy_check(ctx, net, &q, 0, want, WIDE, 1e-5);
    assert_false(r->stochastic);
    asc_attribution_destroy(ctx, r);
    q.method = "shapley-value-sampling";
    q.samples = 64; /* 64 x 8 + 2 rows: 2^9 sets are fewer */
    r = toy_check(ctx, net, &q, 0, want, WIDE, 1e-5);
    assert_false(r->stochastic);
    asc_attribution_destroy(ctx, r);
    enum { SEEDS = 60 };
    for (int m = 0; m < 2; m++) {
        for (int compat = 0; compat < 2 - m; compat++) {
            double sum = 0.0;
            largest = 0.0;
            q.method = m == 0 ? "shapley-value-sampling" : "kernel-shap";
            q.samples = m == 0 ? 41 : 101;
            q.compat_captum = compat != 0;
            for (q.seed = 0; q.seed < SEEDS; q.seed++) {
                r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
                assert_true(fabs(r->delta[0]) < 1e-5);
                for (int i = 0; i < WIDE; i++) {
                    double z = (r->scores[0].data[i] - want[i]) / r->scores[0].error[i];
                    largest = fmax(largest, fabs(z));
                    sum += z * z / (SEEDS * WIDE);
                }
                asc_attribution_destroy(ctx, r);
            }
            /* mean square of z: 1, but for the few degrees of freedom of each error */
            if (!(sum > 0.6 && sum < 1.7))
                fail_msg("%s: mean square of z %.3g, largest %.3g", q.method, sum, largest);
        }
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* More samples than the tolerance needs are not run; too few are reported. */
static void test_tolerance(void **state) {
    (void)state;
    double x[ROWS * WIDE];
    numbers(x, ROWS * WIDE, 500);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
    asc_array in = {ASC_ELEM_F64, {2, {ROWS, WIDE}}, x};
    const char *const names[] = {"shapley-value-sampling", "kernel-shap", "lime"};
    for (int m = 0; m < 3; m++) {
        asc_attr_request q = request(names[m], &in);
        q.samples = 60;
        q.tolerance = 1e-9;
        asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
        assert_false(r->converged);
        assert_true(r->n_notes >= 1);
        uint64_t all = r->n_forward;
        asc_attribution_destroy(ctx, r);
        q.tolerance = 0.5;
        r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
        assert_true(r->converged);
        if (m == 0) assert_true(r->n_forward < all);
        for (int e = 0; e < ROWS; e++) {
            double largest = 0.0;
            for (int i = 0; i < WIDE; i++) largest = fmax(largest, fabs(r->scores[0].data[e * WIDE + i]));
            for (int i = 0; i < WIDE; i++) assert_true(r->scores[0].error[e * WIDE + i] <= 0.5 * largest);
        }
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* A distribution of baselines: the mean of the runs with each of them. */
static void test_background(void **state) {
    (void)state;
    enum { BASES = 3 };
    double x[2 * WIDE], b[BASES * WIDE], sum[2 * WIDE] = {0}, empty[2] = {0};
    numbers(x, 2 * WIDE, 61);
    numbers(b, BASES * WIDE, 83);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
    asc_array in = {ASC_ELEM_F64, {2, {2, WIDE}}, x}, base = {ASC_ELEM_F64, {2, {1, WIDE}}, b};
    for (size_t m = 1; m < 4; m++) {
        asc_attr_request q = request(methods[m], &in);
        asc_attribution *r;
        q.baselines = &base;
        q.n_baselines = 1;
        memset(sum, 0, sizeof sum);
        memset(empty, 0, sizeof empty);
        base.shape.dims[0] = 1;
        for (int k = 0; k < BASES; k++) {
            base.data = b + k * WIDE;
            r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
            for (int i = 0; i < 2 * WIDE; i++) sum[i] += r->scores[0].data[i] / BASES;
            for (int e = 0; e < 2; e++) empty[e] += r->baseline_value[e] / BASES;
            asc_attribution_destroy(ctx, r);
        }
        base.shape.dims[0] = BASES;
        base.data = b;
        r = toy_check(ctx, net, &q, 0, sum, 2 * WIDE, 2e-6);
        for (int e = 0; e < 2; e++) {
            toy_near(r->baseline_value[e], empty[e], 2e-6);
            toy_near(r->delta[e], 0, 1e-5);
        }
        assert_true(r->n_notes >= 1 && r->stochastic == (m != 2));
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* The price is what is run; integers and whole batches are perturbed like anything else. */
static void test_price(void **state) {
    (void)state;
    double x[ROWS * WIDE];
    numbers(x, ROWS * WIDE, 70);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
    asc_array in = {ASC_ELEM_F64, {2, {ROWS, WIDE}}, x};
    const char *const names[] = {
        "feature-ablation", "feature-permutation", "occlusion", "shapley-value-sampling",
        "shapley-values",   "kernel-shap",         "lime"};
    const char *site = "hidden";
    for (size_t m = 0; m < 2 * (sizeof names / sizeof *names); m++) {
        for (size_t samples = 5; samples < 80; samples += 63) {
            asc_attr_request q = request(names[m / 2], &in);
            q.samples = samples;
            q.at = &site; /* the layer forms replace the values of a site */
            q.n_at = m % 2;
            q.dry_run = true;
            asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
            uint64_t priced = r->n_forward;
            asc_attribution_destroy(ctx, r);
            q.dry_run = false;
            r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
            if (r->n_forward != priced) {
                fail_msg("%s: priced %d rows, ran %d", q.method, (int)priced, (int)r->n_forward);
            }
            if (r->complete) toy_near(r->delta[0], 0, 1e-5);
            assert_int_equal(r->scores[0].shape.dims[1], q.n_at > 0 ? TOY_HIDDEN : WIDE);
            bool zero = true;
            for (int i = 0; i < ROWS * WIDE; i++) zero = zero && r->scores[0].data[i] == 0.0;
            assert_false(zero);
            asc_attribution_destroy(ctx, r);
        }
    }
    /* the batch as one example: columns are features by a mask, the output is one number */
    const int32_t columns[WIDE] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    double weights[ROWS * TOY_OUT], want[WIDE] = {0};
    for (int i = 0; i < ROWS * TOY_OUT; i++) weights[i] = i % TOY_OUT == 1;
    asc_array mask = {ASC_ELEM_I32, {2, {1, WIDE}}, columns};
    asc_attr_request q = request("feature-ablation", &in);
    asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
    for (int i = 0; i < ROWS * WIDE; i++) want[i % WIDE] += r->scores[0].data[i];
    asc_attribution_destroy(ctx, r);
    q.no_batch = true;
    q.masks = &mask;
    q.n_masks = 1;
    q.target = (asc_target){.weights = weights, .weight_rows = 1};
    r = toy_check(ctx, net, &q, 0, want, WIDE, 2e-5);
    assert_true(r->n_examples == 1 && r->scores[0].shape.dims[0] == ROWS);
    for (int i = 0; i < ROWS * WIDE; i++) toy_near(r->scores[0].data[i], want[i % WIDE], 2e-5);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Equal elements that enter the function alike score alike. */
static void test_symmetry(void **state) {
    (void)state;
    double x[3] = {4, 4, 4};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, x};
    const char *const names[] = {"shapley-values", "kernel-shap"};
    for (int m = 0; m < 2; m++) {
        asc_attr_request q = request(names[m], &in);
        asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
        toy_near(r->scores[0].data[0], r->scores[0].data[1], 1e-5);
        toy_near(r->scores[0].data[0], r->scores[0].data[2], 1e-5);
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Every allocation fails once: an error each time, nothing lost. */
static void test_starved(void **state) {
    (void)state;
    double x[2 * WIDE];
    numbers(x, 2 * WIDE, 9);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        long allocations = 1;
        for (long fail = 0; fail <= allocations; fail += 1 + fail / 24) {
            test_alloc a = {0};
            asc_ctx_options o = {
                .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
            asc_ctx *ctx;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, WIDE));
            asc_array in = {ASC_ELEM_F64, {2, {2, WIDE}}, x};
            asc_attr_request q = request(methods[m], &in);
            q.samples = 24;
            asc_attribution *r = NULL;
            long before = a.count;
            a.fail_at = fail > 0 ? before + fail : 0;
            asc_status st = asc_attribute(net, &q, &r);
            a.fail_at = 0;
            if (fail == 0) allocations = a.count - before;
            assert_int_equal(st, fail == 0 ? ASC_OK : st == ASC_OK ? ASC_OK : ASC_RESOURCE_EXHAUSTED);
            asc_attribution_destroy(ctx, r);
            asc_net_close(net);
            test_ctx_end(ctx);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_independent),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_additive),
                                       cmocka_unit_test(test_standard_errors),
                                       cmocka_unit_test(test_tolerance),
                                       cmocka_unit_test(test_symmetry),
                                       cmocka_unit_test(test_background),
                                       cmocka_unit_test(test_price),
                                       cmocka_unit_test(test_starved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
