/* net_html.c - attributions on nets as one page that needs nothing else. Everything that came from outside
 * goes through html_put.h; the content policy allows our own style by its hash and pictures inside the page.
 */
#include "html_assets.h"
#include "net_parts.h"
#include "profile_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum { ALL_ROWS = 400, OPEN_ROWS = 20 };

typedef struct page {
    asc_ctx *ctx;
    asc_text *t;
    const asc_net_sheet *rep;
    asc_arena arena;
    asc_net_maps maps;
} page;

static const char sheet_style[] = "svg.sheet{display:block;max-width:100%;height:auto;margin:.75rem "
                                  "0;border:1px solid var(--line);border-radius:.25rem}\n"
                                  "svg.sheet g:focus{outline:.2rem solid var(--focus);outline-offset:1px}\n";

static void check(page *p, asc_status st) {
    if (st != ASC_OK) p->t->b.failed = true;
}

static void put_z(page *p, const char *s) { asc_put_html_text(p->t, asc_view_of(s)); }

static void put_style(page *p) {
    asc_text *t = p->t, *s = NULL;
    check(p, asc_text_create(p->ctx, &s));
    if (s == NULL) return;
    for (size_t i = 0; asc_html_style[i] != NULL; i++) asc_text_adds(s, asc_html_style[i]);
    asc_text_adds(s, sheet_style);
    if (p->ctx->prof_kept != NULL) asc_text_adds(s, asc_profile_style);
    check(p, asc_text_status(s));
    asc_text_adds(t, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
                     "data:; style-src ");
    asc_put_html_hash(t, asc_text_view(s));
    asc_text_adds(t, "; base-uri 'none'; form-action 'none'\">\n<style>");
    asc_text_add(t, asc_text_view(s));
    asc_text_adds(t, "</style>\n");
    asc_text_destroy(s);
}

/* Words of net_words.c, escaped. */
static void put_words(page *p, const asc_attribution *r,
                      void (*of_result)(asc_text *, const asc_attribution *),
                      void (*of_both)(asc_text *, const asc_net_sheet *, const asc_attribution *),
                      void (*of_report)(asc_text *, const asc_net_sheet *)) {
    asc_text *s = NULL;
    check(p, asc_text_create(p->ctx, &s));
    if (s == NULL) return;
    if (of_result != NULL) of_result(s, r);
    if (of_both != NULL) of_both(s, p->rep, r);
    if (of_report != NULL) of_report(s, p->rep);
    check(p, asc_text_status(s));
    asc_put_html_text(p->t, asc_text_view(s));
    asc_text_destroy(s);
}

static void put_head(page *p) {
    asc_text *t = p->t;
    const char *base = p->rep->model != NULL ? strrchr(p->rep->model, '/') : NULL;
    asc_text_adds(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_style(p);
    asc_text_adds(
        t, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"referrer\" content=\"no-referrer\">\n<title>ascribe: what drove the output</title>\n"
           "</head>\n<body>\n<header>\n<h1>What drove ");
    put_words(p, NULL, NULL, NULL, asc_net_target_words);
    asc_text_adds(t, "?</h1>\n<p class=\"sub\">");
    for (size_t i = 0; i < p->rep->n_results; i++) {
        if (i > 0) asc_text_adds(t, ", ");
        put_z(p, p->rep->results[i]->method);
    }
    if (p->rep->model != NULL) {
        asc_text_adds(t, "; ");
        put_z(p, base != NULL ? base + 1 : p->rep->model);
    }
    asc_text_adds(t, "</p>\n</header>\n<main>\n");
}

static void put_banners(page *p, const asc_attribution *r) {
    if (!r->converged) {
        asc_text_adds(p->t, "<div class=\"banner\" role=\"alert\"><strong>NOT CONVERGED</strong> ");
        put_z(p, r->method);
        asc_text_adds(p->t,
                      ": these scores may be noise, the error is over the tolerance asked for.</div>\n");
    }
    for (size_t k = 0; k < r->n_notes; k++) {
        asc_text_adds(p->t, "<div class=\"banner\" role=\"note\">");
        put_z(p, r->notes[k]);
        asc_text_adds(p->t, "</div>\n");
    }
}

static void put_maps(page *p) {
    asc_net_maps *m = &p->maps;
    asc_status st = asc_net_maps_init(p->ctx, &p->arena, p->rep, m);
    if (st == ASC_OK && m->n > 0) {
        asc_text_adds(p->t, "<section>\n<h2>Where</h2>\n");
        if (m->n > 1)
            asc_text_adds(p->t,
                          "<p>Each map has a scale of its own: its scores are divided by the score that "
                          "its label gives for 1. Channels are summed.</p>\n");
        st = asc_draw_heat_svg(p->ctx, p->t, "Scores by place", m->heats, m->n, &m->scale, m->picture);
        asc_text_adds(p->t, "</section>\n");
    }
    check(p, st);
}

/* A map that has no place beside the others: of another picture or, without one, of another size. */
static void put_lone_map(page *p, const asc_net_part *part, const char *title) {
    asc_array sum;
    asc_heat heat;
    asc_colour_scale scale;
    for (size_t i = 0; i < p->maps.n; i++)
        if (p->maps.of[i] == part->s) return;
    asc_status st = asc_net_heat(p->ctx, part, &sum, &heat, &scale);
    if (st == ASC_OK) {
        const asc_image *picture = part->view != NULL ? part->view->picture : NULL;
        st = asc_draw_heat_svg(p->ctx, p->t, title, &heat, 1, &scale, picture);
        asc_array_free(p->ctx, &sum);
    }
    check(p, st);
}

static void put_bytes(page *p, const asc_net_part *part, const char *title, const asc_colour_scale *scale) {
    int32_t *bytes = asc_arena_alloc(&p->arena, (part->n + 1) * sizeof *bytes);
    if (bytes == NULL) {
        check(p, ASC_RESOURCE_EXHAUSTED);
        return;
    }
    for (size_t i = 0; i < part->n; i++) bytes[i] = (int32_t)part->values[i];
    const int64_t *offsets = part->view->n_offsets == part->n ? part->view->offsets : NULL;
    asc_byte_strip strip = {bytes, offsets, part->data, part->n};
    check(p, asc_draw_bytes_svg(p->ctx, p->t, title, &strip, scale));
}

static void put_signals(page *p, const asc_net_part *part, const char *title, const asc_colour_scale *scale) {
    size_t length = (size_t)part->shape.dims[part->shape.rank - 1],
           channels = length > 0 ? part->n / length : 0;
    for (size_t c = 0; c < channels && c < ASC_SIGNALS_MOST; c++)
        check(p, asc_draw_signal_svg(p->ctx, p->t, title, part->values + c * length, part->data + c * length,
                                     length, scale));
    if (channels > ASC_SIGNALS_MOST)
        asc_text_addf(p->t, "<p class=\"sub\">%zu more channels are in the JSON of this page.</p>\n",
                      channels - ASC_SIGNALS_MOST);
}

static void put_row(page *p, const asc_net_part *part, size_t i) {
    char score[32], error[32];
    asc_text_adds(p->t, "<tr><td class=\"t\">");
    const char *name = asc_net_element(&p->arena, part, i);
    put_z(p, name != NULL ? name : "");
    asc_text_adds(p->t, "</td>");
    if (part->values != NULL) asc_text_addf(p->t, "<td class=\"num\">%.6g</td>", part->values[i]);
    asc_draw_figure(part->data[i], true, score);
    asc_text_addf(p->t, "<td class=\"num\">%s</td>", score);
    if (part->error != NULL) {
        asc_draw_figure(part->error[i], false, error);
        asc_text_addf(p->t, "<td class=\"num\">%s</td>", isfinite(part->error[i]) ? error : "-");
    }
    asc_text_adds(p->t, "</tr>\n");
}

static void put_table(page *p, const asc_net_part *part) {
    size_t shown = part->n <= ALL_ROWS ? part->n : ALL_ROWS;
    asc_ranked *order = asc_arena_alloc(&p->arena, (part->n + 1) * sizeof *order);
    if (order == NULL) {
        check(p, ASC_RESOURCE_EXHAUSTED);
        return;
    }
    asc_rank_scores(part->data, part->n, shown, order);
    asc_text_addf(p->t, "<details%s>\n<summary>",
                  part->show == ASC_SHOW_TABLE && part->n <= OPEN_ROWS ? " open" : "");
    if (shown < part->n)
        asc_text_addf(p->t, "The %zu largest of %zu scores of ", shown, part->n);
    else
        asc_text_addf(p->t, "All %zu scores of ", part->n);
    put_z(p, part->s->name);
    asc_text_adds(p->t, "</summary>\n<table>\n<thead><tr><th scope=\"col\">element</th>");
    if (part->values != NULL) asc_text_adds(p->t, "<th scope=\"col\" class=\"num\">value</th>");
    asc_text_adds(p->t, "<th scope=\"col\" class=\"num\">score</th>");
    if (part->error != NULL) asc_text_adds(p->t, "<th scope=\"col\" class=\"num\">error</th>");
    asc_text_adds(p->t, "</tr></thead>\n<tbody>\n");
    for (size_t k = 0; k < shown; k++) put_row(p, part, order[k].i);
    asc_text_adds(p->t, "</tbody>\n</table>\n</details>\n");
}

static void put_part(page *p, size_t i, size_t k) {
    asc_net_part part;
    asc_bars bars;
    asc_colour_scale scale;
    char title[160];
    if (!asc_net_part_of(&p->arena, p->rep, i, k, &part)) return;
    check(p, asc_colour_scale_of(p->ctx, part.data, part.n, 100, &scale));
    snprintf(title, sizeof title, "Scores of %.60s by %.60s", part.s->name, part.r->method);
    if (part.show == ASC_SHOW_BYTES) {
        put_bytes(p, &part, title, &scale);
    } else if (part.show == ASC_SHOW_SIGNAL) {
        put_signals(p, &part, title, &scale);
    } else if (part.show == ASC_SHOW_TABLE) {
        if (asc_net_bars(&p->arena, &part, &bars))
            check(p, asc_draw_bars_svg(p->ctx, p->t, title, &bars, &scale));
        else
            check(p, ASC_RESOURCE_EXHAUSTED);
    } else {
        put_lone_map(p, &part, title);
    }
    put_table(p, &part);
}

static void put_result(page *p, size_t i) {
    asc_text *t = p->t;
    const asc_attribution *r = p->rep->results[i];
    asc_text_adds(t, "<section>\n<h2>");
    put_z(p, r->method);
    asc_text_adds(t, "</h2>\n");
    put_banners(p, r);
    asc_text_adds(t, "<p>");
    put_words(p, r, asc_net_meaning, NULL, NULL);
    asc_text_adds(t, "</p>\n<dl>\n<dt>Value</dt><dd>");
    put_words(p, r, NULL, asc_net_value_words, NULL);
    if (r->complete) {
        asc_text_adds(t, "</dd>\n<dt>Sum of scores</dt><dd>");
        put_words(p, r, NULL, asc_net_sum_words, NULL);
    }
    asc_text_adds(t, "</dd>\n<dt>Error</dt><dd>");
    put_words(p, r, asc_net_error_words, NULL, NULL);
    asc_text_adds(t, "</dd>\n<dt>Cost</dt><dd>");
    put_words(p, r, asc_net_cost_words, NULL, NULL);
    asc_text_adds(t, "</dd>\n<dt>Options</dt><dd>");
    asc_view options = asc_view_of(r->options != NULL ? r->options : "");
    while (options.len > 0 && options.ptr[options.len - 1] == '\n') options.len--;
    asc_put_html_text(t, options);
    asc_text_adds(t, "</dd>\n</dl>\n");
    for (size_t k = 0; k < r->n_scores; k++) put_part(p, i, k);
    asc_text_adds(t, "</section>\n");
}

static void put_pair(page *p, const char *name, const char *value) {
    if (value == NULL || value[0] == '\0') return;
    asc_text_addf(p->t, "<dt>%s</dt><dd>", name);
    put_z(p, value);
    asc_text_adds(p->t, "</dd>\n");
}

static void put_details(page *p) {
    const asc_net_sheet *rep = p->rep;
    asc_text_adds(p->t, "<details>\n<summary>How it was made</summary>\n<dl>\n");
    put_pair(p, "Model file", rep->model);
    put_pair(p, "SHA-256", rep->model_sha256);
    put_pair(p, "Input", rep->input_note);
    put_pair(p, "Device", rep->device);
    put_pair(p, "Mode", rep->mode);
    put_pair(p, "Precision", rep->precision);
    put_pair(p, "Instructions", rep->isa);
    asc_text_addf(p->t, "<dt>Threads</dt><dd>%d</dd>\n<dt>Seed</dt><dd>%llu</dd>\n", rep->n_threads,
                  (unsigned long long)rep->seed);
    if (rep->command != NULL) {
        asc_text_adds(p->t, "<dt>Command</dt><dd><code>");
        put_z(p, rep->command);
        asc_text_adds(p->t, "</code></dd>\n");
    }
    asc_text_adds(p->t, "</dl>\n<p>The whole result is embedded in this page as JSON; saved to a file, "
                        "<code>ascribe rerun FILE</code> repeats it.</p>\n</details>\n</main>\n");
}

static void put_json(page *p) {
    asc_text *json = NULL;
    check(p, asc_text_create(p->ctx, &json));
    if (json == NULL) return;
    asc_net_sheet_json(json, p->rep);
    check(p, asc_text_status(json));
    asc_text_addf(p->t, "<footer>ascribe %s</footer>\n<script type=\"application/json\" id=\"result\">",
                  asc_version());
    asc_put_html_json(p->t, asc_text_view(json));
    asc_text_adds(p->t, "</script>\n</body>\n</html>\n");
    asc_text_destroy(json);
}

void asc_net_sheet_html(asc_ctx *ctx, asc_text *out, const asc_net_sheet *rep) {
    page p = {.ctx = ctx, .t = out, .rep = rep};
    asc_arena_init(&p.arena, ctx, ASC_MEM_GENERAL);
    put_head(&p);
    if (rep->n_top > 0) {
        asc_text_adds(out, "<p>The model says: ");
        put_words(&p, NULL, NULL, NULL, asc_net_says_words);
        asc_text_adds(out, "</p>\n");
    }
    put_maps(&p);
    for (size_t i = 0; i < rep->n_results; i++) put_result(&p, i);
    asc_put_profile_sections(p.ctx, p.t);
    put_details(&p);
    put_json(&p);
    asc_net_maps_deinit(ctx, &p.maps);
    asc_arena_deinit(&p.arena);
}
