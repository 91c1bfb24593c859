/* report_html.c - a result as one page that needs nothing else. Everything that came from outside goes
 * through html_put.h; the content policy forbids all loading and allows only our own style and
 * script, by their hashes. */
#include "html_assets.h"
#include "html_put.h"
#include "plain.h"
#include "profile_parts.h"
#include "report_layers.h"
#include "report_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, OPEN_ROWS = 60 };

typedef struct page {
    asc_ctx *ctx;
    asc_text *t;
    const asc_report *rep;
    const asc_result *r;
    double largest;
} page;

static void put_z(asc_text *t, const char *s) { asc_put_html_text(t, asc_view_of(s)); }

/* In quotes; the text has a direction of its own, the quotes do not turn with it. */
static void put_piece(asc_text *t, asc_view v) {
    asc_text_adds(t, "\xe2\x80\x9c<bdi class=\"piece\">");
    asc_put_html_text(t, v);
    asc_text_adds(t, "</bdi>\xe2\x80\x9d");
}

static asc_text *joined_style(page *p) {
    asc_text *s = NULL;
    if (asc_text_create(p->ctx, &s) != ASC_OK) {
        p->t->b.failed = true;
        return NULL;
    }
    for (size_t i = 0; asc_html_style[i] != NULL; i++) asc_text_adds(s, asc_html_style[i]);
    if (p->ctx->prof_kept != NULL) asc_text_adds(s, asc_profile_style);
    if (asc_text_status(s) != ASC_OK) p->t->b.failed = true;
    return s;
}

/* For a heading: the blank before a word is told below, with the numbers. */
static asc_view without_blank(const char *text, size_t len) {
    bool blank = len > 1 && text[0] == ' ';
    return asc_view_make(text + blank, len - blank);
}

static void put_head(page *p) {
    asc_text *t = p->t, *style = joined_style(p);
    if (style == NULL) return;
    const asc_result *r = p->r;
    asc_view target = asc_view_cut(asc_view_make(r->target, r->target_len), 80);
    asc_text_adds(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ");
    asc_put_html_hash(t, asc_text_view(style));
    asc_text_adds(t, "; script-src ");
    asc_put_html_hash(t, asc_view_of(asc_html_script));
    asc_text_adds(t, "; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n<title>ascribe: ");
    asc_put_html_attribute(t, target);
    asc_text_adds(t, "</title>\n<style>");
    asc_text_add(t, asc_text_view(style));
    asc_text_destroy(style);
    asc_text_adds(t, "</style>\n</head>\n<body>\n<header>\n<h1>What drove the ");
    if (r->output == ASC_OUTPUT_SIMILARITY) {
        asc_text_adds(t, "similarity with ");
        put_piece(t, asc_view_cut(asc_view_of(r->similar_to), 120));
    } else {
        asc_text_addf(t, "%s ", r->neuron_site != NULL ? "neuron" : asc_answer_word(r));
        put_piece(t, without_blank(r->target, r->target_len));
    }
    if (r->n_versus > 0) {
        asc_text_adds(t, " rather than ");
        put_piece(t, without_blank(r->versus, r->versus_len));
    }
    asc_text_addf(t, "?</h1>\n<p class=\"sub\">%s over %zu %s%s; ", r->method, r->n_features,
                  asc_feature_word(r), r->n_features == 1 ? "" : "s");
    const char *base = strrchr(r->model_path, '/');
    put_z(t, base != NULL ? base + 1 : r->model_path);
    asc_text_adds(t, " (");
    put_z(t, r->architecture);
    asc_text_adds(t, ")</p>\n</header>\n<main>\n");
}

/* A sentence of meaning.c, escaped. */
static void put_sentence(page *p, void (*fill)(asc_text *, const asc_result *)) {
    asc_text *s = NULL;
    if (asc_text_create(p->ctx, &s) != ASC_OK) {
        p->t->b.failed = true;
        return;
    }
    fill(s, p->r);
    if (asc_text_status(s) != ASC_OK) p->t->b.failed = true;
    asc_put_html_text(p->t, asc_text_view(s));
    asc_text_destroy(s);
}

static void put_banners(page *p) {
    asc_text *t = p->t;
    if (!p->r->converged) {
        asc_text_adds(t, "<div class=\"banner\" role=\"alert\"><strong>NOT CONVERGED</strong> These scores "
                         "may be noise: the error "
                         "is over the tolerance asked for. ");
        put_sentence(p, asc_report_remedy);
        asc_text_adds(t, "</div>\n");
    }
    for (size_t i = 0; i < p->r->n_warnings; i++) {
        asc_text_adds(t, "<div class=\"banner\" role=\"note\">");
        put_z(t, p->r->warnings[i]);
        asc_text_adds(t, "</div>\n");
    }
}

static void put_tip(page *p, const asc_feature *f) {
    char score[32], error[32];
    const char *unit = asc_report_unit(p->r);
    asc_text_adds(p->t, "\xe2\x80\x9c");
    asc_put_html_attribute(p->t, asc_feature_shown(p->rep, f));
    asc_text_adds(p->t, "\xe2\x80\x9d ");
    asc_snprintf(score, sizeof score, "%+.9g", f->score);
    asc_figure(f->error, false, error);
    asc_text_addf(p->t, "%s%s%s", isfinite(f->score) ? score : "unknown", unit[0] != '\0' ? " " : "", unit);
    if (isfinite(f->error)) asc_text_addf(p->t, " \xc2\xb1 %s", error);
}

static void put_word(page *p, const asc_feature *f, size_t from, size_t end) {
    asc_text *t = p->t;
    int step = asc_scale_step(f->score, p->largest, STEPS);
    asc_text_adds(t, "<span class=\"f");
    if (step != 0) asc_text_addf(t, " %c%d", step < 0 ? 'n' : 'p', abs(step));
    asc_text_addf(t, "\" data-f=\"%zu\"", (size_t)(f - p->r->features));
    asc_text_adds(t, " tabindex=\"0\" role=\"note\" data-tip=\"");
    put_tip(p, f);
    asc_text_adds(t, "\" aria-label=\"");
    put_tip(p, f);
    asc_text_adds(t, "\">");
    asc_put_html(t, asc_view_make(p->r->prompt + from, end - from), true, true);
    asc_text_adds(t, "</span>");
}

static void put_prompt(page *p) {
    asc_text *t = p->t;
    const asc_result *r = p->r;
    char low[32], high[32];
    size_t pos = 0;
    asc_text_addf(t,
                  "<section>\n<h2>The %s</h2>\n<div id=\"prompt\" role=\"group\" dir=\"auto\" "
                  "aria-label=\"The %s; each "
                  "part can be focused and tells its score\">",
                  asc_input_word(r), asc_input_word(r));
    for (size_t i = 0; i < asc_n_shown_parts(r); i++) {
        const asc_feature_part f = asc_shown_part(r, i);
        if (f.start < pos || f.end > r->prompt_len || f.start >= f.end) continue;
        size_t from = f.end - asc_part_shown(r, &f).len; /* words, not blanks before them */
        asc_put_html(t, asc_view_make(r->prompt + pos, from - pos), true, true);
        put_word(p, &r->features[f.feature], from, f.end);
        pos = f.end;
    }
    asc_put_html(t, asc_view_make(r->prompt + pos, r->prompt_len - pos), true, true);
    asc_figure(-p->largest, true, low);
    asc_figure(p->largest, true, high);
    asc_text_addf(t,
                  "</div>\n<div class=\"legend\"><span>%s against (dashed)</span><span class=\"scale\" "
                  "role=\"img\" aria-label=\"scale "
                  "from blue, against the target, to orange, towards it\">",
                  low);
    for (int s = -STEPS; s <= STEPS; s++) {
        if (s == 0)
            asc_text_adds(t, "<span></span>");
        else
            asc_text_addf(t, "<span class=\"%c%d\"></span>", s < 0 ? 'n' : 'p', abs(s));
    }
    asc_text_addf(t,
                  "</span><span>towards %s %s</span></div>\n<p class=\"sub\">Point at a part, or move with "
                  "Tab and the arrow keys, for its exact "
                  "score.</p>\n</section>\n",
                  high, asc_report_unit(r));
}

/* From the value on. */
static void put_numbers_of(page *p, const char *what) {
    asc_text *t = p->t;
    const asc_result *r = p->r;
    char sum[32], value[32], base[32];
    const char *unit = asc_report_unit(r);
    asc_figure(r->sum, true, sum);
    asc_figure(r->value, false, value);
    asc_figure(r->baseline_value, false, base);
    asc_text_addf(t, "<dt>%s%s</dt><dd>%s %s at the %s", what, r->n_versus > 0 ? " difference" : "", value,
                  unit, asc_input_word(r));
    if (asc_has_baseline(r) && isfinite(r->baseline_value)) asc_text_addf(t, ", %s at the baseline", base);
    asc_text_adds(t, "</dd>\n<dt>Baseline</dt><dd>");
    put_z(t, asc_has_baseline(r) ? r->baseline : "none");
    asc_text_addf(t, "</dd>\n<dt>Sum of scores</dt><dd>%s %s</dd>\n<dt>Error</dt><dd>", sum, unit);
    put_sentence(p, asc_report_error);
    asc_text_adds(t, "</dd>\n</dl>\n</section>\n");
}

static void put_answer(page *p) {
    asc_text *t = p->t;
    const asc_result *r = p->r;
    asc_text_adds(t, "<section>\n<h2>The numbers</h2>\n<p>");
    put_sentence(p, asc_report_meaning);
    asc_text_adds(t, "</p>\n<dl>\n");
    if (r->neuron_site != NULL) {
        put_numbers_of(p, "Value");
        return;
    }
    const char *word = asc_answer_word(r);
    if (r->output != ASC_OUTPUT_SIMILARITY && asc_of_encoder(r))
        asc_text_addf(t, "<dt>Likeliest %s%s</dt><dd>", word, strcmp(word, "class") == 0 ? "es" : "s");
    else
        asc_text_addf(t, "<dt>%s</dt><dd>",
                      r->output == ASC_OUTPUT_SIMILARITY ? "The other text" : "The model would say");
    if (r->output == ASC_OUTPUT_SIMILARITY) put_piece(t, asc_view_of(r->similar_to));
    for (size_t i = 0; i < r->n_top; i++) {
        if (i > 0) asc_text_adds(t, ", ");
        put_piece(t, asc_top_shown(p->rep, i));
        asc_text_addf(t, " %.3g\xc2\xa0%%", 100 * r->top[i].prob);
    }
    asc_text_adds(t, "</dd>\n");
    if (r->output != ASC_OUTPUT_SIMILARITY) {
        asc_text_addf(t, "<dt>%s</dt><dd>",
                      !asc_of_encoder(r)           ? "Target"
                      : strcmp(word, "class") == 0 ? "Class"
                      : strcmp(word, "word") == 0  ? "Word"
                                                   : "Answer");
        put_piece(t, asc_view_make(r->target, r->target_len));
        asc_text_addf(t, ", probability %.3g\xc2\xa0%%</dd>\n", 100 * r->target_prob);
    }
    put_numbers_of(p, r->output == ASC_OUTPUT_PROB         ? "Probability"
                      : r->output == ASC_OUTPUT_LOGIT      ? "Logit"
                      : r->output == ASC_OUTPUT_KL         ? "Closeness"
                      : r->output == ASC_OUTPUT_SIMILARITY ? "Similarity (cosine)"
                                                           : "Log-probability");
}

static void put_bar(page *p, double score) {
    double w = p->largest > 0 && isfinite(score) ? fabs(score) / p->largest * 50 : 0;
    asc_text_addf(p->t,
                  "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
                  "aria-hidden=\"true\"><rect class=\"%s\" "
                  "x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"8\"/><path class=\"bz\" d=\"M50 0V10\"/></svg>",
                  score < 0 ? "bn" : "bp", score < 0 ? 50 - w : 50.0, w);
}

/* "1 user": the message's place and role. */
static void put_role(page *p, const asc_feature *f) {
    asc_text_adds(p->t, "<td class=\"wide\">");
    if (f->message >= 0) {
        asc_text_addf(p->t, "%lld ", (long long)f->message);
        if ((size_t)f->message < p->rep->request->n_messages)
            asc_put_html_text(p->t, p->rep->request->messages[f->message].role);
    }
    asc_text_adds(p->t, "</td>");
}

static void put_table(page *p) {
    asc_text *t = p->t;
    const asc_result *r = p->r;
    bool messages = false;
    for (size_t i = 0; i < r->n_features; i++) messages = messages || r->features[i].message >= 0;
    asc_text_addf(t, "<details%s>\n<summary>All %zu scores</summary>\n<table>\n<thead><tr>",
                  r->n_features <= OPEN_ROWS ? " open" : "", r->n_features);
    if (messages) asc_text_adds(t, "<th scope=\"col\" class=\"wide\">message</th>");
    if (asc_mixed_features(r)) asc_text_adds(t, "<th scope=\"col\">level</th>");
    asc_text_addf(t,
                  "<th scope=\"col\">%s</th><th scope=\"col\" class=\"num\">score</th><th scope=\"col\" "
                  "class=\"num\">error</th>"
                  "<th scope=\"col\" class=\"wide\"><span aria-hidden=\"true\">against | "
                  "towards</span></th></tr></thead>\n<tbody>\n",
                  asc_feature_word(r));
    for (size_t i = 0; i < r->n_features; i++) {
        const asc_feature *f = &r->features[i];
        char score[32], error[32];
        asc_figure(f->score, true, score);
        asc_figure(f->error, false, error);
        asc_text_adds(t, "<tr>");
        if (messages) put_role(p, f);
        if (asc_mixed_features(r)) asc_text_addf(t, "<td>%s</td>", asc_features_name(f->kind));
        asc_text_adds(t, "<td class=\"t\">");
        put_piece(t, asc_feature_shown(p->rep, f));
        asc_text_addf(t, "</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td class=\"wide\">", score,
                      isfinite(f->error) ? error : "-");
        put_bar(p, f->score);
        asc_text_adds(t, "</td></tr>\n");
    }
    asc_text_adds(t, "</tbody>\n</table>\n</details>\n");
}

static void put_pair(page *p, const char *name, const char *value) {
    if (value == NULL || value[0] == '\0') return;
    asc_text_addf(p->t, "<dt>%s</dt><dd>", name);
    put_z(p->t, value);
    asc_text_adds(p->t, "</dd>\n");
}

static void put_details(page *p) {
    const asc_result *r = p->r;
    asc_text_adds(p->t, "<details>\n<summary>How it was made</summary>\n<dl>\n");
    put_pair(p, "Model file", r->model_path);
    for (size_t i = 0; i < r->n_adapters; i++) put_pair(p, "Adapter", r->adapters[i].path);
    put_pair(p, "SHA-256", r->model_sha256);
    put_pair(p, "Method", r->method);
    put_pair(p, "Options", r->options);
    put_pair(p, "Rule", r->rule);
    asc_text_addf(p->t,
                  "<dt>Passes</dt><dd>%llu forward, %llu backward</dd>\n<dt>Time</dt><dd>%.3g "
                  "s</dd>\n<dt>Peak memory</dt><dd>%.1f MB"
                  "</dd>\n<dt>Device</dt><dd>%s, %s, precision %s, %s, %d threads, seed %llu</dd>\n",
                  (unsigned long long)r->n_forward, (unsigned long long)r->n_backward, r->seconds,
                  (double)r->peak_bytes / 1e6, r->device, r->mode, r->precision, r->isa, r->n_threads,
                  (unsigned long long)r->seed);
    asc_text_adds(p->t, "</dl>\n<p>The whole result is embedded in this page as JSON; saved to a file, "
                        "<code>ascribe rerun FILE</code> "
                        "repeats it.</p>\n</details>\n</main>\n");
}

static void put_json(page *p) {
    asc_text *json = NULL;
    if (asc_text_create(p->ctx, &json) != ASC_OK) {
        p->t->b.failed = true;
        return;
    }
    asc_report_json(json, p->rep);
    if (asc_text_status(json) != ASC_OK) p->t->b.failed = true;
    asc_text_addf(p->t, "<footer>ascribe %s</footer>\n<script type=\"application/json\" id=\"result\">",
                  asc_version());
    asc_put_html_json(p->t, asc_text_view(json));
    asc_text_adds(p->t, "</script>\n<script>");
    asc_text_adds(p->t, asc_html_script);
    asc_text_adds(p->t, "</script>\n</body>\n</html>\n");
    asc_text_destroy(json);
}

void asc_report_html(asc_ctx *ctx, asc_text *out, const asc_report *rep) {
    page p = {.ctx = ctx, .t = out, .rep = rep, .r = rep->result, .largest = asc_largest_score(rep->result)};
    put_head(&p);
    put_banners(&p);
    put_prompt(&p);
    put_answer(&p);
    put_table(&p);
    asc_put_layers_html(p.t, rep);
    asc_put_matrix_html(p.t, rep);
    asc_put_profile_sections(p.ctx, p.t);
    put_details(&p);
    put_json(&p);
}
