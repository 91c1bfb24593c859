/* stored_panel.inl - stored weights [n,k] to tiles of their whole numbers q, in bf16, with the scales d and
 * the parts m that q does not have: w = d q + m. q is centred (a nibble is -8 .. 7), so that neither part is
 * much larger than the weight. Part of stored_gemm_amx.c. */
#include "gemm_blocks_avx512.h"
#include "quant.h"
#include "stored_walk.h"

enum { QUANTS = 32 }; /* weights of a block */

/* Nibbles: rows of a tile from the bytes of 16 columns; a byte holds the numbers of k = p and p + 16, which
 * are a pair. table: the 16 numbers in bf16, twice. */
ALWAYS_INLINE void nibble_tile(const __m512i words[4], __m512i table, uint16_t *out) {
    const __m512i both =
        _mm512_set1_epi64(0x2424202004040000); /* shifts: low and high nibble of byte 0 of two words */
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
#pragma GCC unroll 4
        for (int b = 0; b < 4; b++, out += 32) {
            const __m512i shifts = _mm512_add_epi8(both, _mm512_set1_epi8((char)(8 * b)));
            const __m512i index = _mm512_multishift_epi64_epi8(shifts, words[c]);
            _mm512_store_si512(out, _mm512_permutexvar_epi16(index, table)); /* looks at five bits of each */
        }
    }
}

/* Signed bytes: k = p in low, p + 16 in high. */
ALWAYS_INLINE void byte_tile(const __m512i low[4], const __m512i high[4], uint16_t *out) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
#pragma GCC unroll 4
        for (int b = 0; b < 4; b++, out += 32) {
            const unsigned up = (unsigned)(24 - 8 * b);
            const __m512 x = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(low[c], up), 24));
            const __m512 x2 = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(high[c], up), 24));
            const __m512i first = _mm512_srli_epi32((__m512i)x, 16); /* exact: 8 bits */
            _mm512_store_si512(out, _mm512_mask_blend_epi16(0xAAAAAAAA, first, (__m512i)x2));
        }
    }
}

static __m512i nibble_table(asc_dtype t) {
    static const int8_t iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    uint16_t table[32];
    for (int i = 0; i < 32; i++) {
        const float x = (float)(t == ASC_DTYPE_IQ4_NL ? iq4[i % 16] : i % 16 - 8);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        table[i] = (uint16_t)(bits >> 16);
    }
    return _mm512_loadu_si512(table);
}

/* Low nibbles, then high ones, each with a fifth bit from `fifth`, less 16. */
ALWAYS_INLINE void five_bits(const uint8_t *p, __m256i fifth, int8_t *q) {
    const __m128i x = _mm_loadu_si128((const void *)p);
    const __m256i both = _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(x, 4), x), _mm256_set1_epi8(15));
    _mm256_storeu_si256((void *)q, _mm256_sub_epi8(_mm256_or_si256(both, fifth), _mm256_set1_epi8(16)));
}

/* A block of Q5_0 or Q5_1: the bits of qh are those of the 32 numbers in turn. */
ALWAYS_INLINE void quants_5(const uint8_t *p, bool has_min, int8_t *q, float *d, float *m) {
    uint32_t bits;
    memcpy(&bits, p + (has_min ? 4 : 2), sizeof bits);
    *d = asc_load_f16(p);
    *m = has_min ? fmaf(16, *d, asc_load_f16(p + 2)) : 0;
    five_bits(p + (has_min ? 8 : 6), _mm256_maskz_set1_epi8(bits, 16), q);
}

/* Sub-block `sub` of Q4_K or Q5_K: 6 bits each of scale and minimum (quant_k.c). Each 32 bytes hold the low
 * nibbles of one sub-block and the high ones of the next; bit `sub` of 32 others is the fifth. */
ALWAYS_INLINE void quants_k(const uint8_t *p, int sub, bool five, int8_t *q, float *d, float *m) {
    const uint8_t *s = p + 4;
    const int i = sub % 4;
    const int scale = sub < 4 ? s[i] & 63 : (s[8 + i] & 15) | (s[i] >> 6) << 4;
    const int min = sub < 4 ? s[4 + i] & 63 : s[8 + i] >> 4 | (s[4 + i] >> 6) << 4;
    const float middle = five ? 16 : 8;
    *d = asc_load_f16(p) * (float)scale; /* exact: 17 bits */
    *m = fmaf(middle, *d, -(asc_load_f16(p + 2) * (float)min));
    const __m256i x = _mm256_loadu_si256((const void *)(p + (five ? 48 : 16) + sub / 2 * 32));
    __m256i v = _mm256_and_si256(sub % 2 != 0 ? _mm256_srli_epi16(x, 4) : x, _mm256_set1_epi8(15));
    if (five) {
        const __m256i high = _mm256_loadu_si256((const void *)(p + 16));
        const __mmask32 set = _mm256_test_epi8_mask(high, _mm256_set1_epi8((char)(1 << sub)));
        v = _mm256_or_si256(v, _mm256_maskz_set1_epi8(set, 16));
    }
    _mm256_storeu_si256((void *)q, _mm256_sub_epi8(v, _mm256_set1_epi8((char)middle)));
}

/* Block q of 16 columns, `stride` bytes apart: p is where its row of blocks begins. */
ALWAYS_INLINE void pack_block(const uint8_t *p, int64_t stride, int64_t q, const asc_dtype t, __m512i table,
                              uint16_t *tile, float *d, float *m) {
    __m512i low[4], high[4];
    if (t == ASC_DTYPE_Q4_0 || t == ASC_DTYPE_Q4_1 || t == ASC_DTYPE_IQ4_NL || t == ASC_DTYPE_Q8_0) {
        const int64_t header = t == ASC_DTYPE_Q4_1 ? 4 : 2;
        __m512 scale, min;
        p += q * asc_dtype_of(t)->block_bytes;
        block_scales(p, stride, &scale, &min);
        _mm512_store_ps(d, scale);
        if (t == ASC_DTYPE_Q4_1) _mm512_store_ps(m, _mm512_fmadd_ps(scale, _mm512_set1_ps(8), min));
        transpose_words(p + header, stride, low);
        if (t == ASC_DTYPE_Q8_0) {
            transpose_words(p + header + 16, stride, high);
            byte_tile(low, high, tile);
        } else {
            nibble_tile(low, table, tile);
        }
        return;
    }
    _Alignas(64) int8_t quants[16][QUANTS];
    for (int64_t c = 0; c < 16; c++, p += stride) {
        if (t == ASC_DTYPE_Q5_0 || t == ASC_DTYPE_Q5_1)
            quants_5(p + q * asc_dtype_of(t)->block_bytes, t == ASC_DTYPE_Q5_1, quants[c], d + c, m + c);
        else
            quants_k(p + q / 8 * asc_dtype_of(t)->block_bytes, (int)(q % 8), t == ASC_DTYPE_Q5_K, quants[c],
                     d + c, m + c);
    }
    transpose_words((const uint8_t *)quants[0], QUANTS, low);
    transpose_words((const uint8_t *)quants[0] + 16, QUANTS, high);
    byte_tile(low, high, tile);
}

/* m of 16 columns, a row for each block, to tiles of three pieces. */
static void pack_mins(const float *raw, int64_t sum_tiles, uint16_t *out) {
    for (int64_t s = 0; s < sum_tiles; s++, raw += 32 * 16, out += 3 * ASC_BF16_TILE)
        for (int64_t p = 0; p < 16; p++) split(raw + p * 16, raw + (p + 16) * 16, 3, out + 32 * p);
}

/* 16 columns from column n on; those that there are not count as 0. c: their place in the panel. */
ALWAYS_INLINE void pack_columns_of(const asc_stored_job *job, walk w, int64_t n, int64_t c,
                                   const asc_stored_scratch *s, const asc_dtype t) {
    const asc_gemm_job *g = &job->g;
    const asc_dtype_info *info = asc_dtype_of(t);
    const int64_t bytes = info->block_bytes, row = g->k / info->block_elems * bytes, left = g->n - n;
    const int64_t per_block = info->block_elems / QUANTS, a_line = 64 * per_block / bytes;
    const __m512i table = nibble_table(t);
    const uint8_t *p = g->w + n * row, *next = p + 16 * row;
    float none[16];
    for (w.n = c / 2; w.q < w.blocks; w.q++) {
        if (w.q == w.to) next_link(&w);
        const int64_t q = w.q, at = place_of(&w);
        uint16_t *tile = s->panel + (2 * at + c % 2) * ASC_BF16_TILE;
        float *d = s->scale + 32 * at + c % 2 * 16, *m = job->sum_tiles > 0 ? s->raw_mins + q * 16 : none;
        if (left >= 16) {
            /* Of 16 short stretches of rows the processor foresees nothing: those of the next 16 columns. */
            for (int64_t i = 0; q % a_line == 0 && i < 16; i++)
                __builtin_prefetch(next + i * row + q * bytes / per_block, 0, 2);
            pack_block(p, row, q, t, table, tile, d, m);
            continue;
        }
        uint8_t some[16 * 256]; /* the longest block is of 176 bytes */
        memset(some, 0, sizeof some);
        for (int64_t i = 0; i < left; i++)
            memcpy(some + i * 256, p + i * row + q / per_block * bytes, (size_t)bytes);
        pack_block(some, 256, q % per_block, t, table, tile, d, m);
    }
    if (job->sum_tiles > 0)
        pack_mins(s->raw_mins, job->sum_tiles, s->mins + c * job->sum_tiles * 3 * ASC_BF16_TILE);
}

#define PACK_COLUMNS(name, type)                                                                             \
    static void name(const asc_stored_job *job, walk w, int64_t n, int64_t c, const asc_stored_scratch *s) { \
        pack_columns_of(job, w, n, c, s, type);                                                              \
    }
PACK_COLUMNS(pack_q4_0, ASC_DTYPE_Q4_0)
PACK_COLUMNS(pack_q4_1, ASC_DTYPE_Q4_1)
PACK_COLUMNS(pack_q5_0, ASC_DTYPE_Q5_0)
PACK_COLUMNS(pack_q5_1, ASC_DTYPE_Q5_1)
PACK_COLUMNS(pack_q8_0, ASC_DTYPE_Q8_0)
PACK_COLUMNS(pack_iq4_nl, ASC_DTYPE_IQ4_NL)
PACK_COLUMNS(pack_q4_k, ASC_DTYPE_Q4_K)
PACK_COLUMNS(pack_q5_k, ASC_DTYPE_Q5_K)

/* Columns [n0, n0 + width). */
static void pack_panel(const asc_stored_job *job, int64_t n0, int64_t width, const asc_stored_scratch *s) {
    void (*pack)(const asc_stored_job *, walk, int64_t, int64_t, const asc_stored_scratch *) =
        job->g.t == ASC_DTYPE_Q4_0     ? pack_q4_0
        : job->g.t == ASC_DTYPE_Q4_1   ? pack_q4_1
        : job->g.t == ASC_DTYPE_Q5_0   ? pack_q5_0
        : job->g.t == ASC_DTYPE_Q5_1   ? pack_q5_1
        : job->g.t == ASC_DTYPE_Q8_0   ? pack_q8_0
        : job->g.t == ASC_DTYPE_IQ4_NL ? pack_iq4_nl
        : job->g.t == ASC_DTYPE_Q4_K   ? pack_q4_k
                                       : pack_q5_k;
    memset(s->raw_mins, 0, (size_t)(job->sum_tiles * 32 * 16) * sizeof(float));
    const walk w = walk_of(job->blocks, (width + 31) / 32);
    for (int64_t c = 0; c < 2 * w.columns; c++) pack(job, w, n0 + 16 * c, c, s);
}
