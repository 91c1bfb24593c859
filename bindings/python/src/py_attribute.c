/* py_attribute.c - attribution of nets for Python: a request as a dictionary in, a result as a dictionary
 * out. Arrays of numbers come out as bytearrays, which numpy.frombuffer reads without a copy. */
#include "py_frame.h"
#include "py_request.h"

PyObject *pyasc_doubles(const double *v, size_t n) {
    if (v == NULL) Py_RETURN_NONE;
    return PyByteArray_FromStringAndSize((const char *)v, (Py_ssize_t)(n * sizeof *v));
}

static PyObject *shape_tuple(const asc_shape *s) {
    PyObject *t = PyTuple_New(s->rank);
    for (int i = 0; t != NULL && i < s->rank; i++) {
        PyObject *d = PyLong_FromLongLong(s->dims[i]);
        if (d == NULL || PyTuple_SetItem(t, i, d) != 0) {
            Py_DECREF(t);
            return NULL;
        }
    }
    return t;
}

PyObject *pyasc_scores_list(const asc_scores *s, size_t n) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < n; i++) {
        size_t count = 1;
        for (int k = 0; k < s[i].shape.rank; k++) count *= (size_t)s[i].shape.dims[k];
        PyObject *shape = shape_tuple(&s[i].shape), *data = pyasc_doubles(s[i].data, count),
                 *error = pyasc_doubles(s[i].error, count), *one = NULL;
        if (shape != NULL && data != NULL && error != NULL)
            one = Py_BuildValue("(sOOO)", s[i].name, shape, data, error);
        Py_XDECREF(shape);
        Py_XDECREF(data);
        Py_XDECREF(error);
        if (one == NULL || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *notes_list(const asc_attribution *a) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < a->n_notes; i++) {
        PyObject *one = PyUnicode_DecodeUTF8(a->notes[i], (Py_ssize_t)strlen(a->notes[i]), "replace");
        if (one == NULL || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyObject *pyasc_attribution_dict(const asc_attribution *a) {
    PyObject *scores = pyasc_scores_list(a->scores, a->n_scores), *notes = notes_list(a),
             *value = pyasc_doubles(a->value, a->n_examples * a->n_outputs),
             *base = pyasc_doubles(a->baseline_value, a->n_examples * a->n_outputs),
             *delta = pyasc_doubles(a->delta, a->n_delta), *d = NULL;
    if (scores != NULL && notes != NULL && value != NULL && base != NULL && delta != NULL)
        d = Py_BuildValue("{s:s,s:s,s:O,s:O,s:O,s:O,s:O,s:n,s:n,s:O,s:O,s:O,s:d,s:K,s:K,s:d,s:n}", "method",
                          a->method, "options", a->options, "scores", scores, "notes", notes, "value", value,
                          "baseline_value", base, "delta", delta, "n_examples", (Py_ssize_t)a->n_examples,
                          "n_outputs", (Py_ssize_t)a->n_outputs, "complete", a->complete ? Py_True : Py_False,
                          "stochastic", a->stochastic ? Py_True : Py_False, "converged",
                          a->converged ? Py_True : Py_False, "error_bound", a->error_bound, "n_forward",
                          (unsigned long long)a->n_forward, "n_backward", (unsigned long long)a->n_backward,
                          "seconds", a->seconds, "rows_per_pass", (Py_ssize_t)a->rows_per_pass);
    Py_XDECREF(scores);
    Py_XDECREF(notes);
    Py_XDECREF(value);
    Py_XDECREF(base);
    Py_XDECREF(delta);
    return d;
}

asc_net *pyasc_net_of(PyObject *subject) {
    if (PyObject_TypeCheck(subject, pyasc_subject_type) == 0) {
        PyErr_SetString(PyExc_TypeError, "not a subject of this library");
        return NULL;
    }
    pyasc_subject *s = (pyasc_subject *)subject;
    asc_net *net = s->s != NULL && !s->closed ? asc_subject_net(s->s) : NULL;
    if (net == NULL)
        pyasc_error(ASC_FAILED_PRECONDITION, "give an ONNX model or a net built here",
                    s->s == NULL || s->closed ? "the net was closed" : "this model is not a net");
    return net;
}

int pyasc_net_call_read(PyObject *args, pyasc_net_call *out) {
    PyObject *subject;
    *out = (pyasc_net_call){.progress = NULL};
    if (!PyArg_ParseTuple(args, "OO!O!|O", &subject, &PyDict_Type, &out->request, &PyDict_Type, &out->more,
                          &out->progress))
        return -1;
    out->net = pyasc_net_of(subject);
    out->s = (pyasc_subject *)subject;
    return out->net != NULL ? 0 : -1;
}

int pyasc_net_call_enter(pyasc_net_call *c, asc_status *st) {
    if (pyasc_hold_in(c->s, c->s->held != NULL ? c->s->held : Py_None, &c->hold) != 0) return -1;
    if (pyasc_subject_enter(c->s, c->progress) == 0) {
        *st = pyasc_hold_begin(c->hold);
        return 0;
    }
    pyasc_hold_free(c->hold);
    c->hold = NULL;
    return -1;
}

int pyasc_net_call_leave(pyasc_net_call *c, asc_status st) {
    pyasc_hold_end(c->hold);
    const int bad = pyasc_leave(c->s->x, st);
    pyasc_hold_free(c->hold);
    c->hold = NULL;
    return bad;
}

static void free_result(asc_ctx *c, void *p) { asc_attribution_destroy(c, p); }

/* net_attribute(subject, request, progress) -> dict */
PyObject *pyasc_net_attribute(PyObject *module, PyObject *args) {
    PyObject *subject, *out = NULL;
    pyasc_net_call c = {.progress = NULL};
    pyasc_request r = {.n_arrays = 0};
    asc_attribution *a = NULL;
    asc_status st;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!O", &subject, &PyDict_Type, &c.request, &c.progress)) return NULL;
    c.net = pyasc_net_of(subject);
    if (c.net == NULL) return NULL;
    c.s = (pyasc_subject *)subject;
    if (pyasc_request_read(c.request, &r) == 0 && pyasc_net_call_enter(&c, &st) == 0) {
        if (st == ASC_OK) st = asc_attribute(c.net, &r.q, &a);
        if (pyasc_net_call_leave(&c, st) == 0) out = pyasc_attribution_dict(a);
        pyasc_dispose(c.s->x, free_result, a);
    }
    pyasc_request_done(&r);
    return out;
}

/* ---- captum_names() -> [(class, method, at, neuron)] */

PyObject *pyasc_captum_names(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && asc_captum_name_at(i) != NULL; i++) {
        const asc_captum_name *n = asc_captum_name_at(i);
        PyObject *one = Py_BuildValue("(ssss)", n->captum, n->method, n->at, n->neuron);
        if (one == NULL || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}
