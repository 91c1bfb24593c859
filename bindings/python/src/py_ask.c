/* py_ask.c - a question about a subject, and its answer: _ascribe.Answer. The numbers are lent to Python as
 * they lie in the answer (py_answer.c says which there are). */
#include "py_answer.h"
#include <string.h>

enum { MAX_ARRAYS = 1024 };

/* ---- the life of an answer ---- */

typedef struct remains {
    asc_answer *a;
    asc_question *q;
} remains;

static void free_remains(asc_ctx *ctx, void *p) {
    (void)ctx;
    remains *r = p;
    asc_answer_destroy(r->a);
    asc_question_destroy(r->q);
    PyMem_Free(r);
}

static void answer_dealloc(PyObject *self) {
    pyasc_answer *a = (pyasc_answer *)self;
    if (a->subject != NULL) {
        remains *r = PyMem_Malloc(sizeof *r);
        if (r != NULL) {
            *r = (remains){.a = a->a, .q = a->q};
            pyasc_dispose(a->subject->x, free_remains, r);
        }
        a->subject->n_live--;
        if (a->subject->closed && a->subject->n_live == 0) pyasc_subject_close_now(a->subject);
        Py_DECREF((PyObject *)a->subject);
    }
    for (size_t i = 0; i < a->n_in; i++) pyasc_array_done(&a->in[i]);
    PyMem_Free(a->in);
    PyMem_Free(a->names);
    Py_XDECREF(a->kept);
    pyasc_object_free(self);
}

/* Arrays of the caller under their names; a->names lie in the tuple that a->kept holds. */
static int take_arrays(pyasc_answer *a, PyObject *names, PyObject *arrays) {
    Py_ssize_t n = PyTuple_Size(names);
    if (n < 0 || PyTuple_Size(arrays) != n) return -1;
    if (n > MAX_ARRAYS) {
        pyasc_error(ASC_INVALID_ARGUMENT, "", "%zd arrays in one question; at most %d", n, MAX_ARRAYS);
        return -1;
    }
    if (n == 0) return 0;
    a->in = PyMem_Calloc((size_t)n, sizeof *a->in);
    a->names = PyMem_Calloc((size_t)n, sizeof *a->names);
    if (a->in == NULL || a->names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_INCREF(names);
    a->kept = names;
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
        if (name == NULL || pyasc_array_in(PyTuple_GetItem(arrays, i), name, &a->in[i]) != 0) return -1;
        a->n_in++;
        a->names[i] = (asc_named_array){.name = name, .array = a->in[i].a};
    }
    return 0;
}

/* ask(json, names, arrays, dry_run, progress, held): json is bytes; names and arrays are tuples of one
 * length; held is for pyasc_hold_in, and may be left out. */
PyObject *pyasc_subject_ask(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    pyasc_subject *s = (pyasc_subject *)self;
    char *json;
    Py_ssize_t len;
    if (n < 5 || n > 6 || PyBytes_AsStringAndSize(args[0], &json, &len) != 0) {
        if (PyErr_Occurred() == NULL) PyErr_SetString(PyExc_TypeError, "ask takes 5 or 6 arguments");
        return NULL;
    }
    int dry = PyObject_IsTrue(args[3]);
    pyasc_answer *a = dry < 0 ? NULL : (pyasc_answer *)pyasc_object_new(pyasc_answer_type);
    if (a == NULL) return NULL;
    pyasc_hold *held = NULL;
    if (take_arrays(a, args[1], args[2]) != 0 || pyasc_hold_in(s, n == 6 ? args[5] : Py_None, &held) != 0 ||
        pyasc_subject_enter(s, args[4]) != 0)
        goto failed;
    s->n_live++; /* close(), in a callback or another thread: nobody frees the subject before its answer, also
                    when there is none */
    Py_INCREF(self);
    a->subject = s;
    asc_status st = pyasc_hold_begin(held);
    if (st == ASC_OK)
        st = asc_question_parse(s->s, (asc_view){.ptr = json, .len = (size_t)len}, a->names, a->n_in, &a->q);
    if (st == ASC_OK && dry) asc_question_set_dry_run(a->q, true);
    if (st == ASC_OK) st = asc_ask(s->s, a->q, &a->a);
    pyasc_hold_end(held);
    const bool good = pyasc_leave(s->x, st) == 0;
    pyasc_hold_free(held);
    if (good) return (PyObject *)a;
    Py_DECREF(a);
    return NULL;
failed:
    pyasc_hold_free(held);
    Py_DECREF(a);
    return NULL;
}

/* ---- what it writes ---- */

typedef enum writing { AS_JSON, AS_HTML, AS_TEXT, AS_COMMAND, AS_MEANING } writing;

static PyObject *written(pyasc_answer *a, writing how, const asc_report_style *style) {
    pyasc_ctx *x = a->subject->x;
    asc_text *t = NULL;
    PyObject *result = NULL;
    bool none = false;
    if (pyasc_enter(x, NULL) != 0) return NULL;
    asc_status st = asc_text_create(x->c, &t);
    if (st == ASC_OK) {
        if (how == AS_JSON) asc_answer_json(a->a, t);
        if (how == AS_HTML) asc_answer_html(a->a, t);
        if (how == AS_TEXT) asc_answer_text(a->a, t, style);
        if (how == AS_COMMAND) none = !asc_question_command(a->q, t);
        if (how == AS_MEANING && asc_answer_result(a->a) != NULL)
            asc_report_meaning(t, asc_answer_result(a->a));
        st = asc_text_status(t);
    }
    pyasc_pause(x); /* the text is the context's: copy it before going out */
    if (st == ASC_OK) {
        asc_view v = asc_text_view(t);
        result = none ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(v.ptr, (Py_ssize_t)v.len, "replace");
    }
    asc_text_destroy(t);
    pyasc_resume(x);
    if (pyasc_leave(x, st) == 0 && result != NULL) return result;
    Py_XDECREF(result);
    return NULL;
}

static PyObject *answer_json(PyObject *self, PyObject *unused) {
    (void)unused;
    return written((pyasc_answer *)self, AS_JSON, NULL);
}

static PyObject *answer_html(PyObject *self, PyObject *unused) {
    (void)unused;
    return written((pyasc_answer *)self, AS_HTML, NULL);
}

static PyObject *answer_command(PyObject *self, PyObject *unused) {
    (void)unused;
    return written((pyasc_answer *)self, AS_COMMAND, NULL);
}

static PyObject *answer_meaning(PyObject *self, PyObject *unused) {
    (void)unused;
    return written((pyasc_answer *)self, AS_MEANING, NULL);
}

static PyObject *answer_text(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"columns", "rows", "colours", NULL};
    Py_ssize_t columns = 0, rows = 0;
    int colours = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|nni", (char **)names, &columns, &rows, &colours))
        return NULL;
    if (columns < 0 || rows < 0 || colours < 0 || colours > 2)
        return pyasc_error(ASC_INVALID_ARGUMENT, "", "columns, rows and colours count from 0");
    asc_report_style style = {.struct_size = sizeof style,
                              .colours = (asc_colours)colours,
                              .columns = (size_t)columns,
                              .rows = (size_t)rows};
    return written((pyasc_answer *)self, AS_TEXT, &style);
}

static PyMethodDef answer_methods[] = {
    {"json", answer_json, METH_NOARGS, "The document of `ascribe explain --json`."},
    {"html", answer_html, METH_NOARGS, "The page."},
    {"command", answer_command, METH_NOARGS, "The command line that asks the same; None where none does."},
    {"meaning", answer_meaning, METH_NOARGS, "What a score means."},
    {"text", PYASC_METHOD(answer_text), METH_VARARGS | METH_KEYWORDS, "As in a terminal."},
    {"facts", pyasc_answer_facts, METH_NOARGS, "Everything but arrays, as a dict."},
    {"array", pyasc_answer_array, METH_O, "array(name) -> Array; None where there is none"},
    {"features", pyasc_answer_features, METH_NOARGS,
     "Tuples (text, start, end, score, error, ...) of a prompt."},
    {"scores", pyasc_answer_scores, METH_NOARGS, "Of a net: list of (name, scores, error or None)."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot answer_slots[] = {
    {Py_tp_dealloc, PYASC_SLOT(answer_dealloc)}, {Py_tp_methods, answer_methods}, {0, NULL}};

PyType_Spec pyasc_answer_spec = {.name = "ascribe._ascribe.Answer",
                                 .basicsize = sizeof(pyasc_answer),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = answer_slots};
