/* sdpa: attention. For query t of head h, over the keys j that it sees:
 *   s_j = scale q.k_j, capped to c tanh(s_j / c) if c > 0;  p = softmax(s);  y = sum_j p_j v_j.
 * Query t stands at key position t + S - T (a key/value store holds the earlier ones). causal hides keys
 * after it, a window W > 0 hides keys W or more before it. Query head h reads key head h / (H/G). Gradient:
 * with dP = g v^T and delta = sum(g y) = sum_j p_j dP_j, ds = p (dP - delta), times 1 - tanh^2 if capped; dq
 * = scale ds k, dk = scale ds^T q, dv = p^T g, summed over the query heads of a group: the op sdpa_grad, one
 * flat result that is cut into three. Forward mode: ty = tp v + p tv, tp = softmax_grad(p, ts). Edge cases: a
 * query that sees no key (S < T, or S = 0) gives 0 and passes no gradient. The running maximum is subtracted,
 * so scores of any finite size are safe. The reference takes keys in blocks of K_BLOCK with a running maximum
 * and sum: no memory beyond a block's scores. Source: Vaswani et al. 2017; grouped heads: Ainslie et al.
 * 2023; running softmax: Milakov and Gimelshein 2018; cap: Gemma 2 report, 2024. */
#include <math.h>

#include "attention.h"
#include "ops.h"
#include "rows.h"

enum { K_BLOCK = 128 };

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_attn_infer(ctx, c);
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[0];
    return st;
}

/* One output row. */
static void attend(const asc_ref_args *a, int64_t b, int64_t t, int64_t h) {
    const asc_nd *q = &a->in[0], *k = &a->in[1], *v = &a->in[2], *y = &a->out;
    const int64_t D = q->dims[3], kv_head = h / (q->dims[2] / k->dims[2]);
    const double *qr = q->data + b * q->strides[0] + t * q->strides[1] + h * q->strides[2];
    const double *k0 = k->data + b * k->strides[0] + kv_head * k->strides[2];
    const double *v0 = v->data + b * v->strides[0] + kv_head * v->strides[2];
    double *yr = y->data + b * y->strides[0] + t * y->strides[1] + h * y->strides[2];
    const int64_t vs = v->strides[3], ys = y->strides[3];
    double max = -INFINITY, sum = 0, s[K_BLOCK];
    int64_t first, end;
    asc_attn_visible(a->attrs, t, q->dims[1], k->dims[1], &first, &end);
    for (int64_t d = 0; d < D; d++) yr[d * ys] = 0;
    for (int64_t j0 = first; j0 < end; j0 += K_BLOCK) {
        const int64_t n = end - j0 < K_BLOCK ? end - j0 : K_BLOCK;
        double new_max = max;
        for (int64_t j = 0; j < n; j++) {
            s[j] = asc_attn_score(
                a->attrs, asc_attn_dot(qr, q->strides[3], k0 + (j0 + j) * k->strides[1], k->strides[3], D));
            new_max = fmax(new_max, s[j]);
        }
        if (j0 > first) { /* what was summed so far was relative to the old maximum */
            const double shrink = exp(max - new_max);
            sum *= shrink;
            for (int64_t d = 0; d < D; d++) yr[d * ys] *= shrink;
        }
        max = new_max;
        for (int64_t j = 0; j < n; j++) {
            const double e = exp(s[j] - max), *vr = v0 + (j0 + j) * v->strides[1];
            sum += e;
            if (vs == 1 && ys == 1)
                for (int64_t d = 0; d < D; d++) yr[d] += e * vr[d];
            else
                for (int64_t d = 0; d < D; d++) yr[d * ys] += e * vr[d * vs];
        }
    }
    if (first < end)
        for (int64_t d = 0; d < D; d++) yr[d * ys] /= sum;
}

static void ref(const asc_ref_args *a) {
    const int64_t B = a->out.dims[0], T = a->out.dims[1], H = a->out.dims[2], S = a->in[1].dims[1];
#pragma omp parallel for num_threads(a->n_threads) schedule(dynamic) if (B * T * H * S > 2000)
    for (int64_t i = 0; i < B * H * T; i++) attend(a, i / (H * T), i % T, i / T % H);
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const asc_attrs *at = a->attrs;
    if (!a->need[0] && !a->need[1] && !a->need[2]) return;
    asc_tensor *in[5] = {a->in[0], a->in[1], a->in[2], a->y, a->g};
    asc_tensor *all = asc_sdpa_grad(ctx, in, at->f[ASC_ATTN_SCALE], at->i[ASC_ATTN_CAUSAL] != 0,
                                    at->i[ASC_ATTN_WINDOW], at->f[ASC_ATTN_CAP]);
    int64_t start = 0;
    for (int k = 0; k < 3; k++) {
        const int64_t n = asc_shape_elems(&a->in[k]->shape);
        if (a->need[k]) a->gin[k] = asc_reshape(ctx, asc_slice(ctx, all, 0, start, n), a->in[k]->shape);
        start += n;
    }
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_attn_parts s;
    asc_attn_record(ctx, a->attrs, a->in[0], a->in[1], a->in[2], &s);
    asc_tensor *tq = asc_attn_fold_q(ctx, &s, a->tin[0]), *tk = asc_attn_swap_k(ctx, a->tin[1]);
    asc_tensor *tv = asc_attn_swap_k(ctx, a->tin[2]), *slope = asc_attn_cap_slope(ctx, &s);
    asc_tensor *ts = asc_attn_score_tangent(ctx, a->attrs, &s, tq, tk), *ty = NULL;
    if (ts != NULL) {
        if (slope != NULL) ts = asc_mul(ctx, ts, slope);
        ty = asc_matmul(ctx, asc_softmax_grad(ctx, s.p, ts), s.v, false, false);
    }
    if (tv != NULL) ty = asc_add_or(ctx, ty, asc_matmul(ctx, s.p, tv, false, false));
    return asc_attn_unfold_q(ctx, &s, ty);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    asc_attn_parts s;
    asc_attn_record(ctx, attrs, in[0], in[1], in[2], &s);
    return asc_attn_unfold_q(ctx, &s, asc_matmul(ctx, s.p, s.v, false, false));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = asc_attn_pairs(c) * (4 * (double)c->in_shape[0].dims[3] + 5);
}

static bool sample(int i, asc_sample *out) {
    static const asc_attn_case cases[] = {
        {{4, {1, 3, 1, 2}}, {4, {1, 3, 1, 2}}, true, 0, 0.7, 0},
        {{4, {2, 3, 4, 3}}, {4, {2, 3, 2, 3}}, true, 0, 0.5, 0},
        {{4, {1, 1, 2, 3}}, {4, {1, 5, 1, 3}}, true, 0, 0.6, 0},
        {{4, {1, 4, 2, 2}}, {4, {1, 4, 2, 2}}, false, 0, 0.7, 0},
        {{4, {1, 3, 3, 2}}, {4, {1, 5, 1, 2}}, true, 2, 0.7, 0},
        {{4, {1, 3, 2, 3}}, {4, {1, 4, 1, 3}}, true, 0, 0.8, 1.5},
        {{4, {1, 4, 2, 2}}, {4, {1, 2, 1, 2}}, true, 0, 0.9, 0},
        {{4, {2, 5, 1, 1}}, {4, {2, 5, 1, 1}}, false, 2, 1, 2},
        {{4, {1, 5, 4, 3}}, {4, {1, 3, 2, 3}}, true, 2, 0.5, 0.8},
        {{4, {1, 1, 1, 1}}, {4, {1, 1, 1, 1}}, true, 1, 1, 0},
    };
    if (i < 0 || i >= ASC_N_CASES(cases)) return false;
    *out = asc_attn_sample(&cases[i]);
    return true;
}

asc_tensor *asc_sdpa(asc_ctx *ctx, asc_tensor *q, asc_tensor *k, asc_tensor *v, double scale, bool causal,
                     int64_t window, double cap) {
    const asc_attrs attrs = {.i = {causal, window}, .f = {scale, cap}};
    return asc_apply(ctx, &asc_op_sdpa, &attrs, (asc_tensor *[]){q, k, v}, 3);
}

const asc_op asc_op_sdpa = {
    ASC_OP_FIELDS(SDPA, sdpa, 3, 3),
    .attrs = asc_attn_attr_defs,
    .n_attrs = ASC_ATTN_N_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_2,
    .doc = "Scaled dot-product attention with grouped key heads, causal mask, sliding window and score cap.",
    .formula = "y = softmax(mask(cap(scale q k^T))) v",
};
