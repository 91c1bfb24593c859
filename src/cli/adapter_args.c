/* adapter_args.c - --adapter PATH[:SCALE], any number of times. */
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What stands behind the last colon is the factor if it is a number; else it belongs to the path. */
static int read_one(const char *text, char *path, size_t room, asc_adapter *out) {
    if (strlen(text) >= room) return cli_usage("--adapter: the path is too long");
    strcpy(path, text);
    *out = (asc_adapter){path, 1.0};
    char *colon = strrchr(path, ':'), *end;
    if (colon == NULL || colon == path || colon[1] == '\0') return EXIT_DONE;
    const double v = strtod(colon + 1, &end);
    if (*end != '\0') return EXIT_DONE;
    if (!isfinite(v)) return cli_usage("--adapter: the factor %s is not a number", colon + 1);
    *colon = '\0';
    out->scale = v;
    return EXIT_DONE;
}

int cli_read_adapters(const cli *c, cli_adapters *out) {
    const char *text;
    int rc = EXIT_DONE;
    out->n = 0;
    for (size_t i = 0; rc == EXIT_DONE && (text = cli_nth(c, OPT_ADAPTER, i)) != NULL; i++) {
        if (i == CLI_MAX_ADAPTERS) return cli_usage("more than %d adapters", CLI_MAX_ADAPTERS);
        rc = read_one(text, out->path[i], sizeof out->path[i], &out->v[i]);
        out->n = i + 1;
    }
    if (out->n > 0 || c->adapters == NULL) return rc;
    for (; out->n < c->n_adapters && out->n < CLI_MAX_ADAPTERS; out->n++)
        out->v[out->n] = c->adapters[out->n];
    return rc;
}
