/* estimate.h - a dry run: the method goes its way, its passes are priced and counted instead of run.
 *
 * Peak, arithmetic and bytes moved are those of the programs that would run. Time: arithmetic over the rate
 * at which this machine runs some blocks of the model (and its head) at the very shape of a pass, measured
 * here once for each shape (and kept for a minute, models/rates.h); fresh memory over the measured rate of
 * first touching it; and what the dry run itself took for everything that a real run does as well. */
#ifndef ASC_ESTIMATE_H
#define ASC_ESTIMATE_H

#include "budget.h"

typedef struct asc_estimate {
    double seconds, flops, bytes; /* of the passes counted so far; bytes read and written by their ops */
    size_t prefix;                /* what a real run would hold now: the prefix's keys and values, */
    size_t held;                  /* and others' or programs of other lengths */
    size_t probes;                /* live only because rates were measured */
    size_t fresh;                 /* largest need of a pass: activations, outputs and scratch */
    size_t arena, scratch;        /* the largest of each: kept until the end */
    double spare;                 /* of `seconds`: what a run may do without that ends at its first look */
    double measuring;             /* seconds spent on rates */
} asc_estimate;

/* Seconds since t0 (asc_now_ns). */
static inline double asc_seconds_since(uint64_t t0) { return (double)(asc_now_ns() - t0) * 1e-9; }

/* Counts n prompts (or points) of `len` tokens run in this way, with the evaluations in the result. */
ASC_MUST_USE asc_status asc_estimate_passes(asc_job *j, asc_pass_kind kind, size_t len, size_t n,
                                            const asc_way *way);
/* Counts a program of `rows` tokens that is not one of those: a prefix. */
ASC_MUST_USE asc_status asc_estimate_program(asc_job *j, const asc_price *p, size_t rows);
/* Counts `passes` programs that each take the gradients of n answer tokens in one forward pass over `len`
 * tokens, n_backward gradients in all. */
ASC_MUST_USE asc_status asc_estimate_gradients(asc_job *j, const asc_price *p, size_t len, size_t n,
                                               size_t passes, size_t n_backward);
/* Counts work that is priced elsewhere: a pass needs p at most; all of them take so long, and so much. */
void asc_estimate_work(asc_job *j, const asc_price *p, double seconds, double flops, double bytes);
/* Counts the answer that the model writes itself: the prompt once more, then token by token
 * (estimate_answer.c). */
ASC_MUST_USE asc_status asc_estimate_answer(asc_job *j);
/* What a rate is wanted of: passes over `batch` prompts of `len` tokens. */
typedef struct asc_rate_of {
    size_t len, batch;
    bool backward;  /* with gradients */
    bool one_block; /* a pass keeps the inner values of one block only */
    double work;    /* FLOP that are priced by it: the more, the longer it may be measured */
} asc_rate_of;
/* Arithmetic a second: one that the model remembers at about so many rows, or a new one (estimate_rate.c). */
ASC_MUST_USE asc_status asc_estimate_rate(asc_job *j, const asc_rate_of *what, double *out);

/* A run of `step`: the median of some behind a first one, which touches fresh memory and makes the program.
 * That one is enough when it takes long. */
typedef struct asc_timing {
    double flops, seconds; /* seconds of everything, recording included */
} asc_timing;
typedef asc_status (*asc_estimate_step)(void *self);
ASC_MUST_USE asc_status asc_estimate_timed(asc_ctx *ctx, asc_estimate_step step, void *self, asc_timing *out);
/* The dry run of a job that began at t0 (asc_now_ns): fills in the result's predictions. */
ASC_MUST_USE asc_status asc_estimate_job(asc_job *j, uint64_t t0);

#endif
