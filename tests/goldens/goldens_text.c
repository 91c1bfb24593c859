/* goldens_text.c - token ids, rendered chats and greedy continuations of the 135M model: all exact. */
#include "chat.h"
#include "goldens.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int b64_value(char c) {
    const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c != '\0' ? strchr(alphabet, c) : NULL;
    return p != NULL ? (int)(p - alphabet) : -1;
}

static size_t b64(asc_view v, char *out) {
    size_t n = 0;
    unsigned bits = 0, have = 0;
    for (size_t i = 0; i < v.len; i++) {
        int x = b64_value(v.ptr[i]);
        if (x < 0) continue;
        bits = bits << 6 | (unsigned)x;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (char)(bits >> have & 0xFF);
        }
    }
    return n;
}

void goldens_tokenizer(goldens *g, const asc_json *line) {
    asc_view name = asc_json_str(asc_json_get(line, "name")), text = asc_json_str(asc_json_get(line, "text"));
    asc_view coded = asc_json_str(asc_json_get(line, "bytes_b64"));
    const asc_json *want = asc_json_get(line, "hf_ids");
    if (want == NULL) want = asc_json_get(line, "ids");
    char *bytes = malloc(coded.len + 1);
    if (bytes == NULL) abort();
    if (coded.ptr != NULL) text = asc_view_make(bytes, b64(coded, bytes));
    asc_tokenize_options o = {.struct_size = sizeof o,
                              .parse_special = asc_json_bool(asc_json_get(line, "parse_special"), false)};
    asc_token *t = NULL;
    size_t n = 0;
    if (asc_tokenize(g->ctx, asc_model_tokenizer(g->m), text, &o, &t, &n) != ASC_OK) {
        goldens_fail(g, ASC_VIEW_FMT ": %s", ASC_VIEW_ARG(name), asc_error_message(g->ctx));
    } else {
        bool same = asc_json_typeof(want) == ASC_JSON_ARRAY && asc_json_len(want) == n;
        for (size_t i = 0; same && i < n; i++) same = asc_json_int(asc_json_at(want, i), -1) == t[i].id;
        goldens_check(g, same ? 0.0 : 2.0, ASC_VIEW_FMT ": other ids (%zu of them)", ASC_VIEW_ARG(name), n);
        bool tiles = n == 0 || (t[0].start == 0 && t[n - 1].end == text.len);
        for (size_t i = 1; tiles && i < n; i++) tiles = t[i].start == t[i - 1].end;
        goldens_check(g, tiles ? 0.0 : 2.0, ASC_VIEW_FMT ": byte ranges leave a gap", ASC_VIEW_ARG(name));
    }
    asc_tokens_free(g->ctx, t);
    free(bytes);
}

/* The largest difference of two f32 programs that the cases' own notes know, 6e-5, times the factor. */
#define F32_LOGITS (GOLDENS_FACTOR * 6e-5)

/* The best tokens behind the prompt: their ids, but for near ties, and their logits. */
static void first_logits(goldens *g, const asc_json *line, const int32_t *ids, size_t n) {
    const asc_json *top = asc_json_get(line, "top5_hf");
    int64_t n_vocab = asc_model_get_info(g->m).n_vocab;
    float *out = calloc((size_t)n_vocab + 1, sizeof *out);
    if (out == NULL) abort();
    if (asc_json_len(top) > 0 && asc_model_logits(g->m, ids, n, 1, out) != ASC_OK)
        goldens_fail(g, "%s", asc_error_message(g->ctx));
    for (size_t i = 0; i < asc_json_len(top); i++) {
        int64_t id = asc_json_int(asc_json_at(asc_json_at(top, i), 0), -1);
        double want = asc_json_num(asc_json_at(asc_json_at(top, i), 1), NAN);
        double have = id >= 0 && id < n_vocab ? (double)out[id] : NAN;
        goldens_check(g, fabs(want - have) / F32_LOGITS, "case %ld: logit of token %lld is %.6g, not %.6g",
                      g->cases, (long long)id, have, want);
    }
    free(out);
}

void goldens_generate(goldens *g, const asc_json *line) {
    enum { MAX = 8192 };
    static int32_t ids[MAX], want[MAX], got[MAX];
    asc_view name = asc_json_str(asc_json_get(line, "name"));
    size_t n = goldens_ids(asc_json_get(line, "ids"), ids, MAX),
           k = goldens_ids(asc_json_get(line, "hf_f32_greedy_ids"), want, MAX), n_got = 0;
    asc_generate_options o = {.struct_size = sizeof o, .max_tokens = k, .ignore_eos = true};
    if (asc_generate(g->m, ids, n, &o, got, &n_got) != ASC_OK) {
        goldens_fail(g, ASC_VIEW_FMT ": %s", ASC_VIEW_ARG(name), asc_error_message(g->ctx));
        return;
    }
    /* Two logits that stand nearer than two f32 programs do may change places; the texts part there. */
    const asc_json *margins = asc_json_get(line, "hf_f32_margins");
    for (size_t i = 0; i < k; i++) {
        bool same = i < n_got && got[i] == want[i];
        if (!same && asc_json_num(asc_json_at(margins, i), 1.0) < 2 * F32_LOGITS) break;
        goldens_check(g, same ? 0.0 : 2.0, ASC_VIEW_FMT ": token %zu is %d, expected %d", ASC_VIEW_ARG(name),
                      i, i < n_got ? got[i] : -1, want[i]);
    }
    first_logits(g, line, ids, n);
}

void goldens_chat(goldens *g, const asc_json *line) {
    enum { MAX = 256 };
    asc_chat_message msgs[MAX];
    const asc_json *list = asc_json_get(line, "messages");
    asc_view want = asc_json_str(asc_json_get(line, "rendered"));
    size_t n = asc_json_len(list);
    if (n > MAX) n = MAX;
    for (size_t i = 0; i < n; i++)
        msgs[i] = (asc_chat_message){.role = asc_json_str(asc_json_get(asc_json_at(list, i), "role")),
                                     .content = asc_json_str(asc_json_get(asc_json_at(list, i), "content"))};
    asc_chat_options o = {.struct_size = sizeof o,
                          .add_generation_prompt =
                              asc_json_bool(asc_json_get(line, "add_generation_prompt"), false)};
    asc_chat_text out = {0};
    if (asc_chat_render(g->ctx, asc_model_chat_template(g->m), msgs, n, &o, &out) != ASC_OK) {
        goldens_fail(g, "case %ld: %s", g->cases, asc_error_message(g->ctx));
        return;
    }
    goldens_check(g, asc_view_eq(want, asc_view_make(out.text, out.len)) ? 0.0 : 2.0,
                  "case %ld: rendered differently", g->cases);
    asc_chat_text_free(g->ctx, &out);
}
