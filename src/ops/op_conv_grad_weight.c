/* op_conv_grad_weight.c - the transpose of conv in its weight:
 *   y[m,c,t] = sum over b, o of x[b, G(m) + c, o stride + t dilation - before] g[b,m,o]
 * x [B,C,in], g [B,M,out], y [M,C/groups,kernel]. Derivatives: conv_grad_input in x, conv in g. */
#include "ops.h"

asc_tensor *asc_conv_grad_weight(asc_ctx *ctx, asc_tensor *x, asc_tensor *g, const asc_window *win,
                                 int64_t groups) {
    asc_attrs attrs = asc_window_attrs(win, asc_spatial_rank(x), true);
    attrs.i[ASC_WIN_GROUPS] = groups;
    return asc_apply(ctx, &asc_op_conv_grad_weight, &attrs, (asc_tensor *[]){x, g}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *x = &c->in_shape[0], *g = &c->in_shape[1];
    const int64_t groups = c->attrs->i[ASC_WIN_GROUPS], *kernel = c->attrs->i + ASC_WIN_KERNEL;
    const int n = x->rank - 2;
    asc_geometry geo;
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_planes(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (g->rank != x->rank || g->dims[0] != x->dims[0])
        return asc_infer_fail(ctx, c, "x and g differ in rank or batch");
    if (groups < 1 || x->dims[1] % groups != 0 || g->dims[1] % groups != 0)
        return asc_infer_fail(ctx, c, "%lld and %lld channels do not go into %lld groups",
                              (long long)x->dims[1], (long long)g->dims[1], (long long)groups);
    st = asc_geometry_infer(ctx, c, n, x->dims + 2, kernel, false, &geo);
    if (st != ASC_OK) return st;
    for (int d = 0; d < n; d++)
        if (asc_spatial_of(geo.out, n)[d] != g->dims[2 + d])
            return asc_infer_fail(ctx, c, "spatial axis %d: the convolution gives %lld, g has %lld", d,
                                  (long long)asc_spatial_of(geo.out, n)[d], (long long)g->dims[2 + d]);
    asc_infer_planes(c, g->dims[1], x->dims[1] / groups, n, kernel);
    return ASC_OK;
}

/* Sum of x[o stride + off] g[o] along a row, in four chains. */
static double dot_row(const asc_geometry *geo, const double *x, int64_t x_stride, const double *g,
                      int64_t g_stride, int64_t off) {
    int64_t first, end, o = 0;
    double s[4] = {0};
    asc_window_valid(off, geo->stride[2], geo->in[2], geo->out[2], &first, &end);
    x += (first * geo->stride[2] + off) * x_stride;
    g += first * g_stride;
    const int64_t len = end - first, step = geo->stride[2] * x_stride;
    for (; o + 4 <= len; o += 4)
        for (int64_t k = 0; k < 4; k++) s[k] += x[(o + k) * step] * g[(o + k) * g_stride];
    for (; o < len; o++) s[0] += x[o * step] * g[o * g_stride];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* One tap t of one pair of planes. */
static double tap(const asc_geometry *geo, const asc_planes *x, const double *xp, const asc_planes *g,
                  const double *gp, const int64_t t[ASC_MAX_SPATIAL]) {
    double sum = 0;
    for (int64_t o0 = 0; o0 < geo->out[0]; o0++) {
        const int64_t i0 = o0 * geo->stride[0] + t[0] * geo->dilation[0] - geo->before[0];
        if (i0 < 0 || i0 >= geo->in[0]) continue;
        for (int64_t o1 = 0; o1 < geo->out[1]; o1++) {
            const int64_t i1 = o1 * geo->stride[1] + t[1] * geo->dilation[1] - geo->before[1];
            if (i1 < 0 || i1 >= geo->in[1]) continue;
            sum += dot_row(geo, xp + i0 * x->stride[0] + i1 * x->stride[1], x->stride[2],
                           gp + o0 * g->stride[0] + o1 * g->stride[1], g->stride[2],
                           t[2] * geo->dilation[2] - geo->before[2]);
        }
    }
    return sum;
}

static void ref(const asc_ref_args *a) {
    const asc_planes x = asc_planes_of(&a->in[0]), g = asc_planes_of(&a->in[1]), y = asc_planes_of(&a->out);
    const int64_t per = y.batch / a->attrs->i[ASC_WIN_GROUPS];
    asc_geometry geo;
    asc_geometry_of(a->attrs, a->in[0].rank - 2, a->in[0].dims + 2, a->out.dims + 2, false, &geo);
    const int64_t taps = geo.kernel[0] * geo.kernel[1] * geo.kernel[2];
#pragma omp parallel for num_threads(a->n_threads)                                                           \
    schedule(dynamic) if (asc_nd_elems(&a->in[1]) * y.channels * taps > 200000)
    for (int64_t job = 0; job < y.batch * y.channels; job++) {
        const int64_t m = job / y.channels, c = job % y.channels;
        for (int64_t k = 0; k < taps; k++) {
            const int64_t t[3] = {k / (geo.kernel[1] * geo.kernel[2]), k / geo.kernel[2] % geo.kernel[1],
                                  k % geo.kernel[2]};
            double sum = 0;
            for (int64_t b = 0; b < x.batch; b++)
                sum += tap(&geo, &x, x.data + b * x.b_stride + (m / per * y.channels + c) * x.c_stride, &g,
                           g.data + b * g.b_stride + m * g.c_stride, t);
            y.data[m * y.b_stride + c * y.c_stride + t[0] * y.stride[0] + t[1] * y.stride[1] +
                   t[2] * y.stride[2]] = sum;
        }
    }
}

static void vjp(asc_vjp_args *a) {
    const asc_window win = asc_window_of(a->attrs);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS];
    if (a->need[0])
        a->gin[0] = asc_conv_grad_input(a->ctx, a->in[1], a->g, &win, groups, a->in[0]->shape.dims + 2);
    if (a->need[1]) a->gin[1] = asc_conv(a->ctx, a->in[0], a->g, NULL, &win, groups);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    const asc_window win = asc_window_of(a->attrs);
    const int64_t groups = a->attrs->i[ASC_WIN_GROUPS];
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL) t = asc_conv_grad_weight(a->ctx, a->tin[0], a->in[1], &win, groups);
    if (a->tin[1] == NULL) return t;
    asc_tensor *by_g = asc_conv_grad_weight(a->ctx, a->in[0], a->tin[1], &win, groups);
    return asc_add_or(a->ctx, t, by_g);
}

static bool sample(int i, asc_sample *out) {
    asc_conv_case k;
    if (!asc_conv_case_at(i, &k)) return false;
    *out = (asc_sample){.attrs = k.attrs, .n_in = 2, .in_shape = {k.x, k.y}, .lo = {-1, -1}, .hi = {1, 1}};
    for (int d = 0; d < k.w.rank - 2; d++) out->attrs.i[ASC_WIN_KERNEL + d] = k.w.dims[2 + d];
    return true;
}

static const asc_attr_def attr_defs[] = {
    {"kernel", ASC_ATTR_AXES, ASC_WIN_KERNEL},     {"stride", ASC_ATTR_AXES, ASC_WIN_STRIDE},
    {"dilation", ASC_ATTR_AXES, ASC_WIN_DILATION}, {"before", ASC_ATTR_AXES, ASC_WIN_BEFORE},
    {"after", ASC_ATTR_AXES, ASC_WIN_AFTER},       {"groups", ASC_ATTR_INT, ASC_WIN_GROUPS}};

const asc_op asc_op_conv_grad_weight = {
    ASC_OP_FIELDS(CONV_GRAD_WEIGHT, conv_grad_weight, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_conv,
    .flags = ASC_OP_LINEAR_0 | ASC_OP_LINEAR_1,
    .doc = "Gradient of conv for its weight.",
    .formula = "y[m,c,t] = sum_{b,o} x[b,c,o stride + t dilation - before] g[b,m,o]",
};
