/* cmd_compare.c - ascribe compare: two result files, or one model in several places and ways. */
#include "ascribe/compare.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 256 << 20, SHOWN = 20 };

static int read_file(cli *c, const char *path, asc_text **out) {
    asc_status st = asc_text_create(c->ctx, out);
    if (st == ASC_OK) st = asc_text_read(*out, path, MOST_BYTES);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

static void json(asc_text *t, const cli *c, const asc_result_difference *r) {
    const asc_difference *d = &r->d;
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-comparison");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_str(t, "a", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_str(t, "b", (asc_view){c->operand[1], strlen(c->operand[1])});
    asc_text_strz(t, "method", r->method);
    asc_text_bool(t, "within", r->within);
    asc_text_bool(t, "same_bits", d->same_bits);
    asc_text_array(t, "changes");
    for (size_t i = 0; i < r->n_changes; i++)
        asc_text_str(t, NULL, (asc_view){r->changes[i], strlen(r->changes[i])});
    asc_text_end(t);
    asc_text_num(t, "value_a", r->value_a);
    asc_text_num(t, "value_b", r->value_b);
    asc_text_num(t, "largest_score", d->largest);
    asc_text_num(t, "max_abs", d->max_abs);
    asc_text_num(t, "max_rel", d->max_rel);
    asc_text_int(t, "at", (int64_t)d->at);
    asc_text_int(t, "beyond", (int64_t)d->beyond);
    asc_text_num(t, "excess", d->excess);
    asc_text_bool(t, "sampled", r->sampled);
    asc_text_num(t, "spearman", d->spearman);
    asc_text_num(t, "kendall", d->kendall);
    asc_text_int(t, "rank_changes", (int64_t)d->rank_changes);
    asc_text_int(t, "top_k", (int64_t)d->top_k);
    asc_text_num(t, "top_overlap", d->top_overlap);
    asc_text_array(t, "scores");
    for (size_t i = 0; i < d->n; i++) {
        const asc_compared *s = &r->scores[i];
        asc_text_object(t, NULL);
        asc_text_str(t, "name", (asc_view){s->name, strlen(s->name)});
        asc_text_num(t, "a", s->a);
        asc_text_num(t, "b", s->b);
        asc_text_num(t, "tolerance", s->tolerance);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

/* Places of the largest differences, largest first. */
static size_t largest_differences(const asc_result_difference *r, size_t *out, size_t most) {
    size_t n = 0;
    for (size_t i = 0; i < r->d.n; i++) {
        double d = fabs(r->scores[i].a - r->scores[i].b);
        size_t at = n;
        while (at > 0 && d > fabs(r->scores[out[at - 1]].a - r->scores[out[at - 1]].b)) at--;
        if (at == most) continue;
        if (n < most) n++;
        memmove(out + at + 1, out + at, (n - 1 - at) * sizeof *out);
        out[at] = i;
    }
    return n;
}

static void table(asc_text *t, const asc_result_difference *r) {
    size_t at[SHOWN], n = largest_differences(r, at, SHOWN);
    asc_text_addf(t, "\n%-28s %13s %13s %11s %11s\n", r->d.n > n ? "largest differences" : "feature", "a",
                  "b", "difference", "tolerance");
    for (size_t i = 0; i < n; i++) {
        const asc_compared *s = &r->scores[at[i]];
        double d = s->b - s->a;
        size_t w = asc_text_shown(t, (asc_view){s->name, strlen(s->name)}, 28);
        asc_text_blanks(t, w < 28 ? 29 - w : 1);
        asc_text_addf(t, "%13.6g %13.6g %11.2e %11.2e%s\n", s->a, s->b, d, s->tolerance,
                      fabs(d) <= s->tolerance ? "" : "  BEYOND");
    }
}

static void text(asc_text *t, const asc_result_difference *r) {
    const asc_difference *d = &r->d;
    if (d->same_bits)
        asc_text_addf(t, "The same numbers: %zu scores of %s, bit for bit.\n", d->n, r->method);
    else
        asc_text_addf(
            t,
            "%s: %zu of %zu scores of %s differ by more than their tolerance (%s).\nLargest difference "
            "%.3g, that is %.2g of the largest score %.4g; %.2g of its tolerance.\n",
            r->within ? "Within" : "NOT within", d->beyond, d->n, r->method,
            r->sampled ? "three standard errors of each" : "the sum of their errors", d->max_abs, d->max_rel,
            d->largest, d->excess);
    asc_text_addf(t,
                  "Order: %zu of %zu in another place; Spearman %.4f, Kendall %.4f; of the %zu largest, %.0f "
                  "%% are the "
                  "same.\nExplained number: %.9g, %.9g.\n",
                  d->rank_changes, d->n, d->spearman, d->kendall, d->top_k, 100 * d->top_overlap, r->value_a,
                  r->value_b);
    if (r->n_changes > 0) asc_text_adds(t, "What changed:\n");
    for (size_t i = 0; i < r->n_changes; i++) {
        asc_text_adds(t, "  ");
        asc_text_shown(t, (asc_view){r->changes[i], strlen(r->changes[i])}, 0);
        asc_text_adds(t, "\n");
    }
    if (!d->same_bits) table(t, r);
}

static int compare_files(cli *c) {
    asc_text *a = NULL, *b = NULL;
    asc_result_difference *r = NULL;
    size_t top_k = 0;
    bool within = false;
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_COMPARE_TOP, 0, &top_k);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = read_file(c, c->operand[0], &a);
    if (rc == EXIT_DONE) rc = read_file(c, c->operand[1], &b);
    if (rc == EXIT_DONE) {
        asc_status st = asc_results_compare(c->ctx, asc_text_view(a), asc_text_view(b), top_k, &r);
        if (st != ASC_OK) rc = cli_error(c, st);
    }
    if (rc == EXIT_DONE) {
        within = r->within;
        if (cli_wants_json(c)) {
            json(c->out, c, r);
            rc = cli_write_json(c, c->out);
        } else {
            text(c->out, r);
            rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
        }
    }
    if (c->ctx != NULL) asc_result_difference_destroy(c->ctx, r);
    asc_text_destroy(a);
    asc_text_destroy(b);
    return rc != EXIT_DONE ? rc : within ? EXIT_DONE : EXIT_CHECK;
}

/* Options of the other form of the command would be ignored. */
static int refuse_others(const cli *c) {
    for (int o = 0; o < N_OPTIONS; o++) {
        if (!cli_has(c, (cli_option_id)o) || o == OPT_JSON || o == OPT_QUIET || o == OPT_NO_COLOR ||
            o == OPT_COMPARE_TOP || strcmp(c->origin[o], "command line") != 0)
            continue;
        return cli_usage("--%s goes with a model, not with two result files", cli_options[o].name);
    }
    return EXIT_DONE;
}

int cmd_compare(cli *c) {
    if (cli_has(c, OPT_OPS))
        return c->n_operands == 0 ? cli_compare_ops(c) : cli_usage("--ops stands instead of a model");
    if (c->n_operands == 0) return cli_usage("'compare' needs two result files, a model, or --ops");
    if (c->n_operands == 1) return cli_compare_places(c);
    int rc = refuse_others(c);
    return rc == EXIT_DONE ? compare_files(c) : rc;
}
