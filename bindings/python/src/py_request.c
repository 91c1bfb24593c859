/* py_request.c - see py_request.h. One table has every field that is a plain value. */
#include "py_request.h"
#include <stddef.h>

void *pyasc_request_block(pyasc_request *r, size_t n, size_t size) {
    if (r->n_blocks == r->cap_blocks) {
        size_t cap = r->cap_blocks + 16;
        void **blocks = PyMem_Realloc(r->blocks, cap * sizeof(void *));
        if (blocks == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        r->blocks = blocks;
        r->cap_blocks = cap;
    }
    void *p = PyMem_Calloc(n > 0 ? n : 1, size);
    if (p == NULL)
        PyErr_NoMemory();
    else
        r->blocks[r->n_blocks++] = p;
    return p;
}

void pyasc_request_done(pyasc_request *r) {
    for (size_t i = 0; i < r->n_arrays; i++) pyasc_array_done(&r->arrays[i]);
    for (size_t i = 0; i < r->n_blocks; i++) PyMem_Free(r->blocks[i]);
    PyMem_Free(r->arrays);
    PyMem_Free(r->blocks);
    *r = (pyasc_request){.n_arrays = 0};
}

static int add_array(pyasc_request *r, PyObject *o, const char *what, asc_array *out) {
    if (r->n_arrays == r->cap_arrays) {
        size_t cap = r->cap_arrays + 16;
        pyasc_in *arrays = PyMem_Realloc(r->arrays, cap * sizeof *arrays);
        if (arrays == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        r->arrays = arrays;
        r->cap_arrays = cap;
    }
    pyasc_in *in = &r->arrays[r->n_arrays];
    memset(in, 0, sizeof *in);
    if (pyasc_array_in(o, what, in) != 0) return -1;
    r->n_arrays++;
    *out = in->a;
    return 0;
}

/* Items of a list or tuple as a new tuple; NULL with an exception. */
static PyObject *items(PyObject *o, const char *what) {
    PyObject *t = PySequence_Tuple(o);
    if (t == NULL && PyErr_ExceptionMatches(PyExc_TypeError) != 0)
        PyErr_Format(PyExc_TypeError, "%s: a list is wanted", what);
    return t;
}

Py_ssize_t pyasc_request_arrays(pyasc_request *r, PyObject *list, const char *what, asc_array **out) {
    PyObject *t = items(list, what);
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    asc_array *a = n >= 0 ? pyasc_request_block(r, (size_t)n, sizeof *a) : NULL;
    if (a == NULL) n = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(t, i);
        if (o != Py_None && add_array(r, o, what, &a[i]) != 0) n = -1;
    }
    Py_XDECREF(t);
    *out = a;
    return n;
}

/* Whole numbers of a list of any length. */
static Py_ssize_t whole(pyasc_request *r, PyObject *list, const char *what, const int64_t **out) {
    PyObject *t = items(list, what);
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    int64_t *v = n >= 0 ? pyasc_request_block(r, (size_t)n, sizeof *v) : NULL;
    if (v == NULL) n = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        v[i] = PyLong_AsLongLong(PyTuple_GetItem(t, i));
        if (PyErr_Occurred() != NULL) n = -1;
    }
    Py_XDECREF(t);
    *out = v;
    return n;
}

static Py_ssize_t reals(pyasc_request *r, PyObject *list, const char *what, const double **out) {
    PyObject *t = items(list, what);
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    double *v = n >= 0 ? pyasc_request_block(r, (size_t)n, sizeof *v) : NULL;
    if (v == NULL) n = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        v[i] = PyFloat_AsDouble(PyTuple_GetItem(t, i));
        if (PyErr_Occurred() != NULL) n = -1;
    }
    Py_XDECREF(t);
    *out = v;
    return n;
}

static int text(PyObject *o, const char *what, const char **out) {
    *out = PyUnicode_Check(o) != 0 ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
    if (*out == NULL && PyErr_Occurred() == NULL) PyErr_Format(PyExc_TypeError, "%s: a text is wanted", what);
    return *out != NULL ? 0 : -1;
}

/* ---- the plain fields ---- */

enum field_kind { TEXT, SIZE, REAL, TRUTH };

static const struct field {
    const char *name;
    enum field_kind kind;
    size_t at;
} fields[] = {
#define F(name, kind)                                                                                        \
    { #name, kind, offsetof(asc_attr_request, name) }
    F(method, TEXT),
    F(rule, TEXT),
    F(base, TEXT),
    F(noise, TEXT),
    F(norm, TEXT),
    F(resize, TEXT),
    F(distance, TEXT),
    F(surrogate, TEXT),
    F(fallback, TEXT),
    F(steps, SIZE),
    F(max_evaluations, SIZE),
    F(samples, SIZE),
    F(rows_per_pass, SIZE),
    F(memory_bytes, SIZE),
    F(tolerance, REAL),
    F(kernel_width, REAL),
    F(penalty, REAL),
    F(epsilon, REAL),
    F(radius, REAL),
    F(step_size, REAL),
    F(no_batch, TRUTH),
    F(no_multiply, TRUTH),
    F(draw_baselines, TRUTH),
    F(relu, TRUTH),
    F(keep_channels, TRUTH),
    F(targeted, TRUTH),
    F(compat_captum, TRUTH),
    F(dry_run, TRUTH),
#undef F
};

static int read_field(const struct field *f, PyObject *v, asc_attr_request *q) {
    char *at = (char *)q + f->at;
    switch (f->kind) {
    case TEXT: {
        const char *t;
        if (text(v, f->name, &t) != 0) return -1;
        memcpy(at, &t, sizeof t);
        return 0;
    }
    case SIZE: {
        size_t n = PyLong_AsSize_t(v);
        if (n == (size_t)-1 && PyErr_Occurred() != NULL) return -1;
        memcpy(at, &n, sizeof n);
        return 0;
    }
    case REAL: {
        double d = PyFloat_AsDouble(v);
        if (d == -1.0 && PyErr_Occurred() != NULL) return -1;
        memcpy(at, &d, sizeof d);
        return 0;
    }
    default: {
        int truth = PyObject_IsTrue(v);
        bool b = truth > 0;
        memcpy(at, &b, sizeof b);
        return truth < 0 ? -1 : 0;
    }
    }
}

/* ---- targets, rules and lists ---- */

/* {"value", "index": [rows of numbers], "rank", "versus", "weights": array [rows, numbers], "transform"} */
static int read_target(pyasc_request *r, PyObject *d, const char *what, asc_target *t) {
    static const char *const transforms[] = {"none", "softmax", "log-softmax", "log"};
    PyObject *v;
    if (PyDict_Check(d) == 0) {
        PyErr_Format(PyExc_TypeError, "%s: a dictionary is wanted", what);
        return -1;
    }
    v = PyDict_GetItemString(d, "value");
    if (v != NULL && v != Py_None && text(v, "target value", &t->value) != 0) return -1;
    v = PyDict_GetItemString(d, "rank");
    if (v != NULL) t->rank = (int)PyLong_AsLong(v);
    v = PyDict_GetItemString(d, "index");
    if (v != NULL && v != Py_None && PyErr_Occurred() == NULL) {
        Py_ssize_t n = whole(r, v, "target index", &t->index);
        if (n < 0 || t->rank < 1 || n % t->rank != 0) {
            if (PyErr_Occurred() == NULL)
                PyErr_SetString(PyExc_ValueError, "target: index and rank disagree");
            return -1;
        }
        t->n_rows = (size_t)(n / t->rank);
    }
    v = PyDict_GetItemString(d, "versus");
    if (v != NULL && v != Py_None && PyErr_Occurred() == NULL) {
        Py_ssize_t n = whole(r, v, "target versus", &t->versus);
        if (n >= 0 && (size_t)n != t->n_rows * (size_t)t->rank)
            PyErr_SetString(PyExc_ValueError, "target: index and versus have different lengths");
    }
    v = PyDict_GetItemString(d, "weights");
    if (v != NULL && v != Py_None && PyErr_Occurred() == NULL) {
        asc_array a;
        if (add_array(r, v, "target weights", &a) != 0) return -1;
        if (a.elem != ASC_ELEM_F64 || a.shape.rank != 2 || (uintptr_t)a.data % _Alignof(double) != 0) {
            PyErr_SetString(PyExc_TypeError, "target weights: float64 [rows, numbers] is wanted");
            return -1;
        }
        t->weights = a.data;
        t->weight_rows = (size_t)a.shape.dims[0];
    }
    v = PyDict_GetItemString(d, "transform");
    if (v != NULL && v != Py_None && PyErr_Occurred() == NULL) {
        const char *name;
        int k = 0;
        if (text(v, "target transform", &name) != 0) return -1;
        while (k < 4 && strcmp(transforms[k], name) != 0) k++;
        if (k == 4) PyErr_Format(PyExc_ValueError, "target: there is no transform '%s'", name);
        t->transform = k < 4 ? (asc_transform)k : ASC_TRANSFORM_NONE;
    }
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* [(site or None, op or None, rule, a, b, no_bias, first_layer, last_layer)] */
static int read_rules(pyasc_request *r, PyObject *list) {
    PyObject *t = items(list, "rules");
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    asc_rule_choice *c = n >= 0 ? pyasc_request_block(r, (size_t)n, sizeof *c) : NULL;
    int bad = c == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; bad == 0 && i < n; i++) {
        int no_bias;
        bad = PyArg_ParseTuple(PyTuple_GetItem(t, i), "zzsddpii", &c[i].site, &c[i].op, &c[i].rule, &c[i].a,
                               &c[i].b, &no_bias, &c[i].first_layer, &c[i].last_layer) != 0
                  ? 0
                  : -1;
        c[i].no_bias = bad == 0 && no_bias != 0;
    }
    r->q.rules = c;
    r->q.n_rules = bad == 0 ? (size_t)n : 0;
    Py_XDECREF(t);
    return bad;
}

static int read_names(pyasc_request *r, PyObject *list) {
    PyObject *t = items(list, "at");
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    const char **names = n >= 0 ? pyasc_request_block(r, (size_t)n, sizeof *names) : NULL;
    int bad = names == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; bad == 0 && i < n; i++) bad = text(PyTuple_GetItem(t, i), "at", &names[i]);
    r->q.at = names;
    r->q.n_at = bad == 0 ? (size_t)n : 0;
    Py_XDECREF(t); /* the list keeps the texts */
    return bad;
}

static int read_truths(pyasc_request *r, PyObject *list, const bool **out) {
    const int64_t *v;
    Py_ssize_t n = whole(r, list, "fixed", &v);
    bool *b = n >= 0 ? pyasc_request_block(r, (size_t)n, sizeof *b) : NULL;
    for (Py_ssize_t i = 0; b != NULL && i < n; i++) b[i] = v[i] != 0;
    *out = b;
    return b != NULL ? 0 : -1;
}

static int arrays(pyasc_request *r, PyObject *v, const char *name, const asc_array **out, size_t *n) {
    asc_array *a;
    Py_ssize_t got = pyasc_request_arrays(r, v, name, &a);
    *out = a;
    *n = got > 0 ? (size_t)got : 0;
    return got < 0 ? -1 : 0;
}

static int read_list(pyasc_request *r, const char *name, PyObject *v) {
    asc_attr_request *q = &r->q;
    Py_ssize_t n = -2;
    if (strcmp(name, "inputs") == 0) return arrays(r, v, name, &q->inputs, &q->n_inputs);
    if (strcmp(name, "baselines") == 0) return arrays(r, v, name, &q->baselines, &q->n_baselines);
    if (strcmp(name, "at_baselines") == 0) return arrays(r, v, name, &q->at_baselines, &q->n_at_baselines);
    if (strcmp(name, "masks") == 0) return arrays(r, v, name, &q->masks, &q->n_masks);
    if (strcmp(name, "step_masks") == 0) {
        const asc_array *a;
        int bad = arrays(r, v, name, &a, &r->n_masks);
        r->masks = (asc_array *)(uintptr_t)a;
        return bad;
    }
    if (strcmp(name, "target") == 0) return read_target(r, v, name, &q->target);
    if (strcmp(name, "neuron") == 0) return read_target(r, v, name, &q->neuron);
    if (strcmp(name, "rules") == 0) return read_rules(r, v);
    if (strcmp(name, "at") == 0) return read_names(r, v);
    if (strcmp(name, "fixed") == 0) return read_truths(r, v, &q->fixed);
    if (strcmp(name, "seed") == 0) {
        q->seed = PyLong_AsUnsignedLongLong(v);
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    if (strcmp(name, "stdevs") == 0) {
        n = reals(r, v, name, &q->stdevs);
        q->n_stdevs = n > 0 ? (size_t)n : 0;
    } else if (strcmp(name, "bounds") == 0) {
        n = reals(r, v, name, &q->bounds);
        if (n >= 0 && n != 2) n = -2;
    } else if (strcmp(name, "window") == 0) {
        n = whole(r, v, name, &q->window);
        q->n_window = n > 0 ? (size_t)n : 0;
    } else if (strcmp(name, "stride") == 0) {
        n = whole(r, v, name, &q->stride);
    }
    if (n == -2 && PyErr_Occurred() == NULL)
        PyErr_Format(PyExc_TypeError, "a request has no field '%s' of this kind", name);
    return n < 0 ? -1 : 0;
}

int pyasc_request_read(PyObject *dict, pyasc_request *out) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *out = (pyasc_request){.q = {.struct_size = sizeof out->q}};
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name;
        size_t i = 0;
        if (text(key, "a field's name", &name) != 0) return -1;
        if (value == Py_None) continue;
        while (i < sizeof fields / sizeof *fields && strcmp(fields[i].name, name) != 0) i++;
        if (i < sizeof fields / sizeof *fields ? read_field(&fields[i], value, &out->q) != 0
                                               : read_list(out, name, value) != 0)
            return -1;
    }
    if (out->q.stride != NULL && out->q.window == NULL) {
        PyErr_SetString(PyExc_ValueError, "stride without window");
        return -1;
    }
    return 0;
}
