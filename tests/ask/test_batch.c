/* test_batch.c - files of prompts from C: a model that holds values is the one that every line is about;
 * prices do not count what others measured. */
#include "ascribe/ask.h"
#include "ascribe/batch.h"
#include "ascribe/ops.h"
#include "harness.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINES = 24 };

/* Prompts and results in a folder of their own. */
typedef struct files {
    char dir[TEST_TMP], prompts[TEST_PATH], results[TEST_PATH];
} files;

static int open_files(void **state) {
    files *f = calloc(1, sizeof *f);
    assert_non_null(mkdtemp(test_tmp_name(f->dir, "asc_batch_XXXXXX")));
    snprintf(f->prompts, sizeof f->prompts, "%s/prompts.jsonl", f->dir);
    snprintf(f->results, sizeof f->results, "%s/results.jsonl", f->dir);
    FILE *out = fopen(f->prompts, "w");
    assert_non_null(out);
    for (int i = 0; i < LINES; i++)
        fprintf(out, "{\"ids\": [%d, 14, 11, %d], \"target_ids\": [3]}\n", 5 + i % 7, 6 + i % 12);
    fclose(out);
    *state = f;
    return 0;
}

static int close_files(void **state) {
    files *f = *state;
    remove(f->prompts);
    remove(f->results);
    rmdir(f->dir);
    free(f);
    return 0;
}

static asc_ctx *context(int threads) {
    const asc_ctx_options o = {.struct_size = sizeof o, .n_threads = threads};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

static asc_tensor *square(void *self, asc_ctx *ctx, asc_tensor *rows) {
    (void)self;
    return asc_mul(ctx, rows, rows);
}

static asc_status run(asc_model *m, const files *f) {
    asc_request q = {.struct_size = sizeof q, .method = "input-x-gradient", .features = ASC_FEATURES_TOKEN};
    asc_batch b = {.struct_size = sizeof b, .prompts = f->prompts, .results = f->results, .request = &q};
    asc_batch_counts n;
    return asc_batch_run(m, &b, &n);
}

/* value of each line of the results */
static void read_values(asc_ctx *ctx, const files *f, double out[LINES]) {
    static char line[1 << 20];
    FILE *in = fopen(f->results, "r");
    assert_non_null(in);
    for (int i = 0; i < LINES; i++) {
        asc_json *j = NULL;
        assert_non_null(fgets(line, sizeof line, in));
        assert_ok(ctx, asc_json_parse(ctx, line, strlen(line), &j));
        out[i] = asc_json_num(asc_json_get(asc_json_get(j, "result"), "value"), 1e9);
        asc_json_free(j);
    }
    fclose(in);
}

static void held_values_are_every_lines(void **state) {
    const files *f = *state;
    double held[LINES], one[LINES], plain[LINES];
    const asc_site_patch patches[] = {{.site = "blocks.0.out", .change = square},
                                      {.site = "embed", .change = square}};
    for (int threads = 1; threads <= 4; threads += 3) {
        asc_ctx *ctx = context(threads);
        asc_model *m;
        assert_ok(ctx, asc_model_open(ctx, test_data("hf/llama-llama3"), NULL, &m));
        assert_ok(ctx, run(m, f));
        read_values(ctx, f, plain);
        assert_ok(ctx, asc_model_hold(m, patches, 1));
        assert_int_equal(run(m, f), ASC_FAILED_PRECONDITION); /* that file is of the plain model */
        asc_error_clear(ctx);
        remove(f->results);
        assert_ok(ctx, run(m, f));
        read_values(ctx, f, threads == 1 ? one : held);
        assert_ok(ctx, asc_model_hold(m, patches + 1, 1));
        assert_int_equal(run(m, f), ASC_FAILED_PRECONDITION); /* and now of another site's values */
        asc_error_clear(ctx);
        remove(f->results);
        asc_model_close(m);
        asc_ctx_destroy(ctx);
    }
    assert_memory_equal(one, held, sizeof one);
    for (int i = 0; i < LINES; i++) assert_true(one[i] < plain[i] || one[i] > plain[i]);
}

/* What a first price measured is not in the peak of later ones. */
static void measuring_is_no_jobs_peak(void **state) {
    (void)state;
    static const int32_t ids[] = {5, 14, 11, 9};
    asc_ctx *ctx = context(1);
    asc_model *m;
    asc_result *r;
    size_t peaks[4];
    assert_ok(ctx, asc_model_open(ctx, test_data("hf/llama-llama3"), NULL, &m));
    for (size_t i = 0; i < 4; i++) {
        const asc_request q = {.struct_size = sizeof q,
                               .prompt_ids = ids,
                               .n_prompt_ids = 4,
                               .method = "saliency",
                               .features = ASC_FEATURES_TOKEN,
                               .dry_run = i != 2};
        assert_ok(ctx, asc_explain(m, &q, &r));
        peaks[i] = q.dry_run ? r->predicted_peak_bytes : r->peak_bytes;
        asc_result_destroy(ctx, r);
        if (i == 0) assert_true(asc_memory(ctx).peak_total > 4 * peaks[0]); /* else nothing is tested */
    }
    assert_true(peaks[1] < 2 * peaks[0]); /* programs that the first one made are there */
    assert_true(peaks[3] < 2 * peaks[0]);
    asc_model_close(m);
    asc_ctx_destroy(ctx);
}

/* One allocation fails (0 = none) while a file is priced, run and summed up; how many there were. A run that
 * is cut off by it goes on afterwards, and what it leaves is whole. */
static long starved(const files *f, long fail_at) {
    test_alloc a = {.fail_at = fail_at};
    const asc_ctx_options o = {
        .struct_size = sizeof o, .n_threads = 1, .alloc = test_alloc_fn, .alloc_self = &a};
    const asc_request q = {.struct_size = sizeof q, .method = "saliency", .features = ASC_FEATURES_TOKEN};
    const asc_batch b = {
        .struct_size = sizeof b, .prompts = f->prompts, .results = f->results, .request = &q};
    asc_ctx *ctx = NULL;
    asc_model *m = NULL;
    asc_text *t = NULL, *j = NULL;
    asc_batch_cost cost;
    asc_batch_counts n;
    if (asc_ctx_create(&o, &ctx) == ASC_OK) {
        asc_status st = asc_model_open(ctx, test_data("hf/llama-llama3"), NULL, &m);
        if (st == ASC_OK) st = asc_text_create(ctx, &t);
        if (st == ASC_OK) st = asc_text_create(ctx, &j);
        if (st == ASC_OK) st = asc_batch_price(m, &b, &cost, t, j);
        if (st == ASC_OK && cost.failed > 1 + (fail_at > 0))
            fail_msg("%ld: %zu lines fail", fail_at, cost.failed);
        if (st == ASC_OK) {
            st = asc_batch_run(m, &b, &n);
            const bool full = st == ASC_OK;
            if (!full) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
            asc_status again = asc_batch_run(m, &b, &n);
            if (full && again == ASC_RESOURCE_EXHAUSTED)
                again = asc_batch_run(m, &b, &n); /* that was the one */
            if (again != ASC_OK) fail_msg("allocation %ld: goes not on: %s", fail_at, asc_error_message(ctx));
            assert_int_equal(n.lines, 4);
            assert_int_equal(n.skipped + n.done, 4);
            if (full) assert_int_equal(n.skipped, 4);
            assert_in_range(n.failed, 1, 1 + (fail_at > 0));
            if (t != NULL) asc_text_clear(t);
            st = asc_batch_summary(ctx, f->results, 3, true, t);
        }
        if (st != ASC_OK && (fail_at == 0 || st != ASC_RESOURCE_EXHAUSTED))
            fail_msg("allocation %ld: %s: %s", fail_at, asc_status_name(st), asc_error_message(ctx));
        asc_text_destroy(t);
        asc_text_destroy(j);
        asc_model_close(m);
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
        if (ctx->mem.live_allocs != 0)
            fail_msg("allocation %ld: %zu blocks stay", fail_at, ctx->mem.live_allocs);
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld: %ld blocks leak", fail_at, a.live);
    remove(f->results);
    return a.count;
}

static void memory_runs_out(void **state) {
    const files *f = *state;
    FILE *out = fopen(f->prompts, "w");
    assert_non_null(out);
    fputs("{\"ids\": [5, 14, 11], \"target_ids\": [3]}\n{\"ids\": [4, 14], \"target_ids\": [3], "
          "\"method\": \"feature-ablation\"}\n{\"ids\": [999999]}\n{\"ids\": [5, 6, 7], \"target_ids\": "
          "[2], \"id\": \"last\"}\n",
          out);
    fclose(out);
    const long n = starved(f, 0), step = getenv("ASC_OOM_ALL") != NULL ? 1 : n / 100 + 1;
    if (step == 1) printf("%ld allocations\n", n);
    for (long k = 1; k <= n; k += step) starved(f, k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(held_values_are_every_lines, open_files, close_files),
        cmocka_unit_test(measuring_is_no_jobs_peak),
        cmocka_unit_test_setup_teardown(memory_runs_out, open_files, close_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
