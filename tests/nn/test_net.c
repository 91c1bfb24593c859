/* Nets as records: arrays, ports, names and one plain run, with a small net filled in by hand. */
#include "harness.h"
#include "exec.h"
#include "nearest.h"
#include "net.h"

/* y = 2 x + i (as floats), sites: "double", "y"; second output "ids" = i. */
static asc_status forward(asc_net *net, asc_tensor *const *in, const asc_tap *tap, asc_tensor **outputs) {
    asc_ctx *ctx = net->ctx;
    asc_tensor *d = asc_scale(ctx, in[0], 2.0);
    if (tap != NULL) d = tap->at(tap->self, 0, d);
    outputs[0] = asc_add(ctx, d, asc_cast(ctx, in[1], ASC_DTYPE_F32));
    if (tap != NULL) outputs[0] = tap->at(tap->self, 1, outputs[0]);
    outputs[1] = in[1];
    if (tap != NULL) outputs[1] = tap->at(tap->self, 2, outputs[1]);
    return ASC_OK;
}

static asc_net *make(asc_ctx *ctx) {
    asc_net *net;
    assert_ok(ctx, asc_net_alloc(ctx, 2, 2, &net));
    net->inputs[0] = (asc_port){"x", ASC_ELEM_F32, {2, {-1, 3}}, true};
    net->inputs[1] = (asc_port){"i", ASC_ELEM_I64, {2, {-1, 1}}, true};
    net->outputs[0] = (asc_port){"y", ASC_ELEM_F32, {2, {-1, 3}}, true};
    net->outputs[1] = (asc_port){"ids", ASC_ELEM_I64, {2, {-1, 1}}, true};
    net->sites = asc_calloc(ctx, ASC_MEM_GENERAL, 3, sizeof *net->sites);
    assert_non_null(net->sites);
    net->sites[0] = "double";
    net->sites[1] = "y";
    net->sites[2] = "i";
    net->n_sites = 3;
    net->output_site[0] = 1;
    net->output_site[1] = 2;
    net->kind = "test";
    net->forward = forward;
    return net;
}

static const float x_data[6] = {1, 2, 3, 4, 5, 6.5f};
static const int64_t i_data[2] = {10, -20};
static const asc_array inputs[2] = {{ASC_ELEM_F32, {2, {2, 3}}, x_data}, {ASC_ELEM_I64, {2, {2, 1}}, i_data}};

static void test_run_reads_outputs_and_sites(void **state) {
    (void)state;
    const double want[6] = {12, 14, 16, -12, -10, -7}, doubled[6] = {2, 4, 6, 8, 10, 13};
    const char *devices[] = {"cpu", "reference"};
    for (int k = 0; k < 2; k++) {
        asc_ctx *ctx = test_ctx(devices[k], "deferred");
        asc_net *net = make(ctx);
        asc_array out[3];
        double v[6];
        assert_ok(ctx, asc_net_run(net, inputs, 2, NULL, 0, out));
        assert_int_equal(out[0].elem, k == 0 ? ASC_ELEM_F32 : ASC_ELEM_F64);
        asc_array_get(&out[0], 0, 6, v);
        assert_memory_equal(v, want, sizeof v);
        assert_int_equal(out[1].elem, ASC_ELEM_I64);
        assert_memory_equal(out[1].data, i_data, sizeof i_data);
        for (int i = 0; i < 2; i++) asc_array_free(ctx, &out[i]);
        const char *names[] = {"double", "ids", "y"};
        assert_ok(ctx, asc_net_run(net, inputs, 2, names, 3, out));
        asc_array_get(&out[0], 0, 6, v);
        assert_memory_equal(v, doubled, sizeof v);
        assert_memory_equal(out[1].data, i_data, sizeof i_data);
        asc_array_get(&out[2], 0, 6, v);
        assert_memory_equal(v, want, sizeof v);
        for (int i = 0; i < 3; i++) asc_array_free(ctx, &out[i]);
        asc_net_close(net);
        test_ctx_end(ctx);
    }
}

static void complains(asc_ctx *ctx, asc_net *net, const asc_array *in, size_t n, asc_status want,
                      const char *words) {
    asc_array out[2];
    assert_int_equal(asc_net_run(net, in, n, NULL, 0, out), want);
    if (strstr(asc_error_message(ctx), words) == NULL)
        fail_msg("'%s' lacks '%s'", asc_error_message(ctx), words);
    assert_null(out[0].data);
}

static void test_wrong_inputs(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = make(ctx);
    asc_array in[2] = {inputs[0], inputs[1]};
    complains(ctx, net, in, 1, ASC_INVALID_ARGUMENT, "2 inputs, not 1");
    in[0].shape = ASC_SHAPE(3, 2);
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "'x' takes shape [?,3], not [3,2]");
    in[0].shape = ASC_SHAPE(6);
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "not [6]");
    in[0].shape = ASC_SHAPE(1, 3);
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "'i' has 2 examples, input 'x' has 1");
    in[0] = inputs[0];
    in[0].elem = ASC_ELEM_I32;
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "takes float32, not int32");
    in[0].elem = (asc_elem)77;
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "77");
    in[0] = (asc_array){.elem = ASC_ELEM_F32, .shape = {2, {2, 3}}};
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "no data");
    in[0].shape = (asc_shape){2, {INT64_MAX, 3}};
    complains(ctx, net, in, 2, ASC_INVALID_ARGUMENT, "impossible");
    const int64_t large[2] = {1, (int64_t)1 << 40};
    in[0] = inputs[0];
    in[1].data = large;
    complains(ctx, net, in, 2, ASC_OUT_OF_RANGE, "1099511627776");
    asc_array out;
    const char *name = "duoble";
    assert_int_equal(asc_net_run(net, inputs, 2, &name, 1, &out), ASC_NOT_FOUND);
    assert_non_null(strstr(asc_error_hint(ctx), "3 sites: double"));
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_arrays_of_every_type(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double v[2];
    const double tenth[2] = {0.1, -3};
    assert_ok(ctx, asc_read_f64(ctx, asc_from_array(ctx, &(asc_array){ASC_ELEM_F64, {1, {2}}, tenth}), v, 2));
    assert_memory_equal(v, tenth, sizeof v); /* all digits stay */
    char odd[1 + sizeof tenth];
    memcpy(odd + 1, tenth, sizeof tenth);
    assert_ok(ctx,
              asc_read_f64(ctx, asc_from_array(ctx, &(asc_array){ASC_ELEM_F64, {1, {2}}, odd + 1}), v, 2));
    assert_memory_equal(v, tenth, sizeof v);
    const uint16_t half[2] = {0x3E00, 0xC000}; /* 1.5, -2 */
    assert_ok(ctx, asc_read_f64(ctx, asc_from_array(ctx, &(asc_array){ASC_ELEM_F16, {1, {2}}, half}), v, 2));
    assert_true(v[0] == 1.5 && v[1] == -2.0);
    const uint8_t bytes[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F};
    const struct {
        asc_elem elem;
        double first;
    } cases[] = {{ASC_ELEM_I8, -1},      {ASC_ELEM_U8, 255},     {ASC_ELEM_I16, -1},
                 {ASC_ELEM_U16, 65535},  {ASC_ELEM_I32, -1},     {ASC_ELEM_U32, 4294967295.0},
                 {ASC_ELEM_I64, 0x1p63}, {ASC_ELEM_U64, 0x1p63}, {ASC_ELEM_BOOL, 1.0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        asc_array_get(&(asc_array){cases[i].elem, {0}, bytes}, 0, 1, v);
        assert_true(v[0] == cases[i].first);
    }
    assert_string_equal(asc_elem_name(ASC_ELEM_U16), "uint16");
    assert_int_equal(asc_elem_bytes(ASC_ELEM_U16), 2);
    assert_null(asc_elem_name(ASC_N_ELEMS));
    assert_true(asc_elem_is_float(ASC_ELEM_F16) && !asc_elem_is_float(ASC_ELEM_BOOL));
    assert_int_equal(asc_array_count(&(asc_array){.shape = {3, {INT64_MAX, INT64_MAX, 0}}}), 0);
    assert_int_equal(asc_array_count(&(asc_array){.shape = {2, {INT64_MAX, 2}}}), -1);
    assert_int_equal(asc_array_count(&(asc_array){.shape = {9, {1}}}), -1);
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
        asc_net *net = make(ctx);
        asc_array out[2];
        const char *names[] = {"double", "ids"};
        a.fail_at = a.count + fail;
        asc_status st = asc_net_run(net, inputs, 2, names, 2, out);
        bool over = a.count < a.fail_at;
        a.fail_at = 0;
        assert_int_equal(st, over ? ASC_OK : ASC_RESOURCE_EXHAUSTED);
        for (int i = 0; i < 2; i++) asc_array_free(ctx, &out[i]);
        asc_net_close(net);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
        if (over) return;
    }
    fail_msg("the sweep never ended");
}

static void test_nearest(void **state) {
    (void)state;
    const char *names[] = {"relu", "linear1", NULL, "linear2", "linear1", "softmax"}, *near[ASC_N_NEAREST];
    assert_int_equal(asc_nearest(names, 6, asc_view_of("linaer1"), near), 3);
    assert_string_equal(near[0], "linear1");
    assert_string_equal(near[1], "linear2");
    char text[256];
    assert_string_equal(asc_nearest_text(names, 1, asc_view_of(""), text), "relu");
    assert_string_equal(asc_nearest_text(names, 0, asc_view_of("a"), text), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_reads_outputs_and_sites),
        cmocka_unit_test(test_wrong_inputs),
        cmocka_unit_test(test_arrays_of_every_type),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
