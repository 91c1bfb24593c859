/* py_request.h - a request about a net (ascribe/attribute.h) from a dictionary with the names of its fields.
 */
#ifndef PY_REQUEST_H
#define PY_REQUEST_H

#include "pyasc.h"

/* A request and all that it borrows. Zero-initialise. */
typedef struct pyasc_request {
    asc_attr_request q;
    asc_array *masks; /* "step_masks": of an attack; not part of the request */
    size_t n_masks;
    pyasc_in *arrays;
    size_t n_arrays, cap_arrays;
    void **blocks;
    size_t n_blocks, cap_blocks;
} pyasc_request;

/* Reads dict; a key that no field has is an error. Strings are lent by dict, which outlives the request. 0,
 * or -1 with an exception; pyasc_request_done in both cases. Call with the GIL. */
int pyasc_request_read(PyObject *dict, pyasc_request *out);
void pyasc_request_done(pyasc_request *r);
/* Zeroed memory that ends with r; NULL with an exception. */
void *pyasc_request_block(pyasc_request *r, size_t n, size_t size);
/* Arrays of a list; an entry None has data NULL. Their count, -1 with an exception. */
Py_ssize_t pyasc_request_arrays(pyasc_request *r, PyObject *list, const char *what, asc_array **out);

/* A result as a dictionary. NULL with an exception. Scores are bytearrays of float64. */
PyObject *pyasc_attribution_dict(const asc_attribution *a);
/* A list of scores: [(name, shape, data, error or None)]. */
PyObject *pyasc_scores_list(const asc_scores *s, size_t n);
PyObject *pyasc_doubles(const double *v, size_t n); /* NULL v: None */
/* The open net of a subject; NULL with an exception. */
asc_net *pyasc_net_of(PyObject *subject);

/* The arguments of functions of a net: (subject, request, options[, progress]). All borrowed from args. */
typedef struct pyasc_net_call {
    pyasc_subject *s;
    asc_net *net;
    PyObject *request, *more, *progress; /* two dictionaries; NULL: no progress */
    pyasc_hold *hold;                    /* between enter and leave */
} pyasc_net_call;

/* 0, or -1 with an exception. */
int pyasc_net_call_read(PyObject *args, pyasc_net_call *out);
/* pyasc_subject_enter with what stands in the place of the net's inner values (Net.patch); *st: whether it
 * could be put there. 0, then call pyasc_net_call_leave; or -1 with an exception. */
int pyasc_net_call_enter(pyasc_net_call *c, asc_status *st);
/* As pyasc_leave. */
int pyasc_net_call_leave(pyasc_net_call *c, asc_status st);

#endif
