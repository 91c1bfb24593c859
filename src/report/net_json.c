/* net_json.c - attributions on nets as JSON, schema 1 (docs/formats/net_result.md). Key order is part of the
 * format. */
#include "ascribe/precision.h"
#include "hash.h"
#include "net_parts.h"
#include "view.h"
#include <math.h>

static void put_numbers(asc_text *t, const char *key, const double *v, size_t n) {
    if (v == NULL) {
        asc_text_null(t, key);
        return;
    }
    asc_text_array(t, key);
    for (size_t i = 0; i < n; i++) asc_text_num(t, NULL, v[i]);
    asc_text_end(t);
}

static void put_strings(asc_text *t, const char *key, const char *const *v, size_t n) {
    asc_text_array(t, key);
    for (size_t i = 0; i < n; i++) asc_text_strz(t, NULL, v[i]);
    asc_text_end(t);
}

/* A value that is JSON already; what is not stays a string. */
static void put_made(asc_text *t, const char *key, const char *json) {
    asc_json *root = NULL;
    if (json == NULL) {
        asc_text_null(t, key);
        return;
    }
    if (asc_json_parse(t->ctx, json, strlen(json), &root) != ASC_OK) {
        asc_error_clear(t->ctx);
        asc_text_strz(t, key, json);
        return;
    }
    asc_json_free(root);
    asc_view v = asc_view_of(json);
    while (v.len > 0 && (v.ptr[v.len - 1] == '\n' || v.ptr[v.len - 1] == ' ')) v.len--;
    asc_jsonw_key(&t->w, key);
    asc_strbuf_addv(&t->b, v);
    t->w.after_key = false;
}

static void put_scores(asc_text *t, const asc_scores *s) {
    size_t n = 1;
    asc_text_object(t, NULL);
    asc_text_strz(t, "name", s->name);
    asc_text_array(t, "shape");
    for (int d = 0; d < s->shape.rank; d++) {
        asc_text_int(t, NULL, s->shape.dims[d]);
        n *= (size_t)s->shape.dims[d];
    }
    asc_text_end(t);
    put_numbers(t, "data", s->data, n);
    put_numbers(t, "error", s->error, n);
    asc_text_end(t);
}

static void put_result(asc_text *t, const asc_attribution *r) {
    size_t n = r->n_examples * r->n_outputs;
    asc_text_object(t, NULL);
    asc_text_strz(t, "method", r->method);
    put_made(t, "options", r->options);
    asc_text_int(t, "examples", (int64_t)r->n_examples);
    asc_text_int(t, "outputs", (int64_t)r->n_outputs);
    put_numbers(t, "value", r->value, n);
    put_numbers(t, "baseline_value", r->baseline_value, n);
    put_numbers(t, "delta", r->delta, r->n_delta);
    asc_text_bool(t, "complete", r->complete);
    asc_text_bool(t, "stochastic", r->stochastic);
    asc_text_bool(t, "converged", r->converged);
    asc_text_num(t, "error_bound", r->error_bound);
    asc_text_int(t, "forward_passes", (int64_t)r->n_forward);
    asc_text_int(t, "backward_passes", (int64_t)r->n_backward);
    asc_text_num(t, "seconds", r->seconds);
    asc_text_num(t, "flops", r->flops);
    asc_text_int(t, "rows_per_pass", (int64_t)r->rows_per_pass);
    asc_text_int(t, "peak_bytes", (int64_t)r->peak_bytes);
    asc_text_num(t, "predicted_seconds", r->predicted_seconds);
    asc_text_num(t, "predicted_least_seconds", r->predicted_least_seconds);
    asc_text_int(t, "predicted_peak_bytes", (int64_t)r->predicted_peak_bytes);
    put_strings(t, "notes", (const char *const *)r->notes, r->n_notes);
    asc_text_array(t, "scores");
    for (size_t k = 0; k < r->n_scores; k++) put_scores(t, &r->scores[k]);
    asc_text_end(t);
    asc_text_end(t);
}

static void put_target(asc_text *t, const asc_net_sheet *rep) {
    const asc_target *g = &rep->request->target;
    static const char *const transforms[] = {"none", "softmax", "log-softmax", "log"};
    size_t rows = g->n_rows * (size_t)(g->rank > 0 ? g->rank : 0);
    asc_text_object(t, "target");
    asc_text_strz(t, "value", g->value);
    asc_text_strz(t, "transform", transforms[(unsigned)g->transform < 4 ? g->transform : 0]);
    asc_text_int(t, "rank", g->rank);
    asc_text_array(t, "index");
    for (size_t i = 0; g->index != NULL && i < rows; i++) asc_text_int(t, NULL, g->index[i]);
    asc_text_end(t);
    asc_text_array(t, "versus");
    for (size_t i = 0; g->versus != NULL && i < rows; i++) asc_text_int(t, NULL, g->versus[i]);
    asc_text_end(t);
    asc_text_bool(t, "weighted", g->weights != NULL);
    asc_text *words = NULL;
    if (asc_text_create(t->ctx, &words) == ASC_OK) {
        asc_net_target_words(words, rep);
        asc_text_str(t, "words", asc_text_view(words));
        if (asc_text_status(words) != ASC_OK) t->b.failed = true;
        asc_text_destroy(words);
    } else {
        t->b.failed = true;
    }
    asc_text_end(t);
}

/* What the net was given, so that two results can be seen to speak of the same input. */
static void put_inputs(asc_text *t, const asc_attr_request *q) {
    char hex[65];
    asc_text_array(t, "input_sha256");
    for (size_t i = 0; q != NULL && i < q->n_inputs; i++) {
        int64_t n = asc_array_count(&q->inputs[i]);
        asc_sha256_hex(q->inputs[i].data, n > 0 ? (size_t)n * asc_elem_bytes(q->inputs[i].elem) : 0, hex);
        asc_text_strz(t, NULL, hex);
    }
    asc_text_end(t);
}

void asc_net_sheet_json(asc_text *t, const asc_net_sheet *rep) {
    const char *site;
    asc_precision level;
    bool used;
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-net-result");
    asc_text_int(t, "schema", ASC_NET_SCHEMA);
    asc_text_strz(t, "version", asc_version());
    asc_text_strz(t, "command", rep->command);
    asc_text_object(t, "model");
    asc_text_strz(t, "file", rep->model);
    asc_text_strz(t, "sha256", rep->model_sha256);
    asc_text_end(t);
    asc_text_strz(t, "input", rep->input_note);
    put_inputs(t, rep->request);
    if (rep->request != NULL)
        put_target(t, rep);
    else
        asc_text_null(t, "target");
    asc_text_object(t, "environment");
    asc_text_strz(t, "device", rep->device);
    asc_text_strz(t, "mode", rep->mode);
    asc_text_strz(t, "precision", rep->precision);
    asc_text_array(t, "precision_at");
    for (size_t i = 0; asc_precision_at(t->ctx, i, &site, &level, &used); i++) {
        asc_strbuf line;
        asc_strbuf_init(&line, t->ctx);
        asc_strbuf_addf(&line, "%s=%s", site, asc_precision_name(level));
        asc_text_str(t, NULL, asc_strbuf_view(&line));
        asc_strbuf_deinit(&line);
    }
    asc_text_end(t);
    asc_text_strz(t, "isa", rep->isa);
    asc_text_int(t, "threads", rep->n_threads);
    asc_text_int(t, "seed", (int64_t)rep->seed);
    asc_text_end(t);
    asc_text_array(t, "top");
    for (size_t i = 0; i < rep->n_top; i++) {
        asc_text_object(t, NULL);
        asc_text_int(t, "index", rep->top[i].index);
        asc_text_strz(t, "label", rep->top[i].label);
        asc_text_num(t, "value", rep->top[i].value);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_array(t, "results");
    for (size_t i = 0; i < rep->n_results; i++) put_result(t, rep->results[i]);
    asc_text_end(t);
    asc_text_end(t);
}
