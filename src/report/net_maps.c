/* net_maps.c - all maps of a report, ready to stand side by side. */
#include "net_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

/* The picture of the map's own view, or the only picture there is (maps of sites lie over the input). */
static const asc_image *picture_of(const asc_net_sheet *rep, const asc_net_part *p) {
    if (p->view != NULL) return p->view->picture;
    for (size_t v = 0; v < rep->n_views; v++)
        if (rep->views[v].picture != NULL) return rep->views[v].picture;
    return NULL;
}

/* The method, and what it looked at where that is not an input that is known. */
static const char *label_of(asc_arena *a, const asc_net_part *p) {
    char label[160];
    if (p->view != NULL && !p->view->site) return p->r->method;
    snprintf(label, sizeof label, "%.60s at %.80s", p->r->method, p->s->name);
    return asc_arena_strdup(a, asc_view_of(label));
}

/* Methods have scales of their own: scores over limit, and the label says which score that was. */
static bool by_own_limit(asc_arena *a, asc_heat *heat, const asc_colour_scale *scale) {
    size_t n = (size_t)(heat->rows * heat->cols);
    double *share = asc_arena_alloc(a, (n + 1) * sizeof *share);
    char label[128], figure[32];
    if (share == NULL) return false;
    for (size_t i = 0; i < n; i++) share[i] = heat->scores[i] / scale->limit;
    asc_draw_figure(scale->limit, false, figure);
    snprintf(label, sizeof label, "%.80s, 1 = %s", heat->label, figure);
    heat->label = asc_arena_strdup(a, asc_view_of(label));
    heat->scores = share;
    return heat->label != NULL;
}

/* Maps of one picture only; the first one decides. */
static bool fits(const asc_net_maps *m, const asc_heat *heat, const asc_image *picture) {
    if (m->n == 0) return true;
    if (picture != m->picture) return false;
    return picture != NULL || (heat->rows == m->heats[0].rows && heat->cols == m->heats[0].cols);
}

asc_status asc_net_maps_init(asc_ctx *ctx, asc_arena *a, const asc_net_sheet *rep, asc_net_maps *out) {
    size_t most = 0;
    *out = (asc_net_maps){0};
    for (size_t i = 0; i < rep->n_results; i++) most += rep->results[i]->n_scores;
    out->heats = asc_arena_alloc(a, (most + 1) * sizeof *out->heats);
    out->sums = asc_arena_alloc(a, (most + 1) * sizeof *out->sums);
    out->of = asc_arena_alloc(a, (most + 1) * sizeof *out->of);
    asc_colour_scale *scales = asc_arena_alloc(a, (most + 1) * sizeof *scales);
    if (out->heats == NULL || out->sums == NULL || out->of == NULL || scales == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < rep->n_results; i++)
        for (size_t k = 0; k < rep->results[i]->n_scores; k++) {
            asc_net_part p;
            asc_heat heat;
            if (!asc_net_part_of(a, rep, i, k, &p) || p.show != ASC_SHOW_PICTURE) continue;
            asc_status st = asc_net_heat(ctx, &p, &out->sums[out->n], &heat, &scales[out->n]);
            if (st != ASC_OK) return st;
            const asc_image *picture = picture_of(rep, &p);
            if (!fits(out, &heat, picture)) {
                asc_array_free(ctx, &out->sums[out->n]);
                continue;
            }
            heat.label = label_of(a, &p);
            if (heat.label == NULL) {
                asc_array_free(ctx, &out->sums[out->n]);
                return ASC_RESOURCE_EXHAUSTED;
            }
            out->picture = picture;
            out->of[out->n] = p.s;
            out->heats[out->n++] = heat;
        }
    if (out->n > 0) out->scale = scales[0];
    for (size_t m = 0; m < out->n && out->n > 1; m++) {
        asc_colour_scale one;
        if (!by_own_limit(a, &out->heats[m], &scales[m])) return ASC_RESOURCE_EXHAUSTED;
        size_t n = (size_t)(out->heats[m].rows * out->heats[m].cols);
        asc_status st = asc_colour_scale_of(ctx, out->heats[m].scores, n, scales[m].percentile, &one);
        if (st != ASC_OK) return st;
        if (m == 0)
            out->scale = one;
        else
            asc_colour_scale_join(&out->scale, &one);
    }
    return ASC_OK;
}

void asc_net_maps_deinit(asc_ctx *ctx, asc_net_maps *m) {
    for (size_t i = 0; i < m->n; i++) asc_array_free(ctx, &m->sums[i]);
    m->n = 0;
}

asc_status asc_net_sheet_image(asc_ctx *ctx, const asc_net_sheet *rep, asc_image *out) {
    asc_arena a;
    asc_net_maps m;
    *out = (asc_image){0};
    asc_arena_init(&a, ctx, ASC_MEM_GENERAL);
    asc_status st = asc_net_maps_init(ctx, &a, rep, &m);
    if (st == ASC_OK && m.n == 0) {
        ASC_FAIL(ctx, ASC_NOT_FOUND, "no scores of this result can be shown over a picture");
        st = asc_hint(ctx, "maps need scores of shape [H,W] or [C,H,W]; the page and JSON show all others");
    }
    if (st == ASC_OK) st = asc_draw_heat_grid(ctx, m.heats, m.n, &m.scale, m.picture, out);
    asc_net_maps_deinit(ctx, &m);
    asc_arena_deinit(&a);
    return st;
}
