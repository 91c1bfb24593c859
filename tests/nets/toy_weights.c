/* toy_weights.c - weights of the toy models from JSON. */
#include "file.h"
#include "toy_models.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum { MAX_FILE = 64 << 20 };

/* Shape of nested lists, taken from their first elements. */
static void shape_of(const asc_json *j, asc_shape *s) {
    while (asc_json_typeof(j) == ASC_JSON_ARRAY && s->rank < ASC_MAX_RANK) {
        s->dims[s->rank++] = (int64_t)asc_json_len(j);
        j = asc_json_at(j, 0);
    }
}

static size_t flatten(const asc_json *j, float *out, size_t n, size_t at) {
    if (asc_json_typeof(j) != ASC_JSON_ARRAY) {
        if (at < n) out[at] = (float)asc_json_num(j, (double)NAN);
        return at + 1;
    }
    for (size_t i = 0; i < asc_json_len(j); i++) at = flatten(asc_json_at(j, i), out, n, at);
    return at;
}

static asc_status add(asc_params *p, asc_ctx *ctx, asc_view name, const asc_json *j) {
    char text[256];
    asc_array a = {.elem = ASC_ELEM_F32};
    const asc_json *shape = asc_json_get(j, "shape"), *data = shape != NULL ? asc_json_get(j, "data") : j;
    if (shape == NULL) shape_of(j, &a.shape);
    for (size_t i = 0; shape != NULL && i < asc_json_len(shape) && i < ASC_MAX_RANK; i++)
        a.shape.dims[a.shape.rank++] = asc_json_int(asc_json_at(shape, i), -1);
    int64_t n = asc_array_count(&a);
    float *v = n >= 0 ? asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n + 1, sizeof *v) : NULL;
    if (v == NULL) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a weight without possible shape");
    a.data = v;
    snprintf(text, sizeof text, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
    asc_status st = flatten(data, v, (size_t)n, 0) == (size_t)n
                        ? asc_params_add(p, text, &a)
                        : ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "weight %s: lists of different lengths", text);
    asc_free(ctx, v);
    return st;
}

asc_status toy_params_of(asc_ctx *ctx, const asc_json *state, asc_params **out) {
    void *iter = NULL;
    asc_view name;
    const asc_json *j;
    asc_status st = asc_params_create(ctx, out);
    while (st == ASC_OK && asc_json_next(state, &iter, &name, &j)) st = add(*out, ctx, name, j);
    if (st != ASC_OK) {
        asc_params_destroy(*out);
        *out = NULL;
    }
    return st;
}

asc_status toy_line_of(asc_ctx *ctx, const char *path, const char *model, const char *key, asc_json **root) {
    char *text = NULL;
    size_t n;
    *root = NULL;
    asc_status st = asc_file_read(ctx, path, MAX_FILE, &text, &n);
    for (char *line = text; st == ASC_OK && line < text + n;) {
        char *end = memchr(line, '\n', (size_t)(text + n - line));
        if (end == NULL) end = text + n;
        st = asc_json_parse(ctx, line, (size_t)(end - line), root);
        if (st != ASC_OK) break;
        if (asc_view_eqs(asc_json_str(asc_json_get(*root, key != NULL ? "key" : "model")),
                         key != NULL ? key : model))
            break;
        asc_json_free(*root);
        *root = NULL;
        line = end + 1;
    }
    if (st == ASC_OK && *root == NULL)
        st = ASC_FAIL(ctx, ASC_NOT_FOUND, "%s: no weights of %s", path, key != NULL ? key : model);
    asc_free(ctx, text);
    return st;
}
