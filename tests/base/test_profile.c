/* test_profile.c - the profiler's ring, names, label stack and counters. */
#include "harness.h"
#include "profile.h"

static void off_is_silent(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    assert_null(ctx->prof);
    assert_int_equal(asc_prof_push(ctx, "method", -1), -1);
    asc_prof_pop(ctx, -1);
    asc_prof_mark m = asc_prof_begin(ctx);
    assert_int_equal(m.ns, 0);
    asc_prof_end(ctx, m, ASC_PROF_CUT, "read", NULL);
    asc_prof_run_end(ctx, asc_prof_run_begin(ctx));
    asc_prof_copy(ctx, m, "upload", 4);
    asc_prof_stop(ctx);
    assert_null(ctx->prof_kept);
    test_ctx_end(ctx);
}

static void names_are_shared(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    assert_int_equal(asc_prof_start(ctx, 16), ASC_OK);
    asc_prof *p = ctx->prof;
    assert_int_equal(asc_prof_name(p, NULL), 0);
    assert_int_equal(asc_prof_name(p, ""), 0);
    char text[32];
    uint32_t first[3000];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "blocks.%d.attn", i);
        first[i] = asc_prof_name(p, text);
        assert_true(first[i] != 0);
    }
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "blocks.%d.attn", i);
        assert_int_equal(asc_prof_name(p, text), first[i]);
        assert_string_equal(asc_prof_text(p, first[i]), text);
    }
    assert_string_equal(asc_prof_text(p, 99999), "");
    assert_false(p->lost);
    /* a table that is full says so, and goes on without */
    for (int i = 0; i < ASC_PROF_MAX_NAMES + 10; i++) {
        snprintf(text, sizeof text, "x%d", i);
        (void)asc_prof_name(p, text);
    }
    assert_true(p->lost);
    assert_int_equal(asc_prof_name(p, "one too many"), 0);
    assert_int_equal(asc_error_code(ctx), ASC_OK);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

static void oldest_are_dropped(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    assert_int_equal(asc_prof_start(ctx, 8), ASC_OK);
    asc_prof *p = ctx->prof;
    for (uint64_t i = 0; i < 21; i++)
        asc_prof_add(p, (asc_prof_event){.start_ns = 100 + i, .ns = 1, .kind = ASC_PROF_OP, .threads = 2});
    assert_int_equal(p->n, 21);
    assert_int_equal(asc_prof_events(p), 8);
    for (size_t i = 0; i < 8; i++) assert_int_equal(asc_prof_at(p, i)->start_ns, 100 + 13 + i);
    /* counters know all of them */
    assert_int_equal(p->ns[ASC_PROF_OP], 21);
    assert_int_equal(p->count[ASC_PROF_OP], 21);
    assert_int_equal(p->thread_ns, 42);
    asc_prof_stop(ctx);
    assert_int_equal(asc_prof_events(ctx->prof_kept), 8);
    assert_int_equal(asc_prof_start(ctx, 8), ASC_OK); /* again: from nothing */
    assert_int_equal(asc_prof_events(ctx->prof), 0);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

static void label_stack(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    assert_int_equal(asc_prof_start(ctx, 64), ASC_OK);
    asc_prof *p = ctx->prof;
    const int outer = asc_prof_push(ctx, "integrated-gradients", -1), inner = asc_prof_push(ctx, "step", 8);
    assert_int_equal(outer, 0);
    assert_int_equal(inner, 1);
    asc_prof_add(p, (asc_prof_event){.start_ns = 5, .ns = 1, .kind = ASC_PROF_OP});
    const asc_prof_event *e = asc_prof_at(p, 0);
    const asc_prof_frame *f = &p->frames[e->frame];
    assert_string_equal(asc_prof_text(p, f->name), "step");
    assert_int_equal(f->number, 8);
    assert_string_equal(asc_prof_text(p, p->frames[f->parent].name), "integrated-gradients");
    (void)asc_prof_push(ctx, "left open by an error", -1);
    asc_prof_pop(ctx, outer); /* closes all three, innermost first */
    assert_int_equal(p->depth, 0);
    assert_int_equal(p->frame, 0);
    assert_int_equal(asc_prof_events(p), 4);
    assert_string_equal(asc_prof_text(p, asc_prof_at(p, 1)->name), "left open by an error");
    assert_string_equal(asc_prof_text(p, asc_prof_at(p, 3)->name), "integrated-gradients");
    assert_int_equal(asc_prof_at(p, 3)->kind, ASC_PROF_SPAN);
    int depth[ASC_PROF_DEPTH + 4]; /* deeper than it can tell apart */
    for (int i = 0; i < ASC_PROF_DEPTH + 4; i++) depth[i] = asc_prof_push(ctx, "deep", i);
    for (int i = ASC_PROF_DEPTH + 4; i-- > 0;) asc_prof_pop(ctx, depth[i]);
    assert_int_equal(p->depth, 0);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

/* Busy time is that of the threads, but no more than the process got. */
static void busy_is_bounded(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    assert_int_equal(asc_prof_start(ctx, 64), ASC_OK);
    asc_prof *p = ctx->prof;
    asc_prof_mark m = asc_prof_run_begin(ctx);
    assert_true(m.cpu_ns != 0);
    volatile double x = 1.0;
    const uint64_t t0 = asc_now_ns();
    while (asc_now_ns() - t0 < 2000000) x = x * 1.0000001;
    /* claims 1000 threads: only the processor time of this one counts */
    asc_prof_add(
        p, (asc_prof_event){.start_ns = t0, .ns = asc_now_ns() - t0, .kind = ASC_PROF_OP, .threads = 1000});
    asc_prof_run_end(ctx, m);
    const uint64_t wall = asc_now_ns() - t0;
    assert_true(p->busy_ns > 0);
    assert_true(p->busy_ns <= wall * 2);
    assert_true(p->thread_ns > 1000 * 2000000ull - 1);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

static void peak_of_memory(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    assert_int_equal(asc_prof_start(ctx, 64), ASC_OK);
    asc_prof *p = ctx->prof;
    const int depth = asc_prof_push(ctx, "big", -1);
    void *a = asc_alloc(ctx, ASC_MEM_ACTIVATIONS, 1 << 20);
    asc_prof_pop(ctx, depth);
    void *b = asc_alloc(ctx, ASC_MEM_SCRATCH, 100);
    asc_free(ctx, a);
    void *c = asc_alloc(ctx, ASC_MEM_SCRATCH, 1000); /* less than before: no new peak */
    assert_true(p->peak_by_tag[ASC_MEM_ACTIVATIONS] >= 1 << 20);
    assert_true(p->peak_bytes >= (1 << 20) + 100 && p->peak_bytes < (2 << 20));
    assert_string_equal(asc_prof_text(p, p->frames[p->peak_frame].name), "big"); /* not the last crumb */
    bool seen = false;
    for (size_t i = 0; i < asc_prof_events(p); i++) {
        const asc_prof_event *e = asc_prof_at(p, i);
        if (e->kind != ASC_PROF_PEAK || e->bytes_written < 1 << 20) continue;
        assert_false(seen); /* the hundred bytes more are no event of their own */
        seen = true;
        assert_string_equal(asc_prof_text(p, p->frames[e->frame].name), "big");
    }
    assert_true(seen);
    asc_free(ctx, b);
    asc_free(ctx, c);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

/* Whichever allocation fails: an error or a shorter profile, never a crash or a leak. */
static void no_memory(void **state) {
    (void)state;
    for (long k = 1; k < 40; k++) {
        test_alloc a = {0};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        a.count = 0;
        a.fail_at = k;
        if (asc_prof_start(ctx, 32) == ASC_OK) {
            for (int i = 0; i < 600; i++) {
                char text[16];
                snprintf(text, sizeof text, "n%d", i);
                const int depth = asc_prof_push(ctx, text, i);
                asc_prof_pop(ctx, depth);
            }
            assert_int_equal(asc_error_code(ctx), ASC_OK);
            assert_int_equal(ctx->prof->n, 600);
        }
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_is_silent),      cmocka_unit_test(names_are_shared),
        cmocka_unit_test(oldest_are_dropped), cmocka_unit_test(label_stack),
        cmocka_unit_test(busy_is_bounded),    cmocka_unit_test(peak_of_memory),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
