/* ask_net_parts.h - what the ask_net*.c files share: what a question about a net keeps beside its request,
 * and arrays out of JSON. */
#ifndef ASC_ASK_NET_PARTS_H
#define ASC_ASK_NET_PARTS_H

#include "ascribe/inputs.h"
#include "ascribe/net_defaults.h"
#include "ask_parts.h"
#include "net.h"

/* An array that a reader made, in the question's list. */
typedef struct asc_ask_owned {
    asc_array a;
    struct asc_ask_owned *next;
} asc_ask_owned;

struct asc_ask_net {
    asc_array *inputs, *baselines; /* [n_inputs] */
    const asc_json **given_by;     /* [n_inputs]: the value that gave the input; NULL = none yet */
    size_t n_examples;             /* what a target per example counts */
    asc_image picture;             /* the one that scores belong to; rgb NULL = none */
    asc_image_prep prep;
    size_t picture_input;
    asc_view bytes; /* the file whose bytes the first input holds; ptr NULL = none */
    const int64_t *offsets;
    size_t n_offsets;
    asc_table table;
    const char *const *labels, *const *names;
    size_t n_labels, n_names;
    asc_net_look look;                  /* n_top 0: not looked yet, or nothing to see */
    bool looked, sum_rows, said_target; /* said_target: the question names the explained number */
    asc_ask_owned *owned;
};

/* ---- ask_net_array.c ---------------------------------------------------------------------------------- */

/* Where a value stands, for messages: "input", "input.x". */
typedef struct asc_ask_place {
    asc_key_id key;
    const char *part; /* a port or site; NULL = the value of the key itself */
} asc_ask_place;

typedef enum asc_ask_want {
    ASC_ASK_FLOATS, /* lists become float64 */
    ASC_ASK_WHOLES, /* lists become int64; others are refused */
    ASC_ASK_EITHER  /* int64 where all numbers are whole */
} asc_ask_want;

/* Is it one of the forms of a single array? */
bool asc_ask_is_array(const asc_json *j);
/* Nested lists, one number, {"array": NAME} or {"npy_b64": TEXT}. What is read lives as long as the question;
 * row-major arrays from memory are borrowed. Errors: INVALID_ARGUMENT (another thing, ragged lists, with the
 * place), NOT_FOUND (NAME), DATA_LOSS and UNIMPLEMENTED (.npy), RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_ask_array(asc_question *q, asc_ask_place at, const asc_json *j, asc_ask_want want,
                                      asc_array *out);
/* Elements as doubles, in memory of the question; NULL with the error recorded. */
const double *asc_ask_doubles(asc_question *q, const asc_array *a);
/* Bytes of base64, white space and a data: URL's head passed over, in memory of the question. */
ASC_MUST_USE asc_status asc_ask_base64(asc_question *q, asc_ask_place at, asc_view text, asc_view *out);
/* A value of ARRAYS: out[i] receives what is meant for names[i], NULL where nothing is. One that names
 * nothing goes to `first`. INVALID_ARGUMENT: an unknown name, more in a list than there are. */
ASC_MUST_USE asc_status asc_ask_spread(asc_question *q, asc_key_id id, const char *const *names, size_t n,
                                       const char *what, size_t first, const asc_json **out);
/* INVALID_ARGUMENT: `wanted` was wanted at this place. */
asc_status asc_ask_array_wrong(asc_question *q, asc_ask_place at, const asc_json *j, const char *wanted);
/* Memory that asc_ask_net_free gives back (asc_array_free): fill *out at once. NULL with the error recorded.
 */
asc_array *asc_ask_own(asc_question *q);

/* ---- the parts of a question, in the order in which they are read -------------------------------------- */

ASC_MUST_USE asc_status asc_ask_net_inputs(asc_question *q);  /* ask_net_input.c: inputs, labels, names */
ASC_MUST_USE asc_status asc_ask_net_picture(asc_question *q); /* ask_net_picture.c: image and its keys */
ASC_MUST_USE asc_status asc_ask_net_options(asc_question *q); /* ask_net_options.c: plain options, sites */
ASC_MUST_USE asc_status asc_ask_net_target(asc_question *q);  /* ask_net_target.c: target to neuron */
/* Runs the net once on the question's inputs, unless that was done: q->of_net->look. */
ASC_MUST_USE asc_status asc_ask_net_look(asc_question *q);
ASC_MUST_USE asc_status asc_ask_net_method(asc_question *q); /* ask_net_method.c: baselines, masks, windows,
                                                                rules */

#endif
