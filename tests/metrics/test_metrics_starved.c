/* Every allocation of the metrics, attacks, data sets and Lime by callbacks fails once: an error each time,
 * nothing is lost, and what comes out otherwise is the result. */
#include "attr/toy_nets.h"
#include "ascribe/dataset.h"
#include "ascribe/lime.h"
#include "ascribe/metrics.h"
#include "ascribe/robust.h"

static int one = 1;
static int64_t class1 = 1;
static double x[2 * TOY_IN];

static asc_status batch(void *self, size_t i, asc_array *out, bool *end) {
    (void)self;
    *end = i > 0;
    if (!*end) out[0] = (asc_array){ASC_ELEM_F64, {2, {2, TOY_IN}}, x};
    return ASC_OK;
}

static bool sets(void *self, size_t example, size_t sample, asc_lime_inputs in, double *z,
                 double *const *perturbed) {
    (void)self;
    (void)example;
    (void)in;
    (void)perturbed;
    for (size_t i = 0; i < TOY_IN; i++) z[i] = (double)((sample * 7 + i * sample) % 3 == 0);
    return sample < 12;
}

static asc_status call(int what, asc_ctx *ctx, asc_net *net) {
    asc_array in = {ASC_ELEM_F64, {2, {2, TOY_IN}}, x};
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = "feature-ablation",
                          .inputs = &in,
                          .n_inputs = 1,
                          .target = {.n_rows = 1, .rank = 1, .index = &class1},
                          .radius = 1,
                          .step_size = 0.1,
                          .steps = 2};
    asc_metric *m = NULL;
    asc_curves *c = NULL;
    asc_adversarial *a = NULL;
    asc_attribution *r = NULL;
    asc_status st = ASC_OK;
    if (what == 0)
        st = asc_infidelity(net, &q, &(asc_infidelity_request){.struct_size = sizeof(asc_infidelity_request)},
                            &m);
    if (what == 1) {
        st = asc_sensitivity(net, &q,
                             &(asc_sensitivity_request){.struct_size = sizeof(asc_sensitivity_request)}, &m);
    }
    if (what == 2)
        st =
            asc_removal_curves(net, &q, &(asc_curves_request){.struct_size = sizeof(asc_curves_request)}, &c);
    asc_attack how = {.struct_size = sizeof how, .loss = ASC_LOSS_CROSS_ENTROPY, .random_start = true};
    if (what == 3) st = asc_pgd(net, &q, &how, &a);
    asc_dataset data = {.struct_size = sizeof data, .n_values = 1, .batch = batch};
    asc_dataset_request dq = {.struct_size = sizeof dq};
    if (what == 4) st = asc_dataset_attribute(net, &data, &dq, &r);
    asc_lime_def d = {.struct_size = sizeof d, .n_features = TOY_IN, .in_features = true, .perturb = sets};
    if (what == 5) st = asc_lime_base(net, &q, &d, &r);
    assert_true((m != NULL || c != NULL || a != NULL || r != NULL) == (st == ASC_OK));
    asc_metric_destroy(ctx, m);
    asc_curves_destroy(ctx, c);
    asc_adversarial_destroy(ctx, a);
    asc_attribution_destroy(ctx, r);
    return st;
}

static void test_starved(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * TOY_IN; i++) x[i] = (double)toy_number(i);
    for (int what = 0; what < 6; what++) {
        long allocations = 1;
        for (long fail = 0; fail <= allocations; fail += 1 + fail / 30) {
            test_alloc a = {0};
            asc_ctx_options o = {
                .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
            asc_ctx *ctx;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
            long before = a.count;
            a.fail_at = fail > 0 ? before + fail : 0;
            asc_status st = call(what, ctx, net);
            a.fail_at = 0;
            if (fail == 0) allocations = a.count - before;
            if (st != ASC_OK && (fail == 0 || st != ASC_RESOURCE_EXHAUSTED)) {
                fail_msg("call %d, allocation %ld: %s: %s", what, fail, asc_status_name(st),
                         asc_error_message(ctx));
            }
            asc_net_close(net);
            test_ctx_end(ctx);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_starved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
