/* compare_places.c - ascribe compare MODEL: every method on several devices, in several modes, at several
 * precisions, with several numbers of threads; or against the products of a matrix unit.
 *
 * A place is a device and a precision. Within a place every mode and number of threads must give the same
 * bits (at `highest`); between places scores may differ by what docs/errors.md allows, the first place being
 * the measure.
 */
#include "ascribe/compare.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WAYS = 96, MOST_PLACES = 24, MOST_ROWS = 96 };

/* One way to run: a place, and how. */
typedef struct way {
    cli_where at;
    size_t place;
} way;

typedef struct place {
    const char *device, *precision;
} place;

/* A method at the input or at a site, what it said in each way, and how that compares. */
typedef struct row {
    const char *method;
    bool at_site;
    cli_run runs[MOST_WAYS];
    char why[256];               /* not run: the reason */
    bool same[MOST_PLACES];      /* all ways of the place gave the same bits */
    const way *odd[MOST_PLACES]; /* the first that did not */
    asc_difference odd_by[MOST_PLACES];
    asc_difference d[MOST_PLACES]; /* of the place's first way from the first place's */
} row;

typedef struct suite {
    way ways[MOST_WAYS];
    place places[MOST_PLACES];
    size_t n_ways, n_places, n_rows;
    row *rows;
    char *blocks[4];
    bool predicts; /* --against */
    double layers; /* of a language model; 0 = a net */
} suite;

static int add_way(suite *s, const char *device, const char *precision, const char *mode,
                   const char *threads) {
    size_t p = 0;
    while (p < s->n_places &&
           (strcmp(s->places[p].device, device) != 0 || strcmp(s->places[p].precision, precision) != 0))
        p++;
    if (p == MOST_PLACES || s->n_ways == MOST_WAYS)
        return cli_usage("too many combinations (at most %d)", MOST_WAYS);
    if (p == s->n_places) s->places[s->n_places++] = (place){device, precision};
    s->ways[s->n_ways++] =
        (way){{.device = device, .precision = precision, .mode = mode, .threads = threads}, p};
    return EXIT_DONE;
}

static int read_list(const cli *c, suite *s, int block, cli_option_id o, const char *fallback,
                     const char *allowed, const char **out, int most) {
    return cli_words(cli_options[o].name, cli_has(c, o) ? c->value[o] : fallback, allowed, out, most,
                     &s->blocks[block]);
}

/* Every combination; the reference device knows one precision and is run with all threads only. */
static int read_ways(cli *c, suite *s) {
    const char *devices[4], *modes[4], *levels[6], *threads[8];
    bool net = cli_is_builtin(c->operand[0]) || cli_is_net(c->operand[0]);
    int nd = read_list(c, s, 0, OPT_DEVICES, net ? "reference,cpu" : "cpu", cli_options[OPT_DEVICE].arg,
                       devices, 3);
    int nm = nd < 0 ? -1
                    : read_list(c, s, 1, OPT_MODES, "eager,deferred,compiled", cli_options[OPT_MODE].arg,
                                modes, 3);
    int nl = nm < 0
                 ? -1
                 : read_list(c, s, 2, OPT_PRECISIONS, "highest", cli_options[OPT_PRECISION].arg, levels, 5);
    int nt = nl < 0 ? -1 : read_list(c, s, 3, OPT_THREADS_LIST, "1,2", NULL, threads, 7);
    if (nt < 0) return EXIT_USAGE;
    for (int d = 0; d < nd; d++) {
        bool exact = strcmp(devices[d], "reference") == 0;
        for (int l = 0; l < (exact ? 1 : nl); l++) {
            for (int t = exact ? nt - 1 : 0; t < nt; t++) {
                for (int m = 0; m < nm; m++) {
                    int rc = add_way(s, devices[d], exact ? "highest" : levels[l], modes[m], threads[t]);
                    if (rc != EXIT_DONE) return rc;
                }
            }
        }
    }
    return EXIT_DONE;
}

/* The products of a matrix unit, by its own names for its levels. */
static int read_against(cli *c, suite *s) {
    static const struct {
        const char *name, *level;
    } units[] = {{"tpu-default", "medium"}, {"tpu-high", "high"}, {"tpu-highest", "bf16x6"}};
    const char *level = NULL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, c->value[OPT_AGAINST]) == 0) level = units[i].level;
    }
    if (cli_has(c, OPT_DEVICES) || cli_has(c, OPT_PRECISIONS))
        return cli_usage("--against chooses device and precision; leave out --devices and --precision");
    s->predicts = true;
    int rc = add_way(s, "cpu", "highest", NULL, NULL);
    return rc == EXIT_DONE ? add_way(s, "cpu", level, NULL, NULL) : rc;
}

/* The methods that work on this kind of model; at sites too where the net knows one that makes sense. */
static int make_rows(const cli *c, suite *s) {
    bool prompts = !cli_is_builtin(c->operand[0]) && !cli_is_net(c->operand[0]);
    s->rows = calloc(MOST_ROWS, sizeof *s->rows);
    if (s->rows == NULL) return cli_usage("out of memory");
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        asc_method_traits traits = asc_method_traits_at(i);
        const char *name = asc_method_at(i)->name;
        int wanted = c->value[OPT_METHOD] != NULL ? asc_method_find(c->value[OPT_METHOD]) : (int)i;
        if (!(prompts ? traits.prompts : traits.nets) || wanted != (int)i) continue;
        if (prompts && c->value[OPT_METHOD] == NULL &&
            ((traits.needs_site && !cli_has(c, OPT_SITE)) ||
             (traits.needs_neuron && !cli_has(c, OPT_NEURON))))
            continue;
        for (int site = 0; site < (cli_is_builtin(c->operand[0]) ? 2 : 1); site++) {
            if (s->n_rows < MOST_ROWS) s->rows[s->n_rows++] = (row){.method = name, .at_site = site == 1};
        }
    }
    return s->n_rows > 0 ? EXIT_DONE : cli_usage("no method '%.60s' for this model", c->value[OPT_METHOD]);
}

static int run_way(cli *c, suite *s, size_t w) {
    cli_job job;
    cli here = *c;
    int rc;
    if (here.value[OPT_RULE] ==
        NULL) { /* the adaptive rule would choose its points by errors that it measures */
        here.value[OPT_RULE] = "gauss-legendre";
        here.origin[OPT_RULE] = "command line";
    }
    if (here.value[OPT_STEPS] == NULL) {
        here.value[OPT_STEPS] = "16";
        here.origin[OPT_STEPS] = "command line";
    }
    here.value[OPT_METHOD] = s->rows[0].method;
    rc = cli_job_open(&here, &s->ways[w].at, &job);
    if (rc == EXIT_DONE && job.model != NULL) s->layers = (double)asc_model_get_info(job.model).n_layers;
    for (size_t i = 0; rc == EXIT_DONE && i < s->n_rows; i++) {
        row *r = &s->rows[i];
        char why[sizeof r->why] = "";
        if (r->why[0] != '\0') continue;
        cli_progress(NULL, "methods", (double)(w * s->n_rows + i), (double)(s->n_ways * s->n_rows));
        rc = cli_job_method(&job, r->method, r->at_site, why, sizeof why);
        if (rc == EXIT_DONE) rc = cli_job_run(&job, &r->runs[w], why, sizeof why);
        if (rc == EXIT_CHECK && why[0] != '\0') {
            memcpy(r->why, why, sizeof why);
            rc = EXIT_DONE;
        }
    }
    cli_job_close(&job);
    return rc;
}

static double roundoff(const place *p) {
    if (strcmp(p->device, "reference") == 0) return 0x1p-53;
    return asc_precision_roundoff((asc_precision)asc_precision_from_name(p->precision));
}

/* Errors of sampled scores are standard errors; here the draws are the same. */
static asc_score_set set_of(const cli_run *r) {
    return (asc_score_set){r->score, r->stochastic ? NULL : r->error, r->n};
}

static int judge_row(cli *c, suite *s, row *r, size_t top_k) {
    size_t first[MOST_PLACES];
    for (size_t w = s->n_ways; w-- > 0;) first[s->ways[w].place] = w;
    for (size_t p = 0; p < s->n_places; p++) r->same[p] = true;
    for (size_t w = 0; w < s->n_ways; w++) {
        size_t p = s->ways[w].place, against = w == first[p] ? first[0] : first[p];
        double factor = s->layers > 0 ? 128 * s->layers : 64,
               u = (roundoff(&s->places[p]) + roundoff(&s->places[w == first[p] ? 0 : p])) / 2;
        asc_score_set a = set_of(&r->runs[against]), b = set_of(&r->runs[w]);
        asc_difference d;
        asc_status st = asc_scores_compare(c->ctx, &a, &b, factor * u, top_k, NULL, &d);
        if (st != ASC_OK) return cli_error(c, st);
        if (w == first[p]) {
            r->d[p] = d;
        } else if (!d.same_bits && r->same[p]) {
            r->same[p] = false;
            r->odd[p] = &s->ways[w];
            r->odd_by[p] = d;
        }
    }
    return EXIT_DONE;
}

/* Bits must be equal at highest; elsewhere the differences must be within the errors. */
static bool good(const suite *s, const row *r) {
    for (size_t p = 0; p < s->n_places; p++) {
        bool exact = strcmp(s->places[p].precision, "highest") == 0;
        if (!r->same[p] && (exact || r->odd_by[p].beyond > 0)) return false;
        if (!s->predicts && r->d[p].beyond > 0) return false;
    }
    return true;
}

static void place_name(const place *p, char out[32]) {
    bool exact = strcmp(p->device, "reference") == 0;
    snprintf(out, 32, "%s%s%s", p->device, exact ? "" : " ", exact ? "" : p->precision);
}

static void not_run(asc_text *t, const row *r) {
    asc_text_addf(t, "%-24s %-6s not run: ", r->method, r->at_site ? "site" : "input");
    asc_text_wrap(t, r->why, 41, 100);
}

/* A method without a form at the site is no news; one that cannot be run anywhere is. */
static bool silent(const suite *s, const row *r) {
    for (size_t i = 0; r->why[0] != '\0' && i < s->n_rows; i++) {
        if (strcmp(s->rows[i].method, r->method) == 0 && s->rows[i].why[0] == '\0') return true;
    }
    return false;
}

static void parity_text(asc_text *t, const suite *s, size_t run, size_t bad) {
    char name[32];
    place_name(&s->places[0], name);
    asc_text_addf(t,
                  "Largest difference of a score from %s, over the largest score; same: all modes and "
                  "threads agree\n\n",
                  name);
    asc_text_addf(t, "%-24s %-6s", "method", "at");
    for (size_t p = 0; p < s->n_places; p++) {
        place_name(&s->places[p], name);
        asc_text_addf(t, " %18s", name);
    }
    asc_text_adds(t, "\n");
    for (size_t i = 0; i < s->n_rows; i++) {
        const row *r = &s->rows[i];
        if (silent(s, r)) continue;
        if (r->why[0] != '\0') {
            not_run(t, r);
            continue;
        }
        asc_text_addf(t, "%-24s %-6s", r->method, r->at_site ? "site" : "input");
        for (size_t p = 0; p < s->n_places; p++) {
            char cell[48];
            snprintf(cell, sizeof cell, "%.2e%s %s", r->d[p].max_rel, r->d[p].beyond > 0 ? "!" : "",
                     r->same[p] ? "same" : "DIFFER");
            asc_text_addf(t, " %18s", p == 0 && r->same[p] ? "same" : cell);
        }
        asc_text_addf(t, "%s%s\n", r->runs[0].stochastic ? "  same draws" : "", good(s, r) ? "" : "  OVER");
        for (size_t p = 0; p < s->n_places; p++) {
            if (r->same[p]) continue;
            asc_text_addf(t,
                          "    %s, %s threads, differs from %s, %s threads, by %.2e of the largest score\n",
                          r->odd[p]->at.mode, r->odd[p]->at.threads, s->ways[0].at.mode,
                          s->ways[0].at.threads, r->odd_by[p].max_rel);
        }
    }
    asc_text_addf(t, "\n%zu rows in %zu ways: %s", run, s->n_ways, bad == 0 ? "all within" : "NOT within: ");
    if (bad > 0) asc_text_addf(t, "%zu", bad);
    asc_text_adds(t, ". (! = beyond the errors of docs/errors.md)\n");
}

static void prediction_text(asc_text *t, const cli *c, const suite *s) {
    asc_text_addf(
        t,
        "Predicted by emulation: attributions with the products of %s (level %s) against f32 products\n\n"
        "%-24s %-6s %11s %9s %9s %9s %9s\n",
        c->value[OPT_AGAINST], s->places[1].precision, "method", "at", "difference", "Spearman", "Kendall",
        "moved", "top kept");
    for (size_t i = 0; i < s->n_rows; i++) {
        const row *r = &s->rows[i];
        if (silent(s, r)) continue;
        if (r->why[0] != '\0') {
            not_run(t, r);
            continue;
        }
        const asc_difference *d = &r->d[1];
        asc_text_addf(t, "%-24s %-6s %11.2e %9.4f %9.4f %4zu/%-4zu %7.0f %%%s\n", r->method,
                      r->at_site ? "site" : "input", d->max_rel, d->spearman, d->kendall, d->rank_changes,
                      d->n, 100 * d->top_overlap, r->runs[0].stochastic ? "  same draws" : "");
    }
    asc_text_adds(
        t, "\ndifference: largest of a score, over the largest score. moved: scores in another place of the "
           "order.\ntop kept: share of the largest scores that are among the largest there too.\n");
}

static void json(asc_text *t, const cli *c, const suite *s, size_t bad) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", s->predicts ? "ascribe-prediction" : "ascribe-parity");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_str(t, "model", (asc_view){c->operand[0], strlen(c->operand[0])});
    if (s->predicts) asc_text_strz(t, "against", c->value[OPT_AGAINST]);
    asc_text_bool(t, "within", bad == 0);
    asc_text_int(t, "ways", (int64_t)s->n_ways);
    asc_text_array(t, "rows");
    for (size_t i = 0; i < s->n_rows; i++) {
        const row *r = &s->rows[i];
        if (silent(s, r)) continue;
        asc_text_object(t, NULL);
        asc_text_strz(t, "method", r->method);
        asc_text_strz(t, "at", r->at_site ? "site" : "input");
        asc_text_str(t, "not_run", (asc_view){r->why[0] != '\0' ? r->why : NULL, strlen(r->why)});
        if (r->why[0] == '\0') {
            asc_text_bool(t, "stochastic", r->runs[0].stochastic);
            asc_text_bool(t, "within", good(s, r));
            asc_text_array(t, "places");
            for (size_t p = 0; p < s->n_places; p++) {
                const asc_difference *d = &r->d[p];
                asc_text_object(t, NULL);
                asc_text_strz(t, "device", s->places[p].device);
                asc_text_strz(t, "precision", s->places[p].precision);
                asc_text_bool(t, "same_bits_in_all_modes", r->same[p]);
                asc_text_num(t, "max_rel", d->max_rel);
                asc_text_int(t, "beyond", (int64_t)d->beyond);
                asc_text_num(t, "excess", d->excess);
                asc_text_num(t, "spearman", d->spearman);
                asc_text_num(t, "kendall", d->kendall);
                asc_text_int(t, "rank_changes", (int64_t)d->rank_changes);
                asc_text_num(t, "top_overlap", d->top_overlap);
                asc_text_end(t);
            }
            asc_text_end(t);
        }
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

/* Largest differences as a table for a page. */
static void markdown(asc_text *t, const suite *s) {
    char name[32];
    asc_text_adds(t, "| method | at |");
    for (size_t p = 1; p < s->n_places; p++) {
        place_name(&s->places[p], name);
        asc_text_addf(t, " %s |", name);
    }
    asc_text_adds(t, "\n|---|---|");
    for (size_t p = 1; p < s->n_places; p++) asc_text_adds(t, "---|");
    asc_text_adds(t, "\n");
    for (size_t i = 0; i < s->n_rows; i++) {
        const row *r = &s->rows[i];
        if (r->why[0] != '\0') continue;
        asc_text_addf(t, "| %s | %s |", r->method, r->at_site ? "site" : "input");
        for (size_t p = 1; p < s->n_places; p++) asc_text_addf(t, " %.1e |", r->d[p].max_rel);
        asc_text_adds(t, "\n");
    }
}

static int report(cli *c, const suite *s, size_t run, size_t bad) {
    if (cli_wants_json(c)) {
        json(c->out, c, s, bad);
        return cli_write_json(c, c->out);
    }
    if (cli_has(c, OPT_MARKDOWN))
        markdown(c->out, s);
    else if (s->predicts)
        prediction_text(c->out, c, s);
    else
        parity_text(c->out, s, run, bad);
    return cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
}

int cli_compare_places(cli *c) {
    size_t run = 0, bad = 0, top_k = 0;
    suite *s = calloc(1, sizeof *s);
    if (s == NULL) return cli_usage("out of memory");
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_COMPARE_TOP, 0, &top_k);
    if (rc == EXIT_DONE) rc = cli_check_method(c->value[OPT_METHOD]);
    if (rc == EXIT_DONE) rc = cli_has(c, OPT_AGAINST) ? read_against(c, s) : read_ways(c, s);
    if (rc == EXIT_DONE) rc = make_rows(c, s);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    for (size_t w = 0; rc == EXIT_DONE && w < s->n_ways; w++) rc = run_way(c, s, w);
    cli_clear_progress();
    for (size_t i = 0; rc == EXIT_DONE && i < s->n_rows; i++) {
        row *r = &s->rows[i];
        if (r->why[0] != '\0') continue;
        rc = judge_row(c, s, r, top_k);
        run++;
        if (rc == EXIT_DONE && !good(s, r)) bad++;
    }
    if (rc == EXIT_DONE && run == 0) rc = cli_usage("none of the methods can be run: %.200s", s->rows[0].why);
    if (rc == EXIT_DONE) rc = report(c, s, run, bad);
    for (size_t i = 0; i < s->n_rows; i++) {
        for (size_t w = 0; w < s->n_ways; w++) cli_run_free(&s->rows[i].runs[w]);
    }
    for (size_t i = 0; i < sizeof s->blocks / sizeof *s->blocks; i++) free(s->blocks[i]);
    free(s->rows);
    free(s);
    return rc != EXIT_DONE ? rc : bad == 0 ? EXIT_DONE : EXIT_CHECK;
}
