/* test_encoder_configs.c - configs of families of text encoders that are refused, by the key that says why.
 */
#include "encoder.h"
#include "encoder_cases.h"
#include "model.h"

/* A folder with the weights of `from` and its config, in which the text `old` is replaced by `new`. */
static void open_changed(asc_ctx *ctx, const char *from, const char *old, const char *new, asc_status *st,
                         asc_model **m) {
    char folder[TEST_TMP], file[256], path[512], config[4096], *text;
    size_t len;
    snprintf(file, sizeof file, "%s/config.json", from);
    assert_ok(ctx, asc_file_read(ctx, encoder_path(file, path), 1 << 20, &text, &len));
    text[len - 1] = '\0';
    const char *at = strstr(text, old);
    if (at == NULL) fail_msg("%s has no %s", from, old);
    snprintf(config, sizeof config, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    asc_free(ctx, text);
    encoder_folder(ctx, from, config, folder);
    *st = asc_model_open(ctx, folder, NULL, m);
    encoder_remove(folder);
}

static void expect(asc_ctx *ctx, const char *from, const char *old, const char *new, const char *says) {
    asc_model *m;
    asc_status st;
    open_changed(ctx, from, old, new, &st, &m);
    if ((st == ASC_OK) != (says == NULL)) fail_msg("%s, %s: %s", from, new, asc_error_message(ctx));
    if (says != NULL && strstr(asc_error_message(ctx), says) == NULL)
        fail_msg("%s: no '%s' in: %s", from, says, asc_error_message(ctx));
    if (says != NULL) assert_true(asc_error_hint(ctx)[0] != '\0');
    if (st == ASC_OK) asc_model_close(m);
}

static void test_nomic(void **state) {
    static const char *const bad[][4] = {
        {"nomic-first", "\"rotary_scaling_factor\": null", "\"rotary_scaling_factor\": 2",
         "rotary_scaling_factor"},
        {"nomic-first", "\"prenorm\": false", "\"prenorm\": true", "prenorm"},
        {"nomic-first", "\"causal\": false", "\"causal\": true", "causal"},
        {"nomic-first", "\"rotary_emb_fraction\": 1.0", "\"rotary_emb_fraction\": 0.5",
         "rotary_emb_fraction"},
        {"nomic-first", "\"causal\": false", "\"moe_every_n_layers\": 2", "moe_every_n_layers"},
        {"nomic-first", "\"swiglu\"", "\"gelu\"", "mlp.fc1.weight is missing"},
        {"nomic-first", "\"swiglu\"", "\"glu\"", "activation_function"},
        {"nomic-first", "\"mlp_fc1_bias\": false", "\"mlp_fc1_bias\": true", "mlp.fc12.bias is missing"},
        {"nomic-first", "\"qkv_proj_bias\": false", "\"qkv_proj_bias\": true", "Wqkv.bias is missing"},
        {"nomic-first", "\"swiglu\"", "\"geglu\"", NULL},
        {"nomic-moe", "\"moe_top_k\": 2", "\"moe_top_k\": 6", "moe_top_k"},
        {"nomic-moe", "\"num_experts\": 5", "\"num_experts\": 4", "router.layer.weight has shape"},
        {"nomic-moe", "\"num_shared_experts\": 0", "\"num_shared_experts\": 1", "num_shared_experts"},
        {"nomic-moe", "\"expert_choice_router\": false", "\"expert_choice_router\": true",
         "expert_choice_router"},
        {"nomic-moe", "\"moe_every_n_layers\": 2", "\"moe_every_n_layers\": 0", "mlp.fc1.weight is missing"},
        {"jina", "\"geglu\"", "\"original\"", "feed_forward_type"},
        {"jina", "\"emb_pooler\": \"mean\"", "\"emb_pooler\": \"last\"", "emb_pooler"},
        {"jina", "\"alibi\"", "\"absolute\"", "position_embeddings.weight is missing"},
        {"nomic", "\"head_dim\": 6", "\"head_dim\": 4", "head_dim"},
        {"nomic", "\"rope_type\": \"default\"", "\"rope_type\": \"linear\"", "rope_parameters.rope_type"},
        {"nomic", "\"num_attention_heads\": 2", "\"num_attention_heads\": 4", "head_dim"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(*state, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
}

static void test_deberta(void **state) {
    static const char *const bad[][4] = {
        {"deberta-v3", "\"position_buckets\": 6", "\"position_buckets\": 1", "position_buckets"},
        {"deberta-v3", "\"position_buckets\": 6", "\"position_buckets\": 8",
         "rel_embeddings.weight has shape"},
        {"deberta-v3", "\"position_buckets\": 6", "\"position_buckets\": 6, \"conv_kernel_size\": 3",
         "conv_kernel_size"},
        {"deberta-v3", "\"position_buckets\": 6", "\"position_buckets\": 6, \"attention_head_size\": 4",
         "attention_head_size"},
        {"deberta-v3", "\"share_att_key\": true", "\"share_att_key\": false",
         "pos_key_proj.weight is missing"},
        {"deberta-v3", "\"norm_rel_ebd\": \"layer_norm\"", "\"norm_rel_ebd\": \"none\"", "encoder.LayerNorm"},
        {"deberta-v3", "\"position_biased_input\": false", "\"position_biased_input\": true",
         "position_embeddings"},
        {"deberta-v3", "\"pooler_hidden_act\": \"gelu\"", "\"pooler_hidden_act\": \"mish\"",
         "pooler_hidden_act"},
        {"deberta-v3", "\"pooler_hidden_size\": 12", "\"pooler_hidden_size\": 24", "pooler_hidden_size"},
        {"deberta-v3", "\"max_relative_positions\": -1", "\"max_relative_positions\": 4", "position_buckets"},
        {"deberta-v1", "[\n    \"c2p\",\n    \"p2c\"\n  ]", "7", "pos_att_type"},
        {"deberta-v1", "\"p2c\"", "\"p2p\"", "pos_att_type"},
        {"deberta-v1", "\"p2c\"", "3", "pos_att_type"},
        {"deberta-v1", "[\n    \"c2p\",\n    \"p2c\"\n  ]", "\"c2p|c2p\"", "pos_att_type"},
        {"deberta-v1", "[\n    \"c2p\",\n    \"p2c\"\n  ]", "\"P2C | c2p\"", NULL},
        {"deberta-v1", "\"relative_attention\": true", "\"relative_attention\": true, \"talking_head\": true",
         "talking_head"},
        {"deberta-v1", "\"relative_attention\": true",
         "\"relative_attention\": true, \"conv_kernel_size\": 3", NULL},
        {"heads/deberta-words", "\"legacy\": true", "\"legacy\": false", "legacy is false"},
        {"heads/deberta-later-words", "\"legacy\": false", "\"legacy\": true", "legacy is true"},
        {"heads/deberta-later-words", "\"legacy\": false,", "", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(*state, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
    /* a table of distances that no score looks at */
    expect(*state, "deberta-v3", "\"p2c\",\n    \"c2p\"", "", NULL);
}

static void test_narrow(void **state) {
    static const char *const bad[][4] = {
        {"albert", "\"inner_group_num\": 1", "\"inner_group_num\": 2",
         "albert_layers.1.attention.query.weight is missing"},
        {"albert", "\"inner_group_num\": 1", "\"inner_group_num\": 500", "inner_group_num"},
        {"albert-inner", "\"inner_group_num\": 3", "\"inner_group_num\": 2", "albert_layers.2"},
        {"albert", "\"num_hidden_groups\": 2", "\"num_hidden_groups\": 5", "num_hidden_groups"},
        {"albert", "\"num_hidden_groups\": 2", "\"num_hidden_groups\": 1", "albert_layer_groups.1"},
        {"albert", "\"embedding_size\": 8", "\"embedding_size\": 16", "embedding_size"},
        {"albert", "\"embedding_size\": 8", "\"embedding_size\": 6", "word_embeddings.weight has shape"},
        {"electra-small", "\"embedding_size\": 6", "\"embedding_size\": 12",
         "word_embeddings.weight has shape"},
        {"xlm-roberta", "\"hidden_size\": 12", "\"hidden_size\": 12, \"embedding_size\": 6",
         "embedding_size"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(*state, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
}

/* A config need not name its activation: each family has one of its own (the config classes of the
 * transformers library). */
static void test_no_activation(void **state) {
    static const char *const cases[][2] = {{"albert", "\"hidden_act\": \"gelu_new\","},
                                           {"nomic", "\"hidden_act\": \"silu\","},
                                           {"bert-tokens", "\"hidden_act\": \"gelu\","}};
    static const asc_mlp_act want[] = {ASC_MLP_GELU_TANH, ASC_MLP_SILU, ASC_MLP_GELU};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        asc_model *m;
        asc_status st;
        open_changed(*state, cases[i][0], cases[i][1], "", &st, &m);
        assert_ok(*state, st);
        assert_int_equal(m->encoder->cfg.act, want[i]);
        asc_model_close(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_activation), cmocka_unit_test(test_nomic),
                                       cmocka_unit_test(test_deberta), cmocka_unit_test(test_narrow)};
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
