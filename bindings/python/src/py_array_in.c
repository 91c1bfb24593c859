/* py_array_in.c - numbers of the caller as an asc_array: the buffer protocol and DLPack.
 *
 * What is row-major and in the machine's byte order is used where it lies. Other strides, Fortran order,
 * other byte order and bfloat16 (which becomes float32, exactly) are copied. What are no numbers is refused
 * by name.
 */
#include "py_dlpack.h"
#include <string.h>

/* ---- element types ---- */

dl_type dl_type_of(asc_elem e) {
    static const dl_type types[ASC_N_ELEMS] = {
        [ASC_ELEM_F32] = {DL_FLOAT, 32, 1}, [ASC_ELEM_F64] = {DL_FLOAT, 64, 1},
        [ASC_ELEM_F16] = {DL_FLOAT, 16, 1}, [ASC_ELEM_I8] = {DL_INT, 8, 1},
        [ASC_ELEM_I16] = {DL_INT, 16, 1},   [ASC_ELEM_I32] = {DL_INT, 32, 1},
        [ASC_ELEM_I64] = {DL_INT, 64, 1},   [ASC_ELEM_U8] = {DL_UINT, 8, 1},
        [ASC_ELEM_U16] = {DL_UINT, 16, 1},  [ASC_ELEM_U32] = {DL_UINT, 32, 1},
        [ASC_ELEM_U64] = {DL_UINT, 64, 1},  [ASC_ELEM_BOOL] = {DL_BOOL, 8, 1}};
    return types[e];
}

int dl_elem_of(dl_type t) {
    for (int e = 0; e < ASC_N_ELEMS; e++) {
        dl_type d = dl_type_of((asc_elem)e);
        if (d.code == t.code && d.bits == t.bits && t.lanes == 1) return e;
    }
    return -1;
}

/* struct's letters (PEP 3118), by the size of an item where that depends on the machine; -1: none of ours. */
static int elem_of_letter(char letter, Py_ssize_t size) {
    static const asc_elem ints[9] = {
        [1] = ASC_ELEM_I8, [2] = ASC_ELEM_I16, [4] = ASC_ELEM_I32, [8] = ASC_ELEM_I64};
    static const asc_elem uints[9] = {
        [1] = ASC_ELEM_U8, [2] = ASC_ELEM_U16, [4] = ASC_ELEM_U32, [8] = ASC_ELEM_U64};
    bool whole = size == 1 || size == 2 || size == 4 || size == 8;
    if (letter == '?') return ASC_ELEM_BOOL;
    if (letter == 'e' && size == 2) return ASC_ELEM_F16;
    if (letter == 'f' && size == 4) return ASC_ELEM_F32;
    if (letter == 'd' && size == 8) return ASC_ELEM_F64;
    if (letter != '\0' && strchr("bhilqn", letter) != NULL && whole) return (int)ints[size];
    if (letter != '\0' && strchr("BHILQN", letter) != NULL && whole) return (int)uints[size];
    return -1;
}

/* *swap: the other byte order. */
static int elem_of_format(const char *format, Py_ssize_t size, bool *swap) {
    *swap = false;
    if (format == NULL) return ASC_ELEM_U8;
    if (format[0] == '>' || format[0] == '!') *swap = true;
    if (format[0] != '\0' && strchr("@=<>!", format[0]) != NULL) format++;
    if (format[0] == '\0' || format[1] != '\0') return -1;
    int e = elem_of_letter(format[0], size);
    if (size == 1) *swap = false;
    return e;
}

static int refuse(const char *what, const char *format) {
    const char *why = "elements of a kind that are no plain numbers";
    const char *remedy = "use numbers: numpy.asarray(x, dtype=numpy.float32)";
    if (format != NULL && strchr(format, 'O') != NULL) {
        why = "Python objects";
    } else if (format != NULL && strchr(format, 'Z') != NULL) {
        why = "complex numbers";
        remedy = "the library has real numbers only; take x.real or abs(x)";
    } else if (format != NULL && (strchr(format, 'g') != NULL)) {
        why = "long doubles";
    } else if (format != NULL && (strchr(format, 's') != NULL || strchr(format, 'w') != NULL)) {
        why = "text";
    }
    pyasc_error(ASC_INVALID_ARGUMENT, remedy, "%s: an array of %s (format '%s')", what, why,
                format != NULL ? format : "B");
    return -1;
}

/* ---- copies ---- */

static void swap_bytes(unsigned char *p, size_t n, size_t width) {
    for (size_t i = 0; i < n; i++, p += width) {
        for (size_t k = 0; k < width / 2; k++) {
            unsigned char b = p[k];
            p[k] = p[width - 1 - k];
            p[width - 1 - k] = b;
        }
    }
}

static int set_shape(const char *what, asc_array *a, int rank, const int64_t *dims) {
    if (rank > ASC_MAX_RANK) {
        pyasc_error(ASC_INVALID_ARGUMENT, "reshape it", "%s: %d dimensions; at most %d", what, rank,
                    ASC_MAX_RANK);
        return -1;
    }
    a->shape.rank = rank;
    for (int i = 0; i < rank; i++) a->shape.dims[i] = dims[i];
    return 0;
}

/* Row-major copy of n elements of `width` bytes at data with strides in bytes. */
static void gather(unsigned char *out, const unsigned char *data, const asc_shape *s, const int64_t *strides,
                   size_t width, size_t n) {
    int64_t at[ASC_MAX_RANK] = {0};
    for (size_t i = 0; i < n; i++) {
        int64_t offset = 0;
        for (int d = 0; d < s->rank; d++) offset += at[d] * strides[d];
        memcpy(out + i * width, data + offset, width);
        for (int d = s->rank - 1; d >= 0 && ++at[d] == s->dims[d]; d--) at[d] = 0;
    }
}

/* ---- the buffer protocol ---- */

static int from_buffer(PyObject *obj, const char *what, pyasc_in *out) {
    if (PyObject_GetBuffer(obj, &out->view, PyBUF_FULL_RO) != 0) {
        out->view.obj = NULL;
        PyErr_Clear();
        pyasc_error(
            ASC_INVALID_ARGUMENT, "use numbers: numpy.asarray(x, dtype=numpy.float32)",
            "%s: its elements cannot be read as numbers (dates, objects, or memory that is not there)", what);
        return -1;
    }
    const Py_buffer *v = &out->view;
    bool swap;
    int elem = elem_of_format(v->format, v->itemsize, &swap);
    if (elem < 0) return refuse(what, v->format);
    int64_t dims[ASC_MAX_RANK];
    for (int i = 0; i < v->ndim && i < ASC_MAX_RANK; i++) dims[i] = v->shape[i];
    if (set_shape(what, &out->a, v->ndim, dims) != 0) return -1;
    out->a.elem = (asc_elem)elem;
    out->a.data = v->buf;
    if (!swap && PyBuffer_IsContiguous(v, 'C')) return 0;
    out->copy = PyMem_Malloc(v->len > 0 ? (size_t)v->len : 1);
    if (out->copy == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyBuffer_ToContiguous(out->copy, &out->view, v->len, 'C') != 0) return -1;
    if (swap) swap_bytes(out->copy, (size_t)(v->len / v->itemsize), (size_t)v->itemsize);
    out->a.data = out->copy;
    return 0;
}

/* ---- DLPack ---- */

static int not_on_cpu(const char *what, int kind) {
    pyasc_error(ASC_INVALID_ARGUMENT, "move it to the CPU: x.cpu()", "%s: an array on a device of kind %d",
                what, kind);
    return -1;
}

/* The numbers of a managed tensor; those that are not row-major are copied. */
static int from_tensor(const dl_tensor *t, const char *what, pyasc_in *out) {
    bool bf16 = t->type.code == DL_BFLOAT && t->type.bits == 16 && t->type.lanes == 1;
    int elem = bf16 ? ASC_ELEM_F32 : dl_elem_of(t->type);
    if (t->device.kind != DL_CPU && t->device.kind != DL_CUDA_HOST) return not_on_cpu(what, t->device.kind);
    if (elem < 0) {
        pyasc_error(ASC_INVALID_ARGUMENT, "convert it to float32",
                    "%s: elements of DLPack's type %d with %d bits", what, t->type.code, t->type.bits);
        return -1;
    }
    if (set_shape(what, &out->a, t->rank, t->shape) != 0) return -1;
    out->a.elem = (asc_elem)elem;
    const unsigned char *data = (const unsigned char *)t->data + t->byte_offset;
    size_t width = bf16 ? 2 : asc_elem_bytes((asc_elem)elem);
    int64_t n = asc_array_count(&out->a), step = 1, strides[ASC_MAX_RANK];
    bool rows = true;
    if (n < 0) return refuse(what, "of too many elements");
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->strides != NULL && t->shape[d] != 1 && t->strides[d] != step) rows = false;
        strides[d] = (t->strides != NULL ? t->strides[d] : step) * (int64_t)width;
        step *= t->shape[d];
    }
    out->a.data = data;
    if (rows && !bf16) return 0;
    size_t bytes = (size_t)n * asc_elem_bytes((asc_elem)elem);
    unsigned char *copy = out->copy = PyMem_Malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    out->a.data = copy;
    unsigned char *at = bf16 ? copy + (size_t)n * 2 : copy; /* the upper half, widened from the front */
    gather(at, data, &out->a.shape, strides, width, (size_t)n);
    for (size_t i = 0; bf16 && i < (size_t)n; i++) {
        uint16_t half;
        memcpy(&half, at + 2 * i, 2);
        uint32_t word = (uint32_t)half << 16;
        memcpy(copy + 4 * i, &word, 4);
    }
    return 0;
}

static int from_dlpack(PyObject *obj, const char *what, pyasc_in *out) {
    PyObject *device = PyObject_CallMethod(obj, "__dlpack_device__", NULL);
    int kind = 0, id = 0;
    if (device == NULL || !PyArg_ParseTuple(device, "ii", &kind, &id)) {
        PyErr_Clear();
        kind = DL_CPU; /* it does not say; the tensor itself will */
    }
    Py_XDECREF(device);
    if (kind != DL_CPU && kind != DL_CUDA_HOST) return not_on_cpu(what, kind);
    PyObject *capsule = PyObject_CallMethod(obj, "__dlpack__", NULL);
    if (capsule == NULL) { /* keep its own words: "can't export tensors that require gradient" */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        pyasc_error(ASC_INVALID_ARGUMENT, "of a torch tensor pass x.detach().cpu()", "%s: %S", what,
                    value != NULL ? value : Py_None);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return -1;
    }
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    out->kept = capsule; /* its end frees the tensor, since it was not renamed to "used_dltensor" */
    return m == NULL ? -1 : from_tensor(&m->t, what, out);
}

int pyasc_array_in(PyObject *obj, const char *what, pyasc_in *out) {
    *out = (pyasc_in){0};
    int st;
    if (PyObject_CheckBuffer(obj)) {
        st = from_buffer(obj, what, out);
    } else if (PyObject_HasAttrString(obj, "__dlpack__")) {
        st = from_dlpack(obj, what, out);
    } else {
        PyObject *type = PyType_GetName(Py_TYPE(obj));
        pyasc_error(ASC_INVALID_ARGUMENT,
                    "pass a numpy array, or anything with the buffer protocol or __dlpack__",
                    "%s: '%U' is no array", what, type);
        Py_XDECREF(type);
        st = -1;
    }
    if (st != 0) pyasc_array_done(out);
    return st;
}

void pyasc_array_done(pyasc_in *in) {
    if (in->view.obj != NULL) PyBuffer_Release(&in->view);
    PyMem_Free(in->copy);
    Py_XDECREF(in->kept);
    *in = (pyasc_in){0};
}
