/* target_encoder.h - what is explained of a text encoder: a class, or the similarity with another text. */
#ifndef ASC_TARGET_ENCODER_H
#define ASC_TARGET_ENCODER_H

#include "encoder.h"
#include "job_capture.h"

/* What a job on an encoder keeps besides the request. */
typedef struct asc_encoder_job {
    asc_request resolved; /* the request with the output in force; the job's req points here */
    double *similar;      /* embedding of request.similar_to; NULL = a class is explained */
    size_t n_similar;
    size_t n_separators; /* tokens behind the so manyth separator are of type 1; 0 = all are of type 0 */
    int32_t *places;     /* word heads: the prompt's mask tokens, n_places; NULL = none */
    size_t n_places;
    int32_t answer[2], rival[2]; /* span heads: first and last token of the answer, and of the other one */
    size_t token;                /* token heads: the token whose class is explained */
    const int32_t *row_ids;      /* while rows [b,len] of ids are recorded; NULL: the prompt's own */
    size_t n_row_ids;
    const int32_t *hidden; /* while rows are recorded in which absent words stand and are not seen (baseline
                              mask): the rows [b,len], ids of absent words as ~id; NULL: all are seen */
    double *seen;          /* room: what a kept batch reads of them */
    bool *special;         /* tokens of the prompt that frame the text; NULL: told by their ids */
    int32_t *prompt_types; /* of the prompt's tokens; NULL = all 0 */
    int32_t *types;        /* room of the types that a kept batch reads */
} asc_encoder_job;

/* The rows of ids that are being recorded, whose token types the scalar needs; NULL: the prompt's again.
 * Nothing for language models. */
void asc_encoder_rows(asc_job *j, const int32_t *ids, size_t n);
/* Sets the run's token types and which tokens are seen, from its x and the rows being recorded; false after
 * an error. */
bool asc_encoder_run_types(asc_job *j, asc_encoder_run *run);
/* The scalar of B texts given as word embeddings x [B,P,D] -> [B]. */
asc_tensor *asc_encoder_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self);
/* Which of the answers a score is of. */
typedef enum asc_encoder_which {
    ASC_BOTH /* the difference, if there are two */,
    ASC_TARGET,
    ASC_RIVAL
} asc_encoder_which;
/* The score of what leaves the encoder, [B,T,D] -> [B]. seen [B,T]: encoder.h; NULL = all. */
asc_tensor *asc_encoder_score(asc_job *j, asc_tensor *hidden, asc_tensor *seen, asc_encoder_which which);
/* Do words that are absent stand in the text, unseen? Then their ids in rows are ~id. */
bool asc_encoder_hides(const asc_job *j);
/* What tells batches of equal sizes apart: the explained token, whether there are token types. */
int64_t asc_encoder_key(const asc_job *j);
/* The leaves of asc_encoder_scalar for `rows` texts of len tokens, in its order; calls add for each. */
ASC_MUST_USE asc_status asc_encoder_sources(asc_job *j, const int32_t *ids, size_t rows, size_t len,
                                            int32_t *class_room,
                                            asc_status (*add)(asc_job_batch_run *b, asc_job_source s),
                                            asc_job_batch_run *b);
/* encoder_job.c: after the method is known: room, the output in force; refuses what has no meaning for
 * encoders. */
ASC_MUST_USE asc_status asc_encoder_job_begin(asc_job *j);
void asc_encoder_job_end(asc_job *j);
/* Tokens of request.prompt and request.second, which follows in `text` behind a line break. */
ASC_MUST_USE asc_status asc_encoder_prompt(asc_job *j, asc_strbuf *text, asc_token **out, size_t *n);
/* What is explained: class and its rival, or the other text's embedding; the most likely classes. */
ASC_MUST_USE asc_status asc_encoder_targets(asc_job *j);
/* encoder_places.c: the same of heads that speak of words and places; and tokens that are never perturbed,
 * because they are what is asked about. */
ASC_MUST_USE asc_status asc_encoder_place_targets(asc_job *j);
bool asc_encoder_fixed(const asc_job *j, size_t i);
/* Where the prompt's text reads `want` at or behind byte `from`, with `whole` as whole words; behind `least`
 * lies the text that is meant. SIZE_MAX: nowhere. */
size_t asc_encoder_find(const asc_result *r, asc_view want, size_t from, size_t least, bool whole);
/* Without the blanks around it. */
asc_view asc_encoder_trim(asc_view text);
/* [MASK] for perturbations, the padding token for paths; else nothing, or zero. */
asc_baseline asc_encoder_baseline(const asc_job *j, int32_t *id);
/* Tokens of the prompt that frame the text ([CLS], [SEP]) are no features. `given`: the ids came from the
 * caller, whose own tokens all count unless they are framed as a whole. */
bool asc_encoder_frames(const asc_job *j, size_t i);

#endif
