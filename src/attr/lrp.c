/* lrp.c - layer-wise relevance propagation: the explained value shared out backwards, op by op. */
#include "method.h"
#include "plain.h"
#include "prompt_sweep.h"
#include "ruled_pass.h"
#include <math.h>
#include <stdio.h>

/* The sum at each site, from the output to the input; a site that keeps the sum of the one before is left
 * out. */
static asc_status note_sums(asc_task *t, const asc_rules *r) {
    enum { LINE = 440, LINES = 4 };
    char line[LINE + 100];
    size_t used = 0, lines = 0;
    double last = NAN;
    asc_status st = ASC_OK;
    for (size_t i = 0; i < r->n_sums && lines < LINES; i++) {
        const asc_rule_sum *s = &r->sums[i];
        if (fabs(s->relevance - last) <= 1e-6 * fabs(last)) continue;
        last = s->relevance;
        used += (size_t)asc_snprintf(line + used, sizeof line - used, "%s%.60s %.6g", used == 0 ? "" : ", ",
                                     s->site, s->relevance);
        if (used < LINE && i + 1 < r->n_sums) continue;
        st = asc_task_note(t, "relevance by site, where it changes: %s", line);
        if (st != ASC_OK) return st;
        used = 0;
        lines++;
    }
    return used > 0 ? asc_task_note(t, "relevance by site, where it changes: %s", line) : st;
}

/* Captum's sign: the value minus the sum, what biases and epsilon have absorbed. */
static asc_status deltas(asc_task *t) {
    asc_attribution *r = t->r;
    asc_status st = asc_task_delta(t, 0.0);
    for (size_t i = 0; st == ASC_OK && i < r->n_delta; i++) r->delta[i] = -r->delta[i];
    return st;
}

static asc_status attribute(asc_task *t) {
    asc_status st = ASC_OK;
    asc_rule_options o;
    asc_rules rules = {0};
    ASC_TRY(asc_task_rule_options(t, &o));
    ASC_TRY(asc_rules_init_lrp(t->ctx, &o, &rules));
    ASC_TRY(asc_task_ruled_gradient(t, &rules));
    ASC_TRY(deltas(t));
    ASC_TRY(note_sums(t, &rules));
done:
    asc_rules_deinit(&rules);
    return st;
}

/* ---- prompts ---- */

/* Relevance of what leaves each block says where it was absorbed, so those rows are always there. */
static asc_status run(asc_job *j) {
    const asc_rule_options o = {0};
    asc_rules rules = {0};
    if (j->encoder == NULL && !j->req->per_token) j->inner |= 1u << ASC_SWEEP_OUT;
    asc_status st = asc_rules_init_lrp(j->ctx, &o, &rules);
    if (st == ASC_OK) st = asc_prompt_sweeps(j, ASC_ROWS_PROMPT, &rules, 1);
    asc_rules_deinit(&rules);
    return st;
}

const asc_method asc_method_lrp = {
    .info =
        {.name = "lrp",
         .captum = "LRP (at a site: LayerLRP)",
         .doc =
             "the explained value handed back layer by layer, in proportion to what each input contributed",
         .formula =
             "R_i = sum_j c_ij / (sum_i c_ij + bias_j) R_j, contributions c by the rules of docs/rules.md",
         .paper = "Bach et al., On Pixel-Wise Explanations for Non-Linear Classifier Decisions by Layer-Wise "
                  "Relevance Propagation, 2015",
         .axioms = "conservation up to what biases and epsilon absorb (printed for each site)",
         .cost = "1 forward and 1 backward pass; more for rules that change weights",
         .options = "features, layers, output, per-token (logit); nets: rules (of sites, ops, layers), at, "
                    "fallback, "
                    "compat",
         .differences =
             "a rule for every op; additions share relevance by size; rules belong to the call; delta "
             "is the value minus the sum, as in Captum. Prompts: AttnLRP (Achtibat et al. 2024), of the "
             "logit"},
    .by_gradient = true,
    .per_token = true,
    .by_logit = true,
    .attribute = attribute,
    .price_rows = asc_price_one_gradient,
    .run = run,
    .price = asc_job_price_one_gradient,
};
