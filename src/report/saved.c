/* saved.c - a result file back to a request and its old numbers. Unknown keys are ignored, missing ones that
 * a second run needs are errors that name the key. Everything lives in one arena. */
#include "report_parts.h"
#include "view.h"
#include <math.h>
#include <string.h>

typedef struct reader {
    asc_ctx *ctx;
    asc_arena arena;
    asc_saved s;
} reader;

/* The public struct is the first member, so that both have one address. */
typedef struct saved_box {
    asc_saved s;
    asc_arena arena;
} saved_box;

static asc_status missing(asc_ctx *ctx, const char *key, const char *wanted) {
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "not a usable result file: \"%s\" is not %s", key, wanted);
    return asc_hint(ctx, "use a file that 'ascribe explain --json' wrote");
}

/* The bytes of a text: of "bytes_b64" where it stands, else of `key`. */
static asc_status get_bytes(reader *r, const asc_json *obj, const char *key, asc_view *out) {
    const asc_json *j = asc_json_get(obj, key), *b64 = asc_json_get(obj, "bytes_b64");
    if (asc_json_typeof(j) != ASC_JSON_STRING) return missing(r->ctx, key, "a string");
    asc_view v = asc_json_str(b64 != NULL ? b64 : j);
    char *copy = asc_arena_alloc(&r->arena, v.len + 1);
    size_t n = 0;
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (b64 == NULL) {
        if (v.len > 0) memcpy(copy, v.ptr, v.len);
        *out = asc_view_make(copy, v.len);
        return ASC_OK;
    }
    n = asc_base64_read(v, copy);
    if (n == SIZE_MAX) return missing(r->ctx, "bytes_b64", "base64");
    *out = asc_view_make(copy, n);
    return ASC_OK;
}

static asc_status get_ids(reader *r, const asc_json *obj, const char *key, const int32_t **out, size_t *n) {
    const asc_json *j = asc_json_get(obj, key);
    if (asc_json_typeof(j) != ASC_JSON_ARRAY) return missing(r->ctx, key, "a list");
    *n = asc_json_len(j);
    int32_t *ids = asc_arena_alloc(&r->arena, (*n + 1) * sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < *n; i++) {
        int64_t v = asc_json_int(asc_json_at(j, i), -1);
        if (v < 0 || v > INT32_MAX) return missing(r->ctx, key, "a list of token ids");
        ids[i] = (int32_t)v;
    }
    *out = ids;
    return ASC_OK;
}

/* A copy of a string; NULL where it is null or absent. */
static asc_status get_name(reader *r, const asc_json *obj, const char *key, const char **out) {
    const asc_json *j = asc_json_get(obj, key);
    *out = NULL;
    if (asc_json_typeof(j) == ASC_JSON_NULL) return ASC_OK;
    if (asc_json_typeof(j) != ASC_JSON_STRING) return missing(r->ctx, key, "a string");
    *out = asc_arena_strdup(&r->arena, asc_json_str(j));
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status get_count(reader *r, const asc_json *obj, const char *key, size_t *out) {
    int64_t v = asc_json_int(asc_json_get(obj, key), 0);
    if (v < 0) return missing(r->ctx, key, "a count");
    *out = (size_t)v;
    return ASC_OK;
}

/* {"text"} or {"ids"} or null. */
static asc_status get_source(reader *r, const asc_json *q, const char *key, asc_view *text,
                             const int32_t **ids, size_t *n) {
    const asc_json *j = asc_json_get(q, key);
    if (asc_json_typeof(j) == ASC_JSON_NULL) return ASC_OK;
    if (asc_json_get(j, "ids") != NULL) return get_ids(r, j, "ids", ids, n);
    return get_bytes(r, j, "text", text);
}

static asc_status get_messages(reader *r, const asc_json *list) {
    size_t n = asc_json_len(list);
    asc_message *m = asc_arena_alloc(&r->arena, (n + 1) * sizeof *m);
    asc_status st = ASC_OK;
    asc_view *extras = asc_arena_alloc(&r->arena, (n + 1) * sizeof *extras);
    if (m == NULL || extras == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const char *role = NULL, *extra = NULL;
        ASC_TRY(get_name(r, asc_json_at(list, i), "extra", &extra));
        if (extra != NULL) extras[i] = asc_view_of(extra);
        ASC_TRY(get_name(r, asc_json_at(list, i), "role", &role));
        ASC_TRY(get_bytes(r, asc_json_at(list, i), "content", &m[i].content));
        if (role == NULL) return missing(r->ctx, "role", "a string");
        m[i].role = asc_view_of(role);
    }
    r->s.request.message_extras = extras;
    r->s.request.messages = m;
    r->s.request.n_messages = n;
done:
    return st;
}

static asc_status get_enums(reader *r, const asc_json *q) {
    asc_request *o = &r->s.request;
    const char *features = NULL, *output = NULL, *baseline = NULL, *weights = NULL;
    asc_status st = ASC_OK;
    ASC_TRY(get_name(r, q, "features", &features));
    ASC_TRY(get_name(r, q, "output", &output));
    ASC_TRY(get_name(r, q, "baseline", &baseline));
    ASC_TRY(get_name(r, q, "weights", &weights));
    int f = features != NULL ? asc_features_from_name(features) : -1;
    int u = output != NULL ? asc_output_from_name(output) : -1;
    int b = baseline != NULL ? asc_baseline_from_name(baseline) : -1;
    if (f < 0) return missing(r->ctx, "features", "a kind of feature");
    if (u < 0) return missing(r->ctx, "output", "a kind of output");
    if (b < 0) return missing(r->ctx, "baseline", "a baseline");
    o->features = (asc_features)f;
    o->output = (asc_output)u;
    o->baseline = (asc_baseline)b;
    if (weights != NULL && strcmp(weights, "stored") == 0) r->s.weights = ASC_WEIGHTS_STORED;
    if (weights != NULL && strcmp(weights, "expanded") == 0) r->s.weights = ASC_WEIGHTS_EXPANDED;
done:
    return st;
}

static asc_status get_baselines(reader *r, const asc_json *list, asc_prompt_slot *s) {
    asc_status st = ASC_OK;
    size_t n = asc_json_len(list);
    asc_view *b = asc_arena_alloc(&r->arena, (n + 1) * sizeof *b);
    if (b == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) ASC_TRY(get_bytes(r, asc_json_at(list, i), "text", &b[i]));
    s->baselines = b;
    s->n_baselines = n;
done:
    return st;
}

static asc_status get_slots(reader *r, const asc_json *list) {
    asc_status st = ASC_OK;
    size_t n = asc_json_len(list);
    if (asc_json_typeof(list) != ASC_JSON_ARRAY) return missing(r->ctx, "slots", "a list");
    asc_prompt_slot *s = asc_arena_alloc(&r->arena, (n + 1) * sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *j = asc_json_at(list, i);
        int64_t feature = asc_json_int(asc_json_get(j, "feature"), -1);
        s[i] = (asc_prompt_slot){.feature = feature >= 0 && feature <= INT32_MAX ? (int32_t)feature : -1};
        ASC_TRY(get_count(r, j, "start", &s[i].start));
        ASC_TRY(get_count(r, j, "end", &s[i].end));
        if (asc_json_get(j, "label") != NULL)
            ASC_TRY(get_bytes(r, asc_json_get(j, "label"), "text", &s[i].label));
        if (asc_json_get(j, "baselines") != NULL)
            ASC_TRY(get_baselines(r, asc_json_get(j, "baselines"), &s[i]));
    }
    r->s.request.slots = s;
    r->s.request.n_slots = n;
done:
    return st;
}

static asc_status get_frozen(reader *r, const asc_json *list) {
    size_t n = asc_json_len(list);
    if (asc_json_typeof(list) != ASC_JSON_ARRAY) return missing(r->ctx, "frozen", "a list");
    asc_span *s = asc_arena_alloc(&r->arena, (n + 1) * sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        int64_t a = asc_json_int(asc_json_at(asc_json_at(list, i), 0), -1),
                b = asc_json_int(asc_json_at(asc_json_at(list, i), 1), -1);
        if (a < 0 || b < a) return missing(r->ctx, "frozen", "a list of byte ranges");
        s[i] = (asc_span){(size_t)a, (size_t)b};
    }
    r->s.request.frozen = s;
    r->s.request.n_frozen = n;
    return ASC_OK;
}

/* What features are made of, where it is more than their kind. */
static asc_status get_features(reader *r, const asc_json *q) {
    asc_request *o = &r->s.request;
    asc_status st = ASC_OK;
    if (asc_json_get(q, "slots") != NULL) ASC_TRY(get_slots(r, asc_json_get(q, "slots")));
    if (asc_json_get(q, "frozen") != NULL) ASC_TRY(get_frozen(r, asc_json_get(q, "frozen")));
    if (asc_json_get(q, "skip_tokens") != NULL)
        ASC_TRY(get_ids(r, q, "skip_tokens", &o->skip_tokens, &o->n_skip_tokens));
    ASC_TRY(get_count(r, q, "trials", &o->trials));
done:
    return st;
}

/* Files of before have neither key. */
static asc_status get_question(reader *r, const asc_json *q) {
    asc_request *o = &r->s.request;
    const asc_json *span = asc_json_get(q, "span");
    o->per_token = asc_json_bool(asc_json_get(q, "per_token"), false);
    if (span == NULL || asc_json_typeof(span) == ASC_JSON_NULL) return ASC_OK;
    if (asc_json_typeof(span) == ASC_JSON_OBJECT) return get_bytes(r, span, "text", &o->span);
    int64_t first = asc_json_int(asc_json_at(span, 0), -1), end = asc_json_int(asc_json_at(span, 1), -1);
    if (asc_json_typeof(span) != ASC_JSON_ARRAY || asc_json_len(span) != 2 || first < 0 || end <= first)
        return missing(r->ctx, "span", "two token numbers or a text");
    o->span_start = (size_t)first;
    o->span_end = (size_t)end;
    return ASC_OK;
}

/* Of text encoders; absent for language models. */
static asc_status get_encoder(reader *r, const asc_json *q) {
    const struct {
        const char *key;
        asc_view *to;
    } texts[] = {{"second", &r->s.request.second},
                 {"label", &r->s.request.label},
                 {"similar_to", &r->s.request.similar_to}};
    const asc_json *e = asc_json_get(q, "encoder");
    size_t n = 0;
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < sizeof texts / sizeof *texts; i++) {
        if (asc_json_typeof(asc_json_get(e, texts[i].key)) != ASC_JSON_NULL)
            st = get_bytes(r, e, texts[i].key, texts[i].to);
    }
    if (st != ASC_OK || asc_json_get(e, "types") == NULL) return st;
    st = get_ids(r, e, "types", &r->s.request.prompt_types, &n);
    if (st == ASC_OK && n != r->s.request.n_prompt_ids)
        st = missing(r->ctx, "types", "a list as long as the prompt's ids");
    return st;
}

static asc_status get_request(reader *r, const asc_json *q) {
    asc_request *o = &r->s.request;
    asc_status st = ASC_OK;
    size_t seed = 0;
    if (asc_json_typeof(q) != ASC_JSON_OBJECT) return missing(r->ctx, "request", "an object");
    const asc_json *messages = asc_json_get(asc_json_get(q, "prompt"), "messages");
    o->struct_size = sizeof *o;
    const char *vars = NULL;
    ASC_TRY(get_name(r, asc_json_get(q, "prompt"), "template_vars", &vars));
    if (vars != NULL) o->template_vars = asc_view_of(vars);
    if (messages != NULL)
        ASC_TRY(get_messages(r, messages));
    else
        ASC_TRY(get_source(r, q, "prompt", &o->prompt, &o->prompt_ids, &o->n_prompt_ids));
    ASC_TRY(get_source(r, q, "target", &o->target, &o->target_ids, &o->n_target_ids));
    ASC_TRY(get_source(r, q, "versus", &o->versus, &o->versus_ids, &o->n_versus_ids));
    ASC_TRY(get_question(r, q));
    ASC_TRY(get_features(r, q));
    ASC_TRY(get_encoder(r, q));
    ASC_TRY(get_name(r, q, "method", &o->method));
    ASC_TRY(get_name(r, q, "rule", &o->rule));
    ASC_TRY(get_name(r, q, "norm", &o->norm));
    ASC_TRY(get_name(r, q, "site", &o->site));
    ASC_TRY(get_count(r, q, "generate", &o->generate));
    ASC_TRY(get_count(r, q, "steps", &o->steps));
    ASC_TRY(get_count(r, q, "max_evaluations", &o->max_evaluations));
    ASC_TRY(get_count(r, q, "memory_bytes", &o->memory_bytes));
    ASC_TRY(get_count(r, q, "seed", &seed));
    ASC_TRY(get_count(r, q, "samples", &o->samples));
    o->seed = seed;
    ASC_TRY(get_name(r, q, "layers", &o->layers));
    ASC_TRY(get_name(r, q, "neuron", &o->neuron));
    ASC_TRY(get_source(r, q, "corrupted", &o->corrupted, &o->corrupted_ids, &o->n_corrupted_ids));
    o->stdev = asc_json_num(asc_json_get(q, "stdev"), 0);
    if (!(o->stdev >= 0)) return missing(r->ctx, "stdev", "a number from 0 on");
    int64_t token = asc_json_int(asc_json_get(q, "baseline_token"), 0);
    if (token < 0 || token > INT32_MAX) return missing(r->ctx, "baseline_token", "a token id");
    o->baseline_token = (int32_t)token;
    o->tolerance = asc_json_num(asc_json_get(q, "tolerance"), 0);
    o->max_seconds = asc_json_num(asc_json_get(q, "max_seconds"), 0);
    if (!(o->tolerance >= 0) || !(o->max_seconds >= 0))
        return missing(r->ctx, "tolerance", "a number from 0 on");
    o->alpha = asc_json_num(asc_json_get(q, "alpha"), 0);
    o->refine = asc_json_num(asc_json_get(q, "refine"), 0);
    if (!(o->alpha >= 0) || !(o->refine >= 0)) return missing(r->ctx, "alpha", "a number from 0 on");
    o->compat_captum = asc_json_bool(asc_json_get(q, "compat_captum"), false);
    ASC_TRY(get_enums(r, q));
done:
    return st;
}

static asc_status get_numbers(reader *r, const asc_json *root) {
    asc_saved *s = &r->s;
    const asc_json *features = asc_json_get(root, "features");
    if (asc_json_typeof(features) != ASC_JSON_ARRAY) return missing(r->ctx, "features", "a list");
    s->n_features = asc_json_len(features);
    s->scores = asc_arena_alloc(&r->arena, (s->n_features + 1) * sizeof *s->scores);
    s->errors = asc_arena_alloc(&r->arena, (s->n_features + 1) * sizeof *s->errors);
    if (s->scores == NULL || s->errors == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < s->n_features; i++) {
        s->scores[i] = asc_json_num(asc_json_get(asc_json_at(features, i), "score"), NAN);
        s->errors[i] = asc_json_num(asc_json_get(asc_json_at(features, i), "error"), NAN);
    }
    s->value = asc_json_num(asc_json_get(root, "value"), NAN);
    s->baseline_value = asc_json_num(asc_json_get(root, "baseline_value"), NAN);
    return ASC_OK;
}

/* A list of strings; older files have none. */
static asc_status get_levels(reader *r, const asc_json *list) {
    size_t n = asc_json_len(list);
    const char **lines = asc_arena_alloc(&r->arena, (n + 1) * sizeof *lines);
    if (lines == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; asc_json_typeof(list) == ASC_JSON_ARRAY && i < n; i++) {
        asc_view v = asc_json_str(asc_json_at(list, i));
        if (v.ptr == NULL || memchr(v.ptr, '\0', v.len) != NULL)
            return missing(r->ctx, "precision_at", "a list of texts");
        lines[i] = asc_arena_strdup(&r->arena, v);
        if (lines[i] == NULL) return ASC_RESOURCE_EXHAUSTED;
        r->s.n_precision_at = i + 1;
    }
    r->s.precision_at = lines;
    return ASC_OK;
}

/* A list of {path, scale}; older files have none. */
static asc_status get_adapters(reader *r, const asc_json *list) {
    size_t n = asc_json_len(list);
    asc_adapter *v = asc_arena_alloc(&r->arena, (n + 1) * sizeof *v);
    asc_status st = ASC_OK;
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; asc_json_typeof(list) == ASC_JSON_ARRAY && i < n; i++) {
        const asc_json *one = asc_json_at(list, i);
        ASC_TRY(get_name(r, one, "path", &v[i].path));
        v[i].scale = asc_json_num(asc_json_get(one, "scale"), NAN);
        if (v[i].path == NULL || !isfinite(v[i].scale))
            return missing(r->ctx, "model.adapters", "a list of paths and factors");
        r->s.n_adapters = i + 1;
    }
    r->s.adapters = v;
done:
    return st;
}

static asc_status get_run(reader *r, const asc_json *root) {
    asc_saved *s = &r->s;
    asc_status st = ASC_OK;
    const asc_json *model = asc_json_get(root, "model");
    ASC_TRY(get_name(r, model, "file", &s->model_file));
    ASC_TRY(get_name(r, model, "sha256", &s->model_sha256));
    ASC_TRY(get_adapters(r, asc_json_get(model, "adapters")));
    ASC_TRY(get_name(r, root, "device", &s->device));
    ASC_TRY(get_name(r, root, "mode", &s->mode));
    ASC_TRY(get_name(r, root, "precision", &s->precision));
    ASC_TRY(get_levels(r, asc_json_get(root, "precision_at")));
    ASC_TRY(get_name(r, root, "isa", &s->isa));
    ASC_TRY(get_name(r, root, "version", &s->version));
    if (s->model_file == NULL || s->model_file[0] == '\0')
        return missing(r->ctx, "model.file", "the name of a file");
    if (s->model_sha256 == NULL) s->model_sha256 = "";
    if (s->device == NULL) s->device = "cpu";
    if (s->mode == NULL) s->mode = "deferred";
    if (s->precision == NULL) s->precision = "highest";
    if (s->isa == NULL) s->isa = "";
    if (s->version == NULL) s->version = "";
    int64_t threads = asc_json_int(asc_json_get(root, "threads"), 0);
    s->n_threads = threads > 0 && threads <= 1024 ? (int)threads : 0;
    ASC_TRY(get_ids(r, asc_json_get(root, "prompt"), "ids", &s->prompt_ids, &s->n_prompt_ids));
    ASC_TRY(get_ids(r, asc_json_get(root, "target"), "ids", &s->target_ids, &s->n_target_ids));
done:
    return st;
}

asc_status asc_saved_parse(asc_ctx *ctx, asc_view json, asc_saved **out) {
    asc_json *root = NULL;
    saved_box *box = NULL;
    reader r = {.ctx = ctx};
    *out = NULL;
    asc_arena_init(&r.arena, ctx, ASC_MEM_GENERAL);
    asc_status st = ASC_OK;
    ASC_TRY(asc_json_parse(ctx, json.ptr, json.len, &root));
    if (asc_json_typeof(root) != ASC_JSON_OBJECT || asc_json_get(root, "schema") == NULL) {
        st = missing(ctx, "schema", "there");
        goto done;
    }
    int64_t schema = asc_json_int(asc_json_get(root, "schema"), -1);
    if (schema != ASC_RESULT_SCHEMA) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "the result file has schema %lld; this program knows %d",
                 (long long)schema, ASC_RESULT_SCHEMA);
        st = asc_hint(ctx, "use the version of ascribe that wrote it");
        goto done;
    }
    ASC_TRY(get_run(&r, root));
    ASC_TRY(get_numbers(&r, root));
    ASC_TRY(get_request(&r, asc_json_get(root, "request")));
    box = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *box);
    if (box == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    box->s = r.s;
    box->arena = r.arena;
    *out = &box->s;
done:
    if (st != ASC_OK) asc_arena_deinit(&r.arena);
    asc_json_free(root);
    return st;
}

void asc_saved_destroy(asc_ctx *ctx, asc_saved *s) {
    if (s == NULL) return;
    saved_box *box = (saved_box *)(void *)s;
    asc_arena_deinit(&box->arena);
    asc_free(ctx, box);
}
