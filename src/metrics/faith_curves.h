/* faith_curves.h - which prompts a set of scores asks to be run, and what their values say about the scores.
 * No model is needed here: a value is a number for each set of features. */
#ifndef ASC_FAITH_CURVES_H
#define ASC_FAITH_CURVES_H

#include "ascribe/evaluate.h"

enum { ASC_FAITH_SHARES = 5 };
extern const double asc_faith_shares[ASC_FAITH_SHARES]; /* ERASER's 1, 5, 10, 20, 50 % of the features */

/* Rows that one vector of n scores asks for, [rows, n] of 0 and 1: deletion n + 1 (row k lacks the k
 * largest), insertion n + 1 (row k has only the k largest), least first n + 1, then for each share the prompt
 * without its top features and with only those. */
size_t asc_faith_n_rows(size_t n);
/* order: scratch of n entries. Equal scores keep the order of the text. */
void asc_faith_fill(const double *scores, size_t n, size_t *order, uint8_t *rows);
/* values: of those rows. is_log: p = exp f. Sets the metrics from DELETION to MONOTONICITY. */
void asc_faith_measure(const double *values, const double *scores, size_t n, bool is_log,
                       double metric[ASC_N_FAITH]);

/* Random subsets for the linear fit: row i of [rows, n] has every feature with probability one half. */
void asc_faith_subsets(uint64_t seed, size_t rows, size_t n, uint8_t *out);

#endif
