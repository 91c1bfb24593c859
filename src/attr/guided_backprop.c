/* guided_backprop.c - Guided Backprop: gradients with the negative ones dropped at each ReLU. */
#include "method.h"
#include "ruled_pass.h"

static asc_status attribute(asc_task *t) { return asc_task_gradient_by(t, asc_rules_init_guided); }

const asc_method asc_method_guided_backprop = {
    .info = {.name = "guided-backprop",
             .captum = "GuidedBackprop (of a unit: NeuronGuidedBackprop)",
             .doc = "gradient that only positive influences shape: at each ReLU negative slopes are dropped",
             .formula = "score_i = d f / d x_i with g -> max(g, 0) [x > 0] at each ReLU",
             .paper = "Springenberg, Dosovitskiy, Brox, Riedmiller, Striving for Simplicity, 2014",
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
