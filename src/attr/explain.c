/* explain.c - asc_explain: runs a job and fills in what every result carries. */
#include "ascribe/precision.h"
#include "ascribe/profile.h"
#include "budget.h"
#include "cpu.h"
#include "estimate.h"
#include "exec.h"
#include "json.h"
#include "method.h"
#include "profile.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Per-token scores of a gradient method to features: a feature is the sum of its tokens, or the 2-norm over
 * all of its columns when the scores are 2-norms. */
static void group_scores(asc_job *j) {
    asc_result *r = j->r;
    bool norm =
        strcmp(r->method, "saliency") == 0 && (j->req->norm == NULL || strcmp(j->req->norm, "l2") == 0);
    for (size_t i = 0; i < r->n_features; i++) r->features[i].score = r->features[i].error = 0.0;
    for (size_t i = 0; i < r->n_parts; i++) {
        const asc_feature_part *p = &r->parts[i];
        asc_feature *f = &r->features[p->feature];
        for (size_t k = p->first_token; k < p->first_token + p->n_tokens; k++) {
            f->score += norm ? r->scores[k] * r->scores[k] : r->scores[k];
            f->error += r->score_errors[k];
        }
    }
    for (size_t i = 0; norm && i < r->n_features; i++) r->features[i].score = sqrt(r->features[i].score);
}

static void sums(asc_job *j) {
    asc_result *r = j->r;
    r->complete = j->method->complete && !j->partial;
    for (size_t i = 0; i < r->n_features; i++) {
        r->sum += r->features[i].score;
        if (!(r->features[i].error <= r->error_bound))
            r->error_bound = r->features[i].error; /* NaN = unknown wins */
    }
    r->residual = r->sum - (r->value - r->baseline_value);
}

static asc_status options_json(asc_job *j) {
    const asc_request *q = j->req;
    const asc_result *r = j->r;
    asc_strbuf b;
    asc_jsonw w;
    asc_strbuf_init(&b, j->ctx);
    asc_jsonw_init(&w, &b, true);
    asc_jsonw_begin_object(&w);
    asc_jsonw_key(&w, "features");
    asc_jsonw_strz(&w, asc_features_name(q->features));
    asc_jsonw_key(&w, "baseline");
    asc_jsonw_strz(&w, j->method->needs_baseline ? asc_baseline_name(j->baseline) : "none");
    if (j->baseline_id >= 0) {
        asc_jsonw_key(&w, "baseline_token");
        asc_jsonw_int(&w, j->baseline_id);
    }
    if (r->rule != NULL && r->rule[0] != '\0') {
        asc_jsonw_key(&w, "rule");
        asc_jsonw_strz(&w, r->rule);
        asc_jsonw_key(&w, "tolerance");
        asc_jsonw_num(&w, q->tolerance > 0.0 ? q->tolerance : 0.01);
        if (r->steps > 0) {
            asc_jsonw_key(&w, "steps");
            asc_jsonw_int(&w, (int64_t)r->steps);
        } else {
            asc_jsonw_key(&w, "max_evaluations");
            asc_jsonw_int(&w, q->max_evaluations > 0 ? (int64_t)q->max_evaluations : 2000);
            asc_jsonw_key(&w, "max_seconds");
            asc_jsonw_num(&w, q->max_seconds);
        }
    }
    if (asc_method_reads(&j->method->info, "samples")) {
        asc_jsonw_key(&w, "samples");
        asc_jsonw_int(&w, (int64_t)q->samples);
        asc_jsonw_key(&w, "tolerance");
        asc_jsonw_num(&w, q->tolerance);
    }
    if (asc_method_reads(&j->method->info, "alpha")) {
        asc_jsonw_key(&w, "alpha");
        asc_jsonw_num(&w, q->alpha > 0.0 ? q->alpha : 0.01);
    }
    if (asc_method_reads(&j->method->info, "refine")) {
        asc_jsonw_key(&w, "refine");
        asc_jsonw_num(&w, q->refine > 0.0 ? q->refine : 0.1);
    }
    if (strcmp(r->method, "saliency") == 0) {
        asc_jsonw_key(&w, "norm");
        asc_jsonw_strz(&w, q->norm != NULL ? q->norm : "l2");
    }
    if (q->site != NULL && q->site[0] != '\0') {
        asc_jsonw_key(&w, "site");
        asc_jsonw_strz(&w, q->site);
    }
    if (r->through != NULL) {
        asc_jsonw_key(&w, "through");
        asc_jsonw_strz(&w, r->through);
    }
    asc_jsonw_key(&w, "compat_captum");
    asc_jsonw_bool(&w, q->compat_captum);
    asc_jsonw_end_object(&w);
    j->r->options = asc_strbuf_take(&b, NULL);
    asc_status st = j->r->options != NULL ? ASC_OK : asc_strbuf_status(&b);
    asc_strbuf_deinit(&b);
    return st;
}

/* The sites with levels of their own, a line each. */
static asc_status describe_levels(asc_job *j) {
    asc_strbuf b;
    const char *site;
    asc_precision level;
    bool used;
    asc_strbuf_init(&b, j->ctx);
    asc_strbuf_adds(&b, "");
    for (size_t i = 0; asc_precision_at(j->ctx, i, &site, &level, &used); i++)
        asc_strbuf_addf(&b, "%s=%s\n", site, asc_precision_name(level));
    asc_status st = asc_strbuf_status(&b);
    if (st == ASC_OK) j->r->precision_at = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_strbuf_view(&b));
    asc_strbuf_deinit(&b);
    return st == ASC_OK && j->r->precision_at == NULL ? ASC_RESOURCE_EXHAUSTED : st;
}

/* The model's adapters and their paths, in one piece. */
static asc_status describe_adapters(asc_job *j) {
    const asc_model_info *m = &j->m->info;
    size_t bytes;
    if (m->n_adapters == 0) return ASC_OK;
    if (!asc_mul_size(m->n_adapters, sizeof(asc_adapter), &bytes)) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < m->n_adapters; i++) {
        if (!asc_add_size(bytes, strlen(m->adapters[i].path) + 1, &bytes)) return ASC_RESOURCE_EXHAUSTED;
    }
    j->r->adapters = asc_calloc(j->ctx, ASC_MEM_GENERAL, 1, bytes);
    if (j->r->adapters == NULL) return ASC_RESOURCE_EXHAUSTED;
    char *at = (char *)(j->r->adapters + m->n_adapters);
    for (size_t i = 0; i < m->n_adapters; i++) {
        size_t n = strlen(m->adapters[i].path) + 1;
        memcpy(at, m->adapters[i].path, n);
        j->r->adapters[i] = (asc_adapter){at, m->adapters[i].scale};
        at += n;
    }
    j->r->n_adapters = m->n_adapters;
    return ASC_OK;
}

static asc_status describe(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    r->output = j->req->output;
    r->seed = j->req->seed;
    r->n_threads = ctx->n_threads;
    snprintf(r->device, sizeof r->device, "%s", ctx->device_name);
    snprintf(r->mode, sizeof r->mode, "%s", ctx->mode_name);
    snprintf(r->precision, sizeof r->precision, "%s", asc_precision_name(ctx->precision));
    snprintf(r->isa, sizeof r->isa, "%s", asc_isa_name((asc_isa)ctx->isa));
    r->model_path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(j->m->path));
    r->architecture = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(j->m->info.architecture));
    if (r->model_path == NULL || r->architecture == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status levels = describe_levels(j);
    if (levels == ASC_OK) levels = describe_adapters(j);
    if (levels != ASC_OK) return levels;
    if (j->req->want_sha256) {
        const char *hex;
        asc_status st = asc_model_sha256(j->m, &hex);
        if (st != ASC_OK) return st;
        snprintf(r->model_sha256, sizeof r->model_sha256, "%s", hex);
    }
    return options_json(j);
}

/* Probability of the whole target: from the value when it says so, else one more forward pass. */
asc_status asc_job_target_probability(asc_job *j) {
    asc_result *r = j->r;
    if (j->req->output == ASC_OUTPUT_SIMILARITY || j->neuron.on) {
        r->target_prob = NAN;
        return ASC_OK;
    }
    const size_t span_start = j->span_start, span_end = j->span_end;
    const bool whole = span_start == 0 && span_end == r->n_target;
    if (whole && r->n_versus == 0 && j->req->output == ASC_OUTPUT_LOGPROB) {
        r->target_prob = exp(r->value);
        return ASC_OK;
    }
    if (whole && r->n_versus == 0 && j->req->output == ASC_OUTPUT_PROB) {
        r->target_prob = r->value;
        return ASC_OK;
    }
    asc_request plain = *j->req;
    plain.output = ASC_OUTPUT_LOGPROB;
    j->span_start = j->span_end = 0;
    plain.per_token = false;
    const asc_request *old = j->req;
    size_t n_versus = r->n_versus;
    double v = 0.0;
    j->req = &plain;
    r->n_versus = 0;
    asc_status st = asc_job_values(j, r->prompt_ids, 1, r->n_prompt, &v);
    r->n_versus = n_versus;
    j->span_start = span_start;
    j->span_end = span_end;
    j->req = old;
    r->target_prob = exp(v);
    return st;
}

/* Programs and scratch that earlier calls left count against the bound; where they take much of it, they go,
 * so that the thousandth prompt has the room that the first one had. */
static void make_room(const asc_job *j) {
    const asc_mem_stats mem = asc_memory(j->ctx);
    const size_t kept = mem.live_bytes[ASC_MEM_PROGRAM] + mem.live_bytes[ASC_MEM_SCRATCH];
    if (!j->req->dry_run && kept > asc_job_limit(j) / 4) (void)asc_cache_empty(j->ctx);
}

asc_status asc_explain(asc_model *m, const asc_request *req, asc_result **out) {
    return asc_explain_beside(m, req, NULL, out);
}

asc_status asc_explain_beside(asc_model *m, const asc_request *req, const asc_job *known, asc_result **out) {
    asc_ctx *ctx = m->ctx;
    asc_status st = ASC_OK;
    asc_job j = {.ctx = ctx};
    uint64_t t0 = asc_now_ns();
    *out = NULL;
    if (req == NULL || req->struct_size != sizeof *req)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "explain: the request's struct_size is not that of this library");
    double flops0 = asc_exec_stats_of(ctx).flops;
    ASC_TRY(asc_job_init_beside(&j, m, req, known));
    make_room(&j);
    asc_result *r = j.r;
    r->scores = asc_calloc(ctx, ASC_MEM_GENERAL, r->n_prompt + 1, sizeof *r->scores);
    r->score_errors = asc_calloc(ctx, ASC_MEM_GENERAL, r->n_prompt + 1, sizeof *r->score_errors);
    if (r->scores == NULL || r->score_errors == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_job_matrix_make(&j));
    ASC_TRY(describe(&j));
    if (req->dry_run) {
        ASC_TRY(asc_estimate_job(&j, t0));
    } else {
        const int depth = asc_prof_push(ctx, r->method, -1);
        const size_t bound = ctx->bound;
        ctx->bound = req->memory_bytes; /* from here on what is idle goes before it would be exceeded */
        st = j.method->run(&j);
        ctx->bound = bound;
        asc_prof_pop(ctx, depth);
        if (st != ASC_OK) goto done;
        if (j.method->by_gradient || j.method->by_token) group_scores(&j);
        sums(&j);
        ASC_TRY(asc_job_target_probability(&j));
        r->flops = asc_exec_stats_of(ctx).flops - flops0 + j.saved_flops - j.unseen_flops;
    }
    r->seconds = (double)(asc_now_ns() - t0) * 1e-9;
    r->peak_bytes = asc_memory(ctx).peak_total;
    *out = r;
    j.r = NULL;
done:
    asc_job_deinit(&j);
    return st;
}
