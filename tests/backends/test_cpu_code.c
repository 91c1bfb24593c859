/* test_cpu_code.c - prepared code of the cpu device: the bits of the plain walk, run-time scalars read anew,
 * errors, and what a node costs besides its kernel. */
#include "cpu_code.h"
#include "program_run.h"

static const char *const text = "%0 = input f32 [6,4]\n"
                                "%1 = input f32 [4,9]\n"
                                "%2 = input f32 [9]\n"
                                "%3 = matmul_bias f32 [6,9] %0 %1 %2 {ta=0 tb=0}\n"
                                "%4 = tanh f32 [6,9] %3\n"
                                "%5 = reshape f32 [54] %4 {shape=[54]}\n"
                                "%6 = slice f32 [18] %5 {axis=0 start=9 len=18}\n"
                                "%7 = scale f32 [18] %6 {factor=0.5}\n"
                                "%8 = pow f32 [6,9] %4 %4\n"
                                "%9 = slice f32 [0] %7 {axis=0 start=3 len=0}\n"
                                "%10 = exp f32 [0] %9\n"
                                "return %7 %8 %10\n";

static void code_gives_the_bits_of_the_walk(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_program p;
    prun walk, code;
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
    prun_init(&walk, ctx, &p, false, 7);
    prun_init(&code, ctx, &p, false, 7);
    prun_prepare(&code);
    assert_ok(ctx, prun_run(&walk));
    assert_ok(ctx, prun_run(&code));
    prun_same(&walk, &code, "first run");
    p.nodes[7].attrs.f[0] = -3; /* a run-time scalar */
    assert_ok(ctx, prun_run(&code));
    assert_int_not_equal(memcmp(walk.data[7], code.data[7], 18 * sizeof(float)), 0);
    assert_ok(ctx, prun_run(&walk));
    prun_same(&walk, &code, "another factor");
    prun_deinit(&walk);
    prun_deinit(&code);
    asc_program_deinit(&p);
    test_ctx_end(ctx);
}

/* Products of the same left rows: which of them find those rows cut in scratch (@ none, + the one before's).
 */
static const char *const siblings =
    "%0 = input f32 [2,20,96]\n"
    "%1 = input f32 [96,40]\n"
    "%2 = input f32 [8,96]\n"
    "%3 = input f32 [96,96]\n"
    "%4 = matmul f32 [2,20,40] %0 %1 {ta=0 tb=0} level=LEVEL\n"
    "%5 = exp f32 [2,20,40] %4\n"
    "%6 = reshape f32 [40,96] %0 {shape=[40,96]}\n"
    "%7 = matmul f32 [40,8] %6 %2 {ta=0 tb=1} level=LEVEL\n"   /* + */
    "%8 = matmul f32 [40,96] %6 %3 {ta=0 tb=0} level=LEVEL\n"  /* + */
    "%9 = matmul f32 [40,96] %8 %3 {ta=0 tb=0} level=LEVEL\n"  /* other rows */
    "%10 = matmul f32 [40,96] %6 %3 {ta=0 tb=1} level=LEVEL\n" /* others before */
    "%11 = matmul f32 [40,96] %6 %3 {ta=0 tb=1} level=OTHER\n" /* other pieces */
    "%12 = softplus f32 [40,96] %11\n"
    "%13 = matmul f32 [40,8] %6 %2 {ta=0 tb=1} level=OTHER\n" /* + */
    "return %5 %7 %9 %10 %12 %13\n";

static size_t shared(const prun *r) {
    const asc_cpu_code *code = r->code;
    size_t n = 0;
    for (size_t i = 0; i < code->n_units; i++) n += code->units[i].left_ready;
    return n;
}

static void one_cut_for_products_of_the_same_rows(void **state) {
    (void)state;
    static const char *const levels[][2] = {{"bf16x6 made=pieces", "high made=pieces"},
                                            {"high made=pieces", "int8"},
                                            {"int8", "medium made=pieces"},
                                            {"medium made=pieces", "bf16x6 made=pieces"}};
    for (size_t i = 0; i < 8; i++) {
        char program[2000] = "", *at = program;
        for (const char *c = siblings; *c != 0;) {
            const int which = strncmp(c, "LEVEL", 5) == 0 ? 0 : strncmp(c, "OTHER", 5) == 0 ? 1 : -1;
            at = which < 0 ? (*at++ = *c, at) : stpcpy(at, levels[i / 2][which]);
            c += which < 0 ? 1 : 5;
        }
        *at = 0;
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_program p;
        prun walk, code;
        assert_ok(ctx, asc_program_parse(ctx, asc_view_of(program), &p));
        prun_init(&walk, ctx, &p, false, 7);
        prun_init(&code, ctx, &p, i % 2 == 1, 7);
        prun_prepare(&code);
        assert_int_equal(shared(&code), 3);
        assert_ok(ctx, prun_run(&walk));
        assert_ok(ctx, prun_run(&code));
        prun_same(&walk, &code, levels[i / 2][0]);
        prun_deinit(&walk);
        prun_deinit(&code);
        asc_program_deinit(&p);
        test_ctx_end(ctx);
    }
}

/* Stored weights: pieces with sums (q4_1), and pieces alone, which f32 weights at `highest` share (q8_0),
 * where there are tiles. */
static void stored_weights_share_a_cut(void **state) {
    (void)state;
    static const char *const stored = "%0 = input f32 [40,96]\n"
                                      "%1 = input q4_1 [64,96]\n"
                                      "%2 = input q8_0 [16,96]\n"
                                      "%3 = input f32 [96,24]\n"
                                      "%4 = matmul f32 [40,64] %0 %1 {ta=0 tb=1}\n"
                                      "%5 = tanh f32 [40,64] %4\n"
                                      "%6 = matmul f32 [40,64] %0 %1 {ta=0 tb=1}\n" /* + */
                                      "%7 = matmul f32 [40,16] %0 %2 {ta=0 tb=1}\n"
                                      "%8 = matmul f32 [40,24] %0 %3 {ta=0 tb=0}\n" /* + */
                                      "%9 = matmul f32 [40,16] %0 %2 {ta=0 tb=1}\n" /* + */
                                      "%10 = matmul f32 [40,64] %0 %1 {ta=0 tb=1}\n"
                                      "return %5 %6 %7 %8 %9 %10\n";
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_program p;
    prun walk, code;
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(stored), &p));
    prun_init(&walk, ctx, &p, false, 9);
    prun_init(&code, ctx, &p, true, 9);
    prun_prepare(&code);
    if (ctx->isa >= ASC_ISA_AMX) assert_int_equal(shared(&code), 3);
    assert_ok(ctx, prun_run(&walk));
    assert_ok(ctx, prun_run(&code));
    prun_same(&walk, &code, "stored weights");
    prun_deinit(&walk);
    prun_deinit(&code);
    asc_program_deinit(&p);
    test_ctx_end(ctx);
}

static void stops_and_complains(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_program p, q;
    prun r;
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &q));
    prun_init(&r, ctx, &p, false, 7);
    prun_prepare(&r);
    asc_cancel(ctx);
    assert_int_equal(prun_run(&r), ASC_CANCELLED);
    atomic_store(&ctx->cancel, 0);
    r.p = &q;
    assert_int_equal(prun_run(&r), ASC_INTERNAL);
    r.p = &p;
    assert_ok(ctx, prun_run(&r));
    prun_deinit(&r);
    asc_program_deinit(&p);
    asc_program_deinit(&q);
    test_ctx_end(ctx);
}

static void no_memory_for_the_code(void **state) {
    (void)state;
    test_alloc mem = {0};
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = "cpu", .alloc = test_alloc_fn, .alloc_self = &mem};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    asc_program p;
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
    asc_plan plan;
    assert_ok(ctx, asc_plan_make(ctx, &p, asc_device_cpu.storage_bytes, true, &plan));
    void *code = NULL;
    int failures = 0;
    for (long n = 1; code == NULL; n++) {
        mem.fail_at = mem.count + n;
        asc_status st = asc_device_cpu.prepare(ctx, asc_exec_device_state(ctx), &p, &plan, &code);
        mem.fail_at = 0;
        if (st == ASC_OK) break;
        assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(asc_error_message(ctx), "memory"));
        failures++;
    }
    assert_true(failures > 0);
    asc_device_cpu.discard(ctx, asc_exec_device_state(ctx), code);
    asc_program_deinit(&p);
    test_ctx_end(ctx);
    assert_int_equal(mem.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_gives_the_bits_of_the_walk),
        cmocka_unit_test(one_cut_for_products_of_the_same_rows),
        cmocka_unit_test(stored_weights_share_a_cut),
        cmocka_unit_test(stops_and_complains),
        cmocka_unit_test(no_memory_for_the_code),
    };
    return cmocka_run_group_tests_name("cpu code", tests, NULL, NULL);
}
