/* py_context.c - _ascribe.Context: an asc_ctx, its lock, and how a thread goes in and out.
 *
 * Inside, the GIL is not held. What Python frees meanwhile (a garbage collection in another thread) may not
 * wait for the lock, since the thread inside needs the GIL for its callbacks: it is put on a list that the
 * thread inside frees when it goes out. Ctrl-C: while the main thread is inside and Python's own handler for
 * SIGINT is in place, ours stands before it and asks the library to stop; the handler behind it tells Python,
 * which raises KeyboardInterrupt when the library has returned. Any other handler is Python's business: it
 * runs in the callbacks.
 */
#include "pyasc.h"
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct pyasc_garbage {
    pyasc_free_fn fn;
    void *p;
    pyasc_garbage *next;
};

enum { SIGNALS_EVERY_NS = 20 * 1000 * 1000 };

/* ---- Ctrl-C ---- */

static _Atomic(asc_ctx *) interruptible; /* what SIGINT stops; the main thread alone sets it */
static struct sigaction python_sigint;

static void on_sigint(int number, siginfo_t *info, void *place) {
    asc_ctx *c = atomic_load(&interruptible);
    if (c != NULL) asc_cancel(c);
    if ((python_sigint.sa_flags & SA_SIGINFO) != 0)
        python_sigint.sa_sigaction(number, info, place);
    else if (python_sigint.sa_handler != SIG_DFL && python_sigint.sa_handler != SIG_IGN)
        python_sigint.sa_handler(number);
}

static PyObject *getsignal, *default_handler; /* of the module _signal, from the first call on */
static unsigned long main_thread;             /* 0 = not known yet */
static int forks;                             /* how often this process is a fork of the one before */

/* The threads of the thread that forks end first (they start again when there is work): a child would have
 * their pool without them, and wait for ever at its first parallel loop. */
static void end_threads(void) { (void)omp_pause_resource_all(omp_pause_soft); }

static void count_fork(void) {
    forks++;
    main_thread = 0; /* the thread that forked is the only one now */
}

/* Whether Python would raise KeyboardInterrupt: nobody put another handler there. */
static bool python_interrupts(void) {
    if (default_handler == NULL) {
        PyObject *module = PyImport_ImportModule("_signal");
        if (module == NULL || getsignal != NULL) goto failed;
        getsignal = PyObject_GetAttrString(module, "getsignal");
        if (getsignal != NULL) default_handler = PyObject_GetAttrString(module, "default_int_handler");
    failed:
        Py_XDECREF(module);
    }
    PyObject *now = default_handler != NULL ? PyObject_CallFunction(getsignal, "i", SIGINT) : NULL;
    bool same = now != NULL && now == default_handler;
    Py_XDECREF(now);
    PyErr_Clear();
    return same;
}

static bool on_main_thread(void) {
    unsigned long me = PyThread_get_thread_ident();
    if (main_thread == 0 && syscall(SYS_gettid) == getpid()) main_thread = me;
    return main_thread == me;
}

/* Handlers have a stack of their own (the end of ascribe/base.h): Python's ask for one, but the main thread,
 * which hears the signals, has none unless faulthandler brought it. It stays. */
static void own_stack(void) {
    static char bytes[1 << 16];
    const stack_t ours = {.ss_sp = bytes, .ss_size = sizeof bytes};
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0) sigaltstack(&ours, NULL);
}

static void watch(pyasc_ctx *x) {
    if (!on_main_thread()) return;
    own_stack();
    if (atomic_load(&interruptible) != NULL || !python_interrupts()) return;
    struct sigaction ours = {.sa_sigaction = on_sigint, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    atomic_store(&interruptible, x->c);
    x->watching = sigaction(SIGINT, &ours, &python_sigint) == 0;
    if (!x->watching) atomic_store(&interruptible, NULL);
}

static void unwatch(pyasc_ctx *x) {
    if (!x->watching) return;
    sigaction(SIGINT, &python_sigint, NULL);
    atomic_store(&interruptible, NULL);
    x->watching = false;
}

/* ---- in and out ---- */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int check_process(const pyasc_ctx *x) {
    if (x->forks == forks) return 0;
    pyasc_error(ASC_FAILED_PRECONDITION,
                "load it again in the child, or start processes with the 'spawn' method of multiprocessing",
                "this model was loaded in process %ld, and this is a fork of it: the library's threads and "
                "locks are not here",
                x->pid);
    return -1;
}

/* Waits for the lock; a signal whose handler raises ends the wait. */
static int acquire(pyasc_ctx *x) {
    unsigned long me = PyThread_get_thread_ident();
    if (x->owner == me) {
        pyasc_error(ASC_FAILED_PRECONDITION, "use a second model, loaded anew, inside callbacks",
                    "this model is at work on this very thread: it cannot be used from its own callback");
        return -1;
    }
    while (PyThread_acquire_lock(x->lock, NOWAIT_LOCK) != 1) {
        PyLockStatus got;
        Py_BEGIN_ALLOW_THREADS /* */
            got = PyThread_acquire_lock_timed(x->lock, -1, 1);
        Py_END_ALLOW_THREADS /* */
            if (got == PY_LOCK_ACQUIRED) break;
        if (PyErr_CheckSignals() != 0) return -1;
    }
    x->owner = me;
    return 0;
}

static void collect(pyasc_ctx *x) {
    while (x->garbage != NULL) {
        pyasc_garbage *g = x->garbage;
        x->garbage = g->next;
        g->fn(x->c, g->p);
        PyMem_Free(g);
    }
}

static void release(pyasc_ctx *x) {
    collect(x);
    x->owner = 0;
    PyThread_release_lock(x->lock);
}

int pyasc_enter(pyasc_ctx *x, PyObject *progress) {
    if (check_process(x) != 0 || acquire(x) != 0) return -1;
    x->progress = progress == Py_None ? NULL : progress;
    x->raised = false;
    x->checked_ns = now_ns();
    watch(x);
    x->saved = PyEval_SaveThread();
    return 0;
}

int pyasc_leave(pyasc_ctx *x, asc_status st) {
    PyEval_RestoreThread(x->saved);
    x->saved = NULL;
    x->progress = NULL;
    unwatch(x);
    if (st != ASC_OK || x->raised) asc_cancel_reset(x->c);
    if (!x->raised && st != ASC_OK) {
        /* Ctrl-C is the better story than "cancelled" */
        if (st != ASC_CANCELLED || PyErr_CheckSignals() == 0) pyasc_error_of(x->c, st);
    }
    bool bad = st != ASC_OK || x->raised;
    x->raised = false;
    if (st == ASC_OK)
        asc_cancel_reset(x->c); /* Ctrl-C between the last safe place and here: Python raises it */
    release(x);
    return bad ? -1 : 0;
}

void pyasc_pause(pyasc_ctx *x) {
    PyEval_RestoreThread(x->saved);
    x->saved = NULL;
}

void pyasc_resume(pyasc_ctx *x) { x->saved = PyEval_SaveThread(); }

void pyasc_callback_begin(pyasc_ctx *x) { PyEval_RestoreThread(x->saved); }

bool pyasc_callback_end(pyasc_ctx *x, bool ok) {
    if (ok && PyErr_Occurred() == NULL) PyErr_CheckSignals();
    if (PyErr_Occurred() != NULL) {
        x->raised = true;
        ok = false;
    }
    x->checked_ns = now_ns();
    x->saved = PyEval_SaveThread();
    return ok;
}

/* The library's progress: the caller's callable each time, signals now and then. */
static bool on_progress(void *self, const char *what, double done, double total) {
    pyasc_ctx *x = self;
    if (x->saved == NULL || x->raised) return !x->raised;
    if (x->progress == NULL && now_ns() - x->checked_ns < SIGNALS_EVERY_NS) return true;
    pyasc_callback_begin(x);
    bool ok = true;
    if (x->progress != NULL) {
        PyObject *r = PyObject_CallFunction(x->progress, "sdd", what, done, total);
        ok = r != NULL && r != Py_False; /* False asks for a stop, as in C */
        Py_XDECREF(r);
    }
    return pyasc_callback_end(x, ok);
}

void pyasc_dispose(pyasc_ctx *x, pyasc_free_fn fn, void *p) {
    if (p == NULL || x->forks != forks) return; /* a fork's memory goes with the fork */
    if (PyThread_acquire_lock(x->lock, NOWAIT_LOCK) == 1) {
        fn(x->c, p);
        release(x);
        return;
    }
    pyasc_garbage *g = PyMem_Malloc(sizeof *g);
    if (g == NULL) return; /* lost, but nothing is broken */
    *g = (pyasc_garbage){.fn = fn, .p = p, .next = NULL};
    pyasc_garbage **end = &x->garbage; /* in the order in which they came: an answer before its subject */
    while (*end != NULL) end = &(*end)->next;
    *end = g;
}

int pyasc_watch_forks(void) {
    if (pthread_atfork(end_threads, NULL, count_fork) == 0) return 0;
    PyErr_NoMemory();
    return -1;
}

/* ---- the type ---- */

static void ctx_dealloc(PyObject *self) {
    pyasc_ctx *x = (pyasc_ctx *)self;
    if (x->forks == forks) {
        if (x->c != NULL) collect(x);
        asc_ctx_destroy(x->c);
        if (x->lock != NULL) PyThread_free_lock(x->lock);
    }
    pyasc_object_free(self);
}

static PyObject *ctx_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"device", "mode", "threads", "seed", "isa", "precision", NULL};
    asc_ctx_options o = {.struct_size = sizeof o};
    unsigned long long seed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|zziKzz", (char **)names, &o.device, &o.mode,
                                     &o.n_threads, &seed, &o.isa, &o.precision))
        return NULL;
    if (o.n_threads < 0)
        return pyasc_error(ASC_INVALID_ARGUMENT, "0 means every core", "threads is %d", o.n_threads);
    pyasc_ctx *x = (pyasc_ctx *)pyasc_object_new(type);
    if (x == NULL) return NULL;
    x->pid = (long)getpid();
    x->forks = forks;
    x->lock = PyThread_allocate_lock();
    if (x->lock == NULL) {
        Py_DECREF((PyObject *)x);
        return PyErr_NoMemory();
    }
    o.seed = seed;
    o.progress = on_progress;
    o.progress_self = x;
    asc_status st = asc_ctx_create(&o, &x->c);
    if (st == ASC_OK) return (PyObject *)x;
    if (x->c != NULL)
        pyasc_error_of(x->c, st);
    else
        PyErr_NoMemory();
    Py_DECREF((PyObject *)x);
    return NULL;
}

static PyObject *ctx_memory(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_ctx *x = (pyasc_ctx *)self;
    if (pyasc_enter(x, NULL) != 0) return NULL;
    asc_mem_stats m = asc_memory(x->c);
    if (pyasc_leave(x, ASC_OK) != 0) return NULL;
    PyObject *d = Py_BuildValue("{s:n,s:n,s:n,s:n}", "live_bytes", (Py_ssize_t)m.live_total, "peak_bytes",
                                (Py_ssize_t)m.peak_total, "live_blocks", (Py_ssize_t)m.live_allocs,
                                "mapped_bytes", (Py_ssize_t)m.mapped_bytes);
    return d;
}

static PyObject *ctx_cancel(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_ctx *x = (pyasc_ctx *)self;
    if (x->owner != 0) asc_cancel(x->c); /* from another thread, while one is inside */
    Py_RETURN_NONE;
}

static PyMethodDef ctx_methods[] = {
    {"memory", ctx_memory, METH_NOARGS, "Bytes and blocks of the library that are alive."},
    {"cancel", ctx_cancel, METH_NOARGS, "Asks the call that another thread is in to stop."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot ctx_slots[] = {{Py_tp_dealloc, PYASC_SLOT(ctx_dealloc)},
                                  {Py_tp_new, PYASC_SLOT(ctx_new)},
                                  {Py_tp_methods, ctx_methods},
                                  {0, NULL}};

PyType_Spec pyasc_ctx_spec = {.name = "ascribe._ascribe.Context",
                              .basicsize = sizeof(pyasc_ctx),
                              .flags = Py_TPFLAGS_DEFAULT,
                              .slots = ctx_slots};
