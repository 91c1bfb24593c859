/* quant.h - for the implementation of dtype.h only: one expansion function per storage type, the little-endian
 * loads they share, and the grids of the vector-quantised formats.
 *
 * All products here are exact in f32: a scale has 11 significant bits, a sub-block scale and a quant together at
 * most 13. Only the addition of a block minimum rounds. So neither the order of the factors nor fused
 * multiply-add changes a bit, and fast kernels may be compared with these for equality. */
#ifndef ASC_QUANT_H
#define ASC_QUANT_H

#include "dtype.h"
#include "half.h"

static inline uint16_t asc_load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t asc_load_u32(const uint8_t *p) {
    return (uint32_t)asc_load_u16(p) | (uint32_t)asc_load_u16(p + 2) << 16;
}
static inline float asc_load_f16(const uint8_t *p) { return asc_f16_to_f32(asc_load_u16(p)); }

/* Every function: expands n elements (n a multiple of the type's block) from src to dst; the two do not overlap. */
#define ASC_EXPAND(type) void asc_expand_##type(const void *restrict src, float *restrict dst, int64_t n)
ASC_EXPAND(f32);
ASC_EXPAND(f16);
ASC_EXPAND(bf16);
ASC_EXPAND(q4_0);
ASC_EXPAND(q4_1);
ASC_EXPAND(q5_0);
ASC_EXPAND(q5_1);
ASC_EXPAND(q8_0);
ASC_EXPAND(q2_k);
ASC_EXPAND(q3_k);
ASC_EXPAND(q4_k);
ASC_EXPAND(q5_k);
ASC_EXPAND(q6_k);
ASC_EXPAND(iq2_xxs);
ASC_EXPAND(iq2_xs);
ASC_EXPAND(iq2_s);
ASC_EXPAND(iq3_xxs);
ASC_EXPAND(iq3_s);
ASC_EXPAND(iq1_s);
ASC_EXPAND(iq1_m);
ASC_EXPAND(iq4_nl);
ASC_EXPAND(iq4_xs);
ASC_EXPAND(tq1_0);
ASC_EXPAND(tq2_0);
ASC_EXPAND(mxfp4);
ASC_EXPAND(nvfp4);

/* Grids: each entry is one vector of small levels, packed from the low bits up (8 levels of 2 bits, or 4 of 3). */
extern const uint16_t asc_grid_iq2_xxs[256];
extern const uint16_t asc_grid_iq2_xs[512];
extern const uint16_t asc_grid_iq2_s[1024];
extern const uint16_t asc_grid_iq1[2048];
extern const uint16_t asc_grid_iq3_xxs[256];
extern const uint16_t asc_grid_iq3_s[512];

#endif
