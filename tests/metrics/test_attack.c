/* FGSM and PGD against captum 0.9.0's (float64) on a smooth net, and the cases of its own tests on its toy
 * nets. */
#include "attr/toy_nets.h"
#include "ascribe/robust.h"

enum { N = 2 };
static int one = 1, two = 2;

/* softmax of toy_mlp */
static void probabilities(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    toy_mlp(f, self, in, out);
    out[0] = asc_softmax(asc_frame_ctx(f), out[0]);
}

/* BasicModel: 1 - relu(1 - x) */
static void basic(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    (void)self;
    out[0] = asc_shift(ctx, asc_neg(ctx, asc_relu(ctx, asc_shift(ctx, asc_neg(ctx, in[0]), 1.0))), 1.0);
}

/* BasicModel2: relu(relu(x1) - 1 - relu(x2)) */
static void basic2(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    (void)self;
    asc_tensor *a = asc_shift(ctx, asc_relu(ctx, in[0]), -1.0);
    out[0] = asc_relu(ctx, asc_sub(ctx, a, asc_relu(ctx, in[1])));
}

/* torch's projection onto the L2 ball divides by the norm + 1e-7. */
static void expect(asc_ctx *ctx, asc_status st, asc_adversarial *a, size_t k, const double *want, size_t n) {
    assert_ok(ctx, st);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a->inputs[k].data[i] - want[i]) < 1e-7)) {
            fail_msg("input %zu, element %zu: %.12g is not %.12g", k, i, a->inputs[k].data[i], want[i]);
        }
    }
    asc_adversarial_destroy(ctx, a);
}

static void test_smooth(void **state) {
    (void)state;
    double x[N * TOY_IN];
    for (size_t i = 0; i < N * TOY_IN; i++) x[i] = 2.0 * (double)toy_number(300 + i);
    const double fgsm[N * TOY_IN] = {1.51637992859,   -0.811431670189, -0.783974075317, -1.96386954784,
                                     -0.375015670061, 0.809956407547,  1.61391701698,   -1.34333565235,
                                     -1.50174913406,  -0.217527920008, -0.121868574619, 1.4585870266},
                          bounded[N * TOY_IN] = {1.0,
                                                 -1.0,
                                                 -0.983974075317,
                                                 -1.0,
                                                 -0.575015670061,
                                                 0.609956407547,
                                                 1.0,
                                                 -1.0,
                                                 -1.0,
                                                 -0.417527920008,
                                                 -0.321868574619,
                                                 1.0},
                          pgd[N * TOY_IN] = {1.66637992859,    -0.661431670189, -0.633974075317,
                                             -1.96386954784,   -0.225015670061, 0.959956407547,
                                             1.46391701698,    -1.19333565235,  -1.65174913406,
                                             -0.0675279200077, 0.0281314253807, 1.4585870266},
                          masked[N * TOY_IN] = {1.53764771452,   -0.790163884256, -0.883974075317,
                                                -1.98513733378,  -0.353747884128, 0.770590300514,
                                                1.59264923105,   -1.32206786642,  -1.40174913406,
                                                -0.196260134074, -0.100600788686, 1.41922091956},
                          ce[N * TOY_IN] = {1.66637992859,   -0.661431670189, -0.633974075317, -1.96386954784,
                                            -0.225015670061, 0.959956407547,  1.96391701698,   -1.69333565235,
                                            -1.15174913406,  -0.567527920008, -0.471868574619, 1.6085870266},
                          bounds[2] = {-1, 1}, mask[TOY_IN] = {1, 1, 0, 1, 1, 0.5};
    int64_t class1 = 1, classes[2] = {1, 2};
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, probabilities, &one, ASC_SHAPE(-1, TOY_IN));
    asc_array in = {ASC_ELEM_F64, {2, {N, TOY_IN}}, x}, factors = {ASC_ELEM_F64, {2, {1, TOY_IN}}, mask};
    asc_attr_request q = {.struct_size = sizeof q,
                          .inputs = &in,
                          .n_inputs = 1,
                          .target = {.n_rows = 1, .rank = 1, .index = &class1},
                          .epsilon = 0.1,
                          .radius = 0.25,
                          .step_size = 0.1,
                          .steps = 5};
    asc_attack how = {.struct_size = sizeof how};
    asc_adversarial *a;
    assert_ok(ctx, asc_fgsm(net, &q, &how, &a));
    for (int e = 0; e < N; e++) assert_true(a->after[e] < a->before[e]);
    expect(ctx, ASC_OK, a, 0, fgsm, N * TOY_IN);
    q.targeted = true;
    q.bounds = bounds;
    asc_status st = asc_fgsm(net, &q, &how, &a);
    expect(ctx, st, a, 0, bounded, N * TOY_IN);
    q.targeted = false;
    q.bounds = NULL;
    st = asc_pgd(net, &q, &how, &a);
    expect(ctx, st, a, 0, pgd, N * TOY_IN);
    how.ball = ASC_BALL_L2;
    how.masks = &factors;
    how.n_masks = 1;
    st = asc_pgd(net, &q, &how, &a);
    expect(ctx, st, a, 0, masked, N * TOY_IN);
    /* random starts stay in the ball and in the bounds */
    for (int ball = 0; ball < 2; ball++) {
        how.ball = ball ? ASC_BALL_L2 : ASC_BALL_LINF;
        how.random_start = true;
        for (q.seed = 0; q.seed < 20; q.seed++) {
            assert_ok(ctx, asc_pgd(net, &q, &how, &a));
            for (int e = 0; e < N; e++) {
                double norm = 0.0, most = 0.0;
                for (int i = 0; i < TOY_IN; i++) {
                    double d = a->inputs[0].data[e * TOY_IN + i] - x[e * TOY_IN + i];
                    norm += d * d;
                    most = fmax(most, fabs(d));
                    if (mask[i] == 0.0) assert_true(d == 0.0);
                }
                assert_true((ball ? sqrt(norm) : most) <= 0.25 + 1e-12);
                assert_true(a->after[e] < a->before[e]);
            }
            asc_adversarial_destroy(ctx, a);
        }
    }
    asc_net_close(net);
    net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
    how = (asc_attack){.struct_size = sizeof how, .loss = ASC_LOSS_CROSS_ENTROPY};
    q.target = (asc_target){.n_rows = 2, .rank = 1, .index = classes};
    st = asc_pgd(net, &q, &how, &a);
    expect(ctx, st, a, 0, ce, N * TOY_IN);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* Rows of captum's test_FGSM.py and test_PGD.py. */
static void test_captum_cases(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_adversarial *a;
    asc_attack how = {.struct_size = sizeof how};
    const double x1[4] = {4, -1, 3, 10}, x2[4] = {2, -5, -2, 1}, y[4] = {9, 10, -6, -1};
    const double five[2] = {-5, 5}, m[4] = {1, 0, 1, 0};
    int64_t each[2] = {0, 1}, zero = 0, second = 2, third = 3;
    asc_array in[2] = {{ASC_ELEM_F64, {2, {2, 2}}, x1}, {ASC_ELEM_F64, {2, {2, 2}}, x2}};
    asc_net *net = toy_net(ctx, basic2, &two, ASC_SHAPE(-1, 2));
    asc_attr_request q = {.struct_size = sizeof q,
                          .inputs = in,
                          .n_inputs = 2,
                          .target = {.n_rows = 2, .rank = 1, .index = each},
                          .epsilon = 0.1};
    const double label_1[4] = {3.9, -1, 3, 9.9}, label_2[4] = {2.1, -5, -2, 1.1},
                 l2_1[4] = {3.75, -1, 2.75, 10}, up_1[4] = {4.1, -1, 3, 10.1};
    asc_status st = asc_fgsm(net, &q, &how, &a);
    expect(ctx, st, a, 0, label_1, 4);
    st = asc_fgsm(net, &q, &how, &a);
    expect(ctx, st, a, 1, label_2, 4);
    q.targeted = true;
    st = asc_fgsm(net, &q, &how, &a);
    expect(ctx, st, a, 0, up_1, 4);
    q.targeted = false;
    q.target = (asc_target){.n_rows = 1, .rank = 1, .index = &zero};
    q.radius = 0.25;
    q.step_size = 0.1;
    q.steps = 3;
    how.ball = ASC_BALL_L2;
    st = asc_pgd(net, &q, &how, &a);
    expect(ctx, st, a, 0, l2_1, 4);
    asc_net_close(net);
    net = toy_net(ctx, basic, &one, ASC_SHAPE(-1, 4));
    in[0] = (asc_array){ASC_ELEM_F64, {2, {1, 4}}, y};
    const double l2[4] = {9, 10, -6.2, -1}, clamped[4] = {5, 5, -5, -1};
    q = (asc_attr_request){.struct_size = sizeof q,
                           .inputs = in,
                           .n_inputs = 1,
                           .target = {.n_rows = 1, .rank = 1, .index = &second},
                           .radius = 0.2,
                           .step_size = 0.1,
                           .steps = 3,
                           .targeted = true};
    st = asc_pgd(net, &q, &how, &a);
    expect(ctx, st, a, 0, l2, 4);
    asc_array mask = {ASC_ELEM_F64, {2, {1, 4}}, m};
    how = (asc_attack){.struct_size = sizeof how, .masks = &mask, .n_masks = 1};
    q.epsilon = 0.2;
    q.bounds = five;
    q.target.index = &third;
    st = asc_fgsm(net, &q, &how, &a);
    expect(ctx, st, a, 0, clamped, 4);
    /* where the explained number is 0 the loss is infinite, and the step is taken all the same */
    const double at_zero[4] = {0, 1, 2, 3}, stepped[4] = {-0.2, 1, 2, 3};
    in[0].data = at_zero;
    how = (asc_attack){.struct_size = sizeof how};
    q.targeted = false;
    q.target.index = &zero;
    st = asc_fgsm(net, &q, &how, &a);
    expect(ctx, st, a, 0, stepped, 4);
    q.steps = 0;
    assert_int_equal(asc_pgd(net, &q, &how, &a), ASC_INVALID_ARGUMENT);
    assert_null(a);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_smooth), cmocka_unit_test(test_captum_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
