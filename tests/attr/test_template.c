/* test_template.c - placeholders and their values. What good templates become is what Python's str.format
 * makes of them (checked by hand against it); odd ones say where. */
#include "ascribe/template.h"
#include "harness.h"
#include "view.h"
#include <string.h>

static void fills_as_python_does(void **state) {
    (void)state;
    static const asc_template_value named[] = {{.name = {"a", 1}, .text = {"one", 3}, .group = -1},
                                               {.name = {"b c", 3}, .text = {"{two}", 5}, .group = -1}},
                                    placed[] = {{.text = {"x", 1}, .group = -1},
                                                {.text = {"yy", 2}, .group = -1}};
    static const struct {
        const char *text;
        const asc_template_value *values;
        const char *want;
        size_t n_slots;
        size_t starts[3];
        int features[3];
    } cases[] = {{"{a} and {b c}", named, "one and {two}", 2, {0, 8}, {0, 1}},
                 {"{{{a}}} {b c}{a}", named, "{one} {two}one", 3, {1, 6, 11}, {0, 1, 0}},
                 {"{} b {}", placed, "x b yy", 2, {0, 4}, {0, 1}},
                 {"{1}{0}{1}", placed, "yyxyy", 3, {0, 2, 3}, {0, 1, 0}}};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_template t;
        assert_ok(ctx, asc_template_fill(ctx, asc_view_of(cases[i].text), cases[i].values, 2, &t));
        assert_string_equal(t.text, cases[i].want);
        assert_int_equal(t.n_slots, cases[i].n_slots);
        for (size_t k = 0; k < t.n_slots; k++) {
            assert_int_equal(t.slots[k].start, cases[i].starts[k]);
            assert_int_equal(t.slots[k].feature, cases[i].features[k]);
        }
        asc_template_free(ctx, &t);
    }
    test_ctx_end(ctx);
}

static void odd_templates_say_where(void **state) {
    (void)state;
    static const asc_template_value v[] = {{.name = {"a", 1}, .text = {"one", 3}, .group = -1},
                                           {.text = {"x", 1}, .group = -1}},
                                    void_value[] = {{.name = {"a", 1}, .text = {"", 0}, .group = -1}},
                                    twice[] = {{.name = {"a", 1}, .text = {"one", 3}, .group = -1},
                                               {.name = {"a", 1}, .text = {"two", 3}, .group = -1}};
    static const struct {
        const char *text;
        const asc_template_value *values;
        size_t n;
        const char *message;
    } cases[] = {{"x {a", v, 1, "line 1, column 3: a placeholder that is not closed"},
                 {"x\n {a} } y", v, 1, "line 2, column 6: a single '}'"},
                 {"{a{b}}", v, 1, "column 3: a placeholder inside another"},
                 {"{a} {zz}", v, 1, "no value for the placeholder {zz}"},
                 {"{a} {a!r}", v, 1, "more than a name"},
                 {"{a} {a:>8}", v, 1, "more than a name"},
                 {"{a} {a.b}", v, 1, "more than a name"},
                 {"{a} {a[0]}", v, 1, "more than a name"},
                 {"{a} {} {}", v, 2, "no value number 1: there are 1"},
                 {"{a} {99999999999999999999}", v, 2, "no value number"},
                 {"{a} {} {0}", v, 2, "{} and {0} in one template"},
                 {"{}", v, 2, "no placeholder takes the value 'a'"},
                 {"{a}", v, 2, "no placeholder takes value number 0"},
                 {"{a}", twice, 2, "two values for the placeholder {a}"},
                 {"{a}", void_value, 1, "is empty"}};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_template t;
        asc_status st = asc_template_fill(ctx, asc_view_of(cases[i].text), cases[i].values, cases[i].n, &t);
        if (st != ASC_INVALID_ARGUMENT || strstr(asc_error_message(ctx), cases[i].message) == NULL)
            fail_msg("'%s': %s", cases[i].text, asc_error_message(ctx));
        assert_true(asc_error_hint(ctx)[0] != '\0');
        assert_null(t.text);
    }
    test_ctx_end(ctx);
}

static void values_come_as_lists_or_objects(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_template_values v;
    assert_ok(ctx,
              asc_template_values_parse(
                  ctx,
                  asc_view_of(
                      "{\"a\": \"x\", \"b\": {\"value\": \"y\", \"baseline\": [\"p\", \"\"], \"group\": 3}, "
                      "\"c\": {\"value\": \"z\", \"group\": 3}}"),
                  &v));
    assert_int_equal(v.n, 3);
    asc_template t;
    assert_ok(ctx, asc_template_fill(ctx, asc_view_of("{b}{a}{c}"), v.v, v.n, &t));
    assert_string_equal(t.text, "yxz");
    assert_int_equal(t.slots[0].feature, t.slots[2].feature);
    assert_int_not_equal(t.slots[0].feature, t.slots[1].feature);
    assert_int_equal(t.slots[0].n_baselines, 2);
    asc_template_free(ctx, &t);
    asc_template_values_free(ctx, &v);
    static const struct {
        const char *json, *message;
    } bad[] = {{"3", "neither a list nor an object"},
               {"[3]", "value 0: it is neither"},
               {"{\"a\": {}}", "value 'a': its \"value\" is no string"},
               {"{\"a\": {\"value\": \"x\", \"baseline\": []}}", "is empty"},
               {"{\"a\": {\"value\": \"x\", \"baseline\": [1]}}", "a baseline is no string"},
               {"{\"a\": {\"value\": \"x\", \"group\": -1}}", "\"group\" is no number"},
               {"{\"a\"", ""}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_status st = asc_template_values_parse(ctx, asc_view_of(bad[i].json), &v);
        if (st == ASC_OK || strstr(asc_error_message(ctx), bad[i].message) == NULL)
            fail_msg("%s: %s", bad[i].json, asc_error_message(ctx));
        assert_int_equal(v.n, 0);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fills_as_python_does),
                                       cmocka_unit_test(odd_templates_say_where),
                                       cmocka_unit_test(values_come_as_lists_or_objects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
