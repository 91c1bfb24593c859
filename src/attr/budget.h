/* budget.h - what a job needs, and how it is run so that it stays under its bound: how many prompts go
 * together, and whether gradients go block by block. */
#ifndef ASC_BUDGET_H
#define ASC_BUDGET_H

#include "method.h"
#include "price.h"

typedef enum asc_pass_kind {
    ASC_PASS_VALUES,   /* forwards only, prompts given as ids */
    ASC_PASS_POINTS,   /* forwards only, at points between two rows of embeddings */
    ASC_PASS_PATH,     /* the same, forwards and backwards */
    ASC_PASS_GRADIENT, /* one prompt, forwards and backwards, at the job's site */
    /* site_path.h: at points between two values of the job's site, forwards only; and backwards; at points
     * between two rows of embeddings with the site's values and gradients; through the job's neuron */
    ASC_PASS_SITE_VALUES,
    ASC_PASS_SITE,
    ASC_PASS_FLOW,
    ASC_PASS_THROUGH
} asc_pass_kind;
/* Does it take gradients? */
bool asc_pass_is_backward(asc_pass_kind kind);

/* Rows of a gradient that are brought to the host at a time, with those of the values. */
enum { ASC_REDUCED_ROWS = 16 };

/* How passes of a kind are run: asc_job_batch's answer. */
typedef struct asc_way {
    size_t batch;      /* prompts a pass */
    size_t keep_every; /* 0 = one program; else blockwise.h */
} asc_way;

/* The bound that a request sets, in bytes, or the default one. */
size_t asc_request_limit(const asc_ctx *ctx, const asc_request *q);
/* The bound in bytes on everything that is allocated; the mapped model file is not. */
size_t asc_job_limit(const asc_job *j);
/* What of it is left for a pass. */
size_t asc_job_room(const asc_job *j);
/* RESOURCE_EXHAUSTED: one prompt of len tokens takes least_bytes, which are more than that. */
asc_status asc_job_too_small(asc_job *j, size_t len, size_t least_bytes);
/* One pass over b prompts of `len` tokens: without running it. */
ASC_MUST_USE asc_status asc_job_need(asc_job *j, asc_pass_kind kind, size_t len, size_t b, size_t keep_every,
                                     asc_price *out);
/* Notes what a program needs in the result's predicted peak. */
void asc_job_note_peak(asc_job *j, size_t bytes);
/* What the adaptive rule keeps of all points it may evaluate: gradients by token. 0 for other rules. */
size_t asc_job_records(const asc_job *j);
/* Drops the programs of earlier passes where a bound was given; false when there were none to speak of. What
 * is planned again afterwards has more room. */
bool asc_job_drop_programs(asc_job *j);
/* Before passes that need p and `beside` bytes more: what earlier passes left goes as far as there would not
 * be room, blocks first, then programs. Returns the bytes of the passes and of what stays. */
size_t asc_job_settle(asc_job *j, const asc_price *p, size_t beside);
/* The best way to run `want` prompts of `len` tokens; notes the predicted peak in the result.
 * RESOURCE_EXHAUSTED naming the least bound that would do. */
ASC_MUST_USE asc_status asc_job_batch(asc_job *j, asc_pass_kind kind, size_t len, size_t want, asc_way *out);

#endif
