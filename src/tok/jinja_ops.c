/* jinja_ops.c - arithmetic, order, membership, indexing and slicing with Python's meaning. */
#include "jinja_ast.h"
#include <math.h>

static const char *const op_text[] = {
    "+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

asc_status asc_jinja_fail_undefined(asc_jinja *j, const asc_jinja_value *v, size_t off) {
    asc_view name = asc_view_cut(v->u.undefined.name, 80);
    if (v->u.undefined.owner == NULL)
        return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "'" ASC_VIEW_FMT "' is undefined",
                              ASC_VIEW_ARG(name));
    return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "the %s has no '" ASC_VIEW_FMT "'",
                          v->u.undefined.owner, ASC_VIEW_ARG(name));
}

static asc_status bad_types(asc_jinja *j, asc_jinja_op op, const asc_jinja_value *a, const asc_jinja_value *b,
                            size_t off) {
    if (a->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, a, off);
    if (b->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, b, off);
    return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "'%s' cannot join a %s and a %s", op_text[op],
                          asc_jinja_type_name(a), asc_jinja_type_name(b));
}

static bool as_int(const asc_jinja_value *v, int64_t *out) {
    if (v->type != ASC_JINJA_INT && v->type != ASC_JINJA_BOOL) return false;
    *out = v->type == ASC_JINJA_INT ? v->u.i : v->u.b ? 1 : 0;
    return true;
}

static bool as_float(const asc_jinja_value *v, double *out) {
    int64_t i;
    if (v->type == ASC_JINJA_FLOAT)
        *out = v->u.f;
    else if (as_int(v, &i))
        *out = (double)i;
    else
        return false;
    return true;
}

static bool is_zero(double x) { return !(x < 0) && !(x > 0) && x == x; }

/* Rounds towards minus infinity, the remainder takes the divisor's sign. y is not 0. */
static bool int_divmod(int64_t x, int64_t y, int64_t *q, int64_t *r) {
    if (y == -1) {
        *r = 0;
        return !__builtin_sub_overflow((int64_t)0, x, q);
    }
    *q = x / y;
    *r = x % y;
    if (*r != 0 && (*r < 0) != (y < 0)) {
        --*q;
        *r += y;
    }
    return true;
}

static asc_status int_arith(asc_jinja *j, asc_jinja_op op, int64_t x, int64_t y, size_t off,
                            asc_jinja_value *out) {
    int64_t r = 0, q = 0;
    bool ok = true;
    switch (op) {
    case JO_ADD:
        ok = !__builtin_add_overflow(x, y, &r);
        break;
    case JO_SUB:
        ok = !__builtin_sub_overflow(x, y, &r);
        break;
    case JO_MUL:
        ok = !__builtin_mul_overflow(x, y, &r);
        break;
    case JO_FLOORDIV:
        ok = int_divmod(x, y, &r, &q);
        break;
    default:
        ok = int_divmod(x, y, &q, &r) || op == JO_MOD;
        break;
    }
    if (!ok) return asc_jinja_fail(j, off, ASC_OUT_OF_RANGE, "whole number over 64 bits");
    *out = asc_jinja_int(r);
    return ASC_OK;
}

static asc_status float_arith(asc_jinja *j, asc_jinja_op op, double x, double y, size_t off,
                              asc_jinja_value *out) {
    double r = 0;
    if (op == JO_ADD)
        r = x + y;
    else if (op == JO_SUB)
        r = x - y;
    else if (op == JO_MUL)
        r = x * y;
    else if (op == JO_DIV)
        r = x / y;
    else {
        double m = fmod(x, y); /* exact; then moved to the divisor's sign */
        if (!is_zero(m) && (m < 0) != (y < 0)) m += y;
        if (is_zero(m)) m = copysign(0.0, y);
        double q = (x - m) / y, whole = floor(q);
        if (q - whole > 0.5) whole += 1;
        r = op == JO_MOD ? m : whole;
    }
    (void)j;
    (void)off;
    *out = asc_jinja_float(r);
    return ASC_OK;
}

static asc_status join_lists(asc_jinja *j, const asc_jinja_list *a, const asc_jinja_list *b,
                             asc_jinja_value *out) {
    asc_jinja_list *l;
    size_t n;
    if (!asc_add_size(a->n, b->n, &n))
        return ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED, "makes a list that is too long");
    ASC_JINJA_DO(asc_jinja_list_new(j, n, &l));
    for (size_t i = 0; i < a->n; i++) l->v[i] = a->v[i];
    for (size_t i = 0; i < b->n; i++) l->v[a->n + i] = b->v[i];
    l->tuple = a->tuple;
    return asc_jinja_list_done(j, l, out);
}

static asc_status repeat(asc_jinja *j, const asc_jinja_value *v, int64_t times, asc_jinja_value *out) {
    asc_jinja_value r = *v;
    if (v->type == ASC_JINJA_STRING) {
        r.u.s = (asc_jinja_str){0};
        for (int64_t i = 0; i < times && v->u.s.len > 0; i++) {
            ASC_JINJA_DO(asc_jinja_charge(j, 1));
            ASC_JINJA_DO(asc_jinja_str_cat(j, &r.u.s, v->u.s));
        }
        *out = r;
        return ASC_OK;
    }
    asc_jinja_list *l;
    size_t n = v->u.list->n, total;
    if (!asc_mul_size(n, times > 0 ? (size_t)times : 0, &total)) total = SIZE_MAX / 64;
    ASC_JINJA_DO(asc_jinja_list_new(j, total, &l));
    for (size_t i = 0; i < total; i++) l->v[i] = v->u.list->v[i % n];
    l->tuple = v->u.list->tuple;
    return asc_jinja_list_done(j, l, out);
}

asc_status asc_jinja_arith(asc_jinja *j, asc_jinja_op op, const asc_jinja_value *a, const asc_jinja_value *b,
                           size_t off, asc_jinja_value *out) {
    int64_t x, y;
    double f, g;
    if (op == JO_MOD && a->type == ASC_JINJA_STRING)
        return asc_jinja_refuse(j, off, "string formatting with", asc_view_of("%"));
    if (as_float(a, &f) && as_float(b, &g)) {
        if ((op == JO_DIV || op == JO_FLOORDIV || op == JO_MOD) && is_zero(g))
            return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "division by zero");
        if (op != JO_DIV && as_int(a, &x) && as_int(b, &y)) return int_arith(j, op, x, y, off, out);
        return float_arith(j, op, f, g, off, out);
    }
    if (op == JO_ADD && a->type == ASC_JINJA_STRING && b->type == ASC_JINJA_STRING) {
        asc_jinja_value r = *a;
        asc_jinja_str right = b->u.s;
        if (a->safe && !b->safe) ASC_JINJA_DO(asc_jinja_escape(j, b->u.s, &right));
        if (b->safe && !a->safe) ASC_JINJA_DO(asc_jinja_escape(j, a->u.s, &r.u.s));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &r.u.s, right));
        r.safe = a->safe || b->safe;
        *out = r;
        return ASC_OK;
    }
    if (op == JO_ADD && a->type == ASC_JINJA_LIST && b->type == ASC_JINJA_LIST &&
        a->u.list->tuple == b->u.list->tuple)
        return join_lists(j, a->u.list, b->u.list, out);
    bool seq_a = a->type == ASC_JINJA_STRING || a->type == ASC_JINJA_LIST;
    bool seq_b = b->type == ASC_JINJA_STRING || b->type == ASC_JINJA_LIST;
    if (op == JO_MUL && seq_a && as_int(b, &y)) return repeat(j, a, y, out);
    if (op == JO_MUL && seq_b && as_int(a, &x)) return repeat(j, b, x, out);
    return bad_types(j, op, a, b, off);
}

/* ---- comparison ---- */

static asc_status contains(asc_jinja *j, const asc_jinja_value *item, const asc_jinja_value *in, size_t off,
                           bool *out) {
    *out = false;
    if (in->type == ASC_JINJA_STRING) {
        asc_view hay, needle;
        if (item->type != ASC_JINJA_STRING) return bad_types(j, JO_IN, item, in, off);
        ASC_JINJA_DO(asc_jinja_str_flat(j, in->u.s, &hay));
        ASC_JINJA_DO(asc_jinja_str_flat(j, item->u.s, &needle));
        *out = needle.len == 0 || memmem(hay.ptr, hay.len, needle.ptr, needle.len) != NULL;
    } else if (in->type == ASC_JINJA_LIST) {
        for (size_t i = 0; i < in->u.list->n && !*out; i++)
            ASC_JINJA_DO(asc_jinja_equal(j, &in->u.list->v[i], item, out));
    } else if (in->type == ASC_JINJA_DICT) {
        const asc_jinja_value *v;
        ASC_JINJA_DO(asc_jinja_dict_get(j, in->u.dict, item, &v));
        *out = v != NULL;
    } else if (in->type != ASC_JINJA_UNDEFINED) {
        return bad_types(j, JO_IN, item, in, off);
    }
    return ASC_OK;
}

static bool order_holds(asc_jinja_op op, int c) {
    return op == JO_LT ? c < 0 : op == JO_LE ? c <= 0 : op == JO_GT ? c > 0 : c >= 0;
}

asc_status asc_jinja_compare(asc_jinja *j, asc_jinja_op op, const asc_jinja_value *a,
                             const asc_jinja_value *b, size_t off, bool *out) {
    int64_t x, y;
    double f, g;
    if (op == JO_EQ || op == JO_NE) {
        ASC_JINJA_DO(asc_jinja_equal(j, a, b, out));
        *out = *out == (op == JO_EQ);
        return ASC_OK;
    }
    if (op == JO_IN || op == JO_NOT_IN) {
        ASC_JINJA_DO(contains(j, a, b, off, out));
        *out = *out == (op == JO_IN);
        return ASC_OK;
    }
    if (as_int(a, &x) && as_int(b, &y)) {
        *out = order_holds(op, x < y ? -1 : x > y);
    } else if (as_float(a, &f) && as_float(b, &g)) {
        *out = f == f && g == g && order_holds(op, f < g ? -1 : f > g);
    } else if (a->type == ASC_JINJA_STRING && b->type == ASC_JINJA_STRING) {
        asc_view v, w;
        ASC_JINJA_DO(asc_jinja_str_flat(j, a->u.s, &v));
        ASC_JINJA_DO(asc_jinja_str_flat(j, b->u.s, &w));
        *out = order_holds(op, asc_view_cmp(v, w)); /* UTF-8 sorts as its characters do */
    } else {
        return bad_types(j, op, a, b, off);
    }
    return ASC_OK;
}

/* ---- indexing ---- */

/* Byte offset of character number `at` of v (v.len when past the end). */
static size_t char_offset(asc_view v, size_t at) {
    size_t i = 0;
    for (; at > 0 && i < v.len; at--) {
        uint32_t cp;
        i += asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL);
    }
    return i;
}

static asc_status item_number(asc_jinja *j, const asc_jinja_value *v, int64_t i, asc_jinja_value *out) {
    asc_view text = {0};
    bool string = v->type == ASC_JINJA_STRING;
    if (string) ASC_JINJA_DO(asc_jinja_str_flat(j, v->u.s, &text));
    int64_t n = (int64_t)(string ? asc_jinja_chars(text) : v->u.list->n);
    if (i < 0) i += n;
    if (i < 0 || i >= n) return ASC_OK; /* *out is undefined already */
    if (!string) {
        *out = v->u.list->v[i];
        return ASC_OK;
    }
    ASC_JINJA_DO(asc_jinja_charge(j, text.len / 16));
    size_t a = char_offset(text, (size_t)i);
    size_t b = a + char_offset(asc_view_make(text.ptr + a, text.len - a), 1);
    *out = (asc_jinja_value){.type = ASC_JINJA_STRING};
    return asc_jinja_str_slice(j, &out->u.s, v->u.s, a, b);
}

asc_status asc_jinja_get_item(asc_jinja *j, const asc_jinja_value *v, const asc_jinja_value *key, size_t off,
                              asc_jinja_value *out) {
    int64_t i;
    asc_view name = {0};
    if (v->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, v, off);
    if (key->type == ASC_JINJA_STRING) ASC_JINJA_DO(asc_jinja_str_flat(j, key->u.s, &name));
    if (v->type == ASC_JINJA_DICT) {
        const asc_jinja_value *hit;
        ASC_JINJA_DO(asc_jinja_dict_get(j, v->u.dict, key, &hit));
        *out = hit != NULL ? *hit : asc_jinja_undefined(name, "dict");
        return ASC_OK;
    }
    if ((v->type == ASC_JINJA_LIST || v->type == ASC_JINJA_STRING) && as_int(key, &i)) {
        *out = asc_jinja_undefined(asc_view_of("element at this index"), asc_jinja_type_name(v));
        return item_number(j, v, i, out);
    }
    if (key->type == ASC_JINJA_STRING) return asc_jinja_get_attr(j, v, name, off, out);
    *out = asc_jinja_undefined(asc_view_of("element"), asc_jinja_type_name(v));
    return ASC_OK;
}

/* Python's rule for one end of a slice: 0..n going up, n - 1..-1 going down. */
static int64_t clamp(int64_t i, int64_t n) {
    if (i < 0) i += n;
    return i < 0 ? 0 : i > n ? n : i;
}
static int64_t clamp_down(int64_t i, int64_t n) {
    if (i < 0) i += n;
    return i < 0 ? -1 : i > n - 1 ? n - 1 : i;
}

static asc_status slice_list(asc_jinja *j, const asc_jinja_list *src, int64_t a, int64_t b, int64_t step,
                             asc_jinja_value *out) {
    int64_t n = (int64_t)src->n, count = 0;
    asc_jinja_list *l;
    if (step > 0 && b > a) count = (b - a - 1) / step + 1;
    if (step < 0 && a > b) count = (a - b - 1) / -step + 1;
    if (count > n) count = n;
    ASC_JINJA_DO(asc_jinja_list_new(j, (size_t)count, &l));
    for (int64_t k = 0; k < count; k++) l->v[k] = src->v[a + k * step];
    l->tuple = src->tuple;
    return asc_jinja_list_done(j, l, out);
}

asc_status asc_jinja_slice(asc_jinja *j, const asc_jinja_value *v, const asc_jinja_value range[3], size_t off,
                           asc_jinja_value *out) {
    int64_t part[3] = {0, 0, 1};
    bool given[3];
    asc_view text = {0};
    if (v->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, v, off);
    for (int i = 0; i < 3; i++) {
        given[i] = range[i].type != ASC_JINJA_NONE;
        if (given[i] && !as_int(&range[i], &part[i]))
            return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "a slice needs whole numbers, not a %s",
                                  asc_jinja_type_name(&range[i]));
    }
    if (part[2] == 0) return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "the step of a slice is 0");
    if (v->type != ASC_JINJA_LIST && v->type != ASC_JINJA_STRING) {
        *out = asc_jinja_undefined(asc_view_of("slice"), asc_jinja_type_name(v));
        return ASC_OK;
    }
    if (v->type == ASC_JINJA_STRING) ASC_JINJA_DO(asc_jinja_str_flat(j, v->u.s, &text));
    int64_t n = (int64_t)(v->type == ASC_JINJA_STRING ? asc_jinja_chars(text) : v->u.list->n);
    if (part[2] < -n - 1) part[2] = -n - 1; /* so that sums cannot overflow */
    if (part[2] > n + 1) part[2] = n + 1;
    int64_t a, b;
    if (part[2] > 0) {
        a = given[0] ? clamp(part[0], n) : 0;
        b = given[1] ? clamp(part[1], n) : n;
    } else {
        a = given[0] ? clamp_down(part[0], n) : n - 1;
        b = given[1] ? clamp_down(part[1], n) : -1;
    }
    if (v->type == ASC_JINJA_LIST) return slice_list(j, v->u.list, a, b, part[2], out);
    *out = (asc_jinja_value){.type = ASC_JINJA_STRING};
    ASC_JINJA_DO(asc_jinja_charge(j, text.len / 16));
    if (part[2] == 1) {
        if (b <= a) return ASC_OK;
        return asc_jinja_str_slice(j, &out->u.s, v->u.s, char_offset(text, (size_t)a),
                                   char_offset(text, (size_t)b));
    }
    for (int64_t i = a; part[2] > 0 ? i < b : i > b; i += part[2]) {
        asc_jinja_value c = {0};
        ASC_JINJA_DO(item_number(j, v, i, &c));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &out->u.s, c.u.s));
    }
    return ASC_OK;
}
