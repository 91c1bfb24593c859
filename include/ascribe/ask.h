/* ascribe/ask.h - questions as JSON: what programs use that do not fill in structs (server, Python, shell,
 * batches). A model of any kind is opened as a subject; a question is one JSON object; its answer holds the
 * result and writes itself as JSON, page or text.
 *
 * Keys have the command line's option names with _ for -; docs/formats/question.md lists them, and the table
 * is here to read. A key that is unknown, means nothing for this kind of model or has a value of the wrong
 * type is an error that names it, never a silence.
 * Threads: as the context. A subject belongs to the context it was opened in.
 */
#ifndef ASCRIBE_ASK_H
#define ASCRIBE_ASK_H

#include "ascribe/net_report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is asked ------------------------------------------------------------------------------------ */

typedef struct asc_subject asc_subject;

typedef enum asc_subject_kind { ASC_SUBJECT_DECODER, ASC_SUBJECT_ENCODER, ASC_SUBJECT_NET } asc_subject_kind;

/* Opens a GGUF file, a Hugging Face folder (decoder, encoder, image classifier) or an ONNX file, told apart
 * by what they are. opts may be NULL; nets take none. Errors: those of asc_model_open, asc_onnx_open,
 * asc_vision_open. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_subject_open(asc_ctx *ctx, const char *path,
                                                 const asc_model_options *opts, asc_subject **out);
/* A net that the caller made and goes on owning. */
ASC_API ASC_MUST_USE asc_status asc_subject_of_net(asc_ctx *ctx, asc_net *net, asc_subject **out);
ASC_API void asc_subject_close(asc_subject *s); /* NULL is accepted */
ASC_API asc_subject_kind asc_subject_get_kind(const asc_subject *s);
ASC_API const char *asc_subject_path(const asc_subject *s); /* as it was opened; "" for a caller's net */
ASC_API asc_model *asc_subject_model(asc_subject *s);       /* NULL: a net */
ASC_API asc_net *asc_subject_net(asc_subject *s);           /* NULL: a language model or text encoder */
/* Has the file been replaced, changed or cut since it was opened? FAILED_PRECONDITION says what and what to
 * do. A call costs one stat for each of its files. */
ASC_API ASC_MUST_USE asc_status asc_subject_check_file(asc_subject *s);

/* ---- the question ------------------------------------------------------------------------------------- */

/* An array that JSON speaks of as {"array": "name"}: borrowed for the life of the question. */
typedef struct asc_named_array {
    const char *name;
    asc_array array;
    const int64_t *strides; /* bytes from one element to the next along each dimension, of either sign or 0;
                               array.data is the first element. NULL = row-major */
} asc_named_array;

#define ASC_QUESTION_MAX_PIXELS ((int64_t)1 << 26) /* of a picture; the command line reads larger ones */

typedef struct asc_question asc_question;

/* Reads a question about s. JSON is copied. Errors: INVALID_ARGUMENT (JSON with line and column; a key by its
 * name, with the nearest known one), OUT_OF_RANGE, NOT_FOUND ({"array"} of no such name), RESOURCE_EXHAUSTED
 * (over 64 MiB). *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_question_parse(asc_subject *s, asc_view json,
                                                   const asc_named_array *arrays, size_t n_arrays,
                                                   asc_question **out);
ASC_API void asc_question_destroy(asc_question *q); /* NULL is accepted */
/* What was read, complete: prompts (NULL for nets) and nets (NULL for the others). Lives in q. */
ASC_API const asc_request *asc_question_request(const asc_question *q);
ASC_API const asc_attr_request *asc_question_attr_request(const asc_question *q);
/* Pricing only, or not: sets the request's dry_run. */
ASC_API void asc_question_set_dry_run(asc_question *q, bool dry_run);

/* ---- the answer --------------------------------------------------------------------------------------- */

typedef struct asc_answer asc_answer;

/* Asks. Errors: those of asc_explain and asc_attribute. The question stays usable, and is not destroyed
 * before its answer. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_ask(asc_subject *s, asc_question *q, asc_answer **out);
ASC_API void asc_answer_destroy(asc_answer *a);                             /* NULL is accepted */
ASC_API const asc_result *asc_answer_result(const asc_answer *a);           /* NULL: of a net */
ASC_API const asc_attribution *asc_answer_attribution(const asc_answer *a); /* NULL: of a prompt */
/* The document that `ascribe explain --json` writes for the same question; the page; the terminal's text.
 * Appended to out, where errors stick. style NULL: plain, 100 columns. */
ASC_API void asc_answer_json(asc_answer *a, asc_text *out);
ASC_API void asc_answer_html(asc_answer *a, asc_text *out);
ASC_API void asc_answer_text(asc_answer *a, asc_text *out, const asc_report_style *style);
/* The command line that asks the same; false (and nothing appended) where no options say it, such as arrays
 * from memory. */
ASC_API bool asc_question_command(const asc_question *q, asc_text *out);

/* ---- the table of keys -------------------------------------------------------------------------------- */

typedef enum asc_key_type {
    ASC_KEY_TEXT,     /* string */
    ASC_KEY_CHOICE,   /* string, one of `choices` (parts in capitals stand for any text) */
    ASC_KEY_COUNT,    /* whole number >= 1 */
    ASC_KEY_NUMBER,   /* finite number >= 0; also a string "1%" where the command line takes it */
    ASC_KEY_BYTES,    /* whole number >= 1, or a string such as "512M" */
    ASC_KEY_BOOL,     /* true or false */
    ASC_KEY_IDS,      /* list of token ids */
    ASC_KEY_TEXTS,    /* list of strings (one string: a list of one) */
    ASC_KEY_MESSAGES, /* list of {"role", "content"} */
    ASC_KEY_VALUES,   /* object or list of template values (docs/questions.md) */
    ASC_KEY_PASSAGES, /* list of {"text", "label"} or strings */
    ASC_KEY_SIZES,    /* list of whole numbers, or a string as "3x16x16" */
    ASC_KEY_INDEX,    /* number, list of numbers, name of a class, or a list of one of these per example */
    ASC_KEY_ARRAY,    /* nested lists of numbers, one number, {"array": NAME}, {"npy_b64": TEXT} */
    ASC_KEY_ARRAYS,   /* one of these for the first, a list {"arrays": [...]}, an object by port names, or one
                         of the strings in `choices` */
    ASC_KEY_PICTURE,  /* base64 of a PNG or JPEG file (a data: URL is accepted) */
    ASC_KEY_RULES,    /* lrp: a rule's name, or a list of {"rule", "op", "site", "a", "b", ...} */
    ASC_KEY_WHOLE,    /* whole number >= 0 */
    ASC_KEY_TOKENS,   /* list of token ids and tokens' texts (one of them: a list of one) */
    ASC_KEY_BASE64,   /* base64 of any bytes */
    ASC_KEY_JSON      /* a JSON value of the key's own form */
} asc_key_type;

enum { ASC_KEY_PROMPTS = 1, ASC_KEY_ENCODERS = 2, ASC_KEY_NETS = 4 }; /* which subjects know it: bits */

typedef struct asc_question_key {
    const char *name;
    asc_key_type type;
    unsigned subjects;
    const char *choices; /* ASC_KEY_CHOICE: "a|b|c"; arrays: the strings that are taken too; else "" */
    const char *option;  /* of the command line; "" = none says it */
    const char *doc;     /* one line */
} asc_question_key;

ASC_API const asc_question_key *asc_question_key_at(size_t i); /* NULL when i is past the last */
ASC_API const char *asc_key_type_name(asc_key_type t);         /* "text", "choice", ... */
/* Is `value` one of the choices "a|b|token:ID"? A part in capitals stands for any text. */
ASC_API bool asc_choice_fits(const char *choices, const char *value);
/* All of them: docs/formats/question.md, and for a terminal. */
ASC_API void asc_question_markdown(asc_text *out);
ASC_API void asc_question_help(asc_text *out);

#ifdef __cplusplus
}
#endif
#endif
