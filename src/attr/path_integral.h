/* path_integral.h - sums of gradients along the straight path from baselines to inputs (or between the two
 * values of sites), for methods on nets. */
#ifndef ASC_PATH_INTEGRAL_H
#define ASC_PATH_INTEGRAL_H

#include "task.h"

/* Zeroed sums, [n_at] arrays of [n, size]; NULL when out of memory. */
double **asc_path_sums_make(asc_task *t);
void asc_path_sums_free(asc_task *t, double **sum); /* NULL is accepted */

/* sum[k] = sum over the nodes of weight * gradient with respect to at[k]. sites: the path runs between the
 * sites' own values and replaces them; otherwise between the inputs. */
ASC_MUST_USE asc_status asc_path_fixed(asc_task *t, bool sites, const double *nodes, const double *weights,
                                       size_t n, double **sum);
/* The same by rules that double until, for each example by itself, no score changes by more than the
 * request's tolerance (of the largest score) and the scores add up; change: the last change of each score.
 * Needs r->value and r->baseline_value. */
ASC_MUST_USE asc_status asc_path_refine(asc_task *t, bool sites, double **sum, double **change,
                                        bool *converged);
/* Points an example that asc_path_refine takes: at least, and at most under the request's limit. */
size_t asc_path_least(void);
size_t asc_path_most(const asc_task *t);

#endif
