/* test_base.c - allocator counters, arena, UTF-8, hashes, JSON, files. */
#include "file.h"
#include "harness.h"
#include "hash.h"
#include "json.h"
#include "view.h"
#include <math.h>
#include <unistd.h>

static void counters_return_to_zero(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    void *a = asc_alloc(ctx, ASC_MEM_CACHE, 100), *b = asc_alloc_buffer(ctx, ASC_MEM_WEIGHTS, 1000);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)b % 64, 0);
    a = asc_realloc(ctx, ASC_MEM_CACHE, a, 100000);
    assert_non_null(a);
    assert_true(asc_memory(ctx).live_bytes[ASC_MEM_CACHE] >= 100000);
    asc_free(ctx, a);
    asc_free(ctx, b);
    assert_int_equal(asc_memory(ctx).live_total, 0);
    assert_true(asc_memory(ctx).peak_total >= 101000);
    asc_memory_forget_peaks(ctx);
    assert_int_equal(asc_memory(ctx).peak_total, 0);
    assert_int_equal(asc_memory(ctx).peak_bytes[ASC_MEM_CACHE], 0);
    test_ctx_end(ctx);
}

/* malloc grants terabytes that nobody has, and the process ends when they are touched. */
static void more_than_the_machine_has(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    const size_t before = asc_memory(ctx).live_total;
    void *a = asc_alloc(ctx, ASC_MEM_CACHE, 100);
    assert_null(asc_alloc_buffer(ctx, ASC_MEM_ACTIVATIONS, (size_t)1 << 50));
    assert_int_equal(asc_error_code(ctx), ASC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(asc_error_message(ctx), "more than the machine has"));
    assert_null(asc_realloc(ctx, ASC_MEM_CACHE, a, (size_t)1 << 50));
    asc_free(ctx, a);
    assert_int_equal(asc_memory(ctx).live_total, before);
    test_ctx_end(ctx);
}

static void utf8_subparts(void **state) {
    (void)state;
    /* Unicode 15, section 3.9, table 3-8: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64 has six replacements. */
    const char text[] = "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64";
    const uint32_t want[] = {0x61, 0xFFFD, 0xFFFD, 0xFFFD, 0x62, 0xFFFD, 0x63, 0xFFFD, 0xFFFD, 0x64};
    size_t i = 0, k = 0;
    while (i < sizeof text - 1) {
        uint32_t cp;
        i += asc_utf8_decode(text + i, sizeof text - 1 - i, &cp, NULL);
        assert_int_equal(cp, want[k++]);
    }
    assert_int_equal(k, sizeof want / sizeof *want);
}

static void known_hashes(void **state) {
    (void)state;
    char hex[65];
    asc_sha256_hex("abc", 3, hex); /* FIPS 180-2, appendix B.1 */
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    uint32_t w[4]; /* Random123's known-answer test for philox4x32 with 10 rounds, all zero */
    asc_philox(0, 0, 0, w);
    assert_int_equal(w[0], 0x6627e8d5u);
    assert_int_equal(w[3], 0x9b00dbd8u);
}

static void json_round_trip(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_strbuf b;
    asc_strbuf_init(&b, ctx);
    asc_jsonw w;
    asc_jsonw_init(&w, &b, false);
    asc_jsonw_begin_object(&w);
    asc_jsonw_key(&w, "x");
    asc_jsonw_num(&w, 0.1);
    asc_jsonw_key(&w, "list");
    asc_jsonw_begin_array(&w);
    asc_jsonw_int(&w, -3);
    asc_jsonw_strz(&w, "a\"\\\n\x01\xff");
    asc_jsonw_num(&w, NAN);
    asc_jsonw_end_array(&w);
    asc_jsonw_end_object(&w);
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, b.ptr, b.len, &j));
    assert_true(asc_json_num(asc_json_get(j, "x"), 0) > 0.0999);
    const asc_json *list = asc_json_get(j, "list");
    assert_int_equal(asc_json_len(list), 3);
    assert_int_equal(asc_json_int(asc_json_at(list, 0), 0), -3);
    assert_true(asc_view_eqs(asc_json_str(asc_json_at(list, 1)), "a\"\\\n\x01\xEF\xBF\xBD"));
    assert_int_equal(asc_json_typeof(asc_json_at(list, 2)), ASC_JSON_NULL);
    asc_json_free(j);
    assert_int_equal(asc_json_parse(ctx, "{\"a\":1,\"a\":2}", 13, &j), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_json_parse(ctx, "[1,", 3, &j), ASC_INVALID_ARGUMENT);
    asc_strbuf_deinit(&b);
    test_ctx_end(ctx);
}

static void bad_files(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_map m;
    assert_int_equal(asc_map_open(ctx, "/nonexistent/x", &m), ASC_NOT_FOUND);
    assert_non_null(strstr(asc_error_message(ctx), "/nonexistent/x"));
    assert_int_equal(asc_map_open(ctx, "/", &m), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_map_open(ctx, "/dev/null", &m), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_file_write(ctx, "/dev/full", "x", 1), ASC_RESOURCE_EXHAUSTED);
    char path[TEST_TMP];
    int fd = mkstemp(test_tmp_name(path, "ascribe-test-XXXXXX"));
    assert_true(fd >= 0);
    assert_ok(ctx, asc_file_write(ctx, path, "hello", 5));
    assert_ok(ctx, asc_map_open(ctx, path, &m));
    assert_int_equal(m.size, 5);
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(asc_map_check(ctx, &m), ASC_FAILED_PRECONDITION);
    asc_map_close(ctx, &m);
    close(fd);
    unlink(path);
    test_ctx_end(ctx);
}

static void unknown_names(void **state) {
    (void)state;
    asc_ctx *ctx = NULL;
    asc_ctx_options o = {.struct_size = sizeof o, .device = "gpu"};
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "gpu"));
    assert_non_null(strstr(asc_error_hint(ctx), "reference"));
    asc_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_return_to_zero), cmocka_unit_test(more_than_the_machine_has),
        cmocka_unit_test(utf8_subparts),           cmocka_unit_test(known_hashes),
        cmocka_unit_test(json_round_trip),         cmocka_unit_test(bad_files),
        cmocka_unit_test(unknown_names),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
