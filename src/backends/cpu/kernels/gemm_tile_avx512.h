/* gemm_tile_avx512.h - up to 9 rows by 48 columns of a product: 27 accumulators, 3 vectors of W and 1
 * broadcast value of a fill the 32 registers. For gemm_avx512.c. */
#ifndef ASC_GEMM_TILE_AVX512_H
#define ASC_GEMM_TILE_AVX512_H

#include "gemm_ahead.h"
#include <immintrin.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    ROWS = 9,   /* of a tile */
    LINK = 192, /* values of k that are added up before they join the result: shorter chains round less */
    SLAB = ASC_GEMM_SLAB,
    NEAR = 16 /* rows of W, where they lie, that are fetched before their turn */
};

typedef struct tile_args {
    const float *a; /* first row of the tile */
    int64_t lda;
    const float *b; /* slab; or f32 W where it lies, [k,n] with rows ldb apart */
    int64_t ldb;
    float *slab; /* in that case, where the slab goes: the tiles of later rows find it there */
    float *y;
    int64_t ldy;
    int64_t steps;  /* values of k */
    bool first;     /* start from 0 instead of y */
    __mmask16 last; /* valid columns of the last vector */
    asc_gemm_ahead *ahead;
} tile_args;

/* One value of k. */
ALWAYS_INLINE void step_of_link(const tile_args *t, __m512 acc[ROWS][3], const float *a, const float *b,
                                float *slab, const int rows, const int vecs, const bool lies) {
    __m512 w[3];
#pragma GCC unroll 3
    for (int j = 0; j < vecs; j++) {
        if (lies) {
            w[j] = _mm512_maskz_loadu_ps(j == vecs - 1 ? t->last : (__mmask16)0xFFFF, b + 16 * j);
            _mm512_storeu_ps(slab + 16 * j, w[j]);
        } else {
            w[j] = _mm512_loadu_ps(b + 16 * j);
        }
    }
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) {
        const __m512 x = _mm512_set1_ps(a[i * t->lda]);
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) acc[i][j] = _mm512_fmadd_ps(x, w[j], acc[i][j]);
    }
}

/* Values [q, q + steps) of k, added to y. */
ALWAYS_INLINE void link_of_tile(const tile_args *t, int64_t q, int64_t steps, const int rows, const int vecs,
                                const bool lies) {
    __m512 acc[ROWS][3];
    const int64_t ldy = t->ldy, ldb = lies ? t->ldb : SLAB;
    const bool first = t->first && q == 0;
    const float *a = t->a + q, *b = t->b + q * ldb;
    float *slab = lies ? t->slab + q * SLAB : NULL;
    asc_gemm_ahead ahead = *t->ahead;
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) acc[i][j] = _mm512_setzero_ps();
    }
    int64_t k = 0;
    for (; k + 4 <= steps; k += 4) {
        asc_gemm_ahead_step(&ahead);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            if (lies) {
#pragma GCC unroll 3
                for (int j = 0; j < vecs; j++)
                    _mm_prefetch((const char *)(b + NEAR * ldb + 16 * j), _MM_HINT_T0);
            }
            step_of_link(t, acc, a, b, slab, rows, vecs, lies);
            a++;
            b += ldb;
            if (lies) slab += SLAB;
        }
    }
    for (; k < steps; k++) {
        step_of_link(t, acc, a, b, slab, rows, vecs, lies);
        a++;
        b += ldb;
        if (lies) slab += SLAB;
    }
    *t->ahead = ahead;
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) {
            const __mmask16 mask = j == vecs - 1 ? t->last : (__mmask16)0xFFFF;
            float *y = t->y + i * ldy + 16 * j;
            if (!first) acc[i][j] = _mm512_add_ps(acc[i][j], _mm512_maskz_loadu_ps(mask, y));
            _mm512_mask_storeu_ps(y, mask, acc[i][j]);
        }
    }
}

ALWAYS_INLINE void tile(const tile_args *t, const int rows, const int vecs, const bool lies) {
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) { /* fetched for the end of the first link */
        for (int j = 0; j < vecs; j++) _mm_prefetch((const char *)(t->y + i * t->ldy + 16 * j), _MM_HINT_T0);
    }
    for (int64_t q = 0; q < t->steps; q += LINK)
        link_of_tile(t, q, t->steps - q < LINK ? t->steps - q : LINK, rows, vecs, lies);
}

typedef void (*tile_fn)(const tile_args *t);
#define TILE(rows, vecs)                                                                                     \
    static __attribute__((noinline)) void tile_##rows##x##vecs(const tile_args *t) {                         \
        tile(t, rows, vecs, false);                                                                          \
    }                                                                                                        \
    static __attribute__((noinline)) void lies_##rows##x##vecs(const tile_args *t) {                         \
        tile(t, rows, vecs, true);                                                                           \
    }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
TILES(7)
TILES(8)
TILES(9)
#define TILE_ROW(what, rows)                                                                                 \
    { what##_##rows##x1, what##_##rows##x2, what##_##rows##x3 }
#define TILE_ROWS(what)                                                                                      \
    {                                                                                                        \
        TILE_ROW(what, 1), TILE_ROW(what, 2), TILE_ROW(what, 3), TILE_ROW(what, 4), TILE_ROW(what, 5),       \
            TILE_ROW(what, 6), TILE_ROW(what, 7), TILE_ROW(what, 8), TILE_ROW(what, 9)                       \
    }
/* [W where it lies][rows - 1][vectors - 1] */
static const tile_fn tiles[2][ROWS][3] = {TILE_ROWS(tile), TILE_ROWS(lies)};

#endif
