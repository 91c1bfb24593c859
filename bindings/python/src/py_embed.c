/* py_embed.c - embeddings of many texts in few passes. */
#include "pyasc.h"

static int take_text(PyObject *item, asc_id_text *out, int32_t **ids, int32_t **types) {
    PyObject *list, *kinds;
    size_t n_types = 0;
    if (!PyArg_ParseTuple(item, "OO", &list, &kinds)) return -1;
    if (pyasc_ids_in(list, "ids", ids, &out->n) != 0) return -1;
    out->ids = *ids;
    if (kinds == Py_None) return 0;
    if (pyasc_ids_in(kinds, "types", types, &n_types) != 0) return -1;
    out->types = *types;
    if (n_types == out->n) return 0;
    pyasc_error(ASC_INVALID_ARGUMENT, "", "%zu types for %zu tokens", n_types, out->n);
    return -1;
}

static PyObject *embed(pyasc_subject *s, asc_model *m, const asc_id_text *v, size_t n, PyObject *progress) {
    const size_t width = asc_model_embedding_width(m);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * width * sizeof(double)));
    if (bytes == NULL || pyasc_subject_enter(s, progress) != 0) {
        Py_XDECREF(bytes);
        return NULL;
    }
    asc_status st = asc_model_embed_texts(m, v, n, (double *)(void *)PyBytes_AsString(bytes));
    if (pyasc_leave(s->x, st) != 0) Py_CLEAR(bytes);
    PyObject *result = bytes != NULL ? Py_BuildValue("(On)", bytes, (Py_ssize_t)width) : NULL;
    Py_XDECREF(bytes);
    return result;
}

/* embed([(ids, types or None)], progress) -> (bytes of float64 [n, width], width) */
PyObject *pyasc_subject_embed(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"texts", "progress", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    PyObject *texts, *progress = Py_None, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O", (char **)names, &PyList_Type, &texts, &progress))
        return NULL;
    asc_model *m = pyasc_model_of(s, "embed texts");
    if (m == NULL) return NULL;
    const Py_ssize_t n = PyList_Size(texts);
    asc_id_text *v = PyMem_Calloc((size_t)n + 1, sizeof *v);
    int32_t **lists = PyMem_Calloc(2 * (size_t)n + 1, sizeof *lists);
    bool good = v != NULL && lists != NULL;
    if (!good) PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < n; i++)
        good = take_text(PyList_GetItem(texts, i), &v[i], &lists[2 * i], &lists[2 * i + 1]) == 0;
    if (good) result = embed(s, m, v, (size_t)n, progress != Py_None ? progress : NULL);
    for (Py_ssize_t i = 0; lists != NULL && i < 2 * n; i++) PyMem_Free(lists[i]);
    PyMem_Free(lists);
    PyMem_Free(v);
    return result;
}
