/* sweep.h - one way back through the layers of a model, block by block, under any rules: plain
 * derivatives, relevance (rules/), multipliers of pairs. What arrives at the prompt's embeddings, at the
 * sites of every block and at the attention probabilities is reduced to numbers on the way, so nothing of a
 * model is held but what enters each block.
 *
 * Text encoders of which no site is wanted are run as one program.
 *
 * A cotangent c at a value v is reduced over the width: to sum c (v - v0) where the sweep has partners (v0
 * the same value of the partner's run), to sum c v without partners, to sum c where c is relevance. */
#ifndef ASC_SWEEP_H
#define ASC_SWEEP_H

#include "budget.h"
#include "rules.h"

/* Sites of a block, as bits 1 << site of asc_sweep.want. */
typedef enum asc_sweep_site {
    ASC_SWEEP_OUT,   /* the stream behind the block */
    ASC_SWEEP_ATTN,  /* what attention adds to it */
    ASC_SWEEP_MLP,   /* what the MLP adds */
    ASC_SWEEP_HEADS, /* what each head hands to the output projection */
    ASC_SWEEP_PROBS, /* attention probabilities */
    ASC_SWEEP_N_SITES
} asc_sweep_site;
/* "out", "attn.out", "mlp.out", "heads", "attention" */
const char *asc_sweep_site_name(asc_sweep_site site);

/* What a sink sees of a block: B prompts of T tokens (the answer's, all but its last, follow the prompt's).
 */
typedef struct asc_sweep_block {
    int64_t layer;
    int64_t b, t, heads;
    double sign; /* of the answer: -1 for the contrast */
    /* [b,t], heads [b,t,heads]; NULL unless wanted. Of probabilities [b,t,t]: the mean over the heads, with
     * cotangents of the positive part of their products with the answer's own. */
    const double *reduced[ASC_SWEEP_N_SITES];
} asc_sweep_block;

typedef struct asc_sweep {
    asc_job *j;
    asc_rules *rules; /* NULL = plain derivatives. Its on_value is taken over */
    bool paired;      /* x0 is given; with rules, multipliers of pairs */
    bool has_by;      /* by is given */
    bool values_only; /* probabilities, no cotangents: every block runs forwards twice */
    unsigned want;
    asc_status (*sink)(void *self, const asc_sweep_block *block); /* from the last block to the first */
    void *self;
    /* of one run */
    size_t b;           /* prompts */
    asc_tensor *x, *x0; /* [B,P,D], leaves with a value */
    asc_tensor *by; /* [B,P,D] what cotangents at the embeddings are multiplied with; NULL = x - x0, or x */
    double *f, *f0; /* [B]; may be NULL */
    double *parts;  /* [B,P] reduced at the embeddings; may be NULL with values_only */
} asc_sweep;

/* Runs it, or counts it in a dry run, where x, x0 and by are not looked at. Counts r->n_forward and
 * n_backward. */
ASC_MUST_USE asc_status asc_sweep_run(asc_sweep *s);
/* What a run with b prompts takes. */
ASC_MUST_USE asc_status asc_sweep_price(const asc_sweep *s, size_t b, asc_price *out);
/* How many of `want` prompts of p tokens go together under the job's bound; notes the predicted peak.
 * RESOURCE_EXHAUSTED naming the least bound. x, x0 and by are not looked at. */
ASC_MUST_USE asc_status asc_sweep_batch(const asc_sweep *s, size_t want, size_t *out);

#endif
