/* onnx_op_resize.c - Resize and Upsample. Every axis is resized on its own: nearest chooses elements, linear
 * and cubic interpolation multiply by a matrix of weights that is made on the host, so gradients are those of
 * a choice and of a product. align_corners takes the length of the result (a whole number), as PyTorch and
 * onnxruntime do, not the product of scale and length. */
#include "onnx_parts.h"
#include <math.h>

enum { MAX_MATRIX = 1 << 26 };

typedef enum place {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    TF_CROP_AND_RESIZE,
    HALF_PIXEL_SYMMETRIC,
    N_PLACES
} place;

typedef enum rounding {
    PREFER_FLOOR,
    PREFER_CEIL,
    FLOOR,
    CEIL,
    BY_SCALE, /* down where there is more than before, up where there is less: Resize of opset 10 */
    N_NAMED_ROUNDINGS = BY_SCALE
} rounding;

typedef struct plan {
    place place;
    char mode;         /* 'n'earest, 'l'inear, 'c'ubic */
    rounding rounding; /* of nearest */
    double a;          /* of cubic */
    bool exclude, antialias;
    double outside; /* value of tf_crop_and_resize outside the array */
} plan;

/* One axis: n elements become m. */
typedef struct axis_plan {
    int64_t n, m;
    double scale, start, end;
} axis_plan;

static int named(asc_onnx_call *c, const char *attr, const char *fallback, const char *const *names, int n) {
    asc_view v = asc_onnx_attr_string(c, attr, fallback);
    for (int i = 0; i < n; i++) {
        if (asc_view_eqs(v, names[i])) return i;
    }
    asc_onnx_fail(c, ASC_UNIMPLEMENTED, "%s '" ASC_VIEW_FMT "'", attr, ASC_VIEW_ARG(asc_view_cut(v, 40)));
    return 0;
}

static plan plan_of(asc_onnx_call *c, bool upsample) {
    static const char *const places[] = {"half_pixel",          "pytorch_half_pixel",   "align_corners",
                                         "asymmetric",          "tf_half_pixel_for_nn", "tf_crop_and_resize",
                                         "half_pixel_symmetric"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    static const char *const modes[] = {"nearest", "linear", "bilinear", "cubic", "trilinear"};
    bool old = upsample || c->opset < 11;
    plan p = {.place = ASYMMETRIC, .rounding = upsample ? FLOOR : BY_SCALE};
    p.mode = "nllcl"[named(c, "mode", "nearest", modes, 5)];
    if (old) return p;
    p.place = (place)named(c, "coordinate_transformation_mode", "half_pixel", places, N_PLACES);
    p.rounding = (rounding)named(c, "nearest_mode", "round_prefer_floor", roundings, N_NAMED_ROUNDINGS);
    p.a = asc_onnx_attr_float(c, "cubic_coeff_a", -0.75);
    p.exclude = asc_onnx_attr_int(c, "exclude_outside", 0) != 0;
    p.antialias = asc_onnx_attr_int(c, "antialias", 0) != 0;
    p.outside = asc_onnx_attr_float(c, "extrapolation_value", 0);
    return p;
}

/* Where element i of the result lies in the source, in elements. */
static double source(const plan *p, const axis_plan *x, int64_t i) {
    double at = (double)i, n = (double)x->n, m = (double)x->m, half = (at + 0.5) / x->scale - 0.5;
    switch (p->place) {
    case PYTORCH_HALF_PIXEL:
        return x->m > 1 ? half : 0;
    case ALIGN_CORNERS:
        return x->m > 1 ? at * (n - 1) / (m - 1) : 0;
    case ASYMMETRIC:
        return at / x->scale;
    case TF_HALF_PIXEL_FOR_NN:
        return (at + 0.5) / x->scale;
    case TF_CROP_AND_RESIZE:
        if (x->m == 1) return 0.5 * (x->start + x->end) * (n - 1);
        return x->start * (n - 1) + at * (x->end - x->start) * (n - 1) / (m - 1);
    case HALF_PIXEL_SYMMETRIC:
        return n / 2 * (1 - m / (x->scale * n)) + half;
    default:
        return half;
    }
}

static int64_t inside(double i, int64_t n) { return i < 0 ? 0 : i > (double)(n - 1) ? n - 1 : (int64_t)i; }

static int64_t nearest(rounding how, double scale, double x, int64_t n) {
    const double low = floor(x);
    switch (how) {
    case PREFER_FLOOR:
        return inside(x == low + 0.5 ? low : floor(x + 0.5), n);
    case PREFER_CEIL:
        return inside(floor(x + 0.5), n);
    case BY_SCALE:
        return inside(scale < 1 ? ceil(x) : low, n);
    default:
        return inside(how == CEIL ? ceil(x) : low, n);
    }
}

/* Weight of an element d away: the triangle, or Keys' cubic convolution (1981). */
static double kernel(const plan *p, double d) {
    d = fabs(d);
    if (p->mode == 'l') return d < 1 ? 1 - d : 0;
    if (d <= 1) return ((p->a + 2) * d - (p->a + 3)) * d * d + 1;
    return d < 2 ? ((p->a * d - 5 * p->a) * d + 8 * p->a) * d - 4 * p->a : 0;
}

/* Row i of the matrix: weights of the n elements around x. */
static void weigh(const plan *p, const axis_plan *ax, double x, double *row) {
    double narrow = p->antialias && ax->scale < 1 ? ax->scale : 1, reach = (p->mode == 'l' ? 1 : 2) / narrow;
    double total = 0, last = floor(x + reach);
    if (last - (x - reach) > 1e6) last = x - reach + 1e6;
    for (double j = ceil(x - reach); j <= last; j++) {
        double w = kernel(p, (j - x) * narrow);
        if (p->exclude && (j < 0 || j > (double)(ax->n - 1))) continue;
        row[inside(j, ax->n)] += w;
        total += w;
    }
    for (int64_t j = 0; j < ax->n && total != 0 && (p->exclude || narrow < 1); j++) row[j] /= total;
}

static bool beyond(const plan *p, const axis_plan *ax, double x) {
    return p->place == TF_CROP_AND_RESIZE && (x < 0 || x > (double)(ax->n - 1));
}

static asc_tensor *by_matrix(asc_onnx_call *c, const plan *p, const axis_plan *ax, asc_tensor *t, int axis) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = t->shape, three = asc_onnx_three(&s, axis);
    double *w = ax->m <= MAX_MATRIX / ax->n ? asc_onnx_memory(c, (size_t)(ax->m * ax->n), sizeof *w) : NULL;
    if (w == NULL) {
        asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "an axis of %lld elements from %lld", (long long)ax->m,
                      (long long)ax->n);
        return t;
    }
    for (int64_t i = 0; i < ax->m; i++) {
        double x = source(p, ax, i);
        if (!beyond(p, ax, x)) weigh(p, ax, x, w + i * ax->n);
    }
    asc_tensor *weights = asc_from_f64(ctx, ASC_SHAPE(ax->m, ax->n), w);
    s.dims[axis] = ax->m;
    if (three.dims[2] == 1) {
        t = asc_reshape(ctx, t, ASC_SHAPE(three.dims[0], ax->n));
        return asc_reshape(ctx, asc_matmul(ctx, t, weights, false, true), s);
    }
    return asc_reshape(ctx, asc_matmul(ctx, weights, asc_reshape(ctx, t, three), false, false), s);
}

static asc_tensor *by_choice(asc_onnx_call *c, const plan *p, const axis_plan *ax, asc_tensor *t, int axis) {
    int32_t *index = asc_onnx_places(c, ax->m);
    if (index == NULL || ax->n > INT32_MAX) return t;
    for (int64_t i = 0; i < ax->m; i++)
        index[i] = (int32_t)nearest(p->rounding, ax->scale, source(p, ax, i), ax->n);
    return asc_onnx_choose(c, t, axis, index, ax->m);
}

/* Places outside the array get a fixed value. */
static asc_tensor *fill_outside(asc_onnx_call *c, const plan *p, const axis_plan *ax, asc_tensor *t,
                                int axis) {
    double *mask = asc_onnx_memory(c, (size_t)ax->m, sizeof *mask);
    bool any = false;
    if (mask == NULL || asc_tensor_poisoned(t)) return t;
    for (int64_t i = 0; i < ax->m; i++) {
        mask[i] = beyond(p, ax, source(p, ax, i));
        any = any || mask[i] != 0;
    }
    if (!any) return t;
    asc_tensor *out = asc_onnx_along(c, asc_from_f64(c->ctx, ASC_SHAPE(ax->m), mask), axis, t->shape.rank);
    return asc_where(c->ctx, out, asc_onnx_const(c, p->outside), t);
}

/* Sizes of the result with one scale for all axes. */
static void keep_ratio(asc_onnx_call *c, axis_plan *ax, const int *axes, int n) {
    bool larger = asc_onnx_attr_is(c, "keep_aspect_ratio_policy", "stretch", "not_smaller");
    if (n < 1 || asc_onnx_attr_is(c, "keep_aspect_ratio_policy", "stretch", "stretch")) return;
    if (!larger && !asc_onnx_attr_is(c, "keep_aspect_ratio_policy", "stretch", "not_larger")) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an unknown keep_aspect_ratio_policy");
        return;
    }
    double scale = ax[axes[0]].scale;
    for (int i = 1; i < n; i++)
        scale = larger ? fmax(scale, ax[axes[i]].scale) : fmin(scale, ax[axes[i]].scale);
    for (int i = 0; i < n; i++) {
        ax[axes[i]].scale = scale;
        ax[axes[i]].m = (int64_t)floor(scale * (double)ax[axes[i]].n + 0.5);
    }
}

/* Scales (input or attribute) or sizes of the named axes. */
static void read_sizes(asc_onnx_call *c, axis_plan *ax, const int *axes, int n, size_t scales, size_t sizes) {
    int64_t want[ASC_MAX_RANK];
    const asc_onnx_attr *a = scales == SIZE_MAX ? asc_onnx_attr_find(c, "scales") : NULL;
    asc_shape s = scales != SIZE_MAX && asc_onnx_has(c, scales) ? asc_onnx_shape(c, scales) : ASC_SHAPE(0);
    int64_t count = a != NULL ? (int64_t)a->n : asc_shape_elems(&s);
    if (count > 0) {
        const double *d = a != NULL ? a->floats : asc_onnx_doubles(c, scales);
        if (count != n)
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld scales for %d axes", (long long)count, n);
        for (int i = 0; i < n && d != NULL && c->st == ASC_OK; i++) {
            axis_plan *x = &ax[axes[i]];
            x->scale = d[i];
            if (!(d[i] > 0 && d[i] * (double)x->n < 1e9)) {
                asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a scale of %g", d[i]);
                return;
            }
            x->m = (int64_t)floor((double)((float)x->n * (float)d[i])); /* f32, as other programs */
        }
        return;
    }
    int got = asc_onnx_has(c, sizes) ? asc_onnx_ints(c, sizes, want, ASC_MAX_RANK) : -1;
    if (got != n) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "neither scales nor sizes for %d axes", n);
        return;
    }
    for (int i = 0; i < n; i++) {
        ax[axes[i]].m = want[i];
        ax[axes[i]].scale = (double)want[i] / (double)(ax[axes[i]].n > 0 ? ax[axes[i]].n : 1);
    }
    keep_ratio(c, ax, axes, n);
}

static asc_status resize(asc_onnx_call *c, bool upsample, size_t roi, size_t scales, size_t sizes) {
    asc_shape s = asc_onnx_shape(c, 0);
    plan p = plan_of(c, upsample);
    axis_plan ax[ASC_MAX_RANK];
    int64_t given[ASC_MAX_RANK];
    int axes[ASC_MAX_RANK], n = c->opset >= 18 ? asc_onnx_attr_ints(c, "axes", given, ASC_MAX_RANK) : -1;
    for (int i = 0; i < s.rank; i++)
        ax[i] = (axis_plan){.n = s.dims[i], .m = s.dims[i], .scale = 1, .end = 1};
    for (int i = 0; i < n; i++) axes[i] = asc_onnx_axis(c, given[i], s.rank);
    for (int i = n < 0 ? 0 : s.rank; i < s.rank; i++) axes[i] = i;
    if (n < 0) n = s.rank;
    read_sizes(c, ax, axes, n, scales, sizes);
    if (p.place == TF_CROP_AND_RESIZE && c->st == ASC_OK) {
        asc_shape rs = asc_onnx_shape(c, roi);
        const double *d = asc_onnx_doubles(c, roi);
        if (asc_shape_elems(&rs) != 2 * n)
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "roi needs %d numbers", 2 * n);
        for (int i = 0; i < n && d != NULL && c->st == ASC_OK; i++) {
            ax[axes[i]].start = d[i];
            ax[axes[i]].end = d[n + i];
        }
    }
    asc_tensor *t = asc_onnx_t(c, 0);
    for (int i = 0; i < s.rank && c->st == ASC_OK && !asc_tensor_poisoned(t); i++) {
        const axis_plan *x = &ax[i];
        bool crop = p.place == TF_CROP_AND_RESIZE && (x->start != 0 || x->end != 1);
        if (x->m == x->n && !crop && (x->scale == 1 || x->n == 0)) continue;
        if (x->m < 0 || x->m > INT32_MAX || x->n < 1 || x->n > INT32_MAX)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %d: %lld elements from %lld", i,
                                 (long long)x->m, (long long)x->n);
        t = p.mode == 'n' ? by_choice(c, &p, x, t, i) : by_matrix(c, &p, x, t, i);
    }
    for (int i = 0; i < s.rank && c->st == ASC_OK && p.place == TF_CROP_AND_RESIZE; i++)
        t = fill_outside(c, &p, &ax[i], t, i);
    return asc_onnx_set_like(c, 0, t);
}

asc_status asc_onnx_Resize(asc_onnx_call *c) {
    return c->opset < 11 ? resize(c, false, 9, 1, 9) : resize(c, false, 1, 2, 3);
}

/* Scales are an attribute before opset 9 (and two of them before 7). */
asc_status asc_onnx_Upsample(asc_onnx_call *c) {
    if (c->opset < 7) return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "Upsample of opset %d", c->opset);
    return resize(c, true, 9, c->opset < 9 ? SIZE_MAX : 1, 9);
}
