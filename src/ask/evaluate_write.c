/* evaluate_write.c - an evaluation as text, as a table for docs/FAITHFULNESS.md, and as JSON. */
#include "ascribe/evaluate.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

static void put_mean(asc_text *t, const char *key, const asc_faith_mean *m) {
    asc_text_object(t, key);
    asc_text_num(t, "mean", m->mean);
    asc_text_num(t, "low", m->low);
    asc_text_num(t, "high", m->high);
    asc_text_int(t, "prompts", (int64_t)m->n);
    asc_text_end(t);
}

static void put_json(asc_text *t, const asc_evaluation *e) {
    asc_text_object(t, NULL);
    asc_text_int(t, "schema", 1);
    asc_text_int(t, "prompts", (int64_t)e->n_prompts);
    asc_text_int(t, "failed", (int64_t)e->n_failed);
    asc_text_strz(t, "first_failure", e->first_failure);
    asc_text_num(t, "seconds", e->seconds);
    asc_text_strz(t, "best", e->best >= 0 ? e->methods[e->best].method : NULL);
    asc_text_strz(t, "recommended", e->recommended >= 0 ? e->methods[e->recommended].method : NULL);
    asc_text_array(t, "methods");
    for (size_t i = 0; i < e->n_methods; i++) {
        const asc_evaluated *x = &e->methods[i];
        asc_text_object(t, NULL);
        asc_text_strz(t, "method", x->method);
        put_mean(t, "rank", &x->rank);
        put_mean(t, "behind_best", &x->behind);
        asc_text_object(t, "metrics");
        for (size_t q = 0; q < ASC_N_FAITH; q++) put_mean(t, asc_faith_at(q)->name, &x->metric[q]);
        asc_text_end(t);
        asc_text_num(t, "seconds", x->seconds);
        asc_text_num(t, "forward", x->n_forward);
        asc_text_num(t, "backward", x->n_backward);
        asc_text_int(t, "failed", (int64_t)x->n_failed);
        asc_text_int(t, "not_converged", (int64_t)x->n_unsure);
        asc_text_strz(t, "why", x->why);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

/* "0.53 ±0.12": half the interval's width behind the mean. */
static void cell(asc_text *t, const asc_faith_mean *m, size_t width) {
    if (isnan(m->mean)) {
        asc_text_blanks(t, width > 1 ? width - 1 : 0);
        asc_text_adds(t, "-");
        return;
    }
    char text[64];
    double half = 0.5 * (m->high - m->low);
    int n = asc_snprintf(text, sizeof text, "%.3g ±%.2g", m->mean, half);
    size_t shown = n > 1 ? (size_t)n - 1 : 0; /* the sign is two bytes wide and one column */
    asc_text_blanks(t, width > shown ? width - shown : 0);
    asc_text_adds(t, text);
}

static void order_of(const asc_evaluation *e, size_t *order) {
    for (size_t i = 0; i < e->n_methods; i++) {
        size_t k = i;
        double mine = isnan(e->methods[i].rank.mean) ? INFINITY : e->methods[i].rank.mean;
        for (; k > 0; k--) {
            double before = e->methods[order[k - 1]].rank.mean;
            if (!isnan(before) && before <= mine) break;
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
}

static const char *arrow(const asc_faith_info *info) {
    return info->better > 0 ? "+" : info->better < 0 ? "-" : " ";
}

enum { NAME = 24, CELL = 16, MAX_SHOWN = 64 };

static void block(asc_text *t, const asc_evaluation *e, const size_t *order, size_t first, size_t end) {
    asc_text_addf(t, "\n%-*s", NAME, "");
    for (size_t q = first; q < end; q++) {
        const asc_faith_info *info = asc_faith_at(q);
        asc_text_addf(t, " %*s%s", CELL + 1, info->name, arrow(info));
    }
    asc_text_adds(t, "\n");
    for (size_t i = 0; i < e->n_methods && i < MAX_SHOWN; i++) {
        const asc_evaluated *x = &e->methods[order[i]];
        asc_text_addf(t, "%-*s", NAME, x->method);
        for (size_t q = first; q < end; q++) {
            asc_text_adds(t, "  ");
            cell(t, &x->metric[q], CELL);
            asc_text_adds(t, " ");
        }
        asc_text_adds(t, "\n");
    }
}

static void put_words(asc_text *t, const asc_evaluation *e) {
    if (e->best >= 0)
        asc_text_addf(t, "Best by mean rank over the deciding metrics: %s.", e->methods[e->best].method);
    if (e->recommended >= 0 && e->recommended != e->best)
        asc_text_addf(t, " Recommended: %s, not surely behind it and cheaper.",
                      e->methods[e->recommended].method);
    else if (e->recommended >= 0)
        asc_text_adds(t, " Recommended: the same; nothing cheaper is as good.");
    asc_text_adds(t, "\n");
}

static void put_text(asc_text *t, const asc_evaluation *e) {
    size_t order[MAX_SHOWN];
    if (e->n_methods > MAX_SHOWN) return;
    order_of(e, order);
    asc_text_addf(t, "%zu methods on %zu prompts (%zu failed), %.3g s. Mean and half the 95 %% interval.\n",
                  e->n_methods, e->n_prompts, e->n_failed, e->seconds);
    if (e->first_failure != NULL) {
        asc_text_adds(t, "First failure: ");
        asc_text_wrap(t, e->first_failure, 2, 100);
    }
    asc_text_addf(t, "\n%-*s %16s %12s %9s %9s %10s\n", NAME, "", "rank (1 = best)", "s a prompt", "forward",
                  "backward", "unfinished");
    for (size_t i = 0; i < e->n_methods; i++) {
        const asc_evaluated *x = &e->methods[order[i]];
        asc_text_addf(t, "%-*s ", NAME, x->method);
        cell(t, &x->rank, 16);
        asc_text_addf(t, " %12.3g %9.4g %9.4g %10zu\n", x->seconds, x->n_forward, x->n_backward, x->n_unsure);
    }
    for (size_t q = 0; q < ASC_N_FAITH; q += 4)
        block(t, e, order, q, q + 4 < ASC_N_FAITH ? q + 4 : ASC_N_FAITH);
    asc_text_adds(t,
                  "\n+ larger is better, - smaller is better; docs/FAITHFULNESS.md has the definitions.\n");
    for (size_t i = 0; i < e->n_methods; i++) {
        const asc_evaluated *x = &e->methods[i];
        if (x->why == NULL) continue;
        asc_text_addf(t, "%s failed on %zu prompts: ", x->method, x->n_failed);
        asc_text_wrap(t, x->why, 2, 100);
    }
    put_words(t, e);
}

static void put_markdown(asc_text *t, const asc_evaluation *e) {
    size_t order[MAX_SHOWN];
    if (e->n_methods > MAX_SHOWN) return;
    order_of(e, order);
    asc_text_adds(t, "| method | rank |");
    for (size_t q = 0; q < ASC_N_FAITH; q++) asc_text_addf(t, " %s |", asc_faith_at(q)->name);
    asc_text_adds(t, " s a prompt |\n|---|---|");
    for (size_t q = 0; q <= ASC_N_FAITH; q++) asc_text_adds(t, "---|");
    asc_text_adds(t, "\n");
    for (size_t i = 0; i < e->n_methods; i++) {
        const asc_evaluated *x = &e->methods[order[i]];
        asc_text_addf(t, "| %s | ", x->method);
        cell(t, &x->rank, 0);
        for (size_t q = 0; q < ASC_N_FAITH; q++) {
            asc_text_adds(t, " | ");
            cell(t, &x->metric[q], 0);
        }
        asc_text_addf(t, " | %.3g |\n", x->seconds);
    }
    asc_text_adds(t, "\n");
    put_words(t, e);
}

void asc_evaluation_write(asc_text *out, const asc_evaluation *e, asc_evaluation_form form) {
    if (form == ASC_EVALUATION_JSON)
        put_json(out, e);
    else if (form == ASC_EVALUATION_MARKDOWN)
        put_markdown(out, e);
    else
        put_text(out, e);
}
