/* fuzz_shell_line.c - lines of a shell, of any bytes: joined, taken apart, completed, made values of; the
 * same bytes as keys. What is taken apart lies inside the line; keys are used up. */
#include "alloc.h"
#include "commands.h"
#include "complete.h"
#include "ctx.h"
#include "history_file.h"
#include "keys.h"
#include "line.h"
#include "settings.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void inside(asc_view v, asc_view of) {
    check(v.len == 0 || (v.ptr >= of.ptr && v.ptr + v.len <= of.ptr + of.len));
}

static void take_apart(asc_ctx *ctx, asc_view line, bool literal) {
    static const unsigned kinds[] = {ASC_KEY_PROMPTS, ASC_KEY_ENCODERS, ASC_KEY_NETS};
    char why[200];
    const char *reason;
    line_parts p = line_parse(line, literal);
    if (p.kind == LINE_PROMPT) inside(p.text, line);
    if (p.kind != LINE_COMMAND) return;
    inside(p.name, line);
    inside(p.rest, line);
    shell_command_find(p.name, why, sizeof why);
    asc_view rest = p.rest, word;
    for (size_t left = rest.len; line_word(&rest, &word); left = rest.len) {
        inside(word, line);
        check(word.len > 0 && rest.len < left);
        size_t n;
        char *value = line_value(word, &n, &reason);
        check(value == NULL || value[n] == '\0');
        free(value);
    }
    for (size_t i = 0; i < 3; i++) {
        rest = p.rest;
        const asc_question_key *k = line_word(&rest, &word) ? settings_key(word, kinds[i]) : NULL;
        bool reads = k != NULL &&
                     (k->type == ASC_KEY_PICTURE || k->type == ASC_KEY_ARRAY || k->type == ASC_KEY_ARRAYS);
        json_t *j = k != NULL && !reads ? settings_value(ctx, k, rest, why, sizeof why) : NULL;
        json_decref(j);
    }
}

static void keys(const char *p, size_t n) {
    while (n > 0) {
        size_t used;
        size_t seen = n < KEY_MOST ? n : KEY_MOST;
        shell_key k = key_read(p, seen, true, &used);
        check(used > 0 && used <= seen && k != KEY_MORE);
        p += used;
        n -= used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    line_joiner j = {0};
    asc_text *kept = NULL, *back = NULL;
    completion c;
    const char *p = (const char *)data;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    check(asc_text_create(ctx, &j.text) == ASC_OK && asc_text_create(ctx, &kept) == ASC_OK &&
          asc_text_create(ctx, &back) == ASC_OK);
    for (size_t i = 0; i < size;) {
        const char *end = memchr(p + i, '\n', size - i);
        size_t n = end != NULL ? (size_t)(end - p) - i : size - i;
        if (line_feed(&j, (asc_view){p + i, n}) == LINE_DONE) {
            asc_view line = asc_text_view(j.text);
            take_apart(ctx, line, j.block);
            if (memchr(line.ptr, '\0', line.len) == NULL && memchr(line.ptr, '\r', line.len) == NULL) {
                asc_text_clear(kept);
                asc_text_clear(back);
                history_escape(kept, line);
                check(memchr(asc_text_view(kept).ptr, '\n', asc_text_view(kept).len) == NULL);
                history_unescape(back, asc_text_view(kept));
                asc_view v = asc_text_view(back);
                check(v.len == line.len && (v.len == 0 || memcmp(v.ptr, line.ptr, v.len) == 0));
            }
            line_restart(&j);
        }
        i += n + 1;
    }
    asc_view all = {p, size};
    if (size > 0 && memchr(p, '/', size) == NULL) {
        complete_line(all, ASC_KEY_PROMPTS, &c);
        check(c.start <= size && (c.n == 0 || completion_common(&c) >= size - c.start));
        completion_free(&c);
    }
    keys(p, size);
    asc_text_destroy(j.text);
    asc_text_destroy(kept);
    asc_text_destroy(back);
    asc_ctx_destroy(ctx);
    return 0;
}
