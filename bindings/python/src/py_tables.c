/* py_tables.c - the library's tables as Python sees them: keys of questions, methods. */
#include "pyasc.h"
#include "ascribe/attr.h"

/* One word for each type of value, as scripts/gen-python-keys.py and _question.py know them. */
static const char *const key_types[] = {
    [ASC_KEY_TEXT] = "text",       [ASC_KEY_CHOICE] = "choice",     [ASC_KEY_COUNT] = "count",
    [ASC_KEY_NUMBER] = "number",   [ASC_KEY_BYTES] = "bytes",       [ASC_KEY_BOOL] = "bool",
    [ASC_KEY_IDS] = "ids",         [ASC_KEY_TEXTS] = "texts",       [ASC_KEY_MESSAGES] = "messages",
    [ASC_KEY_VALUES] = "values",   [ASC_KEY_PASSAGES] = "passages", [ASC_KEY_SIZES] = "sizes",
    [ASC_KEY_INDEX] = "index",     [ASC_KEY_ARRAY] = "array",       [ASC_KEY_ARRAYS] = "arrays",
    [ASC_KEY_PICTURE] = "picture", [ASC_KEY_RULES] = "rules",       [ASC_KEY_WHOLE] = "whole",
    [ASC_KEY_TOKENS] = "tokens",   [ASC_KEY_BASE64] = "base64"};

/* keys() -> list of (name, type, subjects, choices, option, doc) */
PyObject *pyasc_keys(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *list = PyList_New(0);
    const asc_question_key *k;
    for (size_t i = 0; list != NULL && (k = asc_question_key_at(i)) != NULL; i++) {
        PyObject *t = Py_BuildValue(
            "(ssIsss)", k->name,
            (size_t)k->type < sizeof key_types / sizeof key_types[0] ? key_types[k->type] : "text",
            k->subjects, k->choices, k->option, k->doc);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* methods() -> list of (name, captum, doc, on prompts, on nets) */
PyObject *pyasc_methods(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *list = PyList_New(0);
    const asc_method_info *m;
    for (size_t i = 0; list != NULL && (m = asc_method_at(i)) != NULL; i++) {
        asc_method_traits traits = asc_method_traits_at(i);
        PyObject *t = Py_BuildValue("(sssOO)", m->name, m->captum, m->doc,
                                    traits.prompts ? Py_True : Py_False, traits.nets ? Py_True : Py_False);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}
