/* onnx_op_cast.c - Cast and CastLike. Numbers keep the precision of the device: a conversion to float16 or
 * bfloat16 does not round. Text is converted on the host. */
#include "onnx_parts.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Range of an integer type: lowest value, and how many there are. False for 64 bits, which the arithmetic at
 * hand does not wrap; 32 bits are wrapped in f64 only. */
static bool range(const asc_onnx_call *c, int type, double *lo, double *size) {
    switch (type) {
    case ASC_ONNX_INT8:
        return *lo = -128, *size = 256, true;
    case ASC_ONNX_INT16:
        return *lo = -32768, *size = 65536, true;
    case ASC_ONNX_INT32:
        return *lo = -0x1p31, *size = 0x1p32, c->on_host;
    case ASC_ONNX_UINT8:
        return *lo = 0, *size = 256, true;
    case ASC_ONNX_UINT16:
        return *lo = 0, *size = 65536, true;
    case ASC_ONNX_UINT32:
        return *lo = 0, *size = 0x1p32, c->on_host;
    default:
        return false;
    }
}

asc_tensor *asc_onnx_convert(asc_onnx_call *c, asc_tensor *t, int from, int to) {
    asc_ctx *ctx = c->ctx;
    if (asc_tensor_poisoned(t) || from == to) return t;
    if (to == ASC_ONNX_BOOL)
        return asc_logical_not(ctx, asc_equal(ctx, t, asc_full(ctx, ASC_SCALAR_SHAPE, 0.0)));
    if (asc_onnx_type_is_float(to) || from == ASC_ONNX_BOOL) return t;
    if (asc_onnx_type_is_float(from)) {
        if (to == ASC_ONNX_INT32) return asc_cast(ctx, asc_cast(ctx, t, ASC_DTYPE_I32), ASC_DTYPE_F32);
        t = asc_trunc_div(ctx, t, asc_full(ctx, ASC_SCALAR_SHAPE, 1.0));
        t = asc_where(ctx, asc_is_nan(ctx, t), asc_full(ctx, ASC_SCALAR_SHAPE, 0.0), t);
    }
    double lo, size;
    if (!range(c, to, &lo, &size)) return t;
    asc_tensor *wrapped = asc_mod(ctx, asc_shift(ctx, t, -lo), asc_full(ctx, ASC_SCALAR_SHAPE, size), false);
    return asc_shift(ctx, wrapped, lo);
}

/* Opset 1 to 5 wrote the type as a string. */
static int type_named(asc_view name) {
    for (int i = 1; i < 64; i++) {
        const char *t = asc_onnx_type_name(i);
        if (name.len != strlen(t)) continue;
        bool same = true;
        for (size_t k = 0; k < name.len; k++) same = same && (name.ptr[k] | 0x20) == (t[k] | 0x20);
        if (same) return i;
    }
    return 0;
}

enum { MAX_NUMBER_TEXT = 64 };

/* Text as numbers, and truncated where integers are wanted. */
static asc_status from_text(asc_onnx_call *c, const asc_onnx_value *in, int to) {
    int64_t n = asc_shape_elems(&in->shape);
    double *out = asc_onnx_memory(c, (size_t)n, sizeof *out);
    for (int64_t i = 0; i < n && out != NULL; i++) {
        char text[MAX_NUMBER_TEXT], *end = text;
        asc_view v = in->strings[i];
        if (v.len < sizeof text) {
            memcpy(text, v.ptr, v.len);
            text[v.len] = '\0';
            out[i] = asc_strtod(text, &end);
        }
        if (end == text || *end != '\0')
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "'" ASC_VIEW_FMT "' is no number",
                                 ASC_VIEW_ARG(asc_view_cut(v, 60)));
        if (to == ASC_ONNX_FLOAT) out[i] = (double)(float)out[i];
        if (to == ASC_ONNX_BOOL) out[i] = out[i] != 0;
        if (!asc_onnx_type_is_float(to)) out[i] = trunc(out[i]);
    }
    return out == NULL ? c->st : asc_onnx_set_host(c, 0, in->shape, out, to);
}

/* The shortest digits that give the number back, as NumPy writes them: 0.25, 1e-05, 3e+16, inf. */
static void shortest(double x, int from, char text[MAX_NUMBER_TEXT]) {
    bool single = from != ASC_ONNX_DOUBLE;
    int digits = 1;
    if (isnan(x) || isinf(x)) {
        snprintf(text, MAX_NUMBER_TEXT, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    for (; digits < 17; digits++) {
        asc_snprintf(text, MAX_NUMBER_TEXT, "%.*e", digits - 1, x);
        double back = single ? (double)asc_strtof(text, NULL) : asc_strtod(text, NULL);
        if (back == x) break;
    }
    int exponent = x == 0 ? 0 : (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= 16 || exponent < -4) return;
    int decimals = digits - 1 - exponent;
    asc_snprintf(text, MAX_NUMBER_TEXT, "%.*f", decimals < 1 ? 1 : decimals, x);
}

static asc_status to_text(asc_onnx_call *c, int from) {
    asc_onnx_value *out = asc_onnx_new_value(c);
    asc_shape s = asc_onnx_shape(c, 0);
    const double *d = asc_onnx_doubles(c, 0);
    int64_t n = asc_shape_elems(&s);
    asc_view *views = asc_onnx_memory(c, (size_t)n, sizeof *views);
    if (out == NULL || d == NULL || views == NULL) return c->st;
    for (int64_t i = 0; i < n; i++) {
        char text[MAX_NUMBER_TEXT];
        if (from == ASC_ONNX_BOOL) {
            snprintf(text, sizeof text, "%s", d[i] != 0 ? "True" : "False");
        } else if (asc_onnx_type_is_float(from)) {
            shortest(from == ASC_ONNX_DOUBLE ? d[i] : (double)(float)d[i], from, text);
        } else {
            asc_snprintf(text, sizeof text, "%.0f", d[i]);
        }
        size_t len = strlen(text);
        char *copy = asc_onnx_memory(c, len + 1, 1);
        if (copy == NULL) return c->st;
        memcpy(copy, text, len + 1);
        views[i] = (asc_view){copy, len};
    }
    *out = (asc_onnx_value){.kind = ASC_ONNX_STRINGS, .elem = ASC_ONNX_STRING, .shape = s, .strings = views};
    return asc_onnx_set_value(c, 0, out);
}

static asc_status cast(asc_onnx_call *c, int to) {
    asc_onnx_value *in = asc_onnx_in(c, 0);
    int from = in->elem;
    if (c->st != ASC_OK) return c->st;
    if (in->kind == ASC_ONNX_STRINGS && to == ASC_ONNX_STRING) return asc_onnx_set_value(c, 0, in);
    if (in->kind == ASC_ONNX_TENSOR && to == ASC_ONNX_STRING) return to_text(c, from);
    if (asc_onnx_type_bytes(to) == 0)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a conversion from %s to %s", asc_onnx_type_name(from),
                             asc_onnx_type_name(to));
    if (in->kind == ASC_ONNX_STRINGS) return from_text(c, in, to);
    return asc_onnx_set(c, 0, asc_onnx_convert(c, asc_onnx_t(c, 0), from, to), to);
}

asc_status asc_onnx_Cast(asc_onnx_call *c) {
    const asc_onnx_attr *a = asc_onnx_attr_find(c, "to");
    int to = a == NULL                         ? 0
             : a->type == ASC_ONNX_ATTR_STRING ? type_named(a->s)
             : a->i > 0 && a->i < 64           ? (int)a->i
                                               : 0;
    return cast(c, to);
}

asc_status asc_onnx_CastLike(asc_onnx_call *c) { return cast(c, asc_onnx_elem(c, 1)); }
