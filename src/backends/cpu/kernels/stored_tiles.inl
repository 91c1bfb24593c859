/* stored_tiles.inl - 32 (or 16) rows of a in pieces times 32 columns of whole numbers, all of k, each block
 * of 32 scaled in f32. Part of stored_gemm_amx.c.
 *
 * Unit of work is a half: 16 rows, 32 columns, one block, six products of tiles. The sums of a half leave the
 * tiles at the end of the next half and join the results in the one after the next but one, between its
 * products: what is stored from a tile cannot be read before it has retired, and a store that waits for a
 * product keeps all others waiting. */
#define LOAD(tile, from) _tile_loadd(tile, from, 64)
#define ROW_BYTES 128

/* Rows FROM .. TO - 1 of the 16 whose products are at p: y += d p. */
#define JOIN_ROWS(FROM, TO)                                                                                  \
    do {                                                                                                     \
        _Pragma("GCC unroll 5") for (int r = FROM; r < TO; r++) {                                            \
            __m512 u = _mm512_load_ps(y + 32 * r), v = _mm512_load_ps(y + 32 * r + 16);                      \
            u = _mm512_fmadd_ps(d0, _mm512_load_ps(p + 32 * r), u);                                          \
            v = _mm512_fmadd_ps(d1, _mm512_load_ps(p + 32 * r + 16), v);                                     \
            _mm512_store_ps(y + 32 * r, u);                                                                  \
            _mm512_store_ps(y + 32 * r + 16, v);                                                             \
        }                                                                                                    \
    } while (0)

/* A half with sums in tiles C0 and C1; the one before had them in B0 and B1. Products that wait at p go to y
 * with the scales at d; p then takes the sums of the half before. Small pieces first. */
#define HALF(name, C0, C1, B0, B1)                                                                           \
    ALWAYS_INLINE void name(const uint16_t *a, const uint16_t *b, const float *d, float *p, float *y) {      \
        const __m512 d0 = _mm512_load_ps(d), d1 = _mm512_load_ps(d + 16);                                    \
        _tile_zero(C0);                                                                                      \
        _tile_zero(C1);                                                                                      \
        LOAD(6, b);                                                                                          \
        LOAD(4, a + 2 * ASC_BF16_TILE);                                                                      \
        _tile_dpbf16ps(C0, 4, 6);                                                                            \
        JOIN_ROWS(0, 3);                                                                                     \
        LOAD(7, b + ASC_BF16_TILE);                                                                          \
        _tile_dpbf16ps(C1, 4, 7);                                                                            \
        JOIN_ROWS(3, 6);                                                                                     \
        LOAD(5, a + ASC_BF16_TILE);                                                                          \
        _tile_dpbf16ps(C0, 5, 6);                                                                            \
        JOIN_ROWS(6, 8);                                                                                     \
        _tile_dpbf16ps(C1, 5, 7);                                                                            \
        JOIN_ROWS(8, 11);                                                                                    \
        LOAD(4, a);                                                                                          \
        _tile_dpbf16ps(C0, 4, 6);                                                                            \
        JOIN_ROWS(11, 16);                                                                                   \
        _tile_dpbf16ps(C1, 4, 7);                                                                            \
        _tile_stored(B0, p, ROW_BYTES);                                                                      \
        _tile_stored(B1, p + 16, ROW_BYTES);                                                                 \
    }
HALF(even_half, 0, 1, 2, 3)
HALF(odd_half, 2, 3, 0, 1)

ALWAYS_INLINE void join(const float *d, const float *p, float *y) {
    const __m512 d0 = _mm512_load_ps(d), d1 = _mm512_load_ps(d + 16);
    for (int i = 0; i < 16; i += 2, p += 64, y += 64) JOIN_ROWS(0, 2);
}

/* y [columns][32][32] += the products of 32 rows; a_step: to the second 16. Sums of the first 16 rows wait at
 * products, then in y1 with scales d1; those of the others, a unit longer, behind them. */
static __attribute__((noinline)) void rows_32(const uint16_t *a, int64_t a_step, const uint16_t *b,
                                              const float *d, walk w, float *products, float *y,
                                              float *nowhere) {
    enum { A = 3 * ASC_BF16_TILE, B = 2 * ASC_BF16_TILE, Y = 32 * 32, HALF_Y = 16 * 32 };
    float *p0 = products, *p1 = products + HALF_Y, *y1 = nowhere, *y2 = nowhere;
    const float *d1 = nowhere, *d2 = nowhere;
    for (int64_t u = w.columns * w.blocks; u > 0; u--, b += B, d += 32) {
        even_half(a + w.q * A, b, d2, p1, y2 + HALF_Y);
        odd_half(a + w.q * A + a_step, b, d1, p0, y1);
        y2 = y1;
        d2 = d1;
        y1 = y + w.n * Y;
        d1 = d;
        next_unit(&w);
    }
    join(d2, p1, y2 + HALF_Y);
    join(d1, p0, y1);
    _tile_stored(2, p1, ROW_BYTES);
    _tile_stored(3, p1 + 16, ROW_BYTES);
    join(d1, p1, y1 + HALF_Y);
}

/* The same of 16 rows: units take turns. */
static __attribute__((noinline)) void rows_16(const uint16_t *a, const uint16_t *b, const float *d, walk w,
                                              float *products, float *y, float *nowhere) {
    enum { A = 3 * ASC_BF16_TILE, B = 2 * ASC_BF16_TILE, Y = 32 * 32, HALF_Y = 16 * 32 };
    float *p0 = products, *p1 = products + HALF_Y, *y1 = nowhere, *y2 = nowhere, *y3 = nowhere;
    const float *d1 = nowhere, *d2 = nowhere, *d3 = nowhere;
    const int64_t units = w.columns * w.blocks;
    for (int64_t u = 0; u < units; u++, b += B, d += 32) {
        if (u % 2 == 0)
            even_half(a + w.q * A, b, d3, p1, y3);
        else
            odd_half(a + w.q * A, b, d3, p0, y3);
        y3 = y2;
        d3 = d2;
        y2 = y1;
        d2 = d1;
        y1 = y + w.n * Y;
        d1 = d;
        next_unit(&w);
    }
    if (units % 2 == 0) {
        join(d3, p1, y3);
        join(d2, p0, y2);
        _tile_stored(2, p1, ROW_BYTES);
        _tile_stored(3, p1 + 16, ROW_BYTES);
        join(d1, p1, y1);
    } else {
        join(d3, p0, y3);
        join(d2, p1, y2);
        _tile_stored(0, p0, ROW_BYTES);
        _tile_stored(1, p0 + 16, ROW_BYTES);
        join(d1, p0, y1);
    }
}

/* Sums of 32 numbers of 16 rows, from their pieces: products with a one in one column. out: tiles of the
 * sums' pieces, as many as blocks need. */
static void sum_row_group(const uint16_t *a, int64_t blocks, uint16_t *out) {
    enum { ONE = 0x3F80 };
    _Alignas(64)
        uint16_t ones[62] = {[30] = ONE, [31] = ONE}; /* every row of a tile from ones + 30 - 2 c: column c */
    _Alignas(64) float sums[3][16][16], all[16][32];
    for (int64_t s = 0; s < blocks; s += 32, out += 3 * ASC_BF16_TILE) {
        memset(all, 0, sizeof all);
        for (int64_t half = s; half < s + 32 && half < blocks; half += 16) {
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            for (int64_t q = half; q < half + 16 && q < blocks; q++, a += 3 * ASC_BF16_TILE) {
                _tile_loadd(7, ones + 30 - 2 * (q - half), 0);
                LOAD(4, a);
                LOAD(5, a + ASC_BF16_TILE);
                LOAD(6, a + 2 * ASC_BF16_TILE);
                _tile_dpbf16ps(0, 4, 7);
                _tile_dpbf16ps(1, 5, 7);
                _tile_dpbf16ps(2, 6, 7);
            }
            _tile_stored(0, sums[0], 64);
            _tile_stored(1, sums[1], 64);
            _tile_stored(2, sums[2], 64);
            for (int r = 0; r < 16; r++) {
                const __m512 small = _mm512_add_ps(_mm512_load_ps(sums[1][r]), _mm512_load_ps(sums[2][r]));
                _mm512_store_ps(all[r] + (half - s), _mm512_add_ps(_mm512_load_ps(sums[0][r]), small));
            }
        }
        pack_tile(all[0], 32, 16, 32, 0, 3, out);
    }
}
