/* test_embed_texts.c - many texts at once against one at a time, on encoders with learned, rotary, windowed
 * and relative positions; against figures of transformers (tests/data/encoders); errors, and a stop. */
#include "ascribe/model.h"
#include "encoder_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 97, MAX_TOKENS = 30, WIDTH = 64 };

static asc_model *open_model(asc_ctx *ctx, const char *name) {
    asc_model *m = encoder_open(ctx, name);
    assert_in_range(asc_model_embedding_width(m), 1, WIDTH);
    return m;
}

typedef struct many {
    int32_t ids[N][MAX_TOKENS];
    asc_id_text v[N];
    double out[N * WIDTH];
} many;

/* Lengths 1 to MAX_TOKENS in no order, some of them often. */
static void fill(many *s, const asc_model *m) {
    uint32_t r = 12345;
    const int64_t n_vocab = asc_model_get_info(m).n_vocab, context = asc_model_get_info(m).context_length;
    const size_t most = context < MAX_TOKENS ? (size_t)context : MAX_TOKENS;
    for (size_t i = 0; i < N; i++) {
        r = r * 1664525u + 1013904223u;
        const size_t n = i % 3 == 0 ? 7 : 1 + (r >> 8) % most;
        for (size_t k = 0; k < n; k++) {
            r = r * 1664525u + 1013904223u;
            s->ids[i][k] = (int32_t)((r >> 8) % (uint32_t)n_vocab);
        }
        s->v[i] = (asc_id_text){.ids = s->ids[i], .n = n};
    }
}

/* Both are within some tens of roundings of f32 (6e-8 each) of the same exact vector of length 1; on the
 * reference device every sum is of the same numbers in the same order. */
static void against_single(void **state) {
    static const char *const names[] = {"modernbert", "xlm-roberta", "electra", "mpnet"};
    static many s;
    static double again[N * WIDTH];
    asc_ctx *ctx = *state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        double one[WIDTH], top = 0.0, spread = 0.0;
        asc_model *m = open_model(ctx, names[k]);
        const size_t width = asc_model_embedding_width(m);
        fill(&s, m);
        if (asc_model_embed_texts(m, s.v, N, s.out) != ASC_OK)
            fail_msg("%s: %s", names[k], asc_error_message(ctx));
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(asc_model_embed_text(m, s.v[i].ids, s.v[i].n, one), ASC_OK);
            for (size_t j = 0; j < width; j++) {
                top = fmax(top, fabs(one[j] - s.out[i * width + j]));
                spread = fmax(spread, fabs(one[j] - s.out[(i + 1) % N * width + j]));
            }
        }
        if (!(top <= 2e-6)) fail_msg("%s: %.3g from one at a time", names[k], top);
        assert_true(spread > 1e-3); /* another text's row would be seen */
        assert_int_equal(asc_model_embed_texts(m, s.v, N, again), ASC_OK);
        assert_memory_equal(again, s.out, N * width * sizeof *again);
        asc_model_close(m);
    }
}

static void against_transformers(void **state) {
    asc_ctx *ctx = *state;
    static int32_t ids[256];
    static double out[5 * WIDTH];
    asc_json *root = encoder_case(ctx, "mpnet");
    asc_model *m = open_model(ctx, "mpnet");
    const size_t width = asc_model_embedding_width(m);
    const asc_json *c = asc_json_at(asc_json_get(root, "cases"), 0), *want = asc_json_get(c, "embedding");
    const size_t n = encoder_ids(asc_json_get(c, "input_ids"), ids);
    assert_in_range(n, 2, 256);
    while (asc_json_typeof(asc_json_at(want, 0)) == ASC_JSON_ARRAY) want = asc_json_at(want, 0);
    assert_int_equal(asc_json_len(want), width);
    const asc_id_text v[] = {
        {.ids = ids, .n = n - 1}, {.ids = ids, .n = n}, {.ids = ids, .n = 1}, {ids, NULL, n}, {ids, NULL, n}};
    assert_int_equal(asc_model_embed_texts(m, v, 5, out), ASC_OK);
    for (size_t row = 1; row < 5; row++) {
        for (size_t j = 0; row != 2 && j < width; j++) {
            const double w = asc_json_num(asc_json_at(want, j), NAN), g = out[row * width + j];
            if (!(fabs(w - g) <= 2e-5)) fail_msg("row %zu, %zu: %.9g, expected %.9g", row, j, g, w);
        }
    }
    asc_json_free(root);
    asc_model_close(m);
}

/* Token types belong to their text, also beside one without. */
static void types(void **state) {
    static const int32_t ids[] = {3, 4, 5, 6}, zeros[4] = {0}, ones[] = {0, 0, 1, 1};
    static double out[3 * WIDTH];
    asc_model *m = open_model(*state, "electra");
    const size_t width = asc_model_embedding_width(m);
    const asc_id_text v[] = {{ids, ones, 4}, {ids, NULL, 4}, {ids, zeros, 4}};
    double apart = 0.0;
    assert_int_equal(asc_model_embed_texts(m, v, 3, out), ASC_OK);
    assert_memory_equal(out + width, out + 2 * width, width * sizeof *out);
    for (size_t j = 0; j < width; j++) apart = fmax(apart, fabs(out[j] - out[width + j]));
    assert_true(apart > 1e-4);
    asc_model_close(m);
}

static bool stop_later(void *self, const char *what, double done, double total) {
    int *calls = self;
    (void)what;
    assert_true(done <= total);
    return ++*calls != 3;
}

static void errors(void **state) {
    static const int32_t good[] = {1, 2, 3}, bad[] = {1, 1 << 30}, wrong[] = {0, 99, 0};
    static const asc_id_text rows[][2] = {{{good, NULL, 3}, {bad, NULL, 2}},
                                          {{good, NULL, 3}, {good, NULL, 0}},
                                          {{good, NULL, 3}, {good, wrong, 3}}};
    static many s;
    (void)state;
    int calls = 0;
    asc_ctx_options o = {.struct_size = sizeof o, .progress = stop_later, .progress_self = &calls};
    asc_ctx *ctx;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    asc_model *m = open_model(ctx, "electra");
    for (size_t i = 0; i < 3; i++) {
        assert_int_not_equal(asc_model_embed_texts(m, rows[i], 2, s.out), ASC_OK);
        if (strstr(asc_error_message(ctx), "index 1") == NULL) fail_msg("%s", asc_error_message(ctx));
    }
    assert_int_equal(asc_model_embed_texts(m, NULL, 0, NULL), ASC_OK);
    fill(&s, m);
    calls = 0;
    assert_int_equal(asc_model_embed_texts(m, s.v, N, s.out), ASC_CANCELLED);
    assert_int_equal(calls, 3);
    asc_cancel_reset(ctx);
    assert_int_equal(asc_model_embed_texts(m, s.v, N, s.out), ASC_OK);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Every allocation refused once: an error, nothing lost. */
static void memory_runs_out(void **state) {
    static many s;
    bool finished = false;
    (void)state;
    for (long k = 1; !finished; k += k < 100 ? 7 : 41) {
        test_alloc a = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        asc_model *m = open_model(ctx, "electra");
        fill(&s, m);
        a.count = 0;
        a.fail_at = k;
        const asc_status st = asc_model_embed_texts(m, s.v, 12, s.out);
        finished = st == ASC_OK && a.count < k;
        if (st != ASC_OK) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_single), cmocka_unit_test(against_transformers), cmocka_unit_test(types),
        cmocka_unit_test(errors),         cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
