/* py_net.c - nets whose forward function is Python's, as subjects. */
#include "py_frame.h"

/* What a net in Python stands on. */
typedef struct built {
    pyasc_ctx *x; /* borrowed: the subject keeps it */
    asc_net *net;
    asc_params *params;
    PyObject *forward;
} built;

/* Called with the GIL, inside or outside the context. */
static void built_free(asc_ctx *c, void *p) {
    built *b = p;
    (void)c;
    asc_net_close(b->net);
    asc_params_destroy(b->params);
    Py_XDECREF(b->forward);
    PyMem_Free(b);
}

/* forward(frame, *inputs) -> numbers of the outputs. false with an exception. */
static bool record(const built *b, pyasc_frame *x, asc_tensor *const *in, size_t n_in, asc_tensor **out,
                   size_t n_out) {
    PyObject *args = PyTuple_New((Py_ssize_t)n_in + 1), *result = NULL, *items = NULL;
    bool ok = args != NULL;
    if (ok) {
        Py_INCREF((PyObject *)x);
        ok = PyTuple_SetItem(args, 0, (PyObject *)x) == 0;
    }
    for (size_t i = 0; ok && i < n_in; i++) {
        Py_ssize_t k = pyasc_frame_add(x, in[i]);
        PyObject *number = k >= 0 ? PyLong_FromSsize_t(k) : NULL;
        ok = number != NULL && PyTuple_SetItem(args, (Py_ssize_t)i + 1, number) == 0;
    }
    if (ok) result = PyObject_CallObject(b->forward, args);
    if (result != NULL) items = PySequence_Tuple(result);
    ok = items != NULL;
    if (ok && PyTuple_Size(items) != (Py_ssize_t)n_out) {
        PyErr_Format(PyExc_ValueError, "forward returned %zd values for %zu outputs", PyTuple_Size(items),
                     n_out);
        ok = false;
    }
    for (size_t i = 0; ok && i < n_out; i++) {
        out[i] = pyasc_frame_get(x, PyTuple_GetItem(items, (Py_ssize_t)i));
        ok = out[i] != NULL;
    }
    Py_XDECREF(items);
    Py_XDECREF(result);
    Py_XDECREF(args);
    return ok;
}

static size_t count(const built *b, bool inputs, const asc_net_def *def) {
    if (b->net == NULL) return inputs ? def->n_inputs : def->n_outputs;
    return inputs ? asc_net_n_inputs(b->net) : asc_net_n_outputs(b->net);
}

/* While the net is made its record is not there yet: the definition has the counts. */
typedef struct making {
    built *b;
    const asc_net_def *def;
} making;

static void forward_of(const built *b, const asc_net_def *def, asc_frame *f, asc_tensor *const *in,
                       asc_tensor **out) {
    size_t n_out = count(b, false, def);
    if (b->x->raised) return; /* the outputs stay NULL, which ends the run */
    pyasc_callback_begin(b->x);
    pyasc_frame *x = pyasc_frame_new(b->x->c, f);
    bool ok = x != NULL && record(b, x, in, count(b, true, def), out, n_out);
    pyasc_frame_end(x);
    if (!pyasc_callback_end(b->x, ok)) {
        for (size_t i = 0; i < n_out; i++) out[i] = NULL;
    }
}

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    const making *m = self;
    forward_of(m->b, m->def, f, in, out);
}

/* ---- net_build(context, inputs, outputs, forward, params) -> Subject */

enum { MAX_PORTS = 64 };

/* (name, type, shape, batch) */
static int read_port(PyObject *o, asc_port *p) {
    const char *name, *type;
    PyObject *shape;
    int batch;
    if (!PyArg_ParseTuple(o, "ssOp", &name, &type, &shape, &batch)) return -1;
    Py_ssize_t rank = pyasc_ints(shape, "an input's shape", p->shape.dims, ASC_MAX_RANK);
    if (rank < 0) return -1;
    p->name = name;
    p->shape.rank = (int)rank;
    p->batch = batch != 0;
    for (int e = 0; e < ASC_N_ELEMS; e++) {
        p->elem = (asc_elem)e;
        if (strcmp(asc_elem_name(p->elem), type) == 0) return 0;
    }
    PyErr_Format(PyExc_TypeError, "input '%s': there is no type '%s'", name, type);
    return -1;
}

/* {name: array}, before the context is entered: the arrays are Python's. */
static int add_params(built *b, pyasc_ctx *x, PyObject *dict) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    asc_status st = ASC_OK;
    while (st == ASC_OK && PyDict_Next(dict, &at, &name, &value)) {
        pyasc_in in = {0};
        const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
        if (text == NULL || pyasc_array_in(value, text, &in) != 0) return -1;
        if (pyasc_enter(x, NULL) != 0) {
            pyasc_array_done(&in);
            return -1;
        }
        if (b->params == NULL) st = asc_params_create(x->c, &b->params);
        if (st == ASC_OK) st = asc_params_add(b->params, text, &in.a);
        int bad = pyasc_leave(x, st);
        pyasc_array_done(&in);
        if (bad != 0) return -1;
    }
    return 0;
}

static int create(built *b, pyasc_ctx *x, asc_net_def *def, asc_subject **s) {
    if (pyasc_enter(x, NULL) != 0) return -1;
    asc_status st = asc_net_create(x->c, def, &b->net);
    if (st == ASC_OK) st = asc_subject_of_net(x->c, b->net, s);
    return pyasc_leave(x, st);
}

/* The record that the net's function gets lives behind `built`, in one block. */
typedef struct holder {
    built b;
    making m;
} holder;

PyObject *pyasc_net_build(PyObject *module, PyObject *args) {
    PyObject *ctx, *inputs, *outputs, *fn, *params, *result = NULL;
    asc_port ports[MAX_PORTS] = {{0}};
    const char *names[MAX_PORTS];
    asc_subject *s = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!OO!", pyasc_ctx_type, &ctx, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &outputs, &fn, &PyDict_Type, &params))
        return NULL;
    pyasc_ctx *x = (pyasc_ctx *)ctx;
    Py_ssize_t n_in = PyTuple_Size(inputs), n_out = PyTuple_Size(outputs);
    if (n_in > MAX_PORTS || n_out > MAX_PORTS)
        return PyErr_Format(PyExc_ValueError, "a net has at most %d inputs and outputs", MAX_PORTS);
    for (Py_ssize_t i = 0; i < n_in; i++)
        if (read_port(PyTuple_GetItem(inputs, i), &ports[i]) != 0) return NULL;
    for (Py_ssize_t i = 0; i < n_out; i++) {
        names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(outputs, i), NULL);
        if (names[i] == NULL) return NULL;
    }
    holder *h = PyMem_Calloc(1, sizeof *h);
    if (h == NULL) return PyErr_NoMemory();
    Py_INCREF(fn);
    h->b = (built){.x = x, .forward = fn};
    asc_net_def def = {.struct_size = sizeof def,
                       .inputs = ports,
                       .n_inputs = (size_t)n_in,
                       .outputs = names,
                       .n_outputs = (size_t)n_out,
                       .forward = forward,
                       .self = &h->m};
    h->m = (making){&h->b, &def};
    if (add_params(&h->b, x, params) == 0) {
        def.params = h->b.params;
        if (create(&h->b, x, &def, &s) == 0) {
            h->m.def = NULL; /* def ends here; the net knows its counts by now */
            return pyasc_subject_wrap(x, s, built_free, h);
        }
    }
    pyasc_dispose(x, built_free, h);
    return result;
}
