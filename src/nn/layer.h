/* layer.h - what the layers of nets written in C share; src/nn/nn_*.c include it. */
#ifndef ASC_LAYER_H
#define ASC_LAYER_H

#include "frame.h"

/* A layer being recorded: its input has the site NAME.in, its ops carry the label NAME. */
typedef struct asc_layer {
    asc_frame *f;
    asc_ctx *ctx;
    const char *name;
    const char *label; /* of what surrounds it */
} asc_layer;

/* Names the input; *x receives the value to go on with. */
asc_layer asc_layer_begin(asc_frame *f, const char *name, asc_tensor **x);
/* Names the result. */
asc_tensor *asc_layer_end(const asc_layer *l, asc_tensor *y);
/* The weight NAME.what; NULL when it is optional and not there, poisoned when it is needed. */
asc_tensor *asc_layer_weight(const asc_layer *l, const char *what, bool optional);
/* Notes INVALID_ARGUMENT "NAME: message" and returns the poisoned tensor. */
asc_tensor *asc_layer_fail(const asc_layer *l, const char *fmt, ...) ASC_PRINTF(2, 3);

/* v [C] as [C,1,..] that lines up with axis 1 of x [B,C,..]. */
asc_tensor *asc_layer_per_channel(const asc_layer *l, asc_tensor *v, const asc_tensor *x);
/* x [..,K] w [N,K] transposed, plus bias [N] (NULL = none), as one op where there is a bias. */
asc_tensor *asc_layer_affine(const asc_layer *l, asc_tensor *x, asc_tensor *w, asc_tensor *bias);

#endif
