/* test_inputs.c - tables and bytes: values against Python's csv module and the magika program, every kind of
 * malformed table with its complaint, memory that runs out. */
#include "harness.h"
#include "ascribe/inputs.h"
#include "file.h"
#include "hash.h"
#include "view.h"

static void test_cases(void **state) {
    (void)state;
    static const char *const wanted[] = {
        "a", "b c", "with \"quotes\"", "comma, inside", "line\nbreak", "gr\xc3\xbc\xc3\x9f"};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char *text = NULL, *rest;
    size_t n;
    int ran = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("inputs/cases.txt"), 1 << 20, &text, &n));
    rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char op[16], name[32], path[64], sha[65], hex[65];
        int size;
        if (sscanf(line, "%15s %31s %d %64s", op, name, &size, sha) != 4 || op[0] == '#') continue;
        snprintf(path, sizeof path, "inputs/%s", name);
        if (strcmp(op, "csv") == 0) {
            asc_table t;
            assert_ok(ctx, asc_csv_read(ctx, test_data(path), wanted, 6, &t));
            assert_int_equal(t.values.shape.dims[0], size);
            assert_int_equal(t.n_columns, 6);
            for (size_t i = 0; i < 6; i++) assert_string_equal(t.names[i], wanted[i]);
            asc_sha256_hex(t.values.data, (size_t)size * 6 * sizeof(double), hex);
            asc_table_free(ctx, &t);
        } else {
            asc_array a, at;
            assert_ok(ctx, asc_bytes_to_array(ctx, test_data(path), op, &a, &at));
            assert_int_equal(a.shape.dims[1], 2048);
            asc_sha256_hex(a.data, 2048 * sizeof(int32_t), hex);
            asc_array_free(ctx, &a);
            asc_array_free(ctx, &at);
        }
        if (strcmp(hex, sha) != 0) fail_msg("%s: other values", line);
        ran++;
    }
    assert_int_equal(ran, 9);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* Every number says where its byte is in the file. */
static void test_offsets(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char *data = NULL;
    size_t n;
    assert_ok(ctx, asc_file_read(ctx, test_data("inputs/json_long.bin"), 1 << 20, &data, &n));
    static const char *const presets[] = {"magika", "raw"};
    for (int p = 0; p < 2; p++) {
        asc_array a, at;
        assert_ok(ctx, asc_bytes_encode(ctx, data, n, presets[p], &a, &at));
        const int32_t *id = a.data;
        const int64_t *offset = at.data;
        assert_int_equal(at.shape.dims[0], a.shape.dims[1]);
        if (p == 1) assert_int_equal(a.shape.dims[1], n);
        for (int64_t i = 0; i < a.shape.dims[1]; i++)
            if (offset[i] < 0)
                assert_int_equal(id[i], 256);
            else
                assert_int_equal(id[i], (unsigned char)data[offset[i]]);
        asc_array_free(ctx, &a);
        asc_array_free(ctx, &at);
    }
    asc_array a;
    assert_int_equal(asc_bytes_encode(ctx, data, n, "magica", &a, NULL), ASC_NOT_FOUND);
    assert_int_equal(asc_bytes_encode(ctx, data, 0, "raw", &a, NULL), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_bytes_to_array(ctx, test_data("inputs/none"), "raw", &a, NULL), ASC_NOT_FOUND);
    asc_free(ctx, data);
    test_ctx_end(ctx);
}

static void test_good_tables(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const struct {
        const char *text;
        int rows, cols;
        double last;
    } rows[] = {{"a,b\n1,2\n3,4\n", 2, 2, 4},
                {"a,b\r\n1,2\r\n3,4.5", 2, 2, 4.5},
                {"a,b\r1,2\r3,-4e-2\r", 2, 2, -4e-2},
                {"\xef\xbb\xbf\n\na\n\n1\n\n2\n\n", 2, 1, 2},
                {"\"a\"\"b\",\"c\n,d\"\n\"1\", +.5 \n", 1, 2, .5},
                {",x\n0,1.\n", 1, 2, 1},
                {"a\n1e-400\n", 1, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_table t;
        assert_ok(ctx, asc_csv_parse(ctx, asc_view_of(rows[i].text), NULL, 0, &t));
        assert_int_equal(t.values.shape.dims[0], rows[i].rows);
        assert_int_equal(t.values.shape.dims[1], rows[i].cols);
        double last = ((const double *)t.values.data)[rows[i].rows * rows[i].cols - 1];
        assert_memory_equal(&last, &rows[i].last, sizeof last);
        asc_table_free(ctx, &t);
    }
    static const char *const order[] = {"c", "a"};
    asc_table t;
    assert_ok(ctx, asc_csv_parse(ctx, asc_view_of("a,b,c\n1,text,3\n4,,6\n"), order, 2, &t));
    static const double wanted[] = {3, 1, 6, 4};
    assert_memory_equal(t.values.data, wanted, sizeof wanted);
    assert_string_equal(t.names[0], "c");
    asc_table_free(ctx, &t);
    test_ctx_end(ctx);
}

static void test_malformed_tables(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const struct {
        const char *text, *says;
        size_t len; /* 0 = up to the NUL */
        asc_status st;
    } rows[] = {
        {"", "empty table", 0, ASC_INVALID_ARGUMENT},
        {"\n\n\r\n", "empty table", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n", "no rows", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1,2\n3\n", "line 3 has 1 fields, the header has 2", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1,2,3\n", "line 2 has at least 3 fields", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1,2,\n", "line 2 has at least 3 fields", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1,x\n", "line 2, column 2 'b': not a number: 'x'", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1,2\ny,2\n", "line 3, column 1 'a': not a number: 'y'", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1,\n", "line 2, column 2 'b': a missing value", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n ,1\n", "line 2, column 1 'a': a missing value", 0, ASC_INVALID_ARGUMENT},
        {"a\nnan\n", "not a number: 'nan'", 0, ASC_INVALID_ARGUMENT},
        {"a\ninf\n", "not a number", 0, ASC_INVALID_ARGUMENT},
        {"a\n0x10\n", "not a number", 0, ASC_INVALID_ARGUMENT},
        {"a\n1e\n", "not a number", 0, ASC_INVALID_ARGUMENT},
        {"a\n1.2.3\n", "not a number", 0, ASC_INVALID_ARGUMENT},
        {"a\n1e999\n", "too large", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n\"1,2\n", "line 2, column 1: a quote that nothing closes", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n\"1\"x,2\n", "text behind a closing quote", 0, ASC_INVALID_ARGUMENT},
        {"a,b\n1\"x,2\n", "a quote in the middle", 0, ASC_INVALID_ARGUMENT},
        {"a,a\n1,2\n", "two columns are called 'a'", 0, ASC_INVALID_ARGUMENT},
        {"1,2\n3,4\n", "numbers only", 0, ASC_INVALID_ARGUMENT},
        {"a;b\n1;2\n", "not separated by commas", 0, ASC_INVALID_ARGUMENT},
        {"a\tb\n1\t2\n", "not separated by commas", 0, ASC_INVALID_ARGUMENT},
        {"a\n1\0002\n", "NUL byte", 6, ASC_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_table t;
        asc_view v = asc_view_make(rows[i].text, rows[i].len > 0 ? rows[i].len : strlen(rows[i].text));
        asc_status st = asc_csv_parse(ctx, v, NULL, 0, &t);
        if (st != rows[i].st || strstr(asc_error_message(ctx), rows[i].says) == NULL)
            fail_msg("table %zu: %s: %s", i, asc_status_name(st), asc_error_message(ctx));
        assert_null(t.values.data);
        assert_null(t.names);
    }
    static const char *const none[] = {"zz"}, *const twice[] = {"a", "a"};
    asc_table t;
    assert_int_equal(asc_csv_parse(ctx, asc_view_of("a,b\n1,2\n"), none, 1, &t), ASC_NOT_FOUND);
    assert_non_null(strstr(asc_error_hint(ctx), "'a', 'b'"));
    assert_int_equal(asc_csv_parse(ctx, asc_view_of("a,b\n1,2\n"), twice, 2, &t), ASC_INVALID_ARGUMENT);
    char *wide = malloc(3 * 70000 + 8);
    size_t at = 0;
    for (int i = 0; i < 70000; i++) wide[at++] = 'c', wide[at++] = ',';
    assert_int_equal(asc_csv_parse(ctx, asc_view_make(wide, at), NULL, 0, &t), ASC_RESOURCE_EXHAUSTED);
    memset(wide, 'x', 70000);
    assert_int_equal(asc_csv_parse(ctx, asc_view_make(wide, 70000), NULL, 0, &t), ASC_RESOURCE_EXHAUSTED);
    free(wide);
    assert_int_equal(asc_csv_read(ctx, test_data("inputs/none.csv"), NULL, 0, &t), ASC_NOT_FOUND);
    assert_int_equal(asc_csv_read(ctx, test_data("inputs/table.csv"), NULL, 0, &t), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "'remark'"));
    assert_non_null(strstr(asc_error_message(ctx), "table.csv"));
    test_ctx_end(ctx);
}

static void test_out_of_memory(void **state) {
    (void)state;
    bool done = false;
    for (long at = 1; !done; at++) {
        test_alloc a = {0};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx = NULL;
        asc_table t;
        asc_array b, off = {0};
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        a.count = 0;
        a.fail_at = at;
        asc_status st = asc_csv_parse(ctx, asc_view_of("a,b,c,d\n1,2,3,4\n5,6,7,8\n"), NULL, 0, &t);
        asc_table_free(ctx, &t);
        if (st == ASC_OK) {
            st = asc_bytes_encode(ctx, "abc", 3, "magika", &b, &off);
            asc_array_free(ctx, &b);
            asc_array_free(ctx, &off);
        }
        if (st != ASC_OK) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        done = a.count < at;
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_offsets), cmocka_unit_test(test_good_tables),
        cmocka_unit_test(test_malformed_tables), cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
