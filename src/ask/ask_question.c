/* ask_question.c - JSON to a question: bounds, the keys by the table, then what each kind of subject makes of
 * them. A null is as good as a key that is not there. */
#include "ask_parts.h"

/* Brackets outside of strings, before the reader that calls itself for each. */
static asc_status check_depth(asc_ctx *ctx, asc_view json) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        if (in_string && c == '\\') {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '[' || c == '{')) {
            if (++depth > ASC_ASK_MAX_DEPTH) {
                ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "byte %zu: lists and objects more than %d deep", i,
                         (int)ASC_ASK_MAX_DEPTH);
                return asc_hint(ctx, "no key of a question needs that; docs/formats/question.md lists them");
            }
        } else if (!in_string && (c == ']' || c == '}')) {
            depth--;
        }
    }
    return ASC_OK;
}

/* name: where the value of "id" goes; NULL = there is no such key. */
static asc_status read_keys(asc_question *q, asc_view json, const asc_json **name) {
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    if (json.len > ASC_ASK_MAX_JSON) {
        ASC_FAIL(q->ctx, ASC_RESOURCE_EXHAUSTED, "a question of %zu bytes; the limit is %d", json.len,
                 (int)ASC_ASK_MAX_JSON);
        return asc_hint(q->ctx, "give large arrays as files or from memory");
    }
    asc_status st = check_depth(q->ctx, json);
    if (st == ASC_OK) st = asc_json_parse(q->ctx, json.ptr, json.len, &q->root);
    if (st == ASC_INVALID_ARGUMENT && asc_error_hint(q->ctx)[0] == '\0')
        asc_hint(q->ctx, "write the question as one JSON object: {\"prompt\": \"...\"}");
    if (st != ASC_OK) return st;
    if (asc_json_typeof(q->root) != ASC_JSON_OBJECT) {
        ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "the question is no JSON object");
        return asc_hint(q->ctx, "write it as {\"prompt\": \"...\"}");
    }
    if (name != NULL) *name = asc_json_get(q->root, "id");
    while (asc_json_next(q->root, &iter, &key, &v)) {
        if (name != NULL && asc_view_eqs(key, "id")) continue;
        int id = asc_ask_key_find(q->ctx, key, q->kind);
        if (id < 0) return ASC_INVALID_ARGUMENT;
        if (asc_json_typeof(v) != ASC_JSON_NULL) q->values[id] = v;
    }
    return ASC_OK;
}

static asc_question *new_question(asc_ctx *ctx, asc_subject_kind kind) {
    asc_question *q = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *q);
    if (q == NULL) return NULL;
    q->ctx = ctx;
    q->kind = kind;
    q->request.struct_size = sizeof q->request;
    q->attr.struct_size = sizeof q->attr;
    asc_arena_init(&q->arena, ctx, ASC_MEM_GENERAL);
    return q;
}

asc_status asc_question_parse(asc_subject *s, asc_view json, const asc_named_array *arrays, size_t n_arrays,
                              asc_question **out) {
    *out = NULL;
    asc_question *q = new_question(s->ctx, s->kind);
    if (q == NULL) return ASC_RESOURCE_EXHAUSTED;
    q->subject = s;
    q->model = s->model;
    q->net = s->net;
    q->arrays = arrays;
    q->n_arrays = n_arrays;
    asc_status st = read_keys(q, json, NULL);
    if (st == ASC_OK) st = q->kind == ASC_SUBJECT_NET ? asc_ask_net_parse(q) : asc_ask_prompt_parse(q);
    if (st == ASC_OK) {
        *out = q;
        return ASC_OK;
    }
    asc_ask_say_keys(s->ctx);
    asc_question_destroy(q);
    return st;
}

asc_status asc_ask_read_line(asc_ctx *ctx, asc_model *m, asc_view json, const asc_request *base,
                             asc_question **out, const asc_json **id) {
    bool encoder = m != NULL && asc_model_get_info(m).encoder;
    asc_question *q = *out = new_question(ctx, encoder ? ASC_SUBJECT_ENCODER : ASC_SUBJECT_DECODER);
    *id = NULL;
    if (q == NULL) return ASC_RESOURCE_EXHAUSTED;
    q->model = m;
    q->request = *base;
    asc_status st = read_keys(q, json, id);
    return st == ASC_OK ? asc_ask_prompt_parse(q) : st;
}

void asc_question_destroy(asc_question *q) {
    if (q == NULL) return;
    if (q->kind == ASC_SUBJECT_NET)
        asc_ask_net_free(q);
    else
        asc_ask_prompt_free(q);
    asc_json_free(q->root);
    asc_arena_deinit(&q->arena);
    asc_free(q->ctx, q);
}

const asc_request *asc_question_request(const asc_question *q) {
    return q->kind == ASC_SUBJECT_NET ? NULL : &q->request;
}

const asc_attr_request *asc_question_attr_request(const asc_question *q) {
    return q->kind == ASC_SUBJECT_NET ? &q->attr : NULL;
}

void asc_question_set_dry_run(asc_question *q, bool dry_run) {
    q->request.dry_run = dry_run;
    q->attr.dry_run = dry_run;
}
