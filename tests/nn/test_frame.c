/* Nets written in C: sites, parameters, output shapes, taps, and what is refused. */
#include "harness.h"
#include "frame.h"

/* h = relu(x w + b) as site "h", twice; y = sum over the last axis; second output = h. */
static void two_layers(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    asc_tensor *x = in[0];
    int axis[] = {-1};
    if (self != NULL) ++*(int *)self;
    for (int i = 0; i < 2; i++) {
        x = asc_add(ctx, asc_matmul(ctx, x, asc_param(f, "w"), false, true), asc_param(f, "b"));
        x = asc_site(f, "h", asc_relu(ctx, x));
    }
    out[0] = asc_sum(ctx, x, 1, axis, false);
    out[1] = x;
}

static const double w_data[9] = {1, 0, -1, 0.1, 2, 0, 1, 1, 1};
static const float b_data[3] = {0.5f, -1, 2};
static const float x_data[6] = {1, 2, 3, -1, 0.5f, 2};

static asc_params *params(asc_ctx *ctx) {
    asc_params *p;
    assert_ok(ctx, asc_params_create(ctx, &p));
    assert_ok(ctx, asc_params_add(p, "w", &(asc_array){ASC_ELEM_F64, {2, {3, 3}}, w_data}));
    assert_ok(ctx, asc_params_add(p, "b", &(asc_array){ASC_ELEM_F32, {1, {3}}, b_data}));
    return p;
}

static asc_net_def def_of(asc_net_fn fn, void *self, asc_params *p) {
    static const asc_port in = {"x", ASC_ELEM_F32, {2, {-1, 3}}, true};
    static const char *const names[] = {"y", "h_out"};
    return (asc_net_def){.struct_size = sizeof(asc_net_def),
                         .inputs = &in,
                         .n_inputs = 1,
                         .outputs = names,
                         .n_outputs = 2,
                         .forward = fn,
                         .self = self,
                         .params = p};
}

static void layer(const double *x, double *h) {
    for (int i = 0; i < 3; i++) {
        h[i] = 0;
        for (int k = 0; k < 3; k++) h[i] += w_data[3 * i + k] * x[k];
        h[i] += (double)b_data[i];
        h[i] = h[i] > 0 ? h[i] : 0;
    }
}

static void test_learns_and_runs(void **state) {
    (void)state;
    const char *modes[] = {"deferred", "eager"};
    for (int m = 0; m < 2; m++) {
        asc_ctx *ctx = test_ctx("reference", modes[m]);
        asc_params *p = params(ctx);
        int calls = 0;
        asc_net_def d = def_of(two_layers, &calls, p);
        asc_net *net;
        assert_ok(ctx, asc_net_create(ctx, &d, &net));
        assert_int_equal(calls, 2);
        const char *sites[] = {"h", "h#2", "y"};
        for (size_t i = 0; i < 3; i++) assert_string_equal(asc_net_site(net, i), sites[i]);
        assert_null(asc_net_site(net, 3));
        asc_port y = asc_net_output(net, 0), h = asc_net_output(net, 1);
        assert_true(y.batch && y.shape.rank == 1 && y.shape.dims[0] == -1 && y.elem == ASC_ELEM_F32);
        assert_true(h.batch && h.shape.rank == 2 && h.shape.dims[1] == 3);
        assert_int_equal(net->output_site[1], 1);
        for (int twice = 0; twice < 2; twice++) { /* weights stay from one run to the next */
            asc_array x = {ASC_ELEM_F32, {2, {2, 3}}, x_data}, got[3];
            const char *names[] = {"h", "y", "h_out"};
            double v[6], want[3], again[3], in[3];
            assert_ok(ctx, asc_net_run(net, &x, 1, names, 3, got));
            for (int row = 0; row < 2; row++) {
                for (int k = 0; k < 3; k++) in[k] = (double)x_data[3 * row + k];
                layer(in, want);
                layer(want, again);
                asc_array_get(&got[0], 3 * row, 3, v);
                for (int k = 0; k < 3; k++) assert_true(v[k] == want[k]);
                asc_array_get(&got[2], 3 * row, 3, v);
                for (int k = 0; k < 3; k++) assert_true(v[k] == again[k]);
                asc_array_get(&got[1], row, 1, v);
                assert_true(v[0] == again[0] + again[1] + again[2]);
            }
            for (int k = 0; k < 3; k++) asc_array_free(ctx, &got[k]);
        }
        asc_net_close(net);
        asc_params_destroy(p);
        test_ctx_end(ctx);
    }
}

/* Replaces site `self` by ones. */
static asc_tensor *ones_at(void *self, size_t site, asc_tensor *value) {
    return site == *(size_t *)self ? asc_full(value->ctx, asc_tensor_shape(value), 1.0) : value;
}

static void test_tap_replaces(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_params *p = params(ctx);
    asc_net_def d = def_of(two_layers, NULL, p);
    asc_net *net;
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(1, 3), x_data), *out[2];
    size_t site = 0;
    asc_tap tap = {ones_at, &site};
    double v[3], want[3];
    assert_ok(ctx, net->forward(net, &x, &tap, out));
    assert_ok(ctx, asc_read_f64(ctx, out[1], v, 3));
    layer((double[]){1, 1, 1}, want);
    for (int k = 0; k < 3; k++) assert_true(v[k] == want[k]);
    site = 2;
    assert_ok(ctx, net->forward(net, &x, &tap, out));
    assert_ok(ctx, asc_read_f64(ctx, out[0], v, 1));
    assert_true(v[0] == 1.0);
    assert_string_equal(out[1]->label, "h#2"); /* ops carry the name of their site */
    assert_ok(ctx, asc_scope_end(ctx));
    asc_net_close(net);
    asc_params_destroy(p);
    test_ctx_end(ctx);
}

static void no_param(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)self;
    out[0] = asc_mul(asc_frame_ctx(f), in[0], asc_param(f, "bb"));
    out[1] = in[0];
}
static void no_output(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)f, (void)self;
    out[0] = in[0];
}
static void changes(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    char name[] = "a";
    name[0] = (char)(name[0] + (++*(int *)self > 2 ? 1 : 0));
    out[0] = out[1] = asc_site(f, name, asc_neg(asc_frame_ctx(f), in[0]));
}

static void refused(asc_ctx *ctx, const asc_net_def *d, asc_status want, const char *words) {
    asc_net *net;
    assert_int_equal(asc_net_create(ctx, d, &net), want);
    assert_null(net);
    if (strstr(asc_error_message(ctx), words) == NULL)
        fail_msg("'%s' lacks '%s'", asc_error_message(ctx), words);
}

static void test_refusals(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_params *p = params(ctx);
    asc_net_def d = def_of(no_param, NULL, p);
    refused(ctx, &d, ASC_NOT_FOUND, "no parameter 'bb'");
    assert_non_null(strstr(asc_error_hint(ctx), "b, w"));
    d.params = NULL;
    refused(ctx, &d, ASC_NOT_FOUND, "no parameter 'bb'");
    d.forward = no_output;
    refused(ctx, &d, ASC_FAILED_PRECONDITION, "'h_out'");
    d.forward = NULL;
    refused(ctx, &d, ASC_INVALID_ARGUMENT, "forward");
    d = def_of(two_layers, NULL, p);
    d.struct_size = 8;
    refused(ctx, &d, ASC_INVALID_ARGUMENT, "struct_size");
    d = def_of(two_layers, NULL, p);
    const asc_port twice[2] = {{"x", ASC_ELEM_F32, {2, {-1, 3}}, true}, {"x", ASC_ELEM_F32, {0}, false}};
    d.inputs = twice;
    d.n_inputs = 2;
    refused(ctx, &d, ASC_ALREADY_EXISTS, "'x'");
    const asc_port bad = {"x", ASC_ELEM_F32, {2, {-1, -3}}, true};
    d.inputs = &bad;
    d.n_inputs = 1;
    refused(ctx, &d, ASC_INVALID_ARGUMENT, "'x'");
    assert_int_equal(asc_params_add(p, "w", &(asc_array){ASC_ELEM_F32, {1, {3}}, b_data}),
                     ASC_ALREADY_EXISTS);
    int calls = 0;
    d = def_of(changes, &calls, p);
    asc_net *net;
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    asc_array x = {ASC_ELEM_F32, {2, {2, 3}}, x_data}, got[2];
    assert_int_equal(asc_net_run(net, &x, 1, NULL, 0, got), ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "'b' comes where the net had 'a'"));
    asc_net_close(net);
    asc_params_destroy(p);
    test_ctx_end(ctx);
}

static void test_starved(void **state) {
    (void)state;
    for (long fail = 1; fail < 400; fail++) {
        test_alloc a = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        asc_params *p = NULL;
        asc_net *net = NULL;
        a.fail_at = a.count + fail;
        asc_status st = asc_params_create(ctx, &p);
        if (st == ASC_OK) st = asc_params_add(p, "w", &(asc_array){ASC_ELEM_F64, {2, {3, 3}}, w_data});
        if (st == ASC_OK) st = asc_params_add(p, "b", &(asc_array){ASC_ELEM_F32, {1, {3}}, b_data});
        asc_net_def d = def_of(two_layers, NULL, p);
        if (st == ASC_OK) st = asc_net_create(ctx, &d, &net);
        bool over = a.count < a.fail_at;
        a.fail_at = 0;
        assert_int_equal(st, over ? ASC_OK : ASC_RESOURCE_EXHAUSTED);
        asc_net_close(net);
        asc_params_destroy(p);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
        if (over) return;
    }
    fail_msg("the sweep never ended");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns_and_runs),
        cmocka_unit_test(test_tap_replaces),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
