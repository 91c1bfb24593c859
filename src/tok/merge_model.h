/* merge_model.h - byte pair encoding as tokenizer.json has it: a word is its characters (each with a prefix
 * or a suffix, where the model has these), joined by rank, the leftmost pair first among equals. */
#ifndef ASC_MERGE_MODEL_H
#define ASC_MERGE_MODEL_H

#include "piece_table.h"
#include "word_tokens.h"

typedef struct asc_merge_model {
    asc_merge_table merges;
    int32_t unk;        /* -1 = characters without a token are left out */
    bool fuse_unk;      /* unknown characters next to each other are one token */
    bool has_bytes;     /* or one for each of their bytes */
    bool ignore_merges; /* a word that is a token as a whole is that token */
    int32_t byte_id[256];
    char *prefix, *suffix; /* of every character but the first; of the last. Owned, "" for none */
    size_t prefix_len, suffix_len;
    int32_t quick[2048]; /* the token of a character below U+0800 by itself, -1 = none */
} asc_merge_model;

enum { ASC_MERGE_CACHE_SLOTS = 1 << 12, ASC_MERGE_CACHE_WORD = 24, ASC_MERGE_CACHE_TOKENS = 8 };
typedef struct asc_merge_cached {
    uint8_t len, n; /* len 0 = empty */
    char word[ASC_MERGE_CACHE_WORD];
    asc_word_token v[ASC_MERGE_CACHE_TOKENS];
} asc_merge_cached;
/* Memory of one call. */
typedef struct asc_word_merge_scratch {
    asc_merge_scratch heap;
    asc_merge_cached *cache; /* words already seen; NULL until the first long text */
    size_t words;
} asc_word_merge_scratch;

void asc_merge_model_deinit(asc_ctx *ctx, asc_merge_model *m);
void asc_word_merge_scratch_deinit(asc_ctx *ctx, asc_word_merge_scratch *s);
/* Appends the tokens of a word. banned[id] (NULL = none) takes tokens out of the vocabulary `names`. */
ASC_MUST_USE asc_status asc_merge_model_encode(asc_ctx *ctx, const asc_merge_model *m,
                                               const asc_pieces *names, asc_view word, const bool *banned,
                                               asc_word_merge_scratch *s, asc_word_tokens *out);

#endif
