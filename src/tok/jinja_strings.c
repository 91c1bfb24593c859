/* jinja_strings.c - string operations that methods and filters share. Results are slices of their inputs, so
 * every byte keeps its origin. */
#include "jinja_ast.h"

asc_jinja_value asc_jinja_from_str(asc_jinja_str s) {
    asc_jinja_value v = {.type = ASC_JINJA_STRING};
    v.u.s = s;
    return v;
}

/* Bytes of the character at p when it is one of `set` (white space when set.ptr is NULL), else 0. */
static size_t member(const char *p, size_t n, asc_view set) {
    uint32_t cp, other;
    if (set.ptr == NULL) return asc_jinja_space(p, n);
    size_t len = asc_utf8_decode(p, n, &cp, NULL);
    for (size_t i = 0; i < set.len;) {
        size_t w = asc_utf8_decode(set.ptr + i, set.len - i, &other, NULL);
        if (w == len && memcmp(set.ptr + i, p, w) == 0) return len;
        i += w;
    }
    return 0;
}

asc_status asc_jinja_strip(asc_jinja *j, asc_jinja_str s, const asc_jinja_value *chars, bool left, bool right,
                           asc_jinja_str *out) {
    asc_view v, set = {0};
    size_t a = 0, b, w;
    *out = (asc_jinja_str){0};
    if (chars != NULL && chars->type == ASC_JINJA_STRING) {
        ASC_JINJA_DO(asc_jinja_str_flat(j, chars->u.s, &set));
    } else if (chars != NULL && chars->type != ASC_JINJA_NONE) {
        return ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "characters to strip must be a str, not a %s",
                        asc_jinja_type_name(chars));
    }
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    ASC_JINJA_DO(asc_jinja_charge(j, (v.len / 64) * (set.len / 8 + 1)));
    while (left && a < v.len && (w = member(v.ptr + a, v.len - a, set)) > 0) a += w;
    b = v.len;
    while (right && b > a) {
        size_t back = 1;
        while (back < 4 && b - back > a && ((unsigned char)v.ptr[b - back] & 0xC0) == 0x80) back++;
        if (member(v.ptr + b - back, back, set) != back) break;
        b -= back;
    }
    return asc_jinja_str_slice(j, out, s, a, b);
}

asc_status asc_jinja_capitalize(asc_jinja *j, asc_jinja_str s, asc_jinja_value *out) {
    asc_view v;
    asc_jinja_str head = {0}, tail = {0}, r = {0}, part;
    uint32_t cp;
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    size_t w = v.len > 0 ? asc_utf8_decode(v.ptr, v.len, &cp, NULL) : 0;
    ASC_JINJA_DO(asc_jinja_str_slice(j, &head, s, 0, w));
    ASC_JINJA_DO(asc_jinja_str_slice(j, &tail, s, w, v.len));
    ASC_JINJA_DO(asc_jinja_recase(j, head, true, &r));
    ASC_JINJA_DO(asc_jinja_recase(j, tail, false, &part));
    ASC_JINJA_DO(asc_jinja_str_cat(j, &r, part));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

static asc_status need_str(asc_jinja *j, const asc_jinja_call *c, const asc_jinja_value *v, asc_view *out) {
    if (v->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, v, c->off);
    if (v->type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "'" ASC_VIEW_FMT "' needs a str, not a %s",
                              ASC_VIEW_ARG(asc_view_cut(c->name, 80)), asc_jinja_type_name(v));
    return asc_jinja_str_flat(j, v->u.s, out);
}

asc_status asc_jinja_replace(asc_jinja *j, const asc_jinja_call *c, asc_jinja_str s, asc_jinja_value *out) {
    asc_view v, old, with;
    asc_jinja_str r = {0};
    int64_t left = -1;
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    ASC_JINJA_DO(need_str(j, c, c->arg[0], &old));
    ASC_JINJA_DO(need_str(j, c, c->arg[1], &with));
    if (c->arg[2] != NULL && c->arg[2]->type == ASC_JINJA_INT) left = c->arg[2]->u.i;
    if (old.len == 0) return asc_jinja_refuse(j, c->off, "replacement of", asc_view_of(""));
    for (size_t i = 0;;) {
        const char *hit = left == 0 || i >= v.len ? NULL : memmem(v.ptr + i, v.len - i, old.ptr, old.len);
        size_t end = hit != NULL ? (size_t)(hit - v.ptr) : v.len;
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        ASC_JINJA_DO(asc_jinja_str_slice(j, &r, s, i, end));
        if (hit == NULL) break;
        ASC_JINJA_DO(asc_jinja_str_cat(j, &r, c->arg[1]->u.s));
        i = end + old.len;
        left -= left > 0;
    }
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

asc_status asc_jinja_join(asc_jinja *j, asc_jinja_str sep, const asc_jinja_list *l, asc_jinja_value *out) {
    asc_jinja_str r = {0}, s;
    for (size_t i = 0; i < l->n; i++) {
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        if (i > 0) ASC_JINJA_DO(asc_jinja_str_cat(j, &r, sep));
        ASC_JINJA_DO(asc_jinja_to_str(j, &l->v[i], &s));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &r, s));
    }
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}
