/* py_errors.c - status codes as exceptions. The classes are Python's (ascribe/_errors.py): BY_CODE there maps
 * a code to its class. */
#include "pyasc.h"

/* Borrowed class of a code; NULL with an exception. */
static PyObject *class_of(asc_status code) {
    PyObject *module = PyImport_ImportModule("ascribe._errors");
    if (module == NULL) return NULL;
    PyObject *table = PyObject_GetAttrString(module, "BY_CODE");
    Py_DECREF(module);
    if (table == NULL) return NULL;
    PyObject *cls = PyDict_Check(table) ? PyDict_GetItemString(table, asc_status_name(code)) : NULL;
    if (cls == NULL)
        PyErr_Format(PyExc_RuntimeError, "ascribe._errors.BY_CODE has no %s", asc_status_name(code));
    Py_DECREF(table); /* the module keeps it */
    return cls;
}

static PyObject *raise_text(asc_status code, PyObject *take_message, const char *remedy) {
    PyObject *cls = take_message != NULL ? class_of(code) : NULL;
    if (cls != NULL) {
        PyObject *hint = PyUnicode_DecodeUTF8(remedy, (Py_ssize_t)strlen(remedy), "replace");
        PyObject *e = hint != NULL ? PyObject_CallFunctionObjArgs(cls, take_message, hint, NULL) : NULL;
        if (e != NULL) PyErr_SetObject(cls, e);
        Py_XDECREF(e);
        Py_XDECREF(hint);
    }
    Py_XDECREF(take_message);
    return NULL;
}

PyObject *pyasc_error(asc_status code, const char *remedy, const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *message = PyUnicode_FromFormatV(format, args);
    va_end(args);
    return raise_text(code, message, remedy);
}

PyObject *pyasc_error_of(const asc_ctx *ctx, asc_status st) {
    const char *text = asc_error_code(ctx) == st ? asc_error_message(ctx) : "";
    const char *hint = asc_error_code(ctx) == st ? asc_error_hint(ctx) : "";
    if (text[0] == '\0') text = st == ASC_RESOURCE_EXHAUSTED ? "out of memory" : asc_status_name(st);
    return raise_text(st, PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"), hint);
}
