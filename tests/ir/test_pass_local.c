/* test_pass_local.c - passes that look at single nodes: text before and after. */
#include "pass_text.h"

#define X "%0 = input f32 [4,6]\n"

static void common(void **state) {
    (void)state;
    static const pass_row rows[] = {
        {"equal nodes and what follows from them",
         X "%1 = exp f32 [4,6] %0\n%2 = exp f32 [4,6] %0\n%3 = neg f32 [4,6] %1\n%4 = neg f32 [4,6] %2\n"
           "%5 = add f32 [4,6] %3 %4\nreturn %5\n",
         X "%1 = exp f32 [4,6] %0\n%2 = neg f32 [4,6] %1\n%3 = add f32 [4,6] %2 %2\nreturn %3\n"},
        {"another attribute is another value",
         X "%1 = sum f32 [4] %0 {axes=[1] keep=0}\n%2 = sum f32 [4,1] %0 {axes=[1] keep=1}\nreturn %1 %2\n",
         NULL},
        {"so is another level",
         X "%1 = matmul f32 [4,4] %0 %0 {ta=0 tb=1}\n%2 = matmul f32 [4,4] %0 %0 {ta=0 tb=1} level=medium\n"
           "%3 = add f32 [4,4] %1 %2\nreturn %3\n",
         NULL},
        {"run-time scalars may differ in the next run",
         X "%1 = scale f32 [4,6] %0 {factor=2}\n%2 = scale f32 [4,6] %0 {factor=2}\n"
           "%3 = add f32 [4,6] %1 %2\nreturn %3\n",
         NULL},
        {"draws",
         "%0 = random f32 [3] {shape=[3] kind=0 seed_low=1 seed_high=0 stream=0}\n"
         "%1 = random f32 [3] {shape=[3] kind=0 seed_low=1 seed_high=0 stream=0}\n"
         "%2 = add f32 [3] %0 %1\nreturn %2\n",
         NULL},
        {"an op of the caller's may keep a state",
         X "%1 = custom f32 [4,6] %0 %0\n%2 = custom f32 [4,6] %0 %0\n%3 = add f32 [4,6] %1 %2\nreturn %3\n",
         NULL},
        {"inputs are the program's contract",
         "%0 = input f32 [2]\n%1 = input f32 [2]\n%2 = add f32 [2] %0 %1\nreturn %2\n", NULL},
        {"two outputs stay two nodes", X "%1 = exp f32 [4,6] %0\n%2 = exp f32 [4,6] %0\nreturn %1 %2\n",
         X "%1 = exp f32 [4,6] %0\n%2 = reshape f32 [4,6] %1 {shape=[4,6]}\nreturn %1 %2\n"},
        {"an output and a value in between become one",
         X "%1 = exp f32 [4,6] %0\n%2 = neg f32 [4,6] %1\n%3 = exp f32 [4,6] %0\nreturn %2 %3\n",
         X "%1 = exp f32 [4,6] %0\n%2 = neg f32 [4,6] %1\nreturn %2 %1\n"},
    };
    pass_expect_all("common,dead", rows, sizeof rows / sizeof *rows);
}

static void moves(void **state) {
    (void)state;
    static const pass_row rows[] = {
        {"reshape of reshape",
         X "%1 = reshape f32 [24] %0 {shape=[24]}\n%2 = reshape f32 [2,12] %1 {shape=[2,12]}\n"
           "%3 = exp f32 [2,12] %2\nreturn %3\n",
         X "%1 = reshape f32 [2,12] %0 {shape=[2,12]}\n%2 = exp f32 [2,12] %1\nreturn %2\n"},
        {"reshape there and back",
         X "%1 = reshape f32 [24] %0 {shape=[24]}\n%2 = reshape f32 [4,6] %1 {shape=[4,6]}\n"
           "%3 = exp f32 [4,6] %2\nreturn %3\n",
         X "%1 = exp f32 [4,6] %0\nreturn %1\n"},
        {"transpose there and back",
         X "%1 = transpose f32 [6,4] %0 {perm=[1,0]}\n%2 = transpose f32 [4,6] %1 {perm=[1,0]}\n"
           "%3 = exp f32 [4,6] %2\nreturn %3\n",
         X "%1 = exp f32 [4,6] %0\nreturn %1\n"},
        {"transposes combine",
         "%0 = input f32 [2,3,5]\n%1 = transpose f32 [5,2,3] %0 {perm=[2,0,1]}\n"
         "%2 = transpose f32 [5,3,2] %1 {perm=[0,2,1]}\n%3 = exp f32 [5,3,2] %2\nreturn %3\n",
         "%0 = input f32 [2,3,5]\n%1 = transpose f32 [5,3,2] %0 {perm=[2,1,0]}\n"
         "%2 = exp f32 [5,3,2] %1\nreturn %2\n"},
        {"a transpose that moves only an axis of 1",
         "%0 = input f32 [1,3,5]\n%1 = transpose f32 [3,1,5] %0 {perm=[1,0,2]}\n"
         "%2 = exp f32 [3,1,5] %1\nreturn %2\n",
         "%0 = input f32 [1,3,5]\n%1 = reshape f32 [3,1,5] %0 {shape=[3,1,5]}\n"
         "%2 = exp f32 [3,1,5] %1\nreturn %2\n"},
        {"slice of slice, slice of everything",
         X "%1 = slice f32 [3,6] %0 {axis=0 start=1 len=3}\n%2 = slice f32 [2,6] %1 {axis=0 start=1 len=2}\n"
           "%3 = slice f32 [2,6] %2 {axis=1 start=0 len=6}\n%4 = exp f32 [2,6] %3\nreturn %4\n",
         X "%1 = slice f32 [2,6] %0 {axis=0 start=2 len=2}\n%2 = exp f32 [2,6] %1\nreturn %2\n"},
        {"slice of concat inside one part, and across two",
         "%0 = input f32 [4,6]\n%1 = input f32 [3,6]\n%2 = concat f32 [7,6] %0 %1 {axis=0}\n"
         "%3 = slice f32 [2,6] %2 {axis=0 start=5 len=2}\n%4 = slice f32 [2,6] %2 {axis=0 start=3 len=2}\n"
         "%5 = add f32 [2,6] %3 %4\nreturn %5\n",
         "%0 = input f32 [4,6]\n%1 = input f32 [3,6]\n%2 = concat f32 [7,6] %0 %1 {axis=0}\n"
         "%3 = slice f32 [2,6] %1 {axis=0 start=1 len=2}\n%4 = slice f32 [2,6] %2 {axis=0 start=3 len=2}\n"
         "%5 = add f32 [2,6] %3 %4\nreturn %5\n"},
        {"slice of pad inside, and of its zeros",
         X "%1 = pad f32 [9,6] %0 {axis=0 before=2 after=3}\n%2 = slice f32 [2,6] %1 {axis=0 start=3 len=2}\n"
           "%3 = slice f32 [2,6] %1 {axis=0 start=1 len=2}\n%4 = add f32 [2,6] %2 %3\nreturn %4\n",
         X "%1 = pad f32 [9,6] %0 {axis=0 before=2 after=3}\n%2 = slice f32 [2,6] %0 {axis=0 start=1 len=2}\n"
           "%3 = slice f32 [2,6] %1 {axis=0 start=1 len=2}\n%4 = add f32 [2,6] %2 %3\nreturn %4\n"},
        {"pad by nothing, pad of pad",
         X
         "%1 = pad f32 [4,6] %0 {axis=0 before=0 after=0}\n%2 = pad f32 [5,6] %1 {axis=0 before=1 after=0}\n"
         "%3 = pad f32 [8,6] %2 {axis=0 before=1 after=2}\n%4 = exp f32 [8,6] %3\nreturn %4\n",
         X "%1 = pad f32 [8,6] %0 {axis=0 before=2 after=2}\n%2 = exp f32 [8,6] %1\nreturn %2\n"},
        {"concat of one, concat of neighbours, concat of concat",
         X "%1 = concat f32 [4,6] %0 {axis=0}\n%2 = slice f32 [4,1] %1 {axis=1 start=1 len=1}\n"
           "%3 = slice f32 [4,2] %1 {axis=1 start=2 len=2}\n%4 = concat f32 [4,3] %2 %3 {axis=1}\n"
           "%5 = concat f32 [4,9] %1 %4 {axis=1}\n%6 = concat f32 [4,15] %5 %0 {axis=1}\nreturn %6\n",
         X "%1 = slice f32 [4,3] %0 {axis=1 start=1 len=3}\n%2 = concat f32 [4,15] %0 %1 %0 {axis=1}\n"
           "return %2\n"},
        {"broadcast to the same shape, broadcast of broadcast, broadcast that repeats nothing",
         "%0 = input f32 [6]\n%1 = broadcast f32 [6] %0 {shape=[6]}\n%2 = broadcast f32 [1,6] %1 "
         "{shape=[1,6]}\n"
         "%3 = broadcast f32 [4,6] %2 {shape=[4,6]}\n%4 = exp f32 [4,6] %3\n%5 = exp f32 [1,6] %2\n"
         "return %4 %5\n",
         "%0 = input f32 [6]\n%1 = reshape f32 [1,6] %0 {shape=[1,6]}\n"
         "%2 = broadcast f32 [4,6] %1 {shape=[4,6]}\n%3 = exp f32 [4,6] %2\n%4 = exp f32 [1,6] %1\n"
         "return %3 %4\n"},
        {"ops that repeat their inputs themselves",
         X "%1 = input f32 [6]\n%2 = broadcast f32 [4,6] %1 {shape=[4,6]}\n%3 = mul f32 [4,6] %0 %2\n"
           "%4 = mul f32 [4,6] %2 %2\n%5 = add f32 [4,6] %3 %4\nreturn %5\n",
         X "%1 = input f32 [6]\n%2 = broadcast f32 [4,6] %1 {shape=[4,6]}\n%3 = mul f32 [4,6] %0 %1\n"
           "%4 = mul f32 [4,6] %1 %2\n%5 = add f32 [4,6] %3 %4\nreturn %5\n"},
        {"parts of one value everywhere",
         "%0 = full f32 [4,6] {shape=[4,6] value=2.5}\n%1 = slice f32 [2,6] %0 {axis=0 start=1 len=2}\n"
         "%2 = transpose f32 [6,2] %1 {perm=[1,0]}\n%3 = exp f32 [6,2] %2\nreturn %3\n",
         "%0 = full f32 [6,2] {shape=[6,2] value=2.5}\n%1 = exp f32 [6,2] %0\nreturn %1\n"},
        {"slice of repeats",
         "%0 = input f32 [6]\n%1 = broadcast f32 [4,6] %0 {shape=[4,6]}\n"
         "%2 = slice f32 [3,6] %1 {axis=0 start=1 len=3}\n%3 = exp f32 [3,6] %2\nreturn %3\n",
         "%0 = input f32 [6]\n%1 = broadcast f32 [3,6] %0 {shape=[3,6]}\n%2 = exp f32 [3,6] %1\nreturn %2\n"},
        {"outputs are no inputs and differ",
         X "%1 = reshape f32 [4,6] %0 {shape=[4,6]}\n%2 = exp f32 [4,6] %0\n"
           "%3 = reshape f32 [4,6] %2 {shape=[4,6]}\nreturn %1 %2 %3\n",
         NULL},
    };
    pass_expect_all("simplify,dead", rows, sizeof rows / sizeof *rows);
}

static void steps_that_change_nothing(void **state) {
    (void)state;
    static const pass_row rows[] = {
        {"neg of neg", X "%1 = neg f32 [4,6] %0\n%2 = neg f32 [4,6] %1\n%3 = exp f32 [4,6] %2\nreturn %3\n",
         X "%1 = exp f32 [4,6] %0\nreturn %1\n"},
        {"relu of relu", X "%1 = relu f32 [4,6] %0\n%2 = relu f32 [4,6] %1\nreturn %2\n",
         X "%1 = relu f32 [4,6] %0\nreturn %1\n"},
        {"cast to the same type", X "%1 = cast f32 [4,6] %0 {dtype=f32}\n%2 = exp f32 [4,6] %1\nreturn %2\n",
         X "%1 = exp f32 [4,6] %0\nreturn %1\n"},
        {"the value of a straight-through",
         X
         "%1 = round f32 [4,6] %0\n%2 = straight_through f32 [4,6] %1 %0\n%3 = exp f32 [4,6] %2\nreturn %3\n",
         X "%1 = round f32 [4,6] %0\n%2 = exp f32 [4,6] %1\nreturn %2\n"},
        {"a cast there and back rounds",
         "%0 = input i32 [4]\n%1 = cast f32 [4] %0 {dtype=f32}\n%2 = cast i32 [4] %1 {dtype=i32}\n"
         "%3 = cast f32 [4] %2 {dtype=f32}\nreturn %3\n",
         NULL},
        {"a sum over one element makes +0 of -0",
         "%0 = input f32 [4,1]\n%1 = sum f32 [4] %0 {axes=[1] keep=0}\nreturn %1\n", NULL},
        {"run-time scalars, whatever they are today",
         X "%1 = scale f32 [4,6] %0 {factor=1}\n%2 = shift f32 [4,6] %1 {addend=0}\nreturn %2\n", NULL},
    };
    pass_expect_all("simplify,dead", rows, sizeof rows / sizeof *rows);
}

static void constants(void **state) {
    (void)state;
    static const pass_row rows[] = {
        {"positions and a mask; what an input reaches is none; outputs are none",
         "%0 = iota f32 [4] {n=4 start=0 step=1}\n%1 = cast i32 [4] %0 {dtype=i32}\n%2 = input f32 [4]\n"
         "%3 = add f32 [4] %2 %0\n%4 = reshape f32 [4,1] %0 {shape=[4,1]}\n"
         "%5 = less_equal f32 [4,4] %0 %4\n%6 = mul f32 [4,4] %5 %3\nreturn %6 %1\n",
         "%0 = iota f32 [4] {n=4 start=0 step=1} runs=once\n%1 = cast i32 [4] %0 {dtype=i32}\n"
         "%2 = input f32 [4]\n%3 = add f32 [4] %2 %0\n"
         "%4 = reshape f32 [4,1] %0 {shape=[4,1]} runs=once\n%5 = less_equal f32 [4,4] %0 %4 runs=once\n"
         "%6 = mul f32 [4,4] %5 %3\nreturn %6 %1\n"},
        {"too large to keep",
         "%0 = full f32 [1024,1024] {shape=[1024,1024] value=0}\n%1 = exp f32 [1024,1024] %0\nreturn %1\n",
         NULL},
        {"five megabytes together: what comes after four runs each time",
         "%0 = full f32 [256,1024] {shape=[256,1024] value=1}\n%1 = exp f32 [256,1024] %0\n"
         "%2 = tanh f32 [256,1024] %1\n%3 = neg f32 [256,1024] %2\n%4 = exp f32 [256,1024] %3\n"
         "%5 = exp f32 [256,1024] %4\nreturn %5\n",
         "%0 = full f32 [256,1024] {shape=[256,1024] value=1} runs=once\n"
         "%1 = exp f32 [256,1024] %0 runs=once\n%2 = tanh f32 [256,1024] %1 runs=once\n"
         "%3 = neg f32 [256,1024] %2 runs=once\n%4 = exp f32 [256,1024] %3\n"
         "%5 = exp f32 [256,1024] %4\nreturn %5\n"},
        {"draws change",
         "%0 = random f32 [3] {shape=[3] kind=0 seed_low=1 seed_high=0 stream=0}\n%1 = exp f32 [3] %0\n"
         "%2 = exp f32 [3] %1\nreturn %2\n",
         NULL},
    };
    pass_expect_all("fold-constants", rows, sizeof rows / sizeof *rows);
}

/* Every allocation fails once: an error comes back, the program is whole, nothing leaks. */
static void out_of_memory(void **state) {
    (void)state;
    static const char *const text =
        "%0 = input f32 [12,6]\n%1 = reshape f32 [72] %0 {shape=[72]}\n%2 = reshape f32 [12,6] %1 "
        "{shape=[12,6]}\n"
        "%3 = exp f32 [12,6] %2\n%4 = exp f32 [12,6] %0\n%5 = add f32 [12,6] %3 %4\n%6 = input f32 [6,6]\n"
        "%7 = matmul f32 [12,6] %5 %6 {ta=0 tb=0}\n%8 = tanh f32 [12,6] %7\n"
        "%9 = matmul f32 [12,6] %8 %6 {ta=0 tb=0}\n%10 = slice f32 [2,6] %9 {axis=0 start=10 len=2}\n"
        "%11 = pad f32 [12,6] %10 {axis=0 before=10 after=0}\n%12 = matmul f32 [12,6] %11 %6 {ta=0 tb=1}\n"
        "%13 = mul f32 [12,6] %12 %8\n%14 = mul f32 [12,6] %13 %5\nreturn %10 %14\n";
    for (long at = 1;; at++) {
        test_alloc t = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .device = "null", .alloc = test_alloc_fn, .alloc_self = &t};
        asc_ctx *ctx = NULL;
        asc_program p;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
        asc_pass_env env = {.storage_bytes = pass_bytes, .alias = true, .memory_bytes = 1};
        t.fail_at = t.count + at;
        asc_status st = asc_passes_run(ctx, &p, &env);
        bool failed = t.count >= t.fail_at;
        t.fail_at = 0;
        assert_int_equal(st, failed ? ASC_RESOURCE_EXHAUSTED : ASC_OK);
        assert_ok(ctx, asc_program_verify(ctx, &p));
        asc_program_deinit(&p);
        test_ctx_end(ctx);
        assert_int_equal(t.live, 0);
        if (!failed) break;
    }
}

/* docs/passes.md has a row for each pass. */
static void documented(void **state) {
    (void)state;
    static char text[1 << 16];
    char path[4096], row[80];
    const char *root = getenv("ASC_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/docs/passes.md", root != NULL ? root : ".");
    FILE *f = fopen(path, "rb");
    if (f == NULL) fail_msg("cannot read %s", path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_in_range(n, 1000, sizeof text - 2);
    for (size_t i = 0; i < asc_n_passes; i++) {
        snprintf(row, sizeof row, "\n| `%s` | ", asc_passes[i]->name);
        if (strstr(text, row) == NULL) fail_msg("docs/passes.md has no row for %s", asc_passes[i]->name);
    }
}

static void names(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    uint64_t off = 0;
    assert_int_equal(asc_passes_parse(ctx, "-fuze", &off), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_hint(ctx), "simplify"));
    for (size_t i = 0; i < asc_n_passes; i++) {
        char text[80];
        snprintf(text, sizeof text, "-%s", asc_passes[i]->name);
        assert_ok(ctx, asc_passes_parse(ctx, text, &off));
        assert_true(off == (uint64_t)1 << i);
        assert_true(strlen(asc_passes[i]->doc) > 10);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common),
        cmocka_unit_test(moves),
        cmocka_unit_test(steps_that_change_nothing),
        cmocka_unit_test(constants),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(documented),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("pass_local", tests, NULL, NULL);
}
