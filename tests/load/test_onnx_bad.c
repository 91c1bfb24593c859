/* test_onnx_bad.c - ONNX files that are wrong, one thing at a time: each is refused with a status, a message
 * that names the thing, and a hint; nothing crashes and nothing stays allocated. */
#include "harness.h"
#include "onnx_make.h"
#include "onnx_run.h"

typedef struct bad {
    const char *name;
    void (*make)(pb *out);
    asc_status want;
    const char *says; /* part of the message */
} bad;

static const int64_t two[] = {2}, two_two[] = {2, 2}, free_two[] = {-1, 2};

/* x [2] -> y [2] with these nodes */
static void ports(pb *g) {
    pb x = pb_port("x", 1, 1, two), y = pb_port("y", 1, 1, two);
    pb_sub(g, 11, &x);
    pb_sub(g, 12, &y);
}
static void node(pb *g, const char *op, const char *in, const char *out) {
    pb n = pb_node(op, in, out);
    pb_sub(g, 1, &n);
}
static void finish(pb *out, pb *g) {
    ports(g);
    *out = pb_model(g, 17);
}

static void good(pb *out) {
    pb g = {.n = 0};
    node(&g, "Relu", "x", "y");
    finish(out, &g);
}
static void empty_graph(pb *out) {
    pb g = {.n = 0};
    finish(out, &g);
}
static void no_graph(pb *out) { pb_int(out, 1, 8); }
static void two_graphs(pb *out) {
    pb g = {.n = 0};
    good(out);
    pb_sub(out, 7, &g);
}
static void truncated(pb *out) {
    good(out);
    out->n -= 9;
}
static void lying_length(pb *out) {
    pb_varint(out, 7 << 3 | 2);
    pb_varint(out, (uint64_t)1 << 62);
}
static void endless_varint(pb *out) {
    pb_byte(out, 1 << 3);
    for (int i = 0; i < 12; i++) pb_byte(out, 0xFF);
}
static void group(pb *out) { pb_varint(out, 3 << 3 | 3); }
static void field_zero(pb *out) { pb_byte(out, 0); }
static void wrong_wire_type(pb *out) { pb_int(out, 7, 5); }
static void cycle(pb *out) {
    pb g = {.n = 0};
    node(&g, "Add", "x,b", "a");
    node(&g, "Relu", "a", "b");
    node(&g, "Relu", "b", "y");
    finish(out, &g);
}
static void own_input(pb *out) {
    pb g = {.n = 0};
    node(&g, "Add", "x,y", "y");
    finish(out, &g);
}
static void missing_input(pb *out) {
    pb g = {.n = 0};
    node(&g, "Add", "x,weight", "y");
    finish(out, &g);
}
static void missing_output(pb *out) {
    pb g = {.n = 0};
    node(&g, "Relu", "x", "z");
    finish(out, &g);
}
static void duplicate(pb *out) {
    pb g = {.n = 0};
    node(&g, "Relu", "x", "y");
    node(&g, "Relu", "x", "y");
    finish(out, &g);
}
static void unknown_op(pb *out) {
    pb g = {.n = 0};
    node(&g, "Frobnicate", "x", "y");
    finish(out, &g);
}
static void unknown_domain(pb *out) {
    pb g = {.n = 0}, n = pb_node("Relu", "x", "y");
    pb_str(&n, 7, "com.example");
    pb_sub(&g, 1, &n);
    finish(out, &g);
}
static void version_below_0(pb *out) {
    pb g = {.n = 0};
    node(&g, "Relu", "x", "y");
    ports(&g);
    *out = pb_model(&g, -3);
}
static void init(pb *out, const pb *t, const char *op) {
    pb g = {.n = 0};
    pb_sub(&g, 5, t);
    node(&g, op, "x,w", "y");
    finish(out, &g);
}
static void short_data(pb *out) {
    pb t = pb_tensor("w", 2, two_two, 3, 1.0f);
    init(out, &t, "Add");
}
static void long_data(pb *out) {
    pb t = pb_tensor("w", 1, two, 3, 1.0f);
    init(out, &t, "Add");
}
static void huge_tensor(pb *out) {
    pb t = pb_tensor("w", 2, (const int64_t[]){(int64_t)1 << 20, (int64_t)1 << 20}, 2, 1.0f);
    init(out, &t, "Add");
}
static void overflowing_tensor(pb *out) {
    pb t = pb_tensor("w", 3, (const int64_t[]){INT64_MAX, INT64_MAX, 2}, 2, 1.0f);
    init(out, &t, "Add");
}
static void negative_dim(pb *out) {
    pb t = pb_tensor("w", 1, (const int64_t[]){-2}, 2, 1.0f);
    init(out, &t, "Add");
}
static void seven_dims(pb *out) {
    pb t = pb_tensor("w", 7, (const int64_t[]){1, 1, 1, 1, 1, 1, 2}, 2, 1.0f);
    init(out, &t, "Add");
}
static void unknown_type(pb *out) {
    pb t = {.n = 0};
    pb_int(&t, 1, 2);
    pb_int(&t, 2, 77);
    pb_str(&t, 8, "w");
    init(out, &t, "Add");
}
static void few_ints(pb *out) {
    pb t = pb_ints("w", 1, two);
    t.data[1] = 9; /* nine elements, one given */
    init(out, &t, "Reshape");
}
static void external(pb *out) {
    pb t = {.n = 0}, kv = {.n = 0};
    pb_int(&t, 1, 2);
    pb_int(&t, 2, 1);
    pb_str(&t, 8, "w");
    pb_str(&kv, 1, "location");
    pb_str(&kv, 2, "../secret");
    pb_sub(&t, 13, &kv);
    pb_int(&t, 14, 1);
    init(out, &t, "Add");
}
static void sparse(pb *out) {
    pb g = {.n = 0}, t = {.n = 0};
    pb_sub(&g, 15, &t);
    node(&g, "Relu", "x", "y");
    finish(out, &g);
}
static void bad_name(pb *out) {
    pb g = {.n = 0};
    node(&g, "Relu", "x", "y\n");
    finish(out, &g);
}
static void deep(pb *out) {
    pb g = {.n = 0};
    node(&g, "Relu", "x", "y");
    for (int i = 0; i < 20; i++) {
        pb n = pb_node("If", "x", "y"), a = {.n = 0};
        pb_str(&a, 1, "then_branch");
        pb_sub(&a, 6, &g);
        pb_int(&a, 20, 5);
        pb_sub(&n, 5, &a);
        g.n = 0;
        pb_sub(&g, 1, &n);
    }
    finish(out, &g);
}
static void recursive_function(pb *out) {
    pb g = {.n = 0}, f = {.n = 0}, n = pb_node("Again", "x", "y"), set = {.n = 0};
    pb_str(&n, 7, "own");
    pb_sub(&g, 1, &n);
    finish(out, &g);
    pb_str(&set, 1, "own");
    pb_int(&set, 2, 1);
    pb_sub(out, 8, &set);
    pb_str(&f, 1, "Again");
    pb_str(&f, 4, "x");
    pb_str(&f, 5, "y");
    pb_sub(&f, 7, &n);
    pb_sub(&f, 9, &set);
    pb_str(&f, 10, "own");
    pb_sub(out, 25, &f);
}

static const bad table[] = {
    {"empty graph", empty_graph, ASC_INVALID_ARGUMENT, "nothing makes output 'y'"},
    {"no graph", no_graph, ASC_DATA_LOSS, "no graph"},
    {"two graphs", two_graphs, ASC_DATA_LOSS, "two graphs"},
    {"truncated", truncated, ASC_DATA_LOSS, "at byte"},
    {"lying length", lying_length, ASC_DATA_LOSS, "4611686018427387904 bytes"},
    {"endless varint", endless_varint, ASC_DATA_LOSS, "no end"},
    {"group", group, ASC_DATA_LOSS, "wire type 3"},
    {"field zero", field_zero, ASC_DATA_LOSS, "field number 0"},
    {"wrong wire type", wrong_wire_type, ASC_DATA_LOSS, "wire type 0, not 2"},
    {"cycle", cycle, ASC_INVALID_ARGUMENT, "a cycle"},
    {"own input", own_input, ASC_INVALID_ARGUMENT, "a cycle"},
    {"missing input", missing_input, ASC_INVALID_ARGUMENT, "'weight' is neither an initialiser"},
    {"missing output", missing_output, ASC_INVALID_ARGUMENT, "'y'"},
    {"duplicate", duplicate, ASC_INVALID_ARGUMENT, "defined twice"},
    {"unknown operator", unknown_op, ASC_UNIMPLEMENTED,
     "operator Frobnicate of domain 'ai.onnx', version 17"},
    {"unknown domain", unknown_domain, ASC_INVALID_ARGUMENT, "com.example"},
    {"version below 0", version_below_0, ASC_DATA_LOSS, "a version of -3"},
    {"short data", short_data, ASC_DATA_LOSS, "'w'"},
    {"long data", long_data, ASC_DATA_LOSS, "'w'"},
    {"huge tensor", huge_tensor, ASC_RESOURCE_EXHAUSTED, "too many elements"},
    {"overflowing tensor", overflowing_tensor, ASC_RESOURCE_EXHAUSTED, "too many elements"},
    {"negative dimension", negative_dim, ASC_DATA_LOSS, "below 0"},
    {"seven dimensions", seven_dims, ASC_UNIMPLEMENTED, "more than 6 dimensions"},
    {"unknown type", unknown_type, ASC_UNIMPLEMENTED, "'w'"},
    {"few integers", few_ints, ASC_DATA_LOSS, "fewer elements"},
    {"external data outside", external, ASC_INVALID_ARGUMENT, "another file"},
    {"sparse", sparse, ASC_UNIMPLEMENTED, "sparse"},
    {"control character", bad_name, ASC_DATA_LOSS, "control"},
    {"deep", deep, ASC_RESOURCE_EXHAUSTED, "nested deeper"},
    {"recursive function", recursive_function, ASC_RESOURCE_EXHAUSTED, "nested deeper"},
};

static void refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        asc_ctx *ctx = test_ctx("cpu", "deferred");
        pb *file = calloc(1, sizeof *file);
        asc_onnx_model *m = NULL;
        table[i].make(file);
        asc_status st = asc_onnx_model_parse(ctx, file->data, file->n, &m);
        if (st != table[i].want || strstr(asc_error_message(ctx), table[i].says) == NULL)
            fail_msg("%s: %s: %s", table[i].name, asc_status_name(st), asc_error_message(ctx));
        if (asc_error_hint(ctx)[0] == '\0') fail_msg("%s: no hint", table[i].name);
        assert_null(m);
        free(file);
        test_ctx_end(ctx);
    }
}

static asc_net *make(asc_ctx *ctx, const pb *file) {
    asc_onnx_model *m = NULL;
    asc_net *net = NULL;
    assert_ok(ctx, asc_onnx_model_parse(ctx, file->data, file->n, &m));
    assert_ok(ctx, asc_onnx_net_make(ctx, m, NULL, &net));
    return net;
}

/* The file that all others are damaged copies of is right. */
static void control(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    good(&file);
    asc_net *net = make(ctx, &file);
    const float x[] = {-1, 2};
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2), .data = x}, out;
    assert_ok(ctx, asc_net_run(net, &in, 1, NULL, 0, &out));
    assert_true(((const float *)out.data)[0] == 0.0f && ((const float *)out.data)[1] == 2.0f);
    asc_array_free(ctx, &out);
    assert_string_equal(asc_net_site(net, 0), "y");
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Errors that only a run can find name the node. */
static void found_by_running(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static pb file;
    pb t = pb_tensor("w", 1, (const int64_t[]){3}, 3, 1.0f);
    init(&file, &t, "Add");
    asc_net *net = make(ctx, &file);
    const float x[] = {-1, 2};
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2), .data = x}, out;
    assert_int_equal(asc_net_run(net, &in, 1, NULL, 0, &out), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "node 0 (Add)"));
    asc_net_close(net);
    /* a result of 2^40 elements */
    pb g = {.n = 0}, big = pb_ints("w", 2, (const int64_t[]){(int64_t)1 << 20, (int64_t)1 << 20});
    pb_sub(&g, 5, &big);
    node(&g, "ConstantOfShape", "w", "h");
    node(&g, "Relu", "h", "y");
    file.n = 0;
    finish(&file, &g);
    net = make(ctx, &file);
    assert_int_equal(asc_net_run(net, &in, 1, NULL, 0, &out), ASC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(asc_error_message(ctx), "(ConstantOfShape)"));
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void remember(void *self, asc_log_level level, const char *message) {
    (void)level;
    snprintf(self, 512, "%s", message);
}

static void nan_weights_are_said(void **state) {
    (void)state;
    char said[512] = "";
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    ctx->log = remember;
    ctx->log_self = said;
    static pb file;
    float nan;
    memcpy(&nan, &(uint32_t){0x7FC00000u}, sizeof nan);
    pb t = pb_tensor("w", 1, two, 2, nan);
    init(&file, &t, "Add");
    asc_net *net = make(ctx, &file);
    assert_non_null(strstr(said, "'w' holds NaN"));
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Nodes in any order run; free dimensions and batches are seen. */
static void unsorted(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    static pb file;
    pb g = {.n = 0}, x = pb_port("x", 1, 2, free_two), y = pb_port("y", 1, 2, free_two);
    node(&g, "Mul", "b,a", "y");
    node(&g, "Add", "a,x", "b");
    node(&g, "Relu", "x", "a");
    pb_sub(&g, 11, &x);
    pb_sub(&g, 12, &y);
    file = pb_model(&g, 13);
    asc_net *net = make(ctx, &file);
    assert_true(asc_net_input(net, 0).batch && asc_net_input(net, 0).shape.dims[0] == -1);
    assert_string_equal(asc_net_site(net, 0), "a");
    assert_string_equal(asc_net_site(net, 2), "y");
    const float v[] = {1, -2, 3, 4};
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2, 2), .data = v}, out;
    assert_ok(ctx, asc_net_run(net, &in, 1, NULL, 0, &out));
    const double *d = out.data;
    assert_true(d[0] == 2 && d[1] == 0 && d[2] == 18 && d[3] == 32);
    asc_array_free(ctx, &out);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Opens and runs a file on zeros (free dimensions: 2); ASC_OK or the first error. */
static asc_status run_once(asc_ctx *ctx, const void *data, size_t size) {
    static const int64_t zeros[4096];
    asc_onnx_model *m = NULL;
    asc_net *net = NULL;
    asc_array in[8] = {0}, out[8] = {0};
    asc_status st = asc_onnx_model_parse(ctx, data, size, &m);
    if (st == ASC_OK) st = asc_onnx_net_make(ctx, m, NULL, &net);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < asc_net_n_inputs(net); i++) {
        asc_port p = asc_net_input(net, i);
        in[i] = (asc_array){.elem = p.elem, .shape = p.shape, .data = zeros};
        for (int k = 0; k < p.shape.rank; k++)
            if (p.shape.dims[k] < 0) in[i].shape.dims[k] = 2;
    }
    st = asc_net_run(net, in, asc_net_n_inputs(net), NULL, 0, out);
    for (size_t i = 0; st == ASC_OK && i < asc_net_n_outputs(net); i++) asc_array_free(ctx, &out[i]);
    asc_net_close(net);
    return st;
}

/* Every allocation fails once: an error each time, and nothing leaks. */
static void starve(const char *name, const void *data, size_t size) {
    for (long at = 1; at < 20000; at++) {
        test_alloc t = {.fail_at = at};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &t};
        asc_ctx *ctx = NULL;
        asc_status st = asc_ctx_create(&o, &ctx);
        char said[300] = "";
        if (st == ASC_OK) st = run_once(ctx, data, size);
        if (ctx != NULL) snprintf(said, sizeof said, "%s", asc_error_message(ctx));
        asc_ctx_destroy(ctx);
        if (t.live != 0) fail_msg("%s: allocation %ld: %ld blocks left", name, at, t.live);
        if (st == ASC_OK && t.count < at) return; /* nothing failed any more */
        if (st != ASC_RESOURCE_EXHAUSTED && st != ASC_OK)
            fail_msg("%s: allocation %ld: %s: %s", name, at, asc_status_name(st), said);
    }
    fail_msg("%s: no end", name);
}

static void starved(void **state) {
    (void)state;
    static pb file;
    static const char *const models[] = {"test_lstm_with_peepholes", "test_scan9_sum", "test_qlinearconv"};
    good(&file);
    starve("relu", file.data, file.n);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char path[256];
        static uint8_t data[8192];
        snprintf(path, sizeof path, "onnx/node/%s/model.onnx", models[i]);
        FILE *f = fopen(test_data(path), "rb");
        assert_non_null(f);
        size_t n = fread(data, 1, sizeof data, f);
        fclose(f);
        starve(models[i], data, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),          cmocka_unit_test(control),
        cmocka_unit_test(found_by_running), cmocka_unit_test(nan_weights_are_said),
        cmocka_unit_test(unsorted),         cmocka_unit_test(starved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
