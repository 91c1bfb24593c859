/* added_tokens.h - tokens that are found in a text before the model sees it: some in the raw text, the others
 * ("normalized") in what the normaliser made of it. */
#ifndef ASC_ADDED_TOKENS_H
#define ASC_ADDED_TOKENS_H

#include "normalizer.h"
#include "special_match.h"
#include "splitter.h"
#include "word_model.h"

typedef struct asc_added_token {
    char *content; /* owned */
    size_t len;
    char *shown; /* owned: what it is called: the content, normalised if the text is searched for that */
    size_t shown_len;
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
} asc_added_token;

/* What is looked for in one go: entry i is token number which[i]. */
typedef struct asc_added_set {
    asc_pieces contents;
    asc_special_set set;
    size_t *which;
} asc_added_set;

typedef struct asc_added {
    asc_added_token *v; /* in the order of the file */
    size_t n, cap;
    asc_pieces contents; /* the same, to be found */
    asc_added_set raw, normalized;
    int32_t max_id; /* -1 = there are none */
} asc_added;

/* What may be found. */
typedef struct asc_added_filter {
    bool special;          /* special tokens, too */
    const asc_span *plain; /* but none that touches these ranges of the original */
    size_t n_plain;
} asc_added_filter;

/* Reads "added_tokens". A token that the model has keeps that id; the others get the ids behind the model's
 * in the order of the file, as the program that wrote it numbers them (the file's own numbers are only
 * checked). */
ASC_MUST_USE asc_status asc_added_init(asc_ctx *ctx, asc_added *a, const asc_json *list,
                                       const asc_word_model *m, const asc_normalizer *n);
/* The token with this content, or NULL. */
asc_added_token *asc_added_find(const asc_added *a, asc_view content);
void asc_added_deinit(asc_ctx *ctx, asc_added *a);
/* Cuts text[start, end) at the tokens of a set and appends the sections. */
ASC_MUST_USE asc_status asc_added_cut(asc_ctx *ctx, const asc_added *a, const asc_added_set *set,
                                      const asc_aligned *text, size_t start, size_t end,
                                      const asc_added_filter *filter, asc_sections *out);

#endif
