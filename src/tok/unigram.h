/* unigram.h - the unigram language model: the cut of a word into pieces with the largest sum of scores, found
 * by the Viterbi algorithm (Kudo, 2018, "Subword Regularization"). */
#ifndef ASC_UNIGRAM_H
#define ASC_UNIGRAM_H

#include "byte_trie.h"
#include "word_tokens.h"

/* Plain data that any file format fills; nothing of it is kept. */
typedef struct asc_unigram_spec {
    void *self;
    size_t n_tokens;
    asc_view (*token)(void *self, size_t i); /* called in order; an empty one is no piece */
    double (*score)(void *self, size_t i);
    /* NULL = all tokens: does text become this token, and does its score count for that of unknown text? */
    bool (*usable)(void *self, size_t i);
    int32_t unk; /* -1 = text without pieces is an error */
    const int32_t
        *byte_id; /* [256] tokens of single bytes for what is unknown, NULL = none; -1 = not that one */
} asc_unigram_spec;

typedef struct asc_unigram {
    asc_byte_trie trie;
    double *scores;
    double unk_score; /* of one unknown character: the least score less 10 */
    int32_t unk;
    bool has_bytes;
    int32_t byte_id[256];
} asc_unigram;

typedef struct asc_unigram_node {
    double score;  /* of the best path that ends here */
    uint32_t from; /* where its last piece begins */
    uint32_t to;   /* on the best path of all: where the piece that begins here ends */
    int32_t id;    /* the last piece, -1 = nothing ends here yet */
} asc_unigram_node;
/* Memory of one call. */
typedef struct asc_unigram_scratch {
    asc_unigram_node *best;
    size_t cap;
} asc_unigram_scratch;

ASC_MUST_USE asc_status asc_unigram_init(asc_ctx *ctx, asc_unigram *u, const asc_unigram_spec *spec);
void asc_unigram_deinit(asc_ctx *ctx, asc_unigram *u);
void asc_unigram_scratch_deinit(asc_ctx *ctx, asc_unigram_scratch *s);
/* Appends the tokens of a word (any text). banned[id] (NULL = none) takes tokens out of the vocabulary.
 * Unknown characters next to each other are one token, or one for each of their bytes, which then all have
 * the whole range; with `banned` and no unknown token they are left out. Errors as asc_wordpiece_encode. */
ASC_MUST_USE asc_status asc_unigram_encode(asc_ctx *ctx, const asc_unigram *u, asc_view word,
                                           const bool *banned, asc_unigram_scratch *s, asc_word_tokens *out);

#endif
