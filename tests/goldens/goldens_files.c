/* goldens_files.c - blocks of stored weights, tiny models, malformed files. */
#include "file.h"
#include "goldens.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* JSON has no number for what a block with an infinite or NaN scale holds: a string such as "-inf", or null.
 */
static float value_of(const asc_json *j) {
    asc_view v = asc_json_str(j);
    char text[32];
    if (v.ptr == NULL) return (float)asc_json_num(j, NAN);
    snprintf(text, sizeof text, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(v, sizeof text - 1)));
    return strtof(text, NULL);
}

void goldens_dequant(goldens *g, const asc_json *line) {
    asc_view h = asc_json_str(asc_json_get(line, "hex")), name = asc_json_str(asc_json_get(line, "type"));
    const asc_json *want = asc_json_get(line, "values");
    int t = asc_dtype_from_ggml((uint32_t)asc_json_int(asc_json_get(line, "ggml_type"), -1));
    size_t n = asc_json_len(want), bytes = h.len / 2;
    size_t need = 0;
    if (t < 0 || asc_dtype_expand((asc_dtype)t) == NULL ||
        !asc_dtype_bytes((asc_dtype)t, (int64_t)n, &need) || need != bytes) {
        goldens_fail(g, "type " ASC_VIEW_FMT " cannot be expanded", ASC_VIEW_ARG(name));
        return;
    }
    unsigned char *src = malloc(bytes + 1);
    float *out = malloc((n + 1) * sizeof *out);
    if (src == NULL || out == NULL) abort();
    for (size_t i = 0; i < bytes; i++)
        src[i] = (unsigned char)(hex(h.ptr[2 * i]) << 4 | hex(h.ptr[2 * i + 1]));
    asc_dtype_expand((asc_dtype)t)(src, out, (int64_t)n);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        float w = value_of(asc_json_at(want, i));
        wrong += memcmp(&w, &out[i], sizeof w) != 0 && !(isnan(w) && isnan(out[i])) ? 1 : 0;
    }
    goldens_check(g, wrong == 0 ? 0.0 : 2.0, ASC_VIEW_FMT ": %zu of %zu values differ in some bit",
                  ASC_VIEW_ARG(name), wrong, n);
    free(src);
    free(out);
}

/* expect: match | error | error-or-match | match-or-unsupported | error-or-warning, as the case file says. */
static bool may_fail(asc_view expect) {
    return expect.ptr != NULL &&
           (asc_view_starts(expect, asc_view_of("error")) || asc_view_eqs(expect, "match-or-unsupported"));
}

void goldens_zoo(goldens *g, const char *folder) {
    char path[4200];
    char *text = NULL;
    size_t len = 0;
    asc_json *root = NULL;
    asc_model *m = NULL;
    snprintf(path, sizeof path, "%s/case.json", folder);
    if (asc_file_read(g->ctx, path, (size_t)1 << 28, &text, &len) != ASC_OK ||
        goldens_parse(g->ctx, text, len, &root) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        asc_free(g->ctx, text);
        return;
    }
    asc_view expect = asc_json_str(asc_json_get(root, "expect"));
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    if (asc_model_open(g->ctx, path, NULL, &m) != ASC_OK) {
        if (may_fail(expect) && asc_error_message(g->ctx)[0] != '\0') {
            goldens_check(g, 0.0, "refused");
        } else {
            goldens_fail(g, "%s", asc_error_message(g->ctx));
        }
    } else if (asc_view_eqs(expect, "error")) {
        goldens_fail(g, "opens, though it should be refused");
    } else {
        const asc_json *cases = asc_json_get(root, "cases");
        for (size_t i = 0; i < asc_json_len(cases); i++) goldens_logits(g, m, cases, i);
        goldens_texts(g, m, asc_json_get(asc_json_get(root, "tokenize"), "cases"), "ids", NULL);
    }
    asc_model_close(m);
    asc_json_free(root);
    asc_free(g->ctx, text);
}

static const char *bad_folder;

static void bad_one(goldens *g, const asc_json *line) {
    char path[4200];
    asc_view file = asc_json_str(asc_json_get(line, "file")),
             expect = asc_json_str(asc_json_get(line, "expect"));
    asc_model *m = NULL;
    long warnings = g->warnings;
    snprintf(path, sizeof path, "%s/" ASC_VIEW_FMT, bad_folder, ASC_VIEW_ARG(file));
    asc_status st = asc_model_open(g->ctx, path, NULL, &m);
    if (st == ASC_OK) { /* it must also run: a file that loads and then fails would not be "nothing wrong" */
        const int32_t ids[] = {1};
        float *out = calloc((size_t)asc_model_get_info(m).n_vocab + 1, sizeof *out);
        if (out == NULL) abort();
        st = asc_model_logits(m, ids, 1, 1, out);
        free(out);
    }
    bool refused = st != ASC_OK, warned = g->warnings != warnings;
    bool right = asc_view_eqs(expect, "match")              ? !refused && !warned
                 : asc_view_eqs(expect, "error")            ? refused
                 : asc_view_eqs(expect, "error-or-warning") ? refused || warned
                                                            : true;
    if (refused && asc_error_message(g->ctx)[0] == '\0') right = false;
    goldens_check(g, right ? 0.0 : 2.0, ASC_VIEW_FMT ": %s, expected " ASC_VIEW_FMT, ASC_VIEW_ARG(file),
                  refused  ? asc_error_message(g->ctx)
                  : warned ? "loads with a warning"
                           : "loads without a word",
                  ASC_VIEW_ARG(expect));
    asc_model_close(m);
}

void goldens_bad_gguf(goldens *g, const char *folder) {
    char path[4200];
    bad_folder = folder;
    snprintf(path, sizeof path, "%s/list.jsonl", folder);
    goldens_lines(g, path, bad_one);
}
