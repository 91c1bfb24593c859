/* program_draw.h - random programs from bytes: every byte string gives one that verifies. Made of what
 * differentiation records: slices, pads, products, norms and their gradients, attention, moves, sums,
 * pointwise ops. */
#ifndef ASC_TEST_PROGRAM_DRAW_H
#define ASC_TEST_PROGRAM_DRAW_H

#include "move.h"
#include "passes.h"

enum { DRAW_MAX_NODES = 60, DRAW_MAX_ELEMS = 4096 };

typedef struct draw {
    asc_ctx *ctx;
    asc_program *p;
    const uint8_t *at, *end;
} draw;

static inline int draw_byte(draw *d, int n) { return d->at < d->end ? *d->at++ % n : 0; }

/* Appends an op on given nodes if its shape rule takes it and the result is small; -1 otherwise. */
static inline int32_t draw_op(draw *d, const asc_op *op, asc_attrs attrs, int n_in, const int32_t *in) {
    asc_node n = {.op = op, .n_in = n_in, .attrs = attrs};
    asc_call c;
    for (int i = 0; i < n_in; i++) {
        if (in[i] < 0) return -1;
        n.in[i] = in[i];
    }
    asc_node_call(d->p, &n, &c);
    if (op->infer(d->ctx, &c) != ASC_OK) {
        asc_error_clear(d->ctx);
        return -1;
    }
    n.dtype = c.dtype;
    n.shape = c.shape;
    if (asc_shape_elems(&n.shape) > DRAW_MAX_ELEMS) return -1;
    return asc_program_add(d->p, &n);
}

static inline int32_t draw_input(draw *d, asc_dtype t, const asc_shape *s) {
    return asc_program_input(d->p, t, s);
}

/* An earlier f32 node of rank 1 or more, near the end rather than not. */
static inline int32_t draw_node(draw *d) {
    size_t n = d->p->n_nodes, back = (size_t)draw_byte(d, 6);
    for (size_t k = n > back ? n - back : n; k-- > 0;)
        if (d->p->nodes[k].dtype == ASC_DTYPE_F32 && d->p->nodes[k].shape.rank > 0) return (int32_t)k;
    return 0;
}

/* One of the shape of node a: an earlier node, or a new input. */
static inline int32_t draw_like(draw *d, int32_t a) {
    size_t skip = (size_t)draw_byte(d, 4);
    for (size_t k = d->p->n_nodes; k-- > 0;)
        if (d->p->nodes[k].dtype == ASC_DTYPE_F32 &&
            asc_shape_eq(&d->p->nodes[k].shape, &d->p->nodes[a].shape) && skip-- == 0)
            return (int32_t)k;
    asc_shape s = d->p->nodes[a].shape;
    return draw_input(d, ASC_DTYPE_F32, &s);
}

static inline int32_t draw_vector(draw *d, int64_t n) {
    asc_shape s = ASC_SHAPE(n);
    return draw_input(d, ASC_DTYPE_F32, &s);
}

static inline void draw_move(draw *d, int which, int32_t a) {
    const asc_shape s = d->p->nodes[a].shape;
    int axis = draw_byte(d, s.rank);
    int64_t len = s.dims[axis], start = draw_byte(d, 16) % (len > 0 ? len : 1);
    asc_shape to = s;
    asc_attrs perm = {.i = {s.rank}};
    switch (which) {
    case 0: /* often the last rows */
        if (draw_byte(d, 2) == 0) start = len > 2 ? len - 2 : 0;
        draw_op(d, &asc_op_slice,
                (asc_attrs){.i = {axis, start, 1 + draw_byte(d, 8) % (len - start > 0 ? len - start : 1)}}, 1,
                &a);
        break;
    case 1:
        draw_op(d, &asc_op_pad, (asc_attrs){.i = {axis, draw_byte(d, 11), draw_byte(d, 3)}}, 1, &a);
        break;
    case 2:
        for (int k = 0; k < s.rank; k++) perm.i[k + 1] = (k + axis) % s.rank;
        draw_op(d, &asc_op_transpose, perm, 1, &a);
        break;
    case 3: /* two axes become one, or an axis two */
        if (axis + 1 < s.rank) {
            to.dims[axis] = len * s.dims[axis + 1];
            for (int k = axis + 1; k + 1 < s.rank; k++) to.dims[k] = s.dims[k + 1];
            to.dims[--to.rank] = 0;
        } else if (s.rank < ASC_MAX_RANK) {
            int64_t f = len % 2 == 0 ? 2 : 1;
            to.dims[axis] = len / f;
            to.dims[to.rank++] = f;
        }
        draw_op(d, &asc_op_reshape, asc_attrs_of_shape(&to), 1, &a);
        break;
    case 4: {
        int32_t in[3] = {a, draw_like(d, a), a};
        draw_op(d, &asc_op_concat, (asc_attrs){.i = {axis}}, 2 + draw_byte(d, 2), in);
        break;
    }
    default:
        if (s.rank == ASC_MAX_RANK) break;
        for (int k = s.rank; k > 0; k--) to.dims[k] = s.dims[k - 1];
        to.dims[0] = 1 + draw_byte(d, 3);
        to.rank++;
        draw_op(d, &asc_op_broadcast, asc_attrs_of_shape(&to), 1, &a);
        break;
    }
}

static inline void draw_rows(draw *d, int which, int32_t a) {
    const asc_shape s = d->p->nodes[a].shape;
    int64_t last = s.dims[s.rank - 1];
    const asc_attrs eps = {.f = {1e-3}}, none = {0};
    int32_t in[3] = {a, -1, -1};
    switch (which) {
    case 0:
        in[1] = draw_vector(d, last);
        draw_op(d, &asc_op_rms_norm, eps, 2, in);
        break;
    case 1:
        in[0] = draw_like(d, a), in[1] = draw_vector(d, last), in[2] = a;
        draw_op(d, &asc_op_rms_norm_grad, eps, 3, in);
        break;
    case 2:
        in[0] = draw_like(d, a), in[1] = draw_vector(d, last), in[2] = a;
        draw_op(d, &asc_op_layer_norm_grad, eps, 3, in);
        break;
    case 3:
        draw_op(d, draw_byte(d, 2) == 0 ? &asc_op_softmax : &asc_op_log_softmax, none, 1, in);
        break;
    case 4:
        in[0] = draw_like(d, a), in[1] = a;
        draw_op(d, &asc_op_softmax_grad, none, 2, in);
        break;
    case 5:
        in[0] = draw_like(d, a), in[1] = draw_like(d, a), in[2] = a;
        draw_op(d, &asc_op_swiglu_grad, none, 3, in);
        break;
    case 6: { /* one of each row, and back */
        asc_shape chosen = s;
        if (s.rank < 2) break;
        chosen.dims[--chosen.rank] = 0;
        in[1] = draw_input(d, ASC_DTYPE_I32, &chosen);
        in[0] = draw_op(d, &asc_op_take_last, none, 2, in);
        if (draw_byte(d, 2) == 0) draw_op(d, &asc_op_put_last, (asc_attrs){.i = {last}}, 2, in);
        break;
    }
    default: {
        asc_attrs r = {.i = {1, draw_byte(d, s.rank)}};
        if (draw_byte(d, 4) == 0) {
            r = (asc_attrs){.i = {draw_byte(d, s.rank), draw_byte(d, 2)}};
            draw_op(d, draw_byte(d, 2) == 0 ? &asc_op_max : &asc_op_min, r, 1, in);
            break;
        }
        r.i[ASC_REDUCE_KEEP] = draw_byte(d, 2);
        draw_op(d, draw_byte(d, 3) == 0 ? &asc_op_mean : &asc_op_sum, r, 1, in);
        break;
    }
    }
}

static inline void draw_product(draw *d, int32_t a) {
    const asc_shape s = d->p->nodes[a].shape;
    bool tb = draw_byte(d, 2) != 0;
    int64_t k = s.dims[s.rank - 1], n = 1 + draw_byte(d, 7);
    asc_shape w = tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n);
    if (s.rank < 2) return;
    int32_t in[3] = {a, draw_input(d, ASC_DTYPE_F32, &w), -1};
    if (draw_byte(d, 3) == 0) {
        in[2] = draw_vector(d, n);
        draw_op(d, &asc_op_matmul_bias, (asc_attrs){.i = {0, tb}}, 3, in);
    } else {
        draw_op(d, &asc_op_matmul, (asc_attrs){.i = {0, tb}}, 2, in);
    }
}

/* The last axis becomes heads; then attention, perhaps its gradient, and what is made of that. */
static inline void draw_attention(draw *d, int32_t a) {
    const asc_shape s = d->p->nodes[a].shape;
    if (s.rank != 3 || s.dims[2] % 2 != 0) return;
    asc_shape split = {.rank = 4, .dims = {s.dims[0], s.dims[1], 2, s.dims[2] / 2}};
    asc_attrs at = {.i = {draw_byte(d, 2), draw_byte(d, 3) * 2}, .f = {0.5}};
    int32_t in[5] = {draw_op(d, &asc_op_reshape, asc_attrs_of_shape(&split), 1, &a)};
    if (in[0] < 0) return;
    in[1] = draw_like(d, in[0]);
    in[2] = draw_like(d, in[0]);
    in[3] = draw_op(d, &asc_op_sdpa, at, 3, in);
    if (in[3] < 0 || draw_byte(d, 2) == 0) return;
    in[4] = draw_byte(d, 2) == 0 ? in[0] : draw_like(d, in[0]);
    int32_t flat = draw_op(d, &asc_op_sdpa_grad, at, 5, in);
    int64_t n = asc_shape_elems(&split);
    for (int i = 0; i < 3 && flat >= 0; i++) {
        int32_t part = draw_op(d, &asc_op_slice, (asc_attrs){.i = {0, i * n, n}}, 1, &flat);
        if (part >= 0 && draw_byte(d, 4) != 0)
            draw_op(d, &asc_op_reshape, asc_attrs_of_shape(draw_byte(d, 2) == 0 ? &split : &s), 1, &part);
    }
}

/* One that depends on no input, and fits s. */
static inline int32_t draw_constant(draw *d, const asc_shape *s) {
    asc_attrs whole = asc_attrs_of_shape(s);
    int32_t k;
    whole.f[0] = 0.5 * (draw_byte(d, 5) - 2);
    if (draw_byte(d, 2) == 0) return draw_op(d, &asc_op_full, whole, 0, NULL);
    k = draw_op(d, &asc_op_iota, (asc_attrs){.i = {s->dims[s->rank - 1]}, .f = {0.25, 0.125}}, 0, NULL);
    return draw_byte(d, 2) == 0 ? k : draw_op(d, &asc_op_tanh, (asc_attrs){0}, 1, &k);
}

static inline void draw_pointwise(draw *d, int32_t a) {
    static const asc_op *const one[] = {&asc_op_neg,  &asc_op_tanh, &asc_op_square, &asc_op_relu,
                                        &asc_op_silu, &asc_op_abs,  &asc_op_sigmoid};
    static const asc_op *const two[] = {&asc_op_add, &asc_op_sub, &asc_op_mul, &asc_op_add, &asc_op_swiglu};
    const asc_shape s = d->p->nodes[a].shape;
    int32_t in[2] = {a, -1};
    switch (draw_byte(d, 4)) {
    case 0:
        draw_op(d, one[draw_byte(d, 7)], (asc_attrs){0}, 1, in);
        break;
    case 1:
        draw_op(d, draw_byte(d, 2) == 0 ? &asc_op_scale : &asc_op_shift,
                (asc_attrs){.f = {(draw_byte(d, 5) - 2) * 0.5}}, 1, in);
        break;
    case 2:
        in[1] = draw_byte(d, 2) == 0 ? draw_vector(d, s.dims[s.rank - 1]) : draw_constant(d, &s);
        draw_op(d, two[draw_byte(d, 4)], (asc_attrs){0}, 2, in);
        break;
    default:
        in[1] = draw_like(d, a);
        draw_op(d, two[draw_byte(d, 5)], (asc_attrs){0}, 2, in);
        break;
    }
}

/* p is initialised; it gets two outputs or more. */
static inline void program_draw(asc_ctx *ctx, const uint8_t *bytes, size_t n, asc_program *p) {
    draw d = {ctx, p, bytes, bytes + n};
    static const asc_shape shapes[] = {
        {3, {1, 12, 6}}, {2, {11, 4}}, {3, {2, 5, 4}}, {2, {3, 8}}, {3, {1, 4, 10}}};
    const asc_shape *s = &shapes[draw_byte(&d, 5)];
    int32_t first = draw_input(&d, ASC_DTYPE_F32, s);
    if (draw_byte(&d, 2) == 0) /* a gradient of a slice */
        draw_op(&d, &asc_op_pad, (asc_attrs){.i = {s->rank - 2, 1 + draw_byte(&d, 12), 0}}, 1, &first);
    while (d.at < d.end && p->n_nodes < DRAW_MAX_NODES) {
        int kind = draw_byte(&d, 12);
        int32_t a = draw_node(&d);
        if (asc_shape_elems(&p->nodes[a].shape) == 0) continue;
        if (kind < 3)
            draw_move(&d, draw_byte(&d, 6), a);
        else if (kind < 6)
            draw_rows(&d, draw_byte(&d, 9), a);
        else if (kind < 8)
            draw_product(&d, a);
        else if (kind < 9)
            draw_attention(&d, a);
        else
            draw_pointwise(&d, a);
    }
    int32_t last = (int32_t)p->n_nodes - 1;
    while (last > 0 && p->nodes[last].op == NULL) last--;
    if (asc_program_output(p, last) != ASC_OK) return;
    for (int32_t k = last - 1, left = 1 + draw_byte(&d, 3); k > 0 && left > 0; k -= 1 + draw_byte(&d, 9))
        if (p->nodes[k].op != NULL && asc_program_output(p, k) == ASC_OK) left--;
}

#endif
