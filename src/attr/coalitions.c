/* coalitions.c - see coalitions.h: the token rows of coalitions, each different one once. */
#include "coalitions.h"
#include "target.h"
#include <stdlib.h>
#include <string.h>

size_t asc_job_n_values(const asc_job *j) {
    return asc_job_width(j);
}

size_t asc_job_max_tokens(const asc_job *j) {
    size_t n = j->r->n_prompt;
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *p = &j->parts[i];
        if (p->n_fill > p->last - p->first) n += p->n_fill - (p->last - p->first);
    }
    return n + 1;
}

static size_t copy(const asc_job *j, size_t first, size_t last, size_t n, int32_t *ids, int32_t *positions) {
    for (size_t i = first; i < last; i++, n++) {
        ids[n] = j->r->prompt_ids[i];
        positions[n] = (int32_t)n;
    }
    return n;
}

size_t asc_job_coalition_ids(const asc_job *j, const uint8_t *present, int32_t *ids, int32_t *positions) {
    size_t n = 0, at = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *p = &j->parts[i];
        n = copy(j, at, p->first, n, ids, positions);
        at = p->last;
        if (present[p->feature] != 0) {
            n = copy(j, p->first, p->last, n, ids, positions);
            continue;
        }
        asc_fill fill = asc_part_fill(j, i, present);
        for (size_t k = 0; k < fill.n; k++, n++) {
            ids[n] = fill.ids[k];
            positions[n] = (int32_t)n;
        }
    }
    n = copy(j, at, j->r->n_prompt, n, ids, positions);
    if (n == 0) { /* nothing left: one end token is the shortest prompt a model can read */
        asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(j->m));
        ids[0] = tk.bos >= 0 ? tk.bos : tk.eos >= 0 ? tk.eos : 0;
        positions[0] = 0;
        n = 1;
    }
    return n;
}

/* One coalition's tokens; `same` is the first row with equal ones. */
typedef struct row {
    int32_t *ids;
    size_t len, which, same;
} row;

static int by_tokens(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->len != y->len) return x->len < y->len ? -1 : 1;
    int c = memcmp(x->ids, y->ids, x->len * sizeof *x->ids);
    if (c != 0) return c;
    return x->which < y->which ? -1 : x->which > y->which;
}

static int by_length(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->len != y->len) return x->len < y->len ? -1 : 1;
    return x->which < y->which ? -1 : x->which > y->which;
}

/* Marks repeated rows and sorts by length, rows of a length in the caller's order. */
static void order(row *rows, size_t n) {
    qsort(rows, n, sizeof *rows, by_tokens);
    for (size_t i = 0; i < n; i++) {
        bool again = i > 0 && rows[i].len == rows[i - 1].len &&
                     memcmp(rows[i].ids, rows[i - 1].ids, rows[i].len * sizeof *rows[i].ids) == 0;
        rows[i].same = again ? rows[i - 1].same : rows[i].which;
    }
    qsort(rows, n, sizeof *rows, by_length);
}

/* Values of the rows [first, end), which are of one length. */
static asc_status one_length(asc_job *j, const row *rows, size_t n, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t len = rows[0].len, k = 0, width = asc_job_n_values(j), cells;
    int32_t *ids = asc_mul_size(n, len, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *ids) : NULL;
    double *values =
        asc_mul_size(n, width, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *values) : NULL;
    const size_t bytes = width * sizeof *out;
    asc_status st = ids == NULL || values == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    size_t more = j->r->n_target - 1 + (j->r->n_versus > 0 ? j->r->n_versus - 1 + len : 0);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        j->r->tokens_plain += len + more;
        if (rows[i].same == rows[i].which) memcpy(ids + k++ * len, rows[i].ids, len * sizeof *ids);
    }
    if (st == ASC_OK) st = asc_job_values_each(j, ids, k, len, values);
    if (st == ASC_OK) j->r->tokens_run += k * (len + more);
    for (size_t i = k = 0; st == ASC_OK && i < n; i++)
        if (rows[i].same == rows[i].which) memcpy(out + rows[i].which * width, values + k++ * width, bytes);
    for (size_t i = 0; st == ASC_OK && i < n; i++)
        if (rows[i].same != rows[i].which)
            memcpy(out + rows[i].which * width, out + rows[i].same * width, bytes);
    asc_free(ctx, ids);
    asc_free(ctx, values);
    return st;
}

static asc_status one_trial(asc_job *j, const uint8_t *present, size_t n, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t width = asc_job_max_tokens(j), cells;
    asc_status st = ASC_OK;
    if (n == 0) return ASC_OK;
    int32_t *ids =
        asc_mul_size(n, width, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *ids) : NULL;
    int32_t *positions = asc_calloc(ctx, ASC_MEM_GENERAL, width, sizeof *positions);
    row *rows = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *rows);
    if (ids == NULL || positions == NULL || rows == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        rows[i] = (row){.ids = ids + i * width, .which = i};
        rows[i].len = asc_job_coalition_ids(j, present + i * j->n_groups, rows[i].ids, positions);
    }
    order(rows, n);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && rows[k].len == rows[i].len;) k++;
        ASC_TRY(one_length(j, rows + i, k - i, out));
    }
done:
    asc_free(ctx, ids);
    asc_free(ctx, positions);
    asc_free(ctx, rows);
    return st;
}

/* Random baselines: the mean over the trials. */
asc_status asc_job_coalition_values(asc_job *j, const uint8_t *present, size_t n, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t trials = asc_job_draws(j) && j->req->trials > 1 ? j->req->trials : 1, cells;
    if (trials == 1) return one_trial(j, present, n, out);
    double *once = asc_mul_size(n, asc_job_n_values(j), &cells)
                       ? asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *once)
                       : NULL;
    if (once == NULL) return ASC_RESOURCE_EXHAUSTED;
    memset(out, 0, cells * sizeof *out);
    asc_status st = ASC_OK;
    for (j->trial = 0; st == ASC_OK && j->trial < trials; j->trial++) {
        st = one_trial(j, present, n, once);
        for (size_t i = 0; st == ASC_OK && i < cells; i++) out[i] += once[i] / (double)trials;
    }
    j->trial = 0;
    asc_free(ctx, once);
    return st;
}
