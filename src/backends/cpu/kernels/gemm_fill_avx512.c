/* gemm_fill_avx512.c - see gemm_fill.h. */
#include "gemm_blocks_avx512.h"
#include "gemm_fill.h"
#include "gemm_turn_avx512.h"
#include <immintrin.h>
#include <string.h>

static inline const uint8_t *at(const asc_gemm_job *job, int64_t elem) {
    const asc_dtype_info *info = asc_dtype_of(job->t);
    return job->w + elem / info->block_elems * info->block_bytes;
}

/* Where the vector of columns 16 v .. 16 v + 15 of row k of a panel goes. */
static inline float *place(float *out, int64_t depth, int64_t k, int64_t v) {
    return out + v / 3 * 48 * depth + k * 48 + v % 3 * 16;
}

/* Row-major W: a row's stretch is expanded from the block it begins in, then dealt to the slabs. */
static void fill_rows(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                      float *out, float *tmp) {
    const int64_t block = asc_dtype_of(job->t)->block_elems, from = n0 / block * block, skip = n0 - from;
    const int64_t len = (n0 + width - from + block - 1) / block * block;
    for (int64_t k = 0; k < depth; k++) {
        const float *row = (const float *)(const void *)at(job, (k0 + k) * job->n + n0);
        if (job->t != ASC_DTYPE_F32) {
            job->expand(at(job, (k0 + k) * job->n + from), tmp, len);
            row = tmp + skip;
        }
        for (int64_t j = 0; j < width; j += 48) {
            float *to = out + j * depth + k * 48;
            for (int64_t v = 0; v < 48; v += 16) {
                const int64_t left = width - j - v;
                const __mmask16 mask = (__mmask16)(left >= 16 ? 0xFFFF : left <= 0 ? 0 : (1 << left) - 1);
                _mm512_storeu_ps(to + v, _mm512_maskz_loadu_ps(mask, row + j + v));
            }
        }
    }
}

/* W stored by columns of the product: 16 of its rows at a time are expanded, a run of each, and transposed.
 */
static void fill_columns(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                         float *out, float *tmp) {
    const int64_t stride = ASC_GEMM_RUN + 16;
    for (int64_t n = 0; n < width; n += 16) {
        float *to = place(out, depth, 0, n / 16);
        for (int64_t q = 0; q < depth; q += ASC_GEMM_RUN) {
            const int64_t len = depth - q < ASC_GEMM_RUN ? depth - q : ASC_GEMM_RUN;
            if (job->t == ASC_DTYPE_F32 && n + 16 <= width && len % 16 == 0) { /* nothing to expand */
                const float *rows = (const float *)(const void *)at(job, (n0 + n) * job->k + k0 + q);
                for (int64_t k = 0; k < len; k += 16)
                    transpose16(rows + k, job->k, to + ASC_GEMM_SLAB * (q + k), 16);
                continue;
            }
            for (int64_t r = 0; r < 16; r++) {
                if (n + r < width) {
                    job->expand(at(job, (n0 + n + r) * job->k + k0 + q), tmp + r * stride, len);
                } else {
                    memset(tmp + r * stride, 0, (size_t)len * sizeof(float));
                }
            }
            for (int64_t k = 0; k < len; k += 16)
                transpose16(tmp + k, stride, to + ASC_GEMM_SLAB * (q + k), len - k);
        }
    }
}

/* [k,n] in nibbles or bytes, from a block border to a block border. */
static inline void fill_row_blocks(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0,
                                   int64_t width, float *out, const asc_dtype t) {
    const levels l = levels_of(t);
    const int64_t bytes = asc_dtype_of(t)->block_bytes;
    for (int64_t k = 0; k < depth; k++) {
        const uint8_t *p = at(job, (k0 + k) * job->n + n0);
        _mm_prefetch((const char *)at(job, (k0 + k + 8) * job->n + n0), _MM_HINT_T0);
        for (int64_t v = 0; v < width / 16; v += 2, p += bytes) {
            const __m128 scale = _mm_cvtph_ps(_mm_loadu_si32(p));
            const __m512 d = _mm512_broadcastss_ps(scale), m = _mm512_broadcastss_ps(_mm_movehdup_ps(scale));
            const __m128i q = _mm_loadu_si128((const void *)(p + l.header));
            if (t == ASC_DTYPE_Q8_0) {
                const __m128i q1 = _mm_loadu_si128((const void *)(p + 18));
                _mm512_storeu_ps(place(out, depth, k, v),
                                 _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q))));
                _mm512_storeu_ps(place(out, depth, k, v + 1),
                                 _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q1))));
            } else {
                const __m512i index = _mm512_cvtepu8_epi32(q);
                _mm512_storeu_ps(place(out, depth, k, v), level(&l, index, d, m));
                _mm512_storeu_ps(place(out, depth, k, v + 1), level(&l, _mm512_srli_epi32(index, 4), d, m));
            }
        }
    }
}

/* [n,k]: 16 rows times one block, transposed as bytes. */
static inline void column_block(const uint8_t *p, int64_t stride, float *to, const asc_dtype t,
                                const levels *l) {
    __m512 d, m;
    block_scales(p, stride, &d, &m);
    for (int half = 0; half < (t == ASC_DTYPE_Q8_0 ? 2 : 1); half++) {
        __m512i w[4];
        transpose_words(p + l->header + 16 * half, stride, w);
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) {
#pragma GCC unroll 4
            for (int b = 0; b < 4; b++) {
                float *at_k = to + (4 * c + b) * 48;
                if (t == ASC_DTYPE_Q8_0) {
                    const __m512i q = _mm512_srai_epi32(_mm512_slli_epi32(w[c], (unsigned)(24 - 8 * b)), 24);
                    _mm512_storeu_ps(at_k + half * 16 * 48, _mm512_mul_ps(d, _mm512_cvtepi32_ps(q)));
                } else {
                    const __m512i low = _mm512_srli_epi32(w[c], (unsigned)(8 * b));
                    const __m512i high = _mm512_srli_epi32(w[c], (unsigned)(8 * b + 4));
                    _mm512_storeu_ps(at_k, level(l, low, d, m));
                    _mm512_storeu_ps(at_k + 16 * 48, level(l, high, d, m));
                }
            }
        }
    }
}

static inline void fill_column_blocks(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0,
                                      int64_t width, float *out, const asc_dtype t) {
    const levels l = levels_of(t);
    const int64_t bytes = asc_dtype_of(t)->block_bytes, stride = job->k / 32 * bytes;
    for (int64_t n = 0; n < width; n += 16) {
        const uint8_t *p = at(job, (n0 + n) * job->k + k0);
        float *to = place(out, depth, 0, n / 16);
        for (int64_t k = 0; k < depth; k += 32, p += bytes) column_block(p, stride, to + k * 48, t, &l);
    }
}

#define FILL_BLOCKS(name, body, type)                                                                        \
    static void name(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,          \
                     float *out) {                                                                           \
        body(job, k0, depth, n0, width, out, type);                                                          \
    }
FILL_BLOCKS(rows_q4_0, fill_row_blocks, ASC_DTYPE_Q4_0)
FILL_BLOCKS(rows_q4_1, fill_row_blocks, ASC_DTYPE_Q4_1)
FILL_BLOCKS(rows_q8_0, fill_row_blocks, ASC_DTYPE_Q8_0)
FILL_BLOCKS(columns_q4_0, fill_column_blocks, ASC_DTYPE_Q4_0)
FILL_BLOCKS(columns_q4_1, fill_column_blocks, ASC_DTYPE_Q4_1)
FILL_BLOCKS(columns_q8_0, fill_column_blocks, ASC_DTYPE_Q8_0)

void asc_gemm_fill_avx512(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                          float *out, float *tmp) {
    const int fast = job->t == ASC_DTYPE_Q4_0   ? 0
                     : job->t == ASC_DTYPE_Q4_1 ? 1
                     : job->t == ASC_DTYPE_Q8_0 ? 2
                                                : -1;
    static void (*const rows[])(const asc_gemm_job *, int64_t, int64_t, int64_t, int64_t,
                                float *) = {rows_q4_0, rows_q4_1, rows_q8_0};
    static void (*const cols[])(const asc_gemm_job *, int64_t, int64_t, int64_t, int64_t,
                                float *) = {columns_q4_0, columns_q4_1, columns_q8_0};
    if (job->tb && fast >= 0 && width % 16 == 0 && job->k < INT32_MAX / 16) {
        cols[fast](job, k0, depth, n0, width, out);
    } else if (job->tb) {
        fill_columns(job, k0, depth, n0, width, out, tmp);
    } else if (fast >= 0 && n0 % 32 == 0 && width % 32 == 0) {
        rows[fast](job, k0, depth, n0, width, out);
    } else {
        fill_rows(job, k0, depth, n0, width, out, tmp);
    }
}
