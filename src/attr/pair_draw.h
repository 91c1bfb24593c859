/* pair_draw.h - pairs of a set of features and its complement, drawn by size and never twice. */
#ifndef ASC_PAIR_DRAW_H
#define ASC_PAIR_DRAW_H

#include "game.h"

/* Sizes k and m - k are one stratum: number k - 1, for k = 1 .. m / 2. */
typedef struct asc_pairs {
    asc_ctx *ctx;
    size_t m, n_strata, n, most; /* pairs drawn, pairs there is room for */
    double *total, *weight;      /* [n_strata] pairs there are; kernel weight of all of them together */
    size_t *count;               /* [n_strata] pairs drawn */
    uint8_t *present;            /* [most, 2, m]: the set without the last feature, its complement */
    size_t *stratum;             /* [most] */
    uint64_t *seen;              /* open table of hashes, 0 = free */
    size_t n_seen, *order;       /* its size, a power of 2; [m] */
    uint64_t stream;             /* next stream of random numbers */
} asc_pairs;

/* Room for `most` pairs of features 2 .. m. */
ASC_MUST_USE asc_status asc_pairs_init(const asc_game *g, size_t most, asc_pairs *out);
/* Bytes of that room; SIZE_MAX when they are more. */
size_t asc_pairs_bytes(size_t m, size_t most);
void asc_pairs_deinit(asc_pairs *p);
/* Draws until there are n pairs, or all there are. A stratum gets its share of sets: sizes are equally
 * likely, which is near the best allocation on language models. CANCELLED. */
ASC_MUST_USE asc_status asc_pairs_draw(asc_pairs *p, const asc_game *g, size_t n);
/* Whether these are all there are: nothing is left to chance. */
bool asc_pairs_all(const asc_pairs *p);

#endif
