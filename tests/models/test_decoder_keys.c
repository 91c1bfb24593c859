/* test_decoder_keys.c - metadata keys that change what a decoder computes: those that are not known are
 * refused by name, those that say "not used" are not, and those that are known are obeyed or refused when
 * they make no sense. A key is put in front of a small file's own. */
#include "file.h"
#include "gguf.h"
#include "harness.h"
#include "model.h"

typedef struct entry {
    const char *key;
    asc_gguf_type type;
    double v;
    const char *text;
    int n; /* an array of n entries of v */
} entry;

static void put(unsigned char **at, const void *p, size_t n) {
    memcpy(*at, p, n);
    *at += n;
}

static void put_u64(unsigned char **at, uint64_t v) { put(at, &v, 8); }

static void put_string(unsigned char **at, const char *s, size_t n) {
    put_u64(at, n);
    put(at, s, n);
}

static void put_value(unsigned char **at, const entry *e) {
    if (e->type == ASC_GGUF_U32) put(at, &(uint32_t){(uint32_t)e->v}, 4);
    if (e->type == ASC_GGUF_F32) put(at, &(float){(float)e->v}, 4);
    if (e->type == ASC_GGUF_BOOL) put(at, &(unsigned char){e->v > 0.0}, 1);
    if (e->type == ASC_GGUF_STRING) put_string(at, e->text, strlen(e->text));
}

/* The file with this entry, and a string behind it that fills up to the alignment, before its own entries. */
static void write_with(asc_ctx *ctx, const char *from, const char *to, const entry *e) {
    char *data;
    size_t n;
    unsigned char added[1024], *at = added;
    uint64_t count;
    assert_ok(ctx, asc_file_read(ctx, test_data(from), 1 << 24, &data, &n));
    put_string(&at, e->key, strlen(e->key));
    uint32_t type = e->n > 0 ? ASC_GGUF_ARRAY : (uint32_t)e->type;
    put(&at, &type, 4);
    if (e->n > 0) {
        put(&at, &(uint32_t){(uint32_t)e->type}, 4);
        put_u64(&at, (uint64_t)e->n);
    }
    for (int i = 0; i < (e->n > 0 ? e->n : 1); i++) put_value(&at, e);
    static const char filler[] = "general.filler", blanks[] = "                                ";
    const size_t used = (size_t)(at - added) + 8 + sizeof filler - 1 + 4 + 8;
    put_string(&at, filler, sizeof filler - 1);
    put(&at, &(uint32_t){ASC_GGUF_STRING}, 4);
    put_string(&at, blanks, (32 - used % 32) % 32);
    const size_t more = (size_t)(at - added);
    assert_int_equal(more % 32, 0);
    char *all = calloc(n + more, 1);
    memcpy(all, data, 24);
    memcpy(&count, data + 16, 8);
    count += 2;
    memcpy(all + 16, &count, 8);
    memcpy(all + 24, added, more);
    memcpy(all + 24 + more, data + 24, n - 24);
    assert_ok(ctx, asc_file_write(ctx, to, all, n + more));
    free(all);
    asc_free(ctx, data);
}

#define U(k, x)                                                                                              \
    { k, ASC_GGUF_U32, x, NULL, 0 }
#define F(k, x)                                                                                              \
    { k, ASC_GGUF_F32, x, NULL, 0 }
#define B(k, x)                                                                                              \
    { k, ASC_GGUF_BOOL, x, NULL, 0 }
#define S(k, x)                                                                                              \
    { k, ASC_GGUF_STRING, 0, x, 0 }
#define A(k, t, x, n)                                                                                        \
    { k, t, x, NULL, n }
#define MIX "decoders/mixtral.gguf"

static const struct {
    const char *file;
    entry e;
    asc_status want;
    const char *says;
} cases[] = {
    {MIX, F("llama.attention.clamp_kqv", 8.0), ASC_UNIMPLEMENTED, "clamp_kqv"},
    {MIX, F("llama.attention.clamp_kqv", 0.0), ASC_OK, ""},
    {MIX, F("llama.attention.max_alibi_bias", 8.0), ASC_UNIMPLEMENTED, "max_alibi_bias"},
    {MIX, F("llama.attention.temperature_scale", 0.1), ASC_UNIMPLEMENTED, "temperature_scale"},
    {MIX, F("llama.attention.output_scale", 0.5), ASC_UNIMPLEMENTED, "output_scale"},
    {MIX, U("llama.expert_shared_count", 1), ASC_UNIMPLEMENTED, "expert_shared_count"},
    {MIX, U("llama.expert_group_count", 4), ASC_UNIMPLEMENTED, "expert_group_count"},
    {MIX, U("llama.expert_group_count", 1), ASC_OK, ""},
    {MIX, U("llama.expert_gating_func", 2), ASC_UNIMPLEMENTED, "expert_gating_func"},
    {MIX, U("llama.expert_gating_func", 1), ASC_OK, ""},
    {MIX, F("llama.expert_weights_scale", 2.5), ASC_UNIMPLEMENTED, "expert_weights_scale"},
    {MIX, F("llama.expert_weights_scale", 1.0), ASC_OK, ""},
    {MIX, F("llama.router_logit_softcapping", 30.0), ASC_UNIMPLEMENTED, "router_logit_softcapping"},
    {MIX, U("llama.nextn_predict_layers", 1), ASC_UNIMPLEMENTED, "nextn_predict_layers"},
    {MIX, F("llama.rope.scaling.yarn_log_multiplier", 0.1), ASC_UNIMPLEMENTED, "yarn_log_multiplier"},
    {MIX, A("llama.attention.clamp_kqv", ASC_GGUF_F32, 0.0, 2), ASC_UNIMPLEMENTED, "clamp_kqv"},
    {MIX, B("llama.attention.causal", 0), ASC_UNIMPLEMENTED, "attention.causal"},
    {MIX, B("llama.attention.causal", 1), ASC_OK, ""},
    {MIX, S("llama.rope.scaling.type", "dynamic"), ASC_UNIMPLEMENTED, "'dynamic'"},
    {MIX, S("llama.rope.scaling.type", "linear"), ASC_OK, ""},
    {MIX, F("llama.rope.scaling.factor", -2.0), ASC_INVALID_ARGUMENT, "rope.scaling.factor"},
    {MIX, F("llama.attention.scale", -1.0), ASC_INVALID_ARGUMENT, "attention.scale"},
    {MIX, F("llama.attention.scale", 0.5), ASC_OK, ""},
    {MIX, F("llama.embedding_scale", 1e30), ASC_INVALID_ARGUMENT, "embedding_scale"},
    {MIX, U("llama.expert_feed_forward_length", 12), ASC_INVALID_ARGUMENT, "ffn_gate_exps"},
    {MIX, U("llama.expert_feed_forward_length", 0), ASC_INVALID_ARGUMENT, "expert_feed_forward_length"},
    {MIX, U("llama.leading_dense_block_count", 1), ASC_INVALID_ARGUMENT, "ffn_up.weight is missing"},
    {MIX, U("llama.attention.sliding_window", 3), ASC_OK, ""},
    {MIX, A("llama.attention.sliding_window_pattern", ASC_GGUF_BOOL, 1, 1), ASC_INVALID_ARGUMENT,
     "1 entries"},
    {MIX, A("llama.attention.sliding_window_pattern", ASC_GGUF_BOOL, 1, 2), ASC_OK, ""},
    {MIX, S("llama.attention.sliding_window_pattern", "LLG"), ASC_INVALID_ARGUMENT, "sliding_window_pattern"},
    {"decoders/granite.gguf", U("granite.expert_count", 2), ASC_NOT_FOUND, "expert_used_count"},
    {"decoders/gptneox.gguf", U("gptneox.attention.head_count_kv", 2), ASC_INVALID_ARGUMENT, "attn_qkv"},
    {"decoders/gemma3.gguf", F("gemma3.rope.freq_base_swa", 0.5), ASC_INVALID_ARGUMENT, "freq_base_swa"},
    {"decoders/gemma3.gguf", F("gemma3.rope.freq_base_swa", 5000.0), ASC_OK, ""},
    {"decoders/gemma3.gguf", F("gemma3.final_logit_softcapping", 5.0), ASC_OK, ""},
    {"decoders/ernie4_5_moe.gguf", U("ernie4_5-moe.expert_gating_func", 3), ASC_UNIMPLEMENTED,
     "expert_gating_func"},
    {"decoders/ernie4_5_moe.gguf", U("ernie4_5-moe.expert_gating_func", 2), ASC_OK, ""},
    {"decoders/ernie4_5_moe.gguf", F("ernie4_5-moe.expert_weights_scale", -1.0), ASC_INVALID_ARGUMENT,
     "expert_weights_scale"},
    {"decoders/ernie4_5_moe.gguf", U("ernie4_5-moe.nextn_predict_layers", 4), ASC_INVALID_ARGUMENT,
     "4 of 4 layers"},
    {"decoders/ernie4_5_moe.gguf", U("ernie4_5-moe.expert_group_count", 2), ASC_UNIMPLEMENTED,
     "expert_group_count"},
    {"decoders/hunyuan_moe.gguf", U("hunyuan-moe.expert_shared_count", 70000), ASC_INVALID_ARGUMENT,
     "expert_shared_count"},
    {"decoders/hunyuan_moe.gguf", U("hunyuan-moe.interleave_moe_layer_step", 2), ASC_INVALID_ARGUMENT,
     "ffn_up.weight is missing"},
    {"decoders/glm4moe.gguf", U("glm4moe.interleave_moe_layer_step", 0), ASC_INVALID_ARGUMENT,
     "interleave_moe_layer_step"},
    {"decoders/mistral3.gguf", F("mistral3.rope.scaling.attn_factor", 2.0), ASC_OK, ""},
};

static void keys(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    static const int32_t ids[] = {5, 6, 7, 8, 9, 3, 4};
    char path[64];
    snprintf(path, sizeof path, "decoder-keys-%d.gguf", (int)sizeof cases);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_model *m = NULL;
        float out[64];
        write_with(ctx, cases[i].file, path, &cases[i].e);
        asc_error_clear(ctx);
        asc_status st = asc_model_open(ctx, path, NULL, &m);
        if (st != cases[i].want || (st != ASC_OK && (strstr(asc_error_message(ctx), cases[i].says) == NULL ||
                                                     asc_error_hint(ctx)[0] == '\0')))
            fail_msg("%s: %s: '%s', hint '%s'", cases[i].e.key, asc_status_name(st), asc_error_message(ctx),
                     asc_error_hint(ctx));
        if (st == ASC_OK) assert_ok(ctx, asc_model_logits(m, ids, 7, 1, out));
        asc_model_close(m);
    }
    remove(path);
    test_ctx_end(ctx);
}

/* The last logits of a file with one more entry. */
static void logits_with(asc_ctx *ctx, const entry *e, float out[64]) {
    static const int32_t ids[] = {5, 6, 7, 8, 9, 3, 4};
    asc_model *m = NULL;
    char path[64];
    snprintf(path, sizeof path, "decoder-keys-%d-one.gguf", (int)sizeof cases);
    write_with(ctx, MIX, path, e);
    assert_ok(ctx, asc_model_open(ctx, path, NULL, &m));
    assert_in_range(asc_model_get_info(m).n_vocab, 1, 64);
    assert_ok(ctx, asc_model_logits(m, ids, 7, 1, out));
    asc_model_close(m);
    remove(path);
}

/* llama.cpp takes a factor without a type for linear, as the older key says by itself. */
static void factor_alone(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    float plain[64] = {0}, old[64] = {0}, alone[64] = {0};
    logits_with(ctx, &(entry)S("general.nothing", "x"), plain);
    logits_with(ctx, &(entry)F("llama.rope.scale_linear", 4.0), old);
    logits_with(ctx, &(entry)F("llama.rope.scaling.factor", 4.0), alone);
    assert_memory_equal(old, alone, sizeof old);
    assert_memory_not_equal(plain, alone, sizeof plain);
    test_ctx_end(ctx);
}

static void on_log(void *self, asc_log_level level, const char *message) {
    char *kept = self;
    if (level == ASC_LOG_WARN) snprintf(kept, 256, "%s", message);
}

/* What makes no sense and changes no number is said. */
static void doubts(void **state) {
    (void)state;
    static const struct {
        entry e;
        const char *says; /* "" = nothing */
    } rows[] = {
        {U("tokenizer.ggml.eot_token_id", 4e9), "eot_token_id is 4000000000, but there are only"},
        {U("tokenizer.chat_template", 1), "chat_template is not a string"},
        {S("general.type", "adapter"), "general.type"},
        {S("general.type", "model"), ""},
        {U("llama.vocab_size", 5), "llama.vocab_size is not"},
        {S("general.author", "a\xFF"), "general.author is not UTF-8 from its byte 1 on"},
        {U("split.no", 1), "split.no is not"},
        {U("split.no", 0), ""},
        {U("split.count", 0), ""}, /* as joined files have it */
        {U("split.tensors.count", 1), "split.tensors.count is not"},
        {U("general.quantization_version", 2), ""},
        {U("general.quantization_version", 1), "quantization_version is not 2"},
        {S("general.quantization_version", "2"), "quantization_version is not 2"},
        {U("general.file_type", 0), ""},
        {U("general.file_type", 1024), ""}, /* counted, not said */
        {U("general.file_type", 7), "names a type that no tensor has"},
        {U("general.file_type", 999), "is the number of no type of files"},
        {U("tokenizer.ggml.mask_token_id", 4e9), "mask_token_id is the number of no token"},
        {U("tokenizer.ggml.fim_pre_token_id", 3), ""},
        {S("tokenizer.chat_template", "{% for x in %}"), "chat_template cannot be read"},
        {S("tokenizer.chat_template", "{% for x in messages %}{{ x.content }}{% endfor %}"), ""},
    };
    char said[256], path[64];
    snprintf(path, sizeof path, "decoder-keys-%d-doubts.gguf", (int)sizeof cases);
    asc_ctx_options o = {.struct_size = sizeof o, .device = "reference", .log = on_log, .log_self = said};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_model *m = NULL;
        write_with(ctx, MIX, path, &rows[i].e);
        said[0] = '\0';
        assert_ok(ctx, asc_model_open(ctx, path, NULL, &m));
        if (strstr(said, rows[i].says) == NULL || (rows[i].says[0] == '\0' && said[0] != '\0'))
            fail_msg("%s: '%s'", rows[i].e.key, said);
        asc_model_close(m);
    }
    remove(path);
    asc_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys), cmocka_unit_test(factor_alone),
                                       cmocka_unit_test(doubts)};
    return cmocka_run_group_tests_name("decoder_keys", tests, NULL, NULL);
}
