/* pass_sink_slices.c - what nobody reads is not computed, and what is multiplied by padded zeros neither.
 * From the outputs backwards, each node learns which part of it is read (an interval of one axis: the rows
 * that the slices behind it take); from the inputs forwards, where it can be other than zero (gradients of
 * slices are padded). A node is then computed for its part alone: slices seem to sink towards the inputs,
 * pads towards the outputs. Several readers get the smallest interval that holds what all of them read, so
 * that nothing is computed twice and no work is ever added.
 *
 * Bits stay: part.c admits only ops whose elements do not depend on what is left out (matrix products with
 * kernels chosen as for many rows), part_zero.c keeps +0 and -0 apart. The premise is that numbers are
 * finite: a NaN that comes from an infinity times a padded zero is not made. */
#include "attention.h"
#include "part.h"
#include "passes.h"
#include "rewrite.h"

/* What is known of an old node. */
typedef struct fact {
    asc_part read;   /* by those behind it; ASC_PART_NONE: by nobody */
    asc_part part;   /* what is computed; outside it the value is not needed, or +0 if the support is exact */
    bool whole_grad; /* an sdpa_grad whose cotangent is zero but for its last rows: computed for those */
    int32_t flat;    /* slice: 1 + the part (dq 0, dk 1, dv 2) of such an sdpa_grad that it takes */
    int32_t at;      /* new node that holds `part`; -1 = none yet */
    asc_part got;    /* the last other part that was made from it, and where */
    int32_t got_at;
} fact;

typedef struct sink {
    const asc_node *nodes; /* the old ones */
    size_t n;
    fact *facts;
    asc_support *support;
    bool rows_depend;
    asc_rewrite rw;
    size_t n_parts;
} sink;

/* ---- attention's gradient: one flat array dq, dk, dv ---- */

static int64_t elems_of_input(const sink *s, const asc_node *n, int i) {
    return asc_shape_elems(&s->nodes[n->in[i]].shape);
}

/* Which of the three parts a slice of sdpa_grad `n` takes; -1 = none exactly. */
static int flat_part(const sink *s, const asc_node *n, const asc_node *slice) {
    int64_t start = 0;
    for (int i = 0; i < 3; i++) {
        int64_t len = elems_of_input(s, n, i);
        if (slice->attrs.i[1] == start && slice->attrs.i[2] == len) return i;
        start += len;
    }
    return -1;
}

/* Cleared for every sdpa_grad that has a reader which does not take one of the three parts, or a reader of dq
 * that does not give it q's leading shape back. */
static void find_flat_readers(sink *s) {
    const asc_program *p = s->rw.p;
    for (size_t k = 0; k < s->n; k++)
        s->facts[k].whole_grad = asc_node_is(&s->nodes[k], ASC_OPCODE_SDPA_GRAD);
    for (size_t i = 0; i < p->n_outputs; i++) s->facts[p->outputs[i]].whole_grad = false;
    for (size_t k = 0; k < s->n; k++) {
        const asc_node *n = &s->nodes[k];
        for (int i = 0; i < n->n_in; i++) {
            const asc_node *in = &s->nodes[n->in[i]];
            if (asc_node_is(in, ASC_OPCODE_SDPA_GRAD)) {
                int which = asc_node_is(n, ASC_OPCODE_SLICE) ? flat_part(s, in, n) : -1;
                if (which < 0) s->facts[n->in[i]].whole_grad = false;
                s->facts[k].flat = which + 1;
            }
            if (s->facts[n->in[i]].flat != 1) continue;
            const asc_shape *q = &s->nodes[s->nodes[in->in[0]].in[0]].shape;
            bool back = asc_node_is(n, ASC_OPCODE_RESHAPE) && n->shape.rank >= 2 &&
                        n->shape.dims[0] == q->dims[0] && n->shape.dims[1] == q->dims[1];
            if (!back) s->facts[in->in[0]].whole_grad = false;
        }
    }
    for (size_t i = 0; i < p->n_outputs; i++) {
        size_t k = (size_t)p->outputs[i];
        if (s->facts[k].flat == 1) s->facts[s->nodes[k].in[0]].whole_grad = false;
    }
}

static bool grad_qualifies(const sink *s, const asc_node *n) {
    const asc_support *g = &s->support[n->in[4]];
    const asc_attrs *a = &n->attrs;
    const asc_shape *q = &s->nodes[n->in[0]].shape;
    return g->part.axis == 1 && a->f[ASC_ATTN_SCALE] > 0 &&
           ((a->i[ASC_ATTN_CAUSAL] == 0 && a->i[ASC_ATTN_WINDOW] == 0) || g->part.hi == q->dims[1]);
}

/* The sdpa_grad whose dq node k gives its shape back; -1 = none. */
static int32_t grad_behind(const sink *s, size_t k) {
    const asc_node *n = &s->nodes[k];
    if (!asc_node_is(n, ASC_OPCODE_RESHAPE) || s->facts[n->in[0]].flat != 1) return -1;
    int32_t grad = s->nodes[n->in[0]].in[0];
    return s->facts[grad].whole_grad ? grad : -1;
}

/* ---- what is zero, and what is read ---- */

static asc_part rows_of_grad(const sink *s, const asc_node *grad) { return s->support[grad->in[4]].part; }

static void find_supports(sink *s) {
    for (size_t k = 0; k < s->n; k++) {
        const asc_node *n = &s->nodes[k];
        s->support[k] = asc_support_of(s->nodes, n, s->support, s->rows_depend);
        if (s->facts[k].whole_grad) s->facts[k].whole_grad = grad_qualifies(s, n);
        int32_t grad = grad_behind(s, k);
        if (grad >= 0) s->support[k] = (asc_support){.part = rows_of_grad(s, &s->nodes[grad]), .exact = true};
    }
}

static void read(sink *s, int32_t k, asc_part part) {
    s->facts[k].read = asc_part_hull(&s->nodes[k].shape, s->facts[k].read, part);
}

/* Bounds of a part on an axis; of everything too. */
static asc_part bounds(const asc_shape *shape, asc_part p, int axis) {
    return asc_part_is(p) ? p : (asc_part){axis, 0, shape->dims[axis]};
}

static asc_part common_of(asc_part a, asc_part b) {
    return (asc_part){a.axis, a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* Nodes whose intervals move along their own axis. */
static bool moves_along(const asc_node *n, int axis) {
    return (asc_node_is(n, ASC_OPCODE_SLICE) || asc_node_is(n, ASC_OPCODE_PAD) ||
            asc_node_is(n, ASC_OPCODE_CONCAT)) &&
           n->attrs.i[0] == axis;
}

/* The part of node k to compute: what is read of it and is not known to be zero, if the op has such parts. */
static asc_part part_to_compute(const sink *s, size_t k) {
    const asc_node *n = &s->nodes[k];
    asc_part p = s->facts[k].read;
    const asc_support *z = &s->support[k];
    asc_part_rule r;
    if (p.axis == ASC_PART_NONE || n->op == NULL) return p;
    if (z->exact && asc_part_is(z->part)) {
        if (p.axis == z->part.axis) {
            asc_part both = common_of(p, z->part);
            p = both.lo < both.hi ? both : z->part;
        } else {
            p = z->part;
        }
    }
    if (s->facts[k].flat > 0 && s->facts[n->in[0]].whole_grad) return asc_part_all();
    if (!asc_part_is(p)) return p;
    if (moves_along(n, p.axis)) return asc_node_is(n, ASC_OPCODE_PAD) && !z->exact ? asc_part_all() : p;
    if (!asc_part_rule_of(s->nodes, n, p.axis, s->rows_depend, &r)) return asc_part_all();
    if (r.to_end) p.hi = n->shape.dims[p.axis];
    return asc_part_of(&n->shape, p.axis, p.lo, p.hi);
}

/* The interval of input i that interval p of a slice, pad or concat along p.axis takes; empty where lo >= hi.
 */
static asc_part moved(const asc_node *nodes, const asc_node *n, asc_part p, int i) {
    int64_t len = nodes[n->in[i]].shape.dims[p.axis], first = 0;
    if (asc_node_is(n, ASC_OPCODE_SLICE)) first = -n->attrs.i[1];
    if (asc_node_is(n, ASC_OPCODE_PAD)) first = n->attrs.i[1];
    for (int j = 0; j < i; j++) first += nodes[n->in[j]].shape.dims[p.axis];
    return common_of((asc_part){p.axis, p.lo - first, p.hi - first}, (asc_part){p.axis, 0, len});
}

/* A slice always moves an interval; a pad or concat only when a part of it is wanted. */
static bool by_interval(const asc_node *n, asc_part p) {
    if (!asc_node_is(n, ASC_OPCODE_SLICE)) return asc_part_is(p) && moves_along(n, p.axis);
    return n->attrs.i[2] > 0 && (p.axis == ASC_PART_ALL || p.axis == n->attrs.i[0]);
}

static void read_inputs(sink *s, size_t k) {
    const asc_node *n = &s->nodes[k];
    asc_part p = s->facts[k].part;
    int32_t grad = grad_behind(s, k);
    asc_part_rule r = {.axis = {ASC_PART_ALL, ASC_PART_ALL, ASC_PART_ALL, ASC_PART_ALL, ASC_PART_ALL,
                                ASC_PART_ALL, ASC_PART_ALL, ASC_PART_ALL}};
    if (grad >= 0) {
        read(s, grad, asc_part_all());
        return;
    }
    if (s->facts[k].whole_grad) {
        asc_part rows = rows_of_grad(s, n);
        for (int i = 0; i < n->n_in; i++) read(s, n->in[i], i == 1 || i == 2 ? asc_part_all() : rows);
        return;
    }
    if (by_interval(n, p)) {
        p = bounds(&n->shape, p, (int)n->attrs.i[0]);
        for (int i = 0; i < n->n_in; i++) {
            asc_part in = moved(s->nodes, n, p, i);
            if (in.lo < in.hi)
                read(s, n->in[i], asc_part_of(&s->nodes[n->in[i]].shape, in.axis, in.lo, in.hi));
        }
        return;
    }
    if (asc_part_is(p)) (void)asc_part_rule_of(s->nodes, n, p.axis, s->rows_depend, &r);
    for (int i = 0; i < n->n_in; i++) {
        asc_part in =
            r.axis[i] == ASC_PART_ALL || !asc_part_is(p) ? asc_part_all() : (asc_part){r.axis[i], p.lo, p.hi};
        read(s, n->in[i], in);
    }
}

static void find_parts(sink *s) {
    for (size_t k = 0; k < s->n; k++) s->facts[k].read.axis = s->facts[k].part.axis = ASC_PART_NONE;
    for (size_t i = 0; i < s->rw.p->n_outputs; i++) read(s, s->rw.p->outputs[i], asc_part_all());
    for (size_t k = s->n; k-- > 0;) {
        fact *f = &s->facts[k];
        int32_t grad = grad_behind(s, k);
        f->part = part_to_compute(s, k);
        if (grad >= 0 && f->read.axis != ASC_PART_NONE) f->part = s->support[k].part;
        if (f->part.axis == ASC_PART_NONE) continue;
        s->n_parts += asc_part_is(f->part) || f->whole_grad;
        read_inputs(s, k);
    }
}

/* ---- the new nodes ---- */

/* A slice or pad of new node `at`, in the name of old node k. */
static int32_t moved_node(sink *s, int32_t k, const asc_op *op, int32_t at, int64_t a0, int64_t a1,
                          int64_t a2) {
    asc_node n = {.op = op, .n_in = 1, .in = {at}, .attrs = {.i = {a0, a1, a2}}};
    size_t n_rules = 0;
    n.label = s->nodes[k].label;
    n.origin = s->nodes[k].origin;
    return at < 0 ? -1 : asc_simplify_add(&s->rw, n, &n_rules);
}

/* New node that holds part p of old node k; -1 on failure. */
static int32_t get(sink *s, int32_t k, asc_part p) {
    fact *f = &s->facts[k];
    const asc_shape *shape = &s->nodes[k].shape;
    if (p.axis == f->part.axis && (!asc_part_is(p) || (p.lo == f->part.lo && p.hi == f->part.hi)))
        return f->at;
    if (f->got_at >= 0 && p.axis == f->got.axis && p.lo == f->got.lo && p.hi == f->got.hi) return f->got_at;
    int32_t at = f->at;
    if (!asc_part_is(f->part)) {
        at = moved_node(s, k, &asc_op_slice, at, p.axis, p.lo, p.hi - p.lo);
    } else if (asc_part_is(p) &&
               p.axis != f->part.axis) { /* whole along one axis, then the part of another */
        at = get(s, k, asc_part_all());
        at = moved_node(s, k, &asc_op_slice, at, p.axis, p.lo, p.hi - p.lo);
    } else {
        asc_part want = bounds(shape, p, f->part.axis), both = common_of(want, f->part);
        if (both.lo > both.hi) both.lo = both.hi = f->part.lo;
        if (both.lo != f->part.lo || both.hi != f->part.hi)
            at = moved_node(s, k, &asc_op_slice, at, both.axis, both.lo - f->part.lo, both.hi - both.lo);
        if (both.lo == both.hi)
            at = moved_node(s, k, &asc_op_pad, at, both.axis, want.hi - want.lo, 0);
        else if (both.lo != want.lo || both.hi != want.hi)
            at = moved_node(s, k, &asc_op_pad, at, both.axis, both.lo - want.lo, want.hi - both.hi);
    }
    f->got = p;
    f->got_at = at;
    return at;
}

static int32_t add(sink *s, asc_node *n) {
    size_t n_rules = 0;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] < 0) return -1;
    return asc_simplify_add(&s->rw, *n, &n_rules);
}

/* Slices, pads and concats of intervals. */
static int32_t make_moved(sink *s, const asc_node *old, asc_node n, asc_part p) {
    int axis = (int)old->attrs.i[0];
    p = bounds(&old->shape, p, axis);
    int n_in = 0;
    for (int i = 0; i < old->n_in; i++) {
        asc_part in = moved(s->nodes, old, p, i);
        if (in.lo >= in.hi) continue;
        n.in[n_in++] = get(s, old->in[i], asc_part_of(&s->nodes[old->in[i]].shape, axis, in.lo, in.hi));
        if (n.in[n_in - 1] < 0) return -1;
    }
    if (asc_node_is(old, ASC_OPCODE_CONCAT) && n_in > 1) {
        n.n_in = n_in;
        return add(s, &n);
    }
    return n_in > 0 ? n.in[0] : -1;
}

/* dq of a shortened sdpa_grad, or dk, dv behind it. */
static int32_t make_flat(sink *s, int32_t grad, int which, const asc_node *name) {
    const asc_node *g = &s->nodes[grad];
    const asc_shape *q = &s->nodes[g->in[0]].shape;
    asc_part rows = rows_of_grad(s, g);
    int64_t len = elems_of_input(s, g, 0) / q->dims[1] * (rows.hi - rows.lo), start = 0;
    for (int i = 0; i < which; i++) {
        start += len;
        len = elems_of_input(s, g, i + 1);
    }
    return moved_node(s, (int32_t)(name - s->nodes), &asc_op_slice, s->facts[grad].at, 0, start, len);
}

static int32_t make_part(sink *s, size_t k) {
    const asc_node *old = &s->nodes[k];
    asc_node n = *old;
    asc_part p = s->facts[k].part;
    int32_t grad = grad_behind(s, k);
    asc_part_rule r;
    if (grad >= 0) {
        n.in[0] = make_flat(s, grad, 0, old);
        n.attrs.i[2] = s->support[k].part.hi - s->support[k].part.lo;
        return add(s, &n);
    }
    if (s->facts[k].flat > 0 && s->facts[old->in[0]].whole_grad)
        return make_flat(s, old->in[0], s->facts[k].flat - 1, old);
    if (s->facts[k].whole_grad) {
        for (int i = 0; i < n.n_in; i++)
            n.in[i] = get(s, old->in[i], i == 1 || i == 2 ? asc_part_all() : rows_of_grad(s, old));
        return add(s, &n);
    }
    if (by_interval(old, p)) return make_moved(s, old, n, p);
    bool parts = asc_part_is(p) && asc_part_rule_of(s->nodes, old, p.axis, s->rows_depend, &r);
    for (int i = 0; i < n.n_in; i++) {
        asc_part in = parts && r.axis[i] >= 0 ? (asc_part){r.axis[i], p.lo, p.hi} : asc_part_all();
        n.in[i] = get(s, old->in[i], in);
    }
    if (!parts) return add(s, &n);
    if (asc_node_is(old, ASC_OPCODE_RESHAPE) || asc_node_is(old, ASC_OPCODE_BROADCAST) ||
        asc_node_is(old, ASC_OPCODE_FULL))
        n.attrs.i[p.axis + 1] = p.hi - p.lo;
    n.many_rows = n.many_rows || r.many;
    return add(s, &n);
}

static asc_status make(sink *s, asc_ctx *ctx) {
    for (size_t k = 0; k < s->n; k++) s->facts[k].at = s->facts[k].got_at = -1;
    for (size_t k = 0; k < s->n; k++) {
        fact *f = &s->facts[k];
        if (s->nodes[k].op == NULL) {
            f->part = asc_part_all();
            f->at = asc_program_add(s->rw.p, &s->nodes[k]);
            if (!asc_rewrite_map(&s->rw, k, f->at)) return ctx->error.code;
        }
        bool skip = f->part.axis == ASC_PART_NONE || s->nodes[k].op == NULL ||
                    (f->flat == 1 && s->facts[s->nodes[k].in[0]].whole_grad);
        if (skip) continue;
        f->at = make_part(s, k);
        if (f->at < 0) return ctx->error.code;
        if (s->rw.is_output[k] && !asc_rewrite_map(&s->rw, k, get(s, (int32_t)k, asc_part_all())))
            return ctx->error.code;
    }
    return ASC_OK;
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    sink s = {.nodes = p->nodes, .n = p->n_nodes, .rows_depend = env->rows_depend, .rw.p = p};
    s.facts = asc_calloc(ctx, ASC_MEM_PROGRAM, s.n + 1, sizeof *s.facts);
    s.support = asc_calloc(ctx, ASC_MEM_PROGRAM, s.n + 1, sizeof *s.support);
    asc_status st = s.facts == NULL || s.support == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    if (st == ASC_OK) {
        find_flat_readers(&s);
        find_supports(&s);
        find_parts(&s);
    }
    if (st == ASC_OK && s.n_parts > 0) {
        double before = asc_program_cost(p).flops;
        st = asc_rewrite_begin(ctx, p, &s.rw);
        if (st == ASC_OK) st = make(&s, ctx);
        bool worse = st == ASC_OK && asc_program_cost(p).flops > before;
        st = asc_rewrite_end(&s.rw, worse ? ASC_ABORTED : st);
        if (worse) st = ASC_OK;
        *n_done = worse ? 0 : s.n_parts;
    }
    asc_free(ctx, s.facts);
    asc_free(ctx, s.support);
    return st;
}

const asc_pass asc_pass_sink_slices = {
    .name = "sink-slices", .doc = "computes only what is read and is not a padded zero", .run = run};
