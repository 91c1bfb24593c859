/* batch_input.c - a file of prompts, line by line; each is a question, read as any other. */
#include "ask_parts.h"
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

asc_status asc_batch_line_read(asc_ctx *ctx, asc_model *m, asc_view line, const asc_request *base,
                               asc_batch_line *out) {
    *out = (asc_batch_line){0};
    asc_status st = asc_ask_read_line(ctx, m, line, base, &out->question, &out->id);
    if (out->question != NULL) out->request = out->question->request;
    return st;
}

void asc_batch_line_free(asc_batch_line *l) {
    asc_question_destroy(l->question);
    *l = (asc_batch_line){0};
}
