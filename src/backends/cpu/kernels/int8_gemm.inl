/* int8_gemm.inl - y = a W at int8 (int8_job.h), for many rows of a; W is f32 or stored, [k,n] or [n,k]. The
 * file that includes it defines INT8_NAME, INT8_FILL and INT8_FITS, includes vec.h, and brings
 *   EACH            numbers in a word: 4 bytes (those of a without sign) or 2 halves
 *   INT8_ROWS, INT8_VECS   rows and vectors of columns of a tile
 *   WITH_DOT        attribute of what calls dot
 *   dot(sum, x, w)  sum + the EACH products of each word
 *   vi_all, vi_max, vi_most (of its lanes), whole (to the next whole number, ties to even)
 *   put_whole       EACH vectors of whole numbers in order, to words
 *   turn            VW rows of words, to words of columns
 *   HOLD(v)         keeps v from being fused with what follows
 *
 * Each thread owns a range of columns: it turns a panel of W into whole numbers, sized for the L2 cache, and
 * multiplies 32 rows at a time with it. A step that no whole number can have (something infinite or NaN, or
 * all so small that their inverse is infinite) is NaN; then the results are, and what is not finite is
 * computed again in f32 (bf16_repair.inl). */
#include "bf16_deal.h"
#include "expand.h"
#include "int8_job.h"
#include "matmul_shape.h"
#include <float.h>
#include <omp.h>

#define ALWAYS_INLINE VEC_INLINE
#include "bf16_repair.inl"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define STRING_(x) #x
#define STRING(x) STRING_(x)

enum {
    TILE_ROWS = INT8_ROWS,
    TILE_VECS = INT8_VECS,
    SLAB = TILE_VECS * VW,        /* columns of a slab */
    STEPS = ASC_INT8_LINK / EACH, /* words of a link */
    INFINITE = 0x7F800000         /* bits of infinity; NaN has more */
};

/* ---- whole numbers ---- */

ALWAYS_INLINE vi magnitude(vf x) { return (vi)((vu)x & 0x7FFFFFFFu); }

/* n <= 256 numbers that follow each other, to words; flip: what bytes without sign differ by. Numbers up to
 * the next EACH vectors become 0. */
static void whole_run(const float *x, int64_t n, uint32_t flip, uint32_t *out, float *scale) {
    vi most = {0};
    int64_t i = 0;
    for (; i + VW <= n; i += VW) most = vi_max(most, magnitude(vload(x + i)));
    if (i < n) most = vi_max(most, magnitude(vloadn(x + i, n - i)));
    const int32_t bits = vi_most(most);
    float max;
    memcpy(&max, &bits, sizeof max);
    float inverse = max > 0 ? 127 / max : 0;
    const bool fits = bits < INFINITE && inverse <= FLT_MAX;
    *scale = fits ? max / 127 : NAN;
    if (!fits) inverse = 0;
    const vf by = vset1(inverse);
    vi q[EACH];
    for (i = 0; i + EACH * VW <= n; i += EACH * VW, out += VW) {
        VEC_UNROLL
        for (int e = 0; e < EACH; e++) q[e] = whole(vload(x + i + e * VW) * by);
        put_whole(q, flip, out);
    }
    if (i == n) return;
    for (int e = 0; e < EACH; e++) {
        const int64_t left = n - i - e * VW;
        q[e] = whole((left >= VW ? vload(x + i + e * VW)
                      : left > 0 ? vloadn(x + i + e * VW, left)
                                 : vzero()) *
                     by);
    }
    put_whole(q, flip, out);
}

/* Rows m to m + 15 of a. */
static void whole_rows(const asc_int8_job *job, int64_t m) {
    const int64_t k = job->g.k, rows = asc_kmin(16, job->g.m - m);
    for (int64_t r = m; r < m + rows; r++) {
        uint32_t *out = job->left + (r - job->m0) * asc_int8_row(job);
        for (int64_t l = 0; l < job->links; l++)
            whole_run(job->g.a + r * k + l * ASC_INT8_LINK, asc_kmin(ASC_INT8_LINK, k - l * ASC_INT8_LINK),
                      EACH == 4 ? 0x80808080u : 0, out + l * STEPS,
                      job->row_scale + (r - job->m0) * job->links + l);
    }
}

/* VW columns of a filled slab of `depth` <= 256 rows, to words of a panel; scale: theirs. */
static void whole_columns(const float *x, int64_t depth, uint32_t *out, float *scale) {
    vi most = {0};
    for (int64_t k = 0; k < depth; k++) most = vi_max(most, magnitude(vload(x + k * ASC_GEMM_SLAB)));
    const vf m = (vf)most;
    vf by = (vf)((vi)(vset1(127) / m) & (vi)(most > 0));
    const vi fits = (vi)(most < INFINITE) & (vi)((vi)by < INFINITE);
    by = (vf)((vi)by & fits);
    vstore(scale, (vf)((vi)(m / vset1(127)) | ~fits));
    int64_t k = 0;
    for (; k + EACH <= depth; k += EACH, out += SLAB) {
        vu word = {0};
        VEC_UNROLL
        for (int e = 0; e < EACH; e++) {
            const vu q = (vu)whole(vload(x + (k + e) * ASC_GEMM_SLAB) * by);
            word |= (e == EACH - 1 ? q : q & (0xFFFFFFFFu >> (32 - 32 / EACH))) << (32 / EACH * e);
        }
        vstore((float *)(void *)out, (vf)word);
    }
    if (k == depth) return;
    vu word = {0};
    for (int e = 0; k + e < depth; e++)
        word |= ((vu)whole(vload(x + (k + e) * ASC_GEMM_SLAB) * by) & (0xFFFFFFFFu >> (32 - 32 / EACH)))
                << (32 / EACH * e);
    vstore((float *)(void *)out, (vf)word);
}

/* [n,k]: VW columns of the product, `cols` of which there are, for one link of len values of k from k0 on. */
static void stored_columns(const asc_gemm_job *g, int64_t k0, int64_t len, int64_t n0, int64_t cols,
                           uint32_t *out, float *scale, float *tmp) {
    const asc_dtype_info *info = asc_dtype_of(g->t);
    _Alignas(64) uint32_t words[VW][STEPS + 16]; /* apart, so that they are not all in one set of a cache */
    for (int64_t c = 0; c < VW; c++) {
        scale[c] = 0;
        if (c >= cols) {
            memset(words[c], 0, sizeof words[c]);
            continue;
        }
        const int64_t at = (n0 + c) * g->k + k0;
        const uint8_t *p = g->w + at / info->block_elems * info->block_bytes;
        const float *x = (const float *)(const void *)p;
        if (g->t != ASC_DTYPE_F32) {
            g->expand(p, tmp, len);
            x = tmp;
        }
        whole_run(x, len, 0, words[c], scale + c);
    }
    turn(words[0], STEPS + 16, asc_kceil(len, EACH), out);
}

/* Of a slab. */
static WITH_DOT void offsets(const uint32_t *panel, int64_t steps, int32_t *out) {
    vi sum[TILE_VECS];
    for (int j = 0; j < TILE_VECS; j++) sum[j] = vi_all(0);
    for (int64_t s = 0; s < steps; s++, panel += SLAB) {
        VEC_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            sum[j] =
                dot(sum[j], vi_all(0x80808080u), (vi)vload((const float *)(const void *)(panel + VW * j)));
    }
    for (int j = 0; j < TILE_VECS; j++) vstore((float *)(void *)(out + VW * j), (vf)(-sum[j]));
}

/* W[k0 .. k0+depth)[n0 .. n0+width). */
static void pack_panel(const asc_int8_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                       const asc_int8_scratch *s) {
    const asc_gemm_job *g = &job->g;
    const int64_t links = asc_kceil(depth, ASC_INT8_LINK);
    for (int64_t l = 0; l < links; l++) {
        const int64_t k = k0 + l * ASC_INT8_LINK, len = asc_kmin(ASC_INT8_LINK, k0 + depth - k);
        float *scale = s->scale + l * g->width;
        for (int64_t n = 0; n < width; n += ASC_INT8_UNIT) {
            const int64_t some = asc_kmin(ASC_INT8_UNIT, width - n);
            if (!g->tb) INT8_FILL(g, k, len, n0 + n, some, s->slab, s->fill);
            for (int64_t j = 0; j < some; j += VW) {
                uint32_t *out = s->panel + ((n + j) / SLAB * links + l) * STEPS * SLAB + (n + j) % SLAB;
                if (g->tb)
                    stored_columns(g, k, len, n0 + n + j, asc_kmin(VW, some - j), out, scale + n + j,
                                   s->fill);
                else
                    whole_columns(s->slab + j / ASC_GEMM_SLAB * ASC_GEMM_SLAB * len + j % ASC_GEMM_SLAB, len,
                                  out, scale + n + j);
            }
            for (int64_t j = 0; EACH == 4 && j < some; j += SLAB)
                offsets(s->panel + ((n + j) / SLAB * links + l) * STEPS * SLAB, asc_kceil(len, EACH),
                        s->offset + l * g->width + n + j);
        }
    }
}

/* ---- products ---- */

typedef struct tile_args {
    const uint32_t *a; /* first row of the tile, at the link */
    int64_t lda;
    const float *by; /* its rows' steps, `links` apart */
    int64_t links;
    const uint32_t *b; /* slab, at the link */
    const float *scale;
    const int32_t *offset;
    float *y;
    int64_t ldy, cols, steps;
    bool first, last; /* link of all */
    vu odd;
} tile_args;

ALWAYS_INLINE WITH_DOT void tile(tile_args *t, const int rows, const int vecs) {
    vi acc[TILE_ROWS][TILE_VECS];
    const uint32_t *a = t->a, *b = t->b;
    const int64_t lda = t->lda;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++)
            acc[i][j] = EACH == 4 ? (vi)vload((const float *)(const void *)(t->offset + VW * j)) : vi_all(0);
    }
    for (int64_t s = 0; s < t->steps; s++, a++, b += SLAB) {
        vi w[TILE_VECS];
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) w[j] = (vi)vload((const float *)(const void *)(b + VW * j));
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const vi x = vi_all(a[i * lda]);
#pragma GCC unroll 3
            for (int j = 0; j < vecs; j++) acc[i][j] = dot(acc[i][j], x, w[j]);
        }
    }
    /* The link's sums times both steps, then added. What t points to is read once. */
    const int64_t end = t->cols - VW * (vecs - 1), links = t->links, ldy = t->ldy;
    const float *const by = t->by, *const scale = t->scale;
    float *const y = t->y;
    vf sum[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        const vf step = vset1(by[i * links]);
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) {
            sum[i][j] = vtof(acc[i][j]) * (step * vload(scale + VW * j));
            HOLD(sum[i][j]);
        }
    }
    if (!t->first) {
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
            for (int j = 0; j < vecs; j++) {
                const float *at = y + i * ldy + VW * j;
                sum[i][j] += j == vecs - 1 && end < VW ? vloadn(at, end) : vload(at);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) {
            float *at = y + i * ldy + VW * j;
            if (j == vecs - 1 && end < VW)
                vstoren(at, sum[i][j], end);
            else
                vstore(at, sum[i][j]);
        }
    }
    if (!t->last) return;
    vu odd = t->odd;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; j++) gather_odd(&sum[i][j], &odd);
    }
    t->odd = odd;
}

#define TILE(rows, vecs)                                                                                     \
    static WITH_DOT void tile_##rows##_##vecs(tile_args *t) { tile(t, rows, vecs); }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE_3(rows)
#define TILE_NAMES(rows)                                                                                     \
    { tile_##rows##_1, tile_##rows##_2, TILE_3_NAME(rows) }
#if INT8_VECS == 3
#define TILE_3(rows) TILE(rows, 3)
#define TILE_3_NAME(rows) tile_##rows##_3
#else
#define TILE_3(rows)
#define TILE_3_NAME(rows) NULL
#endif
TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if INT8_ROWS > 4
TILES(5)
TILES(6)
#endif
#if INT8_ROWS > 6
TILES(7)
TILES(8)
#endif
static void (*const tiles[TILE_ROWS][3])(tile_args *t) = {TILE_NAMES(1), TILE_NAMES(2), TILE_NAMES(3),
                                                          TILE_NAMES(4),
#if INT8_ROWS > 4
                                                          TILE_NAMES(5), TILE_NAMES(6),
#endif
#if INT8_ROWS > 6
                                                          TILE_NAMES(7), TILE_NAMES(8)
#endif
};

/* Rows [m0, m1), at most 32, times a panel and, if it is the last of k, what follows the product. A link of a
 * slab, and the rows, stay in the L1 cache meanwhile. */
static void strip(const asc_int8_job *job, int64_t m0, int64_t m1, int64_t k0, int64_t depth, int64_t n0,
                  int64_t width, int thread, const asc_int8_scratch *s) {
    const asc_gemm_job *g = &job->g;
    const int64_t links = asc_kceil(depth, ASC_INT8_LINK), l0 = k0 / ASC_INT8_LINK;
    const int64_t n_tiles = asc_kceil(m1 - m0, TILE_ROWS);
    const bool end = k0 + depth == g->k;
    tile_args t = {.lda = asc_int8_row(job), .links = job->links, .ldy = g->n};
    for (int64_t n = 0; n < width; n += SLAB) {
        t.cols = asc_kmin(SLAB, width - n);
        t.odd = (vu){0};
        for (int64_t l = 0; l < links; l++) {
            t.steps = asc_kceil(asc_kmin(ASC_INT8_LINK, depth - l * ASC_INT8_LINK), EACH);
            t.b = s->panel + (n / SLAB * links + l) * STEPS * SLAB;
            t.scale = s->scale + l * g->width + n;
            t.offset = s->offset + l * g->width + n;
            t.first = l0 + l == 0;
            t.last = end && l == links - 1;
            for (int64_t i = 0; i < n_tiles; i++) { /* dealt out evenly */
                const int64_t from = m0 + (m1 - m0) * i / n_tiles, to = m0 + (m1 - m0) * (i + 1) / n_tiles;
                t.a = job->left + (from - job->m0) * t.lda + (l0 + l) * STEPS;
                t.by = job->row_scale + (from - job->m0) * job->links + l0 + l;
                t.y = g->y + from * g->n + n0 + n;
                tiles[to - from - 1][asc_kceil(t.cols, VW) - 1](&t);
            }
        }
        uint32_t odd = 0;
        for (int i = 0; i < VW; i++) odd |= t.odd[i];
        if (odd != 0) repair(g, m0, m1 - m0, n0 + n, t.cols, s->column, s->fill);
    }
    if (job->post != NULL && end) job->post->block(job->post, m0, m1, n0, n0 + width, thread);
}

/* All of a part but for the product with its last panel, which is only packed. */
static void columns(const asc_int8_job *job, const asc_bf16_part *part, int thread, const asc_int8_scratch *s,
                    asc_bf16_open *open) {
    for (int64_t n = part->n0; n < part->n1; n += job->g.width) {
        const int64_t width = asc_kmin(job->g.width, part->n1 - n);
        for (int64_t k = 0; k < job->g.k; k += job->g.depth) {
            const int64_t depth = asc_kmin(job->g.depth, job->g.k - k);
            pack_panel(job, k, depth, n, width, s);
            if (k + depth == job->g.k && n + width == part->n1) {
                asc_bf16_panel_done(open, part, n, width);
                return;
            }
            for (int64_t m = part->m0; m < part->m1; m += ASC_BF16_SIDE)
                strip(job, m, asc_kmin(part->m1, m + ASC_BF16_SIDE), k, depth, n, width, thread, s);
        }
    }
}

typedef struct last_panels {
    const asc_int8_job *job;
    const asc_bf16_open *open;
    void *scratch;
} last_panels;

static void last_strip(void *self, int64_t part, int64_t m0, int64_t m1, int thread) {
    const last_panels *p = self;
    const asc_gemm_job *g = &p->job->g;
    const asc_int8_scratch s = asc_int8_scratch_of(p->job, p->scratch, part, thread);
    const int64_t k = (g->k - 1) / g->depth * g->depth;
    strip(p->job, m0, m1, k, g->k - k, p->open[part].n, p->open[part].width, thread, &s);
}

/* Rows [job->m0, m1). */
static void some_rows(const asc_int8_job *job, int64_t m1, const asc_kargs *args) {
    const asc_bf16_deal d = asc_bf16_deal_of(job->m0, m1, job->g.n, ASC_INT8_UNIT, args->n_threads);
    asc_share groups[ASC_SHARES_MOST];
    asc_bf16_open open[ASC_SHARES_MOST];
    const int shares = asc_shares_init(groups, args->n_threads, asc_kceil(m1 - job->m0, 16));
    asc_bf16_open_init(open, &d);
    last_panels last = {.job = job, .open = open, .scratch = args->scratch};
#pragma omp parallel num_threads(args->n_threads)
    {
        const int thread = omp_get_thread_num();
        if (!args->left_ready) {
            int turn = 0;
            for (int64_t i; (i = asc_shares_next(groups, shares, thread, &turn)) >= 0;)
                whole_rows(job, job->m0 + 16 * i);
#pragma omp barrier
        }
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < d.across * d.down; i++) {
            const asc_int8_scratch s = asc_int8_scratch_of(job, args->scratch, i, thread);
            const asc_bf16_part part = asc_bf16_part_of(&d, i);
            columns(job, &part, thread, &s, &open[i]);
        }
        asc_bf16_strips(&d, open, thread, last_strip, &last);
    }
}

static void run(const asc_kargs *args) {
    asc_int8_job job;
    asc_int8_job_init(&job, args->call, VEC_ISA_ENUM, EACH);
    job.g.a = args->in[0];
    job.g.w = args->in[1];
    job.g.y = args->out;
    job.post = args->post;
    asc_int8_job_place(&job, args->scratch);
    if (job.g.k == 0) {
        memset(args->out, 0, (size_t)(job.g.m * job.g.n) * sizeof(float));
        if (job.post != NULL && job.g.m > 0 && job.g.n > 0)
            job.post->block(job.post, 0, job.g.m, 0, job.g.n, 0);
        return;
    }
    for (; job.m0 < job.g.m; job.m0 += ASC_INT8_ROWS)
        some_rows(&job, asc_kmin(job.g.m, job.m0 + ASC_INT8_ROWS), args);
}

static bool fits(const asc_call *c) { return asc_int8_fits(c) && INT8_FITS; }
static size_t scratch(const asc_call *c, int n_threads) {
    return asc_int8_bytes(c, VEC_ISA_ENUM, EACH, n_threads);
}

const asc_kernel JOIN(asc_kernel_, INT8_NAME) = {.name = STRING(INT8_NAME),
                                                 .opcode = ASC_OPCODE_MATMUL,
                                                 .isa = VEC_ISA_ENUM,
                                                 .fits = fits,
                                                 .scratch = scratch,
                                                 .run = run,
                                                 .takes_post = true,
                                                 .left_form = asc_int8_left_form};
