/* sdpa.inl - attention, forward. Keys run in tiles with a running maximum and sum per row (online softmax),
 * so memory grows with the number of keys, not with queries times keys. Keys and values are packed once per
 * group (keys transposed) unless there are few query rows (decoding), where scores are plain dot products
 * over keys in place. Every output row is computed by one thread in tile order. A row that sees no key is 0.
 */
#include "sdpa_common.inl"

enum { SDPA_FEW_ROWS = 8 };

typedef struct sdpa_job {
    sdpa_dims p;
    const float *q, *k, *v;
    float *y;
    bool few;       /* no packing */
    float *kt, *vp; /* packed [b g tiles][d][SDPA_KEYS] and [..][SDPA_KEYS][dp] */
    float *work;    /* per thread */
    int64_t work_floats, blocks;
} sdpa_job;

static int64_t sdpa_work_floats(const sdpa_dims *p) {
    int64_t rows = p->nq * p->rep;
    return asc_kround(rows * (p->d + SDPA_KEYS + p->dp + 2), 16);
}

static bool sdpa_is_few(const sdpa_dims *p) { return p->t * p->rep <= SDPA_FEW_ROWS; }

static void sdpa_pack_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const sdpa_job *j = self;
    const sdpa_dims *p = &j->p;
    int64_t bg = u / p->tiles, j0 = u % p->tiles * SDPA_KEYS, n = asc_kmin(SDPA_KEYS, p->s - j0);
    sdpa_pack_transposed(p, j->k, bg / p->g, bg % p->g, j0, n, j->kt + u * p->d * SDPA_KEYS);
    sdpa_pack_rows(p, j->v, bg / p->g, bg % p->g, j0, n, j->vp + u * p->dp * SDPA_KEYS);
}

/* s[m][j] = q[m] . k[j] for n keys in place; few rows. */
static void sdpa_dots(const sdpa_dims *p, int64_t rows, const float *q, const float *k, int64_t n, float *s) {
    for (int64_t j = 0; j < n; j++) {
        const float *x = k + j * p->g * p->d;
        for (int64_t m = 0; m < rows; m++) {
            const float *y = q + m * p->d;
            vf acc = vzero();
            int64_t i = 0;
            for (; i + VW <= p->d; i += VW) acc = vfma(vload(x + i), vload(y + i), acc);
            if (i < p->d) acc = vfma(vloadn(x + i, p->d - i), vloadn(y + i, p->d - i), acc);
            s[m * SDPA_KEYS + j] = vhsum(acc);
        }
    }
}

/* Turns one row's scores of a tile (whole vectors, hidden ones -inf) into weights relative to the row's new
 * maximum, and rescales what was summed so far (sum, out) to it. */
static void sdpa_online_row(float *s, int64_t n, float *max, float *sum, float *out, int64_t dp) {
    vf m = vload(s);
    for (int64_t i = VW; i < n; i += VW) m = vmax(m, vload(s + i));
    float old = *max, now = vhmax(m);
    now = now > old ? now : old;
    float base = now == -INFINITY ? 0.0f : now; /* all hidden so far: every weight is exp(-inf) = 0 */
    vf vb = vset1(base), acc = vzero();
    for (int64_t i = 0; i < n; i += VW) {
        vf e = vexp(vload(s + i) - vb);
        vstore(s + i, e);
        acc = acc + e;
    }
    if (now > old && old != -INFINITY) {
        vf c = vexp(vset1(old - now));
        for (int64_t i = 0; i < dp; i += VW) vstore(out + i, vload(out + i) * c);
        float f[VW];
        vstore(f, c);
        *sum *= f[0];
    }
    *sum += vhsum(acc);
    *max = now;
}

static void sdpa_unit(void *self, int64_t u, int thread) {
    const sdpa_job *j = self;
    const sdpa_dims *p = &j->p;
    /* the last block of a causal batch is the longest: hand it out first */
    const int64_t bg = u % (p->b * p->g), t0 = (j->blocks - 1 - u / (p->b * p->g)) * p->nq, b = bg / p->g,
                  g = bg % p->g;
    const int64_t rows = asc_kmin(p->nq, p->t - t0) * p->rep;
    float *q = j->work + thread * j->work_floats, *s = q + rows * p->d, *out = s + rows * SDPA_KEYS;
    float *max = out + rows * p->dp, *sum = max + rows;
    int64_t lo, hi, first, end;
    sdpa_take_rows(p, j->q, b, g, t0, rows, p->scale, q);
    for (int64_t m = 0; m < rows; m++) max[m] = -INFINITY, sum[m] = 0;
    memset(out, 0, (size_t)(rows * p->dp) * sizeof(float));
    sdpa_visible(p, t0, &first, &hi);
    sdpa_visible(p, t0 + (rows - 1) / p->rep, &lo, &end);
    for (int64_t x = first / SDPA_KEYS; x * SDPA_KEYS < end; x++) {
        const int64_t j0 = x * SDPA_KEYS, n = asc_kmin(SDPA_KEYS, end - j0), np = asc_kround(n, VW);
        const int64_t at = ((b * p->s + j0) * p->g + g) * p->d, pack = bg * p->tiles + x;
        if (j->few)
            sdpa_dots(p, rows, q, j->k + at, n, s);
        else
            tile_gemm(&(tile){rows, np, p->d, q, p->d, 1, j->kt + pack * p->d * SDPA_KEYS, SDPA_KEYS, s,
                              SDPA_KEYS, false});
        for (int64_t m = 0; m < rows; m++) {
            float *row = s + m * SDPA_KEYS;
            sdpa_visible(p, t0 + m / p->rep, &lo, &hi);
            lo = asc_kmin(asc_kmax(lo - j0, 0), np);
            hi = asc_kmin(asc_kmax(hi - j0, lo), np);
            if (p->cap > 0) sdpa_cap(p, row, NULL, np);
            sdpa_hide(row, lo, hi, np);
            sdpa_online_row(row, np, &max[m], &sum[m], out + m * p->dp, p->dp);
        }
        tile o = {rows, p->dp, n, s, SDPA_KEYS, 1, j->vp + pack * p->dp * SDPA_KEYS, p->dp, out, p->dp, true};
        if (j->few) {
            o.n = p->d;
            o.b = j->v + at;
            o.b_row = p->g * p->d;
        }
        tile_gemm(&o);
    }
    for (int64_t m = 0; m < rows; m++) {
        float *y = j->y + sdpa_q_row(p, b, g, t0, m);
        sdpa_visible(p, t0 + m / p->rep, &lo, &hi);
        const float f = hi > lo ? 1 / sum[m] : 0;
        for (int64_t i = 0; i < p->d; i++) y[i] = out[m * p->dp + i] * f;
    }
}

static void run_sdpa(const asc_kargs *a) {
    sdpa_job j = {.p = sdpa_dims_of(a->call), .q = a->in[0], .k = a->in[1], .v = a->in[2], .y = a->out};
    const sdpa_dims *p = &j.p;
    int64_t packs = p->b * p->g * p->tiles;
    if (p->b * p->t * p->h * p->d == 0) return;
    j.few = sdpa_is_few(p);
    j.kt = a->scratch;
    j.vp = j.kt + (j.few ? 0 : packs * p->d * SDPA_KEYS);
    j.work = j.vp + (j.few ? 0 : packs * p->dp * SDPA_KEYS);
    j.work_floats = sdpa_work_floats(p);
    j.blocks = asc_kceil(p->t, p->nq);
    double work = (double)(p->b * p->t * p->h) * (double)p->s * (double)p->d / 4;
    int threads = asc_kthreads(a, work);
    if (!j.few)
        asc_kpar(packs, asc_kthreads(a, (double)(packs * SDPA_KEYS * p->d)), false, sdpa_pack_unit, &j);
    asc_kpar(p->b * p->g * j.blocks, threads, true, sdpa_unit, &j);
}

static size_t sdpa_scratch(const asc_call *c, int n_threads) {
    sdpa_dims p = sdpa_dims_of(c);
    int64_t packed = sdpa_is_few(&p) ? 0 : p.b * p.g * p.tiles * (p.d + p.dp) * SDPA_KEYS;
    return (size_t)(packed + n_threads * sdpa_work_floats(&p)) * sizeof(float);
}

const asc_kernel VEC_NAME(asc_kernel_sdpa) = {.name = "sdpa",
                                              .opcode = ASC_OPCODE_SDPA,
                                              .isa = VEC_ISA_ENUM,
                                              .fits = asc_kfits_f32,
                                              .scratch = sdpa_scratch,
                                              .run = run_sdpa};
