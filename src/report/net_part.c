/* net_part.c - which scores are shown, as what, and what their elements are called. */
#include "net_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum { SIGNAL_LEAST = 32 }; /* samples of a channel */
enum { TABLE_MOST = 64 };   /* a plain row of more numbers is shown as a signal if its values are known */

static const asc_net_view *view_of(const asc_net_sheet *rep, const char *name) {
    for (size_t v = 0; v < rep->n_views; v++)
        if (rep->views[v].name != NULL && strcmp(rep->views[v].name, name) == 0) return &rep->views[v];
    return NULL;
}

/* A map as asc_heat_sum takes it, and more than a line. */
static bool is_map(const asc_shape *s, bool nhwc) {
    int rank = s->rank;
    const int64_t *d = s->dims;
    while (rank > 3 && d[0] == 1) d++, rank--;
    if (rank == 2) return d[0] > 1 && d[1] > 1;
    return rank == 3 && (nhwc ? d[0] > 1 && d[1] > 1 : d[1] > 1 && d[2] > 1);
}

static asc_show show_as(const asc_net_part *p) {
    const asc_net_view *v = p->view;
    bool nhwc = v != NULL && v->nhwc;
    if (v != NULL && v->show == ASC_SHOW_BYTES && v->values != NULL && p->shape.rank >= 1)
        return ASC_SHOW_BYTES;
    if (v != NULL && v->show == ASC_SHOW_SIGNAL && p->values != NULL) return ASC_SHOW_SIGNAL;
    if (v != NULL && v->show == ASC_SHOW_PICTURE && is_map(&p->shape, nhwc)) return ASC_SHOW_PICTURE;
    if (v != NULL && v->show == ASC_SHOW_TABLE) return ASC_SHOW_TABLE;
    if (v != NULL && v->offsets != NULL && v->values != NULL && p->shape.rank >= 1) return ASC_SHOW_BYTES;
    if (v != NULL && v->names != NULL) return ASC_SHOW_TABLE;
    bool channels =
        p->shape.rank == 2 && p->shape.dims[0] <= ASC_SIGNALS_MOST && p->shape.dims[1] >= SIGNAL_LEAST;
    if (p->values != NULL && channels && v->picture == NULL) return ASC_SHOW_SIGNAL;
    if (is_map(&p->shape, nhwc)) return ASC_SHOW_PICTURE;
    if (p->values != NULL && p->shape.rank >= 1 && p->n > TABLE_MOST) return ASC_SHOW_SIGNAL;
    return ASC_SHOW_TABLE;
}

/* Sums over what stands behind the first dimension: one score per byte. */
static bool sum_behind(asc_arena *a, asc_net_part *p) {
    const asc_shape *s = &p->shape;
    int lead = 0;
    while (lead + 1 < s->rank && s->dims[lead] == 1 && p->view->n_offsets != 1) lead++;
    size_t rows = (size_t)s->dims[lead], each = rows > 0 ? p->n / rows : 0;
    double *sum = asc_arena_alloc(a, (rows + 1) * sizeof *sum);
    if (sum == NULL) return false;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < each; k++) sum[i] += p->data[i * each + k];
    if (each > 1) p->error = NULL;
    p->data = sum;
    p->n = rows;
    p->shape = ASC_SHAPE((int64_t)rows);
    return true;
}

/* Values of the example shown, one per element; of bytes one per row. */
static bool find_values(asc_arena *a, const asc_net_sheet *rep, asc_net_part *p) {
    const asc_array *v = p->view != NULL ? p->view->values : NULL;
    int64_t count = v != NULL ? asc_array_count(v) : 0;
    p->values = NULL;
    if (count <= 0 || p->n == 0) return true;
    size_t examples = (size_t)count / p->n;
    if ((size_t)count != examples * p->n || (examples > 1 && examples != p->r->n_examples)) return true;
    double *out = asc_arena_alloc(a, p->n * sizeof *out);
    if (out == NULL) return false;
    asc_array_get(v, (int64_t)(examples > 1 ? rep->example * p->n : 0), (int64_t)p->n, out);
    p->values = out;
    return true;
}

bool asc_net_part_of(asc_arena *a, const asc_net_sheet *rep, size_t i, size_t k, asc_net_part *out) {
    const asc_attribution *r = rep->results[i];
    const asc_scores *s = &r->scores[k];
    asc_net_part p = {.r = r, .s = s, .view = view_of(rep, s->name), .shape = s->shape, .n = 1};
    size_t skip = 0;
    int drop = 0;
    for (int d = 0; d < s->shape.rank; d++) p.n *= (size_t)s->shape.dims[d];
    if (s->shape.rank > 0 &&
        (size_t)s->shape.dims[0] == r->n_examples) { /* arrays of a method's own may differ */
        if (rep->example >= r->n_examples) return false;
        p.n /= r->n_examples > 0 ? r->n_examples : 1;
        skip = rep->example * p.n;
        drop = 1;
        if (r->n_outputs > 1 && s->shape.rank > 1 && (size_t)s->shape.dims[1] == r->n_outputs) {
            if (rep->output >= r->n_outputs) return false;
            p.n /= r->n_outputs;
            skip += rep->output * p.n;
            drop = 2;
        }
    }
    p.shape.rank -= drop;
    for (int d = 0; d < p.shape.rank; d++) p.shape.dims[d] = s->shape.dims[d + drop];
    p.data = s->data + skip;
    p.error = s->error != NULL ? s->error + skip : NULL;
    if (!find_values(a, rep, &p)) return false;
    p.show = show_as(&p);
    if (p.show == ASC_SHOW_BYTES) {
        if (!sum_behind(a, &p) || !find_values(a, rep, &p)) return false;
        if (p.values == NULL) p.show = ASC_SHOW_TABLE;
    }
    *out = p;
    return true;
}

static const char *byte_name(asc_arena *a, const asc_net_part *p, size_t i) {
    char text[64];
    int64_t at = p->view->offsets != NULL && i < p->view->n_offsets ? p->view->offsets[i] : (int64_t)i;
    int byte = (int)p->values[i];
    if (at < 0 || byte > 255)
        snprintf(text, sizeof text, "padding %zu", i);
    else if (byte >= 32 && byte < 127)
        snprintf(text, sizeof text, "byte 0x%llx: %02x '%c'", (unsigned long long)at, (unsigned)byte, byte);
    else
        snprintf(text, sizeof text, "byte 0x%llx: %02x", (unsigned long long)at, (unsigned)byte);
    return asc_arena_strdup(a, asc_view_of(text));
}

const char *asc_net_element(asc_arena *a, const asc_net_part *p, size_t i) {
    char text[160] = "";
    size_t at = 0, rest = i, index[ASC_MAX_RANK] = {0}, last;
    if (p->show == ASC_SHOW_BYTES) return byte_name(a, p, i);
    if (p->view != NULL && p->view->names != NULL && p->view->n_names == p->n) return p->view->names[i];
    int rank = p->shape.rank;
    for (int d = rank - 1; d >= 0; d--) {
        size_t size = (size_t)p->shape.dims[d];
        index[d] = size > 0 ? rest % size : 0;
        rest = size > 0 ? rest / size : 0;
    }
    last = rank > 0 ? (size_t)p->shape.dims[rank - 1] : 0;
    bool named = p->view != NULL && p->view->names != NULL && p->view->n_names == last && last > 0;
    for (int d = 0; d < rank - named; d++) {
        int n = snprintf(text + at, sizeof text - at, "%s%zu", d > 0 ? ", " : "[", index[d]);
        at += (size_t)n;
    }
    if (at > 0 && at + 1 < sizeof text) snprintf(text + at, sizeof text - at, "]");
    if (rank == 0) snprintf(text, sizeof text, "the value");
    if (!named) return asc_arena_strdup(a, asc_view_of(text));
    const char *name = p->view->names[index[rank - 1]];
    if (at == 0) return name;
    char both[256];
    snprintf(both, sizeof both, "%s %.80s", text, name);
    return asc_arena_strdup(a, asc_view_of(both));
}

bool asc_net_bars(asc_arena *a, const asc_net_part *p, asc_bars *bars) {
    const char **names = asc_arena_alloc(a, (p->n + 1) * sizeof *names);
    if (names == NULL) return false;
    for (size_t i = 0; i < p->n; i++) {
        names[i] = asc_net_element(a, p, i);
        if (names[i] == NULL) return false;
    }
    *bars = (asc_bars){.scores = p->data,
                       .errors = p->error,
                       .values = p->show == ASC_SHOW_BYTES ? NULL : p->values,
                       .names = names,
                       .n = p->n,
                       .most = ASC_BARS_MOST};
    return true;
}

asc_status asc_net_heat(asc_ctx *ctx, const asc_net_part *p, asc_array *sum, asc_heat *heat,
                        asc_colour_scale *scale) {
    asc_status st = asc_heat_sum(ctx, p->data, p->shape, p->view != NULL && p->view->nhwc, sum);
    *heat = (asc_heat){0};
    if (st != ASC_OK) return st;
    *heat = (asc_heat){sum->data, sum->shape.dims[0], sum->shape.dims[1], p->r->method};
    size_t n = (size_t)(heat->rows * heat->cols);
    st = asc_colour_scale_of(ctx, heat->scores, n, n >= 1000 ? 99.5 : 100, scale);
    if (st != ASC_OK) asc_array_free(ctx, sum);
    return st;
}
