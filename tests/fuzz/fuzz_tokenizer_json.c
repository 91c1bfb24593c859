/* fuzz_tokenizer_json.c - a tokenizer.json of any bytes, and if it can be opened, a text through it and back.
 * The text follows the last NUL byte of the input; without one it is fixed. */
#include "alloc.h"
#include "ctx.h"
#include "tokenizer_json.h"
#include "view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void use(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, bool special) {
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = special, .add_bos_eos = special};
    asc_token *t = NULL;
    asc_encoding e;
    size_t n = 0, at = 0, len = 0;
    char *back = NULL;
    if (asc_tokenize(ctx, tk, text, &o, &t, &n) != ASC_OK) return; /* no unknown token, limits of patterns */
    for (size_t i = 0; i < n; at = t[i++].end) {
        check(t[i].start == at && t[i].end >= at && asc_token_piece(tk, t[i].id).ptr != NULL);
        check(special || asc_token_get_type(tk, t[i].id) != ASC_TOKEN_CONTROL);
    }
    check(n == 0 || at == text.len);
    check(asc_encode(ctx, tk, text, special ? &text : NULL, &o, &e) == ASC_OK);
    check(special || e.n == n);
    for (size_t i = 0; i < e.n; i++) check(e.spans[i].end <= text.len && e.ids[i] >= 0);
    (void)!asc_detokenize(ctx, tk, e.ids, e.n, special, &back, &len);
    asc_tokens_free(ctx, back);
    asc_encoding_free(ctx, &e);
    asc_tokens_free(ctx, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_view json = {(const char *)data, size}, text = asc_view_of("a\xC3\xA9 B<s>x\xE4\xB8\xAD\xFF  1");
    const uint8_t *nul = size > 0 ? memrchr(data, 0, size) : NULL;
    if (nul != NULL) {
        json.len = (size_t)(nul - data);
        text = (asc_view){(const char *)nul + 1, size - json.len - 1};
    }
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    asc_tokenizer *tk = NULL;
    asc_status st = asc_tokenizer_from_json(ctx, json, "fuzz", &tk);
    check((st == ASC_OK) == (tk != NULL));
    if (st == ASC_OK) {
        use(ctx, tk, text, false);
        use(ctx, tk, text, true);
    } else {
        check(asc_error_message(ctx)[0] != '\0');
    }
    asc_tokenizer_destroy(tk);
    check(asc_memory(ctx).live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
