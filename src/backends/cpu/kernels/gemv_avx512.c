/* gemv_avx512.c - y = a W^T for one to four rows of a: generation. Bound by the reading of W, so W is used as
 * it is stored: a weight lives in registers only, with the bits of its expansion, and meets f32 activations.
 *
 * A row of W is one pair of sums of 16 lanes (elements 0-15 and 16-31 of each 32), reduced at its end in a
 * fixed order: bits depend neither on the other rows of a nor on threads. Nibbles pick their weight from the
 * 16 possible ones of the block, d * level + m, made by one instruction; the look-up uses only the low four
 * bits of an index. */
#include "expand.h"
#include "flush.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <immintrin.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    MAX_ROWS = 4,
    SEGMENT = 512, /* weights expanded at a time */
    HEADS = 64,    /* block heads converted at a time: less than AHEAD holds, so that they are in the cache */
    AHEAD = 4096   /* bytes fetched before they are needed */
};

/* acc[i][0..1] += 32 weights times 32 activations of each row i. */
#define DOT32(w0, w1, at)                                                                                    \
    do {                                                                                                     \
        const float *xk = x + (at);                                                                          \
        _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) {                                             \
            acc[i][0] = _mm512_fmadd_ps(w0, _mm512_loadu_ps(xk + i * ldx), acc[i][0]);                       \
            acc[i][1] = _mm512_fmadd_ps(w1, _mm512_loadu_ps(xk + i * ldx + 16), acc[i][1]);                  \
        }                                                                                                    \
    } while (0)

typedef struct gemv_job {
    const float *x; /* [rows, k] */
    float *y;       /* [rows, n] */
    int64_t n, k;
    const uint8_t *w;
    int64_t row_bytes;
    asc_dtype t;
    asc_expand_fn expand;
} gemv_job;

/* Lane r of the result: sum of the lanes of v[r], as a tree that is the same for every row. */
ALWAYS_INLINE __m512 sums_of_16(const __m512 v[16]) {
    __m512 a[8], b[4], c[2];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                             _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
        b[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                             _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
    }
    for (int i = 0; i < 2;
         i++) /* 128-bit parts: rows 8 i .. 8 i + 3, twice, then 8 i + 4 .. 8 i + 7, twice */
        c[i] = _mm512_add_ps(_mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x88),
                             _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xDD));
    return _mm512_add_ps(_mm512_shuffle_f32x4(c[0], c[1], 0x88), _mm512_shuffle_f32x4(c[0], c[1], 0xDD));
}

/* What the heads of the next blocks hold, as f32. Rows follow each other in memory, so this does not stop at
 * their ends. */
typedef struct heads {
    float d[HEADS], m[HEADS];
    int64_t next, n; /* next one to use, number filled */
    int64_t left;    /* blocks not yet looked at */
} heads;

ALWAYS_INLINE void heads_refill(heads *h, const uint8_t *p, const int bytes, const bool has_min) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32(bytes));
    h->n = h->left < HEADS ? h->left : HEADS;
    h->left -= h->n;
    h->next = 0;
    for (int64_t b = 0; b < h->n; b += 16, p += 16 * bytes) {
        const __mmask16 mask = (__mmask16)(h->n - b >= 16 ? 0xFFFF : (1 << (h->n - b)) - 1);
        const __m512i pair =
            _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, at, (const void *)p, 1);
        _mm512_store_ps(h->d + b, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pair)));
        if (has_min)
            _mm512_store_ps(h->m + b, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pair, 16))));
    }
}

/* The 32 weights of the block at p. */
ALWAYS_INLINE void block_weights(const asc_dtype t, const uint8_t *p, const float *d, const float *m,
                                 __m512 levels, __m512 w[2]) {
    const __m512 scale = _mm512_set1_ps(*d);
    if (t == ASC_DTYPE_Q8_0) {
        const __m512i q0 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p + 2)));
        const __m512i q1 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p + 18)));
        w[0] = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(q0));
        w[1] = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(q1));
        return;
    }
    const bool has_min = t == ASC_DTYPE_Q4_1;
    const __m512 table =
        has_min ? _mm512_fmadd_ps(levels, scale, _mm512_set1_ps(*m)) : _mm512_mul_ps(levels, scale);
    const __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p + (has_min ? 4 : 2))));
    w[0] = _mm512_permutexvar_ps(q, table);
    w[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), table);
}

/* Rows [n0, n1) of W in blocks of 32 times `rows` rows of a; 16 results of each at a time. */
ALWAYS_INLINE void block_rows(const gemv_job *j, int64_t n0, int64_t n1, const int rows, const asc_dtype t) {
    const int bytes = t == ASC_DTYPE_Q8_0 ? 34 : t == ASC_DTYPE_Q4_1 ? 20 : 18;
    const int64_t n_blocks = j->k / 32, ldx = j->k;
    const uint8_t *p = j->w + n0 * j->row_bytes;
    __m512 levels = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (t == ASC_DTYPE_Q4_0) levels = _mm512_sub_ps(levels, _mm512_set1_ps(8));
    _Alignas(64) heads h;
    h.next = h.n = 0;
    h.left = (n1 - n0) * n_blocks;
    for (int64_t n = n0; n < n1; n += 16) {
        const int64_t group = n1 - n < 16 ? n1 - n : 16;
        __m512 sums[MAX_ROWS][16];
        if (group < 16) memset(sums, 0, sizeof sums);
        for (int64_t r = 0; r < group; r++) {
            const float *x = j->x;
            __m512 acc[MAX_ROWS][2];
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = _mm512_setzero_ps();
            for (int64_t b = 0; b < n_blocks;) {
                if (h.next == h.n) heads_refill(&h, p, bytes, t == ASC_DTYPE_Q4_1);
                const int64_t stretch = n_blocks - b < h.n - h.next ? n_blocks - b : h.n - h.next;
                const float *d = h.d + h.next, *m = h.m + h.next;
                for (int64_t s = 0; s < stretch; s++, p += bytes, x += 32) {
                    __m512 w[2];
                    _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
                    block_weights(t, p, d + s, m + s, levels, w);
                    DOT32(w[0], w[1], 0);
                }
                h.next += stretch;
                b += stretch;
            }
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) sums[i][r] = _mm512_add_ps(acc[i][0], acc[i][1]);
        }
        const __mmask16 mask = (__mmask16)(group == 16 ? 0xFFFF : (1 << group) - 1);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) _mm512_mask_storeu_ps(j->y + i * j->n + n, mask, sums_of_16(sums[i]));
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

#define GEMV_BLOCKS(type, e, count)                                                                          \
    static void gemv_##type##_##count(const gemv_job *j, int64_t n0, int64_t n1) {                           \
        block_rows(j, n0, n1, count, ASC_DTYPE_##e);                                                         \
    }
#define GEMV_PLAIN(type, e, count)                                                                           \
    static void gemv_##type##_##count(const gemv_job *j, int64_t n0, int64_t n1) {                           \
        for (int64_t n = n0; n < n1; n++) {                                                                  \
            __m512 acc[MAX_ROWS][2];                                                                         \
            for (int i = 0; i < count; i++) acc[i][0] = acc[i][1] = _mm512_setzero_ps();                     \
            dot_##type(j->w + n * j->row_bytes, j->k, j->x, j->k, count, acc);                               \
            for (int i = 0; i < count; i++)                                                                  \
                j->y[i * j->n + n] = _mm512_reduce_add_ps(_mm512_add_ps(acc[i][0], acc[i][1]));              \
        }                                                                                                    \
    }
#define GEMVS(kind, type, e) kind(type, e, 1) kind(type, e, 2) kind(type, e, 3) kind(type, e, 4)
GEMVS(GEMV_BLOCKS, q4_0, Q4_0)
GEMVS(GEMV_BLOCKS, q4_1, Q4_1)
GEMVS(GEMV_BLOCKS, q8_0, Q8_0)
GEMVS(GEMV_PLAIN, f32, F32)
GEMVS(GEMV_PLAIN, f16, F16)
GEMVS(GEMV_PLAIN, bf16, BF16)

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
        const unsigned int mode = asc_flush_enter();
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
        asc_flush_leave(mode);
    }
}

static bool fits(const asc_call *c) {
    asc_matmul_shape s;
    if (asc_dtype_expand(c->in_dtype[1]) == NULL) return false;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.tb && s.batch == 1 && s.m <= 8 && !c->many_rows;
}

const asc_kernel asc_kernel_gemv_avx512 = {
    .name = "gemv_avx512", .opcode = ASC_OPCODE_MATMUL, .isa = ASC_ISA_AVX512, .fits = fits, .run = run};
