/* goldens_logits.c - cases of language models in both of their forms, GGUF files and folders: logits, greedy
 * continuations, ids of texts. Tolerance: on the cpu device GOLDENS_FACTOR times the largest f32 noise that
 * the file recorded; on the reference device what is left is the rounding of a result to f32, half a unit of
 * the largest logit. */
#include "goldens.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 8192, MAX_GREEDY = 64 };

double goldens_noise(const asc_json *cases, const char *key) {
    double most = 0.0;
    for (size_t i = 0; i < asc_json_len(cases); i++) {
        const asc_json *noise = asc_json_get(asc_json_at(cases, i), "f32_noise");
        most = fmax(most, asc_json_num(asc_json_get(noise, key), 0.0));
        if (strcmp(key, "logits") == 0)
            most = fmax(most, asc_json_num(asc_json_get(noise, "logits_last"), 0.0));
    }
    return most;
}

static void greedy(goldens *g, asc_model *m, const asc_json *k, size_t c, const int32_t *ids, size_t n) {
    int32_t want[MAX_GREEDY], got[MAX_GREEDY];
    size_t n_got = 0,
           n_want = goldens_ids(asc_json_get(asc_json_get(k, "greedy"), "token_ids"), want, MAX_GREEDY);
    asc_generate_options o = {.struct_size = sizeof o, .max_tokens = n_want, .ignore_eos = true};
    if (n_want > 0 && asc_generate(m, ids, n, &o, got, &n_got) != ASC_OK) {
        goldens_fail(g, "case %zu, greedy: %s", c, asc_error_message(g->ctx));
        return;
    }
    for (size_t i = 0; i < n_want; i++)
        goldens_check(g, i < n_got && got[i] == want[i] ? 0.0 : 2.0, "case %zu: greedy token %zu differs", c,
                      i);
}

void goldens_logits(goldens *g, asc_model *m, const asc_json *cases, size_t c) {
    static int32_t ids[MAX];
    const asc_json *k = asc_json_at(cases, c), *e = asc_json_get(k, "expected"),
                   *all = asc_json_get(e, "logits"), *last = asc_json_get(e, "logits_last");
    size_t n = goldens_ids(asc_json_get(k, "input_ids"), ids, MAX), v = (size_t)asc_model_get_info(m).n_vocab,
           rows = all != NULL ? n : 1;
    float *out = calloc(rows * v + 1, sizeof *out);
    if (out == NULL) abort();
    if (asc_model_logits(m, ids, n, rows, out) != ASC_OK) {
        goldens_fail(g, "case %zu: %s", c, asc_error_message(g->ctx));
        free(out);
        return;
    }
    double big = 0.0;
    for (size_t i = 0; i < rows * v; i++) big = fmax(big, fabs((double)out[i]));
    double tol = strcmp(g->device, "reference") == 0 ? 6.1e-8 * big + 1e-9
                                                     : GOLDENS_FACTOR * goldens_noise(cases, "logits");
    for (size_t i = 0; i < rows * v; i++) {
        double w = asc_json_num(
            all != NULL ? asc_json_at(asc_json_at(all, i / v), i % v) : asc_json_at(last, i), NAN);
        goldens_check(g, fabs(w - (double)out[i]) / tol, "case %zu, logit %zu: %.9g, expected %.9g", c, i,
                      (double)out[i], w);
    }
    free(out);
    greedy(g, m, k, c, ids, n);
}

void goldens_texts(goldens *g, asc_model *m, const asc_json *list, const char *key,
                   const asc_tokenize_options *o) {
    for (size_t i = 0; i < asc_json_len(list); i++) {
        const asc_json *one = asc_json_at(list, i), *want = asc_json_get(one, key);
        asc_token *t = NULL;
        size_t n = 0;
        if (asc_tokenize(g->ctx, asc_model_tokenizer(m), asc_json_str(asc_json_get(one, "text")), o, &t,
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
