/* quant.h - for the implementation of dtype.h only: one expansion function per storage type, the
 * little-endian loads they share, and the grids of the vector-quantised formats.
 *
 * All products here are exact in f32: a scale has 11 significant bits, a sub-block scale and a quant together
 * at most 13. Only the addition of a block minimum rounds. So neither the order of the factors nor fused
 * multiply-add changes a bit, and fast kernels may be compared with these for equality. */
#ifndef ASC_QUANT_H
#define ASC_QUANT_H

#include "dtype.h"
#include "half.h"

static inline uint16_t asc_load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t asc_load_u32(const uint8_t *p) {
    return (uint32_t)asc_load_u16(p) | (uint32_t)asc_load_u16(p + 2) << 16;
}
/* A block's scale. Nearly always a normal number: a branch that is predicted beats the branch-free
 * conversion. */
static inline float asc_load_f16(const uint8_t *p) {
    uint32_t h = asc_load_u16(p), exp = h & 0x7C00u;
    if (exp - 0x0400u < 0x7800u)
        return asc_f32_of_bits((h & 0x8000u) << 16 | ((h & 0x7FFFu) + 0x1C000u) << 13);
    return asc_f16_to_f32((uint16_t)h);
}

/* One byte for each bit of b, bit 0 first in memory: 0x80 where the bit is set, else 0. No byte carries into
 * the next. */
static inline uint64_t asc_bits_to_bytes(unsigned b) {
    uint64_t spread = ((b & 255u) * 0x0101010101010101u) & 0x8040201008040201u;
    return (spread + 0x7F7F7F7F7F7F7F7Fu) & 0x8080808080808080u;
}

/* Every function: expands n elements (n a multiple of the type's block) from src to dst, without
 * overlap. */
#define ASC_EXPAND(type) void asc_expand_##type(const void *restrict src, float *restrict dst, int64_t n)

/* X(enumerator, suffix of the function): the types that can be expanded. */
/* clang-format off */
#define ASC_EXPAND_TABLE(X)                                                                     \
    X(F32, f32) X(F16, f16) X(BF16, bf16) X(Q4_0, q4_0) X(Q4_1, q4_1)                           \
    X(Q5_0, q5_0) X(Q5_1, q5_1) X(Q8_0, q8_0) X(Q2_K, q2_k) X(Q3_K, q3_k)                       \
    X(Q4_K, q4_k) X(Q5_K, q5_k) X(Q6_K, q6_k) X(IQ2_XXS, iq2_xxs) X(IQ2_XS, iq2_xs)             \
    X(IQ2_S, iq2_s) X(IQ3_XXS, iq3_xxs) X(IQ3_S, iq3_s) X(IQ1_S, iq1_s) X(IQ1_M, iq1_m)         \
    X(IQ4_NL, iq4_nl) X(IQ4_XS, iq4_xs) X(TQ1_0, tq1_0) X(TQ2_0, tq2_0) X(MXFP4, mxfp4)         \
    X(NVFP4, nvfp4)
/* clang-format on */

#define ASC_EXPAND_DECLARE(e, type) ASC_EXPAND(type);
ASC_EXPAND_TABLE(ASC_EXPAND_DECLARE)
#undef ASC_EXPAND_DECLARE

/* Grids: each entry is one vector of small levels, packed from the low bits up (8 of 2 bits, or 4 of 3). */
extern const uint16_t asc_grid_iq2_xxs[256];
extern const uint16_t asc_grid_iq2_xs[512];
extern const uint16_t asc_grid_iq2_s[1024];
extern const uint16_t asc_grid_iq1[2048];
extern const uint16_t asc_grid_iq3_xxs[256];
extern const uint16_t asc_grid_iq3_s[512];

#endif
