/* jinja_json.c - JSON to values, and the filter `tojson`. Templates use it for tool descriptions; it has the
 * parameters that transformers gives it and writes what Python's json.dumps does with them: without any,
 * ", " and ": " between items and no escapes but the necessary ones. */
#include "jinja_json.h"

static asc_status from_json(asc_jinja *j, const asc_json *in, int32_t message, asc_jinja_kind kind,
                            asc_jinja_value *out) {
    asc_jinja_list *l;
    asc_jinja_dict *d;
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    *out = (asc_jinja_value){.type = ASC_JINJA_NONE};
    if (++j->depth > j->limits.depth)
        return ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED,
                        "JSON nests deeper than the limit ASC_JINJA_MAX_DEPTH = %zu", j->limits.depth);
    switch (asc_json_typeof(in)) {
    case ASC_JSON_NULL:
        break;
    case ASC_JSON_BOOL:
        *out = asc_jinja_bool(asc_json_bool(in, false));
        break;
    case ASC_JSON_INT:
        *out = asc_jinja_int(asc_json_int(in, 0));
        break;
    case ASC_JSON_REAL:
        *out = asc_jinja_float(asc_json_num(in, 0));
        break;
    case ASC_JSON_STRING:
        ASC_JINJA_DO(asc_jinja_string(j, asc_json_str(in), message, kind, out));
        break;
    case ASC_JSON_ARRAY:
        ASC_JINJA_DO(asc_jinja_list_new(j, asc_json_len(in), &l));
        for (size_t i = 0; i < l->n; i++)
            ASC_JINJA_DO(from_json(j, asc_json_at(in, i), message, kind, &l->v[i]));
        ASC_JINJA_DO(asc_jinja_list_done(j, l, out));
        break;
    case ASC_JSON_OBJECT:
        ASC_JINJA_DO(asc_jinja_dict_new(j, asc_json_len(in), &d));
        while (asc_json_next(in, &iter, &key, &item)) {
            asc_jinja_value k, v;
            ASC_JINJA_DO(asc_jinja_string(j, key, message, kind, &k));
            ASC_JINJA_DO(from_json(j, item, message, kind, &v));
            ASC_JINJA_DO(asc_jinja_dict_set(j, d, &k, &v, 0));
        }
        *out = asc_jinja_from_dict(d);
        break;
    }
    j->depth--;
    return ASC_OK;
}

asc_status asc_jinja_from_json(asc_jinja *j, const asc_json *in, asc_jinja_value *out) {
    return from_json(j, in, -1, ASC_JINJA_FROM_TEMPLATE, out);
}

asc_status asc_jinja_from_data(asc_jinja *j, const asc_json *in, int32_t message, asc_jinja_value *out) {
    return from_json(j, in, message, ASC_JINJA_FROM_DATA, out);
}

/* A string in quotes; the parts that need no escape stay slices of the input. ascii: characters beyond are
 * written as one or two \uXXXX. */
static asc_status dump_string(asc_jinja *j, asc_jinja_str s, bool ascii, asc_jinja_str *out) {
    static const char from[] = "\"\\\n\r\t\b\f";
    static const char *const to[] = {"\\\"", "\\\\", "\\n", "\\r", "\\t", "\\b", "\\f"};
    asc_view v;
    size_t plain = 0;
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    ASC_JINJA_DO(asc_jinja_str_addz(j, out, "\""));
    for (size_t i = 0; i < v.len; i++) {
        char c = v.ptr[i], esc[16];
        const char *hit = c != '\0' ? strchr(from, c) : NULL;
        bool wide = ascii && (unsigned char)c >= 0x80;
        if (hit == NULL && !wide && (unsigned char)c >= 0x20) continue;
        ASC_JINJA_DO(asc_jinja_str_slice(j, out, s, plain, i));
        uint32_t cp = (unsigned char)c;
        if (wide) i += asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL) - 1;
        if (cp >= 0x10000)
            snprintf(esc, sizeof esc, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((cp - 0x10000) >> 10)),
                     (unsigned)(0xDC00 + (cp & 0x3FF)));
        else
            snprintf(esc, sizeof esc, "\\u%04x", (unsigned)cp);
        ASC_JINJA_DO(hit != NULL ? asc_jinja_str_addz(j, out, to[hit - from])
                                 : asc_jinja_own(j, out, asc_view_of(esc)));
        plain = i + 1;
    }
    ASC_JINJA_DO(asc_jinja_str_slice(j, out, s, plain, v.len));
    return asc_jinja_str_addz(j, out, "\"");
}

typedef struct dump {
    asc_jinja *j;
    asc_jinja_str *out;
    asc_jinja_str indent; /* of one level; unused when compact */
    bool pretty, ascii, sorted;
    asc_jinja_str between, colon; /* items, key and value */
    size_t off;
} dump;

static asc_status new_line(const dump *d, size_t level) {
    ASC_JINJA_DO(asc_jinja_str_addz(d->j, d->out, "\n"));
    for (size_t i = 0; i < level; i++) ASC_JINJA_DO(asc_jinja_str_cat(d->j, d->out, d->indent));
    return ASC_OK;
}

static asc_status dump_value(const dump *d, const asc_jinja_value *v, size_t level);

static asc_status dump_key(const dump *d, const asc_jinja_value *k) {
    if (k->type == ASC_JINJA_STRING) return dump_string(d->j, k->u.s, d->ascii, d->out);
    if (k->type == ASC_JINJA_LIST)
        return asc_jinja_fail(d->j, d->off, ASC_INVALID_ARGUMENT, "a tuple cannot be a key in JSON");
    ASC_JINJA_DO(asc_jinja_str_addz(d->j, d->out, "\""));
    ASC_JINJA_DO(dump_value(d, k, 0));
    return asc_jinja_str_addz(d->j, d->out, "\"");
}

/* The entries of a dict in the order of their keys. */
static asc_status sorted_pairs(const dump *d, const asc_jinja_value *v, const asc_jinja_pair **out) {
    const asc_jinja_value yes = asc_jinja_bool(true);
    asc_jinja_value list;
    asc_jinja_call c = {.off = d->off, .self = *v, .arg = {&yes}}; /* case_sensitive */
    ASC_JINJA_DO(asc_jinja_dictsort(d->j, &c, &list));
    asc_jinja_pair *pair = asc_jinja_alloc(d->j, list.u.list->n, sizeof *pair);
    if (pair == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < list.u.list->n; i++)
        pair[i] = (asc_jinja_pair){list.u.list->v[i].u.list->v[0], list.u.list->v[i].u.list->v[1]};
    *out = pair;
    return ASC_OK;
}

static asc_status dump_items(const dump *d, const asc_jinja_value *v, size_t level) {
    bool dict = v->type == ASC_JINJA_DICT;
    const asc_jinja_pair *pair = dict ? v->u.dict->v : NULL;
    size_t n = dict ? v->u.dict->n : v->u.list->n;
    if (dict && d->sorted && n > 1) ASC_JINJA_DO(sorted_pairs(d, v, &pair));
    ASC_JINJA_DO(asc_jinja_str_addz(d->j, d->out, dict ? "{" : "["));
    for (size_t i = 0; i < n; i++) {
        if (i > 0) ASC_JINJA_DO(asc_jinja_str_cat(d->j, d->out, d->between));
        if (d->pretty) ASC_JINJA_DO(new_line(d, level + 1));
        if (dict) {
            ASC_JINJA_DO(dump_key(d, &pair[i].key));
            ASC_JINJA_DO(asc_jinja_str_cat(d->j, d->out, d->colon));
        }
        ASC_JINJA_DO(dump_value(d, dict ? &pair[i].value : &v->u.list->v[i], level + 1));
    }
    if (d->pretty && n > 0) ASC_JINJA_DO(new_line(d, level));
    return asc_jinja_str_addz(d->j, d->out, dict ? "}" : "]");
}

static asc_status dump_value(const dump *d, const asc_jinja_value *v, size_t level) {
    ASC_JINJA_DO(asc_jinja_charge(d->j, 1));
    switch (v->type) {
    case ASC_JINJA_NONE:
        return asc_jinja_str_addz(d->j, d->out, "null");
    case ASC_JINJA_BOOL:
        return asc_jinja_str_addz(d->j, d->out, v->u.b ? "true" : "false");
    case ASC_JINJA_INT:
        return asc_jinja_repr(d->j, v, d->out);
    case ASC_JINJA_FLOAT:
        if (v->u.f != v->u.f) return asc_jinja_str_addz(d->j, d->out, "NaN");
        if (v->u.f - v->u.f != 0)
            return asc_jinja_str_addz(d->j, d->out, v->u.f > 0 ? "Infinity" : "-Infinity");
        return asc_jinja_repr(d->j, v, d->out);
    case ASC_JINJA_STRING:
        return dump_string(d->j, v->u.s, d->ascii, d->out);
    case ASC_JINJA_LIST:
        if (v->u.list->lazy)
            return asc_jinja_fail(d->j, d->off, ASC_INVALID_ARGUMENT,
                                  "a generator cannot be written as JSON; use |list first");
        return dump_items(d, v, level);
    case ASC_JINJA_DICT:
        return dump_items(d, v, level);
    default:
        return asc_jinja_fail(d->j, d->off, ASC_INVALID_ARGUMENT, "a %s cannot be written as JSON",
                              asc_jinja_type_name(v));
    }
}

/* indent: a number of spaces, or what each level is indented by. separators: a pair of strings. */
static asc_status read_layout(dump *d, const asc_jinja_value *indent, const asc_jinja_value *sep) {
    asc_jinja *j = d->j;
    int64_t n = 0;
    if (indent != NULL && indent->type == ASC_JINJA_STRING) {
        d->pretty = true;
        d->indent = indent->u.s;
    } else if (indent != NULL && (indent->type == ASC_JINJA_INT || indent->type == ASC_JINJA_BOOL)) {
        d->pretty = true;
        n = indent->type == ASC_JINJA_INT ? indent->u.i : indent->u.b ? 1 : 0;
        for (int64_t i = 0; i < n && i < 64; i++) ASC_JINJA_DO(asc_jinja_str_addz(j, &d->indent, " "));
    } else if (indent != NULL && indent->type != ASC_JINJA_NONE) {
        return asc_jinja_refuse(j, d->off, "indent of tojson as a", asc_view_of(asc_jinja_type_name(indent)));
    }
    if (sep == NULL || sep->type == ASC_JINJA_NONE) {
        ASC_JINJA_DO(asc_jinja_str_addz(j, &d->between, d->pretty ? "," : ", "));
        return asc_jinja_str_addz(j, &d->colon, ": ");
    }
    const asc_jinja_list *l = sep->type == ASC_JINJA_LIST ? sep->u.list : NULL;
    if (l == NULL || l->n != 2 || l->v[0].type != ASC_JINJA_STRING || l->v[1].type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, d->off, ASC_INVALID_ARGUMENT, "separators of tojson are two strings");
    d->between = l->v[0].u.s;
    d->colon = l->v[1].u.s;
    return ASC_OK;
}

asc_status asc_jinja_tojson(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str text = {0};
    dump d = {.j = j, .out = &text, .off = c->off};
    d.ascii = c->arg[0] != NULL && asc_jinja_truth(c->arg[0]);
    d.sorted = c->arg[3] != NULL && asc_jinja_truth(c->arg[3]);
    ASC_JINJA_DO(read_layout(&d, c->arg[1], c->arg[2]));
    ASC_JINJA_DO(dump_value(&d, &c->self, 0));
    *out = (asc_jinja_value){.type = ASC_JINJA_STRING};
    out->u.s = text;
    return ASC_OK;
}
