/* task_options.c - numbers of a request that mean nothing. */
#include "method.h"
#include "task_parts.h"
#include <math.h>
#include <string.h>

/* Far beyond what anyone waits for; products with examples and features stay below 64 bits. */
static const size_t MOST_SAMPLES = 1000000000;

asc_status asc_task_check_pointers(asc_task *t) {
    const asc_attr_request *q = t->req;
    const struct {
        const char *name;
        size_t n;
        const void *data;
    } lists[] = {{"inputs", q->n_inputs, q->inputs},
                 {"at", q->n_at, q->at},
                 {"baselines", q->n_baselines, q->baselines},
                 {"at_baselines", q->n_at_baselines, q->at_baselines},
                 {"masks", q->n_masks, q->masks},
                 {"stdevs", q->n_stdevs, q->stdevs},
                 {"window", q->n_window, q->window},
                 {"rules", q->n_rules, q->rules}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (lists[i].n > 0 && lists[i].data == NULL)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s is NULL, but n_%s is %zu", lists[i].name,
                            lists[i].name, lists[i].n);
    }
    for (size_t i = 0; i < q->n_at; i++) {
        if (q->at[i] == NULL) return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "at[%zu] is NULL", i);
    }
    for (size_t i = 0; i < q->n_masks; i++) {
        if (q->masks[i].data == NULL)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "masks[%zu] has no data", i);
    }
    return ASC_OK;
}

enum { DEFAULT_STEPS = 50 };

size_t asc_task_steps(const asc_task *t) { return t->req->steps > 0 ? t->req->steps : DEFAULT_STEPS; }

size_t asc_task_samples(const asc_task *t) {
    return t->req->samples > 0 ? t->req->samples : t->method->samples;
}

double asc_task_stdev(const asc_task *t, size_t var, double fallback) {
    const asc_attr_request *q = t->req;
    if (q->n_stdevs == 0) return fallback;
    return q->stdevs[q->n_stdevs == 1 ? 0 : (size_t)t->in[var].input];
}

asc_status asc_task_check_stdevs(const asc_task *t) {
    if (t->req->n_stdevs <= 1 || t->req->n_stdevs == t->net->n_inputs) return ASC_OK;
    return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%zu standard deviations for %zu inputs", t->req->n_stdevs,
                    t->net->n_inputs);
}

/* Options that are set but that neither the method nor the one inside it reads: named, since who sets one
 * expects it to count. The words are those of the descriptors' lists. */
static asc_status note_unread(asc_task *t) {
    const asc_attr_request *q = t->req;
    int inner = q->base != NULL ? asc_method_find(q->base) : -1;
    const asc_method_info *me = &t->method->info, *base = inner >= 0 ? &asc_methods[inner]->info : NULL;
    const bool trapezoid =
        q->rule != NULL && strcmp(q->rule, "riemann-trapezoid") == 0 && asc_method_reads_of(me, "rule", true);
    const struct {
        bool set;
        const char *word;
    } options[] = {
        {q->norm != NULL, "norm"},
        {q->rule != NULL, "rule"},
        {q->steps > 0, "steps"},
        {q->samples > 0, "samples"},
        {q->tolerance > 0.0, "tolerance"},
        {q->n_stdevs > 0, "stdevs"},
        {q->n_window > 0, "window"},
        {q->n_masks > 0, "masks"},
        {q->base != NULL, "base"},
        {q->noise != NULL, "noise"},
        {q->relu, "relu"},
        {q->keep_channels, "keep-channels"},
        {q->no_multiply, "no-multiply"},
        {q->kernel_width > 0.0, "kernel-width"},
        {q->distance != NULL, "distance"},
        {q->surrogate != NULL, "surrogate"},
        {q->penalty > 0.0, "penalty"},
        {q->n_rules > 0, "rules"},
        {q->fallback != NULL, "fallback"},
        {q->n_baselines > 0, "baselines"},
        {q->n_at_baselines > 0 && (t->method->needs_site || !asc_method_reads_of(me, "baselines", true)),
         "at-baselines"},
        {q->draw_baselines, "draw-baselines"},
        {q->resize != NULL, "resize"},
        {q->neuron.value != NULL, "neuron"},
        {q->compat_captum && !trapezoid, "compat"}, /* Captum's leaves out 1/n of the path */
        {q->seed != 0, "seed"},
        {q->epsilon > 0.0, "epsilon"}, /* of attacks, as what follows */
        {q->radius > 0.0, "radius"},
        {q->step_size != 0.0, "step-size"},
        {q->targeted, "targeted"},
        {q->bounds != NULL, "bounds"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *word = options[i].word;
        if (!options[i].set || asc_method_reads_of(me, word, true) ||
            (base != NULL && asc_method_reads_of(base, word, true)))
            continue;
        asc_status st = asc_task_note(t, "%s does not read the option '%s'", me->name, word);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

asc_status asc_task_check_numbers(asc_task *t) {
    const asc_attr_request *q = t->req;
    if (q->samples > MOST_SAMPLES)
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "samples is %zu; at most %zu are taken", q->samples,
                        MOST_SAMPLES);
    const struct {
        const char *name;
        double value;
        bool negative_ok;
    } numbers[] = {{"tolerance", q->tolerance, false}, {"kernel_width", q->kernel_width, false},
                   {"penalty", q->penalty, false},     {"epsilon", q->epsilon, false},
                   {"radius", q->radius, false},       {"step_size", q->step_size, true}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!isfinite(numbers[i].value) || (!numbers[i].negative_ok && numbers[i].value < 0.0))
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s is %g; it must be a finite number from 0",
                            numbers[i].name, numbers[i].value);
    }
    for (size_t i = 0; i < q->n_stdevs; i++) {
        if (!isfinite(q->stdevs[i]) || q->stdevs[i] < 0.0)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                            "stdevs[%zu] is %g; it must be a finite number from 0", i, q->stdevs[i]);
    }
    for (size_t i = 0; i < q->n_window; i++) {
        if (q->window[i] < 1 || (q->stride != NULL && q->stride[i] < 1))
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "entry %zu of window and stride must be at least 1",
                            i);
    }
    return note_unread(t);
}
