/* test_bad_models.c - files that parse but make no sense as a model: each is refused with the file, what is
 * wrong, and a remedy. The metadata and tensor list of a small real model are rewritten with one thing
 * changed. */
#include "file.h"
#include "gguf_parts.h"
#include "harness.h"
#include "model.h"
#include "view.h"
#include <math.h>

#define MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"

/* The real file's bytes with the value of `key` (4 bytes at the place the reader says) or, when `tensor` is
 * set, its whole data replaced by 32-bit words. drop: the last letter of the key or tensor's name is changed,
 * so that it is missing. */
typedef struct change {
    const char *key, *tensor;
    uint32_t word;
    bool drop;
    asc_status expect; /* of opening */
    const char *says;
} change;

static uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static void write_changed(asc_ctx *ctx, const char *path, const change *c) {
    char *data = NULL;
    size_t n = 0;
    asc_gguf *g = NULL;
    assert_ok(ctx, asc_file_read(ctx, test_data(MODEL), 1 << 24, &data, &n));
    assert_ok(ctx, asc_gguf_parse(ctx, data, n, &g));
    if (c->key != NULL) {
        const asc_gguf_kv *kv = asc_gguf_kv_find(g, c->key);
        assert_non_null(kv);
        if (c->drop)
            data[kv->key.ptr + kv->key.len - 1 - data] = 'Q';
        else
            memcpy(data + kv->file_offset, &c->word, 4);
    } else {
        const asc_gguf_tensor *t = asc_gguf_tensor_find(g, c->tensor);
        assert_non_null(t);
        if (c->drop)
            data[t->name.ptr + t->name.len - 1 - data] = 'Q';
        else
            for (size_t i = 0; i + 4 <= t->bytes; i += 4) memcpy(data + t->file_offset + i, &c->word, 4);
    }
    asc_gguf_close(ctx, g);
    assert_ok(ctx, asc_file_write(ctx, path, data, n));
    asc_free(ctx, data);
}

static void senseless_models_are_refused(void **state) {
    (void)state;
    const change cases[] = {
        {.key = "llama.block_count",
         .word = 0,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "llama.block_count is 0"},
        {.key = "llama.block_count", .word = 4, .expect = ASC_INVALID_ARGUMENT, .says = "blk.3"},
        {.key = "llama.block_count",
         .word = UINT32_MAX,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "block_count"},
        {.key = "llama.block_count", .word = 2, .expect = ASC_UNIMPLEMENTED, .says = "blk.2"},
        {.key = "llama.attention.head_count",
         .word = 0,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "head_count"},
        {.key = "llama.attention.head_count", .word = 3, .expect = ASC_INVALID_ARGUMENT, .says = "multiple"},
        {.key = "llama.attention.head_count_kv",
         .word = 8,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "head_count_kv"},
        {.key = "llama.attention.key_length", .word = 8, .expect = ASC_UNIMPLEMENTED, .says = "columns"},
        {.key = "llama.context_length", .word = 0, .expect = ASC_INVALID_ARGUMENT, .says = "context_length"},
        {.key = "llama.rope.dimension_count", .word = 15, .expect = ASC_INVALID_ARGUMENT, .says = "not even"},
        {.key = "llama.rope.dimension_count",
         .word = 18,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "dimension_count"},
        {.key = "llama.rope.freq_base",
         .word = bits(0.0f),
         .expect = ASC_INVALID_ARGUMENT,
         .says = "freq_base"},
        {.key = "llama.rope.freq_base",
         .word = bits(NAN),
         .expect = ASC_INVALID_ARGUMENT,
         .says = "freq_base"},
        {.key = "llama.attention.layer_norm_rms_epsilon",
         .word = bits(-1e-5f),
         .expect = ASC_INVALID_ARGUMENT,
         .says = "epsilon"},
        {.key = "llama.attention.layer_norm_rms_epsilon",
         .drop = true,
         .expect = ASC_NOT_FOUND,
         .says = "missing"},
        {.key = "tokenizer.ggml.tokens",
         .drop = true,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "tokenizer.ggml.tokens"},
        {.key = "tokenizer.ggml.model",
         .drop = true,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "tokenizer.ggml.model"},
        {.tensor = "rope_freqs.weight",
         .word = 1,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "rope_freqs.weight"},
        {.tensor = "rope_freqs.weight",
         .word = bits(-1.0f),
         .expect = ASC_INVALID_ARGUMENT,
         .says = "rope_freqs.weight"},
        {.tensor = "blk.1.ffn_norm.weight",
         .drop = true,
         .expect = ASC_INVALID_ARGUMENT,
         .says = "blk.1.ffn_norm.weight"},
        {.tensor = "output_norm.weight", .word = bits(NAN), .says = "output_norm.weight holds NaN"},
        {.tensor = "blk.0.attn_norm.weight", .word = bits(3e38f), .says = "although all weights are"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char path[64];
    snprintf(path, sizeof path, "bad-model-%d.gguf", (int)sizeof cases);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const change *c = &cases[i];
        asc_model *m = NULL;
        static const int32_t ids[] = {5, 6, 7};
        static float logits[320];
        write_changed(ctx, path, c);
        asc_error_clear(ctx);
        asc_status st = asc_model_open(ctx, path, NULL, &m);
        if (c->expect == ASC_OK) { /* only running it shows */
            assert_ok(ctx, st);
            st = asc_model_logits(m, ids, 3, 1, logits);
            assert_int_not_equal(st, ASC_OK);
        } else if (st != c->expect) {
            fail_msg("case %zu: %s: %s", i, asc_status_name(st), asc_error_message(ctx));
        }
        if (strstr(asc_error_message(ctx), c->says) == NULL || strstr(asc_error_message(ctx), path) == NULL ||
            asc_error_hint(ctx)[0] == '\0')
            fail_msg("case %zu (%s): '%s', hint '%s'", i, c->says, asc_error_message(ctx),
                     asc_error_hint(ctx));
        asc_model_close(m);
    }
    remove(path);
    test_ctx_end(ctx);
}

/* The remedy for an overflow in f32 is f64; whoever runs in f64 already must not be sent there. */
static void overflow_names_a_remedy_that_is_one(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    assert_int_equal(asc_model_explain_nan(m, "a logit"), ASC_OUT_OF_RANGE);
    assert_null(strstr(asc_error_hint(ctx), "--device reference"));
    assert_non_null(strstr(asc_error_message(ctx), "llama-q4_1"));
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A text may be long: a stop is heard while it is split, by either kind of tokenizer. */
static void a_stop_is_heard_while_splitting(void **state) {
    (void)state;
    const char *const models[] = {MODEL, "goldens/zoo_gguf/qwen3-q5_0/model.gguf"};
    for (size_t i = 0; i < 2; i++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_model *m = NULL;
        asc_token *t = NULL;
        size_t n = 0;
        char text[20000];
        memset(text, 'a', sizeof text);
        assert_ok(ctx, asc_model_open(ctx, test_data(models[i]), NULL, &m));
        asc_cancel(ctx);
        assert_int_equal(
            asc_tokenize(ctx, asc_model_tokenizer(m), asc_view_make(text, sizeof text), NULL, &t, &n),
            ASC_CANCELLED);
        assert_null(t);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_stop_is_heard_while_splitting),
                                       cmocka_unit_test(senseless_models_are_refused),
                                       cmocka_unit_test(overflow_names_a_remedy_that_is_one)};
    return cmocka_run_group_tests_name("bad_models", tests, NULL, NULL);
}
