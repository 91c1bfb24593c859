/* ascribe/lime.h - Lime with perturbations, similarity and surrogate of your own (Captum's LimeBase).
 *
 * The method "lime" (ascribe/attribute.h) draws sets of features; here samples come from a callback, in the
 * space of features or of inputs, and callbacks lead from one to the other.
 */
#ifndef ASCRIBE_LIME_H
#define ASCRIBE_LIME_H

#include "ascribe/attribute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of one example: inputs[k] are the elements of the k-th attributed input (those that are not fixed).
 */
typedef const double *const *asc_lime_inputs;

typedef struct asc_lime_def {
    size_t struct_size;
    void *self;        /* passed to every callback */
    size_t n_features; /* of the surrogate */
    bool in_features;  /* perturb writes features, not inputs */
    /* Sample 0, 1, ... of an example, called in this order, once each. Writes z [n_features] or, element by
     * element, perturbed[k], which holds the input on entry. false = there are no more samples. */
    bool (*perturb)(void *self, size_t example, size_t sample, asc_lime_inputs x, double *z,
                    double *const *perturbed);
    /* Inputs of features z; perturbed[k] holds the input on entry. NULL: the request's masks and baselines,
     * an element staying where its feature is not 0 (n_features is then the number of groups). Only for
     * in_features. */
    void (*from_features)(void *self, const double *z, asc_lime_inputs x, double *const *perturbed);
    /* Features of perturbed inputs. Needed unless in_features. */
    void (*to_features)(void *self, asc_lime_inputs perturbed, asc_lime_inputs x, double *z);
    /* Weight of a sample, not negative. NULL = the request's kernel: kernel_width and distance. */
    double (*similarity)(void *self, asc_lime_inputs x, asc_lime_inputs perturbed, const double *z);
    /* Fits n samples: z [n, n_features], values y, weights w -> coef [n_coef]. false = it failed. NULL: the
     * request's surrogate and penalty. */
    bool (*fit)(void *self, const double *z, const double *y, const double *w, size_t n, double *coef);
    size_t n_coef; /* 0 = n_features */
} asc_lime_def;

/* The result has one array, "coefficients" [examples, n_coef]. Explains one number per example. req.samples 0
 * = 50; req.method is not read. Errors as asc_attribute. */
ASC_API ASC_MUST_USE asc_status asc_lime_base(asc_net *net, const asc_attr_request *req,
                                              const asc_lime_def *def, asc_attribution **out);

#ifdef __cplusplus
}
#endif
#endif
