/* test_kept_prompt.c - prompts that begin like the last one are run from where they differ: the bits are
 * those of a model that was asked nothing before, whatever it was asked before, and the numbers those of a
 * plain call. */
#include "harness.h"
#include "kept_prompt.h"
#include <math.h>

enum { NEW = 6, MOST = 90 };

typedef struct told {
    double lp[NEW];
    int32_t id[NEW];
    size_t n;
} told;

static bool hear(void *self, int32_t id, double lp) {
    told *t = self;
    t->id[t->n] = id;
    t->lp[t->n++] = lp;
    return true;
}

static asc_status ask(asc_model *m, const int32_t *ids, size_t n, bool keep, told *t) {
    int32_t out[NEW];
    size_t n_out;
    const asc_generate_options o = {.struct_size = sizeof o,
                                    .max_tokens = NEW,
                                    .ignore_eos = true,
                                    .on_token = hear,
                                    .self = t,
                                    .keep_prompt = keep};
    t->n = 0;
    return asc_generate(m, ids, n, &o, out, &n_out);
}

static asc_model *open(asc_ctx *ctx, const char *name) {
    asc_model *m;
    char file[128];
    snprintf(file, sizeof file, "goldens/zoo_gguf/%s/model.gguf", name);
    assert_ok(ctx, asc_model_open(ctx, test_data(file), NULL, &m));
    return m;
}

/* Lengths of prompts, and how many tokens each has in common with the sequence 3, 8, 13, ...; then it goes on
 * with others. Windows and stores of 64 rows lie in between. */
static const struct {
    size_t n, same;
} prompts[] = {{12, 12}, {20, 12}, {20, 20}, {20, 20}, {7, 7},   {2, 1},
               {1, 1},   {80, 1},  {90, 78}, {64, 64}, {65, 64}, {30, 0}};
enum { N_PROMPTS = sizeof prompts / sizeof *prompts };

static size_t prompt(size_t k, int32_t *ids) {
    for (size_t i = 0; i < prompts[k].n; i++)
        ids[i] = (int32_t)(i < prompts[k].same ? 3 + 5 * (i % 40) : 4 + 7 * (i % 20) + k);
    return prompts[k].n;
}

/* Kept keys were made with other numbers of rows; the tolerance is that of a plain run below. */
static bool same(double a, double b) { return fabs(a - b) <= suite_rows_differ(1e-4); }

static void history(const char *name, const char *device, const char *mode) {
    asc_ctx *ctx = test_ctx(device, mode);
    asc_model *used = open(ctx, name);
    for (size_t k = 0; k < N_PROMPTS; k++) {
        int32_t ids[MOST];
        const size_t n = prompt(k, ids);
        told a, b, plain;
        asc_model *fresh = open(ctx, name);
        assert_ok(ctx, ask(used, ids, n, true, &a));
        assert_ok(ctx, ask(fresh, ids, n, true, &b));
        assert_ok(ctx, ask(fresh, ids, n, false, &plain));
        assert_non_null(used->kept);
        assert_int_equal(used->kept->keys.n, n);
        for (size_t i = 0; i < NEW; i++) {
            if (a.id[i] != b.id[i] || !same(a.lp[i], b.lp[i]))
                fail_msg("%s, %s %s, prompt %zu, token %zu: %d %.17g, fresh %d %.17g", name, device, mode, k,
                         i, a.id[i], a.lp[i], b.id[i], b.lp[i]);
            /* 2^-24 of logits up to 30 in each of a few layers */
            if (a.id[i] != plain.id[i] || !(fabs(a.lp[i] - plain.lp[i]) <= 1e-4))
                fail_msg("%s, prompt %zu, token %zu: %.9g, plain %.9g", name, k, i, a.lp[i], plain.lp[i]);
        }
        asc_model_close(fresh);
    }
    asc_model_close(used);
    test_ctx_end(ctx);
}

static void same_bits(void **state) {
    (void)state;
    static const char *const models[] = {"llama-q4_1", "gemma2-f16", "qwen3-q5_0"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        history(models[i], "cpu", "deferred");
        history(models[i], "reference", "deferred");
    }
    history("llama-q8_0", "cpu", "eager");
    history("llama-q8_0", "cpu", "compiled");
}

/* Keys of longrope are turned by the text's whole length: those of one side of the original context (8
 * tokens) are of no use on the other. */
static void longrope(void **state) {
    (void)state;
    static const size_t lengths[] = {5, 12, 14, 4, 13, 14, 2, 20};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_model *used, *fresh;
    assert_ok(ctx, asc_model_open(ctx, test_data("hf/phi3-longrope-old"), NULL, &used));
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int32_t ids[20];
        told a, b;
        for (size_t i = 0; i < 20; i++) ids[i] = (int32_t)((i * 3 + 1) % 20);
        assert_ok(ctx, asc_model_open(ctx, test_data("hf/phi3-longrope-old"), NULL, &fresh));
        assert_ok(ctx, ask(used, ids, lengths[k], true, &a));
        assert_ok(ctx, ask(fresh, ids, lengths[k], true, &b));
        for (size_t i = 0; i < NEW; i++) assert_true(same(a.lp[i], b.lp[i]));
        assert_memory_equal(a.id, b.id, sizeof a.id);
        asc_model_close(fresh);
    }
    asc_model_close(used);
    test_ctx_end(ctx);
}

/* Only what differs is run: the store of keys is the same one, and a plain call leaves it alone. */
static void what_is_kept(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_model *m = open(ctx, "llama-q4_1");
    int32_t ids[MOST];
    asc_kept_keys keys;
    told t;
    const size_t n = prompt(0, ids);
    assert_ok(ctx, ask(m, ids, n, false, &t));
    assert_null(m->kept);
    assert_ok(ctx, ask(m, ids, n, true, &t));
    assert_ok(ctx, ask(m, ids, 3, false, &t));
    assert_true(asc_model_take_prompt(m, ids, n, &keys));
    assert_int_equal(keys.n, n - 1); /* one is left to be run */
    assert_null(m->kept);
    asc_model_keep_prompt(m, ids, n - 1, &keys);
    ids[4]++;
    assert_true(asc_model_take_prompt(m, ids, n, &keys));
    assert_int_equal(keys.n, 4);
    asc_model_keep_prompt(m, ids, 4, &keys);
    ids[0]++;
    assert_false(asc_model_take_prompt(m, ids, n, &keys));
    assert_null(m->kept);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Memory runs out at any place: an error or the right answer, nothing lost, and the next call is well. */
static void memory(void **state) {
    (void)state;
    int32_t ids[MOST];
    told want, t;
    size_t n = prompt(1, ids);
    asc_ctx *plain = test_ctx("cpu", "deferred");
    asc_model *m = open(plain, "llama-q4_1");
    assert_ok(plain, ask(m, ids, n, true, &want));
    asc_model_close(m);
    test_ctx_end(plain);
    for (long at = 1; at < 4000; at += at < 300 ? 7 : 97) {
        test_alloc counter = {.fail_at = 0};
        asc_ctx_options o = {.struct_size = sizeof o,
                             .device = "cpu",
                             .alloc = test_alloc_fn,
                             .alloc_self = &counter,
                             .isa = suite_isa()};
        asc_ctx *ctx = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        m = open(ctx, "llama-q4_1");
        assert_ok(ctx, ask(m, ids, 9, true, &t));
        counter.fail_at = counter.count + at;
        const asc_status st = ask(m, ids, n, true, &t);
        const bool failed = counter.count >= counter.fail_at;
        assert_true(st == ASC_OK || (failed && st == ASC_RESOURCE_EXHAUSTED));
        counter.fail_at = 0;
        assert_ok(ctx, ask(m, ids, n, true, &t));
        for (size_t i = 0; i < NEW; i++) assert_true(same(t.lp[i], want.lp[i]));
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        assert_int_equal(counter.live, 0);
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(longrope),
                                       cmocka_unit_test(what_is_kept), cmocka_unit_test(memory)};
    return cmocka_run_group_tests_name("kept prompts", tests, NULL, NULL);
}
