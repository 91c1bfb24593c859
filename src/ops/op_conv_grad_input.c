/* op_conv_grad_input.c - the transpose of conv in its input, also called transposed convolution:
 *   y[b,c,i] = sum over m, t, o with o stride + t dilation - before = i of g[b,m,o] w[m,c,t]
 * g [B,M,out], w [M,C/groups,kernel], y [B,C,size]. Padding and size must be those of a convolution of y that
 * gives g's size; for a transposed convolution whose result has another size, `after` is what makes it so (it
 * may be negative): after = (out - 1) stride + (kernel - 1) dilation + 1 - size - before. Derivatives: conv
 * in g, conv_grad_weight in w. */
#include "move.h"
#include <string.h>

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

/* to[o stride + off] += w g[o] along a row, where that is inside. */
static void add_row(const asc_geometry *geo, double *to, int64_t to_stride, const double *g, int64_t g_stride,
                    double w, int64_t off) {
    int64_t first, end;
    asc_window_valid(off, geo->stride[2], geo->in[2], geo->out[2], &first, &end);
    to += (first * geo->stride[2] + off) * to_stride;
    const int64_t step = geo->stride[2] * to_stride;
    g += first * g_stride;
    for (int64_t o = 0; o < end - first; o++) to[o * step] += w * g[o * g_stride];
}

static void add_plane(const asc_geometry *geo, const asc_planes *y, double *to, const asc_planes *g,
                      const double *from, const asc_planes *w, const double *wp) {
    for (int64_t t0 = 0; t0 < geo->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < geo->kernel[1]; t1++)
            for (int64_t o0 = 0; o0 < geo->out[0]; o0++) {
                const int64_t i0 = o0 * geo->stride[0] + t0 * geo->dilation[0] - geo->before[0];
                if (i0 < 0 || i0 >= geo->in[0]) continue;
                for (int64_t o1 = 0; o1 < geo->out[1]; o1++) {
                    const int64_t i1 = o1 * geo->stride[1] + t1 * geo->dilation[1] - geo->before[1];
                    if (i1 < 0 || i1 >= geo->in[1]) continue;
                    for (int64_t t2 = 0; t2 < geo->kernel[2]; t2++)
                        add_row(geo, to + i0 * y->stride[0] + i1 * y->stride[1], y->stride[2],
                                from + o0 * g->stride[0] + o1 * g->stride[1], g->stride[2],
                                wp[t0 * w->stride[0] + t1 * w->stride[1] + t2 * w->stride[2]],
                                t2 * geo->dilation[2] - geo->before[2]);
                }
            }
}

static void ref(const asc_ref_args *a) {
    const asc_planes g = asc_planes_of(&a->in[0]), w = asc_planes_of(&a->in[1]), y = asc_planes_of(&a->out);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS], per = w.batch / groups;
    asc_geometry geo;
    asc_geometry_of(a->attrs, a->out.rank - 2, a->out.dims + 2, a->in[1].dims + 2, false, &geo);
#pragma omp parallel for num_threads(a->n_threads) schedule(dynamic)
    for (int64_t job = 0; job < y.batch * y.channels; job++) {
        const int64_t b = job / y.channels, c = job % y.channels, group = c / w.channels;
        asc_nd plane = {.rank = 3, .data = y.data + b * y.b_stride + c * y.c_stride};
        memcpy(plane.dims, y.size, sizeof y.size);
        memcpy(plane.strides, y.stride, sizeof y.stride);
        if (asc_nd_elems(&plane) == 0) continue;
        asc_nd_fill(&plane, 0);
        for (int64_t m = group * per; m < (group + 1) * per; m++)
            add_plane(&geo, &y, plane.data, &g, g.data + b * g.b_stride + m * g.c_stride, &w,
                      w.data + m * w.b_stride + c % w.channels * w.c_stride);
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
    return t == NULL ? by_w : asc_add(a->ctx, t, by_w);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_conv_sizes s;
    asc_conv_sizes_of(c, &s);
    asc_cost_move(c, out);
    out->flops = asc_conv_flops(&s);
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
    .name = "conv_grad_input",
    .opcode = ASC_OPCODE_CONV_GRAD_INPUT,
    .min_in = 2,
    .max_in = 2,
    .attrs = attr_defs,
    .n_attrs = 6,
    .infer = infer,
    .ref = ref,
    .vjp = vjp,
    .jvp = jvp,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .sample = sample,
    .flags = ASC_OP_LINEAR_0 | ASC_OP_LINEAR_1,
    .doc = "Gradient of conv for its input: the transposed convolution.",
    .formula = "y[b,c,i] = sum_{m,t,o: o stride + t dilation - before = i} g[b,m,o] w[m,c,t]",
};
