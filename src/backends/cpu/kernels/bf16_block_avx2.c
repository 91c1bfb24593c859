/* bf16_block_avx2.c - the tile instruction by fused multiply-adds of 8 lanes, the same bits (see bf16.h and
 * bf16_block_avx512.c). */
#include "bf16.h"
#include <immintrin.h>

enum { TILE_MODE = 0x9FC0, TOP = (int)0xFFFF0000 }; /* MXCSR: flush both ways, round to nearest, all masked */

static inline unsigned int mode_enter(void) {
    const unsigned int old = _mm_getcsr();
    _mm_setcsr(TILE_MODE);
    return old;
}
static inline void mode_leave(unsigned int old) { _mm_setcsr(old); }

static inline __m256 low_half(__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); }
static inline __m256 high_half(__m256i v) {
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32(TOP)));
}

/* 16 x 16 results += one left times one right tile, two rows at a time. */
static inline void tile(const uint16_t *a, const uint16_t *b, float *c) {
    const uint32_t *pairs = (const uint32_t *)(const void *)a;
    for (int r = 0; r < 16; r += 2) {
        for (int n = 0; n < 16; n += 8) {
            __m256 even[2], odd[2];
            for (int i = 0; i < 2; i++) even[i] = odd[i] = _mm256_setzero_ps();
            for (int p = 0; p < 16; p++) {
                const __m256i w = _mm256_loadu_si256((const void *)(b + 32 * p + 2 * n));
                const __m256 w0 = low_half(w), w1 = high_half(w);
#pragma GCC unroll 2
                for (int i = 0; i < 2; i++) {
                    const __m256i v = _mm256_set1_epi32((int)pairs[16 * (r + i) + p]);
                    even[i] = _mm256_fmadd_ps(low_half(v), w0, even[i]);
                    odd[i] = _mm256_fmadd_ps(high_half(v), w1, odd[i]);
                }
            }
            for (int i = 0; i < 2; i++) {
                float *y = c + (r + i) * ASC_BF16_SIDE + n;
                _mm256_storeu_ps(y, _mm256_add_ps(_mm256_loadu_ps(y), _mm256_add_ps(even[i], odd[i])));
            }
        }
    }
}

#include "bf16_block.inl"

const asc_bf16_ops asc_bf16_avx2 = {
    nothing, nothing, {block_1, block_3, block_6, block_3_by_2, block_3_by_1}};
