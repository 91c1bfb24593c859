/* meaning.c - the words around the numbers: units, what a score means, how good it is, what to do when it is
 * not. */
#include "report_parts.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void asc_figure(double v, bool sign, char out[32]) {
    double a = fabs(v);
    if (!isfinite(v)) {
        snprintf(out, 32, "unknown");
    } else if (a > 0 && (a < 1e-3 || a >= 1e6)) {
        asc_snprintf(out, 32, sign ? "%+.2e" : "%.2e", v);
    } else {
        int decimals = a >= 100 ? 1 : a >= 1 ? 2 : a >= 0.1 ? 3 : 4;
        asc_snprintf(out, 32, sign && a > 0 ? "%+.*f" : "%.*f", decimals, v);
    }
}

double asc_largest_score(const asc_result *r) {
    double m = 0;
    for (size_t i = 0; i < r->n_features; i++) {
        double a = fabs(r->features[i].score);
        if (isfinite(a) && a > m) m = a;
    }
    return m;
}

int asc_scale_step(double score, double largest, int steps) {
    if (!isfinite(score) || !(largest > 0)) return 0;
    return (int)lround(score / largest * steps);
}

bool asc_has_baseline(const asc_result *r) {
    return r->baseline != NULL && r->baseline[0] != '\0' && strcmp(r->baseline, "none") != 0;
}

asc_view asc_feature_shown(const asc_report *rep, const asc_feature *f) {
    const asc_result *r = rep->result;
    asc_view v = asc_view_make(f->text, f->text_len);
    if (v.len == 0 && rep->tokenizer != NULL && f->n_tokens == 1)
        return asc_token_piece(rep->tokenizer, r->prompt_ids[f->first_token]);
    while (r->feature_kind != ASC_FEATURES_TOKEN && v.len > 1 && v.ptr[0] == ' ') {
        v.ptr++;
        v.len--;
    }
    return v;
}

size_t asc_n_shown_parts(const asc_result *r) { return r->n_parts > 0 ? r->n_parts : r->n_features; }

asc_feature_part asc_shown_part(const asc_result *r, size_t i) {
    if (r->n_parts > 0) return r->parts[i];
    const asc_feature *f = &r->features[i];
    return (asc_feature_part){.start = f->start,
                              .end = f->end,
                              .first_token = f->first_token,
                              .n_tokens = f->n_tokens,
                              .feature = i};
}

asc_view asc_part_shown(const asc_result *r, const asc_feature_part *p) {
    asc_view v = asc_view_make(r->prompt + p->start, p->end - p->start);
    while (r->feature_kind != ASC_FEATURES_TOKEN && v.len > 1 && v.ptr[0] == ' ') {
        v.ptr++;
        v.len--;
    }
    return v;
}

bool asc_mixed_features(const asc_result *r) { return strcmp(r->method, "hierarchical") == 0; }

const char *asc_feature_word(const asc_result *r) {
    if (asc_mixed_features(r)) return "part";
    const char *s = asc_features_name(r->feature_kind);
    return s != NULL ? s : "feature";
}

const char *asc_output_word(const asc_result *r) {
    if (r->neuron_site != NULL) return "value";
    switch (r->output) {
    case ASC_OUTPUT_PROB:
        return "probability";
    case ASC_OUTPUT_LOGIT:
        return "logit";
    case ASC_OUTPUT_KL:
        return "closeness (minus KL divergence)";
    case ASC_OUTPUT_SIMILARITY:
        return "similarity (cosine)";
    default:
        return "log-probability";
    }
}

const char *asc_report_unit(const asc_result *r) {
    if (r->neuron_site != NULL) return "";
    switch (r->output) {
    case ASC_OUTPUT_PROB:
    case ASC_OUTPUT_SIMILARITY:
        return "";
    case ASC_OUTPUT_LOGIT:
        return "logits";
    default:
        return "nats";
    }
}

/* "the log-probability of the target", "the log-probability of the target minus that of the other answer". */
static const char *subject(const asc_result *r, char out[160]) {
    if (r->neuron_site != NULL)
        snprintf(out, 160, "the value of unit %lld of %.60s at token %lld", (long long)r->neuron_index,
                 r->neuron_site, (long long)r->neuron_token);
    else if (asc_of_encoder(r))
        asc_encoder_subject(r, asc_output_word(r), out);
    else if (r->output == ASC_OUTPUT_KL)
        snprintf(out, 160, "the closeness of the next token's distribution to that of the whole prompt");
    else
        snprintf(out, 160, "the %s of %s%s", asc_output_word(r),
                 r->span_end - r->span_start < r->n_target ? "that part of the target" : "the target",
                 r->n_versus > 0 ? " minus that of the other answer" : "");
    return out;
}

void asc_report_meaning(asc_text *t, const asc_result *r) {
    char what[160];
    const char *unit = asc_report_unit(r), *word = asc_feature_word(r), *gap = unit[0] != '\0' ? ", in " : "";
    subject(r, what);
    if (strcmp(r->method, "feature-ablation") == 0) {
        bool removed = strncmp(r->baseline, "remove", 6) == 0;
        asc_text_addf(t, "A score is how far %s falls when that %s is %s%s%s; negative: it rises.", what,
                      word, removed ? "left out" : "replaced by the baseline token", gap, unit);
    } else if (strcmp(r->method, "integrated-gradients") == 0 && r->site != NULL) {
        asc_text_addf(t,
                      "A score is the share of the change of %s, as the values of %.60s go from those at the "
                      "baseline to those at the %s, that falls to that %s's%s%s; together they make up the "
                      "whole change.",
                      what, r->site, asc_input_word(r), word, gap, unit);
    } else if (strcmp(r->method, "conductance") == 0 && r->site != NULL) {
        asc_text_addf(
            t,
            "A score is how much of the change of %s, from the baseline to the %s, flows through the "
            "values of %.60s at that %s%s%s.",
            what, asc_input_word(r), r->site, word, gap, unit);
    } else if (r->through != NULL) {
        asc_text_addf(t,
                      "A score is the part of the change of %s, from the baseline to the %s, that this %s "
                      "brings about through unit %.80s%s%s.",
                      what, asc_input_word(r), word, r->through, gap, unit);
    } else if (strcmp(r->method, "integrated-gradients") == 0) {
        asc_text_addf(
            t,
            "A score is the share of the change of %s, from the baseline to the %s, that falls to that "
            "%s%s%s; together they make up the whole change.",
            what, asc_input_word(r), word, gap, unit);
    } else if (strcmp(r->method, "shapley-values") == 0 || strcmp(r->method, "shapley-value-sampling") == 0 ||
               strcmp(r->method, "kernel-shap") == 0 || asc_mixed_features(r)) {
        asc_text_addf(t,
                      "A score is what that %s adds to %s when it joins others, averaged over all orders in "
                      "which they could come%s%s; together the scores make up the whole change.",
                      word, what, gap, unit);
    } else if (strcmp(r->method, "lime") == 0) {
        asc_text_addf(t,
                      "A score is the weight of that %s in a sparse linear model of %s, fitted to %ss with "
                      "some of them left out%s%s; 0: the model does without it.",
                      word, what, asc_input_word(r), gap, unit);
    } else if (strcmp(r->method, "saliency") == 0) {
        asc_text_addf(t,
                      "A score is how strongly %s reacts to a small change of that %s's embedding; it is a "
                      "slope, not a share.",
                      what, word);
    } else if (strcmp(r->method, "input-x-gradient") == 0) {
        asc_text_addf(t,
                      "A score is the slope of %s times that %s's embedding%s%s: a linear guess of its part.",
                      what, word, gap, unit);
    } else if (strcmp(r->method, "activation-patching") == 0) {
        asc_text_addf(
            t,
            "A score is how far %s falls when that %s is the other prompt's%s%s. A row of a layer says the "
            "same of that layer's values at the %s alone; its total, of all tokens at once; its share, "
            "of the change between the prompts.",
            what, word, gap, unit, word);
    } else if (strcmp(r->method, "attribution-patching") == 0) {
        asc_text_addf(
            t,
            "A score is the slope of %s times the difference between the prompts at that %s%s%s: a linear "
            "guess of what activation-patching measures; likewise for the values of each layer.",
            what, word, gap, unit);
    } else if (strcmp(r->method, "attention-rollout") == 0 ||
               strcmp(r->method, "gradient-x-attention") == 0) {
        asc_text_addf(
            t,
            "A score is how much attention lets through from that %s to where the answer is predicted, "
            "layer by layer%s. It is no share of the answer: use it for comparison.",
            word, r->method[0] == 'g' ? ", weighted with its gradient" : "");
    } else if (strcmp(r->method, "lrp") == 0) {
        asc_text_addf(
            t,
            "A score is the relevance of that %s: the share of %s%s%s that is handed back to it, layer by "
            "layer. What is missing from the sum was absorbed by softmax, biases and the answer's own "
            "tokens: the totals of the layers say where.",
            word, what, gap, unit);
    } else if (strcmp(r->method, "deep-lift") == 0 || strcmp(r->method, "deep-lift-shap") == 0) {
        asc_text_addf(t,
                      "A score is the share of the change of %s, from the baseline%s to the %s, that is "
                      "attributed to that %s op by op%s%s; together they make up the whole change.",
                      what, strcmp(r->method, "deep-lift") == 0 ? "" : "s", asc_input_word(r), word, gap,
                      unit);
    } else if (strcmp(r->method, "gradient-shap") == 0) {
        asc_text_addf(
            t,
            "A score is the expected share of the change of %s, from a random point of the baselines to "
            "the %s, that falls to that %s%s%s; the error is that of sampling.",
            what, asc_input_word(r), word, gap, unit);
    } else {
        asc_text_addf(t, "A score says how much that %s drove %s%s%s.", word, what, gap, unit);
    }
}

void asc_report_error(asc_text *t, const asc_result *r) {
    char bound[32], residual[32];
    const char *unit = asc_report_unit(r);
    double largest = asc_largest_score(r);
    asc_figure(r->error_bound, false, bound);
    asc_figure(r->residual, true, residual);
    if (isfinite(r->error_bound) && r->stochastic) {
        asc_text_addf(t,
                      "standard errors of sampling, from %zu samples: about two of three scores are nearer "
                      "than theirs to the true value; the largest is %s%s%s",
                      r->samples, bound, unit[0] != '\0' ? " " : "", unit);
        if (largest > 0) asc_text_addf(t, " (%.2g %% of the largest score)", 100 * r->error_bound / largest);
    } else if (isfinite(r->error_bound)) {
        asc_text_addf(t, "each score is within %s%s%s of its true value (estimated%s", bound,
                      unit[0] != '\0' ? " " : "", unit, r->noise_floor > 0 ? ", rounding included" : "");
        if (largest > 0) asc_text_addf(t, "; %.2g %% of the largest", 100 * r->error_bound / largest);
        asc_text_adds(t, ")");
    } else {
        asc_text_adds(t, "not estimated for this method");
    }
    if (r->complete) asc_text_addf(t, "; the scores' sum misses the whole change by %s", residual);
    asc_text_adds(t, ".");
}

void asc_report_remedy(asc_text *t, const asc_result *r) {
    uint64_t n = r->n_backward > 0 ? r->n_backward : 1;
    if (r->stochastic) {
        asc_text_adds(t, "What would work: more --samples (the error falls with their square root), a larger "
                         "--tolerance, or fewer and larger features (--features sentence).");
        return;
    }
    asc_text_adds(
        t, "What would work: --method feature-ablation, which needs no convergence; another --baseline (eos, "
           "mean, token:ID)");
    if (r->refinable) {
        asc_text_addf(t, "; or more evaluations: --max-evaluations %llu, about %.0f s here",
                      (unsigned long long)(4 * n), ceil(4 * r->seconds));
    }
    asc_text_adds(t, ".");
}
