/* rows.h - reference loops of ops that work on rows (the last axis) independently of each other. */
#ifndef ASC_ROWS_H
#define ASC_ROWS_H

#include "descriptor.h"

enum { ASC_ROW_MAX_IN = 4 };

/* One row: pointers to the first elements and the distance between neighbours, in elements. */
typedef struct asc_row {
    int64_t n;
    const double *in[ASC_ROW_MAX_IN];
    int64_t step[ASC_ROW_MAX_IN];
    double *out;
    int64_t out_step;
} asc_row;

/* Calls fn for every row of the result, over the threads that `a` allows. The result has the shape of input
 * 0; the other inputs have that shape or are one row (rank 1) used for all. At most ASC_ROW_MAX_IN inputs. */
void asc_ref_rows(const asc_ref_args *a, void (*fn)(const asc_row *r, const asc_attrs *attrs));

/* INVALID_ARGUMENT unless input 0 is f32 of rank >= 1; the result gets its shape. */
asc_status asc_infer_rows(asc_ctx *ctx, asc_call *c);
/* INVALID_ARGUMENT unless input k is f32 with the shape of input 0. */
asc_status asc_infer_like_rows(asc_ctx *ctx, const asc_call *c, int k, const char *what);
/* INVALID_ARGUMENT unless input k is f32 [D], D the last dimension of input 0. */
asc_status asc_infer_per_column(asc_ctx *ctx, const asc_call *c, int k, const char *what);
/* Bytes of one pass over inputs and result, `flops_per_elem` operations an element of the result. */
void asc_cost_rows(const asc_call *c, double flops_per_elem, asc_cost *out);

/* Samples of softmax and its logarithm: rows of scores. */
bool asc_sample_scores(int i, asc_sample *out);

/* Recorded helpers. Mean and sum over the last axis, which stays as a dimension of 1. */
asc_tensor *asc_row_mean(asc_ctx *ctx, asc_tensor *a);
asc_tensor *asc_row_sum(asc_ctx *ctx, asc_tensor *a);
/* Sum over all axes but the last: [D]. */
asc_tensor *asc_column_sum(asc_ctx *ctx, asc_tensor *a);

#endif
