/* test_compiled_ids.c - compiled mode on nets that look at their inputs: a table checks its ids before every
 * run of what was captured; a net that branches on values is recorded anew each time. */
#include "harness.h"
#include "ascribe/attribute.h"
#include "ascribe/ops.h"
#include "exec.h"

enum { ROWS = 2, TOKENS = 4, TABLE = 6, WIDTH = 3 };

static void ids_fn(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    int axes[] = {1, 2};
    (void)self;
    asc_tensor *x = asc_nn_activation(f, "act", asc_nn_embedding(f, "table", in[0]), ASC_ACT_TANH);
    asc_tensor *s = asc_sum(asc_frame_ctx(f), x, 2, axes, false);
    out[0] = asc_reshape(asc_frame_ctx(f), s, ASC_SHAPE(-1, 1));
}

/* Reads its input and goes one of two ways. */
static void branch_fn(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float v[64] = {0};
    int axes[] = {1};
    (void)self;
    size_t n = (size_t)asc_tensor_elems(in[0]);
    bool learning = asc_read_f32(ctx, in[0], v, n) != ASC_OK;
    asc_tensor *x = !learning && v[0] > 0.0f ? asc_scale(ctx, in[0], 3.0) : asc_tanh(ctx, in[0]);
    out[0] = asc_reshape(ctx, asc_sum(ctx, x, 1, axes, false), ASC_SHAPE(-1, 1));
}

static asc_net *net_of(asc_ctx *ctx, asc_params **params, bool ids) {
    static const char *const names[] = {"y"};
    asc_port port = {"x", ids ? ASC_ELEM_I64 : ASC_ELEM_F32, {2, {-1, TOKENS}}, true};
    float table[TABLE * WIDTH];
    asc_array a = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(TABLE, WIDTH), .data = table};
    asc_net *net;
    for (int i = 0; i < TABLE * WIDTH; i++) table[i] = 0.1f * (float)(i * i % 17) - 0.5f;
    assert_ok(ctx, asc_params_create(ctx, params));
    assert_ok(ctx, asc_params_add(*params, "table.weight", &a));
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = ids ? ids_fn : branch_fn,
                     .params = *params};
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    return net;
}

static asc_status explain(asc_ctx *ctx, asc_net *net, const asc_array *in, bool ids, double *scores) {
    static const char *const at[] = {"table"};
    asc_attribution *r;
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = "input-x-gradient",
                          .inputs = in,
                          .n_inputs = 1,
                          .at = ids ? at : NULL,
                          .n_at = ids ? 1 : 0};
    asc_status st = asc_attribute(net, &q, &r);
    if (st != ASC_OK) return st;
    memcpy(scores, r->scores[0].data, sizeof(double) * ROWS * TOKENS * (ids ? WIDTH : 1));
    asc_attribution_destroy(ctx, r);
    return ASC_OK;
}

static void tables_check_their_ids(void **state) {
    static const char *const modes[] = {"deferred", "compiled"};
    double scores[2][4][ROWS * TOKENS * WIDTH];
    (void)state;
    for (int m = 0; m < 2; m++) {
        asc_ctx *ctx = test_ctx("cpu", modes[m]);
        asc_params *params;
        asc_net *net = net_of(ctx, &params, true);
        for (int i = 0; i < 4; i++) {
            int64_t ids[ROWS * TOKENS];
            for (int k = 0; k < ROWS * TOKENS; k++) ids[k] = (k * (i + 1) + i) % TABLE;
            asc_array in = {.elem = ASC_ELEM_I64, .shape = ASC_SHAPE(ROWS, TOKENS), .data = ids};
            assert_ok(ctx, explain(ctx, net, &in, true, scores[m][i]));
            ids[5] = i % 2 == 0 ? TABLE : -1;
            assert_int_equal(explain(ctx, net, &in, true, scores[m][i]), ASC_OUT_OF_RANGE);
            assert_non_null(
                strstr(asc_error_message(ctx), i % 2 == 0 ? "table: id 6; the table has 6 rows" : "id -1"));
        }
        asc_exec_stats s = asc_exec_stats_of(ctx);
        assert_int_equal(s.refused_captures, 0);
        assert_true(m == 0 ? s.captures == 0 : s.captures > 0 && s.cuts[ASC_CUT_CAPTURED] >= 4 * s.captures);
        asc_net_close(net);
        asc_params_destroy(params);
        test_ctx_end(ctx);
    }
    assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
}

static void nets_that_look_are_recorded_anew(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "compiled");
    asc_params *params;
    asc_net *net = net_of(ctx, &params, false);
    for (int i = 0; i < 4; i++) {
        float x[ROWS * TOKENS];
        double scores[ROWS * TOKENS];
        for (int k = 0; k < ROWS * TOKENS; k++) x[k] = i % 2 == 0 ? 0.5f : -0.5f;
        asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(ROWS, TOKENS), .data = x};
        assert_ok(ctx, explain(ctx, net, &in, false, scores));
        /* x * 3, or x * (1 - tanh(x)^2) = -0.5 * 0.786448 */
        double want = i % 2 == 0 ? 1.5 : -0.39322387;
        for (int k = 0; k < ROWS * TOKENS; k++)
            assert_true(scores[k] > want - 1e-6 && scores[k] < want + 1e-6);
    }
    assert_int_equal(asc_exec_stats_of(ctx).captures, 0);
    assert_true(asc_exec_stats_of(ctx).refused_captures >= 4);
    asc_net_close(net);
    asc_params_destroy(params);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_check_their_ids),
                                       cmocka_unit_test(nets_that_look_are_recorded_anew)};
    return cmocka_run_group_tests_name("compiled_ids", tests, NULL, NULL);
}
