/* test_rules_deep_lift.c - the DeepLift table on recorded graphs, in f64 on the reference device:
 * completeness of every op in every sample case; multipliers of nearly equal inputs against derivatives;
 * published landmark values; refusals and fall-backs; and that examples are not coupled. */
#include "ops/sampling.h"
#include "rule_parts.h"

static void assert_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g instead of %.17g", got, want);
}

/* sum over xs of m (x - x0), and the size of what was added. */
static double dot_of(asc_ctx *ctx, asc_tensor *m, const double *x, const double *x0, int64_t n,
                     double *size) {
    double *v = calloc((size_t)n + 1, sizeof *v), s = 0;
    assert_ok(ctx, asc_read_f64(ctx, m, v, (size_t)n));
    for (int64_t i = 0; i < n; i++) {
        assert_true(isfinite(v[i]));
        s += v[i] * (x[i] - x0[i]);
        *size += fabs(v[i] * (x[i] - x0[i]));
    }
    free(v);
    return s;
}

/* What completeness of one op says: sum of multipliers times differences = sum of g (y - y0). Returns the
 * status of the pass. */
static asc_status complete(asc_ctx *ctx, const asc_op *op, const asc_sample *s, uint64_t seed,
                           const asc_rule_options *o, double tolerance) {
    asc_rules rules;
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, o, &rules));
    asc_scope_begin(ctx);
    test_inputs in = test_inputs_draw(s, seed), in0 = test_inputs_draw(s, seed + 500);
    asc_tensor *t[ASC_MAX_IN], *t0[ASC_MAX_IN], *xs[ASC_MAX_IN], *xs0[ASC_MAX_IN], *m[ASC_MAX_IN];
    int which[ASC_MAX_IN];
    size_t n = 0;
    for (int k = 0; k < s->n_in; k++) {
        t[k] = t0[k] = test_inputs_leaf(ctx, s, &in, k);
        if (s->in_dtype[k] != ASC_DTYPE_F32 || s->no_grad[k]) continue;
        t0[k] = test_inputs_leaf(ctx, s, &in0, k);
        xs[n] = t[k];
        xs0[n] = t0[k];
        which[n++] = k;
    }
    asc_tensor *y = asc_apply(ctx, op, &s->attrs, t, s->n_in),
               *y0 = asc_apply(ctx, op, &s->attrs, t0, s->n_in);
    const int64_t ny = asc_tensor_elems(y);
    double *g = calloc((size_t)ny + 1, sizeof *g), *v = calloc((size_t)ny + 1, sizeof *v),
           *v0 = calloc((size_t)ny + 1, sizeof *v0);
    test_rng rng = {.seed = seed + 7};
    for (int64_t i = 0; i < ny; i++) g[i] = test_uniform(&rng, -1, 1);
    asc_grad_paired(ctx, &rules.grad, y, y0, asc_from_f64(ctx, y->shape, g), xs, xs0, n, m);
    asc_status st = n > 0 && asc_tensor_poisoned(m[0]) ? asc_graph_of(ctx)->error : ASC_OK;
    if (st == ASC_OK) {
        double left = 0, right = 0, size = 0;
        for (size_t k = 0; k < n; k++)
            left += dot_of(ctx, m[k], in.value[which[k]], in0.value[which[k]], in.elems[which[k]], &size);
        assert_ok(ctx, asc_read_f64(ctx, y, v, (size_t)ny));
        assert_ok(ctx, asc_read_f64(ctx, y0, v0, (size_t)ny));
        for (int64_t i = 0; i < ny; i++) right += g[i] * (v[i] - v0[i]);
        if (!(fabs(left - right) <= tolerance * (1 + size)))
            fail_msg("%s: multipliers explain %.15g of %.15g", op->name, left, right);
    }
    free(g);
    free(v);
    free(v0);
    test_inputs_free(&in);
    test_inputs_free(&in0);
    asc_status end = asc_scope_end(ctx);
    asc_rules_deinit(&rules);
    return st != ASC_OK ? st : end;
}

/* The caller's own op has no rule: it is refused by name, and complete by a local path. */
static asc_status by_path(asc_ctx *ctx, const asc_op *op, const asc_sample *s, uint64_t seed) {
    const asc_rule_options refuse = {0}, path = {.fallback = ASC_FALLBACK_PATH};
    assert_int_equal(complete(ctx, op, s, seed, &refuse, 1e-11), ASC_UNIMPLEMENTED);
    assert_non_null(strstr(asc_error_message(ctx), op->name));
    return complete(ctx, op, s, seed, &path, 1e-11);
}

static void every_op_is_complete(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const asc_rule_options o = {0};
    for (size_t k = 0; k < ASC_N_OPS; k++) {
        const asc_op *op = asc_ops[k];
        for (int i = 0;; i++) {
            asc_sample s = {0};
            if (!op->sample(i, &s)) break;
            if (test_call(ctx, op, &s).dtype != ASC_DTYPE_F32) continue;
            const uint64_t seed = 100 * k + (uint64_t)i;
            asc_status st = strcmp(op->name, "custom") == 0 ? by_path(ctx, op, &s, seed)
                                                            : complete(ctx, op, &s, seed, &o, 1e-11);
            if (st != ASC_OK) fail_msg("%s, sample %d: %s", op->name, i, asc_error_message(ctx));
        }
    }
    test_ctx_end(ctx);
}

/* A table whose entry for powers has been taken out, to see the fall-backs at work. */
static asc_status power(asc_ctx *ctx, asc_fallback fallback, double *sum, double *change, asc_rules *rules) {
    const double at[2] = {1.5, 0.5}, at0[2] = {0.5, 1.25};
    const asc_rule_options o = {.fallback = fallback};
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, rules));
    rules->grad.vjp[ASC_OPCODE_POW] = asc_rule_fall_back;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(2), at), *x0 = asc_from_f64(ctx, ASC_SHAPE(2), at0), *m;
    const char *label = asc_set_label(ctx, "here");
    asc_tensor *y = asc_pow(ctx, x, x), *y0 = asc_pow(ctx, x0, x0);
    asc_set_label(ctx, label);
    asc_grad_paired(ctx, &rules->grad, y, y0, asc_full(ctx, ASC_SHAPE(2), 1), &x, &x0, 1, &m);
    double v[2] = {0, 0};
    asc_status st = asc_tensor_poisoned(m) ? ASC_OK : asc_read_f64(ctx, m, v, 2);
    *sum = v[0] * 1.0 + v[1] * -0.75;
    *change = pow(1.5, 1.5) - pow(1.25, 1.25);
    asc_status end = asc_scope_end(ctx);
    return st != ASC_OK ? st : end;
}

static void fall_backs_are_noted(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double sum, change;
    for (int f = ASC_FALLBACK_REFUSE; f <= ASC_FALLBACK_PATH; f++) {
        asc_rules rules;
        asc_status st = power(ctx, (asc_fallback)f, &sum, &change, &rules);
        if (f == ASC_FALLBACK_REFUSE) {
            assert_int_equal(st, ASC_UNIMPLEMENTED);
            assert_non_null(strstr(asc_error_message(ctx), "pow"));
            assert_non_null(strstr(asc_error_message(ctx), "here"));
            assert_int_equal(rules.n_used, 0);
        } else {
            assert_ok(ctx, st);
            assert_int_equal(rules.n_used, 1);
            assert_string_equal(rules.used[0].op, "pow");
            assert_string_equal(rules.used[0].label, "here");
            if (f == ASC_FALLBACK_PATH) assert_near(sum, change, 1e-12);
            if (f == ASC_FALLBACK_GRADIENT) assert_true(fabs(sum - change) > 0.1);
        }
        asc_rules_deinit(&rules);
    }
    test_ctx_end(ctx);
}

/* What is looked up by an integer that the input moves has no multiplier. */
static void moving_integers_are_refused(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const asc_rule_options o = {0};
    asc_rules rules;
    const double at[6] = {1, 3, 2, 5, 4, 6}, at0[6] = {3, 2, 1, 1, 5, 2};
    asc_scope_begin(ctx);
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, &rules));
    asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(2, 3), at), *x0 = asc_from_f64(ctx, ASC_SHAPE(2, 3), at0), *m;
    asc_tensor *y = asc_take_last(ctx, x, asc_arg_max(ctx, x, 1)),
               *y0 = asc_take_last(ctx, x0, asc_arg_max(ctx, x0, 1));
    asc_grad_paired(ctx, &rules.grad, y, y0, asc_full(ctx, ASC_SHAPE(2), 1), &x, &x0, 1, &m);
    assert_true(asc_tensor_poisoned(m));
    assert_int_equal(asc_scope_end(ctx), ASC_UNIMPLEMENTED);
    assert_non_null(strstr(asc_error_message(ctx), "take_last"));
    asc_rules_deinit(&rules);
    test_ctx_end(ctx);
}

/* Slopes between arguments that are 2^-p apart, for every elementwise op of one input: in f32 against the
 * derivative in f64 at their middle, whose distance to the mean slope is of second order in 2^-p. */
static void no_digits_are_lost(void **state) {
    (void)state;
    asc_ctx *ref = test_ctx("reference", "deferred"), *cpu = test_ctx("cpu", "deferred");
    const asc_rule_options o = {0};
    static const int smooth[] = {
        ASC_OPCODE_EXP,  ASC_OPCODE_LOG,  ASC_OPCODE_TANH,      ASC_OPCODE_SIGMOID, ASC_OPCODE_SIN,
        ASC_OPCODE_COS,  ASC_OPCODE_SQRT, ASC_OPCODE_RSQRT,     ASC_OPCODE_RECIP,   ASC_OPCODE_SQUARE,
        ASC_OPCODE_SILU, ASC_OPCODE_GELU, ASC_OPCODE_GELU_TANH, ASC_OPCODE_ERF,     ASC_OPCODE_SOFTPLUS};
    for (size_t k = 0; k < sizeof smooth / sizeof smooth[0]; k++) {
        for (int p = 8; p < 24; p += 3) {
            const asc_op *op = asc_ops[smooth[k]];
            const float at[4] = {0.4f, 0.9f, 1.3f, 2.1f};
            double mid[4], slope[4];
            float at0[4], got[4];
            for (int i = 0; i < 4; i++) {
                at0[i] = at[i] * (1 - ldexpf(1, -p));
                mid[i] = 0.5 * ((double)at[i] + (double)at0[i]);
            }
            asc_scope_begin(ref);
            asc_tensor *c = asc_from_f64(ref, ASC_SHAPE(4), mid), *d;
            asc_grad(ref, asc_apply(ref, op, &(asc_attrs){0}, &c, 1), asc_full(ref, ASC_SHAPE(4), 1), &c, 1,
                     &d);
            assert_ok(ref, asc_read_f64(ref, d, slope, 4));
            assert_ok(ref, asc_scope_end(ref));
            asc_rules rules;
            asc_scope_begin(cpu);
            assert_ok(cpu, asc_rules_init_deep_lift(cpu, &o, &rules));
            asc_tensor *x = asc_from_f32(cpu, ASC_SHAPE(4), at), *x0 = asc_from_f32(cpu, ASC_SHAPE(4), at0),
                       *m;
            asc_tensor *y = asc_apply(cpu, op, &(asc_attrs){0}, &x, 1),
                       *y0 = asc_apply(cpu, op, &(asc_attrs){0}, &x0, 1);
            asc_grad_paired(cpu, &rules.grad, y, y0, asc_full(cpu, ASC_SHAPE(4), 1), &x, &x0, 1, &m);
            assert_ok(cpu, asc_read_f32(cpu, m, got, 4));
            assert_ok(cpu, asc_scope_end(cpu));
            asc_rules_deinit(&rules);
            for (int i = 0; i < 4; i++) {
                double allowed = 4e-6 * (0.1 + fabs(slope[i])) + 4 * ldexp(1, -2 * p);
                if (!(fabs((double)got[i] - slope[i]) <= allowed))
                    fail_msg("%s at %g, 2^-%d apart: %.9g instead of %.9g", op->name, (double)at[i], p,
                             (double)got[i], slope[i]);
            }
        }
    }
    test_ctx_end(ref);
    test_ctx_end(cpu);
}

/* ---- nets ---- */

typedef asc_tensor *(*net_fn)(asc_ctx *ctx, asc_tensor *x);

/* Attributions of f = sum of the net's outputs: m (x - x0) for B examples of n numbers; returns sum - (f -
 * f0). */
static double attribute(asc_ctx *ctx, net_fn net, asc_shape shape, const double *x, const double *x0,
                        bool compat, double *out) {
    const asc_rule_options o = {.compat_captum = compat};
    asc_rules rules;
    const size_t n = (size_t)asc_shape_elems(&shape);
    asc_scope_begin(ctx);
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, &rules));
    asc_tensor *t = asc_from_f64(ctx, shape, x), *t0 = asc_from_f64(ctx, shape, x0), *m;
    asc_tensor *y = net(ctx, t), *y0 = net(ctx, t0);
    int axes[ASC_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    y = asc_sum(ctx, y, y->shape.rank, axes, false);
    y0 = asc_sum(ctx, y0, y0->shape.rank, axes, false);
    asc_grad_paired(ctx, &rules.grad, y, y0, NULL, &t, &t0, 1, &m);
    double f, f0, sum = 0;
    assert_ok(ctx, asc_read_f64(ctx, m, out, n));
    assert_ok(ctx, asc_read_f64(ctx, y, &f, 1));
    assert_ok(ctx, asc_read_f64(ctx, y0, &f0, 1));
    for (size_t i = 0; i < n; i++) {
        out[i] *= x[i] - x0[i];
        sum += out[i];
    }
    assert_int_equal(rules.n_used, 0);
    asc_rules_deinit(&rules);
    assert_ok(ctx, asc_scope_end(ctx));
    return sum - (f - f0);
}

static asc_tensor *weight(asc_ctx *ctx, asc_shape shape, uint64_t seed) {
    double v[4096];
    test_rng rng = {.seed = seed};
    const int64_t n = asc_shape_elems(&shape);
    for (int64_t i = 0; i < n; i++) v[i] = test_uniform(&rng, -0.8, 0.8);
    return asc_from_f64(ctx, shape, v);
}

/* [B,16] as a picture of 4 x 4: convolution, ReLU, overlapping pool, product of two branches, norm. */
static asc_tensor *conv_net(asc_ctx *ctx, asc_tensor *x) {
    const int64_t B = x->shape.dims[0];
    const asc_window c = {
        .kernel = {3, 3, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .before = {1, 1}, .after = {1, 1}};
    const asc_window p = {
        .kernel = {3, 3, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .before = {1, 1}, .after = {1, 1}};
    asc_tensor *h = asc_reshape(ctx, x, ASC_SHAPE(B, 1, 4, 4));
    h = asc_relu(
        ctx, asc_conv(ctx, h, weight(ctx, ASC_SHAPE(3, 1, 3, 3), 1), weight(ctx, ASC_SHAPE(3), 2), &c, 1));
    h = asc_max_pool(ctx, h, &p);
    asc_tensor *gate = asc_sigmoid(ctx, asc_conv(ctx, h, weight(ctx, ASC_SHAPE(3, 3, 3, 3), 3), NULL, &c, 1));
    h = asc_mul(ctx, h, gate);
    h = asc_reshape(ctx, asc_avg_pool(ctx, h, &p, true), ASC_SHAPE(B, 48));
    h = asc_layer_norm(ctx, h, weight(ctx, ASC_SHAPE(48), 4), weight(ctx, ASC_SHAPE(48), 5), 1e-5);
    h = asc_gelu(ctx, asc_matmul_bias(ctx, h, weight(ctx, ASC_SHAPE(48, 6), 6), weight(ctx, ASC_SHAPE(6), 7),
                                      false, false));
    return asc_slice(ctx, asc_log_softmax(ctx, h), 1, 2, 1);
}

/* [B,16] as 4 tokens of width 4: attention with two heads, a gated feed-forward layer, residuals. */
static asc_tensor *attention_net(asc_ctx *ctx, asc_tensor *x) {
    const int64_t B = x->shape.dims[0];
    asc_tensor *h = asc_reshape(ctx, x, ASC_SHAPE(B, 4, 4)), *part[3];
    for (uint64_t i = 0; i < 3; i++)
        part[i] = asc_reshape(ctx, asc_matmul(ctx, h, weight(ctx, ASC_SHAPE(4, 4), 10 + i), false, false),
                              ASC_SHAPE(B, 4, 2, 2));
    asc_tensor *a = asc_sdpa(ctx, part[0], part[1], part[2], 0.7, true, 0, 0);
    h = asc_add(ctx, h, asc_reshape(ctx, a, ASC_SHAPE(B, 4, 4)));
    asc_tensor *n = asc_rms_norm(ctx, h, weight(ctx, ASC_SHAPE(4), 14), 1e-5);
    asc_tensor *up = asc_matmul(ctx, n, weight(ctx, ASC_SHAPE(4, 6), 15), false, false);
    asc_tensor *f = asc_swiglu(ctx, asc_matmul(ctx, n, weight(ctx, ASC_SHAPE(4, 6), 16), false, false), up);
    h = asc_add(ctx, h, asc_matmul(ctx, f, weight(ctx, ASC_SHAPE(6, 4), 17), false, false));
    return asc_slice(ctx, asc_softmax(ctx, asc_reshape(ctx, h, ASC_SHAPE(B, 16))), 1, 3, 2);
}

/* [B,16] as 4 steps of 4: a cell used four times, gates times states. */
static asc_tensor *cell_net(asc_ctx *ctx, asc_tensor *x) {
    const int64_t B = x->shape.dims[0];
    asc_tensor *w = weight(ctx, ASC_SHAPE(4, 12), 20), *u = weight(ctx, ASC_SHAPE(4, 12), 21);
    asc_tensor *h = asc_full(ctx, ASC_SHAPE(B, 4), 0), *c = h;
    for (int t = 0; t < 4; t++) {
        asc_tensor *z = asc_add(ctx, asc_matmul(ctx, asc_slice(ctx, x, 1, 4 * t, 4), w, false, false),
                                asc_matmul(ctx, h, u, false, false));
        asc_tensor *forget = asc_sigmoid(ctx, asc_slice(ctx, z, 1, 0, 4)),
                   *in = asc_tanh(ctx, asc_slice(ctx, z, 1, 4, 4));
        c = asc_add(ctx, asc_mul(ctx, forget, c), asc_mul(ctx, asc_shift(ctx, asc_neg(ctx, forget), 1), in));
        h = asc_mul(ctx, asc_sigmoid(ctx, asc_slice(ctx, z, 1, 8, 4)), asc_tanh(ctx, c));
    }
    return asc_div(ctx, asc_exp(ctx, h), asc_shift(ctx, asc_square(ctx, c), 0.5));
}

static const net_fn nets[] = {conv_net, attention_net, cell_net};
enum { N_NETS = 3, WIDTH = 16 };

static void draw(double *v, size_t n, uint64_t seed) {
    test_rng rng = {.seed = seed};
    for (size_t i = 0; i < n; i++) v[i] = test_uniform(&rng, -1.5, 1.5);
}

static void nets_are_complete(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int k = 0; k < N_NETS; k++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            double x[WIDTH], x0[WIDTH], out[WIDTH];
            draw(x, WIDTH, 40 + seed);
            draw(x0, WIDTH, 80 + seed);
            if (seed == 1) memset(x0, 0, sizeof x0);
            if (seed == 2) memcpy(x0, x, sizeof x0 / 2); /* half of it does not move */
            assert_true(fabs(attribute(ctx, nets[k], ASC_SHAPE(1, WIDTH), x, x0, false, out)) < 1e-12);
        }
    }
    test_ctx_end(ctx);
}

static void rows_are_not_coupled(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int k = 0; k < N_NETS; k++) {
        double x[3 * WIDTH], x0[3 * WIDTH], all[3 * WIDTH], one[WIDTH];
        draw(x, 3 * WIDTH, 1);
        draw(x0, 3 * WIDTH, 2);
        attribute(ctx, nets[k], ASC_SHAPE(3, WIDTH), x, x0, false, all);
        for (int b = 0; b < 3; b++) {
            attribute(ctx, nets[k], ASC_SHAPE(1, WIDTH), x + b * WIDTH, x0 + b * WIDTH, false, one);
            for (int i = 0; i < WIDTH; i++) assert_near(one[i], all[b * WIDTH + i], 1e-13);
        }
    }
    test_ctx_end(ctx);
}

/* Captum's LinearMaxPoolLinearModel: identity, MaxPool1d(4), 1 (captum_expected.tsv, deeplift_basic#001). */
static asc_tensor *linear_max_pool(asc_ctx *ctx, asc_tensor *x) {
    const asc_window p = {.kernel = {4, 1, 1}, .stride = {4, 1, 1}, .dilation = {1, 1, 1}};
    const double eye[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    asc_tensor *h = asc_matmul(ctx, x, asc_from_f64(ctx, ASC_SHAPE(4, 4), eye), false, true);
    return asc_max_pool(ctx, asc_reshape(ctx, h, ASC_SHAPE(x->shape.dims[0], 1, 4)), &p);
}

static void landmark_max_pool(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const double x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, x0[8] = {1, 2, 3, 9, 4, 8, 6, 7},
                 want[8] = {0, 0, 0, -8, 0, -7, 0, 0};
    double out[8];
    for (int compat = 0; compat < 2; compat++) {
        assert_near(attribute(ctx, linear_max_pool, ASC_SHAPE(2, 4), x, x0, compat != 0, out), 0, 1e-14);
        for (int i = 0; i < 8; i++) assert_near(out[i], want[i], 1e-14);
    }
    test_ctx_end(ctx);
}

/* Captum's ReLUDeepLiftModel, 2 relu(x1) + 2 relu(x2 - 1.5), with functional ReLUs: multipliers 2 and 0.5 at
 * (1, 2) against (0, 0) (captum_expected.tsv, deeplift_basic#007 and #008). */
static asc_tensor *relu_model(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *a = asc_relu(ctx, asc_slice(ctx, x, 1, 0, 1)),
               *b = asc_relu(ctx, asc_shift(ctx, asc_slice(ctx, x, 1, 1, 1), -1.5));
    return asc_add(ctx, asc_scale(ctx, a, 2), asc_scale(ctx, b, 2));
}

static void landmark_relu(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const double x[2] = {1, 2}, x0[2] = {0, 0};
    double out[2];
    assert_near(attribute(ctx, relu_model, ASC_SHAPE(1, 2), x, x0, false, out), 0, 0);
    assert_near(out[0], 2 * 1, 1e-15);
    assert_near(out[1], 0.5 * 2, 1e-15);
    test_ctx_end(ctx);
}

/* On a linear net multipliers are the gradient. */
static asc_tensor *linear_net(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *h = asc_matmul(ctx, x, weight(ctx, ASC_SHAPE(16, 5), 30), false, false);
    return asc_matmul(ctx, asc_transpose(ctx, asc_scale(ctx, h, -2), 2, (int[]){1, 0}),
                      weight(ctx, ASC_SHAPE(1, 3), 31), false, false);
}

static void linear_is_the_gradient(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[WIDTH], x0[WIDTH], out[WIDTH], g[WIDTH];
    draw(x, WIDTH, 5);
    draw(x0, WIDTH, 6);
    attribute(ctx, linear_net, ASC_SHAPE(1, WIDTH), x, x0, false, out);
    asc_scope_begin(ctx);
    asc_tensor *t = asc_from_f64(ctx, ASC_SHAPE(1, WIDTH), x), *y = linear_net(ctx, t), *d;
    asc_grad(ctx, y, asc_full(ctx, y->shape, 1), &t, 1, &d);
    assert_ok(ctx, asc_read_f64(ctx, d, g, WIDTH));
    assert_ok(ctx, asc_scope_end(ctx));
    for (int i = 0; i < WIDTH; i++) assert_near(out[i], g[i] * (x[i] - x0[i]), 1e-13);
    test_ctx_end(ctx);
}

/* Rows far apart, where one row's sum of exponentials is nothing beside the other's: still complete, still
 * finite, and no score is larger than the sum allows. */
static asc_tensor *far_softmax(asc_ctx *ctx, asc_tensor *x) {
    return asc_slice(ctx, asc_softmax(ctx, asc_scale(ctx, x, 200)), 1, 3, 2);
}
static asc_tensor *far_log_softmax(asc_ctx *ctx, asc_tensor *x) {
    return asc_slice(ctx, asc_log_softmax(ctx, asc_scale(ctx, x, 200)), 1, 3, 2);
}

static void far_rows(void **state) {
    (void)state;
    static const char *const devices[] = {"reference", "cpu"};
    for (int k = 0; k < 2; k++) {
        asc_ctx *ctx = test_ctx(devices[k], "deferred");
        double x[WIDTH], x0[WIDTH], out[WIDTH];
        for (uint64_t seed = 0; seed < 4; seed++) {
            draw(x, WIDTH, 300 + seed);
            draw(x0, WIDTH, 400 + seed);
            for (int i = 0; i < WIDTH && seed < 3; i++) x0[i] -= (double)seed;
            assert_near(attribute(ctx, far_softmax, ASC_SHAPE(1, WIDTH), x, x0, false, out), 0,
                        k == 0 ? 1e-11 : 1e-4);
            for (int i = 0; i < WIDTH; i++) assert_true(fabs(out[i]) < 1e3);
            attribute(ctx, far_log_softmax, ASC_SHAPE(1, WIDTH), x, x0, false, out);
            for (int i = 0; i < WIDTH; i++) assert_true(fabs(out[i]) < 1e4);
        }
        test_ctx_end(ctx);
    }
}

/* Two recordings that are not of one net are told apart, by op, by attribute and by connection. */
static void unlike_recordings_are_refused(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const asc_rule_options o = {0};
    for (int k = 0; k < 4; k++) {
        asc_rules rules;
        asc_scope_begin(ctx);
        assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, &rules));
        asc_tensor *x = asc_full(ctx, ASC_SHAPE(3), 1), *x0 = asc_full(ctx, ASC_SHAPE(3), 0), *m;
        asc_tensor *a = asc_exp(ctx, x), *b = asc_scale(ctx, a, 2), *y = asc_sub(ctx, a, b);
        asc_tensor *a0 = k == 0 ? asc_sin(ctx, x0) : asc_exp(ctx, x0),
                   *b0 = asc_scale(ctx, a0, k == 1 ? 3 : 2);
        asc_tensor *y0 = k == 2 ? asc_sub(ctx, b0, a0) : asc_sub(ctx, a0, b0);
        if (k == 3) y0 = asc_neg(ctx, y0);
        asc_grad_paired(ctx, &rules.grad, y, y0, asc_full(ctx, y->shape, 1), &x, &x0, 1, &m);
        assert_true(asc_tensor_poisoned(m));
        asc_rules_deinit(&rules);
        assert_int_equal(asc_scope_end(ctx), ASC_INTERNAL);
        assert_non_null(strstr(asc_error_message(ctx), k == 0   ? "sin"
                                                       : k == 1 ? "scale"
                                                       : k == 2 ? "sub"
                                                                : "neg"));
    }
    test_ctx_end(ctx);
}

/* Constants that are made in one recording only, or kept from the first for the second, do not matter. */
static void constants_need_no_partner(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const asc_rule_options o = {0};
    asc_rules rules;
    asc_scope_begin(ctx);
    assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, &rules));
    asc_tensor *x = asc_full(ctx, ASC_SHAPE(3), 1), *x0 = asc_full(ctx, ASC_SHAPE(3), 0.5), *m;
    asc_tensor *e = asc_exp(ctx, x), *two = asc_exp(ctx, asc_full(ctx, ASC_SHAPE(3), 2)),
               *y = asc_mul(ctx, e, two);
    asc_tensor *y0 = asc_mul(ctx, asc_exp(ctx, x0), two);
    asc_grad_paired(ctx, &rules.grad, y, y0, asc_full(ctx, y->shape, 1), &x, &x0, 1, &m);
    double v[3];
    assert_ok(ctx, asc_read_f64(ctx, m, v, 3));
    assert_near(v[0] * 0.5, exp(2) * (exp(1) - exp(0.5)), 1e-13);
    asc_rules_deinit(&rules);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* A choice by a condition that the input moves: clipping written as comparisons. */
static asc_tensor *clip_by_hand(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *hi = asc_full(ctx, ASC_SCALAR_SHAPE, 0.6), *sq = asc_square(ctx, x);
    return asc_where(ctx, asc_less(ctx, hi, x), asc_add(ctx, sq, hi), asc_mul(ctx, x, sq));
}

static void moving_conditions(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double x[WIDTH], x0[WIDTH], out[WIDTH];
    draw(x, WIDTH, 8);
    draw(x0, WIDTH, 9);
    assert_true(fabs(attribute(ctx, clip_by_hand, ASC_SHAPE(1, WIDTH), x, x0, false, out)) < 1e-13);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_complete),
        cmocka_unit_test(fall_backs_are_noted),
        cmocka_unit_test(no_digits_are_lost),
        cmocka_unit_test(nets_are_complete),
        cmocka_unit_test(rows_are_not_coupled),
        cmocka_unit_test(landmark_max_pool),
        cmocka_unit_test(landmark_relu),
        cmocka_unit_test(linear_is_the_gradient),
        cmocka_unit_test(constants_need_no_partner),
        cmocka_unit_test(unlike_recordings_are_refused),
        cmocka_unit_test(moving_conditions),
        cmocka_unit_test(far_rows),
        cmocka_unit_test(moving_integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
