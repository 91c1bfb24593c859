/* nn_conv.c - convolutions and their transposes over 1 to 3 spatial axes. The bias is an input of the op (of
 * the transposed form, an addition: rules take it as part of the layer by its label). */
#include "layer.h"
#include "ops.h"

static int64_t or_one(int64_t v) { return v != 0 ? v : 1; }

static asc_window window_of(const asc_conv_shape *s) {
    asc_window w = {0};
    for (int i = 0; s != NULL && i < ASC_MAX_SPATIAL; i++) {
        w.stride[i] = s->stride[i];
        w.dilation[i] = s->dilation[i];
        w.before[i] = w.after[i] = s->pad[i];
    }
    return w;
}

asc_tensor *asc_nn_conv(asc_frame *f, const char *name, asc_tensor *x, const asc_conv_shape *shape) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_tensor *w = asc_layer_weight(&l, "weight", false), *bias = asc_layer_weight(&l, "bias", true);
    asc_window win = window_of(shape);
    return asc_layer_end(&l, asc_conv(l.ctx, x, w, bias, &win, shape != NULL ? or_one(shape->groups) : 1));
}

/* Sizes of the result: those of the input of the convolution that this one is the transpose of. */
static asc_tensor *transposed(const asc_layer *l, asc_tensor *x, asc_tensor *w, const asc_conv_shape *s) {
    asc_window win = window_of(s);
    int64_t size[ASC_MAX_SPATIAL] = {0};
    const int n = asc_spatial_rank(x);
    if (w->shape.rank != n + 2 || n == 0)
        return asc_layer_fail(l, "x has rank %d and the weight %d", x->shape.rank, w->shape.rank);
    for (int i = 0; i < n; i++) {
        const int64_t in = x->shape.dims[2 + i], k = w->shape.dims[2 + i];
        const int64_t extra = s != NULL ? s->output_pad[i] : 0;
        int64_t last, reach;
        if (__builtin_mul_overflow(in - 1, or_one(win.stride[i]), &last) ||
            __builtin_mul_overflow(k - 1, or_one(win.dilation[i]), &reach) ||
            __builtin_add_overflow(last, reach + 1 - 2 * win.before[i], &size[i]) || in < 1 || k < 1 ||
            extra < 0 || extra >= or_one(win.stride[i]) || size[i] + extra < 1)
            return asc_layer_fail(l, "sizes, padding or output padding of spatial axis %d cannot be", i);
        size[i] += extra;
    }
    return asc_conv_grad_input(l->ctx, x, w, &win, s != NULL ? or_one(s->groups) : 1, size);
}

asc_tensor *asc_nn_conv_transpose(asc_frame *f, const char *name, asc_tensor *x,
                                  const asc_conv_shape *shape) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_tensor *w = asc_layer_weight(&l, "weight", false), *bias = asc_layer_weight(&l, "bias", true), *y = w;
    if (x->poison == ASC_OK && w->poison == ASC_OK) y = transposed(&l, x, w, shape);
    if (bias != NULL && y->poison == ASC_OK) y = asc_add(l.ctx, y, asc_layer_per_channel(&l, bias, y));
    return asc_layer_end(&l, y);
}
