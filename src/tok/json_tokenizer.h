/* json_tokenizer.h - the inside of a tokenizer that came from a tokenizer.json: its stages, and one text on
 * its way through them. */
#ifndef ASC_JSON_TOKENIZER_H
#define ASC_JSON_TOKENIZER_H

#include "added_tokens.h"
#include "post_processor.h"
#include "splitter.h"
#include "token_decoder.h"
#include "tokenizer.h"

typedef struct asc_json_tokenizer {
    asc_normalizer normalizer;
    asc_splitter splitter;
    asc_word_model model;
    asc_added added;
    asc_post_processor post;
    asc_token_decoder decoder;
    int32_t *added_of; /* by id: the added token it is, -1 = none */
    bool *control;     /* by id: special; ordinary text never becomes one unless asked for */
} asc_json_tokenizer;

/* A token of a text. */
typedef struct asc_text_token {
    int32_t id;
    uint32_t from, to;           /* range in the text as the file's program gives it, in whole characters */
    uint32_t true_from, true_to; /* the bytes it really stands for */
    size_t name, name_len;       /* in the run's names */
} asc_text_token;

/* One text through all stages but the last. */
typedef struct asc_text_run {
    asc_ctx *ctx;
    const asc_json_tokenizer *tk;
    asc_view text;
    int place;       /* of the text: ASC_TEXT_ALONE, ... */
    bool special;    /* the template's tokens are asked for */
    bool want_names; /* collect the tokens as the file writes them */
    asc_text_token *v;
    size_t n, cap;
    asc_strbuf names;
    /* scratch */
    asc_aligned original, work, all;
    asc_sections raw, list;
    asc_norm_scratch norm;
    asc_split_scratch split;
    asc_word_scratch words;
    asc_word_tokens tokens;
    uint32_t *char_of, *byte_of; /* byte -> character, character -> byte; NULL for ASCII */
    size_t n_chars;
} asc_text_run;

void asc_text_run_init(asc_text_run *r, asc_ctx *ctx, const asc_json_tokenizer *tk);
void asc_text_run_deinit(asc_text_run *r);
/* Fills v with the tokens of a text, without those of the template. */
ASC_MUST_USE asc_status asc_text_run_make(asc_text_run *r, asc_view text, const asc_tokenize_options *o);

/* How a tokenizer works inside (tokenizer.h). */
extern const asc_tokenizer_kind asc_json_kind;
/* The string of an id: an added token's content, else the model's; {NULL, 0} for a hole. */
asc_view asc_json_name(const asc_json_tokenizer *t, int32_t id);

#endif
