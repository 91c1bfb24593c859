/* test_rules_lrp_ops.c - the table of relevance rules against every op there is. */
#include "ops/sampling.h"
#include "rules.h"

/* Every op hands finite relevance to its first input alone, or is refused by name. */
static bool may_refuse(const asc_op *op) {
    static const char *const names[] = {"custom", "mod", "atan2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(op->name, names[i]) == 0) return true;
    return false;
}

static void every_op_has_a_rule(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (size_t k = 0; k < ASC_N_OPS; k++) {
        const asc_op *op = asc_ops[k];
        asc_sample s = {0};
        if (!op->sample(0, &s) || s.in_dtype[0] != ASC_DTYPE_F32 || s.n_in == 0) continue;
        if (test_call(ctx, op, &s).dtype != ASC_DTYPE_F32) continue;
        asc_rules rules;
        asc_scope_begin(ctx);
        assert_ok(ctx, asc_rules_init_lrp(ctx, &(asc_rule_options){0}, &rules));
        test_inputs in = test_inputs_draw(&s, k);
        asc_tensor *t[ASC_MAX_IN], *r;
        for (int i = 0; i < s.n_in; i++) t[i] = test_inputs_leaf(ctx, &s, &in, i);
        asc_tensor *y = asc_apply(ctx, op, &s.attrs, t, s.n_in);
        asc_grad_with_rules(ctx, &rules.grad, y, NULL, t, 1, &r);
        double *v = calloc((size_t)in.elems[0] + 1, sizeof *v);
        asc_status st =
            asc_tensor_poisoned(r) ? asc_graph_of(ctx)->error : asc_read_f64(ctx, r, v, (size_t)in.elems[0]);
        for (int64_t i = 0; i < in.elems[0]; i++)
            if (!isfinite(v[i])) fail_msg("%s: relevance %g", op->name, v[i]);
        free(v);
        test_inputs_free(&in);
        asc_status end = asc_scope_end(ctx);
        if (st == ASC_OK) assert_ok(ctx, end);
        if (st != ASC_OK && (st != ASC_UNIMPLEMENTED || !may_refuse(op)))
            fail_msg("%s: %s", op->name, asc_error_message(ctx));
        if (st != ASC_OK) assert_non_null(strstr(asc_error_message(ctx), op->name));
        asc_rules_deinit(&rules);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
