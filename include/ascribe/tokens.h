/* ascribe/tokens.h - text to token ids with byte ranges, and back.
 *
 * Guarantees: the ranges of the tokens of a text tile it (the first starts at 0, each next starts where the
 * one before ends, the last ends at the end), whatever bytes the text holds; decoding the tokens of a valid
 * UTF-8 text gives it back byte for byte, unless the vocabulary lacks a token for one of its bytes. A
 * tokenizer is immutable: many calls may use it, one context at a time.
 */
#ifndef ASCRIBE_TOKENS_H
#define ASCRIBE_TOKENS_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes [start, end) of a text. */
typedef struct asc_span {
    size_t start, end;
} asc_span;

/* One token: its id and the bytes [start, end) of the original text that it stands for. The range may be
 * empty (an added begin token, the space that a SentencePiece model puts before a text). */
typedef struct asc_token {
    int32_t id;
    size_t start, end;
} asc_token;

/* What a token is; the numbers are those of tokenizer.ggml.token_type. */
typedef enum asc_token_type {
    ASC_TOKEN_NORMAL = 1,
    ASC_TOKEN_UNKNOWN = 2,
    ASC_TOKEN_CONTROL = 3,      /* "<|im_end|>": structure, never made of ordinary text */
    ASC_TOKEN_USER_DEFINED = 4, /* added by the model's makers, matched before anything else */
    ASC_TOKEN_UNUSED = 5,
    ASC_TOKEN_BYTE = 6 /* "<0x0A>": one byte of a character without a token of its own */
} asc_token_type;

/* Facts about a tokenizer. Ids are -1 where the model has none. The strings live as long as the tokenizer. */
typedef struct asc_tokenizer_info {
    /* GGUF: "gpt2" (byte-level BPE) or "llama" (SentencePiece); tokenizer.json: "bpe", "wordpiece",
     * "unigram", "wordlevel"; "ids" when there is none: no texts, only ids. */
    const char *model;
    const char *pre; /* name of the pre-tokenizer in the file, "" for none */
    size_t n_vocab;  /* ids are 0 .. n_vocab - 1 */
    int32_t bos, eos, eot, pad, unk;
    bool add_bos, add_eos;  /* the model expects its begin or end token around a text */
    bool add_space_prefix;  /* a space is put before a text (and taken off again when decoding) */
    int32_t mask, cls, sep; /* encoders: the masked token, and those around a text */
} asc_tokenizer_info;

typedef struct asc_tokenizer asc_tokenizer;

ASC_API void asc_tokenizer_destroy(asc_tokenizer *tk); /* NULL is accepted */
ASC_API asc_tokenizer_info asc_tokenizer_get_info(const asc_tokenizer *tk);

/* Options of asc_tokenize; zero-initialise, then set struct_size = sizeof(asc_tokenize_options). */
typedef struct asc_tokenize_options {
    size_t struct_size;
    /* false: "<|im_end|>" in the text is ordinary text. true: control tokens written in the text are that
     * token. */
    bool parse_special;
    /* Put the begin and end token around the text where the model's add_bos and add_eos say so. */
    bool add_bos_eos;
    /* Byte ranges, ascending and disjoint, in which no part of a special token may lie: text by others, such
     * as the messages inside a rendered chat template. */
    const asc_span *plain;
    size_t n_plain;
    /* The text goes on where another ended: no space is put before it, whatever add_space_prefix says. */
    bool continues;
} asc_tokenize_options;

/* Splits text into tokens. opts NULL = all defaults. Bytes that are not UTF-8 count as U+FFFD, one for each
 * maximal bad subpart; bytes for which the vocabulary has nothing get no token but lie in the range of a
 * neighbour. Time O(n log n) for any text. *out (NULL when there are none) is freed with asc_tokens_free,
 * before the context ends. Errors: INVALID_ARGUMENT (plain spans not ascending or outside the text),
 * RESOURCE_EXHAUSTED. */
ASC_API ASC_MUST_USE asc_status asc_tokenize(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                                             const asc_tokenize_options *opts, asc_token **out,
                                             size_t *out_n);
ASC_API void asc_tokens_free(asc_ctx *ctx, void *tokens_or_text); /* NULL is accepted */

/* All that is known of the tokens of a text or a pair of texts. */
typedef struct asc_encoding {
    size_t n;
    int32_t *ids;
    /* Bytes of the token's own text, in whole characters; several tokens of one character all have its range,
     * and what the tokenizer drops is in none. {0, 0} for tokens that the template puts there. */
    asc_span *spans;
    uint8_t *special;  /* 1 = put there by the template */
    int32_t *type_ids; /* token types of an encoder */
    int8_t *sequence;  /* 0 = of the first text, 1 = of the second, -1 = of neither */
    asc_view *names;   /* the tokens as the file writes them ("##ing"); they live as long as the encoding */
    char *text;        /* memory of names */
} asc_encoding;

/* Encodes a text, or with b not NULL a pair, as a tokenizer.json says; special tokens around the texts where
 * opts.add_bos_eos asks for them. Truncation and padding, which such a file may ask for, are not applied.
 * What is not UTF-8 counts as U+FFFD, one for each maximal bad subpart. Errors: those of asc_tokenize,
 * UNIMPLEMENTED (a pair, but the vocabulary has no form for one), FAILED_PRECONDITION (a text without tokens
 * in a vocabulary without an unknown token). *out is all zero on failure, else freed by asc_encoding_free,
 * before the context ends. */
ASC_API ASC_MUST_USE asc_status asc_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view a,
                                           const asc_view *b, const asc_tokenize_options *opts,
                                           asc_encoding *out);
ASC_API void asc_encoding_free(asc_ctx *ctx, asc_encoding *e);

/* Opens the tokenizer.json of Hugging Face at `path`: the file itself or the folder it is in, whose
 * tokenizer_config.json then says which token begins and ends a text. End it with asc_tokenizer_destroy.
 * Errors name the file and the section: NOT_FOUND, INVALID_ARGUMENT, UNIMPLEMENTED (a component that is not
 * known, by name), RESOURCE_EXHAUSTED. */
ASC_API ASC_MUST_USE asc_status asc_tokenizer_open(asc_ctx *ctx, const char *path, asc_tokenizer **out);

/* The bytes that a token stands for ("\xC2" for half a character, " Paris" with its space, "<|im_end|>");
 * lives as long as the tokenizer. {NULL, 0} for an id that does not exist. */
ASC_API asc_view asc_token_piece(const asc_tokenizer *tk, int32_t id);
/* A token as its file writes it ("\xC4\xA0Paris", "##ing"), where asc_token_piece gives its bytes. */
ASC_API asc_view asc_token_name(const asc_tokenizer *tk, int32_t id);
/* ASC_TOKEN_UNUSED for an id that does not exist. */
ASC_API asc_token_type asc_token_get_type(const asc_tokenizer *tk, int32_t id);
/* The id of the token that stands for exactly these bytes, or -1. Control tokens are found too and come
 * first. */
ASC_API int32_t asc_token_find(const asc_tokenizer *tk, asc_view piece);

/* The text of n ids as bytes: NUL-terminated, length in *out_len, freed with asc_tokens_free. special false
 * leaves control and unknown tokens out. Models with add_space_prefix lose the space they put in front, so
 * for the middle of a sequence join asc_token_piece instead. Errors: OUT_OF_RANGE (no such id; the message
 * gives its place). */
ASC_API ASC_MUST_USE asc_status asc_detokenize(asc_ctx *ctx, const asc_tokenizer *tk, const int32_t *ids,
                                               size_t n, bool special, char **out, size_t *out_len);

#ifdef __cplusplus
}
#endif
#endif
