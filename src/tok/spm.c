/* spm.c - SentencePiece's BPE as files of model "llama" hold it: characters are joined, best score first, as
 * long as the joined text is a token; what is left over falls back to byte tokens, or to the unknown token.
 * A space is U+2581 in the file; pieces and text here have the plain space instead, and U+2581 in a text
 * becomes one. */
#include "merge_heap.h"
#include "tokenizer.h"

/* Maps a score to an unsigned number that is smaller the better the score is. */
static uint32_t score_order(float score) {
    uint32_t bits;
    score += 0.0F; /* -0 becomes 0: they are equal */
    memcpy(&bits, &score, sizeof bits);
    uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

static asc_view joined(const asc_merge_scratch *s, int32_t left) {
    const asc_symbol *a = &s->sym[left];
    size_t len = (size_t)a->len + (a->next >= 0 ? s->sym[a->next].len : 0);
    return (asc_view){s->bytes + a->off, len};
}

static asc_status propose(asc_ctx *ctx, const asc_tokenizer *tk, asc_merge_scratch *s, int32_t left) {
    if (left < 0 || s->sym[left].next < 0) return ASC_OK;
    asc_view v = joined(s, left);
    if (v.len > tk->pieces.max_len) return ASC_OK; /* keeps long runs linear */
    int32_t id = asc_pieces_find(&tk->pieces, v, ASC_PIECES_PLAIN);
    if (id < 0) return ASC_OK;
    return asc_heap_push(
        ctx, s,
        (asc_candidate){(uint64_t)score_order(tk->scores[id]) << 32 | (uint32_t)left, (uint32_t)v.len});
}

static asc_status merge_all(asc_ctx *ctx, const asc_tokenizer *tk, asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i + 1 < s->n_sym; i++) ASC_TRY(propose(ctx, tk, s, (int32_t)i));
    while (s->n_heap > 0) {
        asc_candidate c = asc_heap_pop(s);
        int32_t left = (int32_t)(uint32_t)c.key;
        asc_symbol *sym = &s->sym[left];
        if (sym->len == 0 || sym->next < 0 || joined(s, left).len != c.payload) continue;
        sym->len = c.payload;
        asc_symbol_unlink(s, sym->next);
        ASC_TRY(propose(ctx, tk, s, sym->prev));
        ASC_TRY(propose(ctx, tk, s, left));
    }
done:
    return st;
}

/* One symbol per character of text[part), as valid UTF-8 in s->bytes. */
static asc_status load_text(asc_ctx *ctx, asc_view text, asc_span part, bool space, asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    s->n_sym = s->n_heap = s->n_bytes = 0;
    if (space) {
        ASC_TRY(asc_scratch_bytes(ctx, s, " ", 1));
        ASC_TRY(asc_symbol_add(ctx, s, (asc_symbol){.start = (uint32_t)part.start, .off = 0, .len = 1}));
    }
    for (size_t i = part.start; i < part.end;) {
        uint32_t cp;
        bool valid;
        size_t n = asc_utf8_decode(text.ptr + i, part.end - i, &cp, &valid), off = s->n_bytes;
        if (!valid) {
            ASC_TRY(asc_scratch_bytes(ctx, s, "\xEF\xBF\xBD", 3));
        } else if (cp == 0x2581) {
            ASC_TRY(asc_scratch_bytes(ctx, s, " ", 1));
        } else {
            ASC_TRY(asc_scratch_bytes(ctx, s, text.ptr + i, n));
        }
        asc_symbol sym = {.start = (uint32_t)i, .off = (uint32_t)off, .len = (uint32_t)(s->n_bytes - off)};
        ASC_TRY(asc_symbol_add(ctx, s, sym));
        i += n;
    }
done:
    return st;
}

/* A character that is no token: its bytes, else one unknown token for a whole run of such characters. */
static asc_status fall_back(asc_ctx *ctx, const asc_tokenizer *tk, asc_view part, const asc_symbol *sym,
                            const char *bytes, asc_token_list *list, bool *in_unknown) {
    asc_status st = ASC_OK;
    bool have_all = true;
    for (uint32_t k = 0; k < sym->len; k++)
        have_all = have_all && tk->byte_id[(unsigned char)bytes[sym->off + k]] >= 0;
    if (!have_all) {
        /* A file may name a control token as the unknown one; text must not become that. */
        int32_t unk = asc_token_get_type(tk, tk->info.unk) == ASC_TOKEN_CONTROL ? -1 : tk->info.unk;
        if (unk >= 0 && !*in_unknown) ASC_TRY(asc_token_list_add(ctx, list, unk, sym->start));
        *in_unknown = true;
        return ASC_OK;
    }
    /* Bytes of the text have their own places; the later bytes of a U+FFFD for a bad byte lie behind it. */
    uint32_t cp;
    bool valid;
    size_t n = asc_utf8_decode(part.ptr + sym->start, part.len - sym->start, &cp, &valid);
    *in_unknown = false;
    for (uint32_t k = 0; k < sym->len; k++) {
        size_t at = valid ? sym->start + k : (k == 0 ? sym->start : sym->start + n);
        ASC_TRY(asc_token_list_add(ctx, list, tk->byte_id[(unsigned char)bytes[sym->off + k]], at));
    }
done:
    return st;
}

asc_status asc_spm_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, asc_span part, bool space,
                          asc_merge_scratch *s, asc_token_list *list) {
    asc_status st = ASC_OK;
    bool in_unknown = false;
    ASC_TRY(load_text(ctx, text, part, space, s));
    ASC_TRY(merge_all(ctx, tk, s));
    for (int32_t i = s->n_sym > 0 ? 0 : -1; i >= 0; i = s->sym[i].next) {
        const asc_symbol *sym = &s->sym[i];
        int32_t id =
            asc_pieces_find(&tk->pieces, (asc_view){s->bytes + sym->off, sym->len}, ASC_PIECES_PLAIN);
        if (id >= 0) {
            ASC_TRY(asc_token_list_add(ctx, list, id, sym->start));
            in_unknown = false;
        } else {
            ASC_TRY(fall_back(ctx, tk, (asc_view){text.ptr, part.end}, sym, s->bytes, list, &in_unknown));
        }
    }
done:
    return st;
}
