/* precision_args.c - levels for parts of a model, and whether int8 may be among them. */
#include "ascribe/precision.h"
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
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

/* ---- names ---- */

/* What --precision-at may name: sites, the parts that they are in, and parts without sites of their own. */
typedef struct names {
    char **v;
    size_t n, cap;
    bool failed;
} names;

static void add_name(names *l, const char *s, size_t len) {
    for (size_t i = l->n; i > 0 && i + 64 > l->n; i--) { /* parts of neighbours are the same */
        if (strlen(l->v[i - 1]) == len && memcmp(l->v[i - 1], s, len) == 0) return;
    }
    if (l->n == l->cap) {
        const size_t cap = 2 * l->cap + 64;
        char **v = realloc(l->v, cap * sizeof *v);
        if (v == NULL) l->failed = true;
        if (v == NULL) return;
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n] = strndup(s, len);
    if (l->v[l->n] == NULL)
        l->failed = true;
    else
        l->n++;
}

/* "blocks.3.attn.in": itself, "blocks.3.attn", "blocks.3", "blocks". */
static void add_parts(names *l, const char *site) {
    for (size_t n = strlen(site); n > 0; n--)
        if (strchr(".:/#", site[n]) != NULL) add_name(l, site, n);
}

static names known_names(const asc_model *m, const asc_net *net) {
    static const char *const parts[] = {"embed", "head", "pooled"};
    char site[512];
    names l = {0};
    for (size_t i = 0; m != NULL && i < sizeof parts / sizeof *parts; i++)
        add_name(&l, parts[i], strlen(parts[i]));
    for (size_t i = 0; m != NULL && asc_model_site(m, i, site, sizeof site); i++) add_parts(&l, site);
    for (size_t i = 0; net != NULL && asc_net_site(net, i) != NULL; i++) add_parts(&l, asc_net_site(net, i));
    for (size_t i = 0; net != NULL && i < asc_net_n_outputs(net); i++) {
        const char *output = asc_net_output(net, i).name;
        add_name(&l, output, strlen(output));
    }
    return l;
}

int cli_check_levels(cli *c, const asc_model *m, const asc_net *net) {
    const char *site;
    asc_precision level;
    bool used;
    int rc = EXIT_DONE;
    if (!cli_has(c, OPT_PRECISION_AT)) return EXIT_DONE;
    names l = known_names(m, net);
    for (size_t i = 0; rc == EXIT_DONE && asc_precision_at(c->ctx, i, &site, &level, &used); i++) {
        bool known = l.failed; /* without memory nobody is accused */
        for (size_t k = 0; !known && k < l.n; k++) known = strcmp(l.v[k], site) == 0;
        if (known) continue;
        const char *near = cli_nearest(site, (const char *const *)l.v, l.n);
        cli_clear_progress();
        fprintf(stderr, "ascribe: --precision-at: this model has no part '%.200s'", site);
        if (near != NULL) fprintf(stderr, "; did you mean '%.200s'?", near);
        fputs("\n  try: ascribe inspect --all lists the sites\n", stderr);
        rc = EXIT_INPUT;
    }
    for (size_t i = 0; i < l.n; i++) free(l.v[i]);
    free(l.v);
    return rc;
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
