/* test_hf_folders.c - what Hugging Face folders of language models can have wrong; their numbers:
 * test_hf_logits.c. */
#include "hf_copies.h"

static void test_config_values(void **state) {
    (void)state;
    static const edit llama[] = {
        {"hidden_act", "\"gelu_10\"", "hidden_act is \"gelu_10\", which is not supported"},
        {"hidden_act", "7", "hidden_act is 7; expected a text"},
        {"hidden_act", "\"swish\"", NULL},
        {"quantization_config", "{\"bits\": 4}", "quantization_config is an object"},
        {"quantization_config", "null", NULL},
        {"rope_scaling", "{\"type\": \"mrope\"}", "rope_scaling.type is \"mrope\", which is not supported"},
        {"rope_scaling", "{\"rope_type\": \"ntk\", \"type\": \"linear\"}",
         "rope_scaling.rope_type is \"ntk\""},
        {"rope_scaling", "{\"type\": \"linear\"}", "rope_scaling.factor is missing"},
        {"rope_scaling", "{\"type\": \"linear\", \"factor\": 0}", "rope_scaling.factor is 0"},
        {"rope_scaling", "{\"type\": \"llama3\", \"factor\": 8}", "rope_scaling.low_freq_factor is missing"},
        {"rope_scaling",
         "{\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, \"high_freq_factor\": 4}",
         "high_freq_factor is 4; expected more than low_freq_factor"},
        {"rope_scaling", "{\"type\": \"longrope\", \"long_factor\": [1], \"short_factor\": [1]}",
         "short_factor is a list of 1; expected a list of 4"},
        {"rope_scaling", "[1]", "rope_scaling is a list of 1; expected an object"},
        {"rope_scaling", "null", NULL},
        {"rope_theta", "-5", "rope_theta is -5"},
        {"rope_theta", "NaN", "config.json': JSON: line"},
        {"rope_theta", "1e999", "config.json': JSON: line"},
        {"partial_rotary_factor", "0.5", "partial_rotary_factor is 0.5, which is not supported"},
        {"head_dim", "7", "7 columns of each head"},
        {"num_attention_heads", "3", "has shape"},
        {"num_attention_heads", "4", "has shape"},
        {"num_attention_heads", "100000", "num_attention_heads is 100000"},
        {"num_key_value_heads", "0", "num_key_value_heads is 0; expected a whole number"},
        {"num_key_value_heads", "3", "not a multiple of 3 key heads"},
        {"num_key_value_heads", "2", "has shape"},
        {"num_hidden_layers", "0", "num_hidden_layers is 0"},
        {"num_hidden_layers", "1", "is of layer 1, but config.json says 1 layers"},
        {"num_hidden_layers", "3", "is missing"},
        {"num_hidden_layers", "\"2\"", "num_hidden_layers is \"2\""},
        {"num_hidden_layers", "2.5", "num_hidden_layers is 2.5"},
        {"num_hidden_layers", "-1", "num_hidden_layers is -1"},
        {"num_hidden_layers", "null", "num_hidden_layers is null"},
        {"num_hidden_layers", NULL, "num_hidden_layers is missing"},
        {"num_hidden_layers", "[2]", "num_hidden_layers is a list"},
        {"num_hidden_layers", "1000000000000000000000000000000", "num_hidden_layers is 1e+30"},
        {"hidden_size", "17", "has shape"},
        {"hidden_size", "9223372036854775807", "hidden_size is 9223372036854775807"},
        {"vocab_size", "21", "has shape"},
        {"vocab_size", NULL, "vocab_size is missing"},
        {"intermediate_size", "13", "has shape"},
        {"rms_norm_eps", "-1", "rms_norm_eps is -1"},
        {"rms_norm_eps", "\"x\"", "rms_norm_eps is \"x\""},
        {"max_position_embeddings", "0", "max_position_embeddings is 0"},
        {"max_position_embeddings", NULL, NULL},
        {"model_type", "\"mamba\"", "model_type is \"mamba\", which is not supported"},
        {"model_type", "3", "model_type is 3"},
        {"model_type", NULL, "model_type is missing"},
        {"architectures", "[\"LlamaForSequenceClassification\"]",
         "architectures is \"LlamaForSequenceClassification\""},
        {"architectures", "[\"LlamaFor\"]", "architectures is \"LlamaFor\""},
        {"architectures", "\"LlamaForCausalLM\"", "architectures is \"LlamaForCausalLM\"; expected a list"},
        {"architectures", "null", NULL},
        {"attention_bias", "false", "has a bias, but config.json says attention_bias false"},
        {"attention_bias", "\"yes\"", "attention_bias is \"yes\"; expected true or false"},
        {"mlp_bias", NULL, "has a bias, but config.json says mlp_bias false"},
        {"tie_word_embeddings", "false", "tie_word_embeddings is false"},
        {"tie_word_embeddings", "1", "tie_word_embeddings is 1"},
        {"is_encoder_decoder", "true", "is_encoder_decoder is true"},
        {"pruned_heads", "{\"0\": [1]}", "pruned_heads"},
        {"pruned_heads", "{}", NULL},
        {"some_key_of_a_fork", "{\"a\": 1}", NULL},
        {"sliding_window", "1", NULL}, /* llama's program does not look at it */
    };
    static const edit qwen2[] = {
        {"layer_types", "[\"full_attention\"]", "layer_types is a list of 1; expected"},
        {"layer_types", "[\"full_attention\", \"chunked_attention\", \"full_attention\"]",
         "layer_types[1] is \"chunked_attention\""},
        {"sliding_window", "0", "sliding_window is 0"},
        {"sliding_window", "-3", "sliding_window is -3"},
        {"use_sliding_window", "\"no\"", "use_sliding_window is \"no\""},
        {"max_window_layers", "-1", "max_window_layers is -1"},
        {"max_window_layers", "0", NULL},
    };
    static const edit gpt2[] = {
        {"scale_attn_by_inverse_layer_idx", "1", "scale_attn_by_inverse_layer_idx is 1"},
        {"add_cross_attention", "true", "add_cross_attention is true"},
        {"n_head", "3", "n_head"},
        {"n_inner", "48", "has shape"},
        {"n_positions", "65", "has shape"},
        {"activation_function", "\"mish\"", "activation_function is \"mish\""},
    };
    static const edit mixtral[] = {
        {"num_local_experts", "5", "gate.weight has shape [4,16]; the configuration asks for [5,16]"},
        {"num_local_experts", "3", "gate.weight has shape [4,16]"},
        {"num_experts_per_tok", "5", "num_experts_per_tok is 5"},
        {"num_experts_per_tok", "0", "num_experts_per_tok is 0"},
    };
    static const edit phi3[] = {
        {"partial_rotary_factor", "0.4", "3 columns of each head"},
        {"partial_rotary_factor", "1.5", "partial_rotary_factor is 1.5"},
        {"partial_rotary_factor", "0.25", "expected a list of 1"},
        {"original_max_position_embeddings", "0", "original_max_position_embeddings is 0"},
    };
    static const edit gemma3[] = {
        {"use_bidirectional_attention", "true", "use_bidirectional_attention is true"},
        {"query_pre_attn_scalar", "0", "query_pre_attn_scalar is 0"},
        {"final_logit_softcapping", "-1", "final_logit_softcapping is -1"},
        {"rope_local_base_freq", "0.5", "rope_local_base_freq is 0.5"},
        {"sliding_window_pattern", "0", "sliding_window_pattern is 0"},
    };
    static const edit falcon[] = {
        {"alibi", "\"yes\"", "alibi is \"yes\""},
        {"num_kv_heads", "3", "num_kv_heads is 3; expected a divisor"},
        {"new_decoder_architecture", "false", "num_ln_in_parallel_attn"},
    };
    static const edit opt[] = {
        {"do_layer_norm_before", "false", "do_layer_norm_before is false"},
        {"word_embed_proj_dim", "8", "word_embed_proj_dim is 8"},
        {"_remove_final_layer_norm", "true", "_remove_final_layer_norm is true"},
        {"enable_bias", "false", "enable_bias false"},
        {"max_position_embeddings", "63", "has shape"},
    };
    static const edit gptj[] = {
        {"rotary_dim", "3", "rotary_dim is 3; expected an even number"},
        {"rotary_dim", "0", "rotary_dim is 0"},
    };
    static const edit neo[] = {
        {"attention_layers", NULL, NULL},
        {"attention_layers", "[\"global\", \"sparse\"]", "attention_layers[1] is \"sparse\""},
        {"window_size", "null", "window_size is"},
    };
    static const edit exaone[] = {
        {"sliding_window_pattern", "\"LLLG\"", NULL}, /* layer_types says it */
        {"layer_types", "[\"full_attention\"]",
         "expected a list with one name for each of num_hidden_layers"},
    };
    static const edit qwen2_moe[] = {
        {"shared_expert_intermediate_size", "13", "has shape"},
        {"num_experts_per_tok", "5", "num_experts_per_tok is 5"},
    };
    RUN("falcon-groups", falcon);
    RUN("opt", opt);
    RUN("gptj", gptj);
    RUN("gpt_neo", neo);
    RUN("exaone4", exaone);
    RUN("qwen2_moe", qwen2_moe);
    RUN("llama-bias-linear", llama);
    RUN("qwen2-window", qwen2);
    RUN("gpt2-plain-names", gpt2);
    RUN("mixtral", mixtral);
    RUN("phi3-longrope-old", phi3);
    RUN("gemma3_text-old", gemma3);
}

static void write_text(const copy *c, const char *file, const char *text) {
    put(c, file, text, strlen(text));
}

/* Replaces the first `from` in a file by `to` of the same length. */
static void patch(const copy *c, const char *file, const char *from, const char *to) {
    size_t n;
    char *text = get(c, file, &n);
    assert_int_equal(strlen(from), strlen(to));
    char *at = memmem(text, n, from, strlen(from));
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    put(c, file, text, n);
    free(text);
}

static void test_single_files(void **state) {
    (void)state;
    copy c = begin("llama-bias-linear");
    expect(&c, "model.safetensors", NULL, "the weight file");
    expect(&c, "config.json", NULL, "the config");
    expect(&c, "other.safetensors", "other.safetensors", "a weight file that is not there");
    patch(&c, "model.safetensors", "\"dtype\":\"BF16\"", "\"dtype\":\"I16\" ");
    expect(&c, NULL, "is stored as int16", "whole numbers");
    patch(&c, "model.safetensors", "\"dtype\":\"I16\" ", "\"dtype\":\"F64\" ");
    expect(&c, NULL, "do not agree", "another type");
    patch(&c, "model.safetensors", "\"dtype\":\"F64\" ", "\"dtype\":\"BF16\"");
    patch(&c, "model.safetensors", "mlp.up_proj.weight", "mlp.up_proj.wrong_");
    expect(&c, NULL, "has no place in a llama model", "an unknown tensor");
    patch(&c, "model.safetensors", "mlp.up_proj.wrong_", "mlp.down_proj.bias");
    expect(&c, NULL, "safetensors", "a name twice");
    size_t n;
    char *text = get(&c, "model.safetensors", &n);
    put(&c, "model.safetensors", text, n - 1);
    free(text);
    expect(&c, NULL, "model.safetensors'", "a cut file");
    write_text(&c, "model.safetensors", "version https://git-lfs.github.com/spec/v1\n");
    expect(&c, NULL, "model.safetensors'", "a pointer instead of the file");
    drop(&c, "model.safetensors");
    expect(&c, NULL, "has neither model.safetensors nor", "no weights");
    write_text(&c, "pytorch_model.bin", "x");
    expect(&c, NULL, "a pickle", "pickles");
    write_text(&c, "config.json", "[]");
    expect(&c, NULL, "config.json': JSON: expected an object", "a list");
    write_text(&c, "config.json", "{\"a\": 1, \"a\": 2}");
    expect(&c, NULL, "config.json': JSON", "a key twice");
    write_text(&c, "config.json", "\xff");
    expect(&c, NULL, "config.json': JSON", "no UTF-8");
    drop(&c, "config.json");
    expect(&c, NULL, "has no config.json", "no config");
    write_text(&c, "adapter_config.json", "{}");
    expect(&c, NULL, "holds an adapter", "an adapter");
    end(&c);
}

static void test_shards(void **state) {
    (void)state;
    const char *const index = "model.safetensors.index.json", *const one = "model-00001-of-00002.safetensors",
                      *const two = "model-00002-of-00002.safetensors";
    copy c = begin("llama-llama3");
    size_t n, n_two;
    char *text = get(&c, index, &n), *second = get(&c, two, &n_two);
    expect(&c, index, NULL, "the index");
    expect(&c, one, NULL, "a shard that the index lists");
    patch(&c, index, "00002-of", "00003-of");
    expect(&c, NULL, "00003-of-00002.safetensors", "a shard that is not there");
    put(&c, index, text, n);
    patch(&c, index, "model-00001-of", "../../0001-of/");
    expect(&c, NULL, "which is not the name of a safetensors file in the folder", "a way out");
    put(&c, index, text, n);
    patch(&c, index, "model-00001", "/model-0001");
    expect(&c, NULL, "which is not the name of", "an absolute path");
    put(&c, index, text, n);
    patch(&c, index, "00002-of", "00001-of");
    expect(&c, NULL, "the index places it in", "another place");
    put(&c, index, text, n);
    patch(&c, index, "model.layers.0.mlp.up_proj.weight", "model.layers.7.mlp.up_proj.weight");
    expect(&c, NULL, "the index does not list it", "a tensor that is not listed");
    put(&c, index, text, n);
    patch(&c, two, "model.norm.weight", "model.nurm.weight");
    expect(&c, NULL, "the index does not list it", "another name");
    put(&c, two, second, n_two);
    write_text(&c, index, "{}");
    expect(&c, NULL, "has no weight_map", "an empty index");
    write_text(&c, index, "{\"weight_map\": {\"a\": 3}}");
    expect(&c, NULL, "which is not the name of", "a number for a file");
    write_text(&c, index, "{\"weight_map\": ");
    expect(&c, NULL, "index.json': JSON", "half an index");
    put(&c, index, text, n);
    drop(&c, two);
    expect(&c, NULL, two, "a shard is missing");
    free(text);
    free(second);
    end(&c);
}

/* A tensor that the index lists and no shard holds. */
static void test_absent_tensor(void **state) {
    (void)state;
    copy c = begin("llama-llama3");
    size_t n;
    char *text = get(&c, "model.safetensors.index.json", &n), *more = calloc(n + 256, 1);
    char *at = strstr(text, "\"weight_map\": {");
    assert_true(at != NULL && more != NULL);
    at += strlen("\"weight_map\": {");
    snprintf(more, n + 256, "%.*s\"extra.weight\": \"model-00002-of-00002.safetensors\",%s", (int)(at - text),
             text, at);
    write_text(&c, "model.safetensors.index.json", more);
    expect(&c, NULL, "lacks tensor 'extra.weight'", "a tensor in no shard");
    free(more);
    free(text);
    end(&c);
}

static void test_texts(void **state) {
    (void)state;
    copy c = begin("llama-bias-linear");
    asc_model *m;
    asc_token *t;
    size_t n;
    write_text(
        &c, "tokenizer_config.json",
        "{\"bos_token\": {\"content\": \"<5>\"}, \"eos_token\": \"<7>\", \"model_max_length\": "
        "1000000000000000019884624838656, \"chat_template\": [{\"name\": \"tools\", \"template\": \"no\"}, "
        "{\"name\": \"default\", \"template\": \"{{ messages }}\"}]}");
    assert_ok(c.ctx, asc_model_open(c.ctx, c.dir, NULL, &m));
    asc_tokenizer_info info = asc_tokenizer_get_info(asc_model_tokenizer(m));
    assert_int_equal(info.bos, 5);
    assert_int_equal(info.eos, 7);
    assert_int_equal(info.pad, 0); /* of config.json */
    assert_true(asc_view_eqs(asc_model_chat_template(m), "{{ messages }}"));
    assert_true(asc_view_eqs(asc_token_piece(asc_model_tokenizer(m), 12), "<12>"));
    assert_int_equal(asc_tokenize(c.ctx, asc_model_tokenizer(m), asc_view_of("a text"), NULL, &t, &n),
                     ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(c.ctx), "no tokenizer.json"));
    asc_model_close(m);
    write_text(&c, "chat_template.jinja", "{{ bos_token }}");
    assert_ok(c.ctx, asc_model_open(c.ctx, c.dir, NULL, &m));
    assert_true(asc_view_eqs(asc_model_chat_template(m), "{{ bos_token }}"));
    asc_model_close(m);
    write_text(&c, "generation_config.json", "{\"eos_token_id\": [");
    expect(&c, NULL, "generation_config.json': JSON", "half a file");
    end(&c);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    static const char *const names[] = {"hf/llama-llama3", "hf/phi3-longrope-old"};
    for (size_t k = 0; k < 2; k++) {
        bool opened = false;
        for (long at = 1; !opened; at++) {
            test_alloc counter = {.fail_at = at};
            asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &counter};
            asc_ctx *ctx = NULL;
            asc_model *m = NULL;
            if (asc_ctx_create(&o, &ctx) == ASC_OK) {
                asc_status st = asc_model_open(ctx, test_data(names[k]), NULL, &m);
                opened = st == ASC_OK;
                if (!opened) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
                asc_model_close(m);
            }
            asc_ctx_destroy(ctx);
            assert_int_equal(counter.live, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_values), cmocka_unit_test(test_single_files),
        cmocka_unit_test(test_shards),        cmocka_unit_test(test_absent_tensor),
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
