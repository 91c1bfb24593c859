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
        float w = (float)asc_json_num(asc_json_at(want, i), NAN);
        wrong += memcmp(&w, &out[i], sizeof w) != 0 && !(isnan(w) && isnan(out[i])) ? 1 : 0;
    }
    goldens_check(g, wrong == 0 ? 0.0 : 2.0, ASC_VIEW_FMT ": %zu of %zu values differ in some bit",
                  ASC_VIEW_ARG(name), wrong, n);
    free(src);
    free(out);
}

static void zoo_case(goldens *g, asc_model *m, const asc_json *k, size_t c, double floor) {
    enum { MAX = 8192 };
    static int32_t ids[MAX], want_ids[64], got[64];
    const asc_json *e = asc_json_get(k, "expected"), *all = asc_json_get(e, "logits"),
                   *last = asc_json_get(e, "logits_last");
    size_t n = goldens_ids(asc_json_get(k, "input_ids"), ids, MAX), v = (size_t)asc_model_get_info(m).n_vocab,
           rows = all != NULL ? n : 1, n_got = 0;
    float *out = calloc(rows * v + 1, sizeof *out);
    if (out == NULL) abort();
    if (asc_model_logits(m, ids, n, rows, out) != ASC_OK) {
        goldens_fail(g, "case %zu: %s", c, asc_error_message(g->ctx));
        free(out);
        return;
    }
    /* reference: what is left is the rounding of the result to f32, half a unit of the largest logit */
    double big = 0.0;
    for (size_t i = 0; i < rows * v; i++) big = fmax(big, fabs((double)out[i]));
    double tol = strcmp(g->device, "reference") == 0 ? 6.1e-8 * big + 1e-9 : GOLDENS_FACTOR * floor;
    for (size_t i = 0; i < rows * v; i++) {
        double w = asc_json_num(
            all != NULL ? asc_json_at(asc_json_at(all, i / v), i % v) : asc_json_at(last, i), NAN);
        goldens_check(g, fabs(w - (double)out[i]) / tol, "case %zu, logit %zu: %.9g, expected %.9g", c, i,
                      (double)out[i], w);
    }
    free(out);
    size_t nw = goldens_ids(asc_json_get(asc_json_get(k, "greedy"), "token_ids"), want_ids, 64);
    asc_generate_options o = {.struct_size = sizeof o, .max_tokens = nw, .ignore_eos = true};
    if (nw > 0 && asc_generate(m, ids, n, &o, got, &n_got) != ASC_OK) {
        goldens_fail(g, "case %zu, greedy: %s", c, asc_error_message(g->ctx));
        return;
    }
    for (size_t i = 0; i < nw; i++)
        goldens_check(g, i < n_got && got[i] == want_ids[i] ? 0.0 : 2.0, "case %zu: greedy token %zu differs",
                      c, i);
}

static void zoo_tokens(goldens *g, asc_model *m, const asc_json *root) {
    const asc_json *list = asc_json_get(asc_json_get(root, "tokenize"), "cases");
    for (size_t i = 0; i < asc_json_len(list); i++) {
        const asc_json *one = asc_json_at(list, i), *want = asc_json_get(one, "ids");
        asc_token *t = NULL;
        size_t n = 0;
        if (asc_tokenize(g->ctx, asc_model_tokenizer(m), asc_json_str(asc_json_get(one, "text")), NULL, &t,
                         &n) != ASC_OK) {
            goldens_fail(g, "text %zu: %s", i, asc_error_message(g->ctx));
            continue;
        }
        bool same = asc_json_len(want) == n;
        for (size_t k = 0; same && k < n; k++) same = asc_json_int(asc_json_at(want, k), -1) == t[k].id;
        goldens_check(g, same ? 0.0 : 2.0, "text %zu: other token ids", i);
        asc_tokens_free(g->ctx, t);
    }
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
        asc_json_parse(g->ctx, text, len, &root) != ASC_OK) {
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
        double floor = 0.0;
        for (size_t i = 0; i < asc_json_len(cases); i++) {
            const asc_json *noise = asc_json_get(asc_json_at(cases, i), "f32_noise");
            floor = fmax(floor, fmax(asc_json_num(asc_json_get(noise, "logits"), 0.0),
                                     asc_json_num(asc_json_get(noise, "logits_last"), 0.0)));
        }
        for (size_t i = 0; i < asc_json_len(cases); i++) zoo_case(g, m, asc_json_at(cases, i), i, floor);
        zoo_tokens(g, m, root);
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
    snprintf(path, sizeof path, "%s/" ASC_VIEW_FMT, bad_folder, ASC_VIEW_ARG(file));
    asc_status st = asc_model_open(g->ctx, path, NULL, &m);
    if (st == ASC_OK) { /* it must also run: a file that loads and then fails would not be "nothing wrong" */
        const int32_t ids[] = {1};
        float *out = calloc((size_t)asc_model_get_info(m).n_vocab + 1, sizeof *out);
        if (out == NULL) abort();
        st = asc_model_logits(m, ids, 1, 1, out);
        free(out);
    }
    bool refused = st != ASC_OK;
    bool right = asc_view_eqs(expect, "match") ? !refused : asc_view_eqs(expect, "error") ? refused : true;
    if (refused && asc_error_message(g->ctx)[0] == '\0') right = false;
    goldens_check(g, right ? 0.0 : 2.0, ASC_VIEW_FMT ": %s, expected " ASC_VIEW_FMT, ASC_VIEW_ARG(file),
                  refused ? "refused" : "loads", ASC_VIEW_ARG(expect));
    asc_model_close(m);
}

void goldens_bad_gguf(goldens *g, const char *folder) {
    char path[4200];
    bad_folder = folder;
    snprintf(path, sizeof path, "%s/list.jsonl", folder);
    goldens_lines(g, path, bad_one);
}
