/* attention_rollout.c - how much of each token attention lets through to where the answer is predicted. */
#include "attention_parts.h"

/* roll [t,t]: what the stream behind the blocks so far holds of each token, by attention alone. */
typedef struct rollout {
    asc_job *j;
    double *roll, *mean, *next;
    int64_t t;
} rollout;

/* roll <- (mean + 1)/2 roll. Rows of a softmax add up to 1, and so does half of one and half of the identity.
 */
static asc_status add_block(void *self, const asc_sweep_block *blk) {
    rollout *s = self;
    const int64_t t = blk->t;
    asc_attention_mean(blk, NULL, s->mean);
    for (int64_t i = 0; i < t; i++) {
        double *row = s->next + i * t;
        for (int64_t k = 0; k < t; k++) row[k] = 0.5 * s->roll[i * t + k];
        for (int64_t m = 0; m < t; m++) {
            const double a = 0.5 * s->mean[i * t + m];
            if (!(a > 0.0)) continue; /* what is not seen */
            for (int64_t k = 0; k < t; k++) row[k] += a * s->roll[m * t + k];
        }
    }
    double *old = s->roll;
    s->roll = s->next;
    s->next = old;
    return asc_poll_cancel(s->j->ctx);
}

static asc_status run(asc_job *j) {
    rollout s = {.j = j};
    asc_sweep w = {.j = j, .values_only = true, .want = 1u << ASC_SWEEP_PROBS, .sink = add_block, .self = &s};
    asc_answer answers[2];
    asc_status st = asc_attention_check(j, false);
    if (st != ASC_OK) return st;
    (void)asc_job_walks(j, answers);
    s.t = (int64_t)(j->r->n_prompt + answers[0].n) - 1;
    const size_t n = (size_t)(s.t * s.t);
    double *room = asc_calloc(j->ctx, ASC_MEM_SCRATCH, 3 * n + (size_t)s.t, sizeof *room);
    if (room == NULL) return ASC_RESOURCE_EXHAUSTED;
    s.roll = room;
    s.mean = room + n;
    s.next = room + 2 * n;
    for (int64_t i = 0; i < s.t; i++) s.roll[i * s.t + i] = 1.0;
    st = asc_attention_sweep(&w);
    double *rows = room + 3 * n;
    asc_job_rows_read(j, &answers[0], false, s.t, rows);
    for (size_t i = 0; st == ASC_OK && i < (size_t)s.t; i++) {
        for (size_t k = 0; rows[i] > 0.0 && k < j->r->n_prompt; k++)
            j->r->scores[k] += rows[i] * s.roll[i * (size_t)s.t + k];
    }
    if (st == ASC_OK) asc_attention_errors(j);
    asc_free(j->ctx, room);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    (void)j;
    *n_forward = 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_attention_rollout = {
    .info = {.name = "attention-rollout",
             .captum = "",
             .doc =
                 "which tokens attention lets through to the answer: for comparison only, it knows neither "
                 "values, MLPs nor the target",
             .formula =
                 "score_t = row of the answer in product over layers of (mean over heads of A + 1) / 2",
             .paper = "Abnar and Zuidema, Quantifying Attention Flow in Transformers, ACL 2020",
             .axioms = "none: not faithful by construction; scores are not negative and at most add up to 1",
             .cost = "1 forward pass",
             .options = "features",
             .differences =
                 "not in Captum; several answer tokens: the mean over the rows that predict them; text "
                 "encoders: the rows that the answer is read from (a maximum counts as the mean)"},
    .by_token = true,
    .run = run,
    .price = price,
};
