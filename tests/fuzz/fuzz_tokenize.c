/* fuzz_tokenize.c - encode any bytes. Byte 0 chooses vocabulary and flags, byte 1 a plain span, the rest is
 * text. */
#include "alloc.h"
#include "ctx.h"
#include "tiny_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void make_spec(tiny_vocab *v, unsigned choice) {
    static const char *const pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"};
    if (choice < 4) {
        tiny_bpe(v, pres[choice], choice % 2 != 0);
    } else {
        tiny_spm(v, choice % 2 != 0, choice < 6);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tiny_vocab v;
    if (size < 2) return 0;
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    make_spec(&v, data[0] & 7u);
    asc_tokenizer *tk = NULL;
    check(asc_tokenizer_create(ctx, &v.spec, &tk) == ASC_OK);
    asc_view text = {(const char *)data + 2, size - 2};
    size_t from = data[1] < text.len ? data[1] : text.len;
    asc_span plain = {from, from + (text.len - from) / 2};
    asc_tokenize_options o = {.struct_size = sizeof o,
                              .parse_special = (data[0] & 8) != 0,
                              .add_bos_eos = (data[0] & 16) != 0,
                              .plain = &plain,
                              .n_plain = (data[0] & 32) != 0};
    asc_token *t = NULL;
    size_t n = 0, at = 0, len = 0;
    check(asc_tokenize(ctx, tk, text, &o, &t, &n) == ASC_OK);
    int32_t *ids = asc_alloc(ctx, ASC_MEM_GENERAL, n * sizeof *ids + 1);
    check(ids != NULL);
    for (size_t i = 0; i < n; at = t[i++].end) {
        check(t[i].start == at && t[i].end >= at && t[i].id >= 0 && (size_t)t[i].id < v.spec.n_tokens);
        bool control = asc_token_get_type(tk, t[i].id) == ASC_TOKEN_CONTROL && t[i].end > t[i].start;
        check(!control || o.parse_special);
        check(!control || o.n_plain == 0 || plain.start == plain.end || t[i].end <= plain.start ||
              t[i].end > plain.end); /* vanished bytes before a control token may lie in its range */
        ids[i] = t[i].id;
    }
    check(n == 0 || at == text.len);
    char *back = NULL;
    check(asc_detokenize(ctx, tk, ids, n, true, &back, &len) == ASC_OK);
    asc_tokens_free(ctx, back);
    asc_free(ctx, ids);
    asc_tokens_free(ctx, t);
    asc_tokenizer_destroy(tk);
    check(asc_memory(ctx).live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
