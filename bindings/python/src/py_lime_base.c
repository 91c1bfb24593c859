/* py_lime_base.c - Lime with perturbations, similarity and surrogate of Python's own (ascribe/lime.h).
 * Callbacks get memoryviews of float64 that are good during the call only; ascribe.captum copies what it
 * hands on. */
#include "ascribe/lime.h"
#include "py_frame.h"
#include "py_request.h"

enum { MOST = 64 };

typedef struct calls {
    pyasc_ctx *x;
    PyObject *perturb, *from_features, *to_features, *similarity, *fit;
    size_t n_inputs, size[MOST]; /* elements of an example of each attributed input */
    size_t n_features, n_coef;
} calls;

static PyObject *view(const double *v, size_t n, bool writable) {
    if (v == NULL) Py_RETURN_NONE;
    return PyMemoryView_FromMemory((char *)(uintptr_t)v, (Py_ssize_t)(n * sizeof *v),
                                   writable ? PyBUF_WRITE : PyBUF_READ);
}

static PyObject *views(const calls *k, const double *const *v, bool writable) {
    if (v == NULL) Py_RETURN_NONE;
    PyObject *t = PyTuple_New((Py_ssize_t)k->n_inputs);
    for (size_t i = 0; t != NULL && i < k->n_inputs; i++) {
        PyObject *one = view(v[i], k->size[i], writable);
        if (one == NULL || PyTuple_SetItem(t, (Py_ssize_t)i, one) != 0) {
            Py_DECREF(t);
            return NULL;
        }
    }
    return t;
}

/* Calls fn with the arguments, which are consumed. false: it raised, or returned False. *value gets a number.
 */
static bool call(calls *k, PyObject *fn, PyObject *take_args, double *value) {
    PyObject *r = take_args != NULL ? PyObject_CallObject(fn, take_args) : NULL;
    bool ok = r != NULL && r != Py_False;
    if (ok && value != NULL) *value = PyFloat_AsDouble(r);
    Py_XDECREF(r);
    Py_XDECREF(take_args);
    return pyasc_callback_end(k->x, ok);
}

static bool perturb(void *self, size_t example, size_t sample, asc_lime_inputs x, double *z,
                    double *const *perturbed) {
    calls *k = self;
    if (k->x->raised) return false;
    pyasc_callback_begin(k->x);
    return call(k, k->perturb,
                Py_BuildValue("(nnNNN)", (Py_ssize_t)example, (Py_ssize_t)sample, views(k, x, false),
                              view(z, k->n_features, true), views(k, (const double *const *)perturbed, true)),
                NULL);
}

static void from_features(void *self, const double *z, asc_lime_inputs x, double *const *perturbed) {
    calls *k = self;
    if (k->x->raised) return;
    pyasc_callback_begin(k->x);
    (void)call(k, k->from_features,
               Py_BuildValue("(NNN)", view(z, k->n_features, false), views(k, x, false),
                             views(k, (const double *const *)perturbed, true)),
               NULL);
}

static void to_features(void *self, asc_lime_inputs perturbed, asc_lime_inputs x, double *z) {
    calls *k = self;
    if (k->x->raised) return;
    pyasc_callback_begin(k->x);
    (void)call(
        k, k->to_features,
        Py_BuildValue("(NNN)", views(k, perturbed, false), views(k, x, false), view(z, k->n_features, true)),
        NULL);
}

static double similarity(void *self, asc_lime_inputs x, asc_lime_inputs perturbed, const double *z) {
    calls *k = self;
    double v = 1.0;
    if (k->x->raised) return v;
    pyasc_callback_begin(k->x);
    (void)call(
        k, k->similarity,
        Py_BuildValue("(NNN)", views(k, x, false), views(k, perturbed, false), view(z, k->n_features, false)),
        &v);
    return v;
}

static bool fit(void *self, const double *z, const double *y, const double *w, size_t n, double *coef) {
    calls *k = self;
    size_t n_coef = k->n_coef > 0 ? k->n_coef : k->n_features;
    if (k->x->raised) return false;
    pyasc_callback_begin(k->x);
    return call(k, k->fit,
                Py_BuildValue("(NNNN)", view(z, n * k->n_features, false), view(y, n, false),
                              view(w, n, false), view(coef, n_coef, true)),
                NULL);
}

static void free_result(asc_ctx *c, void *p) { asc_attribution_destroy(c, p); }

/* net_lime_base(subject, request, {"n_features", "n_coef", "in_features", "sizes", "perturb",
 * "from_features", "to_features", "similarity", "fit"}, progress) -> dict */
PyObject *pyasc_net_lime_base(PyObject *module, PyObject *args) {
    pyasc_net_call c;
    asc_status st;
    PyObject *out = NULL;
    pyasc_request r = {.n_arrays = 0};
    asc_attribution *a = NULL;
    (void)module;
    if (pyasc_net_call_read(args, &c) != 0) return NULL;
    PyObject *d = c.more;
    PyObject *fn[5];
    static const char *const names[] = {"perturb", "from_features", "to_features", "similarity", "fit"};
    for (size_t i = 0; i < 5; i++) {
        fn[i] = PyDict_GetItemString(d, names[i]);
        if (fn[i] == Py_None) fn[i] = NULL;
    }
    calls k = {c.s->x, fn[0], fn[1], fn[2], fn[3], fn[4], .n_inputs = 0};
    PyObject *n = PyDict_GetItemString(d, "n_features"), *coef = PyDict_GetItemString(d, "n_coef"),
             *in = PyDict_GetItemString(d, "in_features"), *sizes = PyDict_GetItemString(d, "sizes");
    if (n != NULL) k.n_features = PyLong_AsSize_t(n);
    if (coef != NULL && coef != Py_None) k.n_coef = PyLong_AsSize_t(coef);
    int64_t v[MOST];
    Py_ssize_t m = sizes != NULL && PyErr_Occurred() == NULL ? pyasc_ints(sizes, "sizes", v, MOST) : -1;
    for (Py_ssize_t i = 0; i < m; i++) k.size[i] = (size_t)v[i];
    k.n_inputs = m > 0 ? (size_t)m : 0;
    asc_lime_def def = {.struct_size = sizeof def,
                        .self = &k,
                        .n_features = k.n_features,
                        .n_coef = k.n_coef,
                        .in_features = in != NULL && PyObject_IsTrue(in) > 0,
                        .perturb = k.perturb != NULL ? perturb : NULL,
                        .from_features = k.from_features != NULL ? from_features : NULL,
                        .to_features = k.to_features != NULL ? to_features : NULL,
                        .similarity = k.similarity != NULL ? similarity : NULL,
                        .fit = k.fit != NULL ? fit : NULL};
    if (m < 0 && PyErr_Occurred() == NULL) PyErr_SetString(PyExc_ValueError, "sizes are missing");
    if (PyErr_Occurred() == NULL && pyasc_request_read(c.request, &r) == 0 &&
        pyasc_net_call_enter(&c, &st) == 0) {
        if (st == ASC_OK) st = asc_lime_base(c.net, &r.q, &def, &a);
        if (pyasc_net_call_leave(&c, st) == 0) out = pyasc_attribution_dict(a);
        pyasc_dispose(c.s->x, free_result, a);
    }
    pyasc_request_done(&r);
    return out;
}
