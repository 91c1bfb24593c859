/* test_pass_random.c - random programs give the same bits before and after the passes, on the f64 and the cpu
 * device; each pass alone and all together. */
#include "../ir/pass_equal.h"
#include "../ir/program_draw.h"
#include "harness.h"

enum { PROGRAMS = 1000, BYTES = 220 };

static void check(asc_ctx *ctx, uint64_t seed, uint64_t off, const char *what, size_t *done) {
    uint8_t bytes[BYTES];
    asc_program p;
    size_t at = 0, n = 20 + seed % (BYTES - 20);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(256 * asc_uniform(3, seed, i));
    asc_program_init(&p, ctx);
    program_draw(ctx, bytes, n, &p);
    assert_ok(ctx, asc_program_verify(ctx, &p));
    int result = pass_equal(ctx, &p, off, done, &at);
    if (result != 0) {
        asc_strbuf text;
        asc_strbuf_init(&text, ctx);
        asc_program_print(&p, &text);
        fail_msg("program %llu on %s, passes %s: %s (value %zu)\n%s", (unsigned long long)seed,
                 asc_exec_device(ctx)->name, what, result == 1 ? asc_error_message(ctx) : "other bits", at,
                 text.ptr);
    }
    asc_program_deinit(&p);
}

static void same_bits(void **state) {
    (void)state;
    static const char *const devices[] = {"reference", "cpu"};
    for (int d = 0; d < 2; d++) {
        asc_ctx_options o = {.struct_size = sizeof o, .device = devices[d], .n_threads = 1};
        asc_ctx *ctx = NULL;
        size_t done[64] = {0};
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
            size_t one = seed % asc_n_passes;
            check(ctx, seed, 0, "all", done);
            check(ctx, seed, ~((uint64_t)1 << one), asc_passes[one]->name, done);
        }
        for (size_t i = 0; i < asc_n_passes; i++) {
            print_message("%s: %s did %zu\n", devices[d], asc_passes[i]->name, done[i]);
            if (asc_passes[i] != &asc_pass_fuse) assert_true(done[i] > 0);
        }
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests_name("pass_random", tests, NULL, NULL);
}
