/* stored_gemm_amx.c - y = a W^T with W in a block format, [n,k], for many rows of a at `highest`
 * (stored_job.h has the formula; docs/decisions/stored-by-tiles.md why).
 *
 * Rows of a are cut into pieces once per call, by all threads, or by each thread strip by strip
 * (asc_bf16_by_strips). Each thread owns a range of columns, brings a panel of W into tiles, and multiplies
 * 32 rows by 32 columns and all of k at a time. A result is the product of sums with m, to which d times the
 * blocks' sums are added in ascending order: a row's bits are a function of that row alone.
 *
 * Infinities, NaN, overflow and what is tiny are computed again in f32 (bf16_repair.inl). */
#include "bf16_deal.h"
#include "stored_job.h"
#include <immintrin.h>
#include <omp.h>
#include <string.h>
/* Parts shared with other kernels of bf16 products. */
#include "bf16_rows.inl"
#include "bf16_repair.inl"
#include "stored_panel.inl"
#include "stored_tiles.inl"

/* `rows` x `cols` results to y, the two parts of each together (parts == c: there is one); true if one of
 * them is odd. */
ALWAYS_INLINE bool put_of(const float *c, const float *parts, const bool two, float *y, int64_t ldy,
                          int64_t rows, int64_t cols) {
    vu odd = {0};
    const __mmask16 first = (__mmask16)(cols >= 16 ? 0xFFFF : (1 << cols) - 1);
    const __mmask16 second = (__mmask16)(cols >= 32 ? 0xFFFF : cols <= 16 ? 0 : (1 << (cols - 16)) - 1);
    for (int64_t r = 0; r < rows; r++, c += ASC_BF16_SIDE, parts += ASC_BF16_SIDE, y += ldy) {
        vf u = (vf)_mm512_maskz_load_ps(first, c), v = (vf)_mm512_maskz_load_ps(second, c + 16);
        if (two) {
            u += (vf)_mm512_maskz_load_ps(first, parts);
            v += (vf)_mm512_maskz_load_ps(second, parts + 16);
        }
        _mm512_mask_storeu_ps(y, first, (__m512)u);
        _mm512_mask_storeu_ps(y + 16, second, (__m512)v);
        gather_odd(&u, &odd);
        gather_odd(&v, &odd);
    }
    return _mm512_test_epi32_mask((__m512i)odd, (__m512i)odd) != 0;
}

/* Sums of 32 numbers of a times m: results [32][32]. */
static void multiply_mins(const asc_stored_job *job, int64_t group, bool two_rows, int64_t n,
                          const asc_stored_scratch *s) {
    const int64_t step = job->sum_tiles * 3 * ASC_BF16_TILE;
    const asc_bf16_block b = {.a = job->sums + group * step,
                              .b = s->mins + n / 16 * step,
                              .a_step = step,
                              .b_step = step,
                              .blocks = job->sum_tiles,
                              .two_rows = two_rows,
                              .two_cols = true,
                              .c = s->y_mins};
    asc_bf16_amx.block[ASC_BF16_6](&b);
}

/* Rows [m, m + rows), at most 32, times one panel. */
static void rows_by_panel(const asc_stored_job *job, int64_t m, int64_t rows, int64_t n0, int64_t width,
                          const asc_stored_scratch *s) {
    const asc_gemm_job *g = &job->g;
    const int64_t group = (m - job->m0) / 16, a_step = job->blocks * 3 * ASC_BF16_TILE,
                  columns = (width + 31) / 32;
    const uint16_t *a = job->left + group * a_step;
    const walk w = walk_of(job->blocks, columns);
    memset(s->nowhere, 0, 32 * 32 * sizeof(float));
    float *y = s->y;
    memset(y, 0, (size_t)(columns * 32 * 32) * sizeof *y);
    if (rows > 16)
        rows_32(a, a_step, s->panel, s->scale, w, s->products, y, s->nowhere);
    else
        rows_16(a, s->panel, s->scale, w, s->products, y, s->nowhere);
    for (int64_t n = 0; n < width; n += 32, y += 32 * 32) {
        const int64_t cols = width - n < 32 ? width - n : 32;
        float *to = g->y + m * g->n + n0 + n;
        if (job->sum_tiles > 0) multiply_mins(job, group, rows > 16, n, s);
        const bool odd = job->sum_tiles > 0 ? put_of(y, s->y_mins, true, to, g->n, rows, cols)
                                            : put_of(y, y, false, to, g->n, rows, cols);
        if (odd) repair(g, m, rows, n0 + n, cols, s->column, NULL);
    }
}

/* 16 rows to pieces and, if the format has m, their sums. */
static void cut_rows(const asc_stored_job *job, int64_t group) {
    const int64_t m = job->m0 + 16 * group, k = job->g.k, rows = job->g.m - m < 16 ? job->g.m - m : 16;
    uint16_t *out = job->left + group * job->blocks * 3 * ASC_BF16_TILE;
    pack_row_group(job->g.a + m * k, rows, k, 3, out);
    if (job->sum_tiles > 0)
        sum_row_group(out, job->blocks, job->sums + group * job->sum_tiles * 3 * ASC_BF16_TILE);
}

/* Rows [m0, m1), at most 32, times a panel and what follows the product. */
static void strip(const asc_stored_job *job, int64_t m0, int64_t m1, int64_t n, int64_t width, int thread,
                  const asc_stored_scratch *s) {
    asc_stored_job own;
    if (job->by_strips) {
        own = *job;
        own.m0 = m0;
        own.left += 2 * thread * job->blocks * 3 * ASC_BF16_TILE;
        own.sums += 2 * thread * job->sum_tiles * 3 * ASC_BF16_TILE;
        for (int64_t i = 0; 16 * i < m1 - m0; i++) cut_rows(&own, i);
        job = &own;
    }
    rows_by_panel(job, m0, m1 - m0, n, width, s);
    if (job->post != NULL) job->post->block(job->post, m0, m1, n, n + width, thread);
}

/* A part but for the product with its last panel, which is only packed. */
static void columns(const asc_stored_job *job, const asc_bf16_part *part, int thread,
                    const asc_stored_scratch *s, asc_bf16_open *open) {
    for (int64_t n = part->n0; n < part->n1; n += job->g.width) {
        const int64_t width = asc_kmin(job->g.width, part->n1 - n);
        pack_panel(job, n, width, s);
        if (n + width == part->n1) asc_bf16_panel_done(open, part, n, width);
        for (int64_t m = part->m0; n + width < part->n1 && m < part->m1; m += ASC_BF16_SIDE)
            strip(job, m, asc_kmin(part->m1, m + ASC_BF16_SIDE), n, width, thread, s);
    }
}

typedef struct last_panels {
    const asc_stored_job *job;
    const asc_bf16_open *open;
    void *scratch;
} last_panels;

static void last_strip(void *self, int64_t part, int64_t m0, int64_t m1, int thread) {
    const last_panels *l = self;
    const asc_stored_scratch s = asc_stored_scratch_of(l->job, l->scratch, part, thread);
    strip(l->job, m0, m1, l->open[part].n, l->open[part].width, thread, &s);
}

/* Rows [job->m0, m1): cut into pieces, then multiplied. */
static void some_rows(asc_stored_job *job, int64_t m1, const asc_kargs *args) {
    const asc_bf16_deal d = asc_bf16_deal_of(job->m0, m1, job->g.n, ASC_STORED_UNIT, args->n_threads);
    asc_share groups[ASC_SHARES_MOST];
    asc_bf16_open open[ASC_SHARES_MOST];
    const int64_t n_groups = (m1 - job->m0 + 15) / 16;
    const int64_t bytes = (job->blocks + job->sum_tiles) * 3 * ASC_BF16_TILE * (int64_t)sizeof(uint16_t);
    const int n_shares = asc_shares_init(groups, args->n_threads, n_groups);
    asc_bf16_open_init(open, &d);
    job->by_strips = !args->left_ready && !args->left_keep &&
                     asc_bf16_by_strips(&d, job->g.width, n_groups, bytes, args->n_threads);
    last_panels last = {.job = job, .open = open, .scratch = args->scratch};
#pragma omp parallel num_threads(args->n_threads)
    {
        const int thread = omp_get_thread_num();
        asc_bf16_amx.begin();
        if (!args->left_ready && !job->by_strips) {
            int turn = 0;
            for (int64_t i; (i = asc_shares_next(groups, n_shares, thread, &turn)) >= 0;) cut_rows(job, i);
#pragma omp barrier
        }
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < d.across * d.down; i++) {
            const asc_stored_scratch s = asc_stored_scratch_of(job, args->scratch, i, thread);
            const asc_bf16_part part = asc_bf16_part_of(&d, i);
            columns(job, &part, thread, &s, &open[i]);
        }
        asc_bf16_strips(&d, open, thread, last_strip, &last);
        asc_bf16_amx.end();
    }
}

static void run(const asc_kargs *args) {
    asc_stored_job job;
    asc_stored_job_init(&job, args->call);
    job.g.a = args->in[0];
    job.g.w = args->in[1];
    job.g.y = args->out;
    job.post = args->post;
    asc_stored_job_place(&job, args->scratch);
    for (; job.m0 < job.g.m; job.m0 += ASC_BF16_ROWS)
        some_rows(&job, job.g.m < job.m0 + ASC_BF16_ROWS ? job.g.m : job.m0 + ASC_BF16_ROWS, args);
}

const asc_kernel asc_kernel_matmul_stored_amx = {.name = "matmul_stored_amx",
                                                 .opcode = ASC_OPCODE_MATMUL,
                                                 .isa = ASC_ISA_AMX,
                                                 .fits = asc_stored_fits,
                                                 .scratch = asc_stored_bytes,
                                                 .run = run,
                                                 .takes_post = true,
                                                 .left_form = asc_stored_left_form};
