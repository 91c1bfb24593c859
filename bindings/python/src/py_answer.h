/* py_answer.h - what py_ask.c and py_answer.c share. */
#ifndef PY_ANSWER_H
#define PY_ANSWER_H

#include "pyasc.h"

typedef struct pyasc_answer {
    PyObject_HEAD pyasc_subject *subject; /* NULL until it was asked */
    asc_question *q;
    asc_answer *a;
    pyasc_in *in; /* arrays that the question borrows */
    size_t n_in;
    asc_named_array *names;
    PyObject *kept; /* tuple of their names */
} pyasc_answer;

PyObject *pyasc_answer_facts(PyObject *self, PyObject *unused);
PyObject *pyasc_answer_array(PyObject *self, PyObject *name);
PyObject *pyasc_answer_features(PyObject *self, PyObject *unused);
PyObject *pyasc_answer_scores(PyObject *self, PyObject *unused);

#endif
