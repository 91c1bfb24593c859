/* tokenizer.h - the inside of a tokenizer: pieces, tables and what the two algorithms share. Only for
 * src/tok. */
#ifndef ASC_TOKENIZER_H
#define ASC_TOKENIZER_H

#include "alloc.h"
#include "piece_table.h"
#include "pretok.h"
#include "special_match.h"
#include "view.h"
#include "vocab.h"

struct asc_tokenizer {
    asc_ctx *ctx; /* where it was made; for its memory only */
    asc_tokenizer_info info;
    char *pre_name;         /* owned, behind info.pre */
    bool spm;               /* score-driven merging; otherwise byte-level BPE */
    bool ignore_merges;     /* BPE: look the whole word up first */
    const asc_pretok *pre;  /* BPE only */
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

struct asc_merge_scratch;

/* Tokens of text[start, end), appended to list. The text has no special tokens there. */
ASC_MUST_USE asc_status asc_bpe_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, asc_span part,
                                       struct asc_merge_scratch *scratch, asc_token_list *list);
/* The same; space: put a space before the part. */
ASC_MUST_USE asc_status asc_spm_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, asc_span part,
                                       bool space, struct asc_merge_scratch *scratch, asc_token_list *list);

#endif
