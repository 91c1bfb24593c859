/* quant_simple.c - blocks of 32 with one f16 scale: q4_0, q4_1, q5_0, q5_1, q8_0.
 * Byte i of a nibble field holds element i in its low half and element i + 16 in its high half. The loops are
 * written over one half block at a time, which is what compilers turn into vector code. */
#include "quant.h"

ASC_EXPAND(q4_0) {
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 18, dst += 32) {
        float d = asc_load_f16(p);
        for (int i = 0; i < 16; i++) dst[i] = d * (float)((p[2 + i] & 15) - 8);
        for (int i = 0; i < 16; i++) dst[16 + i] = d * (float)((p[2 + i] >> 4) - 8);
    }
}

ASC_EXPAND(q4_1) {
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 20, dst += 32) {
        float d = asc_load_f16(p), m = asc_load_f16(p + 2);
        for (int i = 0; i < 16; i++) dst[i] = d * (float)(p[4 + i] & 15) + m;
        for (int i = 0; i < 16; i++) dst[16 + i] = d * (float)(p[4 + i] >> 4) + m;
    }
}

/* The fifth bits of all 32 elements lie in one word, element i's at bit i. A mask per element instead of a
 * shift per element: vector units without variable shifts can do that. */
#define FIFTH(word, i) (((word)&fifth_mask[i]) != 0 ? 16 : 0)
#define ROW8(n) 1u << (n), 2u << (n), 4u << (n), 8u << (n), 16u << (n), 32u << (n), 64u << (n), 128u << (n)
static const uint32_t fifth_mask[32] = {ROW8(0), ROW8(8), ROW8(16), ROW8(24)};

ASC_EXPAND(q5_0) {
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 22, dst += 32) {
        float d = asc_load_f16(p);
        uint32_t h = asc_load_u32(p + 2);
        for (int i = 0; i < 16; i++) dst[i] = d * (float)(((p[6 + i] & 15) | FIFTH(h, i)) - 16);
        for (int i = 0; i < 16; i++) dst[16 + i] = d * (float)(((p[6 + i] >> 4) | FIFTH(h, 16 + i)) - 16);
    }
}

ASC_EXPAND(q5_1) {
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 24, dst += 32) {
        float d = asc_load_f16(p), m = asc_load_f16(p + 2);
        uint32_t h = asc_load_u32(p + 4);
        for (int i = 0; i < 16; i++) dst[i] = d * (float)((p[8 + i] & 15) | FIFTH(h, i)) + m;
        for (int i = 0; i < 16; i++) dst[16 + i] = d * (float)((p[8 + i] >> 4) | FIFTH(h, 16 + i)) + m;
    }
}

ASC_EXPAND(q8_0) {
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 34, dst += 32) {
        float d = asc_load_f16(p);
        for (int i = 0; i < 32; i++) dst[i] = d * (float)(int8_t)p[2 + i];
    }
}
