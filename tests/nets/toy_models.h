/* toy_models.h - the small models that Captum's tests use, built with ascribe/net.h from their recorded
 * weights (tests/data/goldens/captum_model_weights.jsonl). Sites have the names of the PyTorch modules
 * ("relu", "model.linear1", "multi_relu.relu1"), NAME.in is what goes into one; a module used twice has NAME
 * and NAME#2. Modules inside a model ("m1", "m234", "model", "mod") are sites too.
 *
 * Arguments of a forward function become inputs of the net, in its order:
 *   tensors, numbers (rank 0) and lists of numbers (one rank-0 input each: BasicModel5_MultiArgs' [p, q]) -
 * arrays; None at the end - leave it out; the attributed inputs and the additional_forward_args stand in one
 * row, those that are not attributed to are `fixed` in asc_attr_request; what changes the shape of the result
 * (multidim_output, the column k) - toy_options.
 */
#ifndef ASC_TOY_MODELS_H
#define ASC_TOY_MODELS_H

#include "ascribe/net.h"
#include "json.h"

typedef struct toy_options {
    bool multi_input_module; /* BasicModel_MultiLayer: two branches through multi_relu */
    bool multidim_output;    /* BasicModel_MultiLayer: result [B,2,2,2] */
    int64_t column;          /* BasicModel4_MultiArgs, BasicModel5_MultiArgs: k */
} toy_options;

enum { TOY_MAX_INPUTS = 8 };

typedef struct toy_model toy_model;
/* One model open for use. */
typedef struct toy {
    const toy_model *model;
    toy_options options;
    size_t n_inputs;
    asc_params *params;
    asc_net *net;
} toy;

/* model: Captum's class name. key: the line of weights_path ("SimpleLRPModel#eb96ad"); NULL = the first line
 * of that class; ignored for classes without weights. state: an object name -> array that replaces the file,
 * arrays as nested lists or as {"shape", "data"} (captum_config_golden.jsonl); NULL = none. options may be
 * NULL. inputs: arrays as they will be given to the net: they say which optional inputs there are and what
 * shapes ports have. A port counts examples in its first dimension if that is as long as the first input's
 * and the ranks allow it, except in BasicModelWithSparseInputs, whose result is a sum over examples. "In
 * place" changes nothing here. */
ASC_MUST_USE asc_status toy_open(asc_ctx *ctx, const char *weights_path, const char *model, const char *key,
                                 const asc_json *state, const toy_options *options, const asc_array *inputs,
                                 size_t n_inputs, toy **out);
void toy_close(asc_ctx *ctx, toy *t); /* NULL is accepted */

/* Names of all classes, NULL behind the last. */
const char *toy_name(size_t i);

/* ---- used by toy_models.c */
ASC_MUST_USE asc_status toy_params_of(asc_ctx *ctx, const asc_json *state, asc_params **out);
/* The line of a file whose key is `key`, or (NULL) the first whose model is `model`; NOT_FOUND. Free *root.
 */
ASC_MUST_USE asc_status toy_line_of(asc_ctx *ctx, const char *path, const char *model, const char *key,
                                    asc_json **root);

#endif
