/* wordpiece.c - see wordpiece.h. */
#include "wordpiece.h"

asc_status asc_wordpiece_init(asc_ctx *ctx, asc_wordpiece *w, const asc_wordpiece_spec *spec) {
    asc_status st = ASC_OK;
    *w = (asc_wordpiece){.unk = spec->unk, .max_chars = spec->max_chars};
    ASC_TRY(asc_byte_trie_init(ctx, &w->trie));
    for (size_t i = 0; i < spec->n_tokens; i++) {
        asc_view t = spec->token(spec->self, i);
        if (t.len > 0) ASC_TRY(asc_byte_trie_put(ctx, &w->trie, t, (int32_t)i));
    }
    w->begin = asc_byte_trie_walk(&w->trie, ASC_TRIE_ROOT, spec->begin);
    w->inside = asc_byte_trie_walk(&w->trie, ASC_TRIE_ROOT, spec->inside);
done:
    return st;
}

void asc_wordpiece_deinit(asc_ctx *ctx, asc_wordpiece *w) { asc_byte_trie_deinit(ctx, &w->trie); }

asc_status asc_wordpiece_encode(asc_ctx *ctx, const asc_wordpiece *w, asc_view word, const bool *banned,
                                asc_word_tokens *out) {
    asc_status st = ASC_OK;
    size_t chars = 0, first = out->n;
    for (size_t i = 0; i < word.len; i++) chars += ((unsigned char)word.ptr[i] & 0xC0) != 0x80;
    bool known = chars <= w->max_chars;
    for (size_t pos = 0, end; known && pos < word.len; pos = end) {
        uint32_t node = pos == 0 ? w->begin : w->inside;
        int32_t id = -1;
        end = pos;
        for (size_t i = pos; i < word.len && node != 0;) {
            node = asc_byte_trie_step(&w->trie, node, (unsigned char)word.ptr[i++]);
            if (node == 0 || w->trie.value[node] < 0) continue;
            if (banned != NULL && banned[w->trie.value[node]]) continue;
            id = w->trie.value[node];
            end = i;
        }
        known = id >= 0;
        if (known) ASC_TRY(asc_word_tokens_add(out, id, pos, end, pos));
    }
    if (known) return ASC_OK;
    out->n = first;
    if (w->unk < 0 && banned != NULL) return ASC_OK; /* there is nothing that is allowed */
    if (w->unk < 0) {
        return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                        "WordPiece: a word has no pieces, and the vocabulary has no unknown token");
    }
    st = asc_word_tokens_add(out, w->unk, 0, word.len, 0);
done:
    return st;
}
