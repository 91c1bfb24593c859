/* word_model.c - what the four kinds of models have in common. */
#include "word_model.h"

void asc_word_model_deinit(asc_ctx *ctx, asc_word_model *m) {
    asc_pieces_deinit(ctx, &m->names);
    asc_merge_model_deinit(ctx, &m->bpe);
    asc_wordpiece_deinit(ctx, &m->wordpiece);
    asc_unigram_deinit(ctx, &m->unigram);
    *m = (asc_word_model){0};
}

void asc_word_scratch_deinit(asc_ctx *ctx, asc_word_scratch *s) {
    asc_word_merge_scratch_deinit(ctx, &s->bpe);
    asc_unigram_scratch_deinit(ctx, &s->unigram);
}

int32_t asc_word_model_find(const asc_word_model *m, asc_view name) {
    if (m->kind == ASC_MODEL_UNIGRAM) return asc_byte_trie_find(&m->unigram.trie, name);
    return asc_pieces_find(&m->names, name, ASC_PIECES_ALL);
}

const char *asc_word_model_name(const asc_word_model *m) {
    static const char *const names[] = {"bpe", "wordpiece", "unigram", "wordlevel"};
    return names[m->kind];
}

static asc_status whole_word(asc_ctx *ctx, const asc_word_model *m, asc_view word, const bool *banned,
                             asc_word_tokens *out) {
    int32_t id = asc_pieces_find(&m->names, word, ASC_PIECES_ALL);
    if (id >= 0 && banned != NULL && banned[id]) id = -1;
    if (id < 0) id = m->unk;
    if (id < 0 && banned != NULL) return ASC_OK; /* there is nothing that is allowed */
    if (id < 0)
        return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                        "WordLevel: a word is not in the vocabulary, and neither is the unknown token");
    return asc_word_tokens_add(out, id, 0, word.len, 0);
}

asc_status asc_word_model_encode(asc_ctx *ctx, const asc_word_model *m, asc_view word, const bool *banned,
                                 asc_word_scratch *s, asc_word_tokens *out) {
    switch (m->kind) {
    case ASC_MODEL_BPE:
        return asc_merge_model_encode(ctx, &m->bpe, &m->names, word, banned, &s->bpe, out);
    case ASC_MODEL_WORDPIECE:
        return asc_wordpiece_encode(ctx, &m->wordpiece, word, banned, out);
    case ASC_MODEL_UNIGRAM:
        return asc_unigram_encode(ctx, &m->unigram, word, banned, &s->unigram, out);
    case ASC_MODEL_WORDLEVEL:
        break;
    }
    return whole_word(ctx, m, word, banned, out);
}
