/* gradient_x_attention.c - attention weighted with the gradient there, propagated through the layers. */
#include "attention_parts.h"
#include <string.h>

/* The row of the answer in the product of (1 + A) over the layers behind the one that comes next, for either
 * answer: the sweep meets the last layer first. */
typedef struct flow {
    asc_job *j;
    double *row, *next, *mean;
    int64_t layers_left, t;
    const asc_answer *answers;
} flow;

static void begin(flow *s, const asc_sweep_block *blk) {
    const asc_answer *a = &s->answers[blk->sign < 0.0 ? 1 : 0];
    s->t = blk->t;
    asc_job_rows_read(s->j, a, blk->sign < 0.0, blk->t, s->row);
}

static asc_status add_block(void *self, const asc_sweep_block *blk) {
    flow *s = self;
    const int64_t t = blk->t;
    if (blk->layer == s->j->m->info.n_layers - 1) begin(s, blk);
    asc_attention_mean(blk, blk->slopes, s->mean);
    memcpy(s->next, s->row, (size_t)t * sizeof *s->next);
    for (int64_t i = 0; i < t; i++) {
        for (int64_t k = 0; s->row[i] > 0.0 && k < t; k++) s->next[k] += s->row[i] * s->mean[i * t + k];
    }
    memcpy(s->row, s->next, (size_t)t * sizeof *s->next);
    for (size_t k = 0; blk->layer == 0 && k < s->j->r->n_prompt; k++)
        s->j->r->scores[k] += blk->sign * s->row[k];
    return ASC_OK;
}

static asc_status run(asc_job *j) {
    asc_answer answers[2];
    flow s = {.j = j, .answers = answers};
    asc_sweep w = {.j = j, .want = 1u << ASC_SWEEP_PROBS, .sink = add_block, .self = &s};
    asc_status st = asc_attention_check(j, true);
    if (st != ASC_OK) return st;
    const size_t n_answers = asc_job_walks(j, answers);
    size_t t = j->r->n_prompt + answers[0].n, bytes;
    if (n_answers > 1 && answers[1].n > answers[0].n) t = j->r->n_prompt + answers[1].n;
    if (!asc_mul_size(t, t + 2, &bytes)) return ASC_RESOURCE_EXHAUSTED;
    double *room = asc_calloc(j->ctx, ASC_MEM_SCRATCH, bytes, sizeof *room);
    if (room == NULL) return ASC_RESOURCE_EXHAUSTED;
    s.row = room;
    s.next = room + t;
    s.mean = room + 2 * t;
    st = asc_attention_sweep(&w);
    if (st == ASC_OK) asc_attention_errors(j);
    asc_free(j->ctx, room);
    return st;
}

const asc_method asc_method_gradient_x_attention = {
    .info = {.name = "gradient-x-attention",
             .captum = "",
             .doc = "attention weighted with its gradient, through all layers: for comparison only, it knows "
                    "neither values nor MLPs",
             .formula =
                 "score_t = row of the answer in product over layers of 1 + mean over heads of (A dA f)+",
             .paper =
                 "Chefer, Gur, Wolf, Generic Attention-model Explainability for Interpreting Bi-Modal and "
                 "Encoder-Decoder Transformers, ICCV 2021",
             .axioms = "none: not faithful by construction",
             .cost = "1 forward and 1 backward pass",
             .options = "features, output",
             .differences =
                 "not in Captum; several answer tokens: the mean over the rows that predict them; a "
                 "contrast: the difference of both answers' scores"},
    .by_gradient = true,
    .by_token = true,
    .run = run,
    .price = asc_job_price_one_gradient,
};
