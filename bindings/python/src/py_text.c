/* py_text.c - text and tokens: tokenize, detokenize, chat. Texts come as str (UTF-8) or bytes. */
#include "pyasc.h"
#include "ascribe/chat.h"
#include <string.h>

asc_model *pyasc_model_of(pyasc_subject *s, const char *what) {
    asc_model *m = s->s != NULL && !s->closed ? asc_subject_model(s->s) : NULL;
    if (m == NULL && (s->s == NULL || s->closed))
        pyasc_error(ASC_FAILED_PRECONDITION, "load it again: ascribe.load(...)", "this model is closed");
    else if (m == NULL)
        pyasc_error(ASC_FAILED_PRECONDITION, "load a language model or a text encoder", "a net cannot %s",
                    what);
    return m;
}

int pyasc_ids_in(PyObject *obj, const char *what, int32_t **out, size_t *n) {
    Py_ssize_t len = PySequence_Size(obj);
    *out = NULL;
    *n = 0;
    if (len < 0) return -1;
    int32_t *v = PyMem_Calloc((size_t)len + 1, sizeof *v);
    if (v == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < len; i++) {
        PyObject *item = PySequence_GetItem(obj, i);
        PyObject *whole = item != NULL ? PyNumber_Index(item) : NULL;
        long long id = whole != NULL ? PyLong_AsLongLong(whole) : -1;
        Py_XDECREF(whole);
        Py_XDECREF(item);
        if (PyErr_Occurred() == NULL && id >= INT32_MIN && id <= INT32_MAX) {
            v[i] = (int32_t)id;
            continue;
        }
        if (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            pyasc_error(ASC_OUT_OF_RANGE, "ids come from this model's own tokenizer: model.tokenize(text)",
                        "%s: the id at place %zd is beyond 32 bits", what, i);
        }
        PyMem_Free(v);
        return -1;
    }
    *out = v;
    *n = (size_t)len;
    return 0;
}

int pyasc_places_in(PyObject *obj, const char *what, size_t **out, size_t *n) {
    int32_t *list;
    *out = NULL;
    *n = 0;
    if (obj == Py_None) return 0;
    if (pyasc_ids_in(obj, what, &list, n) != 0) return -1;
    *out = PyMem_Calloc(*n + 1, sizeof **out);
    for (size_t i = 0; *out != NULL && i < *n; i++) (*out)[i] = (size_t)list[i];
    PyMem_Free(list);
    if (*out != NULL) return 0;
    PyErr_NoMemory();
    return -1;
}

/* tokenize(text, special=False, bos=True, continues=False) -> (ids, starts, ends) */
PyObject *pyasc_subject_tokenize(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"text", "special", "bos", "continues", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    asc_view text = {0};
    Py_ssize_t len;
    int special = 0, bos = 1, continues = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s#|ppp", (char **)names, &text.ptr, &len, &special, &bos,
                                     &continues))
        return NULL;
    text.len = (size_t)len;
    asc_model *m = pyasc_model_of(s, "make tokens of text");
    if (m == NULL || pyasc_subject_enter(s, NULL) != 0) return NULL;
    asc_tokenize_options o = {.struct_size = sizeof o,
                              .parse_special = special != 0,
                              .add_bos_eos = bos != 0,
                              .continues = continues != 0};
    asc_token *tokens = NULL;
    size_t n = 0;
    asc_status st = asc_tokenize(s->x->c, asc_model_tokenizer(m), text, &o, &tokens, &n);
    pyasc_pause(s->x);
    PyObject *lists[3] = {PyList_New((Py_ssize_t)n), PyList_New((Py_ssize_t)n), PyList_New((Py_ssize_t)n)};
    bool ok = lists[0] != NULL && lists[1] != NULL && lists[2] != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        PyList_SetItem(lists[0], (Py_ssize_t)i, PyLong_FromLong(tokens[i].id));
        PyList_SetItem(lists[1], (Py_ssize_t)i, PyLong_FromSize_t(tokens[i].start));
        PyList_SetItem(lists[2], (Py_ssize_t)i, PyLong_FromSize_t(tokens[i].end));
    }
    asc_tokens_free(s->x->c, tokens);
    pyasc_resume(s->x);
    if (pyasc_leave(s->x, st) == 0 && ok) return Py_BuildValue("(NNN)", lists[0], lists[1], lists[2]);
    for (int i = 0; i < 3; i++) Py_XDECREF(lists[i]);
    return NULL;
}

/* encode(text, second=None) -> (ids, types): as an encoder reads them, with its special tokens. */
PyObject *pyasc_subject_encode(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"text", "second", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    asc_view a = {0}, b = {0};
    Py_ssize_t na = 0, nb = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s#|z#", (char **)names, &a.ptr, &na, &b.ptr, &nb))
        return NULL;
    a.len = (size_t)na;
    b.len = (size_t)nb;
    asc_model *m = pyasc_model_of(s, "make tokens of text");
    if (m == NULL || pyasc_subject_enter(s, NULL) != 0) return NULL;
    asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
    asc_encoding e = {0};
    asc_status st = asc_encode(s->x->c, asc_model_tokenizer(m), a, b.ptr != NULL ? &b : NULL, &o, &e);
    pyasc_pause(s->x);
    PyObject *ids = PyList_New((Py_ssize_t)e.n), *types = PyList_New((Py_ssize_t)e.n);
    for (size_t i = 0; ids != NULL && types != NULL && i < e.n; i++) {
        PyList_SetItem(ids, (Py_ssize_t)i, PyLong_FromLong(e.ids[i]));
        PyList_SetItem(types, (Py_ssize_t)i, PyLong_FromLong(e.type_ids != NULL ? e.type_ids[i] : 0));
    }
    if (st == ASC_OK) asc_encoding_free(s->x->c, &e);
    pyasc_resume(s->x);
    if (pyasc_leave(s->x, st) == 0 && ids != NULL && types != NULL) return Py_BuildValue("(NN)", ids, types);
    Py_XDECREF(ids);
    Py_XDECREF(types);
    return NULL;
}

/* detokenize(ids, special=True) -> bytes */
PyObject *pyasc_subject_detokenize(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"ids", "special", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    PyObject *list, *result = NULL;
    int special = 1;
    int32_t *ids;
    size_t n;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", (char **)names, &list, &special)) return NULL;
    if (pyasc_ids_in(list, "ids", &ids, &n) != 0) return NULL;
    asc_model *m = pyasc_model_of(s, "make text of tokens");
    if (m != NULL && pyasc_subject_enter(s, NULL) == 0) {
        char *text = NULL;
        size_t len = 0;
        asc_status st = asc_detokenize(s->x->c, asc_model_tokenizer(m), ids, n, special != 0, &text, &len);
        pyasc_pause(s->x);
        if (st == ASC_OK) result = PyBytes_FromStringAndSize(text, (Py_ssize_t)len);
        asc_tokens_free(s->x->c, text);
        pyasc_resume(s->x);
        if (pyasc_leave(s->x, st) != 0) Py_CLEAR(result);
    }
    PyMem_Free(ids);
    return result;
}

/* piece(id) -> bytes of the token */
PyObject *pyasc_subject_piece(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"id", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    int id;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i", (char **)names, &id)) return NULL;
    asc_model *m = pyasc_model_of(s, "make text of tokens");
    if (m == NULL || pyasc_subject_enter(s, NULL) != 0) return NULL;
    asc_view v = asc_token_piece(asc_model_tokenizer(m), id); /* lives as long as the tokenizer */
    if (pyasc_leave(s->x, ASC_OK) != 0) return NULL;
    if (v.ptr == NULL)
        return pyasc_error(ASC_OUT_OF_RANGE, "ids come from model.tokenize(text)", "there is no token %d",
                           id);
    return PyBytes_FromStringAndSize(v.ptr, (Py_ssize_t)v.len);
}

/* chat(json) -> (text, ids): messages in the model's own format. */
PyObject *pyasc_subject_chat(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"json", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    asc_view json = {0};
    Py_ssize_t len;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s#", (char **)names, &json.ptr, &len)) return NULL;
    json.len = (size_t)len;
    asc_model *m = pyasc_model_of(s, "chat");
    if (m == NULL || pyasc_subject_enter(s, NULL) != 0) return NULL;
    asc_messages messages = {0};
    asc_chat_prompt p = {0};
    asc_status st = asc_messages_parse(s->x->c, json, &messages);
    if (st == ASC_OK) st = asc_chat_prompt_make(s->x->c, m, messages.v, messages.n, &p);
    asc_messages_free(s->x->c, &messages);
    pyasc_pause(s->x);
    PyObject *ids = PyList_New((Py_ssize_t)p.n_tokens);
    PyObject *text = PyUnicode_DecodeUTF8(p.text != NULL ? p.text : "", (Py_ssize_t)p.len, "replace");
    for (size_t i = 0; ids != NULL && i < p.n_tokens; i++)
        PyList_SetItem(ids, (Py_ssize_t)i, PyLong_FromLong(p.tokens[i].id));
    asc_chat_prompt_free(s->x->c, &p);
    pyasc_resume(s->x);
    if (pyasc_leave(s->x, st) == 0 && ids != NULL && text != NULL) return Py_BuildValue("(NN)", text, ids);
    Py_XDECREF(ids);
    Py_XDECREF(text);
    return NULL;
}
