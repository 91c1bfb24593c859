/* explain_mlp.c - a net written in C, and which of its inputs made its answer. Build it with:
 * cc explain_mlp.c $(pkg-config --cflags --libs ascribe) */
#include "ascribe/attribute.h"
#include <stdio.h>

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)self;
    asc_tensor *h = asc_nn_activation(f, "relu", asc_nn_linear(f, "hidden", in[0]), ASC_ACT_RELU);
    out[0] = asc_nn_linear(f, "output", h);
}

int main(void) {
    static const float hidden[] = {1, -1, 0, 0.5f, 1, 1}, output[] = {2, -1}, x[] = {3, 1, 2};
    const asc_array w1 = {ASC_ELEM_F32, {2, {2, 3}}, hidden}, w2 = {ASC_ELEM_F32, {2, {1, 2}}, output};
    const asc_array input = {ASC_ELEM_F32, {2, {1, 3}}, x};
    const asc_port port = {"x", ASC_ELEM_F32, {2, {-1, 3}}, true}; /* any number of rows of three */
    const char *const names[] = {"y"};
    asc_net_def def = {sizeof def, &port, 1, names, 1, forward, NULL, NULL};
    asc_attr_request request = {.struct_size = sizeof request, .method = "integrated-gradients"};
    asc_ctx *ctx = NULL;
    asc_net *net = NULL;
    asc_attribution *a = NULL;
    request.inputs = &input;
    request.n_inputs = 1;
    if (asc_ctx_create(NULL, &ctx) != ASC_OK) return 1;
    bool ok = asc_params_create(ctx, &def.params) == ASC_OK &&
              asc_params_add(def.params, "hidden.weight", &w1) == ASC_OK &&
              asc_params_add(def.params, "output.weight", &w2) == ASC_OK &&
              asc_net_create(ctx, &def, &net) == ASC_OK && asc_attribute(net, &request, &a) == ASC_OK;
    for (int i = 0; ok && i < 3; i++) printf("x%d = %g gave %+.4f\n", i, (double)x[i], a->scores[0].data[i]);
    if (ok) printf("y = %g, without the inputs %g\n", a->value[0], a->baseline_value[0]);
    if (!ok) fprintf(stderr, "explain_mlp: %s\n  %s\n", asc_error_message(ctx), asc_error_hint(ctx));
    asc_attribution_destroy(ctx, a);
    asc_net_close(net);
    asc_params_destroy(def.params);
    asc_ctx_destroy(ctx);
    return ok ? 0 : 1;
}
