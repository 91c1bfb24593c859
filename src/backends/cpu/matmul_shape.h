/* matmul_shape.h - a matmul call decoded once: one product repeated over a batch.
 * Leading dimensions of a are folded into the rows when b has none, so that a weight sees one tall matrix. */
#ifndef ASC_MATMUL_SHAPE_H
#define ASC_MATMUL_SHAPE_H

#include "op.h"

typedef struct asc_matmul_shape {
    int64_t m, n, k; /* y [m,n] = a [m,k] b [k,n] */
    int64_t batch;   /* number of such products; y holds them one after the other */
    bool ta, tb;     /* a is stored [k,m]; b is stored [n,k] */
    int lead_rank;   /* of the batch, 0 when folded */
    int64_t lead[ASC_MAX_RANK];
    int64_t a_stride[ASC_MAX_RANK], b_stride[ASC_MAX_RANK]; /* in matrices; 0 where broadcast */
} asc_matmul_shape;

void asc_matmul_shape_of(const asc_call *c, asc_matmul_shape *out);

enum { ASC_MANY_ROWS = 9 };
/* Whether a product has the kernels of many rows: panels of weights that all rows share, and each level its
 * own. */
static inline bool asc_matmul_many(const asc_call *c, const asc_matmul_shape *s) {
    return s->m >= ASC_MANY_ROWS || c->many_rows;
}
/* Which matrix of a and which of b product i of the batch takes. */
void asc_matmul_operands(const asc_matmul_shape *s, int64_t i, int64_t *out_a, int64_t *out_b);

#endif
