/* nn_activation.c - layers without weights that keep the shape. */
#include "layer.h"
#include "ops.h"

static asc_tensor *apply(const asc_layer *l, asc_tensor *x, asc_activation kind) {
    switch (kind) {
    case ASC_ACT_RELU:
        return asc_relu(l->ctx, x);
    case ASC_ACT_SIGMOID:
        return asc_sigmoid(l->ctx, x);
    case ASC_ACT_TANH:
        return asc_tanh(l->ctx, x);
    case ASC_ACT_SOFTPLUS:
        return asc_softplus(l->ctx, x);
    case ASC_ACT_ELU:
        return asc_elu(l->ctx, x, 1.0);
    case ASC_ACT_LEAKY_RELU:
        return asc_leaky_relu(l->ctx, x, 0.01);
    case ASC_ACT_GELU:
        return asc_gelu(l->ctx, x);
    case ASC_ACT_SILU:
        return asc_silu(l->ctx, x);
    }
    return asc_layer_fail(l, "activation %d is none", (int)kind);
}

asc_tensor *asc_nn_activation(asc_frame *f, const char *name, asc_tensor *x, asc_activation kind) {
    asc_layer l = asc_layer_begin(f, name, &x);
    return asc_layer_end(&l, apply(&l, x, kind));
}

asc_tensor *asc_nn_softmax(asc_frame *f, const char *name, asc_tensor *x) {
    asc_layer l = asc_layer_begin(f, name, &x);
    return asc_layer_end(&l, asc_softmax(l.ctx, x));
}
