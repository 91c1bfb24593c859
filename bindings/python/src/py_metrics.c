/* py_metrics.c - infidelity, sensitivity and attacks on nets for Python. Perturbed inputs are made before the
 * call, all samples at once, and read row by row here: example e, sample s is row e * samples + s. */
#include "ascribe/metrics.h"
#include "ascribe/robust.h"
#include "py_frame.h"
#include "py_request.h"

/* Rows of samples: one float64 array per attributed input. */
typedef struct rows {
    const asc_array *perturbed, *perturbation;
    size_t n, samples, size[64]; /* elements of a row */
} rows;

static void copy_row(const rows *r, const asc_array *from, size_t k, size_t example, size_t sample,
                     double *to) {
    const double *v = from[k].data;
    memcpy(to, v + (example * r->samples + sample) * r->size[k], r->size[k] * sizeof *v);
}

static void perturb_pair(void *self, size_t example, size_t sample, asc_example_inputs x,
                         double *const *perturbed, double *const *perturbation) {
    const rows *r = self;
    (void)x;
    for (size_t k = 0; k < r->n; k++) {
        copy_row(r, r->perturbed, k, example, sample, perturbed[k]);
        if (r->perturbation != NULL) copy_row(r, r->perturbation, k, example, sample, perturbation[k]);
    }
}

static void perturb_one(void *self, size_t example, size_t sample, asc_example_inputs x,
                        double *const *perturbed) {
    perturb_pair(self, example, sample, x, perturbed, NULL);
}

/* One list of arrays for all attributed inputs: [examples * samples, elements], of float64. */
static int read_rows(pyasc_request *q, PyObject *list, const char *what, rows *r, const asc_array **out) {
    asc_array *a;
    if (list == NULL || list == Py_None) return 0;
    Py_ssize_t n = pyasc_request_arrays(q, list, what, &a);
    if (n < 0) return -1;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (n > 64 || a[k].elem != ASC_ELEM_F64 || a[k].shape.rank != 2 || r->samples == 0 ||
            (uint64_t)a[k].shape.dims[0] % r->samples != 0 ||
            (uint64_t)a[k].shape.dims[0] / r->samples * r->samples != (uint64_t)a[k].shape.dims[0] ||
            (uintptr_t)a[k].data % _Alignof(double) != 0 ||
            (r->n > 0 && (r->n != (size_t)n || r->size[k] != (size_t)a[k].shape.dims[1]))) {
            PyErr_Format(PyExc_ValueError, "%s: float64 [examples * samples, elements] is wanted", what);
            return -1;
        }
        r->size[k] = (size_t)a[k].shape.dims[1];
    }
    r->n = (size_t)n;
    *out = a;
    return 0;
}

/* The perturbed rows must be those of the request's inputs: the library copies as many elements as they have.
 */
static int check_rows(const pyasc_request *q, const rows *r) {
    size_t k = 0;
    if (r->perturbed == NULL) return 0;
    for (size_t i = 0; i < q->q.n_inputs; i++) {
        const asc_array *a = &q->q.inputs[i];
        if ((q->q.fixed != NULL && q->q.fixed[i]) || !asc_elem_is_float(a->elem)) continue;
        int64_t b = a->shape.rank > 0 && !q->q.no_batch ? a->shape.dims[0] : 1, n = asc_array_count(a);
        if (k >= r->n || b < 1 || n < 0 || (size_t)(n / b) != r->size[k] ||
            r->perturbed[k].shape.dims[0] != b * (int64_t)r->samples) {
            PyErr_Format(PyExc_ValueError, "perturbed input %zu has another size than the input", k);
            return -1;
        }
        k++;
    }
    if (k == r->n) return 0;
    PyErr_Format(PyExc_ValueError, "%zu perturbed inputs for %zu attributed ones", r->n, k);
    return -1;
}

static PyObject *item(PyObject *dict, const char *name) {
    PyObject *v = PyDict_GetItemString(dict, name);
    return v == Py_None ? NULL : v;
}
static size_t size_item(PyObject *dict, const char *name) {
    PyObject *v = item(dict, name);
    return v != NULL ? PyLong_AsSize_t(v) : 0;
}
static double real_item(PyObject *dict, const char *name) {
    PyObject *v = item(dict, name);
    return v != NULL ? PyFloat_AsDouble(v) : 0.0;
}
static bool true_item(PyObject *dict, const char *name) {
    PyObject *v = item(dict, name);
    return v != NULL && PyObject_IsTrue(v) > 0;
}

static void free_metric(asc_ctx *c, void *p) { asc_metric_destroy(c, p); }

static PyObject *metric_dict(const asc_metric *m) {
    PyObject *values = pyasc_doubles(m->values, m->n), *means = pyasc_doubles(m->means, m->n),
             *betas = pyasc_doubles(m->betas, m->n), *d = NULL;
    if (values != NULL && means != NULL && betas != NULL)
        d = Py_BuildValue("{s:O,s:O,s:O,s:K}", "values", values, "means", means, "betas", betas, "n_forward",
                          (unsigned long long)m->n_forward);
    Py_XDECREF(values);
    Py_XDECREF(means);
    Py_XDECREF(betas);
    return d;
}

/* net_infidelity(subject, request, {"scores", "samples", "normalize", "stdev", "perturbed", "perturbation",
 * "derive", "per_input"}) -> dict */
PyObject *pyasc_net_infidelity(PyObject *module, PyObject *args) {
    pyasc_net_call c;
    asc_status st;
    PyObject *out = NULL;
    pyasc_request r = {.n_arrays = 0};
    asc_metric *m = NULL;
    asc_array *scores = NULL;
    (void)module;
    if (pyasc_net_call_read(args, &c) != 0) return NULL;
    PyObject *d = c.more;
    rows all = {.samples = size_item(d, "samples")};
    asc_infidelity_request how = {.struct_size = sizeof how,
                                  .samples = all.samples,
                                  .normalize = true_item(d, "normalize"),
                                  .stdev = real_item(d, "stdev"),
                                  .derive = true_item(d, "derive"),
                                  .per_input = true_item(d, "per_input"),
                                  .self = &all};
    bool ok = PyErr_Occurred() == NULL && pyasc_request_read(c.request, &r) == 0 &&
              read_rows(&r, item(d, "perturbed"), "perturbed", &all, &all.perturbed) == 0 &&
              read_rows(&r, item(d, "perturbation"), "perturbation", &all, &all.perturbation) == 0 &&
              check_rows(&r, &all) == 0;
    if (ok && item(d, "scores") != NULL) {
        Py_ssize_t n = pyasc_request_arrays(&r, item(d, "scores"), "scores", &scores);
        ok = n >= 0;
        how.scores = scores;
        how.n_scores = ok ? (size_t)n : 0;
    }
    if (ok && all.perturbed != NULL && all.perturbation == NULL && !how.derive) {
        PyErr_SetString(PyExc_ValueError, "perturbed without perturbation");
        ok = false;
    }
    if (all.perturbed != NULL) how.perturb = perturb_pair;
    if (ok && pyasc_net_call_enter(&c, &st) == 0) {
        if (st == ASC_OK) st = asc_infidelity(c.net, &r.q, &how, &m);
        if (pyasc_net_call_leave(&c, st) == 0) out = metric_dict(m);
        pyasc_dispose(c.s->x, free_metric, m);
    }
    pyasc_request_done(&r);
    return out;
}

/* net_sensitivity(subject, request, {"samples", "radius", "norm", "perturbed"}) -> dict */
PyObject *pyasc_net_sensitivity(PyObject *module, PyObject *args) {
    pyasc_net_call c;
    asc_status st;
    PyObject *out = NULL;
    pyasc_request r = {.n_arrays = 0};
    asc_metric *m = NULL;
    (void)module;
    if (pyasc_net_call_read(args, &c) != 0) return NULL;
    PyObject *d = c.more;
    rows all = {.samples = size_item(d, "samples")};
    asc_sensitivity_request how = {
        .struct_size = sizeof how, .samples = all.samples, .radius = real_item(d, "radius"), .self = &all};
    bool ok = PyErr_Occurred() == NULL && pyasc_request_read(c.request, &r) == 0 &&
              read_rows(&r, item(d, "perturbed"), "perturbed", &all, &all.perturbed) == 0 &&
              check_rows(&r, &all) == 0;
    if (ok && item(d, "norm") != NULL) {
        how.norm = PyUnicode_AsUTF8AndSize(item(d, "norm"), NULL);
        ok = how.norm != NULL;
    }
    if (all.perturbed != NULL) how.perturb = perturb_one;
    if (ok && pyasc_net_call_enter(&c, &st) == 0) {
        if (st == ASC_OK) st = asc_sensitivity(c.net, &r.q, &how, &m);
        if (pyasc_net_call_leave(&c, st) == 0) out = metric_dict(m);
        pyasc_dispose(c.s->x, free_metric, m);
    }
    pyasc_request_done(&r);
    return out;
}

/* ---- attacks ---- */

typedef struct slope {
    pyasc_ctx *x;
    PyObject *fn;
} slope;

static double call_slope(void *self, size_t example, double f) {
    slope *s = self;
    double v = 0.0;
    if (s->x->raised) return v;
    pyasc_callback_begin(s->x);
    PyObject *r = PyObject_CallFunction(s->fn, "nd", (Py_ssize_t)example, f);
    if (r != NULL) v = PyFloat_AsDouble(r);
    Py_XDECREF(r);
    (void)pyasc_callback_end(s->x, r != NULL);
    return v;
}

static void free_attack(asc_ctx *c, void *p) { asc_adversarial_destroy(c, p); }

static PyObject *attack_dict(const asc_adversarial *a) {
    PyObject *inputs = pyasc_scores_list(a->inputs, a->n_inputs),
             *before = pyasc_doubles(a->before, a->n_examples),
             *after = pyasc_doubles(a->after, a->n_examples), *d = NULL;
    if (inputs != NULL && before != NULL && after != NULL)
        d = Py_BuildValue("{s:O,s:O,s:O}", "inputs", inputs, "before", before, "after", after);
    Py_XDECREF(inputs);
    Py_XDECREF(before);
    Py_XDECREF(after);
    return d;
}

/* net_attack(subject, request, {"pgd", "loss": 0..2, "l2", "random_start", "slope"}) -> dict */
PyObject *pyasc_net_attack(PyObject *module, PyObject *args) {
    pyasc_net_call c;
    asc_status st;
    PyObject *out = NULL;
    pyasc_request r = {.n_arrays = 0};
    asc_adversarial *a = NULL;
    (void)module;
    if (pyasc_net_call_read(args, &c) != 0) return NULL;
    PyObject *d = c.more;
    slope own = {c.s->x, item(d, "slope")};
    size_t loss = size_item(d, "loss");
    bool pgd = true_item(d, "pgd");
    asc_attack how = {.struct_size = sizeof how,
                      .loss = loss <= ASC_LOSS_VALUE ? (asc_loss)loss : ASC_LOSS_NLL,
                      .ball = true_item(d, "l2") ? ASC_BALL_L2 : ASC_BALL_LINF,
                      .random_start = true_item(d, "random_start"),
                      .slope = own.fn != NULL ? call_slope : NULL,
                      .self = &own};
    if (PyErr_Occurred() == NULL && pyasc_request_read(c.request, &r) == 0) {
        how.masks = r.masks;
        how.n_masks = r.n_masks;
        if (pyasc_net_call_enter(&c, &st) == 0) {
            if (st == ASC_OK) st = pgd ? asc_pgd(c.net, &r.q, &how, &a) : asc_fgsm(c.net, &r.q, &how, &a);
            if (pyasc_net_call_leave(&c, st) == 0) out = attack_dict(a);
            pyasc_dispose(c.s->x, free_attack, a);
        }
    }
    pyasc_request_done(&r);
    return out;
}
