/* test_gguf.c - the GGUF reader: values of a file made here, files made by others. Lies are in
 * test_gguf_bad.c. */
#include "gguf.h"
#include "gguf_make.h"
#include "harness.h"
#include "view.h"
#include <unistd.h>

static void check_scalars(asc_ctx *ctx, const asc_gguf *g) {
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    bool b = false;
    asc_view s = {0};
    static const struct {
        const char *key;
        int64_t value;
    } ints[] = {{"t.u8", 200}, {"t.i8", -5},           {"t.u16", 60000},  {"t.i16", -300},
                {"t.u9", 9},   {"t.u32", 4000000000u}, {"t.i32", -70000}, {"t.i64", -1}};
    for (size_t k = 0; k < sizeof ints / sizeof ints[0]; k++) {
        assert_ok(ctx, asc_gguf_get_i64(ctx, g, ints[k].key, &i));
        assert_true(i == ints[k].value);
        asc_status st = asc_gguf_get_u64(ctx, g, ints[k].key, &u);
        assert_int_equal(st, ints[k].value < 0 ? ASC_INVALID_ARGUMENT : ASC_OK);
        if (st == ASC_OK) assert_true(u == (uint64_t)ints[k].value);
    }
    assert_ok(ctx, asc_gguf_get_u64(ctx, g, "t.u64", &u));
    assert_true(u == UINT64_MAX);
    assert_int_equal(asc_gguf_get_i64(ctx, g, "t.u64", &i), ASC_INVALID_ARGUMENT);
    assert_true(asc_gguf_int_at(asc_gguf_kv_find(g, "t.u64")->values, 0) == INT64_MAX);
    assert_true(asc_gguf_num_at(asc_gguf_kv_find(g, "t.u64")->values, 0) == 0x1p64);
    assert_ok(ctx, asc_gguf_get_f64(ctx, g, "t.f32", &d));
    assert_true(d == 1.5);
    assert_ok(ctx, asc_gguf_get_f64(ctx, g, "t.f64", &d));
    assert_true(d == -0.1);
    assert_ok(ctx, asc_gguf_get_bool(ctx, g, "t.bool", &b));
    assert_true(b);
    assert_ok(ctx, asc_gguf_get_str(ctx, g, "general.architecture", &s));
    assert_true(asc_view_eqs(s, "llama"));
}

static void check_getter_errors(asc_ctx *ctx, const asc_gguf *g) {
    uint64_t u = 77;
    int64_t i = 77;
    double d = 77;
    bool b = true;
    asc_view s = {0};
    asc_gguf_array a;
    assert_int_equal(asc_gguf_get_u64(ctx, g, "no.such", &u), ASC_NOT_FOUND);
    assert_non_null(strstr(asc_error_message(ctx), "no.such"));
    assert_non_null(strstr(asc_error_message(ctx), "(memory)"));
    assert_true(strlen(asc_error_hint(ctx)) > 0);
    assert_int_equal(asc_gguf_get_u64(ctx, g, "t.f32", &u), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "t.f32"));
    assert_non_null(strstr(asc_error_message(ctx), "f32, expected an integer"));
    assert_int_equal(asc_gguf_get_f64(ctx, g, "t.u8", &d), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_bool(ctx, g, "t.u8", &b), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_str(ctx, g, "words", &s), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_i64(ctx, g, "ints", &i), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_array(ctx, g, "words", ASC_GGUF_INTEGERS, &a), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_array(ctx, g, "ints", ASC_GGUF_STRINGS, &a), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_array(ctx, g, "t.u8", ASC_GGUF_INTEGERS, &a), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_array(ctx, g, "nest", ASC_GGUF_INTEGERS, &a), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_array(ctx, g, "no.such", ASC_GGUF_FLOATS, &a), ASC_NOT_FOUND);
    assert_true(u == 77 && i == 77 && d == 77 && b);
    /* The forms with a default: absent is fine, of another type is not. */
    assert_ok(ctx, asc_gguf_get_u64_or(ctx, g, "no.such", 5, &u));
    assert_ok(ctx, asc_gguf_get_i64_or(ctx, g, "no.such", -5, &i));
    assert_ok(ctx, asc_gguf_get_f64_or(ctx, g, "no.such", 0.5, &d));
    assert_ok(ctx, asc_gguf_get_bool_or(ctx, g, "no.such", false, &b));
    assert_ok(ctx, asc_gguf_get_str_or(ctx, g, "no.such", asc_view_of("x"), &s));
    assert_ok(ctx, asc_gguf_get_array_or(ctx, g, "no.such", ASC_GGUF_FLOATS, &a));
    assert_true(u == 5 && i == -5 && d == 0.5 && !b && asc_view_eqs(s, "x") && a.count == 0);
    assert_ok(ctx, asc_gguf_get_u64_or(ctx, g, "t.u8", 5, &u));
    assert_true(u == 200);
    assert_int_equal(asc_gguf_get_u64_or(ctx, g, "t.f32", 5, &u), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_gguf_get_array_or(ctx, g, "ints", ASC_GGUF_BOOLS, &a), ASC_INVALID_ARGUMENT);
}

static void check_arrays(asc_ctx *ctx, const asc_gguf *g) {
    asc_gguf_array a;
    assert_ok(ctx, asc_gguf_get_array(ctx, g, "words", ASC_GGUF_STRINGS, &a));
    assert_int_equal(a.count, 3);
    assert_true(asc_view_eqs(asc_gguf_str_at(a, 0), "one"));
    assert_true(asc_view_eqs(asc_gguf_str_at(a, 1), ""));
    assert_true(asc_view_eqs(asc_gguf_str_at(a, 2), "three\n"));
    assert_int_equal(asc_gguf_str_at(a, 3).len, 0);
    assert_int_equal(asc_gguf_int_at(a, 0), 0);
    assert_ok(ctx, asc_gguf_get_array(ctx, g, "ints", ASC_GGUF_INTEGERS, &a));
    assert_int_equal(a.count, 4);
    for (int k = 0; k < 4; k++) assert_int_equal(asc_gguf_int_at(a, (size_t)k), k - 2);
    assert_true(asc_gguf_num_at(a, 0) == -2.0);
    assert_int_equal(asc_gguf_int_at(a, 4), 0);
    assert_int_equal(asc_gguf_str_at(a, 0).len, 0);
    assert_ok(ctx, asc_gguf_get_array(ctx, g, "floats", ASC_GGUF_FLOATS, &a));
    assert_true(a.count == 2 && asc_gguf_num_at(a, 0) == 0.25 && asc_gguf_num_at(a, 1) == -8.0);
    assert_true(asc_gguf_num_at(a, 2) == 0 && asc_gguf_int_at(a, 0) == 0);
    assert_ok(ctx, asc_gguf_get_array(ctx, g, "bools", ASC_GGUF_BOOLS, &a));
    assert_true(a.count == 2 && asc_gguf_int_at(a, 0) == 0 && asc_gguf_int_at(a, 1) == 1);
    assert_ok(ctx, asc_gguf_get_array(ctx, g, "empty", ASC_GGUF_STRINGS, &a));
    assert_int_equal(a.count, 0);
    const asc_gguf_kv *nest = asc_gguf_kv_find(g, "nest");
    assert_true(nest->is_array && nest->values.type == ASC_GGUF_ARRAY && nest->values.count == 2);
}

static void check_tensors(const asc_gguf *g, const made *m) {
    static const struct {
        const char *name;
        int rank;
        int64_t dims[4];
        asc_dtype dtype;
        size_t bytes, offset;
    } want[] = {{"aa", 1, {4}, ASC_DTYPE_F32, 16, 0},
                {"bb", 2, {2, 32}, ASC_DTYPE_Q4_1, 40, 16},
                {"cc", 3, {2, 3, 4}, ASC_DTYPE_F16, 48, 64},
                {"dd", 4, {1, 2, 1, 2}, ASC_DTYPE_F32, 16, 112}};
    assert_int_equal(asc_gguf_tensor_count(g), 4);
    for (size_t i = 0; i < 4; i++) {
        const asc_gguf_tensor *t = asc_gguf_tensor_at(g, i);
        assert_ptr_equal(asc_gguf_tensor_find(g, want[i].name), t);
        assert_int_equal(t->rank, want[i].rank);
        for (int k = 0; k < t->rank; k++) assert_int_equal(t->dims[k], want[i].dims[k]);
        assert_int_equal(t->dtype, want[i].dtype);
        assert_int_equal(t->bytes, want[i].bytes);
        assert_int_equal(t->file_offset, m->at[AT_DATA] + want[i].offset);
        assert_int_equal(((const uint8_t *)t->data)[1], want[i].offset + 1);
    }
    assert_null(asc_gguf_tensor_at(g, 4));
    assert_null(asc_gguf_tensor_find(g, "a"));
    assert_null(asc_gguf_kv_at(g, 21));
}

static void test_valid(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (uint32_t version = 2; version <= 3; version++) {
        made m;
        uint8_t *copy;
        asc_gguf *g = NULL;
        make_gguf(&m, version);
        assert_ok(ctx, parse_copy(ctx, m.buf, m.len, &copy, &g));
        assert_int_equal(asc_gguf_version(g), version);
        assert_int_equal(asc_gguf_alignment(g), 16);
        assert_int_equal(asc_gguf_size(g), m.len);
        assert_int_equal(asc_gguf_kv_count(g), 21);
        check_scalars(ctx, g);
        check_getter_errors(ctx, g);
        check_arrays(ctx, g);
        check_tensors(g, &m);
        walk(ctx, g);
        assert_ok(ctx, asc_gguf_check(ctx, g));
        asc_gguf_close(ctx, g);
        free(copy);
    }
    asc_gguf_close(ctx, NULL);
    test_ctx_end(ctx);
}

/* No tensors and no keys: a legal file; also one that ends right behind its header. */
static void test_minimal(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    made m;
    asc_gguf *g = NULL;
    put_head(&m, 0, 0);
    assert_ok(ctx, asc_gguf_parse(ctx, m.buf, m.len, &g));
    assert_int_equal(asc_gguf_alignment(g), 32);
    assert_int_equal(asc_gguf_tensor_count(g) + asc_gguf_kv_count(g), 0);
    assert_null(asc_gguf_tensor_find(g, "x"));
    assert_null(asc_gguf_kv_find(g, "x"));
    asc_gguf_close(ctx, g);
    assert_int_equal(asc_gguf_parse(ctx, NULL, 0, &g), ASC_INVALID_ARGUMENT);
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 98362432\n";
    assert_int_equal(asc_gguf_parse(ctx, lfs, sizeof lfs - 1, &g), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "Git LFS"));
    static const char tensors[] = "\x10\0\0\0\0\0\0\0{\"a\":{}}        ";
    assert_int_equal(asc_gguf_parse(ctx, tensors, sizeof tensors - 1, &g), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "safetensors"));
    test_ctx_end(ctx);
}

static void test_not_finite(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    made m;
    asc_gguf *g = NULL;
    double d;
    put_head(&m, 0, 2);
    put_key(&m, "nan", 6);
    put_int(&m, 0x7FC00000, 4);
    put_key(&m, "inf", 12);
    put_int(&m, (uint64_t)0x7FF << 52, 8);
    assert_ok(ctx, asc_gguf_parse(ctx, m.buf, m.len, &g));
    assert_int_equal(asc_gguf_get_f64(ctx, g, "nan", &d), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "finite"));
    assert_int_equal(asc_gguf_get_f64_or(ctx, g, "inf", 1.0, &d), ASC_INVALID_ARGUMENT);
    asc_gguf_close(ctx, g);
    test_ctx_end(ctx);
}

static void test_out_of_memory(void **state) {
    (void)state;
    made m;
    make_gguf(&m, 3);
    for (long fail_at = 1;; fail_at++) {
        test_alloc alloc = {0};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &alloc};
        asc_ctx *ctx = NULL;
        asc_gguf *g = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        long live = alloc.live;
        alloc.count = 0;
        alloc.fail_at = fail_at;
        asc_status st = asc_gguf_parse(ctx, m.buf, m.len, &g);
        bool failed = alloc.count >= fail_at;
        assert_int_equal(st, failed ? ASC_RESOURCE_EXHAUSTED : ASC_OK);
        if (failed) assert_null(g);
        if (failed) assert_int_equal(alloc.live, live);
        asc_gguf_close(ctx, g);
        test_ctx_end(ctx);
        assert_int_equal(alloc.live, 0);
        if (!failed) {
            assert_true(fail_at > 2);
            break;
        }
    }
}

/* Files from the goldens. What this layer must say; the other faults of that folder concern the model's
 * layers. */
static void test_bad_goldens(void **state) {
    (void)state;
    static const struct {
        const char *file;
        asc_status want;
        const char *says;
    } files[] = {
        {"control.gguf", ASC_OK, ""},
        {"version-0.gguf", ASC_UNIMPLEMENTED, "version 0"},
        {"cut-in-value.gguf", ASC_DATA_LOSS, "metadata count is 19"},
        {"tensor-count-20.gguf", ASC_INVALID_ARGUMENT, "tensor name"},
        {"tensor-name-length.gguf", ASC_DATA_LOSS, "tensor name"},
        {"rope-base-zero.gguf", ASC_OK, ""},
        {"no-tokens.gguf", ASC_OK, ""},
    };
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[128];
        asc_gguf *g = NULL;
        snprintf(path, sizeof path, "goldens/bad_gguf/%s", files[i].file);
        asc_status st = asc_gguf_open(ctx, test_data(path), &g);
        if (st != files[i].want) fail_msg("%s: %s: %s", path, asc_status_name(st), asc_error_message(ctx));
        if (st != ASC_OK) {
            assert_non_null(strstr(asc_error_message(ctx), files[i].says));
            assert_non_null(strstr(asc_error_message(ctx), files[i].file));
            assert_true(strlen(asc_error_hint(ctx)) > 0);
        } else {
            assert_int_equal(asc_gguf_tensor_count(g), 11);
            walk(ctx, g);
        }
        asc_gguf_close(ctx, g);
    }
    test_ctx_end(ctx);
}

/* Two models as another reader (the Python package gguf 0.19) sees them. */
static void test_zoo(void **state) {
    (void)state;
    static const struct {
        const char *file, *sha;
        size_t kvs, tensors, tensor;
        const char *name;
        int64_t rows, cols;
        asc_dtype dtype;
        size_t bytes, offset;
        const char *key;
        uint64_t value;
        const char *last_token;
    } files[] = {
        {"goldens/zoo_gguf/llama-q4_1/model.gguf",
         "4e38f6ce2ddd69ed7f01b5c731f750c37cda290459b8daa2af8b52b44d437d04", 28, 31, 28,
         "blk.2.ffn_up.weight", 96, 32, ASC_DTYPE_Q4_1, 1920, 50176, "llama.feed_forward_length", 96, "y"},
        {"goldens/zoo_gguf/qwen3-q5_0/model.gguf",
         "656f6b0904d1c592e14d7f12477a1bb81536e2fd632bc5d9d4163c720fdb27ab", 28, 24, 21,
         "blk.1.attn_q.weight", 96, 64, ASC_DTYPE_Q5_0, 4224, 59232, "qwen3.attention.key_length", 24,
         "<|im_end|>"},
    };
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        asc_gguf *g = NULL;
        char hex[65];
        uint64_t u = 0;
        asc_gguf_array a;
        assert_ok(ctx, asc_gguf_open(ctx, test_data(files[i].file), &g));
        assert_ok(ctx, asc_gguf_sha256(ctx, g, hex));
        assert_string_equal(hex, files[i].sha);
        assert_int_equal(asc_gguf_kv_count(g), files[i].kvs);
        assert_int_equal(asc_gguf_tensor_count(g), files[i].tensors);
        const asc_gguf_tensor *t = asc_gguf_tensor_at(g, files[i].tensor);
        assert_true(asc_view_eqs(t->name, files[i].name));
        assert_true(t->rank == 2 && t->dims[0] == files[i].rows && t->dims[1] == files[i].cols);
        assert_int_equal(t->dtype, files[i].dtype);
        assert_int_equal(t->bytes, files[i].bytes);
        assert_int_equal(t->file_offset, files[i].offset);
        assert_ok(ctx, asc_gguf_get_u64(ctx, g, files[i].key, &u));
        assert_true(u == files[i].value);
        assert_ok(ctx, asc_gguf_get_array(ctx, g, "tokenizer.ggml.tokens", ASC_GGUF_STRINGS, &a));
        assert_int_equal(a.count, 320);
        assert_true(asc_view_eqs(asc_gguf_str_at(a, 319), files[i].last_token));
        assert_non_null(strstr(asc_gguf_name(g), "model.gguf"));
        assert_ok(ctx, asc_gguf_check(ctx, g));
        walk(ctx, g);
        asc_gguf_close(ctx, g);
        assert_int_equal(ctx->mem.mapped_bytes, 0);
    }
    test_ctx_end(ctx);
}

/* A file that shrinks while mapped is reported, not touched. */
static void test_shrinking(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    made m;
    asc_gguf *g = NULL;
    char path[TEST_TMP], hex[65];
    make_gguf(&m, 3);
    int fd = mkstemp(test_tmp_name(path, "asc-test-gguf-XXXXXX"));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, m.buf, m.len), (ssize_t)m.len);
    assert_ok(ctx, asc_gguf_open(ctx, path, &g));
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_equal(asc_gguf_check(ctx, g), ASC_FAILED_PRECONDITION);
    assert_int_equal(asc_gguf_sha256(ctx, g, hex), ASC_FAILED_PRECONDITION);
    asc_gguf_close(ctx, g);
    assert_int_equal(asc_gguf_open(ctx, path, &g), ASC_DATA_LOSS);
    assert_non_null(strstr(asc_error_message(ctx), path));
    assert_null(g);
    close(fd);
    unlink(path);
    assert_int_equal(asc_gguf_open(ctx, path, &g), ASC_NOT_FOUND);
    assert_int_equal(asc_gguf_open(ctx, test_tmp(), &g), ASC_INVALID_ARGUMENT);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),       cmocka_unit_test(test_minimal),
        cmocka_unit_test(test_not_finite),  cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_bad_goldens), cmocka_unit_test(test_zoo),
        cmocka_unit_test(test_shrinking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
