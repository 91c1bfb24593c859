/* onnx_op_signal.c - constants of signal processing: windows and the matrix of a mel filter bank. */
#include "onnx_parts.h"
#include <math.h>

enum { MAX_WINDOW = 1 << 24 };
static const double two_pi = 6.2831853071795864769;

static int elem_of(asc_onnx_call *c) {
    int64_t elem = asc_onnx_attr_int(c, "output_datatype", ASC_ONNX_FLOAT);
    if (elem < 1 || elem > 63 || asc_onnx_type_bytes((int)elem) == 0)
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "output_datatype %lld", (long long)elem);
    return (int)elem;
}

/* a0 - a1 cos(t) + a2 cos(2 t), one period over the window or over all but its last element. */
static asc_status cosines(asc_onnx_call *c, double a0, double a1, double a2) {
    int64_t n = asc_onnx_int(c, 0, 0);
    int elem = elem_of(c);
    bool periodic = asc_onnx_attr_int(c, "periodic", 1) != 0;
    if (c->st == ASC_OK && (n < 0 || n > MAX_WINDOW))
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a window of %lld", (long long)n);
    double *out = c->st == ASC_OK ? asc_onnx_memory(c, (size_t)n, sizeof *out) : NULL;
    if (out == NULL) return c->st;
    double period = (double)(periodic || n <= 1 ? n : n - 1);
    for (int64_t i = 0; i < n; i++) {
        double t = two_pi * (double)i / period;
        out[i] = a0 - a1 * cos(t) + a2 * cos(2 * t);
    }
    return asc_onnx_set_host(c, 0, ASC_SHAPE(n), out, elem);
}
asc_status asc_onnx_HannWindow(asc_onnx_call *c) { return cosines(c, 0.5, 0.5, 0); }
asc_status asc_onnx_HammingWindow(asc_onnx_call *c) { return cosines(c, 25.0 / 46, 21.0 / 46, 0); }
asc_status asc_onnx_BlackmanWindow(asc_onnx_call *c) { return cosines(c, 0.42, 0.5, 0.08); }

/* Triangles over the bins of a spectrum, with corners evenly spaced in mel = 2595 log10(1 + f / 700). */
asc_status asc_onnx_MelWeightMatrix(asc_onnx_call *c) {
    int64_t mels = asc_onnx_int(c, 0, 0), dft = asc_onnx_int(c, 1, 0), rate = asc_onnx_int(c, 2, 0);
    double low = asc_onnx_number(c, 3, 0), high = asc_onnx_number(c, 4, 0);
    int elem = elem_of(c);
    if (c->st != ASC_OK) return c->st;
    if (mels < 1 || mels > 1 << 16 || dft < 1 || dft > 1 << 20 || rate < 1 || !(low >= 0 && high > low) ||
        !(high <= (double)rate))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld bands from %g to %g Hz of %lld points at %lld Hz",
                             (long long)mels, low, high, (long long)dft, (long long)rate);
    int64_t bins = dft / 2 + 1;
    double from = 2595 * log10(1 + low / 700),
           step = (2595 * log10(1 + high / 700) - from) / (double)(mels + 2);
    int64_t *corner = asc_onnx_memory(c, (size_t)mels + 2, sizeof *corner);
    double *out = asc_onnx_memory(c, (size_t)(bins * mels), sizeof *out);
    if (corner == NULL || out == NULL) return c->st;
    for (int64_t i = 0; i < mels + 2; i++) {
        double hz = 700 * (pow(10, (from + (double)i * step) / 2595) - 1);
        corner[i] = (int64_t)floor((double)(dft + 1) * hz / (double)rate);
        if (corner[i] > bins - 1) corner[i] = bins - 1;
    }
    for (int64_t i = 0; i < mels; i++) {
        int64_t a = corner[i], b = corner[i + 1], e = corner[i + 2];
        if (a == b) out[b * mels + i] = 1;
        for (int64_t j = a; j <= b && b > a; j++) out[j * mels + i] = (double)(j - a) / (double)(b - a);
        for (int64_t j = b; j < e; j++) out[j * mels + i] = (double)(e - j) / (double)(e - b);
    }
    return asc_onnx_set_host(c, 0, ASC_SHAPE(bins, mels), out, elem);
}
