/* conv.inl - conv and its transpose as products of the weight with gathered columns (conv_job.h), without the
 * gathered matrix ever being whole: a panel of it, sized for the second-level cache, is filled and
 * multiplied.
 *
 * Every output element is a sum, in ascending order of (channel, tap), of chains of 192 fused multiply-adds
 * in stretches of at most 768: a function of the shape alone, so neither the number of threads nor the
 * cutting into panels nor other examples of the batch change a bit. A tile is CONV_ROWS by CONV_VECS vectors
 * of accumulators. Few rows per group (depthwise) are computed row by row in conv_direct.inl. */
#include "conv_direct.inl"
#include "conv_fill.inl"

#if VEC_ISA == 2
enum { CONV_ROWS = 9 };
#else
enum { CONV_ROWS = 4 };
#endif
enum {
    CONV_LINK = 192,
    CONV_DEPTH = 768,
    CONV_PANEL_SLABS = 192 / CONV_SLAB,
    CONV_PANEL_FLOATS = CONV_DEPTH * CONV_PANEL_SLABS * CONV_SLAB,
    CONV_MIN_ROWS = 4
};

typedef struct conv_tile {
    const float *a, *b; /* first row of the weight; slab */
    int64_t lda, steps;
    float *y;
    int64_t ldy;
    bool first;        /* start from the bias instead of y */
    const float *bias; /* of the first row, or NULL */
} conv_tile;

VEC_INLINE void conv_link(const conv_tile *t, const float *a, const float *b, int64_t steps, bool first,
                          const int rows, const int vecs) {
    vf acc[CONV_ROWS][CONV_VECS];
    const int64_t lda = t->lda, ldy = t->ldy;
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
        VEC_UNROLL
        for (int v = 0; v < vecs; v++) acc[i][v] = vzero();
    }
    for (int64_t k = 0; k < steps; k++, a++, b += CONV_SLAB) {
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
        const vf bias = first && t->bias != NULL ? vset1(t->bias[i]) : vzero();
        VEC_UNROLL
        for (int v = 0; v < vecs; v++) {
            float *y = t->y + i * ldy + v * VW;
            vstore(y, acc[i][v] + (first ? bias : vload(y)));
        }
    }
}

VEC_INLINE void conv_links(const conv_tile *t, const int rows, const int vecs) {
    int64_t q = 0;
    do {
        conv_link(t, t->a + q, t->b + q * CONV_SLAB, asc_kmin(CONV_LINK, t->steps - q), t->first && q == 0,
                  rows, vecs);
        q += CONV_LINK;
    } while (q < t->steps);
}

#define CONV_TILE(rows, vecs)                                                                                \
    static __attribute__((noinline)) void conv_tile_##rows##x##vecs(const conv_tile *t) {                    \
        conv_links(t, VEC_MIN(rows, CONV_ROWS), vecs);                                                       \
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

/* Between y and a small copy of a tile. */
static void conv_move(const conv_slab *s, int64_t rows, float *y, int64_t plane, int64_t step, float *tile,
                      bool load) {
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < s->n_out; i++) {
            float *p = y + r * plane + s->out[i].at, *t = tile + r * CONV_SLAB + s->out[i].col;
            const int len = s->out[i].len;
            if (step == 1 && load)
                for (int k = 0; k < len; k++) t[k] = p[k];
            else if (step == 1)
                for (int k = 0; k < len; k++) p[k] = t[k];
            else if (load)
                for (int k = 0; k < len; k++) t[k] = p[k * step];
            else
                for (int k = 0; k < len; k++) p[k * step] = t[k];
        }
}

typedef struct conv_work {
    const asc_conv_job *j;
    float *scratch;
    int64_t n_slabs, panels, row_parts, depth;
} conv_work;

/* Rows [r0, r1) of one group times the slabs of a panel. */
static void conv_rows(const conv_work *w, int64_t g, int64_t r0, int64_t r1, int64_t k0, int64_t depth,
                      const float *panel, const conv_slab *slabs, int64_t n_slabs) {
    const asc_conv_job *j = w->j;
    const int64_t n_tiles = asc_kceil(r1 - r0, CONV_ROWS), step = j->dst_step[2];
    float copy[CONV_ROWS * CONV_SLAB] __attribute__((aligned(64))) = {0};
    for (int64_t i = 0; i < n_tiles; i++) {
        const int64_t row = r0 + (r1 - r0) * i / n_tiles, rows = r0 + (r1 - r0) * (i + 1) / n_tiles - row;
        conv_tile t = {
            .a = j->w + (g * j->m + row) * j->k + k0, .lda = j->k, .steps = depth, .first = k0 == 0};
        if (j->bias != NULL) t.bias = j->bias + g * j->m + row;
        for (int64_t s = 0; s < n_slabs; s++) {
            const conv_slab *slab = &slabs[s];
            float *y = j->y + (g * j->m + row) * j->dst_plane;
            const bool in_place = slab->n_out == 1 && slab->cols == CONV_SLAB && step == 1;
            t.b = panel + s * depth * CONV_SLAB;
            t.y = in_place ? y + slab->out[0].at : copy;
            t.ldy = in_place ? j->dst_plane : CONV_SLAB;
            if (!in_place && !t.first) conv_move(slab, rows, y, j->dst_plane, step, copy, true);
            conv_tiles[rows - 1][(slab->cols - 1) / VW](&t);
            if (!in_place) conv_move(slab, rows, y, j->dst_plane, step, copy, false);
        }
    }
}

static void conv_unit(void *self, int64_t u, int thread) {
    const conv_work *w = self;
    const asc_conv_job *j = w->j;
    const int64_t part = u % w->row_parts, p = u / w->row_parts % w->panels, g = u / w->row_parts / w->panels;
    const int64_t s0 = w->n_slabs * p / w->panels, n_slabs = w->n_slabs * (p + 1) / w->panels - s0;
    float *panel = w->scratch + (int64_t)thread * CONV_PANEL_FLOATS;
    conv_slab slabs[CONV_PANEL_SLABS];
    for (int64_t s = 0; s < n_slabs; s++) {
        const int64_t n0 = (s0 + s) * CONV_SLAB;
        conv_slab_find(j, n0, (int)asc_kmin(CONV_SLAB, j->columns - n0), &slabs[s]);
    }
    int64_t k0 = 0;
    do {
        const int64_t depth = asc_kmin(w->depth, j->k - k0);
        for (int64_t s = 0; s < n_slabs; s++)
            conv_fill(j, j->x + g * j->c * j->src_plane, slabs[s].runs, slabs[s].n_runs, k0, depth,
                      panel + s * depth * CONV_SLAB);
        conv_rows(w, g, j->m * part / w->row_parts, j->m * (part + 1) / w->row_parts, k0, depth, panel, slabs,
                  n_slabs);
        k0 += w->depth;
    } while (k0 < j->k);
}

static void conv_job_run(const asc_conv_job *j, int threads, float *scratch) {
    if (j->m < CONV_MIN_ROWS) {
        conv_direct(j, threads);
        return;
    }
    conv_work w = {.j = j, .scratch = scratch, .n_slabs = asc_kceil(j->columns, CONV_SLAB), .row_parts = 1};
    w.depth = j->taps > 0 && j->taps <= CONV_DEPTH ? CONV_DEPTH / j->taps * j->taps : CONV_DEPTH;
    w.panels = asc_kceil(w.n_slabs, CONV_PANEL_SLABS);
    if (w.panels * j->groups < 2 * threads)
        w.panels = asc_kmin(w.n_slabs, asc_kmax(w.panels, asc_kceil(2 * threads, j->groups)));
    if (w.panels * j->groups < threads)
        w.row_parts = asc_kmin(asc_kceil(threads, w.panels * j->groups), asc_kceil(j->m, CONV_ROWS));
    asc_kpar(j->groups * w.panels * w.row_parts, threads, true, conv_unit, &w);
}

static int64_t conv_packed_floats(const asc_call *c) { return asc_kround(asc_kelems(&c->in_shape[1]), 16); }

static size_t conv_scratch(const asc_call *c, int n_threads) {
    (void)c;
    return (size_t)n_threads * CONV_PANEL_FLOATS * sizeof(float);
}

static size_t conv_transpose_scratch(const asc_call *c, int n_threads) {
    return conv_scratch(c, n_threads) + (size_t)conv_packed_floats(c) * sizeof(float);
}

static void conv_run(const asc_kargs *a) {
    asc_conv_sizes s;
    asc_conv_job j;
    asc_conv_sizes_of(a->call, &s);
    asc_conv_job_forward(a, &s, &j);
    conv_job_run(&j, a->n_threads, a->scratch);
}

static void conv_transpose_run(const asc_kargs *a) {
    asc_conv_sizes s;
    asc_conv_job j;
    float *packed = a->scratch, *rest = packed + conv_packed_floats(a->call);
    asc_conv_sizes_of(a->call, &s);
    for (int64_t i = 0; i < asc_conv_n_phases(&s); i++) {
        if (!asc_conv_job_phase(a, &s, i, &j)) continue;
        asc_conv_pack(&j, &s, a->in[1], a->n_threads, packed);
        j.w = packed;
        conv_job_run(&j, a->n_threads, rest);
    }
}

const asc_kernel VEC_NAME(asc_kernel_conv) = {.name = "conv",
                                              .opcode = ASC_OPCODE_CONV,
                                              .isa = VEC_ISA_ENUM,
                                              .fits = asc_conv_fits,
                                              .scratch = conv_scratch,
                                              .run = conv_run};
const asc_kernel VEC_NAME(asc_kernel_conv_grad_input) = {.name = "conv_grad_input",
                                                         .opcode = ASC_OPCODE_CONV_GRAD_INPUT,
                                                         .isa = VEC_ISA_ENUM,
                                                         .fits = asc_conv_fits,
                                                         .scratch = conv_transpose_scratch,
                                                         .run = conv_transpose_run};
