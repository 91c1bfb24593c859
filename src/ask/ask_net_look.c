/* ask_net_look.c - what a net says by itself: its largest numbers, and the target when none was given. */
#include "alloc.h"
#include "ascribe/net_defaults.h"
#include "net.h"
#include <stdio.h>

static const char *label_of(const char *const *labels, size_t n, int64_t i) {
    return i >= 0 && (size_t)i < n && labels[i][0] != '\0' ? labels[i] : NULL;
}

/* The largest numbers; their places in top[].index count over the whole row. */
static void find_top(asc_net_look *look, const double *v, int64_t n, const char *const *labels,
                     size_t n_labels) {
    for (int64_t i = 0; i < n; i++) {
        size_t at = look->n_top;
        while (at > 0 && v[i] > look->top[at - 1].value) at--;
        if (at == ASC_NET_TOP) continue;
        if (look->n_top < ASC_NET_TOP) look->n_top++;
        for (size_t k = look->n_top - 1; k > at; k--) look->top[k] = look->top[k - 1];
        look->top[at] = (asc_class_score){.index = i, .label = label_of(labels, n_labels, i), .value = v[i]};
    }
}

asc_status asc_net_look_at(asc_net *net, const asc_attr_request *q, const char *const *labels,
                           size_t n_labels, asc_net_look *out) {
    asc_ctx *ctx = net->ctx;
    asc_array value = {0};
    const char *name = q->target.value != NULL ? q->target.value : net->outputs[0].name;
    *out = (asc_net_look){0};
    asc_status st = asc_net_run(net, q->inputs, q->n_inputs, &name, 1, &value);
    if (st != ASC_OK) return st;
    asc_shape s = value.shape;
    bool batch = !q->no_batch && net->n_inputs > 0 && net->inputs[0].batch;
    if (s.rank > 0 && (batch || s.dims[0] == 1)) {
        s.rank--;
        memmove(s.dims, value.shape.dims + 1, (size_t)s.rank * sizeof *s.dims);
    }
    out->row = s;
    int64_t n = asc_array_count(&value) > 0 ? 1 : 0; /* of an empty batch nothing can be seen */
    for (int d = 0; d < s.rank; d++) n *= s.dims[d];
    double *v = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n + 1, sizeof *v);
    if (v != NULL) {
        asc_array_get(&value, 0, n, v);
        find_top(out, v, n, labels, n_labels);
    }
    asc_free(ctx, v);
    asc_array_free(ctx, &value);
    return v != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

void asc_net_look_target(const asc_net_look *look, int64_t index[ASC_MAX_RANK], asc_target *target) {
    const asc_shape *s = &look->row;
    if (look->n_top == 0 || s->rank == 0) return;
    int64_t rest = look->top[0].index; /* dimension by dimension */
    for (int d = s->rank - 1; d >= 0; d--) {
        index[d] = rest % s->dims[d];
        rest /= s->dims[d];
    }
    *target = (asc_target){.value = target->value, .n_rows = 1, .rank = s->rank, .index = index};
}

void asc_net_target_text(const asc_net *net, const asc_target *target, const char *const *labels,
                         size_t n_labels, char *out, size_t size) {
    char index[128] = "";
    for (int d = 0; d < target->rank; d++) {
        size_t n = strlen(index);
        snprintf(index + n, sizeof index - n, d > 0 ? ",%lld" : "%lld", (long long)target->index[d]);
    }
    const char *label = target->rank == 1 ? label_of(labels, n_labels, target->index[0]) : NULL;
    snprintf(out, size, "%.60s[%s]%s%.60s%s", target->value != NULL ? target->value : net->outputs[0].name,
             index, label != NULL ? " (" : "", label != NULL ? label : "", label != NULL ? ")" : "");
}
