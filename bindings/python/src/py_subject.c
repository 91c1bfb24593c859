/* py_subject.c - _ascribe.Subject: a model of any kind, opened in a context of its own; its life, and what it
 * says of itself. After close() every use is an error; what results still stand on goes when they go. */
#include "pyasc.h"

static const char *const kinds[] = {
    [ASC_SUBJECT_DECODER] = "decoder", [ASC_SUBJECT_ENCODER] = "encoder", [ASC_SUBJECT_NET] = "net"};

typedef struct closing { /* what is left to free, in this order */
    asc_subject *s;
    pyasc_free_fn free_more;
    void *more;
} closing;

static void free_subject(asc_ctx *ctx, void *p) {
    closing *c = p;
    asc_subject_close(c->s);
    if (c->free_more != NULL) c->free_more(ctx, c->more);
    PyMem_Free(c);
}

void pyasc_subject_close_now(pyasc_subject *s) {
    if (s->s == NULL) return;
    closing *c = PyMem_Malloc(sizeof *c);
    if (c == NULL) return;
    *c = (closing){.s = s->s, .free_more = s->free_more, .more = s->more};
    s->s = NULL;
    pyasc_dispose(s->x, free_subject, c);
}

PyObject *pyasc_subject_wrap(pyasc_ctx *x, asc_subject *take_s, pyasc_free_fn free_more, void *more) {
    pyasc_subject *s = (pyasc_subject *)pyasc_object_new(pyasc_subject_type);
    pyasc_subject lost = {.x = x, .s = take_s, .free_more = free_more, .more = more};
    if (s == NULL) {
        pyasc_subject_close_now(&lost);
        return NULL;
    }
    Py_INCREF((PyObject *)x);
    s->x = x;
    s->s = take_s;
    s->free_more = free_more;
    s->more = more;
    return (PyObject *)s;
}

int pyasc_subject_enter(pyasc_subject *s, PyObject *progress) {
    if (s->closed) {
        pyasc_error(ASC_FAILED_PRECONDITION, "load it again: ascribe.load(...)", "this model is closed");
        return -1;
    }
    if (pyasc_enter(s->x, progress) != 0) return -1;
    if (!s->closed) return 0;
    if (pyasc_leave(s->x, ASC_OK) == 0) /* closed by another thread while this one waited */
        pyasc_error(ASC_FAILED_PRECONDITION, "load it again: ascribe.load(...)", "this model is closed");
    return -1;
}

static void subject_dealloc(PyObject *self) {
    pyasc_subject *s = (pyasc_subject *)self;
    if (s->x != NULL) pyasc_subject_close_now(s);
    Py_XDECREF(s->held);
    Py_XDECREF((PyObject *)s->x);
    pyasc_object_free(self);
}

/* ---- opening ---- */

enum { MAX_ADAPTERS = 64 };

/* Subject(context, path, weights, adapters): adapters is a list of (path, scale). */
static PyObject *subject_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"context", "path", "weights", "adapters", "shuffle_seed", NULL};
    (void)type;
    PyObject *ctx, *path, *adapters = NULL;
    const char *weights = "auto";
    unsigned long long shuffle = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O&|sOK", (char **)names, pyasc_ctx_type, &ctx,
                                     PyUnicode_FSConverter, &path, &weights, &adapters, &shuffle))
        return NULL;
    asc_adapter list[MAX_ADAPTERS];
    asc_model_options o = {.struct_size = sizeof o, .adapters = list, .shuffle_seed = shuffle};
    static const char *const modes[] = {"auto", "stored", "expanded"};
    PyObject *result = NULL;
    int mode = -1;
    for (int i = 0; i < 3; i++) mode = strcmp(weights, modes[i]) == 0 ? i : mode;
    if (mode < 0) {
        pyasc_error(ASC_INVALID_ARGUMENT, "use 'stored' or 'expanded'", "weights '%s' is unknown", weights);
        goto done;
    }
    o.weights = (asc_weights_mode)mode;
    Py_ssize_t n = adapters != NULL && adapters != Py_None ? PyList_Size(adapters) : 0;
    if (n < 0) goto done;
    if (n > MAX_ADAPTERS) {
        pyasc_error(ASC_INVALID_ARGUMENT, "", "%zd adapters; at most %d", n, MAX_ADAPTERS);
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(adapters, i), "sd", &list[i].path, &list[i].scale)) goto done;
    }
    o.n_adapters = (size_t)n;
    pyasc_ctx *x = (pyasc_ctx *)ctx;
    asc_subject *s = NULL;
    const char *bytes = PyBytes_AsString(path);
    if (bytes == NULL || pyasc_enter(x, NULL) != 0) goto done;
    asc_status st = asc_subject_open(x->c, bytes, &o, &s);
    if (pyasc_leave(x, st) == 0) result = pyasc_subject_wrap(x, s, NULL, NULL);
done:
    Py_DECREF(path);
    return result;
}

/* ---- what it says ---- */

static PyObject *subject_close(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_subject *s = (pyasc_subject *)self;
    s->closed = true;
    if (s->n_live == 0) pyasc_subject_close_now(s);
    Py_RETURN_NONE;
}

/* hold(list): what questions find in the place of inner values from now on; an empty one ends it. */
static PyObject *subject_hold(PyObject *self, PyObject *list) {
    pyasc_subject *s = (pyasc_subject *)self;
    const Py_ssize_t n = PyList_Size(list);
    if (n < 0) return NULL;
    PyObject *before = s->held;
    s->held = n > 0 ? Py_NewRef(list) : NULL;
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyObject *subject_check(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_subject *s = (pyasc_subject *)self;
    if (pyasc_subject_enter(s, NULL) != 0) return NULL;
    if (pyasc_leave(s->x, asc_subject_check_file(s->s)) != 0) return NULL;
    Py_RETURN_NONE;
}

/* Adds a value and drops the reference; false with an exception. */
static bool put(PyObject *d, const char *key, PyObject *take_v) {
    bool ok = take_v != NULL && PyDict_SetItemString(d, key, take_v) == 0;
    Py_XDECREF(take_v);
    return ok;
}

static PyObject *text_of(const char *s) {
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "surrogateescape");
}

static PyObject *model_info(const asc_model *m) {
    asc_model_info i = asc_model_get_info(m);
    PyObject *d = PyDict_New();
    const struct {
        const char *key;
        int64_t v;
    } numbers[] = {{"n_layers", i.n_layers},
                   {"d_model", i.d_model},
                   {"n_heads", i.n_heads},
                   {"n_kv_heads", i.n_kv_heads},
                   {"head_dim", i.head_dim},
                   {"d_ff", i.d_ff},
                   {"n_vocab", i.n_vocab},
                   {"context_length", i.context_length},
                   {"n_params", i.n_params},
                   {"file_bytes", (int64_t)i.file_bytes},
                   {"n_classes", (int64_t)asc_model_n_classes(m)},
                   {"embedding_width", (int64_t)asc_model_embedding_width(m)}};
    bool ok = d != NULL && put(d, "architecture", text_of(i.architecture)) && put(d, "name", text_of(i.name));
    for (size_t k = 0; ok && k < sizeof numbers / sizeof numbers[0]; k++)
        ok = put(d, numbers[k].key, PyLong_FromLongLong(numbers[k].v));
    if (ok) return d;
    Py_XDECREF(d);
    return NULL;
}

static PyObject *port_tuple(asc_port p) {
    PyObject *dims = PyTuple_New(p.shape.rank);
    for (int d = 0; dims != NULL && d < p.shape.rank; d++) {
        PyObject *n = PyLong_FromLongLong(p.shape.dims[d]);
        if (n == NULL || PyTuple_SetItem(dims, d, n) != 0) {
            Py_DECREF(dims);
            return NULL;
        }
    }
    if (dims == NULL) return NULL;
    return Py_BuildValue("(NsNO)", text_of(p.name), asc_elem_name(p.elem), dims,
                         p.batch ? Py_True : Py_False);
}

static PyObject *net_info(const asc_net *net) {
    PyObject *in = PyList_New(0), *out = PyList_New(0);
    bool ok = in != NULL && out != NULL;
    for (int side = 0; side < 2 && ok; side++) {
        size_t n = side == 0 ? asc_net_n_inputs(net) : asc_net_n_outputs(net);
        for (size_t i = 0; ok && i < n; i++) {
            PyObject *t = port_tuple(side == 0 ? asc_net_input(net, i) : asc_net_output(net, i));
            ok = t != NULL && PyList_Append(side == 0 ? in : out, t) == 0;
            Py_XDECREF(t);
        }
    }
    if (ok) return Py_BuildValue("{s:N,s:N}", "inputs", in, "outputs", out);
    Py_XDECREF(in);
    Py_XDECREF(out);
    return NULL;
}

static PyObject *subject_info(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_subject *s = (pyasc_subject *)self;
    if (pyasc_subject_enter(s, NULL) != 0) return NULL; /* facts do not change: read outside */
    if (pyasc_leave(s->x, ASC_OK) != 0) return NULL;
    const asc_model *m = asc_subject_model(s->s);
    return m != NULL ? model_info(m) : net_info(asc_subject_net(s->s));
}

static PyObject *subject_sites(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_subject *s = (pyasc_subject *)self;
    if (pyasc_subject_enter(s, NULL) != 0) return NULL;
    if (pyasc_leave(s->x, ASC_OK) != 0) return NULL;
    const asc_model *m = asc_subject_model(s->s);
    const asc_net *net = asc_subject_net(s->s);
    char name[128];
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL; i++) {
        const char *site = net != NULL ? asc_net_site(net, i) : NULL;
        if (net == NULL && asc_model_site(m, i, name, sizeof name)) site = name;
        if (site == NULL) break;
        PyObject *t = text_of(site);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* Names of the classes: of a classifier, of a net that names them. */
static PyObject *subject_classes(PyObject *self, PyObject *unused) {
    (void)unused;
    pyasc_subject *s = (pyasc_subject *)self;
    if (pyasc_subject_enter(s, NULL) != 0) return NULL;
    if (pyasc_leave(s->x, ASC_OK) != 0) return NULL;
    const asc_model *m = asc_subject_model(s->s);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL; i++) {
        const char *name = m != NULL ? asc_model_class_name(m, i) : asc_net_label(asc_subject_net(s->s), i);
        if (name == NULL) break;
        PyObject *t = text_of(name);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

static PyObject *subject_kind(PyObject *self, void *unused) {
    (void)unused;
    pyasc_subject *s = (pyasc_subject *)self;
    if (s->s == NULL) return pyasc_error(ASC_FAILED_PRECONDITION, "load it again", "this model is closed");
    return PyUnicode_FromString(kinds[asc_subject_get_kind(s->s)]);
}

static PyObject *subject_closed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((pyasc_subject *)self)->closed);
}

static PyObject *subject_context(PyObject *self, void *unused) {
    (void)unused;
    PyObject *x = (PyObject *)((pyasc_subject *)self)->x;
    Py_INCREF((PyObject *)x);
    return x;
}

static PyGetSetDef subject_getset[] = {
    {"kind", subject_kind, NULL, "\"decoder\", \"encoder\" or \"net\".", NULL},
    {"closed", subject_closed, NULL, "Whether close() was called.", NULL},
    {"context", subject_context, NULL, "The context it was opened in.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define FORWARD(name, flags, doc)                                                                            \
    { #name, PYASC_METHOD(pyasc_subject_##name), flags, doc }
enum { FAST = METH_FASTCALL, WORDS = METH_VARARGS | METH_KEYWORDS };

static PyMethodDef subject_methods[] = {
    {"close", subject_close, METH_NOARGS, "Ends it; results made before stay usable."},
    {"hold", subject_hold, METH_O,
     "hold(list of (site, array or function, None)): a net's, for net_attribute."},
    {"check_file", subject_check, METH_NOARGS, "Raises when the file was replaced since it was opened."},
    {"info", subject_info, METH_NOARGS, "Facts as a dict."},
    {"sites", subject_sites, METH_NOARGS, "Names of the inner values."},
    {"classes", subject_classes, METH_NOARGS, "Names of the classes."},
    FORWARD(ask, FAST, "ask(json, names, arrays, dry_run, progress) -> Answer"),
    FORWARD(run_net, FAST, "run_net(arrays, names, patches) -> list of Array"),
    FORWARD(tokenize, WORDS, "tokenize(text, special, bos, continues) -> (ids, starts, ends)"),
    FORWARD(encode, WORDS, "encode(text, second) -> (ids, types)"),
    FORWARD(detokenize, WORDS, "detokenize(ids, special) -> bytes"),
    FORWARD(piece, WORDS, "piece(id) -> bytes"),
    FORWARD(chat, WORDS, "chat(json) -> (text, ids)"),
    FORWARD(generate, WORDS, "generate(ids, max_tokens, ...) -> (ids, why it ended)"),
    FORWARD(logprobs, WORDS, "logprobs(ids, top, on_token)"),
    FORWARD(embed, WORDS, "embed([(ids, types or None)], progress) -> (bytes of float64, width)"),
    FORWARD(run_model, WORDS, "run_model(ids, types, read, patches, head, rows) -> (list of Array, Array)"),
    {NULL, NULL, 0, NULL}};

static PyType_Slot subject_slots[] = {{Py_tp_dealloc, PYASC_SLOT(subject_dealloc)},
                                      {Py_tp_new, PYASC_SLOT(subject_new)},
                                      {Py_tp_getset, subject_getset},
                                      {Py_tp_methods, subject_methods},
                                      {0, NULL}};

PyType_Spec pyasc_subject_spec = {.name = "ascribe._ascribe.Subject",
                                  .basicsize = sizeof(pyasc_subject),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = subject_slots};
