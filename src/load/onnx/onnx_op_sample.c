/* onnx_op_sample.c - values of planes at given points: GridSample and RoiAlign. The points of GridSample are
 * values like others: the gradient goes to the array and, through the weights, to the grid. */
#include "onnx_parts.h"
#include <math.h>

enum { ZEROS, BORDER, REFLECTION };
enum { MAX_TAPS = 4, MAX_MATRIX_ELEMS = 1 << 26 };

typedef struct sampler {
    asc_onnx_call *c;
    asc_tensor *x; /* [N,C,elements of a plane] */
    asc_shape s;   /* of the array */
    int d;         /* spatial axes */
    int padding, taps;
    bool corners;
    asc_tensor *weight[ASC_MAX_SPATIAL][MAX_TAPS]; /* [N,1,P] by axis and tap; NULL = 1 */
    asc_tensor *place[ASC_MAX_SPATIAL][MAX_TAPS];  /* whole, inside the axis */
} sampler;

static asc_tensor *clamped(sampler *p, asc_tensor *t, int64_t n) {
    return asc_clip(p->c->ctx, t, 0, (double)(n - 1));
}

/* Mirrored at the first and last element (corners) or at their outer edges. */
static asc_tensor *mirrored(sampler *p, asc_tensor *t, int64_t n) {
    asc_ctx *ctx = p->c->ctx;
    double low = p->corners ? 0 : -0.5, range = p->corners ? (double)(n - 1) : (double)n;
    if (range <= 0) return asc_scale(ctx, t, 0);
    asc_tensor *off = asc_abs(ctx, asc_shift(ctx, t, -low));
    asc_tensor *turn = asc_mod(ctx, off, asc_onnx_const(p->c, 2 * range), false);
    asc_tensor *back = asc_abs(ctx, asc_shift(ctx, turn, -range));
    return clamped(p, asc_shift(ctx, asc_neg(ctx, back), range + low), n);
}

static asc_tensor *brought_in(sampler *p, asc_tensor *t, int64_t n) {
    return p->padding == BORDER ? clamped(p, t, n) : p->padding == REFLECTION ? mirrored(p, t, n) : t;
}

/* Tap k of an axis at whole place t with weight w. */
static void set_tap(sampler *p, int axis, int k, asc_tensor *t, asc_tensor *w) {
    asc_ctx *ctx = p->c->ctx;
    int64_t n = p->s.dims[2 + axis];
    if (p->padding == ZEROS) {
        asc_tensor *in = asc_mul(ctx, asc_less_equal(ctx, asc_onnx_const(p->c, 0), t),
                                 asc_less_equal(ctx, t, asc_onnx_const(p->c, (double)(n - 1))));
        w = w == NULL ? in : asc_mul(ctx, w, in);
    }
    p->weight[axis][k] = w;
    p->place[axis][k] = p->padding == REFLECTION && p->taps == 4 ? mirrored(p, t, n) : clamped(p, t, n);
}

/* Keys' cubic convolution with a = -0.75, for distances 1 + f, f, 1 - f, 2 - f. */
static asc_tensor *cubic(asc_onnx_call *c, asc_tensor *f, int k) {
    asc_ctx *ctx = c->ctx;
    const double a = -0.75;
    asc_tensor *d = k == 0 ? asc_shift(ctx, f, 1) : k == 1 ? f : asc_shift(ctx, asc_neg(ctx, f), k - 1);
    bool near = k == 1 || k == 2;
    double c3 = near ? a + 2 : a, c2 = near ? -(a + 3) : -5 * a, c1 = near ? 0 : 8 * a,
           c0 = near ? 1 : -4 * a;
    asc_tensor *y = asc_shift(ctx, asc_scale(ctx, d, c3), c2);
    y = asc_shift(ctx, asc_mul(ctx, y, d), c1);
    return asc_shift(ctx, asc_mul(ctx, y, d), c0);
}

/* Taps of one axis for coordinates g in -1..1, [N,1,P]. */
static void prepare_axis(sampler *p, int axis, asc_tensor *g) {
    asc_ctx *ctx = p->c->ctx;
    int64_t n = p->s.dims[2 + axis];
    double half = p->corners ? (double)(n - 1) / 2 : (double)n / 2;
    asc_tensor *x = asc_shift(ctx, asc_scale(ctx, g, half), p->corners ? half : half - 0.5);
    if (p->taps < 4) x = brought_in(p, x, n);
    if (p->taps == 1) {
        set_tap(p, axis, 0, asc_round(ctx, x), NULL);
        return;
    }
    asc_tensor *low = asc_floor(ctx, x), *f = asc_sub(ctx, x, low);
    if (p->taps == 2) {
        set_tap(p, axis, 0, low, asc_shift(ctx, asc_neg(ctx, f), 1));
        set_tap(p, axis, 1, asc_shift(ctx, low, 1), f);
        return;
    }
    for (int k = 0; k < 4; k++) set_tap(p, axis, k, asc_shift(ctx, low, k - 1), cubic(p->c, f, k));
}

/* Sum over all combinations of taps. */
static asc_tensor *combine(sampler *p, int64_t points) {
    asc_ctx *ctx = p->c->ctx;
    asc_tensor *sum = NULL;
    int k[ASC_MAX_SPATIAL] = {0}, n = 1;
    asc_shape wide = ASC_SHAPE(p->s.dims[0], p->s.dims[1], points);
    for (int i = 0; i < p->d; i++) n *= p->taps;
    for (int t = 0; t < n; t++) {
        asc_tensor *at = NULL, *w = NULL;
        for (int i = 0, rest = t; i < p->d; i++, rest /= p->taps) k[i] = rest % p->taps;
        for (int i = 0; i < p->d; i++) {
            asc_tensor *one = p->place[i][k[i]], *wi = p->weight[i][k[i]];
            at = at == NULL ? one : asc_add(ctx, asc_scale(ctx, at, (double)p->s.dims[2 + i]), one);
            w = w == NULL || wi == NULL ? (w == NULL ? wi : w) : asc_mul(ctx, w, wi);
        }
        asc_tensor *index = asc_broadcast(ctx, asc_onnx_i32(p->c, at), wide);
        asc_tensor *v = asc_take_along(ctx, p->x, index, 2);
        if (w != NULL) v = asc_mul(ctx, v, w);
        sum = sum == NULL ? v : asc_add(ctx, sum, v);
    }
    return sum;
}

asc_status asc_onnx_GridSample(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), g = asc_onnx_shape(c, 1), out = s;
    sampler p = {.c = c, .s = s, .d = s.rank - 2};
    if (c->st != ASC_OK) return c->st;
    if (p.d < 1 || p.d > ASC_MAX_SPATIAL || g.rank != s.rank || g.dims[0] != s.dims[0] ||
        g.dims[g.rank - 1] != p.d || asc_onnx_span(&s, 2, s.rank) > INT32_MAX)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an array of %d dimensions, a grid of %d", s.rank,
                             g.rank);
    asc_view mode = asc_onnx_attr_string(c, "mode", "linear"),
             pad = asc_onnx_attr_string(c, "padding_mode", "zeros");
    p.taps = asc_view_eqs(mode, "nearest")                                    ? 1
             : asc_view_eqs(mode, "linear") || asc_view_eqs(mode, "bilinear") ? 2
             : asc_view_eqs(mode, "cubic") || asc_view_eqs(mode, "bicubic")   ? 4
                                                                              : 0;
    p.padding = asc_view_eqs(pad, "border") ? BORDER : asc_view_eqs(pad, "reflection") ? REFLECTION : ZEROS;
    if (p.taps == 0 || (p.padding == ZEROS && !asc_view_eqs(pad, "zeros")))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an unknown mode or padding_mode");
    p.corners = asc_onnx_attr_int(c, "align_corners", 0) != 0;
    int64_t points = asc_onnx_span(&g, 1, g.rank - 1), plane = asc_onnx_span(&s, 2, s.rank);
    for (int i = 0; i < p.d; i++) out.dims[2 + i] = g.dims[1 + i];
    if (asc_shape_elems(&s) == 0 || asc_shape_elems(&out) == 0)
        return asc_onnx_set_like(c, 0, asc_full(ctx, out, 0));
    p.x = asc_reshape(ctx, asc_onnx_t(c, 0), ASC_SHAPE(s.dims[0], s.dims[1], plane));
    asc_tensor *grid = asc_reshape(ctx, asc_onnx_t(c, 1), ASC_SHAPE(s.dims[0], 1, points, p.d));
    for (int i = 0; i < p.d; i++) { /* the grid names the innermost axis first */
        asc_tensor *one = asc_slice(ctx, grid, 3, p.d - 1 - i, 1);
        prepare_axis(&p, i, asc_reshape(ctx, one, ASC_SHAPE(s.dims[0], 1, points)));
    }
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, combine(&p, points), out));
}

/* Weights of n elements in the mean over `grid` points of each of `bins` bins from `start` on. */
static void roi_weights(double start, double bin, int64_t bins, int64_t grid, int64_t n, double *w) {
    for (int64_t b = 0; b < bins; b++) {
        for (int64_t i = 0; i < grid; i++) {
            double x = start + (double)b * bin + ((double)i + 0.5) * bin / (double)grid;
            if (!(x >= -1 && x <= (double)n)) continue;
            if (x < 0) x = 0;
            int64_t low = (int64_t)floor(x);
            double f = x - (double)low;
            if (low >= n - 1) low = n - 1, f = 0;
            w[b * n + low] += (1 - f) / (double)grid;
            if (f > 0) w[b * n + low + 1] += f / (double)grid;
        }
    }
}

/* Bilinear sampling and the mean of a bin are both products of one matrix an axis: Y = Wy X Wx^T. */
asc_status asc_onnx_RoiAlign(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), rs = asc_onnx_shape(c, 1), bs = asc_onnx_shape(c, 2);
    int64_t oh = asc_onnx_attr_int(c, "output_height", 1), ow = asc_onnx_attr_int(c, "output_width", 1);
    int64_t ratio = asc_onnx_attr_int(c, "sampling_ratio", 0);
    double scale = asc_onnx_attr_float(c, "spatial_scale", 1.0);
    bool half =
        c->opset >= 16 && asc_onnx_attr_is(c, "coordinate_transformation_mode", "half_pixel", "half_pixel");
    if (!asc_onnx_attr_is(c, "mode", "avg", "avg"))
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "mode is not avg");
    if (s.rank != 4 || rs.rank != 2 || rs.dims[1] != 4 || bs.rank != 1 || bs.dims[0] != rs.dims[0] ||
        oh < 1 || ow < 1 || oh > 1 << 16 || ow > 1 << 16 || ratio < 0 || ratio > 1 << 10)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "regions for an array of %d dimensions", s.rank);
    const double *roi = asc_onnx_doubles(c, 1);
    int64_t r = rs.dims[0], h = s.dims[2], w = s.dims[3];
    if (roi == NULL || (h > 0 && r * oh > MAX_MATRIX_ELEMS / h) || (w > 0 && r * ow > MAX_MATRIX_ELEMS / w))
        return asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "%lld regions", (long long)r);
    double *wy = asc_onnx_memory(c, (size_t)(r * oh * h), sizeof *wy);
    double *wx = asc_onnx_memory(c, (size_t)(r * ow * w), sizeof *wx);
    if (wy == NULL || wx == NULL) return c->st;
    for (int64_t i = 0; i < r; i++, roi += 4) {
        double from[2], size[2];
        for (int a = 0; a < 2; a++) {
            from[a] = roi[a] * scale - (half ? 0.5 : 0);
            size[a] = (roi[2 + a] - roi[a]) * scale;
            if (!half && size[a] < 1) size[a] = 1;
            if (!(fabs(from[a]) < 1e9 && fabs(size[a]) < 1e7))
                return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "region %lld is out of range", (long long)i);
        }
        double bin_w = size[0] / (double)ow, bin_h = size[1] / (double)oh;
        int64_t gw = ratio > 0 ? ratio : (int64_t)fmin(ceil(bin_w), 1 << 16);
        int64_t gh = ratio > 0 ? ratio : (int64_t)fmin(ceil(bin_h), 1 << 16);
        roi_weights(from[0], bin_w, ow, gw, w, wx + i * ow * w);
        roi_weights(from[1], bin_h, oh, gh, h, wy + i * oh * h);
    }
    asc_tensor *x = asc_gather(ctx, asc_onnx_t(c, 0), asc_onnx_wrapped(c, 2, s.dims[0]));
    asc_tensor *y = asc_matmul(ctx, asc_from_f64(ctx, ASC_SHAPE(r, 1, oh, h), wy), x, false, false);
    y = asc_matmul(ctx, y, asc_from_f64(ctx, ASC_SHAPE(r, 1, ow, w), wx), false, true);
    return asc_onnx_set_like(c, 0, y);
}

/* Points of a picture, -1 to 1 along each axis, moved by an affine map an example. */
asc_status asc_onnx_AffineGrid(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape t = asc_onnx_shape(c, 0), out = {.rank = 1};
    int64_t size[ASC_MAX_SPATIAL + 2], points = 1;
    int n = asc_onnx_ints(c, 1, size, ASC_MAX_SPATIAL + 2), d = n - 2;
    bool corners = asc_onnx_attr_int(c, "align_corners", 0) != 0;
    if (c->st != ASC_OK) return c->st;
    if (d < 2 || t.rank != 3 || t.dims[0] != size[0] || t.dims[1] != d || t.dims[2] != d + 1)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "maps of %d dimensions for a size of %d", t.rank, n);
    out.dims[0] = size[0];
    for (int i = 0; i < d; i++) {
        if (size[2 + i] < 1 || size[2 + i] > MAX_MATRIX_ELEMS / points)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a size of %lld", (long long)size[2 + i]);
        points *= size[2 + i];
        out.dims[out.rank++] = size[2 + i];
    }
    out.dims[out.rank++] = d;
    double *grid = asc_onnx_memory(c, (size_t)(points * (d + 1)), sizeof *grid);
    if (grid == NULL) return c->st;
    for (int64_t p = 0; p < points; p++) {
        int64_t rest = p;
        for (int i = d - 1; i >= 0; i--) { /* the innermost axis comes first */
            int64_t len = size[2 + i], at = rest % len;
            rest /= len;
            grid[p * (d + 1) + d - 1 - i] = !corners  ? (2 * (double)at + 1) / (double)len - 1
                                            : len > 1 ? 2 * (double)at / (double)(len - 1) - 1
                                                      : 0;
        }
        grid[p * (d + 1) + d] = 1;
    }
    asc_tensor *g = asc_from_f64(ctx, ASC_SHAPE(1, points, d + 1), grid);
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, asc_matmul(ctx, g, asc_onnx_t(c, 0), false, true), out));
}
