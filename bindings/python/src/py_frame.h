/* py_frame.h - nets written in Python: one run that is being recorded, and the ops that Python may call in
 * it.
 *
 * Python holds tensors as numbers into the frame's table, so that nothing of the library dangles when a run
 * is over: a frame that has ended refuses every call.
 */
#ifndef PY_FRAME_H
#define PY_FRAME_H

#include "pyasc.h"

#include "ascribe/ops.h"

/* _ascribe.Frame: lives as long as Python holds it, works only while the run is recorded. */
typedef struct pyasc_frame {
    PyObject_HEAD asc_ctx *c; /* NULL: the run is over */
    asc_frame *f;             /* NULL: no net, so no weights, layers and names (py_hold.c) */
    asc_tensor **ts;
    size_t n, cap;
} pyasc_frame;

extern PyTypeObject *pyasc_frame_type;
extern PyType_Spec pyasc_frame_spec;

/* A frame for one run; f may be NULL. NULL with an exception. */
pyasc_frame *pyasc_frame_new(asc_ctx *c, asc_frame *f);
/* The run is over. NULL is accepted. */
void pyasc_frame_end(pyasc_frame *take_x);
/* Number of t in the table; -1 with an exception (a poisoned tensor: the library's error). */
Py_ssize_t pyasc_frame_add(pyasc_frame *x, asc_tensor *t);
/* The tensor that a Python number stands for. NULL with an exception. */
asc_tensor *pyasc_frame_get(pyasc_frame *x, PyObject *number);

/* Whole numbers of a tuple or list (one number: a list of one), at most `most`. Their count, or -1 with an
 * exception that says `what`. */
Py_ssize_t pyasc_ints(PyObject *o, const char *what, int64_t *out, Py_ssize_t most);

/* Op number `op` of ascribe/ops.def with Python's arguments args[first..]. NULL with an exception. */
asc_tensor *pyasc_op_call(pyasc_frame *x, Py_ssize_t op, PyObject *args, Py_ssize_t first);
/* Names of the ops with the kinds of their arguments ("tt"; "" = not for Python), in the order of the table.
 */
PyObject *pyasc_op_table(PyObject *module, PyObject *unused);

/* ---- module functions, each in a file of its own ---- */
PyObject *pyasc_net_build(PyObject *module, PyObject *args);
PyObject *pyasc_net_attribute(PyObject *module, PyObject *args);
PyObject *pyasc_net_infidelity(PyObject *module, PyObject *args);
PyObject *pyasc_net_sensitivity(PyObject *module, PyObject *args);
PyObject *pyasc_net_attack(PyObject *module, PyObject *args);
PyObject *pyasc_net_lime_base(PyObject *module, PyObject *args);
PyObject *pyasc_net_dataset(PyObject *module, PyObject *args);
PyObject *pyasc_captum_names(PyObject *module, PyObject *unused);

#endif
