/* .npy, .npz and safetensors files against what numpy and safetensors say (tests/data/arrays/make_arrays.py),
 * and malformed ones. */
#include "harness.h"
#include "array_files.h"
#include "json.h"
#include "npy.h"
#include "params.h"
#include <math.h>
#include <unistd.h>

static char *slurp(asc_ctx *ctx, const char *name, size_t *n) {
    char path[256], *text;
    snprintf(path, sizeof path, "arrays/%s", name);
    assert_ok(ctx, asc_file_read(ctx, test_data(path), 1 << 20, &text, n));
    return text;
}

static void compare(const asc_array *a, const asc_json *want, const char *what) {
    asc_view type = asc_json_str(asc_json_at(want, 0));
    const asc_json *shape = asc_json_at(want, 1), *values = asc_json_at(want, 2);
    if (!asc_view_eqs(type, asc_elem_name(a->elem))) fail_msg("%s: type %s", what, asc_elem_name(a->elem));
    assert_int_equal(a->shape.rank, asc_json_len(shape));
    for (int i = 0; i < a->shape.rank; i++)
        assert_int_equal(a->shape.dims[i], asc_json_int(asc_json_at(shape, (size_t)i), -1));
    assert_int_equal(asc_array_count(a), asc_json_len(values));
    for (size_t i = 0; i < asc_json_len(values); i++) {
        double v, w = asc_json_num(asc_json_at(values, i), NAN);
        asc_array_get(a, (int64_t)i, 1, &v);
        if (!(v == w)) fail_msg("%s[%zu] = %.17g, numpy says %.17g", what, i, v, w);
    }
}

static void compare_all(asc_ctx *ctx, const char *file, const asc_json *want) {
    asc_params *p;
    char name[256];
    snprintf(name, sizeof name, "arrays/%s", file);
    assert_ok(ctx, asc_params_create(ctx, &p));
    assert_ok(ctx, asc_params_load(p, test_data(name), "net."));
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    size_t n = 0;
    while (asc_json_next(want, &iter, &key, &v)) {
        snprintf(name, sizeof name, "net." ASC_VIEW_FMT, ASC_VIEW_ARG(key));
        int64_t i = asc_params_find(p, asc_view_of(name));
        if (i < 0) fail_msg("%s: no %s", file, name);
        compare(&p->entries[i].array, v, name);
        n++;
    }
    assert_int_equal(n, p->n);
    assert_int_equal(asc_params_load(p, test_data("arrays/stored.npz"), ""), ASC_OK);
    assert_int_equal(asc_params_load(p, test_data("arrays/packed.npz"), ""), ASC_ALREADY_EXISTS);
    assert_int_equal(p->n, n + 5); /* a file that fails leaves nothing */
    asc_params_destroy(p);
}

static void test_against_numpy(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    size_t n;
    char *text = slurp(ctx, "expected.json", &n);
    asc_json *root;
    assert_ok(ctx, asc_json_parse(ctx, text, n, &root));
    void *iter = NULL;
    asc_view file;
    const asc_json *v;
    int files = 0;
    while (asc_json_next(root, &iter, &file, &v)) {
        char name[128], path[256];
        snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(file));
        snprintf(path, sizeof path, "arrays/%s", name);
        files++;
        const asc_json *one = asc_json_get(v, "");
        if (one == NULL) {
            compare_all(ctx, name, v);
            continue;
        }
        asc_array a;
        assert_ok(ctx, asc_npy_read(ctx, test_data(path), &a));
        compare(&a, one, name);
        asc_array_free(ctx, &a);
    }
    assert_int_equal(files, 19);
    asc_json_free(root);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* What is written is byte for byte what numpy.save writes. */
static void test_written_as_numpy_does(void **state) {
    (void)state;
    const char *names[] = {"f64.npy", "big_i32.npy", "scalar.npy", "empty.npy", "bool.npy", "u8.npy"};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char path[TEST_TMP];
    int fd = mkstemp(test_tmp_name(path, "ascribe-npy-XXXXXX"));
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        asc_array a, b;
        char name[64];
        size_t n, m;
        snprintf(name, sizeof name, "arrays/%s", names[i]);
        assert_ok(ctx, asc_npy_read(ctx, test_data(name), &a));
        assert_ok(ctx, asc_npy_write(ctx, path, &a));
        char *want = slurp(ctx, names[i], &n), *got;
        assert_ok(ctx, asc_file_read(ctx, path, 1 << 20, &got, &m));
        if (i != 1) { /* numpy wrote this one big-endian */
            assert_int_equal(n, m);
            assert_memory_equal(want, got, n);
        }
        assert_ok(ctx, asc_npy_read(ctx, path, &b));
        assert_int_equal(a.elem, b.elem);
        assert_memory_equal(a.data, b.data, (size_t)asc_array_count(&a) * asc_elem_bytes(a.elem));
        asc_free(ctx, want);
        asc_free(ctx, got);
        asc_array_free(ctx, &a);
        asc_array_free(ctx, &b);
    }
    remove(path);
    test_ctx_end(ctx);
}

static void complains(asc_ctx *ctx, asc_status got, asc_status want, const char *words) {
    if (got != want || strstr(asc_error_message(ctx), words) == NULL)
        fail_msg("%s: '%s'; wanted %s with '%s'", asc_status_name(got), asc_error_message(ctx),
                 asc_status_name(want), words);
    assert_true(asc_error_hint(ctx)[0] != '\0');
}

static void test_bad_npy(void **state) {
    (void)state;
    static const struct {
        const char *head; /* behind the magic, version 1.0 and the length */
        size_t bytes;
        asc_status want;
        const char *words;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, ASC_DATA_LOSS, "asks for 8 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, ASC_DATA_LOSS, "the file has 9"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4), }", 0, ASC_DATA_LOSS,
         "more elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0, ASC_DATA_LOSS,
         "tuple of sizes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 0, ASC_DATA_LOSS, "tuple of sizes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1), }", 4, ASC_UNIMPLEMENTED,
         "more than 6"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", 12, ASC_DATA_LOSS, "no tuple"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", 4, ASC_DATA_LOSS, "no boolean"},
        {"{'descr': '<f4', 'fortran_order': False}", 4, ASC_DATA_LOSS, "lacks"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4, ASC_DATA_LOSS,
         "repeated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4, ASC_DATA_LOSS, "unknown"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} __import__('os')", 4, ASC_DATA_LOSS,
         "behind"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", 4, ASC_DATA_LOSS, "no dictionary"},
        {"[1]", 4, ASC_DATA_LOSS, "no dictionary"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8, ASC_UNIMPLEMENTED, "Python objects"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", 16, ASC_UNIMPLEMENTED, "'<f16'"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", 8, ASC_UNIMPLEMENTED, "dates"},
        {"{'descr': 7, 'fortran_order': False, 'shape': (1,)}", 8, ASC_DATA_LOSS, "no string"},
    };
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char file[512] = "\x93NUMPY\x01";
        size_t n = strlen(cases[i].head);
        asc_npy npy;
        file[8] = (char)n;
        memcpy(file + 10, cases[i].head, n);
        complains(ctx, asc_npy_parse(ctx, file, 10 + n + cases[i].bytes, &npy), cases[i].want,
                  cases[i].words);
    }
    static const struct {
        const char *name;
        asc_status want;
        const char *words;
    } files[] = {{"object.npy", ASC_UNIMPLEMENTED, "Python objects"},
                 {"complex.npy", ASC_UNIMPLEMENTED, "complex"},
                 {"record.npy", ASC_UNIMPLEMENTED, "structured"},
                 {"text.npy", ASC_UNIMPLEMENTED, "strings"},
                 {"stored.npz", ASC_DATA_LOSS, "zip file"},
                 {"expected.json", ASC_DATA_LOSS, "does not start"},
                 {"missing.npy", ASC_NOT_FOUND, "missing.npy"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[64];
        asc_array a;
        snprintf(name, sizeof name, "arrays/%s", files[i].name);
        complains(ctx, asc_npy_read(ctx, test_data(name), &a), files[i].want, files[i].words);
    }
    asc_npy npy;
    complains(ctx, asc_npy_parse(ctx, "\x80\x04\x95 pickle", 10, &npy), ASC_UNIMPLEMENTED, "pickle");
    complains(ctx, asc_npy_parse(ctx, "\x93NUMPY\x04\x00....", 12, &npy), ASC_UNIMPLEMENTED, "version 4.0");
    complains(ctx, asc_npy_parse(ctx, "\x93NUMPY\x02\x00\x00\x00\x01\x01", 12, &npy), ASC_RESOURCE_EXHAUSTED,
              "limit");
    test_ctx_end(ctx);
}

static asc_status ignore(void *self, asc_view name, const asc_array *a, bool take_array) {
    asc_array mine = *a;
    double last;
    int64_t n = asc_array_count(a);
    (void)name;
    if (n > 0) asc_array_get(a, n - 1, 1, &last);
    if (take_array) asc_array_free(self, &mine);
    return ASC_OK;
}

static void test_bad_safetensors(void **state) {
    (void)state;
    static const struct {
        const char *json;
        size_t bytes;
        asc_status want;
        const char *words;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7, ASC_DATA_LOSS,
         "do not agree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, ASC_DATA_LOSS,
         "belong to no tensor"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[1,9]}}", 9, ASC_DATA_LOSS, "gap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, ASC_DATA_LOSS, "'a'"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, ASC_DATA_LOSS,
         "do not agree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, ASC_DATA_LOSS, "no sizes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}", 8, ASC_DATA_LOSS, "no sizes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
         ASC_DATA_LOSS, "agree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, ASC_UNIMPLEMENTED,
         "7 dim"},
        {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, ASC_UNIMPLEMENTED,
         "F8_E4M3"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}", 2, ASC_DATA_LOSS, "lacks"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\",\"shape\":["
         "2],"
         "\"data_offsets\":[1,3]}}",
         3, ASC_DATA_LOSS, "overlap"},
        {"{\"a\":1}", 0, ASC_DATA_LOSS, "lacks"},
        {"{\"a\":", 0, ASC_DATA_LOSS, "JSON"},
        {"[]", 0, ASC_DATA_LOSS, "no JSON object"},
    };
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_array_sink sink = {ignore, ctx};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char file[512] = "";
        size_t n = strlen(cases[i].json);
        file[0] = (char)n;
        memcpy(file + 8, cases[i].json, n);
        complains(ctx, asc_safetensors_parse(ctx, file, 8 + n + cases[i].bytes, &sink), cases[i].want,
                  cases[i].words);
    }
    complains(ctx, asc_safetensors_parse(ctx, "\0\0\0\0\0\1\0\0{}", 10, &sink), ASC_RESOURCE_EXHAUSTED,
              "limit");
    complains(ctx, asc_safetensors_parse(ctx, "\3\0\0\0\0\0\0\0{}", 10, &sink), ASC_DATA_LOSS,
              "inside its header");
    complains(ctx, asc_safetensors_parse(ctx, "\3\0", 2, &sink), ASC_DATA_LOSS, "no header");
    test_ctx_end(ctx);
}

/* A good file with bytes written over one place. */
static void patched(asc_ctx *ctx, const char *name, const char *find, int skip, const char *bytes,
                    size_t n_bytes, asc_status want, const char *words) {
    asc_array_sink sink = {ignore, ctx};
    size_t n, at = 0;
    char *p = slurp(ctx, name, &n);
    while (at + 4 <= n && memcmp(p + at, find, 4) != 0) at++;
    assert_true(at + 4 <= n);
    memcpy(p + at + skip, bytes, n_bytes);
    complains(ctx, asc_npz_parse(ctx, p, n, &sink), want, words);
    asc_free(ctx, p);
}

static void test_bad_npz(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    patched(ctx, "stored.npz", "PK\1\2", 8, "\1", 1, ASC_UNIMPLEMENTED, "encrypted");
    patched(ctx, "stored.npz", "PK\1\2", 10, "\x0C", 1, ASC_UNIMPLEMENTED, "another method");
    patched(ctx, "stored.npz", "PK\1\2", 16, "\1\2", 2, ASC_DATA_LOSS, "checksum");
    patched(ctx, "packed.npz", "PK\1\2", 16, "\1\2", 2, ASC_DATA_LOSS, "member 'w.npy': zip: the checksum");
    patched(ctx, "stored.npz", "PK\1\2", 20, "\xFF\xFF\xFF\x7F", 4, ASC_DATA_LOSS, "behind the file");
    patched(ctx, "packed.npz", "PK\1\2", 24, "\xFF\xFF\xFF\x7F", 4, ASC_DATA_LOSS, "sizes");
    patched(ctx, "packed.npz", "PK\1\2", 24, "\x10", 1, ASC_DATA_LOSS, "inflate");
    patched(ctx, "stored.npz", "PK\1\2", 42, "\xFF\xFF", 2, ASC_DATA_LOSS, "not where");
    patched(ctx, "stored.npz", "PK\1\2", 28, "\xFF\xFF", 2, ASC_DATA_LOSS, "too early");
    patched(ctx, "stored.npz", "PK\1\2", 50, "x", 1, ASC_UNIMPLEMENTED, "no .npy file");
    patched(ctx, "stored.npz", "PK\5\6", 10, "\x50", 1, ASC_DATA_LOSS, "too early");
    patched(ctx, "stored.npz", "PK\5\6", 16, "\xFF\xFF\xFF", 3, ASC_DATA_LOSS, "outside");
    patched(ctx, "stored.npz", "PK\5\6", 0, "X", 1, ASC_DATA_LOSS, "no directory");
    test_ctx_end(ctx);
}

/* Every cut of a good file is refused; every single changed byte is survived. */
static void test_cuts_and_flips(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    const char *names[] = {"stored.npz", "packed.npz", "all.safetensors"};
    asc_array_sink sink = {ignore, ctx};
    for (int k = 0; k < 3; k++) {
        size_t n;
        char *p = slurp(ctx, names[k], &n);
        for (size_t cut = 0; cut < n; cut++) {
            asc_status st =
                k < 2 ? asc_npz_parse(ctx, p, cut, &sink) : asc_safetensors_parse(ctx, p, cut, &sink);
            assert_int_not_equal(st, ASC_OK);
            assert_true(asc_error_hint(ctx)[0] != '\0');
        }
        for (size_t i = 0; i < n; i++) {
            char old = p[i];
            for (int bit = 0; bit < 8; bit += 3) {
                p[i] = (char)(old ^ 1 << bit);
                asc_status st =
                    k < 2 ? asc_npz_parse(ctx, p, n, &sink) : asc_safetensors_parse(ctx, p, n, &sink);
                assert_true(st == ASC_OK || asc_error_hint(ctx)[0] != '\0');
            }
            p[i] = old;
        }
        asc_free(ctx, p);
    }
    test_ctx_end(ctx);
}

static void test_starved(void **state) {
    (void)state;
    const char *names[] = {"arrays/packed.npz", "arrays/all.safetensors", "arrays/fortran.npy"};
    for (int k = 0; k < 3; k++) {
        bool over = false;
        for (long fail = 1; !over; fail++) {
            test_alloc a = {0};
            asc_ctx_options o = {
                .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
            asc_ctx *ctx = NULL;
            asc_params *p = NULL;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            a.fail_at = a.count + fail;
            asc_status st = asc_params_create(ctx, &p);
            if (st == ASC_OK) st = asc_params_load(p, test_data(names[k]), "x");
            over = a.count < a.fail_at;
            a.fail_at = 0;
            assert_int_equal(st, over ? ASC_OK : ASC_RESOURCE_EXHAUSTED);
            asc_params_destroy(p);
            asc_ctx_destroy(ctx);
            assert_int_equal(a.live, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_numpy), cmocka_unit_test(test_written_as_numpy_does),
        cmocka_unit_test(test_bad_npy),       cmocka_unit_test(test_bad_safetensors),
        cmocka_unit_test(test_bad_npz),       cmocka_unit_test(test_cuts_and_flips),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
