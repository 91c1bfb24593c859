/* move.h - what the ops share that move values without arithmetic: copies between strided arrays, shapes as
 * attributes, type rules. A shape or permutation is an INTS attribute at i[0]: its length, then its numbers.
 */
#ifndef ASC_MOVE_H
#define ASC_MOVE_H

#include "reduce.h"

/* dst[idx] = src[sum of idx times strides] over the dimensions of dst. */
void asc_nd_copy(const asc_nd *dst, const double *src, const int64_t *strides);
/* Whether the elements lie one behind the other, in row-major order. */
bool asc_nd_dense(const asc_nd *a);
void asc_nd_fill(const asc_nd *dst, double value);
/* The part of a that starts at `start` on an axis and is `len` long there; shares the data. */
asc_nd asc_nd_part(const asc_nd *a, int64_t axis, int64_t start, int64_t len);
/* Index i as a row number: the nearest of 0..n-1 (NaN is 0). Callers of gather and its relatives check ids.
 */
int64_t asc_nd_row(double i, int64_t n);

asc_attrs asc_attrs_of_shape(const asc_shape *shape);
/* False when the attribute is no shape: rank out of 0..ASC_MAX_RANK or a negative dimension. */
bool asc_shape_of_attrs(const asc_attrs *attrs, asc_shape *out);
/* Input k must be f32 or i32 (stored weights cannot be moved around); the result gets its type. */
asc_status asc_infer_plain(asc_ctx *ctx, asc_call *c, int k);
asc_status asc_infer_need_i32(asc_ctx *ctx, const asc_call *c, int k);
asc_status asc_infer_need_axis(asc_ctx *ctx, const asc_call *c, int k, int64_t axis);
/* Whether an index of shape `index` chooses along `axis` from something of shape `from`: equal ranks, and no
 * more elements than there on the other axes. */
bool asc_along_fits(const asc_shape *from, const asc_shape *index, int64_t axis);
/* Sample cases of take_along and put_along: input 0 is what is chosen from, input 1 the indices. */
bool asc_sample_along(int i, asc_sample *out, int64_t *axis);
/* As asc_sample_case, the last case of i32 values. */
bool asc_sample_moved(int i, const asc_case *cases, int n_cases, asc_sample *out);
/* A sample of f32 values in [-2, 2) and i32 indices in [0, n). */
asc_sample asc_sample_indexed(asc_shape values, asc_shape index, double n);
/* Turns a sample case into one of i32 values. */
void asc_sample_integers(asc_sample *out);
/* Bytes of n elements of a type, for costs; stored blocks count by their share. */
double asc_cost_bytes(asc_dtype dtype, double n);

#endif
