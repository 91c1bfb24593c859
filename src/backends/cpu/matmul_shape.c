/* matmul_shape.c - see matmul_shape.h. */
#include "matmul_shape.h"

/* Strides, in matrices, of the leading dimensions of `s` seen with those of the result. */
static void lead_strides(const asc_shape *s, const asc_shape *y, int64_t strides[ASC_MAX_RANK]) {
    int64_t step = 1;
    for (int axis = y->rank - 3; axis >= 0; axis--) {
        int own = axis - (y->rank - s->rank);
        int64_t dim = own < 0 ? 1 : s->dims[own];
        strides[axis] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

void asc_matmul_shape_of(const asc_call *c, asc_matmul_shape *out) {
    const asc_shape *a = &c->in_shape[0], *b = &c->in_shape[1], *y = &c->shape;
    *out = (asc_matmul_shape){.ta = c->attrs->i[0] != 0, .tb = c->attrs->i[1] != 0, .batch = 1};
    out->m = y->dims[y->rank - 2];
    out->n = y->dims[y->rank - 1];
    out->k = a->dims[a->rank - (out->ta ? 2 : 1)];
    int64_t b_lead = 1;
    for (int i = 0; i < y->rank - 2; i++) out->batch *= y->dims[i];
    for (int i = 0; i < b->rank - 2; i++) b_lead *= b->dims[i];
    if (!out->ta && b_lead == 1 && a->rank == y->rank) {
        out->m *= out->batch;
        out->batch = 1;
        return;
    }
    out->lead_rank = y->rank - 2;
    for (int i = 0; i < out->lead_rank; i++) out->lead[i] = y->dims[i];
    lead_strides(a, y, out->a_stride);
    lead_strides(b, y, out->b_stride);
}

void asc_matmul_operands(const asc_matmul_shape *s, int64_t i, int64_t *out_a, int64_t *out_b) {
    *out_a = *out_b = 0;
    for (int axis = s->lead_rank - 1; axis >= 0; axis--) {
        int64_t at = i % s->lead[axis];
        i /= s->lead[axis];
        *out_a += at * s->a_stride[axis];
        *out_b += at * s->b_stride[axis];
    }
}
