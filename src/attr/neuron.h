/* neuron.h - an inner value as what is explained: one column of a site at one token of the prompt, instead of
 * an answer. Nothing follows the prompt then, and nothing behind the site is run. */
#ifndef ASC_NEURON_H
#define ASC_NEURON_H

#include "method.h"

/* The request's "SITE:INDEX@TOKEN", but for the token, which needs a prompt; refuses what speaks of an
 * answer, and methods that cannot. Nothing when the request has no neuron. */
ASC_MUST_USE asc_status asc_neuron_find(asc_job *j);
/* Behind the prompt: the token, and how large the values beside it are, for the noise model. Fills the
 * result's neuron and target. */
ASC_MUST_USE asc_status asc_neuron_target(asc_job *j);
/* The same of a neuron that is looked through (neuron.through). */
ASC_MUST_USE asc_status asc_neuron_through(asc_job *j);
/* Its value in prompts given as embeddings x [B,P,D] -> [B]. `site` sees the values on the way there. */
asc_tensor *asc_neuron_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self);
/* Its column in every row of a run of a language model, [B,T]; what comes before run->x is as the run has it.
 */
asc_tensor *asc_neuron_column(asc_job *j, asc_decoder_run *run);
/* How many blocks have to be run for what is explained: up to the neuron's, or all. */
int64_t asc_neuron_blocks(const asc_job *j);
/* How many of a perturbed prompt's first tokens a causal model has to read for it: all, or, where tokens keep
 * their places, those up to the neuron's. */
size_t asc_neuron_reach(const asc_job *j, size_t len);
/* INVALID_ARGUMENT unless the job's site comes before the neuron. */
ASC_MUST_USE asc_status asc_neuron_check_site(asc_job *j);
/* A number of digits only, with a minus sign if `negative`; false when v is none or is too large. */
bool asc_site_number(asc_view v, bool negative, int64_t *out);

#endif
