/* gradient_x_attention.c - attention weighted with the gradient there, propagated through the layers. */
#include "attention_parts.h"

static asc_status run(asc_job *j) {
    asc_status st = asc_attention_check(j, true);
    return st == ASC_OK ? asc_attention_flow(j, true, 1.0, 1.0) : st;
}

const asc_method asc_method_gradient_x_attention = {
    .info = {.name = "gradient-x-attention",
             .captum = "",
             .doc = "attention weighted with its gradient, through all layers: for comparison only, it knows "
                    "neither values nor MLPs",
             .formula =
                 "score_t = row of the answer in product over layers of 1 + mean over heads of (A dA f)+",
             .paper =
                 "Chefer, Gur, Wolf, Generic Attention-model Explainability for Interpreting Bi-Modal and "
                 "Encoder-Decoder Transformers, ICCV 2021",
             .axioms = "none: not faithful by construction",
             .cost = "1 forward and 1 backward pass",
             .options = "features, output",
             .differences =
                 "not in Captum; several answer tokens: the mean over the rows that predict them; a "
                 "contrast: the difference of both answers' scores"},
    .by_gradient = true,
    .by_token = true,
    .run = run,
    .price = asc_job_price_one_gradient,
};
