/* test_families_variables.c - what users set by variables changes no number: a model of every family under
 * each of them, all of them trapping NaN and indices (docs/debugging.md), gives the bits it gives without. */
#include "families.h"
#include "model.h"
#include "view.h"
#include <math.h>
#include <unistd.h>

static const char *const methods[] = {"saliency", "feature-ablation", "shapley-value-sampling", "lrp"};
enum { N_METHODS = sizeof methods / sizeof *methods };

static const struct {
    const char *name, *value, *mode;
    int threads;
} variables[] = {
    {"ASC_DEBUG", "2", NULL, 1},
    {"ASC_DEBUG", "2", "compiled", 2},
    {"ASC_DEBUG", "4", NULL, 2},
    {"ASC_PASSES", "none", NULL, 1},
    {"ASC_PASSES", "-fuse", NULL, 2},
    {"ASC_PASSES", "-simplify,-common,-dead", NULL, 1},
    {"ASC_PASSES", "-sink-slices,-fold-constants", NULL, 2},
    {"ASC_PASSES", "-checkpoint", NULL, 1},
    {"ASC_FIND_LOOPS", "1", NULL, 1},
    {"ASC_MODE", "eager", "eager", 1},
    {"ASC_THREADS", "200", NULL, 200},
};
enum { N_VARIABLES = sizeof variables / sizeof *variables };

static void silent(void *self, asc_log_level level, const char *message) {
    (void)self;
    (void)level;
    (void)message;
}

static asc_ctx *context(const char *mode, int threads) {
    const asc_ctx_options o = {.struct_size = sizeof o,
                               .mode = mode,
                               .n_threads = threads,
                               .log = silent,
                               .isa = suite_isa(),
                               .seed = 3};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

/* Scores of the four tokens by each method; NaN where the family has no such method. */
static void scores(asc_ctx *ctx, const char *folder, const char *what, double out[N_METHODS][FAMILY_TOKENS]) {
    asc_model *m = NULL;
    asc_status st = asc_model_open(ctx, folder, NULL, &m);
    if (st != ASC_OK) fail_msg("%s, %s: %s", folder, what, asc_error_message(ctx));
    for (size_t i = 0; i < N_METHODS; i++) {
        const asc_request q = family_request(methods[i]);
        asc_result *r = NULL;
        for (size_t k = 0; k < FAMILY_TOKENS; k++) out[i][k] = (double)NAN;
        st = asc_explain(m, &q, &r);
        if (st != ASC_OK && (st != ASC_UNIMPLEMENTED || strcmp(methods[i], "lrp") != 0))
            fail_msg("%s, %s, %s: %s", folder, what, methods[i], asc_error_message(ctx));
        if (st != ASC_OK) asc_error_clear(ctx);
        assert_true(st != ASC_OK || r->n_features == FAMILY_TOKENS);
        for (size_t k = 0; st == ASC_OK && k < FAMILY_TOKENS; k++) out[i][k] = r->features[k].score;
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void compare(const char *folder, size_t v, double plain[N_METHODS][FAMILY_TOKENS]) {
    double got[N_METHODS][FAMILY_TOKENS];
    char what[80], replay[TEST_TMP];
    snprintf(what, sizeof what, "%s=%s", variables[v].name, variables[v].value);
    close(mkstemp(test_tmp_name(replay, "ascribe-replay-XXXXXX")));
    setenv("ASC_REPLAY", replay, 1);
    if (variables[v].threads < 200 && variables[v].mode == NULL)
        setenv(variables[v].name, variables[v].value, 1);
    if (strcmp(variables[v].name, "ASC_DEBUG") == 0) setenv("ASC_DEBUG", variables[v].value, 1);
    asc_ctx *ctx = context(variables[v].mode, variables[v].threads);
    unsetenv(variables[v].name);
    unsetenv("ASC_REPLAY");
    scores(ctx, folder, what, got);
    unlink(replay);
    for (size_t i = 0; i < N_METHODS; i++) {
        if (memcmp(got[i], plain[i], sizeof got[i]) != 0)
            fail_msg("%s, %s, %s: %.17g, not %.17g", folder, what, methods[i], got[i][0], plain[i][0]);
    }
}

/* The trap looks at every family, the other variables at some each. */
static void look(const char *folder, const char *name, size_t k) {
    double plain[N_METHODS][FAMILY_TOKENS];
    (void)name;
    scores(context(NULL, 1), folder, "nothing", plain);
    compare(folder, 0, plain);
    for (size_t v = 1 + k % 4; v < N_VARIABLES; v += 4) compare(folder, v, plain);
}

static void no_variable_changes_a_number(void **state) {
    (void)state;
    each_family(NULL, look);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_variable_changes_a_number)};
    return cmocka_run_group_tests_name("families_variables", tests, NULL, NULL);
}
