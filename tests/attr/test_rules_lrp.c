/* test_rules_lrp.c - relevance rules, Guided Backprop and Deconvolution on recorded graphs, in f64 on the
 * reference device: Captum's landmark numbers (captum_expected.tsv), the published formulas written out as
 * loops, equalities that the theory demands, choices, and the sums at sites. */
#include <math.h>

#include "harness.h"
#include "hash.h"
#include "rule_parts.h"

static void assert_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g instead of %.17g", got, want);
}

static void draw(double *v, size_t n, uint64_t seed, double lo, double hi) {
    for (size_t i = 0; i < n; i++) v[i] = lo + (hi - lo) * asc_uniform(seed, 5, i);
}

static asc_tensor *weight(asc_ctx *ctx, asc_shape shape, uint64_t seed) {
    double v[1024];
    draw(v, (size_t)asc_shape_elems(&shape), seed, -0.8, 0.8);
    return asc_from_f64(ctx, shape, v);
}

typedef asc_tensor *(*net_fn)(asc_ctx *ctx, asc_tensor *x);
typedef asc_status (*init_fn)(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out);

/* Cotangents at x of the net's output; seed 1 for gradients. Returns the output's sum. */
static double run(asc_ctx *ctx, init_fn init, const asc_rule_options *o, net_fn net, asc_shape shape,
                  const double *x, double *out) {
    asc_rules rules;
    asc_scope_begin(ctx);
    assert_ok(ctx, init(ctx, o, &rules));
    asc_tensor *t = asc_from_f64(ctx, shape, x), *g, *y = net(ctx, t), *one = asc_full(ctx, y->shape, 1);
    asc_grad_with_rules(ctx, &rules.grad, y, rules.grad.seed_is_value ? NULL : one, &t, 1, &g);
    double f[64], sum = 0;
    const size_t n = (size_t)asc_tensor_elems(y);
    assert_ok(ctx, asc_read_f64(ctx, g, out, (size_t)asc_shape_elems(&shape)));
    assert_ok(ctx, asc_read_f64(ctx, y, f, n));
    for (size_t i = 0; i < n; i++) sum += f[i];
    assert_int_equal(rules.n_used, 0);
    asc_rules_deinit(&rules);
    assert_ok(ctx, asc_scope_end(ctx));
    return sum;
}

static void expect(net_fn net, init_fn init, asc_rule_options o, asc_shape shape, const double *x,
                   const double *want, double tolerance) {
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double got[64];
    run(ctx, init, &o, net, shape, x, got);
    for (int64_t i = 0; i < asc_shape_elems(&shape); i++) assert_near(got[i], want[i], tolerance);
    test_ctx_end(ctx);
}

/* ---- Captum's models ---- */

static asc_tensor *simple(asc_ctx *ctx, asc_tensor *x, double first) {
    const double w[9] = {first, 2, 2, 2, 2, 2, 2, 2, 2}, u[3] = {3, 3, 3};
    const char *label = asc_set_label(ctx, "linear");
    asc_tensor *h = asc_matmul(ctx, x, asc_from_f64(ctx, ASC_SHAPE(3, 3), w), false, true);
    asc_set_label(ctx, "relu");
    h = asc_relu(ctx, h);
    asc_set_label(ctx, "linear2");
    h = asc_matmul(ctx, h, asc_from_f64(ctx, ASC_SHAPE(1, 3), u), false, true);
    asc_set_label(ctx, label);
    return h;
}
static asc_tensor *simple_968907(asc_ctx *ctx, asc_tensor *x) { return simple(ctx, x, 2); }
static asc_tensor *simple_eb96ad(asc_ctx *ctx, asc_tensor *x) { return simple(ctx, x, -2); }

static const double ONE_TWO_THREE[3] = {1, 2, 3};

static void landmarks_simple(void **state) {
    (void)state;
    const asc_shape s = ASC_SHAPE(1, 3);
    const asc_rule_choice identity[] = {{.site = "linear", .rule = "identity"}};
    const asc_rule_choice gamma[] = {{.site = "linear", .rule = "gamma", .a = 1},
                                     {.site = "lin*2", .rule = "gamma", .a = 0.25}};
    const asc_rule_choice plus[] = {{.op = "matmul", .rule = "z-plus"}},
                          a1b0[] = {{.rule = "alpha-beta", .a = 1}};
    expect(simple_968907, asc_rules_init_lrp, (asc_rule_options){0}, s, ONE_TWO_THREE, (double[]){18, 36, 54},
           1e-6);
    expect(simple_eb96ad, asc_rules_init_lrp, (asc_rule_options){.choices = identity, .n_choices = 1}, s,
           ONE_TWO_THREE, (double[]){24, 36, 36}, 1e-6);
    expect(simple_eb96ad, asc_rules_init_lrp, (asc_rule_options){.choices = gamma, .n_choices = 2}, s,
           ONE_TWO_THREE, (double[]){28.0 / 3, 104.0 / 3, 52}, 1e-4);
    expect(simple_eb96ad, asc_rules_init_lrp, (asc_rule_options){.choices = plus, .n_choices = 1}, s,
           ONE_TWO_THREE, (double[]){12, 33.6, 50.4}, 1e-6);
    expect(simple_eb96ad, asc_rules_init_lrp, (asc_rule_options){.choices = a1b0, .n_choices = 1}, s,
           ONE_TWO_THREE, (double[]){12, 33.6, 50.4}, 1e-6);
}

/* Model#3af455: weights 0.1, tanh between. */
static asc_tensor *tanh_model(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *h = asc_matmul(ctx, x, asc_full(ctx, ASC_SHAPE(3, 3), 0.1), false, false);
    return asc_matmul(ctx, asc_tanh(ctx, h), asc_full(ctx, ASC_SHAPE(3, 1), 0.1), false, false);
}

static const asc_window CONV3 = {.kernel = {3, 3, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};

/* BasicModel_ConvNet_One_Conv, target 0; the convolution's bias as its input, or added behind it. */
static asc_tensor *one_conv(asc_ctx *ctx, asc_tensor *x, bool added) {
    const double bias[2] = {-50, -75}, fc[8] = {1, 1, 1, 1, 1, -1, -1, -1};
    asc_tensor *w = asc_full(ctx, ASC_SHAPE(2, 1, 3, 3), 1),
               *b = asc_from_f64(ctx, added ? ASC_SHAPE(1, 2, 1, 1) : ASC_SHAPE(2), bias);
    asc_tensor *h = asc_conv(ctx, x, w, added ? NULL : b, &CONV3, 1);
    if (added) h = asc_add(ctx, b, h);
    h = asc_reshape(ctx, asc_relu(ctx, h), ASC_SHAPE(x->shape.dims[0], 8));
    return asc_relu(ctx, asc_matmul(ctx, h, asc_from_f64(ctx, ASC_SHAPE(8, 1), fc), false, false));
}
static asc_tensor *one_conv_input(asc_ctx *ctx, asc_tensor *x) { return one_conv(ctx, x, false); }
static asc_tensor *one_conv_added(asc_ctx *ctx, asc_tensor *x) { return one_conv(ctx, x, true); }

static void landmarks_conv(void **state) {
    (void)state;
    double x[16];
    for (int i = 0; i < 16; i++) x[i] = i;
    const double lrp[16] = {0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 0, 0, 0};
    const double guided[16] = {0, 1, 1, 1, 1, 3, 3, 2, 1, 3, 3, 2, 1, 2, 2, 1};
    const double deconv[16] = {2, 3, 3, 1, 3, 5, 5, 2, 3, 5, 5, 2, 1, 2, 2, 1};
    const net_fn nets[2] = {one_conv_input, one_conv_added};
    const asc_shape s = ASC_SHAPE(1, 1, 4, 4);
    for (int k = 0; k < 2; k++) {
        expect(nets[k], asc_rules_init_lrp, (asc_rule_options){0}, s, x, lrp, 1e-6);
        expect(nets[k], asc_rules_init_lrp, (asc_rule_options){.compat_captum = true}, s, x, lrp, 1e-6);
        expect(nets[k], asc_rules_init_guided, (asc_rule_options){0}, s, x, guided, 0);
        expect(nets[k], asc_rules_init_deconvolution, (asc_rule_options){0}, s, x, deconv, 0);
    }
    expect(tanh_model, asc_rules_init_lrp, (asc_rule_options){0}, ASC_SHAPE(1, 3), ONE_TWO_THREE,
           (double[]){0.02685248, 0.05370496, 0.08055744}, 2e-8);
}

/* MaxPoolModel: linear of twos, MaxPool1d(2); target 1 (lrp#004). */
static asc_tensor *max_pool_model(asc_ctx *ctx, asc_tensor *x) {
    const asc_window p = {.kernel = {2, 1, 1}, .stride = {2, 1, 1}, .dilation = {1, 1, 1}};
    asc_tensor *h = asc_matmul(ctx, x, asc_full(ctx, ASC_SHAPE(2, 2), 2), false, true);
    return asc_slice(ctx, asc_reshape(ctx, asc_max_pool(ctx, h, &p), ASC_SHAPE(1, 2)), 1, 1, 1);
}

/* BasicModel_MultiLayer on x + (3, 6, 9), target 0 (lrp#007): Captum hands all relevance to both terms. */
static asc_tensor *multi_layer(asc_ctx *ctx, asc_tensor *x) {
    const double b1[4] = {-10, 1, 1, 1};
    asc_tensor *h = asc_add(ctx, asc_slice(ctx, x, 0, 0, 1), asc_slice(ctx, x, 0, 1, 1));
    h = asc_matmul_bias(ctx, h, asc_full(ctx, ASC_SHAPE(3, 4), 1), asc_from_f64(ctx, ASC_SHAPE(4), b1), false,
                        false);
    return asc_shift(ctx, asc_matmul(ctx, asc_relu(ctx, h), asc_full(ctx, ASC_SHAPE(4, 1), 1), false, false),
                     -1);
}

static void landmarks_other(void **state) {
    (void)state;
    const double two[6] = {1, 2, 3, 3, 6, 9};
    expect(max_pool_model, asc_rules_init_lrp, (asc_rule_options){0}, ASC_SHAPE(1, 2, 2),
           (double[]){1, 2, 5, 6}, (double[]){0, 0, 10, 12}, 1e-6);
    expect(multi_layer, asc_rules_init_lrp, (asc_rule_options){.compat_captum = true}, ASC_SHAPE(2, 3), two,
           (double[]){16, 32, 48, 16, 32, 48}, 1e-5);
    expect(multi_layer, asc_rules_init_lrp, (asc_rule_options){0}, ASC_SHAPE(2, 3), two,
           (double[]){4, 8, 12, 12, 24, 36}, 1e-5);
}

/* ---- formulas written out ---- */

enum { I = 5, J = 3 };

static asc_tensor *layer(asc_ctx *ctx, asc_tensor *x) {
    return asc_matmul_bias(ctx, x, weight(ctx, ASC_SHAPE(I, J), 1), weight(ctx, ASC_SHAPE(J), 2), false,
                           false);
}

/* c_ij and b_j of a rule. */
static double contribution(const char *rule, double a, double b, double x, double w) {
    if (rule[0] == 'g') return x * (w + a * fmax(w, 0));
    if (strcmp(rule, "z-plus") == 0) return x * fmax(w, 0);
    if (rule[0] == 'w') return w * w;
    if (rule[0] == 'f') return 1;
    if (strcmp(rule, "z-box") == 0) return x * w - a * fmax(w, 0) - b * fmin(w, 0);
    return x * w;
}

static double bias_of(const char *rule, double a, double b) {
    if (rule[0] == 'g') return b + a * fmax(b, 0);
    return rule[0] == 'w' || rule[0] == 'f' || strcmp(rule, "z-box") == 0 ? 0 : b;
}

static void formulas(void **state) {
    (void)state;
    static const asc_rule_choice cases[] = {{.rule = "epsilon", .a = 0.3},
                                            {.rule = "epsilon", .a = 0.3, .no_bias = true},
                                            {.rule = "gamma", .a = 0.7},
                                            {.rule = "gamma", .a = 0.7, .no_bias = true},
                                            {.rule = "z-plus"},
                                            {.rule = "w-square"},
                                            {.rule = "flat"},
                                            {.rule = "z-box", .a = -1.5, .b = 2}};
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[I], w[I * J], b[J], got[I];
    draw(x, I, 9, -1, 1.5);
    draw(w, I * J, 1, -0.8, 0.8);
    draw(b, J, 2, -0.8, 0.8);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const asc_rule_choice *c = &cases[k];
        const double eps = c->rule[0] == 'e' ? c->a : 0;
        double want[I] = {0};
        run(ctx, asc_rules_init_lrp, &(asc_rule_options){.choices = c, .n_choices = 1}, layer,
            ASC_SHAPE(1, I), x, got);
        for (int j = 0; j < J; j++) {
            double y = b[j], z = c->no_bias ? 0 : bias_of(c->rule, c->a, b[j]);
            for (int i = 0; i < I; i++) {
                y += x[i] * w[i * J + j];
                z += contribution(c->rule, c->a, c->b, x[i], w[i * J + j]);
            }
            z += z < 0 ? -eps : eps;
            for (int i = 0; i < I; i++)
                want[i] += contribution(c->rule, c->a, c->b, x[i], w[i * J + j]) * y / z;
        }
        for (int i = 0; i < I; i++) assert_near(got[i], want[i], 1e-6 * (1 + fabs(want[i])));
    }
    test_ctx_end(ctx);
}

static void formula_alpha_beta(void **state) {
    (void)state;
    const asc_rule_choice c = {.rule = "alpha-beta", .a = 2, .b = 1};
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[I], w[I * J], b[J], got[I], want[I] = {0};
    draw(x, I, 9, -1, 1.5);
    draw(w, I * J, 1, -0.8, 0.8);
    draw(b, J, 2, -0.8, 0.8);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){.choices = &c, .n_choices = 1}, layer, ASC_SHAPE(1, I),
        x, got);
    for (int j = 0; j < J; j++) {
        double y = b[j], p = fmax(b[j], 0), n = fmin(b[j], 0);
        for (int i = 0; i < I; i++) {
            y += x[i] * w[i * J + j];
            p += fmax(x[i] * w[i * J + j], 0);
            n += fmin(x[i] * w[i * J + j], 0);
        }
        for (int i = 0; i < I; i++)
            want[i] += (2 * fmax(x[i] * w[i * J + j], 0) / p - fmin(x[i] * w[i * J + j], 0) / n) * y;
    }
    for (int i = 0; i < I; i++) assert_near(got[i], want[i], 1e-7);
    test_ctx_end(ctx);
}

/* ---- what theory demands ---- */

static asc_tensor *relu_net(asc_ctx *ctx, asc_tensor *x) {
    const asc_window p = {.kernel = {2, 2, 1}, .stride = {2, 2, 1}, .dilation = {1, 1, 1}};
    asc_tensor *h = asc_relu(ctx, asc_conv(ctx, x, weight(ctx, ASC_SHAPE(4, 1, 3, 3), 21), NULL, &CONV3, 1));
    asc_tensor *skip = asc_avg_pool(ctx, h, &p, true);
    h = asc_add(ctx, asc_max_pool(ctx, h, &p), skip);
    h = asc_reshape(ctx, h, ASC_SHAPE(1, 16));
    return asc_slice(ctx, asc_matmul(ctx, h, weight(ctx, ASC_SHAPE(16, 3), 23), false, false), 1, 1, 1);
}

/* Without biases and with epsilon towards 0, the epsilon rule on a ReLU net is input times gradient, and
 * nothing is lost. */
static void epsilon_is_input_times_gradient(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[36], r[36], g[36], sum = 0;
    draw(x, 36, 3, -1, 1);
    const double f = run(ctx, asc_rules_init_lrp, &(asc_rule_options){.epsilon = 1e-14}, relu_net,
                         ASC_SHAPE(1, 1, 6, 6), x, r);
    asc_scope_begin(ctx);
    asc_tensor *t = asc_from_f64(ctx, ASC_SHAPE(1, 1, 6, 6), x), *d;
    asc_grad(ctx, relu_net(ctx, t), NULL, &t, 1, &d);
    assert_ok(ctx, asc_read_f64(ctx, d, g, 36));
    assert_ok(ctx, asc_scope_end(ctx));
    for (int i = 0; i < 36; i++) {
        assert_near(r[i], g[i] * x[i], 1e-9);
        sum += r[i];
    }
    assert_near(sum, f, 1e-9);
    test_ctx_end(ctx);
}

/* Batch normalisation as scale and shift behind a convolution, or folded into its weights. */
static asc_tensor *norm_net(asc_ctx *ctx, asc_tensor *x, bool folded) {
    double s[2] = {0.6, -1.7}, b[2] = {0.3, 0.2}, c[2] = {0.25, -0.4};
    asc_tensor *w = weight(ctx, ASC_SHAPE(2, 1, 3, 3), 25), *h;
    if (folded) {
        const double all[2] = {s[0] * c[0] + b[0], s[1] * c[1] + b[1]};
        w = asc_mul(ctx, w, asc_from_f64(ctx, ASC_SHAPE(2, 1, 1, 1), s));
        h = asc_conv(ctx, x, w, asc_from_f64(ctx, ASC_SHAPE(2), all), &CONV3, 1);
    } else {
        h = asc_conv(ctx, x, w, asc_from_f64(ctx, ASC_SHAPE(2), c), &CONV3, 1);
        h = asc_mul(ctx, h, asc_from_f64(ctx, ASC_SHAPE(2, 1, 1), s));
        h = asc_add(ctx, h, asc_from_f64(ctx, ASC_SHAPE(2, 1, 1), b));
    }
    h = asc_reshape(ctx, asc_relu(ctx, h), ASC_SHAPE(1, 32));
    return asc_matmul(ctx, h, weight(ctx, ASC_SHAPE(32, 1), 26), false, false);
}
static asc_tensor *norm_apart(asc_ctx *ctx, asc_tensor *x) { return norm_net(ctx, x, false); }
static asc_tensor *norm_folded(asc_ctx *ctx, asc_tensor *x) { return norm_net(ctx, x, true); }

static void folding_changes_nothing(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[36], a[36], b[36];
    draw(x, 36, 4, -1, 1);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){.epsilon = 1e-13}, norm_apart, ASC_SHAPE(1, 1, 6, 6), x,
        a);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){.epsilon = 1e-13}, norm_folded, ASC_SHAPE(1, 1, 6, 6), x,
        b);
    for (int i = 0; i < 36; i++) assert_near(a[i], b[i], 1e-9);
    test_ctx_end(ctx);
}

/* Attention without biases: keys, queries and values share; what is not lost in the softmax arrives. The
 * parts that conserve exactly are checked by themselves. */
static asc_tensor *product_net(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *a = asc_matmul(ctx, x, weight(ctx, ASC_SHAPE(4, 4), 31), false, false);
    asc_tensor *b = asc_matmul(ctx, x, weight(ctx, ASC_SHAPE(4, 4), 32), false, false);
    asc_tensor *p = asc_matmul(ctx, a, b, false, true), *h = asc_matmul(ctx, p, x, false, false);
    h = asc_rms_norm(ctx, asc_mul(ctx, h, asc_silu(ctx, x)), weight(ctx, ASC_SHAPE(4), 33), 1e-5);
    h = asc_div(ctx, h, asc_shift(ctx, asc_square(ctx, h), 1));
    return asc_slice(ctx, asc_reshape(ctx, h, ASC_SHAPE(1, 12)), 1, 5, 1);
}

static asc_tensor *attention(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *q = asc_reshape(ctx, x, ASC_SHAPE(1, 3, 2, 2));
    asc_tensor *h =
        asc_layer_norm(ctx, asc_reshape(ctx, asc_sdpa(ctx, q, q, q, 1, true, 0, 0), ASC_SHAPE(3, 4)),
                       weight(ctx, ASC_SHAPE(4), 34), weight(ctx, ASC_SHAPE(4), 35), 1e-5);
    return asc_slice(ctx, asc_reshape(ctx, h, ASC_SHAPE(1, 12)), 1, 9, 1);
}

static void products_conserve(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[12], r[12], sum = 0;
    draw(x, 12, 7, -1, 1);
    const double f = run(ctx, asc_rules_init_lrp, &(asc_rule_options){.epsilon = 1e-14}, product_net,
                         ASC_SHAPE(3, 4), x, r);
    for (int i = 0; i < 12; i++) sum += r[i];
    assert_near(sum, f, 1e-9 * (1 + fabs(f)));
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){0}, attention, ASC_SHAPE(3, 4), x, r);
    for (int i = 0; i < 12; i++) assert_true(isfinite(r[i]));
    test_ctx_end(ctx);
}

/* A mask of minus infinity leaves no NaN behind. */
static asc_tensor *masked(asc_ctx *ctx, asc_tensor *x) {
    const double mask[3] = {0, -INFINITY, 0};
    asc_tensor *p = asc_softmax(ctx, asc_add(ctx, x, asc_from_f64(ctx, ASC_SHAPE(3), mask)));
    return asc_slice(ctx, asc_mul(ctx, p, x), 1, 0, 1);
}

static void masks_are_harmless(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double r[3], m[3], sum = 0;
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){0}, masked, ASC_SHAPE(1, 3), ONE_TWO_THREE, r);
    for (int i = 0; i < 3; i++) assert_true(isfinite(r[i]));
    asc_rules rules;
    asc_scope_begin(ctx);
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, &(asc_rule_options){0}, &rules));
    asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1, 3), ONE_TWO_THREE),
               *x0 = asc_full(ctx, ASC_SHAPE(1, 3), 0), *g;
    asc_tensor *y = masked(ctx, x), *y0 = masked(ctx, x0);
    asc_grad_paired(ctx, &rules.grad, y, y0, NULL, &x, &x0, 1, &g);
    assert_ok(ctx, asc_read_f64(ctx, g, m, 3));
    for (int i = 0; i < 3; i++) sum += m[i] * ONE_TWO_THREE[i];
    assert_near(m[1], 0, 0);
    assert_near(sum, 1 / (1 + exp(2)), 1e-13);
    asc_rules_deinit(&rules);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* ---- choices and sums ---- */

static void bad_choices(void **state) {
    (void)state;
    static const struct {
        asc_rule_choice c;
        const char *says;
    } cases[] = {
        {{.rule = "lambda"}, "lambda"},
        {{.rule = NULL}, "not a relevance rule"},
        {{.rule = "gamma", .op = "convolution"}, "convolution"},
        {{.rule = "gamma", .a = -1}, "gamma"},
        {{.rule = "epsilon", .a = (double)NAN}, "finite"},
        {{.rule = "alpha-beta", .a = 2, .b = 2}, "alpha - beta"},
        {{.rule = "z-box"}, "low"},
        {{.rule = "epsilon", .first_layer = 3, .last_layer = 2}, "range"},
    };
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        asc_rules rules;
        const asc_rule_options o = {.choices = &cases[i].c, .n_choices = 1};
        assert_int_equal(asc_rules_init_lrp(ctx, &o, &rules), ASC_INVALID_ARGUMENT);
        assert_non_null(strstr(asc_error_message(ctx), cases[i].says));
        asc_rules_deinit(&rules);
    }
    test_ctx_end(ctx);
}

/* Ranges of layers pick the same ops as names do; rules are arguments: a second call is not changed by the
 * first. */
static void choices_by_depth(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const asc_rule_choice by_name[] = {{.site = "linear", .rule = "z-plus"}, {.rule = "gamma", .a = 0.5}};
    const asc_rule_choice by_depth[] = {{.last_layer = 1, .rule = "z-plus"},
                                        {.first_layer = 2, .rule = "gamma", .a = 0.5}};
    double a[3], b[3], plain[3], again[3];
    const asc_shape s = ASC_SHAPE(1, 3);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){0}, simple_eb96ad, s, ONE_TWO_THREE, plain);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){.choices = by_name, .n_choices = 2}, simple_eb96ad, s,
        ONE_TWO_THREE, a);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){.choices = by_depth, .n_choices = 2}, simple_eb96ad, s,
        ONE_TWO_THREE, b);
    run(ctx, asc_rules_init_lrp, &(asc_rule_options){0}, simple_eb96ad, s, ONE_TWO_THREE, again);
    for (int i = 0; i < 3; i++) {
        assert_near(a[i], b[i], 0);
        assert_near(plain[i], again[i], 0);
    }
    assert_true(fabs(a[0] - plain[0]) > 0.1);
    test_ctx_end(ctx);
}

static void sums_at_sites(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_rules rules;
    asc_tensor *const *watched;
    assert_ok(ctx, asc_rules_init_lrp(ctx, &(asc_rule_options){0}, &rules));
    for (int pass = 0; pass < 3; pass++) {
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1, 3), ONE_TWO_THREE), *y = simple_968907(ctx, x), *r;
        asc_grad_with_rules(ctx, &rules.grad, y, NULL, &x, 1, &r);
        asc_tensor *outs[4] = {r};
        const size_t n = rules.grad.watched(&rules, &watched);
        assert_int_equal(n, 3);
        for (size_t i = 0; i < n; i++) outs[1 + i] = watched[i];
        if (pass > 0) assert_ok(ctx, asc_run(ctx, outs, 4));
        assert_ok(ctx, rules.grad.after(ctx, &rules, pass > 0)); /* the first pass is not run */
        assert_ok(ctx, asc_scope_end(ctx));
    }
    assert_int_equal(rules.n_sums, 3);
    static const char *const names[] = {"linear2", "relu", "linear"};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(rules.sums[i].site, names[i]);
        assert_near(rules.sums[i].relevance, 2 * 108, 1e-5);
    }
    asc_rules_deinit(&rules);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(landmarks_simple),
        cmocka_unit_test(landmarks_conv),
        cmocka_unit_test(landmarks_other),
        cmocka_unit_test(formulas),
        cmocka_unit_test(formula_alpha_beta),
        cmocka_unit_test(epsilon_is_input_times_gradient),
        cmocka_unit_test(folding_changes_nothing),
        cmocka_unit_test(products_conserve),
        cmocka_unit_test(masks_are_harmless),

        cmocka_unit_test(bad_choices),
        cmocka_unit_test(choices_by_depth),
        cmocka_unit_test(sums_at_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
