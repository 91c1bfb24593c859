/* owned.h - the weights that a model holds: counted tensors, given back together. */
#ifndef ASC_OWNED_H
#define ASC_OWNED_H

#include "alloc.h"
#include "tensor.h"

typedef struct asc_owned {
    asc_tensor **v;
    size_t n, cap;
} asc_owned;

/* Retains t and returns it; NULL when it is poisoned (its error is taken) or memory is out: *st says which.
 */
asc_tensor *asc_owned_add(asc_ctx *ctx, asc_owned *o, asc_tensor *t, asc_status *st);
/* Releases all of them; an empty one is accepted, ctx is not looked at then. */
void asc_owned_release(asc_ctx *ctx, asc_owned *o);

#endif
