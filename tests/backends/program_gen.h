/* program_gen.h - random programs for fused regions: broadcasting, odd shapes, views, reductions, products
 * and convolutions, of a seed. */
#ifndef ASC_TEST_PROGRAM_GEN_H
#define ASC_TEST_PROGRAM_GEN_H

#include "program_run.h"
#include "window.h"

typedef struct gen {
    asc_ctx *ctx;
    asc_program p;
    uint64_t seed;
    bool convs; /* the program is about convolutions */
} gen;

static int pick(gen *g, int n) { return (int)(prun_uniform(&g->seed) * n); }

static int32_t input(gen *g, asc_shape s) {
    int32_t k = asc_program_input(&g->p, ASC_DTYPE_F32, &s);
    assert_true(k >= 0);
    return k;
}

/* Adds a node if the op takes it; -1 otherwise. */
static int32_t node(gen *g, const asc_op *op, asc_attrs attrs, int n_in, const int32_t *in) {
    asc_node n = {.op = op, .n_in = n_in, .attrs = attrs};
    asc_call c;
    for (int i = 0; i < n_in; i++) n.in[i] = in[i];
    asc_node_call(&g->p, &n, &c);
    c.attrs = &n.attrs;
    if (op->infer(g->ctx, &c) != ASC_OK || asc_shape_elems(&c.shape) > 1 << 20) return -1;
    n.dtype = c.dtype;
    n.shape = c.shape;
    n.attrs = *c.attrs;
    return asc_program_add(&g->p, &n);
}

static const asc_op *const one[] = {
    &asc_op_neg, &asc_op_tanh,  &asc_op_relu,   &asc_op_silu, &asc_op_gelu, &asc_op_exp,   &asc_op_scale,
    &asc_op_sin, &asc_op_floor, &asc_op_square, &asc_op_clip, &asc_op_elu,  &asc_op_shift, &asc_op_softplus};
static const asc_op *const two[] = {&asc_op_add,     &asc_op_mul,     &asc_op_sub,  &asc_op_div,
                                    &asc_op_maximum, &asc_op_less,    &asc_op_add,  &asc_op_swiglu,
                                    &asc_op_pow,     &asc_op_minimum, &asc_op_equal};
static const asc_op *const by_row[] = {&asc_op_softmax, &asc_op_log_softmax, &asc_op_rms_norm,
                                       &asc_op_layer_norm};

/* A shape that broadcasts to s. */
static asc_shape narrowed(gen *g, asc_shape s) {
    switch (pick(g, 6)) {
    case 0: /* a scalar */
        return ASC_SCALAR_SHAPE;
    case 1: /* the last axis */
        return s.rank > 0 ? ASC_SHAPE(s.dims[s.rank - 1]) : s;
    case 2: /* a column */
        if (s.rank > 0) s.dims[s.rank - 1] = 1;
        return s;
    case 3: /* repeats along some axis */
        if (s.rank > 0) s.dims[pick(g, s.rank)] = 1;
        return s;
    default:
        return s;
    }
}

static int32_t random_input_for(gen *g, int32_t v) { return input(g, narrowed(g, g->p.nodes[v].shape)); }

static int32_t recent(gen *g) {
    const int n = (int)g->p.n_nodes, back = pick(g, 100) < 75 ? 4 : n;
    return n - 1 - pick(g, back < n ? back : n);
}

static int32_t add_reduction(gen *g, int32_t v) {
    const asc_shape s = g->p.nodes[v].shape;
    asc_attrs a = {{0}, {0}};
    if (s.rank == 0) return -1;
    if (pick(g, 3) == 0) {
        a.i[0] = pick(g, s.rank);
        a.i[1] = 1;
        return node(g, pick(g, 2) ? &asc_op_max : &asc_op_min, a, 1, &v);
    }
    a.i[0] = 1;
    a.i[1] = pick(g, 3) > 0 ? s.rank - 1 : pick(g, s.rank);
    for (int k = 0; k < asc_op_sum.n_attrs; k++) {
        if (strcmp(asc_op_sum.attrs[k].name, "keep") == 0) a.i[asc_op_sum.attrs[k].slot] = 1;
    }
    return node(g, pick(g, 2) ? &asc_op_sum : &asc_op_mean, a, 1, &v);
}

static int32_t add_row_op(gen *g, int32_t v) {
    const asc_op *op = by_row[pick(g, 4)];
    const asc_shape s = g->p.nodes[v].shape;
    if (s.rank == 0) return -1;
    int32_t in[3] = {v};
    asc_attrs a = {.f = {1e-5}};
    int n = 1;
    if (op == &asc_op_rms_norm || op == &asc_op_layer_norm) in[n++] = input(g, ASC_SHAPE(s.dims[s.rank - 1]));
    if (op == &asc_op_layer_norm) in[n++] = input(g, ASC_SHAPE(s.dims[s.rank - 1]));
    if (pick(g, 3) > 0) return node(g, op, a, n, in);
    if (op == &asc_op_rms_norm)
        return node(g, &asc_op_rms_norm_grad, a, 3, (int32_t[]){v, in[1], input(g, s)});
    if (op == &asc_op_layer_norm)
        return node(g, &asc_op_layer_norm_grad, a, 3, (int32_t[]){v, in[1], input(g, s)});
    return node(g, &asc_op_softmax_grad, (asc_attrs){{0}, {0}}, 2, (int32_t[]){v, input(g, s)});
}

static int32_t add_product(gen *g, int32_t v) {
    static const int64_t widths[] = {1, 3, 16, 33, 48, 100, 200};
    const asc_shape s = g->p.nodes[v].shape;
    if (s.rank < 2) return -1;
    const int64_t k = s.dims[s.rank - 1], n = widths[pick(g, 7)];
    const bool tb = pick(g, 2) == 1;
    int32_t w = input(g, tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n));
    const asc_attrs a = {.i = {0, tb}};
    static const asc_precision levels[] = {ASC_PRECISION_HIGHEST, ASC_PRECISION_HIGHEST, ASC_PRECISION_HIGH,
                                           ASC_PRECISION_MEDIUM};
    int32_t y = pick(g, 3) > 0
                    ? node(g, &asc_op_matmul, a, 2, (int32_t[]){v, w})
                    : node(g, &asc_op_matmul_bias, a, 3, (int32_t[]){v, w, input(g, ASC_SHAPE(n))});
    if (y >= 0) g->p.nodes[y].level = levels[pick(g, 4)];
    return y;
}

/* Of channels that meet all, of some, or of each by itself; strides; a window that is wider than a strip of
 * taps. */
static int32_t add_conv(gen *g, int32_t v) {
    static const int64_t outs[] = {1, 2, 3, 5, 16, 33, 70};
    const asc_shape s = g->p.nodes[v].shape;
    asc_window win = {.ceil = false};
    if (s.rank < 3 || s.rank > 5 || s.dims[0] * s.dims[1] > 4096) return -1;
    const int64_t c = s.dims[1], groups = pick(g, 3) == 0 ? c : pick(g, 3) == 0 && c % 2 == 0 ? 2 : 1;
    asc_shape w = {.rank = s.rank,
                   .dims = {groups * (groups == 1 ? outs[pick(g, 7)] : 1 + pick(g, 2)), c / groups}};
    for (int k = 0; k + 2 < s.rank; k++) {
        const int64_t kernel = k + 3 == s.rank && pick(g, 12) == 0 ? 67 : 1 + 2 * pick(g, 2);
        w.dims[2 + k] = win.kernel[k] = kernel;
        win.stride[k] = pick(g, 4) == 0 ? 2 : 1;
        win.dilation[k] = 1;
        win.before[k] = win.after[k] = kernel / 2;
    }
    asc_attrs a = asc_window_attrs(&win, s.rank - 2, false);
    a.i[ASC_WIN_GROUPS] = groups;
    const int n_in = 2 + pick(g, 2);
    return node(g, &asc_op_conv, a, n_in, (int32_t[]){v, input(g, w), input(g, ASC_SHAPE(w.dims[0]))});
}

static int32_t add_view(gen *g, int32_t v) {
    const asc_shape s = g->p.nodes[v].shape;
    asc_attrs a = {{0}, {0}};
    if (s.rank == 0) return -1;
    if (pick(g, 3) == 0) { /* the first of the leading axis */
        a.i[2] = 1;
        return node(g, &asc_op_slice, a, 1, &v);
    }
    const int64_t rows = asc_shape_elems(&s) / s.dims[s.rank - 1];
    a.i[0] = 2;
    a.i[1] = rows;
    a.i[2] = s.dims[s.rank - 1];
    return node(g, &asc_op_reshape, a, 1, &v);
}

static int32_t add_gate_gradient(gen *g, int32_t v) {
    const asc_shape s = g->p.nodes[v].shape;
    int32_t both =
        node(g, &asc_op_swiglu_grad, (asc_attrs){{0}, {0}}, 3, (int32_t[]){input(g, s), input(g, s), v});
    if (both < 0) return both;
    int32_t half = node(g, &asc_op_slice, (asc_attrs){.i = {0, pick(g, 2), 1}}, 1, &both);
    asc_attrs a = {.i = {s.rank}};
    for (int k = 0; k < s.rank; k++) a.i[1 + k] = s.dims[k];
    return node(g, &asc_op_reshape, a, 1, &half);
}

static void add_some(gen *g) {
    const int32_t v = recent(g);
    const asc_attrs numbers = {.f = {-0.75, 0.5}};
    int32_t in[2] = {v, 0};
    if (g->p.nodes[v].dtype != ASC_DTYPE_F32) return;
    if (g->convs && pick(g, 6) == 0) {
        (void)add_conv(g, v);
        return;
    }
    switch (pick(g, 14)) {
    case 0:
    case 1:
    case 2:
    case 3:
        (void)node(g, one[pick(g, sizeof one / sizeof *one)], numbers, 1, &v);
        return;
    case 4:
    case 5:
    case 6:
        in[1] = pick(g, 2) ? random_input_for(g, v) : recent(g);
        (void)node(g, two[pick(g, sizeof two / sizeof *two)], (asc_attrs){{0}, {0}}, 2, in);
        return;
    case 7:
        in[0] = random_input_for(g, v);
        (void)node(g, &asc_op_where, (asc_attrs){{0}, {0}}, 3, (int32_t[]){in[0], v, recent(g)});
        return;
    case 8:
        (void)add_reduction(g, v);
        return;
    case 9:
        (void)add_row_op(g, v);
        return;
    case 10:
    case 11:
        (void)add_product(g, v);
        return;
    case 12:
        (void)add_view(g, v);
        return;
    default:
        (void)add_gate_gradient(g, v);
        return;
    }
}

static void random_program(gen *g, asc_ctx *ctx, uint64_t seed, int n_nodes) {
    static const asc_shape starts[] = {{2, {50, 10}},     {2, {7, 33}},   {3, {2, 19, 48}}, {2, {300, 96}},
                                       {3, {3, 100, 17}}, {2, {1, 1000}}, {1, {77}},        {2, {1500, 64}},
                                       {4, {2, 3, 5, 9}}, {2, {64, 1}}};
    *g = (gen){.ctx = ctx, .seed = seed * 2654435761u + 88172645463325252u};
    static const asc_shape planes[] = {{4, {2, 3, 14, 15}},  {4, {1, 8, 30, 31}}, {3, {2, 6, 200}},
                                       {5, {1, 4, 5, 6, 7}}, {4, {3, 32, 7, 7}},  {4, {1, 16, 24, 100}},
                                       {4, {2, 4, 3, 1}}};
    for (int i = 0; i < 3; i++) (void)pick(g, 10);
    asc_program_init(&g->p, ctx);
    g->convs = seed > 1000;
    (void)input(g, g->convs ? planes[pick(g, sizeof planes / sizeof *planes)]
                            : starts[pick(g, sizeof starts / sizeof *starts)]);
    while ((int)g->p.n_nodes < n_nodes) add_some(g);
    bool read[512] = {false};
    for (size_t k = 0; k < g->p.n_nodes; k++) {
        for (int i = 0; i < g->p.nodes[k].n_in; i++) read[g->p.nodes[k].in[i]] = true;
    }
    for (size_t k = 0; k < g->p.n_nodes; k++) { /* what nobody reads, and now and then another one */
        if (g->p.nodes[k].op != NULL && (!read[k] || pick(g, 20) == 0))
            assert_ok(ctx, asc_program_output(&g->p, (int32_t)k));
    }
    assert_ok(ctx, asc_program_verify(ctx, &g->p));
}

#endif
