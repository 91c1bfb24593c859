/* test_pass_fuse.c - the pass `fuse` on program texts: what is grouped, what is not, and in which order it
 * then stands. */
#include "harness.h"
#include "passes.h"
#include "region.h"
#include "view.h"

typedef struct row {
    const char *what, *in, *out;
} row;

static size_t f32_bytes(asc_dtype t, int64_t n) {
    (void)t;
    return (size_t)n * 4;
}

static void check(asc_ctx *ctx, const row *r, bool fuses) {
    asc_program p;
    asc_strbuf text;
    size_t n_done = 0;
    const asc_pass_env env = {.storage_bytes = f32_bytes, .alias = true, .fuses = fuses};
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(r->in), &p));
    assert_ok(ctx, asc_pass_fuse.run(ctx, &p, &env, &n_done));
    assert_ok(ctx, asc_program_verify(ctx, &p));
    asc_strbuf_init(&text, ctx);
    asc_program_print(&p, &text);
    const char *want = fuses ? r->out : r->in;
    if (strcmp(text.ptr, want) != 0) fail_msg("%s:\n%s--- wanted\n%s", r->what, text.ptr, want);
    asc_strbuf_deinit(&text);
    asc_program_deinit(&p);
}

static const row rows[] = {
    {"a chain with a row, a column and a scalar",
     "%0 = input f32 [6,4]\n"
     "%1 = input f32 [4]\n"
     "%2 = input f32 [6,1]\n"
     "%3 = input f32 []\n"
     "%4 = add f32 [6,4] %0 %1\n"
     "%5 = mul f32 [6,4] %4 %2\n"
     "%6 = tanh f32 [6,4] %5\n"
     "%7 = mul f32 [6,4] %6 %3\n"
     "return %7\n",
     "%0 = input f32 [6,4]\n"
     "%1 = input f32 [4]\n"
     "%2 = input f32 [6,1]\n"
     "%3 = input f32 []\n"
     "%4 = add f32 [6,4] %0 %1 @1\n"
     "%5 = mul f32 [6,4] %4 %2 @1\n"
     "%6 = tanh f32 [6,4] %5 @1\n"
     "%7 = mul f32 [6,4] %6 %3 @1\n"
     "return %7\n"},
    {"a convolution takes what follows it by planes, also a number for each channel of the one example",
     "%0 = input f32 [1,3,40,40]\n"
     "%1 = input f32 [8,3,1,1]\n"
     "%2 = input f32 [1,8,1,1]\n"
     "%3 = input f32 [1,8,40,40]\n"
     "%4 = conv f32 [1,8,40,40] %0 %1 {stride=[1,1,0] dilation=[1,1,0] before=[0,0,0] after=[0,0,0] "
     "groups=1}\n"
     "%5 = mul f32 [1,8,40,40] %4 %2\n"
     "%6 = add f32 [1,8,40,40] %5 %3\n"
     "%7 = relu f32 [1,8,40,40] %6\n"
     "return %7\n",
     "%0 = input f32 [1,3,40,40]\n"
     "%1 = input f32 [8,3,1,1]\n"
     "%2 = input f32 [1,8,1,1]\n"
     "%3 = input f32 [1,8,40,40]\n"
     "%4 = conv f32 [1,8,40,40] %0 %1 {stride=[1,1,0] dilation=[1,1,0] before=[0,0,0] after=[0,0,0] "
     "groups=1} @1\n"
     "%5 = mul f32 [1,8,40,40] %4 %2 @1\n"
     "%6 = add f32 [1,8,40,40] %5 %3 @1\n"
     "%7 = relu f32 [1,8,40,40] %6 @1\n"
     "return %7\n"},
    {"a long chain behind small planes is a region of its own, a short one is not",
     "%0 = input f32 [2,3,9,9]\n"
     "%1 = input f32 [8,3,1,1]\n"
     "%2 = conv f32 [2,8,9,9] %0 %1 {stride=[1,1,0] dilation=[1,1,0] before=[0,0,0] after=[0,0,0] groups=1}\n"
     "%3 = tanh f32 [2,8,9,9] %2\n"
     "%4 = neg f32 [2,8,9,9] %3\n"
     "%5 = relu f32 [2,8,9,9] %4\n"
     "%6 = exp f32 [2,8,9,9] %5\n"
     "%7 = conv f32 [2,8,9,9] %0 %1 {stride=[1,1,0] dilation=[1,1,0] before=[0,0,0] after=[0,0,0] groups=1}\n"
     "%8 = relu f32 [2,8,9,9] %7\n"
     "return %6 %8\n",
     "%0 = input f32 [2,3,9,9]\n"
     "%1 = input f32 [8,3,1,1]\n"
     "%2 = conv f32 [2,8,9,9] %0 %1 {stride=[1,1,0] dilation=[1,1,0] before=[0,0,0] after=[0,0,0] groups=1}\n"
     "%3 = tanh f32 [2,8,9,9] %2 @1\n"
     "%4 = neg f32 [2,8,9,9] %3 @1\n"
     "%5 = relu f32 [2,8,9,9] %4 @1\n"
     "%6 = exp f32 [2,8,9,9] %5 @1\n"
     "%7 = conv f32 [2,8,9,9] %0 %1 {stride=[1,1,0] dilation=[1,1,0] before=[0,0,0] after=[0,0,0] groups=1} "
     "@2\n"
     "%8 = relu f32 [2,8,9,9] %7 @2\n"
     "return %6 %8\n"},
    {"one node is no region, nor is a node with a view",
     "%0 = input f32 [6,4]\n"
     "%1 = tanh f32 [6,4] %0\n"
     "%2 = reshape f32 [24] %1 {shape=[24]}\n"
     "return %2\n",
     "%0 = input f32 [6,4]\n"
     "%1 = tanh f32 [6,4] %0\n"
     "%2 = reshape f32 [24] %1 {shape=[24]}\n"
     "return %2\n"},
    {"an epilogue: bias and residual; what normalises rows does not belong to it",
     "%0 = input f32 [5,6]\n"
     "%1 = input f32 [6,8]\n"
     "%2 = input f32 [8]\n"
     "%3 = input f32 [5,8]\n"
     "%4 = matmul f32 [5,8] %0 %1 {ta=0 tb=0}\n"
     "%5 = add f32 [5,8] %4 %2\n"
     "%6 = add f32 [5,8] %3 %5\n"
     "%7 = rms_norm f32 [5,8] %6 %2 {eps=1e-05}\n"
     "%8 = silu f32 [5,8] %7\n"
     "return %8\n",
     "%0 = input f32 [5,6]\n"
     "%1 = input f32 [6,8]\n"
     "%2 = input f32 [8]\n"
     "%3 = input f32 [5,8]\n"
     "%4 = matmul f32 [5,8] %0 %1 {ta=0 tb=0} @1\n"
     "%5 = add f32 [5,8] %4 %2 @1\n"
     "%6 = add f32 [5,8] %3 %5 @1\n"
     "%7 = rms_norm f32 [5,8] %6 %2 {eps=1e-05} @2\n"
     "%8 = silu f32 [5,8] %7 @2\n"
     "return %8\n"},
    {"two products meet in the later one, also across another reader",
     "%0 = input f32 [5,6]\n"
     "%1 = input f32 [6,8]\n"
     "%2 = input f32 [6,8]\n"
     "%3 = matmul f32 [5,8] %0 %1 {ta=0 tb=0}\n"
     "%4 = matmul f32 [5,8] %0 %2 {ta=0 tb=0}\n"
     "%5 = cumsum f32 [5,8] %3 {axis=1 exclusive=0 reverse=0}\n"
     "%6 = mul f32 [5,8] %3 %4\n"
     "return %6 %5 %4\n",
     "%0 = input f32 [5,6]\n"
     "%1 = input f32 [6,8]\n"
     "%2 = input f32 [6,8]\n"
     "%3 = matmul f32 [5,8] %0 %1 {ta=0 tb=0}\n"
     "%4 = cumsum f32 [5,8] %3 {axis=1 exclusive=0 reverse=0}\n"
     "%5 = matmul f32 [5,8] %0 %2 {ta=0 tb=0} @1\n"
     "%6 = mul f32 [5,8] %3 %5 @1\n"
     "return %6 %4 %5\n"},
    {"a gate is no epilogue",
     "%0 = input f32 [5,6]\n"
     "%1 = input f32 [6,8]\n"
     "%2 = input f32 [5,8]\n"
     "%3 = matmul f32 [5,8] %0 %1 {ta=0 tb=0}\n"
     "%4 = swiglu f32 [5,8] %2 %3\n"
     "return %4\n",
     "%0 = input f32 [5,6]\n"
     "%1 = input f32 [6,8]\n"
     "%2 = input f32 [5,8]\n"
     "%3 = matmul f32 [5,8] %0 %1 {ta=0 tb=0}\n"
     "%4 = swiglu f32 [5,8] %2 %3\n"
     "return %4\n"},
    {"no way out and back: the sum reads what is computed from the chain outside of it",
     "%0 = input f32 [6,4]\n"
     "%1 = exp f32 [6,4] %0\n"
     "%2 = cumsum f32 [6,4] %1 {axis=0 exclusive=0 reverse=0}\n"
     "%3 = add f32 [6,4] %1 %2\n"
     "%4 = tanh f32 [6,4] %3\n"
     "return %4\n",
     "%0 = input f32 [6,4]\n"
     "%1 = exp f32 [6,4] %0\n"
     "%2 = cumsum f32 [6,4] %1 {axis=0 exclusive=0 reverse=0}\n"
     "%3 = add f32 [6,4] %1 %2 @1\n"
     "%4 = tanh f32 [6,4] %3 @1\n"
     "return %4\n"},
    {"rows that do not agree: a sum over the leading axis, a transposed reader",
     "%0 = input f32 [600,40]\n"
     "%1 = exp f32 [600,40] %0\n"
     "%2 = sum f32 [1,40] %1 {axes=[0] keep=1}\n"
     "%3 = sum f32 [600,1] %1 {axes=[1] keep=1}\n"
     "%4 = div f32 [600,40] %1 %3\n"
     "%5 = mul f32 [600,40] %4 %2\n"
     "return %5\n",
     "%0 = input f32 [600,40]\n"
     "%1 = exp f32 [600,40] %0 @1\n"
     "%2 = sum f32 [600,1] %1 {axes=[1] keep=1} @1\n"
     "%3 = div f32 [600,40] %1 %2 @1\n"
     "%4 = sum f32 [1,40] %1 {axes=[0] keep=1}\n"
     "%5 = mul f32 [600,40] %3 %4\n"
     "return %5\n"},
    {"small values need no rows to agree on",
     "%0 = input f32 [6,4]\n"
     "%1 = exp f32 [6,4] %0\n"
     "%2 = sum f32 [1,4] %1 {axes=[0] keep=1}\n"
     "%3 = sum f32 [6,1] %1 {axes=[1] keep=1}\n"
     "%4 = div f32 [6,4] %1 %3\n"
     "%5 = mul f32 [6,4] %4 %2\n"
     "return %5\n",
     "%0 = input f32 [6,4]\n"
     "%1 = exp f32 [6,4] %0 @1\n"
     "%2 = sum f32 [1,4] %1 {axes=[0] keep=1} @1\n"
     "%3 = sum f32 [6,1] %1 {axes=[1] keep=1} @1\n"
     "%4 = div f32 [6,4] %1 %3 @1\n"
     "%5 = mul f32 [6,4] %4 %2 @1\n"
     "return %5\n"},
};

static void texts(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check(ctx, &rows[i], true);
        check(ctx, &rows[i], false);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests_name("pass fuse", tests, NULL, NULL);
}
