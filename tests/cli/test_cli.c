/* test_cli.c - what the commands print: JSON that parses, the same numbers twice, stdin, colours,
 * environment, rerun, help. */
#include "run_program.h"
#include <math.h>

static asc_json *parse(asc_ctx *ctx, const char *text, size_t len) {
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, text, len, &j));
    return j;
}

static void test_every_command_has_json(void **state) {
    static const char *const commands[] = {
        "$A explain $L --prompt 'The capital' --json -",
        "$A explain $G --ids 2,5,7 --target-ids 9 --features token --method saliency --json -",
        "$A explain $Q --prompt 'The capital' --generate 3 --dry-run --json -",
        "$A generate $L --prompt 'The capital' --generate 3 --json -",
        "$A tokenize $L --prompt 'The capital' --json -",
        "$A tokenize $L --ids 5,6 --decode --json -",
        "$A inspect $G --json -",
        "sed 's/qwen3/qwenX/g' $Q >x.gguf; $A inspect x.gguf --json -",
        "$A memory $L --prompt 'The capital' --json -",
        "$A memory mlp --json -",
        "$A methods --json -",
        "$A ops --json -",
        "$A env --json -",
        "$A help --json -",
        "$A help explain --json -",
        "$A explain $L --prompt a --json r.json --quiet; $A rerun r.json --json -",
    };
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program *p = *state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_expect(p, 0, NULL, commands[i]);
        asc_json_free(parse(ctx, p->out, p->out_len));
    }
    test_ctx_end(ctx);
}

/* Everything but time and memory is the same in the second run, with other threads, and eagerly. */
static void test_same_twice(void **state) {
    static const char *const others[] = {"", "--threads 1", "--mode eager"};
    program *p = *state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "$A explain $L --prompt 'The capital of France' --json a.json --quiet --threads 2; "
                 "$A explain $L --prompt 'The capital of France' --json b.json --quiet %s; "
                 "for f in a b; do grep -vE 'seconds|flops|peak_bytes|\"threads\"|\"mode\"' $f.json >$f; "
                 "done; cmp a b",
                 i == 0 ? "--threads 2" : others[i]);
        program_expect(p, 0, NULL, command);
    }
}

static void test_stdin_is_the_prompt(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "$A explain $L --prompt 'The capital' >a; echo 'The capital' | $A explain $L --prompt-file - >b; "
        "printf 'The capital' >f; $A explain $L --prompt-file f >c; sed '/^Cost/d' a >a1; sed '/^Cost/d' b "
        ">b1; "
        "sed '/^Cost/d' c >c1; cmp a1 b1 && cmp a1 c1");
}

/* script(1) gives the program a terminal. */
#define TERMINAL(env, options)                                                                               \
    env " script -qec \"$A explain $L --prompt 'The capital of France' " options "\" /dev/null"

static void test_colours(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "$A explain $L --prompt 'The capital of France'");
    assert_null(strchr(p->out, 0x1b)); /* not a terminal */
    assert_non_null(strstr(p->out, "France"));
    if (program_run(p, "script -qec true /dev/null") != 0) skip(); /* no terminal to be had here */
    program_expect(p, 0, NULL, TERMINAL("TERM=xterm-256color", ""));
    assert_non_null(strstr(p->out, "\x1b[48;5;"));
    program_expect(p, 0, NULL, TERMINAL("TERM=xterm COLORTERM=truecolor", ""));
    assert_non_null(strstr(p->out, "\x1b[48;2;"));
    program_expect(p, 0, NULL, TERMINAL("TERM=xterm NO_COLOR=1", ""));
    assert_null(strchr(p->out, 0x1b));
    program_expect(p, 0, NULL, TERMINAL("TERM=dumb", ""));
    assert_null(strchr(p->out, 0x1b));
    program_expect(p, 0, NULL, TERMINAL("TERM=xterm", "--no-color"));
    assert_null(strchr(p->out, 0x1b));
}

static void test_environment(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "ASC_MODE=eager ASC_THREADS=1 $A explain $L --prompt a --json -");
    assert_non_null(strstr(p->out, "\"mode\": \"eager\""));
    assert_non_null(strstr(p->out, "\"threads\": 1,"));
    program_expect(p, 0, NULL,
                   "ASC_MODE=eager $A explain $L --prompt a --mode deferred --json -"); /* the option wins */
    assert_non_null(strstr(p->out, "\"mode\": \"deferred\""));
    program_expect(p, 0, NULL, "ASC_THREADS=3 $A env");
    const char *row = strstr(p->out, "ASC_THREADS");
    assert_non_null(row);
    assert_non_null(strstr(row, "3"));
    assert_true(strstr(row, "environment") < strchr(row, '\n'));
    assert_non_null(strstr(p->out, "NO_COLOR"));
}

static void test_rerun(void **state) {
    program *p = *state;
    static const char *const runs[] = {
        "--prompt 'The capital of France' --target ' is'",
        "--prompt \"$(printf 'bad \\377 bytes')\" --features token --method saliency --norm signed",
        "--ids 2,5,9 --generate 2 --baseline eos --output prob",
        "--prompt 'The capital' --versus ' z' --mode eager --threads 1 --weights expanded",
        "--prompt 'a b' --method integrated-gradients --rule riemann-left --steps 7 --baseline token:5",
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "$A explain $L %s --json r.json --quiet 2>/dev/null; $A rerun r.json", runs[i]);
        program_expect(p, 0, NULL, command);
        assert_non_null(strstr(p->out, "The same numbers"));
    }
    program_expect(p, 0, NULL,
                   "cp $L m.gguf; chmod u+w m.gguf; $A explain m.gguf --prompt 'a b' --json r.json --quiet");
    program_expect(p, 3, "raise --memory", "$A rerun r.json --memory 1000");
    program_expect(p, 2, "memory", "$A generate $L --prompt a --memory 1M"); /* it keeps no bound */
    program_expect(p, 1, NULL, "sed -i 's/\"score\": /\"score\": 1/' r.json; $A rerun r.json");
    assert_non_null(strstr(p->out, "Other numbers"));
    program_expect(p, 1, NULL, "cp $Z/llama-q4_1/model.gguf m.gguf; $A rerun r.json");
    assert_non_null(strstr(p->out, "the model file: SHA-256 was"));
    program_expect(p, 3, "m.gguf", "rm m.gguf; $A rerun r.json");
}

static void test_page(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "$A explain $L --prompt \"$(printf '<script>alert(1)</script> \"\\342\\200\\256 "
                   "\\033[31m')\" --html p.html --quiet; "
                   "cat p.html");
    assert_null(strstr(p->out, "<script>alert"));
    assert_non_null(strstr(p->out, "&lt;script&gt;alert"));
    assert_null(strchr(p->out, 0x1b));
    assert_null(strstr(p->out, "\xe2\x80\xae"));
    program_expect(p, 0, NULL, "$A explain $L --prompt 'The capital' --html -");
    assert_memory_equal(p->out, "<!DOCTYPE html>", 15);
    assert_non_null(strstr(p->out, "</html>"));
}

/* Generation prints what its JSON says, byte for byte. */
static void test_generate(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(
        p, 0, NULL,
        "$A generate $Q --prompt 'The capital' --generate 12 --ignore-eos --json g.json >text; cat g.json");
    asc_json *j = parse(ctx, p->out, p->out_len);
    assert_int_equal(asc_json_len(asc_json_get(j, "ids")), 12);
    assert_int_equal(asc_json_len(asc_json_get(j, "logprobs")), 12);
    asc_json_free(j);
    program_expect(p, 0, NULL,
                   "$A generate $Q --prompt 'The capital' --generate 12 --ignore-eos | cmp - text");
    test_ctx_end(ctx);
}

static void test_tokenize(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "printf 'b\\303\\266se \\360\\237\\221\\251 \\n x\\n' >t; I=$($A tokenize $Q "
                   "--prompt-file t --ids-only); "
                   "$A tokenize $Q --ids \"$I\" --decode | cmp - t");
    program_expect(p, 0, NULL, "$A tokenize $Q --prompt 'ab cd'");
    assert_non_null(strstr(p->out, "tokens"));
}

static void test_dry_run(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "$A explain $L --prompt 'The capital of France' --dry-run");
    assert_non_null(strstr(p->out, "Would take"));
    assert_non_null(strstr(p->out, "Nothing was computed"));
}

static void test_help(void **state) {
    program *p = *state;
    char command[128];
    static const char *const names[] = {"explain", "generate", "tokenize", "inspect",     "rerun", "bench",
                                        "methods", "ops",      "env",      "completions", "help"};
    program_expect(p, 0, NULL, "$A --version");
    assert_memory_equal(p->out, "ascribe ", 8);
    program_expect(p, 0, NULL, "$A; $A --help; $A help; $A -h");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_non_null(strstr(p->out, names[i]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(command, sizeof command, "$A %s --help >a; $A help %s | cmp - a; cat a", names[i], names[i]);
        program_expect(p, 0, NULL, command);
        assert_non_null(strstr(p->out, "usage: ascribe"));
        for (const char *l = p->out; *l != '\0'; l += strcspn(l, "\n") + 1)
            assert_true(strcspn(l, "\n") <= 100);
    }
    program_expect(p, 0, NULL, "$A completions bash >c && bash -n c");
    program_expect(p, 0, NULL, "$A completions zsh && $A completions fish");
    program_expect(p, 0, NULL, "$A help --man");
    assert_memory_equal(p->out, ".TH ASCRIBE 1", 13);
    program_expect(p, 0, NULL, "$A help --markdown && $A methods --markdown && $A ops --markdown");
}

static void test_other_devices(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    double scores[2];
    static const char *const devices[] = {"cpu", "reference"};
    for (size_t i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command, "$A explain $L --prompt 'The capital' --device %s --json -",
                 devices[i]);
        program_expect(p, 0, NULL, command);
        asc_json *j = parse(ctx, p->out, p->out_len);
        scores[i] = asc_json_num(asc_json_get(asc_json_at(asc_json_get(j, "features"), 0), "score"), NAN);
        assert_string_equal(asc_json_str(asc_json_get(j, "device")).ptr, devices[i]);
        asc_json_free(j);
    }
    assert_true(fabs(scores[0] - scores[1]) < 1e-3);
    test_ctx_end(ctx);
}

static void test_bench(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(p, 0, NULL, "$A bench $L --steps 2 --json -");
    asc_json *j = parse(ctx, p->out, p->out_len);
    static const char *const keys[] = {"peak_flops_per_second",     "peak_bytes_per_second",
                                       "prompt_tokens_per_second",  "generate_tokens_per_second",
                                       "gradient_steps_per_second", "saliency_seconds",
                                       "peak_resident_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_true(asc_json_num(asc_json_get(j, keys[i]), 0) > 0);
    asc_json_free(j);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_command_has_json),
        cmocka_unit_test(test_same_twice),
        cmocka_unit_test(test_stdin_is_the_prompt),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_rerun),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_generate),
        cmocka_unit_test(test_tokenize),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_other_devices),
        cmocka_unit_test(test_bench),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
