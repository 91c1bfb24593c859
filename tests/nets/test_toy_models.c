/* The toy models against PyTorch (scripts/refs/toy_fixtures.py) and against activations that Captum recorded.
 */
#include "harness.h"
#include "file.h"
#include "net.h"
#include "toy_models.h"
#include <math.h>

static const char *weights(void) {
    static char path[4096];
    snprintf(path, sizeof path, "%s", test_data("goldens/captum_model_weights.jsonl"));
    return path;
}

static asc_array array_of(asc_ctx *ctx, const asc_json *j) {
    const asc_json *shape = asc_json_at(j, 0), *values = asc_json_at(j, 1);
    const bool bools = asc_view_eqs(asc_json_str(asc_json_at(j, 2)), "bool");
    asc_array a = {.elem = bools ? ASC_ELEM_BOOL : ASC_ELEM_F64, .shape = {.rank = (int)asc_json_len(shape)}};
    for (int i = 0; i < a.shape.rank; i++) a.shape.dims[i] = asc_json_int(asc_json_at(shape, (size_t)i), -1);
    double *v = asc_calloc(ctx, ASC_MEM_GENERAL, asc_json_len(values) + 1, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < asc_json_len(values); i++) {
        double x = asc_json_num(asc_json_at(values, i), (double)NAN);
        if (bools) ((uint8_t *)v)[i] = x != 0;
        if (!bools) v[i] = x;
    }
    a.data = v;
    return a;
}

static void close_to(const double *got, const asc_array *want, double tolerance, const char *what) {
    const double *w = want->data;
    double top = 0.01, worst = 0; /* some gradients are 0 but for rounding: a softmax of equal numbers */
    for (int64_t i = 0; i < asc_array_count(want); i++) {
        double d = fabs(got[i] - w[i]);
        top = fmax(top, fabs(w[i]));
        worst = d <= worst ? worst : d;
    }
    if (!(worst <= tolerance * top)) fail_msg("%s: off by %g of %g", what, worst, top);
}

static void check_gradients(asc_ctx *ctx, const toy *t, const asc_array *in, const asc_array *y,
                            const asc_json *dx, double tolerance, const char *what) {
    double v[4096];
    asc_tensor *xs[TOY_MAX_INPUTS], *fs[TOY_MAX_INPUTS], *gs[TOY_MAX_INPUTS], *out;
    size_t n = 0, n_y = (size_t)asc_array_count(y);
    asc_scope_begin(ctx);
    for (size_t i = 0; i < t->n_inputs; i++) {
        xs[i] = asc_from_array(ctx, &in[i]);
        if (asc_elem_is_float(in[i].elem)) fs[n++] = xs[i];
    }
    assert_ok(ctx, t->net->forward(t->net, xs, NULL, &out));
    for (size_t i = 0; i < n_y; i++) v[i] = cos((double)i);
    asc_grad(ctx, out, asc_from_f64(ctx, y->shape, v), fs, n, gs);
    for (size_t i = 0, k = 0; i < t->n_inputs; i++) {
        if (!asc_elem_is_float(in[i].elem)) continue;
        asc_array want = array_of(ctx, asc_json_at(dx, i));
        assert_true(asc_array_count(&want) <= 4096);
        assert_ok(ctx, asc_read_f64(ctx, gs[k++], v, (size_t)asc_array_count(&want)));
        close_to(v, &want, tolerance, what);
        asc_array_free(ctx, &want);
    }
    assert_ok(ctx, asc_scope_end(ctx));
}

static void check_case(asc_ctx *ctx, const asc_json *j, double tolerance) {
    char model[64], key[64], what[160];
    asc_view m = asc_json_str(asc_json_get(j, "model")), k = asc_json_str(asc_json_get(j, "key"));
    const asc_json *o = asc_json_get(j, "options"), *inputs = asc_json_get(j, "inputs");
    snprintf(model, sizeof model, ASC_VIEW_FMT, ASC_VIEW_ARG(m));
    snprintf(key, sizeof key, ASC_VIEW_FMT, ASC_VIEW_ARG(k));
    snprintf(what, sizeof what, "%s %s", model, key);
    toy_options options = {.multi_input_module = asc_json_bool(asc_json_get(o, "multi_input_module"), false),
                           .multidim_output = asc_json_bool(asc_json_get(o, "multidim_output"), false),
                           .column = asc_json_int(asc_json_get(o, "column"), 0)};
    asc_array in[TOY_MAX_INPUTS], out, y = array_of(ctx, asc_json_get(j, "y"));
    size_t n = asc_json_len(inputs);
    for (size_t i = 0; i < n; i++) in[i] = array_of(ctx, asc_json_at(inputs, i));
    toy *t;
    double v[4096];
    assert_ok(ctx, toy_open(ctx, k.ptr != NULL ? weights() : NULL, model, k.ptr != NULL ? key : NULL, NULL,
                            &options, in, n, &t));
    assert_ok(ctx, asc_net_run(t->net, in, n, NULL, 0, &out));
    if (!asc_shape_eq(&out.shape, &y.shape)) fail_msg("%s: shape", what);
    asc_array_get(&out, 0, asc_array_count(&out), v);
    close_to(v, &y, tolerance, what);
    check_gradients(ctx, t, in, &y, asc_json_get(j, "dx"), tolerance, what);
    asc_array_free(ctx, &out);
    asc_array_free(ctx, &y);
    for (size_t i = 0; i < n; i++) asc_array_free(ctx, &in[i]);
    toy_close(ctx, t);
}

static void each_case(asc_ctx *ctx, double tolerance) {
    char *text;
    size_t n, lines = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("nn/toy.jsonl"), 1 << 24, &text, &n));
    for (char *line = text, *end; *line != '\0'; line = end + 1, lines++) {
        asc_json *j;
        end = strchr(line, '\n');
        assert_non_null(end);
        assert_ok(ctx, asc_json_parse(ctx, line, (size_t)(end - line), &j));
        check_case(ctx, j, tolerance);
        asc_json_free(j);
    }
    assert_int_equal(lines, 47);
    asc_free(ctx, text);
}

static void test_reference(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    each_case(ctx, 1e-12);
    test_ctx_end(ctx);
}

/* Logits of the convolutional nets reach 100; their rounding (1e-5) is the relative error of the softmax. */
static void test_cpu(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    each_case(ctx, 5e-5);
    test_ctx_end(ctx);
}

/* Every line of the weights file opens, under its own key. */
static void test_every_key_opens(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", "deferred");
    char *text;
    size_t n, lines = 0, found = 0;
    assert_ok(ctx, asc_file_read(ctx, weights(), 1 << 24, &text, &n));
    for (char *line = text, *end; *line != '\0'; line = end + 1, lines++) {
        asc_json *j;
        end = strchr(line, '\n');
        assert_non_null(end);
        assert_ok(ctx, asc_json_parse(ctx, line, (size_t)(end - line), &j));
        for (size_t i = 0; toy_name(i) != NULL; i++)
            found += asc_view_eqs(asc_json_str(asc_json_get(j, "model")), toy_name(i));
        asc_json_free(j);
    }
    assert_int_equal(lines, 30);
    assert_int_equal(found, 30);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* Activations that Captum 0.9.0 recorded: configuration 78 of its table (two examples), and hand-written rows
 * of its tests of LayerActivation. */
static void test_recorded_activations(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const double x78[6] = {-1.15689516,  1.81097591,   -0.96908313,
                                  -0.279071271, -0.141690493, -1.36555624};
    static const struct {
        const char *model, *site;
        bool branches;
        size_t n_inputs;
        double in[4][6]; /* the last of four is a number */
        int64_t rows;
        double want[8];
    } cases[] = {
        {"BasicModel_MultiLayer",
         "multi_relu.relu1",
         true,
         1,
         {{0}},
         2,
         {0, 0.684997618, 0.684997618, 0.684997618}},
        {"BasicModel_MultiLayer",
         "multi_relu.relu2",
         true,
         1,
         {{0}},
         2,
         {0, 0.684997618, 0.684997618, 0.684997618}},
        {"BasicModel_MultiLayer",
         "linear1",
         true,
         1,
         {{0}},
         2,
         {-10.3150024, 0.684997618, 0.684997618, 0.684997618, -11.7863178, -0.786318064, -0.786318064,
          -0.786318064}},
        {"BasicModel_MultiLayer", "linear1", false, 1, {{0, 100, 0}}, 1, {90, 101, 101, 101}},
        {"BasicModel_MultiLayer", "relu.in", false, 1, {{2, -5, 4}}, 1, {-9, 2, 2, 2}},
        {"BasicModel_MultiLayer_MultiInput",
         "model.linear2",
         false,
         4,
         {{0, 10, 0}, {0, 10, 0}, {0, 5, 0}, {4}},
         1,
         {392, 394}},
        {"BasicModel_MultiLayer_MultiInput",
         "model.relu",
         false,
         4,
         {{0, 10, 1}, {0, 4, 5}, {0, 0, 0}, {5}},
         1,
         {90, 101, 101, 101}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        asc_array in[4], out;
        toy_options options = {.multi_input_module = cases[i].branches};
        for (size_t k = 0; k < 4; k++)
            in[k] = (asc_array){ASC_ELEM_F64, k == 3 ? (asc_shape){0} : ASC_SHAPE(cases[i].rows, 3),
                                cases[i].in[k]};
        if (cases[i].rows == 2) in[0].data = x78;
        toy *t;
        double v[8], want[8];
        memcpy(want, cases[i].want, sizeof want);
        assert_ok(ctx,
                  toy_open(ctx, weights(), cases[i].model, NULL, NULL, &options, in, cases[i].n_inputs, &t));
        assert_ok(ctx, asc_net_run(t->net, in, cases[i].n_inputs, &cases[i].site, 1, &out));
        assert_true(asc_array_count(&out) <= 8);
        asc_array_get(&out, 0, asc_array_count(&out), v);
        asc_array w = {ASC_ELEM_F64, out.shape, want};
        close_to(v, &w, 2e-7, cases[i].site);
        asc_array_free(ctx, &out);
        toy_close(ctx, t);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_every_key_opens),
        cmocka_unit_test(test_recorded_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
