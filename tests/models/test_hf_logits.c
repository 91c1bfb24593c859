/* test_hf_logits.c - tiny language models as Hugging Face folders, one or more of every family, against
 * float64 logits of transformers (scripts/refs/hf_folders.py). */
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
                                  "persimmon"};

static size_t ids_of(const asc_json *list, int32_t out[64]) {
    size_t n = asc_json_len(list);
    assert_true(n > 0 && n <= 64);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
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
    }
    asc_json_free(root);
    asc_free(ctx, text);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void test_logits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++) {
        check(zoo[i], "reference");
        check(zoo[i], "cpu");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_logits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
