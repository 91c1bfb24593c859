/* api_generate.h - an answer that is wanted by /v1/chat/completions or /v1/completions, and how it is told.
 */
#ifndef ASC_SERVE_API_GENERATE_H
#define ASC_SERVE_API_GENERATE_H

#include "api.h"

/* What was told of one token. */
typedef struct api_token {
    asc_generated t;        /* its `top` lies in `top` here; no text */
    asc_token_logprob *top; /* made with malloc; NULL = none */
} api_token;

typedef struct api_tokens {
    api_token *v;
    size_t n, cap;
    bool failed; /* no memory */
} api_tokens;

typedef struct api_answer {
    /* wanted; filled in by the handler */
    api_body body; /* stop strings and the attribution's keys lie in it */
    bool chat, stream, usage, echo, logprobs;
    size_t n_top, n_choices;
    int32_t *ids; /* the prompt */
    size_t n;
    char *prompt; /* completions: its text, for echo */
    size_t prompt_len;
    size_t *starts; /* the same: characters of it before each token */
    char *question; /* JSON: what is to be explained of the answer, without the answer; NULL = nothing */
    asc_generate_options o;
    asc_view stop[16];
    asc_logit_bias bias[API_MAX_BIAS];
    char model[API_ID_BYTES], id[64];
    int64_t created;
    /* in the worker */
    job *j;
    const job_place *at;
    const asc_tokenizer *tk;
    asc_text *text, *doc, *line; /* the answer; JSON in the making; the same in one line */
    size_t choice, first_told;   /* which answer is being made, and where its tokens begin in `told` */
    api_tokens told, prompt_told;
    size_t offset; /* characters of the text before the answer's next token */
    bool begun;
} api_answer;

/* An answer by the request's body, which is read by the table `which`; NULL: *fault. */
api_answer *api_answer_create(exchange *x, api_which which, serve_fault *fault);
/* The options of the answer by its body. False: *fault. max_tokens is not yet set. */
bool api_answer_options(api_answer *a, serve_fault *fault);
/* Counts, limits and price, once the prompt's tokens are there: sets o.max_tokens. `asked`: what the body
 * says, 0 = nothing. The bench is locked. False: *fault. */
bool api_answer_price(api_answer *a, const server *s, serve_bench *b, size_t asked, size_t absent,
                      job_price *out, serve_fault *fault);
void api_answer_destroy(void *self);
/* Keeps what was told of a token. */
void api_tokens_add(api_tokens *l, const asc_generated *t);

/* ---- api_answer.c: in the worker; api_shape.c: what it looks like ---- */

asc_status api_answer_run(job *j, const job_place *at, void *self);
void api_answer_failed(job *j, void *self, const char *code, const char *message, const char *hint);
/* The whole reply, without the attribution, into a->doc: what stands before the answers, each of them, and
 * what stands behind them. */
void api_shape_whole_begin(api_answer *a);
void api_shape_choice(api_answer *a, asc_finish why);
void api_shape_whole_end(api_answer *a);
/* Chunks of a stream, into a->doc: of text (may be empty) and the told tokens first .. first + n - 1 of l; of
 * the end; of usage. */
void api_shape_begin(api_answer *a);
void api_shape_chunk(api_answer *a, asc_view text, const api_tokens *l, size_t first, size_t n);
void api_shape_end(api_answer *a, asc_finish why);
void api_shape_usage(api_answer *a);
/* A chunk that has no choices and is to be grafted upon. */
void api_shape_empty(api_answer *a);

#endif
