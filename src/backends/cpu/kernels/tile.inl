/* tile.inl - the small matrix product inside attention: C[m][n] (+)= A[m][k] B[k][n], one thread, all in
 * cache. A is read one element at a time and broadcast, so it may have any strides (also transposed); rows of
 * B and C are contiguous. A block of TILE_ROWS x TILE_VECS vectors of C stays in registers while k runs. */
#ifndef ASC_TILE_INL
#define ASC_TILE_INL

#include "kutil.h"
#include "vec.h"

#if VEC_ISA == 2
enum { TILE_ROWS = 6, TILE_VECS = 4 };
#elif VEC_ISA == 1
enum { TILE_ROWS = 6, TILE_VECS = 2 };
#else
enum { TILE_ROWS = 4, TILE_VECS = 2 };
#endif

typedef struct tile {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_col; /* strides of A */
    const float *b;
    int64_t b_row;
    float *c;
    int64_t c_row;
    bool add; /* C += instead of C = */
} tile;

/* Rows [i, i + mr) and columns [j, j + nv VW) of C; last < VW: only so many columns, nv is 1. */
VEC_INLINE void tile_block(const tile *t, int64_t i, int64_t j, const int mr, const int nv, int64_t last) {
    vf acc[TILE_ROWS][TILE_VECS];
    const bool part = last < VW;
    const float *a = t->a + i * t->a_row, *b = t->b + j;
    float *c = t->c + i * t->c_row + j;
    VEC_UNROLL
    for (int r = 0; r < mr; r++) {
        VEC_UNROLL
        for (int v = 0; v < nv; v++) {
            const float *p = c + r * t->c_row + v * VW;
            acc[r][v] = !t->add ? vzero() : part ? vloadn(p, last) : vload(p);
        }
    }
    const int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    for (int64_t k = 0; k < t->k; k++, a += a_col, b += b_row) {
        vf bv[TILE_VECS];
        VEC_UNROLL
        for (int v = 0; v < nv; v++) bv[v] = part ? vloadn(b, last) : vload(b + v * VW);
        VEC_UNROLL
        for (int r = 0; r < mr; r++) {
            vf x = vset1(a[r * a_row]);
            VEC_UNROLL
            for (int v = 0; v < nv; v++) acc[r][v] = vfma(x, bv[v], acc[r][v]);
        }
    }
    VEC_UNROLL
    for (int r = 0; r < mr; r++) {
        VEC_UNROLL
        for (int v = 0; v < nv; v++) {
            float *p = c + r * t->c_row + v * VW;
            if (part)
                vstoren(p, acc[r][v], last);
            else
                vstore(p, acc[r][v]);
        }
    }
}

#define TILE_ROW_CASES(nv, last)                                                                             \
    int64_t i = 0;                                                                                           \
    for (; i + TILE_ROWS <= t->m; i += TILE_ROWS) tile_block(t, i, j, TILE_ROWS, nv, last);                  \
    switch (t->m - i) {                                                                                      \
    case 5:                                                                                                  \
        tile_block(t, i, j, VEC_MIN(5, TILE_ROWS), nv, last);                                                \
        break;                                                                                               \
    case 4:                                                                                                  \
        tile_block(t, i, j, 4, nv, last);                                                                    \
        break;                                                                                               \
    case 3:                                                                                                  \
        tile_block(t, i, j, 3, nv, last);                                                                    \
        break;                                                                                               \
    case 2:                                                                                                  \
        tile_block(t, i, j, 2, nv, last);                                                                    \
        break;                                                                                               \
    case 1:                                                                                                  \
        tile_block(t, i, j, 1, nv, last);                                                                    \
        break;                                                                                               \
    default:                                                                                                 \
        break;                                                                                               \
    }

static void tile_columns4(const tile *t, int64_t j) { TILE_ROW_CASES(TILE_VECS, VW) }
static void tile_columns3(const tile *t, int64_t j) { TILE_ROW_CASES(VEC_MIN(3, TILE_VECS), VW) }
static void tile_columns2(const tile *t, int64_t j) { TILE_ROW_CASES(2, VW) }
static void tile_columns1(const tile *t, int64_t j) { TILE_ROW_CASES(1, VW) }
static void tile_columns_part(const tile *t, int64_t j, int64_t last) { TILE_ROW_CASES(1, last) }

static void tile_gemm(const tile *t) {
    int64_t j = 0;
    for (; j + TILE_VECS * VW <= t->n; j += TILE_VECS * VW) tile_columns4(t, j);
    for (; TILE_VECS > 3 && j + 3 * VW <= t->n; j += 3 * VW) tile_columns3(t, j);
    for (; j + 2 * VW <= t->n; j += 2 * VW) tile_columns2(t, j);
    for (; j + VW <= t->n; j += VW) tile_columns1(t, j);
    if (j < t->n) tile_columns_part(t, j, t->n - j);
}

#endif
