/* ascribe/attribute.h - attribution on nets: one request in, one result out.
 *
 * asc_attribute ascribes a number of the net's output (or of any inner value: the "neuron" forms) to the
 * net's inputs (or to any inner values: the "layer" forms). Layer and neuron forms are the same methods,
 * pointed elsewhere by `at` and `target.value`; docs/methods.md has the table of Captum's class names.
 * Language models with prompts and words have their own request (ascribe/attr.h).
 */
#ifndef ASCRIBE_ATTRIBUTE_H
#define ASCRIBE_ATTRIBUTE_H

#include "ascribe/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is done to the explained value before the target is chosen (along its last axis). */
typedef enum asc_transform {
    ASC_TRANSFORM_NONE,
    ASC_TRANSFORM_SOFTMAX,
    ASC_TRANSFORM_LOG_SOFTMAX,
    ASC_TRANSFORM_LOG
} asc_transform;

/* The explained number of each example. Indices count the dimensions behind the batch; negative ones from the
 * end. */
typedef struct asc_target {
    const char *value;     /* an output or a site; NULL = the first output */
    size_t n_rows;         /* 0 = the whole row; 1 = one index for all examples; otherwise one per example */
    int rank;              /* entries of an index; fewer than the row's rank leave several numbers */
    const int64_t *index;  /* [n_rows, rank] */
    const int64_t *versus; /* same layout: explains value[index] - value[versus]; NULL = no contrast */
    /* [weight_rows (1 or one per example), numbers of a row]: explains the weighted sum instead (regions,
     * sums over slices, several units); then n_rows is 0. NULL = none. */
    const double *weights;
    size_t weight_rows;
    asc_transform transform;
} asc_target;

/* A relevance rule for ops that match, for lrp; the first match counts. */
typedef struct asc_rule_choice {
    const char *site; /* name of the site an op belongs to, * and ? as in file names; NULL = any */
    const char *op;   /* "conv", "matmul", ...; NULL = any */
    const char
        *rule;    /* "epsilon", "gamma", "alpha-beta", "z-plus", "w-square", "flat", "z-box", "identity" */
    double a, b;  /* epsilon; gamma; alpha and beta; low and high of z-box. Both 0 = the rule's default */
    bool no_bias; /* the bias takes no part in the denominator */
    /* Only layers (matrix products, convolutions) with these numbers, counted from 1 in the order of the
     * computation; 0 = no bound. */
    int first_layer, last_layer;
} asc_rule_choice;

/* Zero-initialise and set struct_size. Everything is borrowed for the length of the call. */
typedef struct asc_attr_request {
    size_t struct_size;
    const char *method; /* see asc_method_at (ascribe/attr.h) */

    const asc_array *inputs; /* all inputs of the net, in its order */
    size_t n_inputs;
    const bool
        *fixed; /* [n_inputs]: passed on, not attributed to (NULL = none). Integer inputs can be attributed to
                   by perturbation only; for methods that need gradients they are fixed unless all are */
    bool
        no_batch; /* the inputs are one example as they stand, even if the first dimension could be a batch */
    const char *const *at; /* sites that are attributed to; none = the inputs */
    size_t n_at;
    asc_target target;
    asc_target neuron; /* neuron-conductance: the unit on the way; value names its site */

    /* Baselines of the inputs: none = zeros; entry with data NULL = zeros; rank 0 = one number; the shape of
     * the input; first dimension 1 = for every example. deep-lift-shap, gradient-shap: any number of rows. */
    const asc_array *baselines;
    size_t n_baselines;            /* 0 or n_inputs */
    const asc_array *at_baselines; /* of the sites, for methods that replace site values; NULL = from the
                                      inputs' baselines (integrated-gradients) or zeros (ablation) */
    size_t n_at_baselines;         /* 0 or n_at */
    /* Groups of elements that count as one feature: integers that broadcast to each attributed value; equal
     * ids are one feature, across values too. None = every element by itself. */
    const asc_array *masks;
    size_t n_masks; /* 0 or the number of attributed values */

    bool no_multiply; /* gradient methods: leave out the factor (input - baseline) */
    const char *rule; /* paths: NULL = the method's default; see asc_request.rule */
    size_t steps;     /* fixed rules; 0 = 50 */
    double
        tolerance; /* adaptive rule, sampling: relative to the largest score; 0 = 0.01 (sampling: no stop) */
    size_t max_evaluations; /* adaptive rule: gradient rows per example; 0 = 2000 */
    size_t samples;         /* sampling methods; 0 = the method's default */
    const char *base;       /* noise-tunnel: the method inside it */
    const char *noise;      /* noise-tunnel: "smoothgrad" (default), "smoothgrad-sq", "vargrad" */
    const double
        *stdevs; /* standard deviation of added noise: one, or one per input; none = 1 (gradient-shap: 0) */
    size_t n_stdevs;
    bool draw_baselines;            /* noise-tunnel: a random row of the baselines for each sample */
    const int64_t *window, *stride; /* occlusion: for each attributed value one entry per dimension behind the
                                       batch, all in a row; stride NULL = 1 */
    size_t n_window;                /* entries of window (and of stride) */
    const char *norm;               /* saliency: NULL = "abs"; "signed" */
    bool relu;                      /* grad-cam: drop what is negative */
    bool keep_channels;             /* grad-cam: no sum over channels */
    const char *resize;             /* guided-grad-cam: "nearest" (default), "bilinear" */
    double kernel_width;            /* lime; 0 = 1 */
    const char *distance;           /* lime: "cosine" (default), "euclidean" */
    const char *surrogate;          /* lime: "lasso" (default), "ridge", "linear" */
    double penalty;                 /* lime: of the lasso or ridge; 0 = 0.01 */
    const asc_rule_choice *rules;   /* lrp */
    size_t n_rules;
    const char *fallback; /* deep-lift, lrp: ops without a rule: NULL = an error, "gradient", "path" */
    double epsilon, radius, step_size; /* fgsm, pgd */
    bool targeted;
    const double *bounds; /* fgsm, pgd: low and high of every element; NULL = none */

    size_t rows_per_pass; /* how many perturbed or interpolated rows share a pass; 0 = chosen under
                             memory_bytes */
    size_t memory_bytes;  /* bound for intermediate values; 0 = 400 MiB */
    uint64_t seed;
    bool compat_captum; /* Captum's numbers where they differ (docs/captum-differences.md) */
    bool dry_run;
} asc_attr_request;
/* Whether its method, or the one inside it, reads an option, by the word of its descriptor
 * (asc_method_reads). */
ASC_API bool asc_attr_reads(const asc_attr_request *q, const char *word);

/* Scores of one attributed value: shape = [examples, (explained numbers if more than one,) dimensions of the
 * value]. A method may add arrays of its own under other names (coefficients, adversarial inputs). */
typedef struct asc_scores {
    char *name;
    asc_shape shape;
    double *data;
    double *error; /* per score: bound of a deterministic method's error, or one standard error of a sampling
                      method
                      (`stochastic`); NULL = not known */
} asc_scores;

enum { ASC_MAX_NOTES = 16 };

/* Owned by the caller. */
typedef struct asc_attribution {
    const char *method;
    char *options; /* JSON object of everything as used */
    asc_scores *scores;
    size_t n_scores;
    size_t n_examples, n_outputs;   /* n_outputs: explained numbers per example */
    double *value, *baseline_value; /* [n_examples * n_outputs]; baseline_value NULL if there is none */
    double *delta;  /* completeness: sum of scores - (value - baseline value), or as the method says */
    size_t n_delta; /* 0, or n_examples, or one per pair of example and baseline or sample */
    bool complete;  /* the method promises delta = 0 */
    bool stochastic;
    bool converged;
    double error_bound;             /* largest error over the scores; NAN = not known */
    uint64_t n_forward, n_backward; /* rows of examples */
    double seconds, flops;
    double predicted_seconds; /* dry run: at most, where a run ends by itself once it is exact enough; */
    double predicted_least_seconds; /* then if it ends at its first look; else the same */
    size_t rows_per_pass, peak_bytes, predicted_peak_bytes;
    char *notes[ASC_MAX_NOTES]; /* warnings: fall-backs used, zero gradients, not converged... */
    size_t n_notes;
} asc_attribution;

/* Errors: INVALID_ARGUMENT and OUT_OF_RANGE name the field; NOT_FOUND a site; UNIMPLEMENTED an op without
 * gradient or rule; DATA_LOSS values that are not finite; RESOURCE_EXHAUSTED with the least memory that would
 * do; CANCELLED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_attribute(asc_net *net, const asc_attr_request *req,
                                              asc_attribution **out);
ASC_API void asc_attribution_destroy(asc_ctx *ctx, asc_attribution *r); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
