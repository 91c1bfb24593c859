/* test_cpu_fused.c - fused regions give the bytes of the single nodes: random programs with broadcasting, odd
 * shapes, views, reductions, products and values that overwrite each other, on one and two threads, with
 * every instruction set. */
#include "passes.h"
#include "program_gen.h"
#include "region.h"

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

static void random_convolutions(void **state) {
    (void)state;
    const char *only = getenv("ASC_FUSED_SEED");
    tally t = {0};
    for (uint64_t seed = 1001; seed <= 1060; seed++) {
        if (only != NULL && seed != strtoull(only, NULL, 10)) continue;
        compare(seed, "auto", 2, 14 + (int)(seed % 5) * 10, &t);
        compare(seed, "auto", 1, 14 + (int)(seed % 5) * 10, &t);
        compare(seed, "avx2", 2, 14 + (int)(seed % 3) * 15, &t);
        compare(seed, "baseline", 2, 14 + (int)(seed % 3) * 10, &t);
    }
    printf("%zu programs with convolutions: %zu nodes in regions, %zu lead one\n", t.programs, t.grouped,
           t.led);
    if (only == NULL) assert_true(t.led > 50);
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
        cmocka_unit_test(random_convolutions),
    };
    return cmocka_run_group_tests_name("cpu fused", tests, NULL, NULL);
}
