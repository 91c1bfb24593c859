/* py_frame.c - _ascribe.Frame: ops, layers, sites and weights of one run. See py_frame.h. */
#include "py_frame.h"

PyTypeObject *pyasc_frame_type;

pyasc_frame *pyasc_frame_new(asc_ctx *c, asc_frame *f) {
    pyasc_frame *x = (pyasc_frame *)pyasc_object_new(pyasc_frame_type);
    if (x != NULL) {
        x->c = c;
        x->f = f;
    }
    return x;
}

void pyasc_frame_end(pyasc_frame *take_x) {
    if (take_x == NULL) return;
    take_x->c = NULL;
    take_x->f = NULL;
    Py_DECREF(take_x);
}

Py_ssize_t pyasc_frame_add(pyasc_frame *x, asc_tensor *t) {
    if (t == NULL) return -1;
    if (asc_tensor_poisoned(t)) {
        asc_ctx *c = x->c;
        pyasc_error_of(c, asc_error_code(c) != ASC_OK ? asc_error_code(c) : ASC_INTERNAL);
        return -1;
    }
    if (x->n == x->cap) {
        size_t cap = x->cap > 0 ? 2 * x->cap : 64;
        asc_tensor **ts = PyMem_Realloc(x->ts, cap * sizeof(asc_tensor *));
        if (ts == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        x->ts = ts;
        x->cap = cap;
    }
    x->ts[x->n] = t;
    return (Py_ssize_t)x->n++;
}

asc_tensor *pyasc_frame_get(pyasc_frame *x, PyObject *number) {
    Py_ssize_t i = PyLong_AsSsize_t(number);
    if (i == -1 && PyErr_Occurred() != NULL) return NULL;
    if (i < 0 || (size_t)i >= x->n) {
        PyErr_Format(PyExc_IndexError, "no tensor %zd in this run", i);
        return NULL;
    }
    return x->ts[i];
}

Py_ssize_t pyasc_ints(PyObject *o, const char *what, int64_t *out, Py_ssize_t most) {
    if (PyLong_Check(o)) {
        out[0] = PyLong_AsLongLong(o);
        return PyErr_Occurred() != NULL ? -1 : 1;
    }
    PyObject *t = PySequence_Tuple(o);
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    if (n > most) {
        PyErr_Format(PyExc_ValueError, "%s: %zd numbers, at most %zd", what, n, most);
        n = -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(t, i));
        if (PyErr_Occurred() != NULL) n = -1;
    }
    Py_XDECREF(t);
    return n;
}

/* ---- methods ---- */

static pyasc_frame *live(PyObject *self) {
    pyasc_frame *x = (pyasc_frame *)self;
    if (x->c != NULL) return x;
    pyasc_error(ASC_FAILED_PRECONDITION, "use values only inside the function that builds the net",
                "this run of the net is over: its tensors are gone");
    return NULL;
}

/* The same of a net. */
static pyasc_frame *live_net(PyObject *self) {
    pyasc_frame *x = live(self);
    if (x == NULL || x->f != NULL) return x;
    pyasc_error(ASC_FAILED_PRECONDITION, "use operators and methods of the tensor",
                "there are no layers and weights in a function of inner values");
    return NULL;
}

static PyObject *number_of(pyasc_frame *x, asc_tensor *t) {
    Py_ssize_t i = PyErr_Occurred() == NULL ? pyasc_frame_add(x, t) : -1;
    return i < 0 ? NULL : PyLong_FromSsize_t(i);
}

/* op(number, *arguments) -> tensor */
static PyObject *frame_op(PyObject *self, PyObject *args) {
    pyasc_frame *x = live(self);
    Py_ssize_t op = x != NULL && PyTuple_Size(args) > 0 ? PyLong_AsSsize_t(PyTuple_GetItem(args, 0)) : -1;
    if (x == NULL || PyErr_Occurred() != NULL) return NULL;
    return number_of(x, pyasc_op_call(x, op, args, 1));
}

/* shape(tensor) -> tuple */
static PyObject *frame_shape(PyObject *self, PyObject *number) {
    pyasc_frame *x = live(self);
    asc_tensor *t = x != NULL ? pyasc_frame_get(x, number) : NULL;
    if (t == NULL) return NULL;
    asc_shape s = asc_tensor_shape(t);
    PyObject *out = PyTuple_New(s.rank);
    for (int i = 0; out != NULL && i < s.rank; i++) {
        PyObject *d = PyLong_FromLongLong(s.dims[i]);
        if (d == NULL || PyTuple_SetItem(out, i, d) != 0) {
            Py_DECREF(out);
            return NULL;
        }
    }
    return out;
}

static PyObject *frame_param(PyObject *self, PyObject *args) {
    pyasc_frame *x = live_net(self);
    const char *name;
    if (x == NULL || !PyArg_ParseTuple(args, "s", &name)) return NULL;
    return number_of(x, asc_param(x->f, name));
}

static PyObject *frame_has_param(PyObject *self, PyObject *args) {
    pyasc_frame *x = live_net(self);
    const char *name;
    if (x == NULL || !PyArg_ParseTuple(args, "s", &name)) return NULL;
    return PyBool_FromLong(asc_has_param(x->f, name));
}

/* site(name, tensor) -> tensor */
static PyObject *frame_site(PyObject *self, PyObject *args) {
    pyasc_frame *x = live_net(self);
    const char *name;
    PyObject *number;
    if (x == NULL || !PyArg_ParseTuple(args, "sO", &name, &number)) return NULL;
    asc_tensor *t = pyasc_frame_get(x, number);
    return t != NULL ? number_of(x, asc_site(x->f, name, t)) : NULL;
}

/* constant(array) -> tensor: floats as f32 (f64 on the reference device), the rest as i32 */
static PyObject *frame_constant(PyObject *self, PyObject *array) {
    pyasc_frame *x = live(self);
    pyasc_in in = {0};
    if (x == NULL || pyasc_array_in(array, "a constant", &in) != 0) return NULL;
    asc_ctx *c = x->c;
    asc_tensor *t = NULL;
    int64_t n = asc_array_count(&in.a);
    double *v = n >= 0 && (uint64_t)n < PY_SSIZE_T_MAX / sizeof(double) - 1
                    ? PyMem_Malloc(((size_t)n + 1) * sizeof *v)
                    : NULL;
    if (v == NULL) PyErr_NoMemory();
    if (v != NULL) {
        asc_array_get(&in.a, 0, n, v);
        t = asc_from_f64(c, in.a.shape, v);
        if (!asc_elem_is_float(in.a.elem)) t = asc_cast(c, t, ASC_TYPE_I32);
    }
    PyMem_Free(v);
    pyasc_array_done(&in);
    return number_of(x, t);
}

/* Window arguments of a layer: one number per spatial axis, () = the default. */
static int sizes(PyObject *o, const char *what, int64_t out[3], Py_ssize_t *n) {
    *n = pyasc_ints(o, what, out, 3);
    return *n < 0 ? -1 : 0;
}

/* conv(name, x, stride, pad, dilation, groups, output_pad, transposed) */
static PyObject *frame_conv(PyObject *self, PyObject *args) {
    pyasc_frame *x = live_net(self);
    const char *name;
    PyObject *number, *stride, *pad, *dilation, *output_pad;
    long long groups;
    int transposed;
    asc_conv_shape s = {.groups = 0};
    Py_ssize_t n;
    if (x == NULL || !PyArg_ParseTuple(args, "sOOOOLOp", &name, &number, &stride, &pad, &dilation, &groups,
                                       &output_pad, &transposed))
        return NULL;
    asc_tensor *t = pyasc_frame_get(x, number);
    if (t == NULL || sizes(stride, "stride", s.stride, &n) != 0 || sizes(pad, "padding", s.pad, &n) != 0 ||
        sizes(dilation, "dilation", s.dilation, &n) != 0 ||
        sizes(output_pad, "output padding", s.output_pad, &n) != 0)
        return NULL;
    s.groups = groups;
    return number_of(x,
                     transposed ? asc_nn_conv_transpose(x->f, name, t, &s) : asc_nn_conv(x->f, name, t, &s));
}

/* pool(name, x, kind, size, stride, pad): kind 0 = max, 1 = average */
static PyObject *frame_pool(PyObject *self, PyObject *args) {
    pyasc_frame *x = live_net(self);
    const char *name;
    PyObject *number, *o_size, *o_stride, *o_pad;
    int average;
    int64_t size[3] = {0}, stride[3] = {0}, pad[3] = {0};
    Py_ssize_t n, m, k;
    if (x == NULL || !PyArg_ParseTuple(args, "sOpOOO", &name, &number, &average, &o_size, &o_stride, &o_pad))
        return NULL;
    asc_tensor *t = pyasc_frame_get(x, number);
    if (t == NULL || sizes(o_size, "kernel size", size, &n) != 0 ||
        sizes(o_stride, "stride", stride, &m) != 0 || sizes(o_pad, "padding", pad, &k) != 0)
        return NULL;
    const int64_t *s = m > 0 ? stride : NULL, *p = k > 0 ? pad : NULL;
    return number_of(x, average ? asc_nn_avg_pool(x->f, name, t, size, s, p)
                                : asc_nn_max_pool(x->f, name, t, size, s, p));
}

/* layer(kind, name, x, number): the layers whose only option is a number */
static PyObject *frame_layer(PyObject *self, PyObject *args) {
    pyasc_frame *x = live_net(self);
    const char *kind, *name;
    PyObject *number;
    double v = 0.0, eps = 0.0;
    asc_tensor *r = NULL;
    if (x == NULL || !PyArg_ParseTuple(args, "ssO|dd", &kind, &name, &number, &v, &eps)) return NULL;
    asc_tensor *t = pyasc_frame_get(x, number);
    if (t == NULL) return NULL;
    static const struct {
        const char *name;
        asc_tensor *(*fn)(asc_frame *, const char *, asc_tensor *);
    } plain[] = {{"linear", asc_nn_linear},   {"embedding", asc_nn_embedding},
                 {"softmax", asc_nn_softmax}, {"lstm", asc_nn_lstm},
                 {"gru", asc_nn_gru},         {"rnn", asc_nn_rnn}};
    static const char *const activations[] = {"relu", "sigmoid",    "tanh", "softplus",
                                              "elu",  "leaky_relu", "gelu", "silu"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(kind, plain[i].name) == 0) r = plain[i].fn(x->f, name, t);
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(kind, activations[i]) == 0) r = asc_nn_activation(x->f, name, t, (asc_activation)i);
    if (strcmp(kind, "batch_norm") == 0) r = asc_nn_batch_norm(x->f, name, t, v);
    if (strcmp(kind, "layer_norm") == 0) r = asc_nn_layer_norm(x->f, name, t, v);
    if (strcmp(kind, "group_norm") == 0) r = asc_nn_group_norm(x->f, name, t, (int64_t)v, eps);
    if (r == NULL) return PyErr_Format(PyExc_ValueError, "there is no layer '%s'", kind);
    return number_of(x, r);
}

static void frame_dealloc(PyObject *self) {
    PyMem_Free(((pyasc_frame *)self)->ts);
    pyasc_object_free(self);
}

static PyMethodDef frame_methods[] = {
    {"op", frame_op, METH_VARARGS, "An op by its number in the table, with its arguments."},
    {"shape", frame_shape, METH_O, "Sizes of a tensor."},
    {"param", frame_param, METH_VARARGS, "The weight of that name."},
    {"has_param", frame_has_param, METH_VARARGS, "Whether there is a weight of that name."},
    {"site", frame_site, METH_VARARGS, "Names a value; returns the one to go on with."},
    {"constant", frame_constant, METH_O, "A tensor of given numbers."},
    {"conv", frame_conv, METH_VARARGS, "A convolution layer."},
    {"pool", frame_pool, METH_VARARGS, "A pooling layer."},
    {"layer", frame_layer, METH_VARARGS, "Another layer, by its kind."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot frame_slots[] = {
    {Py_tp_dealloc, PYASC_SLOT(frame_dealloc)}, {Py_tp_methods, frame_methods}, {0, NULL}};

PyType_Spec pyasc_frame_spec = {.name = "ascribe._ascribe.Frame",
                                .basicsize = sizeof(pyasc_frame),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = frame_slots};
