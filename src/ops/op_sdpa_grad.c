/* sdpa_grad: the gradients of sdpa for cotangent g of its result y, flat: dq [B,T,H,D], dk [B,S,G,D], dv
 * [B,S,G,D] one after another. For each query, p its probabilities (recomputed), z_j = scale q.k_j: dP_j =
 * g.v_j,  delta = g.y,  ds_j = p_j (dP_j - delta),  dz_j = ds_j (1 - tanh(z_j/c)^2 if capped, else 1), dq +=
 * scale dz_j k_j,  dk_j += scale dz_j q,  dv_j += p_j g. y enters only through delta, which saves a pass over
 * the keys; as an input it is free, and its own derivative is used. Gradient: asc_vjp_decomposed goes back
 * through the primitive form below. Forward mode: the product rule, line by line. Edge cases: queries that
 * see no key add nothing. The reference splits the work by (batch, key head), so that no two threads add to
 * one element. Source: derived from sdpa; the use of delta as in Dao et al. 2022, "FlashAttention". */
#include <math.h>

#include "attention.h"
#include "ops.h"
#include "rows.h"

enum { K_BLOCK = 128 };

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_attn_infer(ctx, c);
    if (st == ASC_OK) st = asc_infer_like_rows(ctx, c, 3, "y");
    if (st == ASC_OK) st = asc_infer_like_rows(ctx, c, 4, "g");
    if (st != ASC_OK) return st;
    const int64_t n_q = asc_shape_elems(&c->in_shape[0]), n_k = asc_shape_elems(&c->in_shape[1]);
    if (n_q < 0 || n_k < 0 || n_k > INT64_MAX / 4 || n_q > INT64_MAX / 4)
        return asc_infer_fail(ctx, c, "too many elements");
    c->dtype = ASC_DTYPE_F32;
    c->shape = ASC_SHAPE(n_q + 2 * n_k);
    return ASC_OK;
}

/* A row of an array: its elements and their distance. */
typedef struct row {
    double *at;
    int64_t step;
} row;

static row row_of(const asc_nd *x, int64_t b, int64_t t, int64_t h) {
    return (row){x->data + b * x->strides[0] + t * x->strides[1] + h * x->strides[2], x->strides[3]};
}

static double dot(row a, row b, int64_t n) { return asc_attn_dot(a.at, a.step, b.at, b.step, n); }

static void add_scaled(row y, double f, row x, int64_t n) {
    if (y.step == 1 && x.step == 1)
        for (int64_t d = 0; d < n; d++) y.at[d] += f * x.at[d];
    else
        for (int64_t d = 0; d < n; d++) y.at[d * y.step] += f * x.at[d * x.step];
}

/* Row (b, i, h) of a [B,n,heads,D] part of the flat result that starts at `start`. */
static row flat_row(const asc_nd *out, int64_t start, const int64_t *dims, int64_t b, int64_t i, int64_t h) {
    const int64_t first = start + ((b * dims[1] + i) * dims[2] + h) * dims[3];
    return (row){out->data + first * out->strides[0], out->strides[0]};
}

/* What one query contributes. */
static void query(const asc_ref_args *a, int64_t b, int64_t t, int64_t h) {
    const asc_nd *qa = &a->in[0], *ka = &a->in[1], *va = &a->in[2];
    const int64_t D = qa->dims[3], kv_head = h / (qa->dims[2] / ka->dims[2]);
    const double scale = a->attrs->f[ASC_ATTN_SCALE], cap = a->attrs->f[ASC_ATTN_CAP];
    const int64_t n_q = asc_nd_elems(qa), n_k = asc_nd_elems(ka);
    const row q = row_of(qa, b, t, h), g = row_of(&a->in[4], b, t, h);
    const row dq = flat_row(&a->out, 0, qa->dims, b, t, h);
    double max = -INFINITY, sum = 0;
    int64_t first, end;
    asc_attn_visible(a->attrs, t, qa->dims[1], ka->dims[1], &first, &end);
    double s[K_BLOCK]; /* kept scores; recomputed where there are more keys than fit */
    for (int64_t j = first; j < end; j++) {
        const double score = asc_attn_score(a->attrs, dot(q, row_of(ka, b, j, kv_head), D));
        if (j - first < K_BLOCK) s[j - first] = score;
        if (score > max) {
            sum *= exp(max - score);
            max = score;
        }
        sum += exp(score - max);
    }
    const double delta = dot(g, row_of(&a->in[3], b, t, h), D);
    for (int64_t j = first; j < end; j++) {
        const row k = row_of(ka, b, j, kv_head);
        const double score = j - first < K_BLOCK ? s[j - first] : asc_attn_score(a->attrs, dot(q, k, D));
        const double p = exp(score - max) / sum;
        double dz = p * (dot(g, row_of(va, b, j, kv_head), D) - delta);
        if (cap > 0) dz *= 1 - score / cap * (score / cap);
        add_scaled(dq, scale * dz, k, D);
        add_scaled(flat_row(&a->out, n_q, ka->dims, b, j, kv_head), scale * dz, q, D);
        add_scaled(flat_row(&a->out, n_q + n_k, ka->dims, b, j, kv_head), p, g, D);
    }
}

static void ref(const asc_ref_args *a) {
    const int64_t B = a->in[0].dims[0], T = a->in[0].dims[1], H = a->in[0].dims[2], G = a->in[1].dims[2],
                  R = H / G;
    for (int64_t i = 0; i < a->out.dims[0]; i++) a->out.data[i * a->out.strides[0]] = 0;
#pragma omp parallel for num_threads(a->n_threads) schedule(dynamic) if (B * T * H * a->in[1].dims[1] > 2000)
    for (int64_t i = 0; i < B * G; i++)
        for (int64_t r = 0; r < R; r++)
            for (int64_t t = 0; t < T; t++) query(a, i / G, t, i % G * R + r);
}

static asc_tensor *flat(asc_ctx *ctx, asc_tensor *t) { return asc_reshape(ctx, t, ASC_SHAPE(-1)); }

/* The three gradients in folded layout to the flat result. */
static asc_tensor *flatten(asc_ctx *ctx, const asc_attn_parts *s, asc_tensor *dq, asc_tensor *dk,
                           asc_tensor *dv) {
    asc_tensor *parts[3] = {flat(ctx, asc_attn_unfold_q(ctx, s, dq)), flat(ctx, asc_attn_swap_k(ctx, dk)),
                            flat(ctx, asc_attn_swap_k(ctx, dv))};
    return asc_concat(ctx, parts, 3, 0);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    const double scale = attrs->f[ASC_ATTN_SCALE];
    asc_attn_parts s;
    asc_attn_record(ctx, attrs, in[0], in[1], in[2], &s);
    asc_tensor *y = asc_attn_fold_q(ctx, &s, in[3]), *g = asc_attn_fold_q(ctx, &s, in[4]);
    asc_tensor *dp = asc_matmul(ctx, g, s.v, false, true), *slope = asc_attn_cap_slope(ctx, &s);
    asc_tensor *dz = asc_mul(ctx, s.p, asc_sub(ctx, dp, asc_row_sum(ctx, asc_mul(ctx, g, y))));
    if (slope != NULL) dz = asc_mul(ctx, dz, slope);
    dz = asc_scale(ctx, dz, scale);
    return flatten(ctx, &s, asc_matmul(ctx, dz, s.k, false, false), asc_matmul(ctx, dz, s.q, true, false),
                   asc_matmul(ctx, s.p, g, true, false));
}

/* x * y where NULL stands for zero; x * y with the transpose of x if ta or of y if tb, as a matrix product.
 */
static asc_tensor *mul_or(asc_ctx *ctx, asc_tensor *x, asc_tensor *y) {
    return x == NULL || y == NULL ? NULL : asc_mul(ctx, x, y);
}
static asc_tensor *matmul_or(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, bool ta, bool tb) {
    return x == NULL || y == NULL ? NULL : asc_matmul(ctx, x, y, ta, tb);
}

/* Product rule of the lines of decompose; t* are tangents, NULL = zero. */
static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    const double scale = a->attrs->f[ASC_ATTN_SCALE], cap = a->attrs->f[ASC_ATTN_CAP];
    asc_attn_parts s;
    asc_attn_record(ctx, a->attrs, a->in[0], a->in[1], a->in[2], &s);
    asc_tensor *y = asc_attn_fold_q(ctx, &s, a->in[3]), *g = asc_attn_fold_q(ctx, &s, a->in[4]);
    asc_tensor *tq = asc_attn_fold_q(ctx, &s, a->tin[0]), *tk = asc_attn_swap_k(ctx, a->tin[1]);
    asc_tensor *tv = asc_attn_swap_k(ctx, a->tin[2]), *ty = asc_attn_fold_q(ctx, &s, a->tin[3]);
    asc_tensor *tg = asc_attn_fold_q(ctx, &s, a->tin[4]), *slope = asc_attn_cap_slope(ctx, &s),
               *tslope = NULL;
    asc_tensor *tz = asc_attn_score_tangent(ctx, a->attrs, &s, tq, tk), *ts = tz;
    if (slope != NULL && tz != NULL) { /* d(1 - u^2) = -2 u (1 - u^2) dz / cap, u = tanh(z / cap) */
        ts = asc_mul(ctx, tz, slope);
        tslope = asc_scale(ctx, asc_mul(ctx, s.tanh, ts), -2 / cap);
    }
    asc_tensor *tp = ts == NULL ? NULL : asc_softmax_grad(ctx, s.p, ts);
    asc_tensor *delta = asc_row_sum(ctx, asc_mul(ctx, g, y));
    asc_tensor *tdelta = asc_add_or(ctx, mul_or(ctx, tg, y), mul_or(ctx, g, ty));
    asc_tensor *inner = asc_sub(ctx, asc_matmul(ctx, g, s.v, false, true), delta);
    asc_tensor *tinner =
        asc_add_or(ctx, matmul_or(ctx, tg, s.v, false, true), matmul_or(ctx, g, tv, false, true));
    if (tdelta != NULL) tinner = asc_add_or(ctx, tinner, asc_neg(ctx, asc_row_sum(ctx, tdelta)));
    asc_tensor *ds = asc_mul(ctx, s.p, inner);
    asc_tensor *tds = asc_add_or(ctx, mul_or(ctx, tp, inner), mul_or(ctx, s.p, tinner)), *dz = ds, *tdz = tds;
    if (slope != NULL) {
        dz = asc_mul(ctx, ds, slope);
        tdz = asc_add_or(ctx, mul_or(ctx, tds, slope), mul_or(ctx, ds, tslope));
    }
    asc_tensor *t[3] = {
        asc_add_or(ctx, matmul_or(ctx, tdz, s.k, false, false), matmul_or(ctx, dz, tk, false, false)),
        asc_add_or(ctx, matmul_or(ctx, tdz, s.q, true, false), matmul_or(ctx, dz, tq, true, false)),
        asc_add_or(ctx, matmul_or(ctx, tp, g, true, false), matmul_or(ctx, s.p, tg, true, false)),
    };
    for (int i = 0; i < 3; i++) {
        const asc_tensor *like = i == 0 ? s.q : s.k;
        if (t[i] == NULL)
            t[i] = asc_full(ctx, like->shape, 0);
        else if (i < 2)
            t[i] = asc_scale(ctx, t[i], scale);
    }
    return flatten(ctx, &s, t[0], t[1], t[2]);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = asc_attn_pairs(c) * (10 * (double)c->in_shape[0].dims[3] + 8);
}

static bool sample(int i, asc_sample *out) {
    static const asc_attn_case cases[] = {
        {{4, {1, 3, 1, 2}}, {4, {1, 3, 1, 2}}, true, 0, 0.7, 0},
        {{4, {2, 2, 4, 3}}, {4, {2, 3, 2, 3}}, true, 0, 0.5, 0},
        {{4, {1, 3, 2, 2}}, {4, {1, 3, 2, 2}}, false, 0, 0.7, 0},
        {{4, {1, 3, 2, 2}}, {4, {1, 5, 1, 2}}, true, 2, 0.7, 0},
        {{4, {1, 3, 2, 2}}, {4, {1, 4, 1, 2}}, true, 0, 0.8, 1.5},
        {{4, {1, 4, 2, 2}}, {4, {1, 2, 1, 2}}, true, 0, 0.9, 0},
        {{4, {1, 4, 1, 1}}, {4, {1, 4, 1, 1}}, false, 2, 1, 2},
    };
    if (i < 0 || i >= ASC_N_CASES(cases)) return false;
    *out = asc_attn_sample(&cases[i]);
    for (out->n_in = 3; out->n_in < 5; out->n_in++) { /* y and g */
        out->in_shape[out->n_in] = cases[i].q;
        out->lo[out->n_in] = -1;
        out->hi[out->n_in] = 1;
    }
    return true;
}

asc_tensor *asc_sdpa_grad(asc_ctx *ctx, asc_tensor *const *q_k_v_y_g, double scale, bool causal,
                          int64_t window, double cap) {
    const asc_attrs attrs = {.i = {causal, window}, .f = {scale, cap}};
    return asc_apply(ctx, &asc_op_sdpa_grad, &attrs, q_k_v_y_g, 5);
}

const asc_op asc_op_sdpa_grad = {
    ASC_OP_FIELDS(SDPA_GRAD, sdpa_grad, 5, 5),
    .attrs = asc_attn_attr_defs,
    .n_attrs = ASC_ATTN_N_ATTRS,
    .vjp = asc_vjp_decomposed,
    .jvp = jvp,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .doc = "Gradients of sdpa by q, k and v in one flat result.",
    .formula = "dz = scale p (g v^T - sum(g y)) cap'; dq = dz k, dk = dz^T q, dv = p^T g",
};
