/* report_layers.c - see report_layers.h. */
#include "report_layers.h"
#include "alloc.h"
#include "html_put.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, SITE = 22, CELL = 9, MOST_ROWS = 64 };

static double largest_cell(const asc_result *r) {
    double m = 0.0;
    for (size_t i = 0; i < r->n_inner * r->n_features; i++) m = fmax(m, fabs(r->inner_scores[i]));
    return m;
}

/* Of the change of the value; NaN where there is none. */
static double share_of(const asc_result *r, double v) {
    const double change = r->value - r->baseline_value;
    return asc_has_baseline(r) && fabs(change) > 0.0 ? v / change : NAN;
}

/* ---- text ---- */

typedef struct ranked {
    size_t which;
    double size;
} ranked;

static int by_size(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->size > y->size || x->size < y->size) return x->size > y->size ? -1 : 1;
    return x->which < y->which ? -1 : x->which > y->which;
}

static int by_place(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->which < y->which ? -1 : x->which > y->which;
}

/* The n strongest of `all`, in their order. */
static void choose(ranked *v, size_t all, size_t n) {
    qsort(v, all, sizeof *v, by_size);
    qsort(v, n < all ? n : all, sizeof *v, by_place);
}

static void put_text_row(asc_text *t, const asc_result *r, size_t i, const ranked *columns, size_t n) {
    char number[32];
    const double share = share_of(r, r->inner[i].total);
    asc_figure(r->inner[i].total, true, number);
    asc_text_addf(t, "  %-*s %*s", SITE, r->inner[i].name, CELL, number);
    if (asc_has_baseline(r)) {
        asc_snprintf(number, sizeof number, "%.1f %%", 100.0 * share);
        asc_text_addf(t, " %*s", CELL, isfinite(share) ? number : "-");
    }
    for (size_t k = 0; k < n; k++) {
        asc_figure(r->inner_scores[i * r->n_features + columns[k].which], true, number);
        asc_text_addf(t, " %*s", CELL, number);
    }
    asc_text_adds(t, "\n");
}

static void put_text_head(asc_text *t, const asc_report *rep, const ranked *columns, size_t n) {
    asc_text_addf(t, "  %-*s %*s", SITE, "layer", CELL, "total");
    if (asc_has_baseline(rep->result)) asc_text_addf(t, " %*s", CELL, "share");
    for (size_t k = 0; k < n; k++) {
        asc_view v = asc_feature_shown(rep, &rep->result->features[columns[k].which]);
        size_t w = asc_shown_columns(v);
        asc_text_blanks(t, w < CELL ? 1 + CELL - w : 1);
        asc_text_shown(t, v, CELL);
    }
    asc_text_adds(t, "\n");
}

void asc_put_layers_text(asc_text *t, const asc_report *rep, size_t columns) {
    const asc_result *r = rep->result;
    size_t used = 2 + SITE + (asc_has_baseline(r) ? 2 : 1) * (1 + CELL),
           fit = columns > used ? (columns - used) / (CELL + 1) : 0;
    if (r->n_inner == 0) return;
    if (fit > r->n_features) fit = r->n_features;
    ranked *f = asc_calloc(t->ctx, ASC_MEM_GENERAL, r->n_features + 1, sizeof *f),
           *rows = asc_calloc(t->ctx, ASC_MEM_GENERAL, r->n_inner, sizeof *rows);
    if (f == NULL || rows == NULL) {
        t->b.failed = true;
    } else {
        for (size_t i = 0; i < r->n_inner * r->n_features; i++) {
            const double a = fabs(r->inner_scores[i]);
            ranked *col = &f[i % r->n_features], *row = &rows[i / r->n_features];
            col->size = fmax(col->size, a);
            row->size = fmax(row->size, a);
        }
        for (size_t i = 0; i < r->n_features; i++) f[i].which = i;
        for (size_t i = 0; i < r->n_inner; i++) rows[i].which = i;
        size_t shown = r->n_inner < MOST_ROWS ? r->n_inner : MOST_ROWS;
        choose(f, r->n_features, fit);
        choose(rows, r->n_inner, shown);
        put_text_head(t, rep, f, fit);
        for (size_t i = 0; i < shown; i++) put_text_row(t, r, rows[i].which, f, fit);
        if (shown < r->n_inner || fit < r->n_features)
            asc_text_adds(t, "  (the strongest; --json and --html have all)\n");
        asc_text_adds(t, "\n");
    }
    asc_free(t->ctx, f);
    asc_free(t->ctx, rows);
}

/* ---- JSON ---- */

void asc_put_layers_json(asc_text *t, const asc_result *r) {
    if (r->n_inner == 0) return;
    asc_text_array(t, "layers");
    for (size_t i = 0; i < r->n_inner; i++) {
        const asc_inner_row *row = &r->inner[i];
        asc_text_object(t, NULL);
        asc_text_strz(t, "site", row->name);
        asc_text_int(t, "layer", row->layer);
        if (row->head >= 0)
            asc_text_int(t, "head", row->head);
        else
            asc_text_null(t, "head");
        asc_text_num(t, "total", row->total);
        asc_text_num(t, "share", share_of(r, row->total));
        asc_text_num(t, "error", row->error);
        asc_text_array(t, "scores");
        for (size_t k = 0; k < r->n_features; k++)
            asc_text_num(t, NULL, r->inner_scores[i * r->n_features + k]);
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
}

/* ---- HTML ---- */

static void put_cell(asc_text *t, double v, double largest) {
    char number[32];
    int step = asc_scale_step(v, largest, STEPS);
    asc_figure(v, true, number);
    if (step == 0)
        asc_text_addf(t, "<td class=\"num\">%s</td>", number);
    else
        asc_text_addf(t, "<td class=\"num %c%d\">%s</td>", step < 0 ? 'n' : 'p', abs(step), number);
}

void asc_put_layers_html(asc_text *t, const asc_report *rep) {
    const asc_result *r = rep->result;
    const double largest = largest_cell(r);
    if (r->n_inner == 0) return;
    asc_text_addf(t,
                  "<details open>\n<summary>%zu sites of layers</summary>\n<div class=\"scroll\">\n<table>\n"
                  "<thead><tr><th scope=\"col\">site</th><th scope=\"col\" class=\"num\">total</th>",
                  r->n_inner);
    for (size_t k = 0; k < r->n_features; k++) {
        asc_text_adds(t, "<th scope=\"col\" class=\"num\">");
        asc_put_html(t, asc_feature_shown(rep, &r->features[k]), true, true);
        asc_text_adds(t, "</th>");
    }
    asc_text_adds(t, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < r->n_inner; i++) {
        char total[32];
        asc_figure(r->inner[i].total, true, total);
        asc_text_addf(t, "<tr><th scope=\"row\">%s</th><td class=\"num\">%s</td>", r->inner[i].name, total);
        for (size_t k = 0; k < r->n_features; k++)
            put_cell(t, r->inner_scores[i * r->n_features + k], largest);
        asc_text_adds(t, "</tr>\n");
    }
    asc_text_adds(t, "</tbody>\n</table>\n</div>\n</details>\n");
}
