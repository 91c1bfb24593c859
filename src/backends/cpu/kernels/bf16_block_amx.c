/* bf16_block_amx.c - blocks of bf16 products by tile instructions (see bf16.h). Tiles 0-3 are the sums, 4 and
 * 5 left, 6 and 7 right: 4 loads from the L1 cache (8 cycles each) feed 4 products of 16 cycles. */
#include "bf16.h"
#include <immintrin.h>
#include <string.h>

/* Layout of the operand of LDTILECFG. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static void begin(void) {
    _Alignas(64) tile_config c;
    memset(&c, 0, sizeof c);
    c.palette = 1;
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile("" : : "r"(&c) : "memory"); /* the intrinsic tells compilers of 8 of the 64 bytes only */
    _tile_loadconfig(&c);
}

static void end(void) { _tile_release(); }

/* P: pieces of a number. */
#define LEFT(piece)                                                                                          \
    do {                                                                                                     \
        _tile_loadd(4, a + (piece)*ASC_BF16_TILE, 64);                                                       \
        if (two_rows) _tile_loadd(5, a + (piece)*ASC_BF16_TILE + a_step, 64);                                \
    } while (0)
#define RIGHT(piece)                                                                                         \
    do {                                                                                                     \
        _tile_loadd(6, b + (piece)*ASC_BF16_TILE, 64);                                                       \
        if (two_cols) _tile_loadd(7, b + (piece)*ASC_BF16_TILE + b_step, 64);                                \
    } while (0)
/* Part i of n of the next block's right tiles, on their way to the L1 cache. */
#define FETCH(i, n)                                                                                          \
    do {                                                                                                     \
        const int lines = (int)b_next / 32, from = lines * (i) / (n), to = lines * ((i) + 1) / (n);          \
        _Pragma("GCC unroll 48") for (int l = from; l < to; l++) {                                           \
            __builtin_prefetch(b + b_next + 32 * l);                                                         \
            if (two_cols) __builtin_prefetch(b + b_next + 32 * l + b_step);                                  \
        }                                                                                                    \
    } while (0)
#define PRODUCT()                                                                                            \
    do {                                                                                                     \
        _tile_dpbf16ps(0, 4, 6);                                                                             \
        if (two_cols) _tile_dpbf16ps(1, 4, 7);                                                               \
        if (two_rows) _tile_dpbf16ps(2, 5, 6);                                                               \
        if (two_rows && two_cols) _tile_dpbf16ps(3, 5, 7);                                                   \
    } while (0)

static inline __attribute__((always_inline)) void run(const asc_bf16_block *t, const bool two_rows,
                                                      const bool two_cols, const asc_bf16_scheme scheme) {
    const int64_t a_step = t->a_step, b_step = t->b_step, next = asc_bf16_pieces(scheme) * ASC_BF16_TILE;
    const int64_t b_next = asc_bf16_right_pieces(scheme) * ASC_BF16_TILE;
    const uint16_t *a = t->a, *b = t->b;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (scheme == ASC_BF16_3) {
        for (int64_t q = 0; q < t->blocks; q++, a += next, b += b_next) {
            LEFT(0);
            RIGHT(1);
            PRODUCT();
            LEFT(1);
            RIGHT(0);
            PRODUCT();
        }
    } else if (scheme == ASC_BF16_6) {
        for (int64_t q = 0; q < t->blocks; q++, a += next, b += b_next) {
            LEFT(0);
            RIGHT(2);
            FETCH(0, 5);
            PRODUCT();
            RIGHT(1);
            FETCH(1, 5);
            PRODUCT();
            LEFT(1);
            FETCH(2, 5);
            PRODUCT();
            RIGHT(0);
            FETCH(3, 5);
            PRODUCT();
            LEFT(2);
            FETCH(4, 5);
            PRODUCT();
        }
    } else if (scheme == ASC_BF16_3_BY_2) {
        for (int64_t q = 0; q < t->blocks; q++, a += next, b += b_next) {
            LEFT(0);
            RIGHT(1);
            FETCH(0, 4);
            PRODUCT();
            LEFT(1);
            FETCH(1, 4);
            PRODUCT();
            RIGHT(0);
            FETCH(2, 4);
            PRODUCT();
            LEFT(2);
            FETCH(3, 4);
            PRODUCT();
        }
    } else if (scheme == ASC_BF16_3_BY_1) {
        for (int64_t q = 0; q < t->blocks; q++, a += next, b += b_next) {
            LEFT(1);
            RIGHT(0);
            FETCH(0, 2);
            PRODUCT();
            LEFT(2);
            FETCH(1, 2);
            PRODUCT();
        }
    }
    a = t->a;
    b = t->b;
    for (int64_t q = 0; q < t->blocks; q++, a += next, b += b_next) {
        LEFT(0);
        RIGHT(0);
        PRODUCT();
    }
    const int64_t row = ASC_BF16_SIDE * sizeof(float);
    _tile_stored(0, t->c, row);
    if (two_cols) _tile_stored(1, t->c + 16, row);
    if (two_rows) _tile_stored(2, t->c + 16 * ASC_BF16_SIDE, row);
    if (two_rows && two_cols) _tile_stored(3, t->c + 16 * ASC_BF16_SIDE + 16, row);
}

#define BLOCK(name, scheme)                                                                                  \
    static void name(const asc_bf16_block *t) {                                                              \
        if (t->two_rows && t->two_cols)                                                                      \
            run(t, true, true, scheme);                                                                      \
        else if (t->two_rows)                                                                                \
            run(t, true, false, scheme);                                                                     \
        else if (t->two_cols)                                                                                \
            run(t, false, true, scheme);                                                                     \
        else                                                                                                 \
            run(t, false, false, scheme);                                                                    \
    }
BLOCK(block_1, ASC_BF16_1)
BLOCK(block_3, ASC_BF16_3)
BLOCK(block_6, ASC_BF16_6)
BLOCK(block_3_by_2, ASC_BF16_3_BY_2)
BLOCK(block_3_by_1, ASC_BF16_3_BY_1)

const asc_bf16_ops asc_bf16_amx = {begin, end, {block_1, block_3, block_6, block_3_by_2, block_3_by_1}};
