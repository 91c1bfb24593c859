/* test_ask_documents.c - the document of an answer is what `ascribe explain --json` writes for the same
 * question, but for what it took; and the command that a question gives is that question. */
#include "ascribe/ask.h"
#include "../cli/run_program.h"
#include "view.h"

/* Lines about time and memory differ from run to run. */
static bool measured(const char *line, size_t n) {
    static const char *const keys[] = {"\"seconds\":", "\"peak_bytes\":", "\"predicted_peak_bytes\":",
                                       "\"predicted_seconds\":", "\"predicted_least_seconds\":"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (memmem(line, n, keys[i], strlen(keys[i])) != NULL) return true;
    return false;
}

static void same_lines(const char *what, const char *a, const char *b) {
    size_t line = 1;
    for (; *a != '\0' || *b != '\0'; line++) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (!(measured(a, n) && measured(b, m)) && (n != m || memcmp(a, b, n) != 0))
            fail_msg("%s, line %zu: %.*s, by the program %.*s", what, line, (int)n, a, (int)m, b);
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
    assert_true(line > 30);
}

#define L "goldens/zoo_gguf/llama-q8_0/model.gguf"
#define E "encoders/electra"

static const struct {
    const char *model, *json, *options; /* options NULL: those of asc_question_command */
} cases[] = {
    {L, "{\"prompt\": \"one two three\"}", NULL},
    {L,
     "{\"prompt\": \"one two three\", \"target\": \" four\", \"versus\": \" five\", \"method\": "
     "\"saliency\"}",
     NULL},
    {L, "{\"prompt\": \"one two three\", \"generate\": 3, \"per_token\": true, \"layers\": \"all\"}", NULL},
    {L, "{\"prompt\": \"one two three\", \"generate\": 3, \"span\": \"1:3\", \"output\": \"prob\"}", NULL},
    {L,
     "{\"prompt\": \"one two three\", \"freeze\": \"two\", \"baseline\": \"eos\", \"features\": \"token\"}",
     NULL},
    {L,
     "{\"prompt\": \"one two three\", \"method\": \"integrated-gradients\", \"rule\": \"gauss-legendre\", "
     "\"steps\": 4}",
     NULL},
    {L, "{\"prompt\": \"one two three\", \"method\": \"kernel-shap\", \"samples\": 30, \"seed\": 5}", NULL},
    {L,
     "{\"prompt\": \"one two three\", \"corrupted\": \"one two four\", \"method\": \"attribution-patching\"}",
     NULL},
    {L, "{\"prompt\": \"one two three\", \"neuron\": \"blocks.0.mlp.act:3@-1\"}", NULL},
    {L, "{\"prompt\": \"one two three\", \"question\": \"four?\"}", NULL},
    {L, "{\"prompt\": \"one two three\", \"dry_run\": true}", NULL},
    {L, "{\"template\": \"one {a} {b}\", \"values\": {\"a\": \"two\", \"b\": \"three\"}}", NULL},
    {L,
     "{\"template\": \"one {a} {b}\", \"values\": {\"a\": {\"value\": \"two\", \"baseline\": [\"x\", \"y "
     "z\"]}, \"b\": "
     "\"three\"}, \"trials\": 2}",
     "--template 'one {a} {b}' --values v.json --trials 2"},
    {L,
     "{\"documents\": [{\"text\": \"one two\", \"label\": \"a\"}, {\"text\": \"three\", \"label\": \"line "
     "2\"}], "
     "\"question\": \"four?\", \"target\": \"x\"}",
     "--documents d.jsonl --question 'four?' --target x"},
    {L, "{\"documents\": [{\"text\": \"one two. And\", \"label\": \"d.txt\"}], \"features\": \"sentence\"}",
     "--documents d.txt --features sentence"},
    {E, "{\"ids\": [5, 9, 30, 3], \"features\": \"token\", \"label\": \"1\", \"versus\": \"LABEL_0\"}", NULL},
    {E, "{\"ids\": [5, 9, 30, 3], \"features\": \"token\", \"method\": \"lrp\"}", NULL},
};

/* By the link, whose path no shell needs to have quoted. */
static const char *data_path(program *p, const char *name) {
    char link[200];
    snprintf(link, sizeof link, ".data/%s", name);
    return program_path(p, link);
}

static void documents_are_the_programs(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "printf '{\"a\": {\"value\": \"two\", \"baseline\": [\"x\", \"y z\"]}, \"b\": \"three\"}' >v.json; "
        "printf '{\"text\": \"one two\", \"label\": \"a\"}\\n\"three\"\\n' >d.jsonl; "
        "printf 'one two. And\\n' >d.txt");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_subject *s = NULL;
        asc_question *q = NULL;
        asc_answer *a = NULL;
        asc_text *json = NULL, *command = NULL;
        char line[6000];
        assert_ok(ctx, asc_text_create(ctx, &json));
        assert_ok(ctx, asc_text_create(ctx, &command));
        assert_ok(ctx, asc_subject_open(ctx, data_path(p, cases[i].model), NULL, &s));
        if (asc_question_parse(s, asc_view_of(cases[i].json), NULL, 0, &q) != ASC_OK ||
            asc_ask(s, q, &a) != ASC_OK)
            fail_msg("%s: %s", cases[i].json, asc_error_message(ctx));
        asc_answer_json(a, json);
        assert_ok(ctx, asc_text_status(json));
        assert_int_equal(asc_question_command(q, command), cases[i].options == NULL);
        if (cases[i].options == NULL) {
            const char *said = asc_text_view(command).ptr;
            assert_memory_equal(said, "ascribe ", 8);
            snprintf(line, sizeof line, "$A %s --json - --quiet", said + 8);
        } else {
            snprintf(line, sizeof line, "$A explain %s %s --json - --quiet", asc_subject_path(s),
                     cases[i].options);
        }
        int rc = program_run(p, line);
        if (rc != 0) fail_msg("%s: exit %d: %s", line, rc, p->err);
        same_lines(cases[i].json, asc_text_view(json).ptr, p->out);
        asc_text_destroy(json);
        asc_text_destroy(command);
        asc_answer_destroy(a);
        asc_question_destroy(q);
        asc_subject_close(s);
        test_ctx_end(ctx);
    }
}

/* The page and the terminal's text are the program's too. */
static void pages_and_texts(void **state) {
    program *p = *state;
    for (int dry = 0; dry < 2; dry++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_subject *s = NULL;
        asc_question *q = NULL;
        asc_answer *a = NULL;
        asc_text *t = NULL;
        char line[5000];
        assert_ok(ctx, asc_text_create(ctx, &t));
        assert_ok(ctx, asc_subject_open(ctx, data_path(p, L), NULL, &s));
        assert_ok(ctx, asc_question_parse(s, asc_view_of("{\"prompt\": \"one two\"}"), NULL, 0, &q));
        asc_question_set_dry_run(q, dry == 1);
        assert_ok(ctx, asc_ask(s, q, &a));
        asc_answer_text(a, t, NULL);
        asc_answer_html(a, t);
        assert_ok(ctx, asc_text_status(t));
        snprintf(line, sizeof line, "$A explain %s --prompt 'one two' --html h.html %s; cat h.html",
                 asc_subject_path(s), dry ? "--dry-run" : "");
        assert_int_equal(program_run(p, line), 0);
        assert_true(p->out_len > 5000);
        size_t n = asc_text_view(t).len;
        double ratio = (double)n / (double)p->out_len; /* digits of measured numbers differ */
        assert_true(ratio > 0.99 && ratio < 1.01);
        size_t words = strcspn(p->out, "0123456789");
        assert_memory_equal(p->out, asc_text_view(t).ptr, words);
        asc_text_destroy(t);
        asc_answer_destroy(a);
        asc_question_destroy(q);
        asc_subject_close(s);
        test_ctx_end(ctx);
    }
}

/* --ask: the same question from a file or from standard input. */
static void questions_from_files(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "printf '{\"prompt\": \"one two three\", \"target\": \"x\", \"method\": \"saliency\"}' >q.json; "
        "$A explain $L --prompt 'one two three' --target x --method saliency --json - >a.json; "
        "$A explain $L --ask q.json --json b.json --html b.html --quiet; "
        "$A explain $L --ask - --json c.json <q.json; "
        "for f in a b c; do grep -v -e seconds -e peak_bytes $f.json >$f; done; cmp a b && cmp a c");
    assert_non_null(strstr(p->out, "one"));
    program_expect(p, 0, NULL, "grep -q 'one' b.html");
    program_expect(p, 2, "--prompt does not go with --ask", "$A explain $L --ask q.json --prompt a");
    program_expect(p, 2, "--seed does not go with --ask", "$A explain $L --ask q.json --seed 3");
    program_expect(p, 2, "--ask", "$A explain $L --ask q.json --prompts m --out n");
    program_expect(p, 3, "overwritten", "$A explain $L --ask q.json --json q.json");
    program_expect(p, 3, "cannot open", "$A explain $L --ask none.json");
    program_expect(p, 3, "'bad.json': a question has no key \"promt\"",
                   "echo '{\"promt\": 1}' >bad.json; $A explain $L --ask bad.json");
    program_expect(p, 3, "\"similar_to\"",
                   "echo '{\"ids\": [5], \"target\": \"a\"}' >e.json; "
                   "$A explain $Z/../../encoders/electra --ask e.json");
    program_expect(p, 1, NULL, /* lines say every key; a batch refuses options that only one prompt has */
                   "printf '{\"id\": 1, \"prompt\": \"a b\", \"freeze\": \"a\", \"method\": \"saliency\"}\n"
                   "{\"id\": 2, \"prompt\": \"a b\", \"steps\": -1}\n' >m.jsonl; "
                   "$A explain $L --prompts m.jsonl --out r.jsonl --quiet");
    program_expect(p, 0, NULL,
                   "sed -n 1p r.jsonl | grep -q '\"name\": *\"saliency\"' && "
                   "sed -n 2p r.jsonl | grep -q 'steps.*a whole number from 1 on'");
    program_expect(p, 0, NULL, /* a line's own target stands for the run's */
                   "printf '{\"prompt\": \"a b\", \"generate\": 2}\\n{\"prompt\": \"a b\"}\\n' >t.jsonl; "
                   "$A explain $L --prompts t.jsonl --out t --target x --quiet; "
                   "sed -n 1p t | grep -q '\"generate\": *2' && sed -n 2p t | grep -q '\"text\": *\"x\"'");
    program_expect(p, 2, "lines that may say it", "$A explain $L --prompts m.jsonl --out s.jsonl --freeze a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(documents_are_the_programs, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(pages_and_texts, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(questions_from_files, program_setup, program_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
