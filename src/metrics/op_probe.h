/* op_probe.h - the pieces of asc_probe_ops that tests look at by themselves. */
#ifndef ASC_OP_PROBE_H
#define ASC_OP_PROBE_H

#include "ascribe/parity.h"
#include "ops.h"

/* Values for the inputs of a sample: uniform in its range and rounded to f32 (integers: whole numbers),
 * min_gap apart from each other and from 0; an f32 input that is not differentiated and goes from 0 to 1 is a
 * mask of zeros and ones. Stored types: values that the format holds exactly, with their bytes. */
typedef struct asc_op_inputs {
    int n_in;
    int64_t elems[ASC_MAX_IN];
    double *value[ASC_MAX_IN];
    int32_t *whole[ASC_MAX_IN]; /* of integers */
    void *stored[ASC_MAX_IN];   /* of stored types */
} asc_op_inputs;

/* RESOURCE_EXHAUSTED; UNIMPLEMENTED for a stored type that it cannot draw. Free in any case. */
ASC_MUST_USE asc_status asc_op_inputs_draw(asc_ctx *ctx, const asc_sample *s, asc_op_inputs *out);
void asc_op_inputs_free(asc_ctx *ctx, asc_op_inputs *in);
/* Input k as a leaf of ctx; its numbers must outlive the leaf. */
asc_tensor *asc_op_inputs_leaf(asc_ctx *ctx, const asc_sample *s, const asc_op_inputs *in, int k);

/* Compares n numbers and sets error, verdict and message. */
void asc_op_judge(asc_op_case *c, const double *got, const double *want, int64_t n);

#endif
