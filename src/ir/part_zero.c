/* part_zero.c - where values are zero because a gradient was padded with zeros; see part.h.
 * The sign of a zero is kept track of: a matrix product sums from +0, so rows of zeros of any sign give +0
 * exactly; so do the gradients of the norms, which never return -0. Factors may turn +0 into -0, and (+0) +
 * (-0) is +0. */
#include "attention.h"
#include "part.h"
#include "rewrite.h"

static const asc_support nothing = {.part = {.axis = ASC_PART_ALL}};

/* The support of input i seen along the axis of the result that it becomes under the op's rule. */
static asc_support follow(const asc_node *nodes, const asc_node *n, int i, const asc_support *known,
                          bool rows_depend) {
    const asc_support *s = &known[n->in[i]];
    asc_part_rule r;
    for (int axis = 0; asc_part_is(s->part) && axis < n->shape.rank; axis++) {
        if (!asc_part_rule_of(nodes, n, axis, rows_depend, &r) || r.axis[i] != s->part.axis) continue;
        if (r.to_end && s->part.hi != n->shape.dims[axis]) return nothing;
        return (asc_support){asc_part_of(&n->shape, axis, s->part.lo, s->part.hi), s->exact};
    }
    return nothing;
}

static asc_support with(asc_support s, bool exact) {
    s.exact = exact;
    return s;
}

/* a + b is zero where both are. */
static asc_support sum_of(const asc_node *n, asc_support a, asc_support b, bool exact) {
    if (!asc_part_is(a.part) || !asc_part_is(b.part)) return nothing;
    return (asc_support){asc_part_hull(&n->shape, a.part, b.part), exact};
}

static asc_support product_of(asc_support a, asc_support b) {
    if (!asc_part_is(a.part)) return with(b, false);
    if (asc_part_is(b.part) && b.part.hi - b.part.lo < a.part.hi - a.part.lo) a = b;
    return with(a, false);
}

/* zeros around what the input holds, which may be zero at its ends too */
static asc_support padded(const asc_node *nodes, const asc_node *n, const asc_support *known) {
    const asc_support *s = &known[n->in[0]];
    int axis = (int)n->attrs.i[0];
    int64_t first = n->attrs.i[1], len = nodes[n->in[0]].shape.dims[axis];
    if (nodes[n->in[0]].dtype != ASC_DTYPE_F32 || len == 0) return nothing;
    if (s->part.axis == axis && s->exact)
        return (asc_support){asc_part_of(&n->shape, axis, first + s->part.lo, first + s->part.hi), true};
    return (asc_support){asc_part_of(&n->shape, axis, first, first + len), true};
}

static asc_support cut(const asc_node *n, const asc_support *known) {
    asc_support s = known[n->in[0]];
    int64_t start = n->attrs.i[1], len = n->attrs.i[2], lo = s.part.lo - start, hi = s.part.hi - start;
    if (lo < 0) lo = 0;
    if (hi > len) hi = len;
    if (lo >= hi) return nothing;
    s.part = asc_part_of(&n->shape, s.part.axis, lo, hi);
    return s;
}

asc_support asc_support_of(const asc_node *nodes, const asc_node *n, const asc_support *known,
                           bool rows_depend) {
    if (n->op == NULL || n->n_in == 0) return nothing;
#define FOLLOW(i) follow(nodes, n, i, known, rows_depend)
    switch (n->op->opcode) {
    case ASC_OPCODE_PAD:
        return n->attrs.i[0] == known[n->in[0]].part.axis || !asc_part_is(known[n->in[0]].part)
                   ? padded(nodes, n, known)
                   : FOLLOW(0);
    case ASC_OPCODE_SLICE:
        return n->attrs.i[0] == known[n->in[0]].part.axis ? cut(n, known) : FOLLOW(0);
    case ASC_OPCODE_RESHAPE:
    case ASC_OPCODE_TRANSPOSE:
        return FOLLOW(0);
    case ASC_OPCODE_MATMUL:
    case ASC_OPCODE_SQUARE:
    case ASC_OPCODE_ABS:
    case ASC_OPCODE_SUM:
    case ASC_OPCODE_MEAN:
        return with(FOLLOW(0), true);
    case ASC_OPCODE_NEG:
    case ASC_OPCODE_SCALE:
    case ASC_OPCODE_ROPE:
        return with(FOLLOW(0), false);
    case ASC_OPCODE_MUL:
        return product_of(FOLLOW(0), FOLLOW(1));
    case ASC_OPCODE_ADD: {
        asc_support a = FOLLOW(0), b = FOLLOW(1);
        return sum_of(n, a, b, a.exact || b.exact);
    }
    case ASC_OPCODE_SUB: {
        asc_support a = FOLLOW(0), b = FOLLOW(1);
        return sum_of(n, a, b, a.exact);
    }
    case ASC_OPCODE_RMS_NORM_GRAD:
    case ASC_OPCODE_LAYER_NORM_GRAD:
        return with(FOLLOW(2), true);
    case ASC_OPCODE_SOFTMAX_GRAD:
        return with(FOLLOW(1), false);
    case ASC_OPCODE_SWIGLU_GRAD:
        return with(FOLLOW(2), false);
    default:
        return nothing;
    }
#undef FOLLOW
}
