/* gemm_avx512.c - y = a W for many rows of a, where W is f32 or stored, [k,n] or [n,k]: our own, because with
 * expansion included it is as fast as oneDNN or faster (docs/SPEED.md, "GEMM"), and because a row's bits are
 * then a function of that row alone.
 *
 * Every output element is a sum, in ascending order, of chains of fused multiply-adds over 192 values of k.
 * Neither the number of rows, nor the cutting into panels, nor the number of threads can change a bit.
 *
 * Each thread owns a range of columns. It expands a panel of W, sized for the L2 cache, into slabs of 48
 * columns, [k][48], and multiplies all rows of a with it, 9 rows by 48 columns at a time. f32 W in [k,n]
 * needs no expanding: the first tile reads it where it lies and leaves the slabs behind. Meanwhile the next
 * panel's bytes are fetched. */
#include "expand.h"
#include "flush.h"
#include "gemm_tile_avx512.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <string.h>

enum {
    LONG =
        576, /* panels are 576 by 192 or 192 by 576: 432 KB, with the bytes of the next one well inside L2 */
    SHORT = 192,
    DEEP = 768, /* whole blocks of 256 and whole chains of 192: 768 by 144 is as large */
    NARROW = 144,
    PANEL_FLOATS = LONG * SHORT,
    UNIT = 96 /* columns are dealt to threads by this: whole slabs, and whole blocks of 32 */
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* `depth` values of k from k on, `width` columns from n on. */
typedef struct panel {
    int64_t k, depth, n, width;
    float *slabs; /* filled; if `lies`, the first tile of rows fills them while it multiplies */
    bool lies;
    asc_gemm_ahead ahead;
} panel;

/* Rows [m0, m1) times one panel. A tile's rows of a stay in the L1 cache while the slabs pass by, and its
 * rows of y until the epilogue has seen them. Rows are dealt out evenly: 56 rows are 7 tiles of 8, not 6 of 9
 * and one of 2. */
static void panel_rows(const asc_gemm_job *job, int64_t m0, int64_t m1, panel *p, const asc_epilogue *post,
                       int thread) {
    const int64_t n_tiles = (m1 - m0 + ROWS - 1) / ROWS, base = (m1 - m0) / n_tiles,
                  extra = (m1 - m0) % n_tiles;
    const float *w = (const float *)(const void *)job->w + p->k * job->n + p->n; /* if it lies there */
    tile_args t = {.lda = job->k, .ldb = job->n, .ldy = job->n, .steps = p->depth, .first = p->k == 0};
    t.ahead = &p->ahead;
    t.a = job->a + m0 * job->k + p->k;
    float *y = job->y + m0 * job->n + p->n;
    int64_t m = m0;
    for (int64_t i = 0; i < n_tiles; i++) {
        const int64_t rows = base + (i < extra ? 1 : 0);
        const bool lies = p->lies && i == 0;
        const unsigned int mode = asc_flush_enter();
        for (int64_t j = 0; j < p->width; j += SLAB) {
            const int64_t cols = min64(p->width - j, SLAB);
            const int vecs = (int)((cols + 15) / 16);
            t.last = (__mmask16)(0xFFFFu >> (16 * vecs - cols));
            t.slab = p->slabs + j * p->depth;
            t.b = lies ? w + j : t.slab;
            t.y = y + j;
            tiles[lies][rows - 1][vecs - 1](&t);
        }
        asc_flush_leave(mode);
        if (post != NULL) post->block(post, m, m + rows, p->n, p->n + p->width, thread);
        t.a += rows * t.lda;
        y += rows * t.ldy;
        m += rows;
    }
}

/* The panel that starts there, empty behind the last column. */
static panel panel_at(const asc_gemm_job *job, int64_t k, int64_t n, int64_t n1) {
    if (n >= n1) return (panel){.n = n};
    return (panel){
        .k = k, .depth = min64(job->k - k, job->depth), .n = n, .width = min64(n1 - n, job->width)};
}

/* Columns [n0, n1) of rows [m0, m1), panel by panel. */
static void columns(const asc_gemm_job *job, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float *scratch,
                    const asc_epilogue *post, int thread) {
    for (panel p = panel_at(job, 0, n0, n1); p.width > 0;) {
        const bool ends = p.k + p.depth == job->k;
        panel next = panel_at(job, ends ? 0 : p.k + p.depth, ends ? p.n + p.width : p.n, n1);
        p.ahead = asc_gemm_ahead_of(job, next.k, next.depth, next.n, next.width);
        p.slabs = scratch;
        p.lies = !job->tb && job->t == ASC_DTYPE_F32;
        if (!p.lies) asc_gemm_fill_avx512(job, p.k, p.depth, p.n, p.width, scratch, scratch + PANEL_FLOATS);
        panel_rows(job, m0, m1, &p, ends ? post : NULL, thread);
        p = next;
    }
}

/* Formats with long blocks get panels with long rows when they are stored by rows, so that few blocks are
 * cut; by columns no block may be. */
static asc_gemm_job job_of(const asc_call *c, const asc_matmul_shape *s) {
    const int64_t block = asc_dtype_of(c->in_dtype[1])->block_elems;
    const bool wide = !s->tb && block > 32, deep = s->tb && LONG % block != 0;
    _Static_assert(DEEP * NARROW <= PANEL_FLOATS && DEEP % ASC_GEMM_RUN == 0 && DEEP % SHORT == 0 &&
                       NARROW % ASC_GEMM_SLAB == 0,
                   "a panel of whole blocks");
    return (asc_gemm_job){.m = s->m,
                          .n = s->n,
                          .k = s->k,
                          .t = c->in_dtype[1],
                          .expand = asc_expand_for(c->in_dtype[1], ASC_ISA_AVX512),
                          .tb = s->tb,
                          .depth = wide   ? SHORT
                                   : deep ? DEEP
                                          : LONG,
                          .width = wide   ? LONG
                                   : deep ? NARROW
                                          : SHORT};
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
