/* resize.c - resizing with the bytes of Pillow for RGB pictures: two passes, first along rows, then along
 * columns, with 8 bits between them (a row at a time: the picture between the passes is never whole) and
 * weights in fixed point of 22 bits; when a picture gets smaller the filter is stretched, so that every pixel
 * of the source counts (antialiasing). The formulas of the filters and the order of rounding are facts of
 * Pillow's Resample.c and Geometry.c (version 13.0); the tests compare with pictures that Pillow made. */
#include "image.h"
#include <math.h>
#include <string.h>

enum { FRACTION = 22 };

static double triangle(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

/* Keys' cubic with a = -0.5. */
static double cubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x) {
    const double t = x * 3.14159265358979323846;
    return t < 0 || t > 0 ? sin(t) / t : 1;
}

static double lanczos3(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }
static double rectangle(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

static const struct {
    double (*f)(double);
    double reach;
} kernels[ASC_N_FILTERS] = {[ASC_FILTER_BILINEAR] = {triangle, 1},
                            [ASC_FILTER_BICUBIC] = {cubic, 2},
                            [ASC_FILTER_LANCZOS] = {lanczos3, 3},
                            [ASC_FILTER_BOX] = {rectangle, 0.5}};

/* Which source pixels make up each pixel of the result, along one axis. */
typedef struct taps {
    int64_t width;          /* weights reserved per pixel */
    int64_t *first, *count; /* [n] */
    int32_t *weight;        /* [n][width] */
} taps;

static void taps_deinit(asc_ctx *ctx, taps *t) {
    asc_free(ctx, t->first);
    asc_free(ctx, t->weight);
    *t = (taps){0};
}

static void taps_of_pixel(taps *t, int64_t i, double scale, double stretch, int64_t from, asc_filter filter,
                          double *w) {
    double centre = ((double)i + 0.5) * scale, reach = kernels[filter].reach * stretch, sum = 0;
    double inverse = 1 / stretch;
    int64_t first = (int64_t)(centre - reach + 0.5), last = (int64_t)(centre + reach + 0.5);
    if (first < 0) first = 0;
    if (last > from) last = from;
    int64_t n = last - first;
    for (int64_t k = 0; k < n; k++) {
        w[k] = kernels[filter].f(((double)(k + first) - centre + 0.5) * inverse);
        sum += w[k];
    }
    for (int64_t k = 0; k < n; k++) {
        double v = (sum < 0 || sum > 0 ? w[k] / sum : w[k]) * (1 << FRACTION);
        t->weight[i * t->width + k] = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
    }
    t->first[i] = first;
    t->count[i] = n;
}

static asc_status taps_init(asc_ctx *ctx, taps *t, int64_t from, int64_t to, asc_filter filter) {
    double scale = (double)from / (double)to, stretch = scale < 1 ? 1 : scale;
    *t = (taps){.width = (int64_t)ceil(kernels[filter].reach * stretch) * 2 + 1};
    t->first = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)to, 2 * sizeof *t->first);
    t->weight = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)(to * t->width), sizeof *t->weight);
    double *w = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)t->width, sizeof *w);
    if (t->first == NULL || t->weight == NULL || w == NULL) {
        taps_deinit(ctx, t);
        asc_free(ctx, w);
        return ASC_RESOURCE_EXHAUSTED;
    }
    t->count = t->first + to;
    for (int64_t i = 0; i < to; i++) taps_of_pixel(t, i, scale, stretch, from, filter, w);
    asc_free(ctx, w);
    return ASC_OK;
}

/* One pass: every result is a weighted sum of source pixels `step` bytes apart. */
static void weigh(const uint8_t *in, const int32_t *w, int64_t n, size_t step, uint8_t *out) {
    for (size_t c = 0; c < 3; c++) {
        int32_t sum = 1 << (FRACTION - 1);
        const uint8_t *p = in + c;
        for (int64_t k = 0; k < n; k++, p += step) sum += *p * w[k];
        sum >>= FRACTION;
        out[c] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

/* One row of the first pass. */
static void along_row(const asc_image *in, int64_t y, const taps *t, int64_t width, uint8_t *out) {
    const uint8_t *row = in->rgb + (size_t)(y * in->width) * 3;
    for (int64_t x = 0; x < width; x++)
        weigh(row + (size_t)t->first[x] * 3, t->weight + x * t->width, t->count[x], 3, out + (size_t)x * 3);
}

/* The second pass's sums of a row, one more source row taken in. */
static void add_row(int32_t *sum, const uint8_t *row, int32_t weight, size_t n) {
    for (size_t i = 0; i < n; i++) sum[i] += row[i] * weight;
}

static void end_row(const int32_t *sum, size_t n, uint8_t *out) {
    for (size_t i = 0; i < n; i++) {
        int32_t v = sum[i] >> FRACTION;
        out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* The pixel under the centre; positions are added up one after the other, as Pillow does it, which decides
 * ties. */
static asc_status nearest(asc_ctx *ctx, const asc_image *in, asc_image *out) {
    double sx = (double)in->width / (double)out->width, sy = (double)in->height / (double)out->height;
    int64_t *column = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)out->width, sizeof *column);
    if (column == NULL) return ASC_RESOURCE_EXHAUSTED;
    double at = sx * 0.5;
    for (int64_t x = 0; x < out->width; x++, at += sx) {
        int64_t c = (int64_t)at;
        column[x] = c < in->width ? c : in->width - 1;
    }
    at = sy * 0.5;
    for (int64_t y = 0; y < out->height; y++, at += sy) {
        int64_t row = (int64_t)at < in->height ? (int64_t)at : in->height - 1;
        for (int64_t x = 0; x < out->width; x++)
            memcpy(out->rgb + (size_t)(y * out->width + x) * 3,
                   in->rgb + (size_t)(row * in->width + column[x]) * 3, 3);
    }
    asc_free(ctx, column);
    return ASC_OK;
}

/* Both passes, or one where a side stays: a row of the result wants a few neighbouring rows of the first
 * pass, which are kept in a ring until no row wants them any more. */
static asc_status resample(asc_ctx *ctx, const asc_image *in, asc_filter filter, asc_image *out) {
    const bool wider = in->width != out->width, higher = in->height != out->height;
    const size_t n = (size_t)out->width * 3;
    taps rows = {0}, columns = {0};
    uint8_t *ring = NULL;
    int32_t *sum = asc_calloc(ctx, ASC_MEM_SCRATCH, n, sizeof *sum);
    asc_status st = sum != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK && wider) st = taps_init(ctx, &rows, in->width, out->width, filter);
    if (st == ASC_OK && higher) st = taps_init(ctx, &columns, in->height, out->height, filter);
    if (st == ASC_OK && wider && higher) {
        ring = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)columns.width, n);
        if (ring == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    int64_t made = 0; /* rows of the first pass */
    for (int64_t y = 0; st == ASC_OK && y < out->height; y++) {
        uint8_t *to = out->rgb + (size_t)y * n;
        if (!higher) along_row(in, y, &rows, out->width, to);
        for (size_t i = 0; higher && i < n; i++) sum[i] = 1 << (FRACTION - 1);
        for (int64_t k = 0; higher && k < columns.count[y]; k++) {
            const int64_t from = columns.first[y] + k;
            const uint8_t *row = in->rgb + (size_t)from * n;
            if (wider) row = ring + (size_t)(from % columns.width) * n;
            if (wider && from >= made)
                along_row(in, from, &rows, out->width, ring + (size_t)(from % columns.width) * n);
            if (from >= made) made = from + 1;
            add_row(sum, row, columns.weight[y * columns.width + k], n);
        }
        if (higher) end_row(sum, n, to);
    }
    taps_deinit(ctx, &rows);
    taps_deinit(ctx, &columns);
    asc_free(ctx, ring);
    asc_free(ctx, sum);
    return st;
}

static asc_status copy(asc_ctx *ctx, const asc_image *in, asc_image *out) {
    asc_status st = asc_image_create(ctx, in->width, in->height, out);
    if (st == ASC_OK) memcpy(out->rgb, in->rgb, (size_t)(in->width * in->height) * 3);
    return st;
}

asc_status asc_image_resize(asc_ctx *ctx, const asc_image *in, int64_t width, int64_t height,
                            asc_filter filter, asc_image *out) {
    *out = (asc_image){0};
    asc_status st = asc_image_check_size(ctx, width, height);
    if (st != ASC_OK) return st;
    if ((int)filter < 0 || filter >= ASC_N_FILTERS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "there is no filter %d", (int)filter);
    if (width == in->width && height == in->height) {
        st = copy(ctx, in, out);
    } else {
        st = asc_image_create(ctx, width, height, out);
        if (st == ASC_OK)
            st = filter == ASC_FILTER_NEAREST ? nearest(ctx, in, out) : resample(ctx, in, filter, out);
    }
    if (st != ASC_OK) asc_image_free(ctx, out);
    if (st == ASC_OK) memcpy(out->note, in->note, sizeof out->note);
    return st;
}

asc_status asc_image_resize_short(asc_ctx *ctx, const asc_image *in, int64_t side, asc_filter filter,
                                  asc_image *out) {
    bool wide = in->width > in->height;
    *out = (asc_image){0};
    if (side < 1 || side > ASC_IMAGE_MAX_SIDE)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a picture cannot have a side of %lld pixels",
                        (long long)side);
    int64_t longer = side * (wide ? in->width : in->height) / (wide ? in->height : in->width);
    return asc_image_resize(ctx, in, wide ? longer : side, wide ? side : longer, filter, out);
}

/* Half of an odd margin is rounded to the even number. */
static int64_t margin(int64_t all, int64_t part) {
    int64_t d = all - part, half = d / 2;
    return d % 2 == 0 ? half : half + half % 2;
}

asc_status asc_image_crop(asc_ctx *ctx, const asc_image *in, int64_t width, int64_t height, asc_image *out) {
    *out = (asc_image){0};
    asc_status st = asc_image_check_size(ctx, width, height);
    if (st != ASC_OK) return st;
    if (width > in->width || height > in->height) {
        ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "cannot cut %lld x %lld pixels out of a picture of %lld x %lld",
                 (long long)width, (long long)height, (long long)in->width, (long long)in->height);
        return asc_hint(ctx, "resize the picture first, with its shorter side to at least the part's");
    }
    st = asc_image_create(ctx, width, height, out);
    if (st != ASC_OK) return st;
    int64_t left = margin(in->width, width), top = margin(in->height, height);
    for (int64_t y = 0; y < height; y++)
        memcpy(out->rgb + (size_t)(y * width) * 3, in->rgb + (size_t)((top + y) * in->width + left) * 3,
               (size_t)width * 3);
    memcpy(out->note, in->note, sizeof out->note);
    return ASC_OK;
}
