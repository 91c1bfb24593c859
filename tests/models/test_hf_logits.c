/* test_hf_logits.c - tiny language models as Hugging Face folders, one or more of every family, against
 * float64 logits and gradients of transformers (scripts/refs/hf_folders.py). */
#include "exec.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include "model.h"
#include <math.h>

static const char *const zoo[] = {"llama-bias-linear",
                                  "llama-f64",
                                  "llama-llama3",
                                  "qwen2-window",
                                  "qwen3_moe-norm",
                                  "mixtral",
                                  "gemma2-old",
                                  "gemma3_text-old",
                                  "phi3-longrope-old",
                                  "gpt2-plain-names",
                                  "smollm3-window",
                                  "granite",
                                  "cohere-qk",
                                  "cohere2",
                                  "phi",
                                  "olmoe-clip",
                                  "gpt2-by-depth",
                                  "phi-qk",
                                  "gemma3_text-cap",
                                  "stablelm-qk",
                                  "olmo",
                                  "qwen2_moe",
                                  "granitemoe",
                                  "arcee",
                                  "nemotron",
                                  "helium",
                                  "seed_oss",
                                  "ernie4_5",
                                  "ministral",
                                  "glm",
                                  "glm4",
                                  "exaone4",
                                  "exaone4-full",
                                  "hunyuan_v1_dense",
                                  "gptj",
                                  "gpt_neo",
                                  "gpt_bigcode",
                                  "gpt_bigcode-heads",
                                  "opt",
                                  "falcon-one",
                                  "falcon-groups",
                                  "falcon-serial",
                                  "persimmon",
                                  "exaone4-default-window",
                                  "gpt_neo-types",
                                  "gptj-scaled",
                                  "seed_oss-defaults",
                                  "bloom",
                                  "mpt",
                                  "falcon-alibi",
                                  "codegen",
                                  "gpt_oss",
                                  "gpt_oss-mxfp4",
                                  "glm4_moe",
                                  "ernie4_5_moe",
                                  "apertus",
                                  "granitemoeshared",
                                  "llama4_text",
                                  "dbrx"};

static size_t ids_of(const asc_json *list, int32_t out[64]) {
    size_t n = asc_json_len(list);
    assert_true(n > 0 && n <= 64);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
}

static void near(const char *name, const char *what, const asc_json *want, const double *got, size_t n) {
    double big = 0.0;
    assert_int_equal(asc_json_len(want), n);
    for (size_t i = 0; i < n; i++) big = fmax(big, fabs(asc_json_num(asc_json_at(want, i), NAN)));
    for (size_t i = 0; i < n; i++) {
        const double w = asc_json_num(asc_json_at(want, i), NAN);
        /* f64 both, through a few layers; 13 digits are written, and config.json's numbers are exact */
        if (!(fabs(w - got[i]) <= 1e-9 * big))
            fail_msg("%s: %s %zu: %.12g, expected %.12g", name, what, i, got[i], w);
    }
}

/* The answer's log-probability by the prompt's embeddings, before any factor. */
static void check_gradient(asc_ctx *ctx, const char *name, asc_decoder *d, const asc_json *k) {
    const asc_json *e = asc_json_get(k, "expected");
    int32_t ids[64], answer[64];
    const size_t n = ids_of(asc_json_get(k, "input_ids"), ids), width = (size_t)d->cfg.d_model;
    const size_t n_answer = ids_of(asc_json_get(asc_json_get(k, "targets"), "token_ids"), answer);
    assert_true(n + n_answer <= 64);
    memcpy(ids + n, answer, (n_answer - 1) * sizeof *ids); /* the last one is not read */
    const size_t all = n + n_answer - 1;
    double *x = calloc(all * width, sizeof *x), *g = calloc(all * width, sizeof *g), score;
    double size[64], product[64];
    int axes[] = {0, 1, 2};
    asc_scope_begin(ctx);
    asc_tensor *in = asc_decoder_embed(d, ids, 1, (int64_t)all), *dx;
    const asc_decoder_run run = {.x = in, .tail = (int64_t)n_answer};
    asc_tensor *logits = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    asc_tensor *index = asc_from_i32(ctx, ASC_SHAPE(1, (int64_t)n_answer, 1), answer);
    asc_tensor *each = asc_take_along(ctx, asc_log_softmax(ctx, logits), index, -1);
    asc_tensor *s = asc_sum(ctx, each, 3, axes, false);
    asc_grad(ctx, s, NULL, &in, 1, &dx);
    assert_ok(ctx, asc_read_f64(ctx, in, x, all * width));
    assert_ok(ctx, asc_read_f64(ctx, dx, g, all * width));
    assert_ok(ctx, asc_read_f64(ctx, s, &score, 1));
    assert_ok(ctx, asc_scope_end(ctx));
    const double want = asc_json_num(asc_json_get(e, "score"), NAN);
    if (!(fabs(score - want) <= 1e-10 * fabs(want))) fail_msg("%s: %.12g, expected %.12g", name, score, want);
    for (size_t i = 0; i < n; i++) {
        size[i] = product[i] = 0.0;
        for (size_t c = i * width; c < (i + 1) * width; c++) {
            size[i] += g[c] * g[c];
            product[i] += g[c] * x[c];
        }
        size[i] = sqrt(size[i]);
    }
    near(name, "size of the gradient", asc_json_get(e, "saliency_l2"), size, n);
    near(name, "input times gradient", asc_json_get(e, "input_x_gradient"), product, n);
    free(x);
    free(g);
}

/* On the reference device what is left is the rounding of a logit to f32; on the cpu device another order of
 * sums differs from f64 by a few times what torch's f32 run did. */
static void check(const char *name, const char *device) {
    asc_ctx *ctx = test_ctx(device, "deferred");
    asc_model *m;
    asc_json *root;
    char path[256], *text;
    size_t len;
    snprintf(path, sizeof path, "hf/%s", name);
    assert_ok(ctx, asc_model_open(ctx, test_data(path), NULL, &m));
    snprintf(path, sizeof path, "hf/%s/case.json", name);
    assert_ok(ctx, asc_file_read(ctx, test_data(path), 1 << 20, &text, &len));
    assert_ok(ctx, asc_json_parse(ctx, text, len, &root));
    const asc_json *cases = asc_json_get(root, "cases");
    size_t v = (size_t)asc_model_get_info(m).n_vocab;
    assert_int_equal(asc_json_len(cases), 2);
    for (size_t c = 0; c < 2; c++) {
        const asc_json *k = asc_json_at(cases, c), *e = asc_json_get(k, "expected");
        const asc_json *all = asc_json_get(e, "logits"), *last = asc_json_get(e, "logits_last");
        double noise = asc_json_num(asc_json_get(asc_json_get(k, "f32_noise"), "logits"), 0.0);
        int32_t ids[64];
        size_t n = ids_of(asc_json_get(k, "input_ids"), ids), rows = all != NULL ? n : 1;
        float *out = calloc(rows * v, sizeof *out);
        assert_non_null(out);
        assert_ok(ctx, asc_model_logits(m, ids, n, rows, out));
        for (size_t i = 0; i < rows * v; i++) {
            double w = asc_json_num(
                all != NULL ? asc_json_at(asc_json_at(all, i / v), i % v) : asc_json_at(last, i), NAN);
            double tol = strcmp(device, "reference") == 0 ? 6.1e-8 * fabs(w) + 1e-9 : 8.0 * noise;
            if (!(fabs(w - (double)out[i]) <= tol))
                fail_msg("%s on %s, case %zu, logit %zu: %.9g, expected %.9g", name, device, c, i,
                         (double)out[i], w);
        }
        free(out);
        if (strcmp(device, "reference") == 0) check_gradient(ctx, name, &m->decoder, k);
    }
    asc_json_free(root);
    asc_free(ctx, text);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void test_logits_and_gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++) {
        check(zoo[i], "reference");
        check(zoo[i], "cpu");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_logits_and_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
