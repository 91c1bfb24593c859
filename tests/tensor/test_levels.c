/* test_levels.c - levels of precision by label: which products take them, and their gradients. */
#include "../harness.h"
#include "ascribe/precision.h"
#include "ops.h"

static asc_tensor *square(asc_ctx *ctx, double first) {
    const double v[] = {first, 2, 3, 4};
    return asc_from_f64(ctx, ASC_SHAPE(2, 2), v);
}

static asc_precision level_in(asc_ctx *ctx, const char *label) {
    const char *old = asc_set_label(ctx, label);
    asc_tensor *t = asc_matmul(ctx, square(ctx, 1), square(ctx, 5), false, false);
    asc_set_label(ctx, old);
    return t->level;
}

static void test_labels(void **state) {
    const asc_ctx_options o = {.struct_size = sizeof o, .precision = "high"};
    asc_ctx *ctx = NULL;
    (void)state;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    assert_ok(ctx, asc_set_precision_at(ctx, "blocks.3", ASC_PRECISION_MEDIUM));
    assert_ok(ctx, asc_set_precision_at(ctx, "blocks.3.attn", ASC_PRECISION_HIGHEST));
    assert_ok(ctx, asc_set_precision_at(ctx, "head", ASC_PRECISION_INT8));
    assert_ok(ctx, asc_set_precision_at(ctx, "head", ASC_PRECISION_BF16X6)); /* the last word counts */
    static const struct {
        const char *label;
        asc_precision level;
    } cases[] = {
        {NULL, ASC_PRECISION_HIGH},
        {"blocks.2.attn", ASC_PRECISION_HIGH},
        {"blocks.3", ASC_PRECISION_MEDIUM},
        {"blocks.3.mlp", ASC_PRECISION_MEDIUM},
        {"blocks.30.mlp", ASC_PRECISION_HIGH},
        {"blocks.3.attn", ASC_PRECISION_HIGHEST},
        {"blocks.3.attn.out", ASC_PRECISION_HIGHEST},
        {"blocks.3.attn2", ASC_PRECISION_MEDIUM},
        {"head", ASC_PRECISION_BF16X6},
        {"hea", ASC_PRECISION_HIGH},
    };
    asc_scope_begin(ctx);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_precision is = level_in(ctx, cases[i].label);
        if (is != cases[i].level)
            fail_msg("%s: %s", cases[i].label != NULL ? cases[i].label : "-", asc_precision_name(is));
    }
    assert_ok(ctx, asc_scope_end(ctx));
    const char *site;
    asc_precision level;
    bool used;
    assert_true(asc_precision_at(ctx, 0, &site, &level, &used) && strcmp(site, "blocks.3.attn") == 0 && used);
    assert_true(asc_precision_at(ctx, 2, &site, &level, &used) && level == ASC_PRECISION_BF16X6);
    assert_false(asc_precision_at(ctx, 3, &site, &level, &used));
    assert_true(asc_ctx_roundoff(ctx) == 0x1p-8); /* of the coarsest */
    assert_int_equal(asc_set_precision_at(ctx, "", ASC_PRECISION_HIGH), ASC_INVALID_ARGUMENT);
    test_ctx_end(ctx);
}

/* Products of a backward pass have the level of the product they belong to, not that of where they are
 * recorded. */
static void test_gradients(void **state) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    (void)state;
    assert_ok(ctx, asc_set_precision_at(ctx, "inner", ASC_PRECISION_MEDIUM));
    asc_scope_begin(ctx);
    asc_tensor *x = square(ctx, 1), *g = NULL;
    asc_set_label(ctx, "inner.product");
    asc_tensor *y = asc_matmul(ctx, x, square(ctx, 5), false, false);
    asc_set_label(ctx, NULL);
    asc_tensor *z = asc_matmul(ctx, y, square(ctx, 7), false, false);
    asc_grad(ctx, z, z, &x, 1, &g);
    int medium = 0, highest = 0;
    for (asc_tensor *t = g; t->op != NULL && t->op->fuse == ASC_FUSE_GEMM; t = t->in[0]) {
        medium += t->level == ASC_PRECISION_MEDIUM;
        highest += t->level == ASC_PRECISION_HIGHEST;
        if (t->in[0]->op == NULL) break;
    }
    assert_int_equal(g->level, ASC_PRECISION_MEDIUM);
    assert_true(medium >= 1 && highest >= 1);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

static void test_int8_is_refused(void **state) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    (void)state;
    assert_ok(ctx, asc_precision_check(ctx));
    assert_ok(ctx, asc_set_precision_at(ctx, "head", ASC_PRECISION_INT8));
    assert_int_equal(asc_precision_check(ctx), ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_hint(ctx), "--force-int8"));
    asc_allow_int8(ctx, true);
    assert_ok(ctx, asc_precision_check(ctx));
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_int8_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
