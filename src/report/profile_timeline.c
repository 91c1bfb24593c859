/* profile_timeline.c - events as rectangles over time, one row a depth. What is narrower than a unit is drawn
 * together with its neighbours, so that a drawing has a bounded size however many events there are. */
#include "html_put.h"
#include "profile_parts.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1000, ROW = 16, MOST_ROWS = 40, MOST_RECTS = 6000, UNITS_PER_LETTER = 6 };

typedef struct strip { /* narrow neighbours of one row */
    double x0, x1;
    size_t n;
    unsigned kind;
} strip;

typedef struct drawing {
    asc_text *t;
    const asc_prof *p;
    uint64_t from, to;
    size_t rects;
    strip open[MOST_ROWS];
} drawing;

static double place(const drawing *d, uint64_t ns) {
    if (ns <= d->from) return 0.0;
    if (ns >= d->to) return WIDTH;
    return (double)WIDTH * (double)(ns - d->from) / (double)(d->to - d->from);
}

static void put_rect(drawing *d, double x0, double x1, int row, unsigned kind) {
    asc_text_addf(d->t, "<g><rect class=\"k%u\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>", kind, x0,
                  row * ROW, x1 - x0 < 0.3 ? 0.3 : x1 - x0, ROW - 2);
}

static void put_strip(drawing *d, int row) {
    strip *s = &d->open[row];
    if (s->n == 0) return;
    if (d->rects++ < MOST_RECTS) {
        put_rect(d, s->x0, s->x1, row, s->kind);
        asc_text_addf(d->t, "<title>%zu short %ss</title></g>\n", s->n,
                      asc_prof_kind_name((asc_prof_kind)s->kind));
    }
    s->n = 0;
}

static void put_one(drawing *d, const asc_prof_event *e, double x0, double x1, int row) {
    char name[200];
    if (d->rects++ >= MOST_RECTS) return;
    asc_prof_event_name(d->p, e, name, sizeof name);
    put_rect(d, x0, x1, row, e->kind);
    asc_text_adds(d->t, "<title>");
    asc_put_html_text(d->t, asc_view_of(name));
    asc_text_addf(d->t, ": %.3f ms", (double)e->ns * 1e-6);
    if (e->label != 0) {
        asc_text_adds(d->t, " in ");
        asc_put_html_text(d->t, asc_view_of(asc_prof_text(d->p, e->label)));
    }
    if (e->flops > 0.0 && e->ns > 0) asc_text_addf(d->t, ", %.1f GFLOP/s", e->flops / (double)e->ns);
    asc_text_adds(d->t, "</title>");
    const size_t letters = (size_t)(x1 - x0) / UNITS_PER_LETTER;
    if (letters >= 3) {
        asc_text_addf(d->t, "<text x=\"%.2f\" y=\"%d\">", x0 + 2, row * ROW + ROW - 5);
        asc_put_html_text(d->t, asc_view_cut(asc_view_of(name), letters));
        asc_text_adds(d->t, "</text>");
    }
    asc_text_adds(d->t, "</g>\n");
}

static void add(drawing *d, const asc_prof_event *e, int row) {
    const double x0 = place(d, e->start_ns), x1 = place(d, e->start_ns + e->ns);
    strip *s = &d->open[row];
    if (x1 - x0 >= 1.0) {
        put_strip(d, row);
        put_one(d, e, x0, x1, row);
        return;
    }
    if (s->n > 0 && (x0 - s->x1 > 0.5 || s->kind != e->kind)) put_strip(d, row);
    if (s->n++ == 0) {
        s->x0 = x0;
        s->kind = e->kind;
    }
    s->x1 = x1;
}

void asc_put_timeline(asc_text *t, const asc_prof *p, const asc_prof_order *o, uint64_t from, uint64_t to,
                      const char *what) {
    drawing d = {.t = t, .p = p, .from = from, .to = to > from ? to : from + 1};
    int least = MOST_ROWS, most = 0;
    for (size_t i = 0; i < o->n; i++) { /* the rows that this window uses */
        const asc_prof_event *e = o->events[i];
        if (e->start_ns + e->ns <= from || e->start_ns >= to || e->ns == 0) continue;
        if (o->depth[i] < least) least = o->depth[i];
        if (o->depth[i] > most) most = o->depth[i];
    }
    if (least > most) return;
    const int rows = most - least + 1 < MOST_ROWS ? most - least + 1 : MOST_ROWS;
    asc_text_addf(t, "<svg class=\"time\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
                  rows * ROW + 14);
    asc_put_html_attribute(t, asc_view_of(what));
    asc_text_adds(t, "\">\n");
    for (size_t i = 0; i < o->n; i++) {
        const asc_prof_event *e = o->events[i];
        const int row = o->depth[i] - least;
        if (e->start_ns + e->ns <= from || e->start_ns >= to || e->ns == 0 || row < 0 || row >= rows)
            continue;
        add(&d, e, row);
    }
    for (int row = 0; row < rows; row++) put_strip(&d, row);
    for (int k = 0; k <= 4; k++) {
        const char *anchor = k == 0 ? "start" : k == 4 ? "end" : "middle";
        asc_text_addf(t, "<text class=\"tick\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">%.4g ms</text>\n",
                      k * WIDTH / 4, rows * ROW + 11, anchor,
                      1e-6 * ((double)(from - p->start_ns) + (double)(d.to - from) * k / 4));
    }
    asc_text_adds(t, "</svg>\n");
    if (d.rects > MOST_RECTS)
        asc_text_addf(t, "<p class=\"sub\">%zu more are not drawn.</p>\n", d.rects - MOST_RECTS);
}
