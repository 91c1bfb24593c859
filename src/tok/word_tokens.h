/* word_tokens.h - what a model makes of one word: a list of ids with byte ranges in the word. */
#ifndef ASC_WORD_TOKENS_H
#define ASC_WORD_TOKENS_H

#include "merge_heap.h"
#include "view.h"

/* start and end are what the file's own program gives: a BPE model that knows nothing for a character leaves
 * it out and counts on, so that they may fall short of the truth; `at` is the true begin. */
typedef struct asc_word_token {
    int32_t id;
    uint32_t start, end, at;
} asc_word_token;
typedef struct asc_word_tokens {
    asc_ctx *ctx;
    asc_word_token *v;
    size_t n, cap;
} asc_word_tokens;

static inline asc_status asc_word_tokens_add(asc_word_tokens *t, int32_t id, size_t start, size_t end,
                                             size_t at) {
    asc_status st = asc_grow(t->ctx, ASC_MEM_TOKENIZER, (void **)&t->v, &t->cap, t->n + 1, sizeof *t->v);
    if (st == ASC_OK && (t->n & ASC_TOK_POLL_MASK) == 0) st = asc_poll_cancel(t->ctx);
    if (st == ASC_OK) t->v[t->n++] = (asc_word_token){id, (uint32_t)start, (uint32_t)end, (uint32_t)at};
    return st;
}

#endif
