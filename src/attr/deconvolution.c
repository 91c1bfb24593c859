/* deconvolution.c - Deconvolution: gradients with each ReLU applied on the way back. */
#include "method.h"
#include "ruled_pass.h"

static asc_status attribute(asc_task *t) { return asc_task_gradient_by(t, asc_rules_init_deconvolution); }

const asc_method asc_method_deconvolution = {
    .info = {.name = "deconvolution",
             .captum = "Deconvolution (of a unit: NeuronDeconvolution)",
             .doc = "gradient with the ReLUs applied backwards instead of their slopes",
             .formula = "score_i = d f / d x_i with g -> max(g, 0) at each ReLU",
             .paper = "Zeiler, Fergus, Visualizing and Understanding Convolutional Networks, 2014",
             .axioms = "none",
             .cost = "1 forward and 1 backward pass",
             .options = "at, target",
             .differences =
                 "every ReLU op, in whatever form the net has it; other activations keep their slopes"},
    .by_gradient = true,
    .not_on_prompts = "changes what ReLUs hand back, and language models have smooth activations",
    .attribute = attribute,
    .price_rows = asc_price_one_gradient,
};
