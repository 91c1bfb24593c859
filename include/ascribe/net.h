/* ascribe/net.h - nets: models as functions of named arrays, from ONNX files or written in C.
 *
 * A net has named inputs, named outputs and named sites (inner values). It is never modified: attribution
 * reads, replaces and differentiates values of one run. It belongs to the context it was made in and is
 * closed before that context ends.
 */
#ifndef ASCRIBE_NET_H
#define ASCRIBE_NET_H

#include "ascribe/array.h"
#include "ascribe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_net asc_net;

/* An input or output. Dimensions of -1 are free; batch: dimension 0 counts independent examples. */
typedef struct asc_port {
    const char *name;
    asc_elem elem;
    asc_shape shape;
    bool batch;
} asc_port;

/* Opens an ONNX file (opset 7 to 21; external data beside it). Errors name file, node, operator: NOT_FOUND,
 * DATA_LOSS (malformed), INVALID_ARGUMENT (inconsistent), UNIMPLEMENTED (operator, type or control flow, by
 * name), RESOURCE_EXHAUSTED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_onnx_open(asc_ctx *ctx, const char *path, asc_net **out);
/* Opens the folder of an image classifier (Hugging Face: ViT, DeiT) as a net: input pixel_values [B,C,H,W],
 * output logits. Errors name file, key or tensor. */
ASC_API ASC_MUST_USE asc_status asc_vision_open(asc_ctx *ctx, const char *path, asc_net **out);
/* Whether asc_vision_open is the one to ask, by the model_type in config.json. */
ASC_API bool asc_vision_is_folder(const char *path);
/* Name of class i of the net's first output; NULL when the file does not name it. */
ASC_API const char *asc_net_label(const asc_net *net, size_t i);
/* How a picture becomes the net's input, as its folder says; NULL = it does not. */
struct asc_image_prep;
ASC_API const struct asc_image_prep *asc_net_image_prep(const asc_net *net);
ASC_API void asc_net_close(asc_net *net); /* NULL is accepted */

ASC_API size_t asc_net_n_inputs(const asc_net *net);
ASC_API size_t asc_net_n_outputs(const asc_net *net);
ASC_API asc_port asc_net_input(const asc_net *net, size_t i);
ASC_API asc_port asc_net_output(const asc_net *net, size_t i);
/* Name of site i in the order of the computation; NULL when i is past the last. */
ASC_API const char *asc_net_site(const asc_net *net, size_t i);

/* Runs the net once on n_inputs arrays, in the order of its inputs. out[i] receives value i of `names`
 * (outputs or sites; names NULL = every output), as float32 (float64 on the reference device) or int64 arrays
 * that asc_array_free frees. */
ASC_API ASC_MUST_USE asc_status asc_net_run(asc_net *net, const asc_array *inputs, size_t n_inputs,
                                            const char *const *names, size_t n, asc_array *out);

/* Puts values in the place of a site's own, for the rest of a run. */
typedef struct asc_value_patch {
    const char *site;
    asc_array values; /* of the site's shape in this run; floats where it has floats */
} asc_value_patch;

/* asc_net_run with values replaced; a later patch of a site wins. What is read at a replaced site is what was
 * put there. Errors also: INVALID_ARGUMENT (another shape: both are named), FAILED_PRECONDITION (this run
 * does not come to the site). */
ASC_API ASC_MUST_USE asc_status asc_net_run_patched(asc_net *net, const asc_array *inputs, size_t n_inputs,
                                                    const asc_value_patch *patches, size_t n_patches,
                                                    const char *const *names, size_t n, asc_array *out);

/* Makes a new value of a site's own: records ops (ascribe/ops.h) and returns a tensor of the same shape and
 * type. Each example by itself: a run may bring one, or many along the first axis. Gradients go through it.
 * NULL ends the run. */
typedef asc_tensor *(*asc_value_change)(void *self, asc_ctx *ctx, asc_tensor *value);

typedef struct asc_held_value {
    const char *site;
    asc_array
        values; /* of the site's shape, a first axis of 1 for every example; not looked at with change */
    asc_value_change change; /* instead of values */
    void *self;
} asc_held_value;

/* Puts values in the place of sites' in everything that the net does from now on: runs (asc_net_run_patched's
 * own patches follow these) and attributions, whose gradients go through: a value that is put there has none,
 * one that is changed has the change's. n = 0 ends it. Values are copied; change and self must live until
 * then. Errors: NOT_FOUND, INVALID_ARGUMENT; the net is then as it was. A shape that does not fit is refused
 * when it is run. */
ASC_API ASC_MUST_USE asc_status asc_net_hold(asc_net *net, const asc_held_value *values, size_t n);

/* ---- nets written in C
 * -------------------------------------------------------------------------------------- */

/* Named weights: from arrays, .npy, .npz or safetensors files. They are copied (files: mapped). */
typedef struct asc_params asc_params;
ASC_API ASC_MUST_USE asc_status asc_params_create(asc_ctx *ctx, asc_params **out);
ASC_API void asc_params_destroy(asc_params *p); /* NULL is accepted; not before the nets that use it */
/* ALREADY_EXISTS if the name is taken. */
ASC_API ASC_MUST_USE asc_status asc_params_add(asc_params *p, const char *name, const asc_array *a);
/* Adds every array of an .npz or .safetensors file under prefix + its name ("" for none). */
ASC_API ASC_MUST_USE asc_status asc_params_load(asc_params *p, const char *path, const char *prefix);

/* One run of a net that is being recorded. */
typedef struct asc_frame asc_frame;

/* Records the net: in[] are its inputs, out[] receives its outputs. Build with the functions below, with
 * those of ascribe/ops.h, or with your own. Must build the same ops for the same shapes each time it is
 * called. */
typedef void (*asc_net_fn)(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out);

typedef struct asc_net_def {
    size_t struct_size;
    const asc_port *inputs; /* copied */
    size_t n_inputs;
    const char *const *outputs; /* names; copied */
    size_t n_outputs;
    asc_net_fn forward;
    void *self;
    asc_params *params; /* may be NULL; borrowed */
} asc_net_def;
/* Runs `forward` once on inputs whose free dimensions are 1 (without computing) to learn sites and output
 * shapes. */
ASC_API ASC_MUST_USE asc_status asc_net_create(asc_ctx *ctx, const asc_net_def *def, asc_net **out);

ASC_API asc_ctx *asc_frame_ctx(asc_frame *f);
/* Names a value: from here on it can be read, replaced, attributed to. Returns the value to go on with. A
 * name that was used before in this run gets "#2", "#3" behind it. */
ASC_API asc_tensor *asc_site(asc_frame *f, const char *name, asc_tensor *value);
/* The weight of that name; missing: a poisoned tensor with NOT_FOUND. */
ASC_API asc_tensor *asc_param(asc_frame *f, const char *name);
ASC_API bool asc_has_param(asc_frame *f, const char *name);

/* Layers. `name` is the prefix of their weights and the name of their site; NAME.in is the site of what goes
 * in. Weights have PyTorch's names and layouts. */
ASC_API asc_tensor *asc_nn_linear(asc_frame *f, const char *name, asc_tensor *x); /* weight [N,K], bias [N] */
typedef struct asc_conv_shape {
    int64_t stride[3], pad[3],
        dilation[3];       /* 0 counts as 1 (pad: as 0); the first n spatial entries are used */
    int64_t groups;        /* 0 counts as 1 */
    int64_t output_pad[3]; /* transposed only */
} asc_conv_shape;
/* x [B,C,spatial 1-3], weight [O,C/groups,kernel..], bias [O] -> [B,O,..] */
ASC_API asc_tensor *asc_nn_conv(asc_frame *f, const char *name, asc_tensor *x, const asc_conv_shape *shape);
/* weight [C,O/groups,kernel..] */
ASC_API asc_tensor *asc_nn_conv_transpose(asc_frame *f, const char *name, asc_tensor *x,
                                          const asc_conv_shape *shape);
/* Inference form: weight, bias, running_mean, running_var, each [C]; eps 1e-5 if 0. x [B,C,..] */
ASC_API asc_tensor *asc_nn_batch_norm(asc_frame *f, const char *name, asc_tensor *x, double eps);
ASC_API asc_tensor *asc_nn_layer_norm(asc_frame *f, const char *name, asc_tensor *x,
                                      double eps); /* last axis */
ASC_API asc_tensor *asc_nn_group_norm(asc_frame *f, const char *name, asc_tensor *x, int64_t groups,
                                      double eps);
/* rows of weight [V,D] by ids (int32 or whole floats) [..] -> [..,D] */
ASC_API asc_tensor *asc_nn_embedding(asc_frame *f, const char *name, asc_tensor *ids);
typedef enum asc_activation {
    ASC_ACT_RELU,
    ASC_ACT_SIGMOID,
    ASC_ACT_TANH,
    ASC_ACT_SOFTPLUS,
    ASC_ACT_ELU,
    ASC_ACT_LEAKY_RELU,
    ASC_ACT_GELU,
    ASC_ACT_SILU
} asc_activation;
ASC_API asc_tensor *asc_nn_activation(asc_frame *f, const char *name, asc_tensor *x, asc_activation kind);
/* size, stride (0 = size), pad per spatial axis */
ASC_API asc_tensor *asc_nn_max_pool(asc_frame *f, const char *name, asc_tensor *x, const int64_t *size,
                                    const int64_t *stride, const int64_t *pad);
ASC_API asc_tensor *asc_nn_avg_pool(asc_frame *f, const char *name, asc_tensor *x, const int64_t *size,
                                    const int64_t *stride, const int64_t *pad);
ASC_API asc_tensor *asc_nn_softmax(asc_frame *f, const char *name, asc_tensor *x); /* last axis */
/* Recurrent layers, one direction, batch first: x [B,T,I] -> [B,T,H], as a visible loop over cells. Weights
 * weight_ih [gH,I], weight_hh [gH,H], bias_ih, bias_hh in PyTorch's gate order (with its suffix "_l0"). */
ASC_API asc_tensor *asc_nn_lstm(asc_frame *f, const char *name, asc_tensor *x);
ASC_API asc_tensor *asc_nn_gru(asc_frame *f, const char *name, asc_tensor *x);
ASC_API asc_tensor *asc_nn_rnn(asc_frame *f, const char *name, asc_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
