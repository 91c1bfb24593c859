/* descriptor.h - what the descriptors of ops share: the fields that follow from the names that every op file
 * gives its functions and its attribute table, tables of sample cases with one input, sums of tangents. */
#ifndef ASC_DESCRIPTOR_H
#define ASC_DESCRIPTOR_H

#include "op.h"

/* Name, number of inputs and the functions every op has; E is the name in ops.def's first column. */
#define ASC_OP_FIELDS_OF(E, op, least_in, most_in, infer_fn, sample_fn)                                      \
    .name = #op, .opcode = ASC_OPCODE_##E, .min_in = least_in, .max_in = most_in, .infer = infer_fn,         \
    .ref = ref, .sample = sample_fn
/* The same where the shape rule and the samples are the file's own, `infer` and `sample`. */
#define ASC_OP_FIELDS(E, op, least_in, most_in) ASC_OP_FIELDS_OF(E, op, least_in, most_in, infer, sample)
/* The file's attribute table, with its length. */
#define ASC_OP_ATTRS .attrs = attr_defs, .n_attrs = (int)(sizeof attr_defs / sizeof attr_defs[0])
/* The file's derivatives in both directions. */
#define ASC_OP_RULES .vjp = vjp, .jvp = jvp

/* A sample with one input. */
typedef struct asc_case {
    asc_shape shape;
    asc_attrs attrs;
} asc_case;
#define ASC_N_CASES(cases) ((int)(sizeof(cases) / sizeof(cases)[0]))
/* Case i as a sample of f32 values in [-2, 2); false when there is none. */
bool asc_sample_case(int i, const asc_case *cases, int n_cases, asc_sample *out);

/* a + b where NULL stands for zero; NULL when both are: tangents are added with it. */
asc_tensor *asc_add_or(asc_ctx *ctx, asc_tensor *a, asc_tensor *b);

#endif
