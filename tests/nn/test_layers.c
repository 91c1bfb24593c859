/* Every layer of ascribe/net.h against PyTorch: values and gradients (scripts/refs/nn_fixtures.py). */
#include "harness.h"
#include "frame.h"
#include "json.h"
#include "ops.h"
#include <math.h>

/* An array of a fixture: [shape, values]. */
static asc_array array_of(asc_ctx *ctx, const asc_json *j, bool ints) {
    const asc_json *shape = asc_json_at(j, 0), *values = asc_json_at(j, 1);
    size_t n = asc_json_len(values);
    asc_array a = {.elem = ints ? ASC_ELEM_I64 : ASC_ELEM_F64, .shape = {.rank = (int)asc_json_len(shape)}};
    for (int i = 0; i < a.shape.rank; i++) a.shape.dims[i] = asc_json_int(asc_json_at(shape, (size_t)i), -1);
    double *v = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++) {
        v[i] = asc_json_num(asc_json_at(values, i), NAN);
        int64_t whole = (int64_t)v[i];
        if (ints) memcpy(&v[i], &whole, sizeof whole);
    }
    a.data = v;
    return a;
}

typedef struct layer_case {
    asc_view layer;
    const asc_json *options;
} layer_case;

static void list(const asc_json *options, const char *name, int64_t out[3]) {
    for (size_t i = 0; i < asc_json_len(asc_json_get(options, name)); i++)
        out[i] = asc_json_int(asc_json_at(asc_json_get(options, name), i), 0);
}

static asc_tensor *build(asc_frame *f, const layer_case *c, asc_tensor *x) {
    const asc_json *o = c->options;
    asc_conv_shape s = {.groups = asc_json_int(asc_json_get(o, "groups"), 0)};
    int64_t size[3] = {0};
    double eps = asc_json_num(asc_json_get(o, "eps"), 0);
    list(o, "size", size);
    list(o, "stride", s.stride);
    list(o, "pad", s.pad);
    list(o, "dilation", s.dilation);
    list(o, "output_pad", s.output_pad);
    if (asc_view_eqs(c->layer, "linear")) return asc_nn_linear(f, "l", x);
    if (asc_view_eqs(c->layer, "conv")) return asc_nn_conv(f, "l", x, &s);
    if (asc_view_eqs(c->layer, "conv_transpose")) return asc_nn_conv_transpose(f, "l", x, &s);
    if (asc_view_eqs(c->layer, "batch_norm")) return asc_nn_batch_norm(f, "l", x, eps);
    if (asc_view_eqs(c->layer, "layer_norm")) return asc_nn_layer_norm(f, "l", x, eps);
    if (asc_view_eqs(c->layer, "group_norm")) return asc_nn_group_norm(f, "l", x, s.groups, eps);
    if (asc_view_eqs(c->layer, "embedding")) return asc_nn_embedding(f, "l", x);
    if (asc_view_eqs(c->layer, "activation"))
        return asc_nn_activation(f, "l", x, (asc_activation)asc_json_int(asc_json_get(o, "kind"), -1));
    if (asc_view_eqs(c->layer, "max_pool")) return asc_nn_max_pool(f, "l", x, size, s.stride, s.pad);
    if (asc_view_eqs(c->layer, "avg_pool")) return asc_nn_avg_pool(f, "l", x, size, s.stride, s.pad);
    if (asc_view_eqs(c->layer, "softmax")) return asc_nn_softmax(f, "l", x);
    if (asc_view_eqs(c->layer, "lstm")) return asc_nn_lstm(f, "l", x);
    if (asc_view_eqs(c->layer, "gru")) return asc_nn_gru(f, "l", x);
    if (asc_view_eqs(c->layer, "rnn")) return asc_nn_rnn(f, "l", x);
    fail_msg("unknown layer");
    return x;
}

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    out[0] = build(f, self, in[0]);
}

/* Largest difference relative to the largest wanted value. */
static void close_to(const double *got, const asc_array *want, double tolerance, const char *what) {
    const double *w = want->data;
    double top = 0, worst = 0;
    for (int64_t i = 0; i < asc_array_count(want); i++) {
        top = fmax(top, fabs(w[i]));
        double d = fabs(got[i] - w[i]);
        worst = d <= worst ? worst : d; /* NaN counts as worst */
    }
    if (!(worst <= tolerance * (top > 0 ? top : 1))) fail_msg("%s: off by %g of %g", what, worst, top);
}

static void check_gradient(asc_ctx *ctx, asc_net *net, const asc_array *x, const asc_array *y,
                           const asc_array *dx, double tolerance, const char *what) {
    asc_scope_begin(ctx);
    asc_tensor *in = asc_from_array(ctx, x), *out, *g;
    size_t n = (size_t)asc_array_count(y), n_x = (size_t)asc_array_count(x);
    double *v = asc_calloc(ctx, ASC_MEM_GENERAL, n + n_x, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++) v[i] = cos((double)i);
    assert_ok(ctx, net->forward(net, &in, NULL, &out));
    asc_grad(ctx, out, asc_from_f64(ctx, y->shape, v), &in, 1, &g);
    assert_ok(ctx, asc_read_f64(ctx, g, v, n_x));
    close_to(v, dx, tolerance, what);
    asc_free(ctx, v);
    assert_ok(ctx, asc_scope_end(ctx));
}

static void check_case(asc_ctx *ctx, const asc_json *j, double tolerance) {
    layer_case c = {asc_json_str(asc_json_get(j, "layer")), asc_json_get(j, "options")};
    const bool ints = asc_view_eqs(c.layer, "embedding");
    char what[128];
    asc_params *p;
    asc_net *net;
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    assert_ok(ctx, asc_params_create(ctx, &p));
    while (asc_json_next(asc_json_get(j, "state"), &iter, &key, &v)) {
        char name[64];
        snprintf(name, sizeof name, "l." ASC_VIEW_FMT, ASC_VIEW_ARG(key));
        asc_array a = array_of(ctx, v, false);
        assert_ok(ctx, asc_params_add(p, name, &a));
        asc_array_free(ctx, &a);
    }
    asc_array x = array_of(ctx, asc_json_get(j, "x"), ints), y = array_of(ctx, asc_json_get(j, "y"), false),
              out;
    asc_port port = {"x", ints ? ASC_ELEM_I64 : ASC_ELEM_F32, x.shape, x.shape.rank > 1};
    if (port.batch) port.shape.dims[0] = -1;
    const char *outputs[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = outputs,
                     .n_outputs = 1,
                     .forward = forward,
                     .self = &c,
                     .params = p};
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    assert_string_equal(asc_net_site(net, 0), "l.in");
    assert_string_equal(asc_net_site(net, 1), "l");
    assert_int_equal(net->n_sites, 2);
    snprintf(what, sizeof what, ASC_VIEW_FMT " of rank %d", ASC_VIEW_ARG(c.layer), x.shape.rank);
    assert_ok(ctx, asc_net_run(net, &x, 1, NULL, 0, &out));
    assert_true(asc_shape_eq(&out.shape, &y.shape));
    double *got = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)asc_array_count(&out) + 1, sizeof *got);
    assert_non_null(got);
    asc_array_get(&out, 0, asc_array_count(&out), got);
    close_to(got, &y, tolerance, what);
    if (asc_json_get(j, "dx") != NULL) {
        asc_array dx = array_of(ctx, asc_json_get(j, "dx"), false);
        strcat(what, ", gradient");
        check_gradient(ctx, net, &x, &y, &dx, tolerance, what);
        asc_array_free(ctx, &dx);
    }
    asc_free(ctx, got);
    asc_array_free(ctx, &out);
    asc_array_free(ctx, &x);
    asc_array_free(ctx, &y);
    asc_net_close(net);
    asc_params_destroy(p);
}

static void each_case(asc_ctx *ctx, double tolerance) {
    char *text;
    size_t n, lines = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("nn/layers.jsonl"), 1 << 24, &text, &n));
    for (char *line = text; *line != '\0'; lines++) {
        char *end = strchr(line, '\n');
        asc_json *j;
        assert_non_null(end);
        assert_ok(ctx, asc_json_parse(ctx, line, (size_t)(end - line), &j));
        check_case(ctx, j, tolerance);
        asc_json_free(j);
        line = end + 1;
    }
    assert_int_equal(lines, 36);
    asc_free(ctx, text);
}

/* Fixtures have 15 digits; sums are a few dozen terms long. */
static void test_reference(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    each_case(ctx, 1e-13);
    test_ctx_end(ctx);
}

static void test_cpu(void **state) {
    (void)state;
    const char *modes[] = {"deferred", "eager"};
    for (int m = 0; m < 2; m++) {
        asc_ctx *ctx = test_ctx("cpu", modes[m]);
        each_case(ctx, 2e-6);
        test_ctx_end(ctx);
    }
}

static void bad_layer(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    const int64_t k[1] = {2};
    switch (*(int *)self) {
    case 0:
        out[0] = asc_nn_linear(f, "missing", in[0]);
        break;
    case 1:
        out[0] = asc_nn_linear(f, "l", in[0]);
        break;
    case 2:
        out[0] = asc_nn_conv(f, "l", in[0], NULL);
        break;
    case 3:
        out[0] = asc_nn_conv_transpose(f, "l", in[0], NULL);
        break;
    case 4:
        out[0] = asc_nn_group_norm(f, "l", in[0], 2, 0);
        break;
    case 5:
        out[0] = asc_nn_lstm(f, "r", in[0]);
        break;
    case 6:
        out[0] = asc_nn_max_pool(f, "l", in[0], k, NULL, NULL);
        break;
    case 7:
        out[0] = asc_nn_activation(f, "l", in[0], (asc_activation)99);
        break;
    case 8:
        out[0] = asc_nn_batch_norm(f, "l", in[0], 0);
        break;
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        asc_status want;
        const char *words;
    } cases[] = {{ASC_NOT_FOUND, "missing.weight"}, {ASC_INVALID_ARGUMENT, "matmul"},
                 {ASC_INVALID_ARGUMENT, "conv"},    {ASC_INVALID_ARGUMENT, "l: x has rank 2"},
                 {ASC_INVALID_ARGUMENT, "groups"},  {ASC_INVALID_ARGUMENT, "[B,T,I]"},
                 {ASC_INVALID_ARGUMENT, "pool"},    {ASC_INVALID_ARGUMENT, "99"},
                 {ASC_NOT_FOUND, "running_mean"}};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_params *p;
    const float w[8] = {0};
    assert_ok(ctx, asc_params_create(ctx, &p));
    assert_ok(ctx, asc_params_add(p, "l.weight", &(asc_array){ASC_ELEM_F32, {2, {2, 4}}, w}));
    assert_ok(ctx, asc_params_add(p, "r.weight_ih_l0", &(asc_array){ASC_ELEM_F32, {2, {4, 1}}, w}));
    assert_ok(ctx, asc_params_add(p, "r.weight_hh_l0", &(asc_array){ASC_ELEM_F32, {2, {4, 1}}, w}));
    for (int i = 0; i < 9; i++) {
        asc_port port = {"x", ASC_ELEM_F32, {2, {-1, 3}}, true};
        const char *outputs[] = {"y"};
        asc_net_def d = {.struct_size = sizeof d,
                         .inputs = &port,
                         .n_inputs = 1,
                         .outputs = outputs,
                         .n_outputs = 1,
                         .forward = bad_layer,
                         .self = &i,
                         .params = p};
        asc_net *net;
        asc_status st = asc_net_create(ctx, &d, &net);
        if (st != cases[i].want || strstr(asc_error_message(ctx), cases[i].words) == NULL)
            fail_msg("case %d: %s: %s", i, asc_status_name(st), asc_error_message(ctx));
    }
    asc_params_destroy(p);
    test_ctx_end(ctx);
}

static void embed(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)self;
    out[0] = asc_nn_embedding(f, "e", in[0]);
}

static void test_ids_out_of_range(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_params *p;
    const float w[6] = {0};
    assert_ok(ctx, asc_params_create(ctx, &p));
    assert_ok(ctx, asc_params_add(p, "e.weight", &(asc_array){ASC_ELEM_F32, {2, {3, 2}}, w}));
    asc_port port = {"x", ASC_ELEM_F32, {1, {-1}}, true};
    const char *outputs[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = outputs,
                     .n_outputs = 1,
                     .forward = embed,
                     .params = p};
    asc_net *net;
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    const float ids[2][2] = {{0, 3}, {-1, 1}};
    for (int i = 0; i < 2; i++) {
        asc_array x = {ASC_ELEM_F32, {1, {2}}, ids[i]}, out;
        assert_int_equal(asc_net_run(net, &x, 1, NULL, 0, &out), ASC_OUT_OF_RANGE);
        assert_non_null(strstr(asc_error_message(ctx), "the table has 3 rows"));
    }
    asc_net_close(net);
    asc_params_destroy(p);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_ids_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
