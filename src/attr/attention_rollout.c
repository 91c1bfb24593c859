/* attention_rollout.c - how much of each token attention lets through to where the answer is predicted. */
#include "attention_parts.h"

/* Rows of a softmax add up to 1, and so does half of one and half of the identity. */
static asc_status run(asc_job *j) {
    asc_status st = asc_attention_check(j, false);
    return st == ASC_OK ? asc_attention_flow(j, false, 0.5, 0.5) : st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    (void)j;
    *n_forward = 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_attention_rollout = {
    .info = {.name = "attention-rollout",
             .captum = "",
             .doc =
                 "which tokens attention lets through to the answer: for comparison only, it knows neither "
                 "values, MLPs nor the target",
             .formula =
                 "score_t = row of the answer in product over layers of (mean over heads of A + 1) / 2",
             .paper = "Abnar and Zuidema, Quantifying Attention Flow in Transformers, ACL 2020",
             .axioms = "none: not faithful by construction; scores are not negative and at most add up to 1",
             .cost = "1 forward pass (blocks run a second time to show their attention)",
             .options = "features",
             .differences =
                 "not in Captum; several answer tokens: the mean over the rows that predict them; text "
                 "encoders: the rows that the answer is read from (a maximum counts as the mean)"},
    .by_token = true,
    .run = run,
    .price = price,
};
