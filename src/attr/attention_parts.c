/* attention_parts.c - see attention_parts.h. */
#include "attention_parts.h"
#include "exec.h"
#include <math.h>
#include <string.h>

asc_status asc_attention_check(asc_job *j, bool contrasts) {
    const char *name = j->method->info.name;
    if (contrasts || j->r->n_versus == 0) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s does not know what is explained, so there is no contrast", name);
    return asc_hint(j->ctx, "gradient-x-attention knows one; faithful methods do as well");
}

void asc_attention_mean(const asc_sweep_block *blk, const double *slopes, double *out) {
    const size_t n = (size_t)(blk->t * blk->t), heads = (size_t)blk->heads;
    memset(out, 0, n * sizeof *out);
    for (size_t h = 0; h < heads; h++) {
        for (size_t i = 0; i < n; i++) {
            const double a = blk->probs[h * n + i],
                         v = slopes != NULL ? fmax(a * blk->sign * slopes[h * n + i], 0.0) : a;
            out[i] += v / (double)heads;
        }
    }
}

asc_status asc_attention_sweep(asc_sweep *w) {
    asc_job *j = w->j;
    asc_ctx *ctx = j->ctx;
    size_t batch;
    asc_status st = ASC_OK;
    double *parts = asc_calloc(ctx, ASC_MEM_SCRATCH, j->r->n_prompt + 1, sizeof *parts);
    if (parts == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx);
    w->b = 1;
    w->f = &j->r->value;
    w->parts = parts;
    ASC_TRY(asc_sweep_batch(w, 1, &batch));
    if (j->estimate == NULL) {
        w->x = asc_model_embed(j->m, j->r->prompt_ids, 1, (int64_t)j->r->n_prompt);
        ASC_TRY(asc_run(ctx, &w->x, 1));
    }
    ASC_TRY(asc_sweep_run(w));
    j->r->converged = true;
done:
    asc_free(ctx, parts);
    return asc_scope_close(ctx, st);
}

void asc_attention_errors(asc_job *j) {
    double largest = 0.0;
    for (size_t t = 0; t < j->r->n_prompt; t++) largest = fmax(largest, fabs(j->r->scores[t]));
    for (size_t t = 0; t < j->r->n_prompt; t++) j->r->score_errors[t] = asc_job_gradient_noise(j, largest);
}
