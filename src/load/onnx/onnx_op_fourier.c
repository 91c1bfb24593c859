/* onnx_op_fourier.c - Fourier transforms as products with matrices of sines and cosines: the sizes of models
 * are small, and a product has a gradient. */
#include "onnx_parts.h"
#include <math.h>

#define TWO_PI 6.283185307179586476925

enum { MAX_MATRIX = 1 << 24 }; /* elements */

/* cos and sin of 2 pi n k / length, for n < rows, k < cols, times factor: [rows, cols] each. The angle is
 * reduced in whole numbers, so that no digits are lost for large n k. */
static bool tables(asc_onnx_call *c, int64_t length, int64_t rows, int64_t cols, double factor,
                   asc_tensor **cosines, asc_tensor **sines) {
    if (length < 1 || rows < 0 || cols < 0 || (cols > 0 && rows > MAX_MATRIX / cols)) {
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a transform of length %lld", (long long)length);
        return false;
    }
    double *re = asc_onnx_memory(c, (size_t)(rows * cols) + 1, sizeof *re);
    double *im = asc_onnx_memory(c, (size_t)(rows * cols) + 1, sizeof *im);
    if (re == NULL || im == NULL) return false;
    for (int64_t n = 0; n < rows; n++) {
        for (int64_t k = 0; k < cols; k++) {
            double angle = TWO_PI * (double)(n * k % length) / (double)length;
            re[n * cols + k] = factor * cos(angle);
            im[n * cols + k] = factor * sin(angle);
        }
    }
    *cosines = asc_from_f64(c->ctx, ASC_SHAPE(rows, cols), re);
    *sines = asc_from_f64(c->ctx, ASC_SHAPE(rows, cols), im);
    return true;
}

/* x [.., N, 1 or 2] (real, or real and imaginary part) to [.., K, 2]: sum_n x_n exp(-+ 2 pi i n k / L). */
static asc_tensor *transform(asc_onnx_call *c, asc_tensor *x, int64_t length, int64_t bins, bool inverse) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *co, *si, *part[2], *y[2];
    if (asc_tensor_poisoned(x)) return x;
    int rank = x->shape.rank;
    int64_t n = x->shape.dims[rank - 2], parts = x->shape.dims[rank - 1];
    if (parts != 1 && parts != 2) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the last axis holds %lld numbers, not 1 or 2",
                      (long long)parts);
        return x;
    }
    if (n > length) x = asc_slice(ctx, x, rank - 2, 0, n = length); /* cut; zeros behind it add nothing */
    if (!tables(c, length, n, bins, inverse ? 1.0 / (double)length : 1.0, &co, &si)) return x;
    asc_shape flat = x->shape;
    flat.rank--;
    for (int k = 0; k < parts; k++) part[k] = asc_reshape(ctx, asc_slice(ctx, x, rank - 1, k, 1), flat);
    if (!inverse) si = asc_neg(ctx, si);
    if (flat.rank == 1) flat = ASC_SHAPE(1, flat.dims[0]);
    for (int k = 0; k < parts; k++) part[k] = asc_reshape(ctx, part[k], flat);
    y[0] = asc_matmul(ctx, part[0], co, false, false);
    y[1] = asc_matmul(ctx, part[0], si, false, false);
    if (parts == 2) {
        y[0] = asc_sub(ctx, y[0], asc_matmul(ctx, part[1], si, false, false));
        y[1] = asc_add(ctx, y[1], asc_matmul(ctx, part[1], co, false, false));
    }
    asc_shape out = x->shape;
    out.dims[rank - 2] = bins;
    out.dims[rank - 1] = 1;
    for (int k = 0; k < 2; k++) y[k] = asc_reshape(ctx, y[k], out);
    return asc_concat(ctx, y, 2, rank - 1);
}

/* x [.., K, 2], the first half of the transform of L real numbers, to those numbers, [.., L, 1]:
 * 1/L sum_k m_k (re_k cos - im_k sin); m_k is 2 where the other half mirrors bin k. */
static asc_tensor *real_inverse(asc_onnx_call *c, asc_tensor *x, int64_t length) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *co, *si, *part[2];
    if (asc_tensor_poisoned(x)) return x;
    int rank = x->shape.rank;
    int64_t bins = x->shape.dims[rank - 2], most = length / 2 + 1;
    if (x->shape.dims[rank - 1] != 2) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "half a spectrum without an imaginary part");
        return x;
    }
    if (bins > most) x = asc_slice(ctx, x, rank - 2, 0, bins = most);
    if (!tables(c, length, bins, length, 1.0 / (double)length, &co, &si)) return x;
    double *twice = asc_onnx_memory(c, (size_t)bins + 1, sizeof *twice);
    if (twice == NULL) return x;
    for (int64_t k = 0; k < bins; k++) twice[k] = k == 0 || 2 * k == length ? 1.0 : 2.0;
    asc_shape flat = x->shape, out = x->shape;
    flat.rank--;
    if (flat.rank == 1) flat = ASC_SHAPE(1, bins);
    asc_tensor *m = asc_from_f64(ctx, ASC_SHAPE(bins), twice);
    for (int k = 0; k < 2; k++)
        part[k] = asc_mul(ctx, asc_reshape(ctx, asc_slice(ctx, x, rank - 1, k, 1), flat), m);
    out.dims[rank - 2] = length;
    out.dims[rank - 1] = 1;
    asc_tensor *re = asc_matmul(ctx, part[0], co, false, false),
               *im = asc_matmul(ctx, part[1], si, false, false);
    return asc_reshape(ctx, asc_sub(ctx, re, im), out);
}

asc_status asc_onnx_DFT(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    bool inverse = asc_onnx_attr_int(c, "inverse", 0) != 0, half = asc_onnx_attr_int(c, "onesided", 0) != 0;
    int64_t at = c->opset >= 20 ? asc_onnx_int(c, 2, -2) : asc_onnx_attr_int(c, "axis", 1);
    if (c->st == ASC_OK && s.rank < 2) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%d dimensions", s.rank);
    int axis = asc_onnx_axis(c, at, s.rank);
    if (c->st != ASC_OK) return c->st;
    if (axis == s.rank - 1) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %d holds the parts", axis);
    bool real = inverse && half;
    int64_t length = asc_onnx_int(c, 1, real ? 2 * (s.dims[axis] - 1) : s.dims[axis]);
    if (length < 1) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a length of %lld", (long long)length);
    asc_tensor *x = asc_onnx_move_axis(c, asc_onnx_t(c, 0), axis, s.rank - 2);
    asc_tensor *y =
        real ? real_inverse(c, x, length) : transform(c, x, length, half ? length / 2 + 1 : length, inverse);
    return asc_onnx_set_like(c, 0, asc_onnx_move_axis(c, y, s.rank - 2, axis));
}

asc_status asc_onnx_STFT(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    asc_ctx *ctx = c->ctx;
    bool half = asc_onnx_attr_int(c, "onesided", 1) != 0, windowed = asc_onnx_has(c, 2);
    int64_t step = asc_onnx_int(c, 1, 0);
    if (c->st != ASC_OK) return c->st;
    if (s.rank < 2 || s.rank > 3) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%d dimensions", s.rank);
    int64_t parts = s.rank == 3 ? s.dims[2] : 1, batch = s.dims[0], total = s.dims[1];
    asc_shape w = windowed ? asc_onnx_shape(c, 2) : ASC_SCALAR_SHAPE;
    int64_t length = asc_onnx_int(c, 3, windowed && w.rank == 1 ? w.dims[0] : 0);
    if (c->st != ASC_OK) return c->st;
    if (step < 1 || length < 1 || length > total || total > INT32_MAX ||
        (windowed && (w.rank != 1 || w.dims[0] > length)))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "frames of %lld every %lld in a signal of %lld",
                             (long long)length, (long long)step, (long long)total);
    int64_t frames = (total - length) / step + 1;
    if (frames > MAX_MATRIX / length) return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "too many frames");
    int32_t *index = asc_onnx_memory(c, (size_t)(frames * length), sizeof *index);
    if (index == NULL) return c->st;
    for (int64_t i = 0; i < frames * length; i++) index[i] = (int32_t)(i / length * step + i % length);
    asc_tensor *x = asc_reshape(ctx, asc_onnx_t(c, 0), ASC_SHAPE(batch, total, parts));
    x = asc_onnx_choose(c, x, 1, index, frames * length);
    x = asc_reshape(ctx, x, ASC_SHAPE(batch, frames, length, parts));
    if (windowed) {
        asc_tensor *f = asc_onnx_t(c, 2);
        int64_t left = (length - w.dims[0]) / 2; /* a shorter window stands in the middle of its frame */
        if (w.dims[0] < length) f = asc_pad(ctx, f, 0, left, length - w.dims[0] - left);
        x = asc_mul(ctx, x, asc_reshape(ctx, f, ASC_SHAPE(length, 1)));
    }
    return asc_onnx_set_like(c, 0, transform(c, x, length, half ? length / 2 + 1 : length, false));
}
