/* gemm_avx512.c - y = a W for many rows of a, where W is f32 or stored, [k,n] or [n,k]: our own, because with
 * expansion included it is as fast as oneDNN or faster (docs/SPEED.md, "GEMM"), and because a row's bits are
 * then a function of that row alone.
 *
 * Every output element is a sum, in ascending order, of chains of fused multiply-adds over 192 values of k.
 * Neither the number of rows, nor the cutting into panels, nor the number of threads can change a bit.
 *
 * Each thread owns a range of columns. It expands a panel of W, sized for the L2 cache, into slabs of 48
 * columns, [k][48], and multiplies all rows of a with it, 9 rows by 48 columns at a time: 27 accumulators, 3
 * vectors of W and 1 broadcast value of a fill the 32 registers. */
#include "expand.h"
#include "gemm_fill.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <immintrin.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    ROWS = 9,   /* of a tile */
    LINK = 192, /* values of k that are added up before they join the result: shorter chains round less */
    SLAB = ASC_GEMM_SLAB,
    LONG = 768, /* panels are 768 by 192 or 192 by 768: 576 KB, well inside an L2 cache of 1 or 2 MB */
    SHORT = 192,
    PANEL_FLOATS = LONG * SHORT,
    UNIT = 96 /* columns are dealt to threads by this: whole slabs, and whole blocks of 32 */
};

typedef struct tile_args {
    const float *a; /* first row of the tile */
    int64_t lda;
    const float *b; /* slab */
    float *y;
    int64_t ldy;
    int64_t steps;  /* values of k */
    bool first;     /* start from 0 instead of y */
    __mmask16 last; /* valid columns of the last vector */
} tile_args;

/* One link of the tile: `steps` values of k, added to y. */
ALWAYS_INLINE void link_of_tile(const tile_args *t, const float *a, const float *b, int64_t steps,
                                const bool first, const int rows, const int vecs) {
    __m512 acc[ROWS][3];
    const int64_t lda = t->lda, ldy = t->ldy;
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) acc[i][j] = _mm512_setzero_ps();
    }
#pragma GCC unroll 4
    for (int64_t k = 0; k < steps; k++, a++, b += SLAB) {
        __m512 w[3];
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) w[j] = _mm512_loadu_ps(b + 16 * j);
#pragma GCC unroll 9
        for (int i = 0; i < rows; i++) {
            const __m512 x = _mm512_set1_ps(a[i * lda]);
#pragma GCC unroll 3
            for (int j = 0; j < vecs; j++) acc[i][j] = _mm512_fmadd_ps(x, w[j], acc[i][j]);
        }
    }
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) {
            const __mmask16 mask = j == vecs - 1 ? t->last : (__mmask16)0xFFFF;
            float *y = t->y + i * ldy + 16 * j;
            if (!first) acc[i][j] = _mm512_add_ps(acc[i][j], _mm512_maskz_loadu_ps(mask, y));
            _mm512_mask_storeu_ps(y, mask, acc[i][j]);
        }
    }
}

ALWAYS_INLINE void tile(const tile_args *t, const int rows, const int vecs) {
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) { /* fetched for the end of the first link */
        for (int j = 0; j < vecs; j++) _mm_prefetch((const char *)(t->y + i * t->ldy + 16 * j), _MM_HINT_T0);
    }
    for (int64_t q = 0; q < t->steps; q += LINK) {
        const int64_t steps = t->steps - q < LINK ? t->steps - q : LINK;
        link_of_tile(t, t->a + q, t->b + q * SLAB, steps, t->first && q == 0, rows, vecs);
    }
}

typedef void (*tile_fn)(const tile_args *t);
#define TILE(rows, vecs)                                                                                     \
    static __attribute__((noinline)) void tile_##rows##x##vecs(const tile_args *t) { tile(t, rows, vecs); }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
TILES(7) TILES(8) TILES(9)
#define TILE_ROW(rows)                                                                                       \
    { tile_##rows##x1, tile_##rows##x2, tile_##rows##x3 }
    static const tile_fn tiles[ROWS][3] = {TILE_ROW(1), TILE_ROW(2), TILE_ROW(3), TILE_ROW(4), TILE_ROW(5),
                                           TILE_ROW(6), TILE_ROW(7), TILE_ROW(8), TILE_ROW(9)};

/* Rows [m0, m1) times one panel: `depth` values of k from k on, `width` columns from n on. A tile's rows of a
 * stay in the L1 cache while the slabs pass by, and its rows of y until the epilogue has seen them. Rows are
 * dealt out evenly: 56 rows are 7 tiles of 8, not 6 of 9 and one of 2. */
static void panel_rows(const asc_gemm_job *job, int64_t m0, int64_t m1, int64_t k, int64_t depth,
                       const float *slabs, int64_t n, int64_t width, const asc_epilogue *post, int thread) {
    const int64_t n_tiles = (m1 - m0 + ROWS - 1) / ROWS, base = (m1 - m0) / n_tiles,
                  extra = (m1 - m0) % n_tiles;
    tile_args t = {.lda = job->k, .ldy = job->n, .steps = depth, .first = k == 0};
    t.a = job->a + m0 * job->k + k;
    float *y = job->y + m0 * job->n + n;
    int64_t m = m0;
    for (int64_t i = 0; i < n_tiles; i++) {
        const int64_t rows = base + (i < extra ? 1 : 0);
        for (int64_t j = 0; j < width; j += SLAB) {
            const int64_t cols = width - j < SLAB ? width - j : SLAB;
            const int vecs = (int)((cols + 15) / 16);
            t.last = (__mmask16)(0xFFFFu >> (16 * vecs - cols));
            t.b = slabs + j * depth;
            t.y = y + j;
            tiles[rows - 1][vecs - 1](&t);
        }
        if (post != NULL) post->block(post, m, m + rows, n, n + width, thread);
        t.a += rows * t.lda;
        y += rows * t.ldy;
        m += rows;
    }
}

/* Columns [n0, n1) of rows [m0, m1), panel by panel. */
static void columns(const asc_gemm_job *job, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float *scratch,
                    const asc_epilogue *post, int thread) {
    for (int64_t n = n0; n < n1; n += job->width) {
        const int64_t width = n1 - n < job->width ? n1 - n : job->width;
        for (int64_t k = 0; k < job->k; k += job->depth) {
            const int64_t depth = job->k - k < job->depth ? job->k - k : job->depth;
            asc_gemm_fill_avx512(job, k, depth, n, width, scratch, scratch + PANEL_FLOATS);
            const asc_epilogue *now = k + depth == job->k ? post : NULL;
            panel_rows(job, m0, m1, k, depth, scratch, n, width, now, thread);
        }
    }
}

/* Formats with long blocks get panels with long rows when they are stored by rows, so that few blocks are
 * cut. */
static asc_gemm_job job_of(const asc_call *c, const asc_matmul_shape *s) {
    const bool wide = !s->tb && asc_dtype_of(c->in_dtype[1])->block_elems > 32;
    return (asc_gemm_job){.m = s->m,
                          .n = s->n,
                          .k = s->k,
                          .t = c->in_dtype[1],
                          .expand = asc_expand_for(c->in_dtype[1], ASC_ISA_AVX512),
                          .tb = s->tb,
                          .depth = wide ? SHORT : LONG,
                          .width = wide ? LONG : SHORT};
}

enum { THREAD_FLOATS = PANEL_FLOATS + ASC_GEMM_FILL_FLOATS };

static size_t scratch(const asc_call *c, int n_threads) {
    (void)c;
    return (size_t)n_threads * THREAD_FLOATS * sizeof(float);
}

/* When there are fewer units than threads, the rows are divided too and weights are expanded more than once.
 */
static void run(const asc_kargs *args) {
    asc_matmul_shape s;
    asc_matmul_shape_of(args->call, &s);
    asc_gemm_job job = job_of(args->call, &s);
    job.a = args->in[0];
    job.w = args->in[1];
    job.y = args->out;
    if (s.k == 0) {
        memset(args->out, 0, (size_t)(s.m * s.n) * sizeof(float));
        if (args->post != NULL && s.m > 0 && s.n > 0) args->post->block(args->post, 0, s.m, 0, s.n, 0);
        return;
    }
    const int64_t units = (s.n + UNIT - 1) / UNIT;
    const int64_t threads = args->n_threads, across = units < threads ? units : threads,
                  down = threads / across;
    if (across * down == 1) { /* small nets: even a parallel region of one thread has its price */
        columns(&job, 0, s.m, 0, s.n, args->scratch, args->post, 0);
        return;
    }
#pragma omp parallel for num_threads(args->n_threads) schedule(static)
    for (int64_t i = 0; i < across * down; i++) {
        const int64_t c = i % across, r = i / across;
        const int64_t n0 = units * c / across * UNIT, n1 = units * (c + 1) / across * UNIT;
        const int64_t m0 = s.m * r / down, m1 = s.m * (r + 1) / down;
        if (m0 < m1) {
            columns(&job, m0, m1, n0, n1 < s.n ? n1 : s.n, (float *)args->scratch + i * THREAD_FLOATS,
                    args->post, (int)i);
        }
    }
}

static bool fits(const asc_call *c) {
    asc_matmul_shape s;
    if (asc_dtype_expand(c->in_dtype[1]) == NULL) return false;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.batch == 1 && (asc_matmul_many(c, &s) || !s.tb);
}

const asc_kernel asc_kernel_matmul_avx512 = {.name = "matmul_avx512",
                                             .opcode = ASC_OPCODE_MATMUL,
                                             .isa = ASC_ISA_AVX512,
                                             .fits = fits,
                                             .scratch = scratch,
                                             .run = run,
                                             .takes_post = true};
