/* neuron.c - see neuron.h. */
#include "neuron.h"
#include "exec.h"
#include "target.h"
#include "target_encoder.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Methods that see the explained scalar only as a function of the prompt. The others walk the model's layers
 * from its logits, or look at the answer's tokens. */
static const char *const methods[] = {
    "saliency",       "input-x-gradient",       "integrated-gradients", "gradient-shap", "feature-ablation",
    "shapley-values", "shapley-value-sampling", "kernel-shap",          "lime",          "hierarchical",
};

bool asc_site_number(asc_view v, bool negative, int64_t *out) {
    bool minus = negative && v.len > 0 && v.ptr[0] == '-';
    size_t i = minus ? 1 : 0;
    *out = 0;
    if (i == v.len || v.len - i > 9) return false;
    for (; i < v.len; i++) {
        if (v.ptr[i] < '0' || v.ptr[i] > '9') return false;
        *out = 10 * *out + (v.ptr[i] - '0');
    }
    if (minus) *out = -*out;
    return !minus || *out < 0; /* -0 is no place */
}

static asc_status bad_form(asc_job *j) {
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the neuron '%.60s' is not SITE:INDEX@TOKEN", j->req->neuron);
    return asc_hint(j->ctx, "as blocks.0.mlp.out:17@-1: column 17 of that site at the prompt's last token; "
                            "without @TOKEN the last one");
}

/* What of the request speaks of an answer; NULL = nothing. */
static const char *answer_option(const asc_request *q) {
    if (q->target.ptr != NULL || q->target_ids != NULL || q->generate > 0) return "a target";
    if (q->versus.ptr != NULL || q->versus_ids != NULL) return "a contrast";
    if (q->span.ptr != NULL || q->span_end > 0 || q->span_start > 0) return "a span";
    if (q->per_token) return "scores of each answer token";
    if (q->output != ASC_OUTPUT_LOGPROB) return "another output";
    if (q->label.ptr != NULL) return "a label";
    if (q->similar_to.ptr != NULL) return "a text to be similar to";
    return NULL;
}

static asc_status check_request(asc_job *j) {
    bool takes = false;
    const char *what = answer_option(j->req);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        takes = takes || strcmp(methods[i], j->method->info.name) == 0;
    if (!takes) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s cannot explain an inner value of a prompt",
                 j->method->info.name);
        return asc_hint(j->ctx, "saliency, input-x-gradient, integrated-gradients, gradient-shap, "
                                "feature-ablation, the Shapley methods, lime and hierarchical can");
    }
    if (what != NULL) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s and a neuron: the neuron's value is explained instead",
                 what);
        return asc_hint(j->ctx, "leave one of them out");
    }
    if (j->req->layers != NULL && j->req->layers[0] != '\0') {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "tables of layers are for answers, not for a neuron");
        return asc_hint(j->ctx, "leave the layers out; --site gives scores of one inner value");
    }
    if (j->req->baseline == ASC_BASELINE_MASK && j->encoder == NULL) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "a neuron cannot be explained with the baseline mask");
        return asc_hint(j->ctx, "use remove, eos, pad or token:ID");
    }
    return ASC_OK;
}

static asc_status find_place(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_view text = asc_view_of(j->req->neuron);
    const char *at = strrchr(j->req->neuron, '@'), *colon;
    j->neuron.token = -1;
    if (at != NULL) {
        const size_t n = (size_t)(at - text.ptr);
        if (!asc_site_number(asc_view_make(at + 1, text.len - n - 1), true, &j->neuron.token))
            return bad_form(j);
        text.len = n;
    }
    for (colon = text.ptr + text.len; colon > text.ptr && colon[-1] != ':';) colon--;
    if (colon == text.ptr || !asc_site_number(asc_view_make(colon, (size_t)(text.ptr + text.len - colon)),
                                              false, &j->neuron.index))
        return bad_form(j);
    asc_view site = asc_view_make(text.ptr, (size_t)(colon - text.ptr) - 1);
    if (!asc_model_find_site(j->m, site, &j->neuron.site, &j->neuron.layer)) {
        ASC_FAIL(ctx, ASC_NOT_FOUND, "the model has no site '" ASC_VIEW_FMT "'",
                 ASC_VIEW_ARG(asc_view_cut(site, 60)));
        return asc_hint(ctx, "sites: embed, blocks.0.attn.heads, blocks.0.mlp.act, blocks.0.out, ... "
                             "(ascribe inspect lists them)");
    }
    if (j->neuron.site == ASC_SITE_FINAL_NORM) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "a neuron of " ASC_VIEW_FMT ", which has not one row for each token",
                 ASC_VIEW_ARG(site));
        return asc_hint(ctx, "use blocks.%lld.out", (long long)j->m->info.n_layers - 1);
    }
    int64_t width = asc_model_site_width(j->m, j->neuron.site, j->neuron.layer);
    if (j->neuron.index < width) return ASC_OK;
    if (width == 0) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                 ASC_VIEW_FMT " is a mixture of experts, which has no one row of "
                              "neurons for each token",
                 ASC_VIEW_ARG(site));
        return asc_hint(ctx, "use blocks.%lld.mlp.out", (long long)j->neuron.layer);
    }
    ASC_FAIL(ctx, ASC_OUT_OF_RANGE, ASC_VIEW_FMT " has %lld columns; column %lld was asked for",
             ASC_VIEW_ARG(site), (long long)width, (long long)j->neuron.index);
    return asc_hint(ctx, "columns are counted from 0");
}

asc_status asc_neuron_find(asc_job *j) {
    const bool given = j->req->neuron != NULL && j->req->neuron[0] != '\0';
    if (j->method->needs_neuron) {
        j->neuron.through = true;
        if (given) return find_place(j);
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s needs a neuron to look through", j->method->info.name);
        return asc_hint(j->ctx,
                        "as blocks.0.mlp.act:17@-1: column 17 of that site at the prompt's last token");
    }
    if (!given) return ASC_OK;
    asc_status st = check_request(j);
    if (st == ASC_OK) st = find_place(j);
    if (st != ASC_OK) return st;
    j->neuron.on = true;
    return ASC_OK;
}

asc_status asc_neuron_check_site(asc_job *j) {
    const bool parallel = j->m->kind == ASC_MODEL_DECODER && j->m->decoder.cfg.block == ASC_BLOCK_PARALLEL;
    const asc_decoder_site n = j->neuron.site, s = j->site;
    if (!j->neuron.on || s == ASC_SITE_EMBED) return ASC_OK;
    bool before = j->site_layer < j->neuron.layer || (j->site_layer == j->neuron.layer && s < n);
    if (parallel && j->site_layer == j->neuron.layer && s >= ASC_SITE_ATTN_HEADS && s <= ASC_SITE_ATTN_OUT &&
        n >= ASC_SITE_MLP_IN && n <= ASC_SITE_MLP_OUT)
        before = false; /* attention and MLP stand side by side */
    if (before) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the neuron '%.60s' does not depend on '%.60s'", j->req->neuron,
             j->req->site);
    return asc_hint(j->ctx, "name a site that is computed before it");
}

/* ---- its value ---- */

typedef struct eye {
    asc_job *j;
    asc_site_fn site;
    void *self;
    asc_tensor *value;
} eye;

static asc_tensor *watch(void *self, asc_decoder_site site, int64_t layer, asc_tensor *v) {
    eye *e = self;
    if (e->site != NULL) v = e->site(e->self, site, layer, v);
    if (site == e->j->neuron.site && layer == e->j->neuron.layer && e->value == NULL) e->value = v;
    return v;
}

/* The site's rows [B,T,W] in a run of a language model; nothing behind its block is recorded. */
static asc_tensor *rows_in(eye *e, asc_decoder_run *run) {
    asc_decoder *d = &e->j->m->decoder;
    run->whole_last_block = true;
    run->site = watch;
    run->site_self = e;
    asc_tensor *end = asc_decoder_blocks(d, run, 0, asc_neuron_blocks(e->j), asc_decoder_entry(d, run));
    return asc_tensor_poisoned(end) || e->value == NULL ? end : e->value;
}

/* The site's rows [B,T,W] of prompts. */
static asc_tensor *rows_of(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self) {
    eye e = {.j = j, .site = site, .self = site_self};
    if (j->m->kind == ASC_MODEL_ENCODER) {
        asc_encoder_run run = {.x = x, .site = watch, .site_self = &e};
        asc_tensor *end = asc_encoder_run_types(j, &run) ? asc_encoder_hidden(j->m->encoder, &run)
                                                         : asc_graph_poison(asc_graph_of(j->ctx));
        return asc_tensor_poisoned(end) || e.value == NULL ? end : e.value;
    }
    asc_decoder_run run = {.x = x};
    return rows_in(&e, &run);
}

int64_t asc_neuron_blocks(const asc_job *j) {
    return j->neuron.on ? j->neuron.layer + 1 : j->m->decoder.cfg.n_layers;
}

size_t asc_neuron_reach(const asc_job *j, size_t len) {
    const bool last = !j->neuron.on || j->neuron.token + 1 == (int64_t)j->r->n_prompt;
    return last || (int64_t)len <= j->neuron.token ? len : (size_t)j->neuron.token + 1;
}

asc_tensor *asc_neuron_column(asc_job *j, asc_decoder_run *run) {
    asc_ctx *ctx = j->ctx;
    eye e = {.j = j};
    asc_tensor *v = rows_in(&e, run);
    if (asc_tensor_poisoned(v)) return v;
    const asc_shape rows = ASC_SHAPE(v->shape.dims[0], v->shape.dims[1]);
    return asc_reshape(ctx, asc_slice(ctx, v, 2, j->neuron.index, 1), rows);
}

/* Row of the token in a prompt of t tokens. One that lost or gained some has the token only where it is the
 * last one (asc_neuron_target sees to that). */
static int64_t row_of(const asc_job *j, int64_t t) {
    const int64_t p = (int64_t)j->r->n_prompt;
    return t == p ? j->neuron.token : t - 1;
}

asc_tensor *asc_neuron_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self) {
    asc_ctx *ctx = j->ctx;
    if (asc_tensor_poisoned(x)) return x;
    asc_tensor *v = rows_of(j, x, site, site_self);
    if (asc_tensor_poisoned(v)) return v;
    const int64_t b = v->shape.dims[0];
    v = asc_slice(ctx, v, 1, row_of(j, v->shape.dims[1]), 1);
    return asc_reshape(ctx, asc_slice(ctx, v, 2, j->neuron.index, 1), ASC_SHAPE(b));
}

/* The largest value beside it in the whole prompt. */
static asc_status measure(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const size_t n = (size_t)asc_model_site_width(j->m, j->neuron.site, j->neuron.layer);
    double *row = asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *row);
    if (row == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_model_embed(j->m, j->r->prompt_ids, 1, (int64_t)j->r->n_prompt);
    asc_tensor *v = rows_of(j, x, NULL, NULL);
    if (!asc_tensor_poisoned(v)) v = asc_slice(ctx, v, 1, j->neuron.token, 1);
    asc_status st = asc_scope_close(ctx, asc_read_f64(ctx, v, row, n));
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (!isfinite(row[i])) st = asc_model_explain_nan(j->m, "an inner value");
        j->max_logit = fmax(j->max_logit, fabs(row[i]));
    }
    j->r->n_forward++;
    asc_free(ctx, row);
    return st;
}

/* Perturbed prompts whose tokens move have no token of that number any more, but a last one. */
static asc_status check_places(asc_job *j) {
    if (j->neuron.token + 1 == (int64_t)j->r->n_prompt || !asc_job_tokens_move(j)) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
             "the neuron's token %lld is elsewhere, or gone, in prompts with parts left out",
             (long long)j->neuron.token);
    return asc_hint(j->ctx, "keep tokens in their places (--baseline eos, pad or token:ID), or explain the "
                            "last token: @-1");
}

static asc_status copy_text(asc_job *j, const char *text, char **out) {
    *out = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_of(text));
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* Finds the token in the prompt; the neuron's full name. */
static asc_status place_token(asc_job *j, char text[160]) {
    const int64_t p = (int64_t)j->r->n_prompt, asked = j->neuron.token;
    j->neuron.token = asked < 0 ? p + asked : asked;
    if (j->neuron.token < 0 || j->neuron.token >= p) {
        ASC_FAIL(j->ctx, ASC_OUT_OF_RANGE, "the neuron's token %lld: the prompt has %lld tokens",
                 (long long)asked, (long long)p);
        return asc_hint(j->ctx, "count from 0, or from the end: -1 is the last token");
    }
    const size_t n = strcspn(j->req->neuron, "@");
    snprintf(text, 160, "%.*s@%lld", n < 120 ? (int)n : 120, j->req->neuron, (long long)j->neuron.token);
    return ASC_OK;
}

asc_status asc_neuron_through(asc_job *j) {
    char text[160];
    if (!j->neuron.through) return ASC_OK;
    asc_status st = place_token(j, text);
    return st == ASC_OK ? copy_text(j, text, &j->r->through) : st;
}

asc_status asc_neuron_target(asc_job *j) {
    asc_result *r = j->r;
    char text[160];
    asc_status st = ASC_OK;
    ASC_TRY(place_token(j, text));
    ASC_TRY(check_places(j));
    ASC_TRY(copy_text(j, text, &r->target));
    ASC_TRY(copy_text(j, "", &r->versus));
    r->target_len = strlen(r->target);
    *strrchr(text, ':') = '\0';
    ASC_TRY(copy_text(j, text, &r->neuron_site));
    r->neuron_index = j->neuron.index;
    r->neuron_token = j->neuron.token;
    if (!j->req->dry_run) ASC_TRY(measure(j));
done:
    return st;
}
