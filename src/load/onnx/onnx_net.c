/* onnx_net.c - an ONNX model as a net: ports, sites, runs. */
#include "onnx_run.h"
#include <math.h>

static void destroy(asc_net *net) {
    asc_onnx_net *on = net->self;
    if (on == NULL) return;
    asc_ctx *ctx = net->ctx;
    for (size_t i = 0; i < net->n_inputs; i++) asc_free(ctx, (void *)(uintptr_t)net->inputs[i].name);
    for (size_t i = 0; i < net->n_outputs; i++) asc_free(ctx, (void *)(uintptr_t)net->outputs[i].name);
    for (size_t i = 0; i < on->n_kept; i++) asc_tensor_release(on->kept[i]);
    asc_free(ctx, on->kept);
    asc_arena_deinit(&on->arena);
    asc_ctx_destroy(on->host);
    asc_onnx_model_close(on->model);
    asc_free(ctx, on);
}

static asc_elem elem_of(int type) {
    switch (type) {
    case ASC_ONNX_DOUBLE:
        return ASC_ELEM_F64;
    case ASC_ONNX_FLOAT16:
        return ASC_ELEM_F16;
    case ASC_ONNX_INT8:
        return ASC_ELEM_I8;
    case ASC_ONNX_INT16:
        return ASC_ELEM_I16;
    case ASC_ONNX_INT32:
        return ASC_ELEM_I32;
    case ASC_ONNX_INT64:
        return ASC_ELEM_I64;
    case ASC_ONNX_UINT8:
        return ASC_ELEM_U8;
    case ASC_ONNX_UINT16:
        return ASC_ELEM_U16;
    case ASC_ONNX_UINT32:
        return ASC_ELEM_U32;
    case ASC_ONNX_UINT64:
        return ASC_ELEM_U64;
    case ASC_ONNX_BOOL:
        return ASC_ELEM_BOOL;
    default:
        return ASC_ELEM_F32;
    }
}

static asc_status make_port(asc_net *net, const asc_onnx_port *p, asc_port *out) {
    out->name = asc_strdup_view(net->ctx, ASC_MEM_GENERAL, p->name);
    out->elem = elem_of(p->elem);
    out->shape = p->shape;
    return out->name == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
}

static bool free_first(const asc_port *p) { return p->shape.rank > 0 && p->shape.dims[0] < 0; }

/* Examples are counted by dimension 0 when that is free in every float input and output. */
static void mark_batch(asc_net *net) {
    bool all = true, any = false;
    for (size_t i = 0; i < net->n_inputs; i++) {
        if (!asc_elem_is_float(net->inputs[i].elem)) continue;
        any = true;
        all = all && free_first(&net->inputs[i]);
    }
    for (size_t i = 0; i < net->n_outputs; i++) {
        if (asc_elem_is_float(net->outputs[i].elem)) all = all && free_first(&net->outputs[i]);
    }
    for (size_t i = 0; i < net->n_inputs && !any; i++) all = all && free_first(&net->inputs[i]);
    for (size_t i = 0; i < net->n_inputs; i++) net->inputs[i].batch = all && free_first(&net->inputs[i]);
    for (size_t i = 0; i < net->n_outputs; i++) net->outputs[i].batch = all && free_first(&net->outputs[i]);
}

static asc_status make_sites(asc_onnx_net *on) {
    asc_net *net = on->net;
    const asc_onnx_graph *g = on->model->graph;
    on->site = asc_arena_alloc(&on->arena, (g->n_values + 1) * sizeof *on->site);
    net->sites = asc_calloc(net->ctx, ASC_MEM_GENERAL, g->n_values + 1, sizeof *net->sites);
    if (on->site == NULL || net->sites == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < g->n_values; i++) on->site[i] = UINT32_MAX;
    for (size_t i = 0; i < g->n_outputs; i++) {
        uint32_t v = g->output_ref[i].index;
        if (g->values[v].node >= 0 || on->site[v] != UINT32_MAX) continue;
        on->site[v] = (uint32_t)net->n_sites;
        net->sites[net->n_sites++] = asc_arena_strdup(&on->arena, g->values[v].name);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        for (size_t k = 0; k < g->nodes[i].n_out; k++) {
            uint32_t v = g->nodes[i].out[k];
            if (v == UINT32_MAX) continue;
            bool output = false;
            for (size_t o = 0; o < g->n_outputs; o++) output = output || g->output_ref[o].index == v;
            if (g->values[v].constant && !output) continue;
            on->site[v] = (uint32_t)net->n_sites;
            net->sites[net->n_sites++] = asc_arena_strdup(&on->arena, g->values[v].name);
        }
    }
    for (size_t i = 0; i < net->n_sites; i++) {
        if (net->sites[i] == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < net->n_outputs; i++) net->output_site[i] = on->site[g->output_ref[i].index];
    return ASC_OK;
}

/* Weights that are no numbers are legal, and almost always a failed training run: said once. */
static void warn_of_nan(asc_ctx *ctx, const asc_onnx_model *m) {
    for (size_t i = 0; i < m->graph->n_inits; i++) {
        const asc_onnx_tensor *t = &m->graph->inits[i];
        bool nan = false;
        for (int64_t k = 0; t->elem == ASC_ONNX_FLOAT && k < t->n && !nan; k++) {
            float f;
            memcpy(&f, t->data + 4 * k, sizeof f);
            nan = isnan(f);
        }
        if (nan)
            asc_logf(ctx, ASC_LOG_WARN, "'%s': weight '" ASC_VIEW_FMT "' holds NaN", m->file,
                     ASC_VIEW_ARG(asc_view_cut(t->name, 200)));
    }
}

static asc_status read_outputs(asc_onnx_run *run, asc_onnx_value **v, asc_tensor **outputs) {
    asc_net *net = run->on->net;
    for (size_t i = 0; i < net->n_outputs; i++) {
        asc_tensor *t = asc_onnx_main_tensor(run, v[i]);
        if (t->poison != ASC_OK) {
            asc_status st = asc_graph_take_error(asc_graph_of(run->ctx));
            return st == ASC_OK ? ASC_INTERNAL
                                : asc_fail_context(run->ctx, "output '%s'", net->outputs[i].name);
        }
        if (!asc_onnx_type_is_float(v[i]->elem) && t->dtype == ASC_DTYPE_F32)
            t = asc_cast(run->ctx, t, ASC_DTYPE_I32);
        outputs[i] = t;
    }
    return ASC_OK;
}

void asc_onnx_input_value(asc_onnx_run *run, int elem, asc_tensor *t, asc_onnx_value *out) {
    *out = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = elem, .shape = t->shape, .t = t};
    if (!asc_onnx_type_is_float(elem) && t->op == NULL && t->buf != NULL &&
        asc_tensor_elems(t) <= ASC_ONNX_INPUT_ELEMS)
        out->host = asc_onnx_run_doubles(run, out);
}

static asc_status forward(asc_net *net, asc_tensor *const *inputs, const asc_tap *tap, asc_tensor **outputs) {
    asc_onnx_run run;
    asc_onnx_net *on = net->self;
    const asc_onnx_graph *g = on->model->graph;
    asc_status st = asc_onnx_run_init(&run, net, tap);
    if (st != ASC_OK) goto done;
    asc_onnx_value **v = asc_arena_alloc(&run.arena, (net->n_inputs + net->n_outputs + 1) * sizeof *v);
    if (v == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < net->n_inputs; i++) {
        v[i] = asc_onnx_run_value(&run);
        if (v[i] == NULL) {
            st = ASC_RESOURCE_EXHAUSTED;
            goto done;
        }
        if (inputs[i]->poison != ASC_OK) {
            st = ASC_FAIL(net->ctx, inputs[i]->poison, "input '%s' could not be computed",
                          net->inputs[i].name);
            goto done;
        }
        asc_onnx_input_value(&run, g->inputs[i].elem, inputs[i], v[i]);
    }
    ASC_TRY(asc_onnx_run_main(&run, v, v + net->n_inputs));
    ASC_TRY(read_outputs(&run, v + net->n_inputs, outputs));
done:
    asc_onnx_run_deinit(&run);
    return st;
}

static asc_status make_host(asc_ctx *ctx, asc_ctx **out) {
    asc_ctx_options o = {.struct_size = sizeof o, .alloc = ctx->alloc, .alloc_self = ctx->alloc_self};
    o.device = "reference";
    o.n_threads = 1;
    o.seed = ctx->seed;
    asc_status st = asc_ctx_create(&o, out);
    return st == ASC_OK ? ASC_OK : ASC_FAIL(ctx, st, "no context for shapes could be made");
}

asc_status asc_onnx_net_make(asc_ctx *ctx, asc_onnx_model *take_m, const char *path, asc_net **out) {
    asc_status st = ASC_OK;
    asc_net *net = NULL;
    const asc_onnx_graph *g = take_m->graph;
    *out = NULL;
    asc_onnx_net *on = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *on);
    if (on == NULL) {
        asc_onnx_model_close(take_m);
        return ASC_RESOURCE_EXHAUSTED;
    }
    on->model = take_m;
    asc_arena_init(&on->arena, ctx, ASC_MEM_GENERAL);
    st = asc_net_alloc(ctx, g->n_inputs, g->n_outputs, &net);
    if (st != ASC_OK) {
        asc_onnx_model_close(take_m);
        asc_free(ctx, on);
        return st;
    }
    on->net = net;
    net->self = on;
    net->destroy = destroy;
    net->kind = "onnx";
    net->forward = forward;
    ASC_TRY(make_host(ctx, &on->host));
    if (path != NULL && (net->path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(path))) == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < g->n_inputs; i++) ASC_TRY(make_port(net, &g->inputs[i], &net->inputs[i]));
    for (size_t i = 0; i < g->n_outputs; i++) ASC_TRY(make_port(net, &g->outputs[i], &net->outputs[i]));
    ASC_TRY(make_sites(on));
    ASC_TRY(asc_onnx_infer_outputs(on));
    mark_batch(net);
    ASC_TRY(asc_onnx_census(on));
    warn_of_nan(ctx, take_m);
    *out = net;
    return ASC_OK;
done:
    asc_net_close(net);
    return st;
}

/* What the interface of nets cannot carry is refused by name. */
static asc_status check_port(asc_ctx *ctx, const asc_onnx_model *m, const asc_onnx_port *p,
                             const char *what) {
    if (!p->sequence && !p->optional && (p->elem == 0 || asc_onnx_type_bytes(p->elem) > 0)) return ASC_OK;
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': %s '" ASC_VIEW_FMT "' is %s", m->file, what,
             ASC_VIEW_ARG(asc_view_cut(p->name, 200)),
             p->sequence   ? "a sequence"
             : p->optional ? "optional"
                           : asc_onnx_type_name(p->elem));
    return asc_hint(ctx,
                    "only tensors of numbers go in and out of a net; wrap the model so that it has such");
}

asc_status asc_onnx_open(asc_ctx *ctx, const char *path, asc_net **out) {
    asc_onnx_model *m = NULL;
    *out = NULL;
    asc_status st = asc_onnx_model_open(ctx, path, &m);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < m->graph->n_inputs && st == ASC_OK; i++)
        st = check_port(ctx, m, &m->graph->inputs[i], "input");
    for (size_t i = 0; i < m->graph->n_outputs && st == ASC_OK; i++)
        st = check_port(ctx, m, &m->graph->outputs[i], "output");
    if (st != ASC_OK) {
        asc_onnx_model_close(m);
        return st;
    }
    return asc_onnx_net_make(ctx, m, path, out);
}
