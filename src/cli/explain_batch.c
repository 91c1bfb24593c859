/* explain_batch.c - ascribe explain --prompts FILE.jsonl --out RESULTS.jsonl. */
#include "ascribe/batch.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

static const char prompts[] = "prompts";

static bool on_line(void *self, const asc_batch_counts *n) {
    (void)self;
    return cli_progress(NULL, prompts, (double)(n->done + n->skipped), (double)n->lines);
}

static int check(const cli *c) {
    static const cli_option_id one[] = {OPT_PROMPT, OPT_TEXT_PROMPT, OPT_PROMPT_FILE, OPT_CHAT,
                                        OPT_USER,   OPT_SYSTEM,      OPT_IDS,         OPT_TEMPLATE,
                                        OPT_VALUES, OPT_DOCUMENTS,   OPT_FREEZE,      OPT_SKIP_TOKENS,
                                        OPT_TRIALS, OPT_QUESTION,    OPT_HTML};
    if (cli_is_net(c->operand[0])) return cli_usage("--prompts is for language models and text encoders");
    if (!cli_has(c, OPT_PROMPTS)) return cli_usage("--out goes with --prompts FILE");
    if (!cli_has(c, OPT_OUT) && !cli_has(c, OPT_DRY_RUN))
        return cli_usage("--prompts needs --out FILE for the results");
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        if (cli_has(c, one[i]))
            return cli_usage("--%s is about one prompt; --prompts has many, and lines that may say it",
                             cli_options[one[i]].name);
    }
    return EXIT_DONE;
}

/* What was done, then what the results have in common. */
static int report(cli *c, const asc_batch_counts *n) {
    if (n->skipped > 0) asc_text_addf(c->out, "%zu of %zu were done before. ", n->skipped, n->lines);
    asc_text_addf(c->out, "%zu prompts in %.3g s", n->done, n->seconds);
    if (n->done > 0) asc_text_addf(c->out, ", %.3g s each", n->seconds / (double)n->done);
    asc_text_addf(c->out, "; %zu of all failed.\n", n->failed);
    asc_status st = asc_batch_summary(c->ctx, c->value[OPT_OUT], 0, false, c->out);
    if (st == ASC_OK && cli_has(c, OPT_JSON)) {
        asc_text *t = NULL;
        st = asc_text_create(c->ctx, &t);
        if (st == ASC_OK) st = asc_batch_summary(c->ctx, c->value[OPT_OUT], 0, true, t);
        int rc = st == ASC_OK ? cli_write_json(c, t) : EXIT_DONE;
        asc_text_destroy(t);
        if (rc != EXIT_DONE) return rc;
    }
    if (st != ASC_OK) return cli_error(c, st);
    return cli_has(c, OPT_QUIET) || cli_to_stdout(c, OPT_JSON) ? EXIT_DONE : cli_flush(c);
}

/* What it would cost, and which lines would fail. */
static int price(cli *c, asc_model *m, const asc_batch *b) {
    asc_batch_cost cost = {0};
    asc_text *json = NULL;
    asc_status st = cli_has(c, OPT_JSON) ? asc_text_create(c->ctx, &json) : ASC_OK;
    if (st == ASC_OK) st = asc_batch_price(m, b, &cost, c->out, json);
    cli_clear_progress();
    int rc = st == ASC_OK ? EXIT_DONE : cli_error(c, st);
    if (rc == EXIT_DONE && json != NULL) rc = cli_write_json(c, json);
    asc_text_destroy(json);
    if (rc == EXIT_DONE && !cli_has(c, OPT_QUIET) && !cli_to_stdout(c, OPT_JSON)) rc = cli_flush(c);
    return rc == EXIT_DONE && cost.failed > 0 ? EXIT_CHECK : rc;
}

/* Runs the lines, and says how far it came. */
static int run(cli *c, asc_model *m, const asc_batch *b, asc_batch_counts *n) {
    cli_progress_only(prompts);
    asc_status st = asc_batch_run(m, b, n);
    cli_progress_only(NULL);
    cli_clear_progress();
    if (st == ASC_OK) return report(c, n);
    const int rc = cli_error(c, st);
    if (n->done + n->skipped > 0)
        fprintf(stderr, "ascribe: %zu of %zu prompts are in '%s'; the same command goes on from there\n",
                n->done + n->skipped, n->lines, c->value[OPT_OUT]);
    return rc;
}

int cli_explain_batch(cli *c) {
    cli_explain_args j = {0};
    asc_model *m = NULL;
    asc_batch_counts n = {0};
    int rc = check(c);
    if (rc == EXIT_DONE) rc = cli_refuse_net_options(c);
    if (rc == EXIT_DONE) rc = cli_explain_request(c, &j);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_open_model(c, &m);
    if (rc == EXIT_DONE) {
        j.req.want_sha256 = !cli_has(c, OPT_DRY_RUN);
        const asc_batch b = {.struct_size = sizeof b,
                             .prompts = c->value[OPT_PROMPTS],
                             .results = c->value[OPT_OUT],
                             .request = &j.req,
                             .weights = cli_weights(c),
                             .on_line = on_line};
        rc = cli_has(c, OPT_DRY_RUN) ? price(c, m, &b) : run(c, m, &b, &n);
    }
    if (rc == EXIT_DONE && n.failed > 0) rc = EXIT_CHECK;
    cli_explain_args_free(c, &j);
    asc_model_close(m);
    return rc;
}
