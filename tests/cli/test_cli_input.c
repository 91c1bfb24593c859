/* test_cli_input.c - every kind of bad input: the exit code, and a message that names the thing and the
 * remedy. */
#include "run_program.h"

static void test_wrong_use(void **state) {
    static const char *const cases[][2] = {
        {"$A explian $L", "did you mean 'explain'"},
        {"$A xyzzy", "unknown command"},
        {"$A explain", "needs MODEL.gguf"},
        {"$A explain $L --promt x", "did you mean --prompt"},
        {"$A explain $L --qqqqqqqq x", "unknown option --qqqqqqqq"},
        {"$A explain $L -x x", "written out"},
        {"$A explain $L -p x", "did you mean --prompt?"},
        {"$A explain -m $L --prompt x", "the model comes first"},
        {"$A generate $L --n-predict 3", "did you mean --generate?"},
        {"$A explain $L a", "the prompt is an option, --prompt TEXT"},
        {"$A explain $L --prompt a --internal-batch-size 3", "did you mean --memory?"},
        {"$A explain $L --prompt x --contrast y", "did you mean --versus?"},
        {"$A explain $L --prompt x --n-steps 3", "did you mean --steps?"},
        {"$A explain $L --prompt", "needs a value"},
        {"$A explain $L --prompt x --json --quiet", "the option '--quiet' follows"},
        {"$A explain $L --prompt x --json --steps=3", "write --json='--steps=3'"},
        {"$A explain $L extra --prompt x", "too many"},
        {"$A explain $L", "no prompt"},
        {"$A explain $L --prompt a --ids 1", "more than one prompt"},
        {"$A explain $L --prompt a --system b", "--system goes with --user"},
        {"$A explain $L --prompt a --target b --target-ids 5", "more than one target"},
        {"$A explain $L --prompt a --versus b --versus-ids 5", "--versus"},
        {"$A explain $L --prompt a --generate 0", "at least 1"},
        {"$A explain $L --prompt a --method salency", "did you mean 'saliency'"},
        {"$A explain $L --prompt a --features letter", "word|token|sentence|paragraph|message|slot"},
        {"$A explain $L --prompt a --baseline token:x", "token id"},
        {"$A explain $L --prompt a --baseline dark", "--baseline is one of"},
        {"$A explain $L --prompt a --steps 1.5", "whole number"},
        {"$A explain $L --prompt a --steps -1", "whole number"},
        {"$A explain $L --prompt a --steps 99999999999999999999", "whole number"},
        {"$A explain $L --prompt a --tolerance nan", "number from 0"},
        {"$A explain $L --prompt a --tolerance 0", "larger than 0"},
        {"$A explain $L --prompt a --memory 5X", "size such as 512M"},
        {"$A explain $L --prompt a --memory 99999999999G", "size such as 512M"},
        {"$A explain $L --prompt a --threads 0", "1 to 1024"},
        {"$A explain $L --prompt a --device gpu", "cpu|reference|null"},
        {"$A explain $L --prompt a --dry-run=yes", "takes no value"},
        {"$A explain $L --ids 1,x", "list of whole numbers"},
        {"$A explain $L --prompt a --json - --html -", "would mix"},
        {"$A generate $L --prompt a --target b", "'generate' has no option --target"},
        {"$A completions tcsh", "bash, zsh and fish"},
        {"$A help explian", "did you mean explain"},
        {"ASC_DEVICE=gpu $A explain $L --prompt a", "ASC_DEVICE (environment)"},
        {"ASC_THREADS=many $A explain $L --prompt a", "ASC_THREADS (environment)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        program_expect(*state, 2, cases[i][1], cases[i][0]);
}

static void test_bad_files(void **state) {
    static const char *const cases[][2] = {
        {"$A explain none.gguf --prompt a", "none.gguf"},
        {"$A explain some/model --prompt a", "models are not fetched by name"},
        {"printf '\\200\\2pickle' >x.bin; $A explain x.bin --prompt a", "a pickle, which can run code"},
        {": >empty.gguf; $A explain empty.gguf --prompt a", "is empty"},
        {"$A explain . --prompt a", "has no config.json"},
        {"head -c 1000 $L >cut.gguf; $A explain cut.gguf --prompt a", "cut.gguf"},
        {"head -c -100 $L >cut2.gguf; $A explain cut2.gguf --prompt a", "cut2.gguf"},
        {"head -c 5000 /dev/zero >zero.gguf; $A explain zero.gguf --prompt a", "not a GGUF"},
        {"$A explain /dev/null --prompt a", "regular file"},
        {"$A explain $B/version-0.gguf --prompt a", "version"},
        {"$A explain $B/cut-in-value.gguf --prompt a", "cut-in-value.gguf"},
        {"$A explain $L --prompt-file none.txt", "none.txt"},
        {"$A explain $L --prompt-file .", "folder"},
        {"$A explain $L --chat none.json", "none.json"},
        {"echo '[{\"role\":1}]' >c.json; $A explain $L --chat c.json", "role"},
        {"echo '[{' >c.json; $A explain $L --chat c.json", "line"},
        {"$A explain $L --user hi", "no chat template"},
        {"$A rerun none.json", "none.json"},
        {"echo '{}' >r.json; $A rerun r.json", "schema"},
        {"echo 'x' >r.json; $A rerun r.json", "line 1"},
        {"$A inspect none.gguf", "none.gguf"},
        {"$A tokenize empty.gguf --prompt a", "is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        program_expect(*state, 3, cases[i][1], cases[i][0]);
}

/* Writes a copy of a model in which `word`, found in the metadata, became another of the same length. */
static void test_unknown_names(void **state) {
    program *p = *state;
    program_expect(p, 3, "qwenX", "sed 's/qwen3/qwenX/g' $Q >x.gguf; $A explain x.gguf --prompt a");
    program_expect(p, 0, NULL, "$A inspect x.gguf"); /* inspects what it cannot run */
    assert_non_null(strstr(p->out, "Cannot be run"));
    assert_non_null(strstr(p->out, "token_embd.weight"));
    program_expect(p, 3, "qwenX",
                   "sed 's/qwen2/qwenX/g' $Q >y.gguf; $A explain y.gguf --prompt a"); /* the pre-tokenizer */
}

static void test_bad_prompts(void **state) {
    static const char *const cases[][2] = {
        {"$A explain $L --prompt ''", "prompt"},
        {"printf '\\n' | $A explain $L --prompt-file -", "prompt"},
        {"$A explain $L --prompt a --target ''", "target is empty"},
        {"$A explain $L --ids ''", "prompt"},
        {"$A explain $L --ids 1,2,99999", "99999"},
        {"$A explain $L --ids 1,-2", "-2"},
        {"$A explain $L --prompt a --target-ids 320", "320"},
        {"$A explain $L --prompt a --baseline token:99999", "token"},
        {"$A explain $L --prompt a --features message", "chat"},
        {"$A explain $L --prompt a --method saliency --site nowhere", "nowhere"},
        {"$A explain $L --prompt \"$(yes word | head -n 300)\"", "context is 512"},
        {"$A generate $L --prompt \"$(yes word | head -n 300)\"", "context"},
        {"$A generate $L --ids 5,99999", "99999"},
        {"$A tokenize $L --ids 5,99999", "99999"},
        {"$A tokenize $L --decode --ids 5,99999", "99999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        program_expect(*state, 3, cases[i][1], cases[i][0]);
    program_expect(*state, 0, NULL,
                   "$A explain $L --prompt \"$(printf 'a \\377\\376 b')\""); /* any bytes are a prompt */
}

/* In this vocabulary " is" written at once is another token than " i" and "s". */
static void test_target_merges(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "$A tokenize $Q --prompt ' is' --ids-only");
    if (strchr(p->out, ',') != NULL) skip();
    program_expect(p, 3, "merge", "$A explain $Q --prompt 'this i' --target s");
    program_expect(p, 0, NULL, "$A explain $Q --prompt this --target ' is'");
}

static void test_nan_in_weights(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_json *j = NULL;
    int64_t offset = -1;
    program_expect(p, 0, NULL, "$A inspect $G --json -");
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    const asc_json *tensors = asc_json_get(j, "tensors");
    for (size_t i = 0; i < asc_json_len(tensors); i++) {
        const asc_json *t = asc_json_at(tensors, i);
        if (strcmp(asc_json_str(asc_json_get(t, "name")).ptr, "output_norm.weight") == 0)
            offset = asc_json_int(asc_json_get(t, "offset"), -1);
    }
    asc_json_free(j);
    test_ctx_end(ctx);
    assert_true(offset > 0);
    char command[512];
    snprintf(command, sizeof command,
             "cp $G nan.gguf && chmod u+w nan.gguf && printf '\\000\\000\\300\\177' | dd of=nan.gguf bs=1 "
             "seek=%lld conv=notrunc "
             "2>/dev/null; $A explain nan.gguf --prompt 'a b'",
             (long long)offset);
    program_expect(p, 3, "output_norm.weight", command);
}

static void test_bad_outputs(void **state) {
    static const char *const cases[][2] = {
        {"$A explain $L --prompt a --json /dev/full --quiet", "No space left"},
        {"$A explain $L --prompt a --html /dev/full --quiet", "No space left"},
        {"$A explain $L --prompt a >/dev/full", "No space left"},
        {"$A explain $L --prompt a --json - >/dev/full", "No space left"},
        {"$A generate $L --prompt a --generate 3 >/dev/full", "No space left"},
        {"$A help >/dev/full", "No space left"},
        {"$A explain $L --prompt a --json none/x.json", "none/x.json"},
        {"$A explain $L --prompt a --html .", "directory"},
        {"$A methods --json /dev/full", "No space left"},
        {"$A inspect $L --json none/x.json", "none/x.json"},
        {"$A explain $L --prompt a --html /proc/none.html --quiet", "/proc/none.html"},
    };
    program *p = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) program_expect(p, 3, cases[i][1], cases[i][0]);
    /* a failing write leaves the old file as it was and nothing beside it */
    program_expect(p, 3, "File too large",
                   "mkdir d; echo old >d/x.json; trap '' XFSZ; ulimit -f 1; $A explain $L --prompt 'a b c d "
                   "e' --json d/x.json --quiet");
    program_expect(p, 0, NULL, "ls d; cat d/x.json");
    assert_string_equal(p->out, "x.json\nold\n");
}

/* Endless for all purposes here: a prompt of 500 tokens, 100000 steps. */
#define LONG(model)                                                                                          \
    "$A explain " model " --prompt \"$(seq 150)\" --method integrated-gradients --rule riemann-middle "      \
    "--steps 100000"

static void test_stop(void **state) {
    program *p = *state;
    program_expect(p, 1, "stopped", LONG("$L") " --json s.json & computing $!; kill -INT $!; wait $!");
    program_expect(p, 1, "stopped", LONG("$L") " --json s.json & computing $!; kill -TERM $!; wait $!");
    program_expect(p, 1, NULL, "[ -e s.json ]");
    program_expect(p, 1, NULL, "ls | grep -q tmp");
}

static void test_file_shrinks(void **state) {
    program_expect(
        *state, 3, "shr.gguf",
        "cp $L shr.gguf; chmod u+w shr.gguf; " LONG("shr.gguf") " --json t.json & computing $!; "
                                                                "truncate -s 4096 shr.gguf; wait $!");
    program_expect(*state, 1, NULL, "[ -e t.json ]");
}

static void test_reader_leaves(void **state) {
    program_expect(*state, 0, NULL, "$A help --markdown | head -n 1");
    program_expect(*state, 0, NULL, "$A methods | true");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_use),     cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_unknown_names), cmocka_unit_test(test_bad_prompts),
        cmocka_unit_test(test_target_merges), cmocka_unit_test(test_nan_in_weights),
        cmocka_unit_test(test_bad_outputs),   cmocka_unit_test(test_stop),
        cmocka_unit_test(test_file_shrinks),  cmocka_unit_test(test_reader_leaves),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
