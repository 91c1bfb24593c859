/* detokenize.c - ids back to bytes, and questions about single tokens. */
#include "strbuf.h"
#include "tokenizer.h"

static bool valid_id(const asc_tokenizer *tk, int32_t id) { return id >= 0 && (size_t)id < tk->pieces.n; }

asc_view asc_token_piece(const asc_tokenizer *tk, int32_t id) {
    return valid_id(tk, id) ? asc_pieces_at(&tk->pieces, (size_t)id) : (asc_view){NULL, 0};
}

asc_token_type asc_token_get_type(const asc_tokenizer *tk, int32_t id) {
    return valid_id(tk, id) ? (asc_token_type)tk->pieces.type[id] : ASC_TOKEN_UNUSED;
}

int32_t asc_token_find(const asc_tokenizer *tk, asc_view piece) {
    unsigned plain = ASC_PIECES_PLAIN;
    int32_t id = asc_pieces_find(&tk->pieces, piece, (unsigned)ASC_PIECES_ALL & ~plain);
    if (id < 0) id = asc_pieces_find(&tk->pieces, piece, plain);
    if (id < 0 && piece.len == 1) id = tk->byte_id[(unsigned char)piece.ptr[0]];
    return id;
}

asc_view asc_token_name(const asc_tokenizer *tk, int32_t id) {
    return valid_id(tk, id) ? tk->kind->name(tk, id) : (asc_view){NULL, 0};
}

asc_status asc_vocab_decode(asc_ctx *ctx, const asc_tokenizer *tk, const int32_t *ids, size_t n, bool special,
                            asc_strbuf *out) {
    (void)ctx;
    bool begins = true; /* a text begins here: one space was put before it */
    for (size_t i = 0; i < n; i++) {
        asc_view piece = asc_pieces_at(&tk->pieces, (size_t)ids[i]);
        asc_token_type type = (asc_token_type)tk->pieces.type[ids[i]];
        if (type == ASC_TOKEN_CONTROL || type == ASC_TOKEN_UNKNOWN || type == ASC_TOKEN_USER_DEFINED) {
            if (special || type == ASC_TOKEN_USER_DEFINED) asc_strbuf_addv(out, piece);
            begins = type == ASC_TOKEN_CONTROL; /* the others are part of the text around them */
            continue;
        }
        if (begins && tk->info.add_space_prefix && piece.len > 0 && piece.ptr[0] == ' ') {
            piece.ptr++;
            piece.len--;
        }
        asc_strbuf_addv(out, piece);
        begins = false;
    }
    return asc_strbuf_status(out);
}

asc_status asc_detokenize(asc_ctx *ctx, const asc_tokenizer *tk, const int32_t *ids, size_t n, bool special,
                          char **out, size_t *out_len) {
    asc_strbuf b;
    *out = NULL;
    *out_len = 0;
    for (size_t i = 0; i < n; i++) {
        if (!valid_id(tk, ids[i])) {
            return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "token %zu is id %d; ids go from 0 to %zu", i, (int)ids[i],
                            tk->pieces.n - 1);
        }
    }
    asc_strbuf_init(&b, ctx);
    asc_strbuf_adds(&b, "");
    asc_status st = tk->kind->decode(ctx, tk, ids, n, special, &b);
    if (st == ASC_OK) st = asc_strbuf_status(&b);
    if (st == ASC_OK) {
        *out = asc_strbuf_take(&b, out_len);
        if (*out == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    asc_strbuf_deinit(&b);
    return st;
}
