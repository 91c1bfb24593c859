/* DeepLift with Captum's numbers where one layer that has a rule feeds another (Captum 0.9 loses every second
 * one's, counted from the layer that is attributed to), and where gradients at input and baseline differ
 * behind a layer that puts both together. Figures: captum 0.9.0 on torch 2.15, in f64. */
#include "grad.h"
#include "harness.h"
#include "ops.h"
#include "rules.h"
#include <math.h>

enum { WIDTH = 4 };
static const double at[WIDTH] = {1, 2, -1, 0.5}, from[WIDTH] = {0, 1, 1, -1};

static asc_tensor *linear(asc_ctx *ctx, asc_tensor *x) {
    const double w[WIDTH * WIDTH] = {1, -2, 0.5, 1, 0.5, 1, -1, 2, -1, 0.5, 2, -0.5, 2, 1, 1, -1};
    return asc_matmul(ctx, x, asc_from_f64(ctx, ASC_SHAPE(WIDTH, WIDTH), w), false, true);
}

/* Each gives its result; *inner is the value of a layer between. */
static asc_tensor *pool_behind_elu(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    const asc_window two = {.kernel = {2, 1, 1}, .stride = {2, 1, 1}, .dilation = {1, 1, 1}};
    *inner = asc_elu(ctx, asc_reshape(ctx, linear(ctx, x), ASC_SHAPE(1, 1, WIDTH)), 0.7);
    return asc_max_pool(ctx, *inner, &two);
}

static asc_tensor *pooled(asc_ctx *ctx, asc_tensor *x) {
    const asc_window two = {.kernel = {2, 1, 1}, .stride = {2, 1, 1}, .dilation = {1, 1, 1}};
    return asc_max_pool(ctx, asc_reshape(ctx, linear(ctx, x), ASC_SHAPE(1, 1, WIDTH)), &two);
}

static asc_tensor *relu_behind_pool(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    *inner = NULL;
    return asc_relu(ctx, pooled(ctx, x));
}

static asc_tensor *square_behind_pool(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    *inner = NULL;
    return asc_square(ctx, pooled(ctx, x));
}

static asc_tensor *sigmoid_between_squares(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    return asc_square(ctx, asc_sigmoid(ctx, square_behind_pool(ctx, x, inner)));
}

static asc_tensor *square_behind_softmax(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    *inner = NULL;
    return asc_square(ctx, asc_softmax(ctx, linear(ctx, x)));
}

static asc_tensor *tanh_behind_sigmoid(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    *inner = asc_sigmoid(ctx, linear(ctx, x));
    return asc_tanh(ctx, *inner);
}

static asc_tensor *three_in_a_row(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    return asc_sigmoid(ctx, tanh_behind_sigmoid(ctx, x, inner));
}

static asc_tensor *four_in_a_row(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner) {
    asc_tensor *sigmoid;
    *inner = tanh_behind_sigmoid(ctx, x, &sigmoid);
    return asc_tanh(ctx, asc_sigmoid(ctx, *inner));
}

typedef asc_tensor *(*net_fn)(asc_ctx *ctx, asc_tensor *x, asc_tensor **inner);

/* Scores of the sum of the net's results, of its input or of the inner layer. */
static void expect(net_fn net, bool at_inner, const double want[WIDTH]) {
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const asc_rule_options o = {.compat_captum = true};
    const int axes[ASC_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    asc_rules rules;
    double m[WIDTH], v[WIDTH], v0[WIDTH];
    asc_scope_begin(ctx);
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, &rules));
    asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1, WIDTH), at), *in, *g;
    asc_tensor *x0 = asc_from_f64(ctx, ASC_SHAPE(1, WIDTH), from), *in0;
    asc_tensor *y = net(ctx, x, &in), *y0 = net(ctx, x0, &in0);
    y = asc_sum(ctx, y, y->shape.rank, axes, false);
    y0 = asc_sum(ctx, y0, y0->shape.rank, axes, false);
    if (at_inner) x = in, x0 = in0;
    asc_grad_paired(ctx, &rules.grad, y, y0, NULL, &x, &x0, 1, &g);
    assert_ok(ctx, asc_read_f64(ctx, g, m, WIDTH));
    assert_ok(ctx, asc_read_f64(ctx, x, v, WIDTH));
    assert_ok(ctx, asc_read_f64(ctx, x0, v0, WIDTH));
    for (int i = 0; i < WIDTH; i++) {
        double got = m[i] * (v[i] - v0[i]);
        if (!(fabs(got - want[i]) <= 1e-11 * fmax(1.0, fabs(want[i])))) /* twelve digits are written */
            fail_msg("score %d: %.12g, not %.12g", i, got, want[i]);
    }
    asc_rules_deinit(&rules);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

static void second_rules_are_lost(void **state) {
    (void)state;
    expect(pool_behind_elu, false,
           (const double[]){2.39271271552, 1.78542543104, -0.429149137928, 0.856276293108});
    expect(tanh_behind_sigmoid, false,
           (const double[]){-0.0230166242026, 0.0513136907662, -0.64314722579, 0.0950774864791});
    expect(three_in_a_row, false,
           (const double[]){-0.00579294966096, 0.0102635547703, -0.152612329493, 0.024208202336});
    expect(four_in_a_row, false,
           (const double[]){-0.00648112554312, 0.00535779992289, -0.119377309728, 0.0149632340636});
}

static void behind_the_layer_they_are_not(void **state) {
    (void)state;
    expect(pool_behind_elu, true, (const double[]){0, 5.10526530173, -0.5, 0});
    expect(four_in_a_row, true,
           (const double[]){-0.00550203072014, 0.0981271105484, -0.118012584946, -0.00187781069519});
}

/* At the input's maxima the gradient behind them at the input, at the baseline's that at the baseline. */
static void both_gradients_are_put_together(void **state) {
    (void)state;
    expect(relu_behind_pool, false,
           (const double[]){0.404761904762, 1.04761904762, 1.61904761905, 2.92857142857});
    expect(square_behind_pool, false,
           (const double[]){3.92857142857, 9.28571428571, 15.7142857143, 26.5714285714});
    expect(sigmoid_between_squares, false,
           (const double[]){0.00921224474527, 0.0202978583892, 0.0368489789811, 0.0592075431588});
    expect(square_behind_softmax, false,
           (const double[]){0.083290157284, 0.338217229337, 0.903686395901, 0.0852201308834});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(second_rules_are_lost),
                                       cmocka_unit_test(both_gradients_are_put_together),
                                       cmocka_unit_test(behind_the_layer_they_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
