/* asked_net.c - see asked_net.h. */
#include "asked_net.h"
#include "net.h"
#include "npy.h"
#include "text_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARRAYS = 64 };

struct asked_net {
    asc_ctx *ctx;
    asc_net *net;
    asked_form form;
    asc_strbuf json;
    bool bad, some; /* some: a key stands already */
    asc_named_array arrays[MOST_ARRAYS];
    int64_t strides[MOST_ARRAYS][ASC_MAX_RANK];
    char names[MOST_ARRAYS][8];
    void *blocks[MOST_ARRAYS];
    size_t n_arrays;
    asc_subject *subject;
    asc_question *question;
    asc_answer *answer;
};

static void add(asked_net *a, const char *s) { asc_strbuf_addv(&a->json, asc_view_of(s)); }

static void key(asked_net *a, const char *name) {
    asc_strbuf_addf(&a->json, "%s\"%s\": ", a->some ? ", " : "", name);
    a->some = true;
}

/* Names of nets, without quotes inside. */
static void text(asked_net *a, const char *name, const char *s) {
    if (s == NULL) return;
    key(a, name);
    asc_strbuf_addf(&a->json, "\"%s\"", s);
}

static void count(asked_net *a, const char *name, size_t n) {
    if (n == 0) return;
    key(a, name);
    asc_strbuf_addf(&a->json, "%zu", n);
}

static void number(asked_net *a, const char *name, double v) {
    if (v == 0.0) return;
    key(a, name);
    asc_strbuf_addf(&a->json, "%.17g", v);
}

static void flag(asked_net *a, const char *name, bool on) {
    if (!on) return;
    key(a, name);
    add(a, "true");
}

static void lists(asked_net *a, const asc_array *x, int depth, int64_t *at) {
    if (depth == x->shape.rank) {
        double v;
        asc_array_get(x, (*at)++, 1, &v);
        asc_strbuf_addf(&a->json, "%.17g", v);
        return;
    }
    add(a, "[");
    for (int64_t i = 0; i < x->shape.dims[depth]; i++) {
        if (i > 0) add(a, ",");
        lists(a, x, depth + 1, at);
    }
    add(a, "]");
}

/* Element i stands where index i counts backwards along every dimension, three elements apart. */
static const void *spread(asked_net *a, const asc_array *x, size_t slot) {
    const size_t size = asc_elem_bytes(x->elem);
    const int64_t n = asc_array_count(x);
    int64_t step = 3 * (int64_t)size, last = 0;
    char *block = malloc((size_t)(n > 0 ? n : 1) * 3 * size);
    if (block == NULL) abort();
    a->blocks[slot] = block;
    memset(block, 0x7f, (size_t)(n > 0 ? n : 1) * 3 * size);
    for (int d = x->shape.rank - 1; d >= 0; d--) {
        a->strides[slot][d] = -step;
        last += step * (x->shape.dims[d] - 1);
        step *= x->shape.dims[d];
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(block + (n - 1 - i) * 3 * (int64_t)size, (const char *)x->data + i * (int64_t)size, size);
    a->arrays[slot].strides = a->strides[slot];
    return n > 0 ? block + last : block;
}

static void array(asked_net *a, const asc_array *x) {
    asc_strbuf npy;
    int64_t at = 0;
    if (x->data == NULL) {
        add(a, "null");
        return;
    }
    switch (a->form) {
    case ASKED_LISTS:
        lists(a, x, 0, &at);
        return;
    case ASKED_NPY:
        asc_strbuf_init(&npy, a->ctx);
        a->bad = asc_npy_print(a->ctx, x, &npy) != ASC_OK || a->bad;
        add(a, "{\"npy_b64\": \"");
        asc_base64(&a->json, asc_strbuf_view(&npy));
        add(a, "\"}");
        asc_strbuf_deinit(&npy);
        return;
    default:
        break;
    }
    size_t slot = a->n_arrays++;
    if (slot >= MOST_ARRAYS) abort();
    snprintf(a->names[slot], sizeof a->names[slot], "a%zu", slot);
    a->arrays[slot] = (asc_named_array){.name = a->names[slot], .array = *x};
    if (a->form == ASKED_STRIDED && x->shape.rank > 0) a->arrays[slot].array.data = spread(a, x, slot);
    asc_strbuf_addf(&a->json, "{\"array\": \"%s\"}", a->names[slot]);
}

static void arrays(asked_net *a, const char *name, const asc_array *x, size_t n) {
    bool any = false;
    for (size_t i = 0; i < n; i++) any = any || x[i].data != NULL;
    if (!any) return;
    key(a, name);
    if (n == 1) {
        array(a, x);
        return;
    }
    add(a, "{\"arrays\": [");
    for (size_t i = 0; i < n; i++) {
        if (i > 0) add(a, ", ");
        array(a, &x[i]);
    }
    add(a, "]}");
}

static void wholes(asked_net *a, const int64_t *v, size_t n) {
    add(a, "[");
    for (size_t i = 0; i < n; i++) asc_strbuf_addf(&a->json, "%s%lld", i > 0 ? "," : "", (long long)v[i]);
    add(a, "]");
}

/* Numbers of one example's value. */
static size_t row_of(const asked_net *a, const asc_attr_request *q, const asc_target *t, size_t rows) {
    asc_array v = {0};
    const char *name = t->value != NULL ? t->value : asc_net_output(a->net, 0).name;
    if (asc_net_run(a->net, q->inputs, q->n_inputs, &name, 1, &v) != ASC_OK) return 0;
    size_t n = (size_t)asc_array_count(&v);
    bool batch = false;
    for (size_t i = 0; i < asc_net_n_inputs(a->net); i++) batch = batch || asc_net_input(a->net, i).batch;
    if (batch && !q->no_batch && v.shape.rank > 0) n /= (size_t)v.shape.dims[0];
    asc_array_free(a->ctx, &v);
    return n * rows;
}

static void weights(asked_net *a, const char *name, const asc_attr_request *q, const asc_target *t) {
    const asc_array w = {ASC_ELEM_F64, ASC_SHAPE((int64_t)row_of(a, q, t, t->weight_rows)), t->weights};
    key(a, name);
    array(a, &w);
}

static void index_rows(asked_net *a, const char *name, const asc_target *t, const int64_t *index) {
    key(a, name);
    if (t->n_rows == 1) {
        wholes(a, index, (size_t)t->rank);
        return;
    }
    add(a, "[");
    for (size_t i = 0; i < t->n_rows; i++) {
        if (i > 0) add(a, ",");
        wholes(a, index + i * (size_t)t->rank, (size_t)t->rank);
    }
    add(a, "]");
}

static void target(asked_net *a, const asc_attr_request *q) {
    static const char *const names[] = {NULL, "softmax", "log-softmax", "log"};
    const asc_target *t = &q->target;
    text(a, "target_value", t->value);
    if (t->weights != NULL) weights(a, "target_weights", q, t);
    if (t->weights == NULL && t->n_rows > 0) index_rows(a, "target", t, t->index);
    if (t->weights == NULL && t->n_rows == 0) {
        key(a, "target");
        add(a, "[]");
    }
    if (t->versus != NULL) index_rows(a, "versus", t, t->versus);
    text(a, "transform", names[t->transform]);
}

static void neuron(asked_net *a, const asc_attr_request *q) {
    const asc_target *t = &q->neuron;
    if (t->value == NULL) return;
    if (t->n_rows > 1) a->bad = true;
    key(a, "neuron");
    asc_strbuf_addf(&a->json, "\"%s", t->value);
    for (int d = 0; t->n_rows == 1 && d < t->rank; d++)
        asc_strbuf_addf(&a->json, "%c%lld", d == 0 ? ':' : ',', (long long)t->index[d]);
    add(a, "\"");
    if (t->weights != NULL) weights(a, "neuron_weights", q, t);
}

static void names(asked_net *a, const asc_attr_request *q) {
    bool any = false;
    for (size_t i = 0; q->fixed != NULL && i < q->n_inputs; i++) any = any || q->fixed[i];
    if (any) {
        const char *comma = "";
        key(a, "fixed");
        add(a, "[");
        for (size_t i = 0; i < q->n_inputs; i++) {
            if (!q->fixed[i]) continue;
            asc_strbuf_addf(&a->json, "%s\"%s\"", comma, asc_net_input(a->net, i).name);
            comma = ", ";
        }
        add(a, "]");
    }
    if (q->n_at == 0) return;
    key(a, "site");
    for (size_t i = 0; i < q->n_at; i++) asc_strbuf_addf(&a->json, "%s\"%s\"", i == 0 ? "[" : ", ", q->at[i]);
    add(a, "]");
}

static void rules(asked_net *a, const asc_attr_request *q) {
    if (q->n_rules == 0) return;
    key(a, "lrp_rule");
    for (size_t i = 0; i < q->n_rules; i++) {
        const asc_rule_choice *r = &q->rules[i];
        asc_strbuf_addf(&a->json, "%s{\"rule\": \"%s\", \"a\": %.17g, \"b\": %.17g, \"no_bias\": %s",
                        i == 0 ? "[" : ", ", r->rule, r->a, r->b, r->no_bias ? "true" : "false");
        asc_strbuf_addf(&a->json, ", \"first_layer\": %d, \"last_layer\": %d", r->first_layer, r->last_layer);
        if (r->op != NULL) asc_strbuf_addf(&a->json, ", \"op\": \"%s\"", r->op);
        if (r->site != NULL) asc_strbuf_addf(&a->json, ", \"site\": \"%s\"", r->site);
        add(a, "}");
    }
    add(a, "]");
}

static void method(asked_net *a, const asc_attr_request *q) {
    text(a, "method", q->method);
    arrays(a, "baseline", q->baselines, q->n_baselines);
    arrays(a, "at_baselines", q->at_baselines, q->n_at_baselines);
    arrays(a, "mask", q->masks, q->n_masks);
    if (q->n_stdevs > 0) {
        const asc_array s = {ASC_ELEM_F64, ASC_SHAPE((int64_t)q->n_stdevs), q->stdevs};
        key(a, "stdevs");
        array(a, &s);
    }
    if (q->window != NULL) {
        int64_t ones[64];
        for (size_t i = 0; i < 64; i++) ones[i] = 1; /* NULL is 1 to the library, half the window here */
        key(a, "window");
        wholes(a, q->window, q->n_window);
        key(a, "stride");
        wholes(a, q->stride != NULL ? q->stride : ones, q->n_window);
    }
    if (q->bounds != NULL) {
        const asc_array b = {ASC_ELEM_F64, ASC_SHAPE(2), q->bounds};
        key(a, "bounds");
        array(a, &b);
    }
    rules(a, q);
}

static void options(asked_net *a, const asc_attr_request *q) {
    if (q->rule != NULL) { /* Captum's spelling is the library's too; a question takes one */
        char rule[64];
        snprintf(rule, sizeof rule, "%s", strcmp(q->rule, "gausslegendre") == 0 ? "gauss-legendre" : q->rule);
        for (char *p = rule; *p != '\0'; p++) *p = *p == '_' ? '-' : *p;
        text(a, "rule", rule);
    }
    text(a, "base", q->base);
    text(a, "noise", q->noise);
    text(a, "norm", q->norm);
    text(a, "map_resize", q->resize);
    text(a, "distance", q->distance);
    text(a, "surrogate", q->surrogate);
    text(a, "fallback", q->fallback);
    text(a, "compat", q->compat_captum ? "captum" : NULL);
    count(a, "steps", q->steps);
    count(a, "samples", q->samples);
    count(a, "max_evaluations", q->max_evaluations);
    count(a, "rows_per_pass", q->rows_per_pass);
    count(a, "memory", q->memory_bytes);
    count(a, "seed", (size_t)q->seed);
    number(a, "tolerance", q->tolerance);
    number(a, "kernel_width", q->kernel_width);
    number(a, "penalty", q->penalty);
    number(a, "epsilon", q->epsilon);
    number(a, "radius", q->radius);
    number(a, "step_size", q->step_size);
    flag(a, "no_batch", q->no_batch);
    flag(a, "no_multiply", q->no_multiply);
    flag(a, "draw_baselines", q->draw_baselines);
    flag(a, "relu", q->relu);
    flag(a, "keep_channels", q->keep_channels);
    flag(a, "targeted", q->targeted);
    flag(a, "dry_run", q->dry_run);
}

asked_net *asked_make(asc_net *net, const asc_attr_request *q, asked_form form) {
    asked_net *a = calloc(1, sizeof *a);
    if (a == NULL) return NULL;
    a->ctx = net->ctx;
    a->net = net;
    a->form = form;
    asc_strbuf_init(&a->json, a->ctx);
    add(a, "{");
    arrays(a, "input", q->inputs, q->n_inputs);
    names(a, q);
    target(a, q);
    neuron(a, q);
    method(a, q);
    options(a, q);
    add(a, "}");
    if (!a->bad && asc_strbuf_status(&a->json) == ASC_OK) return a;
    fprintf(stderr, "no question says this request\n");
    asked_free(a);
    return NULL;
}

void asked_free(asked_net *a) {
    if (a == NULL) return;
    asc_answer_destroy(a->answer);
    asc_question_destroy(a->question);
    asc_subject_close(a->subject);
    asc_strbuf_deinit(&a->json);
    for (size_t i = 0; i < MOST_ARRAYS; i++) free(a->blocks[i]);
    free(a);
}

asc_view asked_json(const asked_net *a) { return asc_strbuf_view(&a->json); }

asc_status asked_ask(asked_net *a) {
    asc_status st = asc_subject_of_net(a->ctx, a->net, &a->subject);
    if (st == ASC_OK)
        st = asc_question_parse(a->subject, asked_json(a), a->arrays, a->n_arrays, &a->question);
    return st == ASC_OK ? asc_ask(a->subject, a->question, &a->answer) : st;
}

const asc_attribution *asked_result(const asked_net *a) {
    return a->answer != NULL ? asc_answer_attribution(a->answer) : NULL;
}

/* Are two lists of doubles the same bits? Either both are absent. */
static bool same(const double *a, const double *b, size_t n) {
    if (a == NULL || b == NULL) return a == b;
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

const char *asked_difference(const asc_attribution *a, const asc_attribution *b, char out[200]) {
    size_t n = a->n_examples * a->n_outputs;
    if (strcmp(a->method, b->method) != 0 || a->n_scores != b->n_scores || a->n_delta != b->n_delta ||
        n != b->n_examples * b->n_outputs) {
        snprintf(out, 200, "%s with %zu arrays, %zu numbers, %zu deltas; %s with %zu, %zu, %zu", a->method,
                 a->n_scores, n, a->n_delta, b->method, b->n_scores, b->n_examples * b->n_outputs,
                 b->n_delta);
        return out;
    }
    for (size_t k = 0; k < a->n_scores; k++) {
        const asc_scores *x = &a->scores[k], *y = &b->scores[k];
        size_t m = 1;
        bool shape = x->shape.rank == y->shape.rank;
        for (int d = 0; shape && d < x->shape.rank; d++) {
            shape = x->shape.dims[d] == y->shape.dims[d];
            m *= (size_t)x->shape.dims[d];
        }
        if (shape && strcmp(x->name, y->name) == 0 && same(x->data, y->data, m) &&
            same(x->error, y->error, m))
            continue;
        snprintf(out, 200, "scores of '%.60s' and '%.60s' differ%s", x->name, y->name,
                 shape ? "" : " in shape");
        return out;
    }
    if (same(a->value, b->value, n) && same(a->baseline_value, b->baseline_value, n) &&
        same(a->delta, b->delta, a->n_delta))
        return NULL;
    snprintf(out, 200, "values or deltas differ");
    return out;
}
