/* gemv_avx512.c - y = a W^T for one to four rows of a: generation. Bound by the reading of W, so W is used as
 * it is stored: a weight lives in registers only, with the bits of its expansion, and meets f32 activations.
 *
 * A row of W is one pair of sums of 16 lanes (elements 0-15 and 16-31 of each 32), reduced at its end in a
 * fixed order: bits depend neither on the other rows of a nor on threads. Nibbles pick their weight from the
 * 16 possible ones of the block, d * level + m, made by one instruction; the look-up uses only the low four
 * bits of an index. */
#include "expand.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <immintrin.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { MAX_ROWS = 4, SEGMENT = 512 };

/* acc[i][0..1] += 32 weights times 32 activations of each row i. */
#define DOT32(w0, w1, at)                                                                                    \
    do {                                                                                                     \
        const float *xk = x + (at);                                                                          \
        _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) {                                             \
            acc[i][0] = _mm512_fmadd_ps(w0, _mm512_loadu_ps(xk + i * ldx), acc[i][0]);                       \
            acc[i][1] = _mm512_fmadd_ps(w1, _mm512_loadu_ps(xk + i * ldx + 16), acc[i][1]);                  \
        }                                                                                                    \
    } while (0)

/* The f16 pairs at the head of up to 16 blocks that are `bytes` apart, as f32. */
ALWAYS_INLINE void scales16(const uint8_t *p, int bytes, int64_t n, float d[16], float m[16]) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 mask = (__mmask16)(n >= 16 ? 0xFFFF : (1 << n) - 1);
    const __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32(bytes));
    const __m512i pair = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, at, (const void *)p, 1);
    _mm512_store_ps(d, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pair)));
    if (m != NULL) _mm512_store_ps(m, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pair, 16))));
}

ALWAYS_INLINE void dot_nibbles(const uint8_t *p, int64_t k, const float *x, int64_t ldx, const int rows,
                               __m512 acc[MAX_ROWS][2], const bool has_min) {
    const __m512 count = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 levels = has_min ? count : _mm512_sub_ps(count, _mm512_set1_ps(8));
    const int bytes = has_min ? 20 : 18, head = has_min ? 4 : 2;
    _Alignas(64) float d[16], m[16];
    for (int64_t b0 = 0; b0 < k / 32; b0 += 16) {
        const int64_t n = k / 32 - b0 < 16 ? k / 32 - b0 : 16;
        scales16(p, bytes, n, d, has_min ? m : NULL);
        _mm_prefetch((const char *)p + 2048, _MM_HINT_T0);
        _mm_prefetch((const char *)p + 2112, _MM_HINT_T0);
        _mm_prefetch((const char *)p + 2176, _MM_HINT_T0);
        _mm_prefetch((const char *)p + 2240, _MM_HINT_T0);
        _mm_prefetch((const char *)p + 2304, _MM_HINT_T0);
        for (int64_t b = 0; b < n; b++, p += bytes) {
            const __m512 scale = _mm512_set1_ps(d[b]);
            const __m512 table =
                has_min ? _mm512_fmadd_ps(levels, scale, _mm512_set1_ps(m[b])) : _mm512_mul_ps(levels, scale);
            const __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p + head)));
            const __m512 w0 = _mm512_permutexvar_ps(q, table);
            const __m512 w1 = _mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), table);
            DOT32(w0, w1, (b0 + b) * 32);
        }
    }
}

ALWAYS_INLINE void dot_q4_0(const uint8_t *p, int64_t k, const float *x, int64_t ldx, const int rows,
                            __m512 acc[MAX_ROWS][2]) {
    dot_nibbles(p, k, x, ldx, rows, acc, false);
}

ALWAYS_INLINE void dot_q4_1(const uint8_t *p, int64_t k, const float *x, int64_t ldx, const int rows,
                            __m512 acc[MAX_ROWS][2]) {
    dot_nibbles(p, k, x, ldx, rows, acc, true);
}

ALWAYS_INLINE void dot_q8_0(const uint8_t *p, int64_t k, const float *x, int64_t ldx, const int rows,
                            __m512 acc[MAX_ROWS][2]) {
    _Alignas(64) float d[16];
    for (int64_t b0 = 0; b0 < k / 32; b0 += 16) {
        const int64_t n = k / 32 - b0 < 16 ? k / 32 - b0 : 16;
        scales16(p, 34, n, d, NULL);
        for (int64_t b = 0; b < n; b++, p += 34) {
            _mm_prefetch((const char *)p + 2048, _MM_HINT_T0);
            const __m512 scale = _mm512_set1_ps(d[b]);
            const __m512i q0 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p + 2)));
            const __m512i q1 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p + 18)));
            const __m512 w0 = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(q0));
            const __m512 w1 = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(q1));
            DOT32(w0, w1, (b0 + b) * 32);
        }
    }
}

/* Element types: also the odd tail, lanes behind the end being 0 on both sides. */
#define DOT_PLAIN(name, bytes, full, part)                                                                   \
    ALWAYS_INLINE void name(const uint8_t *p, int64_t k, const float *x, int64_t ldx, const int rows,        \
                            __m512 acc[MAX_ROWS][2]) {                                                       \
        int64_t q = 0;                                                                                       \
        for (; q + 32 <= k; q += 32) {                                                                       \
            const __m512 w0 = full(p + q * bytes), w1 = full(p + (q + 16) * bytes);                          \
            DOT32(w0, w1, q);                                                                                \
        }                                                                                                    \
        if (q == k) return;                                                                                  \
        const uint32_t lanes = (1u << (k - q)) - 1;                                                          \
        const __mmask16 m0 = (__mmask16)lanes, m1 = (__mmask16)(lanes >> 16);                                \
        const __m512 w0 = part(m0, p + q * bytes), w1 = part(m1, p + (q + 16) * bytes);                      \
        _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) {                                             \
            const float *xk = x + i * ldx + q;                                                               \
            acc[i][0] = _mm512_fmadd_ps(w0, _mm512_maskz_loadu_ps(m0, xk), acc[i][0]);                       \
            acc[i][1] = _mm512_fmadd_ps(w1, _mm512_maskz_loadu_ps(m1, xk + 16), acc[i][1]);                  \
        }                                                                                                    \
    }

ALWAYS_INLINE __m512 full_f32(const uint8_t *p) { return _mm512_loadu_ps((const void *)p); }
ALWAYS_INLINE __m512 part_f32(__mmask16 m, const uint8_t *p) {
    return _mm512_maskz_loadu_ps(m, (const void *)p);
}
ALWAYS_INLINE __m512 full_f16(const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
ALWAYS_INLINE __m512 part_f16(__mmask16 m, const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, (const void *)p));
}
ALWAYS_INLINE __m512 part_bf16(__mmask16 m, const uint8_t *p) {
    const __m512i half = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, (const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(half, 16));
}
ALWAYS_INLINE __m512 full_bf16(const uint8_t *p) {
    const __m512i half = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(half, 16));
}
DOT_PLAIN(dot_f32, 4, full_f32, part_f32)
DOT_PLAIN(dot_f16, 2, full_f16, part_f16)
DOT_PLAIN(dot_bf16, 2, full_bf16, part_bf16)

typedef struct gemv_job {
    const float *x; /* [rows, k] */
    float *y;       /* [rows, n] */
    int64_t n, k;
    const uint8_t *w;
    int64_t row_bytes;
    asc_dtype t;
    asc_expand_fn expand;
} gemv_job;

#define GEMV(type, count)                                                                                    \
    static void gemv_##type##_##count(const gemv_job *j, int64_t n0, int64_t n1) {                           \
        const float *x = j->x;                                                                               \
        const int64_t k = j->k;                                                                              \
        for (int64_t n = n0; n < n1; n++) {                                                                  \
            __m512 acc[MAX_ROWS][2];                                                                         \
            for (int i = 0; i < count; i++) acc[i][0] = acc[i][1] = _mm512_setzero_ps();                     \
            dot_##type(j->w + n * j->row_bytes, k, x, k, count, acc);                                        \
            for (int i = 0; i < count; i++)                                                                  \
                j->y[i * j->n + n] = _mm512_reduce_add_ps(_mm512_add_ps(acc[i][0], acc[i][1]));              \
        }                                                                                                    \
    }
#define GEMVS(type) GEMV(type, 1) GEMV(type, 2) GEMV(type, 3) GEMV(type, 4)
GEMVS(q4_0)
GEMVS(q4_1)
GEMVS(q8_0)
GEMVS(f32)
GEMVS(f16)
GEMVS(bf16)

/* Any other type: a stretch of a row at a time is expanded to the L1 cache. */
static void gemv_other(const gemv_job *j, int64_t n0, int64_t n1, int rows) {
    const asc_dtype_info *info = asc_dtype_of(j->t);
    _Alignas(64) float w[SEGMENT];
    for (int64_t n = n0; n < n1; n++) {
        __m512 acc[MAX_ROWS][2];
        for (int i = 0; i < MAX_ROWS; i++) acc[i][0] = acc[i][1] = _mm512_setzero_ps();
        for (int64_t q = 0; q < j->k; q += SEGMENT) {
            const int64_t len = j->k - q < SEGMENT ? j->k - q : SEGMENT;
            j->expand(j->w + n * j->row_bytes + q / info->block_elems * info->block_bytes, w, len);
            dot_f32((const void *)w, len, j->x + q, j->k, rows, acc);
        }
        for (int i = 0; i < rows; i++)
            j->y[i * j->n + n] = _mm512_reduce_add_ps(_mm512_add_ps(acc[i][0], acc[i][1]));
    }
}

typedef void (*gemv_fn)(const gemv_job *j, int64_t n0, int64_t n1);

static gemv_fn pick(asc_dtype t, int rows) {
    switch (t) {
#define CASE(e, type)                                                                                        \
    case ASC_DTYPE_##e: {                                                                                    \
        static const gemv_fn fns[MAX_ROWS] = {gemv_##type##_1, gemv_##type##_2, gemv_##type##_3,             \
                                              gemv_##type##_4};                                              \
        return fns[rows - 1];                                                                                \
    }
        CASE(Q4_0, q4_0)
        CASE(Q4_1, q4_1)
        CASE(Q8_0, q8_0)
        CASE(F32, f32)
        CASE(F16, f16)
        CASE(BF16, bf16)
#undef CASE
    default:
        return NULL;
    }
}

static void run(const asc_kargs *args) {
    asc_matmul_shape s;
    asc_matmul_shape_of(args->call, &s);
    const asc_dtype t = args->call->in_dtype[1];
    const asc_dtype_info *info = asc_dtype_of(t);
#pragma omp parallel for num_threads(args->n_threads) schedule(static)
    for (int i = 0; i < args->n_threads; i++) {
        const int64_t n0 = s.n * i / args->n_threads, n1 = s.n * (i + 1) / args->n_threads;
        for (int64_t m = 0; m < s.m; m += MAX_ROWS) {
            const int rows = (int)(s.m - m < MAX_ROWS ? s.m - m : MAX_ROWS);
            gemv_job job = {.x = (const float *)args->in[0] + m * s.k,
                            .y = (float *)args->out + m * s.n,
                            .n = s.n,
                            .k = s.k,
                            .w = args->in[1],
                            .row_bytes = s.k / info->block_elems * info->block_bytes,
                            .t = t,
                            .expand = asc_expand_for(t, ASC_ISA_AVX512)};
            const gemv_fn fn = pick(t, rows);
            if (fn != NULL) {
                fn(&job, n0, n1);
            } else {
                gemv_other(&job, n0, n1, rows);
            }
        }
    }
}

static bool fits(const asc_call *c) {
    asc_matmul_shape s;
    if (asc_dtype_expand(c->in_dtype[1]) == NULL) return false;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.tb && s.batch == 1 && s.m <= 8;
}

const asc_kernel asc_kernel_gemv_avx512 = {
    .name = "gemv_avx512", .opcode = ASC_OPCODE_MATMUL, .isa = ASC_ISA_AVX512, .fits = fits, .run = run};
