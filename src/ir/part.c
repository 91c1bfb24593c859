/* part.c - parts of results, op by op; see part.h. An op is listed only if the bits of an element depend on
 * nothing outside its part: pointwise ops, ops on rows of other axes, moves, and matrix products whose
 * kernels treat every row alike. */
#include "part.h"
#include "attention.h"
#include "passes.h"
#include "reduce.h"
#include "rewrite.h"

asc_part asc_part_of(const asc_shape *shape, int axis, int64_t lo, int64_t hi) {
    if (axis < 0 || (lo <= 0 && hi >= shape->dims[axis])) return asc_part_all();
    return (asc_part){axis, lo, hi};
}

bool asc_part_is(asc_part p) { return p.axis >= 0; }

asc_part asc_part_hull(const asc_shape *shape, asc_part a, asc_part b) {
    if (a.axis == ASC_PART_NONE) return b;
    if (b.axis == ASC_PART_NONE) return a;
    if (a.axis != b.axis || a.axis < 0) return asc_part_all();
    return asc_part_of(shape, a.axis, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

/* The axis of an input that an op repeats by NumPy's rule. */
static int repeated_axis(const asc_shape *in, const asc_shape *out, int axis) {
    int own = axis - (out->rank - in->rank);
    return own >= 0 && in->dims[own] == out->dims[axis] ? own : ASC_PART_ALL;
}

/* The axis of `in` that becomes `axis` of `out` when the elements stay in order. */
static int reshaped_axis(const asc_shape *in, const asc_shape *out, int axis) {
    int64_t before = 1, own = 1;
    for (int k = 0; k < axis; k++) before *= out->dims[k];
    for (int k = 0; k < in->rank; own *= in->dims[k++])
        if (own == before && in->dims[k] == out->dims[axis]) return k;
    return ASC_PART_NONE;
}

/* All axes that are reduced lie behind `axis`, and the last one that counts is reduced: the additions of an
 * element are then grouped by those axes alone. */
static bool sums_alone(const asc_shape *in, const asc_node *n, int axis) {
    for (int k = 0; k <= axis; k++)
        if (asc_reduces_axis(&n->attrs, k)) return false;
    int last = in->rank - 1;
    while (last > axis && in->dims[last] == 1) last--;
    return last > axis && asc_reduces_axis(&n->attrs, last);
}

/* Axis of the input of a reduction, from one of the result. */
static int before_reduction(const asc_shape *in, const asc_shape *out, const asc_node *n, int axis,
                            bool by_list) {
    if (in->rank == out->rank) return axis;
    for (int k = 0, o = 0; k < in->rank; k++) {
        if (by_list ? asc_reduces_axis(&n->attrs, k) : n->attrs.i[0] == k) continue;
        if (o++ == axis) return k;
    }
    return ASC_PART_NONE;
}

static bool reduction(const asc_node *nodes, const asc_node *n, int axis, bool by_list, asc_part_rule *out) {
    const asc_shape *in = &nodes[n->in[0]].shape;
    int own = before_reduction(in, &n->shape, n, axis, by_list);
    if (own < 0 || in->dims[own] != n->shape.dims[axis]) return false;
    if (by_list ? !sums_alone(in, n, own) : own == n->attrs.i[0]) return false;
    out->axis[0] = own;
    return true;
}

/* Inputs of the result's shape follow it; the rest is used by every row. */
static bool rows(const asc_node *nodes, const asc_node *n, int axis, asc_part_rule *out) {
    if (axis == n->shape.rank - 1) return false;
    for (int i = 0; i < n->n_in; i++)
        out->axis[i] = asc_shape_eq(&nodes[n->in[i]].shape, &n->shape) ? axis : ASC_PART_ALL;
    return true;
}

static bool product(const asc_node *nodes, const asc_node *n, int axis, bool rows_depend,
                    asc_part_rule *out) {
    if (rows_depend || n->attrs.i[0] != 0 || nodes[n->in[1]].shape.rank != 2 || axis == n->shape.rank - 1)
        return false;
    int64_t m = 1;
    for (int k = 0; k + 1 < n->shape.rank; k++) m *= n->shape.dims[k];
    out->axis[0] = axis;
    out->many = m > ASC_FEW_ROWS;
    return true;
}

static bool attention(const asc_node *nodes, const asc_node *n, int axis, asc_part_rule *out) {
    const asc_shape *q = &nodes[n->in[0]].shape, *k = &nodes[n->in[1]].shape;
    if (axis != 1 || k->dims[2] == 0) return false;
    out->axis[0] = axis;
    /* queries are counted from the last: what they see depends on where the last one stands */
    out->to_end = n->attrs.i[ASC_ATTN_CAUSAL] != 0 || n->attrs.i[ASC_ATTN_WINDOW] != 0;
    out->many = q->dims[1] * (q->dims[2] / k->dims[2]) > ASC_FEW_ROWS;
    return true;
}

static bool turned(const asc_node *n, int axis, asc_part_rule *out) {
    if (axis == n->shape.rank - 1) return false;
    out->axis[0] = axis;
    if (axis == n->shape.rank - 3) out->axis[1] = 0;
    return true;
}

static bool moves(const asc_node *nodes, const asc_node *n, int axis, asc_part_rule *out) {
    const asc_shape *in = &nodes[n->in[0]].shape;
    switch (n->op->opcode) {
    case ASC_OPCODE_RESHAPE:
        out->axis[0] = reshaped_axis(in, &n->shape, axis);
        return out->axis[0] >= 0;
    case ASC_OPCODE_TRANSPOSE:
        out->axis[0] = (int)n->attrs.i[axis + 1];
        return true;
    case ASC_OPCODE_BROADCAST:
        out->axis[0] = repeated_axis(in, &n->shape, axis);
        return true;
    case ASC_OPCODE_SLICE:
    case ASC_OPCODE_PAD:
    case ASC_OPCODE_CONCAT:
        if (n->attrs.i[0] == axis) return false;
        for (int i = 0; i < n->n_in; i++) out->axis[i] = axis;
        return true;
    default:
        return false;
    }
}

static bool choices(const asc_node *nodes, const asc_node *n, int axis, asc_part_rule *out) {
    switch (n->op->opcode) {
    case ASC_OPCODE_TAKE_LAST:
    case ASC_OPCODE_PUT_LAST:
        if (axis >= nodes[n->in[1]].shape.rank) return false;
        out->axis[0] = out->axis[1] = axis;
        return true;
    case ASC_OPCODE_GATHER:
        if (axis >= nodes[n->in[1]].shape.rank) return false;
        out->axis[1] = axis;
        return true;
    default:
        return false;
    }
}

bool asc_part_rule_of(const asc_node *nodes, const asc_node *n, int axis, bool rows_depend,
                      asc_part_rule *out) {
    *out = (asc_part_rule){0};
    for (int i = 0; i < ASC_MAX_IN; i++) out->axis[i] = ASC_PART_ALL;
    if (n->op == NULL) return false;
    switch (n->op->opcode) {
    case ASC_OPCODE_FULL:
        return true;
    case ASC_OPCODE_SOFTMAX:
    case ASC_OPCODE_SOFTMAX_GRAD:
    case ASC_OPCODE_LOG_SOFTMAX:
    case ASC_OPCODE_RMS_NORM:
    case ASC_OPCODE_RMS_NORM_GRAD:
    case ASC_OPCODE_LAYER_NORM:
    case ASC_OPCODE_LAYER_NORM_GRAD:
        return rows(nodes, n, axis, out);
    case ASC_OPCODE_MATMUL:
    case ASC_OPCODE_MATMUL_BIAS:
        return product(nodes, n, axis, rows_depend, out);
    case ASC_OPCODE_SDPA:
        return attention(nodes, n, axis, out);
    case ASC_OPCODE_ROPE:
        return turned(n, axis, out);
    case ASC_OPCODE_SWIGLU_GRAD: /* [2, ..] from inputs [..] */
        for (int i = 0; i < 3; i++) out->axis[i] = axis - 1;
        return axis > 0;
    case ASC_OPCODE_SUM:
    case ASC_OPCODE_MEAN:
        return reduction(nodes, n, axis, true, out);
    case ASC_OPCODE_MAX:
    case ASC_OPCODE_MIN:
    case ASC_OPCODE_ARG_MAX:
    case ASC_OPCODE_ARG_MIN:
        return reduction(nodes, n, axis, false, out);
    case ASC_OPCODE_CAST:
        out->axis[0] = axis;
        return nodes[n->in[0]].dtype == ASC_DTYPE_F32 || nodes[n->in[0]].dtype == ASC_DTYPE_I32;
    default:
        break;
    }
    if (n->op->fuse == ASC_FUSE_POINTWISE && n->n_in > 0) {
        for (int i = 0; i < n->n_in; i++)
            out->axis[i] = repeated_axis(&nodes[n->in[i]].shape, &n->shape, axis);
        return true;
    }
    return n->n_in > 0 && (moves(nodes, n, axis, out) || choices(nodes, n, axis, out));
}
