/* op_conv_grad_input.c - the transpose of conv in its input, also called transposed convolution:
 *   y[b,c,i] = sum over m, t, o with o stride + t dilation - before = i of g[b,m,o] w[m,c,t]
 * g [B,M,out], w [M,C/groups,kernel], y [B,C,size]. Padding and size must be those of a convolution of y that
 * gives g's size; for a transposed convolution whose result has another size, `after` is what makes it so (it
 * may be negative): after = (out - 1) stride + (kernel - 1) dilation + 1 - size - before. Derivatives: conv
 * in g, conv_grad_weight in w. */
#include "ops.h"
#include "cpu.h"
#include <string.h>

enum { BLOCK_C = 4, BLOCK_X = 128 };

asc_tensor *asc_conv_grad_input(asc_ctx *ctx, asc_tensor *g, asc_tensor *w, const asc_window *win,
                                int64_t groups, const int64_t *size) {
    const int n = asc_spatial_rank(g);
    asc_attrs attrs = asc_window_attrs(win, n, false);
    asc_window_set_size(&attrs, n, size);
    attrs.i[ASC_WIN_GROUPS] = groups;
    return asc_apply(ctx, &asc_op_conv_grad_input, &attrs, (asc_tensor *[]){g, w}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *g = &c->in_shape[0], *w = &c->in_shape[1];
    const int64_t groups = c->attrs->i[ASC_WIN_GROUPS], *size = c->attrs->i + ASC_WIN_SIZE;
    const int n = g->rank - 2;
    int64_t channels;
    asc_geometry geo;
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_planes(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (w->rank != g->rank) return asc_infer_fail(ctx, c, "g and w differ in rank");
    if (g->dims[1] != w->dims[0])
        return asc_infer_fail(ctx, c, "g has %lld channels, w makes %lld", (long long)g->dims[1],
                              (long long)w->dims[0]);
    if (groups < 1 || w->dims[0] % groups != 0 || __builtin_mul_overflow(groups, w->dims[1], &channels))
        return asc_infer_fail(ctx, c, "%lld channels do not go into %lld groups", (long long)w->dims[0],
                              (long long)groups);
    st = asc_geometry_infer(ctx, c, n, size, w->dims + 2, false, &geo);
    if (st != ASC_OK) return st;
    for (int d = 0; d < n; d++)
        if (asc_spatial_of(geo.out, n)[d] != g->dims[2 + d])
            return asc_infer_fail(
                ctx, c, "spatial axis %d: a convolution of size %lld gives %lld, g has %lld", d,
                (long long)size[d], (long long)asc_spatial_of(geo.out, n)[d], (long long)g->dims[2 + d]);
    asc_infer_planes(c, g->dims[0], channels, n, size);
    return ASC_OK;
}

/* Positions [begin, begin + len) of one row of y, for up to BLOCK_C channels. */
typedef struct row {
    const asc_geometry *geo;
    const asc_planes *g, *w;
    const double *g0, *w0; /* first channel of the group in g; first of the channels in w */
    int64_t n_m, n_c, i[2], begin, len;
    double *acc; /* [BLOCK_C][BLOCK_X] */
} row;

/* acc[c][o step] += w[c] g[o]: products and sums stay separate, so wider registers give the same bits. */
static inline __attribute__((always_inline)) void tap_steps(double *restrict acc, int64_t step, int64_t n_c,
                                                            const double *w, int64_t w_stride,
                                                            const double *restrict g, int64_t g_stride,
                                                            int64_t len) {
    if (n_c < BLOCK_C) {
        for (int64_t c = 0; c < n_c; c++, acc += BLOCK_X) {
            const double wc = w[c * w_stride];
            for (int64_t o = 0; o < len; o++) acc[o * step] += wc * g[o * g_stride];
        }
        return;
    }
    const double w0 = w[0], w1 = w[w_stride], w2 = w[2 * w_stride], w3 = w[3 * w_stride];
    for (int64_t o = 0; o < len; o++) {
        const double v = g[o * g_stride];
        acc[o * step] += w0 * v;
        acc[BLOCK_X + o * step] += w1 * v;
        acc[2 * BLOCK_X + o * step] += w2 * v;
        acc[3 * BLOCK_X + o * step] += w3 * v;
    }
}

/* The position whose window has its tap t at i, or -1. */
static inline int64_t position_of(const asc_geometry *geo, int d, int64_t i, int64_t t) {
    const int64_t at = i + geo->before[d] - t * geo->dilation[d], s = geo->stride[d];
    if (at < 0) return -1;
    if (s == 1) return at < geo->out[d] ? at : -1;
    return at % s == 0 && at / s < geo->out[d] ? at / s : -1;
}

/* All products of channel m of g and row (t0, t1) of the kernel. */
static inline __attribute__((always_inline)) void kernel_row(const row *r, int64_t m, int64_t t0,
                                                             int64_t t1) {
    const asc_geometry *geo = r->geo;
    const int64_t o0 = position_of(geo, 0, r->i[0], t0), o1 = position_of(geo, 1, r->i[1], t1),
                  s = geo->stride[2], g_stride = r->g->stride[2];
    if (o0 < 0 || o1 < 0) return;
    const double *g = r->g0 + m * r->g->c_stride + o0 * r->g->stride[0] + o1 * r->g->stride[1],
                 *w = r->w0 + m * r->w->b_stride + t0 * r->w->stride[0] + t1 * r->w->stride[1];
    for (int64_t t2 = 0; t2 < geo->kernel[2]; t2++, w += r->w->stride[2]) {
        const int64_t off = t2 * geo->dilation[2] - geo->before[2] - r->begin;
        int64_t first, end;
        asc_window_valid(off, s, r->len, geo->out[2], &first, &end);
        if (first >= end) continue;
        if (s == 1 && g_stride == 1)
            tap_steps(r->acc + first + off, 1, r->n_c, w, r->w->c_stride, g + first, 1, end - first);
        else
            tap_steps(r->acc + first * s + off, s, r->n_c, w, r->w->c_stride, g + first * g_stride, g_stride,
                      end - first);
    }
}

static inline __attribute__((always_inline)) void row_steps(const row *r) {
    for (int64_t m = 0; m < r->n_m; m++)
        for (int64_t t0 = 0; t0 < r->geo->kernel[0]; t0++)
            for (int64_t t1 = 0; t1 < r->geo->kernel[1]; t1++) kernel_row(r, m, t0, t1);
}

ASC_ROW_BY_ISA

/* Channels [c, c + r->n_c) of one example of y. */
static void planes(row *r, const asc_planes *y, double *y0, row_fn fn) {
    double acc[BLOCK_C * BLOCK_X];
    r->acc = acc;
    for (r->i[0] = 0; r->i[0] < y->size[0]; r->i[0]++)
        for (r->i[1] = 0; r->i[1] < y->size[1]; r->i[1]++)
            for (r->begin = 0; r->begin < y->size[2]; r->begin += BLOCK_X) {
                r->len = y->size[2] - r->begin < BLOCK_X ? y->size[2] - r->begin : BLOCK_X;
                for (int64_t c = 0; c < r->n_c; c++)
                    memset(acc + c * BLOCK_X, 0, (size_t)r->len * sizeof *acc);
                fn(r);
                double *to = y0 + r->i[0] * y->stride[0] + r->i[1] * y->stride[1] + r->begin * y->stride[2];
                for (int64_t c = 0; c < r->n_c; c++)
                    for (int64_t i = 0; i < r->len; i++)
                        to[c * y->c_stride + i * y->stride[2]] = acc[c * BLOCK_X + i];
            }
}

static void ref(const asc_ref_args *a) {
    asc_planes g = asc_planes_of(&a->in[0]), w = asc_planes_of(&a->in[1]), y = asc_planes_of(&a->out);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS], per = w.batch / groups,
                  blocks = (w.channels + BLOCK_C - 1) / BLOCK_C;
    const row_fn fn = best_row();
    asc_geometry geo;
    asc_geometry_of(a->attrs, a->out.rank - 2, a->out.dims + 2, a->in[1].dims + 2, false, &geo);
    const int64_t each = w.channels * geo.kernel[0] * geo.kernel[1] * geo.kernel[2]; /* products of a g */
    asc_planes_turn(&geo, &y, &g, &w);
    asc_planes_join_rows(&geo, &y, &g);
#pragma omp parallel for num_threads(a->n_threads)                                                           \
    schedule(dynamic) if (asc_nd_elems(&a->in[0]) * each > 400000)
    for (int64_t job = 0; job < y.batch * groups * blocks; job++) {
        const int64_t b = job / (groups * blocks), group = job / blocks % groups, c = job % blocks * BLOCK_C;
        row r = {.geo = &geo, .g = &g, .w = &w, .n_m = per};
        r.n_c = w.channels - c < BLOCK_C ? w.channels - c : BLOCK_C;
        r.g0 = g.data + b * g.b_stride + group * per * g.c_stride;
        r.w0 = w.data + group * per * w.b_stride + c * w.c_stride;
        planes(&r, &y, y.data + b * y.b_stride + (group * w.channels + c) * y.c_stride, fn);
    }
}

static void vjp(asc_vjp_args *a) {
    asc_window win = asc_window_of(a->attrs);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS];
    if (a->need[0]) a->gin[0] = asc_conv(a->ctx, a->g, a->in[1], NULL, &win, groups);
    for (int d = 0; d < asc_spatial_rank(a->in[1]); d++) win.kernel[d] = a->in[1]->shape.dims[2 + d];
    if (a->need[1]) a->gin[1] = asc_conv_grad_weight(a->ctx, a->g, a->in[0], &win, groups);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    const asc_window win = asc_window_of(a->attrs);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS], *size = a->attrs->i + ASC_WIN_SIZE;
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL) t = asc_conv_grad_input(a->ctx, a->tin[0], a->in[1], &win, groups, size);
    if (a->tin[1] == NULL) return t;
    asc_tensor *by_w = asc_conv_grad_input(a->ctx, a->in[0], a->tin[1], &win, groups, size);
    return asc_add_or(a->ctx, t, by_w);
}

static bool sample(int i, asc_sample *out) {
    asc_conv_case k;
    if (!asc_conv_case_at(i, &k)) return false;
    *out = (asc_sample){.attrs = k.attrs, .n_in = 2, .in_shape = {k.y, k.w}, .lo = {-1, -1}, .hi = {1, 1}};
    asc_window_set_size(&out->attrs, k.x.rank - 2, k.x.dims + 2);
    return true;
}

static const asc_attr_def attr_defs[] = {
    {"stride", ASC_ATTR_AXES, ASC_WIN_STRIDE}, {"dilation", ASC_ATTR_AXES, ASC_WIN_DILATION},
    {"before", ASC_ATTR_AXES, ASC_WIN_BEFORE}, {"after", ASC_ATTR_AXES, ASC_WIN_AFTER},
    {"size", ASC_ATTR_AXES, ASC_WIN_SIZE},     {"groups", ASC_ATTR_INT, ASC_WIN_GROUPS}};

const asc_op asc_op_conv_grad_input = {
    ASC_OP_FIELDS(CONV_GRAD_INPUT, conv_grad_input, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_conv,
    .flags = ASC_OP_LINEAR_0 | ASC_OP_LINEAR_1,
    .doc = "Gradient of conv for its input: the transposed convolution.",
    .formula = "y[b,c,i] = sum_{m,t,o: o stride + t dilation - before = i} g[b,m,o] w[m,c,t]",
};
