/* onnx_op_train.c - the optimizers of ai.onnx.preview.training: plain arithmetic on groups of inputs, which
 * come as R, T, then all tensors, all gradients, and the states. */
#include "onnx_parts.h"
#include <math.h>

/* n tensors with `states` states each. */
static size_t group_size(asc_onnx_call *c, size_t states) {
    size_t n = c->n_in > 2 ? (c->n_in - 2) / (2 + states) : 0;
    if (n == 0 || c->n_in != 2 + n * (2 + states) || c->n_out != n * (1 + states)) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%zu inputs and %zu outputs are no whole groups", c->n_in,
                      c->n_out);
        return 0;
    }
    return n;
}

/* Gradient with the decay of weights added. */
static asc_tensor *regularized(asc_onnx_call *c, asc_tensor *x, asc_tensor *g) {
    return asc_add(c->ctx, g, asc_scale(c->ctx, x, asc_onnx_attr_float(c, "norm_coefficient", 0)));
}

asc_status asc_onnx_Momentum(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    size_t n = group_size(c, 1);
    double t = asc_onnx_number(c, 1, 0), alpha = asc_onnx_attr_float(c, "alpha", 0);
    double beta = t > 0 ? asc_onnx_attr_float(c, "beta", 0) : 1;
    bool nesterov = asc_onnx_attr_is(c, "mode", "standard", "nesterov");
    asc_tensor *rate = asc_onnx_t(c, 0);
    for (size_t i = 0; i < n && c->st == ASC_OK; i++) {
        asc_tensor *x = asc_onnx_t(c, 2 + i), *g = regularized(c, x, asc_onnx_t(c, 2 + n + i));
        asc_tensor *v =
            asc_add(ctx, asc_scale(ctx, asc_onnx_t(c, 2 + 2 * n + i), alpha), asc_scale(ctx, g, beta));
        asc_tensor *step = nesterov ? asc_add(ctx, g, asc_scale(ctx, v, alpha)) : v;
        asc_onnx_set(c, i, asc_sub(ctx, x, asc_mul(ctx, rate, step)), asc_onnx_elem(c, 2 + i));
        asc_onnx_set(c, n + i, v, asc_onnx_elem(c, 2 + i));
    }
    return c->st;
}

asc_status asc_onnx_Adagrad(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    size_t n = group_size(c, 1);
    double t = asc_onnx_number(c, 1, 0), decay = asc_onnx_attr_float(c, "decay_factor", 0);
    double eps = asc_onnx_attr_float(c, "epsilon", 0);
    asc_tensor *rate = asc_scale(ctx, asc_onnx_t(c, 0), 1 / (1 + t * decay));
    for (size_t i = 0; i < n && c->st == ASC_OK; i++) {
        asc_tensor *x = asc_onnx_t(c, 2 + i), *g = regularized(c, x, asc_onnx_t(c, 2 + n + i));
        asc_tensor *h = asc_add(ctx, asc_onnx_t(c, 2 + 2 * n + i), asc_square(ctx, g));
        asc_tensor *step = asc_div(ctx, g, asc_shift(ctx, asc_sqrt(ctx, h), eps));
        asc_onnx_set(c, i, asc_sub(ctx, x, asc_mul(ctx, rate, step)), asc_onnx_elem(c, 2 + i));
        asc_onnx_set(c, n + i, h, asc_onnx_elem(c, 2 + i));
    }
    return c->st;
}

asc_status asc_onnx_Adam(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    size_t n = group_size(c, 2);
    double t = asc_onnx_number(c, 1, 0), eps = asc_onnx_attr_float(c, "epsilon", 0);
    double alpha = asc_onnx_attr_float(c, "alpha", (double)0.9F),
           beta = asc_onnx_attr_float(c, "beta", (double)0.999F);
    double after = 1 - asc_onnx_attr_float(c, "norm_coefficient_post", 0);
    double factor = t > 0 ? sqrt(1 - pow(beta, t)) / (1 - pow(alpha, t)) : 1;
    asc_tensor *rate = asc_scale(ctx, asc_onnx_t(c, 0), factor);
    for (size_t i = 0; i < n && c->st == ASC_OK; i++) {
        asc_tensor *x = asc_onnx_t(c, 2 + i), *g = regularized(c, x, asc_onnx_t(c, 2 + n + i));
        asc_tensor *v = asc_onnx_t(c, 2 + 2 * n + i), *h = asc_onnx_t(c, 2 + 3 * n + i);
        v = asc_add(ctx, asc_scale(ctx, v, alpha), asc_scale(ctx, g, 1 - alpha));
        h = asc_add(ctx, asc_scale(ctx, h, beta), asc_scale(ctx, asc_square(ctx, g), 1 - beta));
        asc_tensor *step = asc_div(ctx, v, asc_shift(ctx, asc_sqrt(ctx, h), eps));
        asc_tensor *next = asc_scale(ctx, asc_sub(ctx, x, asc_mul(ctx, rate, step)), after);
        asc_onnx_set(c, i, next, asc_onnx_elem(c, 2 + i));
        asc_onnx_set(c, n + i, v, asc_onnx_elem(c, 2 + i));
        asc_onnx_set(c, 2 * n + i, h, asc_onnx_elem(c, 2 + i));
    }
    return c->st;
}
