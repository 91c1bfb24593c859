/* wordpiece.h - WordPiece: the longest piece at every place of a word, from left to right; a word that cannot
 * be covered is one unknown token (Schuster and Nakajima, 2012; as BERT uses it). */
#ifndef ASC_WORDPIECE_H
#define ASC_WORDPIECE_H

#include "byte_trie.h"
#include "word_tokens.h"

/* Plain data that any file format fills; nothing of it is kept. */
typedef struct asc_wordpiece_spec {
    void *self;
    size_t n_tokens;
    asc_view (*token)(void *self, size_t i); /* called in order; an empty one is no piece */
    asc_view begin, inside; /* what pieces at the begin of a word and inside it have in front: "" and "##" */
    int32_t unk;            /* -1 = a word that cannot be covered is an error */
    size_t max_chars;       /* longer words are unknown */
} asc_wordpiece_spec;

typedef struct asc_wordpiece {
    asc_byte_trie trie;
    uint32_t begin, inside; /* nodes; 0 = no piece has this in front */
    int32_t unk;
    size_t max_chars;
} asc_wordpiece;

ASC_MUST_USE asc_status asc_wordpiece_init(asc_ctx *ctx, asc_wordpiece *w, const asc_wordpiece_spec *spec);
void asc_wordpiece_deinit(asc_ctx *ctx, asc_wordpiece *w);
/* Appends the tokens of a word. banned[id] (NULL = none) takes tokens out of the vocabulary. Errors:
 * FAILED_PRECONDITION (an unknown token is needed and there is none), RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_wordpiece_encode(asc_ctx *ctx, const asc_wordpiece *w, asc_view word,
                                             const bool *banned, asc_word_tokens *out);

#endif
