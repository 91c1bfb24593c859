/* net_words.c - the words around the numbers of an attribution on a net. */
#include "net_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

static void put_index(asc_text *t, const asc_net_sheet *rep, const int64_t *rows, const asc_target *g) {
    const int64_t *index = rows + (g->n_rows > 1 ? rep->example * (size_t)g->rank : 0);
    asc_text_adds(t, "index ");
    for (int d = 0; d < g->rank; d++) asc_text_addf(t, "%s%lld", d > 0 ? ", " : "", (long long)index[d]);
}

/* Which of several numbers and examples is shown. */
static void put_place(asc_text *out, const asc_net_sheet *rep) {
    const asc_attribution *r = rep->n_results > 0 ? rep->results[0] : NULL;
    if (r != NULL && r->n_outputs > 1)
        asc_text_addf(out, ", number %zu of %zu", rep->output + 1, r->n_outputs);
    if (r != NULL && r->n_examples > 1)
        asc_text_addf(out, ", example %zu of %zu", rep->example + 1, r->n_examples);
}

void asc_net_target_words(asc_text *out, const asc_net_sheet *rep) {
    const asc_target *g = rep->request != NULL ? &rep->request->target : NULL;
    if (rep->target_text != NULL) {
        asc_text_add(out, asc_view_of(rep->target_text));
        put_place(out, rep);
        return;
    }
    if (g == NULL) {
        asc_text_adds(out, "the explained value");
        return;
    }
    static const char *const transforms[] = {"", "softmax of ", "log-softmax of ", "logarithm of "};
    asc_text_adds(out, transforms[(unsigned)g->transform < 4 ? g->transform : 0]);
    if (g->value != NULL) {
        asc_text_adds(out, "value '");
        asc_text_add(out, asc_view_of(g->value));
        asc_text_adds(out, "'");
    } else {
        asc_text_adds(out, "the output");
    }
    if (g->weights != NULL) {
        asc_text_adds(out, ", a weighted sum of its numbers");
    } else if (g->n_rows > 0 && g->index != NULL && g->rank > 0) {
        asc_text_adds(out, ", ");
        put_index(out, rep, g->index, g);
        if (g->versus != NULL) {
            asc_text_adds(out, " minus ");
            put_index(out, rep, g->versus, g);
        }
    }
    put_place(out, rep);
}

void asc_net_says_words(asc_text *t, const asc_net_sheet *rep) {
    for (size_t k = 0; k < rep->n_top; k++) {
        if (k > 0) asc_text_adds(t, ", ");
        if (rep->top[k].label != NULL)
            asc_text_add(t, asc_view_of(rep->top[k].label));
        else
            asc_text_addf(t, "index %lld", (long long)rep->top[k].index);
        asc_text_addf(t, " %.4g", rep->top[k].value);
    }
}

static size_t place(const asc_net_sheet *rep, const asc_attribution *r) {
    size_t at = rep->example * (r->n_outputs > 0 ? r->n_outputs : 1) + rep->output;
    return at < r->n_examples * r->n_outputs ? at : 0;
}

void asc_net_meaning(asc_text *t, const asc_attribution *r) {
    const asc_method_info *m = NULL;
    for (size_t i = 0; (m = asc_method_at(i)) != NULL; i++)
        if (strcmp(m->name, r->method) == 0) break;
    if (r->complete)
        asc_text_adds(
            t, "A score is the share of the change of the value, from the baseline to the input, that falls "
               "to that element; together they make up the whole change.");
    else
        asc_text_adds(
            t, "A score says how much that element drove the value; scores of this method do not add up to "
               "its change.");
    if (m != NULL && m->doc != NULL && m->doc[0] != '\0') asc_text_addf(t, " Method: %s", m->doc);
}

void asc_net_value_words(asc_text *t, const asc_net_sheet *rep, const asc_attribution *r) {
    if (r->value == NULL || r->n_examples * r->n_outputs == 0) {
        asc_text_adds(t, "not computed");
        return;
    }
    size_t at = place(rep, r);
    asc_text_addf(t, "%.6g at the input", r->value[at]);
    if (r->baseline_value != NULL && isfinite(r->baseline_value[at]))
        asc_text_addf(t, ", %.6g at the baseline", r->baseline_value[at]);
}

void asc_net_sum_words(asc_text *t, const asc_net_sheet *rep, const asc_attribution *r) {
    double sum = 0;
    asc_arena a;
    asc_arena_init(&a, t->ctx, ASC_MEM_GENERAL);
    for (size_t i = 0; i < rep->n_results; i++)
        for (size_t k = 0; rep->results[i] == r && k < r->n_scores; k++) {
            asc_net_part p;
            if (!asc_net_part_of(&a, rep, i, k, &p)) continue;
            for (size_t e = 0; e < p.n; e++) sum += p.data[e];
        }
    asc_arena_deinit(&a);
    if (isfinite(sum))
        asc_text_addf(t, "%+.6g", sum);
    else
        asc_text_adds(t, "unknown");
    if (r->n_delta == r->n_examples && r->delta != NULL && rep->example < r->n_delta)
        asc_text_addf(t, ", which misses the change of the value by %.3g", r->delta[rep->example]);
}

void asc_net_error_words(asc_text *t, const asc_attribution *r) {
    bool known = isfinite(r->error_bound) && (r->error_bound > 0 || r->converged);
    if (!known)
        asc_text_adds(t, "not estimated for this method");
    else if (r->stochastic)
        asc_text_addf(t, "sampled: the largest standard error of a score is %.3g", r->error_bound);
    else
        asc_text_addf(t, "each score is within %.3g of its true value (estimated)", r->error_bound);
    asc_text_adds(t, r->converged ? "." : "; NOT CONVERGED: the error is over the tolerance asked for.");
}

void asc_net_cost_words(asc_text *t, const asc_attribution *r) {
    asc_text_addf(t, "%llu forward, %llu backward passes, %.3g s, peak %.1f MB",
                  (unsigned long long)r->n_forward, (unsigned long long)r->n_backward, r->seconds,
                  (double)r->peak_bytes / 1e6);
    if (r->rows_per_pass > 0) asc_text_addf(t, ", %zu rows a pass", r->rows_per_pass);
}
