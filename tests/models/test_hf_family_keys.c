/* test_hf_family_keys.c - keys of config.json that single families have: values that are refused by the key's
 * name. */
#include "hf_copies.h"

static void test_family_keys(void **state) {
    (void)state;
    static const edit bloom[] = {
        {"apply_residual_connection_post_layernorm", "true", "apply_residual_connection_post_layernorm"},
        {"slow_but_exact", "true", "slow_but_exact is true"},
        {"hidden_size", "21", "has shape"},
        {"n_embed", "20", "n_embed is 20, but hidden_size is 18"},
        {"n_embed", "18", NULL},
    };
    static const edit mpt[] = {
        {"attn_config", "{\"alibi\": false}", "attn_config.alibi is false"},
        {"attn_config", "{\"qk_ln\": true}", "attn_config.qk_ln is true"},
        {"attn_config", "{\"prefix_lm\": true}", "attn_config.prefix_lm is true"},
        {"attn_config", "{\"alibi_bias_max\": 4}", "attn_config.alibi_bias_max is 4"},
        {"attn_config", "{\"attn_type\": \"multiquery_attention\"}", "attn_config.attn_type is"},
        {"attn_config", "[]", "attn_config is a list of 0; expected an object"},
        {"logit_scale", "2", "logit_scale is 2"},
    };
    static const edit gpt_oss[] = {
        {"rope_parameters", "null", "rope_parameters is null; expected an object"},
        {"swiglu_limit", "0", "swiglu_limit is 0"},
        {"sliding_window", "0", "sliding_window is 0"},
        {"num_local_experts", "3", "has shape"},
    };
    static const edit llama4[] = {
        {"attention_chunk_size", "null", "attention_chunk_size is null; expected a number"},
        {"layer_types", "[\"sliding_attention\"]", "layer_types is a list of 1"},
        {"no_rope_layers", "[1]", "no_rope_layers is a list of 1"},
        {"floor_scale", "0", "floor_scale is 0"},
    };
    static const edit dbrx[] = {
        {"ffn_config", "{\"ffn_hidden_size\": 12, \"moe_top_k\": 2, \"moe_normalize_expert_weights\": 2}",
         "ffn_config.moe_normalize_expert_weights is 2"},
        {"attn_config", "{\"kv_n_heads\": 3}", "attn_config.kv_n_heads is 3"},
        {"max_position_embeddings", "16", "max_seq_len is 64, but max_position_embeddings is 16"},
    };
    static const edit glm4_moe[] = {
        {"n_group", "2", "n_group is 2, which is not supported"},
        {"first_k_dense_replace", "0.5", "first_k_dense_replace is 0.5"},
        {"num_hidden_layers", "1", NULL}, /* the second layer is one that predicts a further token */
        {"n_shared_experts", "1", "has shape"},
    };
    static const edit ernie_moe[] = {
        {"moe_norm_min", "0.1", "moe_norm_min is 0.1"},
        {"moe_k", "9", "moe_k is 9"},
        {"moe_layer_end_index", "-1", "is missing"},
    };
    static const edit gpt_neo[] = {
        {"attention_types", "[[[\"global\"], 1]]", "attention_types is a list of 1; expected pairs"},
        {"attention_types", "[[[\"wide\"], 2]]", "attention_types is a list of 1; expected pairs"},
    };
    RUN("bloom", bloom);
    RUN("mpt", mpt);
    RUN("gpt_oss", gpt_oss);
    RUN("llama4_text", llama4);
    RUN("dbrx", dbrx);
    RUN("glm4_moe", glm4_moe);
    RUN("ernie4_5_moe", ernie_moe);
    RUN("gpt_neo-types", gpt_neo);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_family_keys)};
    return cmocka_run_group_tests_name("hf_family_keys", tests, NULL, NULL);
}
