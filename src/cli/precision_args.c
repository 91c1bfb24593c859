/* precision_args.c - levels for parts of a model, and whether int8 may be among them. */
#include "ascribe/precision.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

int cli_set_level(cli *c, const char *text) {
    char site[512];
    const char *eq = strrchr(text, '=');
    int level = eq != NULL ? asc_precision_from_name(eq + 1) : -1;
    if (level < 0 || eq == text || (size_t)(eq - text) >= sizeof site)
        return cli_usage("--precision-at is SITE=LEVEL, LEVEL one of %s, not '%.60s'",
                         cli_options[OPT_PRECISION].arg, text);
    snprintf(site, sizeof site, "%.*s", (int)(eq - text), text);
    asc_status st = asc_set_precision_at(c->ctx, site, (asc_precision)level);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

/* Commands that measure what a level does may measure int8 too. */
int cli_set_levels(cli *c) {
    bool measures = c->command != CMD_explain && c->command != CMD_compare_methods && c->command != CMD_rerun;
    if (cli_has(c, OPT_EMULATE) || cli_has(c, OPT_AGAINST)) asc_emulate_levels(c->ctx, true);
    asc_allow_int8(c->ctx, measures || cli_has(c, OPT_FORCE_INT8));
    for (size_t i = 0; cli_nth(c, OPT_PRECISION_AT, i) != NULL; i++) {
        int rc = cli_set_level(c, cli_nth(c, OPT_PRECISION_AT, i));
        if (rc != EXIT_DONE) return rc;
    }
    return EXIT_DONE;
}

void cli_note_levels(cli *c) {
    const char *site;
    asc_precision level;
    bool used;
    for (size_t i = 0; asc_precision_at(c->ctx, i, &site, &level, &used); i++) {
        if (used) continue;
        cli_clear_progress();
        fprintf(stderr, "ascribe: --precision-at: no product belongs to '%s' (see: ascribe inspect --all)\n",
                site);
    }
}
