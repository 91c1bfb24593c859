/* test_coalitions.c - values of perturbed prompts: the same bits whatever is run together, shared or cut into
 * passes; and the values of the plain way within its error model. */
#include "coalitions.h"
#include "exec.h"
#include "file.h"
#include "json.h"
#include "oom_attempt.h"
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
    "decoders/bloom.gguf",
    "decoders/gpt_oss.gguf",
    "hf/falcon-alibi",
    "hf/llama4_text",
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
        run_all(s, k < 2 ? (size_t)16 << k : 0, k == 2, other, &again, &ignored);
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

/* An inner value instead of an answer, at the last token and, where tokens keep their places, at an earlier
 * one (nothing behind it is run). The longrope model turns keys by the whole prompt's length. */
static void neurons(void **st) {
    (void)st;
    static const char *const places[] = {"blocks.1.mlp.out:3", "blocks.0.attn.heads:5", "blocks.1.out:2@11",
                                         "blocks.0.mlp.in:1@-5", "embed:0"};
    static const char *const modes[] = {"deferred", "compiled", "eager"};
    for (int i = 0; i < N_MODELS; i++) {
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            const bool stays = strchr(places[k], '@') != NULL;
            char what[128];
            const char *device = (i + (int)k) % 3 == 0 ? "reference" : "cpu";
            setup s = open_setup(models[i], device, modes[(i + (int)k) % 3],
                                 stays ? ASC_BASELINE_TOKEN : ASC_BASELINE_REMOVE);
            const asc_device *dev = asc_exec_device(s.ctx);
            s.q.n_target_ids = 0;
            s.q.neuron = places[k];
            s.q.method = "feature-ablation";
            snprintf(what, sizeof what, "%s at %s on %s", models[i], places[k], device);
            if (dev->rows_depend == NULL || !dev->rows_depend(s.ctx)) check_bits(&s, what);
            check_values(&s, what, strcmp(device, "cpu") == 0 ? 1.0 : 16.0);
            close_setup(&s);
        }
    }
}

static size_t ids_of(const asc_json *list, int32_t *out) {
    size_t n = asc_json_len(list);
    assert_true(n > 0 && n <= MOST_TOKENS);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
}

/* Rounding of a short model is below 1e-5 in f32, below 1e-12 in f64; rotary frequencies are f32 in torch. */
static void check_masks(const asc_json *fixture, const char *device) {
    asc_ctx *ctx = test_ctx(device, NULL);
    asc_model *m;
    asc_job j;
    int32_t prompt[MOST_TOKENS], target[MOST_TOKENS];
    char name[64];
    const asc_view folder = asc_json_str(asc_json_get(fixture, "model"));
    snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(folder));
    const asc_json *cases = asc_json_get(fixture, "cases");
    const asc_request q = {.struct_size = sizeof q,
                           .features = ASC_FEATURES_TOKEN,
                           .baseline = ASC_BASELINE_MASK,
                           .prompt_ids = prompt,
                           .n_prompt_ids = ids_of(asc_json_get(fixture, "prompt"), prompt),
                           .target_ids = target,
                           .n_target_ids = ids_of(asc_json_get(fixture, "target"), target),
                           .per_token = true};
    assert_ok(ctx, asc_model_open(ctx, test_data(name), NULL, &m));
    assert_ok(ctx, asc_job_init(&j, m, &q));
    assert_true(asc_json_len(cases) >= 5);
    for (size_t c = 0; c < asc_json_len(cases); c++) {
        const asc_json *hidden = asc_json_get(asc_json_at(cases, c), "hidden"),
                       *want = asc_json_get(asc_json_at(cases, c), "values");
        uint8_t present[MOST_TOKENS];
        double got[MOST_VALUES];
        memset(present, 1, sizeof present);
        for (size_t i = 0; i < asc_json_len(hidden); i++)
            present[asc_json_int(asc_json_at(hidden, i), 0)] = 0;
        assert_ok(ctx, asc_job_coalition_values(&j, present, 1, got));
        for (size_t k = 0; k < q.n_target_ids; k++) {
            const double w = asc_json_num(asc_json_at(want, k), NAN);
            if (!(fabs(got[1 + k] - w) <= 2e-5))
                fail_msg("%s on %s, case %zu, token %zu: %.9g, not %.9g", name, device, c, k, got[1 + k], w);
        }
    }
    asc_job_deinit(&j);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Prompts with hidden tokens against an explicit attention mask (scripts/refs/mask_fixtures.py). */
static void mask_as_in_torch(void **st) {
    (void)st;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *text;
    size_t n;
    asc_json *root;
    assert_ok(ctx, asc_file_read(ctx, test_data("mask_values.json"), 1 << 20, &text, &n));
    assert_ok(ctx, asc_json_parse(ctx, text, n, &root));
    for (size_t i = 0; i < asc_json_len(root); i++) {
        check_masks(asc_json_at(root, i), "cpu");
        check_masks(asc_json_at(root, i), "reference");
    }
    asc_json_free(root);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* Small passes with a store, and two answers. */
static asc_status small_passes(asc_ctx *ctx) {
    static const int32_t ids[] = {5, 17, 30, 9, 31, 22, 5, 3, 8, 12, 4, 19}, target[] = {7, 6},
                         versus[] = {3};
    enum { N = sizeof ids / sizeof *ids };
    const asc_request q = {.struct_size = sizeof q,
                           .features = ASC_FEATURES_TOKEN,
                           .prompt_ids = ids,
                           .n_prompt_ids = N,
                           .target_ids = target,
                           .n_target_ids = 2,
                           .versus_ids = versus,
                           .n_versus_ids = 1};
    asc_model *m = NULL;
    asc_job j;
    uint8_t present[3 * N];
    double out[3];
    memset(present, 1, sizeof present);
    present[N + 3] = present[2 * N + 8] = 0;
    asc_status st = asc_model_open(ctx, test_data("decoders/gpt2.gguf"), NULL, &m);
    if (st == ASC_OK) {
        st = asc_job_init(&j, m, &q);
        j.most_tokens = 16;
        if (st == ASC_OK) st = asc_job_coalition_values(&j, present, 3, out);
        if (st == ASC_OK) assert_true(j.r->tokens_run > 16);
        asc_job_deinit(&j);
    }
    asc_model_close(m);
    return st;
}

static bool stop_second(void *self, const char *what, double done, double total) {
    assert_true(strcmp(what, "tokens") != 0 || done <= total);
    return strcmp(what, "tokens") != 0 || ++*(int *)self < 2;
}

static void failures_are_clean(void **st) {
    int seen = 0; /* passes: stopped behind the first */
    (void)st;
    oom_spread(small_passes, 120);
    oom_attempt(small_passes, (asc_ctx_options){.progress = stop_second, .progress_self = &seen}, 0,
                ASC_CANCELLED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(modes_and_outputs),
                                       cmocka_unit_test(neurons), cmocka_unit_test(mask_as_in_torch),
                                       cmocka_unit_test(failures_are_clean)};
    return cmocka_run_group_tests_name("coalitions", tests, NULL, NULL);
}
