/* site_path.h - passes over a prompt whose inner values count: at points between the two values of a site,
 * or at points between the baseline's embeddings and the prompt's, read at the job's site. */
#ifndef ASC_SITE_PATH_H
#define ASC_SITE_PATH_H

#include "budget.h"

enum { ASC_SITE_LEAVES = 4, ASC_SITE_OUTS = 3 };

/* The ops of one pass at b points a [b,1,1]. leaves: ASC_PASS_SITE, _SITE_VALUES: the prompt's embeddings
 * [P,D], the site's value there and its baseline [P,W], a; ASC_PASS_FLOW, _THROUGH: the prompt's embeddings
 * and the baseline's [P,D], a. outs, whose number is returned: the value [b], then with _SITE and _THROUGH
 * the directional parts [b,P]; with _FLOW the gradient at the site and the site's value [b,>=P,W]. */
size_t asc_record_site_pass(asc_job *j, asc_pass_kind kind, asc_tensor *const *leaves, asc_tensor **outs);
/* Shapes of the leaves for b points of a prompt of len tokens; how many. */
size_t asc_site_leaves(const asc_job *j, asc_pass_kind kind, size_t len, size_t b, asc_shape *out);

/* Along the straight line of the site's rows of active tokens from the baseline's run to the prompt's, all
 * else being the prompt's own: values f [n]; directional parts g [n,P], or NULL for values alone. */
ASC_MUST_USE asc_status asc_site_path(asc_job *j, const double *alphas, size_t n, double *f, double *g);
/* Along the line of the embeddings: what of the change flows through the job's neuron (neuron.through):
 * g [n,P] = d f / d y times the directional parts of y, its value. */
ASC_MUST_USE asc_status asc_site_through(asc_job *j, const double *alphas, size_t n, double *g);
/* Along the line of the embeddings, one point after the other: the site's value and the gradient there, both
 * [P,W] in rows of `width`. */
typedef asc_status (*asc_flow_sink)(void *self, size_t point, const double *y, const double *g);
ASC_MUST_USE asc_status asc_site_flow(asc_job *j, const double *alphas, size_t n, asc_flow_sink sink,
                                      void *self);
/* Scores [P] of a rule over points and their errors, of which the same by half as many points, coarser[P],
 * tells; NULL: they are unknown, and the warning `unknown` says why. Either may be the result's own arrays.
 */
ASC_MUST_USE asc_status asc_site_publish(asc_job *j, const double *scores, const double *coarser,
                                         const char *unknown);
/* Columns of the job's site. */
size_t asc_job_site_width(const asc_job *j);

#endif
