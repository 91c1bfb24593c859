/* explain_ask.c - ascribe explain MODEL --ask FILE.json: the question from a file (docs/formats/question.md),
 * about a model of any kind. */
#include "ascribe/ask.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 };

/* What the question may say, it says alone: an option beside it would have to win or to lose silently. */
static int refuse_keys(const cli *c) {
    for (int o = 0; o < N_OPTIONS; o++) {
        if (!cli_has(c, (cli_option_id)o) || strcmp(c->origin[o], "command line") != 0) continue;
        bool key = o == OPT_PROMPT_FILE || o == OPT_PROMPTS || o == OPT_OUT || o == OPT_PNG;
        for (size_t k = 0; !key && asc_question_key_at(k) != NULL; k++)
            key = strcmp(asc_question_key_at(k)->option, cli_options[o].name) == 0;
        if (key)
            return cli_usage("--%s does not go with --ask: the question says everything about itself",
                             cli_options[o].name);
    }
    return EXIT_DONE;
}

static int open_subject(cli *c, asc_subject **out) {
    cli_adapters a;
    asc_model_options o;
    int rc = cli_model_options(c, &a, &o);
    if (rc != EXIT_DONE) return rc;
    cli_watch_file(c->operand[0]);
    asc_status st = asc_subject_open(c->ctx, c->operand[0], &o, out);
    if (st != ASC_OK) return cli_error(c, st);
    return cli_check_levels(c, asc_subject_model(*out), asc_subject_net(*out));
}

static int read_question(cli *c, asc_subject *s, asc_question **out) {
    const char *path = c->value[OPT_ASK];
    asc_text *file = NULL;
    asc_status st = asc_text_create(c->ctx, &file);
    if (st == ASC_OK) st = asc_text_read(file, path, MOST_BYTES);
    int rc = st == ASC_OK ? EXIT_DONE : cli_error(c, st);
    if (rc == EXIT_DONE) {
        st = asc_question_parse(s, asc_text_view(file), NULL, 0, out);
        if (st != ASC_OK) rc = cli_error_in(c, st, path, "write it as {\"prompt\": \"...\"}");
    }
    asc_text_destroy(file);
    return rc;
}

static int write_document(cli *c, asc_answer *a, cli_option_id o) {
    asc_text *t = NULL;
    if (!cli_has(c, o)) return EXIT_DONE;
    asc_status st = asc_text_create(c->ctx, &t);
    if (st == ASC_OK) {
        if (o == OPT_JSON)
            asc_answer_json(a, t);
        else
            asc_answer_html(a, t);
        cli_clear_progress();
        st = asc_text_write(t, c->value[o]);
    }
    int rc = st == ASC_OK ? EXIT_DONE : cli_error(c, st);
    asc_text_destroy(t);
    return rc;
}

static int write_all(cli *c, const asc_question *q, asc_answer *a) {
    const asc_request *prompt = asc_question_request(q);
    bool silent = cli_has(c, OPT_QUIET) || cli_to_stdout(c, OPT_JSON) || cli_to_stdout(c, OPT_HTML);
    bool dry = prompt != NULL ? prompt->dry_run : asc_question_attr_request(q)->dry_run;
    asc_report_style style = cli_style(c);
    if (!dry) cli_note_levels(c);
    asc_answer_text(a, c->out, &style);
    int rc = write_document(c, a, OPT_JSON);
    if (rc == EXIT_DONE) rc = write_document(c, a, OPT_HTML);
    if (rc == EXIT_DONE && !silent) rc = cli_flush(c);
    if (rc == EXIT_DONE && silent && !dry && prompt != NULL && !asc_answer_result(a)->converged)
        fputs("ascribe: NOT CONVERGED: the scores may be noise (see \"converged\" and \"error_bound\")\n",
              stderr);
    return rc;
}

int cli_explain_ask(cli *c) {
    asc_subject *s = NULL;
    asc_question *q = NULL;
    asc_answer *a = NULL;
    int rc = refuse_keys(c);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = open_subject(c, &s);
    if (rc == EXIT_DONE) rc = read_question(c, s, &q);
    if (rc == EXIT_DONE) {
        asc_status st = asc_ask(s, q, &a);
        rc = st == ASC_OK ? write_all(c, q, a) : cli_error(c, st);
    }
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_subject_close(s);
    return rc;
}
