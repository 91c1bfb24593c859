/* bf16_block_avx512.c - the tile instruction by fused multiply-adds, the same bits (see bf16.h). The products
 * are exact; the control register flushes denormals as tiles do. */
#include "bf16.h"
#include <immintrin.h>

enum { TILE_MODE = 0x9FC0, TOP = (int)0xFFFF0000 }; /* MXCSR: flush both ways, round to nearest, all masked */

static inline unsigned int mode_enter(void) {
    const unsigned int old = _mm_getcsr();
    _mm_setcsr(TILE_MODE);
    return old;
}
static inline void mode_leave(unsigned int old) { _mm_setcsr(old); }

/* 16 x 16 results += one left times one right tile, four rows at a time. */
static inline void tile(const uint16_t *a, const uint16_t *b, float *c) {
    const uint32_t *pairs = (const uint32_t *)(const void *)a;
    for (int r = 0; r < 16; r += 4) {
        __m512 even[4], odd[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) even[i] = odd[i] = _mm512_setzero_ps();
        for (int p = 0; p < 16; p++) {
            const __m512i w = _mm512_loadu_si512((const void *)(b + 32 * p));
            const __m512 w0 = _mm512_castsi512_ps(_mm512_slli_epi32(w, 16));
            const __m512 w1 = _mm512_castsi512_ps(_mm512_and_si512(w, _mm512_set1_epi32(TOP)));
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                const int x = (int)pairs[16 * (r + i) + p];
                const __m512i v = _mm512_set1_epi32(x);
                const __m512 x0 = _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
                const __m512 x1 = _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32(TOP)));
                even[i] = _mm512_fmadd_ps(x0, w0, even[i]);
                odd[i] = _mm512_fmadd_ps(x1, w1, odd[i]);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            float *y = c + (r + i) * ASC_BF16_SIDE;
            _mm512_storeu_ps(y, _mm512_add_ps(_mm512_loadu_ps(y), _mm512_add_ps(even[i], odd[i])));
        }
    }
}

#include "bf16_block.inl"

const asc_bf16_ops asc_bf16_avx512 = {
    nothing, nothing, {block_1, block_3, block_6, block_3_by_2, block_3_by_1}};
