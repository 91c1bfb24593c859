/* Properties of every method on nets, whatever it computes: a row of a batch is what it is alone, permuting a
 * batch permutes the result, grouping rows differently changes nothing, the same seed gives the same numbers,
 * and the request's arrays are left as they were. */
#include "harness.h"
#include "ascribe/attr.h"
#include "ascribe/attribute.h"
#include "ascribe/ops.h"
#include "exec.h"
#include <math.h>

enum { ROWS = 3, WIDTH = 36 };

static float data_of(int i) { return (float)(((uint32_t)i * 2654435761u >> 8) % 2000) / 1000.0f - 1.0f; }

/* [B,1,6,6]: convolution, relu, overlapping max pool, two linear layers with gelu and softmax between. */
static void net_fn(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    static const int64_t three[] = {3, 3}, two[] = {2, 2}, none[] = {0, 0};
    (void)self;
    asc_tensor *x = asc_nn_activation(f, "r1", asc_nn_conv(f, "c1", in[0], NULL), ASC_ACT_RELU);
    x = asc_nn_max_pool(f, "p1", x, three, (const int64_t[]){1, 1}, none);
    (void)two;
    x = asc_reshape(ctx, x, ASC_SHAPE(asc_tensor_shape(x).dims[0], 8));
    x = asc_nn_activation(f, "g1", asc_nn_linear(f, "l1", x), ASC_ACT_GELU);
    out[0] = asc_nn_linear(f, "l2", x);
}

static void add(asc_ctx *ctx, asc_params *p, const char *name, asc_shape shape, int first) {
    float data[256];
    asc_array a = {.elem = ASC_ELEM_F32, .shape = shape, .data = data};
    for (int i = 0; i < asc_array_count(&a); i++) data[i] = 0.7f * data_of(first + i);
    assert_ok(ctx, asc_params_add(p, name, &a));
}

static asc_net *make(asc_ctx *ctx, asc_params **params) {
    asc_port port = {"x", ASC_ELEM_F32, {4, {-1, 1, 6, 6}}, true};
    static const char *const names[] = {"y"};
    asc_net *net;
    assert_ok(ctx, asc_params_create(ctx, params));
    add(ctx, *params, "c1.weight", ASC_SHAPE(2, 1, 3, 3), 1);
    add(ctx, *params, "c1.bias", ASC_SHAPE(2), 31);
    add(ctx, *params, "l1.weight", ASC_SHAPE(5, 8), 41);
    add(ctx, *params, "l1.bias", ASC_SHAPE(5), 101);
    add(ctx, *params, "l2.weight", ASC_SHAPE(3, 5), 111);
    add(ctx, *params, "l2.bias", ASC_SHAPE(3), 131);
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = net_fn,
                     .params = *params};
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    return net;
}

typedef struct fixture {
    asc_ctx *ctx;
    asc_params *params;
    asc_net *net;
    float x[ROWS * WIDTH];
    int32_t mask[WIDTH];
    int64_t target[ROWS];
} fixture;

/* Runs method on the rows listed. */
static asc_attribution *run(fixture *f, size_t method, const int *rows, size_t n, size_t rows_per_pass) {
    static const int64_t window[] = {1, 3, 3}, stride[] = {1, 2, 2}, unit[] = {1, 0, 0};
    static const char *const at[] = {"r1"};
    static const double stdev = 0.1, base[2 * WIDTH] = {0.2, -0.3, 0.1};
    const char *name = asc_method_at(method)->name;
    asc_method_traits traits = asc_method_traits_at(method);
    float x[ROWS * WIDTH];
    int64_t target[ROWS];
    for (size_t i = 0; i < n; i++) {
        memcpy(x + i * WIDTH, f->x + rows[i] * WIDTH, WIDTH * sizeof *x);
        target[i] = f->target[rows[i]];
    }
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE((int64_t)n, 1, 6, 6), .data = x};
    asc_array mask = {.elem = ASC_ELEM_I32, .shape = ASC_SHAPE(1, 1, 6, 6), .data = f->mask};
    asc_array baseline = {.elem = ASC_ELEM_F64, .shape = ASC_SHAPE(2, 1, 6, 6), .data = base};
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = name,
                          .inputs = &in,
                          .n_inputs = 1,
                          .target = {.n_rows = n, .rank = 1, .index = target},
                          .samples = 7,
                          .steps = 9,
                          .rule = strcmp(name, "integrated-gradients") == 0 ? "adaptive" : NULL,
                          .base = "integrated-gradients",
                          .stdevs = &stdev,
                          .n_stdevs = 1,
                          .rows_per_pass = rows_per_pass,
                          .seed = 5};
    if (strcmp(name, "noise-tunnel") == 0) q.rule = "gauss-legendre";
    if (traits.needs_site) {
        q.at = at;
        q.n_at = 1;
    }
    if (strcmp(name, "neuron-conductance") == 0)
        q.neuron = (asc_target){.value = "r1", .n_rows = 1, .rank = 3, .index = unit};
    if (strcmp(name, "guided-grad-cam") == 0) q.neuron.value = "r1";
    if (strcmp(name, "occlusion") == 0) {
        q.window = window;
        q.stride = stride;
        q.n_window = 3;
    }
    if (strstr(name, "shapley") != NULL || strcmp(name, "lime") == 0 || strcmp(name, "kernel-shap") == 0) {
        q.masks = &mask;
        q.n_masks = 1;
    }
    if (strcmp(name, "deep-lift-shap") == 0 || strcmp(name, "gradient-shap") == 0) {
        q.baselines = &baseline;
        q.n_baselines = 1;
    }
    asc_attribution *r;
    asc_status st = asc_attribute(f->net, &q, &r);
    if (st != ASC_OK) fail_msg("%s: %s", name, asc_error_message(f->ctx));
    return r;
}

/* Row i of a and row j of b. */
static void same_row(const char *name, const char *what, const asc_attribution *a, size_t i,
                     const asc_attribution *b, size_t j, double tolerance) {
    assert_int_equal(a->n_scores, b->n_scores);
    for (size_t k = 0; k < a->n_scores; k++) {
        const asc_scores *s = &a->scores[k], *t = &b->scores[k];
        asc_array whole = {.elem = ASC_ELEM_F64, .shape = s->shape};
        size_t n = (size_t)asc_array_count(&whole) / (size_t)s->shape.dims[0];
        double largest = 1e-30, worst = 0;
        for (size_t e = 0; e < n; e++) {
            largest = fmax(largest, fabs(s->data[i * n + e]));
            worst = fmax(worst, fabs(s->data[i * n + e] - t->data[j * n + e]));
        }
        if (!(worst <= tolerance * largest))
            fail_msg("%s, %s: rows %zu and %zu differ by %g of %g", name, what, i, j, worst, largest);
    }
}

/* Scores, their errors and the explained values, NAN included. */
static void same_bits(const char *name, const char *what, const asc_attribution *a,
                      const asc_attribution *b) {
    assert_int_equal(a->n_scores, b->n_scores);
    for (size_t k = 0; k < a->n_scores; k++) {
        const asc_scores *s = &a->scores[k], *t = &b->scores[k];
        asc_array whole = {.elem = ASC_ELEM_F64, .shape = s->shape};
        size_t bytes = (size_t)asc_array_count(&whole) * sizeof(double);
        if (memcmp(s->data, t->data, bytes) != 0) fail_msg("%s, %s: other scores", name, what);
        assert_true((s->error != NULL) == (t->error != NULL));
        if (s->error != NULL && memcmp(s->error, t->error, bytes) != 0)
            fail_msg("%s, %s: other errors", name, what);
    }
    assert_memory_equal(a->value, b->value, a->n_examples * a->n_outputs * sizeof(double));
}

static void setup_with(fixture *f, const char *device, const char *mode, int n_threads) {
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = device, .mode = mode, .n_threads = n_threads, .seed = 1};
    *f = (fixture){.target = {0, 2, 1}};
    assert_int_equal(asc_ctx_create(&o, &f->ctx), ASC_OK);
    f->net = make(f->ctx, &f->params);
    for (int i = 0; i < ROWS * WIDTH; i++) f->x[i] = data_of(1000 + i);
    for (int i = 0; i < WIDTH; i++) f->mask[i] = i / 9;
}

static void setup(fixture *f, const char *device) { setup_with(f, device, "deferred", 0); }

static void teardown(fixture *f) {
    asc_net_close(f->net);
    asc_params_destroy(f->params);
    test_ctx_end(f->ctx);
}

static void check_all(const char *device, double tolerance) {
    static const int all[] = {0, 1, 2}, turned[] = {2, 0, 1};
    fixture f;
    setup(&f, device);
    size_t checked = 0;
    for (size_t m = 0; asc_method_at(m) != NULL; m++) {
        const char *name = asc_method_at(m)->name;
        /* permutation exchanges values between the rows of a batch: that is what it is */
        if (!asc_method_traits_at(m).nets || strcmp(name, "feature-permutation") == 0) continue;
        asc_attribution *r = run(&f, m, all, ROWS, 0), *again = run(&f, m, all, ROWS, 0),
                        *two = run(&f, m, all, ROWS, 2), *p = run(&f, m, turned, ROWS, 0);
        for (size_t i = 0; i < ROWS; i++) {
            asc_attribution *one = run(&f, m, &all[i], 1, 0);
            same_row(name, "alone", r, i, one, 0, tolerance);
            same_row(name, "permuted", r, (size_t)turned[i], p, i, tolerance);
            same_row(name, "two rows a pass", r, i, two, i, tolerance);
            same_row(name, "again", r, i, again, i, 0);
            asc_attribution_destroy(f.ctx, one);
        }
        asc_attribution_destroy(f.ctx, r);
        asc_attribution_destroy(f.ctx, again);
        asc_attribution_destroy(f.ctx, two);
        asc_attribution_destroy(f.ctx, p);
        checked++;
    }
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(f.x[i] == data_of(1000 + i));
    assert_true(checked >= 22);
    teardown(&f);
}

/* f64 sums of other lengths round differently in the last bits. */
static void test_reference(void **state) {
    (void)state;
    check_all("reference", 1e-9);
}

/* f32: a few roundings; fits and variances amplify them. */
static void test_cpu(void **state) {
    (void)state;
    check_all("cpu", 2e-4);
}

/* The same bits for one thread and two, recorded whole, op by op, and captured; and again with other inputs
 * and targets, which captures take in without being recorded anew. */
static void test_same_bits(void **state) {
    (void)state;
    static const struct {
        const char *mode, *what;
        int n_threads;
    } kinds[] = {{"deferred", "1 thread", 1},
                 {"deferred", "2 threads", 2},
                 {"eager", "eager", 1},
                 {"compiled", "compiled", 1},
                 {"compiled", "compiled, 2 threads", 2}};
    static const int all[] = {0, 1, 2};
    enum { N = sizeof kinds / sizeof *kinds, ROUNDS = 3 };
    fixture f[N];
    for (size_t k = 0; k < N; k++) setup_with(&f[k], "cpu", kinds[k].mode, kinds[k].n_threads);
    for (size_t m = 0; asc_method_at(m) != NULL; m++) {
        if (!asc_method_traits_at(m).nets) continue;
        uint64_t captures = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t k = 0; k < N; k++) {
                for (int i = 0; i < ROWS * WIDTH; i++) f[k].x[i] = data_of(1000 + i + 37 * round);
                for (int i = 0; i < ROWS; i++) f[k].target[i] = (i + round) % 3;
            }
            asc_attribution *want = run(&f[0], m, all, ROWS, 0);
            for (size_t k = 1; k < N; k++) {
                asc_attribution *got = run(&f[k], m, all, ROWS, 0);
                same_bits(asc_method_at(m)->name, kinds[k].what, want, got);
                asc_attribution_destroy(f[k].ctx, got);
            }
            asc_attribution_destroy(f[0].ctx, want);
            uint64_t now = asc_exec_stats_of(f[N - 1].ctx).captures;
            if (round > 0 && now != captures && strcmp(asc_method_at(m)->name, "integrated-gradients") != 0)
                fail_msg("%s captures other inputs anew", asc_method_at(m)->name);
            captures = now;
        }
    }
    asc_exec_stats s = asc_exec_stats_of(f[N - 1].ctx);
    assert_true(s.captures > 20 && s.cuts[ASC_CUT_CAPTURED] > 2 * s.captures);
    for (size_t k = 0; k < N; k++) teardown(&f[k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_cpu),
                                       cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
