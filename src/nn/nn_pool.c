/* nn_pool.c - pooling over 1 to 3 spatial axes, with PyTorch's defaults: no partial windows, padding counts
 * in averages. */
#include "layer.h"
#include "ops.h"

typedef asc_tensor *(*pool_fn)(asc_ctx *ctx, asc_tensor *x, const asc_window *win);

static asc_tensor *average(asc_ctx *ctx, asc_tensor *x, const asc_window *win) {
    return asc_avg_pool(ctx, x, win, true);
}

static asc_tensor *pool(asc_frame *f, const char *name, asc_tensor *x, const int64_t *size,
                        const int64_t *stride, const int64_t *pad, pool_fn fn) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_window win = {0};
    const int n = x->poison == ASC_OK ? asc_spatial_rank(x) : 0;
    for (int i = 0; i < n; i++) {
        win.kernel[i] = size[i];
        win.stride[i] = stride != NULL && stride[i] != 0 ? stride[i] : size[i];
        win.before[i] = win.after[i] = pad != NULL ? pad[i] : 0;
    }
    return asc_layer_end(&l, fn(l.ctx, x, &win));
}

asc_tensor *asc_nn_max_pool(asc_frame *f, const char *name, asc_tensor *x, const int64_t *size,
                            const int64_t *stride, const int64_t *pad) {
    return pool(f, name, x, size, stride, pad, asc_max_pool);
}

asc_tensor *asc_nn_avg_pool(asc_frame *f, const char *name, asc_tensor *x, const int64_t *size,
                            const int64_t *stride, const int64_t *pad) {
    return pool(f, name, x, size, stride, pad, average);
}
