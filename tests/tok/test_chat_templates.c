/* test_chat_templates.c - templates of many model families over many conversations: byte for byte what jinja2
 * renders (tests/data/templates, made by scripts/refs/chat_templates.py), and refused where jinja2 fails. */
#include "file.h"
#include "golden_line.h"
#include "jinja_json.h"

static asc_status render(asc_ctx *ctx, asc_view template, const asc_json *vars, asc_jinja *j) {
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    asc_status st = ASC_OK;
    asc_jinja_init(j, ctx);
    while (st == ASC_OK && asc_json_next(vars, &iter, &key, &item)) {
        asc_jinja_value v;
        st = asc_jinja_from_json(j, item, &v);
        if (st == ASC_OK) st = asc_jinja_set_global(j, key.ptr, &v);
    }
    return st == ASC_OK ? asc_jinja_render(j, template) : st;
}

static size_t first_difference(asc_view a, asc_view b) {
    size_t i = 0;
    while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i]) i++;
    return i;
}

static void as_jinja2(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *file = NULL, *template = NULL, open[64] = "";
    size_t len = 0, n_template = 0, count = 0, bad = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("templates/rendered.jsonl"), 1 << 26, &file, &len));
    asc_view rest = {file, len};
    asc_json *head = golden_next(ctx, &rest), *row;
    assert_non_null(head);
    for (; (row = golden_next(ctx, &rest)) != NULL; count++) {
        asc_view name = asc_json_str(asc_json_get(row, "template")),
                 want = asc_json_str(asc_json_get(row, "expected"));
        int64_t i = asc_json_int(asc_json_get(row, "case"), -1);
        const asc_json *vars = asc_json_at(asc_json_get(head, "cases"), (size_t)i);
        asc_jinja j;
        if (!asc_view_eqs(name, open)) {
            char rel[128];
            asc_free(ctx, template);
            snprintf(open, sizeof open, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
            snprintf(rel, sizeof rel, "templates/%s", open);
            assert_ok(ctx, asc_file_read(ctx, test_data(rel), 1 << 20, &template, &n_template));
        }
        asc_status st = render(ctx, (asc_view){template, n_template}, vars, &j);
        asc_view got = asc_strbuf_view(&j.out);
        /* a method that Python does not have either is "not supported" here */
        bool refused = st == ASC_INVALID_ARGUMENT || st == ASC_UNIMPLEMENTED;
        bool same = want.ptr == NULL ? refused : st == ASC_OK && asc_view_eq(got, want);
        if (!same) {
            size_t at = first_difference(got, want);
            bad++;
            fprintf(stderr, "%s, case %d: %s, differs from byte %zu on\n", open, (int)i,
                    st == ASC_OK ? "rendered" : asc_error_message(ctx), at);
        }
        asc_jinja_deinit(&j);
        asc_json_free(row);
    }
    assert_true(count > 900);
    assert_int_equal(bad, 0);
    asc_json_free(head);
    asc_free(ctx, template);
    asc_free(ctx, file);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_jinja2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
