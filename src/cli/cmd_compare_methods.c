/* cmd_compare_methods.c - ascribe compare-methods: several methods on one input; how far they agree, how well
 * their order of features explains the value, what they cost. */
#include "ascribe/metrics.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METHODS = 16, CURVE_POINTS = 20, EVALUATIONS = 128 };
static const char default_methods[] =
    "saliency,input-x-gradient,integrated-gradients,gradient-shap,deep-lift,lrp";

typedef struct entry {
    char name[48];
    asc_attr_request q;
    asc_attribution *r;
    const char *site;
    double deletion, insertion, residual; /* NaN = not known */
    char why[256];                        /* r NULL: why it was not run */
} entry;

typedef struct comparison {
    entry e[MOST_METHODS];
    size_t n;
    double rank[MOST_METHODS][MOST_METHODS];
    bool chosen; /* default list */
} comparison;

static int read_methods(cli *c, comparison *x) {
    const char *list = cli_has(c, OPT_METHODS) ? c->value[OPT_METHODS] : default_methods;
    const char *names[64];
    size_t known = 0;
    x->chosen = !cli_has(c, OPT_METHODS);
    for (size_t i = 0; asc_method_at(i) != NULL && known < 64; i++) {
        if (asc_method_traits_at(i).nets) names[known++] = asc_method_at(i)->name;
    }
    for (const char *p = list; *p != '\0'; p += *p == ',') {
        size_t len = strcspn(p, ",");
        entry *e = &x->e[x->n];
        if (x->n == MOST_METHODS) return cli_usage("--methods: more than %d methods", MOST_METHODS);
        snprintf(e->name, sizeof e->name, "%.*s", (int)(len < sizeof e->name ? len : sizeof e->name - 1), p);
        bool found = false;
        for (size_t i = 0; i < known; i++) found = found || strcmp(names[i], e->name) == 0;
        for (size_t i = 0; i < x->n; i++) {
            if (strcmp(x->e[i].name, e->name) == 0) return cli_usage("--methods names '%s' twice", e->name);
        }
        if (!found) {
            const char *near = cli_nearest(e->name, names, known);
            if (near != NULL) return cli_usage("no method '%s' for nets; did you mean '%s'?", e->name, near);
            return cli_usage("no method '%s' for nets (see: ascribe methods)", e->name);
        }
        x->n++;
        p += len;
    }
    return x->n > 0 ? EXIT_DONE : cli_usage("--methods names no method");
}

/* Areas of the removal curves; not known where scores are no scores of single elements (a class map). */
static void judge(cli *c, const cli_net_args *a, entry *e) {
    asc_curves *k = NULL;
    const asc_scores *s = &e->r->scores[0];
    const asc_array scores = {ASC_ELEM_F64, s->shape, s->data};
    const asc_curves_request how = {
        .struct_size = sizeof how, .scores = &scores, .n_scores = 1, .points = CURVE_POINTS};
    e->deletion = e->insertion = e->residual = (double)NAN;
    if (e->r->complete && e->r->n_delta > 0) e->residual = e->r->delta[0];
    if (e->r->n_scores != 1 || asc_removal_curves(a->net, &e->q, &how, &k) != ASC_OK) {
        asc_error_clear(c->ctx);
        return;
    }
    e->deletion = k->deletion_area[0];
    e->insertion = k->insertion_area[0];
    asc_curves_destroy(c->ctx, k);
}

static int run_one(cli *c, cli_net_args *a, const asc_attr_request *base, entry *e, bool may_fail) {
    bool chosen = false;
    e->q = *base;
    if (e->q.max_evaluations == 0)
        e->q.max_evaluations = EVALUATIONS; /* a comparison need not be the last word */
    e->q.method = e->name;
    int rc = cli_net_window(c, a, &e->q);
    if (rc == EXIT_DONE) rc = cli_net_choose_site(c, a, &e->q, &chosen);
    if (rc != EXIT_DONE) return rc;
    if (chosen) { /* a->sites is used again for the next method */
        e->site = a->sites[0];
        e->q.at = &e->site;
    }
    asc_status st = asc_attribute(a->net, &e->q, &e->r);
    if (st != ASC_OK) {
        if (!may_fail || st == ASC_CANCELLED) return cli_error(c, st);
        snprintf(e->why, sizeof e->why, "%s", asc_error_message(c->ctx));
        asc_error_clear(c->ctx);
        return EXIT_DONE;
    }
    judge(c, a, e);
    if (chosen) asc_attribution_sum_rows(e->r);
    return EXIT_DONE;
}

static size_t count(const asc_scores *s) {
    size_t n = 1;
    for (int d = 0; d < s->shape.rank; d++) n *= (size_t)s->shape.dims[d];
    return n;
}

static int correlate(cli *c, comparison *x) {
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < x->n; k++) {
            const asc_attribution *a = x->e[i].r, *b = x->e[k].r;
            x->rank[i][k] = (double)NAN;
            if (a == NULL || b == NULL || count(&a->scores[0]) != count(&b->scores[0])) continue;
            asc_status st = asc_rank_correlation(c->ctx, a->scores[0].data, b->scores[0].data,
                                                 count(&a->scores[0]), &x->rank[i][k]);
            if (st != ASC_OK) return cli_error(c, st);
        }
    }
    return EXIT_DONE;
}

static void number(asc_text *t, int width, const char *format, double v) {
    char text[32] = "-";
    if (!isnan(v)) snprintf(text, sizeof text, format, v);
    asc_text_addf(t, "%*s", width, text);
}

static void text(cli *c, const cli_net_args *a, const comparison *x) {
    asc_text *t = c->out;
    asc_text_adds(t, "Explained: ");
    asc_text_shown(t, (asc_view){a->target_text, strlen(a->target_text)}, 90);
    asc_text_addf(t, "\n\n    %-24s %10s %10s %11s %9s %9s %9s\n", "method", "deletion", "insertion",
                  "residual", "forward", "backward", "seconds");
    for (size_t i = 0; i < x->n; i++) {
        const entry *e = &x->e[i];
        asc_text_addf(t, "%2zu  %-24s", i + 1, e->name);
        if (e->r == NULL) {
            asc_text_adds(t, " not run: ");
            asc_text_wrap(t, e->why, 39, 100);
            continue;
        }
        number(t, 11, "%.4g", e->deletion);
        number(t, 11, "%.4g", e->insertion);
        number(t, 12, "%.2e", e->residual);
        asc_text_addf(t, " %9llu %9llu %9.2f\n", (unsigned long long)e->r->n_forward,
                      (unsigned long long)e->r->n_backward, e->r->seconds);
    }
    asc_text_adds(t, "\nRank correlation of the scores (Spearman)\n\n                            ");
    for (size_t i = 0; i < x->n; i++) asc_text_addf(t, " %6zu", i + 1);
    asc_text_adds(t, "\n");
    for (size_t i = 0; i < x->n; i++) {
        asc_text_addf(t, "%2zu  %-24s", i + 1, x->e[i].name);
        for (size_t k = 0; k < x->n; k++) number(t, 7, "%.3f", x->rank[i][k]);
        asc_text_adds(t, "\n");
    }
    asc_text_adds(
        t, "\nDeletion: mean of the explained number while the features with the largest scores are taken "
           "away\nfirst (small is good). Insertion: while they are put in first (large is good). "
           "Residual: sum of\nthe scores minus the change of the number, for methods that promise 0.\n");
}

static void json(cli *c, const cli_net_args *a, const comparison *x) {
    asc_text *t = c->out;
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-method-comparison");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_str(t, "model", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_str(t, "target", (asc_view){a->target_text, strlen(a->target_text)});
    asc_text_array(t, "methods");
    for (size_t i = 0; i < x->n; i++) {
        const entry *e = &x->e[i];
        asc_text_object(t, NULL);
        asc_text_strz(t, "method", e->name);
        asc_text_strz(t, "not_run", e->r == NULL ? e->why : NULL);
        if (e->r != NULL) {
            asc_text_num(t, "deletion_area", e->deletion);
            asc_text_num(t, "insertion_area", e->insertion);
            asc_text_num(t, "residual", e->residual);
            asc_text_int(t, "forward", (int64_t)e->r->n_forward);
            asc_text_int(t, "backward", (int64_t)e->r->n_backward);
            asc_text_num(t, "seconds", e->r->seconds);
            asc_text_array(t, "scores");
            for (size_t k = 0; k < count(&e->r->scores[0]); k++)
                asc_text_num(t, NULL, e->r->scores[0].data[k]);
            asc_text_end(t);
        }
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_array(t, "rank_correlation");
    for (size_t i = 0; i < x->n; i++) {
        asc_text_array(t, NULL);
        for (size_t k = 0; k < x->n; k++) asc_text_num(t, NULL, x->rank[i][k]);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

static int write_page(cli *c, const cli_net_args *a, const comparison *x) {
    asc_net_report reports[MOST_METHODS];
    const asc_net_report *list[MOST_METHODS];
    asc_text *t = NULL;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (x->e[i].r == NULL) continue;
        reports[n] = cli_net_report(c, a, &x->e[i].q, x->e[i].r);
        list[n] = &reports[n];
        n++;
    }
    asc_status st = asc_text_create(c->ctx, &t);
    if (st == ASC_OK) {
        asc_net_report_compare_html(c->ctx, t, list, n);
        cli_clear_progress();
        st = asc_text_write(t, c->value[OPT_HTML]);
    }
    asc_text_destroy(t);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

static int write_all(cli *c, const cli_net_args *a, const comparison *x) {
    int rc = EXIT_DONE;
    if (cli_has(c, OPT_HTML)) rc = write_page(c, a, x);
    bool page_out = cli_has(c, OPT_HTML) && strcmp(c->value[OPT_HTML], "-") == 0;
    if (rc == EXIT_DONE && cli_wants_json(c)) {
        json(c, a, x);
        rc = cli_write_json(c, c->out);
        if (rc != EXIT_DONE || strcmp(c->value[OPT_JSON], "-") == 0) return rc;
        asc_text_clear(c->out);
    }
    if (rc != EXIT_DONE || cli_has(c, OPT_QUIET) || page_out) return rc;
    text(c, a, x);
    return cli_flush(c);
}

int cmd_compare_methods(cli *c) {
    cli_net_args a = {0};
    asc_attr_request q;
    if (!cli_is_net(c->operand[0]))
        return cli_usage("compare-methods is for nets: '%.200s' is no ONNX file", c->operand[0]);
    comparison *x = calloc(1, sizeof *x);
    if (x == NULL) return cli_usage("out of memory");
    int rc = read_methods(c, x);
    if (rc == EXIT_DONE) rc = cli_net_open(c, &a, &q);
    size_t run = 0;
    for (size_t i = 0; rc == EXIT_DONE && i < x->n; i++) {
        rc = run_one(c, &a, &q, &x->e[i], x->n > 1);
        run += x->e[i].r != NULL;
    }
    if (rc == EXIT_DONE && run == 0) rc = cli_usage("none of the methods can be run: %.200s", x->e[0].why);
    if (rc == EXIT_DONE) rc = correlate(c, x);
    if (rc == EXIT_DONE) rc = write_all(c, &a, x);
    if (rc == EXIT_DONE && run < x->n && !x->chosen) rc = EXIT_CHECK; /* asked for, and not there */
    for (size_t i = 0; c->ctx != NULL && i < x->n; i++) asc_attribution_destroy(c->ctx, x->e[i].r);
    cli_net_args_free(c, &a);
    free(x);
    return rc;
}
