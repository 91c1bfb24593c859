/* py_run_net.c - running a net: arrays in, outputs or inner values out, inner values replaced. */
#include "pyasc.h"

enum { MAX_VALUES = 4096 };

typedef struct net_run {
    asc_net *net;
    pyasc_in *in; /* inputs, then values of patches */
    asc_array *given, *out;
    asc_value_patch *patches;
    const char **names; /* NULL = every output */
    size_t n_in, n_patches, n_out, n_taken;
} net_run;

static void run_free(net_run *r) {
    for (size_t i = 0; i < r->n_taken; i++) pyasc_array_done(&r->in[i]);
    PyMem_Free(r->in);
    PyMem_Free(r->given);
    PyMem_Free(r->out);
    PyMem_Free(r->patches);
    PyMem_Free(r->names);
}

static int run_take(net_run *r, PyObject *arrays, PyObject *names, PyObject *patches) {
    for (size_t i = 0; i < r->n_in; i++) {
        const char *what = i < asc_net_n_inputs(r->net) ? asc_net_input(r->net, i).name : "input";
        if (pyasc_array_in(PyTuple_GetItem(arrays, (Py_ssize_t)i), what, &r->in[i]) != 0) return -1;
        r->n_taken++;
        r->given[i] = r->in[i].a;
    }
    for (size_t i = 0; i < r->n_patches; i++) {
        PyObject *values;
        if (!PyArg_ParseTuple(PyTuple_GetItem(patches, (Py_ssize_t)i), "sO", &r->patches[i].site, &values))
            return -1;
        if (pyasc_array_in(values, r->patches[i].site, &r->in[r->n_taken]) != 0) return -1;
        r->patches[i].values = r->in[r->n_taken++].a;
    }
    for (size_t i = 0; names != Py_None && i < r->n_out; i++) {
        r->names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, (Py_ssize_t)i), NULL);
        if (r->names[i] == NULL) return -1;
    }
    return 0;
}

/* run_net(arrays, names, patches=()): tuples; names None = every output; a patch is (site, array). */
PyObject *pyasc_subject_run_net(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    pyasc_subject *s = (pyasc_subject *)self;
    PyObject *patches = n == 3 ? args[2] : NULL;
    if (n < 2 || n > 3 || !PyTuple_Check(args[0]) || (args[1] != Py_None && !PyTuple_Check(args[1])) ||
        (patches != NULL && !PyTuple_Check(patches))) {
        PyErr_SetString(PyExc_TypeError,
                        "run_net takes a tuple of arrays, a tuple of names or None, a tuple of patches");
        return NULL;
    }
    if (s->s == NULL || s->closed) { /* says so */
        if (pyasc_subject_enter(s, NULL) == 0) pyasc_leave(s->x, ASC_OK);
        return NULL;
    }
    net_run r = {.net = asc_subject_net(s->s)};
    if (r.net == NULL) return pyasc_error(ASC_FAILED_PRECONDITION, "", "this model is no net");
    r.n_in = (size_t)PyTuple_Size(args[0]);
    r.n_patches = patches != NULL ? (size_t)PyTuple_Size(patches) : 0;
    r.n_out = args[1] != Py_None ? (size_t)PyTuple_Size(args[1]) : asc_net_n_outputs(r.net);
    if (r.n_in > MAX_VALUES || r.n_out > MAX_VALUES || r.n_patches > MAX_VALUES)
        return pyasc_error(ASC_INVALID_ARGUMENT, "", "too many arrays: at most %d", MAX_VALUES);
    r.in = PyMem_Calloc(r.n_in + r.n_patches + 1, sizeof *r.in);
    r.given = PyMem_Calloc(r.n_in + 1, sizeof *r.given);
    r.out = PyMem_Calloc(r.n_out + 1, sizeof *r.out);
    r.patches = PyMem_Calloc(r.n_patches + 1, sizeof *r.patches);
    r.names = PyMem_Calloc(r.n_out + 1, sizeof *r.names);
    PyObject *list = NULL;
    if (r.in == NULL || r.given == NULL || r.out == NULL || r.patches == NULL || r.names == NULL) {
        PyErr_NoMemory();
    } else if (run_take(&r, args[0], args[1], patches) == 0 && pyasc_subject_enter(s, NULL) == 0) {
        asc_status st = asc_net_run_patched(r.net, r.given, r.n_in, r.patches, r.n_patches,
                                            args[1] != Py_None ? r.names : NULL, r.n_out, r.out);
        bool good = pyasc_leave(s->x, st) == 0;
        list = pyasc_array_list(s->x, r.out, st == ASC_OK ? r.n_out : 0, good);
    }
    run_free(&r);
    return list;
}
