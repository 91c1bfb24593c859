/* attribution_patching.c - a linear guess of activation patching at every site at once: one gradient. */
#include "corrupted.h"
#include "prompt_sweep.h"

static asc_status run(asc_job *j) {
    asc_status st = asc_job_corrupted(j);
    if (j->inner == 0) j->inner = 1u << ASC_SWEEP_OUT;
    return st == ASC_OK ? asc_prompt_sweeps(j, ASC_ROWS_OTHER, NULL, 1) : st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    (void)j;
    *n_forward = 1.0;
    *n_gradient = 1.0;
}

const asc_method asc_method_attribution_patching = {
    .info =
        {.name = "attribution-patching",
         .captum = "",
         .doc = "what would be lost with another prompt's value at each token of each layer, guessed by the "
                "gradient",
         .formula = "score_v = sum_d (v_d - v'_d) d f / d v_d, v' the value in the other prompt's run",
         .paper = "Syed, Rager, Conmy, Attribution Patching Outperforms Automated Circuit Discovery, 2023",
         .axioms = "none: exact where f is linear between the two values (activation-patching measures it)",
         .cost = "2 forward and 1 backward pass, whatever the number of sites",
         .options = "features, corrupted, layers, output",
         .differences = "not in Captum; the features' own scores are those of the embeddings"},
    .by_gradient = true,
    .run = run,
    .price = price,
};
