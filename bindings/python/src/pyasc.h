/* pyasc.h - what the files of the extension module share: contexts with a lock, errors as exceptions, arrays
 * in and out.
 *
 * Guarantees: one thread at a time is inside a context; the GIL is released there; Ctrl-C ends the work at
 * the library's next safe place; nothing of a context is freed while another thread is inside it. Only public
 * headers of the library and the stable interface of Python 3.11 and later (abi3) are used.
 * A new .c file in this folder needs no list to be edited: add it, and one line in the tables of module.c if
 * it has types or functions.
 */
#ifndef PYASC_H
#define PYASC_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ascribe/ask.h"
#include <string.h>

/* A method table holds functions of other shapes than its entries say; this is how C is told that it is
 * meant. */
#define PYASC_METHOD(fn) ((PyCFunction)(void (*)(void))(fn))
#define PYASC_SLOT(fn) ((void *)(fn))

/* A new object of one of the types below, all zero; NULL with an exception. And its end, for tp_dealloc. */
PyObject *pyasc_object_new(PyTypeObject *type);
void pyasc_object_free(PyObject *self);

/* ---- errors ------------------------------------------------------------------------------------------- */

/* Raises the ascribe.Error subclass of code; message and remedy ("" = none) as given. Returns NULL. */
PyObject *pyasc_error(asc_status code, const char *remedy, const char *format, ...);
/* The same of a context's last error: call inside the context's lock (pyasc_leave does it). Returns NULL. */
PyObject *pyasc_error_of(const asc_ctx *ctx, asc_status st);

/* ---- contexts ----------------------------------------------------------------------------------------- */

typedef struct pyasc_garbage pyasc_garbage;

/* _ascribe.Context: an asc_ctx and who may be in it. Everything made in it keeps a reference. */
typedef struct pyasc_ctx {
    PyObject_HEAD asc_ctx *c;
    PyThread_type_lock lock;
    unsigned long owner; /* thread that is inside; 0 = none */
    long pid;            /* of the process that made it: threads of the library do not survive fork() */
    int forks;           /* how often processes had forked then */
    PyObject *progress;  /* while inside: callable(what, done, total); NULL = none. Borrowed */
    PyThreadState *saved;
    int64_t checked_ns;     /* when signals were last looked at */
    bool raised;            /* a callback raised: the exception waits in the thread state */
    bool watching;          /* SIGINT asks the library to stop */
    pyasc_garbage *garbage; /* to be freed when nobody is inside */
} pyasc_ctx;

/* Goes inside: waits for others (Ctrl-C ends the wait), then releases the GIL; nothing of Python may be used
 * until pyasc_leave but through pyasc_callback_begin. progress: callable or NULL; borrowed until then. -1
 * with an exception (the GIL is held): a thread that is inside already, a forked process, Ctrl-C. */
int pyasc_enter(pyasc_ctx *x, PyObject *progress);
/* Takes the GIL again, turns st (or what a callback raised, or Ctrl-C) into an exception, and goes out. The
 * context is usable again also after ASC_CANCELLED. 0, or -1 with an exception. */
int pyasc_leave(pyasc_ctx *x, asc_status st);

/* Inside, in functions that the library calls: the GIL for a moment. end(ok): false when ok is false, an
 * exception is set or Ctrl-C was pressed; the library is then to stop, and pyasc_leave raises it. */
void pyasc_callback_begin(pyasc_ctx *x);
bool pyasc_callback_end(pyasc_ctx *x, bool ok);

/* Inside: takes the GIL to make Python objects of what the context lends, and gives it back. */
void pyasc_pause(pyasc_ctx *x);
void pyasc_resume(pyasc_ctx *x);

/* Frees something of the context by fn(ctx, p): at once, or when the thread that is inside goes out. Never
 * waits; keeps a current exception. */
typedef void (*pyasc_free_fn)(asc_ctx *ctx, void *p);
void pyasc_dispose(pyasc_ctx *x, pyasc_free_fn fn, void *p);

/* ---- arrays in ---------------------------------------------------------------------------------------- */

/* An array of the caller: his memory where it is row-major and native, else a copy. Zero-initialise. */
typedef struct pyasc_in {
    asc_array a;
    Py_buffer view; /* view.obj NULL = none */
    void *copy;     /* PyMem; NULL = none */
    PyObject *kept; /* DLPack capsule; NULL = none */
} pyasc_in;

/* obj: anything with the buffer protocol (numpy, array, memoryview, bytes) or __dlpack__ on the CPU (torch,
 * jax); numbers of any order and byte order, read-only too. Lists go through numpy before (ascribe._arrays).
 * `what` names the argument in messages. 0, or -1 with an exception. */
int pyasc_array_in(PyObject *obj, const char *what, pyasc_in *out);
void pyasc_array_done(pyasc_in *in); /* all zero is accepted */

/* ---- arrays out --------------------------------------------------------------------------------------- */

/* _ascribe.Array: memory of the library with the buffer protocol and __dlpack__, read-only; numpy.asarray(it)
 * copies nothing. data lives as long as owner, of which a reference is kept. strides (bytes) NULL =
 * row-major. */
PyObject *pyasc_array_lend(PyObject *owner, const void *data, asc_elem elem, const asc_shape *shape,
                           const int64_t *strides);
/* The same of an array that asc_array_free ends, consumed also when this fails; writable. */
PyObject *pyasc_array_take(pyasc_ctx *x, asc_array *take_a);
/* A list of n of these, all consumed; good false: nothing but their end, and NULL (an exception is set). */
PyObject *pyasc_array_list(pyasc_ctx *x, asc_array *take_v, size_t n, bool good);

/* ---- subjects and questions -----------------------------------------------------------------------------
 */

/* _ascribe.Subject: a model of any kind, and all that questions need. */
typedef struct pyasc_subject {
    PyObject_HEAD pyasc_ctx *x;
    asc_subject *s; /* NULL after it was really closed */
    size_t n_live;  /* answers alive */
    bool closed;    /* no more questions */
    PyObject *held; /* list for pyasc_hold_in, of questions that bring none of their own; NULL = nothing */
    pyasc_free_fn free_more;
    void *more; /* what the subject stands on (a net, its weights): freed after it */
} pyasc_subject;

/* Wraps a subject made inside x, consumed also when this fails; free_more(ctx, more) runs after it was closed
 * (NULL = nothing). Call with the GIL, outside. */
PyObject *pyasc_subject_wrap(pyasc_ctx *x, asc_subject *take_s, pyasc_free_fn free_more, void *more);
/* Closes what it stands on, when no answer needs it any more. */
void pyasc_subject_close_now(pyasc_subject *s);
/* Inside its context, open, of this process; as pyasc_enter. */
int pyasc_subject_enter(pyasc_subject *s, PyObject *progress);

/* Its language model or text encoder; NULL with an exception ("a net cannot WHAT") for nets, and after close.
 */
asc_model *pyasc_model_of(pyasc_subject *s, const char *what);
/* Whole numbers of a sequence: PyMem_Free ends *out. 0, or -1 with an exception. */
int pyasc_ids_in(PyObject *obj, const char *what, int32_t **out, size_t *n);
/* The same as places, counted from 0; None: *out is NULL, *n 0. */
int pyasc_places_in(PyObject *obj, const char *what, size_t **out, size_t *n);

/* Values that are held in the place of inner ones while something runs (Model.patch). Zero-initialise. */
typedef struct pyasc_hold pyasc_hold;
/* list: tuples (site, array, tokens or None), or (site, function(frame, number) -> number, tokens or None);
 * None and an empty list: nothing (*out NULL). 0, or -1 with an exception. */
int pyasc_hold_in(pyasc_subject *s, PyObject *list, pyasc_hold **out);
/* Inside: from now on, and no longer. */
asc_status pyasc_hold_begin(pyasc_hold *h);
void pyasc_hold_end(pyasc_hold *h);
void pyasc_hold_free(pyasc_hold *h); /* NULL is accepted, here as above */

/* Methods of Subject, each in the file of its matter. */
PyObject *pyasc_subject_ask(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *pyasc_subject_run_net(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *pyasc_subject_tokenize(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_encode(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_detokenize(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_piece(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_chat(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_generate(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_logprobs(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_run_model(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pyasc_subject_embed(PyObject *self, PyObject *args, PyObject *kwargs);

/* Functions of the module that other files bring: rows of module.c's table. */
PyObject *pyasc_keys(PyObject *self, PyObject *unused);
PyObject *pyasc_methods(PyObject *self, PyObject *unused);

/* Once, when the module is made: contexts tell forks from now on. 0, or -1 with an exception. */
int pyasc_watch_forks(void);

/* The types; module.c makes them. */
extern PyTypeObject *pyasc_ctx_type, *pyasc_array_type, *pyasc_subject_type, *pyasc_answer_type;
extern PyType_Spec pyasc_ctx_spec, pyasc_array_spec, pyasc_subject_spec, pyasc_answer_spec;

#endif
