/* post_processor.h - the last stage of a tokenizer file: special tokens around one text or a pair, and the
 * types of the tokens ("post_processor"). BertProcessing and RobertaProcessing are templates, too. */
#ifndef ASC_POST_PROCESSOR_H
#define ASC_POST_PROCESSOR_H

#include "json.h"
#include "word_model.h"

/* A place in a template: a text or some special tokens. */
typedef struct asc_template_piece {
    int sequence; /* 0 = text A, 1 = text B, -1 = tokens */
    int32_t type_id;
    size_t first, n; /* tokens: of post_processor.tokens */
    size_t part;     /* what the next step of a sequence takes as one text */
} asc_template_piece;
typedef struct asc_template {
    asc_template_piece *v;
    size_t n, cap;
    size_t n_parts;
} asc_template;
typedef struct asc_template_token {
    int32_t id;
    size_t name, name_len; /* in post_processor.names */
} asc_template_token;

/* Where a text stands: alone, first or second of a pair. */
enum { ASC_TEXT_ALONE, ASC_TEXT_FIRST, ASC_TEXT_SECOND, ASC_N_TEXT_PLACES };
/* A step that takes white space at the ends of tokens out of their ranges. */
typedef struct asc_trim {
    bool space;                  /* a space was put before the text */
    bool led[ASC_N_TEXT_PLACES]; /* an earlier step has put special tokens before the text */
} asc_trim;

typedef struct asc_post_processor {
    asc_template single, pair;
    asc_template_token *tokens;
    size_t n_tokens, cap_tokens;
    char *names;
    size_t names_len, names_cap;
    asc_trim trim[8]; /* in order, each works on what the one before it left */
    size_t n_trims;
} asc_post_processor;

/* NULL or null: text A, then text B (of type 1). Errors: UNIMPLEMENTED (a type that is not known; a
 * template behind a template that adds tokens), INVALID_ARGUMENT (ids beyond n_ids, tokens that are not
 * listed). */
ASC_MUST_USE asc_status asc_post_processor_init(asc_ctx *ctx, asc_post_processor *p, const asc_json *j);
void asc_post_processor_deinit(asc_ctx *ctx, asc_post_processor *p);
/* The largest id that a template writes, -1 for none. */
int32_t asc_post_processor_max_id(const asc_post_processor *p);

#endif
