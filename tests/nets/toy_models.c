/* toy_models.c - the forward functions. Each reads like the module's own, from the description in the
 * reference (architecture text and notes of the recorded weights). */
#include "toy_models.h"
#include "alloc.h"
#include "ctx.h"
#include "ops.h"
#include <stdio.h>
#include <string.h>

/* One run: shorthands bind the frame, the context and the prefix of names ("module.m1."). */
typedef struct run {
    asc_frame *f;
    asc_ctx *ctx;
    const toy *t;
    asc_tensor *const *in;
    const char *prefix;
} run;

struct toy_model {
    const char *name;
    asc_tensor *(*forward)(const run *r);
    const char *prefix;
    bool no_weights, no_batch;
};

/* prefix + name, in a buffer that lives until the end of the full expression of its caller's call. */
#define NAME(r, name) full((r)->prefix, (name), (char[128]){0})
static const char *full(const char *prefix, const char *name, char out[128]) {
    snprintf(out, 128, "%s%s", prefix, name);
    return out;
}

static run inside(const run *r, const char *module, char text[128]) {
    run inner = *r;
    snprintf(text, 128, "%s%s.", r->prefix, module);
    inner.prefix = text;
    return inner;
}

static asc_tensor *linear(const run *r, const char *name, asc_tensor *x) {
    return asc_nn_linear(r->f, NAME(r, name), x);
}
static asc_tensor *relu(const run *r, const char *name, asc_tensor *x) {
    return asc_nn_activation(r->f, NAME(r, name), x, ASC_ACT_RELU);
}
static asc_tensor *add(const run *r, asc_tensor *a, asc_tensor *b) { return asc_add(r->ctx, a, b); }
static asc_tensor *sub(const run *r, asc_tensor *a, asc_tensor *b) { return asc_sub(r->ctx, a, b); }
static asc_tensor *mul(const run *r, asc_tensor *a, asc_tensor *b) { return asc_mul(r->ctx, a, b); }
static asc_tensor *site(const run *r, const char *name, asc_tensor *x) {
    return asc_site(r->f, NAME(r, name), x);
}

/* (o, factor o) stacked behind the last axis. */
static asc_tensor *stack(const run *r, asc_tensor *o, double factor) {
    asc_shape s = asc_tensor_shape(o);
    if (asc_tensor_poisoned(o)) return o;
    s.dims[s.rank++] = 1;
    asc_tensor *a = asc_reshape(r->ctx, o, s);
    return asc_concat(r->ctx, (asc_tensor *[]){a, asc_scale(r->ctx, a, factor)}, 2, s.rank - 1);
}

static asc_tensor *multi_layer(const run *r, asc_tensor *x) {
    asc_tensor *l1 = linear(r, "linear1", linear(r, "linear0", x)), *h;
    if (r->t->options.multi_input_module) {
        asc_tensor *alt = linear(r, "linear1_alt", x);
        asc_tensor *a = relu(r, "multi_relu.relu1", l1), *b = relu(r, "multi_relu.relu2", alt);
        h = add(r, a, b);
        relu(r, "relu", l1); /* Captum's model calls it and drops the result */
    } else {
        h = relu(r, "relu", l1);
    }
    asc_tensor *y = linear(r, "linear2", h);
    return r->t->options.multidim_output ? stack(r, stack(r, y, 2.0), 4.0) : y;
}

/* x[, add_input] */
static asc_tensor *ml(const run *r) {
    return multi_layer(r, r->t->n_inputs > 1 ? add(r, r->in[0], r->in[1]) : r->in[0]);
}

static asc_tensor *submodule(const run *r, const char *name, asc_tensor *x) {
    char text[128], in[128];
    run inner = inside(r, name, text);
    snprintf(in, sizeof in, "%s.in", name);
    return site(r, name, multi_layer(&inner, site(r, in, x)));
}

/* x1, x2, x3, scale */
static asc_tensor *mlmi(const run *r) {
    asc_tensor *sum = add(r, add(r, r->in[0], r->in[1]), r->in[2]);
    return submodule(r, "model", r->t->n_inputs > 3 ? mul(r, sum, r->in[3]) : sum);
}

/* x1, x2, x3[, x4]; m234 gets x1 in the place of an absent x4, and the scale 1 */
static asc_tensor *mltmi(const run *r) {
    asc_tensor *a = submodule(r, "m1", r->in[0]),
               *parts[3] = {r->in[1], r->in[2], r->in[r->t->n_inputs > 3 ? 3 : 0]};
    for (int i = 0; i < 3; i++) parts[i] = site(r, "m234.in", parts[i]);
    char text[128];
    run inner = inside(r, "m234", text);
    asc_tensor *b = submodule(&inner, "model", add(r, add(r, parts[0], parts[1]), parts[2]));
    return add(r, a, site(r, "m234", b));
}

/* ModelInputWrapper around it: an identity module for each input. */
static asc_tensor *wrapped(const run *r) {
    static const char *const names[4] = {"input_maps.x1", "input_maps.x2", "input_maps.x3", "input_maps.x4"};
    asc_tensor *in[4] = {0};
    run outer = *r, inner = *r;
    outer.prefix = "";
    for (size_t i = 0; i < r->t->n_inputs && i < 4; i++) in[i] = site(&outer, names[i], r->in[i]);
    inner.in = in;
    return mltmi(&inner);
}

/* x bool[, add_input] */
static asc_tensor *bool_input(const run *r) {
    asc_tensor *x = asc_scale(r->ctx, asc_cast(r->ctx, r->in[0], ASC_DTYPE_F32), 10.0);
    return submodule(r, "mod", r->t->n_inputs > 1 ? add(r, x, r->in[1]) : x);
}

static asc_tensor *conv_net(const run *r) {
    const int64_t two[3] = {2, 2, 2};
    asc_tensor *x = r->in[0];
    static const char *const names[2][3] = {{"conv1", "relu1", "pool1"}, {"conv2", "relu2", "pool2"}};
    for (int i = 0; i < 2; i++) {
        x = relu(r, names[i][1], asc_nn_conv(r->f, names[i][0], x, NULL));
        x = asc_nn_max_pool(r->f, names[i][2], x, two, NULL, NULL);
    }
    x = relu(r, "relu3", linear(r, "fc1", asc_reshape(r->ctx, x, ASC_SHAPE(-1, 4))));
    return asc_nn_softmax(r->f, "softmax", linear(r, "fc2", x));
}

/* x[, x2] */
static asc_tensor *one_conv(const run *r) {
    asc_tensor *x = r->t->n_inputs > 1 ? add(r, r->in[0], r->in[1]) : r->in[0];
    x = relu(r, "relu1", asc_nn_conv(r->f, "conv1", x, NULL));
    return relu(r, "relu2", linear(r, "fc1", asc_reshape(r->ctx, x, ASC_SHAPE(-1, 8))));
}

/* x1, x2[, x3 number] */
static asc_tensor *relu_linear(const run *r) {
    asc_tensor *a = linear(r, "l1", r->in[0]), *b = linear(r, "l2", r->in[1]);
    if (r->t->n_inputs > 2) b = mul(r, r->in[2], b);
    return linear(r, "l3", relu(r, "relu", asc_concat(r->ctx, (asc_tensor *[]){a, b}, 2, 1)));
}

static asc_tensor *one_minus(const run *r, asc_tensor *x) {
    return asc_shift(r->ctx, asc_neg(r->ctx, x), 1.0);
}

static asc_tensor *basic(const run *r) { return one_minus(r, relu(r, "relu", one_minus(r, r->in[0]))); }

static asc_tensor *basic2(const run *r) {
    asc_tensor *a = relu(r, "relu1", r->in[0]), *b = relu(r, "relu2", r->in[1]);
    return relu(r, "relu", sub(r, asc_shift(r->ctx, a, -1.0), b));
}

static asc_tensor *basic3(const run *r) {
    asc_tensor *a = relu(r, "relu1", asc_shift(r->ctx, r->in[0], -1.0)), *b = relu(r, "relu2", r->in[1]);
    return relu(r, "relu", sub(r, a, b));
}

/* Column k of [B,n] as [B]. */
static asc_tensor *column(const run *r, asc_tensor *x, int64_t k) {
    return asc_reshape(r->ctx, asc_slice(r->ctx, x, 1, k, 1), ASC_SHAPE(-1));
}

/* x1, x2, a */
static asc_tensor *basic4(const run *r) {
    asc_tensor *a = relu(r, "relu1", asc_shift(r->ctx, r->in[0], -1.0)), *b = relu(r, "relu2", r->in[1]);
    return column(r, relu(r, "relu", sub(r, a, asc_div(r->ctx, b, r->in[2]))), r->t->options.column);
}

/* x1, x2, p, q */
static asc_tensor *basic5(const run *r) {
    asc_tensor *a = relu(r, "relu1", asc_shift(r->ctx, r->in[0], -1.0)), *b = relu(r, "relu2", r->in[1]);
    return column(r, relu(r, "relu", sub(r, mul(r, a, r->in[2]), mul(r, b, r->in[3]))), r->t->options.column);
}

static asc_tensor *basic6(const run *r) {
    return column(r, one_minus(r, relu(r, "relu", one_minus(r, add(r, r->in[0], r->in[1])))), 1);
}

/* x1, x2[, x3 number, 2] */
static asc_tensor *relu_deep_lift(const run *r) {
    asc_tensor *a = relu(r, "relu1", r->in[0]), *b = relu(r, "relu2", asc_shift(r->ctx, r->in[1], -1.5));
    b = r->t->n_inputs > 2 ? mul(r, r->in[2], b) : asc_scale(r->ctx, b, 2.0);
    return add(r, asc_scale(r->ctx, a, 2.0), b);
}

static asc_tensor *tanh_deep_lift(const run *r) {
    asc_tensor *a = asc_nn_activation(r->f, "tanh1", r->in[0], ASC_ACT_TANH),
               *b = asc_nn_activation(r->f, "tanh2", asc_shift(r->ctx, r->in[1], -1.5), ASC_ACT_TANH);
    return add(r, asc_scale(r->ctx, a, 2.0), asc_scale(r->ctx, b, 2.0));
}

static asc_tensor *linear_max_pool(const run *r) {
    const int64_t four[1] = {4};
    asc_tensor *x = linear(r, "lin1", asc_reshape(r->ctx, r->in[0], ASC_SHAPE(-1, 1, 4)));
    x = asc_nn_max_pool(r->f, "pool1", x, four, NULL, NULL);
    return linear(r, "lin2", asc_reshape(r->ctx, x, ASC_SHAPE(-1, 1)));
}

/* With weights: linear, then windows of 2 along the last axis; without: windows of 2 by 2. */
static asc_tensor *max_pool(const run *r) {
    const int64_t two[2] = {2, 2};
    asc_tensor *x = asc_has_param(r->f, "linear.weight") ? linear(r, "linear", r->in[0]) : r->in[0];
    return asc_nn_max_pool(r->f, "maxpool", x, two, NULL, NULL);
}

static asc_tensor *reused_modules(const run *r) {
    return relu(r, "relu", linear(r, "lin2", relu(r, "relu", linear(r, "lin1", r->in[0]))));
}

static asc_tensor *reused_linear(const run *r) {
    return relu(r, "relu", linear(r, "lin1", relu(r, "relu", linear(r, "lin1", r->in[0]))));
}

/* Any number of inputs, flattened behind the batch and joined. */
static asc_tensor *joined_linear(const run *r) {
    asc_tensor *flat[TOY_MAX_INPUTS];
    const int n = (int)r->t->n_inputs;
    for (int i = 0; i < n; i++) {
        asc_shape s = asc_tensor_shape(r->in[i]);
        int64_t rest = 1;
        for (int k = 1; k < s.rank; k++) rest *= s.dims[k];
        flat[i] = asc_reshape(r->ctx, r->in[i], ASC_SHAPE(s.dims[0], rest));
    }
    return linear(r, "linear", n > 1 ? asc_concat(r->ctx, flat, n, 1) : flat[0]);
}

/* inputs, list: the list's first number (0 if it is empty) is added to each example, and all are summed. */
static asc_tensor *sparse(const run *r) {
    const int all[2] = {0, 1};
    asc_tensor *y = linear(r, "lin1", r->in[0]);
    if (asc_tensor_elems(r->in[1]) > 0) y = add(r, y, asc_slice(r->ctx, r->in[1], 0, 0, 1));
    return asc_sum(r->ctx, y, 2, all, false);
}

static asc_tensor *sigmoid_model(const run *r) {
    asc_tensor *x = linear(r, "lin2", relu(r, "relu1", linear(r, "lin1", r->in[0])));
    return asc_nn_activation(r->f, "sigmoid", x, ASC_ACT_SIGMOID);
}

static asc_tensor *softmax_model(const run *r) {
    return asc_nn_softmax(r->f, "softmax", linear(r, "lin2", relu(r, "relu1", linear(r, "lin1", r->in[0]))));
}

/* Dropout does nothing outside training. */
static asc_tensor *simple_lrp(const run *r) {
    return site(r, "dropout", linear(r, "linear2", relu(r, "relu", linear(r, "linear", r->in[0]))));
}

static asc_tensor *tanh_model(const run *r) {
    return linear(r, "linear2", asc_nn_activation(r->f, "tanh", linear(r, "linear", r->in[0]), ASC_ACT_TANH));
}

static asc_tensor *lin_relu(const run *r) { return relu(r, "relu", linear(r, "lin", r->in[0])); }

static asc_tensor *sequential(const run *r) { return relu(r, "1", asc_nn_conv(r->f, "0", r->in[0], NULL)); }

static asc_tensor *skip(const run *r) {
    return site(r, "add", add(r, r->in[0], linear(r, "linear", r->in[0])));
}

static const toy_model models[] = {
    {"BasicModel_MultiLayer", ml, "", false, false},
    {"BasicModel_MultiLayer_MultiInput", mlmi, "", false, false},
    {"BasicModel_MultiLayer_TrueMultiInput", mltmi, "", false, false},
    {"ModelInputWrapper", wrapped, "module.", false, false},
    {"BasicModelBoolInput", bool_input, "", false, false},
    {"BasicModel_ConvNet", conv_net, "", false, false},
    {"BasicModel_ConvNet_MaxPool1d", conv_net, "", false, false},
    {"BasicModel_ConvNet_MaxPool3d", conv_net, "", false, false},
    {"BasicModel_ConvNet_One_Conv", one_conv, "", false, false},
    {"ReLULinearModel", relu_linear, "", false, false},
    {"BasicModel", basic, "", true, false},
    {"BasicModel2", basic2, "", true, false},
    {"BasicModel3", basic3, "", true, false},
    {"BasicModel4_MultiArgs", basic4, "", true, false},
    {"BasicModel5_MultiArgs", basic5, "", true, false},
    {"BasicModel6_MultiTensor", basic6, "", true, false},
    {"ReLUDeepLiftModel", relu_deep_lift, "", true, false},
    {"TanhDeepLiftModel", tanh_deep_lift, "", true, false},
    {"LinearMaxPoolLinearModel", linear_max_pool, "", false, false},
    {"MaxPoolModel", max_pool, "", false, false},
    {"BasicModelWithReusedModules", reused_modules, "", false, false},
    {"BasicModelWithReusedLinear", reused_linear, "", false, false},
    {"BasicLinearModel", joined_linear, "", false, false},
    {"Linear", joined_linear, "", false, false},
    {"BasicModelWithSparseInputs", sparse, "", false, true},
    {"SigmoidModel", sigmoid_model, "", false, false},
    {"SigmoidDeepLiftModel", sigmoid_model, "", false, false},
    {"SoftmaxModel", softmax_model, "", false, false},
    {"SoftmaxDeepLiftModel", softmax_model, "", false, false},
    {"SimpleLRPModel", simple_lrp, "", false, false},
    {"Model", tanh_model, "", false, false},
    {"MyModel", lin_relu, "", false, false},
    {"Sequential", sequential, "", false, false},
    {"SkipConnection", skip, "", false, false},
};
enum { N_MODELS = sizeof models / sizeof models[0] };

const char *toy_name(size_t i) { return i < N_MODELS ? models[i].name : NULL; }

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    const toy *t = self;
    run r = {f, asc_frame_ctx(f), t, in, t->model->prefix};
    out[0] = t->model->forward(&r);
}

static asc_port port_of(const toy_model *m, const asc_array *inputs, size_t i) {
    static const char *const names[TOY_MAX_INPUTS] = {"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"};
    const asc_array *a = &inputs[i], *first = &inputs[0];
    asc_port p = {names[i], a->elem == ASC_ELEM_BOOL ? ASC_ELEM_BOOL : ASC_ELEM_F32, a->shape, false};
    p.batch = !m->no_batch && a->shape.rank > 0 && a->shape.dims[0] == first->shape.dims[0] &&
              (a->shape.rank > 1 || first->shape.rank == 1);
    if (p.batch) p.shape.dims[0] = -1;
    return p;
}

static asc_status open_params(asc_ctx *ctx, const char *path, const toy_model *m, const char *key,
                              const asc_json *state, asc_params **out) {
    asc_json *root = NULL;
    if (m->no_weights || (state == NULL && path == NULL)) return ASC_OK;
    if (state != NULL) return toy_params_of(ctx, state, out);
    asc_status st = toy_line_of(ctx, path, m->name, key, &root);
    if (st == ASC_OK) st = toy_params_of(ctx, asc_json_get(root, "state"), out);
    asc_json_free(root);
    return st;
}

asc_status toy_open(asc_ctx *ctx, const char *weights_path, const char *model, const char *key,
                    const asc_json *state, const toy_options *options, const asc_array *inputs,
                    size_t n_inputs, toy **out) {
    asc_status st = ASC_OK;
    asc_port ports[TOY_MAX_INPUTS];
    const char *outputs[] = {"out"};
    size_t k = 0;
    *out = NULL;
    while (k < N_MODELS && strcmp(models[k].name, model) != 0) k++;
    if (k == N_MODELS) return ASC_FAIL(ctx, ASC_NOT_FOUND, "no toy model '%s'", model);
    if (n_inputs == 0 || n_inputs > TOY_MAX_INPUTS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu inputs of a toy model", n_inputs);
    toy *t = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *t);
    if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
    t->model = &models[k];
    if (options != NULL) t->options = *options;
    t->n_inputs = n_inputs;
    for (size_t i = 0; i < n_inputs; i++) ports[i] = port_of(t->model, inputs, i);
    ASC_TRY(open_params(ctx, weights_path, t->model, key, state, &t->params));
    asc_net_def def = {.struct_size = sizeof def,
                       .inputs = ports,
                       .n_inputs = n_inputs,
                       .outputs = outputs,
                       .n_outputs = 1,
                       .forward = forward,
                       .self = t,
                       .params = t->params};
    ASC_TRY(asc_net_create(ctx, &def, &t->net));
    *out = t;
    return ASC_OK;
done:
    toy_close(ctx, t);
    return st;
}

void toy_close(asc_ctx *ctx, toy *t) {
    if (t == NULL) return;
    asc_net_close(t->net);
    asc_params_destroy(t->params);
    asc_free(ctx, t);
}
