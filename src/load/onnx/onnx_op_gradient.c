/* onnx_op_gradient.c - Gradient of ai.onnx.preview.training: derivatives of one value of the graph with
 * respect to others, by the library's own backward pass over what has been recorded. */
#include "onnx_ops.h"
#include "onnx_run.h"

/* The value of that name in the graphs around the node; NULL when there is none yet. */
static asc_onnx_value *named(const asc_onnx_frame *f, asc_view name) {
    for (; f != NULL; f = f->up) {
        int64_t at = asc_name_index_find(&f->g->index, name);
        if (at >= 0) return f->v[at];
    }
    return NULL;
}

asc_status asc_onnx_Gradient(asc_onnx_call *c) {
    const asc_onnx_attr *xs = asc_onnx_attr_find(c, "xs");
    asc_view name = asc_onnx_attr_string(c, "y", "");
    asc_onnx_value *y = named(c->frame, name);
    if (c->st != ASC_OK) return c->st;
    if (xs == NULL || xs->type != ASC_ONNX_ATTR_STRINGS || xs->n > c->n_in || xs->n < c->n_out)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "attribute 'xs' does not fit the inputs");
    if (y == NULL || y->kind != ASC_ONNX_TENSOR)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no value '" ASC_VIEW_FMT "' to differentiate",
                             ASC_VIEW_ARG(asc_view_cut(name, 200)));
    asc_tensor **x = asc_onnx_memory(c, xs->n + 1, sizeof(asc_tensor *));
    asc_tensor **g = asc_onnx_memory(c, xs->n + 1, sizeof(asc_tensor *));
    if (x == NULL || g == NULL) return c->st;
    for (size_t i = 0; i < xs->n; i++) x[i] = asc_onnx_t(c, i);
    asc_tensor *t = asc_onnx_value_t(c, y), *ones = asc_full(c->ctx, y->shape, 1.0);
    if (c->st != ASC_OK) return c->st;
    asc_grad(c->ctx, t, ones, x, xs->n, g);
    for (size_t i = 0; i < c->n_out; i++) asc_onnx_set(c, i, g[i], asc_onnx_elem(c, i));
    return c->st;
}
