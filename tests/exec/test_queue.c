/* test_queue.c - the deferred queue: its four bounds, where it is cut, marks, loops that nobody marked, and
 * implicit cuts forbidden. */
#include "exec.h"
#include "harness.h"
#include "ops.h"
#include "price.h"
#include <math.h>

static asc_tensor *leaf(asc_ctx *ctx, int64_t n, float start) {
    float v[4096];
    for (int64_t i = 0; i < n; i++) v[i] = start + 0.001f * (float)i;
    return asc_from_f32(ctx, ASC_SHAPE(n), v);
}

static void bound(asc_ctx *ctx, size_t nodes, double bytes, double flops, double seconds) {
    asc_queue_limits l = asc_exec_limits(ctx);
    if (nodes > 0) l.nodes = nodes;
    if (bytes > 0) l.live_bytes = bytes;
    if (flops > 0) l.flops = flops;
    l.seconds = seconds >= 0 ? seconds : 1e9; /* a machine may be slow, and busy */
    asc_exec_set_limits(ctx, &l);
}

static uint64_t cuts(asc_ctx *ctx, asc_cut_reason why) { return asc_exec_stats_of(ctx).cuts[why]; }

static uint64_t all_cuts(asc_ctx *ctx) {
    asc_exec_stats s = asc_exec_stats_of(ctx);
    uint64_t n = 0;
    for (int i = 0; i < ASC_N_CUT_REASONS; i++) n += s.cuts[i];
    return n;
}

static size_t pending(asc_ctx *ctx) {
    size_t n;
    assert_ok(ctx, asc_exec_pending(ctx, &n));
    return n;
}

/* Each bound alone: cut for this reason and no other, never far above it, and the value is right. */
static void four_bounds(void **state) {
    (void)state;
    static const struct {
        asc_cut_reason why;
        size_t nodes;
        double bytes, flops, seconds;
    } cases[] = {{ASC_CUT_NODES, 50, 0, 0, -1},
                 {ASC_CUT_BYTES, 0, 40 * 400, 0, -1},
                 {ASC_CUT_FLOPS, 0, 0, 100 * 300, -1},
                 {ASC_CUT_AGE, 0, 0, 0, 0}};
    for (int k = 0; k < 4; k++) {
        asc_ctx *ctx = test_ctx("cpu", "deferred");
        float out[100];
        bound(ctx, cases[k].nodes, cases[k].bytes, cases[k].flops, cases[k].seconds);
        asc_scope_begin(ctx);
        asc_tensor *x = leaf(ctx, 100, 0.5f), *sum = x, *many[64];
        size_t most = 0;
        for (int i = 0; i < 640; i++) {
            if (i % 64 == 0) sum = i > 0 ? many[0] : x;
            for (int m = 1; i % 64 == 0 && i > 0 && m < 64; m++) sum = asc_add(ctx, sum, many[m]);
            many[i % 64] = asc_shift(ctx, sum, 0.001 * i); /* 64 values alive at once */
            size_t now = pending(ctx);
            if (now > most) most = now;
        }
        assert_true(cuts(ctx, cases[k].why) >= 2);
        assert_int_equal(cuts(ctx, cases[k].why), all_cuts(ctx));
        if (k == 0) assert_true(most < 50 + 8);
        assert_ok(ctx, asc_read_f32(ctx, many[63], out, 100));
        assert_true(isfinite(out[0]) && out[0] > 1e10f);
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

/* Steps of 10 ops whose middle is wide: cuts fall where one narrow value is alive, and after the first one
 * the programs are those of before. */
static void cuts_fall_on_the_cheapest_edge_and_repeat(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    float out[4];
    int axis[] = {0};
    bound(ctx, 64, 0, 0, -1);
    asc_scope_begin(ctx);
    asc_tensor *h = leaf(ctx, 4, 0.5f);
    uint64_t misses = 0, cut = 0;
    for (int i = 0; i < 200; i++) {
        asc_tensor *w =
            asc_mul(ctx, asc_reshape(ctx, h, ASC_SHAPE(1, 4)), asc_full(ctx, ASC_SHAPE(64, 1), 0.01));
        w = asc_tanh(ctx, asc_shift(ctx, asc_square(ctx, asc_exp(ctx, w)), -1.0));
        h = asc_sum(ctx, w, 1, axis, false);
        if (i == 60) misses = asc_exec_stats_of(ctx).cache_misses, cut = cuts(ctx, ASC_CUT_NODES);
    }
    asc_exec_stats s = asc_exec_stats_of(ctx);
    assert_true(cut >= 3 && s.cuts[ASC_CUT_NODES] > cut);
    assert_int_equal(s.cache_misses, misses);
    /* one value of 4 elements is computed by each cut: nothing else crosses the edge */
    asc_exec_program p;
    assert_true(asc_exec_cache_at(ctx, 0, &p));
    assert_int_equal(p.program->n_outputs, 1);
    assert_int_equal(asc_shape_elems(&p.program->nodes[p.program->outputs[0]].shape), 4);
    assert_ok(ctx, asc_read_f32(ctx, h, out, 4));
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* All edges cost the same and the cap is no multiple of the step: the second cut moves to the place of the
 * first, and the third is the second. */
static void equal_edges_keep_their_place(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    float out[4];
    bound(ctx, 64, 0, 0, -1);
    asc_scope_begin(ctx);
    asc_tensor *h = leaf(ctx, 4, 0.5f);
    for (int i = 0; i < 200; i++) {
        h = asc_silu(ctx, asc_neg(ctx, asc_abs(ctx, h)));
        h = asc_tanh(ctx, asc_exp(ctx, asc_cos(ctx, asc_sigmoid(ctx, h))));
    }
    asc_exec_stats s = asc_exec_stats_of(ctx);
    assert_true(s.cuts[ASC_CUT_NODES] >= 20);
    assert_int_equal(s.cache_misses, 2);
    assert_ok(ctx, asc_read_f32(ctx, h, out, 4));
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* A loop with an accumulator and something made before it: with marks, one program from iteration 2 on. */
static void marked_loops_find_their_program(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    float out[8], want = 0.0f;
    asc_scope_begin(ctx);
    asc_tensor *x = leaf(ctx, 8, 0.5f), *fixed = asc_exp(ctx, x), *sum = asc_full(ctx, ASC_SHAPE(8), 0.0);
    uint64_t nodes = 0, before = 0;
    for (int i = 0; i < 12; i++) {
        sum = asc_add(ctx, sum, asc_mul(ctx, asc_scale(ctx, fixed, 0.5 * i), x));
        assert_ok(ctx, asc_mark(ctx, "test"));
        assert_int_equal(pending(ctx), 0);
        asc_exec_stats s = asc_exec_stats_of(ctx);
        assert_int_equal(s.cuts[ASC_CUT_MARK], i + 1);
        if (i >= 3) assert_int_equal(s.cache_misses, 3); /* from the third on nothing is compiled */
        if (i >= 3) assert_int_equal(s.nodes_run - before, nodes);
        nodes = s.nodes_run - before;
        before = s.nodes_run;
        want += 0.5f * (float)i;
    }
    /* `fixed` was computed once: the program of a step is three ops and three leaves */
    assert_int_equal(nodes, 6);
    assert_int_equal(all_cuts(ctx), 12);
    assert_ok(ctx, asc_mark(ctx, "test")); /* nothing to do */
    assert_int_equal(all_cuts(ctx), 12);
    assert_ok(ctx, asc_read_f32(ctx, sum, out, 8));
    assert_true(fabsf(out[0] - want * expf(0.5f) * 0.5f) < 1e-4f * want);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* One step of `ops` ops, no two alike: the value gets shorter, and `rest` fills it up at the end. */
static asc_tensor *step(asc_ctx *ctx, asc_tensor *h, asc_tensor *rest, int ops) {
    for (int i = 0; i + 1 < ops; i++) h = i % 2 == 0 ? asc_tanh(ctx, h) : asc_slice(ctx, h, 0, 0, 200 - i);
    return asc_concat(ctx, (asc_tensor *[]){h, rest}, 2, 0);
}

/* Lengths 3 to 127 are found after two steps and then at every step; other streams are left alone. */
static void foreign_loops_are_found(void **state) {
    (void)state;
    static const int lengths[] = {3, 8, 40, 127};
    for (int k = 0; k < 4; k++) {
        asc_ctx *ctx = test_ctx("cpu", "deferred");
        asc_queue_limits l = asc_exec_limits(ctx);
        l.find_loops = true;
        asc_exec_set_limits(ctx, &l);
        asc_scope_begin(ctx);
        const int last = lengths[k] % 2 == 0 ? lengths[k] - 3 : lengths[k] - 2; /* the last slice's i */
        asc_tensor *h = leaf(ctx, 200, 0.1f), *rest = leaf(ctx, last, 0.2f);
        uint64_t misses = 0;
        for (int i = 0; i < 10; i++) {
            h = step(ctx, h, rest, lengths[k]);
            if (i == 5) misses = asc_exec_stats_of(ctx).cache_misses;
        }
        uint64_t found = cuts(ctx, ASC_CUT_LOOP);
        assert_int_equal(found, 8); /* the first step's first op read a leaf: found in the third step */
        assert_int_equal(asc_exec_stats_of(ctx).cache_misses, misses);
        for (int i = 0; i < 90; i++) {
            h = asc_concat(ctx, (asc_tensor *[]){h, h}, 2, 0);
            h = asc_tanh(ctx, asc_slice(ctx, h, 0, 0, 6 + i));
        }
        assert_int_equal(cuts(ctx, ASC_CUT_LOOP), found);
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

/* Reads and bounds name the op and the reason; what is asked for is allowed. */
static void implicit_cuts_can_be_forbidden(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_queue_limits l = asc_exec_limits(ctx);
    float out[8];
    l.forbid = true;
    asc_exec_set_limits(ctx, &l);
    asc_scope_begin(ctx);
    asc_tensor *x = leaf(ctx, 8, 0.5f), *y = asc_exp(ctx, x), *z = asc_neg(ctx, x);
    assert_ok(ctx, asc_read_f32(ctx, x, out, 8)); /* has a value: no cut */
    assert_int_equal(asc_read_f32(ctx, y, out, 8), ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "exp"));
    assert_non_null(strstr(asc_error_message(ctx), "a value was read"));
    assert_int_equal(all_cuts(ctx), 0);
    assert_ok(ctx, asc_run(ctx, &y, 1));
    assert_ok(ctx, asc_read_f32(ctx, y, out, 8));
    assert_ok(ctx, asc_mark(ctx, "test"));
    assert_ok(ctx, asc_read_f32(ctx, z, out, 8));
    l.nodes = 10;
    asc_exec_set_limits(ctx, &l);
    for (int i = 0; i < 12; i++) y = asc_sin(ctx, y);
    assert_int_equal(asc_run(ctx, &y, 1), ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "sin"));
    assert_non_null(strstr(asc_error_message(ctx), "too many ops"));
    assert_ok(ctx, asc_run(ctx, &y, 1)); /* the value itself is well */
    assert_int_equal(all_cuts(ctx), 3);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* Nothing runs while ops are recorded for their price, in eager mode neither. */
static void priced_recording_computes_nothing(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        asc_ctx *ctx = test_ctx("cpu", k != 0 ? "eager" : "deferred");
        asc_plan plan;
        float out[8];
        bound(ctx, 4, 0, 0, -1);
        asc_scope_begin(ctx);
        asc_tensor *y = leaf(ctx, 8, 0.5f);
        asc_price_begin(ctx);
        asc_price_begin(ctx);
        for (int i = 0; i < 20; i++) y = asc_sin(ctx, y);
        asc_price_end(ctx);
        y = asc_sin(ctx, y);
        assert_ok(ctx, asc_mark(ctx, "test"));
        asc_price_end(ctx);
        assert_int_equal(all_cuts(ctx), 0);
        assert_ok(ctx, asc_exec_price(ctx, &y, 1, &plan));
        assert_ok(ctx, asc_read_f32(ctx, y, out, 8));
        assert_int_equal(all_cuts(ctx), 1);
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_bounds),
        cmocka_unit_test(cuts_fall_on_the_cheapest_edge_and_repeat),
        cmocka_unit_test(equal_edges_keep_their_place),
        cmocka_unit_test(marked_loops_find_their_program),
        cmocka_unit_test(foreign_loops_are_found),
        cmocka_unit_test(implicit_cuts_can_be_forbidden),
        cmocka_unit_test(priced_recording_computes_nothing),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
