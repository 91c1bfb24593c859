/* layer.c - see layer.h. */
#include "layer.h"
#include "ops.h"
#include "plain.h"
#include <stdarg.h>
#include <stdio.h>

enum { MAX_NAME = 512 };

asc_layer asc_layer_begin(asc_frame *f, const char *name, asc_tensor **x) {
    char in[MAX_NAME];
    asc_layer l = {.f = f, .ctx = f->ctx, .name = name};
    snprintf(in, sizeof in, "%s.in", name);
    *x = asc_site(f, in, *x);
    l.label = asc_frame_label(f, name);
    return l;
}

asc_tensor *asc_layer_end(const asc_layer *l, asc_tensor *y) {
    asc_set_label(l->ctx, l->label);
    return asc_site(l->f, l->name, y);
}

asc_tensor *asc_layer_weight(const asc_layer *l, const char *what, bool optional) {
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%s.%s", l->name, what);
    return optional && !asc_has_param(l->f, name) ? NULL : asc_param(l->f, name);
}

asc_tensor *asc_layer_fail(const asc_layer *l, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ASC_FAIL(l->ctx, ASC_INVALID_ARGUMENT, "%.200s: %s", l->name, text);
    return asc_graph_poison(asc_graph_of(l->ctx));
}

asc_tensor *asc_layer_per_channel(const asc_layer *l, asc_tensor *v, const asc_tensor *x) {
    asc_shape s = {.rank = x->shape.rank > 2 ? x->shape.rank - 1 : 1};
    for (int i = 0; i < s.rank; i++) s.dims[i] = i == 0 ? -1 : 1;
    return asc_reshape(l->ctx, v, s);
}

asc_tensor *asc_layer_affine(const asc_layer *l, asc_tensor *x, asc_tensor *w, asc_tensor *bias) {
    if (x->poison != ASC_OK) return x;
    const bool vector = x->shape.rank == 1;
    if (vector) x = asc_reshape(l->ctx, x, ASC_SHAPE(1, -1));
    asc_tensor *y = bias != NULL ? asc_matmul_bias(l->ctx, x, w, bias, false, true)
                                 : asc_matmul(l->ctx, x, w, false, true);
    return vector ? asc_reshape(l->ctx, y, ASC_SHAPE(-1)) : y;
}
