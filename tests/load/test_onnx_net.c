/* test_onnx_net.c - small ONNX nets made here: external data, functions, sites, steering integers, quantised
 * gradients, control flow that depends on the input. */
#include "harness.h"
#include "onnx_make.h"
#include "onnx_run.h"
#include <unistd.h>

static const int64_t two[] = {2}, one[] = {1};

static void node(pb *g, const char *op, const char *in, const char *out) {
    pb n = pb_node(op, in, out);
    pb_sub(g, 1, &n);
}

static asc_net *make(asc_ctx *ctx, const pb *file) {
    asc_onnx_model *m = NULL;
    asc_net *net = NULL;
    assert_ok(ctx, asc_onnx_model_parse(ctx, file->data, file->n, &m));
    assert_ok(ctx, asc_onnx_net_make(ctx, m, NULL, &net));
    return net;
}

static void ports(pb *g) {
    pb x = pb_port("x", 1, 1, two), y = pb_port("y", 1, 1, two);
    pb_sub(g, 11, &x);
    pb_sub(g, 12, &y);
}

static void scalar_init(pb *g, const char *name, float value) {
    pb t = pb_tensor(name, 0, NULL, 1, value);
    pb_sub(g, 5, &t);
}

/* y of the net for x = {a, b} */
static void run2(asc_ctx *ctx, asc_net *net, float a, float b, double out[2]) {
    const float x[] = {a, b};
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2), .data = x}, y;
    assert_ok(ctx, asc_net_run(net, &in, 1, NULL, 0, &y));
    asc_array_get(&y, 0, 2, out);
    asc_array_free(ctx, &y);
}

static void write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* x + w, w in the file "w.bin" at this offset; length "" = not said */
static void write_external(const char *path, const char *offset, const char *length) {
    static pb file;
    pb g = {.n = 0}, t = {.n = 0};
    const char *const kv[][2] = {{"location", "w.bin"}, {"offset", offset}, {"length", length}};
    pb_int(&t, 1, 2);
    pb_int(&t, 2, 1);
    pb_str(&t, 8, "w");
    for (int i = 0; i < 3; i++) {
        pb e = {.n = 0};
        if (kv[i][1][0] == '\0') continue;
        pb_str(&e, 1, kv[i][0]);
        pb_str(&e, 2, kv[i][1]);
        pb_sub(&t, 13, &e);
    }
    pb_int(&t, 14, 1);
    pb_sub(&g, 5, &t);
    node(&g, "Add", "x,w", "y");
    ports(&g);
    file = pb_model(&g, 13);
    write_file(path, file.data, file.n);
}

static void external_data(void **state) {
    (void)state;
    char folder[TEST_TMP], path[TEST_PATH], data[TEST_PATH];
    const float w[] = {7, 8, 10, 20};
    assert_non_null(mkdtemp(test_tmp_name(folder, "asc-onnx-XXXXXX")));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    snprintf(data, sizeof data, "%s/w.bin", folder);
    write_file(data, w, sizeof w);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = NULL;
    double y[2];
    write_external(path, "8", "8");
    assert_ok(ctx, asc_onnx_open(ctx, path, &net));
    run2(ctx, net, 1, 2, y);
    assert_true(y[0] == 11 && y[1] == 22);
    asc_net_close(net);
    static const struct {
        const char *offset, *length, *says;
        asc_status st;
    } bad[] = {{"12", "", "ends behind the end", ASC_DATA_LOSS},
               {"18446744073709551615", "", "no number", ASC_DATA_LOSS},
               {"9223372036854775807", "", "ends behind the end", ASC_DATA_LOSS},
               {"0", "4", "external length", ASC_INVALID_ARGUMENT},
               {"-1", "", "no number", ASC_DATA_LOSS}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_external(path, bad[i].offset, bad[i].length);
        assert_int_equal(asc_onnx_open(ctx, path, &net), bad[i].st);
        assert_null(net);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL) fail_msg("%s", asc_error_message(ctx));
    }
    unlink(data);
    write_external(path, "0", "");
    assert_int_equal(asc_onnx_open(ctx, path, &net), ASC_NOT_FOUND);
    unlink(path);
    rmdir(folder);
    test_ctx_end(ctx);
}

/* y = own.Twice(x), where Twice(x) {alpha} = LeakyRelu<alpha = @alpha>(x) + x */
static void functions(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    static pb file, f;
    pb g = {.n = 0}, call = pb_node("Twice", "x", "y"), set = {.n = 0}, a = {.n = 0}, own = {.n = 0};
    const float alpha = 0.25f;
    pb_str(&a, 1, "alpha");
    pb_varint(&a, 2 << 3 | 5);
    for (int i = 0; i < 4; i++) pb_byte(&a, ((const uint8_t *)&alpha)[i]);
    pb_int(&a, 20, 1);
    pb_sub(&call, 5, &a);
    pb_str(&call, 7, "own");
    pb_sub(&g, 1, &call);
    ports(&g);
    file = pb_model(&g, 16);
    pb_str(&own, 1, "own");
    pb_int(&own, 2, 1);
    pb_sub(&file, 8, &own);
    pb inner = pb_node("LeakyRelu", "a", "b"), ref = {.n = 0}, add = pb_node("Add", "a,b", "c");
    pb_str(&ref, 1, "alpha");
    pb_int(&ref, 20, 1);
    pb_str(&ref, 21, "alpha");
    pb_sub(&inner, 5, &ref);
    pb_str(&f, 1, "Twice");
    pb_str(&f, 4, "a");
    pb_str(&f, 5, "c");
    pb_sub(&f, 7, &inner);
    pb_sub(&f, 7, &add);
    pb_int(&set, 2, 16);
    pb_sub(&f, 9, &set);
    pb_str(&f, 10, "own");
    pb_sub(&file, 25, &f);
    asc_net *net = make(ctx, &file);
    double y[2];
    run2(ctx, net, 2, -4, y);
    assert_true(y[0] == 4 && y[1] == -5);
    assert_true(net->n_ops == 2 && strcmp(net->ops[0].name, "Add") == 0 && net->ops[1].count == 1);
    asc_net_close(net);
    test_ctx_end(ctx);
}

static asc_tensor *replace(void *self, size_t site, asc_tensor *value) {
    asc_ctx *ctx = self;
    const float v[] = {5, 6};
    return site == 0 ? asc_from_f32(ctx, ASC_SHAPE(2), v) : value;
}

static void sites(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    pb g = {.n = 0};
    scalar_init(&g, "k", 3);
    node(&g, "Mul", "k,k", "nine"); /* a constant: no site */
    node(&g, "Relu", "x", "h");
    node(&g, "Mul", "h,nine", "y");
    ports(&g);
    file = pb_model(&g, 13);
    asc_net *net = make(ctx, &file);
    assert_int_equal(net->n_sites, 2);
    assert_string_equal(asc_net_site(net, 0), "h");
    assert_int_equal(net->output_site[0], 1);
    asc_tap tap = {.at = replace, .self = ctx};
    const float x[] = {1, 2};
    double got[2];
    asc_scope_begin(ctx);
    asc_tensor *in = asc_from_f32(ctx, ASC_SHAPE(2), x), *out;
    assert_ok(ctx, net->forward(net, &in, &tap, &out));
    assert_string_equal(out->label, "y");
    assert_ok(ctx, asc_read_f64(ctx, out, got, 2));
    assert_true(got[0] == 45 && got[1] == 54);
    assert_ok(ctx, asc_scope_end(ctx));
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* An output without a shape gets one: free dimensions are found by trying sizes. */
static void output_shapes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    pb g = {.n = 0}, x = pb_port("x", 1, 3, (const int64_t[]){-1, 4, -1}), y = {.n = 0}, z = {.n = 0};
    pb_str(&y, 1, "y");
    pb_str(&z, 1, "z");
    node(&g, "Flatten", "x", "y");
    node(&g, "Shape", "x", "z");
    pb_sub(&g, 11, &x);
    pb_sub(&g, 12, &y);
    pb_sub(&g, 12, &z);
    file = pb_model(&g, 13);
    asc_net *net = make(ctx, &file);
    assert_true(asc_shape_eq(&net->outputs[0].shape, &ASC_SHAPE(-1, -1)));
    assert_true(asc_shape_eq(&net->outputs[1].shape, &ASC_SHAPE(3)));
    assert_true(net->inputs[0].batch && net->outputs[0].batch);
    asc_net_close(net);
    /* sizes that do not fit leave it open */
    pb h = {.n = 0}, w = pb_tensor("w", 1, (const int64_t[]){7}, 7, 1.0f);
    pb_sub(&h, 5, &w);
    node(&h, "Add", "x,w", "y");
    pb_sub(&h, 11, &x);
    pb_sub(&h, 12, &y);
    file = pb_model(&h, 13);
    net = make(ctx, &file);
    assert_int_equal(net->outputs[0].shape.rank, 0);
    assert_int_equal(asc_error_code(ctx), ASC_OK);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* An integer input gives the shape; so does one that is computed. */
static void steering(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    pb g = {.n = 0}, x = pb_port("x", 1, 1, (const int64_t[]){6}), s = pb_port("s", 7, 1, two);
    pb y = pb_port("y", 1, 2, (const int64_t[]){-1, -1}), none = pb_ints("zero", 2, (const int64_t[]){0, 0});
    pb_sub(&g, 5, &none);
    node(&g, "Add", "s,zero", "s2");
    node(&g, "Reshape", "x,s2", "y");
    pb_sub(&g, 11, &x);
    pb_sub(&g, 11, &s);
    pb_sub(&g, 12, &y);
    file = pb_model(&g, 13);
    asc_net *net = make(ctx, &file);
    const float v[6] = {0};
    const int64_t dims[] = {3, -1};
    asc_array in[] = {{.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(6), .data = v},
                      {.elem = ASC_ELEM_I64, .shape = ASC_SHAPE(2), .data = dims}},
              out;
    assert_ok(ctx, asc_net_run(net, in, 2, NULL, 0, &out));
    assert_true(asc_shape_eq(&out.shape, &ASC_SHAPE(3, 2)));
    asc_array_free(ctx, &out);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* x quantised to steps of 0.5 in int8 and back: the gradient is 1 inside the range and 0 outside. */
static void straight_through(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    pb g = {.n = 0}, zero = {.n = 0};
    pb_int(&zero, 2, 3);
    pb_str(&zero, 8, "z");
    pb_bytes(&zero, 9, "\2", 1);
    pb_sub(&g, 5, &zero);
    scalar_init(&g, "s", 0.5f);
    node(&g, "QuantizeLinear", "x,s,z", "q");
    node(&g, "DequantizeLinear", "q,s,z", "y");
    ports(&g);
    file = pb_model(&g, 13);
    asc_net *net = make(ctx, &file);
    const float x[] = {1.3f, 1000}, ones[] = {1, 1};
    double y[2], d[2];
    asc_scope_begin(ctx);
    asc_tensor *in = asc_from_f32(ctx, ASC_SHAPE(2), x), *out, *grad;
    assert_ok(ctx, net->forward(net, &in, NULL, &out));
    asc_grad(ctx, out, asc_from_f32(ctx, ASC_SHAPE(2), ones), &in, 1, &grad);
    assert_ok(ctx, asc_read_f64(ctx, out, y, 2));
    assert_ok(ctx, asc_read_f64(ctx, grad, d, 2));
    assert_true(y[0] == 1.5 && y[1] == 62.5);
    assert_true(d[0] == 1 && d[1] == 0);
    assert_ok(ctx, asc_scope_end(ctx));
    assert_int_equal(net->n_notes, 1);
    assert_non_null(strstr(net->notes[0], "QuantizeLinear (1 nodes)"));
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* y = x > 0 ? x + x : x * x, decided by the input's single element */
static void branches(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    pb g = {.n = 0}, x = pb_port("x", 1, 1, one), y = pb_port("y", 1, 1, one), n = pb_node("If", "c", "y");
    static const char *const branch[][3] = {{"then_branch", "Add", "t"}, {"else_branch", "Mul", "e"}};
    scalar_init(&g, "zero", 0);
    node(&g, "Greater", "x,zero", "c");
    for (int i = 0; i < 2; i++) {
        pb body = {.n = 0}, a = {.n = 0}, out = pb_port(branch[i][2], 1, 1, one);
        node(&body, branch[i][1], "x,x", branch[i][2]);
        pb_sub(&body, 12, &out);
        pb_str(&a, 1, branch[i][0]);
        pb_sub(&a, 6, &body);
        pb_int(&a, 20, 5);
        pb_sub(&n, 5, &a);
    }
    pb_sub(&g, 1, &n);
    pb_sub(&g, 11, &x);
    pb_sub(&g, 12, &y);
    file = pb_model(&g, 13);
    asc_net *net = make(ctx, &file);
    for (int i = 0; i < 2; i++) {
        const float v = i == 0 ? 3 : -5;
        asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(1), .data = &v}, out;
        assert_ok(ctx, asc_net_run(net, &in, 1, NULL, 0, &out));
        assert_true(((const float *)out.data)[0] == (i == 0 ? 6.0f : 25.0f));
        asc_array_free(ctx, &out);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(external_data), cmocka_unit_test(functions),
                                       cmocka_unit_test(sites),         cmocka_unit_test(output_shapes),
                                       cmocka_unit_test(steering),      cmocka_unit_test(straight_through),
                                       cmocka_unit_test(branches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
