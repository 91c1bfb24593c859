/* ascribe/net_inspect.h - what a net consists of: operators, sites with shapes, weights, and what gradients
 * and rules cannot pass.
 */
#ifndef ASCRIBE_NET_INSPECT_H
#define ASCRIBE_NET_INSPECT_H

#include "ascribe/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of operator of the model file; or, recorded by a run, an op of the library. */
typedef struct asc_net_kind {
    const char *name;
    size_t count;
    /* of ops of the library only */
    bool gradient;               /* false: its gradient is zero or it has none */
    const char *deep_lift, *lrp; /* name of the rule, "none" */
} asc_net_kind;

typedef struct asc_net_site_info {
    const char *name; /* lent by the net */
    bool reached;     /* false: not computed in that run (a branch not taken) */
    bool integer;
    asc_shape shape;
} asc_net_site_info;

/* Owned by the caller, valid until the net is closed. */
typedef struct asc_net_survey {
    int opset;                     /* 0 for a net in C */
    asc_net_kind *operators, *ops; /* of the file; of one run with free dimensions as below */
    size_t n_operators, n_ops;
    asc_net_site_info *sites;
    size_t n_sites;
    int64_t free_size; /* what free dimensions (but the batch, 1) were set to; 0 = no size fitted */
    char *unfit;       /* then: why */
    size_t n_weights, n_elements; /* constant arrays that the run uses, and their elements */
    size_t weight_bytes;
    const char *const *notes; /* gradients that are not derivatives */
    size_t n_notes;
} asc_net_survey;

/* Records one run without computing it. Errors: RESOURCE_EXHAUSTED, CANCELLED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_net_survey_make(asc_net *net, asc_net_survey **out);
ASC_API void asc_net_survey_destroy(asc_ctx *ctx, asc_net_survey *s); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
