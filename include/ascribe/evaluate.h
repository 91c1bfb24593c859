/* ascribe/evaluate.h - do the scores of a method say what the model does? Faithfulness of methods on prompts,
 * for one prompt and over many; definitions and what they cannot show: docs/FAITHFULNESS.md.
 *
 * f is the explained value (the log-probability of the answer, a class, or a similarity), p = exp f for
 * log-probabilities and f otherwise; "without" means by the removal asked for.
 */
#ifndef ASCRIBE_EVALUATE_H
#define ASCRIBE_EVALUATE_H

#include "ascribe/attr.h"
#include "ascribe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum asc_faith_id {
    ASC_FAITH_DELETION,
    ASC_FAITH_INSERTION,
    ASC_FAITH_GAP,
    ASC_FAITH_COMPREHENSIVENESS,
    ASC_FAITH_SUFFICIENCY,
    ASC_FAITH_LOG_ODDS,
    ASC_FAITH_MONOTONICITY,
    ASC_FAITH_LINEAR_FIT,
    ASC_FAITH_OTHER_ANSWER,
    ASC_FAITH_OTHER_WEIGHTS,
    ASC_FAITH_OTHER_BASELINE,
    ASC_N_FAITH
} asc_faith_id;

typedef struct asc_faith_info {
    const char *name, *doc, *source;
    int better;   /* 1: larger is better, -1: smaller, 0: neither (a sanity check) */
    bool decides; /* counts for the recommendation */
} asc_faith_info;
ASC_API const asc_faith_info *asc_faith_at(size_t i); /* NULL when i is past the last */

/* Zero-initialise, then set struct_size. */
typedef struct asc_faith_options {
    size_t struct_size;
    const char *const *methods; /* names; "random" is the control: random scores */
    size_t n_methods;
    asc_baseline removal;  /* what "without" means; AUTO: removal, encoders the mask token */
    int32_t removal_token; /* with ASC_BASELINE_TOKEN */
    size_t subsets;        /* random halves for the linear fit; 0 = 64 */
    bool sanity;           /* also the three sanity checks, which run each method again for each of them */
    asc_model *shuffled;   /* the same model with shuffle_seed, for ASC_FAITH_OTHER_WEIGHTS; NULL: left out */
} asc_faith_options;

typedef struct asc_faith_row {
    double metric[ASC_N_FAITH]; /* NaN: not known here */
    double seconds;             /* of the method, without the metrics */
    uint64_t n_forward, n_backward;
    bool converged;
    char *why; /* the method failed on this prompt; NULL: it did not */
} asc_faith_row;

typedef struct asc_faith {
    size_t n_rows, n_features;
    asc_faith_row *rows;                          /* one a method */
    double value, empty;                          /* f of the prompt, and without all features */
    uint64_t n_forward, tokens_run, tokens_plain; /* of the metrics */
} asc_faith;

/* Every method on one prompt. req says prompt, answer, features, output and the methods' options; its method
 * is not read. A method that cannot run here has a reason in its row; errors that no method could avoid are
 * returned: those of asc_explain, CANCELLED. */
ASC_API ASC_MUST_USE asc_status asc_faith_run(asc_model *m, const asc_request *req,
                                              const asc_faith_options *o, asc_faith **out);
ASC_API void asc_faith_destroy(asc_ctx *ctx, asc_faith *f); /* NULL is accepted */

/* A mean over prompts with the 95 % interval of a bootstrap over them (1,000 resamples). */
typedef struct asc_faith_mean {
    double mean, low, high; /* NaN: no prompt has it */
    size_t n;
} asc_faith_mean;

typedef struct asc_evaluated {
    const char *method;
    asc_faith_mean metric[ASC_N_FAITH];
    asc_faith_mean rank;   /* mean place among the methods over the deciding metrics, 1 = best */
    asc_faith_mean behind; /* rank minus that of the best, over the same prompts */
    double seconds;        /* a prompt */
    double n_forward, n_backward;
    size_t n_failed, n_unsure;
    char *why; /* of the first failure; NULL */
} asc_evaluated;

typedef struct asc_evaluation {
    size_t n_methods, n_prompts, n_failed; /* prompts that could not be evaluated at all */
    asc_evaluated *methods;
    int best;        /* lowest mean rank; -1: nothing ran */
    int recommended; /* the cheapest one whose interval of `behind` reaches 0; -1 */
    double seconds;
    char *first_failure; /* "line 3: ..."; NULL */
} asc_evaluation;

/* Every prompt of a JSON Lines file (docs/formats/batch.md). A prompt that fails does not stop the others. */
ASC_API ASC_MUST_USE asc_status asc_evaluate(asc_model *m, const char *prompts, const asc_request *req,
                                             const asc_faith_options *o, asc_evaluation **out);
ASC_API void asc_evaluation_destroy(asc_ctx *ctx, asc_evaluation *e); /* NULL is accepted */

typedef enum asc_evaluation_form {
    ASC_EVALUATION_TEXT,
    ASC_EVALUATION_MARKDOWN,
    ASC_EVALUATION_JSON
} asc_evaluation_form;
ASC_API void asc_evaluation_write(asc_text *out, const asc_evaluation *e, asc_evaluation_form form);

#ifdef __cplusplus
}
#endif
#endif
