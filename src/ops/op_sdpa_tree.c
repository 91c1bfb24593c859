/* sdpa_tree: attention of many sequences that share beginnings, packed without padding. The keys are a tree:
 * parent[j] < j is the key before j in every sequence that j belongs to. Query r is key S - R + r and sees
 * itself and its ancestors; with a window W > 0 only up to the first that stands W or more positions before
 * it. For what it sees the formula is that of sdpa (op_sdpa.c). Keys 0 .. P - 1 come from another run
 * (past_k, past_v), the others are k and v. Any numbers are a tree: a parent that is not before its child
 * counts as the key before it. What a query gives does not depend on the other sequences, on the numbers of
 * its keys, or on how many of them are past: kernels must keep to that, bit for bit, where those for many
 * rows are asked for (asc_set_many_rows); otherwise few queries may round differently. With `sink` the last
 * column of q, where keys have 0, is a score (times scale, not capped) that takes its part of the softmax and
 * has no value. Gradients in both directions: by the mask of the tree, a table [R,S]. */
#include <math.h>

#include "attention.h"
#include "move.h"
#include "ops.h"
#include "rows.h"

enum { Q, K, V, PARENT, POS, PAST_K, PAST_V, N_IN, K_BLOCK = 128 };

static const asc_attr_def attr_defs[] = {{"scale", ASC_ATTR_FLOAT, ASC_ATTN_SCALE},
                                         {"window", ASC_ATTR_INT, ASC_ATTN_WINDOW},
                                         {"cap", ASC_ATTR_FLOAT, ASC_ATTN_CAP},
                                         {"sink", ASC_ATTR_BOOL, ASC_ATTN_SINK}};

asc_tensor *asc_sdpa_tree(asc_ctx *ctx, asc_tensor *const *in, double scale, int64_t window, double cap) {
    const asc_attrs attrs = {.i = {[ASC_ATTN_WINDOW] = window}, .f = {scale, cap}};
    return asc_apply(ctx, &asc_op_sdpa_tree, &attrs, in, in[PAST_K] == NULL ? PAST_K : N_IN);
}

asc_tensor *asc_sdpa_tree_sink(asc_ctx *ctx, asc_tensor *const *in, double scale, int64_t window,
                               double cap) {
    const asc_attrs attrs = {.i = {[ASC_ATTN_WINDOW] = window, [ASC_ATTN_SINK] = 1}, .f = {scale, cap}};
    return asc_apply(ctx, &asc_op_sdpa_tree, &attrs, in, in[PAST_K] == NULL ? PAST_K : N_IN);
}

static asc_status infer_past(asc_ctx *ctx, const asc_call *c) {
    for (int k = PAST_K; k < c->n_in; k++) {
        asc_status st = asc_infer_need_f32(ctx, c, k);
        if (st != ASC_OK) return st;
        asc_shape same = c->in_shape[K];
        if (c->in_shape[k].rank == 4) same.dims[1] = c->in_shape[PAST_K].dims[1];
        if (!asc_shape_eq(&c->in_shape[k], &same))
            return asc_infer_fail(ctx, c, "past keys and values are not of the keys' heads");
    }
    return ASC_OK;
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_attn_infer(ctx, c);
    for (int k = PARENT; st == ASC_OK && k <= POS; k++) st = asc_infer_need_i32(ctx, c, k);
    if (st == ASC_OK && c->n_in == PAST_V) st = asc_infer_fail(ctx, c, "past keys without past values");
    if (st == ASC_OK) st = infer_past(ctx, c);
    if (st != ASC_OK) return st;
    const int64_t n = c->in_shape[K].dims[1], past = c->n_in > PAST_K ? c->in_shape[PAST_K].dims[1] : 0;
    if (c->in_shape[K].dims[0] != 1) return asc_infer_fail(ctx, c, "a tree is one batch");
    if (c->in_shape[Q].dims[1] > n) return asc_infer_fail(ctx, c, "more queries than keys");
    if (c->attrs->i[ASC_ATTN_SINK] != 0 && c->in_shape[Q].dims[3] == 0)
        return asc_infer_fail(ctx, c, "queries without columns have no sink");
    for (int k = PARENT; k <= POS; k++) {
        if (c->in_shape[k].rank != 1 || c->in_shape[k].dims[0] != past + n)
            return asc_infer_fail(ctx, c, "parents and positions are not one a key");
    }
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[Q];
    return ASC_OK;
}

/* A row of an array. */
typedef struct row {
    const double *x;
    int64_t step;
} row;

/* Key or value i of key head h. */
static row row_of(const asc_ref_args *a, int in, int64_t i, int64_t h) {
    const int64_t past = a->n_in > PAST_K ? a->in[PAST_K].dims[1] : 0;
    const asc_nd *t = i < past ? &a->in[in - K + PAST_K] : &a->in[in];
    return (row){t->data + (i < past ? i : i - past) * t->strides[1] + h * t->strides[2], t->strides[3]};
}

/* Next of at most K_BLOCK keys that the query sees, from *i up; *i is then what follows, -1 = none. */
static int64_t visible(const asc_ref_args *a, int64_t self, int64_t *i, int64_t *keys) {
    const asc_nd *parent = &a->in[PARENT], *pos = &a->in[POS];
    const double at = pos->data[self * pos->strides[0]];
    int64_t n = 0;
    while (n < K_BLOCK && *i >= 0) {
        if (*i != self && !asc_tree_near(at, pos->data[*i * pos->strides[0]], a->attrs->i[ASC_ATTN_WINDOW])) {
            *i = -1;
            return n;
        }
        keys[n++] = *i;
        *i = asc_tree_up(parent->data[*i * parent->strides[0]], *i);
    }
    return n;
}

/* One output row: from the query itself up, with a running maximum and sum. */
static void attend(const asc_ref_args *a, int64_t t, int64_t h) {
    const asc_nd *q = &a->in[Q], *y = &a->out;
    const int64_t D = q->dims[3], head = h / (q->dims[2] / a->in[K].dims[2]), ys = y->strides[3];
    const int64_t self = a->in[PARENT].dims[0] - q->dims[1] + t;
    const double *qr = q->data + t * q->strides[1] + h * q->strides[2];
    double *yr = y->data + t * y->strides[1] + h * y->strides[2], max = -INFINITY, sum = 0, s[K_BLOCK];
    if (a->attrs->i[ASC_ATTN_SINK] != 0) { /* as a key that was seen first */
        max = a->attrs->f[ASC_ATTN_SCALE] * qr[(D - 1) * q->strides[3]];
        sum = 1;
    }
    int64_t keys[K_BLOCK], n;
    for (int64_t d = 0; d < D; d++) yr[d * ys] = 0;
    for (int64_t i = self; (n = visible(a, self, &i, keys)) > 0;) {
        double new_max = max;
        for (int64_t j = 0; j < n; j++) {
            const row k = row_of(a, K, keys[j], head);
            s[j] = asc_attn_score(a->attrs, asc_attn_dot(qr, q->strides[3], k.x, k.step, D));
            new_max = fmax(new_max, s[j]);
        }
        if (max > -INFINITY) { /* what was summed so far was relative to the old maximum */
            const double shrink = exp(max - new_max);
            sum *= shrink;
            for (int64_t d = 0; d < D; d++) yr[d * ys] *= shrink;
        }
        max = new_max;
        for (int64_t j = 0; j < n; j++) {
            const double e = exp(s[j] - max);
            const row v = row_of(a, V, keys[j], head);
            sum += e;
            for (int64_t d = 0; d < D; d++) yr[d * ys] += e * v.x[d * v.step];
        }
    }
    for (int64_t d = 0; d < D; d++) yr[d * ys] /= sum;
}

static void ref(const asc_ref_args *a) {
    const int64_t T = a->out.dims[1], H = a->out.dims[2], S = a->in[PARENT].dims[0];
#pragma omp parallel for num_threads(a->n_threads) schedule(dynamic) if (T * H * S > 2000)
    for (int64_t i = 0; i < H * T; i++) attend(a, i % T, i / T);
}

/* past and new ones as one; NULL where both are. */
static asc_tensor *joined(asc_ctx *ctx, asc_tensor *past, asc_tensor *now, const asc_shape *past_shape,
                          const asc_shape *now_shape) {
    if (past == NULL && now == NULL) return NULL;
    if (past_shape == NULL) return now;
    asc_tensor *ts[2] = {past != NULL ? past : asc_full(ctx, *past_shape, 0),
                         now != NULL ? now : asc_full(ctx, *now_shape, 0)};
    return asc_concat(ctx, ts, 2, 1);
}

static void record(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in,
                   asc_attn_parts *out) {
    const bool past = n_in > PAST_K;
    asc_tensor *k =
        joined(ctx, past ? in[PAST_K] : NULL, in[K], past ? &in[PAST_K]->shape : NULL, &in[K]->shape);
    asc_tensor *v =
        joined(ctx, past ? in[PAST_V] : NULL, in[V], past ? &in[PAST_V]->shape : NULL, &in[V]->shape);
    asc_tensor *mask =
        asc_tree_mask(ctx, in[PARENT], in[POS], in[Q]->shape.dims[1], attrs->i[ASC_ATTN_WINDOW]);
    const asc_attn_more more = {.mask = mask, .sink_in_q = attrs->i[ASC_ATTN_SINK] != 0};
    asc_attn_record_more(ctx, attrs, in[Q], k, v, &more, out);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    asc_attn_parts s;
    record(ctx, attrs, in, n_in, &s);
    return asc_attn_unfold_q(ctx, &s, asc_matmul(ctx, s.p, s.v, false, false));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    const bool past = a->n_in > PAST_K;
    const asc_shape *pk = past ? &a->in[PAST_K]->shape : NULL, *nk = &a->in[K]->shape;
    asc_attn_parts s;
    record(ctx, a->attrs, a->in, a->n_in, &s);
    asc_tensor *tq = asc_attn_fold_q(ctx, &s, a->tin[Q]);
    asc_tensor *tk = asc_attn_swap_k(ctx, joined(ctx, past ? a->tin[PAST_K] : NULL, a->tin[K], pk, nk));
    asc_tensor *tv = asc_attn_swap_k(ctx, joined(ctx, past ? a->tin[PAST_V] : NULL, a->tin[V], pk, nk));
    asc_tensor *slope = asc_attn_cap_slope(ctx, &s), *ty = NULL;
    asc_tensor *ts = asc_attn_score_tangent(ctx, a->attrs, &s, tq, tk);
    if (ts != NULL) {
        if (slope != NULL) ts = asc_mul(ctx, ts, slope);
        asc_tensor *tp = asc_softmax_grad(ctx, s.p, ts);
        if (a->attrs->i[ASC_ATTN_SINK] != 0 && tq != NULL) { /* its score moves the others' shares, too */
            int last[] = {3};
            asc_tensor *rest = asc_shift(ctx, asc_neg(ctx, asc_sum(ctx, s.p, 1, last, true)), 1);
            asc_tensor *by = asc_mul(ctx, rest, asc_attn_sink_column(ctx, a->attrs, &s, tq));
            tp = asc_sub(ctx, tp, asc_mul(ctx, s.p, by));
        }
        ty = asc_matmul(ctx, tp, s.v, false, false);
    }
    if (tv != NULL) ty = asc_add_or(ctx, ty, asc_matmul(ctx, s.p, tv, false, false));
    return asc_attn_unfold_q(ctx, &s, ty);
}

/* As if every query saw every key: what it sees is known only when it runs. */
static void cost(const asc_call *c, asc_cost *out) {
    const int64_t *q = c->in_shape[Q].dims;
    asc_cost_move(c, out);
    out->flops = (double)q[1] * (double)q[2] * (double)c->in_shape[PARENT].dims[0] * (4 * (double)q[3] + 5);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        int64_t r, h, g, d, n, past, window;
        double scale, cap;
        bool sink;
    } cases[] = {{3, 1, 1, 2, 3, 0, 0, 0.7, 0, false},   {2, 4, 2, 3, 5, 0, 0, 0.5, 0, false},
                 {4, 2, 1, 3, 4, 3, 0, 0.6, 1.5, false}, {3, 3, 3, 2, 6, 2, 3, 0.7, 0, false},
                 {1, 1, 1, 1, 1, 0, 1, 1, 0, false},     {4, 4, 2, 3, 5, 2, 3, 0.8, 0, true}};
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    const int64_t keys = cases[i].n + cases[i].past;
    asc_shape kv = ASC_SHAPE(1, cases[i].n, cases[i].g, cases[i].d), past = kv, each = ASC_SHAPE(keys);
    past.dims[1] = cases[i].past;
    *out = (asc_sample){
        .attrs = {.i = {[ASC_ATTN_WINDOW] = cases[i].window, [ASC_ATTN_SINK] = cases[i].sink},
                  .f = {cases[i].scale, cases[i].cap}},
        .n_in = cases[i].past > 0 ? N_IN : PAST_K,
        .in_dtype = {[PARENT] = ASC_DTYPE_I32, [POS] = ASC_DTYPE_I32},
        .in_shape = {ASC_SHAPE(1, cases[i].r, cases[i].h, cases[i].d), kv, kv, each, each, past, past},
        .lo = {-1, -1, -1, -1, 0, -1, -1},
        .hi = {1, 1, 1, (double)keys, 7, 1, 1},
        .no_grad = {[PARENT] = true, [POS] = true}};
    if (cases[i].past == 0) out->in_shape[PAST_K] = out->in_shape[PAST_V] = (asc_shape){0};
    return true;
}

const asc_op asc_op_sdpa_tree = {
    ASC_OP_FIELDS(SDPA_TREE, sdpa_tree, PAST_K, N_IN),
    ASC_OP_ATTRS,
    .vjp = asc_vjp_decomposed,
    .jvp = jvp,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .doc = "Attention of many sequences that share beginnings: each query sees itself and its ancestors in a "
           "tree.",
    .formula = "y_r = sum over j in {r, ancestors of r} of softmax_j(cap(scale q_r.k_j)) v_j",
};
