/* prompt_sweep.h - what the methods of one or more sweeps (sweep.h) on prompts share. */
#ifndef ASC_PROMPT_SWEEP_H
#define ASC_PROMPT_SWEEP_H

#include "sweep.h"

/* What each of the prompts of a job's sweeps is. */
typedef enum asc_prompt_rows {
    ASC_ROWS_PROMPT, /* the prompt */
    ASC_ROWS_PAIRS,  /* the prompt against a baseline */
    ASC_ROWS_PATH,   /* a random point between a baseline and the (noisy) prompt; times their difference */
    ASC_ROWS_OTHER,  /* the prompt, times its difference to the other prompt (corrupted.h) */
    ASC_ROWS_NOISY   /* the noisy prompt, times itself */
} asc_prompt_rows;

/* Sweeps `samples` prompts of a kind, in batches: r->scores are means over them, r->score_errors standard
 * errors of these (samples > 1) plus rounding, rows of layers likewise means. Baselines: the job's, drawn at
 * random where it is AUTO. Sets value, baseline_value (0 for kinds without), samples, converged. */
ASC_MUST_USE asc_status asc_prompt_sweeps(asc_job *j, asc_prompt_rows kind, asc_rules *rules, size_t samples);
/* Forward passes that the values need beside the sweeps, for pricing. */
double asc_prompt_sweep_values(asc_prompt_rows kind, size_t samples);

/* Ids of samples first .. first + n - 1 of the random baseline, [n, n_prompt]: at active tokens any ordinary
 * token of the vocabulary, by (seed, sample, position); elsewhere the prompt's own. */
void asc_prompt_random_ids(const asc_job *j, size_t first, size_t n, int32_t *out);

/* Rule tables on prompts take no options: an op without a rule is an error. */
ASC_MUST_USE asc_status asc_prompt_pairs(asc_job *j, size_t samples); /* deep-lift, deep-lift-shap */

/* A note in the result where the scores of a complete method miss the change of the value by more than
 * rounding; converged is false then. */
ASC_MUST_USE asc_status asc_prompt_check_sum(asc_job *j);

#endif
