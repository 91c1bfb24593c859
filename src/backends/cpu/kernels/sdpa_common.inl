/* sdpa_common.inl - geometry and packing that attention's forward and backward kernels share.
 * A unit of work is `rows` query rows of one batch item and one key/value group: nq positions times rep
 * heads, row m = (t - t0) rep + r, so neighbouring rows see nearly the same keys. Keys are taken in tiles of
 * SDPA_KEYS. */
#ifndef ASC_SDPA_COMMON_INL
#define ASC_SDPA_COMMON_INL

#include "tile.inl"
#include "vmath.inl"

enum { SDPA_KEYS = 128, SDPA_ROWS = 48, SDPA_FEW_ROWS = 8 };

typedef struct sdpa_dims {
    int64_t b, t, s, h, g, d; /* batch, queries, keys, query heads, key heads, width */
    int64_t rep;              /* h / g */
    int64_t nq;               /* query positions of a block */
    int64_t dp;               /* d rounded up to whole vectors */
    int64_t keys;   /* of a tile: SDPA_KEYS, or whole vectors that hold all keys if these are fewer */
    int64_t tiles;  /* of keys */
    int64_t window; /* 0 = none */
    bool causal;
    float scale, cap;
} sdpa_dims;

static sdpa_dims sdpa_dims_of(const asc_call *c) {
    const int64_t *q = c->in_shape[0].dims, *k = c->in_shape[1].dims;
    sdpa_dims p = {.b = q[0], .t = q[1], .s = k[1], .h = q[2], .g = k[2], .d = q[3]};
    p.rep = p.g > 0 ? p.h / p.g : 0;
    p.nq = asc_kmax(1, SDPA_ROWS / asc_kmax(1, p.rep));
    p.nq = asc_kmax(1, asc_kmin(p.nq, p.t));
    p.dp = asc_kround(p.d, VW);
    p.keys = asc_kmin(SDPA_KEYS, asc_kround(asc_kmax(p.s, 1), VW));
    p.tiles = asc_kceil(p.s, p.keys);
    p.causal = asc_kint(c, "causal") != 0;
    p.window = asc_kint(c, "window");
    p.scale = (float)asc_kfloat(c, "scale");
    p.cap = (float)asc_kfloat(c, "cap");
    return p;
}

/* Keys that query t sees: [*lo, *hi), empty if none. */
VEC_INLINE void sdpa_visible(const sdpa_dims *p, int64_t t, int64_t *lo, int64_t *hi) {
    int64_t at = t + p->s - p->t;
    *lo = p->window > 0 ? asc_kmax(0, at - p->window + 1) : 0;
    *hi = p->causal ? asc_kmin(p->s, at + 1) : p->s;
    if (*hi < *lo) *hi = *lo;
}
/* The same within keys [j0, j0 + n), counted from j0. */
VEC_INLINE void sdpa_visible_in(const sdpa_dims *p, int64_t t, int64_t j0, int64_t n, int64_t *lo,
                                int64_t *hi) {
    sdpa_visible(p, t, lo, hi);
    *lo = asc_kmin(asc_kmax(*lo - j0, 0), n);
    *hi = asc_kmin(asc_kmax(*hi - j0, *lo), n);
}

/* Elements before position t0 of the heads of group g: rep rows of d lie there side by side. */
VEC_INLINE int64_t sdpa_q_at(const sdpa_dims *p, int64_t b, int64_t g, int64_t t) {
    return ((b * p->t + t) * p->h + g * p->rep) * p->d;
}

/* Rows of a block of q (or of a cotangent) times f, contiguous [rows][d]. */
static void sdpa_take_rows(const sdpa_dims *p, const float *q, int64_t b, int64_t g, int64_t t0, int64_t nt,
                           float f, float *out) {
    const int64_t n = p->rep * p->d;
    const vf vs = vset1(f);
    for (int64_t t = 0; t < nt; t++, out += n) {
        const float *x = q + sdpa_q_at(p, b, g, t0 + t);
        int64_t i = 0;
        for (; i + VW <= n; i += VW) vstore(out + i, vload(x + i) * vs);
        if (i < n) vstoren(out + i, vloadn(x + i, n - i) * vs, n - i);
    }
}

/* Keys [j0, j0 + n) of k, transposed: out [d][keys], missing keys 0. */
static inline void sdpa_pack_transposed(const sdpa_dims *p, const float *k, int64_t b, int64_t g, int64_t j0,
                                        int64_t n, float *out) {
    const float *x = k + ((b * p->s + j0) * p->g + g) * p->d;
    const int64_t step = p->g * p->d, keys = p->keys;
    for (int64_t i0 = 0; i0 < p->d; i0 += 16) {
        int64_t i1 = asc_kmin(i0 + 16, p->d);
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = i0; i < i1; i++) out[i * keys + j] = x[j * step + i];
        }
    }
    for (int64_t i = 0; i < p->d && n < keys; i++)
        memset(out + i * keys + n, 0, (size_t)(keys - n) * sizeof(float));
}

/* The same keys as rows: out [n][dp], missing columns 0. */
static inline void sdpa_pack_rows(const sdpa_dims *p, const float *k, int64_t b, int64_t g, int64_t j0,
                                  int64_t n, float *out) {
    const float *x = k + ((b * p->s + j0) * p->g + g) * p->d;
    for (int64_t j = 0; j < n; j++) {
        memcpy(out + j * p->dp, x + j * p->g * p->d, (size_t)p->d * sizeof(float));
        for (int64_t i = p->d; i < p->dp; i++) out[j * p->dp + i] = 0;
    }
}

/* s[m][j] = q[m] . k[j] for n keys in place; few rows. */
static inline void sdpa_dots(const sdpa_dims *p, int64_t rows, const float *q, const float *k, int64_t n,
                             float *s) {
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

/* Soft cap of scores [from, to) (whole vectors) in place: s = cap tanh(s / cap); slope, if not NULL, gets
 * ds/ds_in = 1 - tanh^2. */
static void sdpa_cap(const sdpa_dims *p, float *s, float *slope, int64_t from, int64_t to) {
    vf cap = vset1(p->cap), one = vset1(1.0f);
    for (int64_t i = from; i < to; i += VW) {
        vf th = vtanh(vload(s + i) / cap);
        vstore(s + i, th * cap);
        if (slope != NULL) vstore(slope + i, vfnma(th, th, one));
    }
}

/* Largest of the scores [lo, hi); in the vectors that hold them the others become -inf. */
VEC_INLINE float sdpa_mask_max(float *s, int64_t lo, int64_t hi) {
    const vf none = vset1(-INFINITY);
    vf m = none;
    for (int64_t i = lo / VW * VW; i < hi; i += VW) {
        vf x = vload(s + i);
        if (i < lo || i + VW > hi) {
            if (i < lo) x = vsel(vfirst(lo - i), none, x);
            if (i + VW > hi) x = vsel(vfirst(hi - i), x, none);
            vstore(s + i, x);
        }
        m = vmax(m, x);
    }
    return vhmax(m);
}

/* Scores [lo, hi) become exp(s - base); their sum. Others in the same vectors must be -inf; the rest of [0,
 * n) becomes 0. */
VEC_INLINE float sdpa_exp_sum(float *s, int64_t lo, int64_t hi, int64_t n, float base) {
    const int64_t from = lo / VW * VW;
    vf vb = vset1(base), acc = vzero();
    int64_t i = 0;
    for (; i < from; i += VW) vstore(s + i, vzero());
    for (; i < hi; i += VW) {
        vf e = vexp_weight(vload(s + i) - vb);
        vstore(s + i, e);
        acc = acc + e;
    }
    for (; i < n; i += VW) vstore(s + i, vzero());
    return vhsum(acc);
}

/* Turns one row's scores of a tile into weights relative to the row's new maximum, and rescales what was
 * summed so far (sum, out) to it. */
VEC_INLINE void sdpa_online_row(float *s, int64_t lo, int64_t hi, int64_t n, float *max, float *sum,
                                float *out, int64_t dp) {
    const float old = *max, top = sdpa_mask_max(s, lo, hi), now = top > old ? top : old;
    /* -inf: nothing seen so far but weights exp(-inf) = 0 */
    float part = sdpa_exp_sum(s, lo, hi, n, now == -INFINITY ? 0.0f : now);
    if (now > old && old != -INFINITY) {
        vf c = vexp(vset1(old - now));
        for (int64_t i = 0; i < dp; i += VW) vstore(out + i, vload(out + i) * c);
        float f[VW];
        vstore(f, c);
        *sum *= f[0];
    }
    *sum += part;
    *max = now;
}

#endif
