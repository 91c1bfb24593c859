/* test_cpu_fused.c - fused regions give the bytes of the single nodes: random programs with broadcasting, odd
 * shapes, views, reductions, products and values that overwrite each other, on one and two threads, with
 * every instruction set. */
#include "program_run.h"

#include "passes.h"
#include "region.h"

/* ---- random programs ---- */
typedef struct gen {
    asc_ctx *ctx;
    asc_program p;
    uint64_t seed;
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
    for (int i = 0; i < 3; i++) (void)pick(g, 10);
    asc_program_init(&g->p, ctx);
    (void)input(g, starts[pick(g, sizeof starts / sizeof *starts)]);
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

static asc_ctx *ctx_of(const char *isa, int threads) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "cpu", .isa = isa, .n_threads = threads};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

typedef struct tally {
    size_t programs, grouped, tiles, in_place, led;
} tally;

static void copy_program(asc_ctx *ctx, const asc_program *p, asc_program *out) {
    asc_program_init(out, ctx);
    for (size_t k = 0; k < p->n_nodes; k++) assert_true(asc_program_add(out, &p->nodes[k]) >= 0);
    for (size_t i = 0; i < p->n_outputs; i++) assert_ok(ctx, asc_program_output(out, p->outputs[i]));
}

static void count(const asc_program *p, const asc_plan *plan, tally *t) {
    for (size_t k = 0; k < p->n_nodes; k++) {
        t->grouped += p->nodes[k].group != 0;
        t->tiles += plan->slots[k].place == ASC_PLACE_TILE;
        t->in_place += p->nodes[k].group != 0 && plan->slots[k].place == ASC_PLACE_INPLACE;
        t->led += p->nodes[k].group != 0 && asc_region_may_lead(&p->nodes[k]);
    }
}

static int32_t region_begin(const asc_program *p, int32_t k) {
    while (p->nodes[k].group != 0 && k > 0 && p->nodes[k - 1].group == p->nodes[k].group) k--;
    return k;
}

/* Last step at which somebody reads the bytes of `root`, as the end of that reader's region. */
static int32_t life_end(const asc_program *p, const asc_plan *plan, int32_t root) {
    int32_t end = (int32_t)asc_region_end(p, (size_t)root);
    for (size_t j = 0; j < p->n_nodes; j++) {
        for (int i = 0; i < p->nodes[j].n_in; i++) {
            const int32_t last = (int32_t)asc_region_end(p, j);
            if (plan->slots[p->nodes[j].in[i]].root == root && last > end) end = last;
        }
    }
    return end;
}

/* What the planner promises, found another way: values in the arena that live at the same time, regions being
 * one step, share no byte; what is overwritten is not read afterwards, and inside the region only by the rows
 * written. */
static void plan_is_sound(const asc_program *p, const asc_plan *plan) {
    for (int32_t a = 0; a < (int32_t)p->n_nodes; a++) {
        const asc_slot *x = &plan->slots[a];
        for (int32_t b = 0; b < a && x->place == ASC_PLACE_ARENA; b++) {
            const asc_slot *y = &plan->slots[b];
            if (y->place != ASC_PLACE_ARENA || life_end(p, plan, b) < region_begin(p, a) ||
                life_end(p, plan, a) < region_begin(p, b))
                continue;
            if (x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes)
                fail_msg("values %d and %d share bytes", b, a);
        }
        if (x->place != ASC_PLACE_INPLACE) continue;
        for (int32_t j = 0; j < (int32_t)p->n_nodes; j++) {
            const asc_node *n = &p->nodes[j];
            for (int i = 0; i < n->n_in; i++) {
                const int32_t v = n->in[i];
                asc_region r;
                if (v >= a || plan->slots[v].root != x->root) continue;
                if (j > a) fail_msg("%d is overwritten by %d and read by %d", v, a, j);
                if (p->nodes[a].group == 0 || n->group != p->nodes[a].group) continue;
                if (asc_region_of(p, (size_t)region_begin(p, a), asc_region_end(p, (size_t)a), &r) &&
                    asc_region_reads(p, n, i, r.rows) != ASC_READS_ROWS)
                    fail_msg("%d is overwritten by %d while %d reads it otherwise", v, a, j);
            }
        }
    }
}

static void compare(uint64_t seed, const char *isa, int threads, int n_nodes, tally *t) {
    asc_ctx *ctx = ctx_of(isa, threads);
    gen g;
    asc_program fused;
    prun plain, tiled;
    size_t n_done = 0;
    char what[64];
    random_program(&g, ctx, seed, n_nodes);
    copy_program(ctx, &g.p, &fused);
    const asc_pass_env env = {.storage_bytes = asc_device_cpu.storage_bytes, .alias = true, .fuses = true};
    assert_ok(ctx, asc_pass_fuse.run(ctx, &fused, &env, &n_done));
    assert_ok(ctx, asc_program_verify(ctx, &fused));
    prun_init(&plain, ctx, &g.p, false, seed);
    prun_init(&tiled, ctx, &fused, true, seed);
    count(&fused, &tiled.plan, t);
    plan_is_sound(&fused, &tiled.plan);
    prun_prepare(&tiled);
    assert_ok(ctx, prun_run(&plain));
    assert_ok(ctx, prun_run(&tiled));
    snprintf(what, sizeof what, "program %llu, %s, %d threads", (unsigned long long)seed, isa, threads);
    prun_same(&plain, &tiled, what);
    prun_deinit(&plain);
    prun_deinit(&tiled);
    asc_program_deinit(&fused);
    asc_program_deinit(&g.p);
    test_ctx_end(ctx);
    t->programs++;
}

static void random_programs(void **state) {
    (void)state;
    const char *only = getenv("ASC_FUSED_SEED");
    tally t = {0};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        if (only != NULL && seed != strtoull(only, NULL, 10)) continue;
        compare(seed, "auto", 2, 14 + (int)(seed % 5) * 20, &t);
        compare(seed, "avx512", 2, 14 + (int)(seed % 5) * 20, &t);
        compare(seed, "auto", 1, 14 + (int)(seed % 5) * 20, &t);
        compare(seed, "avx2", 2, 14 + (int)(seed % 3) * 20, &t);
        compare(seed, "baseline", 2, 14 + (int)(seed % 3) * 15, &t);
    }
    printf("%zu programs: %zu nodes in regions, %zu of them products, %zu without storage, %zu in place\n",
           t.programs, t.grouped, t.led, t.tiles, t.in_place);
    if (only == NULL) assert_true(t.led > 50 && t.tiles > 200 && t.in_place > 20);
}

/* ---- regions made by hand ---- */
static const struct {
    const char *what, *text;
    bool runs_whole; /* it is a region: something in it has no storage */
} made[] = {
    {"what the product reads whole is not overwritten by its epilogue",
     "%0 = input f32 [96,96]\n"
     "%1 = exp f32 [96,96] %0\n"
     "%2 = matmul f32 [96,96] %0 %1 {ta=0 tb=0} @1\n"
     "%3 = add f32 [96,96] %1 %2 @1\n"
     "%4 = cumsum f32 [96,96] %3 {axis=0 exclusive=0 reverse=0}\n"
     "return %4\n",
     false},
    {"the product's rows may be overwritten, a residual too",
     "%0 = input f32 [96,96]\n"
     "%1 = exp f32 [96,96] %0\n"
     "%2 = matmul f32 [96,96] %0 %0 {ta=0 tb=0} @1\n"
     "%3 = add f32 [96,96] %1 %2 @1\n"
     "%4 = cumsum f32 [96,96] %3 {axis=0 exclusive=0 reverse=0}\n"
     "return %4\n",
     false},
    {"an input dies in the region but is read again behind the node that could overwrite it",
     "%0 = input f32 [500,64]\n"
     "%1 = exp f32 [500,64] %0\n"
     "%2 = relu f32 [500,64] %1 @1\n"
     "%3 = softmax f32 [500,64] %2 @1\n"
     "%4 = mul f32 [500,64] %3 %1 @1\n"
     "%5 = cumsum f32 [500,64] %2 {axis=0 exclusive=0 reverse=0}\n"
     "%6 = add f32 [500,64] %5 %4\n"
     "return %6\n",
     true},
    {"a value with one row dies in the region, where it is read whole",
     "%0 = input f32 [1,64]\n"
     "%1 = exp f32 [1,64] %0\n"
     "%2 = input f32 [300,64]\n"
     "%3 = mul f32 [300,64] %2 %1 @1\n"
     "%4 = add f32 [300,64] %3 %1 @1\n"
     "%5 = softmax f32 [300,64] %4 @1\n"
     "return %5\n",
     true},
    {"views of tiles, and one that is an output",
     "%0 = input f32 [30,4,8]\n"
     "%1 = exp f32 [30,4,8] %0 @1\n"
     "%2 = reshape f32 [30,32] %1 {shape=[30,32]} @1\n"
     "%3 = softmax f32 [30,32] %2 @1\n"
     "%4 = reshape f32 [30,4,8] %3 {shape=[30,4,8]} @1\n"
     "%5 = mul f32 [30,4,8] %4 %1 @1\n"
     "return %4 %5\n",
     true},
    {"gate, up and their gradient, both halves read outside",
     "%0 = input f32 [40,24]\n"
     "%1 = input f32 [24,80]\n"
     "%2 = input f32 [40,80]\n"
     "%3 = input f32 [40,80]\n"
     "%4 = matmul f32 [40,80] %0 %1 {ta=0 tb=0} @1\n"
     "%5 = scale f32 [40,80] %4 {factor=0.3} @1\n"
     "%6 = swiglu_grad f32 [2,40,80] %2 %3 %5 @1\n"
     "%7 = slice f32 [1,40,80] %6 {axis=0 start=1 len=1}\n"
     "return %6 %7\n",
     true},
    {"a column and a row behind a product with a width that is no whole vector",
     "%0 = input f32 [213,65]\n"
     "%1 = input f32 [65,227]\n"
     "%2 = input f32 [227]\n"
     "%3 = input f32 [213,1]\n"
     "%4 = input f32 []\n"
     "%5 = matmul_bias f32 [213,227] %0 %1 %2 {ta=0 tb=0} @1\n"
     "%6 = mul f32 [213,227] %5 %3 @1\n"
     "%7 = sin f32 [213,227] %6 @1\n"
     "%8 = pow f32 [213,227] %7 %4 @1\n"
     "%9 = where f32 [213,227] %8 %2 %7 @1\n"
     "return %9\n",
     true},
    {"no region: the second node reads the first in another order",
     "%0 = input f32 [64,64]\n"
     "%1 = exp f32 [64,64] %0 @1\n"
     "%2 = cumsum f32 [64,64] %1 {axis=0 exclusive=0 reverse=0} @1\n"
     "%3 = neg f32 [64,64] %2 @1\n"
     "return %3\n",
     false},
    {"no region: a product that does not lead",
     "%0 = input f32 [64,64]\n"
     "%1 = exp f32 [64,64] %0 @1\n"
     "%2 = matmul f32 [64,64] %1 %0 {ta=0 tb=0} @1\n"
     "return %2\n",
     false},
    {"rows of nothing",
     "%0 = input f32 [0,64]\n"
     "%1 = exp f32 [0,64] %0 @1\n"
     "%2 = neg f32 [0,64] %1 @1\n"
     "return %2\n",
     false},
};

static void hand_made(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        for (int threads = 1; threads <= 2; threads++) {
            asc_ctx *ctx = ctx_of("auto", threads);
            asc_program p, q;
            prun plain, tiled;
            assert_ok(ctx, asc_program_parse(ctx, asc_view_of(made[i].text), &p));
            assert_ok(ctx, asc_program_parse(ctx, asc_view_of(made[i].text), &q));
            assert_ok(ctx, asc_program_verify(ctx, &p));
            prun_init(&plain, ctx, &p, false, i);
            prun_init(&tiled, ctx, &q, true, i);
            plan_is_sound(&q, &tiled.plan);
            bool tiles = false;
            for (size_t k = 0; k < q.n_nodes; k++)
                tiles = tiles || tiled.plan.slots[k].place == ASC_PLACE_TILE;
            if (tiles != made[i].runs_whole) fail_msg("%s: %s", made[i].what, tiles ? "tiles" : "no tiles");
            assert_ok(ctx, prun_run(&plain));
            assert_ok(ctx, prun_run(&tiled)); /* code is made for the run */
            prun_same(&plain, &tiled, made[i].what);
            prun_prepare(&tiled);
            assert_ok(ctx, prun_run(&tiled));
            prun_same(&plain, &tiled, made[i].what);
            prun_deinit(&plain);
            prun_deinit(&tiled);
            asc_program_deinit(&p);
            asc_program_deinit(&q);
            test_ctx_end(ctx);
        }
    }
}

/* Every allocation of prepare may fail: the error says what for, and the next try works. */
static void no_memory(void **state) {
    (void)state;
    test_alloc mem = {0};
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = "cpu", .alloc = test_alloc_fn, .alloc_self = &mem};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    asc_program p;
    prun r;
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(made[6].text), &p));
    prun_init(&r, ctx, &p, true, 1);
    int failures = 0;
    for (long n = 1;; n++) {
        mem.fail_at = mem.count + n;
        asc_status st = asc_device_cpu.prepare(ctx, asc_exec_device_state(ctx), &p, &r.plan, &r.code);
        mem.fail_at = 0;
        if (st == ASC_OK) break;
        assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        assert_null(r.code);
        assert_non_null(strstr(asc_error_message(ctx), "out of memory"));
        failures++;
    }
    assert_int_equal(failures, 3); /* the code, the region, the tiles */
    assert_ok(ctx, prun_run(&r));
    prun_deinit(&r);
    asc_program_deinit(&p);
    test_ctx_end(ctx);
    assert_int_equal(mem.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_made),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests_name("cpu fused", tests, NULL, NULL);
}
