/* test_cli_profile.c - --profile and the memory command: files that parse, folders that cannot be made. */
#include "run_program.h"

static void prints(program *p, const char *words, const char *command) {
    program_expect(p, 0, NULL, command);
    if (strstr(p->out, words) == NULL) fail_msg("no '%s' in: %s\nof: %s", words, p->out, command);
}

/* The trace of a real run: valid JSON, ops inside cuts inside the method's span. */
static void test_profile(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(p, 0, NULL,
                   "$A explain $L --prompt 'The capital' --method saliency --profile prof --quiet");
    prints(p, "by place", "cat prof/profile.txt");
    prints(p, "blocks.*.attn", "cat prof/profile.txt");
    prints(p, "saliency", "cat prof/profile.txt");
    prints(p, "<svg class=\"time\"", "cat prof/profile.html");
    program_expect(p, 0, NULL, "cat prof/trace.json");
    asc_json *root = NULL;
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &root));
    const asc_json *events = asc_json_get(root, "traceEvents");
    double from = -1, to = -1;
    size_t ops = 0;
    for (size_t i = 0; i < asc_json_len(events); i++) {
        const asc_json *e = asc_json_at(events, i);
        asc_view name = asc_json_str(asc_json_get(e, "name"));
        if (name.len != 8 || memcmp(name.ptr, "saliency", 8) != 0) continue;
        from = asc_json_num(asc_json_get(e, "ts"), -1);
        to = from + asc_json_num(asc_json_get(e, "dur"), -1);
    }
    assert_true(from >= 0 && to > from);
    for (size_t i = 0; i < asc_json_len(events); i++) {
        const asc_json *e = asc_json_at(events, i);
        asc_view cat = asc_json_str(asc_json_get(e, "cat"));
        const double ts = asc_json_num(asc_json_get(e, "ts"), -1);
        if (cat.len == 2 && memcmp(cat.ptr, "op", 2) == 0 && ts >= from && ts <= to) ops++;
    }
    assert_true(ops > 20);
    asc_json_free(root);
    test_ctx_end(ctx);
}

static void test_profile_of_a_failure(void **state) {
    program *p = *state;
    program_expect(p, 3, "99999999",
                   "$A explain $L --prompt 'The capital' --target-ids 99999999 --profile failed");
    assert_null(strstr(p->err, "folder"));
    program_expect(p, 3, "folder", "echo x >taken; $A explain $L --prompt a --profile taken");
    program_expect(p, 3, "folder", "$A explain $L --prompt a --profile no/such/place");
    program_expect(p, 2, "--profile needs", "$A explain $L --prompt a --profile ''");
    program_expect(p, 2, "--profile needs", "$A bench mlp --modes eager --runs 1 --profile ''");
    program_expect(p, 3, "a file of that name", "$A bench mlp --modes eager --runs 1 --profile taken");
    program_expect(p, 3, "File too large", "(ulimit -f 1; $A memory mlp --json over.json --quiet)");
}

static void test_memory(void **state) {
    program *p = *state;
    prints(p, "the peak was reached in: ", "$A memory $L --prompt 'The capital' --method saliency");
    prints(p, "emptying the caches gave back ", "$A memory mlp");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_of_a_failure),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
