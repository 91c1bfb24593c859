/* net.c - what every net shares, whoever made it: its record, names, the check of inputs, arrays as leaves.
 */
#include "net.h"
#include "compiled.h"
#include "nearest.h"
#include <stdio.h>

asc_status asc_net_alloc(asc_ctx *ctx, size_t n_inputs, size_t n_outputs, asc_net **out) {
    *out = NULL;
    asc_net *net = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *net);
    if (net == NULL) return ASC_RESOURCE_EXHAUSTED;
    net->ctx = ctx;
    net->inputs = asc_calloc(ctx, ASC_MEM_GENERAL, n_inputs + 1, sizeof *net->inputs);
    net->outputs = asc_calloc(ctx, ASC_MEM_GENERAL, n_outputs + 1, sizeof *net->outputs);
    net->output_site = asc_calloc(ctx, ASC_MEM_GENERAL, n_outputs + 1, sizeof *net->output_site);
    if (net->inputs == NULL || net->outputs == NULL || net->output_site == NULL) {
        asc_net_close(net);
        return ASC_RESOURCE_EXHAUSTED;
    }
    net->n_inputs = n_inputs;
    net->n_outputs = n_outputs;
    *out = net;
    return ASC_OK;
}

void asc_net_close(asc_net *net) {
    if (net == NULL) return;
    asc_ctx *ctx = net->ctx;
    asc_capture_forget(ctx, net);
    asc_net_held_deinit(net);
    if (net->destroy != NULL) net->destroy(net);
    asc_free(ctx, net->inputs);
    asc_free(ctx, net->outputs);
    asc_free(ctx, net->output_site);
    asc_free(ctx, net->sites);
    asc_free(ctx, net->path);
    asc_free(ctx, net->rule_nodes);
    asc_free(ctx, net);
}

size_t asc_net_n_inputs(const asc_net *net) { return net->n_inputs; }
size_t asc_net_n_outputs(const asc_net *net) { return net->n_outputs; }
asc_port asc_net_input(const asc_net *net, size_t i) {
    return i < net->n_inputs ? net->inputs[i] : (asc_port){0};
}
asc_port asc_net_output(const asc_net *net, size_t i) {
    return i < net->n_outputs ? net->outputs[i] : (asc_port){0};
}
const char *asc_net_site(const asc_net *net, size_t i) { return i < net->n_sites ? net->sites[i] : NULL; }

const char *asc_net_label(const asc_net *net, size_t i) { return i < net->n_labels ? net->labels[i] : NULL; }
const struct asc_image_prep *asc_net_image_prep(const asc_net *net) { return net->prep; }

int64_t asc_net_find_site(const asc_net *net, asc_view name) {
    for (size_t i = 0; i < net->n_sites; i++) {
        if (asc_view_eqs(name, net->sites[i])) return (int64_t)i;
    }
    for (size_t i = 0; i < net->n_outputs; i++) {
        if (asc_view_eqs(name, net->outputs[i].name)) return (int64_t)net->output_site[i];
    }
    char near[256];
    asc_view cut = asc_view_cut(name, 200);
    ASC_FAIL(net->ctx, ASC_NOT_FOUND, "the net has no site or output '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(cut));
    if (net->n_sites > 0)
        asc_hint(net->ctx, "the nearest of its %zu sites: %s", net->n_sites,
                 asc_nearest_text(net->sites, net->n_sites, name, near));
    return -1;
}

/* "[?,3]": free dimensions as question marks. */
static const char *port_text(const asc_shape *s, char out[128]) {
    size_t n = 0;
    out[n++] = '[';
    for (int i = 0; i < s->rank; i++) {
        const char *comma = i > 0 ? "," : "";
        int w = s->dims[i] < 0 ? snprintf(out + n, 128 - n, "%s?", comma)
                               : snprintf(out + n, 128 - n, "%s%lld", comma, (long long)s->dims[i]);
        if (w > 0) n += (size_t)w;
    }
    out[n++] = ']';
    out[n] = '\0';
    return out;
}

static asc_status check_port(asc_ctx *ctx, const asc_port *p, const asc_array *a) {
    char want[128], have[128];
    const asc_shape *s = &p->shape;
    if (asc_elem_name(a->elem) == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s': element type %d is none", p->name,
                        (int)a->elem);
    int64_t n = asc_array_count(a);
    if (n < 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s': the array's shape is impossible", p->name);
    if (n > 0 && a->data == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s': the array has no data", p->name);
    if (asc_elem_is_float(p->elem) != asc_elem_is_float(a->elem)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s' takes %s, not %s", p->name, asc_elem_name(p->elem),
                 asc_elem_name(a->elem));
        return asc_hint(ctx, "convert the array to %s", asc_elem_name(p->elem));
    }
    bool fits = s->rank == a->shape.rank;
    for (int i = 0; i < s->rank && fits; i++) fits = s->dims[i] < 0 || s->dims[i] == a->shape.dims[i];
    if (fits) return ASC_OK;
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s' takes shape %s, not %s", p->name,
                    port_text(s, want), asc_shape_text(&a->shape, have));
}

asc_status asc_net_check_inputs(const asc_net *net, const asc_array *inputs, size_t n, bool one_example,
                                int64_t *batch) {
    asc_ctx *ctx = net->ctx;
    const char *first = NULL;
    *batch = 1;
    if (n != net->n_inputs) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the net has %zu inputs, not %zu", net->n_inputs, n);
        return net->n_inputs > n ? asc_hint(ctx, "give an array for '%s' as well", net->inputs[n].name)
                                 : ASC_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < n; i++) {
        const asc_port *p = &net->inputs[i];
        asc_status st = check_port(ctx, p, &inputs[i]);
        if (st != ASC_OK) return st;
        if (!p->batch || inputs[i].shape.rank == 0) continue;
        int64_t b = inputs[i].shape.dims[0];
        if (first != NULL && b != *batch) {
            if (one_example) continue;
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s' has %lld examples, input '%s' has %lld", p->name,
                     (long long)b, first, (long long)*batch);
            return asc_hint(ctx, "if these are sizes of one example, say so (no batch)");
        }
        first = p->name;
        *batch = b;
    }
    return ASC_OK;
}

static asc_tensor *from_ints(asc_ctx *ctx, const asc_array *a, int64_t n) {
    asc_graph *g = asc_graph_of(ctx);
    enum { CHUNK = 256 };
    int32_t *v = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n + 1, sizeof *v);
    if (v == NULL) return asc_graph_poison(g);
    for (int64_t at = 0; at < n; at += CHUNK) {
        double d[CHUNK];
        int64_t k = n - at < CHUNK ? n - at : CHUNK;
        asc_array_get(a, at, k, d);
        for (int64_t i = 0; i < k; i++) {
            if (d[i] < INT32_MIN || d[i] > INT32_MAX) {
                ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "integer %.0f at element %lld is beyond 32 bits", d[i],
                         (long long)(at + i));
                asc_free(ctx, v);
                return asc_graph_poison(g);
            }
            v[at + i] = (int32_t)d[i];
        }
    }
    asc_tensor *t = asc_from_i32(ctx, a->shape, v);
    asc_free(ctx, v);
    return t;
}

/* Floats that cannot be handed on as they lie (unaligned, or f16). f64 keeps its digits. */
static asc_tensor *from_copied_floats(asc_ctx *ctx, const asc_array *a, int64_t n) {
    asc_tensor *t;
    double *v = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n + 1, sizeof *v);
    if (v == NULL) return asc_graph_poison(asc_graph_of(ctx));
    asc_array_get(a, 0, n, v);
    t = asc_from_f64(ctx, a->shape, v);
    asc_free(ctx, v);
    return t;
}

asc_tensor *asc_from_array(asc_ctx *ctx, const asc_array *a) {
    int64_t n = asc_array_count(a);
    if (n < 0 || asc_elem_name(a->elem) == NULL || (n > 0 && a->data == NULL)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "an array without a possible shape, element type or data");
        return asc_graph_poison(asc_graph_of(ctx));
    }
    if (!asc_elem_is_float(a->elem)) return from_ints(ctx, a, n);
    if (a->elem == ASC_ELEM_F32 && ((uintptr_t)a->data & 3) == 0) return asc_from_f32(ctx, a->shape, a->data);
    if (a->elem == ASC_ELEM_F64 && ((uintptr_t)a->data & 7) == 0) return asc_from_f64(ctx, a->shape, a->data);
    return from_copied_floats(ctx, a, n);
}
