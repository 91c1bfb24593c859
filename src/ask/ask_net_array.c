/* ask_net_array.c - arrays out of JSON: nested lists, numbers, memory of the caller's by name, .npy files as
 * base64. Lists are checked whole before anything of their size is allocated. */
#include "ask_net_parts.h"
#include "nearest.h"
#include "npy.h"
#include "plain.h"
#include "text_parts.h"
#include <math.h>
#include <stdio.h>

static const double MOST_WHOLE = 9007199254740992.0; /* 2^53: reals beyond are no exact counts */

typedef struct lists {
    asc_question *q;
    asc_ask_place at;
    asc_ask_want want;
    asc_shape shape;
    int64_t path[ASC_MAX_RANK]; /* of the value that is looked at */
    bool whole;                 /* every number so far is */
} lists;

/* "input.x[0][2]" */
static void place_text(asc_ask_place at, const int64_t *path, int depth, char out[200]) {
    int n = snprintf(out, 120, at.part != NULL ? "%s.%.80s" : "%s", asc_ask_name(at.key), at.part);
    for (int d = 0; d < depth && n > 0 && n < 170; d++)
        n += snprintf(out + n, 200 - (size_t)n, "[%lld]", (long long)path[d]);
}

static asc_status wrong_at(const lists *l, int depth, const asc_json *j, const char *wanted) {
    char where[200], given[64];
    asc_view s = asc_view_cut(asc_json_str(j), 24);
    while (s.len > 0 && asc_utf8_check(s) != s.len) s.len--; /* not in the middle of a character */
    switch (asc_json_typeof(j)) {
    case ASC_JSON_STRING:
        snprintf(given, sizeof given, "\"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(s));
        break;
    case ASC_JSON_INT:
    case ASC_JSON_REAL:
        asc_snprintf(given, sizeof given, "%.17g", asc_json_num(j, 0.0));
        break;
    default:
        snprintf(given, sizeof given, "%s",
                 asc_json_typeof(j) == ASC_JSON_BOOL     ? (asc_json_bool(j, false) ? "true" : "false")
                 : asc_json_typeof(j) == ASC_JSON_NULL   ? "null"
                 : asc_json_typeof(j) == ASC_JSON_OBJECT ? "an object"
                                                         : "a list");
    }
    place_text(l->at, l->path, depth, where);
    ASC_FAIL(l->q->ctx, ASC_INVALID_ARGUMENT, "%s: %s is wanted, %s was given", where, wanted, given);
    return asc_hint(l->q->ctx, "docs/questions-nets.md has the forms of arrays");
}

asc_status asc_ask_array_wrong(asc_question *q, asc_ask_place at, const asc_json *j, const char *wanted) {
    lists l = {.q = q, .at = at};
    return wrong_at(&l, 0, j, wanted);
}

static asc_status check_number(lists *l, const asc_json *j) {
    asc_json_type t = asc_json_typeof(j);
    double x = asc_json_num(j, NAN);
    bool boolean = t == ASC_JSON_BOOL;
    if (boolean && l->want != ASC_ASK_FLOATS) return ASC_OK;
    if (t != ASC_JSON_INT && t != ASC_JSON_REAL)
        return wrong_at(l, l->shape.rank, j, l->shape.rank > 0 ? "a number" : "an array");
    bool whole = t == ASC_JSON_INT || (x == floor(x) && fabs(x) < MOST_WHOLE);
    l->whole = l->whole && whole;
    if (!whole && l->want == ASC_ASK_WHOLES) return wrong_at(l, l->shape.rank, j, "a whole number");
    return ASC_OK;
}

/* Every list at one depth is as long as the first one there, and numbers are at one depth. */
static asc_status check_lists(lists *l, const asc_json *j, int depth) {
    if (depth == l->shape.rank) return check_number(l, j);
    size_t n = asc_json_len(j);
    if (asc_json_typeof(j) != ASC_JSON_ARRAY) return wrong_at(l, depth, j, "a list, as before it,");
    if ((int64_t)n != l->shape.dims[depth]) {
        char where[200];
        place_text(l->at, l->path, depth, where);
        ASC_FAIL(l->q->ctx, ASC_INVALID_ARGUMENT, "%s: a list of %zu behind lists of %lld", where, n,
                 (long long)l->shape.dims[depth]);
        return asc_hint(l->q->ctx, "an array has rows of one length");
    }
    for (size_t i = 0; i < n; i++) {
        l->path[depth] = (int64_t)i;
        asc_status st = check_lists(l, asc_json_at(j, i), depth + 1);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

static double *fill_doubles(const asc_json *j, int depth, double *to) {
    if (depth == 0) {
        *to = asc_json_typeof(j) == ASC_JSON_BOOL ? asc_json_bool(j, false) : asc_json_num(j, 0.0);
        return to + 1;
    }
    for (size_t i = 0; i < asc_json_len(j); i++) to = fill_doubles(asc_json_at(j, i), depth - 1, to);
    return to;
}

static int64_t *fill_wholes(const asc_json *j, int depth, int64_t *to) {
    if (depth == 0) {
        asc_json_type t = asc_json_typeof(j);
        *to = t == ASC_JSON_BOOL  ? asc_json_bool(j, false)
              : t == ASC_JSON_INT ? asc_json_int(j, 0)
                                  : (int64_t)asc_json_num(j, 0.0);
        return to + 1;
    }
    for (size_t i = 0; i < asc_json_len(j); i++) to = fill_wholes(asc_json_at(j, i), depth - 1, to);
    return to;
}

static asc_status from_lists(asc_question *q, asc_ask_place at, const asc_json *j, asc_ask_want want,
                             asc_array *out) {
    lists l = {.q = q, .at = at, .want = want, .whole = true};
    const asc_json *first = j;
    while (asc_json_typeof(first) == ASC_JSON_ARRAY) {
        if (l.shape.rank == ASC_MAX_RANK) {
            char wanted[60];
            snprintf(wanted, sizeof wanted, "an array of at most %d dimensions", ASC_MAX_RANK);
            return wrong_at(&l, l.shape.rank, first, wanted);
        }
        l.shape.dims[l.shape.rank++] = (int64_t)asc_json_len(first);
        if (asc_json_len(first) == 0) break;
        first = asc_json_at(first, 0);
    }
    asc_status st = check_lists(&l, j, 0);
    if (st != ASC_OK) return st;
    *out = (asc_array){.shape = l.shape};
    bool wholes = want == ASC_ASK_WHOLES || (want == ASC_ASK_EITHER && l.whole);
    out->elem = wholes ? ASC_ELEM_I64 : ASC_ELEM_F64;
    void *data = asc_ask_alloc(q, (size_t)asc_array_count(out), 8);
    if (data == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (wholes)
        fill_wholes(j, l.shape.rank, data);
    else
        fill_doubles(j, l.shape.rank, data);
    out->data = data;
    return ASC_OK;
}

/* Elements that lie `strides` bytes apart, row-major. The last dimension goes in one piece where it can. */
static void gather(const asc_array *a, const int64_t *strides, char *to) {
    const size_t size = asc_elem_bytes(a->elem);
    const int rank = a->shape.rank;
    const int64_t n = asc_array_count(a), last = a->shape.dims[rank - 1], step = strides[rank - 1];
    int64_t at[ASC_MAX_RANK] = {0};
    for (int64_t row = 0; row < n / last; row++) {
        const char *from = a->data;
        for (int d = 0; d < rank - 1; d++) from += at[d] * strides[d];
        if (step == (int64_t)size) {
            memcpy(to, from, (size_t)last * size);
            to += (size_t)last * size;
        } else {
            for (int64_t i = 0; i < last; i++, to += size) memcpy(to, from + i * step, size);
        }
        for (int d = rank - 2; d >= 0 && ++at[d] == a->shape.dims[d]; d--) at[d] = 0;
    }
}

static bool row_major(const asc_array *a, const int64_t *strides) {
    int64_t step = (int64_t)asc_elem_bytes(a->elem);
    for (int d = a->shape.rank - 1; d >= 0; d--) {
        if (a->shape.dims[d] != 1 && strides[d] != step) return false;
        step *= a->shape.dims[d];
    }
    return true;
}

static asc_status from_memory(asc_question *q, asc_ask_place at, asc_view name, asc_array *out) {
    asc_ctx *ctx = q->ctx;
    char where[200];
    const asc_named_array *found = NULL;
    for (size_t i = 0; i < q->n_arrays && found == NULL; i++) {
        if (q->arrays[i].name != NULL && asc_view_eqs(name, q->arrays[i].name)) found = &q->arrays[i];
    }
    place_text(at, NULL, 0, where);
    if (found == NULL) {
        asc_view cut = asc_view_cut(name, 60);
        ASC_FAIL(ctx, ASC_NOT_FOUND, "%s: no array \"" ASC_VIEW_FMT "\" was handed over", where,
                 ASC_VIEW_ARG(cut));
        return asc_hint(ctx,
                        "%zu arrays came with the question; over HTTP there are none: write the numbers, "
                        "or {\"npy_b64\": ...}",
                        q->n_arrays);
    }
    const asc_array *a = &found->array;
    bool fits = asc_elem_name(a->elem) != NULL && a->shape.rank >= 0 && a->shape.rank <= ASC_MAX_RANK;
    int64_t n = fits ? asc_array_count(a) : -1;
    size_t bytes;
    if (n < 0 || (n > 0 && a->data == NULL) || !asc_mul_size((size_t)n, asc_elem_bytes(a->elem), &bytes)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: array \"%.60s\" has no possible shape, type or data", where,
                 found->name);
        return asc_hint(ctx, "see asc_array in ascribe/array.h");
    }
    *out = *a;
    if (n == 0) out->data = q; /* none is read; NULL would mean that no array was given */
    if (n == 0 || found->strides == NULL || row_major(a, found->strides)) return ASC_OK;
    char *copy = asc_ask_alloc(q, bytes, 1);
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    gather(a, found->strides, copy);
    out->data = copy;
    return ASC_OK;
}

asc_status asc_ask_base64(asc_question *q, asc_ask_place at, asc_view text, asc_view *out) {
    char where[200];
    if (asc_view_starts(text, asc_view_of("data:"))) {
        const char *comma = memchr(text.ptr, ',', text.len);
        asc_view head = asc_view_make(text.ptr, comma != NULL ? (size_t)(comma - text.ptr) : 0);
        if (!asc_view_ends(head, asc_view_of(";base64"))) {
            place_text(at, NULL, 0, where);
            ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "%s: a data: URL that is not base64", where);
            return asc_hint(q->ctx, "write it as data:image/png;base64,... or the base64 alone");
        }
        text = asc_view_make(comma + 1, text.len - head.len - 1);
    }
    char *bytes = asc_ask_alloc(q, text.len / 4 * 3 + 3, 1);
    if (bytes == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t n = asc_base64_read(text, bytes);
    if (n == SIZE_MAX) {
        place_text(at, NULL, 0, where);
        ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "%s: not base64", where);
        return asc_hint(q->ctx, "the bytes of a file in the digits A-Z a-z 0-9 + /, as `base64 FILE` prints");
    }
    *out = asc_view_make(bytes, n);
    return ASC_OK;
}

asc_array *asc_ask_own(asc_question *q) {
    asc_ask_owned *o = asc_ask_alloc(q, 1, sizeof *o);
    if (o == NULL) return NULL;
    o->next = q->of_net->owned;
    q->of_net->owned = o;
    return &o->a;
}

static asc_status from_npy(asc_question *q, asc_ask_place at, asc_view text, asc_array *out) {
    asc_view file = {0};
    asc_npy npy;
    char where[200];
    asc_status st = asc_ask_base64(q, at, text, &file);
    if (st != ASC_OK) return st;
    st = asc_npy_parse(q->ctx, file.ptr, file.len, &npy);
    if (st != ASC_OK) {
        place_text(at, NULL, 0, where);
        return asc_fail_context(q->ctx, "%s", where);
    }
    *out = (asc_array){.elem = npy.elem, .shape = npy.shape, .data = file.ptr + npy.offset};
    if (!npy.fortran && !npy.swap) return ASC_OK;
    asc_array *own = asc_ask_own(q);
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    st = asc_npy_copy(q->ctx, file.ptr, &npy, own);
    *out = *own;
    return st;
}

/* The one string under `key` of an object of one entry; {NULL, 0}: it is not that. */
static asc_view only(const asc_json *j, const char *key) {
    return asc_json_len(j) == 1 ? asc_json_str(asc_json_get(j, key)) : (asc_view){0};
}

bool asc_ask_is_array(const asc_json *j) {
    asc_json_type t = asc_json_typeof(j);
    return t == ASC_JSON_ARRAY || t == ASC_JSON_INT || t == ASC_JSON_REAL || t == ASC_JSON_BOOL ||
           (t == ASC_JSON_OBJECT && (only(j, "array").ptr != NULL || only(j, "npy_b64").ptr != NULL));
}

asc_status asc_ask_array(asc_question *q, asc_ask_place at, const asc_json *j, asc_ask_want want,
                         asc_array *out) {
    *out = (asc_array){0};
    if (asc_json_typeof(j) != ASC_JSON_OBJECT) return from_lists(q, at, j, want, out);
    if (only(j, "array").ptr != NULL) return from_memory(q, at, only(j, "array"), out);
    if (only(j, "npy_b64").ptr != NULL) return from_npy(q, at, only(j, "npy_b64"), out);
    return asc_ask_array_wrong(q, at, j,
                               "a number, nested lists, {\"array\": NAME} or {\"npy_b64\": BASE64}");
}

const double *asc_ask_doubles(asc_question *q, const asc_array *a) {
    int64_t n = asc_array_count(a);
    double *v = asc_ask_alloc(q, (size_t)(n > 0 ? n : 0), sizeof *v);
    if (v != NULL && n > 0) asc_array_get(a, 0, n, v);
    return v;
}

asc_status asc_ask_spread(asc_question *q, asc_key_id id, const char *const *names, size_t n,
                          const char *what, size_t first, const asc_json **out) {
    const asc_json *v = q->values[id], *list = asc_json_get(v, "arrays"), *one;
    const char *key = asc_ask_name(id);
    void *iter = NULL;
    asc_view name;
    if (asc_ask_is_array(v) || asc_json_typeof(v) == ASC_JSON_STRING) {
        if (n == 0) return asc_ask_refuse(q, "\"%s\": there is no %s", key, what);
        out[first] = v;
        return ASC_OK;
    }
    if (asc_json_len(v) == 1 && asc_json_typeof(list) == ASC_JSON_ARRAY) {
        if (asc_json_len(list) > n)
            return asc_ask_refuse(q, "\"%s\": a list of %zu arrays for %zu %ss", key, asc_json_len(list), n,
                                  what);
        for (size_t i = 0; i < asc_json_len(list); i++) {
            const asc_json *e = asc_json_at(list, i);
            if (asc_json_typeof(e) != ASC_JSON_NULL) out[i] = e;
        }
        return ASC_OK;
    }
    while (asc_json_next(v, &iter, &name, &one)) {
        size_t i = 0;
        while (i < n && !asc_view_eqs(name, names[i])) i++;
        if (i == n) {
            char near[256];
            asc_view cut = asc_view_cut(name, 60);
            ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "\"%s\": the net has no %s \"" ASC_VIEW_FMT "\"", key,
                     what, ASC_VIEW_ARG(cut));
            return asc_hint(q->ctx, "there is: %s", asc_nearest_text(names, n, name, near));
        }
        if (asc_json_typeof(one) != ASC_JSON_NULL) out[i] = one;
    }
    return ASC_OK;
}
