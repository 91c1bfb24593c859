/* conv_weight.inl - the gradient of conv for its weight: for each group, y^T[(c,t), m] = sum over (b,o) of
 * x[(c,t), (b,o)] g[(b,o), m], with the tiles of conv.inl. Stretches of 192 positions of g, transposed, are
 * the slabs; the gathered rows of x, 9 at a time, stay in the first-level cache. A thread owns rows: the
 * order of additions does not depend on the number of threads. */
#include "conv.inl"

enum {
    CONV_W_ROWS = 288, /* results kept while all positions pass by */
    CONV_W_PANEL = CONV_DEPTH * CONV_WIDTH,
    CONV_W_FLOATS = CONV_W_PANEL + CONV_ROWS * CONV_DEPTH + CONV_W_ROWS * CONV_WIDTH
};

typedef struct conv_w_work {
    const asc_conv_job *j; /* of the convolution; its y is the gradient g */
    const float *g;
    float *dw, *scratch;
    int64_t rows, panels, row_parts;
} conv_w_work;

/* Positions k0 to k0 + depth of `cols` output channels, transposed: out [depth][CONV_SLAB]. */
static void conv_w_slab(const asc_conv_job *j, const float *g, int64_t k0, int64_t depth, int64_t cols,
                        float *out) {
    const int64_t plane = j->dst_plane, image = j->groups * j->m * plane;
    for (int64_t k = 0; k < depth;) {
        const int64_t b = (k0 + k) / plane, o = (k0 + k) % plane,
                      n = asc_kmin(asc_kmin(depth - k, plane - o), 16);
        const float *from = g + b * image + o;
        float *to = out + k * CONV_SLAB;
        for (int64_t c = 0; c < cols; c++)
            for (int64_t i = 0; i < n; i++) to[i * CONV_SLAB + c] = from[c * plane + i];
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = cols; c < CONV_SLAB; c++) to[i * CONV_SLAB + c] = 0;
        k += n;
    }
}

/* The positions of these runs of row (c,t) of the gathered x. */
static void conv_w_row(const asc_conv_job *j, const float *x, int64_t row, const asc_conv_run *runs,
                       int n_runs, float *out) {
    const int64_t image = j->groups * j->c * j->src_plane, i = row % j->taps, step = j->step[2],
                  t[ASC_CONV_AXES] = {i / (j->n_taps[1] * j->n_taps[2]), i / j->n_taps[2] % j->n_taps[1],
                                      i % j->n_taps[2]},
                  off2 = j->off[2] + t[2] * j->off_step[2];
    int64_t first, end;
    asc_window_valid(off2, step, j->src[2], j->grid[2], &first, &end);
    x += row / j->taps * j->src_plane;
    for (int r = 0; r < n_runs; r++) {
        const asc_conv_run *run = &runs[r];
        const int64_t i0 = run->o[0] * j->step[0] + j->off[0] + t[0] * j->off_step[0],
                      i1 = run->o[1] * j->step[1] + j->off[1] + t[1] * j->off_step[1];
        const bool inside = i0 >= 0 && i0 < j->src[0] && i1 >= 0 && i1 < j->src[1];
        const int64_t from = inside ? asc_kmin(asc_kmax(first - run->o[2], 0), run->len) : run->len,
                      to = inside ? asc_kmax(asc_kmin(end - run->o[2], run->len), from) : run->len;
        const float *p = x + run->b * image + (i0 * j->src[1] + i1) * j->src[2] + run->o[2] * step + off2;
        float *q = out + run->col;
        for (int64_t k = 0; k < from; k++) q[k] = 0;
        if (step == 1)
            for (int64_t k = from; k < to; k++) q[k] = p[k];
        else
            for (int64_t k = from; k < to; k++) q[k] = p[k * step];
        for (int64_t k = to; k < run->len; k++) q[k] = 0;
    }
}

static void conv_w_unit(void *self, int64_t u, int thread) {
    const conv_w_work *w = self;
    const asc_conv_job *j = w->j;
    const int64_t part = u % w->row_parts, p = u / w->row_parts % w->panels,
                  group = u / w->row_parts / w->panels;
    const int64_t m0 = p * CONV_WIDTH, cols = asc_kmin(CONV_WIDTH, j->m - m0),
                  r0 = w->rows * part / w->row_parts, r1 = w->rows * (part + 1) / w->row_parts;
    float *panel = w->scratch + (int64_t)thread * CONV_W_FLOATS, *a = panel + CONV_W_PANEL,
          *acc = a + CONV_ROWS * CONV_DEPTH;
    asc_conv_run runs[CONV_DEPTH];
    const unsigned int mode = asc_flush_enter();
    for (int64_t k0 = 0; k0 < j->columns; k0 += CONV_DEPTH) {
        const int64_t depth = asc_kmin(CONV_DEPTH, j->columns - k0);
        const int n_runs = asc_conv_runs(j, k0, (int)depth, runs);
        for (int64_t c = 0; c < cols; c += CONV_SLAB)
            conv_w_slab(j, w->g + (group * j->m + m0 + c) * j->dst_plane, k0, depth,
                        asc_kmin(CONV_SLAB, cols - c), panel + c * CONV_DEPTH);
        for (int64_t r = r0; r < r1; r += CONV_ROWS) {
            const int64_t rows = asc_kmin(CONV_ROWS, r1 - r);
            for (int64_t i = 0; i < rows; i++)
                conv_w_row(j, j->x + group * j->c * j->src_plane, r + i, runs, n_runs, a + i * CONV_DEPTH);
            for (int64_t c = 0; c < cols; c += CONV_SLAB) {
                const conv_tile t = {.a = a,
                                     .lda = CONV_DEPTH,
                                     .b = panel + c * CONV_DEPTH,
                                     .steps = depth,
                                     .y = acc + (r - r0) * CONV_WIDTH + c,
                                     .ldy = CONV_WIDTH,
                                     .first = k0 == 0};
                conv_tiles[rows - 1][(asc_kmin(CONV_SLAB, cols - c) - 1) / VW](&t);
            }
        }
    }
    asc_flush_leave(mode);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = r0; r < r1; r++)
            w->dw[(group * j->m + m0 + c) * w->rows + r] =
                j->columns > 0 ? acc[(r - r0) * CONV_WIDTH + c] : 0;
}

static size_t conv_weight_scratch(const asc_call *c, int n_threads) {
    (void)c;
    return (size_t)n_threads * CONV_W_FLOATS * sizeof(float);
}

static void conv_weight_run(const asc_kargs *a) {
    asc_conv_sizes s;
    asc_conv_job j;
    asc_conv_sizes_of(a->call, &s);
    asc_conv_job_forward(a, &s, &j);
    conv_w_work w = {.j = &j, .g = a->in[1], .dw = a->out, .scratch = a->scratch, .rows = j.k};
    w.panels = asc_kceil(j.m, CONV_WIDTH);
    w.row_parts =
        asc_kmax(asc_kceil(w.rows, CONV_W_ROWS),
                 asc_kmin(asc_kceil(a->n_threads, w.panels * j.groups), asc_kceil(w.rows, CONV_ROWS)));
    asc_kpar(j.groups * w.panels * w.row_parts, a->n_threads, true, conv_w_unit, &w);
}

const asc_kernel VEC_NAME(asc_kernel_conv_grad_weight) = {.name = "conv_grad_weight",
                                                          .opcode = ASC_OPCODE_CONV_GRAD_WEIGHT,
                                                          .isa = VEC_ISA_ENUM,
                                                          .fits = asc_conv_fits,
                                                          .scratch = conv_weight_scratch,
                                                          .run = conv_weight_run};
