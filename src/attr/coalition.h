/* coalition.h - rows in which some features are present and the others stand at the baseline, and the scores
 * of features spread over the elements they consist of. What all perturbation methods share. */
#ifndef ASC_COALITION_H
#define ASC_COALITION_H

#include "method.h"
#include "task.h"

/* Writes at[var] of example e: element i is x where rank[feature of i] < level, else the baseline. With rank
 * = the positions of a permutation, `level` features are present; with 0 = present, 1 = absent and level 1, a
 * set. */
void asc_coalition_fill(const asc_task *t, size_t e, size_t var, const int32_t *rank, int32_t level,
                        double *out);
/* The same with one byte per feature: present where it is not 0. */
void asc_coalition_fill_set(const asc_task *t, size_t e, size_t var, const uint8_t *present, double *out);
/* All of x but feature g, which stands at the baseline. */
void asc_coalition_fill_without(const asc_task *t, size_t e, size_t var, int32_t g, double *out);

/* Row of x of at[var] in example e; row of its baseline, NULL = zeros; row of its group numbers, NULL = none.
 */
const double *asc_var_row(const asc_task *t, const asc_var *v, size_t e);
const double *asc_var_baseline_row(const asc_task *t, const asc_var *v, size_t e);
const int32_t *asc_var_mask_row(const asc_var *v, size_t e);

/* Learns r->value and the number of explained numbers; for sites also their values. */
ASC_MUST_USE asc_status asc_coalition_begin(asc_task *t, size_t *n_out);
/* An array [n, n_out, n_features] of zeros; asc_free it. */
ASC_MUST_USE double *asc_coalition_alloc(asc_task *t, size_t n_out);
/* f of every example with all features absent into r->baseline_value. */
ASC_MUST_USE asc_status asc_coalition_empty(asc_task *t, size_t n_out);
/* Makes r->scores from scores per feature [n, n_out, n_features], the same number in every element of a
 * feature, and r->error_bound. errors NULL = not known. */
ASC_MUST_USE asc_status asc_coalition_publish(asc_task *t, size_t n_out, const double *scores,
                                              const double *errors);
/* Sets r->delta [n, n_out]: sum over the features - (value - baseline value). Notes a difference that
 * rounding does not explain. */
ASC_MUST_USE asc_status asc_coalition_delta(asc_task *t, size_t n_out, const double *scores);

/* background.c: runs a method for each row of a distribution of baselines in turn (any number of rows but 1
 * and the number of examples) and makes t->r the mean, with the errors of a mean; runs it once when there is
 * no distribution.
 */
ASC_MUST_USE asc_status asc_over_background(asc_task *t, asc_status (*attribute)(asc_task *t));
/* Rows of that distribution; 1 = there is none. */
size_t asc_n_background(const asc_task *t);

/* shapley_values.c: exact Shapley values from all sets of features, at most 20 of them. */
ASC_MUST_USE asc_status asc_shapley_all_sets(asc_task *t);

#endif
