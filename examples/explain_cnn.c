/* explain_cnn.c - a small convolutional net that looks for upright edges, and where it saw one. Build it
 * with: cc explain_cnn.c $(pkg-config --cflags --libs ascribe) */
#include "ascribe/attribute.h"
#include <stdio.h>

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    const int64_t whole[] = {6, 6};
    asc_tensor *map = asc_nn_activation(f, "edges", asc_nn_conv(f, "conv", in[0], self), ASC_ACT_RELU);
    out[0] = asc_nn_avg_pool(f, "strength", map, whole, NULL, NULL);
}

int main(void) {
    static const float kernel[9] = {-1, 0, 1, -1, 0, 1, -1, 0, 1};
    float picture[64];
    for (int i = 0; i < 64; i++) picture[i] = i % 8 >= 4 && i / 8 >= 2 ? 1.0f : 0.0f;
    const asc_array weight = {ASC_ELEM_F32, {4, {1, 1, 3, 3}}, kernel};
    const asc_array input = {ASC_ELEM_F32, {4, {1, 1, 8, 8}}, picture};
    const asc_port port = {"picture", ASC_ELEM_F32, {4, {-1, 1, 8, 8}}, true};
    const char *const names[] = {"score"}, *const at[] = {"edges"};
    asc_conv_shape shape = {.groups = 1};
    asc_net_def def = {sizeof def, &port, 1, names, 1, forward, &shape, NULL};
    asc_attr_request r = {.struct_size = sizeof r, .method = "grad-cam", .inputs = &input, .n_inputs = 1};
    asc_ctx *ctx = NULL;
    asc_net *net = NULL;
    asc_attribution *a = NULL;
    r.at = at;
    r.n_at = 1;
    if (asc_ctx_create(NULL, &ctx) != ASC_OK) return 1;
    bool ok = asc_params_create(ctx, &def.params) == ASC_OK &&
              asc_params_add(def.params, "conv.weight", &weight) == ASC_OK &&
              asc_net_create(ctx, &def, &net) == ASC_OK && asc_attribute(net, &r, &a) == ASC_OK;
    for (int i = 0; ok && i < 36; i++) printf("%6.3f%s", a->scores[0].data[i], i % 6 == 5 ? "\n" : "");
    if (!ok) fprintf(stderr, "explain_cnn: %s\n  %s\n", asc_error_message(ctx), asc_error_hint(ctx));
    asc_attribution_destroy(ctx, a);
    asc_net_close(net);
    asc_params_destroy(def.params);
    asc_ctx_destroy(ctx);
    return ok ? 0 : 1;
}
