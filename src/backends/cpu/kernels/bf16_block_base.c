/* bf16_block_base.c - the tile instruction in plain C, the same bits (see bf16.h): slow, for comparison and
 * for processors without fused multiply-adds. A sum of two floats, or of a float and a product of two bf16,
 * that is rounded to double and then to float is rounded as if once (53 >= 2 * 24 + 2; Figueroa 1995). */
#include "bf16.h"
#include <math.h>
#include <string.h>

static inline unsigned int mode_enter(void) { return 0; }
static inline void mode_leave(unsigned int old) { (void)old; }

static inline float flush_in(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

/* x y + z, rounded once; results that are denormal after rounding are 0. */
static inline float fused(float x, float y, float z) {
    const double d = (double)x * (double)y + (double)z;
    const float s = (float)d;
    return fabs(d) < 0x1p-126 - 0x1p-151 ? copysignf(0, s) : s;
}

static inline float half_of(uint32_t pair, bool high) {
    const uint32_t bits = high ? pair & 0xFFFF0000u : pair << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return flush_in(x);
}

/* 16 x 16 results += one left times one right tile. */
static void tile(const uint16_t *a, const uint16_t *b, float *c) {
    uint32_t left[16 * 16], right[16 * 16];
    memcpy(left, a, sizeof left);
    memcpy(right, b, sizeof right);
    for (int r = 0; r < 16; r++) {
        float even[16] = {0}, odd[16] = {0};
        for (int p = 0; p < 16; p++) {
            const float x0 = half_of(left[16 * r + p], false), x1 = half_of(left[16 * r + p], true);
            for (int n = 0; n < 16; n++) {
                even[n] = fused(x0, half_of(right[16 * p + n], false), even[n]);
                odd[n] = fused(x1, half_of(right[16 * p + n], true), odd[n]);
            }
        }
        float *y = c + r * ASC_BF16_SIDE;
        for (int n = 0; n < 16; n++) y[n] = fused(1, y[n], fused(1, even[n], odd[n]));
    }
}

#include "bf16_block.inl"

const asc_bf16_ops asc_bf16_base = {
    nothing, nothing, {block_1, block_3, block_6, block_3_by_2, block_3_by_1}};
