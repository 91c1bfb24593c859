/* module.c - the extension module ascribe._ascribe: its types and functions. */
#include "py_frame.h"

PyTypeObject *pyasc_ctx_type, *pyasc_array_type, *pyasc_subject_type, *pyasc_answer_type;

PyObject *pyasc_object_new(PyTypeObject *type) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void pyasc_object_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_it = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_it(self);
    Py_DECREF((PyObject *)type); /* of types on the heap, each object holds a reference */
}

static const struct {
    PyTypeObject **type;
    PyType_Spec *spec;
} types[] = {{&pyasc_ctx_type, &pyasc_ctx_spec},
             {&pyasc_array_type, &pyasc_array_spec},
             {&pyasc_subject_type, &pyasc_subject_spec},
             {&pyasc_answer_type, &pyasc_answer_spec},
             {&pyasc_frame_type, &pyasc_frame_spec}};

static PyMethodDef functions[] = {
    {"keys", pyasc_keys, METH_NOARGS, "Keys of questions: (name, type, subjects, choices, option, doc)."},
    {"methods", pyasc_methods, METH_NOARGS, "Methods: (name, captum, doc, on prompts, on nets)."},
    {"op_table", pyasc_op_table, METH_NOARGS,
     "Ops that nets in Python are made of: (name, kinds of arguments)."},
    {"captum_names", pyasc_captum_names, METH_NOARGS, "Captum's classes: (class, method, at, neuron)."},
    {"net_build", pyasc_net_build, METH_VARARGS,
     "net_build(context, inputs, outputs, forward, params) -> Subject"},
    {"net_attribute", pyasc_net_attribute, METH_VARARGS, "net_attribute(subject, request, progress) -> dict"},
    {"net_infidelity", pyasc_net_infidelity, METH_VARARGS, "net_infidelity(subject, request, how) -> dict"},
    {"net_sensitivity", pyasc_net_sensitivity, METH_VARARGS,
     "net_sensitivity(subject, request, how) -> dict"},
    {"net_attack", pyasc_net_attack, METH_VARARGS, "net_attack(subject, request, how) -> dict"},
    {"net_dataset", pyasc_net_dataset, METH_VARARGS, "net_dataset(subject, request, how, progress) -> dict"},
    {"net_lime_base", pyasc_net_lime_base, METH_VARARGS,
     "net_lime_base(subject, request, how, progress) -> dict"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "ascribe._ascribe",
                                        .m_doc = "The C library; use the package ascribe.",
                                        .m_size = -1,
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit__ascribe(void); /* Python's header does not declare it */

PyMODINIT_FUNC PyInit__ascribe(void) {
    PyObject *m = PyModule_Create(&definition);
    if (m == NULL || PyModule_AddStringConstant(m, "version", asc_version()) != 0 || pyasc_watch_forks() != 0)
        goto failed;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        *types[i].type = (PyTypeObject *)PyType_FromSpec(types[i].spec);
        if (*types[i].type == NULL || PyModule_AddType(m, *types[i].type) != 0) goto failed;
    }
    return m;
failed:
    Py_XDECREF(m);
    return NULL;
}
