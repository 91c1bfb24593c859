/* test_profile_exec.c - what runs of programs tell the profiler, and interned labels. */
#include "harness.h"
#include "exec.h"
#include "ops.h"
#include "profile_unit.h"

static const asc_prof_event *find(const asc_prof *p, asc_prof_kind kind, const char *name, size_t *n) {
    const asc_prof_event *found = NULL;
    *n = 0;
    for (size_t i = 0; i < asc_prof_events(p); i++) {
        const asc_prof_event *e = asc_prof_at(p, i);
        if (e->kind != kind || strcmp(asc_prof_text(p, e->name), name) != 0) continue;
        found = e;
        ++*n;
    }
    return found;
}

/* A product of [8,32] by [32,16] and its gradient: names, labels, FLOP and bytes are those of the formula. */
static void events_of_ops(void **state) {
    const char *device = *state;
    asc_ctx *ctx = test_ctx(device, "deferred");
    float a[8 * 32], b[32 * 16], y[1];
    for (int i = 0; i < 8 * 32; i++) a[i] = (float)(i % 7) - 3.0f;
    for (int i = 0; i < 32 * 16; i++) b[i] = (float)(i % 5) - 2.0f;
    assert_int_equal(asc_prof_start(ctx, 0), ASC_OK);
    const asc_prof *p = ctx->prof;
    asc_scope_begin(ctx);
    const char *label = asc_label_intern(ctx, "layer.1");
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(8, 32), a), *w = asc_from_f32(ctx, ASC_SHAPE(32, 16), b), *g;
    asc_set_label(ctx, label);
    asc_tensor *h = asc_matmul(ctx, x, w, false, false);
    asc_set_label(ctx, NULL);
    int axes[] = {0, 1};
    asc_tensor *s = asc_sum(ctx, h, 2, axes, false);
    asc_grad(ctx, s, NULL, &x, 1, &g);
    asc_tensor *ts[] = {s, g};
    assert_int_equal(asc_run(ctx, ts, 2), ASC_OK);
    assert_int_equal(asc_read_f32(ctx, s, y, 1), ASC_OK);
    size_t n = 0;
    const asc_prof_event *e = find(p, ASC_PROF_OP, "matmul", &n);
    assert_int_equal(n, 2);                                     /* forwards, and for the input's gradient */
    assert_string_equal(asc_prof_text(p, e->label), "layer.1"); /* gradients inherit the label */
    assert_true(e->flops == 2.0 * 8 * 32 * 16);
    assert_true(e->bytes_read >= 4.0 * (8 * 16 + 32 * 16) && e->bytes_written >= 4.0 * 8 * 32);
    assert_true(e->threads >= 1 && e->start_ns >= p->start_ns);
    e = find(p, ASC_PROF_COPY, "upload", &n);
    assert_int_equal(n, 2);
    assert_true(e->bytes_read == 4.0 * 32 * 16);
    (void)find(p, ASC_PROF_COPY, "download", &n);
    assert_int_equal(n, 1);
    assert_true(p->flops >= 4.0 * 8 * 32 * 16);
    assert_int_equal(asc_scope_end(ctx), ASC_OK);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

static void labels_are_one(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char text[32] = "blocks.1.attn";
    const char *a = asc_label_intern(ctx, text);
    text[7] = '2';
    const char *b = asc_label_intern(ctx, text);
    assert_string_equal(a, "blocks.1.attn");
    assert_string_equal(b, "blocks.2.attn");
    assert_ptr_equal(asc_label_intern(ctx, "blocks.1.attn"), a);
    assert_null(asc_label_intern(ctx, NULL));
    const char *many[2000]; /* more chains are made on the way */
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "blocks.%d.attn", i);
        many[i] = asc_label_intern(ctx, name);
        assert_string_equal(many[i], name);
    }
    assert_ptr_equal(many[1], a);
    for (int i = 0; i < 2000; i++) assert_ptr_equal(asc_label_intern(ctx, many[i]), many[i]);
    test_ctx_end(ctx);
}

static uint64_t run_unit(asc_ctx *ctx, const asc_program *p, const asc_plan *plan, uint64_t t0) {
    const asc_prof_unit u = asc_prof_unit_of(ctx, p, plan, 1, 2, 2);
    return asc_prof_ran(ctx, p, &u, t0);
}

/* A region by hand: what lies inside has no bytes. */
static void region_event(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const char text[] =
        "%0 = input f32 [4,8]\n%1 = exp f32 [4,8] %0 @1\n%2 = mul f32 [4,8] %1 %0 @1 ; mlp\n"
        "return %2\n";
    asc_program p;
    assert_int_equal(asc_program_parse(ctx, (asc_view){text, sizeof text - 1}, &p), ASC_OK);
    asc_slot slots[3] = {{.place = ASC_PLACE_INPUT}, {.place = ASC_PLACE_TILE}, {.place = ASC_PLACE_OUTPUT}};
    asc_plan plan = {.slots = slots};
    assert_int_equal(asc_prof_start(ctx, 16), ASC_OK);
    const uint64_t t0 = asc_now_ns(), t1 = run_unit(ctx, &p, &plan, t0);
    assert_true(t1 >= t0);
    size_t n = 0;
    const asc_prof_event *e = find(ctx->prof, ASC_PROF_REGION, "exp+mul", &n);
    assert_int_equal(n, 1);
    assert_string_equal(asc_prof_text(ctx->prof, e->label), "mlp");
    assert_true(e->bytes_read == 2 * 4.0 * 32 && e->bytes_written == 4.0 * 32);
    assert_int_equal(e->threads, 2);
    asc_program_deinit(&p);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

/* The plan's fullest node: two temporaries of 4 KB live at %3. */
static void fullest_node(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const char text[] = "%0 = input f32 [32,32]\n%1 = matmul f32 [32,32] %0 %0 {ta=0 tb=0} ; first\n"
                               "%2 = matmul f32 [32,32] %1 %0 {ta=0 tb=0} ; second\n"
                               "%3 = matmul f32 [32,32] %2 %1 {ta=0 tb=0} ; third\nreturn %3\n";
    asc_program p;
    asc_plan plan;
    assert_int_equal(asc_program_parse(ctx, (asc_view){text, sizeof text - 1}, &p), ASC_OK);
    const asc_device *dev = asc_exec_device(ctx);
    assert_int_equal(asc_plan_make(ctx, &p, dev->storage_bytes, true, &plan), ASC_OK);
    assert_int_equal(asc_prof_start(ctx, 16), ASC_OK);
    asc_prof_plan(ctx, &p, &plan);
    assert_int_equal(ctx->prof->arena_bytes, plan.arena_bytes);
    assert_int_equal(ctx->prof->arena_full_bytes, 2 * 4 * 32 * 32);
    assert_string_equal(asc_prof_text(ctx->prof, ctx->prof->arena_label), "second");
    asc_program_deinit(&p);
    asc_prof_free(ctx);
    test_ctx_end(ctx);
}

int main(void) {
    static char reference[] = "reference", cpu[] = "cpu";
    const struct CMUnitTest tests[] = {
        {"events_of_ops_reference", events_of_ops, NULL, NULL, reference},
        {"events_of_ops_cpu", events_of_ops, NULL, NULL, cpu},
        cmocka_unit_test(labels_are_one),
        cmocka_unit_test(region_event),
        cmocka_unit_test(fullest_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
