/* goldens_config.h - one attribution as Captum's tests ask for it, turned into a request on a toy model:
 * inputs, baselines, masks, targets, layers, neurons and windows, from JSON. Fields of the JSON object `args`
 * have the names of Captum's arguments; tuples are {"tuple": [...]}, arrays as in goldens_array.h. */
#ifndef ASC_GOLDENS_CONFIG_H
#define ASC_GOLDENS_CONFIG_H

#include "goldens_array.h"
#include "toy_models.h"

enum { CONFIG_MAX = 8, CONFIG_MAX_INDEX = 4096 };

typedef struct config {
    goldens *g;
    const asc_json *line, *args;
    char name[128];
    toy *model;
    golden_array arrays[2 * CONFIG_MAX], baselines[CONFIG_MAX], others[4 * CONFIG_MAX];
    asc_array inputs[2 * CONFIG_MAX], bases[2 * CONFIG_MAX];
    size_t n_arrays, n_moving, n_others;
    toy_options options;
    int64_t index[CONFIG_MAX_INDEX], unit[CONFIG_MAX], mask_numbers[CONFIG_MAX];
    int64_t window[CONFIG_MAX * ASC_MAX_RANK], stride[CONFIG_MAX * ASC_MAX_RANK];
    double stdev, numbers[2 * CONFIG_MAX], base_numbers[CONFIG_MAX], *weights;
    asc_array masks[CONFIG_MAX], at_baselines[CONFIG_MAX];
    bool fixed[2 * CONFIG_MAX], at_inputs; /* a layer's input is meant */
    bool many_arguments; /* lists among the further arguments are one number each, a number is the column */
    char sites[CONFIG_MAX][96];
    const char *at[CONFIG_MAX];
    size_t layer_first[CONFIG_MAX + 1], n_layers; /* sites of a layer */
    asc_attr_request q;
} config;

/* Entry i of an array or {"tuple": [...]}, itself when it is neither. */
const asc_json *config_item(const asc_json *j, size_t i);
size_t config_items(const asc_json *j);
/* Each reads its part of args into c and c->q; false = not understood. */
bool config_inputs(config *c);
bool config_target(config *c, const asc_json *j, asc_target *out);
bool config_masks(config *c, const asc_json *j, size_t n);
bool config_at_baselines(config *c, const asc_json *j);
bool config_window(config *c);
void config_layer(config *c, const asc_json *layer);
void config_layer_named(config *c, asc_view name);
/* The neuron at the first site; runs the net for the shape there. */
bool config_unit(config *c, asc_target *out);
bool config_model(config *c, const char *class_name, const char *key, const asc_json *state);
void config_free(config *c);

#endif
