/* ruled_pass.c - runs passes under rule tables: plain ones, and DeepLift's pairs of an input and a baseline.
 */
#include "ruled_pass.h"
#include "method.h"
#include "strbuf.h"
#include <math.h>
#include <string.h>

asc_status asc_task_rule_options(asc_task *t, asc_rule_options *out) {
    const asc_attr_request *q = t->req;
    const int fallback = asc_fallback_from_name(q->fallback);
    if (fallback < 0) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "no fall-back is called '%.40s'", q->fallback);
        return asc_hint(t->ctx, "gradient or path; none = an op without a rule is an error");
    }
    *out = (asc_rule_options){.fallback = (asc_fallback)fallback,
                              .compat_captum = q->compat_captum,
                              .choices = q->rules,
                              .n_choices = q->n_rules};
    return ASC_OK;
}

asc_status asc_task_note_fallbacks(asc_task *t, const asc_rules *r) {
    enum { NAMED = 8 };
    for (size_t i = 0; i < r->n_used && i < NAMED; i++) {
        const asc_rule_use *u = &r->used[i];
        asc_status st = asc_task_note(t, "no rule for %s at '%.80s': %s was used", u->op,
                                      u->label != NULL ? u->label : "", t->req->fallback);
        if (st != ASC_OK) return st;
    }
    return r->n_used <= NAMED ? ASC_OK
                              : asc_task_note(t, "and for %zu more ops without a rule", r->n_used - NAMED);
}

/* ---- plain passes ---- */

static asc_status keep(void *self, size_t row, const asc_row_result *x) {
    asc_task *t = self;
    t->r->value[row] = x->f[0];
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        memcpy(t->r->scores[k].data + row * n, x->g[k], n * sizeof(double));
    }
    asc_task_row_errors(t, row);
    return ASC_OK;
}

asc_status asc_task_ruled_gradient(asc_task *t, asc_rules *r) {
    asc_status st = asc_task_prepare(t, true);
    if (st == ASC_OK) st = asc_task_at_input(t, &r->grad, NULL, t, keep);
    return st == ASC_OK ? asc_task_note_fallbacks(t, r) : st;
}

asc_status asc_task_gradient_by(asc_task *t,
                                asc_status (*init)(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out)) {
    asc_rule_options o;
    asc_rules rules = {0};
    asc_status st = asc_task_rule_options(t, &o);
    if (st == ASC_OK) st = init(t->ctx, &o, &rules);
    if (st == ASC_OK) st = asc_task_ruled_gradient(t, &rules);
    asc_rules_deinit(&rules);
    return st;
}

/* ---- pairs ---- */

/* Row e * each + b is example e against baseline b. */
typedef struct pairs {
    asc_task *t;
    size_t each;
    double *f0; /* of each pair's baseline */
} pairs;

static size_t example_of(void *self, size_t row) { return row / ((const pairs *)self)->each; }

static void fill_input(void *self, size_t row, size_t var, double *out) {
    const pairs *p = self;
    const asc_var *v = &p->t->in[var];
    memcpy(out, v->x + row / p->each * v->size, v->size * sizeof *out);
}

static void fill_baseline(void *self, size_t row, size_t var, double *out) {
    const pairs *p = self;
    const asc_var *v = &p->t->in[var];
    if (p->each == 1) {
        for (size_t i = 0; i < v->size; i++) out[i] = asc_var_baseline(v, row, i);
    } else if (v->x0 == NULL) {
        memset(out, 0, v->size * sizeof *out);
    } else {
        memcpy(out, v->x0 + (v->n_x0 == 1 ? 0 : row % p->each) * v->size, v->size * sizeof *out);
    }
}

static asc_status add_pair(void *self, size_t row, const asc_row_result *x) {
    pairs *p = self;
    asc_task *t = p->t;
    const size_t e = row / p->each;
    const double share = 1.0 / (double)p->each;
    double total = 0.0;
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        double largest = 0.0, *s = t->r->scores[k].data + e * n, *error = t->r->scores[k].error + e * n;
        for (size_t i = 0; i < n; i++) {
            double a = t->req->no_multiply ? x->g[k][i] : x->g[k][i] * (x->y[k][i] - x->y0[k][i]);
            s[i] += share * a;
            total += a;
            largest = fmax(largest, fabs(a));
        }
        for (size_t i = 0; i < n; i++) error[i] += share * asc_task_gradient_noise(t, largest);
    }
    t->r->value[e] = x->f[0];
    t->r->baseline_value[e] += share * p->f0[row];
    t->r->delta[row] = total - (x->f[0] - p->f0[row]);
    return ASC_OK;
}

static asc_status run_pairs(asc_task *t, asc_rules *rules, pairs *p) {
    asc_ctx *ctx = t->ctx;
    const size_t n = t->n * p->each;
    asc_attribution *r = t->r;
    asc_rows rows = {.n = n, .self = p, .example = example_of, .fill = fill_input}, partner = rows;
    partner.fill = fill_baseline;
    if (r->value == NULL) r->value = asc_calloc(ctx, ASC_MEM_GENERAL, t->n, sizeof *r->value);
    r->baseline_value = asc_calloc(ctx, ASC_MEM_GENERAL, t->n, sizeof *r->baseline_value);
    r->delta = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *r->delta);
    p->f0 = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *p->f0);
    if (r->value == NULL || r->baseline_value == NULL || r->delta == NULL || p->f0 == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    r->n_delta = n;
    const asc_pass pass = {.rows = &rows,
                           .partner_rows = &partner,
                           .partner_f = p->f0,
                           .want_values = true,
                           .want_gradients = true,
                           .rules = &rules->grad,
                           .what = "pairs",
                           .self = p,
                           .sink = add_pair};
    return asc_task_run(t, &pass);
}

/* Sums of all scores are the difference of the values to rounding: what is more is said. Only where the
 * method promises it: at the inputs, with a rule at every op. */
static asc_status check_sums(asc_task *t, const asc_rules *rules) {
    const asc_attribution *r = t->r;
    double size = 0.0, worst = 0.0;
    if (!r->complete || t->req->no_multiply) return ASC_OK;
    for (size_t k = 0; k < r->n_scores; k++) {
        for (size_t i = 0; i < t->n * t->at[k].size; i++) size = fmax(size, fabs(r->scores[k].data[i]));
    }
    for (size_t i = 0; i < r->n_delta; i++) worst = fmax(worst, fabs(r->delta[i]));
    for (size_t e = 0; e < t->n; e++) size = fmax(size, fabs(r->value[e]) + fabs(r->baseline_value[e]));
    if (worst <= 1e-9 * size + asc_task_value_noise(t, size)) return ASC_OK;
    t->r->converged = false;
    return asc_task_note(t, "not complete: the scores miss the change of the explained value by up to %.3g%s",
                         worst, rules->n_used > 0 ? " (ops without a rule, see above)" : "");
}

asc_status asc_task_deep_lift(asc_task *t, size_t each) {
    asc_status st = ASC_OK;
    asc_rule_options o;
    asc_rules rules = {0};
    pairs p = {.t = t, .each = each};
    if (t->req->n_at_baselines > 0)
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s takes baselines of the inputs, not of sites",
                        t->method->info.name);
    if (!t->at_sites) ASC_TRY(asc_task_need_path(t)); /* behind a look-up, integers have two ends as well */
    ASC_TRY(asc_task_rule_options(t, &o));
    ASC_TRY(asc_rules_init_deep_lift(t->ctx, &o, &rules));
    ASC_TRY(asc_task_prepare(t, true));
    t->r->complete = !o.compat_captum && !t->at_sites && !t->req->no_multiply;
    ASC_TRY(run_pairs(t, &rules, &p));
    ASC_TRY(asc_task_note_fallbacks(t, &rules));
    ASC_TRY(check_sums(t, &rules));
done:
    asc_free(t->ctx, p.f0);
    asc_rules_deinit(&rules);
    return st;
}
