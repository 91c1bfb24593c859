/* bf16.h - matrix products made of bf16 products: what the files bf16_* share.
 *
 * An f32 number is cut into pieces x = h + m + l, each the bf16 (8 significant bits) next to what is left;
 * the product of two numbers becomes the products of some of their pieces (asc_precision), summed in f32 the
 * way the tile instruction TDPBF16PS does it (Intel SDM, volume 2): over 32 values of k at a time, two sums
 * of fused multiply-adds from zero, even and odd, are added to each other and then to the result; denormal
 * inputs count as 0, denormal results become 0. bf16_block_amx.c uses the instruction; the other bf16_block
 * files give the same bits with other ones.
 *
 * A tile is 16 rows of 16 pairs of bf16, 1 KiB. Pair p of a block of 32 values of k holds k = p and p + 16:
 * any order will do if both sides agree, and this one takes no shuffling. Left tiles have a row per row of a,
 * right tiles a row per pair and a column per column of W. */
#ifndef ASC_BF16_H
#define ASC_BF16_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ASC_BF16_K = 32,     /* values of k in a tile */
    ASC_BF16_TILE = 512, /* bf16 in a tile */
    ASC_BF16_SIDE = 32   /* rows and columns of a block: two tiles each way */
};

/* Which products are made. Small ones come first, in an order in which one side keeps its tiles. The last two
 * are those of six that are left where weights have no more than two pieces, or one. */
typedef enum asc_bf16_scheme {
    ASC_BF16_1,      /* hh */
    ASC_BF16_3,      /* hm mh hh */
    ASC_BF16_6,      /* hl hm mm mh lh hh */
    ASC_BF16_3_BY_2, /* hm mm mh lh hh */
    ASC_BF16_3_BY_1, /* mh lh hh */
    ASC_N_BF16_SCHEMES
} asc_bf16_scheme;

/* 32 x 32 results of `blocks` blocks of k: c[r * 32 + n]. First all small products, then hh, so that the sum
 * is rounded at its full size once for 32 values of k. The tile of piece i of block q is at a + (q * pieces +
 * i) tiles, that of the second 16 rows (if two_rows) a_step elements behind; b alike, with its own pieces.
 * What is not asked for (second rows or columns) is not written. */
typedef struct asc_bf16_block {
    const uint16_t *a, *b;
    int64_t a_step, b_step;
    int64_t blocks;
    bool two_rows, two_cols;
    float *c;
} asc_bf16_block;

/* What an instruction set brings. begin and end surround the blocks of one thread; nothing between them but
 * blocks needs tiles, and blocks leave the floating-point mode as they found it. */
typedef struct asc_bf16_ops {
    void (*begin)(void);
    void (*end)(void);
    void (*block[ASC_N_BF16_SCHEMES])(const asc_bf16_block *b);
} asc_bf16_ops;

extern const asc_bf16_ops asc_bf16_amx, asc_bf16_avx512, asc_bf16_avx2, asc_bf16_base;

/* Of a number of a, and of a weight. */
static inline int asc_bf16_pieces(asc_bf16_scheme s) { return s == ASC_BF16_1 ? 1 : s == ASC_BF16_3 ? 2 : 3; }
static inline int asc_bf16_right_pieces(asc_bf16_scheme s) {
    return s == ASC_BF16_3_BY_2 ? 2 : s == ASC_BF16_3_BY_1 ? 1 : asc_bf16_pieces(s);
}

/* The products of a scheme but hh, as pairs (piece of a, piece of b), h = 0, m = 1, l = 2. */
static inline int asc_bf16_small(asc_bf16_scheme s, int pairs[5][2]) {
    static const int lists[ASC_N_BF16_SCHEMES][5][2] = {
        {{0, 0}},
        {{0, 1}, {1, 0}},
        {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}},
        {{0, 1}, {1, 1}, {1, 0}, {2, 0}},
        {{1, 0}, {2, 0}},
    };
    static const int n[ASC_N_BF16_SCHEMES] = {0, 2, 5, 4, 2};
    for (int i = 0; i < n[s]; i++) {
        pairs[i][0] = lists[s][i][0];
        pairs[i][1] = lists[s][i][1];
    }
    return n[s];
}

#endif
