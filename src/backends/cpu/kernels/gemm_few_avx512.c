/* gemm_few_avx512.c - y = a W^T for few rows of a and W in f32, [n,k], read where it lies. Turning W into
 * slabs (gemm_avx512.c) costs more than multiplying so few rows with it; here the rows of a are turned
 * instead: a vector holds one value of k of 16 rows, W gives the values that are broadcast, and a tile of 8
 * columns by 48 rows is turned back at its end.
 *
 * An element is the same chain of the same multiply-adds as in gemm_avx512.c: the same bits. */
#include "flush.h"
#include "gemm_turn_avx512.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    MOST = 96,  /* rows; from there on slabs are as fast */
    COLS = 8,   /* of a tile */
    GROUP = 16, /* columns that are turned back together */
    LINK = 192, /* as in gemm_tile_avx512.h */
    ROWS = 48,  /* of a tile: 3 vectors */
    PART = 192  /* columns that the epilogue gets at a time */
};

typedef struct few_job {
    int64_t m, n, k;
    const float *w, *turned; /* turned: blocks of up to 48 rows one after the other, each [k][rows] */
    float *y;
    int n_vecs, n_blocks;
    const asc_epilogue *post;
} few_job;

/* Blocks are as even as can be: 4 vectors are 2 and 2. */
static int first_vec(const few_job *job, int block) { return job->n_vecs * block / job->n_blocks; }

/* out[i][lane] = sum over k of w[i][k] x[k][lane], for `cols` rows of w; rows of out have 48 floats. */
ALWAYS_INLINE void tile(const float *w, int64_t steps, const float *x, float *out, const char *ahead,
                        const int cols, const int vecs) {
    for (int64_t q = 0; q < steps; q += LINK) {
        const int64_t end = steps - q < LINK ? steps : q + LINK;
        __m512 acc[COLS][3];
#pragma GCC unroll 8
        for (int i = 0; i < cols; i++) {
#pragma GCC unroll 3
            for (int j = 0; j < vecs; j++) acc[i][j] = _mm512_setzero_ps();
        }
#pragma GCC unroll 2
        for (int64_t k = q; k < end; k++) {
            if (k % 2 == 0) _mm_prefetch(ahead + 32 * k, _MM_HINT_T1);
            __m512 v[3];
#pragma GCC unroll 3
            for (int j = 0; j < vecs; j++) v[j] = _mm512_loadu_ps(x + 16 * (k * vecs + j));
#pragma GCC unroll 8
            for (int i = 0; i < cols; i++) {
                const __m512 b = _mm512_set1_ps(w[i * steps + k]);
#pragma GCC unroll 3
                for (int j = 0; j < vecs; j++) acc[i][j] = _mm512_fmadd_ps(b, v[j], acc[i][j]);
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < cols; i++) {
#pragma GCC unroll 3
            for (int j = 0; j < vecs; j++) {
                float *to = out + i * ROWS + 16 * j;
                if (q > 0) acc[i][j] = _mm512_add_ps(acc[i][j], _mm512_loadu_ps(to));
                _mm512_storeu_ps(to, acc[i][j]);
            }
        }
    }
}

typedef void (*tile_fn)(const float *w, int64_t steps, const float *x, float *out, const char *ahead);
#define TILE(cols, vecs)                                                                                     \
    static __attribute__((noinline)) void few_##cols##x##vecs(const float *w, int64_t steps, const float *x, \
                                                              float *out, const char *ahead) {               \
        tile(w, steps, x, out, ahead, cols, vecs);                                                           \
    }
TILE(8, 1)
TILE(8, 2)
TILE(8, 3)
TILE(1, 1)
TILE(1, 2)
TILE(1, 3)
static const tile_fn tiles[2][3] = {{few_1x1, few_1x2, few_1x3}, {few_8x1, few_8x2, few_8x3}};

/* Columns [n, n + cols) of one block of rows, cols <= 16. */
static void group(const few_job *job, int block, int64_t n, int64_t cols) {
    float out[GROUP * ROWS] __attribute__((aligned(64))), back[16 * 48] __attribute__((aligned(64)));
    const int v0 = first_vec(job, block), vecs = first_vec(job, block + 1) - v0;
    const float *x = job->turned + 16 * v0 * job->k, *w = job->w + n * job->k;
    for (int64_t i = 0; i < cols;) {
        const bool all = cols - i >= COLS;
        const char *ahead = (const char *)(w + (i + (block == 0 ? GROUP : 0)) * job->k);
        tiles[all ? 1 : 0][vecs - 1](w + i * job->k, job->k, x, out + i * ROWS, ahead);
        i += all ? COLS : 1;
    }
    const __mmask16 mask = (__mmask16)(0xFFFFu >> (GROUP - cols));
    for (int v = 0; v < vecs; v++) {
        const int64_t m0 = 16 * (v0 + v), rows = job->m - m0 < 16 ? job->m - m0 : 16;
        transpose16(out + 16 * v, ROWS, back, 16);
        for (int64_t r = 0; r < rows; r++)
            _mm512_mask_storeu_ps(job->y + (m0 + r) * job->n + n, mask, _mm512_loadu_ps(back + 48 * r));
    }
}

static void columns(const few_job *job, int64_t n0, int64_t n1, int thread) {
    for (int64_t part = n0; part < n1; part += PART) {
        const int64_t end = n1 - part < PART ? n1 : part + PART;
        const unsigned int mode = asc_flush_enter();
        for (int64_t n = part; n < end; n += GROUP) {
            const int64_t cols = end - n < GROUP ? end - n : GROUP;
            for (int b = 0; b < job->n_blocks; b++) group(job, b, n, cols);
        }
        asc_flush_leave(mode);
        if (job->post != NULL) job->post->block(job->post, 0, job->m, part, end, thread);
    }
}

/* Values [k0, k1) of k of all rows, k0 a multiple of 16; lanes behind the last row are 0. */
static void turn(const few_job *job, const float *a, float *turned, int64_t k0, int64_t k1) {
    float rows[16 * 16] __attribute__((aligned(64))), tile16[16 * 48] __attribute__((aligned(64)));
    for (int b = 0; b < job->n_blocks; b++) {
        const int v0 = first_vec(job, b), vecs = first_vec(job, b + 1) - v0;
        float *block = turned + 16 * v0 * job->k;
        for (int v = 0; v < vecs; v++) {
            for (int64_t k = k0; k < k1; k += 16) {
                const int64_t n_k = k1 - k < 16 ? k1 - k : 16;
                const __mmask16 mask = (__mmask16)(0xFFFFu >> (16 - n_k));
                for (int64_t r = 0; r < 16; r++) {
                    const int64_t m = 16 * (v0 + v) + r;
                    const __mmask16 now = m < job->m ? mask : 0;
                    _mm512_store_ps(rows + 16 * r, _mm512_maskz_loadu_ps(now, a + m * job->k + k));
                }
                transpose16(rows, 16, tile16, n_k);
                for (int64_t i = 0; i < n_k; i++)
                    _mm512_storeu_ps(block + 16 * ((k + i) * vecs + v), _mm512_load_ps(tile16 + 48 * i));
            }
        }
    }
}

static size_t scratch(const asc_call *c, int n_threads) {
    (void)n_threads;
    asc_matmul_shape s;
    asc_matmul_shape_of(c, &s);
    size_t bytes;
    return asc_mul_size((size_t)s.k, (size_t)((s.m + 15) / 16 * 16) * sizeof(float), &bytes)
               ? bytes
               : SIZE_MAX / 4096;
}

static void run(const asc_kargs *args) {
    asc_matmul_shape s;
    asc_matmul_shape_of(args->call, &s);
    few_job job = {.m = s.m, .n = s.n, .k = s.k, .w = args->in[1], .y = args->out, .post = args->post};
    job.turned = args->scratch;
    job.n_vecs = (int)((s.m + 15) / 16);
    job.n_blocks = (job.n_vecs + 2) / 3;
    const int threads = args->n_threads;
    const int64_t ks = (s.k + 15) / 16, groups = (s.n + GROUP - 1) / GROUP;
    if (threads == 1) {
        turn(&job, args->in[0], args->scratch, 0, s.k);
        columns(&job, 0, s.n, 0);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < threads; i++) {
        const int64_t k1 = 16 * (ks * (i + 1) / threads);
        turn(&job, args->in[0], args->scratch, 16 * (ks * i / threads), k1 < s.k ? k1 : s.k);
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < threads; i++) {
        const int64_t n1 = GROUP * (groups * (i + 1) / threads);
        columns(&job, GROUP * (groups * i / threads), n1 < s.n ? n1 : s.n, i);
    }
}

static bool fits(const asc_call *c) {
    asc_matmul_shape s;
    if (c->in_dtype[1] != ASC_DTYPE_F32) return false;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.tb && s.batch == 1 && asc_matmul_many(c, &s) && s.m <= MOST && s.k > 0;
}

const asc_kernel asc_kernel_matmul_few_avx512 = {.name = "matmul_few_avx512",
                                                 .opcode = ASC_OPCODE_MATMUL,
                                                 .isa = ASC_ISA_AVX512,
                                                 .fits = fits,
                                                 .scratch = scratch,
                                                 .run = run,
                                                 .takes_post = true};
