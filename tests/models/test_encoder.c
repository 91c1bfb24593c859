/* test_encoder.c - encoders and image classifiers that the goldens do not have, against transformers in f64
 * (scripts/refs/encoder_fixtures.py); and folders with something wrong. */
#include "ascribe/attr.h"
#include "ascribe/attribute.h"
#include "encoder_cases.h"
#include "file.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX = 256 };

/* Flat or nested numbers against what was computed. */
static void compare(const asc_json *want, const double *got, size_t *at, double tol, const char *what) {
    for (size_t i = 0; i < asc_json_len(want); i++) {
        const asc_json *one = asc_json_at(want, i);
        if (asc_json_typeof(one) == ASC_JSON_ARRAY) {
            compare(one, got, at, tol, what);
            continue;
        }
        double w = asc_json_num(one, NAN), g = got[(*at)++];
        if (!(fabs(w - g) <= tol)) fail_msg("%s, %zu: %.9g, expected %.9g", what, *at - 1, g, w);
    }
}

/* Layers of width 12 on values of about 1: f32 rounds each by 6e-8 of it, some tens of times; and the
 * fixtures' rotary tables are f32. Logits reach 5. */
static const double TOLERANCE = 2e-5;

static void text_case(asc_ctx *ctx, asc_model *m, const asc_json *c, const char *name) {
    static int32_t ids[MAX], types[MAX];
    static float z[MAX];
    static double wide[MAX];
    size_t n = encoder_ids(asc_json_get(c, "input_ids"), ids),
           n_types = encoder_ids(asc_json_get(c, "token_type_ids"), types), at = 0;
    const int32_t *t = n_types > 0 ? types : NULL;
    if (asc_json_get(c, "embedding") != NULL) {
        assert_int_equal(asc_model_embed_text(m, ids, n, wide), ASC_OK);
        compare(asc_json_get(c, "embedding"), wide, &at, TOLERANCE, name);
        return;
    }
    assert_int_equal(asc_model_classify(m, ids, t, n, z), ASC_OK);
    for (size_t i = 0; i < MAX; i++) wide[i] = (double)z[i];
    compare(asc_json_get(c, "logits"), wide, &at, TOLERANCE, name);
    if (asc_json_get(c, "saliency_l2") == NULL) return;
    asc_request q = {.struct_size = sizeof q,
                     .features = ASC_FEATURES_TOKEN,
                     .output = ASC_OUTPUT_LOGIT,
                     .prompt_ids = ids,
                     .n_prompt_ids = n,
                     .prompt_types = t,
                     .label = {"1", 1}};
    static const char *const methods[][2] = {{"saliency", "saliency_l2"},
                                             {"input-x-gradient", "input_x_gradient"}};
    for (size_t k = 0; k < 2; k++) {
        asc_result *r;
        q.method = methods[k][0];
        assert_int_equal(asc_explain(m, &q, &r), ASC_OK);
        at = 0;
        compare(asc_json_get(c, methods[k][1]), r->scores, &at, 10 * TOLERANCE, name);
        asc_result_destroy(ctx, r);
    }
}

static void test_texts(void **state) {
    static const char *const names[] = {
        "modernbert",    "xlm-roberta",   "electra",     "bert-tokens",    "mpnet",       "nomic",
        "nomic-first",   "nomic-classes", "deberta-v3",  "deberta-places", "deberta-key", "deberta-plain",
        "electra-small", "albert",        "albert-wide", "albert-inner",   "deberta-v1",  "deberta-v1-places",
        "jina",          "jina-classes",  "nomic-moe"};
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        asc_model *m = encoder_open(ctx, names[i]);
        asc_json *root = encoder_case(ctx, names[i]);
        const asc_json *cases = asc_json_get(root, "cases");
        assert_true(asc_json_len(cases) > 0);
        for (size_t k = 0; k < asc_json_len(cases); k++) text_case(ctx, m, asc_json_at(cases, k), names[i]);
        asc_json_free(root);
        asc_model_close(m);
    }
}

/* Heads of the sentence-transformers library (scripts/refs/sentence_fixtures.py), texts included. */
static void test_sentences(void **state) {
    static const char *const names[] = {"max",       "mean_sqrt_len_tokens", "weightedmean",
                                        "lasttoken", "joined-dense",         "dense-twice"};
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        asc_result *r;
        double e[MAX], first[MAX], cosine = 0.0;
        snprintf(name, sizeof name, "sentences/%s", names[i]);
        asc_model *m = encoder_open(ctx, name);
        asc_json *root = encoder_case(ctx, name);
        const asc_json *cases = asc_json_get(root, "cases");
        for (size_t k = 0; k < asc_json_len(cases); k++) {
            const asc_json *c = asc_json_at(cases, k), *want = asc_json_get(c, "embedding");
            asc_encoder_text t;
            int32_t ids[MAX];
            size_t at = 0;
            assert_int_equal(asc_json_len(want), asc_model_embedding_width(m));
            assert_int_equal(
                asc_encoder_tokens(m, asc_json_str(asc_json_get(c, "text")), (asc_view){NULL, 0}, 0, &t),
                ASC_OK);
            for (size_t x = 0; x < t.n; x++) ids[x] = t.tokens[x].id;
            assert_int_equal(asc_model_embed_text(m, ids, t.n, e), ASC_OK);
            compare(want, e, &at, TOLERANCE, names[i]);
            if (k == 0) memcpy(first, e, sizeof first);
            asc_encoder_text_free(ctx, &t);
        }
        asc_request q = {.struct_size = sizeof q,
                         .prompt = asc_json_str(asc_json_get(asc_json_at(cases, 0), "text")),
                         .similar_to = asc_json_str(asc_json_get(asc_json_at(cases, 2), "text")),
                         .method = "integrated-gradients"};
        if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s: %s", names[i], asc_error_message(ctx));
        for (size_t x = 0; x < asc_model_embedding_width(m); x++) cosine += first[x] * e[x];
        assert_true(fabs(r->value - cosine) < 2e-6);
        asc_result_destroy(ctx, r);
        asc_json_free(root);
        asc_model_close(m);
    }
}

static void test_images(void **state) {
    static const char *const names[] = {"deit", "deit-teacher"};
    static double x[192], wide[MAX];
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < 2; i++) {
        char folder[512];
        asc_net *net;
        size_t at = 0;
        int64_t target[] = {1};
        asc_attribution *r;
        asc_array out = {0};
        if (asc_vision_open(ctx, encoder_path(names[i], folder), &net) != ASC_OK)
            fail_msg("%s: %s", names[i], asc_error_message(ctx));
        assert_true(asc_vision_is_folder(folder));
        asc_json *root = encoder_case(ctx, names[i]);
        const asc_json *c = asc_json_at(asc_json_get(root, "cases"), 0),
                       *pixels = asc_json_get(c, "pixel_values");
        for (size_t k = 0; k < 192; k++) x[k] = asc_json_num(asc_json_at(pixels, k), NAN);
        asc_array in = {.elem = ASC_ELEM_F64, .shape = ASC_SHAPE(1, 3, 8, 8), .data = x};
        assert_int_equal(asc_net_run(net, &in, 1, NULL, 1, &out), ASC_OK);
        asc_array_get(&out, 0, 3, wide);
        compare(asc_json_get(c, "logits"), wide, &at, TOLERANCE, names[i]);
        asc_array_free(ctx, &out);
        asc_attr_request q = {.struct_size = sizeof q,
                              .method = "saliency",
                              .norm = "signed",
                              .inputs = &in,
                              .n_inputs = 1,
                              .target = {.n_rows = 1, .rank = 1, .index = target}};
        assert_int_equal(asc_attribute(net, &q, &r), ASC_OK);
        at = 0;
        compare(asc_json_get(c, "gradient"), r->scores[0].data, &at, 10 * TOLERANCE, names[i]);
        asc_attribution_destroy(ctx, r);
        asc_json_free(root);
        asc_net_close(net);
    }
}

#define BERT                                                                                                 \
    "\"model_type\":\"bert\",\"architectures\":[\"BertForTokenClassification\"],\"vocab_size\":40,"          \
    "\"hidden_size\":12,\"num_hidden_layers\":2,\"intermediate_size\":20,\"max_position_embeddings\":40,"
#define FOUR "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\",\"3\":\"d\"},"

static void test_bad_configs(void **state) {
    static const struct {
        const char *config, *says;
        int code;
    } bad[] = {
        {"{" BERT FOUR "\"num_attention_heads\":2}", NULL, ASC_OK},
        {"{" BERT FOUR "\"num_attention_heads\":5}", "num_attention_heads", ASC_INVALID_ARGUMENT},
        {"{" BERT FOUR "\"num_attention_heads\":2,\"num_labels\":3}", "num_labels", ASC_INVALID_ARGUMENT},
        {"{" BERT "\"num_attention_heads\":2}", "classifier.weight", ASC_INVALID_ARGUMENT},
        {"{" BERT "\"num_attention_heads\":2,\"id2label\":{\"0\":\"a\",\"2\":\"b\"}}", "class 1",
         ASC_INVALID_ARGUMENT},
        {"{" BERT FOUR "\"num_attention_heads\":2,\"hidden_act\":\"mish\"}", "hidden_act", ASC_UNIMPLEMENTED},
        {"{" BERT FOUR "\"num_attention_heads\":2,\"position_embedding_type\":\"relative_key\"}",
         "position_embedding_type", ASC_UNIMPLEMENTED},
        {"{" BERT FOUR "\"num_attention_heads\":2,\"is_decoder\":true}", "is_decoder", ASC_UNIMPLEMENTED},
        {"{" BERT FOUR "\"num_attention_heads\":2,\"type_vocab_size\":3}", "token_type_embeddings",
         ASC_INVALID_ARGUMENT},
        {"{" BERT FOUR "\"num_attention_heads\":2,\"pad_token_id\":40}", "pad_token_id",
         ASC_INVALID_ARGUMENT},
        {"{" BERT FOUR "\"num_attention_heads\":\"two\"}", "num_attention_heads", ASC_INVALID_ARGUMENT},
    };
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char folder[TEST_TMP];
        asc_model *m;
        encoder_folder(ctx, "bert-tokens", bad[i].config, folder);
        asc_status st = asc_model_open(ctx, folder, NULL, &m);
        if ((int)st != bad[i].code) fail_msg("case %zu: status %d: %s", i, st, asc_error_message(ctx));
        if (st != ASC_OK && strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("no '%s' in: %s", bad[i].says, asc_error_message(ctx));
        if (st != ASC_OK) assert_true(asc_error_hint(ctx)[0] != '\0');
        asc_model_close(m);
        encoder_remove(folder);
    }
}

/* Biases stand where the config says, and only there: a missing one is not zeros. */
static void test_biases(void **state) {
    static const struct {
        const char *from, *config, *says;
    } bad[] = {
        {"modernbert",
         "{\"model_type\":\"modernbert\",\"architectures\":[\"ModernBertForSequenceClassification\"],"
         "\"vocab_size\":40,\"hidden_size\":12,\"num_hidden_layers\":4,\"intermediate_size\":20,"
         "\"num_attention_heads\":2,\"max_position_embeddings\":40,\"num_labels\":3,\"mlp_bias\":true}",
         "mlp.Wi.bias is missing"},
        {"deit",
         "{\"model_type\":\"deit\",\"architectures\":[\"DeiTForImageClassification\"],\"hidden_size\":12,"
         "\"num_hidden_layers\":2,\"intermediate_size\":20,\"num_attention_heads\":2,\"image_size\":8,"
         "\"patch_size\":4,\"num_labels\":3,\"qkv_bias\":false}",
         "qkv_bias"},
    };
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char folder[TEST_TMP];
        asc_model *m = NULL;
        asc_net *net = NULL;
        encoder_folder(ctx, bad[i].from, bad[i].config, folder);
        asc_status st = i == 0 ? asc_model_open(ctx, folder, NULL, &m) : asc_vision_open(ctx, folder, &net);
        assert_int_equal(st, ASC_INVALID_ARGUMENT);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("no '%s' in: %s", bad[i].says, asc_error_message(ctx));
        encoder_remove(folder);
    }
}

/* Norms have factors: without them (another name, of the same length) a file is damaged. */
static void test_missing_norm(void **state) {
    static const char name[] = "deit.layernorm.weight";
    asc_ctx *ctx = *state;
    char from[512], source[600], folder[TEST_TMP], path[TEST_PATH], *config, *bytes;
    size_t len, n;
    asc_net *net;
    snprintf(source, sizeof source, "%s/config.json", encoder_path("deit", from));
    assert_int_equal(asc_file_read(ctx, source, 1 << 20, &config, &len), ASC_OK);
    encoder_folder(ctx, "deit", config, folder);
    asc_free(ctx, config);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(asc_file_read(ctx, path, 1 << 24, &bytes, &n), ASC_OK);
    for (size_t i = 0; i + sizeof name < n; i++) {
        if (memcmp(bytes + i, name, sizeof name - 1) == 0) bytes[i + 5] = 'x';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    asc_free(ctx, bytes);
    assert_int_equal(asc_vision_open(ctx, folder, &net), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "deit.layernorm.weight"));
    encoder_remove(folder);
}

/* MPNet's positions begin at 2 whatever the padding token is: the fixture's figures hold for any. */
static void test_mpnet_padding(void **state) {
    asc_ctx *ctx = *state;
    char folder[TEST_TMP];
    asc_model *m;
    encoder_folder(
        ctx, "mpnet",
        "{\"model_type\":\"mpnet\",\"architectures\":[\"MPNetModel\"],\"vocab_size\":40,"
        "\"hidden_size\":12,\"num_hidden_layers\":2,\"intermediate_size\":20,\"num_attention_heads\":2,"
        "\"max_position_embeddings\":40,\"pad_token_id\":0}",
        folder);
    if (asc_model_open(ctx, folder, NULL, &m) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    asc_json *root = encoder_case(ctx, "mpnet");
    text_case(ctx, m, asc_json_at(asc_json_get(root, "cases"), 0), "mpnet, padded with 0");
    asc_json_free(root);
    asc_model_close(m);
    encoder_remove(folder);
}

/* Nobody writes into these pipes: opening them must not wait. */
static void test_pipes(void **state) {
    static const char *const files[] = {"config.json", "tokenizer.json"};
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < 2; i++) {
        char folder[TEST_TMP], path[TEST_PATH];
        asc_model *m;
        asc_net *net;
        encoder_folder(ctx, "bert-tokens", "{" BERT FOUR "\"num_attention_heads\":2}", folder);
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)remove(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_false(asc_vision_is_folder(folder));
        assert_int_equal(asc_vision_open(ctx, folder, &net) == ASC_OK, 0);
        assert_int_equal(asc_model_open(ctx, folder, NULL, &m), ASC_INVALID_ARGUMENT);
        assert_non_null(strstr(asc_error_message(ctx), "not a regular file"));
        assert_int_equal(remove(path), 0);
        encoder_remove(folder);
    }
}

static void test_bad_pooling(void **state) {
    static const struct {
        const char *modules, *says;
    } bad[] = {
        {"{}", "modules.json"},
        {"[{\"type\":\"x.models.Transformer\",\"path\":\"\"},{\"type\":\"x.models.Pooling\",\"path\":\"1_"
         "Pooling\"}]",
         "1_Pooling/config.json"},
        {"[{\"type\":\"x.models.Transformer\",\"path\":\"\"},{\"type\":\"x.models.Pooling\",\"path\":\"../"
         "up\"}]",
         "path"},
        {"[{\"type\":\"x.models.Transformer\",\"path\":\"\"},{\"type\":\"x.models.LSTM\",\"path\":\"1_LSTM\"}"
         "]",
         "LSTM"},
        {"[{\"type\":\"x.models.Transformer\",\"path\":\"\"},{\"type\":\"x.models.Dense\",\"path\":\"1_"
         "Dense\"}"
         "]",
         "Dense"},
    };
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char folder[TEST_TMP], path[TEST_PATH];
        asc_model *m;
        encoder_folder(ctx, "bert-tokens", "{" BERT FOUR "\"num_attention_heads\":2}", folder);
        snprintf(path, sizeof path, "%s/modules.json", folder);
        encoder_write(path, bad[i].modules);
        assert_true(asc_model_open(ctx, folder, NULL, &m) != ASC_OK);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("no '%s' in: %s", bad[i].says, asc_error_message(ctx));
        encoder_remove(folder);
    }
}

static void test_wrong_questions(void **state) {
    asc_ctx *ctx = *state;
    int32_t ids[] = {5, 9, 30, 3}, long_ids[64] = {0}, out[2];
    size_t n;
    asc_model *m = encoder_open(ctx, "electra");
    const asc_request plain = {
        .struct_size = sizeof plain, .prompt_ids = ids, .n_prompt_ids = 4, .features = ASC_FEATURES_TOKEN};
    struct {
        asc_request q;
        const char *says;
    } bad[8];
    size_t k = 0;
    bad[k].q = plain, bad[k].q.label = (asc_view){"joy", 3}, bad[k++].says = "no class 'joy'";
    bad[k].q = plain, bad[k].q.label = (asc_view){"1", 1}, bad[k].q.versus = (asc_view){"LABEL_1", 7},
    bad[k++].says = "itself";
    bad[k].q = plain, bad[k].q.generate = 1, bad[k++].says = "text encoder";
    bad[k].q = plain, bad[k].q.output = ASC_OUTPUT_SIMILARITY, bad[k++].says = "no text to compare";
    bad[k].q = plain, bad[k].q.similar_to = (asc_view){"a", 1}, bad[k++].says = "tokenizer.json";
    bad[k].q = plain, bad[k].q.per_token = true, bad[k++].says = "text encoder";
    bad[k].q = plain, bad[k].q.prompt_ids = long_ids, bad[k].q.n_prompt_ids = 64, bad[k++].says = "64 tokens";
    bad[k].q = plain, bad[k].q.prompt_ids = NULL, bad[k].q.n_prompt_ids = 0,
    bad[k].q.prompt = (asc_view){"", 0}, bad[k++].says = "empty";
    for (size_t i = 0; i < k; i++) {
        asc_result *r;
        assert_true(asc_explain(m, &bad[i].q, &r) != ASC_OK);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("no '%s' in: %s", bad[i].says, asc_error_message(ctx));
    }
    asc_generate_options o = {.struct_size = sizeof o, .max_tokens = 1};
    assert_int_equal(asc_generate(m, ids, 4, &o, out, &n), ASC_FAILED_PRECONDITION);
    asc_model_close(m);
}

/* Words that are left out change lengths; both modes, and prices, agree. */
static void test_modes_agree(void **state) {
    static const char *const methods[] = {
        "feature-ablation", "integrated-gradients", "shapley-value-sampling", "deep-lift", "lrp",
        "kernel-shap"};
    int32_t ids[] = {5, 9, 30, 3, 7, 38}, types[] = {0, 0, 0, 1, 1, 1};
    (void)state;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        double seen[2][6];
        for (int mode = 0; mode < 2; mode++) {
            asc_ctx_options o = {.struct_size = sizeof o, .mode = mode == 0 ? "deferred" : "compiled"};
            asc_ctx *ctx;
            asc_result *r;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_model *m = encoder_open(ctx, "electra");
            asc_request q = {.struct_size = sizeof q,
                             .method = methods[k],
                             .features = ASC_FEATURES_TOKEN,
                             .prompt_ids = ids,
                             .n_prompt_ids = 6,
                             .prompt_types = types,
                             .label = {"0", 1},
                             .versus = {"1", 1}};
            if (strcmp(methods[k], "integrated-gradients") == 0) q.rule = "gauss-legendre", q.steps = 8;
            if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s: %s", methods[k], asc_error_message(ctx));
            for (size_t i = 0; i < 6; i++) seen[mode][i] = r->features[i].score;
            asc_result_destroy(ctx, r);
            q.dry_run = true;
            if (asc_explain(m, &q, &r) != ASC_OK)
                fail_msg("%s, priced: %s", methods[k], asc_error_message(ctx));
            asc_result_destroy(ctx, r);
            asc_model_close(m);
            asc_ctx_destroy(ctx);
        }
        assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_images),       cmocka_unit_test(test_bad_configs),
        cmocka_unit_test(test_bad_pooling),  cmocka_unit_test(test_biases),
        cmocka_unit_test(test_missing_norm), cmocka_unit_test(test_mpnet_padding),
        cmocka_unit_test(test_pipes),        cmocka_unit_test(test_wrong_questions),
        cmocka_unit_test(test_modes_agree),
    };
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
