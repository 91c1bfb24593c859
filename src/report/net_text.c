/* net_text.c - attributions on nets for a terminal. */
#include "net_parts.h"
#include "view.h"
#include <stdio.h>

enum { LABEL = 10 };

typedef struct page {
    asc_ctx *ctx;
    asc_text *t;
    const asc_net_sheet *rep;
    asc_report_style style;
    asc_arena arena;
} page;

static void label(page *p, const char *name) {
    asc_text_addf(p->t, p->style.colours != ASC_COLOURS_NONE ? "\x1b[1m%-*s\x1b[0m" : "%-*s", LABEL, name);
}

static void line(page *p, const char *name, asc_view v) {
    label(p, name);
    asc_text_wrap(p->t, v.ptr, LABEL, p->style.columns);
}

static void words(page *p, const char *name, const asc_attribution *r,
                  void (*of_result)(asc_text *, const asc_attribution *),
                  void (*of_both)(asc_text *, const asc_net_sheet *, const asc_attribution *),
                  void (*of_report)(asc_text *, const asc_net_sheet *)) {
    asc_text *s = NULL;
    if (asc_text_create(p->ctx, &s) != ASC_OK) {
        p->t->b.failed = true;
        return;
    }
    if (of_result != NULL) of_result(s, r);
    if (of_both != NULL) of_both(s, p->rep, r);
    if (of_report != NULL) of_report(s, p->rep);
    line(p, name, asc_text_view(s));
    if (asc_text_status(s) != ASC_OK) p->t->b.failed = true;
    asc_text_destroy(s);
}

static void put_map(page *p, const asc_net_part *part) {
    asc_array sum;
    asc_heat heat;
    asc_colour_scale scale;
    if (asc_net_heat(p->ctx, part, &sum, &heat, &scale) != ASC_OK) {
        p->t->b.failed = true;
        return;
    }
    heat.label = NULL;
    asc_draw_heat_text(p->t, &heat, &scale, &p->style);
    asc_array_free(p->ctx, &sum);
}

static void put_part(page *p, size_t i, size_t k) {
    asc_net_part part;
    asc_bars bars;
    asc_colour_scale scale;
    if (!asc_net_part_of(&p->arena, p->rep, i, k, &part)) return;
    asc_text_adds(p->t, "\n  ");
    asc_text_shown(p->t, asc_view_of(part.s->name), 60);
    asc_text_adds(p->t, " [");
    for (int d = 0; d < part.s->shape.rank; d++)
        asc_text_addf(p->t, "%s%lld", d > 0 ? ", " : "", (long long)part.s->shape.dims[d]);
    asc_text_adds(p->t, "]\n");
    if (part.show == ASC_SHOW_PICTURE) {
        put_map(p, &part);
        return;
    }
    if (part.show == ASC_SHOW_SIGNAL && p->style.colours != ASC_COLOURS_NONE && part.n > 0) {
        int64_t cols = part.shape.dims[part.shape.rank - 1];
        asc_heat heat = {part.data, (int64_t)part.n / cols, cols, NULL};
        if (asc_colour_scale_of(p->ctx, part.data, part.n, 100, &scale) == ASC_OK)
            asc_draw_heat_text(p->t, &heat, &scale, &p->style);
    }
    if (!asc_net_bars(&p->arena, &part, &bars) ||
        asc_colour_scale_of(p->ctx, part.data, part.n, 100, &scale) != ASC_OK) {
        p->t->b.failed = true;
        return;
    }
    asc_draw_bars_text(p->t, &bars, &scale, &p->style);
}

static void put_result(page *p, size_t i) {
    const asc_attribution *r = p->rep->results[i];
    asc_text_adds(p->t, "\n");
    line(p, "Method", asc_view_of(r->method));
    for (size_t k = 0; k < r->n_scores; k++) put_part(p, i, k);
    asc_text_adds(p->t, "\n");
    words(p, "Value", r, NULL, asc_net_value_words, NULL);
    if (r->complete) words(p, "Total", r, NULL, asc_net_sum_words, NULL);
    words(p, "Meaning", r, asc_net_meaning, NULL, NULL);
    words(p, "Error", r, asc_net_error_words, NULL, NULL);
    words(p, "Cost", r, asc_net_cost_words, NULL, NULL);
    for (size_t k = 0; k < r->n_notes; k++) line(p, "Warning", asc_view_of(r->notes[k]));
}

void asc_net_sheet_text(asc_ctx *ctx, asc_text *out, const asc_net_sheet *rep,
                        const asc_report_style *style) {
    page p = {.ctx = ctx, .t = out, .rep = rep, .style = *style};
    if (p.style.columns == 0 || p.style.columns > 100) p.style.columns = 100;
    if (p.style.columns < 40) p.style.columns = 40;
    asc_arena_init(&p.arena, ctx, ASC_MEM_GENERAL);
    if (rep->model != NULL) {
        const char *base = strrchr(rep->model, '/');
        line(&p, "Model", asc_view_of(base != NULL ? base + 1 : rep->model));
    }
    if (rep->input_note != NULL) line(&p, "Input", asc_view_of(rep->input_note));
    words(&p, "Target", NULL, NULL, NULL, asc_net_target_words);
    if (rep->n_top > 0) words(&p, "Answer", NULL, NULL, NULL, asc_net_says_words);
    for (size_t i = 0; i < rep->n_results; i++) put_result(&p, i);
    asc_arena_deinit(&p.arena);
}
