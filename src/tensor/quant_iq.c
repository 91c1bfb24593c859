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

/* dst[i] = +-d * byte i of v, negative where bit i of signs is set. */
static inline void signed8(uint64_t v, unsigned signs, float d, float *restrict dst) {
    static const int32_t bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    uint8_t byte[8];
    for (int i = 0; i < 8; i++) byte[i] = (uint8_t)(v >> 8 * i);
    for (int i = 0; i < 8; i++) {
        uint32_t flip = ((int32_t)signs & bit[i]) != 0 ? 0x80000000u : 0;
        dst[i] = asc_f32_of_bits(asc_f32_bits(d * (float)byte[i]) ^ flip);
    }
}

/* Seven stored signs; the eighth makes the number of negative elements even. */
static inline unsigned even_signs(uint32_t seven) {
    seven &= 127u;
    return seven | (unsigned)__builtin_parity(seven) << 7;
}

ASC_EXPAND(iq2_xxs) { /* d, then per 32 elements: 4 grid indices, a word of 4 x 7 signs and a 4-bit scale */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 66) {
        float d = asc_load_f16(p);
        for (int k = 0; k < 8; k++) {
            const uint8_t *q = p + 2 + 8 * k;
            uint32_t w = asc_load_u32(q + 4);
            float dl = d * (0.5f + (float)(w >> 28)) * 0.25f;
            for (int g = 0; g < 4; g++, dst += 8) {
                signed8(values_iq2(asc_grid_iq2_xxs[q[g]]), even_signs(w >> 7 * g), dl, dst);
            }
        }
    }
}

ASC_EXPAND(iq2_xs) { /* d, 32 words of 9-bit index and 7 signs, 16 4-bit scales */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 74) {
        float d = asc_load_f16(p);
        for (int g = 0; g < 32; g++, dst += 8) {
            uint32_t q = asc_load_u16(p + 2 + 2 * g);
            int s = p[66 + g / 4] >> (g / 2 % 2 * 4) & 15;
            float dl = d * (0.5f + (float)s) * 0.25f;
            signed8(values_iq2(asc_grid_iq2_xs[q & 511u]), even_signs(q >> 9), dl, dst);
        }
    }
}

ASC_EXPAND(iq2_s) { /* d, index low bytes [32], sign bytes [32], index high 2 bits [8], 16 4-bit scales */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 82) {
        float d = asc_load_f16(p);
        for (int g = 0; g < 32; g++, dst += 8) {
            unsigned idx = p[2 + g] | (p[66 + g / 4] >> (g % 4 * 2) & 3u) << 8;
            int s = p[74 + g / 4] >> (g / 2 % 2 * 4) & 15;
            float dl = d * (0.5f + (float)s) * 0.25f;
            signed8(values_iq2(asc_grid_iq2_s[idx]), p[34 + g], dl, dst);
        }
    }
}

ASC_EXPAND(iq3_xxs) { /* d, 64 grid indices, then per 32 elements a word of 4 x 7 signs and a 4-bit scale */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 98) {
        float d = asc_load_f16(p);
        for (int g = 0; g < 32; g++, dst += 8) {
            uint32_t w = asc_load_u32(p + 66 + g / 4 * 4);
            float dl = d * (0.5f + (float)(w >> 28)) * 0.5f;
            const uint8_t *q = p + 2 + 2 * g;
            uint64_t lo = values_iq3_xxs(asc_grid_iq3_xxs[q[0]]), hi = values_iq3_xxs(asc_grid_iq3_xxs[q[1]]);
            signed8(lo | hi << 32, even_signs(w >> 7 * (g % 4)), dl, dst);
        }
    }
}

ASC_EXPAND(iq3_s) { /* d, index low bytes [64], index ninth bits [8], sign bytes [32], 8 4-bit scales */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 110) {
        float d = asc_load_f16(p);
        for (int g = 0; g < 32; g++, dst += 8) {
            unsigned ninth = (unsigned)p[66 + g / 4] >> (g % 4 * 2);
            unsigned i0 = p[2 + 2 * g] | (ninth & 1u) << 8, i1 = p[3 + 2 * g] | (ninth >> 1 & 1u) << 8;
            int s = p[106 + g / 8] >> (g / 4 % 2 * 4) & 15;
            uint64_t lo = values_iq3_s(asc_grid_iq3_s[i0]), hi = values_iq3_s(asc_grid_iq3_s[i1]);
            signed8(lo | hi << 32, p[74 + g], d * (float)(1 + 2 * s), dst);
        }
    }
}

/* dst[i] = d * (level i - 1 + shift). */
static inline void ternary8(uint16_t g, float d, float shift, float *restrict dst) {
    uint64_t l = spread2(g);
    uint8_t byte[8];
    for (int i = 0; i < 8; i++) byte[i] = (uint8_t)(l >> 8 * i);
    for (int i = 0; i < 8; i++) dst[i] = d * ((float)((int)byte[i] - 1) + shift);
}

ASC_EXPAND(
    iq1_s) { /* d, index low bytes [32], per 32 elements a word: 4 x 3 high bits, 3-bit scale, shift sign */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 50) {
        float d = asc_load_f16(p);
        for (int k = 0; k < 8; k++) {
            unsigned w = asc_load_u16(p + 34 + 2 * k);
            float dl = d * (float)(2 * (w >> 12 & 7u) + 1), shift = (w & 0x8000u) != 0 ? -0.125f : 0.125f;
            for (int g = 0; g < 4; g++, dst += 8) {
                ternary8(asc_grid_iq1[p[2 + 4 * k + g] | (w >> 3 * g & 7u) << 8], dl, shift, dst);
            }
        }
    }
}

ASC_EXPAND(
    iq1_m) { /* index low bytes [32], per 8 elements a nibble (3 high bits, shift sign) [16], scales [8] */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 56) {
        unsigned s[4];
        for (int k = 0; k < 4; k++) s[k] = asc_load_u16(p + 48 + 2 * k);
        /* The f16 scale is cut into the top nibbles of the four scale words. */
        unsigned h = s[0] >> 12 | (s[1] >> 8 & 0xF0u) | (s[2] >> 4 & 0xF00u) | (s[3] & 0xF000u);
        float d = asc_f16_to_f32((uint16_t)h);
        for (int g = 0; g < 32; g++, dst += 8) {
            unsigned x = (unsigned)p[32 + g / 2] >> (g % 2 * 4);
            float dl = d * (float)(2 * (s[g / 8] >> (g / 2 % 4 * 3) & 7u) + 1);
            ternary8(asc_grid_iq1[p[g] | (x & 7u) << 8], dl, (x & 8u) != 0 ? -0.125f : 0.125f, dst);
        }
    }
}
