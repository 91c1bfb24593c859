/* sdpa.inl - attention, forward. Keys run in tiles with a running maximum and sum per row (online softmax),
 * so memory grows with the number of keys, not with queries times keys. Keys and values are packed once per
 * group (keys transposed) unless there are few query rows (decoding), where scores are plain dot products
 * over keys in place. Every output row is computed by one thread in tile order. A row that sees no key is 0.
 */
#include "sdpa_common.inl"

enum { SDPA_MANY_GROUPS = 8 };

typedef struct sdpa_job {
    sdpa_dims p;
    const float *q, *k, *v;
    float *y;
    bool few;      /* few query rows: no packing */
    bool whole;    /* many groups: a unit is a whole group, which packs its own keys, else a block of it */
    float *packed; /* of all groups, unless whole: [b g tiles] of [d][keys] and [keys][dp] */
    float *work;   /* per thread */
    int64_t pack_floats, work_floats, blocks; /* pack: of a tile */
} sdpa_job;

static void sdpa_plan(sdpa_job *j, const asc_call *c) {
    *j = (sdpa_job){.p = sdpa_dims_of(c)};
    const sdpa_dims *p = &j->p;
    const int64_t rows = p->nq * p->rep;
    j->few = p->t * p->rep <= SDPA_FEW_ROWS && !c->many_rows;
    j->whole = !j->few && p->b * p->g >= SDPA_MANY_GROUPS;
    j->pack_floats = j->few ? 0 : p->keys * (p->d + p->dp);
    j->work_floats = asc_kround(rows * (p->d + SDPA_KEYS + p->dp + 2), 16);
    if (j->whole) j->work_floats += p->tiles * j->pack_floats;
    j->blocks = asc_kceil(p->t, p->nq);
}

/* Packs tile x of group bg. */
static void sdpa_pack(const sdpa_job *j, int64_t bg, int64_t x, float *out) {
    const sdpa_dims *p = &j->p;
    int64_t j0 = x * p->keys, n = asc_kmin(p->keys, p->s - j0);
    sdpa_pack_transposed(p, j->k, bg / p->g, bg % p->g, j0, n, out);
    sdpa_pack_rows(p, j->v, bg / p->g, bg % p->g, j0, n, out + p->d * p->keys);
}

static void sdpa_pack_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const sdpa_job *j = self;
    sdpa_pack(j, u / j->p.tiles, u % j->p.tiles, j->packed + u * j->pack_floats);
}

/* Block of nt queries from t0 on; packed: this group's tiles. */
static void sdpa_block(const sdpa_job *j, int64_t b, int64_t g, int64_t t0, const float *packed,
                       float *work) {
    const sdpa_dims *p = &j->p;
    const int64_t nt = asc_kmin(p->nq, p->t - t0), rows = nt * p->rep;
    float *q = work, *s = q + rows * p->d, *out = s + rows * SDPA_KEYS, *max = out + rows * p->dp,
          *sum = max + rows;
    int64_t lo, hi, first, end;
    sdpa_take_rows(p, j->q, b, g, t0, nt, p->scale, q);
    for (int64_t m = 0; m < rows; m++) max[m] = -INFINITY, sum[m] = 0;
    sdpa_visible(p, t0, &first, &hi);
    sdpa_visible(p, t0 + nt - 1, &lo, &end);
    first /= p->keys;
    if (j->few || first * p->keys >= end) memset(out, 0, (size_t)(rows * p->dp) * sizeof(float));
    for (int64_t x = first; x * p->keys < end; x++) {
        const int64_t j0 = x * p->keys, n = asc_kmin(p->keys, end - j0), np = asc_kround(n, VW);
        const int64_t at = ((b * p->s + j0) * p->g + g) * p->d;
        const float *kt = packed + x * j->pack_floats;
        if (j->few)
            sdpa_dots(p, rows, q, j->k + at, n, s);
        else
            tile_gemm(&(tile){rows, np, p->d, q, p->d, 1, kt, p->keys, s, SDPA_KEYS, false});
        for (int64_t t = 0, m = 0; t < nt; t++) {
            sdpa_visible_in(p, t0 + t, j0, n, &lo, &hi);
            for (int64_t r = 0; r < p->rep; r++, m++) {
                float *row = s + m * SDPA_KEYS;
                if (p->cap > 0) sdpa_cap(p, row, NULL, lo / VW * VW, hi);
                sdpa_online_row(row, lo, hi, np, &max[m], &sum[m], out + m * p->dp, x > first ? p->dp : 0);
            }
        }
        if (j->few)
            tile_gemm(&(tile){rows, p->d, n, s, SDPA_KEYS, 1, j->v + at, p->g * p->d, out, p->dp, true});
        else
            tile_gemm(
                &(tile){rows, p->dp, n, s, SDPA_KEYS, 1, kt + p->d * p->keys, p->dp, out, p->dp, x > first});
    }
    for (int64_t t = 0, m = 0; t < nt; t++) {
        float *y = j->y + sdpa_q_at(p, b, g, t0 + t);
        sdpa_visible(p, t0 + t, &lo, &hi);
        for (int64_t r = 0; r < p->rep; r++, m++, y += p->d) {
            const vf f = vset1(hi > lo ? 1 / sum[m] : 0);
            for (int64_t i = 0; i < p->d; i += VW)
                vstoren(y + i, vload(out + m * p->dp + i) * f, asc_kmin(VW, p->d - i));
        }
    }
}

static void sdpa_unit(void *self, int64_t u, int thread) {
    const sdpa_job *j = self;
    const sdpa_dims *p = &j->p;
    const int64_t groups = p->b * p->g;
    float *work = j->work + thread * j->work_floats;
    if (j->whole) {
        float *rest = work + p->tiles * j->pack_floats;
        for (int64_t x = 0; x < p->tiles; x++) sdpa_pack(j, u, x, work + x * j->pack_floats);
        for (int64_t t0 = 0; t0 < p->t; t0 += p->nq) sdpa_block(j, u / p->g, u % p->g, t0, work, rest);
    } else { /* the last block of a causal group is the longest: hand it out first */
        const int64_t bg = u % groups, t0 = (j->blocks - 1 - u / groups) * p->nq;
        sdpa_block(j, bg / p->g, bg % p->g, t0, j->packed + bg * p->tiles * j->pack_floats, work);
    }
}

static void run_sdpa(const asc_kargs *a) {
    sdpa_job j;
    sdpa_plan(&j, a->call);
    j.q = a->in[0];
    j.k = a->in[1];
    j.v = a->in[2];
    j.y = a->out;
    const sdpa_dims *p = &j.p;
    const int64_t groups = p->b * p->g, tiles = j.few || j.whole ? 0 : groups * p->tiles;
    if (p->b * p->t * p->h * p->d == 0) return;
    j.packed = a->scratch;
    j.work = j.packed + tiles * j.pack_floats;
    const int threads = asc_kthreads(a, (double)(p->b * p->t * p->h) * (double)p->s * (double)p->d / 4);
    if (tiles > 0) asc_kpar(tiles, threads, false, sdpa_pack_unit, &j);
    asc_kpar(j.whole ? groups : groups * j.blocks, threads, true, sdpa_unit, &j);
}

static size_t sdpa_scratch(const asc_call *c, int n_threads) {
    sdpa_job j;
    sdpa_plan(&j, c);
    const int64_t tiles = j.few || j.whole ? 0 : j.p.b * j.p.g * j.p.tiles;
    return (size_t)(tiles * j.pack_floats + n_threads * j.work_floats) * sizeof(float);
}

const asc_kernel VEC_NAME(asc_kernel_sdpa) = {.name = "sdpa",
                                              .opcode = ASC_OPCODE_SDPA,
                                              .isa = VEC_ISA_ENUM,
                                              .fits = asc_kfits_f32,
                                              .scratch = sdpa_scratch,
                                              .run = run_sdpa};
