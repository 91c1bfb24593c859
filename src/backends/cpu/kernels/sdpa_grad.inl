/* sdpa_grad.inl - attention, backward: dq, dk and dv from q, k, v, the result y and its cotangent g. A unit
 * is one key/value group of one batch item, so dk and dv have one owner and are added in a fixed order; per
 * block of query rows the probabilities are computed again from q and k. Scratch per thread: packed keys and
 * values, and rows x keys of one block, which grows with the number of keys only. P = softmax(S), dP = g v^T,
 * dS = P (dP - rowsum(g y)) slope of the cap, dv += P^T g, dk += dS^T (scale q), dq = scale dS k */
#include "sdpa_common.inl"

typedef struct back_job {
    sdpa_dims p;
    const float *q, *k, *v, *y, *g;
    float *dq, *dk, *dv;
    float *work;
    int64_t work_floats;
} back_job;

/* Scratch of one thread, in floats. */
typedef struct back_work {
    float *kt, *vt, *kr; /* keys and values transposed by tiles, keys as rows */
    float *q, *g, *dq;   /* rows of the block: scaled queries, cotangents, [rows][dp] result */
    float *p, *slope;    /* [rows][ld]: probabilities, slope of the cap */
    float *ds, *delta;   /* [rows][SDPA_KEYS]; [rows] */
    int64_t ld;
} back_work;

static int64_t back_layout(const sdpa_dims *p, float *base, back_work *w) {
    const int64_t rows = p->nq * p->rep, keys = p->tiles * p->keys;
    int64_t at = 0;
#define BACK_TAKE(field, n)                                                                                  \
    if (w != NULL) w->field = base + at;                                                                     \
    at += asc_kround(n, 16)
    /* the odd 16 keeps rows of a power-of-two length from falling into the same cache sets */
    const int64_t ld = keys + 16;
    if (w != NULL) w->ld = ld;
    BACK_TAKE(kt, p->d * keys);
    BACK_TAKE(vt, p->d * keys);
    BACK_TAKE(kr, p->dp * keys);
    BACK_TAKE(q, rows * p->d);
    BACK_TAKE(g, rows * p->d);
    BACK_TAKE(dq, rows * p->dp);
    BACK_TAKE(p, rows * ld);
    BACK_TAKE(slope, p->cap > 0 ? rows * ld : 0);
    BACK_TAKE(ds, rows * SDPA_KEYS);
    BACK_TAKE(delta, rows);
#undef BACK_TAKE
    return at;
}

VEC_INLINE float back_dot(const float *a, const float *b, int64_t n) {
    vf s = vzero();
    int64_t i = 0;
    for (; i + VW <= n; i += VW) s = vfma(vload(a + i), vload(b + i), s);
    if (i < n) s = vfma(vloadn(a + i, n - i), vloadn(b + i, n - i), s);
    return vhsum(s);
}

/* Scores [lo, hi) to probabilities; the rest of [0, n) to 0. */
VEC_INLINE void back_softmax_row(float *s, int64_t lo, int64_t hi, int64_t n) {
    const float max = sdpa_mask_max(s, lo, hi);
    const vf r = vset1(1 / sdpa_exp_sum(s, lo, hi, n, max));
    for (int64_t i = lo / VW * VW; i < hi; i += VW) vstore(s + i, vload(s + i) * r);
}

/* Probabilities of the block's rows over keys [first, end), first a multiple of the tile; column j is key
 * first + j. */
static void back_probabilities(const sdpa_dims *p, const back_work *w, int64_t t0, int64_t nt, int64_t first,
                               int64_t end) {
    for (int64_t j0 = first; j0 < end; j0 += p->keys) {
        int64_t np = asc_kround(asc_kmin(p->keys, end - j0), VW);
        tile_gemm(&(tile){nt * p->rep, np, p->d, w->q, p->d, 1, w->kt + j0 * p->d, p->keys,
                          w->p + (j0 - first), w->ld, false});
    }
    const int64_t np = asc_kround(end - first, VW);
    for (int64_t t = 0, m = 0; t < nt; t++) {
        int64_t lo, hi;
        sdpa_visible_in(p, t0 + t, first, end - first, &lo, &hi);
        for (int64_t r = 0; r < p->rep; r++, m++) {
            float *s = w->p + m * w->ld;
            if (p->cap > 0) sdpa_cap(p, s, w->slope + m * w->ld, lo / VW * VW, hi);
            back_softmax_row(s, lo, hi, np);
        }
    }
}

/* dS of the n keys from column col on (key first + col): w->ds holds dP and becomes dS; 0 for hidden keys. */
static void back_scores(const sdpa_dims *p, const back_work *w, int64_t t0, int64_t nt, int64_t key,
                        int64_t col, int64_t n) {
    for (int64_t t = 0, m = 0; t < nt; t++) {
        int64_t lo, hi;
        sdpa_visible_in(p, t0 + t, key, n, &lo, &hi);
        for (int64_t r = 0; r < p->rep; r++, m++) {
            float *ds = w->ds + m * SDPA_KEYS;
            const float *pr = w->p + m * w->ld + col, *sl = w->slope + m * w->ld + col;
            const vf delta = vset1(w->delta[m]);
            int64_t i = 0;
            for (; i < lo / VW * VW; i += VW) vstore(ds + i, vzero());
            for (; i < hi; i += VW) {
                vf x = vload(pr + i) * (vload(ds + i) - delta);
                if (p->cap > 0) x = x * vload(sl + i);
                vstore(ds + i, x);
            }
            for (; i < n; i += VW) vstore(ds + i, vzero());
        }
    }
}

static void back_block(const back_job *j, const back_work *w, int64_t b, int64_t g, int64_t t0) {
    const sdpa_dims *p = &j->p;
    const int64_t kv_row = p->g * p->d, kv_at = (b * p->s * p->g + g) * p->d;
    const int64_t nt = asc_kmin(p->nq, p->t - t0), rows = nt * p->rep;
    int64_t first, hi, lo, end;
    sdpa_visible(p, t0, &first, &hi);
    sdpa_visible(p, t0 + nt - 1, &lo, &end);
    first = first / p->keys * p->keys;
    sdpa_take_rows(p, j->q, b, g, t0, nt, p->scale, w->q);
    sdpa_take_rows(p, j->g, b, g, t0, nt, 1, w->g);
    for (int64_t t = 0, m = 0; t < nt; t++) {
        const float *y = j->y + sdpa_q_at(p, b, g, t0 + t);
        for (int64_t r = 0; r < p->rep; r++, m++, y += p->d) w->delta[m] = back_dot(y, w->g + m * p->d, p->d);
    }
    if (end > first)
        back_probabilities(p, w, t0, nt, first, end);
    else
        memset(w->dq, 0, (size_t)(rows * p->dp) * sizeof(float));
    for (int64_t j0 = first; j0 < end; j0 += p->keys) {
        const int64_t n = asc_kmin(p->keys, end - j0), np = asc_kround(n, VW), out = kv_at + j0 * kv_row;
        const float *pr = w->p + (j0 - first);
        tile_gemm(
            &(tile){rows, np, p->d, w->g, p->d, 1, w->vt + j0 * p->d, p->keys, w->ds, SDPA_KEYS, false});
        back_scores(p, w, t0, nt, j0, j0 - first, np);
        tile_gemm(&(tile){rows, p->dp, n, w->ds, SDPA_KEYS, 1, w->kr + j0 * p->dp, p->dp, w->dq, p->dp,
                          j0 > first});
        tile_gemm(&(tile){n, p->d, rows, pr, 1, w->ld, w->g, p->d, j->dv + out, kv_row, true});
        tile_gemm(&(tile){n, p->d, rows, w->ds, 1, SDPA_KEYS, w->q, p->d, j->dk + out, kv_row, true});
    }
    const vf scale = vset1(p->scale);
    for (int64_t t = 0, m = 0; t < nt; t++) {
        float *dq = j->dq + sdpa_q_at(p, b, g, t0 + t);
        for (int64_t r = 0; r < p->rep; r++, m++, dq += p->d) {
            for (int64_t i = 0; i < p->d; i += VW)
                vstoren(dq + i, vload(w->dq + m * p->dp + i) * scale, asc_kmin(VW, p->d - i));
        }
    }
}

static void back_unit(void *self, int64_t u, int thread) {
    const back_job *j = self;
    const sdpa_dims *p = &j->p;
    const int64_t b = u / p->g, g = u % p->g;
    back_work w;
    back_layout(p, j->work + thread * j->work_floats, &w);
    for (int64_t x = 0; x < p->tiles; x++) {
        int64_t j0 = x * p->keys, n = asc_kmin(p->keys, p->s - j0);
        sdpa_pack_transposed(p, j->k, b, g, j0, n, w.kt + j0 * p->d);
        sdpa_pack_transposed(p, j->v, b, g, j0, n, w.vt + j0 * p->d);
        sdpa_pack_rows(p, j->k, b, g, j0, n, w.kr + j0 * p->dp);
    }
    for (int64_t s = 0; s < p->s; s++) {
        int64_t at = ((b * p->s + s) * p->g + g) * p->d;
        memset(j->dk + at, 0, (size_t)p->d * sizeof(float));
        memset(j->dv + at, 0, (size_t)p->d * sizeof(float));
    }
    for (int64_t t0 = 0; t0 < p->t; t0 += p->nq) back_block(j, &w, b, g, t0);
}

static void run_sdpa_grad(const asc_kargs *a) {
    back_job j = {.p = sdpa_dims_of(a->call),
                  .q = a->in[0],
                  .k = a->in[1],
                  .v = a->in[2],
                  .y = a->in[3],
                  .g = a->in[4],
                  .dq = a->out,
                  .work = a->scratch};
    const sdpa_dims *p = &j.p;
    j.dk = j.dq + p->b * p->t * p->h * p->d;
    j.dv = j.dk + p->b * p->s * p->g * p->d;
    j.work_floats = back_layout(p, NULL, NULL);
    double work = (double)(p->b * p->t * p->h) * (double)p->s * (double)p->d / 2;
    asc_kpar(p->b * p->g, asc_kthreads(a, work), true, back_unit, &j);
}

static size_t back_scratch(const asc_call *c, int n_threads) {
    sdpa_dims p = sdpa_dims_of(c);
    return (size_t)(n_threads * back_layout(&p, NULL, NULL)) * sizeof(float);
}

const asc_kernel VEC_NAME(asc_kernel_sdpa_grad) = {.name = "sdpa_grad",
                                                   .opcode = ASC_OPCODE_SDPA_GRAD,
                                                   .isa = VEC_ISA_ENUM,
                                                   .fits = asc_kfits_f32,
                                                   .scratch = back_scratch,
                                                   .run = run_sdpa_grad};
