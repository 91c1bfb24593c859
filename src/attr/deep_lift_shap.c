/* deep_lift_shap.c - DeepLift averaged over a distribution of baselines. */
#include "method.h"
#include "prompt_sweep.h"
#include "ruled_pass.h"

/* Rows of the baselines: the same number for every input, or one. */
static asc_status count_rows(const asc_task *t, size_t *out) {
    *out = 1;
    for (size_t k = 0; k < t->n_in; k++) {
        const asc_var *v = &t->in[k];
        if (v->x0 == NULL || v->n_x0 == 1) continue;
        if (*out != 1 && v->n_x0 != *out)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                            "deep-lift-shap: baselines of '%.60s' have %zu rows, others %zu", v->name,
                            v->n_x0, *out);
        *out = v->n_x0;
    }
    return ASC_OK;
}

static asc_status attribute(asc_task *t) {
    size_t rows;
    if (t->req->n_baselines == 0) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "deep-lift-shap needs baselines");
        return asc_hint(t->ctx, "give rows of a distribution, or use deep-lift for the baseline of zeros");
    }
    asc_status st = count_rows(t, &rows);
    return st == ASC_OK ? asc_task_deep_lift(t, rows) : st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    size_t rows = 1;
    if (count_rows(t, &rows) != ASC_OK) rows = 1;
    *n_forward = (double)rows;
    *n_gradient = (double)rows;
}

enum { PROMPT_SAMPLES = 8 };

static size_t prompt_samples(const asc_job *j) {
    if (j->baseline != ASC_BASELINE_AUTO) return 1; /* one baseline: every sample would be the same */
    return j->req->samples > 0 ? j->req->samples : PROMPT_SAMPLES;
}

static asc_status run(asc_job *j) { return asc_prompt_pairs(j, prompt_samples(j)); }

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = *n_gradient = (double)prompt_samples(j);
}

const asc_method asc_method_deep_lift_shap = {
    .info = {.name = "deep-lift-shap",
             .captum = "DeepLiftShap (at a site: LayerDeepLiftShap; of a unit: NeuronDeepLiftShap)",
             .doc = "DeepLift averaged over baselines: an estimate of Shapley values against a distribution",
             .formula = "score_i = mean_b m_i(b) (x_i - b_i), every example against every baseline row",
             .paper = "Lundberg, Lee, A Unified Approach to Interpreting Model Predictions, 2017",
             .axioms = "completeness against the mean over the baselines",
             .cost = "2 forward and 1 backward pass for each baseline",
             .options = "features, baseline (default: random tokens; eos, pad, zero, mean, token:ID), "
                        "samples (prompts), "
                        "seed (prompts), layers, output, per-token; nets: baselines (any number of rows), "
                        "at, no-multiply, "
                        "fallback, compat",
             .differences = "one row is allowed; delta has one entry for each pair, example by example"},
    .by_gradient = true,
    .per_token = true,
    .needs_baseline = true,
    .takes_rows = true,
    .complete = true,
    .attribute = attribute,
    .price_rows = price_rows,
    .run = run,
    .price = price,
};
