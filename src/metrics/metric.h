/* metric.h - what the metrics share. */
#ifndef ASC_METRIC_H
#define ASC_METRIC_H

#include "ascribe/metrics.h"
#include "coalition.h"

ASC_MUST_USE asc_status asc_metric_create(asc_ctx *ctx, size_t n, bool means, bool betas, asc_metric **out);

/* Scores of at[k], [n, size], as doubles: from the caller's arrays (whose shapes are checked) or, when there
 * are none, by running the request's method. Free the n_at arrays and the list with asc_metric_scores_free.
 */
ASC_MUST_USE asc_status asc_metric_scores(asc_task *t, const asc_array *given, size_t n_given, double ***out);
void asc_metric_scores_free(asc_task *t, double **scores);

/* Room for the attributed values of `rows` examples: row i is out->rows + i * n_at. */
typedef struct asc_block {
    double **rows, *store;
} asc_block;
ASC_MUST_USE asc_status asc_block_init(asc_task *t, size_t rows, asc_block *out);
void asc_block_deinit(asc_task *t, asc_block *b);
/* Row i := the values of example e. */
void asc_block_load(const asc_task *t, const asc_block *b, size_t i, size_t e);

/* INVALID_ARGUMENT unless the target leaves one number per example. */
ASC_MUST_USE asc_status asc_metric_one_number(asc_task *t, const char *what);

#endif
