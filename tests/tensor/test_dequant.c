/* test_dequant.c - element types: the table, f16 and bf16 over their whole range, and every expansion against
 * blocks that another program expanded (tests/data/goldens/gguf_dequant.jsonl), bit by bit. */
#include "dtype.h"
#include "file.h"
#include "half.h"
#include "harness.h"
#include "json.h"
#include <ctype.h>
#include <math.h>

static int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/* Lower-case name of the golden's type. */
static void lower(asc_view v, char out[32]) {
    assert_true(v.len < 32);
    for (size_t i = 0; i < v.len; i++) out[i] = (char)tolower((unsigned char)v.ptr[i]);
    out[v.len] = '\0';
}

/* One line: expands from an odd address into a buffer with guards, and compares bits. */
static int check_line(asc_ctx *ctx, const char *line, size_t len) {
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, line, len, &j));
    char name[32];
    lower(asc_json_str(asc_json_get(j, "type")), name);
    int t = asc_dtype_from_name(name);
    if (t < 0) fail_msg("type %s is not known", name);
    const asc_dtype_info *info = asc_dtype_of((asc_dtype)t);
    assert_int_equal(info->ggml_type, asc_json_int(asc_json_get(j, "ggml_type"), -2));
    assert_int_equal(asc_dtype_from_ggml((uint32_t)info->ggml_type), t);
    asc_view hex = asc_json_str(asc_json_get(j, "hex"));
    const asc_json *values = asc_json_get(j, "values");
    size_t n = asc_json_len(values), bytes = 0;
    assert_true(asc_dtype_bytes((asc_dtype)t, (int64_t)n, &bytes));
    assert_int_equal(bytes, hex.len / 2);
    enum { MOST = 512 };
    uint8_t block[MOST + 1];
    float out[MOST + 2];
    assert_true(n <= MOST && bytes <= MOST);
    for (size_t i = 0; i < bytes; i++) {
        block[i + 1] = (uint8_t)(hex_digit(hex.ptr[2 * i]) * 16 + hex_digit(hex.ptr[2 * i + 1]));
    }
    out[0] = out[n + 1] = 12345.0f;
    asc_dtype_expand((asc_dtype)t)(block + 1, out + 1, (int64_t)n);
    assert_true(out[0] == 12345.0f && out[n + 1] == 12345.0f);
    for (size_t i = 0; i < n; i++) {
        float want = (float)asc_json_num(asc_json_at(values, i), NAN);
        if (asc_f32_bits(want) != asc_f32_bits(out[i + 1])) {
            fail_msg("%s element %zu: %.9g, expected %.9g", name, i, (double)out[i + 1], (double)want);
        }
    }
    asc_json_free(j);
    return t;
}

static void test_goldens(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    char *text = NULL;
    size_t len = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("goldens/gguf_dequant.jsonl"), (size_t)1 << 24, &text, &len));
    bool seen[ASC_N_DTYPES] = {false};
    int lines = 0, types = 0;
    for (const char *p = text, *end = text + len; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL) nl = end;
        if (nl > p) {
            seen[check_line(ctx, p, (size_t)(nl - p))] = true;
            lines++;
        }
        p = nl + 1;
    }
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        bool can = asc_dtype_expand((asc_dtype)t) != NULL;
        if (can != seen[t])
            fail_msg("%s: expands %d, in the goldens %d", asc_dtype_of((asc_dtype)t)->name, can, seen[t]);
        types += seen[t];
    }
    assert_int_equal(types, 26);
    assert_true(lines >= 76);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* Many blocks at once must equal one block at a time (block strides, loop tails). */
static void test_many_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 5, MOST_BYTES = 292, MOST_ELEMS = 256 };
    static uint8_t src[BLOCKS * MOST_BYTES];
    static float all[BLOCKS * MOST_ELEMS], one[MOST_ELEMS];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof src; i++) {
        x = x * 1664525u + 1013904223u;
        src[i] = (uint8_t)(x >> 24);
    }
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        asc_expand_fn fn = asc_dtype_expand((asc_dtype)t);
        if (fn == NULL) continue;
        const asc_dtype_info *info = asc_dtype_of((asc_dtype)t);
        fn(src, all, (int64_t)BLOCKS * info->block_elems);
        for (int b = 0; b < BLOCKS; b++) {
            fn(src + b * info->block_bytes, one, info->block_elems);
            size_t bytes = (size_t)info->block_elems * sizeof(float);
            if (memcmp(one, all + b * info->block_elems, bytes) != 0) fail_msg("%s block %d", info->name, b);
        }
        fn(src, one, 0);
    }
}

/* Value of a finite half by the formula of IEEE 754, in double. */
static double half_value(unsigned h) {
    int exp = (int)(h >> 10 & 31u), frac = (int)(h & 1023u);
    double v = exp == 0 ? ldexp(frac, -24) : ldexp(1024 + frac, exp - 25);
    return (h & 0x8000u) != 0 ? -v : v;
}

static void test_f16(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float f = asc_f16_to_f32((uint16_t)h);
        unsigned exp = h >> 10 & 31u, frac = h & 1023u;
        assert_int_equal(asc_f32_bits(f) >> 31, h >> 15);
        if (exp == 31) {
            if (frac == 0)
                assert_true(isinf(f));
            else
                assert_true(isnan(f) && (asc_f32_bits(f) >> 13 & 1023u) == frac);
            assert_int_equal(asc_f32_to_f16(f), frac == 0 ? h : (h | 0x200u));
            continue;
        }
        assert_true((double)f == half_value(h));
        assert_int_equal(asc_f32_to_f16(f), h);
        /* Half-way to the next value rounds to the even one, a hair to either side to the nearer one. */
        if ((h & 0x7FFFu) == 0x7BFFu) continue;
        float mid = (float)((half_value(h) + half_value(h + 1)) / 2);
        assert_int_equal(asc_f32_to_f16(mid), (h & 1u) != 0 ? h + 1 : h);
        assert_int_equal(asc_f32_to_f16(asc_f32_of_bits(asc_f32_bits(mid) - 1)), h);
        assert_int_equal(asc_f32_to_f16(asc_f32_of_bits(asc_f32_bits(mid) + 1)), h + 1);
    }
    assert_int_equal(asc_f32_to_f16(65519.996f), 0x7BFF);
    assert_int_equal(asc_f32_to_f16(65520.0f), 0x7C00);
    assert_int_equal(asc_f32_to_f16(-1e30f), 0xFC00);
    assert_int_equal(asc_f32_to_f16(1e-30f), 0);
    assert_int_equal(asc_f32_to_f16(-1e-45f), 0x8000);
}

static void test_bf16(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float f = asc_bf16_to_f32((uint16_t)h);
        assert_int_equal(asc_f32_bits(f), h << 16);
        bool nan = (h & 0x7F80u) == 0x7F80u && (h & 0x7Fu) != 0;
        assert_int_equal(asc_f32_to_bf16(f), nan ? (h | 0x40u) : h);
        if ((h & 0x7F80u) == 0x7F80u) continue;
        uint32_t mid = (h << 16) | 0x8000u;
        assert_int_equal(asc_f32_to_bf16(asc_f32_of_bits(mid)), (h & 1u) != 0 ? h + 1 : h);
        assert_int_equal(asc_f32_to_bf16(asc_f32_of_bits(mid - 1)), h);
        assert_int_equal(asc_f32_to_bf16(asc_f32_of_bits(mid + 1)), h + 1);
    }
    assert_int_equal(asc_f32_to_bf16(asc_f32_of_bits(0x7F800001u)), 0x7FC0);
}

static void test_table(void **state) {
    (void)state;
    size_t bytes = 0;
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        const asc_dtype_info *info = asc_dtype_of((asc_dtype)t);
        assert_int_equal(asc_dtype_from_name(info->name), t);
        if (info->ggml_type >= 0) assert_int_equal(asc_dtype_from_ggml((uint32_t)info->ggml_type), t);
        assert_true(info->block_elems > 0 && info->block_bytes > 0);
        assert_false(info->is_float && info->is_int);
        assert_true(asc_dtype_bytes((asc_dtype)t, 0, &bytes));
        assert_int_equal(bytes, 0);
        assert_true(asc_dtype_bytes((asc_dtype)t, 3 * (int64_t)info->block_elems, &bytes));
        assert_int_equal(bytes, 3 * info->block_bytes);
        assert_false(asc_dtype_bytes((asc_dtype)t, -info->block_elems, &bytes));
        if (info->block_elems > 1) assert_false(asc_dtype_bytes((asc_dtype)t, info->block_elems + 1, &bytes));
    }
    assert_true(asc_dtype_of(ASC_DTYPE_F16)->is_float && asc_dtype_of(ASC_DTYPE_F16)->is_weight_only);
    assert_true(asc_dtype_of(ASC_DTYPE_F32)->is_float && !asc_dtype_of(ASC_DTYPE_F32)->is_weight_only);
    assert_true(asc_dtype_of(ASC_DTYPE_I64)->is_int && !asc_dtype_of(ASC_DTYPE_I64)->is_weight_only);
    assert_true(!asc_dtype_of(ASC_DTYPE_Q4_1)->is_float && asc_dtype_of(ASC_DTYPE_Q4_1)->is_weight_only);
    assert_true(!asc_dtype_of(ASC_DTYPE_BOOL)->is_int && !asc_dtype_of(ASC_DTYPE_BOOL)->is_weight_only);
    assert_false(asc_dtype_bytes(ASC_DTYPE_F64, INT64_MAX, &bytes));
    assert_int_equal(asc_dtype_from_name("q9_9"), -1);
    assert_int_equal(asc_dtype_from_ggml(4), -1); /* a number that was withdrawn */
    assert_int_equal(asc_dtype_from_ggml(UINT32_MAX), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens), cmocka_unit_test(test_many_blocks), cmocka_unit_test(test_f16),
        cmocka_unit_test(test_bf16),    cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
