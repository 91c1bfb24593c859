/* attention_parts.c - see attention_parts.h. */
#include "attention_parts.h"
#include "exec.h"
#include <math.h>

asc_status asc_attention_check(asc_job *j, bool contrasts) {
    const char *name = j->method->info.name;
    if (contrasts || j->r->n_versus == 0) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s does not know what is explained, so there is no contrast", name);
    return asc_hint(j->ctx, "gradient-x-attention knows one; faithful methods do as well");
}

/* The row of the answer in the product over the layers behind the one that comes next: the sweep meets the
 * last layer first, so matrices [t,t] are not multiplied with each other. */
typedef struct flow {
    asc_job *j;
    double *row, *next, own, share;
    const asc_answer *answers;
} flow;

static asc_status add_block(void *self, const asc_sweep_block *blk) {
    flow *s = self;
    const int64_t t = blk->t;
    const bool rival = blk->sign < 0.0;
    if (blk->layer == s->j->m->info.n_layers - 1)
        asc_job_rows_read(s->j, &s->answers[rival ? 1 : 0], rival, t, s->row);
    for (int64_t k = 0; k < t; k++) s->next[k] = s->own * s->row[k];
    for (int64_t i = 0; i < t; i++) {
        const double *at = blk->reduced[ASC_SWEEP_PROBS] + i * t, w = s->share * s->row[i];
        for (int64_t k = 0; w > 0.0 && k < t; k++) s->next[k] += w * at[k];
    }
    double *old = s->row;
    s->row = s->next;
    s->next = old;
    for (size_t k = 0; blk->layer == 0 && k < s->j->r->n_prompt; k++)
        s->j->r->scores[k] += blk->sign * s->row[k];
    return ASC_OK;
}

static asc_status sweep(asc_sweep *w) {
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

static void errors(asc_job *j) {
    double largest = 0.0;
    for (size_t t = 0; t < j->r->n_prompt; t++) largest = fmax(largest, fabs(j->r->scores[t]));
    for (size_t t = 0; t < j->r->n_prompt; t++) j->r->score_errors[t] = asc_job_gradient_noise(j, largest);
}

asc_status asc_attention_flow(asc_job *j, bool slopes, double own, double share) {
    asc_answer answers[2];
    flow s = {.j = j, .own = own, .share = share, .answers = answers};
    asc_sweep w = {
        .j = j, .values_only = !slopes, .want = 1u << ASC_SWEEP_PROBS, .sink = add_block, .self = &s};
    const size_t n_answers = asc_job_walks(j, answers);
    size_t n = answers[0].n, t;
    if (n_answers > 1 && answers[1].n > n) n = answers[1].n;
    t = j->r->n_prompt + n;
    double *room = asc_calloc(j->ctx, ASC_MEM_SCRATCH, 2 * t, sizeof *room);
    if (room == NULL) return ASC_RESOURCE_EXHAUSTED;
    s.row = room;
    s.next = room + t;
    asc_status st = sweep(&w);
    if (st == ASC_OK) errors(j);
    asc_free(j->ctx, room);
    return st;
}
