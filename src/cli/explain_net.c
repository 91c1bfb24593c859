/* explain_net.c - ascribe explain MODEL.onnx: opens the net, runs the request, writes what was asked for. */
#include "cli.h"
#include <stdio.h>
#include <string.h>

/* Options that speak of prompts. */
static int refuse_prompt_options(const cli *c) {
    static const cli_option_id target[] = {
        OPT_TARGET_IDS, OPT_GENERATE,   OPT_VERSUS_IDS, OPT_FEATURES,  OPT_WEIGHTS,       OPT_MAX_SECONDS,
        OPT_LABEL,      OPT_SIMILAR_TO, OPT_ADAPTER,    OPT_CORRUPTED, OPT_CORRUPTED_IDS, OPT_LAYERS,
        OPT_PER_TOKEN,  OPT_SPAN,       OPT_ALPHA,      OPT_REFINE,    OPT_TRIALS};
    for (int o = 0; o < N_OPTIONS; o++) {
        bool prompt = strcmp(cli_options[o].group, "Prompt") == 0;
        for (size_t i = 0; i < sizeof target / sizeof *target; i++) prompt = prompt || o == (int)target[i];
        if (prompt && cli_has(c, (cli_option_id)o) && strcmp(c->origin[o], "command line") == 0)
            return cli_usage("--%s is for language models and text encoders, '%.200s' is a net",
                             cli_options[o].name, c->operand[0]);
    }
    return EXIT_DONE;
}

/* Options that the method would not look at, and that the library cannot tell from a default. */
static int refuse_unread(const cli *c) {
    static const struct {
        cli_option_id id;
        const char *word; /* of the methods' lists of options */
    } options[] = {
        {OPT_BASELINE, "baselines"}, {OPT_MAX_EVALUATIONS, "max-evaluations"}, {OPT_STRIDE, "stride"}};
    const int method = asc_method_find(c->value[OPT_METHOD] != NULL ? c->value[OPT_METHOD] : "");
    const int base = asc_method_find(c->value[OPT_BASE] != NULL ? c->value[OPT_BASE] : "");
    if (cli_has(c, OPT_BYTES_AS) && !cli_has(c, OPT_BYTES)) return cli_usage("--bytes-as goes with --bytes");
    if (method < 0) return EXIT_DONE;
    const asc_method_info *me = asc_method_at((size_t)method),
                          *inner = base >= 0 ? asc_method_at((size_t)base) : NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *word = options[i].word;
        if (!cli_has(c, options[i].id) || strcmp(c->origin[options[i].id], "command line") != 0 ||
            asc_method_reads(me, word) || (inner != NULL && asc_method_reads(inner, word)))
            continue;
        return cli_usage("--%s has no effect: %s does not read it", cli_options[options[i].id].name,
                         me->name);
    }
    return EXIT_DONE;
}

static int write_document(cli *c, const asc_net_report *r, cli_option_id o) {
    asc_text *t = NULL;
    if (!cli_has(c, o)) return EXIT_DONE;
    asc_status st = asc_text_create(c->ctx, &t);
    if (st == ASC_OK) {
        if (o == OPT_JSON)
            asc_net_report_json(c->ctx, t, r);
        else
            asc_net_report_html(c->ctx, t, r);
        cli_clear_progress();
        st = asc_text_write(t, c->value[o]);
    }
    int rc = st == ASC_OK ? EXIT_DONE : cli_error(c, st);
    asc_text_destroy(t);
    return rc;
}

static int write_all(cli *c, const asc_net_report *r) {
    asc_report_style style = cli_style(c);
    if (r->request->dry_run)
        asc_net_report_price(c->out, r);
    else
        asc_net_report_text(c->ctx, c->out, r, &style);
    int rc = write_document(c, r, OPT_JSON);
    if (rc == EXIT_DONE) rc = write_document(c, r, OPT_HTML);
    if (rc == EXIT_DONE && cli_has(c, OPT_PNG)) {
        asc_status st = asc_net_report_png(c->ctx, r, c->value[OPT_PNG]);
        if (st != ASC_OK) rc = cli_error(c, st);
    }
    if (rc == EXIT_DONE && !cli_has(c, OPT_QUIET) && !cli_to_stdout(c, OPT_JSON) &&
        !cli_to_stdout(c, OPT_HTML))
        rc = cli_flush(c);
    return rc;
}

asc_net_report cli_net_report(const cli *c, const cli_net_args *a, const asc_attr_request *q,
                              const asc_attribution *r) {
    asc_net_report rep = {.request = q,
                          .result = r,
                          .net = a->net,
                          .model_path = c->operand[0],
                          .target_text = a->target_text,
                          .top = a->look.top,
                          .n_top = a->look.n_top,
                          .command = asc_text_view(a->command).ptr};
    bool at_inputs = q->n_at == 0;
    if (a->picture.rgb != NULL) {
        rep.picture = &a->picture;
        rep.picture_path = c->value[OPT_IMAGE];
        rep.nhwc = a->prep.nhwc;
    }
    if (a->bytes_file != NULL) {
        asc_view v = asc_text_view(a->bytes_file);
        rep.bytes = v.ptr;
        rep.n_bytes = v.len;
        rep.offsets = a->offsets.data;
        rep.n_offsets = a->offsets.data != NULL ? (size_t)asc_array_count(&a->offsets) : 0;
    }
    if (at_inputs && a->n_names > 0) {
        rep.feature_names = a->names;
        rep.n_feature_names = a->n_names;
    } else if (at_inputs && a->table.names != NULL) {
        rep.feature_names = (const char *const *)a->table.names;
        rep.n_feature_names = a->table.n_columns;
    }
    return rep;
}

int cli_net_choose_site(cli *c, cli_net_args *a, asc_attr_request *q, bool *chosen) {
    asc_site_choice choice;
    int64_t picture = a->picture.rgb != NULL ? (int64_t)a->picture_input : -1;
    *chosen = false;
    asc_status st = asc_net_choose_site(a->net, q, cli_has(c, OPT_BYTES), picture, &choice);
    if (st != ASC_OK) return cli_error(c, st);
    if (choice.through != NULL) q->neuron.value = choice.through;
    if (choice.at != NULL) {
        a->sites[0] = choice.at;
        q->at = a->sites;
        q->n_at = 1;
    }
    *chosen = choice.sum_rows;
    return EXIT_DONE;
}

int cli_net_open(cli *c, cli_net_args *a, asc_attr_request *q) {
    int rc = refuse_prompt_options(c);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_HTML);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_PNG);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    asc_status st = cli_net_load(c, &a->net);
    if (st != ASC_OK) return cli_error(c, st);
    if ((rc = cli_check_levels(c, NULL, a->net)) != EXIT_DONE) return rc;
    st = asc_text_create(c->ctx, &a->command);
    if (st != ASC_OK) return cli_error(c, st);
    cli_command_line(c, a->command);
    asc_text_add(a->command, (asc_view){"", 1}); /* ends it as a string */
    rc = cli_net_inputs(c, a);
    return rc == EXIT_DONE ? cli_net_request(c, a, q) : rc;
}

int cli_explain_net(cli *c) {
    cli_net_args a = {0};
    asc_attr_request q;
    asc_attribution *r = NULL;
    asc_status st;
    bool chosen = false;
    int rc = refuse_unread(c);
    if (rc == EXIT_DONE) rc = cli_net_open(c, &a, &q);
    if (rc == EXIT_DONE) rc = cli_net_choose_site(c, &a, &q, &chosen);
    if (rc == EXIT_DONE && (st = asc_attribute(a.net, &q, &r)) != ASC_OK) rc = cli_error(c, st);
    if (rc == EXIT_DONE && !q.dry_run) cli_note_levels(c);
    if (rc == EXIT_DONE) {
        if (chosen && !q.dry_run) asc_attribution_sum_rows(r);
        asc_net_report rep = cli_net_report(c, &a, &q, r);
        rc = write_all(c, &rep);
    }
    asc_attribution_destroy(c->ctx, r);
    cli_net_args_free(c, &a);
    return rc;
}
