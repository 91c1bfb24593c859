/* test_kept_text.c - the embedding that stays with a model (kept_text.h): the bits of a run of its own, made
 * again when another text is asked for or the context computes otherwise. */
#include "ascribe/attr.h"
#include "ascribe/precision.h"
#include "encoder_cases.h"
#include "kept_text.h"
#include <string.h>

enum { MAX = 64 };

/* Asks for a text; whether the model ran. */
static bool ask(asc_model *m, const int32_t *ids, size_t n) {
    double kept[MAX], own[MAX];
    const size_t width = asc_model_embedding_width(m);
    double saved;
    assert_true(width <= MAX);
    assert_ok(m->ctx, asc_model_embed_kept(m, ids, n, kept, &saved));
    assert_ok(m->ctx, asc_model_embed_text(m, ids, n, own));
    assert_memory_equal(kept, own, width * sizeof *own);
    return saved <= 0.0;
}

static void test_kept(void **state) {
    asc_ctx *ctx = *state;
    static const int32_t ids[] = {2, 5, 6, 7, 3}, other[] = {2, 5, 6, 8, 3};
    asc_model *m = encoder_open(ctx, "sentences/max");
    assert_true(ask(m, ids, 5));
    assert_false(ask(m, ids, 5));
    assert_true(ask(m, other, 5));
    assert_false(ask(m, other, 5));
    assert_true(ask(m, other, 4)); /* begins like the last one */
    assert_true(ask(m, ids, 5));
    assert_ok(ctx, asc_set_precision_at(ctx, "blocks.*", ASC_PRECISION_MEDIUM));
    assert_true(ask(m, ids, 5));
    assert_ok(ctx, asc_set_precision_at(ctx, "blocks.*", ASC_PRECISION_HIGHEST));
    assert_true(ask(m, ids, 5));
    asc_emulate_levels(ctx, true);
    assert_true(ask(m, ids, 5));
    asc_emulate_levels(ctx, false);
    const int32_t bad[] = {2, -1, 3};
    double saved;
    double out[MAX];
    assert_int_equal(asc_model_embed_kept(m, bad, 3, out, &saved), ASC_OUT_OF_RANGE);
    asc_error_clear(ctx);
    asc_model_close(m);
}

/* A second explanation has the same numbers, and says the same of itself, though it runs one pass less. */
static void test_explained(void **state) {
    asc_ctx *ctx = *state;
    static const int32_t ids[] = {2, 9, 10, 3};
    asc_model *m = encoder_open(ctx, "sentences/max");
    asc_request q = {.struct_size = sizeof q, .prompt_ids = ids, .n_prompt_ids = 4};
    q.similar_to = (asc_view){"the cat", 7};
    q.method = "saliency";
    asc_result *a, *b;
    assert_ok(ctx, asc_explain(m, &q, &a));
    assert_ok(ctx, asc_explain(m, &q, &b));
    assert_int_equal(b->n_forward, a->n_forward);
    assert_true(memcmp(&a->flops, &b->flops, sizeof a->flops) == 0);
    assert_true(memcmp(&a->value, &b->value, sizeof a->value) == 0);
    assert_memory_equal(a->scores, b->scores, a->n_prompt * sizeof *a->scores);
    asc_result_destroy(ctx, a);
    asc_result_destroy(ctx, b);
    asc_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_explained)};
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
