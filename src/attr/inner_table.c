/* inner_table.c - see inner_table.h. */
#include "inner_table.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Order of a layer's rows. */
static const asc_sweep_site order[] = {ASC_SWEEP_ATTN, ASC_SWEEP_HEADS, ASC_SWEEP_MLP, ASC_SWEEP_OUT};
enum { N_ORDER = sizeof order / sizeof *order };

static bool has(unsigned want, asc_sweep_site site) { return (want >> site & 1) != 0; }

static int site_named(const char *s, size_t n) {
    for (int k = 0; k < ASC_SWEEP_PROBS; k++) {
        const char *name = asc_sweep_site_name((asc_sweep_site)k);
        if (strlen(name) == n && memcmp(name, s, n) == 0) return k;
    }
    return -1;
}

asc_status asc_inner_parse(asc_ctx *ctx, const char *text, unsigned *out) {
    *out = 0;
    if (text == NULL) return ASC_OK;
    if (strcmp(text, "all") == 0) {
        *out = (1u << ASC_SWEEP_PROBS) - 1;
        return ASC_OK;
    }
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        const char *s = text;
        text += n + (text[n] == ',');
        while (n > 0 && *s == ' ') s++, n--;
        while (n > 0 && s[n - 1] == ' ') n--;
        int k = site_named(s, n);
        if (k < 0) {
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "layers have no site '" ASC_VIEW_FMT "'",
                     ASC_VIEW_ARG(asc_view_cut((asc_view){s, n}, 40)));
            return asc_hint(ctx, "use some of: out, attn.out, mlp.out, heads; or all");
        }
        *out |= 1u << k;
    }
    return ASC_OK;
}

static size_t rows_of(const asc_job *j, unsigned want, asc_sweep_site site) {
    if (!has(want, site)) return 0;
    return site == ASC_SWEEP_HEADS ? (size_t)j->m->info.n_heads : 1;
}

size_t asc_inner_row_at(const asc_job *j, unsigned want, asc_sweep_site site, int64_t layer, int64_t head) {
    size_t each = 0, before = 0;
    bool seen = false;
    if (!has(want, site) || j->r->inner == NULL) return SIZE_MAX;
    for (int i = 0; i < N_ORDER; i++) {
        seen = seen || order[i] == site;
        before += seen ? 0 : rows_of(j, want, order[i]);
        each += rows_of(j, want, order[i]);
    }
    return (size_t)layer * each + before + (size_t)(head >= 0 ? head : 0);
}

static void name_row(asc_inner_row *row, asc_sweep_site site, int64_t layer, int64_t head) {
    row->layer = layer;
    row->head = head;
    if (head >= 0)
        snprintf(row->name, sizeof row->name, "blocks.%lld.heads.%lld", (long long)layer, (long long)head);
    else
        snprintf(row->name, sizeof row->name, "blocks.%lld.%s", (long long)layer, asc_sweep_site_name(site));
}

asc_status asc_inner_begin(asc_job *j, unsigned want) {
    asc_result *r = j->r;
    const int64_t layers = j->m->info.n_layers;
    size_t each = 0, n, cells;
    for (int i = 0; i < N_ORDER; i++) each += rows_of(j, want, order[i]);
    if (each == 0 || j->estimate != NULL) return ASC_OK;
    if (!asc_mul_size(each, (size_t)layers, &n) || !asc_mul_size(n, r->n_features, &cells))
        return ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED, "too many rows of layers");
    r->inner = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof *r->inner);
    r->inner_scores = asc_calloc(j->ctx, ASC_MEM_GENERAL, cells + 1, sizeof *r->inner_scores);
    if (r->inner == NULL || r->inner_scores == NULL) return ASC_RESOURCE_EXHAUSTED;
    r->n_inner = n;
    n = 0;
    for (int64_t l = 0; l < layers; l++) {
        for (int i = 0; i < N_ORDER; i++) {
            for (size_t h = 0; h < rows_of(j, want, order[i]); h++)
                name_row(&r->inner[n++], order[i], l, order[i] == ASC_SWEEP_HEADS ? (int64_t)h : -1);
        }
    }
    return ASC_OK;
}

/* Numbers [b,t,step] of one site's part, added to a row. */
static void add_row(asc_job *j, size_t row, const asc_sweep_block *blk, const double *v, int64_t step,
                    double weight) {
    asc_result *r = j->r;
    for (int64_t b = 0; b < blk->b; b++) {
        const double *at = v + b * blk->t * step;
        for (int64_t t = 0; t < blk->t; t++) r->inner[row].total += weight * at[t * step];
        for (size_t i = 0; i < r->n_parts; i++) {
            const asc_feature_part *p = &r->parts[i];
            for (size_t k = p->first_token; k < p->first_token + p->n_tokens; k++)
                r->inner_scores[row * r->n_features + p->feature] += weight * at[(int64_t)k * step];
        }
    }
}

void asc_inner_add(asc_job *j, unsigned want, const asc_sweep_block *blk, double weight) {
    for (int i = 0; i < N_ORDER; i++) {
        const double *v = blk->reduced[order[i]];
        const int64_t step = order[i] == ASC_SWEEP_HEADS ? blk->heads : 1;
        if (v == NULL) continue;
        for (int64_t h = 0; h < step; h++) {
            size_t row = asc_inner_row_at(j, want, order[i], blk->layer, h);
            if (row < j->r->n_inner) add_row(j, row, blk, v + h, step, weight);
        }
    }
}

void asc_inner_errors(asc_job *j) {
    asc_result *r = j->r;
    double largest = 0.0;
    for (size_t i = 0; i < r->n_inner; i++) {
        largest = fmax(largest, fabs(r->inner[i].total));
        for (size_t k = 0; k < r->n_features; k++)
            largest = fmax(largest, fabs(r->inner_scores[i * r->n_features + k]));
    }
    for (size_t i = 0; i < r->n_inner; i++) r->inner[i].error = asc_job_gradient_noise(j, largest);
}
