/* sampler.h - from logits to the next token: what changes logits, which tokens are left, the draw; and what a
 * distribution says of its likeliest tokens. Computes no logits. */
#ifndef ASC_SAMPLER_H
#define ASC_SAMPLER_H

#include "ascribe/model.h"
#include "ctx.h"

typedef struct asc_sampler {
    asc_ctx *ctx;
    const asc_generate_options *o;
    int64_t v;       /* vocabulary */
    uint32_t *count; /* [v] times in the answer; NULL: no option asks */
    uint8_t *before; /* [v] in prompt or answer; NULL: no option asks */
    float *changed;  /* [v] logits after bias and penalties; NULL: no option changes any */
    double *weights; /* [v] of the last draw, 0 = left out; NULL: greedy */
} asc_sampler;

/* Checks the options and counts the prompt. INVALID_ARGUMENT names the option, OUT_OF_RANGE,
 * RESOURCE_EXHAUSTED. End with asc_sampler_deinit in any case. o is borrowed. */
ASC_MUST_USE asc_status asc_sampler_init(asc_ctx *ctx, const asc_generate_options *o, int64_t v,
                                         const int32_t *ids, size_t n, asc_sampler *out);
void asc_sampler_deinit(asc_sampler *s);
/* The next token for logits x[v]; `index` is its number in the answer, of the draw. It is counted. */
int32_t asc_sampler_next(asc_sampler *s, const float *x, uint64_t index);

/* log of the sum of exp(x[i]): a logit less it is a log-probability. */
double asc_logits_mass(const float *x, int64_t n);
/* The n <= v likeliest tokens of logits x[v], in order (equals: the smaller id first). */
void asc_top_logprobs(const float *x, int64_t v, asc_token_logprob *out, size_t n);

#endif
