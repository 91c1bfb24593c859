/* fuzz_vocab.c - build a tokenizer of whatever the bytes say, and use it if that works. Byte 0 holds flags;
 * then lines: "m LEFT RIGHT" a merge, "DIGIT TEXT" a token of that type; the text to encode follows a line
 * "=". */
#include "alloc.h"
#include "ctx.h"
#include "view.h"
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 512 };

typedef struct lines {
    asc_view token[MOST], merge[MOST];
    int32_t type[MOST];
    uint32_t noise; /* scores */
} lines;

static asc_view token_at(void *self, size_t i) { return ((lines *)self)->token[i]; }
static asc_view merge_at(void *self, size_t i) { return ((lines *)self)->merge[i]; }
static int32_t type_at(void *self, size_t i) { return ((lines *)self)->type[i]; }
static float score_at(void *self, size_t i) {
    lines *l = self;
    float f;
    uint32_t bits = l->noise * (uint32_t)(i + 1); /* infinities and NaN come up, too */
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void use(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, bool special) {
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = special, .add_bos_eos = special};
    asc_token *t = NULL;
    size_t n = 0, at = 0;
    check(asc_tokenize(ctx, tk, text, &o, &t, &n) == ASC_OK);
    for (size_t i = 0; i < n; at = t[i++].end) {
        check(t[i].start == at && t[i].end >= at && asc_token_piece(tk, t[i].id).ptr != NULL);
        bool control = asc_token_get_type(tk, t[i].id) == ASC_TOKEN_CONTROL;
        check(!control || special);
    }
    check(n == 0 || at == text.len);
    asc_tokens_free(ctx, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const pres[] = {"gpt-2", "deepseek-llm", "llama-bpe", "falcon"};
    static lines l;
    if (size < 2) return 0;
    asc_vocab_spec spec = asc_vocab_spec_empty();
    spec.self = &l;
    spec.token = token_at;
    spec.merge = merge_at;
    spec.type = type_at;
    spec.score = score_at;
    spec.model = asc_view_of((data[0] & 1) != 0 ? "llama" : "gpt2");
    spec.pre = asc_view_of(pres[(data[0] >> 1) & 3]);
    spec.has_merges = (data[0] & 8) == 0;
    spec.bos = spec.eos = (data[0] >> 4) & 3;
    spec.add_space_prefix = (data[0] & 64) != 0;
    spec.unk = (data[0] & 128) != 0 ? 0 : -1;
    l.noise = data[1] * 0x01020408u;
    asc_view rest = {(const char *)data + 2, size - 2};
    while (rest.len > 0) {
        const char *nl = memchr(rest.ptr, '\n', rest.len);
        asc_view line = {rest.ptr, nl != NULL ? (size_t)(nl - rest.ptr) : rest.len};
        size_t skip = line.len + (nl != NULL);
        rest = (asc_view){rest.ptr + skip, rest.len - skip};
        if (asc_view_eqs(line, "=")) break;
        if (line.len < 2) continue;
        asc_view body = {line.ptr + 2, line.len - 2};
        if (line.ptr[0] == 'm' && spec.n_merges < MOST) {
            l.merge[spec.n_merges++] = body;
        } else if (spec.n_tokens < MOST) {
            l.type[spec.n_tokens] = line.ptr[0] - '0';
            l.token[spec.n_tokens++] = body;
        }
    }
    spec.n_types = spec.n_scores = spec.n_tokens;
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    asc_tokenizer *tk = NULL;
    asc_status st = asc_tokenizer_create(ctx, &spec, &tk);
    check((st == ASC_OK) == (tk != NULL));
    if (st == ASC_OK) {
        use(ctx, tk, rest, false);
        use(ctx, tk, rest, true);
    } else {
        check(asc_error_message(ctx)[0] != '\0');
    }
    asc_tokenizer_destroy(tk);
    check(asc_memory(ctx).live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
