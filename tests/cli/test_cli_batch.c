/* test_cli_batch.c - many prompts in one run: what a line may hold, runs that are killed anywhere and go on,
 * results that cannot be mixed up, the summary. */
#include "run_program.h"
#include <math.h>

#define MANY                                                                                                 \
    "i=0; while [ $i -lt 60 ]; do echo \"{\\\"id\\\": $i, \\\"prompt\\\": \\\"The capital $i of\\\"}\"; "    \
    "i=$((i+1)); done >many.jsonl; "
/* What a result says, without what differs from run to run: how many threads a line had is among it. */
#define PLAIN                                                                                                \
    "sed -E 's/\"(seconds|predicted_(least_)?seconds|peak_bytes|predicted_peak_bytes|threads)\": "           \
    "?[0-9.e+-]+//g'"

static void broken_lines_do_not_stop_the_rest(void **state) {
    program *p = *state;
    program_expect(p, 1, NULL,
                   "printf '%s\\n' '{\"id\": \"a\", \"prompt\": \"The capital\"}' '{oops' '' '[1]' "
                   "'{\"promt\": \"x\"}' '{\"prompt\": 5}' '{\"ids\": [99999999]}' '{\"prompt\": \"\"}' "
                   "'{\"prompt\": \"a\", \"ids\": [1]}' '{\"ids\": [2, 5], \"target_ids\": [9]}' >b.jsonl; "
                   "$A explain $L --prompts b.jsonl --out r.jsonl");
    assert_non_null(strstr(p->out, "2 prompts explained, 7 failed"));
    program_expect(p, 0, NULL, "[ $(wc -l <r.jsonl) = 9 ] && [ $(grep -c '\"status\":\"ok\"' r.jsonl) = 2 ]");
    program_expect(p, 0, NULL, "grep -q 'no key .*promt' r.jsonl && grep -q '\"id\":\"a\"' r.jsonl");
    program_expect(p, 0, NULL,
                   "cp r.jsonl s.jsonl; $A explain $L --prompts b.jsonl --out r.jsonl; [ $? = 1 ] "
                   "&& cmp r.jsonl s.jsonl");
}

/* The process is killed at many moments; what stands there afterwards is what one run would have written. */
static void a_killed_run_goes_on(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, MANY "$A explain $L --prompts many.jsonl --out whole.jsonl --quiet");
    program_expect(
        p, 0, NULL,
        "rm -f cut.jsonl; for n in 0 1 2 9 20 21; do $A explain $L --prompts many.jsonl --out cut.jsonl "
        "--quiet & lines $n cut.jsonl $!; kill -KILL $!; wait $!; done 2>/dev/null; "
        "$A explain $L --prompts many.jsonl --out cut.jsonl --quiet && " PLAIN " whole.jsonl >w; " PLAIN
        " cut.jsonl >c; cmp w c");
    /* any byte can be the last one that reached the disk */
    program_expect(p, 0, NULL,
                   "n=$(wc -c <whole.jsonl); for k in 1 5 9 100 1000 $((n / 2)) $((n - 1)); do "
                   "head -c $k whole.jsonl >cut.jsonl; "
                   "$A explain $L --prompts many.jsonl --out cut.jsonl --quiet || exit 1; " PLAIN
                   " cut.jsonl >c; cmp w c || exit 1; done");
}

/* Lines of a batch are worked on side by side where there are threads for it; nothing of that shows but the
 * number of threads that each had. Every seventh line is none. */
#define MIXED                                                                                                \
    "i=0; while [ $i -lt 60 ]; do if [ $((i % 7)) = 3 ]; then echo '{\"promt\": 1}'; else "                  \
    "echo \"{\\\"id\\\": $i, \\\"prompt\\\": \\\"The capital $i of the $((i * i)) town\\\"}\"; fi; "         \
    "i=$((i+1)); done >mixed.jsonl; "

static void expect_how(program *p, const char *command, const char *how) {
    char text[4096];
    snprintf(text, sizeof text, "O='%s'; %s", how, command);
    program_expect(p, 0, NULL, text);
}

static void lines_side_by_side_say_the_same(void **state) {
    static const char *const how[] = {"--method integrated-gradients --rule gauss-legendre --steps 5",
                                      "--method saliency --mode compiled", "--mode eager", ""};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        expect_how(
            *state,
            MIXED
            "rm -f one many; $A explain $L --prompts mixed.jsonl --out one --threads 1 --quiet $O; "
            "[ $? = 1 ] || exit 2; $A explain $L --prompts mixed.jsonl --out many --threads 5 --quiet $O; "
            "[ $? = 1 ] || exit 2; " PLAIN " one >w; " PLAIN " many >c; cmp w c && [ $(wc -l <many) = 60 ] "
            "&& [ $(grep -c '\"status\":\"error\"' many) = 9 ]",
            how[i]);
        /* the first with all five threads, the rest side by side with one each */
        program_expect(*state, 0, NULL,
                       "[ $(grep -c '\"threads\":5' many) = 1 ] && [ $(grep -c '\"threads\":1' many) = 50 ]");
    }
}

static void killed_side_by_side(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        MIXED
        "rm -f whole cut; $A explain $L --prompts mixed.jsonl --out whole --threads 1 --quiet; "
        "for n in 0 1 2 3 9 20 21; do $A explain $L --prompts mixed.jsonl --out cut --threads 4 --quiet & "
        "lines $n cut $!; kill -KILL $!; wait $!; done 2>/dev/null; $A explain $L --prompts mixed.jsonl "
        "--out cut "
        "--threads 4 --quiet; [ $? = 1 ] || exit 2; " PLAIN " whole >w; " PLAIN " cut >c; cmp w c");
    /* asked to stop: whole lines only, in order, and the rest is made by the next run */
    program_expect(
        p, 0, NULL,
        "for n in 0 1 9; do rm -f cut; $A explain $L --prompts mixed.jsonl --out cut --threads 4 --quiet "
        "2>said & lines $n cut $!; kill -INT $!; wait $!; ! grep 'nothing was written' said || exit 5; if [ "
        "-s cut ]; then " PLAIN " cut >c; head -n $(wc -l <c) w | cmp - c || exit 2; fi; "
        "$A explain $L --prompts mixed.jsonl --out cut --threads 4 --quiet; [ $? = 1 ] || exit 4; " PLAIN
        " cut >c; cmp w c || exit 3; done 2>/dev/null");
}

/* The bound holds for all hands together, and a line that does not fit its share has all of it to itself: 482
 * tokens of attention-rollout take 39 MB. */
static void a_bound_is_shared(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        MANY
        "long=$(i=0; while [ $i -lt 120 ]; do printf 'the town '; i=$((i+1)); done); sed -i "
        "\"40s/.*/{\\\"prompt\\\": \\\"$long\\\", \\\"method\\\": \\\"attention-rollout\\\"}/\" many.jsonl; "
        "rm -f one bound; $A explain $L --prompts many.jsonl --out one --threads 1 --method saliency --quiet "
        "&& $A explain $L --prompts many.jsonl --out bound --threads 2 --memory 24M --method saliency "
        "--quiet "
        "&& grep -o '\"scores\":[^]]*' one >w; grep -o '\"scores\":[^]]*' bound >c; cmp w c");
    program_expect(
        p, 0, NULL,
        "[ $(grep -c '\"threads\":1' bound) = 58 ] && grep -q '\"line\":40,.*\"threads\":2' bound");
    program_expect(p, 0, NULL,
                   "grep -v '\"line\":40,' bound | grep -o '\"peak_bytes\":[0-9]*' | sed 's/.*://' | "
                   "awk '$1 > 12 * 1048576 {bad = 1} END {exit bad}'");
    /* a bound that two lines would not fit (each may take twice what the first one took): one at a time; one
     * that a line does not fit: that line fails */
    program_expect(p, 1, NULL,
                   "first=$(head -n 1 bound | sed 's/.*\"peak_bytes\":\\([0-9]*\\).*/\\1/'); "
                   "$A explain $L --prompts many.jsonl --out tight --threads 2 --memory $((3 * first)) "
                   "--method saliency --quiet");
    program_expect(p, 0, NULL,
                   "[ $(grep -c '\"threads\":2' tight) = 59 ] && "
                   "grep -q '\"line\":40,.*RESOURCE_EXHAUSTED.*raise --memory to at least' tight");
}

/* A line that takes the whole bound gets it: hands give their models back for it, and then go on. */
static void hands_make_room(void **state) {
    program_expect(
        *state, 0, NULL,
        MANY
        "long=$(i=0; while [ $i -lt 120 ]; do printf 'the town '; i=$((i+1)); done); sed -i "
        "\"40s/.*/{\\\"prompt\\\": \\\"$long\\\", \\\"method\\\": \\\"attention-rollout\\\"}/\" many.jsonl; "
        "sed -n 40p many.jsonl >alone.jsonl; rm -f small room; "
        "$A explain $L --prompts alone.jsonl --out small --threads 2 --memory 8M --quiet; "
        "M=$(sed 's/.*at least \\([0-9]*M\\).*/\\1/' small); $A explain $L --prompts many.jsonl --out room "
        "--threads 2 --memory $M --method saliency --quiet && [ $(grep -c '\"threads\":1' room) = 58 ] && "
        "[ $(grep -c '\"status\":\"ok\"' room) = 60 ]");
}

static double number_of(program *p, asc_ctx *ctx, const char *key) {
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    const double v = asc_json_num(asc_json_get(j, key), NAN);
    asc_json_free(j);
    return v;
}

#define PASSES "grep -o '\"forward\":[0-9]*' done | sed 's/.*://' | awk '{s += $1} END {print s}'"

/* What a file would cost is the sum over its lines, those that would fail are named, nothing is written. Of a
 * large file not every line is asked. */
static void prices(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(
        p, 0, "Nothing was computed",
        MIXED "grep -v promt mixed.jsonl >good.jsonl; rm -f done; "
              "$A explain $L --prompts good.jsonl --out done --dry-run 2>&1 >/dev/null; [ ! -e done ] && "
              "$A explain $L --prompts good.jsonl --dry-run >&2");
    program_expect(p, 0, NULL, "$A explain $L --prompts good.jsonl --out done --quiet; " PASSES);
    const double passes = strtod(p->out, NULL);
    program_expect(p, 0, NULL, "$A explain $L --prompts good.jsonl --dry-run --json -");
    assert_true(number_of(p, ctx, "forward") >= passes && number_of(p, ctx, "forward") <= passes);
    assert_true(number_of(p, ctx, "priced") >= 51 && number_of(p, ctx, "priced") <= 51);
    program_expect(p, 1, NULL, "$A explain $L --prompts mixed.jsonl --dry-run --json -");
    assert_true(number_of(p, ctx, "failed") >= 9 && number_of(p, ctx, "failed") <= 9);
    assert_non_null(strstr(p->out, "promt"));
    assert_true(number_of(p, ctx, "forward") >= passes && number_of(p, ctx, "forward") <= passes);
    program_expect(p, 1, NULL, "$A explain $L --prompts good.jsonl --dry-run --memory 100K");
    assert_non_null(strstr(p->out, "RESOURCE") != NULL ? p->out : strstr(p->out, "would fail"));
    /* by the longest of a thousand; words, and so passes, by the number of tokens */
    program_expect(
        p, 0, NULL,
        "i=0; while [ $i -lt 1000 ]; do w=; k=0; while [ $k -lt $((i * i % 23 + 2)) ]; do w=\"$w the "
        "town\"; k=$((k+1)); done; echo \"{\\\"prompt\\\": \\\"$w\\\"}\"; i=$((i+1)); done >large.jsonl; "
        "$A explain $L --prompts large.jsonl --dry-run --json -");
    double want = 0.0;
    for (int i = 0; i < 1000; i++)
        want += 2.0 * (i * i % 23 + 2) + 3.0; /* each word, and three of the whole */
    assert_true(number_of(p, ctx, "priced") <= 256);
    assert_true(fabs(number_of(p, ctx, "forward") - want) <= 1e-9 * want);
    test_ctx_end(ctx);
}

/* What one prompt leaves behind does not take the next one's room. */
static void a_tight_bound_holds_for_all(void **state) {
    program_expect(*state, 0, NULL,
                   MANY "$A explain $L --prompts many.jsonl --out tight.jsonl --memory 8M --method "
                        "integrated-gradients --max-evaluations 20 --quiet");
}

static void results_are_not_mixed(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "echo '{\"prompt\": \"a b\"}' >o.jsonl; $A explain $L --prompts o.jsonl --out x");
    program_expect(p, 3, "other options", "$A explain $L --prompts o.jsonl --out x --method saliency");
    program_expect(p, 3, "other options", "$A explain $Q --prompts o.jsonl --out x");
    program_expect(p, 3, "other prompts",
                   "echo '{\"prompt\": \"c\"}' >o2.jsonl; $A explain $L --prompts o2.jsonl --out x");
    program_expect(p, 3, "no result of a batch",
                   "echo 'my notes' >notes; $A explain $L --prompts o.jsonl --out notes");
    program_expect(p, 0, NULL, "grep -qx 'my notes' notes");
    program_expect(p, 3, "no result of a batch",
                   "printf 'half a note' >n2; $A explain $L --prompts o.jsonl --out n2");
    program_expect(p, 0, NULL, "[ \"$(cat n2)\" = 'half a note' ]");
    program_expect(
        p, 3, "another process",
        "echo '{\"prompt\": \"d\"}' >o3.jsonl; : >locked; flock locked sh -c \"$A explain $L --prompts "
        "o3.jsonl --out locked\"");
}

static void bad_calls(void **state) {
    program *p = *state;
    program_expect(p, 2, "--out", "echo '{\"prompt\": \"a\"}' >o.jsonl; $A explain $L --prompts o.jsonl");
    program_expect(p, 2, "--prompts", "$A explain $L --prompt a --out x.jsonl");
    program_expect(p, 2, "has many", "$A explain $L --prompts o.jsonl --out y --prompt a");
    program_expect(p, 3, "none.jsonl", "$A explain $L --prompts none.jsonl --out y");
    program_expect(p, 3, "holds no prompts",
                   "printf '\\n \\n' >e.jsonl; $A explain $L --prompts e.jsonl --out y");
    program_expect(p, 3, "cannot open it", "$A explain $L --prompts o.jsonl --out no/such/folder");
    program_expect(p, 3, "no result of a batch", "$A summary o.jsonl");
    /* a full disk: what was written whole stays, nothing else does */
    program_expect(
        p, 0, NULL,
        MANY "(ulimit -f 40; $A explain $L --prompts many.jsonl --out full.jsonl --quiet 2>why); [ $? = 3 ] "
             "&& grep -q -i 'too large' why && "
             "[ \"$(tail -c 1 full.jsonl | od -An -c | tr -d ' ')\" = '\\n' ] && "
             "$A explain $L --prompts many.jsonl --out full.jsonl --quiet && [ $(wc -l <full.jsonl) = 60 ]");
}

/* Totals against the sums of the scores in the file, by another program. */
static void the_summary_adds_up(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_json *j = NULL;
    program_expect(
        p, 0, NULL,
        "printf '%s\\n' '{\"prompt\": \"The capital\"}' '{\"prompt\": \" the CAPITAL of\"}' >t.jsonl; "
        "$A explain $L --prompts t.jsonl --out t.out --quiet; $A summary t.out --json -");
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    const asc_json *words = asc_json_get(j, "words");
    double total = 0.0, sum = 0.0;
    size_t times = 0;
    for (size_t i = 0; i < asc_json_len(words); i++) {
        const asc_json *w = asc_json_at(words, i);
        total += asc_json_num(asc_json_get(w, "total"), NAN);
        times += (size_t)asc_json_int(asc_json_get(w, "prompts"), 0);
    }
    assert_int_equal(asc_json_len(words), 3); /* the, capital, of: without case and blanks */
    assert_int_equal(times, 5);
    asc_json_free(j);
    program_expect(p, 0, NULL,
                   "grep -o '\"token_ids\":[^]]*],.*' t.out | grep -o '\"score\":[^,]*,\"error' | "
                   "sed 's/.*score\"://; s/,.*//' | "
                   "awk '{s += $1} END {printf \"%.9g\", s}'");
    sum = strtod(p->out, NULL);
    assert_true(fabs(sum - total) <= 1e-7 * (fabs(sum) + fabs(total))); /* nine digits are printed */
    test_ctx_end(ctx);
}

/* More answers than the table of classes begins with, each twice: none is lost or doubled when it grows. */
static void many_classes(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_json *j = NULL;
    program_expect(
        p, 0, NULL,
        "i=0; while [ $i -lt 3000 ]; do echo '{\"status\":\"ok\",\"result\":{\"label\":\"c'$((i % 1500))"
        "'\",\"value\":1,\"features\":[{\"text\":\"w\",\"score\":1}]}}'; i=$((i+1)); done >c.out; "
        "$A summary c.out --json -");
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    const asc_json *classes = asc_json_get(j, "classes");
    bool seen[1500] = {false};
    assert_int_equal(asc_json_len(classes), 1500);
    for (size_t i = 0; i < asc_json_len(classes); i++) {
        const asc_json *c = asc_json_at(classes, i);
        const int k = atoi(asc_json_str(asc_json_get(c, "class")).ptr + 1);
        assert_true(k >= 0 && k < 1500 && !seen[k]);
        seen[k] = true;
        assert_int_equal(asc_json_int(asc_json_get(c, "prompts"), 0), 2);
        assert_int_equal(asc_json_len(asc_json_get(c, "words")), 1);
    }
    asc_json_free(j);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_lines_do_not_stop_the_rest),
                                       cmocka_unit_test(a_killed_run_goes_on),
                                       cmocka_unit_test(lines_side_by_side_say_the_same),
                                       cmocka_unit_test(killed_side_by_side),
                                       cmocka_unit_test(a_bound_is_shared),
                                       cmocka_unit_test(a_tight_bound_holds_for_all),
                                       cmocka_unit_test(hands_make_room),
                                       cmocka_unit_test(prices),
                                       cmocka_unit_test(results_are_not_mixed),
                                       cmocka_unit_test(bad_calls),
                                       cmocka_unit_test(the_summary_adds_up),
                                       cmocka_unit_test(many_classes)};
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
