/* Attribution over a data set, against captum 0.9.0's DataLoaderAttribution(FeatureAblation) on the same set;
 * and LimeBase with callbacks. */
#include "toy_nets.h"
#include "ascribe/dataset.h"
#include "ascribe/lime.h"

enum { ROWS = 7, BATCH = 3 };

/* sum(a) b0 + b1^2 - b2 a1 -> [B,1] */
static void curved(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    (void)self;
    int axis[] = {-1};
    asc_tensor *b[3], *a1;
    int64_t n = asc_tensor_shape(in[0]).dims[0];
    static const float pick[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, second[2] = {0, 1};
    for (int i = 0; i < 3; i++)
        b[i] = asc_sum(ctx, asc_mul(ctx, in[1], asc_from_f32(ctx, ASC_SHAPE(3), pick[i])), 1, axis, true);
    a1 = asc_sum(ctx, asc_mul(ctx, in[0], asc_from_f32(ctx, ASC_SHAPE(2), second)), 1, axis, true);
    asc_tensor *y = asc_mul(ctx, asc_sum(ctx, in[0], 1, axis, true), b[0]);
    y = asc_sub(ctx, asc_add(ctx, y, asc_square(ctx, b[1])), asc_mul(ctx, b[2], a1));
    out[0] = asc_reshape(ctx, y, ASC_SHAPE(n, 1));
}

typedef struct set {
    double a[ROWS * 2], b[ROWS * 3], y[ROWS];
    double error[8], count[8]; /* state of each slot */
    int batches, fail_at;
} set;

static set make_set(void) {
    set s = {.fail_at = -1};
    for (int i = 0; i < ROWS * 2; i++) s.a[i] = (double)(i * 7 % 11 - 5) / 4.0;
    for (int i = 0; i < ROWS * 3; i++) s.b[i] = (double)(i * 5 % 13 - 6) / 5.0;
    for (int i = 0; i < ROWS; i++) s.y[i] = (double)(i * 3 % 4);
    return s;
}

static asc_status batch(void *self, size_t i, asc_array *out, bool *end) {
    set *s = self;
    int64_t first = (int64_t)i * BATCH, n = ROWS - first < BATCH ? ROWS - first : BATCH;
    if (s->batches++ == s->fail_at) return ASC_UNAVAILABLE;
    *end = n <= 0;
    if (*end) return ASC_OK;
    out[0] = (asc_array){ASC_ELEM_F64, {2, {n, 2}}, s->a + 2 * first};
    out[1] = (asc_array){ASC_ELEM_F64, {2, {n, 3}}, s->b + 3 * first};
    out[2] = (asc_array){ASC_ELEM_F64, {2, {n, 1}}, s->y + first};
    return ASC_OK;
}

/* Mean squared error against the labels. */
static asc_status reduce(void *self, size_t slot, size_t number, const asc_array *output,
                         const asc_array *values) {
    set *s = self;
    int64_t n = asc_array_count(output);
    double f[BATCH], y[BATCH];
    if (number == 0) s->error[slot] = s->count[slot] = 0.0;
    asc_array_get(output, 0, n, f);
    asc_array_get(&values[2], 0, n, y);
    for (int64_t i = 0; i < n; i++) s->error[slot] += (f[i] - y[i]) * (f[i] - y[i]);
    s->count[slot] += (double)n;
    return ASC_OK;
}

static asc_status metric(void *self, size_t slot, const double *outputs, size_t n, double *out) {
    const set *s = self;
    assert_true(outputs == NULL && n == 0);
    out[0] = s->error[slot] / s->count[slot];
    return ASC_OK;
}

static asc_net *curved_net(asc_ctx *ctx) {
    static const asc_port ports[] = {{"a", ASC_ELEM_F32, {2, {-1, 2}}, true},
                                     {"b", ASC_ELEM_F32, {2, {-1, 3}}, true}};
    static const char *const names[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = ports,
                     .n_inputs = 2,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = curved};
    asc_net *net;
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    return net;
}

static void test_walks(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = curved_net(ctx);
    const asc_role roles[3] = {ASC_ROLE_ATTRIBUTE, ASC_ROLE_ATTRIBUTE, ASC_ROLE_LABEL};
    const double plain_a[2] = {-0.955141544, 3.587643385},
                 plain_b[3] = {1.593429089, -0.859770298, 1.821928978},
                 masked_a[2] = {-1.408857346, 3.096571922},
                 masked_b[3] = {3.096571922, -4.702985764, -4.702985764};
    for (size_t per_walk = 0; per_walk < 8; per_walk++) {
        set s = make_set();
        asc_dataset data = {
            .struct_size = sizeof data, .self = &s, .n_values = 3, .roles = roles, .batch = batch};
        asc_dataset_request q = {
            .struct_size = sizeof q, .per_walk = per_walk, .self = &s, .reduce = reduce, .metric = metric};
        asc_attribution *r;
        assert_ok(ctx, asc_dataset_attribute(net, &data, &q, &r));
        for (int i = 0; i < 2; i++) toy_near(r->scores[0].data[i], plain_a[i], 2e-6);
        for (int i = 0; i < 3; i++) toy_near(r->scores[1].data[i], plain_b[i], 2e-6);
        assert_string_equal(r->scores[1].name, "b");
        asc_attribution_destroy(ctx, r);
        int p = per_walk > 0 ? (int)per_walk : 1;
        assert_int_equal(s.batches,
                         1 + 4 * (1 + (5 + p - 1) / p)); /* a look at batch 0; then 3 batches and the end */
        const int32_t ma[2] = {0, 1}, mb[3] = {1, 3, 3}; /* group 1 crosses the values; there is no group 2 */
        const double half = 0.5, b0[3] = {1, 2, 3};
        const asc_array masks[2] = {{ASC_ELEM_I32, {2, {1, 2}}, ma}, {ASC_ELEM_I32, {2, {1, 3}}, mb}},
                        base[2] = {{ASC_ELEM_F64, {0, {0}}, &half}, {ASC_ELEM_F64, {2, {1, 3}}, b0}};
        q.masks = masks;
        q.baselines = base;
        q.n_masks = q.n_baselines = 2;
        assert_ok(ctx, asc_dataset_attribute(net, &data, &q, &r));
        for (int i = 0; i < 2; i++) toy_near(r->scores[0].data[i], masked_a[i], 2e-6);
        for (int i = 0; i < 3; i++) toy_near(r->scores[1].data[i], masked_b[i], 2e-6);
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Without reduce every output of the set is a number to explain. */
static void test_every_output(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = curved_net(ctx);
    set s = make_set();
    const asc_role roles[3] = {ASC_ROLE_ATTRIBUTE, ASC_ROLE_FORWARD, ASC_ROLE_LABEL};
    asc_dataset data = {
        .struct_size = sizeof data, .self = &s, .n_values = 3, .roles = roles, .batch = batch};
    asc_dataset_request q = {.struct_size = sizeof q, .per_walk = 2};
    asc_attribution *r;
    const double want[ROWS * 2] = {1.5, -1, 0.4, -2.5, -0.1, -0.45, 0, 0, -0.4, 0.45, -0.2, -0.75, 0.6, -0.3};
    assert_ok(ctx, asc_dataset_attribute(net, &data, &q, &r));
    assert_int_equal(r->n_scores, 1);
    assert_int_equal(r->scores[0].shape.dims[0], ROWS);
    for (int i = 0; i < ROWS * 2; i++) toy_near(r->scores[0].data[i], want[i], 1e-6);
    asc_attribution_destroy(ctx, r);
    /* what is refused, and failures of the caller's own */
    const asc_role none[3] = {ASC_ROLE_FORWARD, ASC_ROLE_FORWARD, ASC_ROLE_LABEL},
                   many[3] = {ASC_ROLE_ATTRIBUTE, ASC_ROLE_FORWARD, ASC_ROLE_FORWARD};
    data.roles = none;
    assert_int_equal(asc_dataset_attribute(net, &data, &q, &r), ASC_INVALID_ARGUMENT);
    data.roles = many;
    assert_int_equal(asc_dataset_attribute(net, &data, &q, &r), ASC_INVALID_ARGUMENT);
    data.roles = roles;
    q.reduce = reduce;
    assert_int_equal(asc_dataset_attribute(net, &data, &q, &r), ASC_INVALID_ARGUMENT);
    q.reduce = NULL;
    for (s.fail_at = 0; s.fail_at < 9; s.fail_at++) {
        s.batches = 0;
        assert_int_equal(asc_dataset_attribute(net, &data, &q, &r), ASC_UNAVAILABLE);
        assert_null(r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* ---- LimeBase
 * ---------------------------------------------------------------------------------------------------- */

/* Moves every element by a fixed pattern; the features are the inputs themselves. */
static bool jitter(void *self, size_t example, size_t sample, asc_lime_inputs x, double *z,
                   double *const *perturbed) {
    (void)x;
    (void)z;
    int *calls = self;
    assert_int_equal((size_t)*calls % 40, sample);
    ++*calls;
    for (size_t i = 0; i < TOY_IN; i++) perturbed[0][i] += (double)toy_number(100 * sample + i + example);
    return sample < 40;
}

static void as_they_are(void *self, asc_lime_inputs perturbed, asc_lime_inputs x, double *z) {
    (void)self;
    (void)x;
    memcpy(z, perturbed[0], TOY_IN * sizeof *z);
}

/* The sets of three features one after the other. */
static bool sets(void *self, size_t example, size_t sample, asc_lime_inputs x, double *z,
                 double *const *perturbed) {
    (void)self;
    (void)example;
    (void)x;
    (void)perturbed;
    for (size_t i = 0; i < 3; i++) z[i] = (double)(sample >> i & 1);
    return sample < 8;
}

static bool mean_only(void *self, const double *z, const double *y, const double *w, size_t n, double *coef) {
    (void)self;
    (void)z;
    double sum = 0.0, weight = 0.0;
    for (size_t i = 0; i < n; i++) sum += w[i] * y[i], weight += w[i];
    coef[0] = sum / weight;
    coef[1] = (double)n;
    return n > 1;
}

static void test_lime_base(void **state) {
    (void)state;
    int one = 1, calls = 0;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    /* a linear surrogate of a linear function of its own inputs gives the function back */
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    const double x[6] = {23, 100, 10, 20, 50, 30};
    int64_t zero = 0;
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, x};
    asc_attr_request q = {.struct_size = sizeof q,
                          .inputs = &in,
                          .n_inputs = 1,
                          .penalty = 1.0,
                          .target = {.n_rows = 1, .rank = 1, .index = &zero}};
    asc_lime_def d = {.struct_size = sizeof d, .n_features = 3, .in_features = true, .perturb = sets};
    asc_attribution *r;
    assert_ok(ctx, asc_lime_base(net, &q, &d, &r));
    assert_int_equal(r->n_notes, 1); /* 8 of 50 samples */
    assert_true(r->scores[0].shape.dims[0] == 2 && r->scores[0].shape.dims[1] == 3);
    double by_callback[6];
    memcpy(by_callback, r->scores[0].data, sizeof by_callback);
    asc_attribution_destroy(ctx, r);
    q.method = "lime"; /* the method itself takes the same 8 sets */
    toy_scores(ctx, net, &q, 0, by_callback, 6, 1e-9);
    d.fit = mean_only;
    d.n_coef = 2;
    assert_ok(ctx, asc_lime_base(net, &q, &d, &r));
    assert_true(r->scores[0].data[1] == 8.0 && r->scores[0].data[0] > 50.0);
    asc_attribution_destroy(ctx, r);
    d = (asc_lime_def){.struct_size = sizeof d, .n_features = 4, .in_features = true, .perturb = sets};
    assert_int_equal(asc_lime_base(net, &q, &d, &r), ASC_INVALID_ARGUMENT);
    d = (asc_lime_def){.struct_size = sizeof d, .n_features = 3, .perturb = sets};
    assert_int_equal(asc_lime_base(net, &q, &d, &r), ASC_INVALID_ARGUMENT);
    assert_null(r);
    asc_net_close(net);
    net = toy_net(ctx, toy_additive, &one, ASC_SHAPE(-1, TOY_IN));
    double far[TOY_IN];
    for (int i = 0; i < TOY_IN; i++) far[i] = 1000.0; /* c x^2 is 2000 c (x - 1000) + .. here */
    in = (asc_array){ASC_ELEM_F64, {2, {1, TOY_IN}}, far};
    q.target = (asc_target){0};
    q.surrogate = "linear";
    q.samples = 40;
    d = (asc_lime_def){.struct_size = sizeof d,
                       .n_features = TOY_IN,
                       .perturb = jitter,
                       .to_features = as_they_are,
                       .self = &calls};
    const double c[TOY_IN] = {1, -2, 3, 0.5, 0, 4};
    assert_ok(ctx, asc_lime_base(net, &q, &d, &r));
    assert_int_equal(calls, 40);
    for (int i = 0; i < TOY_IN; i++) toy_near(r->scores[0].data[i], 2000.0 * c[i], 3.0);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walks), cmocka_unit_test(test_every_output),
                                       cmocka_unit_test(test_lime_base)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
