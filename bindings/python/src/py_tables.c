/* py_tables.c - the library's tables as Python sees them: keys of questions, methods. */
#include "pyasc.h"
#include "ascribe/attr.h"

/* keys() -> list of (name, type, subjects, choices, option, doc) */
PyObject *pyasc_keys(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *list = PyList_New(0);
    const asc_question_key *k;
    for (size_t i = 0; list != NULL && (k = asc_question_key_at(i)) != NULL; i++) {
        PyObject *t = Py_BuildValue("(ssIsss)", k->name, asc_key_type_name(k->type), k->subjects, k->choices,
                                    k->option, k->doc);
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
