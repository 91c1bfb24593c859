/* fuzz_onnx.c - any bytes as an ONNX file: parsed, made into a net, and, when its inputs are small tensors of
 * numbers, recorded once on the device that computes nothing (shapes are still computed on the host). */
#include "onnx_run.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_CALLS = 200, MAX_ELEMS = 4096 };

static asc_tensor *leaf(asc_ctx *ctx, const asc_port *p) {
    asc_shape s = p->shape;
    for (int i = 0; i < s.rank; i++)
        if (s.dims[i] < 0) s.dims[i] = 2;
    int64_t n = asc_shape_elems(&s);
    if (n < 0 || n > MAX_ELEMS) return NULL;
    if (asc_elem_is_float(p->elem)) {
        float *f = calloc((size_t)n + 1, sizeof *f);
        asc_tensor *t = asc_from_f32(ctx, s, f);
        free(f);
        return t;
    }
    int32_t *v = calloc((size_t)n + 1, sizeof *v);
    asc_tensor *t = asc_from_i32(ctx, s, v);
    free(v);
    return t;
}

static void record(asc_ctx *ctx, asc_net *net) {
    asc_onnx_net *on = net->self;
    const asc_onnx_graph *g = on->model->graph;
    asc_onnx_run run;
    asc_status st = asc_onnx_run_init(&run, net, NULL);
    run.max_calls = MAX_CALLS;
    asc_onnx_value **v = calloc(g->n_inputs + g->n_outputs + 1, sizeof *v);
    for (size_t i = 0; i < g->n_inputs && st == ASC_OK; i++) {
        asc_tensor *t = g->inputs[i].sequence ? NULL : leaf(ctx, &net->inputs[i]);
        v[i] = asc_onnx_run_value(&run);
        if (t == NULL || v[i] == NULL || asc_tensor_poisoned(t)) {
            st = ASC_INVALID_ARGUMENT;
        } else {
            *v[i] = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = g->inputs[i].elem, .shape = t->shape};
            v[i]->t = t;
        }
    }
    if (st == ASC_OK) {
        st = asc_onnx_run_main(&run, v, v + g->n_inputs);
        if (st != ASC_OK && asc_error_message(ctx)[0] == '\0') abort();
    }
    asc_onnx_run_deinit(&run);
    free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "null"};
    asc_ctx *ctx = NULL;
    asc_onnx_model *m = NULL;
    asc_net *net = NULL;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    asc_scope_begin(ctx);
    asc_status st = asc_onnx_model_parse(ctx, data, size, &m);
    if ((st == ASC_OK) != (m != NULL)) abort();
    if (st == ASC_OK) st = asc_onnx_net_make(ctx, m, NULL, &net);
    if ((st == ASC_OK) != (net != NULL)) abort();
    if (st == ASC_OK) {
        record(ctx, net);
    } else if (asc_error_message(ctx)[0] == '\0' || asc_error_hint(ctx)[0] == '\0') {
        abort(); /* every refusal says what is wrong and what to do */
    }
    st = asc_scope_end(ctx);
    asc_net_close(net);
    if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
    ctx->rt_destroy = NULL;
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
