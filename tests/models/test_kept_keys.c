/* test_kept_keys.c - long continuations: stores of keys that grow several times on the way give what the
 * whole text at once gives, and steps with the same room share a program. */
#include "exec.h"
#include "harness.h"
#include "kept_keys.h"
#include "model.h"
#include <math.h>

enum { PROMPT = 3, NEW = 150, VOCAB = 2048 };

typedef struct told {
    double lp[NEW];
    size_t n;
} told;

static bool hear(void *self, int32_t id, double lp) {
    (void)id;
    told *t = self;
    t->lp[t->n++] = lp;
    return true;
}

/* log-probability of the likeliest token, and which it is. */
static double likeliest(const float *x, size_t n, int32_t *id) {
    double sum = 0;
    *id = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[*id]) *id = (int32_t)i;
    for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - (double)x[*id]);
    return -log(sum);
}

/* Rounding differs (kernels for one row and for many), by some 2^-24 of logits up to 30 in each of a few
 * layers; a key at a wrong place changes the first digits. */
static void as_at_once(const char *name, const char *device, const char *mode, size_t programs) {
    asc_ctx *ctx = test_ctx(device, mode);
    asc_model *m;
    char file[128];
    snprintf(file, sizeof file, "goldens/zoo_gguf/%s/model.gguf", name);
    assert_ok(ctx, asc_model_open(ctx, test_data(file), NULL, &m));
    int32_t ids[PROMPT + NEW] = {5, 17, 30};
    size_t n_out, v = (size_t)asc_model_get_info(m).n_vocab;
    told t = {.n = 0};
    asc_generate_options o = {
        .struct_size = sizeof o, .max_tokens = NEW, .ignore_eos = true, .on_token = hear, .self = &t};
    assert_true(v <= VOCAB);
    assert_ok(ctx, asc_generate(m, ids, PROMPT, &o, ids + PROMPT, &n_out));
    assert_int_equal(n_out, NEW);
    if (programs > 0) assert_in_range(asc_exec_stats_of(ctx).cache_misses, 1, programs);
    float *logits = calloc(NEW * v, sizeof *logits);
    assert_ok(ctx, asc_model_logits(m, ids, PROMPT + NEW - 1, NEW, logits));
    for (size_t i = 0; i < NEW; i++) {
        int32_t best;
        const double lp = likeliest(logits + i * v, v, &best);
        if (best != ids[PROMPT + i] || !(fabs(lp - t.lp[i]) <= 1e-4))
            fail_msg("%s, %s %s, token %zu: %d at %.9g, at once %d at %.9g", name, device, mode, i,
                     ids[PROMPT + i], t.lp[i], best, lp);
    }
    free(logits);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Programs: the prompt and stores of 64, 128 and 192 rows. Gemma 2's layers have windows. */
/* Stores are a little larger than needed, in proportion: all of a long text's together stay under five of the
 * last. */
static void rooms_grow_in_proportion(void **state) {
    (void)state;
    int64_t all = 0, room = 0;
    for (int64_t n = 1; n < 100000; n++) {
        assert_true(asc_kept_keys_room(n) > n && asc_kept_keys_room(n) <= n + n / 4 + 64);
        if (n <= room) continue;
        room = asc_kept_keys_room(n);
        all += room;
        assert_true(all <= 5 * room + 1024);
    }
}

static void long_texts(void **state) {
    (void)state;
    static const char *const models[] = {"llama-q4_1", "llama-q8_0", "gemma2-f16", "qwen3-q5_0"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        as_at_once(models[i], "cpu", "deferred", 4);
        as_at_once(models[i], "cpu", "eager", 0);
        as_at_once(models[i], "reference", "compiled", 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rooms_grow_in_proportion),
                                       cmocka_unit_test(long_texts)};
    return cmocka_run_group_tests_name("kept keys", tests, NULL, NULL);
}
