/* quant_k.c - the "k" formats: super-blocks of 256 elements whose sub-blocks of 16 or 32 have small integer
 * scales (and minima) on top of one f16 scale (and minimum) for all. */
#include "quant.h"

ASC_EXPAND(q2_k) { /* scales[16] (low nibble scale, high nibble minimum), qs[64], d, dmin */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 84) {
        float d = asc_load_f16(p + 80), dmin = asc_load_f16(p + 82);
        for (int k = 0; k < 16; k++, dst += 16) { /* sub-block k: 2-bit field (k / 2) % 4 of 16 bytes */
            const uint8_t *q = p + 16 + (k / 8) * 32 + (k % 2) * 16;
            float dl = d * (float)(p[k] & 15), ml = dmin * (float)(p[k] >> 4);
            int shift = k / 2 % 4 * 2;
            for (int i = 0; i < 16; i++) dst[i] = dl * (float)(q[i] >> shift & 3) - ml;
        }
    }
}

ASC_EXPAND(q3_k) { /* hmask[32], qs[64], scales[12], d */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 110) {
        float d = asc_load_f16(p + 108);
        const uint8_t *s = p + 96;
        for (int k = 0; k < 16; k++, dst += 16) {
            int low = k < 8 ? s[k] & 15 : s[k - 8] >> 4, high = s[8 + k % 4] >> (k / 4 * 2) & 3;
            float dl = d * (float)((low | high << 4) - 32);
            const uint8_t *q = p + 32 + (k / 8) * 32 + (k % 2) * 16, *h = p + (k % 2) * 16;
            int shift = k / 2 % 4 * 2;
            uint8_t bit = (uint8_t)(1 << k / 2);
            for (int i = 0; i < 16; i++) { /* a clear mask bit takes 4 away */
                dst[i] = dl * (float)((q[i] >> shift & 3) - ((h[i] & bit) != 0 ? 0 : 4));
            }
        }
    }
}

/* Eight 6-bit scales and eight 6-bit minima in 12 bytes: bytes 0-3 and 4-7 hold the first four of each in
 * their low six bits and, above, the top two bits of the last four; bytes 8-11 hold the low nibbles of the
 * last four. */
static inline void scales_6bit(const uint8_t *s, uint8_t sc[8], uint8_t mn[8]) {
    for (int i = 0; i < 4; i++) {
        sc[i] = s[i] & 63;
        mn[i] = s[4 + i] & 63;
        sc[4 + i] = (uint8_t)((s[8 + i] & 15) | (s[i] >> 6) << 4);
        mn[4 + i] = (uint8_t)(s[8 + i] >> 4 | (s[4 + i] >> 6) << 4);
    }
}

ASC_EXPAND(q4_k) { /* d, dmin, scales[12], qs[128] */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 144) {
        float d = asc_load_f16(p), dmin = asc_load_f16(p + 2);
        uint8_t sc[8], mn[8];
        scales_6bit(p + 4, sc, mn);
        for (int k = 0; k < 4; k++, dst += 64) {
            const uint8_t *q = p + 16 + 32 * k;
            float d0 = d * (float)sc[2 * k], d1 = d * (float)sc[2 * k + 1];
            float m0 = dmin * (float)mn[2 * k], m1 = dmin * (float)mn[2 * k + 1];
            for (int i = 0; i < 32; i++) dst[i] = d0 * (float)(q[i] & 15) - m0;
            for (int i = 0; i < 32; i++) dst[32 + i] = d1 * (float)(q[i] >> 4) - m1;
        }
    }
}

ASC_EXPAND(q5_k) { /* d, dmin, scales[12], qh[32], qs[128] */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 176) {
        float d = asc_load_f16(p), dmin = asc_load_f16(p + 2);
        uint8_t sc[8], mn[8];
        scales_6bit(p + 4, sc, mn);
        for (int k = 0; k < 4; k++, dst += 64) {
            const uint8_t *q = p + 48 + 32 * k, *h = p + 16;
            float d0 = d * (float)sc[2 * k], d1 = d * (float)sc[2 * k + 1];
            float m0 = dmin * (float)mn[2 * k], m1 = dmin * (float)mn[2 * k + 1];
            uint8_t b0 = (uint8_t)(1 << 2 * k), b1 = (uint8_t)(2 << 2 * k);
            for (int i = 0; i < 32; i++)
                dst[i] = d0 * (float)((q[i] & 15) | ((h[i] & b0) != 0 ? 16 : 0)) - m0;
            for (int i = 0; i < 32; i++) {
                dst[32 + i] = d1 * (float)((q[i] >> 4) | ((h[i] & b1) != 0 ? 16 : 0)) - m1;
            }
        }
    }
}

/* Sixteen elements of q6_k: four low bits at `lo` of ql, two high bits at `hi` of qh. */
static inline void six_bits(const uint8_t *restrict ql, const uint8_t *restrict qh, int lo, int hi, float d,
                            float *restrict dst) {
    for (int i = 0; i < 16; i++) dst[i] = d * (float)(((ql[i] >> lo & 15) | (qh[i] >> hi & 3) << 4) - 32);
}

ASC_EXPAND(q6_k) { /* ql[128], qh[64], scales[16] (signed), d */
    const uint8_t *restrict p = src;
    for (int64_t b = 0; b < n / 256; b++, p += 210) {
        float d = asc_load_f16(p + 208), ds[16];
        for (int k = 0; k < 16; k++) ds[k] = d * (float)(int8_t)p[192 + k];
        for (int h = 0; h < 2; h++, dst += 128) {
            const uint8_t *ql = p + 64 * h, *qh = p + 128 + 32 * h;
            for (int j = 0; j < 2; j++) { /* half of each run of 32 */
                const uint8_t *l = ql + 16 * j, *u = qh + 16 * j;
                float *out = dst + 16 * j;
                const float *s = ds + 8 * h + j;
                six_bits(l, u, 0, 0, s[0], out);
                six_bits(l + 32, u, 0, 2, s[2], out + 32);
                six_bits(l, u, 4, 4, s[4], out + 64);
                six_bits(l + 32, u, 4, 6, s[6], out + 96);
            }
        }
    }
}
