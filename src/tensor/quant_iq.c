/* quant_iq.c - vector-quantised formats: runs of 8 or 4 elements are looked up in a grid of small levels,
 * then signed and scaled. iq2_* and iq3_* store magnitudes and signs apart; iq1_* store -1, 0, 1 plus a
 * shared shift. Grids hold levels, not values; a level becomes a value by arithmetic on all bytes of a word
 * at once. */
#include "quant.h"

/* Spreads 8 levels of 2 bits to 8 bytes. */
static inline uint64_t spread2(uint64_t g) {
    g = (g | g << 24) & 0x000000FF000000FFu;
    g = (g | g << 12) & 0x000F000F000F000Fu;
    return (g | g << 6) & 0x0303030303030303u;
}

/* Spreads 4 levels of 3 bits to 4 bytes. */
static inline uint32_t spread3(uint32_t g) {
    g = (g | g << 10) & 0x003F003Fu;
    return (g | g << 5) & 0x07070707u;
}

/* iq2: levels 0, 1, 2 stand for 8, 25, 43 = 8 + 17 l + (l == 2). */
static inline uint64_t values_iq2(uint16_t g) {
    uint64_t l = spread2(g);
    return 0x0808080808080808u + 17u * l + (l >> 1 & 0x0101010101010101u);
}

/* iq3_xxs: levels 0..7 stand for 4, 12, ..., 52, 62 = 4 + 8 l + 2 (l == 7). */
static inline uint32_t values_iq3_xxs(uint16_t g) {
    uint32_t l = spread3(g);
    return 0x04040404u + 8u * l + 2u * (l & l >> 1 & l >> 2 & 0x01010101u);
}

/* iq3_s: levels 0..7 stand for 1, 3, ..., 15. */
static inline uint32_t values_iq3_s(uint16_t g) { return 0x01010101u + 2u * spread3(g); }

/* A super-block half way: 256 small integers, eight to a word, and a scale for each 16. Filling all of it
 * first and scaling it in one go is faster than going eight by eight. */
typedef struct staged {
    uint64_t words[32];
    float scale[16];
} staged;

/* Kept out of line: inlined into the loop below, gcc 12 vectorises that one instead, across runs, and badly.
 */
__attribute__((noinline)) static void scale16(const int8_t *restrict q, int bias, float d,
                                              float *restrict dst) {
    for (int i = 0; i < 16; i++) dst[i] = d * (float)(q[i] - bias);
}

static inline void finish(const staged *s, int bias, float *restrict dst) {
    for (int k = 0; k < 16; k++) scale16((const int8_t *)s->words + 16 * k, bias, s->scale[k], dst + 16 * k);
}

/* Byte i of v (1 to 127), negated where bit i of signs is set. Byte by byte: ~v + 1, which carries for no v >
 * 0. */
static inline uint64_t negate(uint64_t v, unsigned signs) {
    uint64_t one = asc_bits_to_bytes(signs) >> 7;
    return (v ^ one * 255u) + one;
}

/* Seven stored signs; the eighth makes the number of negative elements even. */
static inline unsigned even_signs(uint32_t seven) {
    seven &= 127u;
    return seven | (unsigned)__builtin_parity(seven) << 7;
}

ASC_EXPAND(iq2_xxs) { /* d, then per 32 elements: 4 grid indices, a word of 4 x 7 signs and a 4-bit scale */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 66, dst += 256) {
        float d = asc_load_f16(p);
        for (int k = 0; k < 8; k++) {
            const uint8_t *q = p + 2 + 8 * k;
            uint32_t w = asc_load_u32(q + 4);
            s.scale[2 * k] = s.scale[2 * k + 1] = d * (0.5f + (float)(w >> 28)) * 0.25f;
            for (int g = 0; g < 4; g++) {
                s.words[4 * k + g] = negate(values_iq2(asc_grid_iq2_xxs[q[g]]), even_signs(w >> 7 * g));
            }
        }
        finish(&s, 0, dst);
    }
}

/* The scales of iq2_xs and iq2_s: a nibble for each 16 elements. */
static inline void scales_iq2(const uint8_t *p, float d, staged *s) {
    for (int k = 0; k < 16; k++) s->scale[k] = d * (0.5f + (float)(p[k / 2] >> k % 2 * 4 & 15)) * 0.25f;
}

ASC_EXPAND(iq2_xs) { /* d, 32 words of 9-bit index and 7 signs, 16 4-bit scales */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 74, dst += 256) {
        scales_iq2(p + 66, asc_load_f16(p), &s);
        for (int g = 0; g < 32; g++) {
            uint32_t q = asc_load_u16(p + 2 + 2 * g);
            s.words[g] = negate(values_iq2(asc_grid_iq2_xs[q & 511u]), even_signs(q >> 9));
        }
        finish(&s, 0, dst);
    }
}

ASC_EXPAND(iq2_s) { /* d, index low bytes [32], sign bytes [32], index high 2 bits [8], 16 4-bit scales */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 82, dst += 256) {
        scales_iq2(p + 74, asc_load_f16(p), &s);
        for (int g = 0; g < 32; g++) {
            unsigned idx = p[2 + g] | ((unsigned)p[66 + g / 4] >> (g % 4 * 2) & 3u) << 8;
            s.words[g] = negate(values_iq2(asc_grid_iq2_s[idx]), p[34 + g]);
        }
        finish(&s, 0, dst);
    }
}

ASC_EXPAND(iq3_xxs) { /* d, 64 grid indices, then per 32 elements a word of 4 x 7 signs and a 4-bit scale */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 98, dst += 256) {
        float d = asc_load_f16(p);
        for (int k = 0; k < 8; k++) {
            uint32_t w = asc_load_u32(p + 66 + 4 * k);
            s.scale[2 * k] = s.scale[2 * k + 1] = d * (0.5f + (float)(w >> 28)) * 0.5f;
            for (int g = 0; g < 4; g++) {
                const uint8_t *q = p + 2 + 8 * k + 2 * g;
                uint64_t lo = values_iq3_xxs(asc_grid_iq3_xxs[q[0]]),
                         hi = values_iq3_xxs(asc_grid_iq3_xxs[q[1]]);
                s.words[4 * k + g] = negate(lo | hi << 32, even_signs(w >> 7 * g));
            }
        }
        finish(&s, 0, dst);
    }
}

ASC_EXPAND(iq3_s) { /* d, index low bytes [64], index ninth bits [8], sign bytes [32], 8 4-bit scales */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 110, dst += 256) {
        float d = asc_load_f16(p);
        for (int k = 0; k < 8; k++) {
            int scale = p[106 + k / 2] >> k % 2 * 4 & 15;
            s.scale[2 * k] = s.scale[2 * k + 1] = d * (float)(1 + 2 * scale);
        }
        for (int g = 0; g < 32; g++) {
            unsigned ninth = (unsigned)p[66 + g / 4] >> g % 4 * 2;
            unsigned i0 = p[2 + 2 * g] | (ninth & 1u) << 8, i1 = p[3 + 2 * g] | (ninth >> 1 & 1u) << 8;
            uint64_t lo = values_iq3_s(asc_grid_iq3_s[i0]), hi = values_iq3_s(asc_grid_iq3_s[i1]);
            s.words[g] = negate(lo | hi << 32, p[74 + g]);
        }
        finish(&s, 0, dst);
    }
}

/* iq1: (level - 1 +- 1/8) as a multiple of 1/8 with a bias of 9, so that bytes stay positive: 8 level + 9 - 8
 * +- 1. */
enum { IQ1_BIAS = 9 };
static inline uint64_t values_iq1(unsigned index, bool minus) {
    return 8u * spread2(asc_grid_iq1[index]) + (minus ? 0 : 0x0202020202020202u);
}

ASC_EXPAND(
    iq1_s) { /* d, index low bytes [32], per 32 elements a word: 4 x 3 high bits, 3-bit scale, shift sign */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 50, dst += 256) {
        float d = asc_load_f16(p) * 0.125f;
        for (int k = 0; k < 8; k++) {
            unsigned w = asc_load_u16(p + 34 + 2 * k);
            s.scale[2 * k] = s.scale[2 * k + 1] = d * (float)(2 * (w >> 12 & 7u) + 1);
            for (int g = 0; g < 4; g++) {
                s.words[4 * k + g] =
                    values_iq1(p[2 + 4 * k + g] | (w >> 3 * g & 7u) << 8, (w & 0x8000u) != 0);
            }
        }
        finish(&s, IQ1_BIAS, dst);
    }
}

ASC_EXPAND(
    iq1_m) { /* index low bytes [32], per 8 elements a nibble (3 high bits, shift sign) [16], scales [8] */
    const uint8_t *restrict p = src;
    staged s;
    for (int64_t b = 0; b < n / 256; b++, p += 56, dst += 256) {
        unsigned w[4];
        for (int k = 0; k < 4; k++) w[k] = asc_load_u16(p + 48 + 2 * k);
        /* The f16 scale is cut into the top nibbles of the four scale words. */
        unsigned h = w[0] >> 12 | (w[1] >> 8 & 0xF0u) | (w[2] >> 4 & 0xF00u) | (w[3] & 0xF000u);
        float d = asc_f16_to_f32((uint16_t)h) * 0.125f;
        for (int k = 0; k < 16; k++) s.scale[k] = d * (float)(2 * (w[k / 4] >> k % 4 * 3 & 7u) + 1);
        for (int g = 0; g < 32; g++) {
            unsigned x = (unsigned)p[32 + g / 2] >> g % 2 * 4;
            s.words[g] = values_iq1(p[g] | (x & 7u) << 8, (x & 8u) != 0);
        }
        finish(&s, IQ1_BIAS, dst);
    }
}
