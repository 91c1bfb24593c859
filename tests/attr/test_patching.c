/* test_patching.c - patching between two prompts: each value by running with it, and the linear guess of
 * that, against torch in float64; what all of the stream carries is the whole change; contrasts, heads,
 * words, every way to fail. */
#include "prompt_fixture.h"
#include "view.h"

static const int32_t other[FIXTURE_P] = {54, 70, 33, 59, 28, 101, 77, 120};
static const double EXACT = 1e-9; /* both sides in double, a dozen products deep */

static asc_request patch_request(const char *method, const char *layers) {
    asc_request q = fixture_request(method);
    q.corrupted_ids = other;
    q.n_corrupted_ids = FIXTURE_P;
    q.layers = layers;
    return q;
}

static void against_torch(void **state) {
    (void)state;
    static const char *const methods[] = {"activation-patching", "attribution-patching"},
                             *const tags[] = {"activation_patching", "attribution_patching"},
                             *const sites[] = {"attn.out", "mlp.out", "out"};
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(FIXTURE_MODEL), NULL, &m));
    for (int k = 0; k < 2; k++) {
        asc_request q = patch_request(methods[k], "attn.out,mlp.out,out");
        asc_result *r = NULL;
        double want[2];
        char row[64], line[64];
        assert_ok(ctx, asc_explain(m, &q, &r));
        fixture_read("patch_values", want, 2);
        assert_true(fabs(r->value - want[0]) < EXACT && fabs(r->baseline_value - want[1]) < EXACT);
        assert_string_equal(r->baseline, "the other prompt");
        assert_int_equal(r->n_inner, 3 * FIXTURE_L);
        snprintf(line, sizeof line, "%s_embed", tags[k]);
        fixture_scores(line, r, EXACT);
        for (int l = 0; l < FIXTURE_L; l++) {
            for (int s = 0; s < 3; s++) {
                snprintf(row, sizeof row, "blocks.%d.%s", l, sites[s]);
                snprintf(line, sizeof line, "%s_%s_%d", tags[k], sites[s], l);
                fixture_row(r, row, line, EXACT);
            }
        }
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* The stream at all tokens is the other run from there on; heads of one layer are patched one by one, so all
 * of them in a layer are more than one of them; nothing before the first difference; a contrast is the
 * difference. */
static void whole_stream(void **state) {
    (void)state;
    static const char *const models[] = {FIXTURE_MODEL, "goldens/zoo_gguf/qwen3-q5_0/model.gguf",
                                         "goldens/zoo_gguf/gemma2-f16/model.gguf"};
    for (size_t k = 0; k < 6; k++) {
        asc_ctx *ctx = test_ctx(k < 3 ? "reference" : "cpu", k == 3 ? "eager" : k == 4 ? "compiled" : NULL);
        asc_model *m = NULL;
        asc_result *r[3] = {NULL};
        assert_ok(ctx, asc_model_open(ctx, test_data(models[k % 3]), NULL, &m));
        asc_request q = patch_request("activation-patching", "all");
        for (int i = 0; i < 3; i++) { /* the contrast, and its two sides */
            q.target_ids = i < 2 ? fixture_target : fixture_versus;
            q.n_target_ids = i < 2 ? 2 : 1;
            q.versus_ids = i == 0 ? fixture_versus : NULL;
            q.n_versus_ids = i == 0 ? 1 : 0;
            q.memory_bytes = i == 1 ? (size_t)8 << 20 : 0; /* other batches */
            assert_ok(ctx, asc_explain(m, &q, &r[i]));
        }
        const double near = k < 3 ? 1e-10 : 4.0 * r[0]->inner[0].error,
                     change = r[0]->value - r[0]->baseline_value;
        size_t checked = 0;
        for (size_t i = 0; i < r[0]->n_inner; i++) {
            const asc_inner_row *row = &r[0]->inner[i];
            const bool out = strcmp(strrchr(row->name, '.'), ".out") == 0 &&
                             strstr(row->name, "attn") == NULL && strstr(row->name, "mlp") == NULL;
            if (out && !(fabs(row->total - change) <= near))
                fail_msg("model %zu %s: %.12g, the change is %.12g", k % 3, row->name, row->total, change);
            checked += out;
            for (size_t t = 0; t < FIXTURE_P; t++) {
                const size_t at = i * FIXTURE_P + t;
                if (t < 2) assert_true(!(fabs(r[0]->inner_scores[at]) > 0.0));
                const double want = r[1]->inner_scores[at] - r[2]->inner_scores[at];
                if (!(fabs(r[0]->inner_scores[at] - want) <= near))
                    fail_msg("model %zu %s token %zu: %.12g, by parts %.12g", k % 3, row->name, t,
                             r[0]->inner_scores[at], want);
            }
        }
        assert_int_equal(checked, m->info.n_layers);
        for (int i = 0; i < 3; i++) asc_result_destroy(ctx, r[i]);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* One head's part of what attention adds: with every other head's output projection unseen, the guess for
 * heads adds up to that for attn.out where no norm follows the projection: both are sums over the same linear
 * map. */
static void heads_add_up(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(FIXTURE_MODEL), NULL, &m));
    asc_request q = patch_request("attribution-patching", "attn.out,heads");
    assert_ok(ctx, asc_explain(m, &q, &r));
    for (size_t l = 0; l < FIXTURE_L; l++) {
        const size_t first = l * (1 + FIXTURE_H);
        for (size_t t = 0; t < FIXTURE_P; t++) {
            double sum = 0.0;
            for (size_t h = 1; h <= FIXTURE_H; h++) sum += r->inner_scores[(first + h) * FIXTURE_P + t];
            assert_true(fabs(sum - r->inner_scores[first * FIXTURE_P + t]) < 1e-10);
        }
    }
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void refusals(void **state) {
    (void)state;
    static const int32_t bad[FIXTURE_P] = {54, 70, 33, 59, 28, 101, 77, 100000};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(FIXTURE_MODEL), NULL, &m));
    for (int k = 0; k < 2; k++) {
        const char *method = k == 0 ? "activation-patching" : "attribution-patching";
        asc_request q = fixture_request(method);
        assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
        q = patch_request(method, NULL);
        q.n_corrupted_ids = 3;
        assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
        assert_non_null(strstr(asc_error_message(ctx), "3 tokens, the prompt 8"));
        q = patch_request(method, NULL);
        q.corrupted_ids = fixture_prompt;
        assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
        q.corrupted_ids = bad;
        assert_int_equal(asc_explain(m, &q, &r), ASC_OUT_OF_RANGE);
        q = patch_request(method, "nothing");
        assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
        q = patch_request(method, NULL);
        q.memory_bytes = 2000;
        assert_int_equal(asc_explain(m, &q, &r), ASC_RESOURCE_EXHAUSTED);
        q = patch_request(method, NULL);
        q.dry_run = true;
        assert_ok(ctx, asc_explain(m, &q, &r));
        assert_true(r->flops > 0.0);
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* What a dry run counts is what happens. */
static void prices(void **state) {
    (void)state;
    static const char *const methods[] = {"activation-patching", "attribution-patching", "lrp", "deep-lift",
                                          "attention-rollout"};
    for (size_t k = 0; k < 5; k++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_model *m = NULL;
        asc_result *dry = NULL, *r = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(FIXTURE_MODEL), NULL, &m));
        asc_request q = k < 2 ? patch_request(methods[k], "out") : fixture_request(methods[k]);
        q.dry_run = true;
        assert_ok(ctx, asc_explain(m, &q, &dry));
        q.dry_run = false;
        assert_ok(ctx, asc_explain(m, &q, &r));
        /* a patched block counts as a middle one twice over, and its head not at all */
        if (!(fabs(dry->flops - r->flops) <= 0.3 * r->flops))
            fail_msg("%s: %.4g by the dry run, %.4g by the run", methods[k], dry->flops, r->flops);
        asc_result_destroy(ctx, dry);
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        asc_request q = patch_request(k == 0 ? "activation-patching" : "attribution-patching", "all");
        fixture_starve(&q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_torch), cmocka_unit_test(whole_stream),
        cmocka_unit_test(heads_add_up),  cmocka_unit_test(refusals),
        cmocka_unit_test(prices),        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
