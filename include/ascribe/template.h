/* ascribe/template.h - a prompt written as a template with placeholders: its text, and where the values lie
 * in it as slots of a request (ascribe/attr.h).
 *
 * Placeholders as Python's format strings have them: {} is the next value, {0} the first, {name} the value of
 * that name; {{ and }} are braces. Conversions and formats ({a!r}, {a:>8}) and fields of values ({a.b},
 * {a[0]}) are refused.
 */
#ifndef ASCRIBE_TEMPLATE_H
#define ASCRIBE_TEMPLATE_H

#include "ascribe/attr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What goes into a placeholder. Zero-initialised fields are absent. */
typedef struct asc_template_value {
    asc_view name; /* {NULL,0}: by place */
    asc_view text;
    const asc_view *baselines; /* as asc_prompt_slot's */
    size_t n_baselines;
    int32_t group; /* values of one group (0 and up) are one feature; -1 = its own */
} asc_template_value;

/* A filled template. Owned by the caller: asc_template_free. */
typedef struct asc_template {
    char *text; /* NUL-terminated */
    size_t len;
    asc_prompt_slot *slots; /* one for each placeholder, in order; labels are the values' names; a value that
                               is used twice is one feature. They borrow baselines from the values */
    size_t n_slots;
} asc_template;

/* Fills a template. Errors: INVALID_ARGUMENT naming the place of an unclosed, unknown or odd placeholder, of
 * a value that no placeholder takes, or of an empty value; *out is all zero then. */
ASC_API ASC_MUST_USE asc_status asc_template_fill(asc_ctx *ctx, asc_view text,
                                                  const asc_template_value *values, size_t n,
                                                  asc_template *out);
ASC_API void asc_template_free(asc_ctx *ctx, asc_template *t);

/* Values read from JSON; they borrow from `memory`. */
typedef struct asc_template_values {
    asc_template_value *v;
    size_t n;
    void *memory;
} asc_template_values;

/* Accepts a list (values by place) or an object (by name). A value is a string, or {"value", "baseline": a
 * string or a list of them, "group": a number from 0 on}. Errors: INVALID_ARGUMENT naming value and key. *out
 * is empty then. */
ASC_API ASC_MUST_USE asc_status asc_template_values_parse(asc_ctx *ctx, asc_view json,
                                                          asc_template_values *out);
ASC_API void asc_template_values_free(asc_ctx *ctx, asc_template_values *v);

/* A document from one line of JSON: a string, or {"text", "label"} ("title" and "id" will do for the label).
 * They borrow from `memory`; label {NULL,0} = none. Errors: INVALID_ARGUMENT naming the key. */
typedef struct asc_document {
    asc_view text, label;
    void *memory;
} asc_document;
ASC_API ASC_MUST_USE asc_status asc_document_parse(asc_ctx *ctx, asc_view json, asc_document *out);
ASC_API void asc_document_free(asc_ctx *ctx, asc_document *d);

/* ---- prompts put together ---- */

/* A passage that the answer may rest on. */
typedef struct asc_passage {
    asc_view text;  /* line breaks at its end do not count */
    asc_view label; /* name in reports; {NULL,0} = "passage N", from 1 */
} asc_passage;

/* What a prompt is made of. Zero-initialise, set struct_size; views with ptr NULL are absent. Exactly one of
 * prompt, template_text and passages. All borrowed, and used only during the call. */
typedef struct asc_prompt_parts {
    size_t struct_size;
    asc_view prompt;
    asc_view template_text;
    const asc_template_value *values; /* of the template; names and baselines are borrowed for longer */
    size_t n_values;
    const asc_passage *passages; /* joined by empty lines */
    size_t n_passages;
    bool plain; /* passages are no features by themselves: the request's features look inside them */
    /* Put behind the prompt with an empty line between. A model with a chat template gets one user message of
     * the two; one without gets "Question: ... Answer:". */
    asc_view question;
    asc_view system;        /* a message before it; needs a chat template */
    const asc_view *freeze; /* every place of the prompt that reads so is no feature and stays */
    size_t n_freeze;
} asc_prompt_parts;

typedef struct asc_joined_prompt asc_joined_prompt;

/* Puts it together and points req at it: prompt or messages, slots and features = slot where there are some,
 * frozen; all else of req stays. What req then borrows lives in *out, until asc_joined_prompt_free; names and
 * baselines of values stay the caller's. A template without placeholders has no slots. Errors: NOT_FOUND
 * ("freeze: ..." that reads as nothing does), FAILED_PRECONDITION ("system ..." without a chat template),
 * those of asc_template_fill, RESOURCE_EXHAUSTED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_prompt_join(asc_model *m, const asc_prompt_parts *parts, asc_request *req,
                                                asc_joined_prompt **out);
ASC_API void asc_joined_prompt_free(asc_joined_prompt *p); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
