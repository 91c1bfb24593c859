/* ascribe/matrix.h - how far the fast device is from the exact one: every method on three small nets (an MLP,
 * a CNN with batch norm and pooling, a transformer with attention, layer norm and gelu), with the same draws.
 */
#ifndef ASCRIBE_MATRIX_H
#define ASCRIBE_MATRIX_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_matrix_cell {
    const char *method, *model;
    const char *at; /* "" = the input; the site of a layer form */
    bool stochastic;
    double error; /* largest difference of two scores over the largest score on the exact device */
} asc_matrix_cell;

/* Owned by the caller. */
typedef struct asc_matrix {
    asc_matrix_cell *cells; /* method by method, model by model */
    size_t n;
    double worst, median; /* over the cells */
} asc_matrix;

/* Runs `method` (NULL = every method that works on nets) in both contexts, of which `exact` should be of the
 * device "reference". Errors are those of asc_attribute, NOT_FOUND for an unknown method; the failing cell is
 * named. The message is in ctx. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_method_matrix(asc_ctx *ctx, asc_ctx *exact, const char *method,
                                                  asc_matrix **out);
ASC_API void asc_matrix_destroy(asc_ctx *ctx, asc_matrix *m); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
