/* matmul: y = A B over the last two axes; A is a [..,M,K] (or a^T of a [..,K,M] if ta), B is b [..,K,N] (or
 * b^T of b [..,N,K] if tb); leading dimensions broadcast. b may be stored weights (rank 2); these have no
 * gradient. Gradient: dA = g B^T and dB = A^T g, written as matmuls with the flags changed, so nothing is
 * transposed in memory; a transposed operand gets the transposed product. Leading dimensions that were
 * broadcast are summed (asc_unbroadcast); for a weight b of rank 2 the rows of a and g are folded into one
 * axis first, which makes that sum part of the matmul. Edge cases: K = 0 gives zeros; M, N or a leading
 * dimension of 0 gives an empty result; NaN and Inf go through every product. The reference adds the K
 * products of an element in order of k, starting from 0, whatever the blocking: same bits for any number of
 * threads and any strides. Source: the definition; the blocking follows Goto and van de Geijn 2008, "Anatomy
 * of High-Performance Matrix Multiplication". */
#include <string.h>

#include "cpu.h"
#include "ops.h"

/* Blocks of the reference: a packed K_BLOCK x N_BLOCK piece of B (64 KB) is used for up to M_BLOCK rows of A.
 */
enum { K_BLOCK = 128, N_BLOCK = 64, M_BLOCK = 128, TILE_M = 4, TILE_N = 8 };

typedef struct operand {
    int64_t rows, cols; /* as used, after the transpose flag */
    int row_axis, col_axis;
} operand;

static operand view(const asc_shape *s, bool transposed) {
    operand o = {.row_axis = s->rank - (transposed ? 1 : 2), .col_axis = s->rank - (transposed ? 2 : 1)};
    o.rows = s->dims[o.row_axis];
    o.cols = s->dims[o.col_axis];
    return o;
}

static asc_shape lead_of(const asc_shape *s) {
    asc_shape lead = *s;
    lead.rank = s->rank - 2;
    lead.dims[lead.rank] = lead.dims[lead.rank + 1] = 0;
    return lead;
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st != ASC_OK) return st;
    if (c->in_shape[0].rank < 2 || c->in_shape[1].rank < 2)
        return asc_infer_fail(ctx, c, "both operands need rank 2 or more");
    if (c->in_dtype[1] != ASC_DTYPE_F32) {
        if (asc_dtype_expand(c->in_dtype[1]) == NULL)
            return asc_infer_fail(ctx, c, "b must be f32 or a weight type that can be expanded, not %s",
                                  asc_dtype_of(c->in_dtype[1])->name);
        if (c->in_shape[1].rank != 2) return asc_infer_fail(ctx, c, "stored weights must be of rank 2");
    }
    const operand a = view(&c->in_shape[0], c->attrs->i[0] != 0),
                  b = view(&c->in_shape[1], c->attrs->i[1] != 0);
    if (a.cols != b.rows)
        return asc_infer_fail(ctx, c, "inner dimensions %lld and %lld differ", (long long)a.cols,
                              (long long)b.rows);
    const asc_shape lead_a = lead_of(&c->in_shape[0]), lead_b = lead_of(&c->in_shape[1]);
    if (!asc_shape_broadcast(&lead_a, &lead_b, &c->shape))
        return asc_infer_fail(ctx, c, "leading dimensions do not broadcast");
    c->shape.dims[c->shape.rank++] = a.rows;
    c->shape.dims[c->shape.rank++] = b.cols;
    c->dtype = ASC_DTYPE_F32;
    return ASC_OK;
}

/* One matrix product of the batch, any strides. */
typedef struct product {
    const double *a, *b;
    double *y;
    int64_t a_row, a_col, b_row, b_col, y_row, y_col; /* strides */
    int64_t k;
} product;

typedef double v8 __attribute__((vector_size(64)));

/* acc[r][0..8) += a[k][r] * b[k][0..8) for n_k steps of packed panels. */
static inline __attribute__((always_inline)) void tile_steps(v8 acc[TILE_M], const double *a, const double *b,
                                                             int64_t n_k) {
    v8 c0 = acc[0], c1 = acc[1], c2 = acc[2], c3 = acc[3];
    for (int64_t k = 0; k < n_k; k++) {
        v8 bk;
        memcpy(&bk, b + k * TILE_N, sizeof bk);
        c0 += a[k * TILE_M] * bk;
        c1 += a[k * TILE_M + 1] * bk;
        c2 += a[k * TILE_M + 2] * bk;
        c3 += a[k * TILE_M + 3] * bk;
    }
    acc[0] = c0, acc[1] = c1, acc[2] = c2, acc[3] = c3;
}

static void tile_baseline(v8 *acc, const double *a, const double *b, int64_t n_k) {
    tile_steps(acc, a, b, n_k);
}

typedef void (*tile_fn)(v8 *acc, const double *a, const double *b, int64_t n_k);

#if defined(__x86_64__)
/* The same operations in wider registers: multiplication and addition stay separate, so the bits are the
 * same. */
__attribute__((target("avx2"))) static void tile_avx2(v8 *acc, const double *a, const double *b,
                                                      int64_t n_k) {
    tile_steps(acc, a, b, n_k);
}
__attribute__((target("avx512f"))) static void tile_avx512(v8 *acc, const double *a, const double *b,
                                                           int64_t n_k) {
    tile_steps(acc, a, b, n_k);
}
static tile_fn best_tile(void) {
    const asc_isa isa = asc_cpu_vector_isa();
    return isa == ASC_ISA_AVX512 ? tile_avx512 : isa == ASC_ISA_AVX2 ? tile_avx2 : tile_baseline;
}
#else
static tile_fn best_tile(void) { return tile_baseline; }
#endif

/* Columns [n0, n0 + n_n) and inner indices [k0, k0 + n_k) of B in panels of TILE_N columns, zeros behind the
 * last. */
static void pack_b(const product *p, int64_t k0, int64_t n_k, int64_t n0, int64_t n_n, double *out) {
    for (int64_t j = 0; j < n_n; j += TILE_N) {
        const int64_t w = n_n - j < TILE_N ? n_n - j : TILE_N;
        const double *b = p->b + k0 * p->b_row + (n0 + j) * p->b_col;
        for (int64_t k = 0; k < n_k; k++, out += TILE_N) {
            for (int64_t c = 0; c < w; c++) out[c] = b[k * p->b_row + c * p->b_col];
            for (int64_t c = w; c < TILE_N; c++) out[c] = 0;
        }
    }
}

static void pack_a(const product *p, int64_t m0, int64_t n_m, int64_t k0, int64_t n_k, double *out) {
    for (int64_t r = 0; r < TILE_M; r++) {
        const double *a = p->a + (m0 + r) * p->a_row + k0 * p->a_col;
        for (int64_t k = 0; k < n_k; k++) out[k * TILE_M + r] = r < n_m ? a[k * p->a_col] : 0;
    }
}

/* Continues the sums of one tile of y (started at k0 = 0). */
static void tile(const product *p, tile_fn fn, const double *a, const double *b, int64_t n_k, bool first,
                 int64_t m0, int64_t n_m, int64_t n0, int64_t n_n) {
    v8 acc[TILE_M] = {0};
    double *y = p->y + m0 * p->y_row + n0 * p->y_col;
    if (!first)
        for (int64_t r = 0; r < n_m; r++)
            for (int64_t c = 0; c < n_n; c++) acc[r][c] = y[r * p->y_row + c * p->y_col];
    fn(acc, a, b, n_k);
    for (int64_t r = 0; r < n_m; r++)
        for (int64_t c = 0; c < n_n; c++) y[r * p->y_row + c * p->y_col] = acc[r][c];
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Rows [m0, m1) and columns [n0, n1) of one product, at most M_BLOCK by N_BLOCK. */
static void block(const product *p, tile_fn fn, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    double packed_b[K_BLOCK * N_BLOCK], packed_a[K_BLOCK * TILE_M];
    for (int64_t k0 = 0; k0 < p->k; k0 += K_BLOCK) {
        const int64_t n_k = min64(K_BLOCK, p->k - k0);
        pack_b(p, k0, n_k, n0, n1 - n0, packed_b);
        for (int64_t m = m0; m < m1; m += TILE_M) {
            pack_a(p, m, min64(TILE_M, m1 - m), k0, n_k, packed_a);
            for (int64_t n = n0; n < n1; n += TILE_N)
                tile(p, fn, packed_a, packed_b + (n - n0) * n_k, n_k, k0 == 0, m, min64(TILE_M, m1 - m), n,
                     min64(TILE_N, n1 - n));
        }
    }
    if (p->k == 0)
        for (int64_t m = m0; m < m1; m++)
            for (int64_t n = n0; n < n1; n++) p->y[m * p->y_row + n * p->y_col] = 0;
}

/* Offset of batch member `index` (counted over out's leading dimensions) in x. */
static int64_t batch_offset(const asc_nd *x, const asc_nd *out, int64_t index) {
    int64_t off = 0;
    for (int i = out->rank - 3; i >= 0; i--) {
        const int axis = i - (out->rank - x->rank);
        if (axis >= 0 && x->dims[axis] != 1) off += index % out->dims[i] * x->strides[axis];
        index /= out->dims[i];
    }
    return off;
}

static void ref(const asc_ref_args *args) {
    const asc_nd *a = &args->in[0], *b = &args->in[1], *y = &args->out;
    const bool ta = args->attrs->i[0] != 0, tb = args->attrs->i[1] != 0;
    const int64_t m = y->dims[y->rank - 2], n = y->dims[y->rank - 1], k = a->dims[a->rank - (ta ? 2 : 1)];
    int64_t n_batch = 1;
    for (int i = 0; i < y->rank - 2; i++) n_batch *= y->dims[i];
    const int64_t n_mb = (m + M_BLOCK - 1) / M_BLOCK, n_nb = (n + N_BLOCK - 1) / N_BLOCK, per = n_mb * n_nb;
    const tile_fn fn = best_tile();
#pragma omp parallel for num_threads(args->n_threads) schedule(dynamic) if (n_batch * m * n * k > 200000)
    for (int64_t job = 0; job < n_batch * per; job++) {
        const int64_t batch = job / per, m0 = job % per / n_nb * M_BLOCK, n0 = job % n_nb * N_BLOCK;
        const product p = {
            .a = a->data + batch_offset(a, y, batch),
            .b = b->data + batch_offset(b, y, batch),
            .y = y->data + batch_offset(y, y, batch),
            .a_row = a->strides[a->rank - (ta ? 1 : 2)],
            .a_col = a->strides[a->rank - (ta ? 2 : 1)],
            .b_row = b->strides[b->rank - (tb ? 1 : 2)],
            .b_col = b->strides[b->rank - (tb ? 2 : 1)],
            .y_row = y->strides[y->rank - 2],
            .y_col = y->strides[y->rank - 1],
            .k = k,
        };
        block(&p, fn, m0, min64(m0 + M_BLOCK, m), n0, min64(n0 + N_BLOCK, n));
    }
}

static asc_tensor *last_two_swapped(asc_ctx *ctx, asc_tensor *t) {
    int perm[ASC_MAX_RANK];
    const int rank = t->shape.rank;
    for (int i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return asc_transpose(ctx, t, rank, perm);
}

/* [rows, last]: all axes but the last folded into one. */
static asc_tensor *as_matrix(asc_ctx *ctx, asc_tensor *t) {
    int64_t rows = 1;
    for (int i = 0; i + 1 < t->shape.rank; i++) rows *= t->shape.dims[i];
    return asc_reshape(ctx, t, ASC_SHAPE(rows, t->shape.dims[t->shape.rank - 1]));
}

static void vjp(asc_vjp_args *args) {
    asc_ctx *ctx = args->ctx;
    asc_tensor *a = args->in[0], *b = args->in[1], *g = args->g;
    const bool ta = args->attrs->i[0] != 0, tb = args->attrs->i[1] != 0;
    if (args->need[0]) {
        asc_tensor *da;
        if (!ta)
            da = asc_matmul(ctx, g, b, false, !tb);
        else if (b->dtype == ASC_DTYPE_F32)
            da = asc_matmul(ctx, b, g, tb, true);
        else /* stored weights can only stand on the right */
            da = last_two_swapped(ctx, asc_matmul(ctx, g, b, false, !tb));
        args->gin[0] = asc_unbroadcast(ctx, da, a);
    }
    if (!args->need[1] || b->dtype != ASC_DTYPE_F32) return;
    if (b->shape.rank == 2 && a->shape.rank > 2 && !ta) {
        a = as_matrix(ctx, a);
        g = as_matrix(ctx, g);
    }
    asc_tensor *db = tb ? asc_matmul(ctx, g, a, true, ta) : asc_matmul(ctx, a, g, !ta, false);
    args->gin[1] = asc_unbroadcast(ctx, db, b);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    const bool ta = a->attrs->i[0] != 0, tb = a->attrs->i[1] != 0;
    asc_tensor *t = a->tin[0] == NULL ? NULL : asc_matmul(a->ctx, a->tin[0], a->in[1], ta, tb);
    if (a->tin[1] == NULL) return t;
    asc_tensor *by_b = asc_matmul(a->ctx, a->in[0], a->tin[1], ta, tb);
    return t == NULL ? by_b : asc_add(a->ctx, t, by_b);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    const operand a = view(&c->in_shape[0], c->attrs->i[0] != 0);
    out->flops = 2 * (double)a.cols * (double)asc_shape_elems(&c->shape);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape a, b;
        bool ta, tb;
    } cases[] = {
        {{2, {3, 5}}, {2, {5, 4}}, false, false},       {{2, {1, 7}}, {2, {3, 7}}, false, true},
        {{2, {5, 3}}, {2, {5, 2}}, true, false},        {{2, {4, 3}}, {2, {2, 4}}, true, true},
        {{3, {2, 3, 4}}, {2, {5, 4}}, false, true},     {{4, {2, 1, 3, 2}}, {3, {3, 2, 2}}, false, false},
        {{2, {3, 2}}, {3, {2, 2, 3}}, false, false},    {{3, {2, 4, 3}}, {2, {4, 2}}, true, false},
        {{3, {2, 1, 1}}, {3, {1, 1, 1}}, false, false}, {{3, {1, 9, 11}}, {3, {2, 10, 11}}, false, true},
        {{3, {2, 3, 2}}, {3, {2, 4, 3}}, true, true},
    };
    if (i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.attrs = {.i = {cases[i].ta, cases[i].tb}},
                        .n_in = 2,
                        .in_shape = {cases[i].a, cases[i].b},
                        .lo = {-1, -1},
                        .hi = {1, 1}};
    return true;
}

asc_tensor *asc_matmul(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, bool ta, bool tb) {
    return asc_apply(ctx, &asc_op_matmul, &(asc_attrs){.i = {ta, tb}}, (asc_tensor *[]){a, b}, 2);
}

static const asc_attr_def attr_defs[] = {{"ta", ASC_ATTR_BOOL, 0}, {"tb", ASC_ATTR_BOOL, 1}};

const asc_op asc_op_matmul = {
    ASC_OP_FIELDS(MATMUL, matmul, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_GEMM,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0 | ASC_OP_LINEAR_1,
    .doc = "Matrix product over the last two axes, either operand optionally transposed.",
    .formula = "y[m,n] = sum_k A[m,k] B[k,n], A = a or a^T, B = b or b^T",
};
