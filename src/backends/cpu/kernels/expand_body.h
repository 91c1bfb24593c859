/* expand_body.h - vector expansion of stored blocks, written once for 16 lanes (AVX-512) and 8 lanes (AVX2);
 * the file that includes it says which by its instruction set and defines SUFFIX.
 *
 * Bits: d * q is exact in f32 (an f16 scale has 11 significant bits, a quant at most 8), so a fused
 * multiply-add rounds once, exactly where the scalar code rounds: results are bit-equal (payloads of NaN
 * excepted). */
#include "expand.h"
#include "half.h"
#include <immintrin.h>

#if defined(__AVX512F__)
enum { LANES = 16 };
typedef __m512 vf;
typedef __m512i vi;
static inline vi bytes_to_int(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}
static inline vi signed_to_int(const uint8_t *p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p));
}
static inline vi halves_to_int(const uint8_t *p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
}
static inline vf f16_to_float(const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
static inline vi set_int(int x) { return _mm512_set1_epi32(x); }
static inline vf set_float(float x) { return _mm512_set1_ps(x); }
static inline vi and_int(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi or_int(vi a, vi b) { return _mm512_or_si512(a, b); }
static inline vi sub_int(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi right(vi a, int n) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vi left(vi a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vf to_float(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vf as_float(vi a) { return _mm512_castsi512_ps(a); }
static inline vf mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf mul_add(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf mul_sub(vf a, vf b, vf c) { return _mm512_fmsub_ps(a, b, c); }
static inline void put(float *p, vf a) { _mm512_storeu_ps(p, a); }
/* 16 in lane i when bit i is set. */
static inline vi sixteen_where(uint32_t bits) { return _mm512_maskz_set1_epi32((__mmask16)bits, 16); }
#else
enum { LANES = 8 };
typedef __m256 vf;
typedef __m256i vi;
static inline vi bytes_to_int(const uint8_t *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
}
static inline vi signed_to_int(const uint8_t *p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p));
}
static inline vi halves_to_int(const uint8_t *p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p));
}
static inline vf f16_to_float(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)); }
static inline vi set_int(int x) { return _mm256_set1_epi32(x); }
static inline vf set_float(float x) { return _mm256_set1_ps(x); }
static inline vi and_int(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi or_int(vi a, vi b) { return _mm256_or_si256(a, b); }
static inline vi sub_int(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi right(vi a, int n) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vi left(vi a, int n) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vf to_float(vi a) { return _mm256_cvtepi32_ps(a); }
static inline vf as_float(vi a) { return _mm256_castsi256_ps(a); }
static inline vf mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf mul_add(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf mul_sub(vf a, vf b, vf c) { return _mm256_fmsub_ps(a, b, c); }
static inline void put(float *p, vf a) { _mm256_storeu_ps(p, a); }
static inline vi sixteen_where(uint32_t bits) {
    const vi bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    vi set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi32(16));
}
#endif

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define EXPAND(type)                                                                                         \
    void JOIN(asc_expand_##type, _, SUFFIX)(const void *restrict src, float *restrict dst, int64_t n)

/* An f16 by the converter of the processor, as exact as the portable one and shorter. */
static inline float scale_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return _cvtsh_ss(h);
}

static inline uint32_t word_at(const uint8_t *p) {
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

EXPAND(f16) {
    const uint8_t *p = src;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) put(dst + i, f16_to_float(p + 2 * i));
    for (; i < n; i++) dst[i] = scale_at(p + 2 * i);
}

EXPAND(bf16) {
    const uint8_t *p = src;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) put(dst + i, as_float(left(halves_to_int(p + 2 * i), 16)));
    for (; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, sizeof h);
        dst[i] = asc_bf16_to_f32(h);
    }
}

EXPAND(q4_0) {
    const uint8_t *p = src;
    const vi low = set_int(15), eight = set_int(8);
    for (int64_t b = 0; b < n / 32; b++, p += 18, dst += 32) {
        const vf d = set_float(scale_at(p));
        for (int i = 0; i < 16; i += LANES) {
            const vi q = bytes_to_int(p + 2 + i);
            put(dst + i, mul(d, to_float(sub_int(and_int(q, low), eight))));
            put(dst + 16 + i, mul(d, to_float(sub_int(right(q, 4), eight))));
        }
    }
}

EXPAND(q4_1) {
    const uint8_t *p = src;
    const vi low = set_int(15);
    for (int64_t b = 0; b < n / 32; b++, p += 20, dst += 32) {
        const vf d = set_float(scale_at(p)), m = set_float(scale_at(p + 2));
        for (int i = 0; i < 16; i += LANES) {
            const vi q = bytes_to_int(p + 4 + i);
            put(dst + i, mul_add(d, to_float(and_int(q, low)), m));
            put(dst + 16 + i, mul_add(d, to_float(right(q, 4)), m));
        }
    }
}

EXPAND(q5_0) {
    const uint8_t *p = src;
    const vi low = set_int(15), sixteen = set_int(16);
    for (int64_t b = 0; b < n / 32; b++, p += 22, dst += 32) {
        const vf d = set_float(scale_at(p));
        const uint32_t high = word_at(p + 2);
        for (int i = 0; i < 16; i += LANES) {
            const vi q = bytes_to_int(p + 6 + i);
            const vi a = or_int(and_int(q, low), sixteen_where(high >> i));
            const vi b1 = or_int(right(q, 4), sixteen_where(high >> (16 + i)));
            put(dst + i, mul(d, to_float(sub_int(a, sixteen))));
            put(dst + 16 + i, mul(d, to_float(sub_int(b1, sixteen))));
        }
    }
}

EXPAND(q5_1) {
    const uint8_t *p = src;
    const vi low = set_int(15);
    for (int64_t b = 0; b < n / 32; b++, p += 24, dst += 32) {
        const vf d = set_float(scale_at(p)), m = set_float(scale_at(p + 2));
        const uint32_t high = word_at(p + 4);
        for (int i = 0; i < 16; i += LANES) {
            const vi q = bytes_to_int(p + 8 + i);
            put(dst + i, mul_add(d, to_float(or_int(and_int(q, low), sixteen_where(high >> i))), m));
            put(dst + 16 + i, mul_add(d, to_float(or_int(right(q, 4), sixteen_where(high >> (16 + i)))), m));
        }
    }
}

EXPAND(q8_0) {
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 34, dst += 32) {
        const vf d = set_float(scale_at(p));
        for (int i = 0; i < 32; i += LANES) put(dst + i, mul(d, to_float(signed_to_int(p + 2 + i))));
    }
}

/* Scale and minimum k of the eight of a q4_k block (layout: src/tensor/quant_k.c). */
static inline void scale_min(const uint8_t *s, int k, float *scale, float *min) {
    int sc = k < 4 ? s[k] & 63 : (s[k + 4] & 15) | (s[k - 4] >> 6) << 4;
    int mn = k < 4 ? s[k + 4] & 63 : s[k + 4] >> 4 | (s[k] >> 6) << 4;
    *scale = (float)sc;
    *min = (float)mn;
}

EXPAND(q4_k) {
    const uint8_t *p = src;
    const vi low = set_int(15);
    for (int64_t b = 0; b < n / 256; b++, p += 144) {
        const float d = scale_at(p), dmin = scale_at(p + 2);
        for (int k = 0; k < 4; k++, dst += 64) {
            float s0, s1, m0, m1;
            scale_min(p + 4, 2 * k, &s0, &m0);
            scale_min(p + 4, 2 * k + 1, &s1, &m1);
            const vf d0 = set_float(d * s0), d1 = set_float(d * s1);
            const vf min0 = set_float(dmin * m0), min1 = set_float(dmin * m1);
            for (int i = 0; i < 32; i += LANES) {
                const vi q = bytes_to_int(p + 16 + 32 * k + i);
                put(dst + i, mul_sub(d0, to_float(and_int(q, low)), min0));
                put(dst + 32 + i, mul_sub(d1, to_float(right(q, 4)), min1));
            }
        }
    }
}

EXPAND(q6_k) {
    const uint8_t *p = src;
    const vi low = set_int(15), top = set_int(48), offset = set_int(32);
    for (int64_t b = 0; b < n / 256; b++, p += 210) {
        const float d = scale_at(p + 208);
        for (int half = 0; half < 2; half++, dst += 128) {
            const uint8_t *ql = p + 64 * half, *qh = p + 128 + 32 * half, *s = p + 192 + 8 * half;
            for (int i = 0; i < 32; i += LANES) { /* lanes i.. of each of the four runs of 32 */
                const vi a = bytes_to_int(ql + i), c = bytes_to_int(ql + 32 + i), h = bytes_to_int(qh + i);
                const vi q[4] = {or_int(and_int(a, low), and_int(left(h, 4), top)),
                                 or_int(and_int(c, low), and_int(left(h, 2), top)),
                                 or_int(right(a, 4), and_int(h, top)),
                                 or_int(right(c, 4), and_int(right(h, 2), top))};
                for (int r = 0; r < 4; r++) {
                    const vf ds = set_float(d * (float)(int8_t)s[2 * r + i / 16]);
                    put(dst + 32 * r + i, mul(ds, to_float(sub_int(q[r], offset))));
                }
            }
        }
    }
}
