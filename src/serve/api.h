/* api.h - what the routes of the JSON API share: tables of the fields of their bodies, one reader for all of
 * them, facts about the model, and JSON that goes out. Handlers check and price in the HTTP library's
 * threads; what they submit runs in the worker. */
#ifndef ASC_SERVE_API_H
#define ASC_SERVE_API_H

#include "serve.h"
#include <jansson.h>

/* ---- api_tables.c: which fields a body has --------------------------------------------------------------
 */

typedef enum api_type {
    API_TEXT,
    API_WHOLE,     /* whole number, least to most */
    API_ANY_WHOLE, /* whole number of 64 bits with a sign */
    API_NUMBER,    /* finite, least to most */
    API_BOOL,
    API_CHOICE,
    API_TOOL_CHOICE,     /* a choice; says why a call cannot be forced */
    API_RESPONSE_FORMAT, /* {type: text} */
    API_MODEL,           /* id of the model */
    API_TEXTS,           /* string, or least to most of them */
    API_IDS,             /* list of token ids */
    API_PROMPT,          /* string, list of one string, list of ids, list of one such list */
    API_INPUTS,          /* string, list of strings, list of ids, list of such lists */
    API_MESSAGES,        /* list of {role, content, name, tool_calls, tool_call_id} */
    API_TOOLS,           /* list of {type, function} */
    API_BIAS,            /* object: id to number, least to most */
    API_STREAM_OPTIONS,  /* object: include_usage */
    API_ATTRIBUTION,     /* object: keys of a question */
    API_UNUSED           /* anything */
} api_type;

typedef struct api_field {
    const char *name;
    api_type type;
    double least, most;
    const char *choices; /* "a|b" */
    bool required;
    const char *doc; /* one line */
} api_field;

typedef enum api_which {
    API_CHAT,
    API_COMPLETION,
    API_EMBEDDINGS,
    API_TOKENIZE,
    API_EXPLAIN,
    API_N_BODIES
} api_which;

typedef struct api_table {
    const char *name, *method, *path; /* "ChatRequest", of which route it is the body */
    const api_field *fields;
    size_t n;
    bool question; /* keys of a question as well (include/ascribe/ask.h) */
} api_table;
extern const api_table api_tables[API_N_BODIES];

/* ---- api_body.c: reading a body by its table ------------------------------------------------------------
 */

typedef struct api_body {
    const api_table *table;
    json_t *root;
} api_body;

enum { API_MAX_DEPTH = 64, API_MAX_BIAS = 1024 };

/* One JSON object whose fields the table knows, of the types and within the bounds it gives; null is as good
 * as a field that is not there, unless it is required. False: *fault has 400, with the field in `param`. End
 * with api_body_free in any case. */
bool api_body_read(api_which which, asc_view text, api_body *out, serve_fault *fault);
void api_body_free(api_body *b);
json_t *api_get(const api_body *b, const char *name); /* NULL: not given */
double api_number(const api_body *b, const char *name, double absent);
int64_t api_whole(const api_body *b, const char *name, int64_t absent);
bool api_flag(const api_body *b, const char *name, bool absent);
asc_view api_text(const api_body *b, const char *name); /* {NULL, 0}: not given */
/* Lists and objects in each other deeper than API_MAX_DEPTH. */
bool api_too_deep(asc_view json);
/* A value as JSON text, ended by free; NULL without memory. */
char *api_dump(const json_t *v);
/* A list of whole numbers as ids; made with malloc, NULL without memory. What is too large for an id is -1.
 */
int32_t *api_ids(const json_t *list, size_t *out_n);
/* 400 with this param. Always false. */
bool api_bad(serve_fault *f, const char *code, const char *param, const char *hint, const char *fmt, ...)
    ASC_PRINTF(5, 6);
bool api_no_memory(serve_fault *f);

/* ---- api_tools.c: tools in conversations ----------------------------------------------------------------
 */

/* Is each a tool that chat templates describe? Else 400 with its place in `param`. */
bool api_check_tools(const json_t *list, serve_fault *f);
/* What is wrong with a message's tool_calls and tool_call_id; NULL: nothing. */
const char *api_calls_wrong(const json_t *message);
/* Puts the body's messages as templates read them, for the prompt and for the attribution's question: keys
 * that are null left out, arguments of calls as objects. */
bool api_plain_messages(api_body *b, serve_fault *fault);
/* The tools that go into the prompt, borrowed; NULL: none, also with "tool_choice": "none". */
json_t *api_tools(const api_body *b);

/* ---- api_model.c: the model that is served ---------------------------------------------------------------
 */

enum { API_ID_BYTES = 65 };
/* Its id: the file's name without its ending, in a-z, 0-9 and -. */
void api_model_id(const server *s, char out[API_ID_BYTES]);
/* Is the body's `model` absent or this id? Else 404 in *fault. */
bool api_check_model(const server *s, const api_body *b, serve_fault *fault);

/* Is it a model that generates? An encoder, with its embeddings? A model with a tokenizer? Else 400 in
 * *fault. */
bool api_need_decoder(const serve_bench *b, serve_fault *fault);
bool api_need_encoder(const serve_bench *b, serve_fault *fault);
bool api_need_tokens(const serve_bench *b, serve_fault *fault);

/* ---- api_out.c: JSON that goes out ----------------------------------------------------------------------
 */

/* Appends a finished JSON document in one line, as an event's data wants it. */
void api_compact(asc_text *to, asc_view json);
/* Appends `object` with `"key": document` as one more key at its end. */
void api_graft(asc_text *to, asc_view object, const char *key, asc_view document);
/* A token's text; bytes that are no UTF-8 by themselves as "bytes:\xe2\x82". */
void api_token_text(asc_text *out, const asc_tokenizer *tk, int32_t id);
bool api_is_utf8(asc_view v);
size_t api_n_characters(asc_view v); /* of UTF-8 */
/* Sends what t holds as the whole reply of a job. */
asc_status api_send(job *j, asc_text *t, const char *content_type);
void api_reply(exchange *x, asc_text *t); /* 200 and JSON, or the text's error */
/* The end of a handler: submits `self` when `ok`, else answers with *fault and destroys it (NULL: there is
 * none). */
void api_submit(exchange *x, bool ok, const job_kind *kind, void *self, const job_price *price,
                const serve_fault *fault);

/* ---- api_schema.c, api_openapi.c ------------------------------------------------------------------------
 */

/* What the schemas need to know of the model. */
typedef struct api_facts {
    const char *model_id;
    asc_subject_kind kind;
    int64_t n_vocab; /* 0: a net */
    bool needs_token;
} api_facts;

/* Schemas of the bodies' fields and of the replies, into an open "schemas" object. */
void api_schema_bodies(asc_text *t, const api_facts *facts);
void api_schema_replies(asc_text *t);
/* The whole document of /openapi.json. */
void api_openapi(asc_text *t, const api_facts *facts);
/* Is it a key that the request or its answer gives, with no place in "attribution"? */
bool api_is_given(const char *key);

#endif
