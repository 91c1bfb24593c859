/* conv.inl - conv and its transpose as products of the weight with gathered columns (conv_job.h), without the
 * gathered matrix ever being whole: 192 values of k of one slab of columns are gathered into the first-level
 * cache and meet all rows of the weight, whose 192 columns are in the second-level cache by then; sums wait
 * in a block of scratch. A unit takes a few slabs, so that the weight does not come from memory for each.
 *
 * Every output element is a sum, in ascending order of (channel, tap), of chains of 192 fused multiply-adds:
 * a function of the shape alone, so neither the number of threads nor the cutting into units nor other
 * examples of the batch change a bit. A tile is CONV_ROWS by CONV_VECS vectors of accumulators. Few rows per
 * group (depthwise) are computed row by row in conv_direct.inl. */
#include "conv_direct.inl"
#include "conv_fill.inl"
#include "conv_stride2.inl"

#if VEC_ISA == 2
enum { CONV_ROWS = 9 };
#else
enum { CONV_ROWS = 4 };
#endif
enum {
    CONV_DEPTH = 192, /* longer chains round more; a slab of this depth takes 36 KB */
    CONV_WIDTH = 384, /* columns of a unit, whole slabs */
    CONV_MAX_SLABS = CONV_WIDTH / CONV_SLAB,
    CONV_MAX_ROWS = 512, /* of a unit: 393 KB of sums */
    CONV_PIECE_FLOATS = (sizeof(conv_pieces) + 63) / 64 * 16,
    CONV_FLOATS = CONV_DEPTH * CONV_SLAB + CONV_MAX_ROWS * CONV_WIDTH + CONV_MAX_SLABS * CONV_PIECE_FLOATS,
    CONV_MIN_ROWS = CONV_DIRECT_ROWS + 1
};

typedef struct conv_tile {
    const float *a, *b; /* first row of the weight; slab */
    int64_t lda, steps;
    float *y;
    int64_t ldy;
    bool first;        /* start from the bias instead of y */
    const float *bias; /* of the first row, or NULL */
} conv_tile;

VEC_INLINE void conv_product(const conv_tile *t, const int rows, const int vecs) {
    vf acc[CONV_ROWS][CONV_VECS];
    const float *a = t->a, *b = t->b;
    const int64_t lda = t->lda, ldy = t->ldy;
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
        VEC_UNROLL
        for (int v = 0; v < vecs; v++) acc[i][v] = vzero();
    }
    for (int64_t k = 0; k < t->steps; k++, a++, b += CONV_SLAB) {
        vf w[CONV_VECS];
        VEC_UNROLL
        for (int v = 0; v < vecs; v++) w[v] = vload(b + v * VW);
        VEC_UNROLL
        for (int i = 0; i < rows; i++) {
            const vf x = vset1(a[i * lda]);
            VEC_UNROLL
            for (int v = 0; v < vecs; v++) acc[i][v] = vfma(x, w[v], acc[i][v]);
        }
    }
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
        const vf bias = t->first && t->bias != NULL ? vset1(t->bias[i]) : vzero();
        VEC_UNROLL
        for (int v = 0; v < vecs; v++) {
            float *y = t->y + i * ldy + v * VW;
            vstore(y, acc[i][v] + (t->first ? bias : vload(y)));
        }
    }
}

#define CONV_TILE(rows, vecs)                                                                                \
    static __attribute__((noinline)) void conv_tile_##rows##x##vecs(const conv_tile *t) {                    \
        conv_product(t, VEC_MIN(rows, CONV_ROWS), vecs);                                                     \
    }
#define CONV_TILES(rows) CONV_TILE(rows, 1) CONV_TILE(rows, 2) CONV_TILE(rows, 3)
CONV_TILES(1)
CONV_TILES(2)
CONV_TILES(3)
CONV_TILES(4)
#if VEC_ISA == 2
CONV_TILES(5)
CONV_TILES(6)
CONV_TILES(7)
CONV_TILES(8)
CONV_TILES(9)
#endif
#define CONV_TILE_ROW(rows)                                                                                  \
    { conv_tile_##rows##x1, conv_tile_##rows##x2, conv_tile_##rows##x3 }
static void (*const conv_tiles[CONV_ROWS][CONV_VECS])(const conv_tile *t) = {
    CONV_TILE_ROW(1), CONV_TILE_ROW(2), CONV_TILE_ROW(3), CONV_TILE_ROW(4),
#if VEC_ISA == 2
    CONV_TILE_ROW(5), CONV_TILE_ROW(6), CONV_TILE_ROW(7), CONV_TILE_ROW(8), CONV_TILE_ROW(9),
#endif
};

/* Where a slab's results go: runs of columns with their first element in y, row 0 of the group. */
typedef struct conv_slab {
    int n_runs, n_out, cols;
    asc_conv_run runs[CONV_SLAB];
    struct {
        int col, len;
        int64_t at;
    } out[CONV_SLAB];
} conv_slab;

static void conv_slab_find(const asc_conv_job *j, int64_t n0, int cols, conv_slab *s) {
    const bool dense = j->dst_step[0] * j->dst_step[1] * j->dst_step[2] == 1;
    s->cols = cols;
    s->n_runs = asc_conv_runs(j, n0, cols, s->runs);
    s->n_out = 0;
    for (int i = 0; i < s->n_runs; i++) {
        const asc_conv_run *r = &s->runs[i];
        int64_t o[ASC_CONV_AXES];
        for (int d = 0; d < ASC_CONV_AXES; d++) o[d] = r->o[d] * j->dst_step[d] + j->dst_off[d];
        const int64_t at =
            r->b * j->groups * j->m * j->dst_plane + (o[0] * j->dst[1] + o[1]) * j->dst[2] + o[2];
        const int last = s->n_out - 1;
        if (dense && last >= 0 && s->out[last].at + s->out[last].len == at) {
            s->out[last].len += r->len;
        } else {
            s->out[s->n_out].col = r->col;
            s->out[s->n_out].len = r->len;
            s->out[s->n_out++].at = at;
        }
    }
}

/* Brings the lines that conv_store will write into the second-level cache. */
static void conv_fetch(const conv_slab *s, int64_t rows, const float *y, int64_t plane, int64_t step) {
    for (int64_t r = 0; r < rows; r++, y += plane)
        for (int i = 0; i < s->n_out; i++)
            for (int64_t k = 0; k < s->out[i].len * step; k += 16)
                __builtin_prefetch(y + s->out[i].at + k, 0, 2);
}

/* Sums of `rows` rows to where they belong. */
static void conv_store(const conv_slab *s, int64_t rows, const float *sums, float *y, int64_t plane,
                       int64_t step) {
    for (int64_t r = 0; r < rows; r++, sums += CONV_SLAB, y += plane)
        for (int i = 0; i < s->n_out; i++) {
            float *to = y + s->out[i].at;
            const float *from = sums + s->out[i].col;
            const int len = s->out[i].len;
            int k = 0;
            if (step == 1) {
                for (; k + VW <= len; k += VW) vstore(to + k, vload(from + k));
                if (k < len) vstoren(to + k, vloadn(from + k, len - k), len - k);
            } else {
                for (; k < len; k++) to[k * step] = from[k];
            }
        }
}

/* The epilogue on what conv_store has just written of rows [row, row + rows) of one example: runs of columns
 * of all slabs, put together where they meet (never across examples, whose planes lie groups * m apart). */
static void conv_post(const asc_conv_job *j, int64_t row, int64_t rows, const conv_slab *slabs,
                      int64_t n_slabs, int thread) {
    const int64_t example = j->groups * j->m * j->dst_plane;
    int64_t at = 0, len = 0;
    for (int64_t s = 0; s < n_slabs; s++)
        for (int i = 0; i <= slabs[s].n_out; i++) {
            const bool end = i == slabs[s].n_out;
            if (end && s + 1 < n_slabs) break;
            if (!end && len > 0 && at + len == slabs[s].out[i].at) {
                len += slabs[s].out[i].len;
                continue;
            }
            if (len > 0) {
                const int64_t b = at / example, n0 = at - b * example, m0 = b * j->groups * j->m + row;
                j->post->block(j->post, m0, m0 + rows, n0, n0 + len, thread);
            }
            if (end) break;
            at = slabs[s].out[i].at;
            len = slabs[s].out[i].len;
        }
}

/* The weight's next CONV_DEPTH columns, of `left` that are left: rows are far apart, which the processor's
 * own prefetch does not foresee. */
static inline void conv_fetch_rows(const float *a, int64_t lda, int64_t rows, int64_t left) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < asc_kmin(left, CONV_DEPTH); k += 16)
            __builtin_prefetch(a + r * lda + k, 0, 2);
}

typedef struct conv_work {
    const asc_conv_job
        *jobs; /* phases: those of one panel follow each other, while its part of y is in cache */
    int n_jobs;
    float *scratch;
    int64_t panels, row_parts;
} conv_work;

/* Rows [r0, r1) of group g times `n_slabs` slabs from s0 on. */
static void conv_block(const asc_conv_job *j, int64_t g, int64_t r0, int64_t r1, int64_t s0, int64_t n_slabs,
                       float *scratch, int thread) {
    float *buffer = scratch, *sums = buffer + CONV_DEPTH * CONV_SLAB,
          *rest = sums + CONV_MAX_ROWS * CONV_WIDTH;
    const int64_t n_rows = r1 - r0, n_tiles = asc_kceil(n_rows, CONV_ROWS);
    const float *x = j->x + g * j->c * j->src_plane;
    float *y = j->y + (g * j->m + r0) * j->dst_plane;
    conv_slab slabs[CONV_MAX_SLABS];
    conv_pieces *pieces[CONV_MAX_SLABS];
    for (int64_t s = 0; s < n_slabs; s++) {
        const int64_t n0 = (s0 + s) * CONV_SLAB;
        pieces[s] = (conv_pieces *)(void *)(rest + s * CONV_PIECE_FLOATS);
        conv_slab_find(j, n0, (int)asc_kmin(CONV_SLAB, j->columns - n0), &slabs[s]);
        if (j->taps <= CONV_TAPS_KEPT)
            conv_find_pieces(j, slabs[s].runs, slabs[s].n_runs, 0, j->taps, pieces[s]);
    }
    int64_t k0 = 0;
    const unsigned int mode = asc_flush_enter();
    do {
        const int64_t depth = asc_kmin(CONV_DEPTH, j->k - k0);
        for (int64_t s = 0; s < n_slabs; s++) {
            if (k0 + CONV_DEPTH >= j->k) conv_fetch(&slabs[s], n_rows, y, j->dst_plane, j->dst_step[2]);
            conv_fill(j, x, slabs[s].runs, slabs[s].n_runs, k0, depth, pieces[s], buffer);
            for (int64_t i = 0; i < n_tiles; i++) {
                const int64_t row = n_rows * i / n_tiles, rows = n_rows * (i + 1) / n_tiles - row;
                const conv_tile t = {.a = j->w + (g * j->m + r0 + row) * j->k + k0,
                                     .lda = j->k,
                                     .b = buffer,
                                     .steps = depth,
                                     .y = sums + (s * n_rows + row) * CONV_SLAB,
                                     .ldy = CONV_SLAB,
                                     .first = k0 == 0,
                                     .bias = j->bias != NULL ? j->bias + g * j->m + r0 + row : NULL};
                if (s == n_slabs - 1) conv_fetch_rows(t.a + CONV_DEPTH, j->k, rows, j->k - k0 - CONV_DEPTH);
                conv_tiles[rows - 1][(slabs[s].cols - 1) / VW](&t);
            }
        }
        k0 += CONV_DEPTH;
    } while (k0 < j->k);
    asc_flush_leave(mode);
    for (int64_t s = 0; s < n_slabs; s++)
        conv_store(&slabs[s], n_rows, sums + s * n_rows * CONV_SLAB, y, j->dst_plane, j->dst_step[2]);
    if (j->post != NULL) conv_post(j, g * j->m + r0, n_rows, slabs, n_slabs, thread);
}

static void conv_unit(void *self, int64_t u, int thread) {
    const conv_work *w = self;
    const int64_t part = u % w->row_parts, p = u / w->row_parts % w->panels, g = u / w->row_parts / w->panels;
    for (int i = 0; i < w->n_jobs; i++) {
        const asc_conv_job *j = &w->jobs[i];
        const int64_t n_slabs = asc_kceil(j->columns, CONV_SLAB), s0 = n_slabs * p / w->panels;
        conv_block(j, g, j->m * part / w->row_parts, j->m * (part + 1) / w->row_parts, s0,
                   n_slabs * (p + 1) / w->panels - s0, w->scratch + (int64_t)thread * CONV_FLOATS, thread);
    }
}

static void conv_jobs_run(const asc_conv_job *jobs, int n_jobs, int threads, float *scratch) {
    conv_work w = {.jobs = jobs, .n_jobs = n_jobs, .scratch = scratch, .panels = 1};
    if (n_jobs == 0) return;
    const int64_t m = jobs[0].m, groups = jobs[0].groups;
    if (m < CONV_MIN_ROWS) {
        for (int i = 0; i < n_jobs; i++) conv_direct(&jobs[i], threads);
        return;
    }
    int64_t most = 0;
    for (int i = 0; i < n_jobs; i++) most = asc_kmax(most, asc_kceil(jobs[i].columns, CONV_SLAB));
    w.panels = asc_kceil(most, CONV_MAX_SLABS);
    if (w.panels * groups < 2 * threads)
        w.panels = asc_kmin(most, asc_kmax(w.panels, asc_kceil(2 * threads, groups)));
    w.row_parts = asc_kceil(m, CONV_MAX_ROWS);
    if (w.panels * groups * w.row_parts < threads)
        w.row_parts = asc_kmin(asc_kceil(threads, w.panels * groups), asc_kceil(m, CONV_ROWS));
    asc_kpar(groups * w.panels * w.row_parts, threads, true, conv_unit, &w);
}

static int64_t conv_packed_floats(const asc_call *c) { return asc_kround(asc_kelems(&c->in_shape[1]), 16); }

static size_t conv_scratch(const asc_call *c, int n_threads) {
    (void)c;
    return (size_t)n_threads * CONV_FLOATS * sizeof(float);
}

static size_t conv_transpose_scratch(const asc_call *c, int n_threads) {
    return conv_scratch(c, n_threads) + (size_t)conv_packed_floats(c) * sizeof(float);
}

static void conv_run(const asc_kargs *a) {
    asc_conv_sizes s;
    asc_conv_job j;
    asc_conv_sizes_of(a->call, &s);
    asc_conv_job_forward(a, &s, &j);
    conv_jobs_run(&j, 1, a->n_threads, a->scratch);
}

static void conv_transpose_run(const asc_kargs *a) {
    asc_conv_sizes s;
    asc_conv_job jobs[ASC_CONV_MAX_PHASES];
    int n_jobs = 0;
    float *packed = a->scratch, *rest = packed + conv_packed_floats(a->call);
    bool zeros = false;
    conv_s2 phases;
    asc_conv_sizes_of(a->call, &s);
    for (int64_t i = 0; i < asc_conv_n_phases(&s); i++) {
        asc_conv_job *j = &jobs[n_jobs];
        if (!asc_conv_job_phase(a, &s, i, j)) continue;
        zeros = zeros || j->k == 0;
        if (j->k > 0) n_jobs++;
    }
    if (zeros) asc_conv_zero(a); /* positions that no tap meets */
    if (conv_s2_find(&s, jobs, n_jobs, &phases)) {
        conv_s2_pack(&phases, jobs, &s, a->in[1], packed);
        conv_s2_run(&phases, a->n_threads);
        return;
    }
    for (int i = 0; i < n_jobs; i++) {
        asc_conv_job *j = &jobs[i];
        asc_conv_pack(j, &s, a->in[1], a->n_threads, packed);
        j->w = packed;
        packed += j->groups * j->m * j->k;
    }
    conv_jobs_run(jobs, n_jobs, a->n_threads, rest);
}

const asc_kernel VEC_NAME(asc_kernel_conv) = {.name = "conv",
                                              .opcode = ASC_OPCODE_CONV,
                                              .isa = VEC_ISA_ENUM,
                                              .fits = asc_conv_fits,
                                              .scratch = conv_scratch,
                                              .run = conv_run,
                                              .takes_post = true};
const asc_kernel VEC_NAME(asc_kernel_conv_grad_input) = {.name = "conv_grad_input",
                                                         .opcode = ASC_OPCODE_CONV_GRAD_INPUT,
                                                         .isa = VEC_ISA_ENUM,
                                                         .fits = asc_conv_fits,
                                                         .scratch = conv_transpose_scratch,
                                                         .run = conv_transpose_run};
