/* tokenizer.h - the inside of a tokenizer: pieces, tables and what the two algorithms share. Only for
 * src/tok. */
#ifndef ASC_TOKENIZER_H
#define ASC_TOKENIZER_H

#include "alloc.h"
#include "piece_table.h"
#include "pretok.h"
#include "special_match.h"
#include "strbuf.h"
#include "view.h"
#include "vocab.h"

struct asc_token_list;

/* How a tokenizer works inside: one of these for each kind of source. Arguments have been checked. */
typedef struct asc_tokenizer_kind {
    /* The tokens of a text; their ranges tile it (ascribe/tokens.h). */
    asc_status (*tokenize)(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                           const asc_tokenize_options *o, struct asc_token_list *list);
    /* Appends the text of ids, which exist. */
    asc_status (*decode)(asc_ctx *ctx, const asc_tokenizer *tk, const int32_t *ids, size_t n, bool special,
                         asc_strbuf *out);
    /* One text or (b not NULL) a pair, with all that is known of each token. */
    asc_status (*encode)(asc_ctx *ctx, const asc_tokenizer *tk, asc_view a, const asc_view *b,
                         const asc_tokenize_options *o, asc_encoding *out);
    asc_view (*name)(const asc_tokenizer *tk, int32_t id); /* as the file writes it; the id exists */
    void (*destroy)(asc_tokenizer *tk);                    /* what only this kind has */
} asc_tokenizer_kind;

/* Vocabularies of vocab.h: GGUF files. */
extern const asc_tokenizer_kind asc_vocab_kind;

struct asc_tokenizer {
    asc_ctx *ctx; /* where it was made; for its memory only */
    const asc_tokenizer_kind *kind;
    struct asc_json_tokenizer *json; /* the stages of a tokenizer.json; NULL for other kinds */
    asc_tokenizer_info info;
    char *pre_name;         /* owned, behind info.pre */
    bool spm;               /* score-driven merging; otherwise byte-level BPE */
    bool ignore_merges;     /* BPE: look the whole word up first */
    const asc_pretok *pre;  /* BPE only */
    asc_pretok_patterns patterns;
    asc_pieces pieces;      /* decoded bytes and types of all tokens, and the table from bytes to id */
    float *scores;          /* SPM only, one per token */
    int32_t byte_id[256];   /* the token of a single byte; -1 = none */
    asc_merge_table merges; /* BPE only */
    asc_special_set specials;
    const char *no_text; /* why texts cannot be read (tokenizer_ids.h); NULL = they can */
};

/* Tokens of one call, growing. `start` of every token is set by the algorithms, `end` by asc_tokenize. */
typedef struct asc_token_list {
    asc_token *v;
    size_t n, cap;
} asc_token_list;

ASC_MUST_USE asc_status asc_token_list_add(asc_ctx *ctx, asc_token_list *list, int32_t id, size_t start);

asc_status asc_vocab_decode(asc_ctx *ctx, const asc_tokenizer *tk, const int32_t *ids, size_t n, bool special,
                            asc_strbuf *out);
/* Memory of an encoding of n tokens; text_bytes is for the strings of the tokens. */
ASC_MUST_USE asc_status asc_encoding_alloc(asc_ctx *ctx, size_t n, size_t text_bytes, asc_encoding *e);

struct asc_merge_scratch;

/* Tokens of text[start, end), appended to list. The text has no special tokens there. */
ASC_MUST_USE asc_status asc_bpe_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, asc_span part,
                                       struct asc_merge_scratch *scratch, asc_token_list *list);
/* The same; space: put a space before the part. */
ASC_MUST_USE asc_status asc_spm_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, asc_span part,
                                       bool space, struct asc_merge_scratch *scratch, asc_token_list *list);

#endif
