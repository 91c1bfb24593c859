/* onnx_infer.c - shapes of outputs that the file does not say: the net is recorded (not computed) for three
 * sets of sizes, and a dimension that changes between them is free. A net that cannot be recorded for these
 * sizes keeps its outputs unknown, which reads as rank 0 and no batch. */
#include "onnx_run.h"
#include <stdlib.h>

enum { N_TRIALS = 3 };

/* Free dimensions: the first is the number of examples. */
static const int64_t trial_sizes[N_TRIALS][2] = {{2, 32}, {3, 32}, {2, 64}};

static asc_tensor *leaf(asc_ctx *ctx, const asc_port *p, const int64_t sizes[2]) {
    asc_shape s = p->shape;
    for (int i = 0; i < s.rank; i++) {
        if (s.dims[i] < 0) s.dims[i] = sizes[i > 0];
    }
    asc_tensor *t = asc_full(ctx, s, 0.0);
    return asc_elem_is_float(p->elem) ? t : asc_cast(ctx, t, ASC_DTYPE_I32);
}

/* typed: the file's outputs; one without a type gets that of its value. */
static asc_status record(asc_net *net, const asc_onnx_port *typed, const int64_t sizes[2], asc_tensor **ts,
                         asc_shape *out) {
    asc_ctx *ctx = net->ctx;
    asc_tensor **outs = ts + net->n_inputs;
    asc_scope_begin(ctx);
    for (size_t i = 0; i < net->n_inputs; i++) ts[i] = leaf(ctx, &net->inputs[i], sizes);
    asc_status st = asc_net_forward(net, ts, NULL, outs);
    for (size_t i = 0; st == ASC_OK && i < net->n_outputs; i++) {
        out[i] = outs[i]->shape;
        if (typed[i].elem == 0 && outs[i]->dtype == ASC_DTYPE_I32) net->outputs[i].elem = ASC_ELEM_I64;
    }
    return asc_scope_close(ctx, st);
}

asc_status asc_onnx_infer_outputs(asc_onnx_net *on) {
    asc_net *net = on->net;
    asc_ctx *ctx = net->ctx;
    const asc_onnx_graph *g = on->model->graph;
    bool known = true, possible = true;
    for (size_t i = 0; i < g->n_outputs; i++) known = known && g->outputs[i].has_shape;
    for (size_t i = 0; i < g->n_inputs; i++)
        possible = possible && g->inputs[i].has_shape && !g->inputs[i].sequence && !g->inputs[i].optional &&
                   g->inputs[i].elem != ASC_ONNX_STRING;
    if (known || !possible) return ASC_OK;
    asc_status st = ASC_OK;
    asc_tensor **ts = asc_calloc(ctx, ASC_MEM_GENERAL, net->n_inputs + net->n_outputs + 1, sizeof *ts);
    asc_shape *shapes = asc_calloc(ctx, ASC_MEM_GENERAL, N_TRIALS * net->n_outputs + 1, sizeof *shapes);
    if (ts == NULL || shapes == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (int k = 0; st == ASC_OK && k < N_TRIALS; k++)
        st = record(net, g->outputs, trial_sizes[k], ts, shapes + (size_t)k * net->n_outputs);
    for (size_t i = 0; st == ASC_OK && i < net->n_outputs; i++) {
        if (g->outputs[i].has_shape) continue;
        asc_shape s = shapes[i];
        for (int k = 1; k < N_TRIALS; k++) {
            const asc_shape *other = &shapes[(size_t)k * net->n_outputs + i];
            for (int d = 0; d < s.rank; d++) {
                if (other->rank != s.rank || other->dims[d] != shapes[i].dims[d]) s.dims[d] = -1;
            }
        }
        net->outputs[i].shape = s;
    }
    asc_free(ctx, ts);
    asc_free(ctx, shapes);
    if (st == ASC_RESOURCE_EXHAUSTED || st == ASC_CANCELLED) return st;
    asc_error_clear(ctx);
    return ASC_OK;
}
