/* net_saved.c - the JSON of an attribution on a net back to its command and numbers. Unknown keys are
 * ignored, missing ones are errors that name the key. Everything lives in one arena. */
#include "net_parts.h"
#include "view.h"
#include <math.h>

/* The public struct is the first member, so that both have one address. */
typedef struct saved_box {
    asc_net_saved s;
    asc_arena arena;
    asc_ctx *ctx;
} saved_box;

static asc_status missing(asc_ctx *ctx, const char *key, const char *wanted) {
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "not a usable result file: \"%s\" is not %s", key, wanted);
    return asc_hint(ctx, "use a file that 'ascribe explain --json' wrote");
}

/* A copy of a string; "" where it is null or absent. A NUL inside would cut it: refused. */
static asc_status get_string(saved_box *b, const asc_json *j, const char *key, const char **out) {
    asc_view v = asc_json_str(j);
    *out = "";
    if (asc_json_typeof(j) == ASC_JSON_NULL) return ASC_OK;
    if (asc_json_typeof(j) != ASC_JSON_STRING) return missing(b->ctx, key, "a string");
    if (v.len > 0 && memchr(v.ptr, '\0', v.len) != NULL) return missing(b->ctx, key, "text without NUL");
    *out = asc_arena_strdup(&b->arena, v);
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status get_scores(saved_box *b, const asc_json *result, size_t *at) {
    const asc_json *list = asc_json_get(result, "scores");
    if (asc_json_typeof(list) != ASC_JSON_ARRAY) return missing(b->ctx, "scores", "a list");
    const char *method = NULL;
    asc_status st = get_string(b, asc_json_get(result, "method"), "method", &method);
    for (size_t k = 0; st == ASC_OK && k < asc_json_len(list); k++) {
        const asc_json *entry = asc_json_at(list, k), *data = asc_json_get(entry, "data");
        asc_net_saved_scores *s = &b->s.scores[*at];
        if (asc_json_typeof(data) != ASC_JSON_ARRAY) return missing(b->ctx, "data", "a list");
        st = get_string(b, asc_json_get(entry, "name"), "name", &s->name);
        if (st != ASC_OK) return st;
        s->method = method;
        s->n = asc_json_len(data);
        s->data = asc_arena_alloc(&b->arena, (s->n + 1) * sizeof *s->data);
        if (s->data == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; i < s->n; i++) s->data[i] = asc_json_num(asc_json_at(data, i), NAN);
        ++*at;
    }
    return st;
}

static asc_status read_all(saved_box *b, const asc_json *root) {
    asc_status st = ASC_OK;
    const asc_json *model = asc_json_get(root, "model"), *results = asc_json_get(root, "results");
    if (!asc_view_eqs(asc_json_str(asc_json_get(root, "kind")), "ascribe-net-result"))
        return missing(b->ctx, "kind", "\"ascribe-net-result\"");
    int64_t schema = asc_json_int(asc_json_get(root, "schema"), 0);
    if (schema != ASC_NET_SCHEMA) {
        ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "a result file of schema %lld; this program reads %d",
                 (long long)schema, ASC_NET_SCHEMA);
        return asc_hint(b->ctx, "use the version of ascribe that wrote it");
    }
    ASC_TRY(get_string(b, asc_json_get(root, "command"), "command", &b->s.command));
    ASC_TRY(get_string(b, asc_json_get(model, "file"), "model.file", &b->s.model));
    ASC_TRY(get_string(b, asc_json_get(model, "sha256"), "model.sha256", &b->s.model_sha256));
    ASC_TRY(get_string(b, asc_json_get(root, "version"), "version", &b->s.version));
    ASC_TRY(get_string(b, asc_json_get(asc_json_get(root, "environment"), "precision"), "precision",
                       &b->s.precision));
    if (asc_json_typeof(results) != ASC_JSON_ARRAY) return missing(b->ctx, "results", "a list");
    size_t n = 0, at = 0;
    for (size_t i = 0; i < asc_json_len(results); i++)
        n += asc_json_len(asc_json_get(asc_json_at(results, i), "scores"));
    b->s.scores = asc_arena_alloc(&b->arena, (n + 1) * sizeof *b->s.scores);
    if (b->s.scores == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < asc_json_len(results); i++) ASC_TRY(get_scores(b, asc_json_at(results, i), &at));
    b->s.n_scores = at;
done:
    return st;
}

asc_status asc_net_saved_parse(asc_ctx *ctx, asc_view json, asc_net_saved **out) {
    asc_json *root = NULL;
    *out = NULL;
    asc_status st = asc_json_parse(ctx, json.ptr, json.len, &root);
    if (st != ASC_OK) return st;
    saved_box *b = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *b);
    if (b == NULL) {
        asc_json_free(root);
        return ASC_RESOURCE_EXHAUSTED;
    }
    b->ctx = ctx;
    asc_arena_init(&b->arena, ctx, ASC_MEM_GENERAL);
    st = read_all(b, root);
    asc_json_free(root);
    if (st == ASC_OK)
        *out = &b->s;
    else
        asc_net_saved_destroy(ctx, &b->s);
    return st;
}

void asc_net_saved_destroy(asc_ctx *ctx, asc_net_saved *s) {
    if (s == NULL) return;
    saved_box *b = (saved_box *)s;
    asc_arena_deinit(&b->arena);
    asc_free(ctx, b);
}
