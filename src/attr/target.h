/* target.h - the parts of what is explained, for whoever runs the model in pieces: the score of the target's
 * tokens (of a span of them, if one was asked for), less that of the contrast's when there is one; with
 * request.per_token also each token's own. */
#ifndef ASC_TARGET_H
#define ASC_TARGET_H

#include "method.h"

/* Tokens 0 .. n - 1 follow the prompt, those from `first` on are scored. What stands behind a span is never
 * run: a causal model's span does not depend on it. */
typedef struct asc_answer {
    const int32_t *ids; /* borrowed */
    size_t n, first;
} asc_answer;

/* The target and, if there is one, the contrast; how many. */
size_t asc_job_answers(const asc_job *j, asc_answer out[2]);
/* x [B,P,D] followed by all tokens of the answer but the last: [B,P+n-1,D]; x itself when that is none. */
asc_tensor *asc_answer_join(asc_job *j, asc_tensor *x, const asc_answer *s);
/* How blocks first .. end - 1 are run for an answer to B prompts; out->x is the caller's to set. *out_past is
 * to be freed with asc_free behind the last use of *out, in any case. */
ASC_MUST_USE asc_status asc_answer_run(asc_job *j, int64_t b, const asc_answer *s, int64_t first, int64_t end,
                                       asc_site_fn site, void *self, asc_decoder_run *out, asc_kv **out_past);
/* Block l alone on the stream x of an answer to b prompts; site and attend (NULL = none) get self. */
asc_tensor *asc_answer_block(asc_job *j, int64_t b, const asc_answer *s, int64_t l, asc_site_fn site,
                             asc_attend_fn attend, void *self, asc_tensor *x);
/* The score of the answer given what leaves the last block for its rows, [B,n-first,D] -> [B]. */
asc_tensor *asc_answer_score(asc_job *j, asc_tensor *hidden, const asc_answer *s);
/* Scores of its tokens, each by itself: [B,n-first]. Log-probabilities (also for PROB: their sum's
 * exponential is the answer's) or logits. */
asc_tensor *asc_answer_tokens(asc_job *j, asc_tensor *hidden, const asc_answer *s);
/* Numbers explained of each prompt: [0] the whole answer's, with request.per_token then each explained
 * token's own. */
size_t asc_job_width(const asc_job *j);
/* Does the model see later tokens too, so that each explained token needs a pass of its own? */
bool asc_job_token_passes(const asc_job *j);
/* All of them: [B,asc_job_width]. */
asc_tensor *asc_answer_numbers(asc_job *j, asc_tensor *hidden, const asc_answer *s);
/* asc_job_scalar's value and, with request.per_token, each token's: [B,asc_job_width]. */
asc_tensor *asc_job_numbers(asc_job *j, asc_tensor *x);

/* The ops of one pass. ids: i32 [B,P]; points [B,P,D] at a [B,1,1] between the rows x0 and x [P,D]. */
asc_tensor *asc_record_prompts(asc_job *j, asc_tensor *ids);
asc_tensor *asc_record_points(asc_job *j, asc_tensor *x, asc_tensor *x0, asc_tensor *a);
/* Sum over the width of gradient [B,P,D] times (x - x0). */
asc_tensor *asc_record_parts(asc_job *j, asc_tensor *grad, asc_tensor *x, asc_tensor *x0);
/* A site function that keeps the first value that passes at one place; its self is an asc_site_catcher with
 * value NULL at first. */
typedef struct asc_site_catcher {
    asc_decoder_site site;
    int64_t layer;
    asc_tensor *value; /* borrowed from the graph */
} asc_site_catcher;
asc_tensor *asc_catch_site(void *self, asc_decoder_site site, int64_t layer, asc_tensor *value);
/* Scalar y of embeddings x; its gradient at x, or at the job's site; the value there. grad may be NULL. */
asc_tensor *asc_record_scalar(asc_job *j, asc_tensor *x, asc_tensor **grad, asc_tensor **act);

#endif
