/* cmd_explain.c - ascribe explain: options to a request, the request to a result, the result to where it was
 * wanted. */
#include "cli.h"
#include <string.h>

static int check_outputs(cli *c) {
    if (cli_has(c, OPT_JSON) && cli_has(c, OPT_HTML) && strcmp(c->value[OPT_JSON], "-") == 0 &&
        strcmp(c->value[OPT_HTML], "-") == 0)
        return cli_usage("--json - and --html - would mix on standard output; give one of them a file");
    if (cli_has(c, OPT_JSON) && cli_has(c, OPT_HTML) && strcmp(c->value[OPT_JSON], c->value[OPT_HTML]) == 0 &&
        strncmp(c->value[OPT_JSON], "/dev/", 5) != 0)
        return cli_usage("--json and --html name the same file; the second would replace the first");
    int rc = cli_check_output(c, OPT_JSON);
    return rc == EXIT_DONE ? cli_check_output(c, OPT_HTML) : rc;
}

int cmd_explain(cli *c) {
    cli_explain_args j = {0};
    asc_model *m = NULL;
    int rc;
    if (cli_has(c, OPT_ASK)) {
        rc = check_outputs(c);
        return rc == EXIT_DONE ? cli_explain_ask(c) : rc;
    }
    if (cli_has(c, OPT_PROMPTS) || cli_has(c, OPT_OUT)) return cli_explain_batch(c);
    if (cli_is_net(c->operand[0])) {
        rc = cli_check_method(c->value[OPT_METHOD]);
        if (rc == EXIT_DONE) rc = check_outputs(c);
        return rc == EXIT_DONE ? cli_explain_net(c) : rc;
    }
    rc = cli_refuse_net_options(c);
    if (rc == EXIT_DONE) rc = cli_explain_request(c, &j);
    if (rc == EXIT_DONE) rc = check_outputs(c);
    if (rc == EXIT_DONE) rc = cli_explain_open(c, &j, &m);
    if (rc == EXIT_DONE) rc = cli_explain(c, m, &j.req);
    cli_explain_args_free(c, &j);
    asc_model_close(m);
    return rc;
}
