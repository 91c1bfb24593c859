/* bf16_blocks.inl - weights in Q4_0, Q4_1 and Q8_0 cut into pieces straight from their bytes, with AVX-512:
 * the numbers of gemm_fill_avx512.c without the way through memory. Part of bf16_gemm.inl. */
#include "gemm_blocks_avx512.h"

ALWAYS_INLINE const uint8_t *block_at(const asc_gemm_job *g, int64_t elem) {
    const asc_dtype_info *info = asc_dtype_of(g->t);
    return g->w + elem / info->block_elems * info->block_bytes;
}

/* [n,k]: the block at p of each of 16 rows, which are 16 columns of the product, to one tile for each piece.
 */
ALWAYS_INLINE void block_columns(const uint8_t *p, int64_t stride, const levels *l, const asc_dtype t,
                                 const int pieces, uint16_t *out) {
    __m512 d, m;
    __m512i w[2][4];
    block_scales(p, stride, &d, &m);
    transpose_words(p + l->header, stride, w[0]);
    if (t == ASC_DTYPE_Q8_0) transpose_words(p + l->header + 16, stride, w[1]);
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
#pragma GCC unroll 4
        for (int b = 0; b < 4; b++, out += 32) {
            vf x[2];
            if (t == ASC_DTYPE_Q8_0) {
                for (int i = 0; i < 2; i++) {
                    const __m512i q =
                        _mm512_srai_epi32(_mm512_slli_epi32(w[i][c], (unsigned)(24 - 8 * b)), 24);
                    x[i] = (vf)_mm512_mul_ps(d, _mm512_cvtepi32_ps(q));
                }
            } else {
                x[0] = (vf)level(l, _mm512_srli_epi32(w[0][c], (unsigned)(8 * b)), d, m);
                x[1] = (vf)level(l, _mm512_srli_epi32(w[0][c], (unsigned)(8 * b + 4)), d, m);
            }
            split_two(&x[0], &x[1], pieces, out);
        }
    }
}

/* The 32 values of a block in Q8_0, 16 and 16. */
ALWAYS_INLINE void block_values(const uint8_t *p, vf x[2]) {
    const __m512 d = _mm512_broadcastss_ps(_mm_cvtph_ps(_mm_loadu_si32(p)));
    const __m128i q = _mm_loadu_si128((const void *)(p + 2)), q1 = _mm_loadu_si128((const void *)(p + 18));
    x[0] = (vf)_mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q)));
    x[1] = (vf)_mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q1)));
}

/* The blocks at p and p2 of rows 16 apart, to one row of a tile for each piece and half. A nibble stands for
 * 16 values only, so these are cut, to tables of 16 pairs (word 2 i of the first block, 2 i + 1 of the
 * second), and a pair of columns is two look-ups in one permutation, which reads 5 bits of an index. */
ALWAYS_INLINE void block_pair(const uint8_t *p, const uint8_t *p2, const levels *l, const asc_dtype t,
                              const int pieces, uint16_t *out, uint16_t *out2) {
    if (t == ASC_DTYPE_Q8_0) {
        vf x[2], x2[2];
        block_values(p, x);
        block_values(p2, x2);
        split_two(&x[0], &x2[0], pieces, out);
        split_two(&x[1], &x2[1], pieces, out2);
        return;
    }
    const __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p + l->header)));
    const __m512i q2 = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p2 + l->header)));
    const __m512i both = _mm512_or_si512(q, _mm512_slli_epi32(q2, 16));
    const __m512i index[2] = {_mm512_slli_epi32(both, 1), _mm512_srli_epi32(both, 3)};
    const __m512i even = _mm512_set1_epi32(0x001E001E), second = _mm512_set1_epi32(0x00010000);
    const __m128 scale = _mm_cvtph_ps(_mm_loadu_si32(p)), scale2 = _mm_cvtph_ps(_mm_loadu_si32(p2));
    const __m512i all = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 d = _mm512_broadcastss_ps(scale), d2 = _mm512_broadcastss_ps(scale2);
    const vf x = (vf)level(l, all, d, _mm512_broadcastss_ps(_mm_movehdup_ps(scale)));
    const vf x2 = (vf)level(l, all, d2, _mm512_broadcastss_ps(_mm_movehdup_ps(scale2)));
    vu table[3];
    cut_two(&x, &x2, pieces, table);
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        const __m512i at = _mm512_ternarylogic_epi32(index[h], even, second, 0xEA); /* (a & b) | c */
#pragma GCC unroll 3
        for (int i = 0; i < pieces; i++)
            _mm512_storeu_si512((h ? out2 : out) + i * ASC_BF16_TILE,
                                _mm512_permutexvar_epi16(at, (__m512i)table[i]));
    }
}

/* The parts m of 16 blocks of Q4_1 whose quants are centred, w = d (q - 8) + m; only those of `some`. */
ALWAYS_INLINE vf block_mins(const uint8_t *p, __mmask16 some) {
    const __m512i at = _mm512_mullo_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(20));
    const __m512i both = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), some, at, (const void *)p, 1);
    const __m512 d = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
    const __m512 m = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(both, 16)));
    return (vf)_mm512_fmadd_ps(d, _mm512_set1_ps(8), m);
}

/* Those of rows k to k + 31, which are block q of the panel's `blocks`, to its tiles of m. */
static void pack_mins(const asc_bf16_job *job, int64_t k, int64_t n0, int64_t width, int64_t q,
                      int64_t blocks, uint16_t *out) {
    const asc_gemm_job *g = &job->g;
    for (int64_t n = 0; n < width; n += ASC_BF16_MIN_COLUMNS) {
        const int64_t left = (width - n) / 32;
        const __mmask16 some = (__mmask16)(left >= 16 ? 0xFFFF : (1 << left) - 1);
        uint16_t *tile = out + (n / ASC_BF16_MIN_COLUMNS * blocks + q) * 3 * ASC_BF16_TILE;
        for (int64_t i = 0; i < 16; i++, tile += 32) {
            const vf x = block_mins(block_at(g, (k + i) * g->n + n0 + n), some);
            const vf x2 = block_mins(block_at(g, (k + i + 16) * g->n + n0 + n), some);
            split_two(&x, &x2, 3, tile);
        }
    }
}

ALWAYS_INLINE void pack_blocks_of(const asc_bf16_job *job, int64_t k0, int64_t depth, int64_t n0,
                                  int64_t width, int64_t group, const asc_bf16_scratch *s, const asc_dtype t,
                                  const bool mins, const int pieces) {
    const asc_gemm_job *g = &job->g;
    uint16_t *panel = s->panel;
    levels l = levels_of(t);
    if (mins) {
        l.has_min = false;
        l.table = _mm512_sub_ps(l.table, _mm512_set1_ps(8));
    }
    const int64_t bytes = asc_dtype_of(t)->block_bytes, tile = pieces * ASC_BF16_TILE;
    if (g->tb) {
        for (int64_t n = 0; n < width; n += 16) {
            const int64_t row = g->k / 32 * bytes;
            const uint8_t *p = block_at(g, (n0 + n) * g->k + k0);
            /* Of 16 short stretches of rows the processor foresees nothing: those of the next 16 columns are
             * fetched on the way, a line for every three blocks. */
            const uint8_t *next = p + 16 * row;
            for (int64_t q = 0; q < depth / 32; q++, p += bytes) {
                for (int64_t i = 0; q % 3 == 0 && i < 16; i++)
                    __builtin_prefetch(next + i * row + q * bytes, 0, 2);
                block_columns(p, row, &l, t, pieces, panel + n / 16 * group + q * tile);
            }
        }
        return;
    }
    for (int64_t q = 0; q < depth / 32; q++) {
        for (int64_t i = 0; i < 16; i++) {
            const uint8_t *p = block_at(g, (k0 + 32 * q + i) * g->n + n0);
            const uint8_t *p2 = block_at(g, (k0 + 32 * q + i + 16) * g->n + n0);
            uint16_t *out = panel + q * tile + 32 * i;
            for (int64_t b = 0; b < width / 32 * bytes + 63; b += 64) { /* the next 32 rows */
                __builtin_prefetch(p + g->n * bytes + b, 0, 2);
                __builtin_prefetch(p2 + g->n * bytes + b, 0, 2);
            }
            for (int64_t n = 0; n < width; n += 32, p += bytes, p2 += bytes, out += 2 * group)
                block_pair(p, p2, &l, t, pieces, out, out + group);
        }
        if (mins) pack_mins(job, k0 + 32 * q, n0, width, q, depth / 32, s->mins);
    }
}

#define PACK_BLOCKS(name, type)                                                                              \
    static void name(const asc_bf16_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,          \
                     int64_t group, const asc_bf16_scratch *s) {                                             \
        if (job->right == 3)                                                                                 \
            pack_blocks_of(job, k0, depth, n0, width, group, s, type, false, 3);                             \
        else if (job->right == 2)                                                                            \
            pack_blocks_of(job, k0, depth, n0, width, group, s, type, false, 2);                             \
        else                                                                                                 \
            pack_blocks_of(job, k0, depth, n0, width, group, s, type, false, 1);                             \
    }
PACK_BLOCKS(pack_q4_0, ASC_DTYPE_Q4_0)
PACK_BLOCKS(pack_q4_1, ASC_DTYPE_Q4_1)
PACK_BLOCKS(pack_q8_0, ASC_DTYPE_Q8_0)
/* Without m. */
static void pack_q4_1_apart(const asc_bf16_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                            int64_t group, const asc_bf16_scratch *s) {
    pack_blocks_of(job, k0, depth, n0, width, group, s, ASC_DTYPE_Q4_1, true, 2);
}

/* pack_panel for these formats; false: not this one, or cut across blocks. */
static bool pack_blocks(const asc_bf16_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                        int64_t group, const asc_bf16_scratch *s) {
    const bool whole = job->g.tb ? width % 16 == 0 && job->g.k < INT32_MAX / 16
                                 : depth % 32 == 0 && n0 % 32 == 0 && width % 32 == 0;
    if (!whole || job->int8) return false;
    if (job->g.t == ASC_DTYPE_Q4_0)
        pack_q4_0(job, k0, depth, n0, width, group, s);
    else if (job->g.t == ASC_DTYPE_Q4_1)
        (job->mins ? pack_q4_1_apart : pack_q4_1)(job, k0, depth, n0, width, group, s);
    else if (job->g.t == ASC_DTYPE_Q8_0)
        pack_q8_0(job, k0, depth, n0, width, group, s);
    else
        return false;
    return true;
}
