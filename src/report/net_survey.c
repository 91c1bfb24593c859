/* net_survey.c - see ascribe/net_inspect.h. A run is recorded, never computed; the record is walked from the
 * outputs. */
#include "alloc.h"
#include "ascribe/net_inspect.h"
#include "net.h"
#include "op.h"
#include "rules.h"
#include "tensor.h"

/* What free dimensions are tried at: nets that halve their input a few times need room for it. */
static const int64_t sizes[] = {1, 32, 224};

static asc_tensor *note_site(void *self, size_t site, asc_tensor *value) {
    asc_net_site_info *i = &((asc_net_survey *)self)->sites[site];
    i->reached = value->poison == ASC_OK;
    i->integer = value->dtype == ASC_DTYPE_I32;
    i->shape = value->shape;
    return value;
}

static asc_tensor *blank(asc_ctx *ctx, const asc_port *p, int64_t free_size) {
    asc_shape s = p->shape;
    for (int d = 0; d < s.rank; d++) {
        if (s.dims[d] < 0) s.dims[d] = d == 0 && p->batch ? 1 : free_size;
    }
    asc_tensor *t = asc_full(ctx, s, 0.0);
    return asc_elem_is_float(p->elem) ? t : asc_cast(ctx, t, ASC_TYPE_I32);
}

static void count_op(asc_net_survey *s, const asc_op *op) {
    size_t i = 0;
    while (i < s->n_ops && s->ops[i].name != op->name) i++;
    if (i == s->n_ops)
        s->ops[s->n_ops++] = (asc_net_kind){.name = op->name,
                                            .gradient = op->vjp != NULL && (op->flags & ASC_OP_NO_GRAD) == 0,
                                            .deep_lift = asc_rule_name_of("deep-lift", op),
                                            .lrp = asc_rule_name_of("lrp", op)};
    s->ops[i].count++;
}

static asc_status count_all(asc_ctx *ctx, asc_net_survey *s, asc_tensor *const *in, size_t n_in,
                            asc_tensor *const *out, size_t n_out) {
    asc_walk w = {0};
    asc_status st = asc_walk_ancestors(ctx, out, n_out, true, 0, &w);
    s->n_ops = s->n_weights = s->n_elements = s->weight_bytes = 0;
    for (size_t i = 0; st == ASC_OK && i < w.n; i++) {
        const asc_tensor *t = w.nodes[i];
        bool input = false;
        for (size_t k = 0; k < n_in; k++) input = input || t == in[k];
        if (input) continue;
        if (t->op != NULL && t->buf == NULL) {
            if (t->n_in > 0) count_op(s, t->op);
            continue;
        }
        size_t bytes = 0;
        int64_t n = asc_shape_elems(&t->shape);
        s->n_weights++;
        s->n_elements += n > 0 ? (size_t)n : 0;
        if (t->buf != NULL && asc_dtype_bytes(t->dtype, n, &bytes)) s->weight_bytes += bytes;
    }
    asc_walk_free(ctx, &w);
    return st;
}

static asc_status try_size(asc_net *net, asc_net_survey *s, int64_t free_size, asc_tensor **in,
                           asc_tensor **out) {
    asc_ctx *ctx = net->ctx;
    asc_graph *g = asc_graph_of(ctx);
    const asc_tap tap = {note_site, s};
    asc_record_fn on_record = g->on_record;
    g->on_record = NULL; /* nothing is computed, in no mode */
    asc_scope_begin(ctx);
    for (size_t i = 0; i < net->n_inputs; i++) in[i] = blank(ctx, &net->inputs[i], free_size);
    asc_status st = asc_net_forward(net, in, &tap, out);
    if (st == ASC_OK) st = count_all(ctx, s, in, net->n_inputs, out, net->n_outputs);
    st = asc_scope_close(ctx, st);
    g->on_record = on_record;
    return st;
}

asc_status asc_net_survey_make(asc_net *net, asc_net_survey **out) {
    asc_ctx *ctx = net->ctx;
    asc_status st = ASC_RESOURCE_EXHAUSTED;
    *out = NULL;
    asc_net_survey *s = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *s);
    asc_tensor **ts =
        asc_calloc(ctx, ASC_MEM_GENERAL, net->n_inputs + net->n_outputs + 1, sizeof(asc_tensor *));
    if (s == NULL || ts == NULL) goto done;
    s->opset = net->opset;
    s->notes = net->notes;
    s->n_notes = net->n_notes;
    s->n_operators = net->n_ops;
    s->n_sites = net->n_sites;
    s->operators = asc_calloc(ctx, ASC_MEM_GENERAL, net->n_ops + 1, sizeof *s->operators);
    s->sites = asc_calloc(ctx, ASC_MEM_GENERAL, net->n_sites + 1, sizeof *s->sites);
    s->ops = asc_calloc(ctx, ASC_MEM_GENERAL, ASC_N_OPS + 1, sizeof *s->ops);
    if (s->operators == NULL || s->sites == NULL || s->ops == NULL) goto done;
    for (size_t i = 0; i < net->n_ops; i++)
        s->operators[i] = (asc_net_kind){.name = net->ops[i].name, .count = net->ops[i].count};
    for (size_t i = 0; i < net->n_sites; i++) s->sites[i].name = net->sites[i];
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes && s->free_size == 0; k++) {
        st = try_size(net, s, sizes[k], ts, ts + net->n_inputs);
        if (st == ASC_OK) s->free_size = sizes[k];
        if (st == ASC_RESOURCE_EXHAUSTED || st == ASC_CANCELLED) goto done;
    }
    if (st != ASC_OK) { /* no size fits all: the rest is still worth telling */
        s->unfit = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(asc_error_message(ctx)));
        st = s->unfit != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
        asc_error_clear(ctx);
    }
done:
    asc_free(ctx, ts);
    if (st == ASC_OK)
        *out = s;
    else
        asc_net_survey_destroy(ctx, s);
    return st;
}

void asc_net_survey_destroy(asc_ctx *ctx, asc_net_survey *s) {
    if (s == NULL) return;
    asc_free(ctx, s->operators);
    asc_free(ctx, s->ops);
    asc_free(ctx, s->sites);
    asc_free(ctx, s->unfit);
    asc_free(ctx, s);
}
