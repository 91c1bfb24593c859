/* norm.h - recorded arithmetic that the row normalisations and their gradients share. */
#ifndef ASC_NORM_H
#define ASC_NORM_H

#include "descriptor.h"

/* f32 [D] of ones or zeros, D the last dimension of a. */
asc_tensor *asc_norm_fill(asc_ctx *ctx, const asc_tensor *a, double value);
/* c minus its row mean. */
asc_tensor *asc_norm_centred(asc_ctx *ctx, asc_tensor *a);
/* 1 / sqrt(mean(c^2) + eps) by row: [..,1]. */
asc_tensor *asc_norm_rstd(asc_ctx *ctx, asc_tensor *c, double eps);
/* r (u - n mean(n u)), n = c r: the derivative of n along u (and its transpose, the matrix being symmetric).
 */
asc_tensor *asc_norm_first(asc_ctx *ctx, asc_tensor *c, asc_tensor *r, asc_tensor *u);
/* The derivative by c of <h, asc_norm_first(c, r(c), u)>:
 *   r^3 (3 r^2 c M(h c) M(u c) - c M(h u) - h M(u c) - u M(h c)), M the row mean.
 * Follows from dr/dc = -r^3 c / D; symmetric in h and u, so it serves forward and reverse mode alike. */
asc_tensor *asc_norm_second(asc_ctx *ctx, asc_tensor *c, asc_tensor *r, asc_tensor *u, asc_tensor *h);

/* ---- the descriptors ---- */

/* Samples: rows, a weight a column, and eps; the file adds what else its op takes. */
bool asc_norm_sample(int i, asc_sample *out);
/* Shape rule and samples of the gradients by the rows: rows, weight, g. */
asc_status asc_norm_grad_infer(asc_ctx *ctx, asc_call *c);
bool asc_norm_grad_sample(int i, asc_sample *out);

/* A gradient z(a, w, g) by the rows, linear in w and in g, whose matrix is symmetric. */
typedef struct asc_norm_grad_ops {
    asc_tensor *(*z)(asc_ctx *ctx, asc_tensor *a, asc_tensor *w, asc_tensor *g, double eps);
    /* <h, z> differentiated by a. */
    asc_tensor *(*second)(asc_ctx *ctx, asc_tensor *a, asc_tensor *w, asc_tensor *g, asc_tensor *h,
                          double eps);
} asc_norm_grad_ops;
void asc_norm_grad_vjp(asc_vjp_args *a, const asc_norm_grad_ops *ops);
asc_tensor *asc_norm_grad_jvp(asc_jvp_args *a, const asc_norm_grad_ops *ops);

#endif
