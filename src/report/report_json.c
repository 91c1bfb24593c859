/* report_json.c - a result as JSON, schema 1 (docs/formats/result.md). Key order is part of the format. */
#include "report_layers.h"
#include "report_parts.h"
#include "strbuf.h"
#include <math.h>
#include <string.h>

static asc_view view(const char *p, size_t n) { return (asc_view){p, n}; }

void asc_put_ids(asc_text *t, const char *key, const int32_t *ids, size_t n) {
    asc_text_array(t, key);
    for (size_t i = 0; i < n; i++) asc_text_int(t, NULL, ids[i]);
    asc_text_end(t);
}

void asc_put_levels(asc_text *t, const char *lines) {
    asc_text_array(t, "precision_at");
    for (const char *p = lines; p != NULL && *p != '\0';) {
        size_t n = strcspn(p, "\n");
        asc_text_str(t, NULL, view(p, n));
        p += n + (p[n] == '\n');
    }
    asc_text_end(t);
}

static void put_tokens(asc_text *t, const char *key, const char *text, size_t len, const int32_t *ids,
                       size_t n) {
    asc_text_object(t, key);
    asc_text_bytes(t, "text", view(text != NULL ? text : "", len));
    asc_put_ids(t, "ids", ids, n);
}

/* A text or ids of the request, or null: {"text"} or {"ids"}. */
static void put_source(asc_text *t, const char *key, asc_view text, const int32_t *ids, size_t n) {
    if (text.ptr == NULL && ids == NULL) {
        asc_text_null(t, key);
        return;
    }
    asc_text_object(t, key);
    if (ids != NULL)
        asc_put_ids(t, "ids", ids, n);
    else
        asc_text_bytes(t, "text", text);
    asc_text_end(t);
}

static void put_prompt(asc_text *t, const asc_request *q) {
    if (q->messages == NULL) {
        put_source(t, "prompt", q->prompt, q->prompt_ids, q->n_prompt_ids);
        return;
    }
    asc_text_object(t, "prompt");
    asc_text_array(t, "messages");
    for (size_t i = 0; i < q->n_messages; i++) {
        asc_text_object(t, NULL);
        asc_text_str(t, "role", q->messages[i].role);
        asc_text_bytes(t, "content", q->messages[i].content);
        if (q->message_extras != NULL && q->message_extras[i].ptr != NULL)
            asc_text_str(t, "extra", q->message_extras[i]);
        asc_text_end(t);
    }
    asc_text_end(t);
    if (q->template_vars.ptr != NULL) asc_text_str(t, "template_vars", q->template_vars);
    asc_text_end(t);
}

const char *asc_weights_name(asc_weights_mode w) {
    return w == ASC_WEIGHTS_STORED ? "stored" : w == ASC_WEIGHTS_EXPANDED ? "expanded" : "auto";
}

void asc_put_request(asc_text *t, const asc_request *q, asc_weights_mode weights) {
    asc_text_object(t, "request");
    put_prompt(t, q);
    put_source(t, "target", q->target, q->target_ids, q->n_target_ids);
    asc_text_int(t, "generate", (int64_t)q->generate);
    put_source(t, "versus", q->versus, q->versus_ids, q->n_versus_ids);
    asc_put_encoder_request(t, q);
    asc_put_question(t, q);
    asc_text_strz(t, "method", q->method);
    asc_text_strz(t, "features", asc_features_name(q->features));
    asc_text_strz(t, "output", asc_output_name(q->output));
    asc_text_strz(t, "baseline", asc_baseline_name(q->baseline));
    asc_text_int(t, "baseline_token", q->baseline_token);
    asc_text_strz(t, "rule", q->rule);
    asc_text_int(t, "steps", (int64_t)q->steps);
    asc_text_num(t, "tolerance", q->tolerance);
    asc_text_int(t, "max_evaluations", (int64_t)q->max_evaluations);
    asc_text_num(t, "max_seconds", q->max_seconds);
    asc_text_strz(t, "norm", q->norm);
    asc_text_strz(t, "site", q->site);
    asc_text_bool(t, "compat_captum", q->compat_captum);
    asc_text_int(t, "memory_bytes", (int64_t)q->memory_bytes);
    asc_text_strz(t, "weights", asc_weights_name(weights));
    asc_text_int(t, "seed", (int64_t)q->seed);
    asc_text_int(t, "samples", (int64_t)q->samples);
    asc_text_num(t, "stdev", q->stdev);
    asc_text_strz(t, "layers", q->layers);
    asc_text_strz(t, "neuron", q->neuron);
    asc_text_num(t, "alpha", q->alpha);
    asc_text_num(t, "refine", q->refine);
    put_source(t, "corrupted", q->corrupted, q->corrupted_ids, q->n_corrupted_ids);
    asc_text_end(t);
}

/* Bytes of each part of a feature that has several. */
static void put_parts(asc_text *t, const asc_result *r, size_t feature) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_parts; i++) n += r->parts[i].feature == feature;
    if (n < 2) return;
    asc_text_array(t, "parts");
    for (size_t i = 0; i < r->n_parts; i++) {
        if (r->parts[i].feature != feature) continue;
        asc_text_array(t, NULL);
        asc_text_int(t, NULL, (int64_t)r->parts[i].start);
        asc_text_int(t, NULL, (int64_t)r->parts[i].end);
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void put_features(asc_text *t, const asc_result *r) {
    asc_text_array(t, "features");
    for (size_t i = 0; i < r->n_features; i++) {
        const asc_feature *f = &r->features[i];
        asc_text_object(t, NULL);
        asc_text_bytes(t, "text", view(f->text, f->text_len));
        asc_text_int(t, "start", (int64_t)f->start);
        asc_text_int(t, "end", (int64_t)f->end);
        asc_put_ids(t, "token_ids", r->prompt_ids + f->first_token, f->n_tokens);
        put_parts(t, r, i);
        asc_text_num(t, "score", f->score);
        asc_text_num(t, "error", f->error);
        if (asc_mixed_features(r)) asc_text_strz(t, "level", asc_features_name(f->kind));
        if (f->message >= 0)
            asc_text_int(t, "message", f->message);
        else
            asc_text_null(t, "message");
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void put_top(asc_text *t, const asc_report *rep) {
    const asc_result *r = rep->result;
    asc_text_array(t, "top");
    for (size_t i = 0; i < r->n_top; i++) {
        asc_text_object(t, NULL);
        asc_text_int(t, "id", r->top[i].id);
        if (rep->tokenizer != NULL || asc_of_encoder(r)) asc_text_bytes(t, "text", asc_top_shown(rep, i));
        asc_text_num(t, "prob", r->top[i].prob);
        asc_text_end(t);
    }
    asc_text_end(t);
}

/* The options come as the text of a JSON object; it is parsed and written again, so that a fault in it cannot
 * break ours. */
static void put_options(asc_text *t, const char *json) {
    asc_json *root = NULL;
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    asc_text_object(t, "options");
    if (json != NULL && asc_json_parse(t->ctx, json, strlen(json), &root) == ASC_OK) {
        while (asc_json_next(root, &iter, &key, &v)) {
            switch (asc_json_typeof(v)) {
            case ASC_JSON_BOOL:
                asc_text_bool(t, key.ptr, asc_json_bool(v, false));
                break;
            case ASC_JSON_INT:
                asc_text_int(t, key.ptr, asc_json_int(v, 0));
                break;
            case ASC_JSON_REAL:
                asc_text_num(t, key.ptr, asc_json_num(v, 0));
                break;
            case ASC_JSON_STRING:
                asc_text_str(t, key.ptr, asc_json_str(v));
                break;
            default:
                asc_text_null(t, key.ptr);
            }
        }
    }
    asc_json_free(root);
    asc_text_end(t);
}

/* Only where an inner value is explained. */
static void put_neuron(asc_text *t, const asc_result *r) {
    if (r->neuron_site == NULL) return;
    asc_text_object(t, "neuron");
    asc_text_strz(t, "site", r->neuron_site);
    asc_text_int(t, "index", r->neuron_index);
    asc_text_int(t, "token", r->neuron_token);
    asc_text_end(t);
}

static void put_numbers(asc_text *t, const asc_result *r) {
    asc_text_num(t, "value", r->value);
    asc_text_num(t, "baseline_value", asc_has_baseline(r) ? r->baseline_value : NAN);
}

static void put_run(asc_text *t, const asc_result *r) {
    asc_text_num(t, "sum", r->sum);
    asc_text_num(t, "residual", r->complete ? r->residual : NAN);
    asc_text_num(t, "error_bound", r->error_bound);
    asc_text_bool(t, "converged", r->converged);
    asc_text_object(t, "evaluations");
    asc_text_int(t, "forward", (int64_t)r->n_forward);
    asc_text_int(t, "backward", (int64_t)r->n_backward);
    if (asc_mixed_features(r)) asc_text_int(t, "flat", (int64_t)r->n_forward_flat);
    asc_text_end(t);
    asc_text_int(t, "panels", (int64_t)r->panels);
    asc_text_num(t, "noise_floor", r->noise_floor);
    asc_text_int(t, "samples", (int64_t)r->samples);
    asc_text_bool(t, "stochastic", r->stochastic);
    asc_text_int(t, "tokens_run", (int64_t)r->tokens_run);
    asc_text_int(t, "tokens_plain", (int64_t)r->tokens_plain);
    asc_text_num(t, "seconds", r->seconds);
    asc_text_int(t, "peak_bytes", (int64_t)r->peak_bytes);
    asc_text_int(t, "predicted_peak_bytes", (int64_t)r->predicted_peak_bytes);
    asc_text_num(t, "predicted_seconds", r->predicted_seconds);
    asc_text_num(t, "predicted_least_seconds", r->predicted_least_seconds);
    asc_text_num(t, "flops", r->flops);
    asc_text_strz(t, "device", r->device);
    asc_text_strz(t, "mode", r->mode);
    asc_text_strz(t, "precision", r->precision);
    asc_put_levels(t, r->precision_at);
    asc_text_strz(t, "isa", r->isa);
    asc_text_int(t, "threads", r->n_threads);
    asc_text_int(t, "seed", (int64_t)r->seed);
    asc_text_strz(t, "version", asc_version());
    asc_text_array(t, "warnings");
    for (size_t i = 0; i < r->n_warnings; i++) asc_text_strz(t, NULL, r->warnings[i]);
    asc_text_end(t);
}

void asc_report_json(asc_text *t, const asc_report *rep) { asc_report_json_under(t, NULL, rep); }

void asc_report_json_under(asc_text *t, const char *key, const asc_report *rep) {
    const asc_result *r = rep->result;
    asc_text_object(t, key);
    asc_text_int(t, "schema", ASC_RESULT_SCHEMA);
    asc_text_object(t, "model");
    asc_text_str(t, "file", view(r->model_path, strlen(r->model_path)));
    asc_text_strz(t, "sha256", r->model_sha256[0] != '\0' ? r->model_sha256 : NULL);
    asc_text_strz(t, "architecture", r->architecture);
    asc_text_array(t, "adapters");
    for (size_t i = 0; i < r->n_adapters; i++) {
        asc_text_object(t, NULL);
        asc_text_str(t, "path", view(r->adapters[i].path, strlen(r->adapters[i].path)));
        asc_text_num(t, "scale", r->adapters[i].scale);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
    asc_text_object(t, "method");
    asc_text_strz(t, "name", r->method);
    put_options(t, r->options);
    asc_text_end(t);
    put_tokens(t, "prompt", r->prompt, r->prompt_len, r->prompt_ids, r->n_prompt);
    asc_text_end(t);
    put_tokens(t, "target", r->target, r->target_len, r->target_ids, r->n_target);
    asc_text_strz(t, "output", r->neuron_site != NULL ? "value" : asc_output_name(r->output));
    asc_text_num(t, "prob", r->target_prob);
    asc_text_end(t);
    put_neuron(t, r);
    if (r->n_versus > 0) {
        put_tokens(t, "versus", r->versus, r->versus_len, r->versus_ids, r->n_versus);
        asc_text_end(t);
    } else {
        asc_text_null(t, "versus");
    }
    put_top(t, rep);
    asc_put_encoder_json(t, r);
    asc_text_strz(t, "baseline", r->baseline);
    put_numbers(t, r);
    put_features(t, r);
    asc_put_matrix_json(t, rep);
    if (r->feature_kind == ASC_FEATURES_TOKEN) {
        asc_text_array(t, "scores");
        for (size_t i = 0; i < r->n_prompt; i++) asc_text_num(t, NULL, r->scores[i]);
        asc_text_end(t);
    }
    asc_put_layers_json(t, r);
    put_run(t, r);
    asc_put_request(t, rep->request, rep->weights);
    asc_text_end(t);
}
