/* deep_lift.c - DeepLift: differences of the explained value shared out by multipliers of every op. */
#include "method.h"
#include "prompt_sweep.h"
#include "ruled_pass.h"

static asc_status attribute(asc_task *t) { return asc_task_deep_lift(t, 1); }

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    (void)t;
    *n_forward = 1.0;
    *n_gradient = 1.0;
}

static asc_status run(asc_job *j) { return asc_prompt_pairs(j, 1); }

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    (void)j;
    *n_forward = 1.0;
    *n_gradient = 1.0;
}

const asc_method asc_method_deep_lift = {
    .info = {.name = "deep-lift",
             .captum = "DeepLift (at a site: LayerDeepLift; of a unit: NeuronDeepLift)",
             .doc = "how much of the difference to the baseline each input value brings about, op by op",
             .formula = "score_i = m_i (x_i - b_i), multipliers m by the rules of docs/rules.md",
             .paper = "Shrikumar, Greenside, Kundaje, Learning Important Features Through Propagating "
                      "Activation Differences, 2017",
             .axioms = "completeness; sensitivity to the baseline; not implementation invariant",
             .cost = "2 forward and 1 backward pass",
             .options = "features, baseline (eos, pad, zero, mean, token:ID), layers, output, per-token; "
                        "nets: baselines, at, "
                        "no-multiply, fallback, compat",
             .differences =
                 "a rule at every op (softmax, max pooling, products, norms, attention), so that sums "
                 "are exact; no coupling of examples; ops are seen, not layer objects; prompts: from a "
                 "baseline's embeddings, summed over a token's width"},
    .by_gradient = true,
    .per_token = true,
    .needs_baseline = true,
    .complete = true,
    .auto_baseline = ASC_BASELINE_EOS,
    .attribute = attribute,
    .price_rows = price_rows,
    .run = run,
    .price = price,
};
