/* half.h - the two 16-bit float formats, converted exactly and without branches that stop vectorisation.
 * f16: IEEE 754 binary16 (1 sign, 5 exponent, 10 fraction bits); bf16: the upper half of a binary32.
 * Subnormals, infinities and NaN payloads survive; narrowing rounds to nearest, ties to even. */
#ifndef ASC_HALF_H
#define ASC_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t asc_f32_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float asc_f32_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Both the normal and the subnormal result are computed and one is picked, so that a loop of these has no
 * branch. No intermediate is a binary32 subnormal: those are slow, and lost where the CPU flushes them. */
static inline float asc_f16_to_f32(uint16_t h) {
    const int32_t one_exp = 1 << 23, top = 31 << 23;
    int32_t mag = (int32_t)(h & 0x7FFFu) << 13; /* exponent and fraction in their binary32 places */
    int32_t normal = mag + 112 * one_exp;       /* bias 15 -> 127 */
    normal += mag >= top ? 112 * one_exp : 0;   /* infinity and NaN: exponent 255 */
    /* (1 + m) 2^-14 - 2^-14 = m 2^-14 */
    float sub = asc_f32_of_bits((uint32_t)(mag + 113 * one_exp)) - 0x1p-14f;
    uint32_t is_sub = (uint32_t)((mag - one_exp) >> 31); /* all ones below the first normal */
    uint32_t bits = (asc_f32_bits(sub) & is_sub) | ((uint32_t)normal & ~is_sub);
    return asc_f32_of_bits(bits | (uint32_t)(h & 0x8000u) << 16);
}

static inline uint16_t asc_f32_to_f16(float f) {
    uint32_t bits = asc_f32_bits(f), sign = (bits >> 16) & 0x8000u, a = bits & 0x7FFFFFFFu, h;
    if (a > 0x7F800000u) {
        h = 0x7E00u | ((a >> 13) & 0x3FFu); /* a quiet NaN with the upper payload bits */
    } else if (a >= 0x477FF000u) {
        h = 0x7C00u; /* 65520 and above round to infinity */
    } else if (a < 0x38800000u) {
        /* Below 2^-14: 0.5, whose last bit is worth 2^-24, makes the FPU round to a multiple of that. */
        h = asc_f32_bits(asc_f32_of_bits(a) + 0.5f) - 0x3F000000u;
    } else {
        h = (a - (112u << 23) + 0xFFFu + ((a >> 13) & 1u)) >> 13;
    }
    return (uint16_t)(h | sign);
}

static inline float asc_bf16_to_f32(uint16_t h) { return asc_f32_of_bits((uint32_t)h << 16); }

static inline uint16_t asc_f32_to_bf16(float f) {
    uint32_t bits = asc_f32_bits(f);
    /* NaN stays NaN, made quiet. */
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

#endif
