/* sdpa_tree.inl - attention over a tree of keys, forward. Queries that follow each other in one sequence are
 * a segment: all of them see the segment's ancestors, which are read where they lie, in order, and packed
 * once in tiles counted from the sequence's first key. So a row's bits depend on its own sequence only: not
 * on where its keys lie, on other rows, or on how queries are cut into segments; and they are those of sdpa
 * (sdpa.inl) where that packs its keys. Few query rows of one sequence (a step of a text that grows) pack
 * nothing, as there, unless the kernels for many rows are asked for. */
#include "sdpa_common.inl"

enum { TREE_SEGMENT = 128 }; /* queries of a segment at most: enough to pay for packing */

typedef struct tree_job {
    sdpa_dims p; /* t: queries, s: keys */
    const float *q, *k, *v, *past_k, *past_v;
    const int32_t *parent, *pos;
    int64_t past; /* keys that come first */
    float *y;
    int32_t *first; /* query with which each segment begins, and the number of queries behind the last */
    int64_t segments;
    bool few;    /* few query rows: no packing */
    bool sink;   /* q's last column is a score without a value */
    float *work; /* per thread */
    int64_t pack_floats, work_floats;
} tree_job;

static void tree_plan(tree_job *j, const asc_call *c) {
    *j = (tree_job){.p = sdpa_dims_of(c)};
    sdpa_dims *p = &j->p;
    p->s = c->in_shape[3].dims[0];
    p->nq = asc_kmin(asc_kmax(1, SDPA_ROWS / asc_kmax(1, p->rep)), TREE_SEGMENT);
    p->keys = asc_kmin(SDPA_KEYS, asc_kround(asc_kmax(p->s, 1), VW));
    p->tiles = asc_kceil(p->s, p->keys);
    j->past = p->s - c->in_shape[1].dims[1];
    j->sink = c->attrs->i[2] != 0; /* ASC_ATTN_SINK */
    j->few = p->t * p->rep <= SDPA_FEW_ROWS && !c->many_rows;
    j->pack_floats = j->few ? 0 : p->keys * (p->d + p->dp);
    const int64_t rows = p->nq * p->rep;
    /* packed keys and values, rows, then ints: the sequence, and what each query of a segment sees first */
    j->work_floats = asc_kround(p->tiles * j->pack_floats + rows * (p->d + SDPA_KEYS + p->dp + 2), 16) +
                     asc_kround(p->s + TREE_SEGMENT, 16);
}

VEC_INLINE int64_t tree_up(const tree_job *j, int64_t i) { return asc_kmin(j->parent[i], i - 1); }

static const float *tree_row(const tree_job *j, const float *past, const float *now, int64_t i, int64_t g) {
    const float *x = i < j->past ? past + i * j->p.g * j->p.d : now + (i - j->past) * j->p.g * j->p.d;
    return x + g * j->p.d;
}

static void tree_segments(tree_job *j) {
    const int64_t from = j->p.s - j->p.t;
    int64_t n = 0, begun = 0;
    for (int64_t r = 0; r < j->p.t; r++) {
        if (r > 0 && tree_up(j, from + r) == from + r - 1 && r - begun < TREE_SEGMENT) continue;
        begun = r;
        j->first[n++] = (int32_t)r;
    }
    j->segments = n;
    j->first[n] = (int32_t)j->p.t;
}

/* Keys list[0, n) of group g: out [d][keys] and [n][dp]; what is missing is 0. */
static void tree_pack(const tree_job *j, const int32_t *list, int64_t n, int64_t g, float *out) {
    const sdpa_dims *p = &j->p;
    float *rows = out + p->d * p->keys;
    for (int64_t i0 = 0; i0 < p->d; i0 += 16) {
        const int64_t i1 = asc_kmin(i0 + 16, p->d);
        for (int64_t x = 0; x < n; x++) {
            const float *k = tree_row(j, j->past_k, j->k, list[x], g);
            for (int64_t i = i0; i < i1; i++) out[i * p->keys + x] = k[i];
        }
    }
    for (int64_t x = 0; x < n; x++) {
        const float *v = tree_row(j, j->past_v, j->v, list[x], g);
        memcpy(rows + x * p->dp, v, (size_t)p->d * sizeof(float));
        for (int64_t i = p->d; i < p->dp; i++) rows[x * p->dp + i] = 0;
    }
    for (int64_t i = 0; i < p->d && n < p->keys; i++)
        memset(out + i * p->keys + n, 0, (size_t)(p->keys - n) * sizeof(float));
}

/* What a segment's queries see: of the sequence `list` of `len` keys, the last n being the queries
 * themselves, query t sees [lo[t], len - n + t]. */
typedef struct tree_segment {
    const int32_t *list;
    int32_t *lo;
    int64_t len, n, q0, g;
} tree_segment;

static void tree_look(const tree_job *j, tree_segment *s, int32_t *ints) {
    const sdpa_dims *p = &j->p;
    int32_t *end = ints + p->s, *at = end;
    for (int64_t i = p->s - p->t + s->q0 + s->n - 1; i >= 0; i = tree_up(j, i)) *--at = (int32_t)i;
    s->list = at;
    s->len = end - at;
    s->lo = end;
    for (int64_t t = 0; t < s->n; t++) {
        int64_t lo = 0;
        if (p->window > 0) {
            const int64_t self = s->len - s->n + t, bound = j->pos[at[self]] - p->window;
            for (lo = self; lo > 0 && j->pos[at[lo - 1]] > bound; lo--) continue;
        }
        s->lo[t] = (int32_t)lo;
    }
}

/* How many of the keys list[0, n) lie behind each other in memory, from the first on. */
static int64_t tree_stretch(const tree_job *j, const int32_t *list, int64_t n) {
    int64_t i = 1;
    while (i < n && list[i] == list[i - 1] + 1 && list[i] != j->past) i++;
    return i;
}

/* Scores of rows of q with keys list[0, n), where these lie; or out += weights times their values. */
static void tree_in_place(const tree_job *j, const int32_t *list, int64_t n, int64_t g, int64_t rows,
                          const float *q, float *scores, float *out) {
    const sdpa_dims *p = &j->p;
    for (int64_t x = 0, run; x < n; x += run) {
        run = tree_stretch(j, list + x, n - x);
        if (q != NULL) {
            sdpa_dots(p, rows, q, tree_row(j, j->past_k, j->k, list[x], g), run, scores + x);
        } else {
            const float *v = tree_row(j, j->past_v, j->v, list[x], g);
            tile_gemm(&(tile){rows, p->d, run, scores + x, SDPA_KEYS, 1, v, p->g * p->d, out, p->dp, true});
        }
    }
}

/* nt queries of the segment from t0 on. */
static void tree_block(const tree_job *j, const tree_segment *s, int64_t t0, const float *packed,
                       float *work) {
    const sdpa_dims *p = &j->p;
    const int64_t nt = asc_kmin(p->nq, s->n - t0), rows = nt * p->rep, base = s->len - s->n;
    float *q = work, *scores = q + rows * p->d, *out = scores + rows * SDPA_KEYS, *max = out + rows * p->dp,
          *sum = max + rows;
    const int64_t end = base + t0 + nt;
    int64_t first = end;
    sdpa_take_rows(p, j->q, 0, s->g, s->q0 + t0, nt, p->scale, q);
    for (int64_t m = 0; m < rows; m++) {
        max[m] = j->sink ? q[m * p->d + p->d - 1] : -INFINITY;
        sum[m] = j->sink ? 1.0f : 0.0f;
    }
    for (int64_t t = t0; t < t0 + nt; t++) first = asc_kmin(first, s->lo[t]);
    first /= p->keys;
    if (j->few) memset(out, 0, (size_t)(rows * p->dp) * sizeof(float));
    for (int64_t x = first; x * p->keys < end; x++) {
        const int64_t j0 = x * p->keys, n = asc_kmin(p->keys, end - j0), np = asc_kround(n, VW);
        const float *kt = packed + x * j->pack_floats;
        if (j->few)
            tree_in_place(j, s->list + j0, n, s->g, rows, q, scores, NULL);
        else
            tile_gemm(&(tile){rows, np, p->d, q, p->d, 1, kt, p->keys, scores, SDPA_KEYS, false});
        for (int64_t t = t0, m = 0; t < t0 + nt; t++) {
            const int64_t lo = asc_kmin(asc_kmax(s->lo[t] - j0, 0), n);
            const int64_t hi = asc_kmin(asc_kmax(base + t + 1 - j0, lo), n);
            for (int64_t r = 0; r < p->rep; r++, m++) {
                float *row = scores + m * SDPA_KEYS;
                if (p->cap > 0) sdpa_cap(p, row, NULL, lo / VW * VW, hi);
                sdpa_online_row(row, lo, hi, np, &max[m], &sum[m], out + m * p->dp, x > first ? p->dp : 0);
            }
        }
        if (j->few)
            tree_in_place(j, s->list + j0, n, s->g, rows, NULL, scores, out);
        else
            tile_gemm(&(tile){rows, p->dp, n, scores, SDPA_KEYS, 1, kt + p->d * p->keys, p->dp, out, p->dp,
                              x > first});
    }
    for (int64_t t = 0, m = 0; t < nt; t++) {
        float *y = j->y + sdpa_q_at(p, 0, s->g, s->q0 + t0 + t);
        for (int64_t r = 0; r < p->rep; r++, m++, y += p->d) {
            const vf f = vset1(1 / sum[m]);
            for (int64_t i = 0; i < p->d; i += VW)
                vstoren(y + i, vload(out + m * p->dp + i) * f, asc_kmin(VW, p->d - i));
        }
    }
}

/* The last segments see most: they are handed out first. */
static void tree_unit(void *self, int64_t u, int thread) {
    const tree_job *j = self;
    const sdpa_dims *p = &j->p;
    const int64_t which = j->segments - 1 - u / p->g;
    float *packed = j->work + thread * j->work_floats, *work = packed + p->tiles * j->pack_floats;
    int32_t *ints = (int32_t *)(packed + j->work_floats) - asc_kround(p->s + TREE_SEGMENT, 16);
    tree_segment s = {.q0 = j->first[which], .n = j->first[which + 1] - j->first[which], .g = u % p->g};
    tree_look(j, &s, ints);
    int64_t least = s.len;
    for (int64_t t = 0; t < s.n; t++) least = asc_kmin(least, s.lo[t]);
    for (int64_t x = least / p->keys; !j->few && x * p->keys < s.len; x++)
        tree_pack(j, s.list + x * p->keys, asc_kmin(p->keys, s.len - x * p->keys), s.g,
                  packed + x * j->pack_floats);
    for (int64_t t0 = 0; t0 < s.n; t0 += p->nq) tree_block(j, &s, t0, packed, work);
}

static void run_sdpa_tree(const asc_kargs *a) {
    tree_job j;
    tree_plan(&j, a->call);
    const sdpa_dims *p = &j.p;
    j.q = a->in[0];
    j.k = a->in[1];
    j.v = a->in[2];
    j.parent = a->in[3];
    j.pos = a->in[4];
    j.past_k = a->call->n_in > 5 ? a->in[5] : NULL;
    j.past_v = a->call->n_in > 5 ? a->in[6] : NULL;
    j.y = a->out;
    if (p->t * p->h * p->d == 0) return;
    j.first = a->scratch;
    j.work = (float *)a->scratch + asc_kround(p->t + 1, 16);
    tree_segments(&j);
    const int threads = asc_kthreads(a, (double)(p->t * p->h) * (double)p->s * (double)p->d / 4);
    asc_kpar(j.segments * p->g, threads, true, tree_unit, &j);
}

static size_t sdpa_tree_scratch(const asc_call *c, int n_threads) {
    tree_job j;
    tree_plan(&j, c);
    return (size_t)(asc_kround(j.p.t + 1, 16) + n_threads * j.work_floats) * sizeof(float);
}

const asc_kernel VEC_NAME(asc_kernel_sdpa_tree) = {.name = "sdpa_tree",
                                                   .opcode = ASC_OPCODE_SDPA_TREE,
                                                   .isa = VEC_ISA_ENUM,
                                                   .scratch = sdpa_tree_scratch,
                                                   .run = run_sdpa_tree};
