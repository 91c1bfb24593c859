/* leaf.c - tensors from host memory or stored weights, and reading values back. */
#include "profile.h"
#include "runtime.h"
#include <string.h>

static asc_tensor *leaf(asc_ctx *ctx, asc_dtype dtype, asc_shape shape, asc_buffer *b) {
    asc_graph *g = asc_graph_of(ctx);
    asc_tensor *t = asc_graph_node(g);
    if (t == NULL) {
        asc_buffer_release(ctx, b);
        return asc_graph_poison(g);
    }
    t->dtype = dtype;
    t->shape = shape;
    t->buf = b;
    return t;
}

static asc_tensor *from_host(asc_ctx *ctx, asc_mem_tag tag, asc_dtype dtype, asc_shape shape,
                             asc_dtype host_dtype, const void *data) {
    asc_graph *g = asc_graph_of(ctx);
    const asc_device *dev = asc_exec_device(ctx);
    int64_t n = asc_shape_elems(&shape);
    size_t bytes;
    if (n < 0 || !asc_dtype_bytes(dtype, n, &bytes) || bytes > SIZE_MAX / 16) {
        char text[128];
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tensor of shape %s is too large", asc_shape_text(&shape, text));
        return asc_graph_poison(g);
    }
    asc_buffer *b = asc_buffer_make(ctx, tag, dtype, n);
    if (b == NULL) return asc_graph_poison(g);
    if (dev->has_data && n > 0) {
        asc_prof_mark m = asc_prof_begin(ctx);
        dev->upload(dtype, b->data, host_dtype, data, n);
        asc_prof_copy(ctx, m, "upload", bytes);
    }
    return leaf(ctx, dtype, shape, b);
}

asc_tensor *asc_from_f32(asc_ctx *ctx, asc_shape shape, const float *data) {
    return from_host(ctx, ASC_MEM_ACTIVATIONS, ASC_DTYPE_F32, shape, ASC_DTYPE_F32, data);
}
asc_tensor *asc_from_f64(asc_ctx *ctx, asc_shape shape, const double *data) {
    return from_host(ctx, ASC_MEM_ACTIVATIONS, ASC_DTYPE_F32, shape, ASC_DTYPE_F64, data);
}
asc_tensor *asc_from_i32(asc_ctx *ctx, asc_shape shape, const int32_t *data) {
    return from_host(ctx, ASC_MEM_ACTIVATIONS, ASC_DTYPE_I32, shape, ASC_DTYPE_I32, data);
}

asc_tensor *asc_from_stored(asc_ctx *ctx, asc_dtype dtype, asc_shape shape, const void *data) {
    const asc_device *dev = asc_exec_device(ctx);
    int64_t n = asc_shape_elems(&shape);
    size_t bytes;
    bool aligned = asc_dtype_of(dtype)->is_weight_only || ((uintptr_t)data & 3) == 0;
    if (n < 0 || !asc_dtype_bytes(dtype, n, &bytes) || (dev->has_data && !(dev->borrows_weights && aligned)))
        return from_host(ctx, ASC_MEM_WEIGHTS, dtype, shape, dtype, data);
    asc_buffer *b = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *b);
    if (b == NULL) return asc_graph_poison(asc_graph_of(ctx));
    *b = (asc_buffer){.refs = 1, .dtype = dtype, .elems = n, .bytes = bytes, .borrowed = true};
    if (dev->has_data) { /* the device only reads inputs; the cast drops const for the shared field */
        memcpy(&b->data, &data, sizeof data);
    }
    return leaf(ctx, dtype, shape, b);
}

static asc_status read_part(asc_ctx *ctx, asc_tensor *t, int64_t first, asc_dtype host_dtype, void *out,
                            size_t n) {
    const asc_device *dev = asc_exec_device(ctx);
    if (!dev->has_data) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the %s device computes no values", dev->name);
        return asc_hint(ctx, "use it for shapes and cost only; choose --device cpu or reference for numbers");
    }
    if (n == 0) return ASC_OK;
    asc_prof_mark m = asc_prof_begin(ctx);
    dev->download(t->dtype, (const char *)t->buf->data + dev->storage_bytes(t->dtype, first), host_dtype, out,
                  (int64_t)n);
    asc_prof_copy(ctx, m, "download", dev->storage_bytes(t->dtype, (int64_t)n));
    return ASC_OK;
}

static asc_status read_as(asc_ctx *ctx, asc_tensor *t, asc_dtype host_dtype, void *out, size_t n) {
    asc_status st = asc_exec_need(ctx, t);
    if (st != ASC_OK) return st;
    int64_t have = asc_shape_elems(&t->shape);
    if ((int64_t)n != have)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "read of %zu elements from a tensor of %lld", n,
                        (long long)have);
    return read_part(ctx, t, 0, host_dtype, out, n);
}

asc_status asc_exec_read_part(asc_ctx *ctx, asc_tensor *t, int64_t first, double *out, size_t n) {
    asc_status st = asc_exec_need(ctx, t);
    if (st != ASC_OK) return st;
    int64_t have = asc_shape_elems(&t->shape);
    if (first < 0 || first > have || n > (size_t)(have - first))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "read of %zu elements from %lld on, of a tensor of %lld",
                        n, (long long)first, (long long)have);
    return read_part(ctx, t, first, ASC_DTYPE_F64, out, n);
}

asc_status asc_exec_copy_part(asc_ctx *ctx, asc_tensor *to, int64_t at, const asc_tensor *from, int64_t first,
                              int64_t n) {
    const asc_device *dev = asc_exec_device(ctx);
    if (to->buf == NULL || from->buf == NULL || to->dtype != from->dtype || n < 0 || at < 0 || first < 0 ||
        at > to->buf->elems - n || first > from->buf->elems - n)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a copy of %lld elements from %lld to %lld does not fit",
                        (long long)n, (long long)first, (long long)at);
    if (!dev->has_data || n == 0) return ASC_OK;
    memcpy((char *)to->buf->data + dev->storage_bytes(to->dtype, at),
           (const char *)from->buf->data + dev->storage_bytes(to->dtype, first),
           dev->storage_bytes(to->dtype, n));
    return ASC_OK;
}

asc_status asc_read_f32(asc_ctx *ctx, asc_tensor *t, float *out, size_t n) {
    return read_as(ctx, t, ASC_DTYPE_F32, out, n);
}
asc_status asc_read_f64(asc_ctx *ctx, asc_tensor *t, double *out, size_t n) {
    return read_as(ctx, t, ASC_DTYPE_F64, out, n);
}
asc_status asc_read_i32(asc_ctx *ctx, asc_tensor *t, int32_t *out, size_t n) {
    return read_as(ctx, t, ASC_DTYPE_I32, out, n);
}
