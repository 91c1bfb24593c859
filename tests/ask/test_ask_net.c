/* test_ask_net.c - every method through a question: the bits of asc_attribute, whatever way the arrays come.
 */
#include "../harness.h"
#include "ascribe/builtin.h"
#include "asked_net.h"

static void compare(asc_ctx *ctx, asc_net *net, const asc_attr_request *q, asked_form form,
                    const char *what) {
    asc_attribution *r = NULL;
    char words[200];
    asc_status st = asc_attribute(net, q, &r);
    asked_net *a = asked_make(net, q, form);
    assert_non_null(a);
    asc_status asked = asked_ask(a);
    if (asked != st)
        fail_msg("%s: %s, %s: %s\n%s", what, asc_status_name(st), asc_status_name(asked),
                 asc_error_message(ctx), asked_json(a).ptr);
    if (st == ASC_OK && asked_difference(r, asked_result(a), words) != NULL)
        fail_msg("%s: %s\n%s", what, words, asked_json(a).ptr);
    asked_free(a);
    asc_attribution_destroy(ctx, r);
}

/* All methods on the three built-in nets, at the input and at a site, arrays in the four ways. */
static void every_method(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    size_t done = 0;
    for (size_t n = 0; asc_builtin_name(n) != NULL; n++) {
        asc_builtin *b = NULL;
        assert_ok(ctx, asc_builtin_open(ctx, asc_builtin_name(n), &b));
        for (size_t m = 0; asc_method_at(m) != NULL; m++) {
            for (int at_site = 0; at_site < 2; at_site++) {
                asc_attr_request q;
                char what[100];
                snprintf(what, sizeof what, "%s of %s at %s", asc_method_at(m)->name, asc_builtin_name(n),
                         at_site ? "a site" : "the input");
                if (asc_builtin_request(b, asc_method_at(m)->name, at_site, &q) != ASC_OK) continue;
                compare(ctx, asc_builtin_net(b), &q, (asked_form)(done++ % ASKED_N_FORMS), what);
            }
        }
        asc_builtin_close(b);
    }
    asc_error_clear(ctx);
    assert_true(done > 90);
    test_ctx_end(ctx);
}

/* Every field of a request on one method that can be asked with it, in all four ways. */
static void every_field(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_builtin *b = NULL;
    assert_ok(ctx, asc_builtin_open(ctx, "cnn", &b));
    for (int form = 0; form < ASKED_N_FORMS; form++) {
        asc_attr_request q;
        const double weights[3] = {0.5, -1.25, 2};
        const int64_t versus[1] = {2}, window[3] = {1, 2, 3}, stride[3] = {1, 1, 2};
        assert_ok(ctx, asc_builtin_request(b, "integrated-gradients", false, &q));
        q.target.versus = versus;
        q.target.transform = ASC_TRANSFORM_LOG_SOFTMAX;
        q.no_multiply = true;
        q.steps = 7;
        q.rows_per_pass = 3;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "versus");
        assert_ok(ctx, asc_builtin_request(b, "input-x-gradient", false, &q));
        q.target = (asc_target){.weights = weights, .weight_rows = 1, .transform = ASC_TRANSFORM_SOFTMAX};
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "weights");
        q.target = (asc_target){0};
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "the whole row");
        assert_ok(ctx, asc_builtin_request(b, "integrated-gradients", false, &q));
        q.rule = "riemann-trapezoid"; /* Captum's weights add up to (n - 1) / n */
        q.steps = 3;
        q.compat_captum = true;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "Captum's numbers");
        assert_ok(ctx, asc_builtin_request(b, "occlusion", false, &q));
        q.window = window;
        q.stride = stride;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "window");
        assert_ok(ctx, asc_builtin_request(b, "lime", false, &q));
        q.kernel_width = 0.5;
        q.distance = "euclidean";
        q.surrogate = "ridge";
        q.penalty = 0.125;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "lime");
        const asc_rule_choice rules[] = {{.rule = "z-plus", .op = "conv", .last_layer = 1},
                                         {.rule = "alpha-beta", .a = 2, .b = 1, .no_bias = true},
                                         {.rule = "epsilon", .a = 0.25}};
        assert_ok(ctx, asc_builtin_request(b, "lrp", false, &q));
        q.rules = rules;
        q.n_rules = 3;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "rules");
        assert_ok(ctx, asc_builtin_request(b, "noise-tunnel", false, &q));
        q.noise = "vargrad";
        q.base = "saliency";
        q.norm = "signed";
        q.draw_baselines = true;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "noise");
        assert_ok(ctx, asc_builtin_request(b, "grad-cam", true, &q));
        q.relu = q.keep_channels = true;
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "grad-cam");
        assert_ok(ctx, asc_builtin_request(b, "guided-grad-cam", true, &q));
        q.resize = "bilinear";
        compare(ctx, asc_builtin_net(b), &q, (asked_form)form, "guided-grad-cam");
    }
    asc_builtin_close(b);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_method), cmocka_unit_test(every_field)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
