/* py_array_out.c - _ascribe.Array: numbers of the library for Python, without a copy: the buffer protocol (so
 * numpy.asarray, memoryview) and DLPack. What it lends lives as long as it does. */
#include "py_dlpack.h"
#include <stdlib.h>

typedef struct pyasc_array {
    PyObject_HEAD PyObject *owner; /* of lent memory; else NULL */
    pyasc_ctx *x;                  /* of own memory; else NULL */
    asc_array *own;                /* PyMem */
    const void *data;
    asc_elem elem;
    asc_shape shape;
    Py_ssize_t dims[ASC_MAX_RANK], strides[ASC_MAX_RANK]; /* strides in bytes */
    bool rows, writable;
} pyasc_array;

static const char *const letters[ASC_N_ELEMS] = {
    [ASC_ELEM_F32] = "f", [ASC_ELEM_F64] = "d", [ASC_ELEM_F16] = "e", [ASC_ELEM_I8] = "b",
    [ASC_ELEM_I16] = "h", [ASC_ELEM_I32] = "i", [ASC_ELEM_I64] = "q", [ASC_ELEM_U8] = "B",
    [ASC_ELEM_U16] = "H", [ASC_ELEM_U32] = "I", [ASC_ELEM_U64] = "Q", [ASC_ELEM_BOOL] = "?"};

static pyasc_array *make(const void *data, asc_elem elem, const asc_shape *shape, const int64_t *strides) {
    pyasc_array *a = (pyasc_array *)pyasc_object_new(pyasc_array_type);
    if (a == NULL) return NULL;
    a->data = data;
    a->elem = elem;
    a->shape = *shape;
    a->rows = true;
    int64_t step = (int64_t)asc_elem_bytes(elem);
    for (int d = shape->rank - 1; d >= 0; d--) {
        a->dims[d] = (Py_ssize_t)shape->dims[d];
        a->strides[d] = (Py_ssize_t)(strides != NULL ? strides[d] : step);
        if (a->strides[d] != step && shape->dims[d] > 1) a->rows = false;
        step *= shape->dims[d];
    }
    return a;
}

PyObject *pyasc_array_lend(PyObject *owner, const void *data, asc_elem elem, const asc_shape *shape,
                           const int64_t *strides) {
    pyasc_array *a = make(data, elem, shape, strides);
    if (a == NULL) return NULL;
    Py_INCREF(owner);
    a->owner = owner;
    return (PyObject *)a;
}

static void free_array(asc_ctx *ctx, void *p) {
    asc_array_free(ctx, p);
    PyMem_Free(p);
}

PyObject *pyasc_array_take(pyasc_ctx *x, asc_array *take_a) {
    asc_array *own = PyMem_Malloc(sizeof *own);
    if (own == NULL) return PyErr_NoMemory(); /* and the array is lost with its context */
    *own = *take_a;
    *take_a = (asc_array){0};
    pyasc_array *a = make(own->data, own->elem, &own->shape, NULL);
    if (a == NULL) {
        pyasc_dispose(x, free_array, own);
        return NULL;
    }
    Py_INCREF((PyObject *)x);
    a->x = x;
    a->own = own;
    a->writable = true;
    return (PyObject *)a;
}

PyObject *pyasc_array_list(pyasc_ctx *x, asc_array *take_v, size_t n, bool good) {
    PyObject *list = good ? PyList_New(0) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (list == NULL) { /* keep the exception: only free */
            asc_array *own = PyMem_Malloc(sizeof *own);
            if (own != NULL) *own = take_v[i];
            take_v[i] = (asc_array){0};
            pyasc_dispose(x, free_array, own);
            continue;
        }
        PyObject *a = pyasc_array_take(x, &take_v[i]);
        if (a == NULL || PyList_Append(list, a) != 0) Py_CLEAR(list);
        Py_XDECREF(a);
    }
    return list;
}

static void array_dealloc(PyObject *self) {
    pyasc_array *a = (pyasc_array *)self;
    if (a->own != NULL) pyasc_dispose(a->x, free_array, a->own);
    Py_XDECREF(a->owner);
    Py_XDECREF((PyObject *)a->x);
    pyasc_object_free(self);
}

static int array_buffer(PyObject *self, Py_buffer *view, int flags) {
    pyasc_array *a = (pyasc_array *)self;
    view->obj = NULL;
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !a->writable) {
        PyErr_SetString(PyExc_BufferError, "results are read-only");
        return -1;
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !a->rows) {
        PyErr_SetString(PyExc_BufferError, "the array is strided");
        return -1;
    }
    Py_ssize_t n = 1;
    for (int d = 0; d < a->shape.rank; d++) n *= a->dims[d];
    union { /* Python's field is not const */
        const void *c;
        void *v;
    } data = {.c = a->data};
    *view = (Py_buffer){.buf = data.v,
                        .itemsize = (Py_ssize_t)asc_elem_bytes(a->elem),
                        .readonly = !a->writable,
                        .ndim = a->shape.rank};
    view->len = n * view->itemsize;
    union {
        const char *c;
        char *v;
    } letter = {.c = letters[a->elem]};
    if ((flags & PyBUF_FORMAT) == PyBUF_FORMAT) view->format = letter.v;
    if ((flags & PyBUF_ND) == PyBUF_ND) view->shape = a->dims;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = a->strides;
    if ((flags & PyBUF_ND) != PyBUF_ND) view->ndim = 1; /* bytes in a row */
    Py_INCREF(self);
    view->obj = self;
    return 0;
}

/* ---- DLPack ---- */

typedef struct lent {
    dl_managed m;
    int64_t dims[ASC_MAX_RANK], strides[ASC_MAX_RANK];
} lent;

static void lent_free(dl_managed *m) {
    PyGILState_STATE g = PyGILState_Ensure(); /* the receiver may end it anywhere */
    Py_XDECREF((PyObject *)m->owner);
    PyMem_Free(m);
    PyGILState_Release(g);
}

static void capsule_free(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return; /* somebody took it and renamed it */
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    if (m != NULL) m->deleter(m);
}

static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *ignored[4] = {NULL};
    pyasc_array *a = (pyasc_array *)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", (char **)names, &ignored[0], &ignored[1],
                                     &ignored[2], &ignored[3]))
        return NULL;
    lent *l = PyMem_Malloc(sizeof *l);
    if (l == NULL) return PyErr_NoMemory();
    int64_t width = (int64_t)asc_elem_bytes(a->elem);
    for (int d = 0; d < a->shape.rank; d++) {
        l->dims[d] = a->shape.dims[d];
        l->strides[d] = a->strides[d] / width;
        if (a->strides[d] % width != 0) {
            PyMem_Free(l);
            PyErr_SetString(PyExc_BufferError, "DLPack cannot say this stride; copy it with numpy.array(x)");
            return NULL;
        }
    }
    union {
        const void *c;
        void *v;
    } data = {.c = a->data};
    l->m = (dl_managed){.t = {.data = data.v,
                              .device = {DL_CPU, 0},
                              .rank = a->shape.rank,
                              .type = dl_type_of(a->elem),
                              .shape = l->dims,
                              .strides = l->strides},
                        .owner = self,
                        .deleter = lent_free};
    PyObject *capsule = PyCapsule_New(&l->m, "dltensor", capsule_free);
    if (capsule == NULL) {
        PyMem_Free(l);
        return NULL;
    }
    Py_INCREF(self);
    return capsule;
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

static PyObject *array_shape(PyObject *self, void *unused) {
    (void)unused;
    pyasc_array *a = (pyasc_array *)self;
    PyObject *t = PyTuple_New(a->shape.rank);
    for (int d = 0; t != NULL && d < a->shape.rank; d++) {
        PyObject *n = PyLong_FromLongLong(a->shape.dims[d]);
        if (n == NULL || PyTuple_SetItem(t, d, n) != 0) {
            Py_DECREF(t);
            return NULL;
        }
    }
    return t;
}

static PyObject *array_elem(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(asc_elem_name(((pyasc_array *)self)->elem));
}

static PyGetSetDef array_getset[] = {{"shape", array_shape, NULL, "Dimensions.", NULL},
                                     {"elem", array_elem, NULL, "Name of the element type.", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef array_methods[] = {
    {"__dlpack__", PYASC_METHOD(array_dlpack), METH_VARARGS | METH_KEYWORDS, "A capsule of DLPack."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, "(1, 0): the CPU."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot array_slots[] = {{Py_tp_dealloc, PYASC_SLOT(array_dealloc)},
                                    {Py_bf_getbuffer, PYASC_SLOT(array_buffer)},
                                    {Py_tp_getset, array_getset},
                                    {Py_tp_methods, array_methods},
                                    {0, NULL}};

PyType_Spec pyasc_array_spec = {.name = "ascribe._ascribe.Array",
                                .basicsize = sizeof(pyasc_array),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = array_slots};
