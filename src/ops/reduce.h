/* reduce.h - what the reductions share: their attributes, shape rules, and walks for the reference kernels.
 * sum, mean and log_sum_exp take a list of axes (INTS at i[0]) and keep (BOOL at i[7]); max, min and prod
 * take one axis (INT at i[0]) and keep (BOOL at i[1]); arg_max and arg_min one axis and last (BOOL at i[1]).
 * Axes are counted from the front in attributes; builders turn negative ones. */
#ifndef ASC_REDUCE_H
#define ASC_REDUCE_H

#include "descriptor.h"
#include "ops.h"

/* Fields of the descriptors of sum, mean and log_sum_exp. */
#define ASC_REDUCE_FIELDS(E, op)                                                                             \
    ASC_OP_FIELDS_OF(E, op, 1, 1, asc_infer_reduce, asc_sample_reduce), ASC_OP_ATTRS, ASC_OP_RULES,          \
        .fuse = ASC_FUSE_REDUCE

enum { ASC_REDUCE_KEEP = 7 };

/* Axis counted from the front; one that does not exist stays wrong, and the shape rule rejects it. */
int64_t asc_axis_from_front(const asc_tensor *a, int64_t axis);
/* Axes made positive and sorted, so that equal reductions have equal attributes. */
asc_attrs asc_reduce_attrs(const asc_tensor *a, int n_axes, const int *axes, bool keep);
/* Shape rule of sum and mean. */
asc_status asc_infer_reduce(asc_ctx *ctx, asc_call *c);
/* Shape rule of one reduced axis. An axis of length 0 is rejected: nothing is the largest of no values. */
asc_status asc_infer_axis(asc_ctx *ctx, asc_call *c, int64_t axis, bool keep, asc_dtype dtype);
/* Whether axis k of the input is reduced. */
bool asc_reduces_axis(const asc_attrs *attrs, int64_t k);
/* Number of elements summed into one. */
double asc_reduce_count(const asc_shape *in, const asc_attrs *attrs);
/* Kernel of sum, each result times `factor`. Adds in row-major order of the input. */
void asc_ref_sum(const asc_ref_args *a, double factor);
/* Calls f(first element, stride, length) on each run along `axis` and stores its result. */
void asc_ref_axis(const asc_ref_args *a, int axis, bool keep,
                  double (*f)(const double *x, int64_t stride, int64_t n));
/* Position of the largest value; the first of equals, the first NaN if there is one. */
int64_t asc_find_largest(const double *x, int64_t stride, int64_t n);
/* The same for the smallest value, and with the last of equals (of NaNs) instead of the first. */
int64_t asc_find_extreme(const double *x, int64_t stride, int64_t n, bool smallest, bool last);
/* Shape rule of arg_max and arg_min: i32 without the axis i[0]. */
asc_status asc_infer_place(asc_ctx *ctx, asc_call *c);
/* As asc_sample_case, with values that differ by 1e-3 or more: for ops that choose one of them. */
bool asc_sample_apart(int i, const asc_case *cases, int n_cases, asc_sample *out);
/* Sample cases of max's relatives: axis at i[0], a flag at i[1]. */
bool asc_sample_axis(int i, asc_sample *out);
/* Shape of the input with the reduced axes of length 1. */
asc_shape asc_reduce_kept(const asc_tensor *in, const asc_attrs *attrs);
/* f32 like in: 1 at the largest value of each run along axis (the first of equals), else 0. A constant for
 * gradients. */
asc_tensor *asc_largest_mask(asc_ctx *ctx, asc_tensor *in, int axis);
/* Cost: an operation an input element. */
void asc_cost_reduce(const asc_call *c, asc_cost *out);
/* Sample cases of sum and mean. */
bool asc_sample_reduce(int i, asc_sample *out);

#endif
