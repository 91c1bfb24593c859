/* prompt_fixture.h - tests/data/attr/prompt_rules.txt (scripts/refs/prompt_rules_fixtures.py): numbers of
 * torch in float64 for one small llama, one prompt, one answer. */
#ifndef ASC_TEST_PROMPT_FIXTURE_H
#define ASC_TEST_PROMPT_FIXTURE_H

#include "harness.h"
#include "method.h"
#include <math.h>

#define FIXTURE_MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"
enum { FIXTURE_P = 8, FIXTURE_L = 3, FIXTURE_H = 4, FIXTURE_BASELINE = 17 };
static const int32_t fixture_prompt[FIXTURE_P] = {54, 70, 21, 59, 28, 34, 77, 120},
                     fixture_target[] = {193, 31}, fixture_versus[] = {7};

/* The line called `name`: exactly n numbers. */
static inline void fixture_read(const char *name, double *out, size_t n) {
    static char line[16384];
    FILE *f = fopen(test_data("attr/prompt_rules.txt"), "r");
    assert_non_null(f);
    size_t len = strlen(name), got = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, name, len) != 0 || line[len] != ' ') continue;
        char *at = line + len, *end;
        for (; got < n; got++, at = end) {
            out[got] = strtod(at, &end);
            if (end == at) break;
        }
        assert_int_equal(strspn(at, " \n"), strlen(at));
    }
    fclose(f);
    if (got != n) fail_msg("the fixture has %zu numbers of '%s', not %zu", got, name, n);
}

static inline asc_request fixture_request(const char *method) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .method = method,
                         .prompt_ids = fixture_prompt,
                         .n_prompt_ids = FIXTURE_P,
                         .target_ids = fixture_target,
                         .n_target_ids = 2,
                         .features = ASC_FEATURES_TOKEN};
}

/* |have - want| <= tolerance times the largest |want|. */
static inline void fixture_compare(const char *what, const double *have, const double *want, size_t n,
                                   double tolerance) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
    assert_true(largest > 0.0);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(have[i] - want[i]) <= tolerance * largest))
            fail_msg("%s [%zu]: %.12g, by torch %.12g", what, i, have[i], want[i]);
    }
}

/* Scores of a result against a line. */
static inline void fixture_scores(const char *name, const asc_result *r, double tolerance) {
    double want[FIXTURE_P], have[FIXTURE_P];
    assert_int_equal(r->n_features, FIXTURE_P);
    fixture_read(name, want, FIXTURE_P);
    for (size_t i = 0; i < FIXTURE_P; i++) have[i] = r->features[i].score;
    fixture_compare(name, have, want, FIXTURE_P, tolerance);
}

/* A row of the table of layers, by name, against a line. */
static inline void fixture_row(const asc_result *r, const char *row, const char *name, double tolerance) {
    double want[FIXTURE_P];
    fixture_read(name, want, FIXTURE_P);
    for (size_t i = 0; i < r->n_inner; i++) {
        if (strcmp(r->inner[i].name, row) != 0) continue;
        fixture_compare(row, r->inner_scores + i * r->n_features, want, FIXTURE_P, tolerance);
        return;
    }
    fail_msg("no row '%s'", row);
}

/* Every allocation of answering q may fail (beyond the first 40, every 97th): an error
 * or a result, and nothing is left. */
static inline void fixture_starve(const asc_request *q) {
    long total = 0;
    for (long fail_at = 0; fail_at <= total; fail_at += fail_at < 40 ? 1 : 97) {
        test_alloc a = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx = NULL;
        asc_model *m = NULL;
        asc_result *r = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_model_open(ctx, test_data(FIXTURE_MODEL), NULL, &m));
        a.count = 0;
        a.fail_at = fail_at;
        asc_status st = asc_explain(m, q, &r);
        if (fail_at == 0) {
            assert_ok(ctx, st);
            total = a.count;
        } else {
            assert_true(st == ASC_OK || st == ASC_RESOURCE_EXHAUSTED);
        }
        a.fail_at = 0;
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
    }
}

#endif
