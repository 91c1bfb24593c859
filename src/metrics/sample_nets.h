/* sample_nets.h - three small nets with fixed random weights, one of each family: what methods are compared
 * on. */
#ifndef ASC_SAMPLE_NETS_H
#define ASC_SAMPLE_NETS_H

#include "ascribe/attribute.h"
#include "method.h"

enum { ASC_N_SAMPLE_NETS = 3, ASC_SAMPLE_MAX = 6 * 8 * 8, ASC_SAMPLE_FEATURES = 6 };

/* A net and two examples for it. */
typedef struct asc_sample_net {
    const char *name; /* "mlp", "cnn", "transformer" */
    asc_net *net;
    asc_params *params;
    asc_array input, baseline, rows; /* two examples; one row; four rows */
    asc_array mask, site_mask;       /* six groups of elements, of the input and of the site */
    const char *site;                /* an inner value in the middle */
    int64_t window[3];               /* of occlusion */
    size_t n_window;
    int64_t unit[3]; /* of the site's value */
    int unit_rank;
    float values[2 * ASC_SAMPLE_MAX], base_values[ASC_SAMPLE_MAX], row_values[4 * ASC_SAMPLE_MAX];
    int32_t ids[ASC_SAMPLE_MAX], site_ids[ASC_SAMPLE_MAX];
} asc_sample_net;

/* Makes net i in place (it points into itself: not to be copied). Deinit also after a failure. */
ASC_MUST_USE asc_status asc_sample_net_init(asc_ctx *ctx, size_t i, asc_sample_net *out);
void asc_sample_net_deinit(asc_sample_net *s);

/* What of a request must live as long as it. */
typedef struct asc_sample_parts {
    int64_t index[ASC_MAX_RANK], unit[ASC_MAX_RANK];
    double stdev;
} asc_sample_parts;

/* Does the method make sense there? */
bool asc_sample_applies(const asc_method *m, const asc_sample_net *s, bool at_site);
/* A request of it on both examples; borrows from s and p. */
asc_attr_request asc_sample_request(const asc_method *m, const asc_sample_net *s, bool at_site,
                                    asc_sample_parts *p);

#endif
