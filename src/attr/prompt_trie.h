/* prompt_trie.h - many token sequences as a trie, cut into passes: what several begin with is run once.
 *
 * Sequences are sorted, so that their new tokens, one sequence after the other, are the trie's in depth-first
 * order. A pass is a stretch of these tokens. What it needs of earlier passes are keys and values of the
 * tokens in front of its first one: a single sequence's at most (the store, at place = depth), however many
 * sequences there are. Only numbers here: trie_pass.h makes ops of a pass. */
#ifndef ASC_PROMPT_TRIE_H
#define ASC_PROMPT_TRIE_H

#include "alloc.h"

/* One sequence: a prompt's tokens, then those of an answer but the last; what is asked is how likely answer
 * tokens first .. n_answer - 1 are. Borrowed. */
typedef struct asc_trie_row {
    const int32_t *ids, *positions; /* [n]; positions ascend */
    size_t n;
    int32_t next; /* position of the answer's first token */
    const int32_t *answer;
    size_t n_answer, first;
    size_t out;    /* place of the first number; the others follow */
    size_t shared; /* made: tokens that the sequence before it in order begins with too */
} asc_trie_row;

/* A number that is asked for: of token `id` behind token `at` of row `row`, the first row that has it. */
typedef struct asc_trie_take {
    size_t row, at, out;
    int32_t id;
} asc_trie_take;

typedef struct asc_trie {
    asc_ctx *ctx;
    asc_trie_row *rows;
    asc_trie_take *takes; /* by row and at */
    size_t n_rows, n_takes;
    size_t longest;           /* tokens of the longest sequence */
    size_t n_tokens, n_plain; /* of the trie; of all sequences */
} asc_trie;

/* Sorts the rows, which stay the caller's. RESOURCE_EXHAUSTED. To be ended with asc_trie_deinit in any case.
 */
ASC_MUST_USE asc_status asc_trie_init(asc_trie *t, asc_ctx *ctx, asc_trie_row *rows, size_t n);
void asc_trie_deinit(asc_trie *t);

/* One pass. Keys 0 .. past - 1 are the store's, the n tokens' own follow. */
typedef struct asc_trie_pass {
    size_t n, past;
    size_t tail;                     /* numbers are taken behind the last `tail` tokens only */
    int32_t *ids, *positions;        /* [n] */
    int32_t *parent, *key_positions; /* [past + n], as asc_sdpa_tree wants them */
    struct {
        size_t row, out; /* row of the tail */
        int32_t id;
        size_t layer; /* which of the numbers behind one token */
    } * takes;
    size_t n_takes, n_layers;     /* layers: most numbers behind one token */
    int32_t *keep_from, *keep_to; /* tokens whose keys and values are needed later, and their places */
    size_t n_keep;
    size_t n_ended; /* sequences that end here */
    double pairs;   /* of a query and a key it sees */
} asc_trie_pass;

/* Goes through a trie, up to `most` tokens a pass. */
typedef struct asc_trie_walk {
    const asc_trie *trie;
    size_t most, past; /* past: places of the store */
    bool store;        /* otherwise every pass runs its sequences from their start */
    size_t tail;       /* the longest; shorter ones become it or a few quarters of it. 0: unknown */
    size_t row, at, take, cap_takes;
    int32_t *where;                 /* by depth: token of this pass, or -1 = in the store */
    int32_t *id, *pos, *up, *place; /* of the tokens in the order of the walk */
    bool *late;                     /* belongs to the tail */
    asc_trie_pass pass;
} asc_trie_walk;

/* past, tail: what asc_trie_look found for the same arguments. Without a store `most` must be at least the
 * trie's longest. To be ended with asc_trie_walk_deinit in any case. */
ASC_MUST_USE asc_status asc_trie_walk_init(asc_trie_walk *w, const asc_trie *t, size_t most, bool store,
                                           size_t past, size_t tail);
/* Makes w->pass the next one; *more is false when there is none. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_trie_walk_next(asc_trie_walk *w, bool *more);
void asc_trie_walk_deinit(asc_trie_walk *w);

/* What passes of up to `most` tokens come to. */
typedef struct asc_trie_survey {
    size_t passes, tokens, tails;   /* tails: of passes with numbers */
    size_t n, tail, n_layers, past; /* the largest of a pass; past: places of the store */
    size_t ended;                   /* most sequences that end in one pass */
    size_t shapes;                  /* different kinds of passes: programs */
    double pairs, most_pairs;       /* in all; of one pass */
} asc_trie_survey;
ASC_MUST_USE asc_status asc_trie_look(const asc_trie *t, size_t most, bool store, asc_trie_survey *out);

#endif
