/* test_op_probe.c - every op's samples on every device; and that a wrong number, a missing op and a coarse
 * level are seen: the comparison has to be able to fail. */
#include "../harness.h"
#include "ascribe/precision.h"
#include "op_probe.h"
#include "program.h"
#include "view.h"
#include <math.h>

static void test_devices(void **state) {
    static const char *const modes[] = {"eager", "deferred", "compiled"};
    asc_ctx *exact = test_ctx("reference", "deferred");
    asc_op_probe *p;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        asc_ctx *ctx = test_ctx("cpu", modes[i]);
        assert_ok(ctx, asc_probe_ops(ctx, exact, NULL, -1, &p));
        for (size_t k = 0; k < p->n; k++) {
            const asc_op_case *c = &p->cases[k];
            if (c->verdict != ASC_VERDICT_WORKS)
                fail_msg("%s, sample %d: %s: %s", c->op, c->sample, asc_verdict_name(c->verdict), c->message);
            assert_true(c->error <= c->bound && c->program == NULL);
        }
        assert_true(p->n > 400 && p->count[ASC_VERDICT_WORKS] == p->n);
        asc_op_probe_destroy(ctx, p);
        test_ctx_end(ctx);
    }
    asc_ctx *null = test_ctx("null", "deferred");
    assert_ok(null, asc_probe_ops(null, exact, "matmul", -1, &p));
    assert_true(p->count[ASC_VERDICT_WORKS] == p->n && isnan(p->cases[0].error));
    asc_op_probe_destroy(null, p);
    assert_int_equal(asc_probe_ops(null, exact, "matmull", -1, &p), ASC_NOT_FOUND);
    assert_int_equal(asc_probe_ops(null, exact, "matmul", 9999, &p), ASC_NOT_FOUND);
    test_ctx_end(null);
    test_ctx_end(exact);
}

static void test_judge(void **state) {
    const double want[] = {1, -40, 0.5, NAN};
    double got[] = {1, -40, 0.5, NAN};
    asc_op_case c = {.bound = 1e-6};
    (void)state;
    asc_op_judge(&c, got, want, 4);
    assert_true(c.verdict == ASC_VERDICT_WORKS && c.error == 0);
    got[0] = 1 + 30e-6; /* over 40: under the bound */
    asc_op_judge(&c, got, want, 4);
    assert_true(c.verdict == ASC_VERDICT_WORKS && c.error > 7e-7);
    got[0] = 1 + 50e-6;
    asc_op_judge(&c, got, want, 4);
    assert_true(c.verdict == ASC_VERDICT_WRONG && strstr(c.message, "element 0") != NULL);
    got[0] = NAN;
    asc_op_judge(&c, got, want, 4);
    assert_true(c.verdict == ASC_VERDICT_WRONG && isinf(c.error));
}

/* Of one op, the programs are there and can be read back: what a report of a bug needs. */
static void test_programs(void **state) {
    asc_ctx *ctx = test_ctx("cpu", "deferred"), *exact = test_ctx("reference", "deferred");
    asc_op_probe *p;
    (void)state;
    assert_ok(ctx, asc_probe_ops(ctx, exact, "conv", 0, &p));
    assert_int_equal(p->n, 2); /* value and gradient */
    assert_true(!p->cases[0].gradient && p->cases[1].gradient);
    for (size_t i = 0; i < p->n; i++) {
        asc_program program;
        assert_non_null(p->cases[i].program);
        assert_ok(ctx, asc_program_parse(ctx, asc_view_of(p->cases[i].program), &program));
        assert_ok(ctx, asc_program_verify(ctx, &program));
        asc_program_deinit(&program);
    }
    asc_op_probe_destroy(ctx, p);
    test_ctx_end(ctx);
    test_ctx_end(exact);
}

/* Every allocation of one op's probe fails once, in a context that makes products of their pieces. */
static void test_starved(void **state) {
    asc_ctx *exact = test_ctx("reference", "deferred");
    (void)state;
    for (long fail = 1;; fail++) {
        test_alloc t = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &t, .precision = "bf16x6"};
        asc_ctx *ctx = NULL;
        asc_op_probe *p = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        asc_emulate_levels(ctx, true);
        t.fail_at = t.count + fail;
        asc_status st = asc_set_precision_at(ctx, "part", ASC_PRECISION_HIGH);
        if (st == ASC_OK) st = asc_probe_ops(ctx, exact, "conv", 0, &p);
        bool failed = t.count >= t.fail_at;
        t.fail_at = 0;
        if (failed && st != ASC_OK && st != ASC_RESOURCE_EXHAUSTED)
            fail_msg("allocation %ld: %s: %s", fail, asc_status_name(st), asc_error_message(ctx));
        if (!failed) assert_int_equal(st, ASC_OK);
        asc_op_probe_destroy(ctx, p);
        test_ctx_end(ctx);
        assert_int_equal(t.live, 0);
        if (!failed) break;
    }
    test_ctx_end(exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
