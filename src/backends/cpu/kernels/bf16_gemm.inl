/* bf16_gemm.inl - y = a W by bf16 products (bf16.h), for many rows of a; W is f32 or stored, [k,n] or [n,k].
 * The file that includes it defines BF16_NAME, BF16_ISA (amx, avx512, ...), BF16_LEVEL and
 * BF16_FILL, and BF16_WIDE if it has AVX-512.
 *
 * Rows of a are cut into pieces once per call, by all threads, or by each thread strip by strip
 * (asc_bf16_by_strips). Each thread owns a range of columns: it expands a panel of W, sized for the L2 cache,
 * cuts it, and multiplies 32 rows by 32 columns at a time with it. A link is a number of blocks of 32 values of k, small enough for the pieces of 32 rows to stay in the
 * L1 cache while the columns of the panel pass by; the sums of links are added in ascending order. So a row's
 * bits are a function of that row alone, whatever the other rows, the panels and the threads.
 *
 * Infinities, NaN and overflow: pieces would turn infinity times 1 into NaN (infinity times the 0 of a
 * piece). A result that is not finite is therefore computed again in f32, in chains of 192 fused
 * multiply-adds. */
#include "bf16_deal.h"
#include "bf16_job.h"
#include "expand.h"
#include "gemm_fill.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <omp.h>
#include <string.h>
/* Parts shared with other kernels of bf16 products. */
#include "bf16_rows.inl"
#include "bf16_repair.inl"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define OPS JOIN(asc_bf16_, BF16_ISA)

/* Largest magnitudes so far; NaN is passed over. */
ALWAYS_INLINE void larger(vf *most, const float *x) {
    const vu bits = (vu) * (const vf_at *)x & 0x7FFFFFFFu;
    const vu more = (vu)((vf)bits > *most);
    *most = (vf)((bits & more) | ((vu)*most & ~more));
}

/* x times `by` to whole numbers, ties to even. The sign is put aside, which also keeps compilers from fusing
 * the product and the addition, with other bits. */
ALWAYS_INLINE void to_whole(float *x, const vf *by) {
    const vu bits = (vu)(*(const vf_at *)x * *by);
    const vf size = (vf)(bits & 0x7FFFFFFFu) + 0x1p23f - 0x1p23f;
    *(vf_at *)x = (vf)((vu)size | (bits & 0x80000000u));
}

/* int8: a stretch of a row and its scale at a time. */
static void pack_rows8(const asc_bf16_job *job, int64_t m, uint16_t *out) {
    const int64_t k = job->g.k, rows = job->g.m - m < 16 ? job->g.m - m : 16, links = asc_bf16_links(job);
    float whole[16][32 * ASC_BF16_LINK8];
    for (int64_t l = 0; l < links; l++) {
        const int64_t at = 32 * ASC_BF16_LINK8 * l,
                      n = k - at < 32 * ASC_BF16_LINK8 ? k - at : 32 * ASC_BF16_LINK8;
        memset(whole, 0, sizeof whole);
        for (int64_t r = 0; r < rows; r++) {
            memcpy(whole[r], job->g.a + (m + r) * k + at, (size_t)n * sizeof(float));
            vf most = {0};
            for (int64_t i = 0; i < n; i += 16) larger(&most, whole[r] + i);
            float max = 0;
            for (int i = 0; i < 16; i++) max = most[i] > max ? most[i] : max;
            const float inverse = max > 0 ? 127 / max : 0;
            const vf by = {inverse, inverse, inverse, inverse, inverse, inverse, inverse, inverse,
                           inverse, inverse, inverse, inverse, inverse, inverse, inverse, inverse};
            for (int64_t i = 0; i < n; i += 16) to_whole(whole[r] + i, &by);
            job->row_scale[(m - job->m0 + r) * links + l] = max / 127;
        }
        for (int64_t q = 0; q < (n + 31) / 32; q++, out += ASC_BF16_TILE)
            for (int64_t r = 0; r < 16; r++)
                split(whole[r] + 32 * q, whole[r] + 32 * q + 16, 1, out + 32 * r);
    }
}

/* 16 rows of a, from row m on, to tiles of all of k. */
static void pack_rows(const asc_bf16_job *job, int64_t m, uint16_t *out) {
    const int64_t k = job->g.k, rows = job->g.m - m < 16 ? job->g.m - m : 16;
    const float *x = job->g.a + m * k;
    if (job->int8)
        pack_rows8(job, m, out);
    else if (job->pieces == 3)
        pack_row_group(x, rows, k, 3, out);
    else if (job->pieces == 2)
        pack_row_group(x, rows, k, 2, out);
    else
        pack_row_group(x, rows, k, 1, out);
}

/* Values [k0, k0 + depth) of 16 rows to their places in tiles of all of k; not int8. */
static void pack_part(const asc_bf16_job *job, int64_t m, int64_t k0, int64_t depth, uint16_t *out) {
    const int64_t k = job->g.k, rows = asc_kmin(16, job->g.m - m);
    const float *x = job->g.a + m * k + k0;
    out += k0 / 32 * job->pieces * ASC_BF16_TILE;
    if (job->pieces == 3)
        pack_row_part(x, k, rows, depth, 3, out);
    else if (job->pieces == 2)
        pack_row_part(x, k, rows, depth, 2, out);
    else
        pack_row_part(x, k, rows, depth, 1, out);
}

/* 16 columns of a filled slab of `depth` rows to tiles. */
ALWAYS_INLINE void pack_slab_of(const float *slab, int64_t depth, const int pieces, uint16_t *out) {
    static const float zeros[16];
    for (int64_t q = 0; q < depth; q += 32, out += pieces * ASC_BF16_TILE) {
        for (int64_t p = 0; p < 16; p++) {
            const int64_t at = q + p;
            split(at < depth ? slab + at * ASC_GEMM_SLAB : zeros,
                  at + 16 < depth ? slab + (at + 16) * ASC_GEMM_SLAB : zeros, pieces, out + 32 * p);
        }
    }
}

static void pack_slab(const float *slab, int64_t depth, int pieces, uint16_t *out) {
    if (pieces == 3)
        pack_slab_of(slab, depth, 3, out);
    else if (pieces == 2)
        pack_slab_of(slab, depth, 2, out);
    else
        pack_slab_of(slab, depth, 1, out);
}

/* int8: 16 columns of a slab and their scales. */
static void whole_slab(float *slab, int64_t depth, float *scale) {
    vf most = {0};
    for (int64_t k = 0; k < depth; k++) larger(&most, slab + k * ASC_GEMM_SLAB);
    const vu some = (vu)(most > 0);
    const vf by = (vf)((vu)(127 / most) & some);
    for (int64_t k = 0; k < depth; k++) to_whole(slab + k * ASC_GEMM_SLAB, &by);
    *(vf_at *)scale = most / 127;
}

#ifdef BF16_WIDE
#include "bf16_blocks.inl"
#include "bf16_floats.inl"
#endif

/* W[k0 .. k0+depth)[n0 .. n0+width) to tiles: that of column group c, block q, piece i is the
 * ((c * blocks of the panel + q) * pieces of a weight + i)-th. */
static void pack_panel(const asc_bf16_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                       const asc_bf16_scratch *s) {
    const int64_t group = (depth + 31) / 32 * job->right * ASC_BF16_TILE;
#ifdef BF16_WIDE
    if (pack_blocks(job, k0, depth, n0, width, group, s)) return;
    if (pack_floats(job, k0, depth, n0, width, group, s->panel)) return;
#endif
    const int64_t rows = job->g.tb || job->int8 ? ASC_GEMM_RUN : ASC_BF16_K;
    const int64_t cols = job->g.tb ? ASC_GEMM_SLAB : job->int8 ? ASC_BF16_UNIT : width;
    for (int64_t n = 0; n < width; n += cols) {
        const int64_t w = width - n < cols ? width - n : cols;
        for (int64_t q = 0; q < depth; q += rows) {
            const int64_t d = depth - q < rows ? depth - q : rows;
            BF16_FILL(&job->g, k0 + q, d, n0 + n, w, s->slab, s->fill);
            for (int64_t j = 0; j < w; j += 16) {
                float *from = s->slab + j / ASC_GEMM_SLAB * ASC_GEMM_SLAB * d + j % ASC_GEMM_SLAB;
                if (job->int8) whole_slab(from, d, s->col_scale + q / ASC_GEMM_RUN * job->g.width + n + j);
                pack_slab(from, d, job->right,
                          s->panel + (n + j) / 16 * group + q / 32 * job->right * ASC_BF16_TILE);
            }
        }
    }
}

/* Adds 16 columns of a block's results to y, or starts y with them. */
ALWAYS_INLINE void put_columns(const float *c, float *y, int64_t ldy, int64_t rows, const bool first,
                               const bool last, vu *odd) {
    for (int64_t r = 0; r < rows; r++, c += ASC_BF16_SIDE, y += ldy) {
        vf v = *(const vf_at *)c;
        if (!first) v += *(const vf_at *)y;
        *(vf_at *)y = v;
        if (last) gather_odd(&v, odd);
    }
}

/* A block's results to y; true if `last` and one of them is odd. */
static bool put(const float *c, float *y, int64_t ldy, int64_t rows, int64_t cols, bool first, bool last) {
    vu odd = {0};
    int64_t j = 0;
    for (; j + 16 <= cols; j += 16) {
        if (last)
            put_columns(c + j, y + j, ldy, rows, first, true, &odd);
        else if (first)
            put_columns(c + j, y + j, ldy, rows, true, false, &odd);
        else
            put_columns(c + j, y + j, ldy, rows, false, false, &odd);
    }
    for (int64_t r = 0; r < rows && j < cols; r++) {
        float some[16] = {0};
        for (int64_t i = j; i < cols; i++) {
            float *to = y + r * ldy + i;
            some[i - j] = *to = first ? c[r * ASC_BF16_SIDE + i] : *to + c[r * ASC_BF16_SIDE + i];
        }
        const vf v = *(const vf_at *)some;
        if (last) gather_odd(&v, &odd);
    }
    uint32_t any = 0;
    for (int i = 0; i < 16; i++) any |= odd[i];
    return any != 0;
}

/* Results of a block that wait in s->sums. They are added to y while the tiles are busy with the next block.
 */
typedef struct waiting {
    float *c;
    int64_t n, cols; /* columns; none if 0 */
    int64_t link;    /* int8: which one, of all and of the panel */
    int64_t panel_link;
    bool first, last;
    bool mins; /* the product with m joins */
} waiting;

/* int8: sums of whole numbers to what they stand for; n0: first column of the panel. */
static __attribute__((noinline)) void unscale(const asc_bf16_job *job, const waiting *w, int64_t m,
                                              int64_t rows, int64_t n0, const asc_bf16_scratch *s) {
    const float *by = job->row_scale + (m - job->m0) * asc_bf16_links(job) + w->link;
    const float *col = s->col_scale + w->panel_link * job->g.width + w->n - n0;
    for (int64_t r = 0; r < rows; r++, by += asc_bf16_links(job))
        for (int64_t j = 0; j < w->cols; j++) w->c[r * ASC_BF16_SIDE + j] *= *by * col[j];
}

/* Adds to each 32 columns of 32 rows what m gives them. */
static __attribute__((noinline)) void add_mins(const waiting *w, int64_t rows, int64_t n0,
                                               const asc_bf16_scratch *s) {
    const int64_t block = (w->n - n0) / 32;
    const float *from = s->y_mins + block / ASC_BF16_SIDE * ASC_BF16_SIDE * ASC_BF16_SIDE + block % 32;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < ASC_BF16_SIDE; j++) w->c[r * ASC_BF16_SIDE + j] += from[r * ASC_BF16_SIDE];
}

static void settle(const asc_bf16_job *job, const waiting *w, int64_t m, int64_t rows, int64_t n0,
                   const asc_bf16_scratch *s) {
    const asc_gemm_job *g = &job->g;
    if (w->cols == 0) return;
    if (job->int8) unscale(job, w, m, rows, n0, s);
    if (w->mins) add_mins(w, rows, n0, s);
    const bool odd = put(w->c, g->y + m * g->n + w->n, g->n, rows, w->cols, w->first, w->last);
    if (odd) repair(g, m, rows, w->n, w->cols, s->column, s->fill);
}

/* Fetches part i of n of what the next link needs of `rows` rows, whose tiles are at `next`, into the L2
 * cache. */
static void fetch_ahead(const asc_bf16_block *b, const uint16_t *next, int64_t tile, int64_t i, int64_t n) {
    const int64_t lines = b->blocks * tile / 32, from = lines * i / n, to = lines * (i + 1) / n;
    for (int64_t l = from; l < to; l++) __builtin_prefetch(next + 32 * l, 0, 2);
    next += b->a_step;
    for (int64_t l = from; b->two_rows && l < to; l++) __builtin_prefetch(next + 32 * l, 0, 2);
}

/* A strip of rows at `a` times the m of a panel. */
static void multiply_mins(const asc_bf16_job *job, const uint16_t *a, bool two_rows, int64_t blocks,
                          int64_t width, const asc_bf16_scratch *s) {
    asc_bf16_block b = {.a = a, .b = s->mins, .blocks = blocks, .two_rows = two_rows, .c = s->y_mins};
    b.a_step = job->blocks * 3 * ASC_BF16_TILE;
    b.b_step = blocks * 3 * ASC_BF16_TILE;
    for (int64_t n = 0; n < width; n += 2 * ASC_BF16_MIN_COLUMNS, b.b += 2 * b.b_step, b.c += 32 * 32) {
        b.two_cols = width - n > ASC_BF16_MIN_COLUMNS;
        OPS.block[ASC_BF16_6](&b);
    }
}

/* Rows [m, m + rows), at most 32, times one panel. */
static void rows_by_panel(const asc_bf16_job *job, int64_t m, int64_t rows, int64_t k0, int64_t depth,
                          int64_t n0, int64_t width, const asc_bf16_scratch *s) {
    const int64_t blocks = (depth + 31) / 32, tile = job->pieces * ASC_BF16_TILE;
    const int64_t b_tile = job->right * ASC_BF16_TILE;
    const bool end = k0 + depth >= job->g.k;
    const uint16_t *a = job->left + ((m - job->m0) / 16 * job->blocks + k0 / 32) * tile;
    asc_bf16_block b = {.a_step = job->blocks * tile, .b_step = blocks * b_tile, .two_rows = rows > 16};
    if (job->mins) multiply_mins(job, a, rows > 16, blocks, width, s);
    waiting w = {0};
    float *c = s->sums;
    for (int64_t q = 0; q < blocks; q += job->link) {
        b.blocks = blocks - q < job->link ? blocks - q : job->link;
        b.a = a + q * tile;
        /* Of these rows, or the first of the next ones; a strip of its own has none behind it. */
        const bool more = q + b.blocks < blocks;
        const uint16_t *next = more ? b.a + b.blocks * tile : a + 2 * b.a_step;
        for (int64_t n = 0; n < width; n += 32) {
            b.b = s->panel + (n / 16 * blocks + q) * b_tile;
            b.two_cols = width - n > 16;
            b.c = c;
            if (more || !job->by_strips) fetch_ahead(&b, next, tile, n / 32, (width + 31) / 32);
            for (int64_t r = 0; r < rows; r++) {
                const float *y = job->g.y + (m + r) * job->g.n + n0 + n;
                __builtin_prefetch(y, 1);
                __builtin_prefetch(y + 16, 1);
            }
            OPS.block[job->scheme](&b);
            settle(job, &w, m, rows, n0, s);
            w = (waiting){.c = c, .n = n0 + n, .cols = width - n < 32 ? width - n : 32};
            w.link = (k0 / 32 + q) / job->link;
            w.panel_link = q / job->link;
            w.first = k0 + q == 0;
            w.last = end && q + b.blocks == blocks;
            w.mins = job->mins && q + b.blocks == blocks;
            c = s->sums + (c == s->sums ? ASC_BF16_SIDE * ASC_BF16_SIDE : 0);
        }
    }
    settle(job, &w, m, rows, n0, s);
}

/* Rows [m0, m1), at most 32, times a panel and, if it is the last of k, what follows the product. */
static void strip(const asc_bf16_job *job, int64_t m0, int64_t m1, int64_t k0, int64_t depth, int64_t n,
                  int64_t width, int thread, const asc_bf16_scratch *s) {
    const int64_t group = job->blocks * job->pieces * ASC_BF16_TILE;
    asc_bf16_job own;
    if (job->by_strips) {
        own = *job;
        own.m0 = m0;
        own.left += 2 * thread * group;
        for (int64_t i = 0; 16 * i < m1 - m0; i++)
            pack_part(job, m0 + 16 * i, k0, depth, own.left + i * group);
        job = &own;
    }
    rows_by_panel(job, m0, m1 - m0, k0, depth, n, width, s);
    if (job->post != NULL && k0 + depth == job->g.k)
        job->post->block(job->post, m0, m1, n, n + width, thread);
}

/* All of a part but for the product with its last panel, which is only packed. */
static void columns(const asc_bf16_job *job, const asc_bf16_part *part, int thread, const asc_bf16_scratch *s,
                    asc_bf16_open *open) {
    for (int64_t n = part->n0; n < part->n1; n += job->g.width) {
        const int64_t width = asc_kmin(job->g.width, part->n1 - n);
        for (int64_t k = 0; k < job->g.k; k += job->g.depth) {
            const int64_t depth = asc_kmin(job->g.depth, job->g.k - k);
            const bool end = k + depth == job->g.k;
            pack_panel(job, k, depth, n, width, s);
            if (end && n + width == part->n1) {
                asc_bf16_panel_done(open, part, n, width);
                return;
            }
            for (int64_t m = part->m0; m < part->m1; m += ASC_BF16_SIDE)
                strip(job, m, asc_kmin(part->m1, m + ASC_BF16_SIDE), k, depth, n, width, thread, s);
        }
    }
}

typedef struct last_panels {
    const asc_bf16_job *job;
    const asc_bf16_open *open;
    void *scratch;
} last_panels;

static void last_strip(void *self, int64_t part, int64_t m0, int64_t m1, int thread) {
    const last_panels *l = self;
    const asc_bf16_job *job = l->job;
    const asc_bf16_open *o = &l->open[part];
    const asc_bf16_scratch s = asc_bf16_scratch_of(job, l->scratch, part, thread);
    const int64_t k = (job->g.k - 1) / job->g.depth * job->g.depth;
    strip(job, m0, m1, k, job->g.k - k, o->n, o->width, thread, &s);
}

/* Rows [job->m0, m1): cut into pieces, then multiplied. */
static void some_rows(asc_bf16_job *job, int64_t m1, const asc_kargs *args) {
    const asc_bf16_deal d = asc_bf16_deal_of(job->m0, m1, job->g.n, ASC_BF16_UNIT, args->n_threads);
    asc_share groups[ASC_SHARES_MOST];
    asc_bf16_open open[ASC_SHARES_MOST];
    const int64_t n_groups = (m1 - job->m0 + 15) / 16;
    const int64_t bytes = job->blocks * job->pieces * ASC_BF16_TILE * (int64_t)sizeof(uint16_t);
    const int n_shares = asc_shares_init(groups, args->n_threads, n_groups);
    asc_bf16_open_init(open, &d);
    job->by_strips = !args->left_ready && !args->left_keep && !job->int8 &&
                     asc_bf16_by_strips(&d, job->g.width, n_groups, bytes, args->n_threads);
    last_panels last = {.job = job, .open = open, .scratch = args->scratch};
#pragma omp parallel num_threads(args->n_threads)
    {
        const int thread = omp_get_thread_num();
        if (!args->left_ready && !job->by_strips) {
            int turn = 0;
            for (int64_t i; (i = asc_shares_next(groups, n_shares, thread, &turn)) >= 0;)
                pack_rows(job, job->m0 + 16 * i, job->left + i * job->blocks * job->pieces * ASC_BF16_TILE);
#pragma omp barrier
        }
        OPS.begin();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < d.across * d.down; i++) {
            const asc_bf16_scratch s = asc_bf16_scratch_of(job, args->scratch, i, thread);
            const asc_bf16_part part = asc_bf16_part_of(&d, i);
            columns(job, &part, thread, &s, &open[i]);
        }
        asc_bf16_strips(&d, open, thread, last_strip, &last);
        OPS.end();
    }
}

static void run(const asc_kargs *args) {
    asc_bf16_job job;
    asc_bf16_job_init(&job, args->call, BF16_LEVEL);
    job.g.a = args->in[0];
    job.g.w = args->in[1];
    job.g.y = args->out;
    job.post = args->post;
    asc_bf16_job_place(&job, args->scratch);
    if (job.g.k == 0) {
        memset(args->out, 0, (size_t)(job.g.m * job.g.n) * sizeof(float));
        if (job.post != NULL && job.g.m > 0 && job.g.n > 0)
            job.post->block(job.post, 0, job.g.m, 0, job.g.n, 0);
        return;
    }
    for (; job.m0 < job.g.m; job.m0 += ASC_BF16_ROWS)
        some_rows(&job, job.g.m < job.m0 + ASC_BF16_ROWS ? job.g.m : job.m0 + ASC_BF16_ROWS, args);
}

static bool fits(const asc_call *c) { return asc_bf16_fits(c, BF16_LEVEL); }
static int left_form(const asc_call *c) { return asc_bf16_left_form(c, BF16_LEVEL); }
static size_t scratch(const asc_call *c, int n_threads) { return asc_bf16_bytes(c, BF16_LEVEL, n_threads); }

const asc_kernel JOIN(asc_kernel_, BF16_NAME) = {.name = STRING(BF16_NAME),
                                                 .opcode = ASC_OPCODE_MATMUL,
                                                 .isa = BF16_LEVEL,
                                                 .fits = fits,
                                                 .scratch = scratch,
                                                 .run = run,
                                                 .takes_post = true,
                                                 .left_form = left_form};
