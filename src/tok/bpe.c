/* bpe.c - byte-level BPE: words, bytes, then merges by rank, the leftmost first among equals.
 * A byte without a token is left out before merging, as Hugging Face tokenizers does. */
#include "merge_heap.h"
#include "tokenizer.h"

asc_status asc_token_list_add(asc_ctx *ctx, asc_token_list *list, int32_t id, size_t start) {
    asc_status st =
        asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&list->v, &list->cap, list->n + 1, sizeof *list->v);
    if (st == ASC_OK && (list->n & ASC_TOK_POLL_MASK) == 0) st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    list->v[list->n++] = (asc_token){id, start, start};
    return ASC_OK;
}

/* Turns text[start, end) into one symbol per byte. */
static asc_status load_word(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, size_t start, size_t end,
                            asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    s->n_sym = s->n_heap = s->n_bytes = 0;
    for (size_t i = start; i < end;) {
        uint32_t cp;
        bool valid;
        size_t n = asc_utf8_decode(text.ptr + i, end - i, &cp, &valid);
        const char *from = valid ? text.ptr + i : "\xEF\xBF\xBD";
        size_t count = valid ? n : 3;
        ASC_TRY(asc_scratch_bytes(ctx, s, from, count));
        for (size_t k = 0; k < count; k++) {
            int32_t id = tk->byte_id[(unsigned char)from[k]];
            if (id < 0) continue;
            size_t at =
                valid ? i + k : (k == 0 ? i : i + n); /* the rest of a U+FFFD has no bytes of its own */
            ASC_TRY(asc_symbol_add(ctx, s, (asc_symbol){.id = id, .start = (uint32_t)at, .len = 1}));
        }
        i += n;
    }
done:
    return st;
}

static asc_status propose(asc_ctx *ctx, const asc_tokenizer *tk, asc_merge_scratch *s, int32_t left) {
    if (left < 0 || s->sym[left].next < 0) return ASC_OK;
    const asc_merge *m = asc_merge_table_find(&tk->merges, s->sym[left].id, s->sym[s->sym[left].next].id);
    if (m == NULL) return ASC_OK;
    return asc_heap_push(ctx, s,
                         (asc_candidate){(uint64_t)m->rank << 32 | (uint32_t)left, (uint32_t)m->result});
}

static asc_status merge_word(asc_ctx *ctx, const asc_tokenizer *tk, asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i + 1 < s->n_sym; i++) ASC_TRY(propose(ctx, tk, s, (int32_t)i));
    while (s->n_heap > 0) {
        asc_candidate c = asc_heap_pop(s);
        int32_t left = (int32_t)(uint32_t)c.key;
        asc_symbol *sym = &s->sym[left];
        if (sym->len == 0 || sym->next < 0) continue;
        const asc_merge *m = asc_merge_table_find(&tk->merges, sym->id, s->sym[sym->next].id);
        if (m == NULL || (uint32_t)m->result != c.payload) continue; /* a neighbour has changed since */
        sym->id = m->result;
        asc_symbol_unlink(s, sym->next);
        ASC_TRY(propose(ctx, tk, s, sym->prev));
        ASC_TRY(propose(ctx, tk, s, left));
    }
done:
    return st;
}

static asc_status encode_word(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, size_t start, size_t end,
                              asc_merge_scratch *s, asc_token_list *list) {
    asc_status st = ASC_OK;
    ASC_TRY(load_word(ctx, tk, text, start, end, s));
    if (tk->ignore_merges) {
        int32_t id = asc_pieces_find(&tk->pieces, (asc_view){s->bytes, s->n_bytes}, ASC_PIECES_PLAIN);
        if (id >= 0) return asc_token_list_add(ctx, list, id, start);
    }
    ASC_TRY(merge_word(ctx, tk, s));
    for (int32_t i = s->n_sym > 0 ? 0 : -1; i >= 0; i = s->sym[i].next) {
        ASC_TRY(asc_token_list_add(ctx, list, s->sym[i].id, s->sym[i].start));
    }
done:
    return st;
}

asc_status asc_bpe_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, asc_span part,
                          asc_merge_scratch *s, asc_token_list *list) {
    asc_status st = ASC_OK;
    asc_scan scan = {.text = text.ptr, .end = part.end};
    asc_cuts cuts = {.ctx = ctx};
    if (tk->pre->next == NULL) {
        ASC_TRY(asc_pretok_cut(ctx, &tk->patterns, text, part, &cuts));
        for (size_t i = 0; i < cuts.n; i++)
            ASC_TRY(encode_word(ctx, tk, text, cuts.v[i].start, cuts.v[i].end, s, list));
    } else {
        for (size_t pos = part.start, next; pos < part.end; pos = next) {
            next = tk->pre->next(&scan, pos);
            ASC_TRY(encode_word(ctx, tk, text, pos, next, s, list));
        }
    }
done:
    asc_free(ctx, cuts.v);
    return st;
}
