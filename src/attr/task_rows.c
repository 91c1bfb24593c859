/* task_rows.c - the two kinds of rows that most gradient methods need: the inputs as they are, and points on
 * a path. */
#include "method.h"
#include "quadrature.h"
#include "task_parts.h"
#include <string.h>

static void fill_input(void *self, size_t row, size_t var, double *out) {
    const asc_task *t = self;
    const asc_var *v = &t->in[var];
    memcpy(out, v->x + row * v->size, v->size * sizeof *out);
}

asc_rows asc_task_input_rows(asc_task *t, size_t n) {
    return (asc_rows){.n = n, .self = t, .fill = fill_input};
}

void asc_price_one_gradient(const asc_task *t, double *n_forward, double *n_gradient) {
    (void)t;
    *n_forward = 0.0;
    *n_gradient = 1.0;
}

asc_status asc_task_at_input(asc_task *t, const asc_grad_rules *rules, const asc_target *other, void *self,
                             asc_status (*sink)(void *self, size_t row, const asc_row_result *x)) {
    if (t->r->value == NULL) t->r->value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n, sizeof *t->r->value);
    if (t->r->value == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_rows rows = asc_task_input_rows(t, t->n);
    asc_pass p = {.rows = &rows,
                  .want_values = true,
                  .want_gradients = true,
                  .other = other,
                  .rules = rules,
                  .what = "gradients",
                  .self = self,
                  .sink = sink};
    return asc_task_run(t, &p);
}

static void fill_path(void *self, size_t row, size_t var, double *out) {
    const asc_path *p = self;
    const asc_var *v = p->sites ? &p->t->at[var] : &p->t->in[var];
    size_t e = row % p->t->n;
    double a = p->alphas[row / p->t->n];
    const double *x = v->x + e * v->size;
    for (size_t i = 0; i < v->size; i++) {
        double b = asc_var_baseline(v, e, i);
        out[i] = a == 1.0 ? x[i] : b + a * (x[i] - b);
    }
}

asc_status asc_task_need_path(const asc_task *t) {
    for (size_t k = 0; k < t->n_in; k++) {
        if (asc_elem_is_float(t->in[k].elem)) continue;
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                 "%s walks from the baseline to the input, but '%.60s' holds integers", t->method->info.name,
                 t->in[k].name);
        return asc_hint(t->ctx,
                        "mark that input as fixed, or use integrated-gradients at a site behind its look-up");
    }
    return ASC_OK;
}

asc_rows asc_path_rows(const asc_path *p) {
    return (asc_rows){.n = p->n_alphas * p->t->n, .self = (void *)(uintptr_t)p, .fill = fill_path};
}

asc_status asc_task_nodes(asc_task *t, int rule, size_t n, double *nodes, double *weights) {
    asc_net *net = t->net;
    if (net->rule_nodes == NULL || net->rule != rule || net->n_rule_nodes != n) {
        asc_status st = asc_rule_nodes(t->ctx, (asc_rule)rule, n, nodes, weights);
        if (st != ASC_OK) return st;
        double *kept = asc_realloc(t->ctx, ASC_MEM_GENERAL, net->rule_nodes, 2 * n * sizeof *kept);
        if (kept == NULL) return ASC_RESOURCE_EXHAUSTED;
        memcpy(kept, nodes, n * sizeof *kept);
        memcpy(kept + n, weights, n * sizeof *kept);
        net->rule_nodes = kept;
        net->rule = rule;
        net->n_rule_nodes = n;
        return ASC_OK;
    }
    memcpy(nodes, net->rule_nodes, n * sizeof *nodes);
    memcpy(weights, net->rule_nodes + n, n * sizeof *weights);
    return ASC_OK;
}

asc_status asc_task_rule(asc_task *t, const char *fallback, size_t *n, double **nodes, double **weights) {
    asc_ctx *ctx = t->ctx;
    const char *name = t->req->rule != NULL ? t->req->rule : fallback;
    int rule = asc_rule_from_name(name);
    *nodes = *weights = NULL;
    *n = asc_task_steps(t);
    if (rule < 0 || rule == ASC_RULE_ADAPTIVE) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: no fixed rule is called '%.40s'", t->method->info.name,
                 name);
        return asc_hint(ctx,
                        "gauss-legendre, riemann-left, riemann-right, riemann-middle, riemann-trapezoid");
    }
    asc_status st = asc_rule_check_steps(ctx, (asc_rule)rule, *n);
    if (st != ASC_OK) return st;
    *nodes = asc_calloc(ctx, ASC_MEM_GENERAL, *n, sizeof **nodes);
    *weights = asc_calloc(ctx, ASC_MEM_GENERAL, *n, sizeof **weights);
    if (*nodes == NULL || *weights == NULL) return ASC_RESOURCE_EXHAUSTED;
    st = asc_task_nodes(t, rule, *n, *nodes, *weights);
    /* Captum's trapezoid divides by n instead of n - 1, so its weights add up to (n - 1) / n. */
    for (size_t i = 0; t->req->compat_captum && rule == ASC_RULE_RIEMANN_TRAPEZOID && i < *n; i++)
        (*weights)[i] *= ((double)*n - 1.0) / (double)*n;
    return st;
}
