/* op_conv.c - convolution (cross-correlation, as networks use the word) over 1 to 3 spatial axes:
 *   y[b,m,o] = bias[m] + sum over c, t of x[b, G(m) + c, o stride + t dilation - before] w[m,c,t]
 * x [B,C,in], w [M,C/groups,kernel], y [B,M,out]; G(m) is the first channel of m's group; x is 0 outside. The
 * bias is an input of this op, not an addition behind it, because propagation rules need both at once.
 * Gradient: conv_grad_input and conv_grad_weight, which are each other's and this op's derivatives. */
#include "ops.h"
#include "cpu.h"
#include <string.h>

enum { BLOCK_M = 4, BLOCK_X = 128 };

asc_tensor *asc_conv(asc_ctx *ctx, asc_tensor *x, asc_tensor *w, asc_tensor *bias, const asc_window *win,
                     int64_t groups) {
    asc_attrs attrs = asc_window_attrs(win, asc_spatial_rank(x), false);
    attrs.i[ASC_WIN_GROUPS] = groups;
    return asc_apply(ctx, &asc_op_conv, &attrs, (asc_tensor *[]){x, w, bias}, bias != NULL ? 3 : 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *x = &c->in_shape[0], *w = &c->in_shape[1], *bias = &c->in_shape[2];
    const int64_t groups = c->attrs->i[ASC_WIN_GROUPS];
    const int n = x->rank - 2;
    asc_geometry g;
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_planes(ctx, c, 1);
    if (st == ASC_OK && c->n_in == 3) st = asc_infer_need_f32(ctx, c, 2);
    if (st != ASC_OK) return st;
    if (w->rank != x->rank) return asc_infer_fail(ctx, c, "x and w differ in rank");
    if (groups < 1 || w->dims[0] % groups != 0 || x->dims[1] % groups != 0 ||
        x->dims[1] / groups != w->dims[1])
        return asc_infer_fail(ctx, c, "%lld channels of x and %lld by %lld of w do not go into %lld groups",
                              (long long)x->dims[1], (long long)w->dims[0], (long long)w->dims[1],
                              (long long)groups);
    if (c->n_in == 3 && (bias->rank != 1 || bias->dims[0] != w->dims[0]))
        return asc_infer_fail(ctx, c, "the bias must have one number for each of %lld channels",
                              (long long)w->dims[0]);
    st = asc_geometry_infer(ctx, c, n, x->dims + 2, w->dims + 2, false, &g);
    if (st == ASC_OK) asc_infer_planes(c, x->dims[0], w->dims[0], n, asc_spatial_of(g.out, n));
    return st;
}

/* Positions [begin, begin + len) of one output row, for up to BLOCK_M output channels. */
typedef struct row {
    const asc_geometry *g;
    const asc_planes *x, *w;
    const double *x0, *w0; /* first channel of the group; first output channel */
    int64_t n_c, n_m, o[2], begin, len;
    double *acc; /* [BLOCK_M][BLOCK_X] */
} row;

/* acc[m][i] += w[m] x[i] for n_m output channels: products and sums stay separate, so wider registers give
 * the same bits. */
static inline __attribute__((always_inline)) void tap_steps(double *restrict acc, int64_t n_m,
                                                            const double *w, int64_t w_stride,
                                                            const double *restrict x, int64_t step,
                                                            int64_t len) {
    if (n_m < BLOCK_M) {
        for (int64_t m = 0; m < n_m; m++, acc += BLOCK_X) {
            const double wm = w[m * w_stride];
            for (int64_t i = 0; i < len; i++) acc[i] += wm * x[i * step];
        }
        return;
    }
    const double w0 = w[0], w1 = w[w_stride], w2 = w[2 * w_stride], w3 = w[3 * w_stride];
    for (int64_t i = 0; i < len; i++) {
        const double v = x[i * step];
        acc[i] += w0 * v;
        acc[BLOCK_X + i] += w1 * v;
        acc[2 * BLOCK_X + i] += w2 * v;
        acc[3 * BLOCK_X + i] += w3 * v;
    }
}

/* All products of channel c and row (t0, t1) of the kernel. */
static inline __attribute__((always_inline)) void kernel_row(const row *r, int64_t c, int64_t t0,
                                                             int64_t t1) {
    const asc_geometry *g = r->g;
    const int64_t i0 = r->o[0] * g->stride[0] + t0 * g->dilation[0] - g->before[0],
                  i1 = r->o[1] * g->stride[1] + t1 * g->dilation[1] - g->before[1];
    if (i0 < 0 || i0 >= g->in[0] || i1 < 0 || i1 >= g->in[1]) return;
    const double *x = r->x0 + c * r->x->c_stride + i0 * r->x->stride[0] + i1 * r->x->stride[1],
                 *w = r->w0 + c * r->w->c_stride + t0 * r->w->stride[0] + t1 * r->w->stride[1];
    const int64_t step = g->stride[2] * r->x->stride[2];
    for (int64_t t2 = 0; t2 < g->kernel[2]; t2++, w += r->w->stride[2]) {
        const int64_t off = t2 * g->dilation[2] - g->before[2];
        int64_t first, end;
        asc_window_valid(off, g->stride[2], g->in[2], r->begin + r->len, &first, &end);
        if (first < r->begin) first = r->begin;
        if (first >= end) continue;
        const double *xs = x + (first * g->stride[2] + off) * r->x->stride[2];
        double *acc = r->acc + first - r->begin;
        if (step == 1)
            tap_steps(acc, r->n_m, w, r->w->b_stride, xs, 1, end - first);
        else
            tap_steps(acc, r->n_m, w, r->w->b_stride, xs, step, end - first);
    }
}

static inline __attribute__((always_inline)) void row_steps(const row *r) {
    for (int64_t c = 0; c < r->n_c; c++)
        for (int64_t t0 = 0; t0 < r->g->kernel[0]; t0++)
            for (int64_t t1 = 0; t1 < r->g->kernel[1]; t1++) kernel_row(r, c, t0, t1);
}

ASC_ROW_BY_ISA

/* Output channels [m, m + n_m) of one group and example. */
static void planes(const asc_ref_args *a, const asc_geometry *g, const asc_planes *x, const asc_planes *w,
                   const asc_planes *to_y, int64_t b, int64_t m, int64_t n_m, int64_t x_channel, row_fn fn) {
    const asc_planes y = *to_y;
    double acc[BLOCK_M * BLOCK_X];
    row r = {.g = g, .x = x, .w = w, .n_c = w->channels, .n_m = n_m, .acc = acc};
    r.x0 = x->data + b * x->b_stride + x_channel * x->c_stride;
    r.w0 = w->data + m * w->b_stride;
    for (r.o[0] = 0; r.o[0] < g->out[0]; r.o[0]++)
        for (r.o[1] = 0; r.o[1] < g->out[1]; r.o[1]++)
            for (r.begin = 0; r.begin < g->out[2]; r.begin += BLOCK_X) {
                r.len = g->out[2] - r.begin < BLOCK_X ? g->out[2] - r.begin : BLOCK_X;
                for (int64_t k = 0; k < n_m; k++) memset(acc + k * BLOCK_X, 0, (size_t)r.len * sizeof *acc);
                fn(&r);
                double *to = y.data + b * y.b_stride + m * y.c_stride + r.o[0] * y.stride[0] +
                             r.o[1] * y.stride[1] + r.begin * y.stride[2];
                for (int64_t k = 0; k < n_m; k++) {
                    const double bias = a->n_in > 2 ? a->in[2].data[(m + k) * a->in[2].strides[0]] : 0;
                    for (int64_t i = 0; i < r.len; i++)
                        to[k * y.c_stride + i * y.stride[2]] = acc[k * BLOCK_X + i] + bias;
                }
            }
}

static void ref(const asc_ref_args *a) {
    asc_planes x = asc_planes_of(&a->in[0]), w = asc_planes_of(&a->in[1]), y = asc_planes_of(&a->out);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS], per = w.batch / groups,
                  blocks = (per + BLOCK_M - 1) / BLOCK_M;
    const row_fn fn = best_row();
    asc_geometry g;
    asc_geometry_of(a->attrs, a->in[0].rank - 2, a->in[0].dims + 2, a->in[1].dims + 2, false, &g);
    const int64_t each = w.channels * g.kernel[0] * g.kernel[1] * g.kernel[2]; /* products an element */
    asc_planes_turn(&g, &x, &y, &w);
    asc_planes_join_rows(&g, &x, &y);
#pragma omp parallel for num_threads(a->n_threads)                                                           \
    schedule(dynamic) if (asc_nd_elems(&a->out) * each > 400000)
    for (int64_t job = 0; job < x.batch * groups * blocks; job++) {
        const int64_t b = job / (groups * blocks), group = job / blocks % groups, m = job % blocks * BLOCK_M;
        planes(a, &g, &x, &w, &y, b, group * per + m, per - m < BLOCK_M ? per - m : BLOCK_M,
               group * w.channels, fn);
    }
}

static void vjp(asc_vjp_args *a) {
    const asc_tensor *x = a->in[0], *w = a->in[1];
    asc_window win = asc_window_of(a->attrs);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS];
    if (a->need[0]) a->gin[0] = asc_conv_grad_input(a->ctx, a->g, a->in[1], &win, groups, x->shape.dims + 2);
    for (int d = 0; d < asc_spatial_rank(w); d++) win.kernel[d] = w->shape.dims[2 + d];
    if (a->need[1]) a->gin[1] = asc_conv_grad_weight(a->ctx, a->in[0], a->g, &win, groups);
    if (a->n_in > 2 && a->need[2]) a->gin[2] = asc_sum_planes(a->ctx, a->g);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    const asc_window win = asc_window_of(a->attrs);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS];
    asc_tensor *tb = a->n_in > 2 ? a->tin[2] : NULL, *t = NULL;
    if (a->tin[0] != NULL) t = asc_conv(a->ctx, a->tin[0], a->in[1], NULL, &win, groups);
    if (a->tin[1] != NULL)
        t = asc_add_or(a->ctx, t, asc_conv(a->ctx, a->in[0], a->tin[1], NULL, &win, groups));
    if (tb == NULL) return t;
    asc_shape s = {.rank = a->y->shape.rank - 1, .dims = {a->y->shape.dims[1], 1, 1, 1}};
    tb = asc_reshape(a->ctx, tb, s);
    return t == NULL ? asc_broadcast(a->ctx, tb, a->y->shape) : asc_add(a->ctx, t, tb);
}

static bool sample(int i, asc_sample *out) {
    asc_conv_case k;
    if (!asc_conv_case_at(i, &k)) return false;
    *out = (asc_sample){.attrs = k.attrs,
                        .n_in = k.bias ? 3 : 2,
                        .in_shape = {k.x, k.w, {.rank = 1, .dims = {k.w.dims[0]}}},
                        .lo = {-1, -1, -1},
                        .hi = {1, 1, 1}};
    if (!k.bias) out->in_shape[2] = ASC_SCALAR_SHAPE;
    return true;
}

static const asc_attr_def attr_defs[] = {{"stride", ASC_ATTR_AXES, ASC_WIN_STRIDE},
                                         {"dilation", ASC_ATTR_AXES, ASC_WIN_DILATION},
                                         {"before", ASC_ATTR_AXES, ASC_WIN_BEFORE},
                                         {"after", ASC_ATTR_AXES, ASC_WIN_AFTER},
                                         {"groups", ASC_ATTR_INT, ASC_WIN_GROUPS}};

const asc_op asc_op_conv = {
    ASC_OP_FIELDS(CONV, conv, 2, 3),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_GEMM,
    .cost = asc_cost_conv,
    .doc = "Convolution over 1 to 3 spatial axes with stride, dilation, padding, groups and optional bias.",
    .formula = "y[b,m,o] = bias[m] + sum_{c,t} x[b,c,o stride + t dilation - before] w[m,c,t]",
};
