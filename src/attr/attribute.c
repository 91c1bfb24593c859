/* attribute.c - the public call: a request on a net in, a result out. */
#include "exec.h"
#include "json.h"
#include "method.h"
#include "profile.h"
#include "task_parts.h"
#include <math.h>
#include <string.h>

/* Every option that was set, as JSON, so that a result says how it came about. */
static asc_status options_json(asc_task *t) {
    const asc_attr_request *q = t->req;
    asc_strbuf b;
    asc_jsonw w;
    asc_strbuf_init(&b, t->ctx);
    asc_jsonw_init(&w, &b, true);
    asc_jsonw_begin_object(&w);
    const struct {
        const char *key, *text;
    } texts[] = {{"rule", q->rule},
                 {"base", q->base},
                 {"noise", q->noise},
                 {"norm", q->norm},
                 {"resize", q->resize},
                 {"distance", q->distance},
                 {"surrogate", q->surrogate},
                 {"fallback", q->fallback},
                 {"target_value", q->target.value},
                 {"neuron_value", q->neuron.value}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].text == NULL) continue;
        asc_jsonw_key(&w, texts[i].key);
        asc_jsonw_strz(&w, texts[i].text);
    }
    const struct {
        const char *key;
        double number;
    } numbers[] = {{"steps", (double)q->steps},
                   {"tolerance", q->tolerance},
                   {"max_evaluations", (double)q->max_evaluations},
                   {"samples", (double)asc_task_samples(t)},
                   {"kernel_width", q->kernel_width},
                   {"penalty", q->penalty},
                   {"epsilon", q->epsilon},
                   {"radius", q->radius},
                   {"step_size", q->step_size},
                   {"rows_per_pass", (double)q->rows_per_pass},
                   {"memory_bytes", (double)q->memory_bytes}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].number == 0.0) continue;
        asc_jsonw_key(&w, numbers[i].key);
        if (numbers[i].number == floor(numbers[i].number) && numbers[i].number < 1e15)
            asc_jsonw_int(&w, (int64_t)numbers[i].number);
        else
            asc_jsonw_num(&w, numbers[i].number);
    }
    const struct {
        const char *key;
        bool on;
    } flags[] = {{"no_multiply", q->no_multiply},     {"relu", q->relu},
                 {"keep_channels", q->keep_channels}, {"targeted", q->targeted},
                 {"no_batch", q->no_batch},           {"draw_baselines", q->draw_baselines},
                 {"compat_captum", q->compat_captum}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!flags[i].on) continue;
        asc_jsonw_key(&w, flags[i].key);
        asc_jsonw_bool(&w, true);
    }
    asc_jsonw_key(&w, "seed");
    asc_jsonw_int(&w, (int64_t)q->seed);
    asc_jsonw_end_object(&w);
    t->r->options = asc_strbuf_take(&b, NULL);
    asc_status st = t->r->options != NULL ? ASC_OK : asc_strbuf_status(&b);
    asc_strbuf_deinit(&b);
    return st;
}

/* A gradient method whose scores are all zero says nothing; the likeliest reason is named. */
static asc_status note_zeros(asc_task *t) {
    for (size_t k = 0; t->method->by_gradient && k < t->r->n_scores; k++) {
        const asc_scores *s = &t->r->scores[k];
        int64_t n = asc_shape_elems(&s->shape), i = 0;
        while (i < n && s->data[i] == 0.0) i++;
        if (i < n || n == 0) continue;
        asc_status st =
            asc_task_note(t,
                          "all scores of '%.60s' are zero: the explained value does not depend on it "
                          "there, or only through steps without a gradient",
                          s->name);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

/* Operators without a derivative of their own have been given one: a gradient's reader must know. */
static asc_status note_net(asc_task *t) {
    asc_status st = ASC_OK;
    for (size_t i = 0; t->method->by_gradient && st == ASC_OK && i < t->net->n_notes; i++)
        st = asc_task_note(t, "%s", t->net->notes[i]);
    size_t n_held;
    const char *held = asc_net_held_site(t->net, &n_held);
    if (st == ASC_OK && held != NULL)
        st = asc_task_note(
            t,
            "inner values of the net were replaced, at %.80s%s: without them it answers otherwise, "
            "and the command line does not put them there",
            held, n_held > 1 ? " and other sites" : "");
    return st;
}

void asc_attribution_find_bound(asc_attribution *r) {
    r->error_bound = r->n_scores > 0 ? 0.0 : NAN;
    for (size_t k = 0; k < r->n_scores; k++) {
        const asc_scores *s = &r->scores[k];
        if (s->error == NULL) r->error_bound = NAN;
        for (int64_t i = 0, n = asc_shape_elems(&s->shape);
             s->error != NULL && !isnan(r->error_bound) && i < n; i++)
            r->error_bound =
                s->error[i] > r->error_bound || isnan(s->error[i]) ? s->error[i] : r->error_bound;
    }
}

asc_status asc_attribute(asc_net *net, const asc_attr_request *req, asc_attribution **out) {
    asc_status st = ASC_OK;
    asc_task t = {0};
    uint64_t t0 = asc_now_ns();
    double flops0 = asc_exec_stats_of(net->ctx).flops;
    *out = NULL;
    ASC_TRY(asc_task_init(&t, net, req));
    ASC_TRY(options_json(&t));
    if (req->dry_run) {
        ASC_TRY(asc_task_estimate(&t, t0));
    } else {
        const int depth = asc_prof_push(net->ctx, t.method->info.name, -1);
        const size_t bound = net->ctx->bound;
        net->ctx->bound = req->memory_bytes; /* what is idle goes before it would be exceeded */
        st = t.method->attribute(&t);
        net->ctx->bound = bound;
        asc_prof_pop(net->ctx, depth);
        if (st != ASC_OK) goto done;
        ASC_TRY(note_zeros(&t));
        ASC_TRY(note_net(&t));
        asc_attribution_find_bound(t.r);
    }
    t.r->seconds = (double)(asc_now_ns() - t0) * 1e-9;
    if (!req->dry_run) t.r->flops = asc_exec_stats_of(net->ctx).flops - flops0;
    t.r->peak_bytes = asc_memory(net->ctx).peak_total;
    *out = t.r;
    t.r = NULL;
done:
    asc_task_deinit(&t);
    return st;
}

void asc_attribution_destroy(asc_ctx *ctx, asc_attribution *r) {
    if (r == NULL) return;
    for (size_t k = 0; k < r->n_scores; k++) {
        asc_free(ctx, r->scores[k].name);
        asc_free(ctx, r->scores[k].data);
        asc_free(ctx, r->scores[k].error);
    }
    for (size_t i = 0; i < r->n_notes; i++) asc_free(ctx, r->notes[i]);
    asc_free(ctx, r->scores);
    asc_free(ctx, r->options);
    asc_free(ctx, r->value);
    asc_free(ctx, r->baseline_value);
    asc_free(ctx, r->delta);
    asc_free(ctx, r);
}
