/* jinja_tests.c - what may follow `is`. To add one: write `t_name`, give it a row. */
#include "jinja_ast.h"

static asc_status answer(asc_jinja_value *out, bool yes) {
    *out = asc_jinja_bool(yes);
    return ASC_OK;
}

static bool is_number(asc_jinja_type t) {
    return t == ASC_JINJA_INT || t == ASC_JINJA_FLOAT || t == ASC_JINJA_BOOL;
}

#define TYPE_TEST(name, expr)                                                                                \
    static asc_status t_##name(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {                      \
        const asc_jinja_type t = c->self.type;                                                               \
        (void)j;                                                                                             \
        (void)t;                                                                                             \
        return answer(out, (expr));                                                                          \
    }
TYPE_TEST(defined, t != ASC_JINJA_UNDEFINED)
TYPE_TEST(undefined, t == ASC_JINJA_UNDEFINED)
TYPE_TEST(none, t == ASC_JINJA_NONE)
TYPE_TEST(string, t == ASC_JINJA_STRING)
TYPE_TEST(mapping, t == ASC_JINJA_DICT)
TYPE_TEST(boolean, t == ASC_JINJA_BOOL)
TYPE_TEST(true, t == ASC_JINJA_BOOL && c->self.u.b)
TYPE_TEST(false, t == ASC_JINJA_BOOL && !c->self.u.b)
TYPE_TEST(integer, t == ASC_JINJA_INT)
TYPE_TEST(float, t == ASC_JINJA_FLOAT)
TYPE_TEST(number, is_number(t))
TYPE_TEST(callable, t == ASC_JINJA_FUNCTION || t == ASC_JINJA_MACRO)
/* Whatever has a length and can be indexed, which in Jinja includes dicts and undefined values. */
TYPE_TEST(sequence,
          t == ASC_JINJA_STRING || t == ASC_JINJA_LIST || t == ASC_JINJA_DICT || t == ASC_JINJA_UNDEFINED)
TYPE_TEST(iterable, t == ASC_JINJA_STRING || t == ASC_JINJA_LIST || t == ASC_JINJA_DICT ||
                        t == ASC_JINJA_UNDEFINED || t == ASC_JINJA_LOOP)

static asc_status remainder_is(asc_jinja *j, asc_jinja_call *c, const asc_jinja_value *by, int64_t want,
                               asc_jinja_value *out) {
    asc_jinja_value r, w = asc_jinja_int(want);
    bool yes;
    ASC_JINJA_DO(asc_jinja_arith(j, JO_MOD, &c->self, by, c->off, &r));
    ASC_JINJA_DO(asc_jinja_equal(j, &r, &w, &yes));
    return answer(out, yes);
}

static asc_status t_odd(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_value two = asc_jinja_int(2);
    return remainder_is(j, c, &two, 1, out);
}
static asc_status t_even(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_value two = asc_jinja_int(2);
    return remainder_is(j, c, &two, 0, out);
}
static asc_status t_divisibleby(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return remainder_is(j, c, c->arg[0], 0, out);
}

static asc_status compare(asc_jinja *j, asc_jinja_call *c, asc_jinja_op op, asc_jinja_value *out) {
    bool yes;
    ASC_JINJA_DO(asc_jinja_compare(j, op, &c->self, c->arg[0], c->off, &yes));
    return answer(out, yes);
}
static asc_status t_eq(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_EQ, out);
}
static asc_status t_ne(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_NE, out);
}
static asc_status t_lt(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_LT, out);
}
static asc_status t_le(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_LE, out);
}
static asc_status t_gt(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_GT, out);
}
static asc_status t_ge(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_GE, out);
}
static asc_status t_in(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return compare(j, c, JO_IN, out);
}

static const asc_jinja_builtin tests[] = {
    {.name = "defined", .params = "", .fn = t_defined},
    {.name = "undefined", .params = "", .fn = t_undefined},
    {.name = "none", .params = "", .fn = t_none},
    {.name = "string", .params = "", .fn = t_string},
    {.name = "mapping", .params = "", .fn = t_mapping},
    {.name = "sequence", .params = "", .fn = t_sequence},
    {.name = "iterable", .params = "", .fn = t_iterable},
    {.name = "boolean", .params = "", .fn = t_boolean},
    {.name = "true", .params = "", .fn = t_true},
    {.name = "false", .params = "", .fn = t_false},
    {.name = "integer", .params = "", .fn = t_integer},
    {.name = "float", .params = "", .fn = t_float},
    {.name = "number", .params = "", .fn = t_number},
    {.name = "callable", .params = "", .fn = t_callable},
    {.name = "odd", .params = "", .fn = t_odd},
    {.name = "even", .params = "", .fn = t_even},
    {.name = "divisibleby", .params = "num", .required = 1, .fn = t_divisibleby},
    {.name = "eq", .params = "other", .required = 1, .fn = t_eq},
    {.name = "equalto", .params = "other", .required = 1, .fn = t_eq},
    {.name = "ne", .params = "other", .required = 1, .fn = t_ne},
    {.name = "lt", .params = "other", .required = 1, .fn = t_lt},
    {.name = "lessthan", .params = "other", .required = 1, .fn = t_lt},
    {.name = "le", .params = "other", .required = 1, .fn = t_le},
    {.name = "gt", .params = "other", .required = 1, .fn = t_gt},
    {.name = "greaterthan", .params = "other", .required = 1, .fn = t_gt},
    {.name = "ge", .params = "other", .required = 1, .fn = t_ge},
    {.name = "in", .params = "seq", .required = 1, .fn = t_in},
    {0},
};

const asc_jinja_builtin *asc_jinja_find_test(asc_view name) { return asc_jinja_find(tests, name); }
