/* test_program.c - text form, verifier, structural hash and memory plan of programs. */
#include "harness.h"
#include "program.h"
#include "view.h"

static const char *const sample = "%0 = input f32 [2,3]\n"
                                  "%1 = scale f32 [2,3] %0 {factor=0.5} ; blocks.0\n"
                                  "%2 = input f32 [3,4]\n"
                                  "%3 = matmul f32 [2,4] %1 %2 {ta=0 tb=0}\n"
                                  "%4 = sum f32 [2,1] %3 {axes=[1] keep=1}\n"
                                  "return %4 %1\n";

static void parse(asc_ctx *ctx, const char *text, asc_program *p) {
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), p));
}

static void prints_and_parses_back(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    asc_program p, q;
    asc_strbuf a, b;
    asc_strbuf_init(&a, ctx);
    asc_strbuf_init(&b, ctx);
    parse(ctx, sample, &p);
    assert_ok(ctx, asc_program_verify(ctx, &p));
    asc_program_print(&p, &a);
    parse(ctx, a.ptr, &q);
    asc_program_print(&q, &b);
    assert_string_equal(a.ptr, b.ptr);
    assert_non_null(strstr(a.ptr, "{factor=0.5} ; blocks.0"));
    assert_true(asc_program_hash(&p) == asc_program_hash(&q));
    asc_strbuf_deinit(&a);
    asc_strbuf_deinit(&b);
    asc_program_deinit(&p);
    asc_program_deinit(&q);
    test_ctx_end(ctx);
}

/* Every op with every sample: one-node programs survive print and parse with equal hash. */
static void every_op_round_trips(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    for (int k = 0; k < ASC_N_OPS; k++) {
        asc_sample s;
        for (int i = 0; memset(&s, 0, sizeof s), asc_ops[k]->sample(i, &s); i++) {
            asc_program p, q;
            asc_strbuf a, b;
            asc_node n = {.op = asc_ops[k], .n_in = s.n_in, .attrs = s.attrs};
            asc_call c;
            asc_program_init(&p, ctx);
            asc_strbuf_init(&a, ctx);
            asc_strbuf_init(&b, ctx);
            for (int j = 0; j < s.n_in; j++) n.in[j] = asc_program_input(&p, s.in_dtype[j], &s.in_shape[j]);
            asc_node_call(&p, &n, &c);
            assert_ok(ctx, n.op->infer(ctx, &c));
            n.dtype = c.dtype;
            n.shape = c.shape;
            assert_ok(ctx, asc_program_output(&p, asc_program_add(&p, &n)));
            assert_ok(ctx, asc_program_verify(ctx, &p));
            asc_program_print(&p, &a);
            parse(ctx, a.ptr, &q);
            asc_program_print(&q, &b);
            assert_string_equal(a.ptr, b.ptr);
            assert_true(asc_program_hash(&p) == asc_program_hash(&q));
            asc_strbuf_deinit(&a);
            asc_strbuf_deinit(&b);
            asc_program_deinit(&p);
            asc_program_deinit(&q);
        }
    }
    test_ctx_end(ctx);
}

static void bad_text(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "%0 = input f32 [2]",
        "%1 = input f32 [2]\nreturn %1",
        "%0 = input f99 [2]\nreturn %0",
        "%0 = input f32 [2,-1]\nreturn %0",
        "%0 = input f32 [99999999999,99999999999]\nreturn %0",
        "%0 = input f32 [1,2,3,4,5,6,7]\nreturn %0",
        "%0 = nonsense f32 [2]\nreturn %0",
        "%0 = input f32 [2]\n%1 = neg f32 [2] %1\nreturn %1",
        "%0 = input f32 [2]\n%1 = neg f32 [3] %0\nreturn %1",
        "%0 = input f32 [2]\n%1 = neg i32 [2] %0\nreturn %1",
        "%0 = input f32 [2]\n%1 = neg f32 [2]\nreturn %1",
        "%0 = input f32 [2]\n%1 = neg f32 [2] %0 %0\nreturn %1",
        "%0 = input f32 [2]\n%1 = scale f32 [2] %0 {facto=1}\nreturn %1",
        "%0 = input f32 [2]\n%1 = scale f32 [2] %0 {factor=x}\nreturn %1",
        "%0 = input f32 [2]\n%1 = scale f32 [2] %0 {factor=1\nreturn %1",
        "%0 = input f32 [2]\nreturn %7",
        "%0 = input f32 [2]\nreturn %0\n%1 = input f32 [2]",
        "%0 = input f32 [2] trailing\nreturn %0",
        "%99999999999999999999 = input f32 [2]\nreturn",
    };
    asc_ctx *ctx = test_ctx("null", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_program p;
        asc_status st = asc_program_parse(ctx, asc_view_of(rows[i]), &p);
        if (st != ASC_INVALID_ARGUMENT) fail_msg("row %zu was taken: %s", i, rows[i]);
        assert_non_null(strstr(asc_error_message(ctx), "line"));
        asc_program_deinit(&p);
    }
    test_ctx_end(ctx);
}

static void verifier_sees_damage(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    for (int k = 0; k < 5; k++) {
        asc_program p;
        parse(ctx, sample, &p);
        if (k == 0) p.nodes[3].in[0] = 4;         /* use before definition */
        if (k == 1) p.nodes[3].shape.dims[0] = 7; /* a shape the op does not give */
        if (k == 2) p.nodes[1].n_in = 0;          /* arity */
        if (k == 3) p.outputs[0] = 99;            /* output out of range */
        if (k == 4) p.nodes[1].dtype = ASC_DTYPE_I32;
        assert_int_equal(asc_program_verify(ctx, &p), ASC_INTERNAL);
        asc_program_deinit(&p);
    }
    test_ctx_end(ctx);
}

static size_t f32_bytes(asc_dtype t, int64_t n) {
    (void)t;
    return (size_t)n * 4;
}

/* No two values that live at the same time share a byte; views lie inside their root. */
static void plan_keeps_values_apart(void **state) {
    (void)state;
    static const char *const text = "%0 = input f32 [64,64]\n"
                                    "%1 = exp f32 [64,64] %0\n"
                                    "%2 = neg f32 [64,64] %1\n"
                                    "%3 = reshape f32 [4096] %2 {shape=[4096]}\n"
                                    "%4 = slice f32 [1000] %3 {axis=0 start=100 len=1000}\n"
                                    "%5 = exp f32 [1000] %4\n"
                                    "%6 = tanh f32 [64,64] %1\n"
                                    "%7 = add f32 [64,64] %6 %2\n"
                                    "%8 = exp f32 [64,64] %7\n"
                                    "return %8 %5\n";
    asc_ctx *ctx = test_ctx("null", NULL);
    asc_program p;
    asc_plan plan;
    parse(ctx, text, &p);
    assert_ok(ctx, asc_plan_make(ctx, &p, f32_bytes, true, &plan));
    assert_int_equal(plan.slots[3].place, ASC_PLACE_ALIAS);
    assert_int_equal(plan.slots[4].place, ASC_PLACE_ALIAS);
    assert_int_equal(plan.slots[4].root, 2);
    assert_int_equal(plan.slots[4].offset, 400);
    assert_int_equal(plan.slots[8].place, ASC_PLACE_OUTPUT);
    assert_true(plan.slots[2].last_use >= 7); /* lives on through its views */
    for (int32_t a = 0; a < 9; a++) {
        for (int32_t b = 0; b < a; b++) {
            const asc_slot *x = &plan.slots[a], *y = &plan.slots[b];
            if (x->place != ASC_PLACE_ARENA || y->place != ASC_PLACE_ARENA || y->last_use < a) continue;
            assert_true(x->offset >= y->offset + y->bytes || y->offset >= x->offset + x->bytes);
        }
        if (plan.slots[a].place == ASC_PLACE_ARENA)
            assert_true(plan.slots[a].offset + plan.slots[a].bytes <= plan.arena_bytes);
    }
    assert_int_equal(plan.slots[6].place, ASC_PLACE_INPLACE); /* tanh over exp, then the sum over both */
    assert_int_equal(plan.slots[7].root, 1);
    assert_int_equal(plan.slots[2].place, ASC_PLACE_ARENA); /* its input is still needed */
    assert_true(plan.arena_bytes <= 2 * (64 * 64 * 4 + 128));
    asc_program_deinit(&p);
    test_ctx_end(ctx);
}

static void hash_ignores_runtime_scalars(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    asc_program a, b, c;
    parse(ctx, "%0 = input f32 [2]\n%1 = scale f32 [2] %0 {factor=1}\nreturn %1", &a);
    parse(ctx, "%0 = input f32 [2]\n%1 = scale f32 [2] %0 {factor=2}\nreturn %1", &b);
    parse(ctx, "%0 = input f32 [3]\n%1 = scale f32 [3] %0 {factor=1}\nreturn %1", &c);
    assert_true(asc_program_hash(&a) == asc_program_hash(&b));
    assert_true(asc_program_hash(&a) != asc_program_hash(&c));
    asc_program_deinit(&a);
    asc_program_deinit(&b);
    asc_program_deinit(&c);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_and_parses_back),
        cmocka_unit_test(every_op_round_trips),
        cmocka_unit_test(bad_text),
        cmocka_unit_test(verifier_sees_damage),
        cmocka_unit_test(plan_keeps_values_apart),
        cmocka_unit_test(hash_ignores_runtime_scalars),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
