/* fuzz_detokenize.c - decode any ids. Byte 0 chooses the vocabulary; then two bytes an id, some out of range.
 */
#include "alloc.h"
#include "ctx.h"
#include "tiny_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tiny_vocab v;
    if (size < 1) return 0;
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    if (data[0] & 1) {
        tiny_spm(&v, (data[0] & 2) != 0, (data[0] & 4) == 0);
    } else {
        tiny_bpe(&v, "gpt-2", (data[0] & 2) != 0);
    }
    asc_tokenizer *tk = NULL;
    check(asc_tokenizer_create(ctx, &v.spec, &tk) == ASC_OK);
    size_t n = (size - 1) / 2, len = 0, pieces = 0;
    int32_t *ids = asc_alloc(ctx, ASC_MEM_GENERAL, n * sizeof *ids + 1);
    check(ids != NULL);
    bool valid = true;
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)data[1 + 2 * i] + (data[2 + 2 * i] & 3) * 256 - (data[2 + 2 * i] >> 7);
        valid = valid && ids[i] >= 0 && (size_t)ids[i] < v.spec.n_tokens;
        asc_view p = asc_token_piece(tk, ids[i]);
        pieces += p.len;
        if (p.len > 0) check(asc_token_find(tk, p) >= 0);
    }
    char *out = NULL;
    asc_status st = asc_detokenize(ctx, tk, ids, n, (data[0] & 8) != 0, &out, &len);
    check(st == (valid ? ASC_OK : ASC_OUT_OF_RANGE));
    check(!valid || (out != NULL && out[len] == '\0' && len <= pieces));
    asc_tokens_free(ctx, out);
    asc_free(ctx, ids);
    asc_tokenizer_destroy(tk);
    check(asc_memory(ctx).live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
