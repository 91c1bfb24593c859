/* word_model.h - the third stage of a tokenizer file: tokens of one section ("model"). */
#ifndef ASC_WORD_MODEL_H
#define ASC_WORD_MODEL_H

#include "json.h"
#include "merge_model.h"
#include "unigram.h"
#include "wordpiece.h"

typedef enum asc_word_model_kind {
    ASC_MODEL_BPE,
    ASC_MODEL_WORDPIECE,
    ASC_MODEL_UNIGRAM,
    ASC_MODEL_WORDLEVEL
} asc_word_model_kind;

typedef struct asc_word_model {
    asc_word_model_kind kind;
    asc_pieces names; /* the vocabulary as the file writes it, by id; holes are empty and not listed */
    size_t n_entries; /* of the vocabulary: the number that ids of added tokens go on from */
    int32_t unk;
    bool byte_fallback;
    asc_merge_model bpe;
    asc_wordpiece wordpiece;
    asc_unigram unigram;
} asc_word_model;

typedef struct asc_word_scratch {
    asc_word_merge_scratch bpe;
    asc_unigram_scratch unigram;
} asc_word_scratch;

/* Vocabulary, scores and merges from elsewhere than the section, for files that are no JSON: writing hundreds
 * of thousands of strings and reading them again would take longer than all else. The callbacks are called
 * with i in ascending order; views stay as long as the call that they are handed to. */
typedef struct asc_word_lists {
    void *self;
    size_t n_tokens, n_merges;
    asc_view (*token)(void *self, size_t i); /* UTF-8 */
    double (*score)(void *self, size_t i);   /* of a unigram model */
    asc_view (*merge)(void *self, size_t i); /* "left right", of BPE */
} asc_word_lists;

/* Reads the "model" section; lists: NULL, or what stands for "vocab" and "merges". Errors: UNIMPLEMENTED (a
 * type that is not known), INVALID_ARGUMENT, RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_word_model_init(asc_ctx *ctx, asc_word_model *m, const asc_json *j,
                                            const asc_word_lists *lists);
void asc_word_model_deinit(asc_ctx *ctx, asc_word_model *m);
void asc_word_scratch_deinit(asc_ctx *ctx, asc_word_scratch *s);
/* The id of a token by its name, or -1. */
int32_t asc_word_model_find(const asc_word_model *m, asc_view name);
/* "bpe", "wordpiece", ... */
const char *asc_word_model_name(const asc_word_model *m);
ASC_MUST_USE asc_status asc_word_model_encode(asc_ctx *ctx, const asc_word_model *m, asc_view word,
                                              const bool *banned, asc_word_scratch *s, asc_word_tokens *out);

#endif
