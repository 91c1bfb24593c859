/* method_matrix.c - see ascribe/matrix.h. */
#include "alloc.h"
#include "ascribe/attribute.h"
#include "ascribe/matrix.h"
#include "sample_nets.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double difference(const asc_attribution *a, const asc_attribution *b) {
    double worst = 0.0, largest = 0.0;
    for (size_t k = 0; k < a->n_scores && k < b->n_scores; k++) {
        int64_t n = 1;
        for (int d = 0; d < a->scores[k].shape.rank; d++) n *= a->scores[k].shape.dims[d];
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(a->scores[k].data[i] - b->scores[k].data[i]));
            largest = fmax(largest, fabs(b->scores[k].data[i]));
        }
    }
    return worst == 0.0 ? 0.0 : worst / largest;
}

static asc_status run_cell(asc_ctx *ctx, asc_ctx *exact, const asc_sample_net *fast_net,
                           const asc_sample_net *exact_net, const asc_method *m, bool at_site,
                           asc_matrix_cell *out) {
    asc_sample_parts p;
    asc_attribution *a = NULL, *b = NULL;
    *out = (asc_matrix_cell){.method = m->info.name,
                             .model = fast_net->name,
                             .at = at_site ? fast_net->site : "",
                             .stochastic = m->stochastic};
    asc_attr_request q = asc_sample_request(m, fast_net, at_site, &p);
    asc_status st = asc_attribute(fast_net->net, &q, &a);
    if (st != ASC_OK) {
        st = asc_fail_context(ctx, "%s on the %s", m->info.name, fast_net->name);
    } else {
        q = asc_sample_request(m, exact_net, at_site, &p);
        st = asc_attribute(exact_net->net, &q, &b);
        if (st != ASC_OK)
            ASC_FAIL(ctx, st, "%s on the %s, exact device: %s", m->info.name, fast_net->name,
                     asc_error_message(exact));
    }
    if (st == ASC_OK) out->error = difference(a, b);
    asc_attribution_destroy(ctx, a);
    asc_attribution_destroy(exact, b);
    return st;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static asc_status sum_up(asc_ctx *ctx, asc_matrix *m) {
    double *sorted = asc_calloc(ctx, ASC_MEM_GENERAL, m->n + 1, sizeof *sorted);
    if (sorted == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < m->n; i++) sorted[i] = m->cells[i].error;
    qsort(sorted, m->n, sizeof *sorted, by_size);
    if (m->n > 0) {
        m->worst = sorted[m->n - 1];
        m->median = 0.5 * (sorted[(m->n - 1) / 2] + sorted[m->n / 2]);
    }
    asc_free(ctx, sorted);
    return ASC_OK;
}

asc_status asc_method_matrix(asc_ctx *ctx, asc_ctx *exact, const char *method, asc_matrix **out) {
    asc_status st = ASC_OK;
    *out = NULL;
    size_t most = asc_n_methods * ASC_N_SAMPLE_NETS * 2;
    asc_sample_net *fast_nets = asc_calloc(ctx, ASC_MEM_GENERAL, ASC_N_SAMPLE_NETS, sizeof *fast_nets),
                   *exact_nets = asc_calloc(ctx, ASC_MEM_GENERAL, ASC_N_SAMPLE_NETS, sizeof *exact_nets);
    asc_matrix *m = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *m);
    if (m != NULL) m->cells = asc_calloc(ctx, ASC_MEM_GENERAL, most, sizeof *m->cells);
    if (fast_nets == NULL || exact_nets == NULL || m == NULL || m->cells == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < ASC_N_SAMPLE_NETS; i++) {
        ASC_TRY(asc_sample_net_init(ctx, i, &fast_nets[i]));
        st = asc_sample_net_init(exact, i, &exact_nets[i]);
        if (st != ASC_OK) {
            ASC_FAIL(ctx, st, "exact device: %s", asc_error_message(exact));
            goto done;
        }
    }
    for (size_t k = 0; k < asc_n_methods; k++) {
        if (method != NULL && strcmp(asc_methods[k]->info.name, method) != 0) continue;
        for (size_t i = 0; i < 2 * ASC_N_SAMPLE_NETS; i++) {
            bool at_site = i >= ASC_N_SAMPLE_NETS;
            size_t net = i % ASC_N_SAMPLE_NETS;
            if (!asc_sample_applies(asc_methods[k], &fast_nets[net], at_site)) continue;
            ASC_TRY(run_cell(ctx, exact, &fast_nets[net], &exact_nets[net], asc_methods[k], at_site,
                             &m->cells[m->n]));
            m->n++;
        }
    }
    if (m->n == 0) {
        st = ASC_FAIL(ctx, ASC_NOT_FOUND, "no method '%.60s' for nets", method != NULL ? method : "");
        goto done;
    }
    ASC_TRY(sum_up(ctx, m));
done:
    for (size_t i = 0; i < ASC_N_SAMPLE_NETS; i++) {
        if (fast_nets != NULL) asc_sample_net_deinit(&fast_nets[i]);
        if (exact_nets != NULL) asc_sample_net_deinit(&exact_nets[i]);
    }
    asc_free(ctx, fast_nets);
    asc_free(ctx, exact_nets);
    if (st == ASC_OK)
        *out = m;
    else
        asc_matrix_destroy(ctx, m);
    return st;
}

void asc_matrix_destroy(asc_ctx *ctx, asc_matrix *m) {
    if (m == NULL) return;
    asc_free(ctx, m->cells);
    asc_free(ctx, m);
}
