/* py_run_net.c - running a net: arrays in, outputs or inner values out. */
#include "pyasc.h"

enum { MAX_VALUES = 4096 };

/* run_net(arrays, names): tuples; names None = every output. */
PyObject *pyasc_subject_run_net(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    pyasc_subject *s = (pyasc_subject *)self;
    if (n != 2 || !PyTuple_Check(args[0]) || (args[1] != Py_None && !PyTuple_Check(args[1]))) {
        PyErr_SetString(PyExc_TypeError, "run_net takes a tuple of arrays and a tuple of names or None");
        return NULL;
    }
    asc_net *net = s->s != NULL ? asc_subject_net(s->s) : NULL;
    if (s->s != NULL && net == NULL) return pyasc_error(ASC_FAILED_PRECONDITION, "", "this model is no net");
    size_t n_in = (size_t)PyTuple_Size(args[0]), n_done = 0;
    size_t n_out = args[1] != Py_None ? (size_t)PyTuple_Size(args[1])
                   : net != NULL      ? asc_net_n_outputs(net)
                                      : 0;
    if (n_in > MAX_VALUES || n_out > MAX_VALUES)
        return pyasc_error(ASC_INVALID_ARGUMENT, "", "too many arrays: at most %d", MAX_VALUES);
    pyasc_in *in = PyMem_Calloc(n_in + 1, sizeof *in);
    asc_array *given = PyMem_Calloc(n_in + 1, sizeof *given), *out = PyMem_Calloc(n_out + 1, sizeof *out);
    const char **names = PyMem_Calloc(n_out + 1, sizeof *names);
    PyObject *list = NULL;
    if (in == NULL || given == NULL || out == NULL || names == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (; n_done < n_in; n_done++) {
        PyObject *a = PyTuple_GetItem(args[0], (Py_ssize_t)n_done);
        if (pyasc_array_in(
                a, net != NULL && n_done < asc_net_n_inputs(net) ? asc_net_input(net, n_done).name : "input",
                &in[n_done]) != 0)
            goto done;
        given[n_done] = in[n_done].a;
    }
    for (size_t i = 0; args[1] != Py_None && i < n_out; i++) {
        names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args[1], (Py_ssize_t)i), NULL);
        if (names[i] == NULL) goto done;
    }
    if (pyasc_subject_enter(s, NULL) != 0) goto done;
    asc_status st = asc_net_run(net, given, n_in, args[1] != Py_None ? names : NULL, n_out, out);
    if (pyasc_leave(s->x, st) == 0) {
        list = PyList_New(0);
        for (size_t i = 0; i < n_out; i++) { /* each is taken, also after a failure */
            PyObject *a = pyasc_array_take(s->x, &out[i]);
            if (a == NULL || (list != NULL && PyList_Append(list, a) != 0)) Py_CLEAR(list);
            Py_XDECREF(a);
        }
    }
done:
    for (size_t i = 0; in != NULL && i < n_done; i++) pyasc_array_done(&in[i]);
    PyMem_Free(in);
    PyMem_Free(given);
    PyMem_Free(out);
    PyMem_Free(names);
    return list;
}
