/* cmd_cache.c - ascribe cache list|why|clear|verify: the programs that compiled mode keeps on disk. */
#include "ascribe/cache.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

typedef struct listing {
    cli *c;
    bool json;
    size_t n, damaged, foreign;
    double bytes;
} listing;

static const char *state_of(const asc_disk_entry *e) {
    return e->damaged ? "damaged" : e->usable ? "usable" : "foreign";
}

static void age_text(double seconds, char out[16]) {
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds < units[i].seconds) i++;
    snprintf(out, 16, "%.0f %s", seconds > 0 ? seconds / units[i].seconds : 0.0, units[i].unit);
}

static void row_json(asc_text *t, const asc_disk_entry *e) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "file", e->file);
    asc_text_int(t, "bytes", (int64_t)e->bytes);
    asc_text_num(t, "age_seconds", e->age_seconds);
    asc_text_int(t, "nodes", (int64_t)e->nodes);
    asc_text_int(t, "recorded_nodes", (int64_t)e->recorded);
    asc_text_num(t, "compile_seconds", e->compile_seconds);
    asc_text_strz(t, "state", state_of(e));
    asc_text_strz(t, "problem", e->problem);
    asc_text_strz(t, "build", e->build);
    asc_text_end(t);
}

static bool visit(void *self, const asc_disk_entry *e) {
    listing *l = self;
    asc_text *t = l->c->out;
    char age[16];
    l->n++;
    l->bytes += (double)e->bytes;
    l->damaged += e->damaged;
    l->foreign += !e->damaged && !e->usable;
    if (l->json) {
        row_json(t, e);
        return true;
    }
    if (l->n == 1)
        asc_text_addf(t, "%-18s %10s %8s %8s %9s  %s\n", "file", "bytes", "used", "nodes", "made in",
                      "state");
    age_text(e->age_seconds, age);
    asc_text_addf(t, "%-18.18s %10zu %8s %8zu %6.1f ms  %s%s%s\n", e->file, e->bytes, age, e->nodes,
                  1e3 * e->compile_seconds, state_of(e), e->damaged ? ": " : "",
                  e->damaged ? e->problem : "");
    return true;
}

static void begin_json(cli *c, const char *action) {
    asc_text_object(c->out, NULL);
    asc_text_strz(c->out, "kind", "ascribe-cache");
    asc_text_strz(c->out, "action", action);
    asc_text_strz(c->out, "folder", asc_disk_cache_dir(c->ctx));
}

static int end(cli *c, bool json) {
    if (!json) return cli_flush(c);
    asc_text_end(c->out);
    return cli_write_json(c, c->out);
}

static int list(cli *c, bool check) {
    listing l = {.c = c, .json = cli_wants_json(c)};
    size_t files = 0, bytes = 0;
    asc_text *t = c->out;
    if (l.json) {
        begin_json(c, check ? "verify" : "list");
        asc_text_array(t, "entries");
    }
    asc_status st = asc_disk_cache_list(c->ctx, check, visit, &l);
    if (st == ASC_OK && check && l.damaged > 0 && cli_has(c, OPT_FIX))
        st = asc_disk_cache_clear(c->ctx, true, &files, &bytes);
    if (st != ASC_OK) return cli_error(c, st);
    if (l.json) {
        asc_text_end(t);
        asc_text_int(t, "damaged", (int64_t)l.damaged);
        asc_text_int(t, "removed", (int64_t)files);
    } else {
        asc_text_addf(t, "%zu programs, %.1f MB in %s", l.n, l.bytes / 1e6, asc_disk_cache_dir(c->ctx));
        if (l.foreign > 0) asc_text_addf(t, "; %zu of another build, device or instruction set", l.foreign);
        if (check) asc_text_addf(t, "; %zu damaged", l.damaged);
        if (files > 0) asc_text_addf(t, ", removed");
        asc_text_addf(t, "\n");
        if (check && l.damaged > files)
            asc_text_addf(t, "ascribe cache verify --fix removes what is damaged\n");
    }
    int rc = end(c, l.json);
    return rc != EXIT_DONE ? rc : check && l.damaged > files ? EXIT_CHECK : EXIT_DONE;
}

static int why(cli *c) {
    const bool json = cli_wants_json(c);
    char *text = NULL;
    asc_status st = asc_disk_cache_why(c->ctx, &text);
    if (st != ASC_OK) return cli_error(c, st);
    if (json) {
        begin_json(c, "why");
        asc_text_array(c->out, "misses");
        for (char *p = text; *p != '\0';) {
            size_t n = strcspn(p, "\n");
            asc_text_str(c->out, NULL, (asc_view){p, n});
            p += n + (p[n] == '\n');
        }
        asc_text_end(c->out);
    } else if (text[0] == '\0') {
        asc_text_addf(c->out, "no program had to be made since the cache was cleared (%s)\n",
                      asc_disk_cache_dir(c->ctx));
    }
    for (char *p = text; !json && *p != '\0';) { /* seconds since 1970, then the rest */
        size_t n = strcspn(p, "\n"), space = strcspn(p, " \n");
        asc_text_addf(c->out, "%.*s\n", (int)(n - space), p + space + (p[space] == ' '));
        p += n + (p[n] == '\n');
    }
    asc_disk_cache_why_free(c->ctx, text);
    return end(c, json);
}

static int clear(cli *c) {
    size_t files, bytes;
    asc_status st = asc_disk_cache_clear(c->ctx, false, &files, &bytes);
    if (st != ASC_OK) return cli_error(c, st);
    const bool json = cli_wants_json(c);
    if (json) {
        begin_json(c, "clear");
        asc_text_int(c->out, "files", (int64_t)files);
        asc_text_int(c->out, "bytes", (int64_t)bytes);
    } else {
        asc_text_addf(c->out, "%zu programs removed, %.1f MB freed in %s\n", files, 1e-6 * (double)bytes,
                      asc_disk_cache_dir(c->ctx));
    }
    return end(c, json);
}

int cmd_cache(cli *c) {
    static const char *const actions[] = {"list", "why", "clear", "verify"};
    const char *action = c->operand[0];
    size_t which = 0;
    while (which < 4 && strcmp(actions[which], action) != 0) which++;
    if (which == 4) return cli_usage("cache: one of list, why, clear, verify, not '%.40s'", action);
    if (cli_has(c, OPT_FIX) && which != 3) return cli_usage("--fix goes with verify");
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    if (asc_disk_cache_dir(c->ctx)[0] == '\0')
        return cli_usage(
            "the cache is off: ASC_CACHE=0, or neither ASC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
    switch (which) {
    case 0:
        return list(c, false);
    case 1:
        return why(c);
    case 2:
        return clear(c);
    default:
        return list(c, true);
    }
}
