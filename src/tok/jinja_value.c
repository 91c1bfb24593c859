/* jinja_value.c - making values, strings made of pieces, lists and dicts, truth and equality. */
#include "jinja_ast.h"

/* ---- engine ---- */

void asc_jinja_init(asc_jinja *j, asc_ctx *ctx) {
    *j = (asc_jinja){.ctx = ctx, .message = -1};
    j->limits = (asc_jinja_limits){ASC_JINJA_MAX_TEMPLATE, ASC_JINJA_MAX_DEPTH, ASC_JINJA_MAX_STEPS,
                                   ASC_JINJA_MAX_OUTPUT, ASC_JINJA_MAX_MEMORY};
    asc_arena_init(&j->arena, ctx, ASC_MEM_SCRATCH);
    asc_strbuf_init(&j->out, ctx);
}

void asc_jinja_deinit(asc_jinja *j) {
    asc_arena_deinit(&j->arena);
    asc_strbuf_deinit(&j->out);
    asc_free(j->ctx, j->tok);
    asc_free(j->ctx, j->spans);
    j->tok = NULL;
    j->spans = NULL;
}

void *asc_jinja_alloc(asc_jinja *j, size_t n, size_t size) {
    size_t bytes, used;
    if (!asc_mul_size(n, size, &bytes) || !asc_add_size(j->used, bytes, &used) ||
        used > j->limits.memory_bytes) {
        ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED,
                 "needs more memory than the limit ASC_JINJA_MAX_MEMORY = %zu bytes", j->limits.memory_bytes);
        asc_hint(j->ctx,
                 "the template is broken or hostile; render the prompt yourself and pass it as plain text");
        return NULL;
    }
    void *p = asc_arena_alloc(&j->arena, bytes);
    if (p != NULL) j->used = used + 16;
    return p;
}

asc_status asc_jinja_charge(asc_jinja *j, size_t n) {
    size_t before = j->steps;
    j->steps += n;
    if (j->steps > j->limits.steps || n > j->limits.steps) {
        ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED, "runs longer than the limit ASC_JINJA_MAX_STEPS = %zu",
                 j->limits.steps);
        return asc_hint(
            j->ctx,
            "the template is broken or hostile; render the prompt yourself and pass it as plain text");
    }
    return before >> 10 != j->steps >> 10 ? asc_poll_cancel(j->ctx) : ASC_OK;
}

/* ---- scalars ---- */

asc_jinja_value asc_jinja_bool(bool b) {
    asc_jinja_value v = {.type = ASC_JINJA_BOOL};
    v.u.b = b;
    return v;
}

asc_jinja_value asc_jinja_int(int64_t i) {
    asc_jinja_value v = {.type = ASC_JINJA_INT};
    v.u.i = i;
    return v;
}

asc_jinja_value asc_jinja_float(double f) {
    asc_jinja_value v = {.type = ASC_JINJA_FLOAT};
    v.u.f = f;
    return v;
}

asc_jinja_value asc_jinja_undefined(asc_view name, const char *owner) {
    asc_jinja_value v = {.type = ASC_JINJA_UNDEFINED};
    v.u.undefined.name = name;
    v.u.undefined.owner = owner;
    return v;
}

const char *asc_jinja_type_name(const asc_jinja_value *v) {
    switch (v->type) {
    case ASC_JINJA_UNDEFINED:
        return "Undefined";
    case ASC_JINJA_NONE:
        return "NoneType";
    case ASC_JINJA_BOOL:
        return "bool";
    case ASC_JINJA_INT:
        return "int";
    case ASC_JINJA_FLOAT:
        return "float";
    case ASC_JINJA_STRING:
        return "str";
    case ASC_JINJA_LIST:
        return v->u.list->lazy ? "generator" : v->u.list->tuple ? "tuple" : "list";
    case ASC_JINJA_DICT:
        return "dict";
    case ASC_JINJA_LOOP:
        return "loop";
    case ASC_JINJA_FUNCTION:
        return "function";
    case ASC_JINJA_MACRO:
        return "macro";
    case ASC_JINJA_NAMESPACE:
        return "namespace";
    }
    return "?";
}

bool asc_jinja_truth(const asc_jinja_value *v) {
    switch (v->type) {
    case ASC_JINJA_UNDEFINED:
    case ASC_JINJA_NONE:
        return false;
    case ASC_JINJA_BOOL:
        return v->u.b;
    case ASC_JINJA_INT:
        return v->u.i != 0;
    case ASC_JINJA_FLOAT:
        return v->u.f < 0 || v->u.f > 0 || v->u.f != v->u.f;
    case ASC_JINJA_STRING:
        return v->u.s.len > 0;
    case ASC_JINJA_LIST:
        return v->u.list->n > 0 || v->u.list->lazy;
    case ASC_JINJA_DICT:
        return v->u.dict->n > 0;
    case ASC_JINJA_LOOP:
    case ASC_JINJA_FUNCTION:
    case ASC_JINJA_MACRO:
    case ASC_JINJA_NAMESPACE:
        break;
    }
    return true;
}

/* ---- strings ---- */

asc_status asc_jinja_str_add(asc_jinja *j, asc_jinja_str *s, const asc_jinja_piece *p) {
    if (p->len == 0) return ASC_OK;
    if (p->len > j->limits.output_bytes || s->len > j->limits.output_bytes - p->len)
        return ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED,
                        "makes a string longer than the limit ASC_JINJA_MAX_OUTPUT = %zu",
                        j->limits.output_bytes);
    asc_jinja_rope *r = s->rope;
    if (r == NULL || s->n != r->used || r->used == r->cap) {
        size_t cap = r == NULL ? 1 : s->n + s->n / 2 + 4;
        bool own = r != NULL && s->n == r->used; /* then the longer array may replace the old one */
        asc_jinja_piece *v = asc_jinja_alloc(j, cap, sizeof *v);
        if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (s->n > 0) memcpy(v, r->v, s->n * sizeof *v);
        if (!own) r = asc_jinja_alloc(j, 1, sizeof *r);
        if (r == NULL) return ASC_RESOURCE_EXHAUSTED;
        *r = (asc_jinja_rope){v, s->n, cap};
        s->rope = r;
        ASC_JINJA_DO(asc_jinja_charge(j, 1 + s->n / 64));
    }
    r->v[r->used++] = *p;
    s->n++;
    s->len += p->len;
    return ASC_OK;
}

asc_status asc_jinja_str_addz(asc_jinja *j, asc_jinja_str *s, const char *literal) {
    asc_jinja_piece p = {literal, strlen(literal), -1, ASC_JINJA_FROM_TEMPLATE};
    return asc_jinja_str_add(j, s, &p);
}

asc_status asc_jinja_str_cat(asc_jinja *j, asc_jinja_str *s, asc_jinja_str t) {
    if (s->n == 0) { /* share */
        *s = t;
        return ASC_OK;
    }
    ASC_JINJA_DO(asc_jinja_charge(j, t.n / 16));
    for (size_t i = 0; i < t.n; i++) {
        asc_jinja_piece p = t.rope->v[i]; /* a copy: s and t may share the rope, which may move */
        ASC_JINJA_DO(asc_jinja_str_add(j, s, &p));
    }
    return ASC_OK;
}

asc_status asc_jinja_str_slice(asc_jinja *j, asc_jinja_str *s, asc_jinja_str t, size_t a, size_t b) {
    if (a == 0 && b == t.len) return asc_jinja_str_cat(j, s, t);
    size_t pos = 0;
    ASC_JINJA_DO(asc_jinja_charge(j, t.n / 16));
    for (size_t i = 0; i < t.n && pos < b; i++) {
        asc_jinja_piece p = t.rope->v[i];
        size_t lo = a > pos ? a - pos : 0, hi = b - pos < p.len ? b - pos : p.len;
        pos += p.len;
        if (lo >= hi) continue;
        p.ptr += lo;
        p.len = hi - lo;
        ASC_JINJA_DO(asc_jinja_str_add(j, s, &p));
    }
    return ASC_OK;
}

asc_status asc_jinja_str_flat(asc_jinja *j, asc_jinja_str s, asc_view *out) {
    *out = asc_view_make("", 0);
    if (s.n == 0) return ASC_OK;
    ASC_JINJA_DO(asc_jinja_charge(j, s.len / 64));
    *out = asc_view_make(s.rope->v[0].ptr, s.rope->v[0].len);
    if (s.n == 1) return ASC_OK;
    char *p = asc_jinja_alloc(j, s.len, 1);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    *out = asc_view_make(p, s.len);
    for (size_t i = 0; i < s.n; i++) {
        memcpy(p, s.rope->v[i].ptr, s.rope->v[i].len);
        p += s.rope->v[i].len;
    }
    return ASC_OK;
}

asc_status asc_jinja_string(asc_jinja *j, asc_view text, int32_t message, asc_jinja_kind kind,
                            asc_jinja_value *out) {
    asc_jinja_piece p = {text.ptr, text.len, message, kind};
    *out = (asc_jinja_value){.type = ASC_JINJA_STRING};
    return asc_jinja_str_add(j, &out->u.s, &p);
}

asc_status asc_jinja_own(asc_jinja *j, asc_jinja_str *s, asc_view text) {
    char *p = asc_jinja_alloc(j, text.len, 1);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (text.len > 0) memcpy(p, text.ptr, text.len);
    asc_jinja_piece piece = {p, text.len, -1, ASC_JINJA_FROM_TEMPLATE};
    return asc_jinja_str_add(j, s, &piece);
}

/* ---- lists and dicts ---- */

static size_t depth_of(const asc_jinja_value *v) {
    return v->type == ASC_JINJA_LIST ? v->u.list->depth : v->type == ASC_JINJA_DICT ? v->u.dict->depth : 0;
}

static asc_status check_depth(asc_jinja *j, size_t depth) {
    if (depth <= j->limits.depth) return ASC_OK;
    return ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED,
                    "nests values deeper than the limit ASC_JINJA_MAX_DEPTH = %zu", j->limits.depth);
}

asc_status asc_jinja_list_new(asc_jinja *j, size_t n, asc_jinja_list **out) {
    ASC_JINJA_DO(asc_jinja_charge(j, n / 16));
    *out = asc_jinja_alloc(j, 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    (*out)->v = asc_jinja_alloc(j, n, sizeof *(*out)->v);
    if ((*out)->v == NULL) return ASC_RESOURCE_EXHAUSTED;
    (*out)->n = n;
    return ASC_OK;
}

asc_status asc_jinja_list_done(asc_jinja *j, asc_jinja_list *l, asc_jinja_value *out) {
    size_t d = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (depth_of(&l->v[i]) > d) d = depth_of(&l->v[i]);
    }
    l->depth = d + 1;
    *out = (asc_jinja_value){.type = ASC_JINJA_LIST};
    out->u.list = l;
    return check_depth(j, l->depth);
}

asc_status asc_jinja_dict_new(asc_jinja *j, size_t cap, asc_jinja_dict **out) {
    *out = asc_jinja_alloc(j, 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    (*out)->v = asc_jinja_alloc(j, cap, sizeof *(*out)->v);
    if ((*out)->v == NULL) return ASC_RESOURCE_EXHAUSTED;
    (*out)->cap = cap;
    (*out)->message = -1;
    (*out)->depth = 1;
    return ASC_OK;
}

static asc_status find_key(asc_jinja *j, const asc_jinja_dict *d, const asc_jinja_value *key, size_t *at) {
    ASC_JINJA_DO(asc_jinja_charge(j, d->n / 16));
    for (*at = 0; *at < d->n; ++*at) {
        bool same;
        ASC_JINJA_DO(asc_jinja_equal(j, &d->v[*at].key, key, &same));
        if (same) break;
    }
    return ASC_OK;
}

asc_status asc_jinja_dict_get(asc_jinja *j, const asc_jinja_dict *d, const asc_jinja_value *key,
                              const asc_jinja_value **out) {
    size_t at;
    *out = NULL;
    ASC_JINJA_DO(find_key(j, d, key, &at));
    if (at < d->n) *out = &d->v[at].value;
    return ASC_OK;
}

asc_status asc_jinja_dict_set(asc_jinja *j, asc_jinja_dict *d, const asc_jinja_value *key,
                              const asc_jinja_value *value, size_t off) {
    size_t at;
    if (key->type == ASC_JINJA_DICT || (key->type == ASC_JINJA_LIST && !key->u.list->tuple))
        return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "a %s cannot be a key", asc_jinja_type_name(key));
    ASC_JINJA_DO(find_key(j, d, key, &at));
    if (at == d->n && d->n == d->cap) {
        size_t cap = d->cap + d->cap / 2 + 4;
        asc_jinja_pair *v = asc_jinja_alloc(j, cap, sizeof *v);
        if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (d->n > 0) memcpy(v, d->v, d->n * sizeof *v);
        d->v = v;
        d->cap = cap;
    }
    if (at == d->n) d->v[d->n++].key = *key;
    d->v[at].value = *value;
    size_t deep = depth_of(value) > depth_of(key) ? depth_of(value) : depth_of(key);
    if (deep + 1 > d->depth) d->depth = deep + 1;
    return check_depth(j, d->depth);
}

asc_status asc_jinja_dict_setz(asc_jinja *j, asc_jinja_dict *d, const char *key,
                               const asc_jinja_value *value) {
    asc_jinja_value k;
    ASC_JINJA_DO(asc_jinja_string(j, asc_view_of(key), -1, ASC_JINJA_FROM_TEMPLATE, &k));
    return asc_jinja_dict_set(j, d, &k, value, 0);
}

asc_jinja_value asc_jinja_from_dict(asc_jinja_dict *d) {
    asc_jinja_value v = {.type = ASC_JINJA_DICT};
    v.u.dict = d;
    return v;
}

/* ---- equality, as Python's == ---- */

static bool numeric(const asc_jinja_value *v, double *out) {
    if (v->type == ASC_JINJA_BOOL)
        *out = v->u.b ? 1 : 0;
    else if (v->type == ASC_JINJA_INT)
        *out = (double)v->u.i;
    else if (v->type == ASC_JINJA_FLOAT)
        *out = v->u.f;
    else
        return false;
    return true;
}

static asc_status equal_dicts(asc_jinja *j, const asc_jinja_dict *a, const asc_jinja_dict *b, bool *out) {
    *out = a->n == b->n;
    for (size_t i = 0; i < a->n && *out; i++) {
        const asc_jinja_value *other;
        ASC_JINJA_DO(asc_jinja_dict_get(j, b, &a->v[i].key, &other));
        if (other == NULL)
            *out = false;
        else
            ASC_JINJA_DO(asc_jinja_equal(j, &a->v[i].value, other, out));
    }
    return ASC_OK;
}

asc_status asc_jinja_equal(asc_jinja *j, const asc_jinja_value *a, const asc_jinja_value *b, bool *out) {
    double x, y;
    *out = false;
    ASC_JINJA_DO(asc_jinja_charge(j, 1));
    if (a->type == ASC_JINJA_INT && b->type == ASC_JINJA_INT) {
        *out = a->u.i == b->u.i;
        return ASC_OK;
    }
    if (numeric(a, &x) && numeric(b, &y)) {
        *out = !(x < y) && !(x > y) && x == x && y == y;
        return ASC_OK;
    }
    if (a->type != b->type) return ASC_OK;
    switch (a->type) {
    case ASC_JINJA_UNDEFINED:
    case ASC_JINJA_NONE:
        *out = true;
        break;
    case ASC_JINJA_STRING: {
        asc_view v, w;
        if (a->u.s.len != b->u.s.len) return ASC_OK;
        ASC_JINJA_DO(asc_jinja_str_flat(j, a->u.s, &v));
        ASC_JINJA_DO(asc_jinja_str_flat(j, b->u.s, &w));
        *out = asc_view_eq(v, w);
        break;
    }
    case ASC_JINJA_LIST:
        *out = a->u.list->n == b->u.list->n && a->u.list->tuple == b->u.list->tuple;
        for (size_t i = 0; i < a->u.list->n && *out; i++)
            ASC_JINJA_DO(asc_jinja_equal(j, &a->u.list->v[i], &b->u.list->v[i], out));
        break;
    case ASC_JINJA_DICT:
        return equal_dicts(j, a->u.dict, b->u.dict, out);
    case ASC_JINJA_NAMESPACE:
        *out = a->u.dict == b->u.dict;
        break;
    case ASC_JINJA_FUNCTION:
        *out = a->u.function == b->u.function;
        break;
    case ASC_JINJA_MACRO:
        *out = a->u.macro == b->u.macro;
        break;
    case ASC_JINJA_LOOP:
        *out = a->u.loop == b->u.loop;
        break;
    case ASC_JINJA_BOOL:
    case ASC_JINJA_INT:
    case ASC_JINJA_FLOAT:
        break; /* done above */
    }
    return ASC_OK;
}
