/* test_encoder_gguf.c - text encoders in GGUF files: classes and embeddings against transformers in f64
 * (scripts/refs/encoder_gguf_fixtures.py, where llama.cpp gives the same), questions about texts, and files
 * with something wrong. */
#include "ascribe/attr.h"
#include "encoder_cases.h"
#include "file.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 64 };

static asc_model *open_gguf(asc_ctx *ctx, const char *name) {
    char file[64];
    snprintf(file, sizeof file, "gguf/%s.gguf", name);
    return encoder_open(ctx, file);
}

/* Up to four layers of width 32 on values of about 1: as in test_encoder.c. */
static const double TOLERANCE = 2e-5;

static void test_numbers(void **state) {
    static const char *const names[] = {"bert",        "bert-cls",     "roberta-rank",  "nomic-bert",
                                        "modern-bert", "jina-bert-v2", "nomic-bert-moe"};
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        size_t n;
        int32_t ids[MAX];
        asc_model *m = open_gguf(ctx, names[i]);
        snprintf(file, sizeof file, "gguf/%s.json", names[i]);
        asc_json *root = encoder_json(ctx, file);
        const asc_json *cases = asc_json_get(root, "cases");
        assert_int_equal(asc_json_len(cases), 2);
        for (size_t k = 0; k < 2; k++) {
            const asc_json *c = asc_json_at(cases, k), *want = asc_json_get(c, "logits");
            double got[MAX] = {0};
            float z[MAX];
            n = encoder_ids(asc_json_get(c, "input_ids"), ids);
            if (want != NULL) {
                assert_int_equal(asc_model_classify(m, ids, NULL, n, z), ASC_OK);
                for (size_t v = 0; v < asc_json_len(want); v++) got[v] = (double)z[v];
            } else {
                want = asc_json_get(c, "embedding");
                assert_int_equal(asc_model_embed_text(m, ids, n, got), ASC_OK);
            }
            for (size_t v = 0; v < asc_json_len(want); v++) {
                double w = asc_json_num(asc_json_at(want, v), NAN);
                if (!(fabs(w - got[v]) <= TOLERANCE))
                    fail_msg("%s, %zu: %.9g, expected %.9g", names[i], v, got[v], w);
            }
        }
        asc_json_free(root);
        asc_model_close(m);
    }
}

/* A text takes its tokens from the file's vocabulary, framed; the frame gets no score. */
static void test_questions(void **state) {
    asc_ctx *ctx = *state;
    asc_result *r;
    asc_model *m = open_gguf(ctx, "bert");
    asc_request q = {.struct_size = sizeof q,
                     .prompt = asc_view_of("a great film about rains"),
                     .similar_to = asc_view_of("old houses"),
                     .method = "feature-ablation"};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_int_equal(r->n_features, 5);
    assert_int_equal(r->n_prompt, 8); /* [CLS] a great film about rain ##s [SEP] */
    assert_int_equal(r->prompt_ids[0], 2);
    assert_int_equal(r->prompt_ids[7], 3);
    assert_int_equal(r->features[4].n_tokens, 2);
    int32_t a[] = {2, 5, 6, 7, 8, 9, 15, 3}, b[] = {2, 11, 12, 3};
    double x[32], y[32], cosine = 0.0;
    assert_int_equal(asc_model_embed_text(m, a, 8, x), ASC_OK);
    assert_int_equal(asc_model_embed_text(m, b, 4, y), ASC_OK);
    for (size_t i = 0; i < 32; i++) cosine += x[i] * y[i];
    assert_true(fabs(r->value - cosine) < 1e-6);
    a[1] = 4; /* "a" becomes [MASK] */
    assert_int_equal(asc_model_embed_text(m, a, 8, x), ASC_OK);
    double without = 0.0;
    for (size_t i = 0; i < 32; i++) without += x[i] * y[i];
    assert_true(fabs(r->features[0].score - (cosine - without)) < 2e-6);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    m = open_gguf(ctx, "roberta-rank");
    q = (asc_request){.struct_size = sizeof q,
                      .prompt = asc_view_of("a great film"),
                      .label = asc_view_of("good"),
                      .versus = asc_view_of("bad")};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_int_equal(r->n_features, 3);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
}

/* A copy of a file in which the bytes behind `key` and its type are `value`; in the key itself, if `inside`.
 */
static void patched(asc_ctx *ctx, const char *from, const char *key, const void *value, size_t n,
                    const char *path) {
    char file[64], source[512], *bytes;
    size_t len, at = 0;
    snprintf(file, sizeof file, "gguf/%s.gguf", from);
    assert_int_equal(asc_file_read(ctx, encoder_path(file, source), 1 << 24, &bytes, &len), ASC_OK);
    while (at + strlen(key) + 4 + n <= len && memcmp(bytes + at, key, strlen(key)) != 0) at++;
    assert_true(at + strlen(key) + 4 + n <= len);
    memcpy(bytes + at + strlen(key) + 4, value, n);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    asc_free(ctx, bytes);
}

static void test_bad_files(void **state) {
    static const uint32_t five = 5, none = 0, rank = 4, cls = 2, nine = 9;
    static const uint8_t yes = 1;
    static const float zero = 0.0F;
    static const struct {
        const char *from, *key;
        const void *value;
        size_t n;
        const char *says;
        int code;
    } bad[] = {
        {"bert", "bert.attention.causal", &yes, 1, "attention.causal", ASC_UNIMPLEMENTED},
        {"bert", "bert.pooling_type", &five, 4, "pooling_type", ASC_UNIMPLEMENTED},
        {"bert", "bert.pooling_type", &rank, 4, "cls.output.weight", ASC_INVALID_ARGUMENT},
        {"bert", "bert.pooling_type", &none, 4, NULL, ASC_OK},
        {"bert", "bert.pooling_type", &cls, 4, NULL, ASC_OK},
        {"bert", "bert.attention.head_count", &five, 4, "head_count", ASC_INVALID_ARGUMENT},
        {"bert", "bert.attention.head_count", &none, 4, "head_count", ASC_INVALID_ARGUMENT},
        {"bert", "bert.block_count", &five, 4, "blk.2.attn_q.weight", ASC_INVALID_ARGUMENT},
        {"bert", "bert.context_length", &nine, 4, "position_embd", ASC_INVALID_ARGUMENT},
        {"bert", "bert.attention.layer_norm_epsilon", &zero, 4, "epsilon", ASC_INVALID_ARGUMENT},
        {"bert", "bert.block_count", &yes, 1, "no place", ASC_UNIMPLEMENTED},
        {"modern-bert", "modern-bert.hidden_activation", "\4\0\0\0\0\0\0\0mish", 12, "mish",
         ASC_UNIMPLEMENTED},
        {"modern-bert", "modern-bert.attention.sliding_window_pattern", &none, 4, "sliding_window_pattern",
         ASC_INVALID_ARGUMENT},
        {"modern-bert", "modern-bert.rope.scaling.type", "\4\0\0\0\0\0\0\0yarn", 12, "yarn",
         ASC_UNIMPLEMENTED},
        {"nomic-bert", "general.architecture", "\12\0\0\0\0\0\0\0jina-berts", 18, "nomic-bert",
         ASC_UNIMPLEMENTED},
    };
    asc_ctx *ctx = *state;
    char path[TEST_TMP];
    int fd = mkstemp(test_tmp_name(path, "ascribe-encoder-XXXXXX"));
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_model *m;
        patched(ctx, bad[i].from, bad[i].key, bad[i].value, bad[i].n, path);
        asc_status st = asc_model_open(ctx, path, NULL, &m);
        if ((int)st != bad[i].code) fail_msg("case %zu: status %d: %s", i, st, asc_error_message(ctx));
        if (st != ASC_OK) {
            if (strstr(asc_error_message(ctx), bad[i].says) == NULL &&
                strstr(asc_error_hint(ctx), bad[i].says) == NULL)
                fail_msg("no '%s' in: %s (%s)", bad[i].says, asc_error_message(ctx), asc_error_hint(ctx));
            assert_true(asc_error_hint(ctx)[0] != '\0');
        }
        asc_model_close(m);
    }
    assert_int_equal(remove(path), 0);
}

static void test_no_answers(void **state) {
    asc_ctx *ctx = *state;
    int32_t ids[] = {2, 5, 3}, out[2];
    size_t n;
    asc_model *m = open_gguf(ctx, "nomic-bert");
    asc_generate_options o = {.struct_size = sizeof o, .max_tokens = 1};
    assert_true(asc_model_get_info(m).encoder);
    assert_int_equal(asc_generate(m, ids, 3, &o, out, &n), ASC_FAILED_PRECONDITION);
    asc_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_questions),
                                       cmocka_unit_test(test_bad_files), cmocka_unit_test(test_no_answers)};
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
