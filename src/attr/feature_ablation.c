/* feature_ablation.c - how much the value falls when one feature is left out or replaced.
 * All prompts of a length are run as one batch. */
#include "method.h"
#include <math.h>
#include <string.h>

/* Writes the prompt without group g (g == n_groups: without all of them); returns its length. */
static size_t build(const asc_job *j, size_t g, int32_t *out) {
    const asc_result *r = j->r;
    size_t n = 0;
    for (size_t i = 0; i < r->n_prompt; i++) {
        bool hit = g < j->n_groups ? i >= j->groups[g].first && i < j->groups[g].last : j->active[i];
        if (!hit) {
            out[n++] = r->prompt_ids[i];
        } else if (j->baseline_id >= 0) {
            out[n++] = j->baseline_id;
        }
    }
    if (n == 0) { /* nothing left: one end token is the shortest prompt a model can read */
        asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(j->m));
        out[n++] = tk.bos >= 0 ? tk.bos : tk.eos >= 0 ? tk.eos : 0;
    }
    return n;
}

/* Values of all ablated prompts, batched by length; values[n_groups] is the one without any feature. */
static asc_status all_values(asc_job *j, double *values) {
    asc_ctx *ctx = j->ctx;
    size_t p = j->r->n_prompt, n = j->n_groups + 1, bytes;
    asc_status st = ASC_OK;
    int32_t *ids =
        asc_mul_size(n, p + 1, &bytes) ? asc_calloc(ctx, ASC_MEM_GENERAL, bytes, sizeof *ids) : NULL;
    size_t *len = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *len),
           *who = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *who);
    double *out = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *out);
    int32_t *row = asc_calloc(ctx, ASC_MEM_GENERAL, p + 1, sizeof *row);
    if (ids == NULL || len == NULL || who == NULL || out == NULL || row == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t g = 0; g < n; g++) len[g] = build(j, g, row);
    for (size_t length = 1; length <= p; length++) {
        size_t k = 0;
        for (size_t g = 0; g < n; g++) {
            if (len[g] != length) continue;
            build(j, g, ids + k * length);
            who[k++] = g;
        }
        if (k == 0) continue;
        ASC_TRY(asc_job_values(j, ids, k, length, out));
        for (size_t i = 0; i < k; i++) values[who[i]] = out[i];
    }
done:
    asc_free(ctx, ids);
    asc_free(ctx, len);
    asc_free(ctx, who);
    asc_free(ctx, out);
    asc_free(ctx, row);
    return st;
}

static asc_status run(asc_job *j) {
    asc_result *r = j->r;
    asc_status st = asc_job_values(j, r->prompt_ids, 1, r->n_prompt, &r->value);
    if (st != ASC_OK) return st;
    double *values = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *values);
    if (values == NULL) return ASC_RESOURCE_EXHAUSTED;
    st = all_values(j, values);
    r->baseline_value = values[j->n_groups];
    double noise = 2.0 * asc_job_value_noise(j);
    for (size_t g = 0; st == ASC_OK && g < j->n_groups; g++) {
        r->features[g].score = r->value - values[g];
        r->features[g].error = noise;
        r->scores[j->groups[g].first] = r->features[g].score;
        r->score_errors[j->groups[g].first] = noise;
    }
    r->converged = true;
    asc_free(j->ctx, values);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = (double)j->n_groups + 2.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_feature_ablation = {
    .info =
        {.name = "feature-ablation",
         .captum = "FeatureAblation",
         .doc = "how much the output falls without each word: one forward pass per feature",
         .formula = "score_i = f(prompt) - f(prompt without feature i)",
         .paper =
             "Zeiler and Fergus, Visualizing and Understanding Convolutional Networks, ECCV 2014 (occlusion)",
         .axioms = "dummy (a feature that changes nothing scores 0); the scores need not add up to the total",
         .cost = "n features + 2 forward passes",
         .options = "features, baseline (remove, eos, pad, token:ID), output",
         .differences =
             "removes tokens by default where Captum replaces them; --baseline token:ID is Captum's way"},
    .needs_baseline = true,
    .auto_baseline = ASC_BASELINE_REMOVE,
    .run = run,
    .price = price,
};
