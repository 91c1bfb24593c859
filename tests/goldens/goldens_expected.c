/* goldens_expected.c - numbers that Captum's own tests assert (captum_expected.tsv): one row is one call and
 * one expected value with the test's tolerance. Every row is run, or counted as skipped with the reason.
 * Deterministic methods are compared directly, stochastic ones by their mean over 20 seeds, which must be
 * within the tolerance and 3 standard errors. A row that says `part` names a slice of the result without
 * saying which: some slice must fit. */
#include "file.h"
#include "goldens_expected.h"
#include "goldens_literal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 20, MAX_KINDS = 96 };

typedef struct count {
    char name[80];
    long run, passed, skipped;
} count;
typedef struct table {
    count rows[MAX_KINDS];
    size_t n;
} table;

static count *count_of(table *t, asc_view name) {
    for (size_t i = 0; i < t->n; i++) {
        if (asc_view_eqs(name, t->rows[i].name)) return &t->rows[i];
    }
    if (t->n < MAX_KINDS) t->n++;
    count *c = &t->rows[t->n - 1];
    snprintf(c->name, sizeof c->name, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
    return c;
}

static void copy(double **out, const double *data, size_t n) {
    *out = malloc((n + 1) * sizeof **out);
    if (*out == NULL) abort();
    if (n > 0) memcpy(*out, data, n * sizeof **out);
}

void ours_add(ours *o, const double *data, const asc_shape *shape) {
    if (o->n == 16) return;
    o->size[o->n] = (size_t)asc_shape_elems(shape);
    o->columns[o->n] = shape->rank > 1 ? (size_t)shape->dims[shape->rank - 1] : 0;
    copy(&o->data[o->n], data, o->size[o->n]);
    o->n++;
}

void ours_of(const asc_attribution *r, ours *out) {
    for (size_t i = 0; i < r->n_scores; i++) ours_add(out, r->scores[i].data, &r->scores[i].shape);
    out->n_delta = r->n_delta;
    copy(&out->delta, r->delta, r->delta != NULL ? r->n_delta : 0);
}

void ours_free(ours *o) {
    for (size_t i = 0; i < o->n; i++) free(o->data[i]);
    free(o->delta);
    *o = (ours){0};
}

/* ---- comparison: all numbers of one array, by the row's tolerance and mode. Results are f32 sums in Captum,
 * so that rounding of 2e-6 of the largest number is allowed on top. spread: 3 standard errors of our mean, or
 * NULL. */
static double ratio_of(const expected_row *row, const double *want, const double *got, const double *spread,
                       size_t n, size_t stride) {
    char text[40];
    double sum = 0.0, most = 0.0, large = 0.0;
    snprintf(text, sizeof text, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_TOLERANCE]));
    double tolerance = strtod(text, NULL);
    for (size_t i = 0; i < n; i++) {
        double d = fabs(want[i] - got[i * stride]);
        if (spread != NULL) d = fmax(0.0, d - spread[i * stride]);
        if (isnan(d)) return NAN;
        sum += d;
        most = fmax(most, d);
        large = fmax(large, fabs(want[i]));
    }
    bool by_sum = asc_view_eqs(row->col[COL_TOL_MODE], "sum");
    double room = tolerance + 2e-6 * fmax(large, 1.0) * (by_sum ? (double)n : 1.0);
    return (by_sum ? sum : most) / room;
}

typedef struct wanted {
    double *data[16];
    size_t size[16], n;
} wanted;

static bool want(const asc_json *j, wanted *w) {
    golden_array a;
    if (w->n == 16) return false;
    asc_json_type t = asc_json_typeof(j);
    if (t == ASC_JSON_INT || t == ASC_JSON_REAL) {
        double v = asc_json_num(j, 0.0);
        w->size[w->n] = 1;
        copy(&w->data[w->n++], &v, 1);
        return true;
    }
    if (golden_array_read(j, &a)) {
        w->size[w->n] = (size_t)asc_array_count(&a.a);
        double *d = malloc((w->size[w->n] + 1) * sizeof *d);
        if (d == NULL) abort();
        asc_array_get(&a.a, 0, asc_array_count(&a.a), d);
        w->data[w->n++] = d;
        if (w->size[w->n - 1] == 0 && w->n > 1) free(w->data[--w->n]); /* of an input without elements */
        golden_array_free(&a);
        return true;
    }
    const asc_json *list = asc_json_get(j, "tuple") != NULL ? asc_json_get(j, "tuple") : j;
    if (asc_json_typeof(list) == ASC_JSON_ARRAY && asc_json_len(list) == 0) return true;
    bool ok = asc_json_typeof(list) == ASC_JSON_ARRAY;
    for (size_t i = 0; ok && i < asc_json_len(list); i++) ok = want(asc_json_at(list, i), w);
    return ok;
}

static double part_ratio(const expected_row *row, const wanted *w, const ours *o, const ours *spread) {
    double best = INFINITY;
    size_t n = w->size[0];
    for (size_t k = 0; w->n == 1 && n > 0 && k < o->n; k++) {
        for (size_t at = 0; at + n <= o->size[k]; at += n) {
            const double *s = spread != NULL ? spread->data[k] + at : NULL;
            best = fmin(best, ratio_of(row, w->data[0], o->data[k] + at, s, n, 1));
        }
        size_t columns = o->columns[k];
        for (size_t at = 0; columns > 0 && o->size[k] == n * columns && at < columns; at++) {
            const double *s = spread != NULL ? spread->data[k] + at : NULL;
            best = fmin(best, ratio_of(row, w->data[0], o->data[k] + at, s, n, columns));
        }
    }
    return best;
}

static double ratio(const config *c, const expected_row *row, const wanted *w, const ours *o,
                    const ours *spread) {
    asc_view what = row->col[COL_CHECKED];
    if (asc_view_eqs(what, "part")) return part_ratio(row, w, o, spread);
    if (asc_view_eqs(what, "delta"))
        return w->n == 1 && w->size[0] == o->n_delta
                   ? ratio_of(row, w->data[0], o->delta, spread != NULL ? spread->delta : NULL, o->n_delta, 1)
                   : INFINITY;
    size_t first = 0, n = o->n;
    if (what.len > 5 && what.ptr[4] == '[') { /* attr[i] */
        first = (size_t)(what.ptr[5] - '0');
        n = first + 1;
        if (c->n_layers > 1 && first < c->n_layers) {
            n = c->layer_first[first + 1];
            first = c->layer_first[first];
        }
    }
    if (n > o->n || n - first != w->n) return INFINITY;
    double worst = 0.0;
    for (size_t i = 0; i < w->n; i++) {
        /* a model without a batch: scores of a column stand in every row */
        bool rows = asc_view_eqs(row->col[COL_MODEL], "BasicModelWithSparseInputs") && w->size[i] > 0 &&
                    o->size[first + i] % w->size[i] == 0;
        if (w->size[i] != o->size[first + i] && !rows) return INFINITY;
        const double *s = spread != NULL ? spread->data[first + i] : NULL;
        worst = fmax(worst, ratio_of(row, w->data[i], o->data[first + i], s, w->size[i], 1));
    }
    return worst;
}

/* ---- running */

static bool call(config *c, expected_row *row, uint64_t seed, ours *out) {
    asc_view m = row->col[COL_METHOD];
    if (asc_view_eqs(m, "FGSM") || asc_view_eqs(m, "PGD")) return expected_attack(c, row, out);
    if (asc_view_eqs(m, "infidelity") || asc_view_eqs(m, "sensitivity_max"))
        return expected_metric(c, row, out);
    if (asc_view_eqs(m, "DataLoaderAttribution(FeatureAblation)")) return expected_stream(c, row, out);
    if (asc_view_starts(m, asc_view_of("LLM"))) return expected_llm(c->g, row, seed, out);
    if (asc_view_eqs(m, "LimeBase")) return expected_lime_base(c, row, seed, out);
    return expected_call(c, row, seed, out);
}

/* Numbers that hang on Captum's generator: what a single call draws, not what calls have on average. */
static bool is_draw(const expected_row *row) {
    return asc_view_eqs(row->col[COL_ID], "layer_gradient_shap#004");
}

/* Mean over seeds and 3 standard errors of it (of a single call, for such numbers). */
static bool mean(config *c, expected_row *row, ours *out, ours *spread) {
    for (int s = 0; s < SEEDS; s++) {
        ours one = {0};
        if (!call(c, row, (uint64_t)s + 1, &one)) return false;
        for (size_t k = 0; k < one.n; k++) {
            for (size_t i = 0; i < one.size[k]; i++) {
                double d = one.data[k][i] - (s > 0 ? out->data[k][i] : 0.0);
                if (s > 0) {
                    out->data[k][i] += d / (s + 1);
                    spread->data[k][i] += d * (one.data[k][i] - out->data[k][i]);
                }
            }
        }
        if (s == 0) {
            *out = one;
            for (size_t k = 0; k < one.n; k++) {
                spread->size[k] = one.size[k];
                spread->data[k] = calloc(one.size[k] + 1, sizeof(double));
                if (spread->data[k] == NULL) abort();
            }
            spread->n = one.n;
            spread->delta = calloc(one.n_delta + 1, sizeof(double));
            continue;
        }
        ours_free(&one);
    }
    double of = is_draw(row) ? 1.0 + 1.0 / SEEDS : 1.0 / SEEDS;
    for (size_t k = 0; k < spread->n; k++) {
        for (size_t i = 0; i < spread->size[k]; i++)
            spread->data[k][i] = 3.0 * sqrt(spread->data[k][i] / (SEEDS - 1) * of);
    }
    return true;
}

static bool is_random(asc_view method) {
    static const char *const names[] = {"Lime",
                                        "LimeBase",
                                        "KernelShap",
                                        "ShapleyValueSampling",
                                        "LLMAttribution(Lime)",
                                        "LLMAttribution(KernelShap)",
                                        "LLMAttribution(ShapleyValueSampling)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (asc_view_eqs(method, names[i])) return true;
    }
    const golden_class *k = golden_class_find(method);
    return k != NULL && k->stochastic;
}

/* Rows that are about something else. */
static const char *not_ours(const expected_row *row) {
    asc_view m = row->col[COL_METHOD], model = row->col[COL_MODEL], key = row->col[COL_KEY];
    bool stream = asc_view_eqs(m, "DataLoaderAttribution(FeatureAblation)");
    if (m.len == 0 && memmem(row->col[COL_ID].ptr, row->col[COL_ID].len, "approximation", 13) == NULL)
        return "no call: a helper, or two results of the test compared";
    if (asc_view_eqs(m, "AttackComparator") || asc_view_eqs(m, "MinParamPerturbation(function)"))
        return "AttackComparator and MinParamPerturbation: no such method here";
    if (asc_view_eqs(row->col[COL_CHECKED], "derived")) return "computed from the result by the test";
    if (model.len > 9 && memcmp(model.ptr, "callable:", 9) == 0 &&
        !(stream && asc_view_eqs(model, "callable:sum_forward")))
        return "the model is a function defined in the test";
    asc_view text = row->col[COL_EXPECTED];
    if (asc_view_eqs(row->col[COL_KIND], "raises") &&
        memmem(text.ptr, text.len, "torch.Tensor or a number", 24) != NULL)
        return "an error about a Python type";
    if (key.len > 3 && memcmp(key.ptr, "big", 3) == 0) return "weights were not recorded";
    return NULL;
}

typedef struct state {
    goldens *g;
    table methods, reasons;
} state;

static void run(state *s, expected_row *row) {
    goldens *g = s->g;
    const char *why = NULL;
    config *c = calloc(1, sizeof *c);
    ours out = {0}, spread = {0};
    wanted w = {0};
    bool random = is_random(row->col[COL_METHOD]), raises = asc_view_eqs(row->col[COL_KIND], "raises"),
         ok = true;
    asc_json *expected = raises ? NULL : golden_literal(g->ctx, row->col[COL_EXPECTED], &why);
    if (c == NULL) abort();
    c->g = g;
    snprintf(c->name, sizeof c->name, ASC_VIEW_FMT, ASC_VIEW_ARG(row->col[COL_ID]));
    row->why = not_ours(row);
    if (row->why == NULL && random && g->quick) row->why = "quick: stochastic";
    if (row->why == NULL && !raises && (expected == NULL || !want(expected, &w))) row->why = why;
    if (row->why == NULL) {
        if (row->col[COL_METHOD].len == 0)
            ok = expected_quadrature(g, row, &out);
        else
            ok = random && !raises ? mean(c, row, &out, &spread) : call(c, row, 1, &out);
    }
    count *by =
        count_of(&s->methods, row->col[COL_METHOD].len > 0 ? row->col[COL_METHOD] : (asc_view){"-", 1});
    if (row->why != NULL) {
        by->skipped++;
        count_of(&s->reasons, (asc_view){row->why, strlen(row->why)})->skipped++;
    } else {
        long bad = g->bad;
        by->run++;
        if (raises) {
            goldens_check(g, ok ? INFINITY : 0.0, "%s: not refused", c->name);
        } else if (!ok) {
            goldens_fail(g, "%s: %s", c->name, asc_error_message(g->ctx));
        } else {
            goldens_check(g, ratio(c, row, &w, &out, random ? &spread : NULL),
                          "%s " ASC_VIEW_FMT " " ASC_VIEW_FMT, c->name, ASC_VIEW_ARG(row->col[COL_METHOD]),
                          ASC_VIEW_ARG(row->col[COL_CHECKED]));
        }
        by->passed += g->bad == bad;
    }
    for (size_t i = 0; i < w.n; i++) free(w.data[i]);
    ours_free(&out);
    ours_free(&spread);
    config_free(c);
    free(c);
    asc_json_free(expected);
}

static void report(const state *s) {
    long skipped = 0;
    for (size_t i = 0; i < s->methods.n; i++) skipped += s->methods.rows[i].skipped;
    if (s->g->verbose) {
        printf("      %-42s %5s %6s %7s\n", "method", "run", "passed", "skipped");
        for (size_t i = 0; i < s->methods.n; i++) {
            const count *c = &s->methods.rows[i];
            printf("      %-42s %5ld %6ld %7ld\n", c->name, c->run, c->passed, c->skipped);
        }
    }
    printf("      %ld rows skipped:", skipped);
    for (size_t i = 0; i < s->reasons.n; i++)
        printf("%s %ld %s", i > 0 ? ";" : "", s->reasons.rows[i].skipped, s->reasons.rows[i].name);
    printf("\n");
}

void goldens_expected(goldens *g, const char *path) {
    char *text = NULL;
    size_t len = 0, at = 0;
    state s = {.g = g};
    if (asc_file_read(g->ctx, path, (size_t)1 << 30, &text, &len) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        return;
    }
    for (size_t number = 0; at < len; number++) {
        const char *nl = memchr(text + at, '\n', len - at);
        size_t n = nl != NULL ? (size_t)(nl - (text + at)) : len - at;
        expected_row row = {0};
        asc_view rest = {text + at, n};
        size_t k = 0;
        for (; k < N_COLUMNS; k++) {
            const char *tab = memchr(rest.ptr, '\t', rest.len);
            size_t m = tab != NULL ? (size_t)(tab - rest.ptr) : rest.len;
            row.col[k] = (asc_view){rest.ptr, m};
            if (tab == NULL) break;
            rest = (asc_view){rest.ptr + m + 1, rest.len - m - 1};
        }
        if (number > 0 && k + 1 != N_COLUMNS)
            goldens_fail(g, "line %zu: %zu columns", number + 1, k + 1);
        else if (number > 0)
            run(&s, &row);
        at += n + 1;
    }
    asc_free(g->ctx, text);
    report(&s);
}
