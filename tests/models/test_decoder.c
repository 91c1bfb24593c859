/* test_decoder.c - tiny models of every family against float64 numbers of an independent program
 * (tests/data/goldens). */
#include "exec.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include "model.h"
#include "view.h"
#include <math.h>

static const char *const zoo[] = {"llama-q4_1", "llama-q8_0", "qwen3-q5_0", "gemma2-f16"};
enum { N_ZOO = sizeof zoo / sizeof *zoo, MAX_IDS = 512 };

typedef struct golden {
    asc_ctx *ctx;
    asc_model *m;
    asc_json *root;
    char *text;
    double floor; /* largest f32 noise of the file's logits */
} golden;

static golden open_golden(const char *name, const char *device, const char *mode) {
    golden g = {.ctx = test_ctx(device, mode)};
    char file[128];
    size_t n;
    snprintf(file, sizeof file, "goldens/zoo_gguf/%s/model.gguf", name);
    assert_ok(g.ctx, asc_model_open(g.ctx, test_data(file), NULL, &g.m));
    snprintf(file, sizeof file, "goldens/zoo_gguf/%s/case.json", name);
    assert_ok(g.ctx, asc_file_read(g.ctx, test_data(file), 1 << 26, &g.text, &n));
    assert_ok(g.ctx, asc_json_parse(g.ctx, g.text, n, &g.root));
    const asc_json *cases = asc_json_get(g.root, "cases");
    for (size_t i = 0; i < asc_json_len(cases); i++) {
        const asc_json *noise = asc_json_get(asc_json_at(cases, i), "f32_noise");
        const asc_json *a = asc_json_get(noise, "logits"), *b = asc_json_get(noise, "logits_last");
        g.floor = fmax(g.floor, fmax(asc_json_num(a, 0.0), asc_json_num(b, 0.0)));
    }
    assert_true(g.floor > 0.0);
    return g;
}

static void close_golden(golden *g) {
    asc_json_free(g->root);
    asc_free(g->ctx, g->text);
    asc_model_close(g->m);
    test_ctx_end(g->ctx);
}

static size_t ids_of(const asc_json *list, int32_t *out) {
    size_t n = asc_json_len(list);
    assert_true(n > 0 && n <= MAX_IDS);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
}

static void check_logits(golden *g, double tolerance) {
    const asc_json *cases = asc_json_get(g->root, "cases");
    size_t v = (size_t)asc_model_get_info(g->m).n_vocab;
    for (size_t c = 0; c < asc_json_len(cases); c++) {
        const asc_json *k = asc_json_at(cases, c), *e = asc_json_get(k, "expected");
        const asc_json *all = asc_json_get(e, "logits"), *last = asc_json_get(e, "logits_last");
        int32_t ids[MAX_IDS];
        size_t n = ids_of(asc_json_get(k, "input_ids"), ids), rows = all != NULL ? n : 1;
        float *out = calloc(rows * v, sizeof *out);
        assert_ok(g->ctx, asc_model_logits(g->m, ids, n, rows, out));
        for (size_t i = 0; i < rows * v; i++) {
            double want = asc_json_num(
                all != NULL ? asc_json_at(asc_json_at(all, i / v), i % v) : asc_json_at(last, i), NAN);
            if (!(fabs(want - (double)out[i]) <= tolerance))
                fail_msg("case %zu, logit %zu: %.9g, expected %.9g within %g", c, i, (double)out[i], want,
                         tolerance);
        }
        free(out);
    }
}

/* Tolerance: 8 times the f32 noise that the file records for the same computation in another program. */
static void logits_cpu(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ZOO; i++) {
        golden g = open_golden(zoo[i], "cpu", "deferred");
        check_logits(&g, 8.0 * g.floor);
        close_golden(&g);
    }
}

/* f64 arithmetic; what is left is the rounding of the result to f32 (2^-25 of up to 14). */
static void logits_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ZOO; i++) {
        golden g = open_golden(zoo[i], "reference", "deferred");
        check_logits(&g, 6e-7);
        close_golden(&g);
    }
}

static void greedy_ids(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ZOO; i++) {
        golden g = open_golden(zoo[i], "cpu", "deferred");
        const asc_json *cases = asc_json_get(g.root, "cases");
        for (size_t c = 0; c < asc_json_len(cases); c++) {
            const asc_json *want = asc_json_get(asc_json_get(asc_json_at(cases, c), "greedy"), "token_ids");
            if (asc_json_len(want) == 0) continue;
            int32_t ids[MAX_IDS], out[64], expect[MAX_IDS];
            size_t n = ids_of(asc_json_get(asc_json_at(cases, c), "input_ids"), ids),
                   n_want = ids_of(want, expect), n_out;
            asc_generate_options o = {.struct_size = sizeof o, .max_tokens = n_want, .ignore_eos = true};
            assert_ok(g.ctx, asc_generate(g.m, ids, n, &o, out, &n_out));
            assert_int_equal(n_out, n_want);
            assert_memory_equal(out, expect, n_want * sizeof *out);
        }
        close_golden(&g);
    }
}

/* Modes and thread counts give the same bits; expanded weights too. */
static void same_bits(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        int threads;
    } rows[] = {{"deferred", 2}, {"eager", 1}, {"deferred", 1}, {"eager", 2}};
    const int32_t ids[] = {5, 9, 20, 33, 7, 6, 81};
    float first[2048];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        asc_ctx_options o = {.struct_size = sizeof o, .mode = rows[r].mode, .n_threads = rows[r].threads};
        asc_ctx *ctx;
        asc_model *m;
        float out[2048];
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_model_open(ctx, test_data("goldens/zoo_gguf/qwen3-q5_0/model.gguf"), NULL, &m));
        size_t v = (size_t)asc_model_get_info(m).n_vocab;
        assert_true(v <= 2048);
        assert_ok(ctx, asc_model_logits(m, ids, 7, 1, out));
        if (r == 0) memcpy(first, out, v * sizeof *out);
        assert_memory_equal(first, out, v * sizeof *out);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

static void bad_requests(void **state) {
    (void)state;
    golden g = open_golden("llama-q4_1", "cpu", "deferred");
    float out[2048];
    const int32_t bad[] = {1, 99999}, negative[] = {-1};
    assert_int_equal(asc_model_logits(g.m, bad, 2, 1, out), ASC_OUT_OF_RANGE);
    assert_non_null(strstr(asc_error_message(g.ctx), "99999"));
    assert_int_equal(asc_model_logits(g.m, negative, 1, 1, out), ASC_OUT_OF_RANGE);
    assert_int_equal(asc_model_logits(g.m, bad, 0, 1, out), ASC_INVALID_ARGUMENT);
    asc_cancel(g.ctx);
    const int32_t good[] = {1, 2};
    assert_int_equal(asc_model_logits(g.m, good, 2, 1, out), ASC_CANCELLED);
    close_golden(&g);
}

static void sites_are_found(void **state) {
    (void)state;
    golden g = open_golden("llama-q4_1", "null", "deferred");
    char name[96];
    size_t n = 0;
    asc_decoder_site site;
    int64_t layer;
    for (; asc_model_site(g.m, n, name, sizeof name); n++) {
        assert_true(asc_model_find_site(g.m, asc_view_of(name), &site, &layer));
    }
    assert_true(asc_model_find_site(g.m, asc_view_of("blocks.1.mlp.out"), &site, &layer));
    assert_int_equal(site, ASC_SITE_MLP_OUT);
    assert_int_equal(layer, 1);
    assert_false(asc_model_find_site(g.m, asc_view_of("blocks.99.out"), &site, &layer));
    close_golden(&g);
}

/* Every allocation fails once: an error comes back, nothing leaks, and the context still works. */
static void memory_runs_out(void **state) {
    (void)state;
    const int32_t ids[] = {5, 9, 20};
    bool finished = false;
    for (long k = 1; !finished; k += k < 200 ? 1 : 17) {
        test_alloc a = {.fail_at = k};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx;
        asc_model *m = NULL;
        float out[2048];
        asc_status st = asc_ctx_create(&o, &ctx);
        if (st == ASC_OK)
            st = asc_model_open(ctx, test_data("goldens/zoo_gguf/llama-q4_1/model.gguf"), NULL, &m);
        if (st == ASC_OK) st = asc_model_logits(m, ids, 3, 1, out);
        finished = st == ASC_OK && a.count < k;
        assert_true(st == ASC_OK || st == ASC_RESOURCE_EXHAUSTED);
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_reference), cmocka_unit_test(logits_cpu),   cmocka_unit_test(greedy_ids),
        cmocka_unit_test(same_bits),        cmocka_unit_test(bad_requests), cmocka_unit_test(sites_are_found),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("decoder", tests, NULL, NULL);
}
