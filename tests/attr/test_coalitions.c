/* test_coalitions.c - values of perturbed prompts: the same bits whatever is run together, shared or cut into
 * passes; and the values of the plain way within its error model. */
#include "coalitions.h"
#include "exec.h"
#include "harness.h"
#include "view.h"
#include <math.h>

enum { N_ROWS = 16, MOST_TOKENS = 64, MOST_VALUES = 8, N_PROMPT = 26 };

static const char *const models[] = {
    "goldens/zoo_gguf/qwen3-q5_0/model.gguf",
    "goldens/zoo_gguf/gemma2-f16/model.gguf",
    "decoders/gemma3.gguf",
    "decoders/gpt2.gguf",
    "decoders/phi3.gguf",
    "decoders/cohere2.gguf",
    "decoders/gptneox.gguf",
    "decoders/mixtral.gguf",
    "decoders/smollm3.gguf",
};
enum { N_MODELS = sizeof models / sizeof *models };

typedef struct setup {
    asc_ctx *ctx;
    asc_model *m;
    asc_request q;
    int32_t ids[N_PROMPT], target[3], versus[2];
    uint8_t present[N_ROWS * N_PROMPT];
} setup;

static uint64_t state = 0x9E3779B97F4A7C15u;
static uint32_t draw(uint32_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static setup open_setup(const char *model, const char *device, const char *mode, asc_baseline baseline) {
    setup s = {.ctx = test_ctx(device, mode)};
    assert_ok(s.ctx, asc_model_open(s.ctx, test_data(model), NULL, &s.m));
    const uint32_t v = (uint32_t)s.m->decoder.cfg.n_vocab;
    state = 7;
    for (int i = 0; i < N_PROMPT; i++) s.ids[i] = (int32_t)draw(v);
    for (int i = 0; i < 3; i++) s.target[i] = (int32_t)draw(v);
    for (int i = 0; i < 2; i++) s.versus[i] = (int32_t)draw(v);
    /* all, none, single ones, and random ones: some of them twice */
    memset(s.present, 1, sizeof s.present);
    memset(s.present + N_PROMPT, 0, N_PROMPT);
    for (int r = 2; r < N_ROWS; r++)
        for (int i = 0; i < N_PROMPT; i++)
            s.present[r * N_PROMPT + i] = r < 7 ? i != 4 * r : r % 2 == 0 ? draw(2) != 0 : i < r;
    memcpy(s.present + 14 * N_PROMPT, s.present + 9 * N_PROMPT, N_PROMPT);
    s.q = (asc_request){.struct_size = sizeof s.q,
                        .features = ASC_FEATURES_TOKEN,
                        .baseline = baseline,
                        .baseline_token = 5,
                        .n_prompt_ids = N_PROMPT,
                        .n_target_ids = 3};
    return s;
}

static void close_setup(setup *s) {
    asc_model_close(s->m);
    test_ctx_end(s->ctx);
}

static asc_job job_of(setup *s) {
    asc_job j;
    s->q.prompt_ids = s->ids;
    s->q.target_ids = s->q.n_target_ids > 0 ? s->target : NULL;
    if (s->q.n_versus_ids > 0) s->q.versus_ids = s->versus;
    assert_ok(s->ctx, asc_job_init(&j, s->m, &s->q));
    assert_int_equal(j.n_groups, N_PROMPT);
    assert_true(asc_job_n_values(&j) <= MOST_VALUES);
    return j;
}

/* All rows together, in passes of so many tokens (0: as the library chooses). */
static void run_all(setup *s, size_t most_tokens, bool alone, double *out, uint64_t *run, uint64_t *plain) {
    asc_job j = job_of(s);
    j.most_tokens = most_tokens;
    j.no_sharing = alone;
    assert_ok(s->ctx, asc_job_coalition_values(&j, s->present, N_ROWS, out));
    *run = j.r->tokens_run;
    *plain = j.r->tokens_plain;
    asc_job_deinit(&j);
}

static void check_bits(setup *s, const char *what) {
    double all[N_ROWS * MOST_VALUES], other[N_ROWS * MOST_VALUES];
    uint64_t run, plain, again, ignored;
    asc_job j = job_of(s);
    const size_t width = asc_job_n_values(&j), bytes = N_ROWS * width * sizeof *all;
    asc_job_deinit(&j);
    run_all(s, 0, false, all, &run, &plain);
    assert_true(run < plain);
    for (int k = 0; k < 3;
         k++) { /* passes of few tokens, with keys and values kept; every prompt by itself */
        run_all(s, k < 2 ? 16 << k : 0, k == 2, other, &again, &ignored);
        if (memcmp(all, other, bytes) != 0) fail_msg("%s: other bits in way %d", what, k);
        if (k < 2) assert_int_equal(run, again);
        assert_int_equal(plain, ignored);
    }
    for (int r = 0; r < N_ROWS; r++) {
        j = job_of(s);
        assert_ok(s->ctx, asc_job_coalition_values(&j, s->present + r * N_PROMPT, 1, other));
        if (memcmp(all + (size_t)r * width, other, width * sizeof *other) != 0)
            fail_msg("%s: row %d has other bits alone: %.17g and %.17g", what, r, all[(size_t)r * width],
                     *other);
        asc_job_deinit(&j);
    }
    assert_true(all[0] > all[width] || all[0] < all[width]); /* the rows do differ */
}

/* The plain way: one prompt a call, from its first token, by other kernels. */
static void check_values(setup *s, const char *what, double factor) {
    double all[N_ROWS * MOST_VALUES], one[MOST_VALUES];
    int32_t ids[MOST_TOKENS], positions[MOST_TOKENS];
    uint64_t ignored;
    asc_job j = job_of(s);
    const size_t width = asc_job_n_values(&j);
    run_all(s, 16, false, all, &ignored, &ignored);
    for (int r = 0; r < N_ROWS; r++) {
        size_t n = asc_job_coalition_ids(&j, s->present + r * N_PROMPT, ids, positions);
        assert_true(n <= asc_job_max_tokens(&j) && n <= MOST_TOKENS);
        assert_ok(s->ctx, asc_job_values_each(&j, ids, 1, n, one));
        for (size_t k = 0; k < width; k++)
            if (!(fabs(one[k] - all[(size_t)r * width + k]) <= factor * asc_job_value_noise(&j)))
                fail_msg("%s: row %d, value %zu: %.9g, plain %.9g (noise %.2g)", what, r, k,
                         all[(size_t)r * width + k], one[k], asc_job_value_noise(&j));
    }
    asc_job_deinit(&j);
}

static void same_bits(void **st) {
    (void)st;
    static const char *const devices[] = {"cpu", "reference"};
    for (int i = 0; i < N_MODELS * 2; i++) {
        for (int b = 0; b < 3; b++) {
            if (i > 1 && b != (i / 2 + i % 2) % 3) continue;
            static const asc_baseline baselines[] = {ASC_BASELINE_REMOVE, ASC_BASELINE_TOKEN,
                                                     ASC_BASELINE_MASK};
            setup s = open_setup(models[i / 2], devices[i % 2], "deferred", baselines[b]);
            char what[128];
            const asc_device *dev = asc_exec_device(s.ctx);
            snprintf(what, sizeof what, "%s on %s, baseline %d", models[i / 2], devices[i % 2], b);
            if (i / 2 % 2 == 1) s.q.n_versus_ids = 2;
            s.q.per_token = i / 2 % 2 == 0;
            if (dev->rows_depend == NULL || !dev->rows_depend(s.ctx)) check_bits(&s, what);
            if (b < 2) check_values(&s, what, i % 2 == 0 ? 1.0 : 16.0);
            close_setup(&s);
        }
    }
}

static void modes_and_outputs(void **st) {
    (void)st;
    static const char *const modes[] = {"eager", "compiled"};
    static const asc_output outputs[] = {ASC_OUTPUT_PROB, ASC_OUTPUT_LOGIT, ASC_OUTPUT_KL};
    for (int k = 0; k < 6; k++) {
        setup s = open_setup(models[k / 3 == 0 ? 0 : 5], "cpu", modes[k % 2], ASC_BASELINE_REMOVE);
        const asc_device *dev = asc_exec_device(s.ctx);
        char what[64];
        s.q.output = outputs[k % 3];
        if (s.q.output == ASC_OUTPUT_KL) s.q.n_target_ids = 0;
        snprintf(what, sizeof what, "%s, output %d", modes[k % 2], k % 3);
        if (!dev->rows_depend(s.ctx)) check_bits(&s, what);
        check_values(&s, what, 1.0);
        close_setup(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(modes_and_outputs)};
    return cmocka_run_group_tests_name("coalitions", tests, NULL, NULL);
}
