/* ascribe/dataset.h - attribution over a whole data set that is read batch by batch and never held in memory
 * (Captum's DataLoaderAttribution): how much a number of the whole set, say the accuracy, falls without each
 * feature.
 */
#ifndef ASCRIBE_DATASET_H
#define ASCRIBE_DATASET_H

#include "ascribe/attribute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum asc_role {
    ASC_ROLE_ATTRIBUTE, /* goes into the net, its features are ablated */
    ASC_ROLE_FORWARD,   /* goes into the net as it is */
    ASC_ROLE_LABEL      /* does not go into the net; reduce sees it */
} asc_role;

typedef struct asc_dataset {
    size_t struct_size;
    void *self;
    size_t n_values;       /* arrays in a batch; those that go into the net are its inputs, in order */
    const asc_role *roles; /* [n_values]; NULL = all attributed */
    /* Batch number i = 0, 1, ... of a walk, into batch [n_values], lent until the next call; *end = true when
     * there is none. A failure ends the attribution with its status. */
    asc_status (*batch)(void *self, size_t i, asc_array *batch, bool *end);
} asc_dataset;

/* Zero-initialise, set struct_size. */
typedef struct asc_dataset_request {
    size_t struct_size;
    const char *output; /* output or site that is reduced; NULL = the first output */
    /* One per attributed value, first dimension 1 (or left out). Baselines: none = zeros, data NULL = zeros,
     * rank 0 = one number. Masks: integers; none = each element by itself. */
    const asc_array *baselines;
    size_t n_baselines;
    const asc_array *masks;
    size_t n_masks;
    size_t per_walk; /* perturbations that share a walk over the set; 0 = 1 */

    void *self;
    /* Takes in the output of a batch under one perturbation. Several walk side by side: `slot` tells them
     * apart (0 .. per_walk - 1), and batch 0 begins a slot anew. batch: the values as perturbed. NULL: the
     * library puts the outputs one behind the other. */
    asc_status (*reduce)(void *self, size_t slot, size_t batch_number, const asc_array *output,
                         const asc_array *batch);
    /* The numbers that are explained, out [n_metrics]: of the slot's state, or (reduce NULL) of the n_outputs
     * collected numbers. NULL with reduce NULL: every collected number. */
    asc_status (*metric)(void *self, size_t slot, const double *outputs, size_t n_outputs, double *out);
    size_t n_metrics; /* 0 = 1 */
} asc_dataset_request;

/* Feature ablation over the set: score = metric - metric with the feature at its baseline in every example.
 * Arrays of the result: one per attributed value, [metrics, its dimensions]; value [metrics]. ceil(features /
 * per_walk) + 1 walks. Errors: INVALID_ARGUMENT (roles, masks, baselines, batches that change shape), those
 * of the callbacks and of asc_net_run. */
ASC_API ASC_MUST_USE asc_status asc_dataset_attribute(asc_net *net, const asc_dataset *data,
                                                      const asc_dataset_request *req, asc_attribution **out);

#ifdef __cplusplus
}
#endif
#endif
