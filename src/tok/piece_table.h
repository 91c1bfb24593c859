/* piece_table.h - the pieces of a vocabulary with a hash table from bytes to id, and the table of BPE merges.
 * Both tables use open addressing with linear probing, at most 3/4 full, sized once. */
#ifndef ASC_PIECE_TABLE_H
#define ASC_PIECE_TABLE_H

#include "alloc.h"
#include "ascribe/tokens.h"

typedef struct asc_piece_slot {
    uint32_t id1;  /* id + 1; 0 = empty */
    uint32_t hash; /* upper half of the hash, so that most mismatches never touch the bytes */
} asc_piece_slot;

typedef struct asc_pieces {
    size_t n;
    char *bytes; /* all pieces one after another */
    size_t bytes_len, bytes_cap;
    uint32_t *offset; /* n + 1 */
    uint8_t *type;    /* n, asc_token_type */
    asc_piece_slot *slots;
    size_t mask;    /* number of slots - 1 */
    size_t max_len; /* of the pieces in the table */
    int32_t twin, twin_of; /* the first piece whose bytes an earlier one has, and that one; twin 0 = none */
} asc_pieces;

#define ASC_PIECE_MASK(type) (1u << (type))
enum {
    /* what ordinary text can become */
    ASC_PIECES_PLAIN = 1u << ASC_TOKEN_NORMAL | 1u << ASC_TOKEN_USER_DEFINED | 1u << ASC_TOKEN_UNUSED,
    ASC_PIECES_ALL = 0x7F
};

ASC_MUST_USE asc_status asc_pieces_init(asc_ctx *ctx, asc_pieces *p, size_t n_tokens);
void asc_pieces_deinit(asc_ctx *ctx, asc_pieces *p);
/* Appends the next token's bytes; the caller has made room in `bytes` with asc_pieces_reserve. */
ASC_MUST_USE asc_status asc_pieces_reserve(asc_ctx *ctx, asc_pieces *p, size_t more);
/* Closes piece p->n, whose `len` bytes were written at bytes + bytes_len. listed: it can be found by its
 * bytes; of two equal pieces of one type the first is found. */
void asc_pieces_push(asc_pieces *p, size_t len, asc_token_type type, bool listed);
static inline asc_view asc_pieces_at(const asc_pieces *p, size_t id) {
    return (asc_view){p->bytes + p->offset[id], p->offset[id + 1] - p->offset[id]};
}
/* Id of the piece with these bytes whose type is in the set of ASC_PIECE_MASKs, or -1. */
int32_t asc_pieces_find(const asc_pieces *p, asc_view bytes, unsigned types);

typedef struct asc_merge {
    int32_t left, right; /* left -1 = empty */
    uint32_t rank;
    int32_t result;
} asc_merge;

typedef struct asc_merge_table {
    asc_merge *slots;
    size_t mask;
} asc_merge_table;

ASC_MUST_USE asc_status asc_merge_table_init(asc_ctx *ctx, asc_merge_table *t, size_t n_merges);
void asc_merge_table_deinit(asc_ctx *ctx, asc_merge_table *t);
bool asc_merge_table_add(asc_merge_table *t, asc_merge m); /* the first of equal pairs stays: then false */
void asc_merge_table_set(asc_merge_table *t, asc_merge m); /* the last of equal pairs stays */
const asc_merge *asc_merge_table_find(const asc_merge_table *t, int32_t left, int32_t right); /* or NULL */

#endif
