/* cmd_evaluate.c - ascribe evaluate: how faithful methods are on a model's prompts. */
#include "ascribe/evaluate.h"
#include "cli.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_METHODS = 64 };

typedef struct evaluation {
    cli_explain_args args;
    asc_faith_options o;
    const char *names[MOST_METHODS];
    char *block;
    asc_model *m, *shuffled;
} evaluation;

static int read_methods(cli *c, evaluation *e) {
    size_t n = 0;
    if (cli_has(c, OPT_METHODS)) {
        int k = cli_words("methods", c->value[OPT_METHODS], NULL, e->names, MOST_METHODS, &e->block);
        if (k < 0) return EXIT_USAGE;
        for (int i = 0; i < k; i++) {
            int rc = strcmp(e->names[i], "random") == 0 ? EXIT_DONE : cli_check_method(e->names[i]);
            if (rc != EXIT_DONE) return rc;
        }
        n = (size_t)k;
    } else { /* patching needs a second prompt, conductance a site or a neuron; exact Shapley values need 2^n
                prompts, sampling gets there */
        for (size_t i = 0; asc_method_at(i) != NULL && n + 1 < MOST_METHODS; i++) {
            const char *name = asc_method_at(i)->name;
            const asc_method_traits t = asc_method_traits_at(i);
            if (t.prompts && !t.needs_site && !t.needs_neuron && strstr(name, "patching") == NULL &&
                strcmp(name, "shapley-values") != 0)
                e->names[n++] = name;
        }
        e->names[n++] = "random";
    }
    e->o.methods = e->names;
    e->o.n_methods = n;
    return EXIT_DONE;
}

static int check(const cli *c) {
    if (cli_is_net(c->operand[0]))
        return cli_usage(
            "evaluate is for language models and text encoders; see ascribe compare-methods for nets");
    if (!cli_has(c, OPT_PROMPTS)) return cli_usage("evaluate needs --prompts FILE.jsonl");
    if (cli_has(c, OPT_METHOD)) return cli_usage("evaluate takes --methods LIST");
    for (int o = 0; o < N_OPTIONS; o++) {
        if (o != OPT_PROMPTS && cli_has(c, (cli_option_id)o) && strcmp(cli_options[o].group, "Prompt") == 0)
            return cli_usage("--%s is about one prompt; --prompts has many", cli_options[o].name);
    }
    return EXIT_DONE;
}

static int open_models(cli *c, evaluation *e) {
    int rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_open_model(c, &e->m);
    if (rc != EXIT_DONE || !e->o.sanity) return rc;
    asc_model_options o = {
        .struct_size = sizeof o, .weights = cli_weights(c), .shuffle_seed = e->args.req.seed + 1};
    asc_status st = asc_model_open(c->ctx, c->operand[0], &o, &e->shuffled);
    e->o.shuffled = e->shuffled;
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

static int run(cli *c, evaluation *e) {
    asc_evaluation *found = NULL;
    cli_progress_only("prompts evaluated");
    asc_status st = asc_evaluate(e->m, c->value[OPT_PROMPTS], &e->args.req, &e->o, &found);
    cli_progress_only(NULL);
    cli_clear_progress();
    if (st != ASC_OK) return cli_error(c, st);
    bool json = cli_wants_json(c);
    asc_evaluation_write(c->out, found,
                         cli_has(c, OPT_MARKDOWN) ? ASC_EVALUATION_MARKDOWN : ASC_EVALUATION_TEXT);
    int rc = cli_has(c, OPT_QUIET) || cli_to_stdout(c, OPT_JSON) ? EXIT_DONE : cli_flush(c);
    if (rc == EXIT_DONE && json) {
        asc_text_clear(c->out);
        asc_evaluation_write(c->out, found, ASC_EVALUATION_JSON);
        rc = cli_write_json(c, c->out);
    }
    asc_evaluation_destroy(c->ctx, found);
    return rc;
}

int cmd_evaluate(cli *c) {
    evaluation e = {.o = {.struct_size = sizeof e.o, .sanity = !cli_has(c, OPT_NO_SANITY)}};
    int rc = check(c);
    if (rc == EXIT_DONE) rc = cli_refuse_net_options(c);
    if (rc == EXIT_DONE) rc = cli_explain_request(c, &e.args);
    if (rc == EXIT_DONE) rc = read_methods(c, &e);
    if (rc == EXIT_DONE) rc = cli_baseline(c, OPT_REMOVAL, &e.o.removal, &e.o.removal_token);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SUBSETS, 0, &e.o.subsets);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = open_models(c, &e);
    if (rc == EXIT_DONE) rc = run(c, &e);
    free(e.block);
    cli_explain_args_free(c, &e.args);
    asc_model_close(e.shuffled);
    asc_model_close(e.m);
    return rc;
}
