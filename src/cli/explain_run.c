/* explain_run.c - runs a request and writes its result as text, JSON and page. */
#include "cli.h"
#include <stdio.h>
#include <string.h>

/* Builds one document and writes it to the file of option o. */
static int write_document(cli *c, const asc_report *rep, cli_option_id o) {
    asc_text *t = NULL;
    if (!cli_has(c, o)) return EXIT_DONE;
    asc_status st = asc_text_create(c->ctx, &t);
    if (st == ASC_OK) {
        if (o == OPT_JSON)
            asc_report_json(t, rep);
        else
            asc_report_html(c->ctx, t, rep);
        cli_clear_progress();
        st = asc_text_write(t, c->value[o]);
    }
    int rc = st == ASC_OK ? EXIT_DONE : cli_error(c, st);
    asc_text_destroy(t);
    return rc;
}

int cli_explain(cli *c, asc_model *m, const asc_request *req) {
    asc_result *r = NULL;
    asc_status st = asc_explain(m, req, &r);
    if (st != ASC_OK) return cli_error(c, st);
    if (!req->dry_run) cli_note_levels(c);
    asc_report rep = {
        .request = req, .result = r, .tokenizer = asc_model_tokenizer(m), .weights = cli_weights(c)};
    asc_report_style style = cli_style(c);
    if (req->dry_run)
        asc_report_price(c->ctx, c->out, &rep);
    else
        asc_report_text(c->out, &rep, &style);
    int rc = write_document(c, &rep, OPT_JSON);
    if (rc == EXIT_DONE) rc = write_document(c, &rep, OPT_HTML);
    if (rc == EXIT_DONE && !cli_has(c, OPT_QUIET) && !cli_to_stdout(c, OPT_JSON) &&
        !cli_to_stdout(c, OPT_HTML))
        rc = cli_flush(c);
    if (rc == EXIT_DONE && !r->converged && !req->dry_run &&
        (cli_has(c, OPT_QUIET) || cli_to_stdout(c, OPT_JSON) || cli_to_stdout(c, OPT_HTML)))
        fputs("ascribe: NOT CONVERGED: the scores may be noise (see \"converged\" and \"error_bound\")\n",
              stderr);
    asc_result_destroy(c->ctx, r);
    return rc;
}
