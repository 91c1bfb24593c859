/* quant_small.c - formats whose elements pick one of 16 fixed values (iq4_nl, iq4_xs, mxfp4, nvfp4) or one of
 * -1, 0, 1 (tq1_0, tq2_0). The 16 products with a block's scale are made once, then looked up. */
#include "quant.h"

/* The non-uniform levels of iq4_nl and iq4_xs (values: gguf 0.19, IQ4_NL). */
static const float iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
/* FP4 E2M1 times two (OCP Microscaling Formats 1.0, table 5); the scales below carry the other half. */
static const float fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* dst[0..half) from the low nibbles of q[0..half), dst[half..2 half) from the high ones. */
static inline void look_up(const float *values, float d, const uint8_t *q, int half, float *dst) {
    float t[16];
    for (int i = 0; i < 16; i++) t[i] = d * values[i];
    for (int i = 0; i < half; i++) {
        dst[i] = t[q[i] & 15];
        dst[half + i] = t[q[i] >> 4];
    }
}

ASC_EXPAND(iq4_nl) { /* d, qs[16] */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 18, dst += 32)
        look_up(iq4_values, asc_load_f16(p), p + 2, 16, dst);
}

ASC_EXPAND(iq4_xs) { /* d, scales_h (u16: 8 x 2 bits), scales_l[4] (8 nibbles), qs[128] */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 136) {
        float d = asc_load_f16(p);
        int high = asc_load_u16(p + 2);
        for (int k = 0; k < 8; k++, dst += 32) {
            int s = (p[4 + k / 2] >> (k % 2 * 4) & 15) | (high >> 2 * k & 3) << 4;
            look_up(iq4_values, d * (float)(s - 32), p + 8 + 16 * k, 16, dst);
        }
    }
}

/* Half of an E8M0 scale, 2^(e - 128): the bytes 0 and 1 give subnormal results; 255 is not a NaN here. */
static inline float half_e8m0(uint8_t e) {
    return asc_f32_of_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

ASC_EXPAND(mxfp4) { /* e, qs[16] */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 32; b++, p += 17, dst += 32)
        look_up(fp4_values, half_e8m0(p[0]), p + 1, 16, dst);
}

/* Half of an unsigned E4M3 scale (bias 7); the top bit is ignored, and 0x7F, the NaN, counts as zero. */
static inline float half_e4m3(uint8_t x) {
    int exp = x >> 3 & 15, frac = x & 7;
    if (x == 0x7F) return 0;
    if (exp == 0) return (float)frac * 0x1p-10f;
    return asc_f32_of_bits((uint32_t)(exp + 127 - 8) << 23) * (1.0f + (float)frac * 0.125f);
}

ASC_EXPAND(nvfp4) { /* scales[4], one for each 16 elements; qs[32], 8 bytes for each */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 64; b++, p += 36) {
        for (int k = 0; k < 4; k++, dst += 16) look_up(fp4_values, half_e4m3(p[k]), p + 4 + 8 * k, 8, dst);
    }
}

/* A byte holds trits t0..t4 as the fraction 0.t0 t1 t2 t3 t4 (base 3) of 256: multiplying by 3^k modulo 256
 * brings t_k to the front, and the whole part of three times the fraction is t_k. */
static inline void trits(const uint8_t *restrict q, int bytes, unsigned power, float d, float *restrict dst) {
    for (int i = 0; i < bytes; i++) {
        int front = (int)(q[i] * power & 255u);
        dst[i] = d * (float)((front * 3 >> 8) - 1);
    }
}

ASC_EXPAND(tq1_0) { /* qs[48]: 32 bytes of 5 x 32 elements, 16 of 5 x 16; qh[4]: 4 x 4 elements; d */
    static const uint8_t pow3[5] = {1, 3, 9, 27, 81};
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 54) {
        float d = asc_load_f16(p + 52);
        for (int k = 0; k < 5; k++, dst += 32) trits(p, 32, pow3[k], d, dst);
        for (int k = 0; k < 5; k++, dst += 16) trits(p + 32, 16, pow3[k], d, dst);
        for (int k = 0; k < 4; k++, dst += 4) trits(p + 48, 4, pow3[k], d, dst);
    }
}

ASC_EXPAND(tq2_0) { /* qs[64], d */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 66) {
        float d = asc_load_f16(p + 64);
        for (int k = 0; k < 8; k++, dst += 32) {
            const uint8_t *q = p + k / 4 * 32;
            int shift = k % 4 * 2;
            for (int i = 0; i < 32; i++) dst[i] = d * (float)((q[i] >> shift & 3) - 1);
        }
    }
}
