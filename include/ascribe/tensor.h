/* ascribe/tensor.h - values of a computation.
 *
 * A tensor is a node of a recorded computation: ops make new tensors and never change one. When it is
 * computed is the business of the context's mode: "eager" computes at once, "deferred" when a value is read
 * or asc_run is called. Ownership: every tensor belongs to the scope that was open when it was made and dies
 * with it, so model code never frees anything. asc_keep hands a tensor to the surrounding scope. The
 * outermost scope is the context. Errors: an op never returns NULL. After an error it returns a poisoned
 * tensor, later ops pass it on, and the next boundary (asc_run, asc_read_*, asc_scope_end) returns the status
 * of the first error.
 */
#ifndef ASCRIBE_TENSOR_H
#define ASCRIBE_TENSOR_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_MAX_RANK 6

/* rank 0 is a scalar. dims[0] is the outermost; storage is row-major. */
typedef struct asc_shape {
    int rank;
    int64_t dims[ASC_MAX_RANK];
} asc_shape;

#define ASC_SHAPE(...)                                                                                       \
    ((asc_shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dims = {__VA_ARGS__}})
#define ASC_SCALAR_SHAPE ((asc_shape){.rank = 0})

typedef struct asc_tensor asc_tensor;

/* Scopes nest. asc_scope_end frees every tensor made since the matching begin, except kept ones, and returns
 * the first error recorded by an op inside it (ASC_OK if none). */
ASC_API void asc_scope_begin(asc_ctx *ctx);
ASC_API ASC_MUST_USE asc_status asc_scope_end(asc_ctx *ctx);
/* Moves t to the scope around the current one; returns t. */
ASC_API asc_tensor *asc_keep(asc_ctx *ctx, asc_tensor *t);

/* Leaves, copied from host memory (row-major; the number of elements is that of the shape). */
ASC_API asc_tensor *asc_from_f32(asc_ctx *ctx, asc_shape shape, const float *data);
ASC_API asc_tensor *asc_from_f64(asc_ctx *ctx, asc_shape shape,
                                 const double *data); /* rounded to f32 but on the reference device */
ASC_API asc_tensor *asc_from_i32(asc_ctx *ctx, asc_shape shape, const int32_t *data);

ASC_API asc_shape asc_tensor_shape(const asc_tensor *t);
ASC_API int64_t asc_tensor_elems(const asc_tensor *t);
ASC_API bool asc_tensor_poisoned(const asc_tensor *t);

/* Computes the given tensors (one cut). Their values then stay until their scope ends. */
ASC_API ASC_MUST_USE asc_status asc_run(asc_ctx *ctx, asc_tensor *const *ts, size_t n);
/* Computes t if need be and copies its elements out; n must be the number of elements. */
ASC_API ASC_MUST_USE asc_status asc_read_f32(asc_ctx *ctx, asc_tensor *t, float *out, size_t n);
ASC_API ASC_MUST_USE asc_status asc_read_f64(asc_ctx *ctx, asc_tensor *t, double *out, size_t n);
ASC_API ASC_MUST_USE asc_status asc_read_i32(asc_ctx *ctx, asc_tensor *t, int32_t *out, size_t n);

/* The end of one step of a loop (a chunk of points, a token): what the step left for later is computed now,
 * as one program, so that the next step finds the same program again. Costs nothing when all values were
 * read. `name` says which loop, in messages ("ig.chunk"). */
ASC_API ASC_MUST_USE asc_status asc_mark(asc_ctx *ctx, const char *name);

/* Gradients of the scalar (or, with seed, of sum(seed * y)) y with respect to xs, as recorded ops;
 * out_grads[i] has the shape of xs[i] (zeros where y does not depend on it). seed NULL needs a y of one
 * element. The whole path from xs to y must have been recorded in scopes that are still open. Errors poison
 * the results. */
ASC_API void asc_grad(asc_ctx *ctx, asc_tensor *y, asc_tensor *seed, asc_tensor *const *xs, size_t n,
                      asc_tensor **out_grads);

#ifdef __cplusplus
}
#endif
#endif
