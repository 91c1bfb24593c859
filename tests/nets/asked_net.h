/* asked_net.h - a request on a net said as a question (ascribe/ask.h): the JSON and the arrays that mean the
 * same, so that tests hold both ways against each other. */
#ifndef ASC_ASKED_NET_H
#define ASC_ASKED_NET_H

#include "ascribe/ask.h"

/* How arrays are written. */
typedef enum asked_form {
    ASKED_LISTS,   /* nested lists */
    ASKED_MEMORY,  /* {"array": ...} */
    ASKED_STRIDED, /* the same, every dimension backwards and with gaps */
    ASKED_NPY,     /* {"npy_b64": ...} */
    ASKED_N_FORMS
} asked_form;

typedef struct asked_net asked_net;

/* Writes the question; NULL when something in the request has no key (the message on stderr) or memory ends.
 */
asked_net *asked_make(asc_net *net, const asc_attr_request *q, asked_form form);
void asked_free(asked_net *a); /* NULL is accepted */
asc_view asked_json(const asked_net *a);
/* Reads it and asks it (once). */
ASC_MUST_USE asc_status asked_ask(asked_net *a);
/* NULL before asked_ask. */
const asc_attribution *asked_result(const asked_net *a);

/* The first difference of two results, bit by bit, in words; NULL: none. */
const char *asked_difference(const asc_attribution *a, const asc_attribution *b, char out[200]);

#endif
