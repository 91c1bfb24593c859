/* pool.h - what the pools share: their attributes, shape rule, walk of the reference kernels, samples. */
#ifndef ASC_POOL_H
#define ASC_POOL_H

#include "move.h"
#include <math.h>

/* kernel, stride, dilation, before, after, ceil; for averages include_pad and, for the gradient, size. */
enum { ASC_MAX_POOL_N_ATTRS = 6, ASC_AVG_POOL_N_ATTRS = 7, ASC_AVG_POOL_GRAD_N_ATTRS = 8 };
extern const asc_attr_def asc_pool_attr_defs[ASC_AVG_POOL_GRAD_N_ATTRS];

asc_attrs asc_pool_attrs(const asc_tensor *like, const asc_window *win);
/* x [B,C,in] -> f32 [B,C,out]. */
asc_status asc_infer_pool(asc_ctx *ctx, asc_call *c);
/* Of n spatial sizes of the pool's input. */
void asc_pool_geometry_of(const asc_attrs *attrs, int n, const int64_t *in, asc_geometry *out);
/* One operation an element under a window. */
void asc_cost_pool(const asc_call *c, asc_cost *out);
bool asc_sample_pool(int i, double min_gap, asc_sample *out);

/* One window position of one plane, clipped to the input: input positions first[d] + k dilation[d], k < n[d].
 */
typedef struct asc_pool_at {
    const asc_geometry *geo;
    int64_t stride[ASC_MAX_SPATIAL]; /* of the plane in memory */
    int64_t first[ASC_MAX_SPATIAL], n[ASC_MAX_SPATIAL];
    double count; /* positions of the padded input under the window, cut at its end */
} asc_pool_at;
void asc_pool_place(asc_pool_at *p, const int64_t o[ASC_MAX_SPATIAL]);
/* Plane index of the largest element (first of equals, first NaN), -1 = the window holds none. */
int64_t asc_pool_find_largest(const asc_pool_at *p, const double *plane);
/* The element at a plane index. */
static inline const double *asc_pool_element(const asc_pool_at *p, const double *plane, int64_t at) {
    const asc_geometry *g = p->geo;
    return plane + at / (g->in[1] * g->in[2]) * p->stride[0] + at / g->in[2] % g->in[1] * p->stride[1] +
           at % g->in[2] * p->stride[2];
}
/* y[b,c,o] = f(window at o, plane of x). */
void asc_ref_pool(const asc_ref_args *a, double (*f)(const asc_pool_at *p, const double *plane));

#endif
