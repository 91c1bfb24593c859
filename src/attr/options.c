/* options.c - options that only some methods read. A value that means nothing is refused whatever the method,
 * and so is another prompt that the method would not look at; any other option that it does not read is said
 * in the result, since its user expects it to matter. */
#include "inner_table.h"
#include "method.h"
#include "quadrature.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Far beyond what anyone waits for; products with features stay below 64 bits. */
static const size_t MOST_SAMPLES = 1000000000;

static asc_status check_sampling(asc_job *j) {
    const asc_request *q = j->req;
    if (!(q->alpha >= 0.0) || !(q->refine >= 0.0) || q->samples > MOST_SAMPLES) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s",
                 q->samples > MOST_SAMPLES ? "more samples than 1,000,000,000"
                 : q->alpha >= 0.0         ? "refine is not a number from 0 on"
                                           : "alpha is not a number from 0 on");
        return asc_hint(j->ctx, "use 0 for the default");
    }
    return ASC_OK;
}

static asc_status check_values(asc_job *j, asc_rule rule) {
    const asc_request *q = j->req;
    const char *norm = q->norm != NULL ? q->norm : "l2";
    if (strcmp(norm, "l2") != 0 && strcmp(norm, "abs") != 0 && strcmp(norm, "signed") != 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "unknown norm '%.40s'", norm);
        return asc_hint(j->ctx, "use one of: l2, abs, signed");
    }
    if (!(q->tolerance >= 0.0) || !(q->max_seconds >= 0.0)) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s is not a number from 0 on",
                 q->tolerance >= 0.0 ? "max_seconds" : "tolerance");
        return asc_hint(j->ctx, "use 0 for the default");
    }
    if (!(q->stdev >= 0.0) || isinf(q->stdev)) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "stdev is not a finite number from 0 on");
        return asc_hint(j->ctx, "use 0 for the default");
    }
    if (((unsigned)q->output > ASC_OUTPUT_KL &&
         !(j->encoder != NULL && q->output == ASC_OUTPUT_SIMILARITY)) ||
        (unsigned)q->features > ASC_FEATURES_SLOT || (unsigned)q->baseline > ASC_BASELINE_MASK) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "output, features or baseline is not one of the values of its type");
        return asc_hint(j->ctx, "zero-initialise the request, then use the names in ascribe/attr.h");
    }
    return q->steps > 0 && rule != ASC_RULE_ADAPTIVE ? asc_rule_check_steps(j->ctx, rule, q->steps) : ASC_OK;
}

/* The rule in force and its steps, into the result: "" and 0 where the method has none. */
static asc_status set_rule(asc_job *j, asc_rule rule) {
    enum { DEFAULT_STEPS = 50 };
    bool read = asc_method_reads(&j->method->info, "rule");
    j->r->rule = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_of(read ? asc_rule_name(rule) : ""));
    if (j->r->rule == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (read && rule != ASC_RULE_ADAPTIVE) j->r->steps = j->req->steps > 0 ? j->req->steps : DEFAULT_STEPS;
    return ASC_OK;
}

/* Relevance starts as the explained value: of a log-probability, which is negative, every sign would turn. */
static asc_status explain_logit(asc_job *j) {
    if (!j->method->by_logit || j->req->output == ASC_OUTPUT_LOGIT || j->req->output == ASC_OUTPUT_SIMILARITY)
        return ASC_OK;
    if (j->req->output != ASC_OUTPUT_LOGPROB) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s hands back a logit; the output is %s",
                 j->method->info.name, asc_output_name(j->req->output));
        return asc_hint(j->ctx, "use the output logit");
    }
    j->adapted = *j->req;
    j->adapted.output = ASC_OUTPUT_LOGIT;
    j->req = &j->adapted;
    return ASC_OK;
}

/* Another prompt is half of the question: a method that compares with none would answer another one. */
static asc_status refuse_other_prompt(asc_job *j) {
    char list[256] = "";
    if ((j->req->corrupted.ptr == NULL && j->req->corrupted_ids == NULL) ||
        asc_method_reads(&j->method->info, "corrupted"))
        return ASC_OK;
    for (size_t i = 0; i < asc_n_methods; i++) {
        const size_t n = strlen(list);
        if (asc_method_reads(&asc_methods[i]->info, "corrupted"))
            snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", asc_methods[i]->info.name);
    }
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s compares with no other prompt: corrupted has no use",
             j->method->info.name);
    return asc_hint(j->ctx, "leave it out, or use a method that compares: %s", list);
}

/* The rule that is named, or the method's own. */
static int rule_of(const asc_job *j) {
    const asc_method *me = j->method;
    const char *own = j->req->compat_captum && me->captum_rule != NULL ? me->captum_rule : me->rule;
    return asc_rule_from_name(j->req->rule != NULL ? j->req->rule : own != NULL ? own : "adaptive");
}

asc_status asc_job_options(asc_job *j) {
    const asc_request *q = j->req;
    asc_status st = ASC_OK;
    const int rule = rule_of(j);
    if (rule < 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "unknown rule '%.40s'", q->rule);
        return asc_hint(j->ctx,
                        "use one of: adaptive, gauss-legendre, riemann-left, riemann-right, riemann-middle, "
                        "riemann-trapezoid");
    }
    bool adaptive = rule == ASC_RULE_ADAPTIVE;
    if (adaptive && j->method->rule != NULL)
        return ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s: no fixed rule is called '%.40s'",
                        j->method->info.name, q->rule);
    /* of these Captum's numbers differ by the weights of one rule alone */
    const bool weighs =
        asc_method_reads(&j->method->info, "max-evaluations") && j->method->captum_rule == NULL;
    const struct {
        const char *name;
        bool given, read_by_rule;
    } options[] = {{"baseline", q->baseline != ASC_BASELINE_AUTO, true},
                   {"norm", q->norm != NULL, true},
                   {"rule", q->rule != NULL, true},
                   {"steps", q->steps > 0, !adaptive},
                   {"tolerance", q->tolerance > 0.0, true},
                   {"samples", q->samples > 0, true},
                   {"alpha", q->alpha > 0.0, true},
                   {"refine", q->refine > 0.0, true},
                   {"max-evaluations", q->max_evaluations > 0, adaptive},
                   {"max-seconds", q->max_seconds > 0.0, adaptive},
                   {"output", q->output != ASC_OUTPUT_LOGPROB && q->output != ASC_OUTPUT_SIMILARITY, true},
                   {"label", q->label.ptr != NULL && !asc_method_reads(&j->method->info, "output"), true},
                   {"stdevs", q->stdev > 0.0, true},
                   {"layers", q->layers != NULL && q->layers[0] != '\0', true},
                   {"seed", q->seed != 0 && q->n_slots == 0, true}, /* slots draw from their baselines */
                   {"compat", q->compat_captum, !weighs || rule == ASC_RULE_RIEMANN_TRAPEZOID}};
    ASC_TRY(refuse_other_prompt(j));
    ASC_TRY(check_sampling(j));
    ASC_TRY(check_values(j, (asc_rule)rule));
    ASC_TRY(asc_inner_parse(j->ctx, q->layers, &j->inner));
    if (!asc_method_reads(&j->method->info, "layers")) j->inner = 0;
    ASC_TRY(explain_logit(j));
    ASC_TRY(set_rule(j, (asc_rule)rule));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!options[i].given) continue;
        if (!asc_method_reads_of(&j->method->info, options[i].name, false)) {
            ASC_TRY(asc_job_warn(j, "%s has no effect: %s does not read it", options[i].name,
                                 j->method->info.name));
        } else if (!options[i].read_by_rule) {
            ASC_TRY(asc_job_warn(j, "%s has no effect with the rule %s", options[i].name,
                                 asc_rule_name((asc_rule)rule)));
        }
    }
    if (q->trials > 1 && q->n_slots == 0)
        ASC_TRY(asc_job_warn(j, "trials has no effect: no slot has several baselines"));
done:
    return st;
}
