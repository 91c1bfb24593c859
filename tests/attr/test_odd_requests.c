/* test_odd_requests.c - requests that mean nothing are refused by name and value, and a result says when the
 * net itself has gradients that are not derivatives. */
#include "harness.h"
#include "toy_nets.h"

typedef struct fixture {
    asc_ctx *ctx;
    asc_net *net;
    asc_array in;
    asc_attr_request q; /* a good one */
} fixture;

static const int64_t unit[] = {1};

static void setup(fixture *f) {
    static const float x[2 * TOY_IN] = {1, 0.5f, -2, 0.25f, 2, 3, -1};
    asc_port port = {"x", ASC_ELEM_F32, {2, {-1, TOY_IN}}, true};
    static const char *const names[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = toy_mlp};
    *f = (fixture){.ctx = test_ctx("cpu", "deferred")};
    assert_ok(f->ctx, asc_net_create(f->ctx, &d, &f->net));
    f->in = (asc_array){.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2, TOY_IN), .data = x};
    f->q = (asc_attr_request){.struct_size = sizeof f->q,
                              .method = "gradient-shap",
                              .inputs = &f->in,
                              .n_inputs = 1,
                              .target = {.n_rows = 1, .rank = 1, .index = unit}};
}

static void teardown(fixture *f) {
    asc_net_close(f->net);
    test_ctx_end(f->ctx);
}

static void refused(fixture *f, const asc_attr_request *q, asc_status status, const char *message) {
    asc_attribution *r;
    assert_int_equal(asc_attribute(f->net, q, &r), status);
    assert_null(r);
    if (strstr(asc_error_message(f->ctx), message) == NULL)
        fail_msg("'%s' does not say '%s'", asc_error_message(f->ctx), message);
}

static void lists_without_data(void **state) {
    (void)state;
    fixture f;
    asc_attr_request q;
    asc_array none = {.elem = ASC_ELEM_I32, .shape = ASC_SHAPE(1, TOY_IN)};
    const char *nobody = NULL;
    setup(&f);
#define REFUSED(message, ...)                                                                                \
    do {                                                                                                     \
        q = f.q;                                                                                             \
        __VA_ARGS__;                                                                                         \
        refused(&f, &q, ASC_INVALID_ARGUMENT, message);                                                      \
    } while (0)
    REFUSED("inputs is NULL, but n_inputs is 1", q.inputs = NULL);
    REFUSED("at is NULL, but n_at is 2", q.n_at = 2);
    REFUSED("at[0] is NULL", q.n_at = 1, q.at = &nobody);
    REFUSED("baselines is NULL, but n_baselines is 1", q.n_baselines = 1);
    REFUSED("masks is NULL", q.n_masks = 1);
    REFUSED("masks[0] has no data", q.n_masks = 1, q.masks = &none);
    REFUSED("stdevs is NULL", q.n_stdevs = 1);
    REFUSED("window is NULL", q.n_window = 1);
    REFUSED("rules is NULL", q.n_rules = 1);
    teardown(&f);
}

static void numbers_out_of_bounds(void **state) {
    (void)state;
    fixture f;
    asc_attr_request q;
    static const char *const twice[] = {"hidden", "hidden"};
    static const int64_t far[] = {100000, 0, 0};
    static const double weights[TOY_OUT] = {1, 2, INFINITY};
    static const uint64_t ids[TOY_IN] = {UINT64_MAX, UINT64_MAX - 1};
    asc_array mask = {.elem = ASC_ELEM_U64, .shape = ASC_SHAPE(TOY_IN), .data = ids};
    setup(&f);
    REFUSED("samples is 9223372036854775808", q.samples = (size_t)1 << 63);
    REFUSED("samples is", q.samples = SIZE_MAX, q.method = "noise-tunnel", q.base = "saliency");
    REFUSED("site 'hidden' is given twice: at[0], at[1]", q.method = "layer-activation", q.at = twice,
            q.n_at = 2);
    REFUSED("no transform has number 99", q.target.transform = (asc_transform)99);
    REFUSED("weights[2] is not finite", q.target = ((asc_target){.weights = weights, .weight_rows = 1}));
    q = f.q;
    q.method = "neuron-conductance";
    q.neuron = (asc_target){.value = "hidden", .n_rows = 1, .rank = 1, .index = far};
    refused(&f, &q, ASC_OUT_OF_RANGE, "index 100000 in dimension 0 of a value of shape [10]");
    q.neuron = (asc_target){.value = "hidden", .n_rows = 3, .rank = 1, .index = far};
    refused(&f, &q, ASC_INVALID_ARGUMENT, "3 indices for 2 examples");
    q = f.q;
    q.masks = &mask;
    q.n_masks = 1;
    refused(&f, &q, ASC_OUT_OF_RANGE, "the mask of 'x': id 1.8446744073709552e+19 is not below 2^53");
    teardown(&f);
}

/* [1024,1] -> [1024,2^20] by broadcasting: no target leaves more scores than anyone can hold. */
static void wide_fn(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    (void)self;
    out[0] = asc_mul(ctx, in[0], asc_full(ctx, ASC_SHAPE(1, 1 << 20), 2.0));
}

static void too_many_scores(void **state) {
    (void)state;
    fixture f;
    static const float x[1024] = {1};
    asc_port port = {"x", ASC_ELEM_F32, {2, {1024, 1}}, false};
    static const char *const names[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = wide_fn};
    f.ctx = test_ctx("cpu", "deferred");
    assert_ok(f.ctx, asc_net_create(f.ctx, &d, &f.net));
    f.in = (asc_array){.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(1024, 1), .data = x};
    asc_attr_request q = {
        .struct_size = sizeof q, .method = "feature-ablation", .inputs = &f.in, .n_inputs = 1};
    refused(&f, &q, ASC_RESOURCE_EXHAUSTED, "1073741824 explained numbers per example make 1.1e+12 scores");
    teardown(&f);
}

/* DynamicQuantizeMatMul rounds its input to 8 bits; what comes out are floats. */
static void notes_of_the_net(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net;
    asc_attribution *r;
    float x[256];
    static const int64_t first[] = {0, 0};
    static const char note[] =
        "DynamicQuantizeMatMul (1 nodes) rounds to a grid; its gradient is a straight-through one";
    assert_ok(ctx, asc_onnx_open(ctx, test_data("onnx/microsoft/dqmm/model.onnx"), &net));
    asc_array in = {.elem = ASC_ELEM_F32, .shape = asc_net_input(net, 0).shape, .data = x};
    for (int d = 0; d < in.shape.rank; d++) in.shape.dims[d] = in.shape.dims[d] < 0 ? 2 : in.shape.dims[d];
    assert_in_range(asc_array_count(&in), 1, sizeof x / sizeof *x);
    for (int i = 0; i < asc_array_count(&in); i++) x[i] = toy_number((uint64_t)i);
    asc_array
        y; /* zeros, the usual baseline, have no range to be quantised in: the bias, as onnxruntime 1.32 */
    static const double bias[] = {0.32896963, -0.25857255, 1.5834728, 1.320361, 0.63335264};
    double got[5];
    asc_array zeros = {.elem = ASC_ELEM_F32, .shape = in.shape, .data = (float[256]){0}};
    assert_ok(ctx, asc_net_run(net, &zeros, 1, NULL, 0, &y));
    asc_array_get(&y, 0, 5, got);
    asc_array_free(ctx, &y);
    for (int i = 0; i < 5; i++) toy_near(got[i], bias[i], 1e-7);
    asc_attr_request q = {.struct_size = sizeof q,
                          .inputs = &in,
                          .n_inputs = 1,
                          .no_batch = true,
                          .target = {.n_rows = 1, .rank = 2, .index = first}};
    static const char *const methods[] = {"saliency", "integrated-gradients", "noise-tunnel"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        q.method = methods[i];
        q.base = "saliency";
        assert_ok(ctx, asc_attribute(net, &q, &r));
        bool said = false;
        for (size_t k = 0; k < r->n_notes; k++) said = said || strcmp(r->notes[k], note) == 0;
        if (!said) fail_msg("%s does not say that its gradient is a straight-through one", q.method);
        asc_attribution_destroy(ctx, r);
    }
    q.method = "feature-ablation"; /* differences of values: nothing to warn of */
    q.base = NULL;
    assert_ok(ctx, asc_attribute(net, &q, &r));
    assert_int_equal(r->n_notes, 0);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_without_data),
                                       cmocka_unit_test(numbers_out_of_bounds),
                                       cmocka_unit_test(too_many_scores), cmocka_unit_test(notes_of_the_net)};
    return cmocka_run_group_tests_name("odd_requests", tests, NULL, NULL);
}
