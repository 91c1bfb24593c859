/* py_model.c - one forward pass of a language model or text encoder, inner values read and replaced. */
#include "pyasc.h"
#include <string.h>

/* ---- one run, inner values read and replaced ---- */

typedef struct run_args {
    int32_t *ids, *types;
    const char **read;
    asc_site_patch *patches;
    pyasc_in *in;
    size_t **tokens; /* of each patch */
    asc_array *values, head;
    asc_model_run_options o;
    size_t n_in; /* patches taken */
} run_args;

static void run_args_free(run_args *r) {
    for (size_t i = 0; i < r->n_in; i++) pyasc_array_done(&r->in[i]);
    for (size_t i = 0; r->tokens != NULL && i < r->o.n_patches; i++) PyMem_Free(r->tokens[i]);
    PyMem_Free(r->ids);
    PyMem_Free(r->types);
    PyMem_Free(r->read);
    PyMem_Free(r->patches);
    PyMem_Free(r->in);
    PyMem_Free(r->tokens);
    PyMem_Free(r->values);
}

/* (site, values, tokens or None) */
static int take_patch(run_args *r, size_t i, PyObject *item) {
    PyObject *values, *tokens;
    asc_site_patch *p = &r->patches[i];
    if (!PyArg_ParseTuple(item, "sOO", &p->site, &values, &tokens)) return -1;
    if (pyasc_array_in(values, p->site, &r->in[i]) != 0) return -1;
    r->n_in++;
    p->values = r->in[i].a;
    if (pyasc_places_in(tokens, "tokens", &r->tokens[i], &p->n_tokens) != 0) return -1;
    p->tokens = r->tokens[i];
    return 0;
}

static int take_run(run_args *r, PyObject *ids, PyObject *types, PyObject *read, PyObject *patches) {
    size_t n_types = 0;
    if (pyasc_ids_in(ids, "ids", &r->ids, &r->o.n) != 0) return -1;
    if (types != Py_None && pyasc_ids_in(types, "types", &r->types, &n_types) != 0) return -1;
    if (types != Py_None && n_types != r->o.n) {
        pyasc_error(ASC_INVALID_ARGUMENT, "", "%zu types for %zu tokens", n_types, r->o.n);
        return -1;
    }
    Py_ssize_t n_read = PyList_Size(read), n_patches = PyList_Size(patches);
    if (n_read < 0 || n_patches < 0) return -1;
    r->o.n_patches = (size_t)n_patches;
    r->read = PyMem_Calloc((size_t)n_read + 1, sizeof *r->read);
    r->values = PyMem_Calloc((size_t)n_read + 1, sizeof *r->values);
    r->patches = PyMem_Calloc((size_t)n_patches + 1, sizeof *r->patches);
    r->in = PyMem_Calloc((size_t)n_patches + 1, sizeof *r->in);
    r->tokens = PyMem_Calloc((size_t)n_patches + 1, sizeof *r->tokens);
    if (r->read == NULL || r->values == NULL || r->patches == NULL || r->in == NULL || r->tokens == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_read; i++) {
        r->read[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(read, i), NULL);
        if (r->read[i] == NULL) return -1;
    }
    r->o.n_read = (size_t)n_read;
    for (Py_ssize_t i = 0; i < n_patches; i++) {
        if (take_patch(r, (size_t)i, PyList_GetItem(patches, i)) != 0) return -1;
    }
    r->o.struct_size = sizeof r->o;
    r->o.ids = r->ids;
    r->o.types = r->types;
    r->o.read = r->read;
    r->o.patches = r->patches;
    return 0;
}

static PyObject *run_result(pyasc_subject *s, run_args *r, asc_status st, bool good) {
    const bool head = r->o.head != ASC_RUN_NOTHING;
    PyObject *list = pyasc_array_list(s->x, r->values, st == ASC_OK ? r->o.n_read : 0, good);
    PyObject *last = pyasc_array_list(s->x, &r->head, st == ASC_OK && head ? 1 : 0, good && list != NULL);
    PyObject *result = NULL;
    if (list != NULL && last != NULL)
        result = Py_BuildValue("(OO)", list, head ? PyList_GetItem(last, 0) : Py_None);
    Py_XDECREF(list);
    Py_XDECREF(last);
    return result;
}

/* run_model(ids, types, read, patches, head, rows) -> (list of Array, Array or None); patches are tuples
 * (site, values, tokens or None); head is "", "logits", "classes" or "embedding". */
PyObject *pyasc_subject_run_model(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"ids", "types", "read", "patches", "head", "rows", NULL};
    static const char *const heads[] = {"", "logits", "classes", "embedding"};
    pyasc_subject *s = (pyasc_subject *)self;
    PyObject *ids, *types, *read, *patches, *result = NULL;
    const char *head = "";
    Py_ssize_t rows = 0;
    run_args r = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|sn", (char **)names, &ids, &types, &read, &patches,
                                     &head, &rows))
        return NULL;
    int kind = -1;
    for (int i = 0; i < 4; i++) kind = strcmp(heads[i], head) == 0 ? i : kind;
    if (kind < 0 || rows < 0)
        return pyasc_error(ASC_INVALID_ARGUMENT, "", "head '%s', %zd rows: no such thing", head, rows);
    asc_model *m = pyasc_model_of(s, "be run on text");
    if (m != NULL && take_run(&r, ids, types, read, patches) == 0) {
        r.o.head = (asc_run_head)kind;
        r.o.n_rows = (size_t)rows;
        if (pyasc_subject_enter(s, NULL) == 0) {
            asc_status st = asc_model_run(m, &r.o, r.values, &r.head);
            result = run_result(s, &r, st, pyasc_leave(s->x, st) == 0);
        }
    }
    run_args_free(&r);
    return result;
}
