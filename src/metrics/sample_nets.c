/* sample_nets.c - see sample_nets.h. Weights and inputs are normal draws of the counter-based generator, so
 * they are the same everywhere; weights are scaled by the root of their fan-in. The seed was chosen so that
 * no score is a small difference of large numbers and no unit stands at its kink: there f32 has no digits
 * left to compare. */
#include "sample_nets.h"
#include "alloc.h"
#include "ascribe/ops.h"
#include "hash.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 17, MOST_WEIGHTS = 640, EXAMPLES = 2, ROWS = 4, WIDTH = 8, TOKENS = 4, HEADS = 2 };

/* Box-Muller. */
static double normal(uint64_t stream, uint64_t i) {
    double u = 1.0 - asc_uniform(SEED, stream, 2 * i), v = asc_uniform(SEED, stream, 2 * i + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* How a weight is drawn: by its fan-in, around one, around zero, or above a half (variances). */
typedef enum draw { BY_FAN_IN, AROUND_ONE, AROUND_ZERO, POSITIVE } draw;

typedef struct weight {
    const char *name;
    draw how;
    asc_shape shape;
} weight;

#define LINEAR(name, n, k)                                                                                   \
    {name ".weight", BY_FAN_IN, {2, {n, k}}}, {                                                              \
        name ".bias", AROUND_ZERO, {                                                                         \
            1, { n }                                                                                         \
        }                                                                                                    \
    }
#define NORM(name, n)                                                                                        \
    {name ".weight", AROUND_ONE, {1, {n}}}, {                                                                \
        name ".bias", AROUND_ZERO, {                                                                         \
            1, { n }                                                                                         \
        }                                                                                                    \
    }

static void mlp(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)self;
    asc_tensor *x = asc_nn_activation(f, "relu", asc_nn_linear(f, "first", in[0]), ASC_ACT_RELU);
    x = asc_nn_activation(f, "tanh", asc_nn_linear(f, "second", x), ASC_ACT_TANH);
    out[0] = asc_nn_linear(f, "last", x);
}
static const weight mlp_weights[] = {LINEAR("first", 12, 8), LINEAR("second", 10, 12), LINEAR("last", 3, 10)};

static void cnn(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    static const int64_t two[] = {2, 2}, three[] = {3, 3};
    static const asc_conv_shape same = {.pad = {1, 1}};
    (void)self;
    asc_tensor *x = asc_nn_batch_norm(f, "norm", asc_nn_conv(f, "conv1", in[0], &same), 0.0);
    x = asc_nn_max_pool(f, "pool1", asc_nn_activation(f, "relu1", x, ASC_ACT_RELU), two, NULL, NULL);
    x = asc_nn_activation(f, "relu2", asc_nn_conv(f, "conv2", x, &same), ASC_ACT_RELU);
    x = asc_nn_avg_pool(f, "pool2", x, three, NULL, NULL);
    x = asc_reshape(asc_frame_ctx(f), x, ASC_SHAPE(-1, 6));
    out[0] = asc_nn_linear(f, "last", x);
}
static const weight cnn_weights[] = {
    {"conv1.weight", BY_FAN_IN, {4, {4, 1, 3, 3}}},
    {"conv1.bias", AROUND_ZERO, {1, {4}}},
    NORM("norm", 4),
    {"norm.running_mean", AROUND_ZERO, {1, {4}}},
    {"norm.running_var", POSITIVE, {1, {4}}},
    {"conv2.weight", BY_FAN_IN, {4, {6, 4, 3, 3}}},
    {"conv2.bias", AROUND_ZERO, {1, {6}}},
    LINEAR("last", 3, 6),
};

/* One block of an encoder: attention and a gelu layer, each behind a layer norm and beside a residual. */
static void transformer(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    static const int tokens = 1;
    asc_ctx *ctx = asc_frame_ctx(f);
    const asc_shape heads = ASC_SHAPE(-1, TOKENS, HEADS, WIDTH / HEADS), flat = ASC_SHAPE(-1, TOKENS, WIDTH);
    (void)self;
    asc_tensor *h = asc_nn_layer_norm(f, "norm1", in[0], 0.0);
    asc_tensor *q = asc_reshape(ctx, asc_nn_linear(f, "query", h), heads);
    asc_tensor *k = asc_reshape(ctx, asc_nn_linear(f, "key", h), heads);
    asc_tensor *v = asc_reshape(ctx, asc_nn_linear(f, "value", h), heads);
    h = asc_sdpa(ctx, q, k, v, 1.0 / sqrt((double)WIDTH / HEADS), false, 0, 0.0);
    asc_tensor *x = asc_add(ctx, in[0], asc_nn_linear(f, "mix", asc_reshape(ctx, h, flat)));
    x = asc_site(f, "attended", x);
    h = asc_nn_linear(f, "up", asc_nn_layer_norm(f, "norm2", x, 0.0));
    h = asc_nn_linear(f, "down", asc_nn_activation(f, "gelu", h, ASC_ACT_GELU));
    out[0] = asc_nn_linear(f, "last", asc_mean(ctx, asc_add(ctx, x, h), 1, &tokens, false));
}
static const weight transformer_weights[] = {
    NORM("norm1", WIDTH),           LINEAR("query", WIDTH, WIDTH),    LINEAR("key", WIDTH, WIDTH),
    LINEAR("value", WIDTH, WIDTH),  LINEAR("mix", WIDTH, WIDTH),      NORM("norm2", WIDTH),
    LINEAR("up", 2 * WIDTH, WIDTH), LINEAR("down", WIDTH, 2 * WIDTH), LINEAR("last", 3, WIDTH),
};

typedef struct recipe {
    const char *name, *site;
    asc_net_fn forward;
    const weight *weights;
    size_t n_weights;
    asc_shape row, site_row; /* shapes of one example of the input and of the site */
    int64_t window[3];
    int unit_rank;
    int64_t unit[3];
} recipe;

#define COUNT(a) (sizeof(a) / sizeof *(a))
static const recipe recipes[ASC_N_SAMPLE_NETS] = {
    {"mlp", "second", mlp, mlp_weights, COUNT(mlp_weights), {1, {8}}, {1, {10}}, {3}, 1, {4}},
    {"cnn",
     "relu1",
     cnn,
     cnn_weights,
     COUNT(cnn_weights),
     {3, {1, 6, 6}},
     {3, {4, 6, 6}},
     {1, 3, 3},
     3,
     {2, 3, 4}},
    {"transformer",
     "attended",
     transformer,
     transformer_weights,
     COUNT(transformer_weights),
     {2, {TOKENS, WIDTH}},
     {2, {TOKENS, WIDTH}},
     {1, WIDTH},
     2,
     {2, 5}},
};

static asc_status add_weights(asc_sample_net *s, const recipe *r) {
    float data[MOST_WEIGHTS];
    asc_status st = ASC_OK;
    for (size_t w = 0; st == ASC_OK && w < r->n_weights; w++) {
        const asc_array a = {ASC_ELEM_F32, r->weights[w].shape, data};
        int64_t n = asc_array_count(&a), fan_in = n / a.shape.dims[0];
        for (int64_t i = 0; i < n && i < MOST_WEIGHTS; i++) {
            double x = normal(w + 1, (uint64_t)i);
            draw how = r->weights[w].how;
            x = how == BY_FAN_IN    ? x / sqrt((double)fan_in)
                : how == AROUND_ONE ? 1.0 + 0.1 * x
                : how == POSITIVE   ? 0.5 + fabs(x)
                                    : 0.1 * x;
            data[i] = (float)x;
        }
        st = asc_params_add(s->params, r->weights[w].name, &a);
    }
    return st;
}

/* `rows` examples: dimension 0 before the shape of one. */
static asc_array stacked(const asc_shape *row, int64_t rows, asc_elem elem, const void *data) {
    asc_array a = {elem, {row->rank + 1, {rows}}, data};
    memcpy(a.shape.dims + 1, row->dims, (size_t)row->rank * sizeof *row->dims);
    return a;
}

/* Runs of neighbours as groups. */
static asc_array grouped(const asc_shape *row, int32_t *ids) {
    asc_array a = stacked(row, 1, ASC_ELEM_I32, ids);
    int64_t n = asc_array_count(&a);
    for (int64_t k = 0; k < n; k++) ids[k] = (int32_t)(k * ASC_SAMPLE_FEATURES / n);
    return a;
}

asc_status asc_sample_net_init(asc_ctx *ctx, size_t i, asc_sample_net *out) {
    static const char *const outputs[] = {"logits"};
    const recipe *r = &recipes[i];
    asc_status st = ASC_OK;
    int64_t n = 1;
    memset(out, 0, sizeof *out);
    for (int d = 0; d < r->row.rank; d++) n *= r->row.dims[d];
    for (int64_t k = 0; k < EXAMPLES * n; k++) out->values[k] = (float)(1.5 * normal(100, (uint64_t)k));
    for (int64_t k = 0; k < n; k++) out->base_values[k] = 0.3f * (float)normal(101, (uint64_t)k);
    for (int64_t k = 0; k < ROWS * n; k++) out->row_values[k] = 0.5f * (float)normal(102, (uint64_t)k);
    out->name = r->name;
    out->site = r->site;
    out->input = stacked(&r->row, EXAMPLES, ASC_ELEM_F32, out->values);
    out->baseline = stacked(&r->row, 1, ASC_ELEM_F32, out->base_values);
    out->rows = stacked(&r->row, ROWS, ASC_ELEM_F32, out->row_values);
    out->mask = grouped(&r->row, out->ids);
    out->site_mask = grouped(&r->site_row, out->site_ids);
    out->n_window = (size_t)r->row.rank;
    out->unit_rank = r->unit_rank;
    memcpy(out->window, r->window, sizeof out->window);
    memcpy(out->unit, r->unit, sizeof out->unit);
    asc_port port = {"x", ASC_ELEM_F32, out->input.shape, true};
    port.shape.dims[0] = -1;
    ASC_TRY(asc_params_create(ctx, &out->params));
    ASC_TRY(add_weights(out, r));
    asc_net_def def = {.struct_size = sizeof def,
                       .inputs = &port,
                       .n_inputs = 1,
                       .outputs = outputs,
                       .n_outputs = 1,
                       .forward = r->forward,
                       .params = out->params};
    ASC_TRY(asc_net_create(ctx, &def, &out->net));
done:
    return st;
}

void asc_sample_net_deinit(asc_sample_net *s) {
    asc_net_close(s->net);
    asc_params_destroy(s->params);
    s->net = NULL;
    s->params = NULL;
}
