/* attention.c - shared parts of sdpa and sdpa_grad. */
#include "attention.h"

#include <math.h>

#include "ops.h"
#include "rows.h"

const asc_attr_def asc_attn_attr_defs[ASC_ATTN_N_ATTRS] = {
    {"scale", ASC_ATTR_FLOAT, ASC_ATTN_SCALE},
    {"causal", ASC_ATTR_BOOL, ASC_ATTN_CAUSAL},
    {"window", ASC_ATTR_INT, ASC_ATTN_WINDOW},
    {"cap", ASC_ATTR_FLOAT, ASC_ATTN_CAP},
};

asc_sample asc_attn_sample(const asc_attn_case *c) {
    return (asc_sample){.attrs = {.i = {c->causal, c->window}, .f = {c->scale, c->cap}},
                        .n_in = 3,
                        .in_shape = {c->q, c->kv, c->kv},
                        .lo = {-1, -1, -1},
                        .hi = {1, 1, 1}};
}

asc_status asc_attn_infer(asc_ctx *ctx, const asc_call *c) {
    for (int k = 0; k < 3; k++) {
        asc_status st = asc_infer_need_f32(ctx, c, k);
        if (st != ASC_OK) return st;
        if (c->in_shape[k].rank != 4) return asc_infer_fail(ctx, c, "q, k and v must be of rank 4");
    }
    const int64_t *q = c->in_shape[0].dims, *k = c->in_shape[1].dims;
    if (!asc_shape_eq(&c->in_shape[1], &c->in_shape[2]))
        return asc_infer_fail(ctx, c, "k and v differ in shape");
    if (q[0] != k[0])
        return asc_infer_fail(ctx, c, "batches %lld and %lld differ", (long long)q[0], (long long)k[0]);
    if (q[3] != k[3])
        return asc_infer_fail(ctx, c, "head widths %lld and %lld differ", (long long)q[3], (long long)k[3]);
    if (k[2] < 1 || q[2] % k[2] != 0)
        return asc_infer_fail(ctx, c, "%lld query heads are not a multiple of %lld key heads",
                              (long long)q[2], (long long)k[2]);
    if (c->attrs->i[ASC_ATTN_WINDOW] < 0) return asc_infer_fail(ctx, c, "the window is negative");
    if (!(c->attrs->f[ASC_ATTN_CAP] >= 0))
        return asc_infer_fail(ctx, c, "the cap is negative or not a number");
    return ASC_OK;
}

double asc_attn_pairs(const asc_call *c) {
    const int64_t *q = c->in_shape[0].dims, n_keys = c->in_shape[1].dims[1];
    double pairs = 0;
    if (c->attrs->i[ASC_ATTN_CAUSAL] == 0 && c->attrs->i[ASC_ATTN_WINDOW] == 0) {
        pairs = (double)q[1] * (double)n_keys;
    } else {
        for (int64_t t = 0; t < q[1]; t++) {
            int64_t first, end;
            asc_attn_visible(c->attrs, t, q[1], n_keys, &first, &end);
            if (end > first) pairs += (double)(end - first);
        }
    }
    return pairs * (double)q[0] * (double)q[2];
}

double asc_attn_dot(const double *a, int64_t a_step, const double *b, int64_t b_step, int64_t n) {
    double part[8] = {
        0}; /* eight interleaved sums, so that the compiler may use vectors without changing the order */
    int64_t i = 0;
    if (a_step == 1 && b_step == 1) {
        for (; i + 8 <= n; i += 8)
            for (int j = 0; j < 8; j++) part[j] += a[i + j] * b[i + j];
    }
    for (; i < n; i++) part[i % 8] += a[i * a_step] * b[i * b_step];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

double asc_attn_score(const asc_attrs *attrs, double dot) {
    const double s = attrs->f[ASC_ATTN_SCALE] * dot, cap = attrs->f[ASC_ATTN_CAP];
    return cap > 0 ? cap * tanh(s / cap) : s;
}

asc_tensor *asc_attn_fold_q(asc_ctx *ctx, const asc_attn_parts *s, asc_tensor *q) {
    if (q == NULL) return NULL;
    q = asc_reshape(ctx, q, ASC_SHAPE(s->B, s->T, s->G, s->H / s->G, s->D));
    q = asc_transpose(ctx, q, 5, (int[]){0, 2, 3, 1, 4});
    return asc_reshape(ctx, q, ASC_SHAPE(s->B, s->G, s->H / s->G * s->T, s->D));
}

asc_tensor *asc_attn_unfold_q(asc_ctx *ctx, const asc_attn_parts *s, asc_tensor *q) {
    if (q == NULL) return NULL;
    q = asc_reshape(ctx, q, ASC_SHAPE(s->B, s->G, s->H / s->G, s->T, s->D));
    q = asc_transpose(ctx, q, 5, (int[]){0, 3, 1, 2, 4});
    return asc_reshape(ctx, q, ASC_SHAPE(s->B, s->T, s->H, s->D));
}

asc_tensor *asc_attn_swap_k(asc_ctx *ctx, asc_tensor *k) {
    return k == NULL ? NULL : asc_transpose(ctx, k, 4, (int[]){0, 2, 1, 3});
}

asc_tensor *asc_attn_mask(asc_ctx *ctx, const asc_attrs *attrs, int64_t n_queries, int64_t n_keys) {
    const int64_t window = attrs->i[ASC_ATTN_WINDOW];
    asc_tensor *query =
        asc_reshape(ctx, asc_iota(ctx, n_queries, (double)(n_keys - n_queries), 1), ASC_SHAPE(n_queries, 1));
    asc_tensor *key = asc_reshape(ctx, asc_iota(ctx, n_keys, 0, 1), ASC_SHAPE(1, n_keys)), *mask = NULL;
    if (attrs->i[ASC_ATTN_CAUSAL] != 0) mask = asc_less_equal(ctx, key, query);
    if (window > 0) {
        asc_tensor *bound = asc_full(ctx, ASC_SCALAR_SHAPE, (double)window);
        asc_tensor *near = asc_less(ctx, asc_sub(ctx, query, key), bound);
        mask = mask == NULL ? near : asc_mul(ctx, mask, near);
    }
    return mask == NULL ? NULL : asc_broadcast(ctx, mask, ASC_SHAPE(n_queries, n_keys));
}

/* A score of each head as one of each row: [B,G,R*T,1]. */
static asc_tensor *sink_of_rows(asc_ctx *ctx, const asc_attn_parts *s, asc_tensor *sink) {
    const int64_t rows = s->H / s->G * s->T;
    sink = asc_broadcast(ctx, asc_reshape(ctx, sink, ASC_SHAPE(s->H, 1)), ASC_SHAPE(s->H, s->T));
    return asc_broadcast(ctx, asc_reshape(ctx, sink, ASC_SHAPE(1, s->G, rows, 1)),
                         ASC_SHAPE(s->B, s->G, rows, 1));
}

asc_tensor *asc_attn_sink_column(asc_ctx *ctx, const asc_attrs *attrs, const asc_attn_parts *s,
                                 asc_tensor *q) {
    return asc_scale(ctx, asc_slice(ctx, q, 3, s->D - 1, 1), attrs->f[ASC_ATTN_SCALE]);
}

/* softmax over the scores s [B,G,R*T,S] and one more of each row, which is then left out. */
static asc_tensor *softmax_beside(asc_ctx *ctx, const asc_attn_parts *parts, asc_tensor *s,
                                  asc_tensor *sink) {
    asc_tensor *all[2] = {s, sink};
    return asc_slice(ctx, asc_softmax(ctx, asc_concat(ctx, all, 2, 3)), 3, 0, parts->S);
}

void asc_attn_record_more(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                          const asc_attn_more *more, asc_attn_parts *out) {
    const int64_t *dq = q->shape.dims, *dk = k->shape.dims;
    const double cap = attrs->f[ASC_ATTN_CAP];
    *out = (asc_attn_parts){.B = dq[0], .T = dq[1], .S = dk[1], .H = dq[2], .G = dk[2], .D = dq[3]};
    const int64_t R = out->H / out->G;
    asc_tensor *mask = more->mask;
    out->q = asc_attn_fold_q(ctx, out, q);
    out->k = asc_attn_swap_k(ctx, k);
    out->v = asc_attn_swap_k(ctx, v);
    asc_tensor *s = asc_scale(ctx, asc_matmul(ctx, out->q, out->k, false, true), attrs->f[ASC_ATTN_SCALE]);
    if (cap > 0) {
        out->tanh = asc_tanh(ctx, asc_scale(ctx, s, 1 / cap));
        s = asc_scale(ctx, out->tanh, cap);
    }
    if (mask != NULL) {
        mask = asc_reshape(ctx, asc_broadcast(ctx, mask, ASC_SHAPE(R, out->T, out->S)),
                           ASC_SHAPE(R * out->T, out->S));
        /* A finite "minus infinity" keeps rows without any visible key free of NaN; the second mask makes
         * them 0. */
        s = asc_where(ctx, mask, s, asc_full(ctx, ASC_SCALAR_SHAPE, -1e30));
    }
    asc_tensor *sink = more->sink_in_q      ? asc_attn_sink_column(ctx, attrs, out, out->q)
                       : more->sink != NULL ? sink_of_rows(ctx, out, more->sink)
                                            : NULL;
    out->p = sink != NULL ? softmax_beside(ctx, out, s, sink) : asc_softmax(ctx, s);
    if (mask != NULL) out->p = asc_mul(ctx, out->p, mask);
}

void asc_attn_record_masked(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                            asc_tensor *mask, asc_attn_parts *out) {
    const asc_attn_more more = {.mask = mask};
    asc_attn_record_more(ctx, attrs, q, k, v, &more, out);
}

void asc_attn_record(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                     asc_attn_parts *out) {
    asc_tensor *mask = asc_attn_mask(ctx, attrs, q->shape.dims[1], k->shape.dims[1]);
    asc_attn_record_masked(ctx, attrs, q, k, v, mask, out);
}

asc_tensor *asc_attn_score_tangent(asc_ctx *ctx, const asc_attrs *attrs, const asc_attn_parts *s,
                                   asc_tensor *tq, asc_tensor *tk) {
    asc_tensor *by_q = tq == NULL ? NULL : asc_matmul(ctx, tq, s->k, false, true);
    asc_tensor *by_k = tk == NULL ? NULL : asc_matmul(ctx, s->q, tk, false, true);
    asc_tensor *sum = asc_add_or(ctx, by_q, by_k);
    return sum == NULL ? NULL : asc_scale(ctx, sum, attrs->f[ASC_ATTN_SCALE]);
}

asc_tensor *asc_attn_cap_slope(asc_ctx *ctx, const asc_attn_parts *s) {
    if (s->tanh == NULL) return NULL;
    return asc_shift(ctx, asc_neg(ctx, asc_square(ctx, s->tanh)), 1);
}
