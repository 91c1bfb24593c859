/* py_dataset.c - attribution over a data set that Python reads batch by batch (ascribe/dataset.h). The
 * caller's functions may be absent; batches and outputs are handed on as arrays and memoryviews that are good
 * during a call. */
#include "ascribe/dataset.h"
#include "py_frame.h"
#include "py_request.h"

enum { MOST = 32 };

typedef struct walk {
    pyasc_ctx *x;
    PyObject *batch, *reduce, *metric; /* NULL = none */
    PyObject *held;                    /* what the arrays of the batch stand on */
    pyasc_in in[MOST];
    size_t n, n_metrics;
} walk;

static void drop(walk *w) {
    for (size_t i = 0; i < w->n; i++) pyasc_array_done(&w->in[i]);
    w->n = 0;
    Py_CLEAR(w->held);
}

/* batch(i) -> tuple of arrays, or None behind the last. */
static asc_status next_batch(void *self, size_t i, asc_array *batch, bool *end) {
    walk *w = self;
    if (w->x->raised) return ASC_CANCELLED;
    pyasc_callback_begin(w->x);
    drop(w);
    w->held = PyObject_CallFunction(w->batch, "n", (Py_ssize_t)i);
    *end = w->held == Py_None;
    Py_ssize_t n = w->held != NULL && !*end ? PyTuple_Size(w->held) : 0;
    for (Py_ssize_t k = 0; k < n && k < MOST && PyErr_Occurred() == NULL; k++) {
        memset(&w->in[k], 0, sizeof w->in[k]);
        if (pyasc_array_in(PyTuple_GetItem(w->held, k), "a batch", &w->in[k]) != 0) break;
        w->n = (size_t)k + 1;
        batch[k] = w->in[k].a;
    }
    return pyasc_callback_end(w->x, w->held != NULL) ? ASC_OK : ASC_CANCELLED;
}

static PyObject *view(const void *p, size_t bytes, bool writable) {
    if (p == NULL || bytes == 0) Py_RETURN_NONE;
    return PyMemoryView_FromMemory((char *)(uintptr_t)p, (Py_ssize_t)bytes,
                                   writable ? PyBUF_WRITE : PyBUF_READ);
}

/* (type, shape, bytes) of an array. */
static PyObject *array_tuple(const asc_array *a) {
    PyObject *shape = PyTuple_New(a->shape.rank);
    for (int d = 0; shape != NULL && d < a->shape.rank; d++) {
        PyObject *size = PyLong_FromLongLong(a->shape.dims[d]);
        if (size == NULL || PyTuple_SetItem(shape, d, size) != 0) {
            Py_DECREF(shape);
            return NULL;
        }
    }
    int64_t n = asc_array_count(a);
    return shape != NULL ? Py_BuildValue("(sNN)", asc_elem_name(a->elem), shape,
                                         view(a->data, (size_t)n * asc_elem_bytes(a->elem), false))
                         : NULL;
}

/* reduce(slot, batch number, output, values as perturbed) */
static asc_status reduce(void *self, size_t slot, size_t number, const asc_array *output,
                         const asc_array *batch) {
    walk *w = self;
    if (w->x->raised) return ASC_CANCELLED;
    pyasc_callback_begin(w->x);
    PyObject *values = PyTuple_New((Py_ssize_t)w->n), *r = NULL;
    for (size_t i = 0; values != NULL && i < w->n; i++) {
        PyObject *one = array_tuple(&batch[i]);
        if (one == NULL || PyTuple_SetItem(values, (Py_ssize_t)i, one) != 0) Py_CLEAR(values);
    }
    if (values != NULL)
        r = PyObject_CallFunction(w->reduce, "nnNO", (Py_ssize_t)slot, (Py_ssize_t)number,
                                  array_tuple(output), values);
    bool ok = r != NULL;
    Py_XDECREF(r);
    Py_XDECREF(values);
    return pyasc_callback_end(w->x, ok) ? ASC_OK : ASC_CANCELLED;
}

/* metric(slot, collected outputs or None, room for the numbers) */
static asc_status metric(void *self, size_t slot, const double *outputs, size_t n_outputs, double *out) {
    walk *w = self;
    if (w->x->raised) return ASC_CANCELLED;
    pyasc_callback_begin(w->x);
    PyObject *r = PyObject_CallFunction(w->metric, "nNN", (Py_ssize_t)slot,
                                        view(outputs, n_outputs * sizeof *outputs, false),
                                        view(out, w->n_metrics * sizeof *out, true));
    bool ok = r != NULL;
    Py_XDECREF(r);
    return pyasc_callback_end(w->x, ok) ? ASC_OK : ASC_CANCELLED;
}

static void free_result(asc_ctx *c, void *p) { asc_attribution_destroy(c, p); }

static PyObject *callable(PyObject *d, const char *name) {
    PyObject *v = PyDict_GetItemString(d, name);
    return v == Py_None ? NULL : v;
}

/* net_dataset(subject, {"baselines", "masks"}, {"roles": numbers, "batch", "reduce", "metric", "n_metrics",
 * "per_walk"}, progress) -> dict */
PyObject *pyasc_net_dataset(PyObject *module, PyObject *args) {
    pyasc_net_call c;
    asc_status st;
    PyObject *out = NULL;
    pyasc_request r = {.n_arrays = 0};
    asc_attribution *a = NULL;
    int64_t roles[MOST];
    asc_role role[MOST];
    (void)module;
    if (pyasc_net_call_read(args, &c) != 0) return NULL;
    PyObject *d = c.more;
    walk w = {.x = c.s->x, .batch = callable(d, "batch"), .reduce = callable(d, "reduce")};
    w.metric = callable(d, "metric");
    PyObject *list = callable(d, "roles"), *n_metrics = callable(d, "n_metrics"),
             *per = callable(d, "per_walk");
    Py_ssize_t n = list != NULL ? pyasc_ints(list, "roles", roles, MOST) : -1;
    if (n_metrics != NULL) w.n_metrics = PyLong_AsSize_t(n_metrics);
    size_t per_walk = per != NULL && PyErr_Occurred() == NULL ? PyLong_AsSize_t(per) : 0;
    if ((n < 1 || w.batch == NULL) && PyErr_Occurred() == NULL)
        PyErr_SetString(PyExc_ValueError, "roles and batch are needed");
    for (Py_ssize_t i = 0; i < n; i++)
        role[i] = roles[i] == 1 ? ASC_ROLE_FORWARD : roles[i] == 2 ? ASC_ROLE_LABEL : ASC_ROLE_ATTRIBUTE;
    if (PyErr_Occurred() == NULL && pyasc_request_read(c.request, &r) == 0 &&
        pyasc_net_call_enter(&c, &st) == 0) {
        asc_dataset data = {.struct_size = sizeof data,
                            .self = &w,
                            .n_values = (size_t)n,
                            .roles = role,
                            .batch = next_batch};
        asc_dataset_request q = {.struct_size = sizeof q,
                                 .baselines = r.q.baselines,
                                 .n_baselines = r.q.n_baselines,
                                 .masks = r.q.masks,
                                 .n_masks = r.q.n_masks,
                                 .per_walk = per_walk,
                                 .self = &w,
                                 .reduce = w.reduce != NULL ? reduce : NULL,
                                 .metric = w.metric != NULL ? metric : NULL,
                                 .n_metrics = w.n_metrics};
        if (st == ASC_OK) st = asc_dataset_attribute(c.net, &data, &q, &a);
        if (pyasc_net_call_leave(&c, st) == 0) out = pyasc_attribution_dict(a);
        pyasc_dispose(c.s->x, free_result, a);
    }
    drop(&w);
    pyasc_request_done(&r);
    return out;
}
