/* test_cli_program.c - `ascribe program` says what a file of a compiled function holds. */
#include "run_program.h"
#include "ascribe/compile.h"
#include "ascribe/ops.h"

static void dense(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    const float w[6] = {1, 2, 3, 4, 5, 6};
    (void)self;
    out[0] =
        asc_scale(ctx, asc_matmul(ctx, in[0], asc_from_f32(ctx, ASC_SHAPE(2, 3), w), false, false), s[0]);
    out[1] = in[0];
}

static void save(const char *to) {
    const asc_compile_def d = {
        .struct_size = sizeof d, .fn = dense, .n_in = 1, .n_scalars = 1, .n_out = 2, .name = "dense"};
    const float x[8] = {1};
    const double s[] = {0.5};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_compiled *c;
    assert_int_equal(asc_compile(ctx, &d, &c), ASC_OK);
    asc_scope_begin(ctx);
    for (int rows = 4; rows >= 1; rows -= 3) {
        asc_tensor *in = asc_from_f32(ctx, ASC_SHAPE(rows, 2), x), *out[2];
        assert_int_equal(asc_compiled_call(c, &in, s, out), ASC_OK);
    }
    assert_int_equal(asc_scope_end(ctx), ASC_OK);
    assert_int_equal(asc_compiled_save(c, to), ASC_OK);
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

static void says(program *p, const char *words) {
    if (strstr(p->out, words) == NULL) fail_msg("no '%s' in: %s", words, p->out);
}

static void test_what_is_inside(void **state) {
    program *p = *state;
    save(program_path(p, "d.ascp"));
    program_expect(p, 0, NULL, "$A program d.ascp");
    says(p, "function dense: 1 inputs, 1 scalars, 2 outputs; made by ascribe ");
    says(p, "f32 [2,3], 24 bytes");
    says(p, "input 0   f32 [4,2]");
    says(p, "output 1  f32 [1,2] = input 0");
    assert_null(strstr(p->out, "matmul"));
    program_expect(p, 0, NULL, "$A program d.ascp --text");
    says(p, "matmul f32 [4,3]");
    program_expect(p, 0, NULL, "$A program d.ascp --json - --text");
    says(p, "\"name\": \"dense\"");
    says(p, "\"program\": \"%0 = input");
    program_expect(p, 0, NULL, "$A program d.ascp --json x --quiet && test -s x");
    assert_int_equal(p->out_len, 0);
}

static void test_bad_files(void **state) {
    program *p = *state;
    save(program_path(p, "d.ascp"));
    program_expect(p, 3, "does not begin with ASCPFUN1", "echo nonsense >x; $A program x");
    program_expect(p, 3, "No such file", "$A program no.such");
    program_expect(p, 3, "the head is cut short", "head -c 100 d.ascp >x; $A program x");
    program_expect(p, 3, "made by 'bscribe",
                   "(head -c 56 d.ascp; printf b; tail -c +58 d.ascp) >x; $A program x");
    program_expect(p, 2, "program", "$A program");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_inside),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
