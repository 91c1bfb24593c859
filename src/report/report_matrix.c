/* report_matrix.c - scores of each answer token (result.matrix) as JSON, as a table for terminals, and as a
 * page's table of which one row at a time can be laid over the prompt. Without scripts the page's table is
 * all there is, and complete. */
#include "html_put.h"
#include "plain.h"
#include "report_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8 };

static asc_view piece_of(const asc_report *rep, size_t k) {
    const asc_result *r = rep->result;
    return rep->tokenizer != NULL ? asc_token_piece(rep->tokenizer, r->target_ids[r->span_start + k])
                                  : asc_view_of("");
}

static double largest_of(const asc_result *r) {
    double m = 0;
    for (size_t i = 0; i < r->n_matrix * r->n_features; i++) {
        double a = fabs(r->matrix[i]);
        if (isfinite(a) && a > m) m = a;
    }
    return m;
}

/* ---- JSON ---- */

static void put_list(asc_text *t, const char *key, const double *v, size_t n) {
    asc_text_array(t, key);
    for (size_t i = 0; i < n; i++) asc_text_num(t, NULL, v[i]);
    asc_text_end(t);
}

void asc_put_matrix_json(asc_text *t, const asc_report *rep) {
    const asc_result *r = rep->result;
    if (r->matrix == NULL) return;
    asc_text_array(t, "answer_tokens");
    for (size_t k = 0; k < r->n_matrix; k++) {
        asc_text_object(t, NULL);
        asc_text_int(t, "id", r->target_ids[r->span_start + k]);
        if (rep->tokenizer != NULL) asc_text_bytes(t, "text", piece_of(rep, k));
        asc_text_num(t, "value", r->token_values[k]);
        put_list(t, "scores", r->matrix + k * r->n_features, r->n_features);
        put_list(t, "errors", r->matrix_errors + k * r->n_features, r->n_features);
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void put_slots(asc_text *t, const asc_request *q) {
    asc_text_array(t, "slots");
    for (size_t i = 0; i < q->n_slots; i++) {
        const asc_prompt_slot *s = &q->slots[i];
        asc_text_object(t, NULL);
        asc_text_int(t, "start", (int64_t)s->start);
        asc_text_int(t, "end", (int64_t)s->end);
        asc_text_int(t, "feature", s->feature);
        if (s->label.ptr != NULL) {
            asc_text_object(t, "label");
            asc_text_bytes(t, "text", s->label);
            asc_text_end(t);
        }
        asc_text_array(t, "baselines");
        for (size_t k = 0; k < s->n_baselines; k++) {
            asc_text_object(t, NULL);
            asc_text_bytes(t, "text", s->baselines[k]);
            asc_text_end(t);
        }
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
}

/* What features are made of, where it is more than their kind. */
static void put_feature_request(asc_text *t, const asc_request *q) {
    if (q->n_slots > 0) put_slots(t, q);
    if (q->n_skip_tokens > 0) asc_put_ids(t, "skip_tokens", q->skip_tokens, q->n_skip_tokens);
    if (q->n_frozen > 0) {
        asc_text_array(t, "frozen");
        for (size_t i = 0; i < q->n_frozen; i++) {
            asc_text_array(t, NULL);
            asc_text_int(t, NULL, (int64_t)q->frozen[i].start);
            asc_text_int(t, NULL, (int64_t)q->frozen[i].end);
            asc_text_end(t);
        }
        asc_text_end(t);
    }
    if (q->trials > 0) asc_text_int(t, "trials", (int64_t)q->trials);
}

void asc_put_question(asc_text *t, const asc_request *q) {
    if (q->span.ptr != NULL) {
        asc_text_object(t, "span");
        asc_text_bytes(t, "text", q->span);
        asc_text_end(t);
    } else if (q->span_end > 0) {
        asc_text_array(t, "span");
        asc_text_int(t, NULL, (int64_t)q->span_start);
        asc_text_int(t, NULL, (int64_t)q->span_end);
        asc_text_end(t);
    } else {
        asc_text_null(t, "span");
    }
    asc_text_bool(t, "per_token", q->per_token);
    put_feature_request(t, q);
}

/* ---- terminals ---- */

/* Columns are features, in blocks that fit the page; a cell has at least seven characters. */
void asc_put_matrix_text(asc_text *t, const asc_report *rep, size_t columns) {
    enum { NAME = 12, CELL = 8 };
    const asc_result *r = rep->result;
    size_t across = columns > NAME + CELL ? (columns - NAME) / CELL : 1, shown = r->n_features,
           most = 5 * across;
    if (r->matrix == NULL) return;
    if (shown > most) shown = most;
    asc_text_adds(t, "Scores of each answer token (a row) by ");
    asc_text_addf(t, "%s (a column):\n", asc_feature_word(r));
    for (size_t from = 0; from < shown; from += across) {
        size_t to = from + across < shown ? from + across : shown;
        asc_text_blanks(t, NAME);
        for (size_t i = from; i < to; i++) {
            asc_view name = asc_feature_shown(rep, &r->features[i]);
            size_t w = asc_shown_columns(name);
            asc_text_blanks(t, w < CELL - 1 ? CELL - w : 1);
            asc_text_shown(t, name, CELL - 1);
        }
        asc_text_adds(t, "\n");
        for (size_t k = 0; k < r->n_matrix; k++) {
            asc_view name = piece_of(rep, k);
            size_t w = asc_shown_columns(name) + 2;
            asc_text_adds(t, "\"");
            asc_text_shown(t, name, NAME - 3);
            asc_text_adds(t, "\"");
            asc_text_blanks(t, w < NAME ? NAME - w : 1);
            for (size_t i = from; i < to; i++) {
                char s[32], cell[32];
                double v = r->matrix[k * r->n_features + i];
                asc_figure(v, true, s);
                if (strlen(s) > CELL - 1) asc_snprintf(s, sizeof s, "%+.0e", v);
                snprintf(cell, sizeof cell, "%*s", CELL, s);
                asc_text_adds(t, cell);
            }
            asc_text_adds(t, "\n");
        }
        asc_text_adds(t, "\n");
    }
    if (shown < r->n_features)
        asc_text_addf(t, "  and %zu more columns (--json and --html have them all)\n\n",
                      r->n_features - shown);
}

/* ---- pages ---- */

static void put_piece(asc_text *t, asc_view v) {
    asc_text_adds(t, "\xe2\x80\x9c<bdi class=\"piece\">");
    asc_put_html_text(t, v);
    asc_text_adds(t, "</bdi>\xe2\x80\x9d");
}

static void put_cell(asc_text *t, double v, double largest) {
    char s[32];
    int step = asc_scale_step(v, largest, STEPS);
    asc_figure(v, true, s);
    asc_text_adds(t, "<td class=\"num");
    if (step != 0) asc_text_addf(t, " %c%d", step < 0 ? 'n' : 'p', abs(step));
    asc_text_addf(t, "\">%s</td>", s);
}

/* The row's steps on the scale, for the script that lays it over the prompt: numbers of our own making. */
static void put_steps(asc_text *t, const asc_result *r, size_t k, double largest) {
    asc_text_adds(t, " data-steps=\"");
    for (size_t i = 0; i < r->n_features; i++)
        asc_text_addf(t, "%s%d", i > 0 ? " " : "",
                      asc_scale_step(r->matrix[k * r->n_features + i], largest, STEPS));
    asc_text_adds(t, "\"");
}

void asc_put_matrix_html(asc_text *t, const asc_report *rep) {
    const asc_result *r = rep->result;
    double largest;
    if (r->matrix == NULL) return;
    largest = largest_of(r);
    asc_text_addf(
        t,
        "<section>\n<h2>Each token of the answer</h2>\n<p class=\"sub\">Choose a token, by click or "
        "with Tab and Enter, to see its scores in the prompt above; choose it again for those of "
        "the whole answer.</p>\n<div class=\"scroll\"><table id=\"matrix\">\n<thead><tr><th "
        "scope=\"col\">answer</th><th scope=\"col\" class=\"num\">%s</th>",
        asc_output_word(r));
    for (size_t i = 0; i < r->n_features; i++) {
        asc_text_adds(t, "<th scope=\"col\" class=\"num\"><bdi class=\"piece\">");
        asc_put_html_text(t, asc_view_cut(asc_feature_shown(rep, &r->features[i]), 40));
        asc_text_adds(t, "</bdi></th>");
    }
    asc_text_adds(t, "</tr></thead>\n<tbody>\n");
    for (size_t k = 0; k < r->n_matrix; k++) {
        char value[32];
        asc_figure(r->token_values[k], false, value);
        asc_text_adds(t, "<tr");
        put_steps(t, r, k, largest);
        asc_text_adds(t, "><th scope=\"row\"><button type=\"button\" class=\"pick\" aria-pressed=\"false\">");
        put_piece(t, piece_of(rep, k));
        asc_text_addf(t, "</button></th><td class=\"num\">%s</td>", value);
        for (size_t i = 0; i < r->n_features; i++) put_cell(t, r->matrix[k * r->n_features + i], largest);
        asc_text_adds(t, "</tr>\n");
    }
    asc_text_adds(t, "</tbody>\n</table></div>\n</section>\n");
}
