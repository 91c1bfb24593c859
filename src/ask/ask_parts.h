/* ask_parts.h - what the ask_*.c files share: the question as it was read, typed looks at its values, and the
 * seam between prompts (ask_prompt*.c) and nets (ask_net*.c). */
#ifndef ASC_ASK_PARTS_H
#define ASC_ASK_PARTS_H

#include "alloc.h"
#include "ascribe/ask.h"
#include "json.h"
#include "view.h"

typedef enum asc_key_id {
#define KEY(id, name, type, subjects, choices, option, doc) ASC_KEY_ID_##id,
#include "question_keys.def"
#undef KEY
    ASC_N_KEYS
} asc_key_id;

enum {
    ASC_ASK_MAX_JSON = 64 << 20, /* bytes of a question */
    ASC_ASK_MAX_DEPTH = 32       /* of lists and objects in it */
};

struct asc_subject {
    asc_ctx *ctx;
    asc_subject_kind kind;
    char *path; /* "" for a caller's net */
    asc_model *model;
    asc_net *net;
    bool owns_net;
    asc_weights_mode weights;
    struct asc_file_stamp *stamps; /* ask_subject.c: the files as they were */
    size_t n_stamps, cap_stamps;
};

/* What ask_net*.c keep of a question: theirs alone. */
typedef struct asc_ask_net asc_ask_net;
typedef struct asc_ask_net_answer asc_ask_net_answer;

struct asc_question {
    asc_ctx *ctx;
    asc_subject *subject; /* NULL: a line of a batch */
    asc_subject_kind kind;
    asc_model *model;
    asc_net *net;
    asc_arena arena;                    /* what was made of the values; freed with the question */
    asc_json *root;                     /* strings are borrowed from it */
    const asc_json *values[ASC_N_KEYS]; /* NULL: not given (or null) */
    const asc_named_array *arrays;
    size_t n_arrays;
    asc_request request;              /* prompts */
    asc_attr_request attr;            /* nets */
    struct asc_prompt_memory *prompt; /* ask_prompt.h */
    asc_ask_net *of_net;              /* ask_net.c */
};

struct asc_answer {
    asc_ctx *ctx;
    asc_subject *subject;
    const asc_question *question;
    asc_result *result;           /* prompts */
    asc_attribution *attribution; /* nets */
    asc_ask_net_answer *of_net;   /* ask_net.c */
};

/* ---- ask_question.c ------------------------------------------------------------------------------------ */

/* A line of a batch: a question about m (NULL: a language model that is not there) whose keys stand over
 * those of base, with one key more, "id", whose value is handed back (NULL = none; lives in the question).
 * *out is made also on failure, so that the id can be read; NULL only without memory. */
ASC_MUST_USE asc_status asc_ask_read_line(asc_ctx *ctx, asc_model *m, asc_view json, const asc_request *base,
                                          asc_question **out, const asc_json **id);

/* ---- ask_keys.c: the table --------------------------------------------------------------------------- */

/* The key of this name that subjects of this kind know; -1 with the error recorded: unknown (with the nearest
 * name), or known to other kinds only. */
int asc_ask_key_find(asc_ctx *ctx, asc_view name, asc_subject_kind kind);
/* The library's hints name options ("--label"); who asks by JSON is told keys. Rewrites the error just
 * recorded. */
void asc_ask_say_keys(asc_ctx *ctx);
unsigned asc_ask_kind_bit(asc_subject_kind kind);

/* ---- ask_fields.c: typed looks at values ------------------------------------------------------------- */

/* All of these leave *out alone and return ASC_OK when the key was not given. Errors: INVALID_ARGUMENT that
 * names the key, what is wanted and what was given; RESOURCE_EXHAUSTED. What needs memory lives as long as
 * the question; texts are borrowed from it. */
static inline bool asc_ask_has(const asc_question *q, asc_key_id id) { return q->values[id] != NULL; }
const char *asc_ask_name(asc_key_id id);
ASC_MUST_USE asc_status asc_ask_text(asc_question *q, asc_key_id id, asc_view *out);
/* NUL-terminated; refuses texts with a NUL inside, and empty ones. */
ASC_MUST_USE asc_status asc_ask_string(asc_question *q, asc_key_id id, const char **out);
ASC_MUST_USE asc_status asc_ask_choice(asc_question *q, asc_key_id id, const char **out);
ASC_MUST_USE asc_status asc_ask_count(asc_question *q, asc_key_id id, size_t *out);   /* from 1 */
ASC_MUST_USE asc_status asc_ask_whole(asc_question *q, asc_key_id id, uint64_t *out); /* from 0 */
ASC_MUST_USE asc_status asc_ask_number(asc_question *q, asc_key_id id, double *out);
/* The same, larger than 0. */
ASC_MUST_USE asc_status asc_ask_positive(asc_question *q, asc_key_id id, double *out);
ASC_MUST_USE asc_status asc_ask_size(asc_question *q, asc_key_id id, size_t *out); /* bytes: 1000 or "512M" */
ASC_MUST_USE asc_status asc_ask_bool(asc_question *q, asc_key_id id, bool *out);
ASC_MUST_USE asc_status asc_ask_ids(asc_question *q, asc_key_id id, const int32_t **out, size_t *n);
ASC_MUST_USE asc_status asc_ask_texts(asc_question *q, asc_key_id id, const asc_view **out, size_t *n);
/* The same as strings; refuses NUL inside. */
ASC_MUST_USE asc_status asc_ask_strings(asc_question *q, asc_key_id id, const char *const **out, size_t *n);
/* Whole numbers: a list, one number, or a string as "3x16x16"; at most `most`. */
ASC_MUST_USE asc_status asc_ask_sizes(asc_question *q, asc_key_id id, int64_t *out, size_t most, size_t *n);
/* Records that the value of a key (or a part v of it) is not what is wanted: `"steps": a whole number from 1
 * on is wanted, "x" was given`. Returns INVALID_ARGUMENT. */
asc_status asc_ask_wrong(asc_question *q, asc_key_id id, const asc_json *v, const char *wanted);
/* Records an error about keys, with the hint where to read more. Returns INVALID_ARGUMENT. */
asc_status asc_ask_refuse(asc_question *q, const char *fmt, ...) ASC_PRINTF(2, 3);
/* INVALID_ARGUMENT unless at most one of these keys is given. */
ASC_MUST_USE asc_status asc_ask_one_of(asc_question *q, const asc_key_id *ids, size_t n, const char *what);
/* The method by its own name; unknown ones are refused with the nearest. *out stays when none is given. */
ASC_MUST_USE asc_status asc_ask_method(asc_question *q, const char **out);
/* Memory of the question: zeroed. NULL with the error recorded. */
void *asc_ask_alloc(asc_question *q, size_t n, size_t size);

/* ---- ask_prompt.c: language models and text encoders -------------------------------------------------- */

/* q->values into q->request. */
ASC_MUST_USE asc_status asc_ask_prompt_parse(asc_question *q);
void asc_ask_prompt_free(asc_question *q);

/* ---- ask_net.c: nets ----------------------------------------------------------------------------------- */

/* q->values and q->arrays into q->attr; what it needs beside goes into q->of_net, which asc_ask_net_free
 * frees (called in any case, also after a failed parse). */
ASC_MUST_USE asc_status asc_ask_net_parse(asc_question *q);
void asc_ask_net_free(asc_question *q);
/* Asks; fills a->attribution (freed by the caller with asc_attribution_destroy) and a->of_net, which
 * asc_ask_net_answer_free frees. */
ASC_MUST_USE asc_status asc_ask_net_run(asc_question *q, asc_answer *a);
void asc_ask_net_answer_free(asc_answer *a);
/* The documents of `ascribe explain MODEL.onnx`; errors stick in out. */
void asc_ask_net_json(asc_answer *a, asc_text *out);
void asc_ask_net_html(asc_answer *a, asc_text *out);
void asc_ask_net_text(asc_answer *a, asc_text *out, const asc_report_style *style);
/* May the question be said by options? A key whose value no option can say (an array from memory) makes it
 * false. Called by asc_question_command after " explain PATH" was written; adds " --NAME VALUE" with
 * asc_ask_add_option. */
bool asc_ask_net_command(const asc_question *q, asc_text *out);

/* ---- ask_command.c ------------------------------------------------------------------------------------- */

/* " --NAME VALUE", quoted for a shell. */
void asc_ask_add_option(asc_text *out, const char *option, asc_view value);
/* Adds the option of a key by its type: texts, choices, numbers, true (false adds nothing), ids, tokens; a
 * list of texts is the option several times. False when the option cannot say the value. */
bool asc_ask_add_plain(const asc_question *q, asc_key_id id, asc_text *out);
bool asc_ask_prompt_command(const asc_question *q, asc_text *out);

#endif
