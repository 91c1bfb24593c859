/* test_pass_found.c - programs that random ones found to be too much for the passes: each must come out well,
 * with all passes on and fused regions wanted. */
#include "pass_text.h"

typedef struct found {
    const char *what, *text;
} found;

static const found programs[] = {
    {"a transposed part becomes a reshape of the part, not of the whole",
     "%0 = input f32 [64,3]\n"
     "%1 = transpose f32 [3,64] %0 {perm=[1,0]}\n"
     "%2 = slice f32 [3,1] %1 {axis=1 start=63 len=1}\n"
     "%3 = exp f32 [3,1] %2\n"
     "return %3\n"},
    {"a group that reaches over another one may wait for it",
     "%0 = input f32 [6,4]\n"
     "%1 = exp f32 [6,4] %0\n"
     "%2 = cumsum f32 [6,4] %1 {axis=0 exclusive=0 reverse=0}\n"
     "%3 = tanh f32 [6,4] %0\n"
     "%4 = cumsum f32 [6,4] %3 {axis=0 exclusive=0 reverse=0}\n"
     "%5 = add f32 [6,4] %1 %4\n"
     "%6 = mul f32 [6,4] %3 %2\n"
     "return %5 %6\n"},
};

static void come_out_well(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const asc_pass_env env = {.storage_bytes = pass_bytes, .alias = true, .fuses = true};
        asc_program p;
        assert_ok(ctx, asc_program_parse(ctx, asc_view_of(programs[i].text), &p));
        asc_status st = asc_passes_run(ctx, &p, &env);
        if (st != ASC_OK) fail_msg("%s: %s", programs[i].what, asc_error_message(ctx));
        assert_ok(ctx, asc_program_verify(ctx, &p));
        asc_program_deinit(&p);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(come_out_well)};
    return cmocka_run_group_tests_name("pass found", tests, NULL, NULL);
}
