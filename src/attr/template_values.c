/* template_values.c - values of a template, and documents, from JSON. */
#include "template_json.h"
#include "view.h"

static asc_status wrong(asc_ctx *ctx, size_t i, asc_view name, const char *what) {
    asc_view n = asc_view_cut(name, 60);
    if (name.ptr != NULL)
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "value '" ASC_VIEW_FMT "': %s", ASC_VIEW_ARG(n), what);
    else
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "value %zu: %s", i, what);
    return asc_hint(ctx, "a value is a string, or {\"value\": \"...\", \"baseline\": \"...\" or a list, "
                         "\"group\": 0}");
}

static asc_status copy(asc_arena *a, asc_view v, asc_view *out) {
    char *s = asc_arena_strdup(a, v);
    *out = asc_view_make(s, v.len);
    return s != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status read_baselines(asc_ctx *ctx, asc_arena *a, const asc_json *j, size_t i,
                                 asc_template_value *v) {
    bool list = asc_json_typeof(j) == ASC_JSON_ARRAY;
    size_t n = list ? asc_json_len(j) : 1;
    asc_status st = ASC_OK;
    if (n == 0) return wrong(ctx, i, v->name, "its list of baselines is empty");
    asc_view *b = asc_arena_alloc(a, n * sizeof *b);
    if (b == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < n; k++) {
        const asc_json *one = list ? asc_json_at(j, k) : j;
        if (asc_json_typeof(one) != ASC_JSON_STRING) return wrong(ctx, i, v->name, "a baseline is no string");
        ASC_TRY(copy(a, asc_json_str(one), &b[k]));
    }
    v->baselines = b;
    v->n_baselines = n;
done:
    return st;
}

static asc_status read_value(asc_ctx *ctx, asc_arena *a, const asc_json *j, size_t i, asc_template_value *v) {
    asc_status st = ASC_OK;
    v->group = -1;
    if (asc_json_typeof(j) == ASC_JSON_STRING) return copy(a, asc_json_str(j), &v->text);
    if (asc_json_typeof(j) != ASC_JSON_OBJECT)
        return wrong(ctx, i, v->name, "it is neither a string nor an object");
    const asc_json *value = asc_json_get(j, "value"), *group = asc_json_get(j, "group"),
                   *baseline = asc_json_get(j, "baseline");
    if (asc_json_typeof(value) != ASC_JSON_STRING)
        return wrong(ctx, i, v->name, "its \"value\" is no string");
    ASC_TRY(copy(a, asc_json_str(value), &v->text));
    if (baseline != NULL) ASC_TRY(read_baselines(ctx, a, baseline, i, v));
    if (group != NULL) {
        int64_t g = asc_json_int(group, -1);
        if (g < 0 || g > INT32_MAX) return wrong(ctx, i, v->name, "its \"group\" is no number from 0 on");
        v->group = (int32_t)g;
    }
done:
    return st;
}

asc_status asc_template_values_read(asc_ctx *ctx, const asc_json *root, asc_arena *a,
                                    asc_template_values *out) {
    asc_status st = ASC_OK;
    bool list = asc_json_typeof(root) == ASC_JSON_ARRAY;
    if (!list && asc_json_typeof(root) != ASC_JSON_OBJECT) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the values are neither a list nor an object");
        return asc_hint(ctx, "write [\"first\", \"second\"] or {\"name\": \"value\"}");
    }
    size_t n = asc_json_len(root), i = 0;
    asc_template_value *v = asc_arena_alloc(a, (n + 1) * sizeof *v);
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    void *iter = NULL;
    asc_view key;
    const asc_json *j;
    for (; list && i < n; i++) {
        v[i] = (asc_template_value){0};
        ASC_TRY(read_value(ctx, a, asc_json_at(root, i), i, &v[i]));
    }
    while (!list && i < n && asc_json_next(root, &iter, &key, &j)) {
        v[i] = (asc_template_value){0};
        ASC_TRY(copy(a, key, &v[i].name));
        ASC_TRY(read_value(ctx, a, j, i, &v[i]));
        i++;
    }
    out->v = v;
    out->n = i;
done:
    return st;
}

asc_status asc_template_values_parse(asc_ctx *ctx, asc_view json, asc_template_values *out) {
    asc_json *root = NULL;
    *out = (asc_template_values){0};
    asc_arena *a = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *a);
    if (a == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_arena_init(a, ctx, ASC_MEM_GENERAL);
    asc_status st = asc_json_parse(ctx, json.ptr, json.len, &root);
    if (st == ASC_OK) st = asc_template_values_read(ctx, root, a, out);
    asc_json_free(root);
    out->memory = a;
    if (st != ASC_OK) asc_template_values_free(ctx, out);
    return st;
}

void asc_template_values_free(asc_ctx *ctx, asc_template_values *v) {
    if (v->memory != NULL) asc_arena_deinit(v->memory);
    asc_free(ctx, v->memory);
    *v = (asc_template_values){0};
}

asc_status asc_document_read(asc_ctx *ctx, const asc_json *j, asc_document *out) {
    static const char *const names[] = {"label", "title", "id"};
    const asc_json *text = j, *label = NULL;
    *out = (asc_document){0};
    if (asc_json_typeof(j) == ASC_JSON_OBJECT) {
        text = asc_json_get(j, "text");
        for (size_t i = 0; label == NULL && i < sizeof names / sizeof *names; i++)
            label = asc_json_get(j, names[i]);
    }
    if (asc_json_typeof(text) != ASC_JSON_STRING || asc_json_str(text).len == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a document whose \"text\" is no string, or empty");
        return asc_hint(ctx, "write {\"text\": \"...\", \"label\": \"...\"} or a string");
    }
    out->text = asc_json_str(text);
    if (asc_json_typeof(label) == ASC_JSON_STRING) out->label = asc_json_str(label);
    return ASC_OK;
}

asc_status asc_document_parse(asc_ctx *ctx, asc_view json, asc_document *out) {
    asc_json *root = NULL;
    *out = (asc_document){0};
    asc_status st = asc_json_parse(ctx, json.ptr, json.len, &root);
    if (st == ASC_OK) st = asc_document_read(ctx, root, out);
    if (st == ASC_OK)
        out->memory = root;
    else
        asc_json_free(root);
    return st;
}

void asc_document_free(asc_ctx *ctx, asc_document *d) {
    (void)ctx;
    asc_json_free(d->memory);
    *d = (asc_document){0};
}
