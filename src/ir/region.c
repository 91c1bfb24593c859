/* region.c - see region.h. */
#include "region.h"

int asc_region_axes(const asc_shape *s, int64_t rows) {
    int64_t product = 1;
    for (int q = 0; q <= s->rank; q++) {
        if (product == rows) return q;
        if (q < s->rank) product *= s->dims[q];
    }
    return -1;
}

static bool is_conv(const asc_node *n) { return n->op != NULL && n->op->opcode == ASC_OPCODE_CONV; }

bool asc_region_may_lead(const asc_node *n) {
    return n->op != NULL && (n->op->opcode == ASC_OPCODE_MATMUL || n->op->opcode == ASC_OPCODE_MATMUL_BIAS ||
                             n->op->opcode == ASC_OPCODE_CONV);
}

bool asc_region_may_hold(const asc_node *n) {
    if (n->op == NULL || n->dtype != ASC_DTYPE_F32 || n->n_in == 0) return false;
    switch (n->op->opcode) {
    case ASC_OPCODE_RESHAPE:
    case ASC_OPCODE_SWIGLU_GRAD:
    case ASC_OPCODE_SOFTMAX:
    case ASC_OPCODE_SOFTMAX_GRAD:
    case ASC_OPCODE_LOG_SOFTMAX:
    case ASC_OPCODE_RMS_NORM:
    case ASC_OPCODE_RMS_NORM_GRAD:
    case ASC_OPCODE_LAYER_NORM:
    case ASC_OPCODE_LAYER_NORM_GRAD:
    case ASC_OPCODE_SUM:
    case ASC_OPCODE_MEAN:
    case ASC_OPCODE_MAX:
    case ASC_OPCODE_MIN:
        return true;
    default:
        return n->op->fuse == ASC_FUSE_POINTWISE && n->n_in <= 3;
    }
}

/* First axis that a reduction runs over. */
static int first_reduced(const asc_node *n, int rank) {
    if (n->op->opcode == ASC_OPCODE_MAX || n->op->opcode == ASC_OPCODE_MIN) return (int)n->attrs.i[0];
    int first = rank;
    for (int64_t k = 0; k < n->attrs.i[0]; k++) {
        if (n->attrs.i[1 + k] < first) first = (int)n->attrs.i[1 + k];
    }
    return first;
}

/* Input s of a node whose result has the shape y, broadcast; the leading q axes of y are the rows. */
static asc_reads reads_broadcast(const asc_shape *s, const asc_shape *y, int q) {
    bool by_rows = true, whole = true;
    for (int axis = 0; axis < q; axis++) {
        const int own = axis - (y->rank - s->rank);
        const int64_t dim = own < 0 ? 1 : s->dims[own];
        if (dim != y->dims[axis]) by_rows = false;
        if (dim != 1) whole = false;
    }
    return by_rows ? ASC_READS_ROWS : whole ? ASC_READS_WHOLE : ASC_READS_OTHER;
}

asc_reads asc_region_reads(const asc_program *p, const asc_node *n, int i, int64_t rows) {
    const asc_shape *s = &p->nodes[n->in[i]].shape, *first = &p->nodes[n->in[0]].shape;
    const int op = n->op->opcode;
    int q;
    if (asc_region_may_lead(n)) return ASC_READS_OTHER;
    if (n->op->fuse == ASC_FUSE_POINTWISE) {
        q = asc_region_axes(&n->shape, rows);
        return q < 0 ? ASC_READS_OTHER : reads_broadcast(s, &n->shape, q);
    }
    q = asc_region_axes(first, rows);
    if (q < 0) return ASC_READS_OTHER;
    if (op == ASC_OPCODE_RESHAPE)
        return asc_region_axes(&n->shape, rows) < 0 ? ASC_READS_OTHER : ASC_READS_ROWS;
    if (op == ASC_OPCODE_SWIGLU_GRAD) return ASC_READS_ROWS;
    if (n->op->fuse == ASC_FUSE_REDUCE)
        return first_reduced(n, first->rank) < q ? ASC_READS_OTHER : ASC_READS_ROWS;
    if (q >= first->rank) return ASC_READS_OTHER; /* what follows works along the last axis */
    const bool norm =
        op != ASC_OPCODE_SOFTMAX && op != ASC_OPCODE_SOFTMAX_GRAD && op != ASC_OPCODE_LOG_SOFTMAX;
    const bool grad = op == ASC_OPCODE_RMS_NORM_GRAD || op == ASC_OPCODE_LAYER_NORM_GRAD;
    return norm && (i == 1 || (i == 2 && !grad)) ? ASC_READS_WHOLE : ASC_READS_ROWS;
}

/* One by one: each operand has the width of the product's rows, or repeats along them. */
static bool takes_columns(const asc_program *p, const asc_node *n, int64_t rows, int64_t width) {
    const int op = n->op->opcode;
    if (op == ASC_OPCODE_RESHAPE) return true;
    if (n->op->fuse != ASC_FUSE_POINTWISE && op != ASC_OPCODE_SWIGLU_GRAD) return false;
    for (int i = 0; i < n->n_in; i++) {
        const int64_t elems = asc_shape_elems(&p->nodes[n->in[i]].shape);
        const int64_t w = asc_region_reads(p, n, i, rows) == ASC_READS_ROWS ? elems / rows : elems;
        if (w != width && w != 1) return false;
    }
    return op == ASC_OPCODE_SWIGLU_GRAD || asc_shape_elems(&n->shape) == rows * width;
}

typedef struct members {
    const asc_program *p;
    const int32_t *nodes; /* NULL = first, first + 1, ... */
    size_t first, n;
} members;

static size_t member(const members *m, size_t k) {
    return m->nodes != NULL ? (size_t)m->nodes[k] : m->first + k;
}

static bool is_member(const members *m, int32_t node) {
    if (m->nodes == NULL) return (size_t)node >= m->first && (size_t)node < m->first + m->n;
    for (size_t k = 0; k < m->n; k++) {
        if (m->nodes[k] == node) return true;
    }
    return false;
}

static bool agree(const members *m, int64_t rows, int64_t width, bool product) {
    for (size_t k = product ? 1 : 0; k < m->n; k++) {
        const asc_node *n = &m->p->nodes[member(m, k)];
        if (n->op->opcode != ASC_OPCODE_SWIGLU_GRAD && asc_region_axes(&n->shape, rows) < 0) return false;
        for (int i = 0; i < n->n_in; i++) {
            const asc_node *in = &m->p->nodes[n->in[i]];
            const asc_reads how = asc_region_reads(m->p, n, i, rows);
            if (how == ASC_READS_OTHER || in->dtype != ASC_DTYPE_F32) return false;
            if (!is_member(m, n->in[i])) continue;
            if (how != ASC_READS_ROWS || in->op->opcode == ASC_OPCODE_SWIGLU_GRAD) return false;
        }
        if (product && !takes_columns(m->p, n, rows, width)) return false;
    }
    return true;
}

static bool describe(const members *m, asc_region *out) {
    const asc_node *lead = &m->p->nodes[member(m, 0)];
    *out = (asc_region){
        .first = member(m, 0), .last = member(m, m->n - 1), .product = asc_region_may_lead(lead)};
    if (m->n > ASC_REGION_MAX_NODES) return false;
    for (size_t k = out->product ? 1 : 0; k < m->n; k++) {
        const asc_node *n = &m->p->nodes[member(m, k)];
        if (!asc_region_may_hold(n) || asc_shape_elems(&n->shape) <= 0) return false;
    }
    const asc_shape *s = lead->op != NULL && lead->op->opcode == ASC_OPCODE_SWIGLU_GRAD
                             ? &m->p->nodes[lead->in[0]].shape
                             : &lead->shape;
    const int64_t elems = asc_shape_elems(s);
    if (elems <= 0) return false;
    if (out->product) {
        int64_t width = s->dims[s->rank - 1]; /* of a convolution a row is a plane: [B,M] of [out] */
        for (int axis = 2; is_conv(lead) && axis < s->rank - 1; axis++) width *= s->dims[axis];
        out->rows = elems / width;
        return agree(m, out->rows, width, true);
    }
    int64_t rows = elems;
    for (int axis = s->rank;; axis--) {
        if (agree(m, rows, 0, false)) {
            out->rows = rows;
            return true;
        }
        if (axis == 0) return false;
        rows /= s->dims[axis - 1];
    }
}

bool asc_region_of(const asc_program *p, size_t first, size_t last, asc_region *out) {
    return describe(&(members){.p = p, .first = first, .n = last - first + 1}, out);
}

bool asc_region_of_nodes(const asc_program *p, const int32_t *nodes, size_t n, asc_region *out) {
    return describe(&(members){.p = p, .nodes = nodes, .n = n}, out);
}

size_t asc_region_end(const asc_program *p, size_t k) {
    const int32_t group = p->nodes[k].group;
    while (group != 0 && k + 1 < p->n_nodes && p->nodes[k + 1].group == group) k++;
    return k;
}
