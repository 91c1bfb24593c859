/* goldens_kind.c - reads files of cases line by line, and tells what kind they hold: by the file's name, or
 * where that is not known, by the keys of its first line. */
#include "alloc.h"
#include "file.h"
#include "goldens.h"
#include <stdio.h>
#include <string.h>

/* A kind has the keys of one row; the first row that fits counts. */
static const struct {
    const char *name, *keys[4];
} kinds[] = {
    {"minilm_attr.jsonl", {"sentence_a", "ids_a", "methods"}},
    {"smollm2_attr.jsonl", {"ids", "target_ids", "methods"}},
    {"generate_smollm2.jsonl", {"ids", "hf_f32_greedy_ids"}},
    {"tokenizer_smollm2.jsonl", {"ids", "parse_special"}},
    {"cases.jsonl", {"text", "ids", "offsets_chars"}},
    {"tokenizer_minilm.jsonl", {"text", "ids", "offsets"}},
    {"chat_smollm2.jsonl", {"messages", "rendered"}},
    {"gguf_dequant.jsonl", {"ggml_type", "hex", "values"}},
    {"captum_config_golden.jsonl", {"model", "args", "results"}},
    {"captum_sampling.jsonl", {NULL}}, /* by their names alone */
    {"captum_expected.tsv", {NULL}},
    {"captum_llm_golden.json", {NULL}},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Python's json writes NaN, Infinity and -Infinity, which JSON does not have: null, and a string in the same
 * place. Those of the text are replaced; strings stay. */
static size_t without_nan(const char *from, size_t len, char *to) {
    static const char *const words[][2] = {
        {"-Infinity", "\"-inf\""}, {"Infinity", "\"inf\""}, {"NaN", "null"}};
    bool quoted = false;
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        size_t k = 0;
        while (!quoted && k < 3 &&
               (strlen(words[k][0]) > len - i || memcmp(from + i, words[k][0], strlen(words[k][0])) != 0))
            k++;
        if (!quoted && k < 3) {
            memcpy(to + n, words[k][1], strlen(words[k][1]));
            n += strlen(words[k][1]);
            i += strlen(words[k][0]);
            continue;
        }
        if (quoted && from[i] == '\\' && i + 1 < len)
            to[n++] = from[i++];
        else if (from[i] == '"')
            quoted = !quoted;
        to[n++] = from[i++];
    }
    return n;
}

asc_status goldens_parse(asc_ctx *ctx, const char *text, size_t len, asc_json **out) {
    asc_status st = asc_json_parse(ctx, text, len, out);
    if (st == ASC_OK || (memmem(text, len, "NaN", 3) == NULL && memmem(text, len, "Infinity", 8) == NULL))
        return st;
    char *plain = asc_alloc(ctx, ASC_MEM_SCRATCH, 2 * len + 1);
    if (plain == NULL) return ASC_RESOURCE_EXHAUSTED;
    st = asc_json_parse(ctx, plain, without_nan(text, len, plain), out);
    asc_free(ctx, plain);
    return st;
}

/* The next line that is not blank, without white space at its ends; false behind the last. */
static bool next_line(asc_view *rest, asc_view *line, size_t *number) {
    while (rest->len > 0) {
        const char *nl = memchr(rest->ptr, '\n', rest->len);
        *line = (asc_view){rest->ptr, nl != NULL ? (size_t)(nl - rest->ptr) : rest->len};
        size_t used = nl != NULL ? line->len + 1 : line->len;
        *rest = (asc_view){rest->ptr + used, rest->len - used};
        ++*number;
        while (line->len > 0 && strchr(" \t\r", line->ptr[line->len - 1]) != NULL) line->len--;
        while (line->len > 0 && strchr(" \t\r", line->ptr[0]) != NULL)
            *line = (asc_view){line->ptr + 1, line->len - 1};
        if (line->len > 0) return true;
    }
    return false;
}

static bool read_text(goldens *g, const char *path, char **text, asc_view *rest) {
    size_t len = 0;
    if (asc_file_read(g->ctx, path, (size_t)1 << 30, text, &len) != ASC_OK) return false;
    *rest = (asc_view){*text, len};
    if (len >= 3 && memcmp(*text, "\xEF\xBB\xBF", 3) == 0) *rest = (asc_view){*text + 3, len - 3};
    return true;
}

bool goldens_lines(goldens *g, const char *path, void (*fn)(goldens *g, const asc_json *line)) {
    char *text = NULL;
    asc_view rest, one;
    size_t number = 0;
    if (!read_text(g, path, &text, &rest)) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        return false;
    }
    while (next_line(&rest, &one, &number)) {
        asc_json *line = NULL;
        if (goldens_parse(g->ctx, one.ptr, one.len, &line) != ASC_OK)
            goldens_fail(g, "line %zu: %s", number, asc_error_message(g->ctx));
        else
            fn(g, line);
        asc_json_free(line);
    }
    asc_free(g->ctx, text);
    return true;
}

static const char *by_keys(const asc_json *line) {
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t k = 0;
        while (k < 4 && kinds[i].keys[k] != NULL && asc_json_get(line, kinds[i].keys[k]) != NULL) k++;
        if (k > 0 && (k == 4 || kinds[i].keys[k] == NULL)) return kinds[i].name;
    }
    return NULL;
}

const char *goldens_kind(goldens *g, const char *path, const char *name) {
    size_t n = strlen(name), number = 0;
    bool lines = n > 6 && strcmp(name + n - 6, ".jsonl") == 0,
         whole = n > 5 && strcmp(name + n - 5, ".json") == 0;
    const char *kind = NULL;
    char *text = NULL;
    asc_view rest, one;
    asc_json *line = NULL;
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(name, kinds[i].name) == 0) return kinds[i].name;
    if ((!lines && !whole) || !read_text(g, path, &text, &rest)) return NULL;
    if (whole && memmem(rest.ptr, rest.len < 4096 ? rest.len : 4096, "\"seq_attr\"", 10) != NULL)
        kind = "captum_llm_golden.json";
    if (lines && next_line(&rest, &one, &number) && goldens_parse(g->ctx, one.ptr, one.len, &line) == ASC_OK)
        kind = by_keys(line);
    asc_json_free(line);
    asc_free(g->ctx, text);
    return kind;
}

bool goldens_is_list(goldens *g, const char *folder) {
    char *text = NULL, path[4200];
    asc_view rest, one;
    size_t number = 0;
    asc_json *line = NULL;
    bool yes = false;
    snprintf(path, sizeof path, "%s/list.jsonl", folder);
    if (!read_text(g, path, &text, &rest)) return false;
    if (next_line(&rest, &one, &number) && goldens_parse(g->ctx, one.ptr, one.len, &line) == ASC_OK)
        yes = asc_json_get(line, "file") != NULL && asc_json_get(line, "expect") != NULL;
    asc_json_free(line);
    asc_free(g->ctx, text);
    return yes;
}
