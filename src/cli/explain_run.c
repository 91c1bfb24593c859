/* explain_run.c - runs a request and writes its result as text, JSON and page. */
#include "cli.h"
#include <stdio.h>
#include <string.h>

/* "activations 190.2, tokenizer 22.0, ..." */
static void tags(asc_text *t, const size_t *bytes) {
    bool first = true;
    for (int i = 0; i < ASC_MEM_N_TAGS; i++) {
        double mb = (double)bytes[i] / 1e6;
        if (mb < 0.05) continue;
        asc_text_addf(t, "%s%s %.1f", first ? "" : ", ", asc_mem_tag_name((asc_mem_tag)i), mb);
        first = false;
    }
}

static void price(asc_text *t, const asc_result *r, double tolerance, size_t mapped) {
    asc_text_addf(t,
                  "Would take about %.3g s: %llu forward and %llu backward passes over %zu prompt tokens,\n"
                  "%.4g GFLOP, %.4g GB moved. ",
                  r->predicted_seconds, (unsigned long long)r->n_forward, (unsigned long long)r->n_backward,
                  r->n_prompt, r->flops / 1e9, r->predicted_bytes_moved / 1e9);
    if (r->tokens_run > 0)
        asc_text_addf(t, "Tokens: %llu of %llu (%.2f times saved). ", (unsigned long long)r->tokens_run,
                      (unsigned long long)r->tokens_plain, (double)r->tokens_plain / (double)r->tokens_run);
    asc_text_addf(t, "Prompts at a time: %zu", r->prompts_per_pass);
    if (r->keep_every == 1) asc_text_adds(t, "; gradients block by block");
    if (r->keep_every > 1)
        asc_text_addf(t, "; gradients block by block, inputs of every %zuth kept", r->keep_every);
    asc_text_addf(t, ".\nPeak %.1f MB (", (double)r->predicted_peak_bytes / 1e6);
    tags(t, r->predicted_tags);
    asc_text_addf(t, ") and %.1f MB of mapped file.\n", (double)mapped / 1e6);
    if (r->n_forward_flat > 0)
        asc_text_adds(t, tolerance > 0
                             ? "That is with all parts taken apart that may be, up to the first look "
                               "at the errors: sampling goes on until the tolerance is met.\n"
                             : "That is the most: what does not matter is not taken apart.\n");
    else if (r->stochastic && tolerance > 0)
        asc_text_adds(t, "That is the most: sampling ends as soon as the tolerance is met.\n");
    asc_text_adds(t, "Nothing was computed but the rates of this machine (--dry-run).\n");
    for (size_t i = 0; i < r->n_warnings; i++) {
        asc_text_adds(t, "Warning: ");
        asc_text_wrap(t, r->warnings[i], 9, 100);
    }
}

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
        price(c->out, r, req->tolerance, asc_memory(c->ctx).mapped_bytes);
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
