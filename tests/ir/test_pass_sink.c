/* test_pass_sink.c - slices that sink, pads that rise: text before and after. */
#include "pass_text.h"

static void slices(void **state) {
    (void)state;
    static const pass_row rows[] = {
        {"through rows, pointwise ops and a product, which keeps the kernels of many rows",
         "%0 = input f32 [1,12,6]\n%1 = input f32 [6]\n%2 = input q8_0 [64,6]\n"
         "%3 = rms_norm f32 [1,12,6] %0 %1 {eps=1e-05}\n%4 = matmul f32 [1,12,64] %3 %2 {ta=0 tb=1} ; head\n"
         "%5 = tanh f32 [1,12,64] %4\n%6 = slice f32 [1,1,64] %5 {axis=1 start=11 len=1}\n"
         "%7 = log_softmax f32 [1,1,64] %6\nreturn %7\n",
         "%0 = input f32 [1,12,6]\n%1 = input f32 [6]\n%2 = input q8_0 [64,6]\n"
         "%3 = slice f32 [1,1,6] %0 {axis=1 start=11 len=1}\n%4 = rms_norm f32 [1,1,6] %3 %1 {eps=1e-05}\n"
         "%5 = matmul f32 [1,1,64] %4 %2 {ta=0 tb=1} rows=many ; head\n%6 = tanh f32 [1,1,64] %5\n"
         "%7 = log_softmax f32 [1,1,64] %6\nreturn %7\n"},
        {"a product of few rows has the kernel of few rows before and after",
         "%0 = input f32 [4,6]\n%1 = input f32 [6,3]\n%2 = matmul f32 [4,3] %0 %1 {ta=0 tb=0}\n"
         "%3 = slice f32 [2,3] %2 {axis=0 start=1 len=2}\nreturn %3\n",
         "%0 = input f32 [4,6]\n%1 = input f32 [6,3]\n%2 = slice f32 [2,6] %0 {axis=0 start=1 len=2}\n"
         "%3 = matmul f32 [2,3] %2 %1 {ta=0 tb=0}\nreturn %3\n"},
        {"columns of a product stay; a product over a batch stays",
         "%0 = input f32 [2,3,4]\n%1 = input f32 [2,4,5]\n%2 = matmul f32 [2,3,5] %0 %1 {ta=0 tb=0}\n"
         "%3 = slice f32 [2,2,5] %2 {axis=1 start=0 len=2}\n%4 = input f32 [5,6]\n"
         "%5 = matmul f32 [2,2,6] %3 %4 {ta=0 tb=0}\n%6 = slice f32 [2,2,1] %5 {axis=2 start=0 "
         "len=1}\nreturn %6\n",
         NULL},
        {"readers of several parts get the interval that holds them",
         "%0 = input f32 [9,4]\n%1 = exp f32 [9,4] %0\n%2 = slice f32 [2,4] %1 {axis=0 start=2 len=2}\n"
         "%3 = slice f32 [2,4] %1 {axis=0 start=5 len=2}\n%4 = add f32 [2,4] %2 %3\nreturn %4\n",
         "%0 = input f32 [9,4]\n%1 = slice f32 [5,4] %0 {axis=0 start=2 len=5}\n%2 = exp f32 [5,4] %1\n"
         "%3 = slice f32 [2,4] %2 {axis=0 start=0 len=2}\n%4 = slice f32 [2,4] %2 {axis=0 start=3 len=2}\n"
         "%5 = add f32 [2,4] %3 %4\nreturn %5\n"},
        {"a reader of everything keeps everything",
         "%0 = input f32 [9,4]\n%1 = exp f32 [9,4] %0\n%2 = slice f32 [2,4] %1 {axis=0 start=2 len=2}\n"
         "%3 = neg f32 [9,4] %1\nreturn %2 %3\n",
         NULL},
        {"through reshape, transpose, broadcast, concat and choice of tokens",
         "%0 = input f32 [50,8]\n%1 = input i32 [1,7]\n%2 = gather f32 [1,7,8] %0 %1\n%3 = input f32 "
         "[1,2,8]\n"
         "%4 = concat f32 [1,9,8] %3 %2 {axis=1}\n%5 = reshape f32 [1,9,4,2] %4 {shape=[1,9,4,2]}\n"
         "%6 = transpose f32 [1,4,9,2] %5 {perm=[0,2,1,3]}\n%7 = slice f32 [1,4,2,2] %6 {axis=2 start=6 "
         "len=2}\n"
         "%8 = exp f32 [1,4,2,2] %7\nreturn %8\n",
         "%0 = input f32 [50,8]\n%1 = input i32 [1,7]\n%2 = slice i32 [1,2] %1 {axis=1 start=4 len=2}\n"
         "%3 = gather f32 [1,2,8] %0 %2\n%4 = input f32 [1,2,8]\n%5 = reshape f32 [1,2,4,2] %3 "
         "{shape=[1,2,4,2]}\n"
         "%6 = transpose f32 [1,4,2,2] %5 {perm=[0,2,1,3]}\n%7 = exp f32 [1,4,2,2] %6\nreturn %7\n"},
        {"attention: the last queries see the keys that they saw; queries before them do not stand alone",
         "%0 = input f32 [1,5,2,4]\n%1 = input f32 [1,5,2,4]\n"
         "%2 = sdpa f32 [1,5,2,4] %0 %1 %1 {scale=0.5 causal=1 window=0 cap=0}\n"
         "%3 = slice f32 [1,1,2,4] %2 {axis=1 start=2 len=1}\nreturn %3\n",
         "%0 = input f32 [1,5,2,4]\n%1 = input f32 [1,5,2,4]\n%2 = slice f32 [1,3,2,4] %0 {axis=1 start=2 "
         "len=3}\n"
         "%3 = sdpa f32 [1,3,2,4] %2 %1 %1 {scale=0.5 causal=1 window=0 cap=0}\n"
         "%4 = slice f32 [1,1,2,4] %3 {axis=1 start=0 len=1}\nreturn %4\n"},
        {"turning by positions takes the positions of its part",
         "%0 = input f32 [5,2,4]\n%1 = input i32 [5]\n%2 = input f32 [2]\n"
         "%3 = rope f32 [5,2,4] %0 %1 %2 {interleaved=0 inverse=0 mscale=1}\n"
         "%4 = slice f32 [2,2,4] %3 {axis=0 start=3 len=2}\nreturn %4\n",
         "%0 = input f32 [5,2,4]\n%1 = input i32 [5]\n%2 = input f32 [2]\n"
         "%3 = slice f32 [2,2,4] %0 {axis=0 start=3 len=2}\n%4 = slice i32 [2] %1 {axis=0 start=3 len=2}\n"
         "%5 = rope f32 [2,2,4] %3 %4 %2 {interleaved=0 inverse=0 mscale=1}\nreturn %5\n"},
        {"a sum groups its additions by the axes behind the part, or stays",
         "%0 = input f32 [5,6]\n%1 = sum f32 [5] %0 {axes=[1] keep=0}\n%2 = slice f32 [1] %1 {axis=0 start=4 "
         "len=1}\n"
         "%3 = sum f32 [6] %0 {axes=[0] keep=0}\n%4 = slice f32 [1] %3 {axis=0 start=4 len=1}\nreturn %2 "
         "%4\n",
         "%0 = input f32 [5,6]\n%1 = slice f32 [1,6] %0 {axis=0 start=4 len=1}\n"
         "%2 = sum f32 [1] %1 {axes=[1] keep=0}\n%3 = sum f32 [6] %0 {axes=[0] keep=0}\n"
         "%4 = slice f32 [1] %3 {axis=0 start=4 len=1}\nreturn %2 %4\n"},
    };
    pass_expect_all("sink-slices,dead", rows, sizeof rows / sizeof *rows);
}

static void pads(void **state) {
    (void)state;
    static const pass_row rows[] = {
        {"behind a product, zeros of any sign are +0",
         "%0 = input f32 [2,6]\n%1 = input f32 [6,3]\n%2 = pad f32 [12,6] %0 {axis=0 before=10 after=0}\n"
         "%3 = neg f32 [12,6] %2\n%4 = matmul f32 [12,3] %3 %1 {ta=0 tb=0}\nreturn %4\n",
         "%0 = input f32 [2,6]\n%1 = input f32 [6,3]\n%2 = neg f32 [2,6] %0\n"
         "%3 = matmul f32 [2,3] %2 %1 {ta=0 tb=0} rows=many\n%4 = pad f32 [12,3] %3 {axis=0 before=10 "
         "after=0}\n"
         "return %4\n"},
        {"-0 that is read stays",
         "%0 = input f32 [2,6]\n%1 = pad f32 [12,6] %0 {axis=0 before=10 after=0}\n%2 = neg f32 [12,6] %1\n"
         "return %2\n",
         NULL},
        {"+0 and a zero of any sign add up to +0; two of any sign do not",
         "%0 = input f32 [2,6]\n%1 = pad f32 [5,6] %0 {axis=0 before=3 after=0}\n%2 = neg f32 [5,6] %1\n"
         "%3 = add f32 [5,6] %1 %2\n%4 = add f32 [5,6] %2 %2\nreturn %3 %4\n",
         "%0 = input f32 [2,6]\n%1 = pad f32 [5,6] %0 {axis=0 before=3 after=0}\n%2 = neg f32 [5,6] %1\n"
         "%3 = slice f32 [2,6] %2 {axis=0 start=3 len=2}\n%4 = add f32 [2,6] %0 %3\n"
         "%5 = pad f32 [5,6] %4 {axis=0 before=3 after=0}\n%6 = add f32 [5,6] %2 %2\nreturn %5 %6\n"},
        {"the gradient of a norm, of swiglu, and the product behind",
         "%0 = input f32 [1,2,6]\n%1 = input f32 [6]\n%2 = input f32 [1,9,6]\n%3 = input f32 [6,6]\n"
         "%4 = pad f32 [1,9,6] %0 {axis=1 before=7 after=0}\n"
         "%5 = rms_norm_grad f32 [1,9,6] %2 %1 %4 {eps=1e-05}\n"
         "%6 = swiglu_grad f32 [2,1,9,6] %2 %2 %5\n%7 = slice f32 [1,1,9,6] %6 {axis=0 start=1 len=1}\n"
         "%8 = reshape f32 [1,9,6] %7 {shape=[1,9,6]}\n%9 = matmul f32 [1,9,6] %8 %3 {ta=0 tb=1}\n"
         "%10 = add f32 [1,9,6] %9 %2\nreturn %10\n",
         "%0 = input f32 [1,2,6]\n%1 = input f32 [6]\n%2 = input f32 [1,9,6]\n%3 = input f32 [6,6]\n"
         "%4 = slice f32 [1,2,6] %2 {axis=1 start=7 len=2}\n%5 = rms_norm_grad f32 [1,2,6] %4 %1 %0 "
         "{eps=1e-05}\n"
         "%6 = swiglu_grad f32 [2,1,2,6] %4 %4 %5\n%7 = slice f32 [1,1,2,6] %6 {axis=0 start=1 len=1}\n"
         "%8 = reshape f32 [1,2,6] %7 {shape=[1,2,6]}\n"
         "%9 = matmul f32 [1,2,6] %8 %3 {ta=0 tb=1} rows=many\n"
         "%10 = pad f32 [1,9,6] %9 {axis=1 before=7 after=0}\n%11 = add f32 [1,9,6] %10 %2\nreturn %11\n"},
        {"the gradient of attention for its last queries",
         "%0 = input f32 [1,5,2,4]\n%1 = input f32 [1,5,2,4]\n%2 = input f32 [1,2,2,4]\n"
         "%3 = pad f32 [1,5,2,4] %2 {axis=1 before=3 after=0}\n"
         "%4 = sdpa_grad f32 [120] %0 %1 %1 %0 %3 {scale=0.5 causal=1 window=0 cap=0}\n"
         "%5 = slice f32 [40] %4 {axis=0 start=0 len=40}\n%6 = reshape f32 [1,5,8] %5 {shape=[1,5,8]}\n"
         "%7 = slice f32 [40] %4 {axis=0 start=40 len=40}\n%8 = exp f32 [40] %7\nreturn %6 %8\n",
         "%0 = input f32 [1,5,2,4]\n%1 = input f32 [1,5,2,4]\n%2 = input f32 [1,2,2,4]\n"
         "%3 = slice f32 [1,2,2,4] %0 {axis=1 start=3 len=2}\n"
         "%4 = sdpa_grad f32 [96] %3 %1 %1 %3 %2 {scale=0.5 causal=1 window=0 cap=0}\n"
         "%5 = slice f32 [16] %4 {axis=0 start=0 len=16}\n%6 = reshape f32 [1,2,8] %5 {shape=[1,2,8]}\n"
         "%7 = pad f32 [1,5,8] %6 {axis=1 before=3 after=0}\n%8 = slice f32 [40] %4 {axis=0 start=16 "
         "len=40}\n"
         "%9 = exp f32 [40] %8\nreturn %7 %9\n"},
    };
    pass_expect_all("sink-slices,dead", rows, sizeof rows / sizeof *rows);
}

/* Where a device's products give a row other bits when there are fewer rows, products stay whole. */
static void rows_that_depend_on_each_other(void **state) {
    (void)state;
    static const char *const text = "%0 = input f32 [12,6]\n%1 = input f32 [6,3]\n"
                                    "%2 = matmul f32 [12,3] %0 %1 {ta=0 tb=0}\n%3 = exp f32 [12,3] %2\n"
                                    "%4 = slice f32 [2,3] %3 {axis=0 start=1 len=2}\nreturn %4\n";
    asc_ctx *ctx = test_ctx("null", NULL);
    asc_program p;
    asc_strbuf out;
    asc_pass_env env = {.storage_bytes = pass_bytes, .rows_depend = true};
    asc_strbuf_init(&out, ctx);
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
    assert_ok(ctx, asc_passes_run(ctx, &p, &env));
    asc_program_print(&p, &out);
    assert_non_null(strstr(out.ptr, "matmul f32 [12,3]"));
    assert_non_null(strstr(out.ptr, "exp f32 [2,3]"));
    asc_strbuf_deinit(&out);
    asc_program_deinit(&p);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices),
        cmocka_unit_test(pads),
        cmocka_unit_test(rows_that_depend_on_each_other),
    };
    return cmocka_run_group_tests_name("pass_sink", tests, NULL, NULL);
}
