/* gemv_amx.c - y = a W^T for one to eight rows of a and weights of 4 or 8 bits: generation, on processors
 * with tiles, which also multiply bytes (VPDPBUSD: 64 products an instruction, four of them summed exactly).
 *
 * A row of a is fixed-point once a call: 24 bits below the largest of each 32 elements, as three signed
 * bytes. Then sum q x of a block is exact in integers, and what rounds is one conversion and one addition per
 * four products, instead of one addition per product; what the 24 bits cost is in docs/SPEED.md. Levels are
 * counted from the middle (q - 8, q - 128), which makes the share of the block's minimum small.
 *
 * A result depends on its row of a and its row of W alone, so bits depend neither on threads nor on other
 * rows. Rows of a that do not fit fixed-point (infinite, not a number, next to the ends of f32's range) and
 * results that are not finite are left to gemv_avx512. */
#include "kernel.h"
#include "kutil.h"
#include "matmul_shape.h"
#include <immintrin.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    MAX_ROWS = 4,
    BITS = 23,           /* of a number without its sign */
    AHEAD = 4096,        /* bytes fetched before they are needed */
    PIECE_BYTES = 16384, /* of W */
    MOST_EXP = 64,       /* largest and smallest exponent of a block's largest element */
};

/* Four blocks of 4-bit weights meet this: pieces of elements 0-15 of each block, then those of 16-31. */
typedef struct four {
    int8_t piece[6][64];
    int32_t middle[16]; /* minus 8 times the sum of eight elements */
} four;

/* Two blocks of 8-bit weights. */
typedef struct two {
    int8_t piece[3][64];
    int32_t high[16], low[16]; /* minus 128 times the sums of the highest pieces, and of the others */
} two;

/* Rows of a that were made fixed-point. Where a row has blocks for half a group too many (18 of 576
 * elements), it comes twice in a row: two rows of W, which lie behind each other, meet it as if they were
 * one. */
typedef struct fixed_rows {
    uint8_t *groups;            /* of each row, four or two */
    float *unit, *sum;          /* of each block: what its numbers count, sum of its elements */
    int64_t group_bytes, lanes; /* of a row: bytes of groups, blocks rounded up */
    int64_t blocks;             /* of a row, or of the two */
    int pair;                   /* 2, else 1 */
} fixed_rows;

typedef struct gemv_job {
    fixed_rows x;
    float *y; /* [rows, n] */
    int64_t n, blocks;
    const uint8_t *w;
} gemv_job;

static int block_bytes(asc_dtype t) { return t == ASC_DTYPE_Q8_0 ? 34 : t == ASC_DTYPE_Q4_1 ? 20 : 18; }
static int64_t group_blocks(asc_dtype t) { return t == ASC_DTYPE_Q8_0 ? 2 : 4; }
static size_t group_bytes(asc_dtype t) { return t == ASC_DTYPE_Q8_0 ? sizeof(two) : sizeof(four); }

/* ---- sums of products ---- */

/* 16 sums of eight products, four of them with lo and four with hi; exact. */
ALWAYS_INLINE __m512i dots4(__m512i lo, __m512i hi, const four *x, __m512i middle) {
    const __m512i *p = (const void *)x->piece;
    __m512i s = _mm512_dpbusd_epi32(_mm512_setzero_si512(), lo, p[0]);
    s = _mm512_slli_epi32(_mm512_dpbusd_epi32(s, hi, p[3]), 8);
    s = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(s, lo, p[1]), hi, p[4]);
    middle = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(middle, lo, p[2]), hi, p[5]);
    return _mm512_add_epi32(_mm512_slli_epi32(s, 8), middle);
}

/* The same of four products with the highest pieces, and with the other two. */
ALWAYS_INLINE void dots8(__m512i q, const two *x, __m512i *high, __m512i *low) {
    const __m512i *p = (const void *)x->piece;
    *high = _mm512_dpbusd_epi32(*high, q, p[0]);
    __m512i s = _mm512_dpbusd_epi32(_mm512_setzero_si512(), q, p[1]);
    *low = _mm512_add_epi32(_mm512_slli_epi32(s, 8), _mm512_dpbusd_epi32(*low, q, p[2]));
}

/* ---- rows of a ---- */

ALWAYS_INLINE void put_pieces(__m512i v, int8_t *at) {
    const __m512i half = _mm512_set1_epi32(128);
    for (int i = 2; i >= 0; i--) {
        _mm_storeu_si128((void *)(at + i * 64), _mm512_cvtepi32_epi8(v));
        v = _mm512_srai_epi32(_mm512_add_epi32(v, half), 8);
    }
}

/* One block as numbers of 24 bits and their unit, a power of two. false = f32 only. */
static bool fix(const float *x, __m512i v[2], float *unit) {
    const __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(x + 16);
    const __m512i most =
        _mm512_max_epu32(_mm512_castps_si512(_mm512_abs_ps(a)), _mm512_castps_si512(_mm512_abs_ps(b)));
    /* As integers: infinities and not-a-numbers are larger than all others. Three signed bytes reach only
     * 0.996 of a power of two: what is nearer than that counts as the next one. */
    const uint32_t bits = _mm512_reduce_max_epu32(most);
    const int e = (int)((bits + 0x20000) >> 23) - 127;
    *unit = 0;
    v[0] = v[1] = _mm512_setzero_si512();
    if (bits == 0) return true;
    if (e > MOST_EXP || e < -MOST_EXP) return false;
    const uint32_t up = (uint32_t)(BITS - 1 - e + 127) << 23, down = (uint32_t)(e - BITS + 1 + 127) << 23;
    const __m512 scale = _mm512_castsi512_ps(_mm512_set1_epi32((int)up));
    memcpy(unit, &down, sizeof down);
    v[0] = _mm512_cvtps_epi32(_mm512_mul_ps(a, scale));
    v[1] = _mm512_cvtps_epi32(_mm512_mul_ps(b, scale));
    return true;
}

/* Row m of a; what its groups have no blocks for is 0. */
static bool fix_row(const float *x, asc_dtype t, const fixed_rows *r, int64_t m) {
    const int64_t per = group_blocks(t), n = (r->blocks + per - 1) / per, once = r->blocks / r->pair;
    uint8_t *groups = r->groups + m * r->group_bytes;
    float *units = r->unit + m * r->lanes, *sum = r->sum + m * r->lanes;
    four *f = (void *)groups;
    two *w = (void *)groups;
    memset(groups, 0, (size_t)r->group_bytes);
    memset(units, 0, (size_t)r->lanes * sizeof *units);
    memset(sum, 0, (size_t)r->lanes * sizeof *sum);
    for (int64_t b = 0; b < r->blocks; b++) {
        const int64_t g = b / per, at = b % per;
        __m512i v[2];
        if (!fix(x + b % once * 32, v, &units[b])) return false;
        sum[b] = (float)_mm512_reduce_add_epi32(_mm512_add_epi32(v[0], v[1])) * units[b];
        put_pieces(v[0], per == 4 ? f[g].piece[0] + 16 * at : w[g].piece[0] + 32 * at);
        put_pieces(v[1], per == 4 ? f[g].piece[3] + 16 * at : w[g].piece[0] + 32 * at + 16);
    }
    const __m512i zero = _mm512_setzero_si512(), eight = _mm512_set1_epi8(8), flip = _mm512_set1_epi8(-128);
    for (int64_t g = 0; g < n; g++) {
        if (per == 4) {
            _mm512_store_si512(f[g].middle, _mm512_sub_epi32(zero, dots4(eight, eight, &f[g], zero)));
        } else {
            __m512i high = zero, low = zero;
            dots8(flip, &w[g], &high, &low);
            _mm512_store_si512(w[g].high, _mm512_sub_epi32(zero, high));
            _mm512_store_si512(w[g].low, _mm512_sub_epi32(zero, low));
        }
    }
    return true;
}

/* ---- rows of W ---- */

/* Of 16 blocks: scales, and what their middle level stands for. */
typedef struct heads {
    __m512 d, m;
} heads;

/* The first 16 words of min(n, 4) blocks of 20 bytes. */
ALWAYS_INLINE __m512i four_words(const uint8_t *p, int64_t n) {
    if (n >= 4) return _mm512_loadu_si512(p);
    return _mm512_maskz_loadu_epi32((__mmask16)((1 << (5 * n)) - 1), p);
}

/* The first two bytes of n <= 16 blocks and the next two, as 16 numbers; those of no block are 0. */
ALWAYS_INLINE __m512i first_bytes(const uint8_t *p, int64_t n, const int bytes) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (bytes == 20) { /* blocks of five words: the first, sixth, eleventh, sixteenth of each 16 */
        const __m512i at =
            _mm512_mullo_epi32(_mm512_and_si512(lane, _mm512_set1_epi32(3)), _mm512_set1_epi32(5));
        __m512i v = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int64_t i = 0; i < n; i += 4) {
            const int lanes = n - i < 4 ? (1 << (n - i)) - 1 : 15;
            v = _mm512_mask_permutexvar_epi32(v, (__mmask16)(lanes << i), at,
                                              four_words(p + 5 * 4 * i, n - i));
        }
        return v;
    }
    const __mmask16 mask = (__mmask16)(n >= 16 ? 0xFFFF : (1 << n) - 1);
    const __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32(bytes));
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, at, (const void *)p, 1);
}

ALWAYS_INLINE heads read_heads(const uint8_t *p, int64_t n, const asc_dtype t) {
    const __m512i pair = first_bytes(p, n, t == ASC_DTYPE_Q8_0 ? 34 : t == ASC_DTYPE_Q4_1 ? 20 : 18);
    heads h = {.d = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pair)), .m = _mm512_setzero_ps()};
    if (t == ASC_DTYPE_Q4_1) {
        const __m512 m = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pair, 16)));
        h.m = _mm512_fmadd_ps(h.d, _mm512_set1_ps(8), m);
    }
    return h;
}

/* The nibbles of n <= 4 blocks, 16 bytes each. */
ALWAYS_INLINE __m512i bytes4(const uint8_t *p, int64_t n, const asc_dtype t) {
    if (t == ASC_DTYPE_Q4_1) {
        const __m512i pick = _mm512_setr_epi32(1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19);
        const __m512i a = four_words(p, n);
        const __m128i b = n == 4 ? _mm_loadu_si128((const void *)(p + 64)) : _mm_setzero_si128();
        return _mm512_permutex2var_epi32(a, pick, _mm512_castsi128_si512(b));
    }
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(p + 2)));
    if (n > 1) v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 20)), 1);
    if (n > 2) v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 38)), 2);
    if (n > 3) v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 56)), 3);
    return v;
}

/* Sums of one row of W with each row of a, and of the row behind it. */
typedef struct sums {
    __m512 now[MAX_ROWS], next[MAX_ROWS];
} sums;

/* Which of the two a chunk of 16 blocks belongs to. */
typedef enum side { NOW, BOTH, NEXT } side;

/* Lanes of `first` belong to now, the others to next. */
ALWAYS_INLINE void add(sums *s, const int i, __m512 a, __m512 b, const side to, __mmask16 first) {
    if (to == NOW) s->now[i] = _mm512_fmadd_ps(a, b, s->now[i]);
    if (to == NEXT) s->next[i] = _mm512_fmadd_ps(a, b, s->next[i]);
    if (to != BOTH) return;
    s->now[i] = _mm512_mask3_fmadd_ps(a, b, s->now[i], first);
    s->next[i] = _mm512_mask3_fmadd_ps(a, b, s->next[i], (__mmask16)~first);
}

/* 16 sums of n <= 4 blocks at p with a group, or of two blocks; as floats. */
ALWAYS_INLINE __m512 group4(__m512i lo, __m512i hi, const four *x) {
    return _mm512_cvtepi32_ps(dots4(lo, hi, x, _mm512_load_si512(x->middle)));
}
ALWAYS_INLINE __m512 group2(__m512i q, const two *x) {
    __m512i high = _mm512_load_si512(x->high), low = _mm512_load_si512(x->low);
    dots8(q, x, &high, &low);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(65536), _mm512_cvtepi32_ps(low));
}
ALWAYS_INLINE __m512i bytes2(const uint8_t *p, int64_t n) {
    __m512i q = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(p + 2)));
    if (n > 1) q = _mm512_inserti64x4(q, _mm256_loadu_si256((const void *)(p + 36)), 1);
    return _mm512_xor_si512(q, _mm512_set1_epi8(-128));
}

/* Adds n <= 16 blocks from p on, which are blocks b, b + 1, .. of the row, or of the two. */
ALWAYS_INLINE void add16(const gemv_job *j, const uint8_t *p, int64_t b, const int64_t n, const int rows,
                         const asc_dtype t, const side to, sums *s) {
    const int64_t per = t == ASC_DTYPE_Q8_0 ? 2 : 4;
    const int64_t bytes = t == ASC_DTYPE_Q8_0 ? 34 : t == ASC_DTYPE_Q4_1 ? 20 : 18;
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i low = _mm512_set1_epi8(15);
    const heads h = read_heads(p, n, t);
    __m512 d[MAX_ROWS];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) d[i] = _mm512_mul_ps(h.d, _mm512_loadu_ps(j->x.unit + i * j->x.lanes + b));
#pragma GCC unroll 8
    for (int64_t at = 0; at < n; at += per) {
        const __m512i each =
            _mm512_add_epi32(_mm512_srli_epi32(lane, per == 4 ? 2 : 3), _mm512_set1_epi32((int)at));
        const __mmask16 first =
            to == BOTH ? _mm512_cmplt_epi32_mask(each, _mm512_set1_epi32((int)(j->blocks - b))) : 0;
        const uint8_t *q = p + at * bytes;
        const int64_t left = n - at < per ? n - at : per;
        _mm_prefetch((const char *)q + AHEAD, _MM_HINT_T0);
        _mm_prefetch((const char *)q + AHEAD + 64, _MM_HINT_T0);
        const __m512i v = per == 4 ? bytes4(q, left, t) : bytes2(q, left);
        const __m512i lo = _mm512_and_si512(v, low), hi = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const uint8_t *x = j->x.groups + i * j->x.group_bytes + (b + at) / per * (int64_t)group_bytes(t);
            const __m512 dot = per == 4 ? group4(lo, hi, (const void *)x) : group2(v, (const void *)x);
            add(s, i, dot, _mm512_permutexvar_ps(each, d[i]), to, first);
        }
    }
    if (t != ASC_DTYPE_Q4_1) return;
    const __mmask16 first =
        to == BOTH ? _mm512_cmplt_epi32_mask(lane, _mm512_set1_epi32((int)(j->blocks - b))) : 0;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) add(s, i, h.m, _mm512_loadu_ps(j->x.sum + i * j->x.lanes + b), to, first);
}

/* A row of W, or two. */
ALWAYS_INLINE void one_row(const gemv_job *j, const uint8_t *p, const int rows, const asc_dtype t, sums *s) {
    const int64_t bytes = t == ASC_DTYPE_Q8_0 ? 34 : t == ASC_DTYPE_Q4_1 ? 20 : 18;
    const int64_t whole = j->x.blocks / 16 * 16;
    int64_t b = 0;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) s->now[i] = s->next[i] = _mm512_setzero_ps();
    for (; b + 16 <= j->blocks; b += 16, p += 16 * bytes) add16(j, p, b, 16, rows, t, NOW, s);
    if (b < whole && b < j->blocks) {
        add16(j, p, b, 16, rows, t, BOTH, s);
        b += 16, p += 16 * bytes;
    }
    for (; b < whole; b += 16, p += 16 * bytes) add16(j, p, b, 16, rows, t, NEXT, s);
    if (b < j->x.blocks) add16(j, p, b, j->x.blocks - b, rows, t, BOTH, s);
}

/* Rows [n0, n1) of W times `rows` rows of a. */
ALWAYS_INLINE void some_rows(const gemv_job *j, int64_t n0, int64_t n1, const int rows, const asc_dtype t) {
    const int64_t bytes = t == ASC_DTYPE_Q8_0 ? 34 : t == ASC_DTYPE_Q4_1 ? 20 : 18;
    for (int64_t n = n0; n < n1; n += j->x.pair) {
        sums s;
        one_row(j, j->w + n * j->blocks * bytes, rows, t, &s);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            j->y[i * j->n + n] = _mm512_reduce_add_ps(s.now[i]);
            if (j->x.pair == 2) j->y[i * j->n + n + 1] = _mm512_reduce_add_ps(s.next[i]);
        }
    }
}

typedef void (*gemv_fn)(const gemv_job *j, int64_t n0, int64_t n1);

#define GEMV(type, e, count)                                                                                 \
    static void gemv_##type##_##count(const gemv_job *j, int64_t n0, int64_t n1) {                           \
        some_rows(j, n0, n1, count, ASC_DTYPE_##e);                                                          \
    }
#define GEMVS(type, e)                                                                                       \
    GEMV(type, e, 1)                                                                                         \
    GEMV(type, e, 2)                                                                                         \
    GEMV(type, e, 3)                                                                                         \
    GEMV(type, e, 4) static const gemv_fn type##_fns[MAX_ROWS] = {gemv_##type##_1, gemv_##type##_2,          \
                                                                  gemv_##type##_3, gemv_##type##_4};
GEMVS(q4_0, Q4_0)
GEMVS(q4_1, Q4_1)
GEMVS(q8_0, Q8_0)

static gemv_fn pick(asc_dtype t, int rows) {
    switch (t) {
    case ASC_DTYPE_Q8_0:
        return q8_0_fns[rows - 1];
    case ASC_DTYPE_Q4_1:
        return q4_1_fns[rows - 1];
    default:
        return q4_0_fns[rows - 1];
    }
}

/* ---- the kernel ---- */

/* Results [n0, n1) of row m of a, by gemv_avx512. */
static void in_f32(const asc_kargs *args, const asc_matmul_shape *s, int64_t m, int64_t n0, int64_t n1) {
    asc_call c = *args->call;
    asc_kargs a = *args;
    const int64_t row_bytes = s->k / 32 * block_bytes(c.in_dtype[1]);
    c.in_shape[0] = ASC_SHAPE(1, s->k);
    c.in_shape[1] = ASC_SHAPE(n1 - n0, s->k);
    c.shape = ASC_SHAPE(1, n1 - n0);
    a.call = &c;
    a.n_threads = 1;
    a.in[0] = (const float *)args->in[0] + m * s->k;
    a.in[1] = (const uint8_t *)args->in[1] + n0 * row_bytes;
    a.out = (float *)args->out + m * s->n + n0;
    asc_kernel_gemv_avx512.run(&a);
}

/* Infinite scales and overflows: what f32 makes of them. */
static void mend(const asc_kargs *args, const asc_matmul_shape *s, int64_t m, int64_t n0, int64_t n1) {
    const float *y = (const float *)args->out + m * s->n;
    for (int64_t n = n0; n < n1; n += 16) {
        const __mmask16 lanes = (__mmask16)(n1 - n < 16 ? (1 << (n1 - n)) - 1 : 0xFFFF);
        unsigned bad = _mm512_fpclass_ps_mask(_mm512_maskz_loadu_ps(lanes, y + n), 0x99);
        for (; bad != 0; bad &= bad - 1) {
            const int64_t at = n + __builtin_ctz(bad);
            in_f32(args, s, m, at, at + 1);
        }
    }
}

/* Where the rows of a lie in scratch. Two rows of W are one where that makes whole groups and W has pairs. */
static fixed_rows place(const asc_matmul_shape *s, asc_dtype t, uint8_t *scratch) {
    const int64_t per = group_blocks(t), once = s->k / 32;
    fixed_rows r = {.groups = scratch};
    r.pair = once % per != 0 && 2 * once % per == 0 && s->n % 2 == 0 ? 2 : 1;
    r.blocks = once * r.pair;
    r.group_bytes = (r.blocks + per - 1) / per * (int64_t)group_bytes(t);
    r.lanes = (r.blocks + 15) / 16 * 16;
    r.unit = (float *)(void *)(r.groups + s->m * r.group_bytes);
    r.sum = r.unit + s->m * r.lanes;
    return r;
}

static size_t scratch(const asc_call *c, int n_threads) {
    asc_matmul_shape s;
    (void)n_threads;
    asc_matmul_shape_of(c, &s);
    const fixed_rows r = place(&s, c->in_dtype[1], NULL);
    return (size_t)(s.m * (r.group_bytes + 2 * r.lanes * (int64_t)sizeof(float)));
}

typedef struct job {
    const asc_kargs *args;
    asc_matmul_shape s;
    fixed_rows x;
    bool fixed[8];
    int parts;
} job;

/* Results [n0, n1) of all rows. */
static void columns(const job *j, int64_t n0, int64_t n1) {
    const asc_dtype t = j->args->call->in_dtype[1];
    for (int64_t m = 0; m < j->s.m;) {
        int rows = 0;
        while (rows < MAX_ROWS && m + rows < j->s.m && j->fixed[m + rows]) rows++;
        if (rows == 0) {
            in_f32(j->args, &j->s, m++, n0, n1);
            continue;
        }
        gemv_job g = {.x = j->x, .n = j->s.n, .blocks = j->s.k / 32, .w = j->args->in[1]};
        g.x.groups += m * g.x.group_bytes;
        g.x.unit += m * g.x.lanes;
        g.x.sum += m * g.x.lanes;
        g.y = (float *)j->args->out + m * j->s.n;
        pick(t, rows)(&g, n0, n1);
        for (const int64_t end = m + rows; m < end; m++) mend(j->args, &j->s, m, n0, n1);
    }
}

/* Rows of a that need W more than once meet it a piece at a time, which stays in the L1 cache. */
static void part(void *self, int64_t u, int thread) {
    const job *j = self;
    const int64_t pairs = (j->s.n + 1) / 2, n0 = pairs * u / j->parts * 2;
    const int64_t n1 = asc_kmin(j->s.n, pairs * (u + 1) / j->parts * 2);
    const int64_t row_bytes = j->s.k / 32 * block_bytes(j->args->call->in_dtype[1]);
    const int64_t step = j->s.m > MAX_ROWS ? 2 * asc_kmax(1, PIECE_BYTES / 2 / row_bytes) : n1 - n0;
    (void)thread;
    for (int64_t n = n0; n < n1; n += step) columns(j, n, asc_kmin(n1, n + step));
}

static void run(const asc_kargs *args) {
    const asc_dtype t = args->call->in_dtype[1];
    job j = {.args = args, .parts = args->n_threads};
    asc_matmul_shape_of(args->call, &j.s);
    j.x = place(&j.s, t, args->scratch);
    for (int64_t m = 0; m < j.s.m; m++)
        j.fixed[m] = fix_row((const float *)args->in[0] + m * j.s.k, t, &j.x, m);
    asc_kpar(j.parts, j.parts, false, part, &j);
}

static bool fits(const asc_call *c) {
    const asc_dtype t = c->in_dtype[1];
    if (t != ASC_DTYPE_Q4_0 && t != ASC_DTYPE_Q4_1 && t != ASC_DTYPE_Q8_0) return false;
    asc_matmul_shape s;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.tb && s.batch == 1 && s.m <= 8 && s.k > 0 && !c->many_rows;
}

const asc_kernel asc_kernel_gemv_amx = {.name = "gemv_amx",
                                        .opcode = ASC_OPCODE_MATMUL,
                                        .isa = ASC_ISA_AMX,
                                        .fits = fits,
                                        .scratch = scratch,
                                        .run = run};
