/* test_jinja.c - the template engine against rows printed by jinja2 (tests/data/jinja_cases.jsonl, made by
 * scripts/refs/jinja_cases.py), errors with their places, limits, cancellation, failing allocations. */
#include "file.h"
#include "harness.h"
#include "jinja_json.h"

/* Renders with the members of `vars` as variables. On success the text is copied to *out (free with
 * asc_free). */
static asc_status render(asc_ctx *ctx, asc_view template, const asc_json *vars,
                         const asc_jinja_limits *limits, char **out, size_t *len) {
    asc_jinja j;
    asc_status st = ASC_OK;
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    asc_jinja_init(&j, ctx);
    if (limits != NULL) j.limits = *limits;
    while (st == ASC_OK && asc_json_next(vars, &iter, &key, &item)) {
        asc_jinja_value v;
        st = asc_jinja_from_json(&j, item, &v);
        if (st == ASC_OK) st = asc_jinja_set_global(&j, key.ptr, &v);
    }
    if (st == ASC_OK) st = asc_jinja_render(&j, template);
    if (st == ASC_OK && out != NULL) {
        *out = asc_strbuf_take(&j.out, len);
        if (*out == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    asc_jinja_deinit(&j);
    return st;
}

static asc_json *line_at(asc_ctx *ctx, const char *p, const char *end, const char **next) {
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    asc_json *row = NULL;
    *next = nl != NULL ? nl + 1 : end;
    assert_ok(ctx, asc_json_parse(ctx, p, (size_t)((nl != NULL ? nl : end) - p), &row));
    return row;
}

static void rows_of_jinja2(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_map m;
    size_t n = 0, bad = 0;
    assert_ok(ctx, asc_map_open(ctx, test_data("jinja_cases.jsonl"), &m));
    const char *p = (const char *)m.data, *end = p + m.size;
    asc_json *first = line_at(ctx, p, end, &p);
    while (p < end) {
        asc_json *row = line_at(ctx, p, end, &p);
        asc_view t = asc_json_str(asc_json_get(row, "template")),
                 want = asc_json_str(asc_json_get(row, "expected"));
        char *got = NULL;
        size_t len = 0;
        asc_status st = render(ctx, t, asc_json_get(first, "vars"), NULL, &got, &len);
        bool fails = asc_json_bool(asc_json_get(row, "fails"), false);
        bool ok =
            fails ? st == ASC_INVALID_ARGUMENT : st == ASC_OK && asc_view_eq(asc_view_make(got, len), want);
        if (!ok) {
            print_message("template " ASC_VIEW_FMT "\n  wanted " ASC_VIEW_FMT "\n  got %s %s\n",
                          ASC_VIEW_ARG(t), ASC_VIEW_ARG(want), asc_status_name(st),
                          st == ASC_OK ? got : asc_error_message(ctx));
            bad++;
        }
        n++;
        asc_free(ctx, got);
        asc_json_free(row);
    }
    asc_json_free(first);
    asc_map_close(ctx, &m);
    assert_true(n >= 80);
    assert_int_equal(bad, 0);
    test_ctx_end(ctx);
}

typedef struct bad_row {
    const char *template;
    asc_status code;
    const char *says; /* part of the message */
} bad_row;

static void errors_name_the_place(void **state) {
    (void)state;
    static const bad_row rows[] = {
        {"{{ a }}\n  {{ nope.x }}", ASC_INVALID_ARGUMENT, "line 2, column 11: 'nope' is undefined"},
        {"\xC3\xA9 {{ 1 + 'x' }}", ASC_INVALID_ARGUMENT, "line 1, column 8: '+' cannot join a int and a str"},
        {"{{ {'a': 1}.b.c }}", ASC_INVALID_ARGUMENT, "the dict has no 'b'"},
        {"{% if 1 %}", ASC_INVALID_ARGUMENT, "column 11: expected {% endif %}, the template ends here"},
        {"{% for x in y %}{% endif %}", ASC_INVALID_ARGUMENT, "column 20: 'endif' closes nothing"},
        {"{{ 'abc }}", ASC_INVALID_ARGUMENT, "column 4: this string has no closing quote"},
        {"a {{ b", ASC_INVALID_ARGUMENT, "column 3: this tag is not closed by }}"},
        {"{# ", ASC_INVALID_ARGUMENT, "column 1: this comment is not closed"},
        {"{{ a b }}", ASC_INVALID_ARGUMENT, "column 6: expected an operator or '}}', found 'b'"},
        {"{{ raise_exception('No system ' ~ 'role!') }}", ASC_INVALID_ARGUMENT, "No system role!"},
        {"{{ 99999999999999999999 }}", ASC_OUT_OF_RANGE, "over 64 bits"},
        {"{{ 9223372036854775807 + 1 }}", ASC_OUT_OF_RANGE, "over 64 bits"},
        {"{{ '\\ud800' }}", ASC_INVALID_ARGUMENT, "is no character"},
        {"{% break %}", ASC_INVALID_ARGUMENT, "'break' outside of a for"},
        {"\xFF", ASC_INVALID_ARGUMENT, "not valid UTF-8"},
        {"{{ a\x01 }}", ASC_INVALID_ARGUMENT, "unexpected character 0x01"},
        {"{% include 'x' %}", ASC_UNIMPLEMENTED, "column 4: the statement 'include' is not supported"},
        {"{% import 'x' as y %}", ASC_UNIMPLEMENTED, "the statement 'import'"},
        {"{% extends 'x' %}", ASC_UNIMPLEMENTED, "the statement 'extends'"},
        {"{% block a %}{% endblock %}", ASC_UNIMPLEMENTED, "the statement 'block'"},
        {"x\n{{ a|wordwrap }}", ASC_UNIMPLEMENTED,
         "line 2, column 6: the filter 'wordwrap' is not supported"},
        {"{{ 1 is sameas 1 }}", ASC_UNIMPLEMENTED, "the test 'sameas'"},
        {"{{ 'a'.strip }}", ASC_UNIMPLEMENTED, "the method without a call 'strip'"},
        {"{{ [1]|map('string') }}", ASC_UNIMPLEMENTED, "printing a generator is not supported"},
        {"{{ 'a'.replace('', 'b') }}", ASC_UNIMPLEMENTED, "replacement"},
        {"{{ [1].append(2) }}", ASC_UNIMPLEMENTED, "the method of list 'append'"},
        {"{{ 'a'.swapcase() }}", ASC_UNIMPLEMENTED, "the method of str 'swapcase'"},
        {"{{ 2 ** 3 }}", ASC_UNIMPLEMENTED, "the operator '**'"},
        {"{{ '%s' % 1 }}", ASC_UNIMPLEMENTED, "string formatting"},
        {"{{ range(*[1]) }}", ASC_UNIMPLEMENTED, "the argument unpacking '*'"},
        {"{{ 0x1F }}", ASC_UNIMPLEMENTED, "number notation"},
        {"{{ '\\N{DASH}' }}", ASC_UNIMPLEMENTED, "the escape '\\N'"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_status st = render(ctx, asc_view_of(rows[i].template), NULL, NULL, NULL, NULL);
        if (st != rows[i].code || strstr(asc_error_message(ctx), rows[i].says) == NULL)
            fail_msg("%s: %s: %s", rows[i].template, asc_status_name(st), asc_error_message(ctx));
    }
    test_ctx_end(ctx);
}

static char *repeated(const char *unit, size_t n, const char *tail) {
    size_t len = strlen(unit);
    char *p = malloc(len * n + strlen(tail) + 1);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) memcpy(p + i * len, unit, len);
    strcpy(p + n * len, tail);
    return p;
}

static void expect_limit(asc_ctx *ctx, const char *template, const asc_jinja_limits *limits,
                         const char *name) {
    asc_status st = render(ctx, asc_view_of(template), NULL, limits, NULL, NULL);
    if (st != ASC_RESOURCE_EXHAUSTED || strstr(asc_error_message(ctx), name) == NULL)
        fail_msg("%.60s: %s: %s", template, asc_status_name(st), asc_error_message(ctx));
}

static void limits_are_named(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    const asc_jinja_limits small = {1000, 20, 5000, 1000, 100000};
    static const struct {
        const char *open, *unit, *tail;
    } deep[] = {
        {"{{ ", "(", ")"},          {"{{ ", "[", "]"}, {"{{ ", "x[", "]"},     {"{{ ", "{1:", "}"},
        {"{{ ", "not ", ""},        {"{{ ", "- ", ""}, {"", "{% if 1 %}", ""}, {"", "{% for a in b %}", ""},
        {"{{ ", "1 if 1 else ", ""}};
    char *t = repeated("x", 1001, "");
    expect_limit(ctx, t, &small, "ASC_JINJA_MAX_TEMPLATE");
    free(t);
    t = repeated("x", ASC_JINJA_MAX_TEMPLATE + 1, "");
    expect_limit(ctx, t, NULL, "ASC_JINJA_MAX_TEMPLATE");
    free(t);
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        char *tail = repeated(deep[i].tail, 3000, deep[i].open[0] == '{' ? " }}" : "");
        char *many = repeated(deep[i].unit, 3000, tail);
        t = repeated(deep[i].open, 1, many);
        expect_limit(ctx, t, NULL, "ASC_JINJA_MAX_DEPTH");
        free(t);
        free(many);
        free(tail);
    }
    t = repeated(".a", 3000, " }}");
    char *chain = repeated("{{ a", 1, t);
    expect_limit(ctx, chain, NULL, "ASC_JINJA_MAX_DEPTH");
    free(chain);
    free(t);
    t = repeated("{% set x = [x] %}", 300, "");
    expect_limit(ctx, t, NULL, "ASC_JINJA_MAX_DEPTH");
    free(t);
    expect_limit(ctx, "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", NULL,
                 "ASC_JINJA_MAX_STEPS");
    expect_limit(ctx, "{% for a in range(60) %}{% for b in range(99) %}{% endfor %}{% endfor %}", &small,
                 "ASC_JINJA_MAX_STEPS");
    expect_limit(ctx, "{{ range(99999999999) }}", NULL, "ASC_JINJA_MAX_");
    expect_limit(ctx, "{{ [1] * 9999999999999 }}", NULL, "ASC_JINJA_MAX_");
    expect_limit(ctx, "{{ 'x' * 1001 }}", &small, "ASC_JINJA_MAX_OUTPUT");
    expect_limit(ctx, "{{ 'x' * 99999999999 }}", NULL, "ASC_JINJA_MAX_");
    expect_limit(ctx, "{% for a in range(99) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}", &small,
                 "ASC_JINJA_MAX_OUTPUT");
    expect_limit(ctx, "{% set s = 'x' %}{{ range(4000)|list }}", &small, "ASC_JINJA_MAX_MEMORY");
    t = repeated("1,", 40, ")}}");
    chain = repeated("{{ range(", 1, t);
    expect_limit(ctx, chain, NULL, "ASC_JINJA_MAX_ARGS");
    free(chain);
    free(t);
    expect_limit(ctx, "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", NULL, "ASC_JINJA_MAX_CALLS");
    expect_limit(ctx, "{% macro f(a=f()) %}{% endmacro %}{{ f() }}", NULL, "ASC_JINJA_MAX_CALLS");
    /* Long chains cost no depth. */
    t = repeated("~ 'y'", 5000, " }}");
    chain = repeated("{{ 'x' ", 1, t);
    char *got = NULL;
    size_t len = 0;
    assert_ok(ctx, render(ctx, asc_view_of(chain), NULL, NULL, &got, &len));
    assert_int_equal(len, 5001);
    asc_free(ctx, got);
    free(chain);
    free(t);
    test_ctx_end(ctx);
}

static void stops_when_asked(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_cancel(ctx);
    assert_int_equal(render(ctx, asc_view_of("x"), NULL, NULL, NULL, NULL), ASC_CANCELLED);
    test_ctx_end(ctx);
}

static const char everything[] =
    "{% set q = {'a': [1, 2.5, none, 'x\\u00e9']} %}{% for k, v in [(1, 2)] if k %}{{ loop.index ~ k ~ v "
    "}}{% else %}"
    "z{% endfor %}{% set b %}{{ q }}{{ q.a|join('-')|upper }}{% endset %}{{ b|trim }}{{ q|tojson(indent=1) }}"
    "{{ b[1:4] ~ b[::-1] }}{% if 'x' in b and q.zz is undefined %}{{ range(3)|list }}{% endif %}{{- 'a' * 9 "
    "-}} "
    "{% for c in 'abc' %}{{ c|default('q') }}{% if c == 'b' %}{% break %}{% endif %}{% endfor %}"
    "{% macro m(a, b=[1]) %}{% set ns.x = ns.x ~ a %}{{ b|map('string')|join }}{% endmacro %}"
    "{% set ns = namespace(x='') %}{{ m('p q'.split()[1]) ~ m(b='rs'.strip('s'), a=2) ~ ns.x }}"
    "{{ q.items()|list }}{{ 'aXb'.replace('X', '-').startswith(('a', 'b')) }}{{ q|items|map('first')|list }}";

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (long fail_at = 0; fail_at < 10000; fail_at++) {
        test_alloc a = {.fail_at = fail_at};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx = NULL;
        if (asc_ctx_create_base(&o, &ctx) != ASC_OK) continue;
        char *got = NULL;
        size_t len = 0;
        asc_status st = render(ctx, asc_view_of(everything), NULL, NULL, &got, &len);
        asc_free(ctx, got);
        if (fail_at == 0)
            assert_ok(ctx, st);
        else if (st != ASC_OK)
            assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
        if (st == ASC_OK && fail_at > 0) return; /* past the last allocation */
    }
    fail_msg("the sweep does not end");
}

/* Every prefix of a template, and every byte of it replaced, ends in a status. */
static void damaged_templates(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    static const char put[] = "\x00{}%'(|-.\xFF";
    char copy[sizeof everything];
    size_t n = sizeof everything - 1;
    for (size_t cut = 0; cut < n; cut++) {
        (void)!render(ctx, asc_view_make(everything, cut), NULL, NULL, NULL, NULL);
        for (size_t k = 0; k < sizeof put - 1; k++) {
            memcpy(copy, everything, n);
            copy[cut] = put[k];
            (void)!render(ctx, asc_view_make(copy, n), NULL, NULL, NULL, NULL);
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_jinja2),    cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(limits_are_named),  cmocka_unit_test(stops_when_asked),
        cmocka_unit_test(damaged_templates), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("jinja", tests, NULL, NULL);
}
