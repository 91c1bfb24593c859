/* report_text.c - a result for a terminal: answer, coloured prompt or table, totals, meaning, error. Colours
 * go from blue (against the target) through none to orange (towards it); these two stay apart for all common
 * kinds of colour blindness. */
#include "report_layers.h"
#include "plain.h"
#include "report_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, BAR = 20, LABEL = 10 };

typedef struct page {
    asc_text *t;
    const asc_report *rep;
    const asc_result *r;
    asc_colours colours;
    size_t columns, rows;
    double largest;
} page;

static void label(page *p, const char *name) {
    asc_text_addf(p->t, p->colours != ASC_COLOURS_NONE ? "\x1b[1m%-*s\x1b[0m" : "%-*s", LABEL, name);
}

static void end_colour(page *p) {
    if (p->colours != ASC_COLOURS_NONE) asc_text_adds(p->t, "\x1b[0m");
}

/* Background of step -STEPS .. STEPS with a text colour that can be read on it. */
static void begin_colour(page *p, int step) {
    static const int ends[2][2][3] = {{{198, 219, 239}, {8, 81, 156}}, {{253, 226, 196}, {217, 84, 0}}};
    int m = abs(step), c[3];
    if (p->colours == ASC_COLOURS_NONE || m == 0) return;
    for (int k = 0; k < 3; k++) {
        int a = ends[step > 0][0][k], b = ends[step > 0][1][k];
        c[k] = a + (b - a) * (m - 1) / (STEPS - 1);
    }
    bool white = m > (step > 0 ? 7 : 5);
    if (p->colours == ASC_COLOURS_RGB)
        asc_text_addf(p->t, "\x1b[48;2;%d;%d;%dm\x1b[38;2;%s", c[0], c[1], c[2],
                      white ? "255;255;255m" : "0;0;0m");
    else /* the 6 x 6 x 6 cube of xterm */
        asc_text_addf(p->t, "\x1b[48;5;%dm\x1b[38;5;%sm",
                      16 + 36 * ((c[0] + 25) / 51) + 6 * ((c[1] + 25) / 51) + (c[2] + 25) / 51,
                      white ? "231" : "16");
}

static void quoted(page *p, asc_view v, size_t columns) {
    asc_text_adds(p->t, "\"");
    asc_text_shown(p->t, v, columns);
    asc_text_adds(p->t, "\"");
}

static void put_head(page *p) {
    const asc_result *r = p->r;
    const char *base = strrchr(r->model_path, '/');
    label(p, "Model");
    asc_text_shown(p->t, asc_view_of(base != NULL ? base + 1 : r->model_path), p->columns - LABEL - 20);
    asc_text_addf(p->t, " (%s)\n", r->architecture);
    for (size_t i = 0; i < r->n_adapters; i++) {
        label(p, "Adapter");
        asc_text_shown(p->t, asc_view_of(r->adapters[i].path), p->columns - LABEL - 20);
        asc_text_addf(p->t, ", times %g\n", r->adapters[i].scale);
    }
    if (r->n_top > 0) {
        label(p, !asc_of_encoder(r)                         ? "Answer"
                 : strcmp(asc_answer_word(r), "word") == 0  ? "Words"
                 : strcmp(asc_answer_word(r), "class") == 0 ? "Classes"
                                                            : "Answers");
        size_t used = LABEL;
        for (size_t i = 0; i < r->n_top; i++) {
            char prob[32];
            asc_view piece = asc_top_shown(p->rep, i);
            size_t need = asc_shown_columns(piece) + 14;
            asc_snprintf(prob, sizeof prob, " %.3g %%", 100 * r->top[i].prob);
            if (i > 0 && used + need > p->columns) break;
            if (i > 0) asc_text_adds(p->t, ", ");
            used += need;
            quoted(p, piece, 40);
            asc_text_adds(p->t, prob);
        }
        asc_text_adds(p->t, "\n");
    }
    if (r->output == ASC_OUTPUT_SIMILARITY) {
        label(p, "With");
        quoted(p, asc_view_of(r->similar_to), p->columns - LABEL - 10);
        asc_text_adds(p->t, "\n");
        return;
    }
    if (r->neuron_site != NULL) {
        label(p, "Neuron");
        asc_text_addf(p->t, "unit %lld of %s at token %lld (", (long long)r->neuron_index, r->neuron_site,
                      (long long)r->neuron_token);
        const size_t at = (size_t)r->neuron_token;
        quoted(p, asc_view_make(r->prompt + r->token_start[at], r->token_end[at] - r->token_start[at]), 40);
        asc_text_adds(p->t, ")\n");
        return;
    }
    label(p, !asc_of_encoder(r)                         ? "Target"
             : strcmp(asc_answer_word(r), "word") == 0  ? "Word"
             : strcmp(asc_answer_word(r), "class") == 0 ? "Class"
                                                        : "Answer");
    quoted(p, asc_view_make(r->target, r->target_len), p->columns - LABEL - 40);
    asc_text_addf(p->t, " probability %.3g %%\n", 100 * r->target_prob);
    if (r->n_versus > 0) {
        label(p, "Versus");
        quoted(p, asc_view_make(r->versus, r->versus_len), p->columns - LABEL - 10);
        asc_text_adds(p->t, "\n");
    }
}

/* Bytes [from, to) of v in one colour: characters are never torn apart, joined emoji stay joined. */
static void run(page *p, asc_view v, size_t from, size_t to, int step) {
    if (from == to) return;
    begin_colour(p, step);
    asc_text_shown(p->t, asc_view_make(v.ptr + from, to - from), 0);
    if (step != 0) end_colour(p);
}

/* Breaks the line at the right margin; line breaks of the prompt are kept (and shown where they carry a
 * score). */
static void flow(page *p, asc_view v, int step, size_t *at) {
    size_t from = 0;
    for (size_t i = 0; i < v.len;) {
        bool plain;
        size_t w, n = asc_shown_char(v.ptr + i, v.len - i, &plain, &w);
        bool breaks = v.ptr[i] == '\n';
        if (breaks || (*at > 2 && *at + w > p->columns)) {
            run(p, v, from, breaks && step != 0 ? i + 1 : i, step);
            asc_text_adds(p->t, "\n  ");
            *at = 2;
            from = breaks ? i + n : i;
        }
        if (!breaks) *at += w;
        i += n;
    }
    run(p, v, from, v.len, step);
}

static void put_prompt(page *p) {
    const asc_result *r = p->r;
    size_t pos = 0, at = 2;
    asc_text_adds(p->t, "\n  ");
    for (size_t i = 0; i < asc_n_shown_parts(r); i++) {
        const asc_feature_part f = asc_shown_part(r, i);
        if (f.start < pos || f.end > r->prompt_len || f.start >= f.end) continue;
        size_t from = f.end - asc_part_shown(r, &f).len;
        flow(p, asc_view_make(r->prompt + pos, from - pos), 0, &at);
        flow(p, asc_view_make(r->prompt + from, f.end - from),
             asc_scale_step(r->features[f.feature].score, p->largest, STEPS), &at);
        pos = f.end;
    }
    flow(p, asc_view_make(r->prompt + pos, r->prompt_len - pos), 0, &at);
    asc_text_adds(p->t, "\n\n  against ");
    for (int s = -STEPS; s <= STEPS; s += 2) {
        begin_colour(p, s);
        asc_text_adds(p->t, "  ");
        end_colour(p);
    }
    asc_text_addf(p->t, " towards the %s\n",
                  r->output == ASC_OUTPUT_SIMILARITY ? "other text"
                  : asc_of_encoder(r)                ? asc_answer_word(r)
                                                     : "target");
}

static int by_size(const void *a, const void *b) {
    const asc_feature *x = *(const asc_feature *const *)a, *y = *(const asc_feature *const *)b;
    double dx = fabs(x->score), dy = fabs(y->score);
    if (dx > dy || dx < dy) return dx > dy ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void put_row(page *p, const asc_feature *f, bool errors, bool several) {
    char score[32], error[32];
    asc_figure(f->score, true, score);
    asc_text_addf(p->t, "  %10s", score);
    if (errors) {
        asc_figure(f->error, false, error);
        asc_text_addf(p->t, "  \xc2\xb1 %-9s", error);
    }
    asc_text_adds(p->t, "  ");
    int bar = abs(asc_scale_step(f->score, p->largest, BAR));
    begin_colour(p, asc_scale_step(f->score, p->largest, STEPS));
    for (int k = 0; k < bar; k++)
        asc_text_adds(p->t, p->colours != ASC_COLOURS_NONE ? " " : f->score < 0 ? "-" : "+");
    end_colour(p);
    asc_text_blanks(p->t, (size_t)(BAR - bar) + 2);
    if (several && f->message >= 0) asc_text_addf(p->t, "[%lld] ", (long long)f->message);
    if (asc_mixed_features(p->r)) asc_text_addf(p->t, "%-9s  ", asc_features_name(f->kind));
    size_t used = 2 + 10 + (errors ? 13 : 0) + 2 + BAR + 2 + 6;
    if (asc_mixed_features(p->r)) used += 11;
    size_t room = p->columns > used + 10 ? p->columns - used : 10;
    if (p->r->feature_kind == ASC_FEATURES_TOKEN)
        quoted(p, asc_feature_shown(p->rep, f), room - 2);
    else
        asc_text_shown(p->t, asc_feature_shown(p->rep, f), room);
    asc_text_adds(p->t, "\n");
}

static void put_table(page *p) {
    const asc_result *r = p->r;
    size_t n = r->n_features, shown = p->rows > 0 && p->rows < n ? p->rows : n;
    bool errors = false, several = false;
    const asc_feature **order = asc_calloc(p->t->ctx, ASC_MEM_GENERAL, n + 1, sizeof *order);
    if (order == NULL) {
        p->t->b.failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = &r->features[i];
        errors = errors || isfinite(r->features[i].error);
        several = several || r->features[i].message > 0;
    }
    if (shown < n) qsort(order, n, sizeof *order, by_size);
    asc_text_addf(p->t, "\n  %10s%s  %-*s  %s\n", "score", errors ? "  error      " : "", BAR, "",
                  asc_feature_word(r));
    for (size_t i = 0; i < shown; i++) put_row(p, order[i], errors, several);
    if (shown < n)
        asc_text_addf(p->t, "  and %zu more with smaller scores (--json and --html have them all)\n",
                      n - shown);
    asc_text_adds(p->t, "\n");
    asc_free(p->t->ctx, order);
}

/* A labelled paragraph made by `fill`. */
static void paragraph(page *p, const char *name, void (*fill)(asc_text *, const asc_result *)) {
    asc_text *s = NULL;
    if (asc_text_create(p->t->ctx, &s) != ASC_OK) {
        p->t->b.failed = true;
        return;
    }
    fill(s, p->r);
    label(p, name);
    asc_text_wrap(p->t, asc_text_view(s).ptr, LABEL, p->columns);
    if (asc_text_status(s) != ASC_OK) p->t->b.failed = true;
    asc_text_destroy(s);
}

static void total(asc_text *t, const asc_result *r) {
    char sum[32], value[32], base[32];
    const char *unit = asc_report_unit(r), *gap = unit[0] != '\0' ? " " : "";
    asc_figure(r->sum, true, sum);
    asc_figure(r->value, false, value);
    asc_figure(r->baseline_value, false, base);
    asc_text_addf(t, "%s%s%s over %zu %s%s; %s%s %s at the %s", sum, gap, unit, r->n_features,
                  asc_feature_word(r), r->n_features == 1 ? "" : "s", asc_output_word(r),
                  r->n_versus > 0 ? " difference" : "", value, asc_input_word(r));
    if (asc_has_baseline(r) && isfinite(r->baseline_value)) asc_text_addf(t, ", %s at the baseline", base);
    asc_text_adds(t, ".");
}

static void cost(asc_text *t, const asc_result *r) {
    asc_text_addf(t, "%llu forward, %llu backward passes, %.2f s, peak %.0f MB, %s, %s, f32, %d threads",
                  (unsigned long long)r->n_forward, (unsigned long long)r->n_backward, r->seconds,
                  (double)r->peak_bytes / 1e6, r->device, r->mode, r->n_threads);
    if (r->rule != NULL && r->rule[0] != '\0') asc_text_addf(t, ", rule %s", r->rule);
    if (r->panels > 0) asc_text_addf(t, " with %zu panels", r->panels);
    if (r->n_forward_flat > 0)
        asc_text_addf(t, "; every %s by itself would take about %llu", asc_features_name(r->feature_kind),
                      (unsigned long long)r->n_forward_flat);
    if (r->tokens_run > 0 && r->tokens_run < r->tokens_plain)
        asc_text_addf(t, "; tokens computed %llu of %llu (%.2f times saved)",
                      (unsigned long long)r->tokens_run, (unsigned long long)r->tokens_plain,
                      (double)r->tokens_plain / (double)r->tokens_run);
}

static void put_banner(page *p) {
    asc_text_adds(p->t, "\n");
    if (p->colours != ASC_COLOURS_NONE) asc_text_adds(p->t, "\x1b[1;7m");
    asc_text_adds(p->t, " NOT CONVERGED ");
    end_colour(p);
    asc_text_adds(p->t, " These scores may be noise: the error is over the tolerance asked for.\n");
    paragraph(p, "", asc_report_remedy);
}

void asc_report_text(asc_text *out, const asc_report *rep, const asc_report_style *style) {
    page p = {.t = out,
              .rep = rep,
              .r = rep->result,
              .colours = style->colours,
              .rows = style->rows,
              .columns = style->columns == 0   ? 100
                         : style->columns < 40 ? 40
                                               : style->columns,
              .largest = asc_largest_score(rep->result)};
    const asc_result *r = rep->result;
    if (p.columns > 100) p.columns = 100;
    put_head(&p);
    if (!r->converged) put_banner(&p);
    if (p.colours != ASC_COLOURS_NONE) put_prompt(&p);
    put_table(&p);
    asc_put_layers_text(out, rep, p.columns);
    asc_put_matrix_text(out, rep, p.columns);
    paragraph(&p, "Total", total);
    label(&p, "Baseline");
    asc_text_wrap(out, asc_has_baseline(r) ? r->baseline : "none", LABEL, p.columns);
    paragraph(&p, "Meaning", asc_report_meaning);
    paragraph(&p, "Error", asc_report_error);
    paragraph(&p, "Cost", cost);
    for (size_t i = 0; i < r->n_warnings; i++) {
        label(&p, "Warning");
        asc_text_wrap(out, r->warnings[i], LABEL, p.columns);
    }
    if (!r->converged) put_banner(&p);
}
