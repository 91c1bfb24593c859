/* test_generate_bytes.c - what a generation is said to need holds, with stores that grow several times, and
 * is not far above what it takes. */
#include "harness.h"
#include "ascribe/model.h"

enum { MOST = 600 };

static size_t taken(const char *file, const char *mode, size_t n, size_t more, bool keep, size_t *said) {
    static int32_t ids[MOST], out[MOST];
    size_t n_out = 0;
    asc_ctx *ctx = test_ctx("cpu", mode);
    asc_model *m = NULL;
    for (size_t i = 0; i < n; i++) ids[i] = (int32_t)(20 + i * 7 % 200);
    assert_ok(ctx, asc_model_open(ctx, test_data(file), NULL, &m));
    const size_t before = asc_memory(ctx).live_total;
    asc_generate_options o = {
        .struct_size = sizeof o, .max_tokens = more, .ignore_eos = true, .keep_prompt = keep};
    *said = asc_generate_bytes(m, n, more);
    assert_ok(ctx, asc_generate(m, ids, n, &o, out, &n_out));
    if (keep) assert_ok(ctx, asc_generate(m, ids, n, &o, out, &n_out));
    assert_int_equal(n_out, more);
    const size_t peak = asc_memory(ctx).peak_total;
    asc_model_close(m);
    test_ctx_end(ctx);
    return peak - before;
}

static void what_is_said_holds(void **state) {
    (void)state;
    static const char *const files[] = {"goldens/zoo_gguf/llama-q4_1/model.gguf",
                                        "goldens/zoo_gguf/qwen3-q5_0/model.gguf"};
    static const size_t sizes[][2] = {{3, 1}, {3, 200}, {100, 100}, {240, 5}};
    static const char *const modes[] = {"deferred", "eager"};
    for (size_t k = 0; k < 32; k++) {
        const size_t n = sizes[k / 2 % 4][0], more = sizes[k / 2 % 4][1];
        const char *mode = modes[k / 16];
        size_t said;
        const size_t is = taken(files[k / 8 % 2], mode, n, more, k % 2 == 1, &said);
        if (is > said || said > 3 * is + ((size_t)2 << 20))
            fail_msg("%s, %s, %zu and %zu tokens: %zu said, %zu taken", files[k / 8 % 2], mode, n, more, said,
                     is);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_said_holds)};
    return cmocka_run_group_tests_name("generate_bytes", tests, NULL, NULL);
}
