/* batch_input.c - one line of a file of prompts as a request. A key that means nothing here is an error: it
 * is more likely a slip than a remark. */
#include "alloc.h"
#include "batch_parts.h"
#include "ctx.h"
#include <string.h>

bool asc_batch_next_line(asc_view text, size_t *pos, asc_view *line, bool *ended) {
    if (*pos >= text.len) return false;
    const char *p = text.ptr + *pos, *end = memchr(p, '\n', text.len - *pos);
    size_t n = end != NULL ? (size_t)(end - p) : text.len - *pos;
    *ended = end != NULL;
    *pos += n + (end != NULL);
    *line = asc_view_make(p, n > 0 && p[n - 1] == '\r' ? n - 1 : n);
    return true;
}

bool asc_batch_blank(asc_view line) {
    for (size_t i = 0; i < line.len; i++) {
        if (strchr(" \t\r", line.ptr[i]) == NULL || line.ptr[i] == '\0') return false;
    }
    return true;
}

asc_status asc_batch_open(asc_ctx *ctx, const char *path, asc_map *map, asc_view *text, size_t *n_lines) {
    asc_view line;
    size_t pos = 0;
    bool ended;
    *n_lines = 0;
    asc_status st = asc_map_open(ctx, path, map);
    if (st != ASC_OK) return st;
    *text = asc_view_make((const char *)map->data, map->size);
    while (asc_batch_next_line(*text, &pos, &line, &ended)) *n_lines += asc_batch_blank(line) ? 0 : 1;
    if (*n_lines > 0) return ASC_OK;
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' holds no prompts", path);
    return asc_hint(ctx, "write one JSON object a line: {\"prompt\": \"...\"}");
}

static asc_status wrong(asc_ctx *ctx, const char *key, const char *wanted) {
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "\"%s\" is not %s", key, wanted);
    return asc_hint(ctx, "docs/formats/batch.md says what a line may hold");
}

static asc_status get_text(asc_ctx *ctx, const asc_json *v, const char *key, asc_view *out) {
    if (asc_json_typeof(v) != ASC_JSON_STRING) return wrong(ctx, key, "a string");
    *out = asc_json_str(v);
    if (out->ptr == NULL) *out = asc_view_of("");
    return ASC_OK;
}

static asc_status get_count(asc_ctx *ctx, const asc_json *v, const char *key, size_t *out) {
    int64_t n = asc_json_int(v, -1);
    if (asc_json_typeof(v) != ASC_JSON_INT || n < 1 || n > INT32_MAX)
        return wrong(ctx, key, "a whole number from 1 on");
    *out = (size_t)n;
    return ASC_OK;
}

static asc_status get_ids(asc_ctx *ctx, const asc_json *v, const char *key, int32_t **out, size_t *n) {
    if (asc_json_typeof(v) != ASC_JSON_ARRAY) return wrong(ctx, key, "a list of token ids");
    *n = asc_json_len(v);
    *out = asc_calloc(ctx, ASC_MEM_GENERAL, *n + 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < *n; i++) {
        const asc_json *e = asc_json_at(v, i);
        int64_t id = asc_json_int(e, -1);
        if (asc_json_typeof(e) != ASC_JSON_INT || id < 0 || id > INT32_MAX)
            return wrong(ctx, key, "a list of token ids");
        (*out)[i] = (int32_t)id;
    }
    return ASC_OK;
}

static asc_status get_messages(asc_ctx *ctx, const asc_json *v, asc_batch_line *l) {
    size_t n = asc_json_len(v);
    if (asc_json_typeof(v) != ASC_JSON_ARRAY || n == 0)
        return wrong(ctx, "messages", "a list of {\"role\", \"content\"}");
    l->messages = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *l->messages);
    if (l->messages == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *m = asc_json_at(v, i);
        asc_view role = asc_json_str(asc_json_get(m, "role")),
                 content = asc_json_str(asc_json_get(m, "content"));
        if (role.ptr == NULL || content.ptr == NULL)
            return wrong(ctx, "messages", "a list of {\"role\", \"content\"}");
        l->messages[i] = (asc_message){role, content};
    }
    l->request.messages = l->messages;
    l->request.n_messages = n;
    return ASC_OK;
}

/* A line's own target replaces the run's, of whatever kind that is. */
static void drop_target(asc_request *q) {
    q->target = (asc_view){NULL, 0};
    q->target_ids = NULL;
    q->n_target_ids = q->generate = 0;
}

static asc_status take(asc_ctx *ctx, asc_view key, const asc_json *v, asc_batch_line *l) {
    asc_request *q = &l->request;
    asc_status st = ASC_OK;
    if (asc_view_eqs(key, "id")) {
        l->id = v;
    } else if (asc_view_eqs(key, "prompt")) {
        st = get_text(ctx, v, "prompt", &q->prompt);
    } else if (asc_view_eqs(key, "text")) {
        st = get_text(ctx, v, "text", &q->prompt);
    } else if (asc_view_eqs(key, "messages")) {
        st = get_messages(ctx, v, l);
    } else if (asc_view_eqs(key, "ids")) {
        st = get_ids(ctx, v, "ids", &l->prompt_ids, &q->n_prompt_ids);
        q->prompt_ids = l->prompt_ids;
    } else if (asc_view_eqs(key, "target")) {
        drop_target(q);
        st = get_text(ctx, v, "target", &q->target);
    } else if (asc_view_eqs(key, "target_ids")) {
        drop_target(q);
        st = get_ids(ctx, v, "target_ids", &l->target_ids, &q->n_target_ids);
        q->target_ids = l->target_ids;
    } else if (asc_view_eqs(key, "generate")) {
        drop_target(q);
        st = get_count(ctx, v, "generate", &q->generate);
    } else if (asc_view_eqs(key, "versus")) {
        q->versus_ids = NULL;
        q->n_versus_ids = 0;
        st = get_text(ctx, v, "versus", &q->versus);
    } else if (asc_view_eqs(key, "versus_ids")) {
        q->versus = (asc_view){NULL, 0};
        st = get_ids(ctx, v, "versus_ids", &l->versus_ids, &q->n_versus_ids);
        q->versus_ids = l->versus_ids;
    } else if (asc_view_eqs(key, "label")) {
        st = get_text(ctx, v, "label", &q->label);
    } else if (asc_view_eqs(key, "second")) {
        st = get_text(ctx, v, "second", &q->second);
    } else if (asc_view_eqs(key, "similar_to")) {
        st = get_text(ctx, v, "similar_to", &q->similar_to);
    } else {
        asc_view cut = asc_view_cut(key, 60);
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a line has no key \"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(cut));
        st = asc_hint(ctx, "keys: id, prompt, text, messages, ids, target, target_ids, generate, versus, "
                           "versus_ids, label, second, similar_to");
    }
    return st;
}

asc_status asc_batch_line_read(asc_ctx *ctx, asc_view line, const asc_request *base, asc_batch_line *out) {
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    *out = (asc_batch_line){.request = *base};
    if (line.len > ASC_BATCH_MAX_LINE)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a line of %zu bytes; the limit is %d", line.len,
                        ASC_BATCH_MAX_LINE);
    asc_status st = asc_json_parse(ctx, line.ptr, line.len, &out->root);
    if (st != ASC_OK) return st;
    if (asc_json_typeof(out->root) != ASC_JSON_OBJECT) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the line is no JSON object");
        return asc_hint(ctx, "write it as {\"prompt\": \"...\"}");
    }
    while (st == ASC_OK && asc_json_next(out->root, &iter, &key, &v)) st = take(ctx, key, v, out);
    return st;
}

void asc_batch_line_free(asc_ctx *ctx, asc_batch_line *l) {
    asc_json_free(l->root);
    asc_free(ctx, l->messages);
    asc_free(ctx, l->prompt_ids);
    asc_free(ctx, l->target_ids);
    asc_free(ctx, l->versus_ids);
    *l = (asc_batch_line){0};
}
