/* goldens_vocab.c - vocabularies of llama.cpp (ggml-vocab-NAME.gguf): texts in FILE.inp, the ids that the
 * models' own tokenizers gave in FILE.out, all exact. Every file, with ids or without, must give ranges that
 * tile and what its kind promises of the way back. A kind that is not supported must be refused by its name.
 */
#include "alloc.h"
#include "file.h"
#include "gguf_vocab.h"
#include "goldens.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char mark[] = "\n__ggml_vocab_test__\n";

/* The text up to the next mark; *rest is moved behind it. */
static asc_view next_text(asc_view *rest) {
    const char *hit = memmem(rest->ptr, rest->len, mark, sizeof mark - 1);
    asc_view t = {rest->ptr, hit != NULL ? (size_t)(hit - rest->ptr) : rest->len};
    size_t used = hit != NULL ? t.len + sizeof mark - 1 : rest->len;
    *rest = (asc_view){rest->ptr + used, rest->len - used};
    return t;
}

/* One line of ids against tokens; *line is moved to the next. */
static bool same_ids(const char **line, const char *end, const asc_token *t, size_t n) {
    const char *p = *line, *stop = memchr(p, '\n', (size_t)(end - p));
    char number[24];
    bool same = true;
    size_t i = 0;
    if (stop == NULL) stop = end;
    while (p < stop) {
        size_t len = 0;
        while (p < stop && *p == ' ') p++;
        for (; p < stop && *p != ' '; p++) {
            if (len + 1 < sizeof number) number[len++] = *p;
        }
        number[len] = '\0';
        if (len > 0) {
            same = same && i < n && strtol(number, NULL, 10) == t[i].id;
            i++;
        }
    }
    *line = stop < end ? stop + 1 : end;
    return same && i == n;
}

static asc_token *tokens_of(goldens *g, const asc_tokenizer *tk, asc_view text, size_t *n) {
    asc_tokenize_options o = {.struct_size = sizeof o};
    asc_token *t = NULL;
    asc_view cut = asc_view_cut(text, 40);
    if (asc_tokenize(g->ctx, tk, text, &o, &t, n) != ASC_OK) {
        goldens_fail(g, "'" ASC_VIEW_FMT "': %s", ASC_VIEW_ARG(cut), asc_error_message(g->ctx));
        return NULL;
    }
    bool tiles = *n == 0 || (t[0].start == 0 && t[*n - 1].end == text.len);
    for (size_t i = 1; tiles && i < *n; i++) tiles = t[i].start == t[i - 1].end;
    goldens_check(g, tiles ? 0.0 : 2.0, "'" ASC_VIEW_FMT "': byte ranges leave a gap", ASC_VIEW_ARG(cut));
    return t;
}

static void compare(goldens *g, const asc_tokenizer *tk, asc_view texts, asc_view ids) {
    const char *line = ids.ptr, *end = ids.ptr + ids.len;
    bool more = true;
    while (more) {
        more = memmem(texts.ptr, texts.len, mark, sizeof mark - 1) != NULL;
        asc_view text = next_text(&texts), cut = asc_view_cut(text, 40);
        size_t n = 0;
        asc_token *t = tokens_of(g, tk, text, &n);
        bool same = same_ids(&line, end, t, t != NULL ? n : 0);
        goldens_check(g, same ? 0.0 : 2.0, "'" ASC_VIEW_FMT "': other ids", ASC_VIEW_ARG(cut));
        asc_tokens_free(g->ctx, t);
    }
    goldens_check(g, line == end ? 0.0 : 2.0, "there are more lines of ids than texts");
}

/* Texts of many scripts, for files without ids. */
static void run_plain(goldens *g, const asc_tokenizer *tk) {
    static const char *const texts[] = {"",
                                        " ",
                                        "\n\n \t x",
                                        "Hello, World! It's 3.14 o'clock.",
                                        "\xE4\xBD\xA0\xE5\xA5\xBD \xED\x95\x9C\xEA\xB5\xAD",
                                        "a\xFFz\xC3",
                                        "\xF0\x9F\x98\x80\xE2\x80\x8D",
                                        "don't WE'LL \xC3\x89t\xC3\xA9 1234567"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n = 0;
        asc_tokens_free(g->ctx, tokens_of(g, tk, asc_view_of(texts[i]), &n));
    }
}

void goldens_vocab(goldens *g, const char *path) {
    asc_gguf *file = NULL;
    asc_tokenizer *tk = NULL;
    char name[4300], *texts = NULL, *ids = NULL;
    size_t n_texts = 0, n_ids = 0;
    asc_status st = asc_gguf_open(g->ctx, path, &file);
    if (st == ASC_OK) st = asc_tokenizer_from_gguf(g->ctx, file, &tk);
    if (st == ASC_UNIMPLEMENTED && strstr(asc_error_message(g->ctx), "tokenizer.ggml.") != NULL) {
        printf("      refused by name: %s\n", asc_error_message(g->ctx));
        goldens_check(g, 0.0, "refused");
    } else if (st != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
    } else {
        run_plain(g, tk);
        snprintf(name, sizeof name, "%s.inp", path);
        bool has = access(name, R_OK) == 0;
        if (has) st = asc_file_read(g->ctx, name, (size_t)1 << 26, &texts, &n_texts);
        snprintf(name, sizeof name, "%s.out", path);
        if (has && st == ASC_OK) st = asc_file_read(g->ctx, name, (size_t)1 << 26, &ids, &n_ids);
        if (st != ASC_OK) {
            goldens_fail(g, "%s", asc_error_message(g->ctx));
        } else if (has) {
            compare(g, tk, (asc_view){texts, n_texts}, (asc_view){ids, n_ids});
        }
    }
    asc_free(g->ctx, texts);
    asc_free(g->ctx, ids);
    asc_tokenizer_destroy(tk);
    asc_gguf_close(g->ctx, file);
}
