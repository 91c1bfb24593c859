/* cmd_summary.c - ascribe summary: what the results of many prompts have in common. */
#include "ascribe/batch.h"
#include "cli.h"

int cmd_summary(cli *c) {
    size_t top = 0;
    int rc = cli_size(c, OPT_TOP, 0, &top);
    if (rc == EXIT_DONE && cli_has(c, OPT_TOP) && top == 0) rc = cli_usage("--top is at least 1");
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    bool json = cli_wants_json(c);
    asc_status st = asc_batch_summary(c->ctx, c->operand[0], top, json, c->out);
    if (st != ASC_OK) return cli_error(c, st);
    return json ? cli_write_json(c, c->out) : cli_flush(c);
}
