/* task.c - checks a request on a net and lays out its variables, baselines and masks. */
#include "task.h"
#include "ascribe/precision.h"
#include "method.h"
#include "plain.h"
#include "task_parts.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

asc_status asc_task_note(asc_task *t, const char *fmt, ...) {
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < t->r->n_notes; i++) {
        if (strcmp(t->r->notes[i], line) == 0) return ASC_OK;
    }
    if (t->r->n_notes >= ASC_MAX_NOTES) return ASC_OK;
    char *copy = asc_strdup_view(t->ctx, ASC_MEM_GENERAL, asc_view_of(line));
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    t->r->notes[t->r->n_notes++] = copy;
    return ASC_OK;
}

static asc_status find_method(asc_task *t) {
    const char *name = t->req->method != NULL ? t->req->method : "integrated-gradients";
    int found = asc_method_find(name);
    if (found >= 0) t->method = asc_methods[found];
    if (t->method == NULL) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "unknown method '%.60s'", name);
        return asc_hint(t->ctx, "ascribe methods lists them");
    }
    if (t->method->attribute == NULL)
        return ASC_FAIL(t->ctx, ASC_UNIMPLEMENTED, "%s works on prompts only", name);
    t->r->method = t->method->info.name;
    t->r->stochastic = t->method->stochastic;
    t->r->complete = t->method->complete;
    return ASC_OK;
}

/* The part of an array's shape that one example has. */
static asc_shape example_shape(const asc_task *t, const asc_array *a, bool batch) {
    if (!t->batched || !batch) return a->shape;
    asc_shape s = {.rank = a->shape.rank - 1};
    memcpy(s.dims, a->shape.dims + 1, (size_t)s.rank * sizeof *s.dims);
    return s;
}

static asc_status choose_batching(asc_task *t, int64_t batch) {
    const asc_net *net = t->net;
    bool any = false, out = true;
    for (size_t i = 0; i < net->n_inputs; i++) any = any || net->inputs[i].batch;
    const char *value = t->req->target.value;
    for (size_t i = 0; i < net->n_outputs; i++) {
        if (value == NULL ? i == 0 : strcmp(net->outputs[i].name, value) == 0) out = net->outputs[i].batch;
    }
    t->batched = any && out && !t->req->no_batch;
    t->n = t->batched ? (size_t)batch : 1;
    t->copies = 1;
    if (t->n == 0) return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "the inputs hold no example");
    return ASC_OK;
}

/* Gradient methods cannot move integers: they are passed on, or the user is told to pick a site. */
static asc_status choose_moving(asc_task *t) {
    const asc_net *net = t->net;
    const asc_attr_request *q = t->req;
    const char *integer = NULL;
    for (size_t i = 0; i < net->n_inputs; i++) {
        asc_feed *f = &t->feeds[i];
        f->given = q->inputs[i];
        bool batch_ok = !t->batched || net->inputs[i].batch;
        bool fixed = (q->fixed != NULL && q->fixed[i]) || !batch_ok || asc_array_count(&f->given) == 0;
        /* at sites, integers may have baselines: the path runs behind their look-up */
        if (!fixed && !asc_elem_is_float(net->inputs[i].elem) && !t->method->takes_integers && !t->at_sites) {
            integer = net->inputs[i].name;
            fixed = true;
        }
        f->moving = !fixed;
        if (f->moving) f->var = t->n_in++;
    }
    if (t->n_in > 0 || t->at_sites) return ASC_OK;
    if (integer != NULL) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                 "input '%.60s' holds integers; %s needs a value with a gradient", integer,
                 t->method->info.name);
        return asc_hint(t->ctx, "attribute to a site behind the look-up of the integers (at), or use "
                                "feature-ablation");
    }
    return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "every input is fixed or empty: nothing to attribute to");
}

static asc_status read_input(asc_task *t, size_t i) {
    asc_feed *f = &t->feeds[i];
    asc_var *v = &t->in[f->var];
    int64_t n = asc_array_count(&f->given);
    *v = (asc_var){.name = t->net->inputs[i].name,
                   .input = (int64_t)i,
                   .site = -1,
                   .elem = t->net->inputs[i].elem,
                   .shape = example_shape(t, &f->given, t->net->inputs[i].batch)};
    v->size = (size_t)n / t->n;
    v->x = asc_calloc(t->ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *v->x);
    if (v->x == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_array_get(&f->given, 0, n, v->x);
    for (int64_t k = 0; k < n; k++) {
        if (v->x[k] - v->x[k] != 0.0)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "input '%.60s': element %lld is not finite",
                            v->name, (long long)k);
    }
    return ASC_OK;
}

static asc_status resolve_sites(asc_task *t) {
    const asc_attr_request *q = t->req;
    t->at_sites = q->n_at > 0;
    if (!t->at_sites && t->method->needs_site) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s speaks of inner values: no site was given",
                 t->method->info.name);
        return asc_hint(t->ctx, "name one (at); ascribe inspect lists the sites");
    }
    if (!t->at_sites) return ASC_OK;
    t->at = asc_calloc(t->ctx, ASC_MEM_GENERAL, q->n_at, sizeof *t->at);
    if (t->at == NULL) return ASC_RESOURCE_EXHAUSTED;
    t->n_at = q->n_at;
    for (size_t i = 0; i < q->n_at; i++) {
        int64_t s = asc_net_find_site(t->net, asc_view_of(q->at[i]));
        if (s < 0) return ASC_NOT_FOUND;
        for (size_t k = 0; k < i; k++) { /* replacing one would undo the other, sums would count it twice */
            if (t->at[k].site == s)
                return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "site '%.60s' is given twice: at[%zu], at[%zu]",
                                q->at[i], k, i);
        }
        t->at[i] = (asc_var){.name = t->net->sites[s], .input = -1, .site = s, .elem = ASC_ELEM_F32};
    }
    return ASC_OK;
}

static asc_status resolve_inputs(asc_task *t) {
    t->in = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->net->n_inputs + 1, sizeof *t->in);
    t->feeds = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->net->n_inputs + 1, sizeof *t->feeds);
    if (t->in == NULL || t->feeds == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = choose_moving(t);
    for (size_t i = 0; st == ASC_OK && i < t->net->n_inputs; i++) {
        if (t->feeds[i].moving) st = read_input(t, i);
    }
    if (st == ASC_OK && !t->at_sites) {
        t->at = t->in;
        t->n_at = t->n_in;
    }
    return st;
}

asc_status asc_task_init(asc_task *t, asc_net *net, const asc_attr_request *req) {
    asc_status st = ASC_OK;
    int64_t batch = 1;
    *t = (asc_task){.ctx = net->ctx, .net = net, .req = req};
    if (req->struct_size != sizeof *req)
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                        "attribute: the request's struct_size is not that of this library");
    t->r = asc_calloc(t->ctx, ASC_MEM_GENERAL, 1, sizeof *t->r);
    if (t->r == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(find_method(t));
    ASC_TRY(asc_precision_check(t->ctx));
    ASC_TRY(asc_task_check_pointers(t));
    ASC_TRY(asc_net_check_inputs(net, req->inputs, req->n_inputs, req->no_batch, &batch));
    ASC_TRY(choose_batching(t, batch));
    ASC_TRY(asc_task_check_numbers(t));
    ASC_TRY(resolve_sites(t));
    ASC_TRY(resolve_inputs(t));
    ASC_TRY(asc_aim_init(t, &req->target, &t->aim));
    ASC_TRY(asc_task_baselines(t));
    if (!t->at_sites) ASC_TRY(asc_task_masks(t)); /* of sites: when their shapes are known */
    t->r->n_examples = t->n;
    t->r->converged = true;
done:
    return st;
}

static void free_var(asc_ctx *ctx, asc_var *v) {
    asc_free(ctx, v->x);
    asc_free(ctx, v->x0);
    asc_free(ctx, v->mask);
}

void asc_task_deinit(asc_task *t) {
    if (t->ctx == NULL) return;
    for (size_t i = 0; t->in != NULL && i < t->n_in; i++) free_var(t->ctx, &t->in[i]);
    if (t->at_sites) {
        for (size_t i = 0; t->at != NULL && i < t->n_at; i++) free_var(t->ctx, &t->at[i]);
        asc_free(t->ctx, t->at);
    }
    asc_free(t->ctx, t->in);
    asc_free(t->ctx, t->feeds);
    asc_attribution_destroy(t->ctx, t->r);
    *t = (asc_task){0};
}
