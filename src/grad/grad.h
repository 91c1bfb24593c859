/* grad.h - derivatives of recorded ops. Gradients are more ops in the same graph, so they can be
 * differentiated again. A rule table replaces the VJP of chosen ops for one backward pass (DeepLift, LRP,
 * Guided Backprop): data, not state. */
#ifndef ASC_GRAD_H
#define ASC_GRAD_H

#include "op.h"

typedef void (*asc_vjp_fn)(asc_vjp_args *a);

typedef struct asc_grad_rules {
    const char *name;
    asc_vjp_fn vjp[ASC_N_OPS]; /* NULL = the op's own */
} asc_grad_rules;

/* As asc_grad (ascribe/tensor.h), with rules (NULL = none). */
void asc_grad_with_rules(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *seed,
                         asc_tensor *const *xs, size_t n, asc_tensor **out_grads);
/* Forward mode: tangent of y for tangents txs of xs. */
asc_tensor *asc_jvp(asc_ctx *ctx, asc_tensor *y, asc_tensor *const *xs, asc_tensor *const *txs, size_t n);

#endif
