/* model.h - what a model is inside the library; see ascribe/model.h. */
#ifndef ASC_MODEL_H
#define ASC_MODEL_H

#include "ascribe/model.h"
#include "decoder.h"
#include "rates.h"

/* What runs: every place that needs one of them asks for the kind first. */
typedef enum asc_model_kind {
    ASC_MODEL_DECODER, /* causal language model: m->decoder */
    ASC_MODEL_ENCODER  /* text encoder with a head: m->encoder */
} asc_model_kind;

struct asc_encoder; /* encoder.h */

struct asc_model {
    asc_ctx *ctx;
    asc_model_kind kind;
    asc_weights *weights;
    uint64_t shuffle_seed;       /* 0 = the weights as they are */
    const asc_gguf *file;        /* weights->gguf; NULL for a folder */
    asc_decoder decoder;         /* decoders */
    struct asc_lora_set *lora;   /* adapters; NULL = none */
    struct asc_encoder *encoder; /* encoders, otherwise NULL; owned */
    asc_tokenizer *tokenizer;
    asc_model_info info;
    asc_view chat_template; /* {NULL, 0} = none; lies in the file, or in owned_template */
    char *owned_template;
    struct asc_kept_prompt *kept; /* the last prompt's keys (kept_prompt.h); NULL = none */
    struct asc_kept_text *text;   /* the last text compared with (kept_text.h); NULL = none */
    asc_rates rates;              /* of dry runs */
    char *path, *name;
    char sha256[65]; /* "" until asked for */
};

/* INVALID_ARGUMENT / OUT_OF_RANGE unless 1 <= n <= context and every id is in the vocabulary. `what` names
 * the ids. */
ASC_MUST_USE asc_status asc_model_check_ids(asc_model *m, const int32_t *ids, size_t n, const char *what);
/* When a result is not finite: the reason (weights named), or NUMERIC trouble said plainly. */
asc_status asc_model_explain_nan(asc_model *m, const char *what);

/* After asc_chat_render failed with st on the model's own template: adds the file, and a remedy if none is
 * known. Returns st. */
asc_status asc_model_template_failed(const asc_model *m, asc_status st);

/* Rows of the embedding table for i32 ids [N..]: [N..,D]. Of a table that is narrower than the model
 * (ELECTRA, ALBERT) zeros follow, which nothing reads. */
asc_tensor *asc_model_rows(const asc_model *m, asc_tensor *ids);
/* The same of ids in memory, b rows of t: [b,t,D]. */
asc_tensor *asc_model_embed(asc_model *m, const int32_t *ids, int64_t b, int64_t t);
/* FAILED_PRECONDITION with "it cannot WHAT" for encoders. */
asc_status asc_model_needs_decoder(const asc_model *m, const char *what);
/* FAILED_PRECONDITION for language models. */
asc_status asc_model_needs_encoder(const asc_model *m);
/* UNIMPLEMENTED when adapters are asked for on an encoder. */
ASC_MUST_USE asc_status asc_encoder_no_adapters(const asc_model *m, size_t n_adapters);
/* Token types of an encoder: OUT_OF_RANGE names the place; NULL is accepted. */
ASC_MUST_USE asc_status asc_model_check_types(asc_model *m, const int32_t *types, size_t n);
/* A class by name, whatever its case, or number; NOT_FOUND lists the names. */
ASC_MUST_USE asc_status asc_model_find_class(const asc_model *m, asc_view name, int32_t *out);
asc_status asc_model_need_classes(const asc_model *m);
/* Scores [n_at,C] of a head that speaks of tokens, at n_at of the n tokens. */
ASC_MUST_USE asc_status asc_model_score_tokens(asc_model *m, const int32_t *ids, const int32_t *types,
                                               size_t n, const int32_t *at, size_t n_at, float *out);
/* A text, or two, as an encoder reads it, with its special tokens. */
typedef struct asc_encoder_text {
    asc_token *tokens; /* byte ranges tile each text; those of special tokens are empty */
    int32_t *types;
    bool *special; /* put there by the tokenizer's template */
    size_t n;
} asc_encoder_text;
/* second.ptr NULL = one text; byte ranges of the second are moved by shift. End it with
 * asc_encoder_text_free. Errors: those of asc_encode (FAILED_PRECONDITION without a tokenizer). */
ASC_MUST_USE asc_status asc_encoder_tokens(asc_model *m, asc_view text, asc_view second, size_t shift,
                                           asc_encoder_text *out);
void asc_encoder_text_free(asc_ctx *ctx, asc_encoder_text *t);
void asc_encoder_special_tokens(asc_model *m); /* ids of [CLS] and the like, from the tokenizer */
void asc_model_encoder_info(asc_model *m);     /* fills m->info of an encoder */
/* Later tokens do not change earlier ones, so what prompts begin with can be run once. */
bool asc_model_shares_prefixes(const asc_model *m);

/* Columns of a site; 0: it is not there (neurons of a mixture of experts). */
int64_t asc_model_site_width(const asc_model *m, asc_decoder_site site, int64_t layer);
/* What stands in the place of inner values (asc_model_hold, site_edits.h); NULL = nothing. */
struct asc_site_edits *asc_model_edits(const asc_model *m);

/* "blocks.3.mlp.out" -> site and layer; false when there is no such site. */
bool asc_model_find_site(const asc_model *m, asc_view name, asc_decoder_site *site, int64_t *layer);

#endif
