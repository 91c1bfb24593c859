/* pass_simplify.c - local rules that keep every bit of every value, NaN and -0 included, on every device.
 * Nearly all of them are about moves (reshape, transpose, broadcast, slice, pad, concat), which
 * differentiation records in pairs that cancel. What looks tempting and is not done, with the reason:
 * - x + 0: turns -0 into +0. x * 1, x + c - c: the numbers are run-time scalars.
 * - a sum over axes of length 1: starts from +0, so -0 becomes +0. Sums of sums: another order of additions.
 * - cast i32 -> f32 -> i32: rounds above 2^24. a - (-b) for a + b: the sign of a NaN.
 * - a transposed operand as the flag of a matmul: another kernel, another order of additions. */
#include "move.h"
#include "passes.h"
#include "rewrite.h"

/* A rule looks at n, whose inputs are new nodes. It returns 0 when it does not apply, 1 when it changed n
 * (whose shape is then worked out again), 2 when n is the node *same. */
typedef int rule(const asc_program *p, asc_node *n, int32_t *same);

static const asc_node *input(const asc_program *p, const asc_node *n, int i) { return &p->nodes[n->in[i]]; }

static int is_input(const asc_node *n, int i, int32_t *same) {
    *same = n->in[i];
    return 2;
}

/* n becomes another one-input op of `in`. */
static int becomes(asc_node *n, const asc_op *op, asc_attrs attrs, int32_t in) {
    n->op = op;
    n->attrs = attrs;
    n->n_in = 1;
    n->in[0] = in;
    return 1;
}

/* full of the new shape: its value stays a run-time scalar of the same origin. */
static int becomes_full(asc_node *n, const asc_node *full) {
    asc_attrs attrs = asc_attrs_of_shape(&n->shape);
    for (int i = 0; i < ASC_N_FATTR; i++) attrs.f[i] = full->attrs.f[i];
    n->op = full->op;
    n->attrs = attrs;
    n->n_in = 0;
    n->origin = full->origin;
    return 1;
}

static int reshapes(const asc_program *p, asc_node *n, int32_t *same) {
    if (!asc_node_is(n, ASC_OPCODE_RESHAPE)) return 0;
    const asc_node *a = input(p, n, 0);
    if (asc_shape_eq(&a->shape, &n->shape)) return is_input(n, 0, same);
    if (asc_node_is(a, ASC_OPCODE_RESHAPE)) return becomes(n, n->op, n->attrs, a->in[0]);
    return asc_node_is(a, ASC_OPCODE_FULL) ? becomes_full(n, a) : 0;
}

/* Only axes of length 1 change places: the elements stay where they are. */
static bool keeps_order(const asc_node *a, const asc_attrs *attrs) {
    int64_t last = -1;
    for (int k = 0; k < a->shape.rank; k++) {
        int64_t from = attrs->i[k + 1];
        if (a->shape.dims[from] == 1) continue;
        if (from < last) return false;
        last = from;
    }
    return true;
}

static int transposes(const asc_program *p, asc_node *n, int32_t *same) {
    if (!asc_node_is(n, ASC_OPCODE_TRANSPOSE)) return 0;
    const asc_node *a = input(p, n, 0);
    bool identity = true;
    for (int k = 0; k < n->shape.rank; k++) identity = identity && n->attrs.i[k + 1] == k;
    if (identity) return is_input(n, 0, same);
    if (asc_node_is(a, ASC_OPCODE_FULL)) return becomes_full(n, a);
    if (asc_node_is(a, ASC_OPCODE_TRANSPOSE)) {
        asc_attrs attrs = n->attrs;
        for (int k = 0; k < n->shape.rank; k++) attrs.i[k + 1] = a->attrs.i[n->attrs.i[k + 1] + 1];
        return becomes(n, n->op, attrs, a->in[0]);
    }
    if (keeps_order(a, &n->attrs))
        return becomes(n, &asc_op_reshape, asc_attrs_of_shape(&n->shape), n->in[0]);
    return 0;
}

static int broadcasts(const asc_program *p, asc_node *n, int32_t *same) {
    if (!asc_node_is(n, ASC_OPCODE_BROADCAST)) return 0;
    const asc_node *a = input(p, n, 0);
    if (asc_shape_eq(&a->shape, &n->shape)) return is_input(n, 0, same);
    if (asc_node_is(a, ASC_OPCODE_BROADCAST)) return becomes(n, n->op, n->attrs, a->in[0]);
    if (asc_shape_elems(&a->shape) == asc_shape_elems(&n->shape))
        return becomes(n, &asc_op_reshape, asc_attrs_of_shape(&n->shape), n->in[0]);
    return 0;
}

/* Whether the f32 and the f64 devices give the same bits by any kernel: one rounding, or none. */
static bool exact_everywhere(const asc_op *op) {
    switch (op->opcode) {
    case ASC_OPCODE_ADD:
    case ASC_OPCODE_SUB:
    case ASC_OPCODE_MUL:
    case ASC_OPCODE_DIV:
    case ASC_OPCODE_MAXIMUM:
    case ASC_OPCODE_MINIMUM:
    case ASC_OPCODE_EQUAL:
    case ASC_OPCODE_LESS:
    case ASC_OPCODE_LESS_EQUAL:
    case ASC_OPCODE_WHERE:
        return true;
    default:
        return false;
    }
}

/* These ops repeat their inputs themselves: no need to store the repeats when another input has the full
 * shape. */
static int repeated_inputs(const asc_program *p, asc_node *n, int32_t *same) {
    (void)same;
    if (n->op == NULL || !exact_everywhere(n->op)) return 0;
    for (int i = 0; i < n->n_in; i++) {
        const asc_node *b = input(p, n, i);
        if (!asc_node_is(b, ASC_OPCODE_BROADCAST)) continue;
        asc_shape rest = input(p, b, 0)->shape;
        bool fits = true;
        for (int j = 0; j < n->n_in && fits; j++)
            if (j != i) fits = asc_shape_broadcast(&rest, &input(p, n, j)->shape, &rest);
        if (!fits || !asc_shape_eq(&rest, &n->shape)) continue;
        n->in[i] = b->in[0];
        return 1;
    }
    return 0;
}

/* The part of a concat's axis that lies in one input. */
static int slice_of_concat(const asc_program *p, asc_node *n, const asc_node *a) {
    int64_t first = 0, start = n->attrs.i[1], len = n->attrs.i[2];
    for (int i = 0; i < a->n_in; i++) {
        int64_t size = input(p, a, i)->shape.dims[a->attrs.i[0]];
        if (start >= first && start + len <= first + size) {
            n->attrs.i[1] = start - first;
            n->in[0] = a->in[i];
            return 1;
        }
        first += size;
    }
    return 0;
}

static int slices(const asc_program *p, asc_node *n, int32_t *same) {
    if (!asc_node_is(n, ASC_OPCODE_SLICE)) return 0;
    const asc_node *a = input(p, n, 0);
    const int64_t axis = n->attrs.i[0], start = n->attrs.i[1], len = n->attrs.i[2];
    if (asc_shape_eq(&a->shape, &n->shape)) return is_input(n, 0, same);
    if (asc_node_is(a, ASC_OPCODE_FULL)) return becomes_full(n, a);
    if (asc_node_is(a, ASC_OPCODE_BROADCAST)) {
        const asc_shape *from = &input(p, a, 0)->shape;
        int64_t own = axis - (n->shape.rank - from->rank);
        if (own < 0 || from->dims[own] == 1)
            return becomes(n, a->op, asc_attrs_of_shape(&n->shape), a->in[0]);
    }
    if (a->op == NULL || a->attrs.i[0] != axis) return 0;
    if (a->op->opcode == ASC_OPCODE_SLICE)
        return becomes(n, n->op, (asc_attrs){.i = {axis, a->attrs.i[1] + start, len}}, a->in[0]);
    if (a->op->opcode == ASC_OPCODE_CONCAT) return slice_of_concat(p, n, a);
    if (a->op->opcode == ASC_OPCODE_PAD && start >= a->attrs.i[1] &&
        start + len <= a->shape.dims[axis] - a->attrs.i[2])
        return becomes(n, n->op, (asc_attrs){.i = {axis, start - a->attrs.i[1], len}}, a->in[0]);
    return 0;
}

static int pads(const asc_program *p, asc_node *n, int32_t *same) {
    if (!asc_node_is(n, ASC_OPCODE_PAD)) return 0;
    const asc_node *a = input(p, n, 0);
    if (asc_shape_eq(&a->shape, &n->shape)) return is_input(n, 0, same);
    if (!asc_node_is(a, ASC_OPCODE_PAD) || a->attrs.i[0] != n->attrs.i[0]) return 0;
    asc_attrs both = {.i = {n->attrs.i[0], n->attrs.i[1] + a->attrs.i[1], n->attrs.i[2] + a->attrs.i[2]}};
    return becomes(n, n->op, both, a->in[0]);
}

/* Neighbouring slices put together again are a longer slice. */
static bool neighbours(const asc_program *p, const asc_node *n, int i) {
    const asc_node *a = input(p, n, i), *b = input(p, n, i + 1);
    return asc_node_is(a, ASC_OPCODE_SLICE) && asc_node_is(b, ASC_OPCODE_SLICE) && a->in[0] == b->in[0] &&
           a->attrs.i[0] == n->attrs.i[0] && b->attrs.i[0] == n->attrs.i[0] &&
           a->attrs.i[1] + a->attrs.i[2] == b->attrs.i[1];
}

static int concats(const asc_program *p, asc_node *n, int32_t *same) {
    if (!asc_node_is(n, ASC_OPCODE_CONCAT)) return 0;
    if (n->n_in == 1) return is_input(n, 0, same);
    bool all = true;
    for (int i = 0; i + 1 < n->n_in; i++) all = all && neighbours(p, n, i);
    if (all) {
        const asc_node *first = input(p, n, 0);
        asc_attrs attrs = first->attrs;
        attrs.i[2] = n->shape.dims[n->attrs.i[0]];
        return becomes(n, &asc_op_slice, attrs, first->in[0]);
    }
    for (int i = 0; i < n->n_in; i++) { /* one concat inside another */
        const asc_node *a = input(p, n, i);
        if (!asc_node_is(a, ASC_OPCODE_CONCAT) || a->attrs.i[0] != n->attrs.i[0] ||
            n->n_in + a->n_in - 1 > ASC_MAX_IN)
            continue;
        for (int j = n->n_in - 1; j > i; j--) n->in[j + a->n_in - 1] = n->in[j];
        for (int j = 0; j < a->n_in; j++) n->in[i + j] = a->in[j];
        n->n_in += a->n_in - 1;
        return 1;
    }
    return 0;
}

/* Ops of which the second does nothing, and pairs that cancel. */
static int repeats(const asc_program *p, asc_node *n, int32_t *same) {
    if (n->op == NULL || n->n_in != 1) return 0;
    const asc_node *a = input(p, n, 0);
    switch (n->op->opcode) {
    case ASC_OPCODE_CAST:
        return a->dtype == n->dtype ? is_input(n, 0, same) : 0;
    case ASC_OPCODE_NEG: /* a bit is turned, and turned back */
        return asc_node_is(a, ASC_OPCODE_NEG) ? is_input(a, 0, same) : 0;
    case ASC_OPCODE_ABS:
    case ASC_OPCODE_RELU:
    case ASC_OPCODE_FLOOR:
    case ASC_OPCODE_CEIL:
    case ASC_OPCODE_ROUND:
        return a->op == n->op ? is_input(n, 0, same) : 0;
    default:
        return 0;
    }
}

/* Its gradient has been recorded already; what is left of it in a program is a copy. */
static int straight(const asc_program *p, asc_node *n, int32_t *same) {
    (void)p;
    return asc_node_is(n, ASC_OPCODE_STRAIGHT_THROUGH) ? is_input(n, 0, same) : 0;
}

static rule *const rules[] = {reshapes, transposes, broadcasts, repeated_inputs, slices,
                              pads,     concats,    repeats,    straight};

/* One rule; 0 when none applies. */
static int step(const asc_program *p, asc_node *n, int32_t *same) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        int did = rules[i](p, n, same);
        if (did != 0) return did;
    }
    return 0;
}

int32_t asc_simplify_add(asc_rewrite *rw, asc_node n, size_t *n_rules) {
    int32_t same = -1;
    if (!asc_rewrite_infer(rw, &n)) return -1; /* the rules compare shapes, and a part has not its node's */
    while (n.op != NULL) { /* ends: each rule skips a node or removes an axis move */
        int did = step(rw->p, &n, &same);
        *n_rules += did != 0;
        if (did == 2) return same;
        if (did == 0) break;
    }
    return asc_rewrite_add(rw, &n);
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    (void)env;
    asc_rewrite rw;
    asc_status st = asc_rewrite_begin(ctx, p, &rw);
    for (size_t k = 0; k < rw.n_old && st == ASC_OK; k++) {
        if (!asc_rewrite_map(&rw, k, asc_simplify_add(&rw, asc_rewrite_node(&rw, k), n_done)))
            st = ctx->error.code;
    }
    return asc_rewrite_end(&rw, st);
}

const asc_pass asc_pass_simplify = {
    .name = "simplify", .doc = "drops moves that cancel and other steps that change no bit", .run = run};
