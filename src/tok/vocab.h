/* vocab.h - what a tokenizer is made of, as plain data that any file format can fill, and the constructor.
 * The callbacks are called with i = 0, 1, 2, ... in order, once per element; a returned view is used before
 * the next call. Nothing of the spec is kept: the tokenizer copies what it needs. */
#ifndef ASC_VOCAB_H
#define ASC_VOCAB_H

#include "ascribe/tokens.h"

typedef struct asc_vocab_spec {
    asc_view model;  /* tokenizer.ggml.model: "gpt2" or "llama"; {NULL,0} = key missing (an error) */
    asc_view pre;    /* tokenizer.ggml.pre; {NULL,0} = key missing */
    void *self;      /* handed to the callbacks */
    size_t n_tokens; /* 0 = key missing (an error) */
    asc_view (*token)(void *self, size_t i);
    size_t n_scores; /* 0 = key missing; else must equal n_tokens */
    float (*score)(void *self, size_t i);
    size_t n_types; /* 0 = key missing: all tokens are normal */
    int32_t (*type)(void *self, size_t i);
    bool has_merges; /* the key is there; gpt2 needs it */
    size_t n_merges;
    asc_view (*merge)(void *self, size_t i); /* "left right", both in the byte-level alphabet */
    int64_t bos, eos, eot, pad,
        unk; /* -1 = key missing; ids outside the vocabulary are ignored with a warning */
    int add_bos, add_eos, add_space_prefix; /* -1 = key missing, else 0 or 1 */
    int ignore_merges; /* a word that is a token as a whole is that token: -1 = as the pre-tokenizer says,
                          else 0 or 1 */
} asc_vocab_spec;

/* Named limits; a vocabulary beyond them is refused. */
enum {
    ASC_TOK_MAX_TOKENS = 1 << 24,
    ASC_TOK_MAX_MERGES = 1 << 26,
    ASC_TOK_MAX_PIECE = 1 << 16, /* bytes of one token */
    ASC_TOK_MAX_TEXT = 1 << 30   /* bytes of one text */
};

/* A spec with nothing in it: every optional field says "key missing". */
asc_vocab_spec asc_vocab_spec_empty(void);

/* Builds a tokenizer. Errors name the metadata key: UNIMPLEMENTED (model or pre-tokenizer of another kind),
 * INVALID_ARGUMENT (missing or contradictory data), RESOURCE_EXHAUSTED. End it with asc_tokenizer_destroy. */
ASC_MUST_USE asc_status asc_tokenizer_create(asc_ctx *ctx, const asc_vocab_spec *spec, asc_tokenizer **out);

#endif
