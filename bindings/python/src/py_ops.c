/* py_ops.c - the ops of ascribe/ops.def for Python: a call is made from the C type of the builder, so that a
 * new line in the table needs nothing here unless its arguments are of a new kind. */
#include "py_frame.h"

/* One argument. */
typedef struct slot {
    asc_tensor *t, *ts[8];
    double d;
    int64_t i;
    int n, ints[ASC_MAX_RANK];
    int64_t sizes[ASC_MAX_SPATIAL];
    bool b;
    asc_shape shape;
    asc_window win;
} slot;

enum { MAX_SLOTS = 7 };

/* X(NAME, kinds, prototype, arguments). Kinds: t tensor, o tensor or None, T tensors, d number, i and l whole
 * number, b truth value, s shape, a axes, w window, z one size per spatial axis. */
#define SIGNATURES(X)                                                                                        \
    X(T, "t", (asc_ctx *, asc_tensor *), (c, v[0].t))                                                        \
    X(TT, "tt", (asc_ctx *, asc_tensor *, asc_tensor *), (c, v[0].t, v[1].t))                                \
    X(TTT, "ttt", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *), (c, v[0].t, v[1].t, v[2].t))        \
    X(TD, "td", (asc_ctx *, asc_tensor *, double), (c, v[0].t, v[1].d))                                      \
    X(TDD, "tdd", (asc_ctx *, asc_tensor *, double, double), (c, v[0].t, v[1].d, v[2].d))                    \
    X(TTB, "ttb", (asc_ctx *, asc_tensor *, asc_tensor *, bool), (c, v[0].t, v[1].t, v[2].b))                \
    X(TTI, "tti", (asc_ctx *, asc_tensor *, asc_tensor *, int), (c, v[0].t, v[1].t, (int)v[2].i))            \
    X(TTL, "ttl", (asc_ctx *, asc_tensor *, asc_tensor *, int64_t), (c, v[0].t, v[1].t, v[2].i))             \
    X(TBB, "tbb", (asc_ctx *, asc_tensor *, bool, bool), (c, v[0].t, v[1].b, v[2].b))                        \
    X(TAB, "tab", (asc_ctx *, asc_tensor *, int, const int *, bool), (c, v[0].t, v[1].n, v[1].ints, v[2].b)) \
    X(TIB, "tib", (asc_ctx *, asc_tensor *, int, bool), (c, v[0].t, (int)v[1].i, v[2].b))                    \
    X(TI, "ti", (asc_ctx *, asc_tensor *, int), (c, v[0].t, (int)v[1].i))                                    \
    X(TLB, "tlb", (asc_ctx *, asc_tensor *, int64_t, bool), (c, v[0].t, v[1].i, v[2].b))                     \
    X(TIBB, "tibb", (asc_ctx *, asc_tensor *, int, bool, bool), (c, v[0].t, (int)v[1].i, v[2].b, v[3].b))    \
    X(TS, "ts", (asc_ctx *, asc_tensor *, asc_shape), (c, v[0].t, v[1].shape))                               \
    X(TA, "ta", (asc_ctx *, asc_tensor *, int, const int *), (c, v[0].t, v[1].n, v[1].ints))                 \
    X(TILL, "till", (asc_ctx *, asc_tensor *, int, int64_t, int64_t),                                        \
      (c, v[0].t, (int)v[1].i, v[2].i, v[3].i))                                                              \
    X(LIST_I, "Ti", (asc_ctx *, asc_tensor *const *, int, int), (c, v[0].ts, v[0].n, (int)v[1].i))           \
    X(SD, "sd", (asc_ctx *, asc_shape, double), (c, v[0].shape, v[1].d))                                     \
    X(LDD, "ldd", (asc_ctx *, int64_t, double, double), (c, v[0].i, v[1].d, v[2].d))                         \
    X(TTIS, "ttis", (asc_ctx *, asc_tensor *, asc_tensor *, int, asc_shape),                                 \
      (c, v[0].t, v[1].t, (int)v[2].i, v[3].shape))                                                          \
    X(TTBB, "ttbb", (asc_ctx *, asc_tensor *, asc_tensor *, bool, bool),                                     \
      (c, v[0].t, v[1].t, v[2].b, v[3].b))                                                                   \
    X(TTTBB, "tttbb", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *, bool, bool),                     \
      (c, v[0].t, v[1].t, v[2].t, v[3].b, v[4].b))                                                           \
    X(TTTB, "tttb", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *, bool),                             \
      (c, v[0].t, v[1].t, v[2].t, v[3].b))                                                                   \
    X(TTD, "ttd", (asc_ctx *, asc_tensor *, asc_tensor *, double), (c, v[0].t, v[1].t, v[2].d))              \
    X(TTTD, "tttd", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *, double),                           \
      (c, v[0].t, v[1].t, v[2].t, v[3].d))                                                                   \
    X(ROPE, "tttbbd", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *, bool, bool, double),             \
      (c, v[0].t, v[1].t, v[2].t, v[3].b, v[4].b, v[5].d))                                                   \
    X(SDPA, "tttdbld", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *, double, bool, int64_t, double), \
      (c, v[0].t, v[1].t, v[2].t, v[3].d, v[4].b, v[5].i, v[6].d))                                           \
    X(CONV, "ttowl", (asc_ctx *, asc_tensor *, asc_tensor *, asc_tensor *, const asc_window *, int64_t),     \
      (c, v[0].t, v[1].t, v[2].t, &v[3].win, v[4].i))                                                        \
    X(CONV_BACK, "ttwlz",                                                                                    \
      (asc_ctx *, asc_tensor *, asc_tensor *, const asc_window *, int64_t, const int64_t *),                 \
      (c, v[0].t, v[1].t, &v[2].win, v[3].i, v[4].sizes))                                                    \
    X(TTZ, "ttz", (asc_ctx *, asc_tensor *, asc_tensor *, const int64_t *), (c, v[0].t, v[1].t, v[2].sizes)) \
    X(TW, "tw", (asc_ctx *, asc_tensor *, const asc_window *), (c, v[0].t, &v[1].win))                       \
    X(TWB, "twb", (asc_ctx *, asc_tensor *, const asc_window *, bool), (c, v[0].t, &v[1].win, v[2].b))

enum kind {
    KIND_NONE,
#define X(name, kinds, proto, args) KIND_##name,
    SIGNATURES(X)
#undef X
};

#define X(name, kinds, proto, args) typedef asc_tensor *(*fn_##name)proto;
SIGNATURES(X)
#undef X

#define X(name, kinds, proto, args) fn_##name : KIND_##name,
#define KIND_OF(fn) _Generic((fn), SIGNATURES(X) default : KIND_NONE)

static const struct op {
    const char *name;
    int kind;
    void (*fn)(void);
} ops[] = {
#define OP(E, name, proto) {#name, KIND_OF(&asc_##name), (void (*)(void))(&asc_##name)},
#include "ascribe/ops.def"
#undef OP
};
#undef X
enum { N_OPS = sizeof ops / sizeof *ops };

static const char *const kinds_of[] = {"",
#define X(name, kinds, proto, args) kinds,
                                       SIGNATURES(X)
#undef X
};

static asc_tensor *call(int kind, void (*fn)(void), asc_ctx *c, const slot *v) {
    switch (kind) {
#define X(name, kinds, proto, args)                                                                          \
    case KIND_##name:                                                                                        \
        return ((fn_##name)fn)args;
        SIGNATURES(X)
#undef X
    default:
        return NULL;
    }
}

PyObject *pyasc_op_table(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(N_OPS);
    for (Py_ssize_t i = 0; list != NULL && i < N_OPS; i++) {
        PyObject *pair = Py_BuildValue("(ss)", ops[i].name, kinds_of[ops[i].kind]);
        if (pair == NULL || PyList_SetItem(list, i, pair) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* ---- arguments ---- */

static int read_tensors(pyasc_frame *x, PyObject *o, slot *s) {
    PyObject *t = PySequence_Tuple(o);
    Py_ssize_t n = t != NULL ? PyTuple_Size(t) : -1;
    if (n > 8) PyErr_Format(PyExc_ValueError, "%zd tensors where at most 8 are taken", n);
    for (Py_ssize_t i = 0; i < n && n <= 8; i++) {
        s->ts[i] = pyasc_frame_get(x, PyTuple_GetItem(t, i));
        if (s->ts[i] == NULL) break;
    }
    s->n = (int)n;
    Py_XDECREF(t);
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* (kernel, stride, dilation, before, after, ceil) */
static int read_window(PyObject *o, asc_window *w) {
    int64_t *const to[] = {w->kernel, w->stride, w->dilation, w->before, w->after};
    if (!PyTuple_Check(o) || PyTuple_Size(o) != 6) {
        PyErr_SetString(PyExc_TypeError, "a window is (kernel, stride, dilation, before, after, ceil)");
        return -1;
    }
    for (Py_ssize_t i = 0; i < 5; i++)
        if (pyasc_ints(PyTuple_GetItem(o, i), "window", to[i], ASC_MAX_SPATIAL) < 0) return -1;
    int ceil = PyObject_IsTrue(PyTuple_GetItem(o, 5));
    w->ceil = ceil > 0;
    return ceil < 0 ? -1 : 0;
}

static int read_slot(pyasc_frame *x, char kind, PyObject *o, slot *s) {
    int64_t v[ASC_MAX_RANK];
    Py_ssize_t n;
    int truth;
    switch (kind) {
    case 'o':
        if (o == Py_None) return 0;
        /* fall through */
    case 't':
        s->t = pyasc_frame_get(x, o);
        return s->t != NULL ? 0 : -1;
    case 'T':
        return read_tensors(x, o, s);
    case 'd':
        s->d = PyFloat_AsDouble(o);
        return s->d == -1.0 && PyErr_Occurred() != NULL ? -1 : 0;
    case 'i':
    case 'l':
        s->i = PyLong_AsLongLong(o);
        if (kind == 'i' && PyErr_Occurred() == NULL && (s->i < INT32_MIN || s->i > INT32_MAX))
            PyErr_Format(PyExc_OverflowError, "%lld is not a number of 32 bits", (long long)s->i);
        return PyErr_Occurred() != NULL ? -1 : 0;
    case 'b':
        truth = PyObject_IsTrue(o);
        s->b = truth > 0;
        return truth < 0 ? -1 : 0;
    case 's':
        n = pyasc_ints(o, "shape", s->shape.dims, ASC_MAX_RANK);
        s->shape.rank = (int)n;
        return n < 0 ? -1 : 0;
    case 'a':
        n = pyasc_ints(o, "axes", v, ASC_MAX_RANK);
        for (Py_ssize_t i = 0; i < n; i++) s->ints[i] = v[i] < -99 || v[i] > 99 ? 99 : (int)v[i];
        s->n = (int)n;
        return n < 0 ? -1 : 0;
    case 'w':
        return read_window(o, &s->win);
    default:
        return pyasc_ints(o, "sizes", s->sizes, ASC_MAX_SPATIAL) < 0 ? -1 : 0;
    }
}

asc_tensor *pyasc_op_call(pyasc_frame *x, Py_ssize_t op, PyObject *args, Py_ssize_t first) {
    slot v[MAX_SLOTS] = {{0}};
    if (op < 0 || op >= N_OPS || ops[op].kind == KIND_NONE) {
        PyErr_Format(PyExc_ValueError, "there is no op %zd for nets in Python", op);
        return NULL;
    }
    const char *kinds = kinds_of[ops[op].kind];
    Py_ssize_t n = (Py_ssize_t)strlen(kinds), given = PyTuple_Size(args) - first;
    if (given != n) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", ops[op].name, n, given);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_slot(x, kinds[i], PyTuple_GetItem(args, first + i), &v[i]) != 0) return NULL;
    return call(ops[op].kind, ops[op].fn, x->c, v);
}
