/* ascribe/parity.h - does a device do what the exact one does: every op on its own sample cases, and twelve
 * things that automatic differentiation must get right.
 */
#ifndef ASCRIBE_PARITY_H
#define ASCRIBE_PARITY_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* WORKS: within the bound. WRONG: computed, and beyond it. MISSING: the device says that it cannot. FAILED:
 * another error. */
typedef enum asc_verdict {
    ASC_VERDICT_WORKS,
    ASC_VERDICT_WRONG,
    ASC_VERDICT_MISSING,
    ASC_VERDICT_FAILED
} asc_verdict;
ASC_API const char *asc_verdict_name(asc_verdict v); /* "works", "wrong", ... */

/* One sample of one op: its value, or the gradient of its first differentiable input. */
typedef struct asc_op_case {
    const char *op;
    int sample;
    bool gradient;
    asc_verdict verdict;
    double error, bound; /* largest difference from the exact device over max(1, largest value); error is NaN
                            on devices without values */
    char message[200];   /* of MISSING and FAILED; where WRONG begins */
    char *program;       /* text of the program that was run (docs/formats/program.md); NULL when it works,
                               unless one op was asked for */
} asc_op_case;

typedef struct asc_op_probe {
    asc_op_case *cases; /* op by op */
    size_t n;
    size_t count[4]; /* by verdict */
} asc_op_probe;

/* Runs every sample of every op (or of `op`, and of it only number `sample` when that is >= 0) in both
 * contexts, of which `exact` should be of the device "reference". Inputs are draws rounded to f32, the same
 * everywhere. The bound is 32 u, u being the unit roundoff of ctx's level: sums have at most 67 terms, whose
 * roundings add up to 8 u of the largest, inputs add as much, and there is room for as much again. NOT_FOUND:
 * no such op or sample; RESOURCE_EXHAUSTED; CANCELLED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_probe_ops(asc_ctx *ctx, asc_ctx *exact, const char *op, int sample,
                                              asc_op_probe **out);
ASC_API void asc_op_probe_destroy(asc_ctx *ctx, asc_op_probe *p); /* NULL is accepted */

/* ---- autograd ---- */

typedef struct asc_smoke_case {
    const char *name, *doc; /* "second derivative"; what is computed, and what it must be */
} asc_smoke_case;
/* Number i of the twelve; NULL when i is past the last. */
ASC_API const asc_smoke_case *asc_smoke_at(size_t i);
/* Runs it; *out_error is the largest difference from the numbers worked out by hand over max(1, largest).
 * ASC_OK also when the error is large; other codes: it could not be run, or what had to fail did not. */
ASC_API ASC_MUST_USE asc_status asc_smoke_run(asc_ctx *ctx, size_t i, double *out_error);

#ifdef __cplusplus
}
#endif
#endif
