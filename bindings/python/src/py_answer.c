/* py_answer.c - the numbers of an answer: scalars as a dict, arrays as views on the answer's own memory. */
#include "py_answer.h"
#include <math.h>
#include <string.h>

static PyObject *bytes_text(const char *s, size_t n) {
    return PyUnicode_DecodeUTF8(s != NULL ? s : "", (Py_ssize_t)n, "replace");
}
static PyObject *text(const char *s) { return bytes_text(s, s != NULL ? strlen(s) : 0); }

/* Adds and drops the reference; false with an exception. */
static bool put(PyObject *d, const char *key, PyObject *take_v) {
    bool ok = take_v != NULL && PyDict_SetItemString(d, key, take_v) == 0;
    Py_XDECREF(take_v);
    return ok;
}
static bool put_text(PyObject *d, const char *key, const char *s) { return put(d, key, text(s)); }
static bool put_num(PyObject *d, const char *key, double v) { return put(d, key, PyFloat_FromDouble(v)); }
static bool put_int(PyObject *d, const char *key, uint64_t v) {
    return put(d, key, PyLong_FromUnsignedLongLong(v));
}
static bool put_bool(PyObject *d, const char *key, bool v) { return put(d, key, PyBool_FromLong(v)); }

static PyObject *text_list(char *const *v, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *t = text(v[i]);
        if (t == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, t);
    }
    return list;
}

/* ---- prompts ---- */

/* None for a text that is not there. */
static bool put_or_none(PyObject *d, const char *key, const char *s) {
    return put(d, key, s != NULL ? text(s) : Py_NewRef(Py_None));
}

/* The lines of s. */
static PyObject *line_list(const char *s) {
    PyObject *list = PyList_New(0);
    while (list != NULL && s != NULL && *s != '\0') {
        const size_t n = strcspn(s, "\n");
        PyObject *t = bytes_text(s, n);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
        s += n + (s[n] == '\n' ? 1 : 0);
    }
    return list;
}

/* (path, scale) of each. */
static PyObject *adapter_list(const asc_result *r) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < r->n_adapters; i++) {
        PyObject *t = Py_BuildValue("(Nd)", text(r->adapters[i].path), r->adapters[i].scale);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

static bool prompt_texts(PyObject *d, const asc_result *r) {
    return put_text(d, "method", r->method) && put_text(d, "rule", r->rule) &&
           put_text(d, "options", r->options) && put_text(d, "output", asc_output_name(r->output)) &&
           put_text(d, "feature_kind", asc_features_name(r->feature_kind)) &&
           put_text(d, "baseline", r->baseline) && put(d, "prompt", bytes_text(r->prompt, r->prompt_len)) &&
           put(d, "target", bytes_text(r->target, r->target_len)) &&
           put(d, "versus", bytes_text(r->versus, r->versus_len)) && put_text(d, "label", r->label) &&
           put_text(d, "versus_label", r->versus_label) && put_text(d, "second", r->second) &&
           put_text(d, "similar_to", r->similar_to) && put_or_none(d, "answer_kind", r->answer_kind) &&
           put_or_none(d, "site", r->site) && put_or_none(d, "neuron_site", r->neuron_site) &&
           put_or_none(d, "through", r->through) && put_text(d, "unit", asc_report_unit(r)) &&
           put_text(d, "model_path", r->model_path) && put_text(d, "architecture", r->architecture) &&
           put_text(d, "model_sha256", r->model_sha256) && put_text(d, "device", r->device) &&
           put_text(d, "mode", r->mode) && put_text(d, "precision", r->precision) &&
           put_text(d, "isa", r->isa) && put(d, "precision_at", line_list(r->precision_at)) &&
           put(d, "adapters", adapter_list(r));
}

static bool prompt_numbers(PyObject *d, const asc_result *r) {
    return put_num(d, "value", r->value) && put_num(d, "baseline_value", r->baseline_value) &&
           put_num(d, "target_prob", r->target_prob) && put_num(d, "sum", r->sum) &&
           put_num(d, "residual", r->residual) && put_num(d, "error_bound", r->error_bound) &&
           put_num(d, "noise_floor", r->noise_floor) && put_num(d, "seconds", r->seconds) &&
           put_num(d, "flops", r->flops) && put_num(d, "predicted_seconds", r->predicted_seconds) &&
           put_num(d, "predicted_least_seconds", r->predicted_least_seconds) &&
           put_num(d, "predicted_bytes_moved", r->predicted_bytes_moved) &&
           put_bool(d, "complete", r->complete) && put_bool(d, "converged", r->converged) &&
           put_bool(d, "refinable", r->refinable) && put_bool(d, "stochastic", r->stochastic) &&
           put_int(d, "n_forward", r->n_forward) && put_int(d, "n_backward", r->n_backward) &&
           put_int(d, "peak_bytes", r->peak_bytes) &&
           put_int(d, "predicted_peak_bytes", r->predicted_peak_bytes) && put_int(d, "steps", r->steps) &&
           put_int(d, "samples", r->samples) && put_int(d, "seed", r->seed) &&
           put_int(d, "panels", r->panels) && put_int(d, "n_forward_flat", r->n_forward_flat) &&
           put_int(d, "tokens_run", r->tokens_run) && put_int(d, "tokens_plain", r->tokens_plain) &&
           put_int(d, "prompts_per_pass", r->prompts_per_pass) &&
           put(d, "neuron", Py_BuildValue("(LL)", (long long)r->neuron_index, (long long)r->neuron_token)) &&
           put_int(d, "threads", (uint64_t)(r->n_threads > 0 ? r->n_threads : 0)) &&
           put(d, "span", Py_BuildValue("(nn)", (Py_ssize_t)r->span_start, (Py_ssize_t)r->span_end));
}

/* The model's own next tokens, or classes: (id, probability, name of the class or None). */
static PyObject *top_list(const asc_result *r) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < r->n_top; i++) {
        PyObject *t = Py_BuildValue("(idz)", r->top[i].id, r->top[i].prob, r->top_labels[i]);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

static PyObject *inner_list(const asc_result *r) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < r->n_inner; i++) {
        const asc_inner_row *w = &r->inner[i];
        PyObject *t =
            Py_BuildValue("(sLLdd)", w->name, (long long)w->layer, (long long)w->head, w->total, w->error);
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* ---- nets ---- */

static bool net_facts(PyObject *d, const asc_attribution *r) {
    return put_text(d, "method", r->method) && put_text(d, "options", r->options) &&
           put_bool(d, "complete", r->complete) && put_bool(d, "stochastic", r->stochastic) &&
           put_bool(d, "converged", r->converged) && put_num(d, "error_bound", r->error_bound) &&
           put_num(d, "seconds", r->seconds) && put_num(d, "flops", r->flops) &&
           put_num(d, "predicted_seconds", r->predicted_seconds) &&
           put_num(d, "predicted_least_seconds", r->predicted_least_seconds) &&
           put_int(d, "n_examples", r->n_examples) && put_int(d, "n_outputs", r->n_outputs) &&
           put_int(d, "n_forward", r->n_forward) && put_int(d, "n_backward", r->n_backward) &&
           put_int(d, "rows_per_pass", r->rows_per_pass) && put_int(d, "peak_bytes", r->peak_bytes) &&
           put_int(d, "predicted_peak_bytes", r->predicted_peak_bytes) &&
           put(d, "warnings", text_list(r->notes, r->n_notes));
}

PyObject *pyasc_answer_facts(PyObject *self, PyObject *unused) {
    (void)unused;
    const pyasc_answer *a = (pyasc_answer *)self;
    const asc_result *r = asc_answer_result(a->a);
    const asc_attribution *t = asc_answer_attribution(a->a);
    PyObject *d = PyDict_New();
    bool ok = d != NULL;
    if (ok && r != NULL)
        ok = prompt_texts(d, r) && prompt_numbers(d, r) && put(d, "top", top_list(r)) &&
             put(d, "inner", inner_list(r)) && put(d, "warnings", text_list(r->warnings, r->n_warnings));
    if (ok && t != NULL) ok = net_facts(d, t);
    if (ok) return d;
    Py_XDECREF(d);
    return NULL;
}

PyObject *pyasc_answer_features(PyObject *self, PyObject *unused) {
    (void)unused;
    const asc_result *r = asc_answer_result(((pyasc_answer *)self)->a);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && r != NULL && i < r->n_features; i++) {
        const asc_feature *f = &r->features[i];
        PyObject *t = Py_BuildValue("(NnnnnLdds)", bytes_text(f->text, f->text_len), (Py_ssize_t)f->start,
                                    (Py_ssize_t)f->end, (Py_ssize_t)f->first_token, (Py_ssize_t)f->n_tokens,
                                    (long long)f->message, f->score, f->error, asc_features_name(f->kind));
        if (t == NULL || PyList_Append(list, t) != 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* ---- arrays ---- */

typedef struct view {
    const char *name;
    const void *data;
    asc_elem elem;
    size_t rows, columns; /* columns 0: a vector */
    size_t step;          /* bytes between rows; 0 = packed */
} view;

static PyObject *lend(PyObject *self, const view *v) {
    if (v->data == NULL) Py_RETURN_NONE;
    asc_shape shape =
        v->columns > 0 ? ASC_SHAPE((int64_t)v->rows, (int64_t)v->columns) : ASC_SHAPE((int64_t)v->rows);
    int64_t stride = (int64_t)v->step;
    return pyasc_array_lend(self, v->data, v->elem, &shape, v->step > 0 ? &stride : NULL);
}

PyObject *pyasc_answer_array(PyObject *self, PyObject *name) {
    const pyasc_answer *a = (pyasc_answer *)self;
    const asc_result *r = asc_answer_result(a->a);
    const asc_attribution *t = asc_answer_attribution(a->a);
    const char *want = PyUnicode_AsUTF8AndSize(name, NULL);
    if (want == NULL) return NULL;
    if (r != NULL) {
        const asc_elem f64 = ASC_ELEM_F64, i32 = ASC_ELEM_I32, u64 = ASC_ELEM_U64;
        const size_t n = r->n_features, step = sizeof *r->features;
        const view views[] = {{"scores", n > 0 ? &r->features->score : NULL, f64, n, 0, step},
                              {"errors", n > 0 ? &r->features->error : NULL, f64, n, 0, step},
                              {"token_scores", r->scores, f64, r->n_prompt, 0, 0},
                              {"token_errors", r->score_errors, f64, r->n_prompt, 0, 0},
                              {"prompt_ids", r->prompt_ids, i32, r->n_prompt, 0, 0},
                              {"token_start", r->token_start, u64, r->n_prompt, 0, 0},
                              {"token_end", r->token_end, u64, r->n_prompt, 0, 0},
                              {"target_ids", r->target_ids, i32, r->n_target, 0, 0},
                              {"versus_ids", r->versus_ids, i32, r->n_versus, 0, 0},
                              {"matrix", r->matrix, f64, r->n_matrix, n, 0},
                              {"matrix_errors", r->matrix_errors, f64, r->n_matrix, n, 0},
                              {"token_values", r->token_values, f64, r->n_matrix, 0, 0},
                              {"inner_scores", r->inner_scores, f64, r->n_inner, n, 0}};
        for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
            if (strcmp(want, views[i].name) == 0) return lend(self, &views[i]);
        }
    }
    if (t != NULL) {
        const size_t n = t->n_examples * t->n_outputs;
        const view views[] = {{"value", t->value, ASC_ELEM_F64, n, 0, 0},
                              {"baseline_value", t->baseline_value, ASC_ELEM_F64, n, 0, 0},
                              {"delta", t->n_delta > 0 ? t->delta : NULL, ASC_ELEM_F64, t->n_delta, 0, 0}};
        for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
            if (strcmp(want, views[i].name) == 0) return lend(self, &views[i]);
        }
    }
    return pyasc_error(ASC_NOT_FOUND, "", "results have no array '%s'", want);
}

PyObject *pyasc_answer_scores(PyObject *self, PyObject *unused) {
    (void)unused;
    const asc_attribution *t = asc_answer_attribution(((pyasc_answer *)self)->a);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && t != NULL && i < t->n_scores; i++) {
        const asc_scores *s = &t->scores[i];
        PyObject *data = s->data != NULL ? pyasc_array_lend(self, s->data, ASC_ELEM_F64, &s->shape, NULL)
                                         : Py_NewRef(Py_None);
        PyObject *error = s->error != NULL ? pyasc_array_lend(self, s->error, ASC_ELEM_F64, &s->shape, NULL)
                                           : Py_NewRef(Py_None);
        PyObject *row =
            data != NULL && error != NULL ? Py_BuildValue("(NOO)", text(s->name), data, error) : NULL;
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
        Py_XDECREF(data);
        Py_XDECREF(error);
    }
    return list;
}
