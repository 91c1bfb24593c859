/* py_generate.c - language models continuing a text, and how probable they hold a given one. */
#include "pyasc.h"

enum { MAX_BIAS = 4096 };

static const char *const finishes[] = {[ASC_FINISH_NONE] = "",
                                       [ASC_FINISH_END] = "end",
                                       [ASC_FINISH_STOP] = "stop",
                                       [ASC_FINISH_LENGTH] = "length",
                                       [ASC_FINISH_CALLER] = "caller"};

typedef struct telling {
    pyasc_ctx *x;
    PyObject *on_token; /* NULL = nobody listens */
} telling;

static PyObject *top_of(const asc_generated *t) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < t->n_top; i++) {
        PyObject *pair = Py_BuildValue("(id)", t->top[i].id, t->top[i].logprob);
        if (pair == NULL || PyList_Append(list, pair) != 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* on_token(id, logprob, text as bytes, [(id, logprob), ...]); False stops. */
static bool tell(void *self, const asc_generated *t) {
    telling *w = self;
    if (w->on_token == NULL) return true;
    pyasc_callback_begin(w->x);
    PyObject *top = top_of(t);
    PyObject *r = top == NULL ? NULL
                              : PyObject_CallFunction(w->on_token, "idy#O", t->id, t->logprob,
                                                      t->text.ptr != NULL ? t->text.ptr : "",
                                                      (Py_ssize_t)t->text.len, top);
    bool ok = r != NULL && r != Py_False;
    Py_XDECREF(r);
    Py_XDECREF(top);
    return pyasc_callback_end(w->x, ok);
}

/* What generate() borrows while it runs. */
typedef struct choices {
    asc_logit_bias *bias;
    asc_view *stop;
    int32_t *ids, *out;
} choices;

static void choices_free(choices *c) {
    PyMem_Free(c->bias);
    PyMem_Free(c->stop);
    PyMem_Free(c->ids);
    PyMem_Free(c->out);
}

/* bias: list of (id, add); stop: list of bytes. */
static int take_choices(asc_generate_options *o, choices *c, PyObject *bias, PyObject *stop) {
    Py_ssize_t n_bias = bias != Py_None ? PyList_Size(bias) : 0,
               n_stop = stop != Py_None ? PyList_Size(stop) : 0;
    if (n_bias < 0 || n_stop < 0) return -1;
    if (n_bias > MAX_BIAS || n_stop > ASC_MAX_STOPS) {
        pyasc_error(ASC_INVALID_ARGUMENT, "", "%zd entries of bias and %zd stop strings; at most %d and %d",
                    n_bias, n_stop, MAX_BIAS, ASC_MAX_STOPS);
        return -1;
    }
    c->bias = PyMem_Calloc((size_t)n_bias + 1, sizeof *c->bias);
    c->stop = PyMem_Calloc((size_t)n_stop + 1, sizeof *c->stop);
    c->out = PyMem_Calloc(o->max_tokens + 1, sizeof *c->out);
    if (c->bias == NULL || c->stop == NULL || c->out == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_bias; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(bias, i), "id", &c->bias[i].id, &c->bias[i].add)) return -1;
    }
    for (Py_ssize_t i = 0; i < n_stop; i++) {
        char *text;
        Py_ssize_t len;
        if (PyBytes_AsStringAndSize(PyList_GetItem(stop, i), &text, &len) != 0) return -1;
        c->stop[i] = (asc_view){.ptr = text, .len = (size_t)len};
    }
    o->bias = c->bias;
    o->n_bias = (size_t)n_bias;
    o->stop = c->stop;
    o->n_stop = (size_t)n_stop;
    return 0;
}

/* generate(ids, max_tokens, ...) -> (ids, why it ended) */
PyObject *pyasc_subject_generate(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"ids",
                                        "max_tokens",
                                        "temperature",
                                        "top_k",
                                        "top_p",
                                        "min_p",
                                        "seed",
                                        "ignore_eos",
                                        "repetition_penalty",
                                        "presence_penalty",
                                        "frequency_penalty",
                                        "bias",
                                        "stop",
                                        "top",
                                        "on_token",
                                        "held",
                                        NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    PyObject *list, *bias = Py_None, *stop = Py_None, *on_token = Py_None, *result = NULL;
    PyObject *held = Py_None;
    pyasc_hold *hold = NULL;
    asc_generate_options o = {.struct_size = sizeof o};
    asc_finish finish = ASC_FINISH_NONE;
    Py_ssize_t max_tokens = 0, top = 0;
    unsigned long long seed = 0;
    int ignore_eos = 0;
    choices c = {0};
    size_t n, n_out = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "On|diddKpdddOOnOO", (char **)names, &list, &max_tokens,
                                     &o.temperature, &o.top_k, &o.top_p, &o.min_p, &seed, &ignore_eos,
                                     &o.repetition_penalty, &o.presence_penalty, &o.frequency_penalty, &bias,
                                     &stop, &top, &on_token, &held))
        return NULL;
    if (max_tokens < 1 || max_tokens > 1 << 24 || top < 0)
        return pyasc_error(ASC_OUT_OF_RANGE, "", "max_tokens is %zd; it counts from 1 to %d", max_tokens,
                           1 << 24);
    asc_model *m = pyasc_model_of(s, "continue a text");
    telling t = {.x = s->x, .on_token = on_token == Py_None ? NULL : on_token};
    o.max_tokens = (size_t)max_tokens;
    o.seed = seed;
    o.ignore_eos = ignore_eos != 0;
    o.n_top = (size_t)top;
    o.on_generated = tell;
    o.self = &t;
    o.out_finish = &finish;
    if (m != NULL && take_choices(&o, &c, bias, stop) == 0 && pyasc_ids_in(list, "ids", &c.ids, &n) == 0 &&
        pyasc_hold_in(s, held, &hold) == 0 && pyasc_subject_enter(s, NULL) == 0) {
        asc_status st = pyasc_hold_begin(hold);
        if (st == ASC_OK) st = asc_generate(m, c.ids, n, &o, c.out, &n_out);
        pyasc_hold_end(hold);
        if (pyasc_leave(s->x, st) == 0) result = PyList_New((Py_ssize_t)n_out);
    }
    for (size_t i = 0; result != NULL && i < n_out; i++)
        PyList_SetItem(result, (Py_ssize_t)i, PyLong_FromLong(c.out[i]));
    pyasc_hold_free(hold);
    choices_free(&c);
    return result != NULL ? Py_BuildValue("(Ns)", result, finishes[finish]) : NULL;
}

/* logprobs(ids, top, on_token): on_token as generate's, for each token of ids; the first one's is NaN. */
PyObject *pyasc_subject_logprobs(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"ids", "top", "on_token", "held", NULL};
    pyasc_subject *s = (pyasc_subject *)self;
    PyObject *list, *on_token, *held = Py_None;
    pyasc_hold *hold;
    Py_ssize_t top = 0;
    int32_t *ids;
    size_t n;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OnO|O", (char **)names, &list, &top, &on_token, &held))
        return NULL;
    if (top < 0 || top > ASC_MAX_TOP)
        return pyasc_error(ASC_OUT_OF_RANGE, "", "top is %zd; it goes from 0 to %d", top, ASC_MAX_TOP);
    asc_model *m = pyasc_model_of(s, "predict next tokens");
    if (m == NULL || pyasc_hold_in(s, held, &hold) != 0) return NULL;
    if (pyasc_ids_in(list, "ids", &ids, &n) != 0) {
        pyasc_hold_free(hold);
        return NULL;
    }
    telling t = {.x = s->x, .on_token = on_token};
    int done = -1;
    if (pyasc_subject_enter(s, NULL) == 0) {
        asc_status st = pyasc_hold_begin(hold);
        if (st == ASC_OK) st = asc_model_logprobs(m, ids, n, (size_t)top, tell, &t);
        pyasc_hold_end(hold);
        done = pyasc_leave(s->x, st);
    }
    pyasc_hold_free(hold);
    PyMem_Free(ids);
    if (done != 0) return NULL;
    Py_RETURN_NONE;
}
