/* py_hold.c - inner values that Python puts in the place of a model's or net's own while a question is
 * answered or a text continued. Functions are Python's: they record ops on a frame without a net. */
#include "py_frame.h"

typedef struct change {
    pyasc_ctx *x;
    PyObject *fn;
} change;

struct pyasc_hold {
    pyasc_subject *s;
    asc_model *m; /* one of the two */
    asc_net *net;
    PyObject *list; /* kept: names and functions are its */
    asc_site_patch *patches;
    asc_held_value *values;
    pyasc_in *in;
    size_t **tokens;
    change *changes;
    size_t n, n_in;
};

void pyasc_hold_free(pyasc_hold *h) {
    if (h == NULL) return;
    for (size_t i = 0; i < h->n_in; i++) pyasc_array_done(&h->in[i]);
    for (size_t i = 0; h->tokens != NULL && i < h->n; i++) PyMem_Free(h->tokens[i]);
    PyMem_Free(h->patches);
    PyMem_Free(h->values);
    PyMem_Free(h->in);
    PyMem_Free(h->tokens);
    PyMem_Free(h->changes);
    Py_XDECREF(h->list);
    PyMem_Free(h);
}

/* fn(frame, number) -> number */
static asc_tensor *record(void *self, asc_ctx *c, asc_tensor *value) {
    const change *g = self;
    asc_tensor *out = NULL;
    if (g->x->raised) return NULL;
    pyasc_callback_begin(g->x);
    pyasc_frame *x = pyasc_frame_new(c, NULL);
    Py_ssize_t number = x != NULL ? pyasc_frame_add(x, value) : -1;
    PyObject *r = number >= 0 ? PyObject_CallFunction(g->fn, "On", (PyObject *)x, number) : NULL;
    if (r != NULL) out = pyasc_frame_get(x, r);
    Py_XDECREF(r);
    pyasc_frame_end(x);
    return pyasc_callback_end(g->x, out != NULL) ? out : NULL;
}

static int take(pyasc_hold *h, size_t i, PyObject *item) {
    const char *site;
    PyObject *value, *tokens;
    if (!PyArg_ParseTuple(item, "sOO", &site, &value, &tokens)) return -1;
    if (pyasc_places_in(tokens, "tokens", &h->tokens[i], &h->patches[i].n_tokens) != 0) return -1;
    h->patches[i].tokens = h->tokens[i];
    h->patches[i].site = h->values[i].site = site;
    if (PyCallable_Check(value)) {
        h->changes[i] = (change){.x = h->s->x, .fn = value};
        h->patches[i].change = h->values[i].change = record;
        h->patches[i].self = h->values[i].self = &h->changes[i];
        return 0;
    }
    pyasc_in *in = &h->in[h->n_in];
    if (pyasc_array_in(value, site, in) != 0) return -1;
    h->n_in++;
    h->patches[i].values = h->values[i].values = in->a;
    return 0;
}

int pyasc_hold_in(pyasc_subject *s, PyObject *list, pyasc_hold **out) {
    *out = NULL;
    Py_ssize_t n = list != Py_None ? PyList_Size(list) : 0;
    if (n <= 0) return n < 0 ? -1 : 0;
    if (s->s == NULL) {
        pyasc_error(ASC_FAILED_PRECONDITION, "load it again: ascribe.load(...)", "this model is closed");
        return -1;
    }
    pyasc_hold *h = PyMem_Calloc(1, sizeof *h);
    if (h == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_INCREF(list);
    h->list = list;
    h->s = s;
    h->n = (size_t)n;
    h->m = asc_subject_model(s->s);
    h->net = asc_subject_net(s->s);
    h->patches = PyMem_Calloc(h->n, sizeof *h->patches);
    h->values = PyMem_Calloc(h->n, sizeof *h->values);
    h->in = PyMem_Calloc(h->n, sizeof *h->in);
    h->tokens = PyMem_Calloc(h->n, sizeof *h->tokens);
    h->changes = PyMem_Calloc(h->n, sizeof *h->changes);
    bool ok =
        h->patches != NULL && h->values != NULL && h->in != NULL && h->tokens != NULL && h->changes != NULL;
    if (!ok) PyErr_NoMemory();
    for (size_t i = 0; ok && i < h->n; i++) ok = take(h, i, PyList_GetItem(list, (Py_ssize_t)i)) == 0;
    if (ok) {
        *out = h;
        return 0;
    }
    pyasc_hold_free(h);
    return -1;
}

asc_status pyasc_hold_begin(pyasc_hold *h) {
    if (h == NULL) return ASC_OK;
    return h->m != NULL ? asc_model_hold(h->m, h->patches, h->n) : asc_net_hold(h->net, h->values, h->n);
}

void pyasc_hold_end(pyasc_hold *h) {
    if (h == NULL) return;
    asc_status st = h->m != NULL ? asc_model_hold(h->m, NULL, 0) : asc_net_hold(h->net, NULL, 0);
    (void)st; /* taking away cannot fail */
}
