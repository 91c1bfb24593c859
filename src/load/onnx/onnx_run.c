/* onnx_run.c - runs graphs node by node: where each node is computed, what is folded, what sites get. */
#include "onnx_run.h"
#include "exec.h"

/* The whole error of the host's context, seen by the user's. */
static asc_status from_host(asc_onnx_run *run, asc_status st) {
    run->ctx->error = run->host->error;
    return st;
}

/* First error of an op that was recorded in ctx, when one of the results is poisoned. */
static asc_status check_poison(asc_onnx_run *run, const asc_onnx_call *c) {
    bool poisoned = false;
    for (size_t i = 0; i < c->n_out; i++) {
        const asc_onnx_value *v = c->out[i];
        if (v != NULL && v->t != NULL && v->t->poison != ASC_OK) poisoned = true;
    }
    if (!poisoned) return ASC_OK;
    asc_status st = asc_graph_take_error(asc_graph_of(c->ctx));
    if (st == ASC_OK) return ASC_FAIL(run->ctx, ASC_INTERNAL, "a poisoned result without an error");
    return c->on_host ? from_host(run, st) : st;
}

/* Brings results of the host's context over as numbers. *too_big: compute them on the main context instead.
 */
static asc_status fetch(asc_onnx_run *run, asc_onnx_call *c, bool *too_big) {
    for (size_t i = 0; i < c->n_out; i++) {
        asc_onnx_value *v = c->out[i];
        if (v == NULL || !v->t_on_host) continue;
        int64_t n = asc_shape_elems(&v->shape);
        if (n > ASC_ONNX_HOST_ELEMS) {
            *too_big = true;
            return ASC_OK;
        }
        double *d = asc_arena_alloc(&run->arena, ((size_t)n + 1) * sizeof *d);
        if (d == NULL) return ASC_RESOURCE_EXHAUSTED;
        asc_status st = asc_read_f64(c->ctx, v->t, d, (size_t)n);
        if (st != ASC_OK) return from_host(run, st);
        v->host = d;
        v->t = NULL;
        v->t_on_host = false;
    }
    return ASC_OK;
}

static asc_status call(asc_onnx_run *run, asc_onnx_call *c, bool on_host, bool *too_big) {
    c->on_host = on_host;
    c->ctx = on_host ? run->host : run->ctx;
    c->st = ASC_OK;
    memset(c->out, 0, c->n_out * sizeof(asc_onnx_value *));
    if (on_host) asc_scope_begin(run->host);
    asc_status st = c->node->op->fn(c);
    if (st == ASC_OK) st = c->st;
    if (st == ASC_OK) st = check_poison(run, c);
    if (on_host && st == ASC_OK) st = fetch(run, c, too_big);
    if (on_host) {
        asc_status own = asc_scope_end(run->host);
        if (st == ASC_OK && own != ASC_OK && !*too_big) st = from_host(run, own);
    }
    return st;
}

static bool wants_host(const asc_onnx_call *c) {
    if ((c->node->op->flags & (ASC_ONNX_OP_MAIN | ASC_ONNX_OP_RANDOM)) != 0) return false;
    for (size_t i = 0; i < c->n_in; i++) {
        if (c->in[i] != NULL && !asc_onnx_is_known(c->in[i])) return false;
    }
    return true;
}

/* Elements of values; of results only those that are not stored in the file anyway. */
static int64_t elems_of(asc_onnx_value *const *v, size_t n, bool made) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i] != NULL && v[i]->kind == ASC_ONNX_TENSOR && !(made && v[i]->init != NULL))
            sum += asc_shape_elems(&v[i]->shape);
    }
    return sum;
}

/* Remembers the results of a constant node for later runs; those that are much larger than what they are made
 * of are left to be made again. */
static asc_status fold(asc_onnx_run *run, asc_onnx_frame *frame, const asc_onnx_call *c) {
    int64_t out = elems_of(c->out, c->n_out, true), in = elems_of(c->in, c->n_in, false);
    if (out > 2 * in + ASC_ONNX_HOST_ELEMS) return ASC_OK;
    for (size_t i = 0; i < c->n_out; i++) {
        asc_onnx_value *v = c->out[i];
        if (v == NULL || c->node->out[i] == UINT32_MAX) continue;
        if (v->kind != ASC_ONNX_TENSOR) return ASC_OK;
    }
    for (size_t i = 0; i < c->n_out; i++) {
        asc_onnx_value *v = c->out[i];
        if (v == NULL || c->node->out[i] == UINT32_MAX) continue;
        if (!v->persistent) {
            asc_onnx_value *p = asc_arena_alloc(&run->on->arena, sizeof *p);
            if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
            *p = *v;
            p->persistent = true;
            if (p->host != NULL) {
                size_t bytes = (size_t)asc_shape_elems(&p->shape) * sizeof(double);
                double *copy = asc_arena_alloc(&run->on->arena, bytes + 1);
                if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
                memcpy(copy, p->host, bytes);
                p->host = copy;
                p->t = NULL;
            } else if (p->t != NULL) {
                asc_status st = asc_run(run->ctx, &p->t, 1);
                if (st == ASC_OK) st = asc_onnx_keep(run->on, p->t);
                if (st != ASC_OK) return st;
                if (p->t->op != NULL) asc_tensor_detach(p->t);
            }
            v = c->out[i] = p;
        }
        frame->g->values[c->node->out[i]].folded = v;
    }
    return ASC_OK;
}

static asc_status check_sizes(asc_onnx_run *run, const asc_onnx_call *c) {
    for (size_t i = 0; i < c->n_out; i++) {
        if (!asc_onnx_wants(c, i)) continue;
        if (c->out[i] == NULL) return ASC_FAIL(run->ctx, ASC_UNIMPLEMENTED, "output %zu is not computed", i);
        if (c->out[i]->kind == ASC_ONNX_TENSOR && asc_shape_elems(&c->out[i]->shape) > ASC_ONNX_MAX_ELEMS) {
            char text[128];
            ASC_FAIL(run->ctx, ASC_RESOURCE_EXHAUSTED, "a result of shape %s",
                     asc_shape_text(&c->out[i]->shape, text));
            return asc_hint(run->ctx, "the file or an input asks for more than any machine holds");
        }
    }
    return ASC_OK;
}

static asc_status run_op(asc_onnx_run *run, asc_onnx_frame *frame, asc_onnx_call *c) {
    bool too_big = false;
    asc_status st = ASC_OK;
    if (wants_host(c)) {
        st = call(run, c, true, &too_big);
        if (st == ASC_OK && too_big) st = call(run, c, false, &too_big);
    } else {
        st = call(run, c, false, &too_big);
    }
    if (st == ASC_OK) st = check_sizes(run, c);
    if (st == ASC_OK && c->node->constant) st = fold(run, frame, c);
    return st;
}

static asc_onnx_value *look_up(asc_onnx_run *run, asc_onnx_frame *f, asc_onnx_ref r) {
    for (int32_t up = 0; up < r.up; up++) f = f->up;
    if (f->v[r.index] == NULL && f->g->values[r.index].init != NULL)
        f->v[r.index] = asc_onnx_init_value(run, &f->g->values[r.index]);
    return f->v[r.index];
}

/* Hands a value of the main graph to the tap; what comes back goes on. */
static asc_status visit_site(asc_onnx_run *run, asc_onnx_frame *f, uint32_t index) {
    uint32_t site = run->on->site[index];
    asc_onnx_value *v = f->v[index];
    if (site == UINT32_MAX || v == NULL || v->kind != ASC_ONNX_TENSOR) return ASC_OK;
    asc_tensor *t = asc_onnx_main_tensor(run, v);
    if (t->poison != ASC_OK) return asc_graph_take_error(asc_graph_of(run->ctx));
    if (!asc_onnx_type_is_float(v->elem) && t->dtype == ASC_DTYPE_F32)
        t = asc_cast(run->ctx, t, ASC_DTYPE_I32);
    asc_tensor *next = run->tap->at(run->tap->self, site, t);
    if (next == t) return ASC_OK;
    if (next == NULL || next->poison != ASC_OK) {
        asc_status st = asc_graph_take_error(asc_graph_of(run->ctx));
        return st != ASC_OK ? st : ASC_FAIL(run->ctx, ASC_INTERNAL, "a site's replacement is missing");
    }
    asc_onnx_value *w = asc_onnx_run_value(run);
    if (w == NULL) return ASC_RESOURCE_EXHAUSTED;
    *w = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = v->elem, .shape = next->shape, .t = next};
    f->v[index] = w;
    return ASC_OK;
}

static bool is_folded(const asc_onnx_frame *f, const asc_onnx_node *n) {
    if (!n->constant) return false;
    for (size_t i = 0; i < n->n_out; i++) {
        if (n->out[i] != UINT32_MAX && f->g->values[n->out[i]].folded == NULL) return false;
    }
    return true;
}

static asc_status run_node(asc_onnx_run *run, asc_onnx_frame *f, const asc_onnx_node *n) {
    asc_status st = ASC_OK;
    char text[160];
    if (is_folded(f, n)) {
        for (size_t i = 0; i < n->n_out; i++) {
            if (n->out[i] != UINT32_MAX) f->v[n->out[i]] = f->g->values[n->out[i]].folded;
        }
        return ASC_OK;
    }
    if (++run->n_calls > run->max_calls)
        return ASC_FAIL(run->ctx, ASC_RESOURCE_EXHAUSTED, "'%s': more than %zu nodes run",
                        run->on->model->file, run->max_calls);
    asc_onnx_call c = {.node = n, .opset = n->opset, .n_in = n->n_in, .n_out = n->n_out, .run = run};
    c.frame = f;
    c.in = asc_arena_alloc(&run->arena, (n->n_in + n->n_out + 1) * sizeof(asc_onnx_value *));
    if (c.in == NULL) return ASC_RESOURCE_EXHAUSTED;
    c.out = c.in + n->n_in;
    for (size_t i = 0; i < n->n_in; i++) {
        if (n->in[i].up < 0) continue;
        c.in[i] = look_up(run, f, n->in[i]);
        if (c.in[i] == NULL) return ASC_FAIL(run->ctx, ASC_INTERNAL, "a value that was not made");
    }
    const char *label = asc_set_label(run->ctx, n->label);
    if (n->function != NULL) {
        st = asc_onnx_run_graph(run, NULL, n->function, c.in, c.n_in, c.out, c.n_out);
    } else {
        st = run_op(run, f, &c);
    }
    asc_set_label(run->ctx, label);
    if (st != ASC_OK)
        return asc_fail_context(run->ctx, "'%s': %s, opset %d", run->on->model->file,
                                asc_onnx_node_text(n, text), n->opset);
    for (size_t i = 0; i < n->n_out; i++) {
        if (n->out[i] != UINT32_MAX) f->v[n->out[i]] = c.out[i];
    }
    return ASC_OK;
}

asc_status asc_onnx_run_graph(asc_onnx_run *run, asc_onnx_frame *up, const asc_onnx_graph *g,
                              asc_onnx_value *const *in, size_t n_in, asc_onnx_value **out, size_t n_out) {
    asc_status st = ASC_OK;
    asc_onnx_frame f = {.g = g, .up = up};
    bool sites = g == run->on->model->graph && run->tap != NULL;
    f.v = asc_arena_alloc(&run->arena, (g->n_values + 1) * sizeof(asc_onnx_value *));
    if (f.v == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < g->n_inputs; i++) {
        f.v[g->input_ref[i].index] = i < n_in ? in[i] : NULL;
        if (i < n_in && in[i] != NULL) continue;
        asc_onnx_value *none = asc_onnx_run_value(run); /* an input that a function's caller left out */
        if (none == NULL) return ASC_RESOURCE_EXHAUSTED;
        none->kind = ASC_ONNX_NOTHING;
        f.v[g->input_ref[i].index] = none;
    }
    /* Outputs that are inputs or initialisers have sites too, before all others. */
    for (size_t i = 0; i < g->n_outputs && sites; i++) {
        const asc_onnx_def *d = &g->values[g->output_ref[i].index];
        bool seen = d->node >= 0; /* with the node */
        for (size_t k = 0; k < i; k++) seen = seen || g->output_ref[k].index == g->output_ref[i].index;
        if (seen) continue;
        if (look_up(run, &f, g->output_ref[i]) == NULL) return ASC_RESOURCE_EXHAUSTED;
        ASC_TRY(visit_site(run, &f, g->output_ref[i].index));
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        const asc_onnx_node *n = &g->nodes[i];
        ASC_TRY(run_node(run, &f, n));
        for (size_t k = 0; k < n->n_out && sites; k++) {
            if (n->out[k] != UINT32_MAX) ASC_TRY(visit_site(run, &f, n->out[k]));
        }
    }
    for (size_t i = 0; i < n_out; i++) {
        out[i] = i < g->n_outputs ? look_up(run, &f, g->output_ref[i]) : NULL;
        if (out[i] == NULL && i < g->n_outputs) return ASC_FAIL(run->ctx, ASC_INTERNAL, "no output %zu", i);
    }
done:
    return st;
}

asc_status asc_onnx_run_body(asc_onnx_call *c, const asc_onnx_graph *g, asc_onnx_value *const *in,
                             size_t n_in, asc_onnx_value **out, size_t n_out) {
    return asc_onnx_run_graph(c->run, c->frame, g, in, n_in, out, n_out);
}

asc_status asc_onnx_run_main(asc_onnx_run *run, asc_onnx_value *const *in, asc_onnx_value **out) {
    const asc_onnx_graph *g = run->on->model->graph;
    return asc_onnx_run_graph(run, NULL, g, in, g->n_inputs, out, g->n_outputs);
}

asc_status asc_onnx_run_init(asc_onnx_run *run, asc_net *net, const asc_tap *tap) {
    asc_onnx_net *on = net->self;
    *run = (asc_onnx_run){.on = on, .ctx = net->ctx, .host = on->host, .tap = tap};
    run->max_calls = ASC_ONNX_MAX_CALLS;
    asc_arena_init(&run->arena, net->ctx, ASC_MEM_GENERAL);
    return asc_graph_take_error(asc_graph_of(net->ctx));
}

void asc_onnx_run_deinit(asc_onnx_run *run) { asc_arena_deinit(&run->arena); }
