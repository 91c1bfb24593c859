/* gemm_turn_avx512.h - 16 rows of words to slabs of 48 columns, for panels of weights. */
#ifndef ASC_GEMM_TURN_AVX512_H
#define ASC_GEMM_TURN_AVX512_H

#include <immintrin.h>
#include <stdint.h>

/* 16 x 16: out[k] lane r = row r, element k; rows are `stride` apart in `in`, rows of out 48. Writes n_k
 * rows. */
static inline void transpose16(const float *in, int64_t stride, float *out, int64_t n_k) {
    __m512 r[16], t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_ps(in + i * stride);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
        r[i + 2] =
            _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
        r[i + 3] =
            _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
    }
    /* r[4 g + c] now holds, in each 128-bit part p, element 4 p + c of rows 4 g .. 4 g + 3. */
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        const __m512 a = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88),
                     b = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xDD);
        const __m512 d = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
        const __m512 e = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xDD);
        t[c] = _mm512_shuffle_f32x4(a, d, 0x88);
        t[8 + c] = _mm512_shuffle_f32x4(a, d, 0xDD);
        t[4 + c] = _mm512_shuffle_f32x4(b, e, 0x88);
        t[12 + c] = _mm512_shuffle_f32x4(b, e, 0xDD);
    }
    if (n_k >= 16) {
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) _mm512_storeu_ps(out + 48 * i, t[i]);
    } else {
        for (int64_t i = 0; i < n_k; i++) _mm512_storeu_ps(out + 48 * i, t[i]);
    }
}

#endif
