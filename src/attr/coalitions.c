/* coalitions.c - see coalitions.h: the token rows of coalitions, each different one once. */
#include "coalitions.h"
#include "coalition_rows.h"
#include "neuron.h"
#include "target_encoder.h"
#include "target.h"
#include <stdlib.h>
#include <string.h>

size_t asc_job_n_values(const asc_job *j) { return asc_job_width(j); }

size_t asc_job_max_tokens(const asc_job *j) {
    size_t n = j->r->n_prompt;
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *p = &j->parts[i];
        if (p->n_fill > p->last - p->first) n += p->n_fill - (p->last - p->first);
    }
    return n + 1;
}

/* Tokens [first, last) of the prompt: behind what is there, or at their own places. */
static size_t copy(const asc_job *j, size_t first, size_t last, size_t n, int32_t *ids, int32_t *positions) {
    const bool stay = j->baseline == ASC_BASELINE_MASK;
    for (size_t i = first; i < last; i++, n++) {
        ids[n] = j->r->prompt_ids[i];
        positions[n] = (int32_t)(stay ? i : n);
    }
    return n;
}

size_t asc_job_coalition_ids(const asc_job *j, const uint8_t *present, int32_t *ids, int32_t *positions) {
    const bool stay = j->baseline == ASC_BASELINE_MASK;
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
        for (size_t k = p->first; fill.n == 0 && k < p->last && asc_encoder_hides(j); k++, n++) {
            ids[n] = ~j->r->prompt_ids[k];
            positions[n] = (int32_t)n;
        }
        for (size_t k = 0; k < fill.n; k++, n++) {
            ids[n] = fill.ids[k];
            positions[n] = (int32_t)(!stay ? n : p->first + k < p->last ? p->first + k : p->last - 1);
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

/* ---- rows ---- */

/* One coalition's prompt; `same` is the first coalition with the same one. */
typedef struct row {
    asc_coalition_row r;
    size_t same;
} row;

static int content(const row *x, const row *y) {
    const asc_coalition_row *a = &x->r, *b = &y->r;
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    int c = memcmp(a->ids, b->ids, a->len * sizeof *a->ids);
    return c != 0 ? c : memcmp(a->positions, b->positions, a->len * sizeof *a->positions);
}

static int by_content(const void *a, const void *b) {
    const row *x = a, *y = b;
    int c = content(x, y);
    return c != 0 ? c : x->r.which < y->r.which ? -1 : x->r.which > y->r.which;
}

static int by_length(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->r.len != y->r.len) return x->r.len < y->r.len ? -1 : 1;
    return x->r.which < y->r.which ? -1 : x->r.which > y->r.which;
}

/* Marks repeated rows and sorts by length, rows of a length in the caller's order. */
static void order(row *rows, size_t n) {
    qsort(rows, n, sizeof *rows, by_content);
    for (size_t i = 0; i < n; i++)
        rows[i].same = i > 0 && content(&rows[i - 1], &rows[i]) == 0 ? rows[i - 1].same : rows[i].r.which;
    qsort(rows, n, sizeof *rows, by_length);
}

/* Tokens that are run behind every prompt; with a contrast the prompt is run twice. */
static size_t plain_tokens(const asc_job *j, size_t len) {
    asc_answer answers[2];
    size_t n = asc_job_answers(j, answers), sum = 0;
    for (size_t a = 0; a < n; a++) sum += len + answers[a].n - 1;
    return sum;
}

/* Values of different rows of one length, by plain batches. */
static asc_status one_length(asc_job *j, const asc_coalition_row *rows, size_t n, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t len = rows[0].len, width = asc_job_n_values(j), cells;
    int32_t *ids = asc_mul_size(n, len, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *ids) : NULL;
    double *values =
        asc_mul_size(n, width, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *values) : NULL;
    asc_status st = ids == NULL || values == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < n; i++) memcpy(ids + i * len, rows[i].ids, len * sizeof *ids);
    if (st == ASC_OK) st = asc_job_values_each(j, ids, n, len, values);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        memcpy(out + rows[i].which * width, values + i * width, width * sizeof *out);
        j->r->tokens_run += plain_tokens(j, len);
        j->r->tokens_plain += plain_tokens(j, len);
    }
    asc_free(ctx, ids);
    asc_free(ctx, values);
    return st;
}

static asc_status by_lengths(asc_job *j, const asc_coalition_row *rows, size_t n, double *out) {
    asc_status st = ASC_OK;
    for (size_t i = 0, k; st == ASC_OK && i < n; i = k) {
        for (k = i; k < n && rows[k].len == rows[i].len;) k++;
        st = one_length(j, rows + i, k - i, out);
    }
    return st;
}

/* One lot of coalitions: each different prompt once. */
static asc_status values_of(asc_job *j, const uint8_t *present, size_t n, row *rows, int32_t *ids,
                            int32_t *positions, asc_coalition_row *once, double *out) {
    const size_t width = asc_job_max_tokens(j), n_values = asc_job_n_values(j);
    const bool shares = j->m->kind == ASC_MODEL_DECODER && asc_model_shares_prefixes(j->m);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t *at = ids + i * width, *pos = positions + i * width;
        rows[i] = (row){.r = {.ids = at, .positions = pos, .which = i}};
        rows[i].r.len = asc_job_coalition_ids(j, present + i * j->n_groups, at, pos);
        if (shares) rows[i].r.len = asc_neuron_reach(j, rows[i].r.len);
    }
    order(rows, n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].same == rows[i].r.which) once[k++] = rows[i].r;
    asc_status st = shares ? asc_coalition_by_trie(j, once, k, out) : by_lengths(j, once, k, out);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (rows[i].same == rows[i].r.which) continue;
        memcpy(out + rows[i].r.which * n_values, out + rows[i].same * n_values, n_values * sizeof *out);
        j->r->tokens_plain += plain_tokens(j, rows[i].r.len);
    }
    return st;
}

size_t asc_job_lot(const asc_job *j) {
    enum { MOST_CELLS = 1 << 21 }; /* tokens that are written down at a time */
    return MOST_CELLS / asc_job_max_tokens(j) + 1;
}

static asc_status one_trial(asc_job *j, const uint8_t *present, size_t n, double *out) {
    asc_ctx *ctx = j->ctx;
    const size_t width = asc_job_max_tokens(j);
    size_t lot = asc_job_lot(j), cells;
    asc_status st = ASC_OK;
    if (lot > n) lot = n;
    if (n == 0) return ASC_OK;
    const bool fits = asc_mul_size(lot, width, &cells);
    int32_t *ids = fits ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *ids) : NULL;
    int32_t *positions = fits ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *positions) : NULL;
    row *rows = asc_calloc(ctx, ASC_MEM_GENERAL, lot, sizeof *rows);
    asc_coalition_row *once = asc_calloc(ctx, ASC_MEM_GENERAL, lot, sizeof *once);
    if (ids == NULL || positions == NULL || rows == NULL || once == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (j->estimate != NULL) memset(out, 0, n * asc_job_n_values(j) * sizeof *out);
    for (size_t i = 0; i < n; i += lot)
        ASC_TRY(values_of(j, present + i * j->n_groups, n - i < lot ? n - i : lot, rows, ids, positions, once,
                          out + i * asc_job_n_values(j)));
done:
    asc_free(ctx, ids);
    asc_free(ctx, positions);
    asc_free(ctx, rows);
    asc_free(ctx, once);
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
