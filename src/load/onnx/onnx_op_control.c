/* onnx_op_control.c - If, Loop, Scan: bodies are run as often as the condition and the counts say, so that
 * the recorded ops are those of the unrolled graph. A condition that depends on data is computed when it is
 * met: the recording then holds for these inputs only. */
#include "onnx_ops.h"
#include "onnx_run.h"

static const asc_onnx_graph *body_of(asc_onnx_call *c, const char *name) {
    const asc_onnx_attr *a = asc_onnx_attr_find(c, name);
    if (a != NULL && a->g != NULL) return a->g;
    asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no graph '%s'", name);
    return NULL;
}

static bool truth(asc_onnx_call *c, asc_onnx_value *v) {
    if (v->kind != ASC_ONNX_TENSOR || asc_shape_elems(&v->shape) != 1) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the condition is not one truth value");
        return false;
    }
    const double *d = asc_onnx_value_doubles(c, v);
    return d != NULL && d[0] != 0.0;
}

static asc_onnx_value *host_scalar(asc_onnx_call *c, double x, int elem) {
    asc_onnx_value *v = asc_onnx_new_value(c);
    double *d = asc_onnx_memory(c, 1, sizeof *d);
    if (v == NULL || d == NULL) return NULL;
    *d = x;
    *v = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = elem, .host = d};
    return v;
}

asc_status asc_onnx_If(asc_onnx_call *c) {
    bool yes = truth(c, asc_onnx_in(c, 0));
    const asc_onnx_graph *g = body_of(c, yes ? "then_branch" : "else_branch");
    if (c->st != ASC_OK) return c->st;
    if (g->n_outputs < c->n_out)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a branch with %zu outputs for %zu", g->n_outputs,
                             c->n_out);
    return asc_onnx_run_body(c, g, NULL, 0, c->out, c->n_out);
}

/* Values of one scan output, one an iteration. */
typedef struct rows {
    asc_onnx_value **v;
    size_t n, cap;
} rows;

static void add_row(asc_onnx_call *c, rows *r, asc_onnx_value *v) {
    if (r->n == r->cap) {
        size_t cap = r->cap == 0 ? 16 : 2 * r->cap;
        asc_onnx_value **bigger = asc_onnx_memory(c, cap, sizeof(asc_onnx_value *));
        if (bigger == NULL) return;
        if (r->n > 0) memcpy(bigger, r->v, r->n * sizeof(asc_onnx_value *));
        r->v = bigger;
        r->cap = cap;
    }
    r->v[r->n++] = v;
}

static bool same_shapes(const rows *r) {
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i]->kind != ASC_ONNX_TENSOR || !asc_shape_eq(&r->v[i]->shape, &r->v[0]->shape)) return false;
    }
    return true;
}

/* The values along a new axis; `port` says what an empty one looks like. */
static asc_status stack(asc_onnx_call *c, const rows *r, const asc_onnx_port *port, int64_t axis,
                        size_t out) {
    if (!same_shapes(r)) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "iterations of different shapes");
    if (r->n > 0 && r->v[0]->shape.rank == ASC_MAX_RANK)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a result of over %d dimensions", ASC_MAX_RANK);
    if (r->n == 0) {
        asc_shape s = {.rank = port->shape.rank < ASC_MAX_RANK ? port->shape.rank + 1 : ASC_MAX_RANK};
        for (int i = 1; i < s.rank; i++)
            s.dims[i] = port->shape.dims[i - 1] > 0 ? port->shape.dims[i - 1] : 0;
        return asc_onnx_set_host(c, out, s, NULL, port->elem);
    }
    asc_shape s = r->v[0]->shape;
    int at = asc_onnx_axis(c, axis, s.rank + 1);
    for (int i = s.rank++; i > at; i--) s.dims[i] = s.dims[i - 1];
    s.dims[at] = 1;
    int64_t each = asc_shape_elems(&r->v[0]->shape);
    bool known = at == 0 && each * (int64_t)r->n <= ASC_ONNX_HOST_ELEMS;
    for (size_t i = 0; i < r->n; i++) known = known && asc_onnx_is_known(r->v[i]);
    if (known) {
        double *all = asc_onnx_memory(c, (size_t)each * r->n, sizeof *all);
        for (size_t i = 0; i < r->n && c->st == ASC_OK; i++) {
            const double *d = asc_onnx_value_doubles(c, r->v[i]);
            if (d != NULL) memcpy(all + (size_t)each * i, d, (size_t)each * sizeof *d);
        }
        s.dims[0] = (int64_t)r->n;
        return c->st == ASC_OK ? asc_onnx_set_host(c, out, s, all, r->v[0]->elem) : c->st;
    }
    asc_tensor **ts = asc_onnx_memory(c, r->n, sizeof(asc_tensor *));
    if (ts == NULL) return c->st;
    for (size_t i = 0; i < r->n; i++) ts[i] = asc_reshape(c->ctx, asc_onnx_value_t(c, r->v[i]), s);
    return asc_onnx_set(c, out, asc_concat_many(c->ctx, ts, r->n, at), r->v[0]->elem);
}

static asc_status too_long(asc_onnx_call *c) {
    return asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "more than %d iterations", ASC_ONNX_MAX_TRIPS);
}

asc_status asc_onnx_Loop(asc_onnx_call *c) {
    const asc_onnx_graph *g = body_of(c, "body");
    int64_t most = asc_onnx_int(c, 0, INT64_MAX);
    bool go = asc_onnx_has(c, 1) ? truth(c, asc_onnx_in(c, 1)) : true;
    size_t n_state = c->n_in > 2 ? c->n_in - 2 : 0;
    if (c->st != ASC_OK) return c->st;
    if (g->n_inputs != n_state + 2 || g->n_outputs < n_state + 1 || c->n_out > g->n_outputs - 1)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the body's inputs and outputs do not fit the loop's");
    size_t n_scan = g->n_outputs - 1 - n_state;
    asc_onnx_value **in = asc_onnx_memory(c, n_state + 2, sizeof(asc_onnx_value *));
    asc_onnx_value **out = asc_onnx_memory(c, g->n_outputs, sizeof(asc_onnx_value *));
    rows *scan = asc_onnx_memory(c, n_scan + 1, sizeof *scan);
    if (in == NULL || out == NULL || scan == NULL) return c->st;
    for (size_t i = 0; i < n_state; i++) in[i + 2] = asc_onnx_in(c, i + 2);
    for (int64_t trip = 0; trip < most && go; trip++) {
        if (trip == ASC_ONNX_MAX_TRIPS) return too_long(c);
        in[0] = host_scalar(c, (double)trip, ASC_ONNX_INT64);
        in[1] = host_scalar(c, 1.0, ASC_ONNX_BOOL);
        if (c->st != ASC_OK) return c->st;
        asc_status st = asc_onnx_run_body(c, g, in, n_state + 2, out, g->n_outputs);
        if (st != ASC_OK) return st;
        go = truth(c, out[0]);
        for (size_t i = 0; i < n_state; i++) in[i + 2] = out[i + 1];
        for (size_t i = 0; i < n_scan; i++) add_row(c, &scan[i], out[i + 1 + n_state]);
        if (c->st != ASC_OK) return c->st;
    }
    for (size_t i = 0; i < n_state; i++) asc_onnx_set_value(c, i, in[i + 2]);
    for (size_t i = 0; i < n_scan; i++) {
        if (asc_onnx_wants(c, n_state + i)) stack(c, &scan[i], &g->outputs[n_state + 1 + i], 0, n_state + i);
    }
    return c->st;
}

/* Row k of v along axis, without that axis. */
static asc_onnx_value *row_of(asc_onnx_call *c, asc_onnx_value *v, int axis, int64_t k) {
    asc_tensor *t = asc_slice(c->ctx, asc_onnx_value_t(c, v), axis, k, 1);
    asc_onnx_value *out = asc_onnx_new_value(c);
    if (asc_tensor_poisoned(t)) {
        asc_status st = asc_graph_take_error(asc_graph_of(c->ctx));
        if (c->st == ASC_OK) c->st = st != ASC_OK ? st : ASC_INTERNAL;
    }
    if (c->st != ASC_OK || out == NULL) return NULL;
    asc_shape s = t->shape;
    for (int i = axis; i + 1 < s.rank; i++) s.dims[i] = s.dims[i + 1];
    s.rank--;
    *out = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = v->elem, .shape = s};
    out->t = asc_reshape(c->ctx, t, s);
    return out;
}

typedef struct scan_spec {
    const asc_onnx_graph *g;
    size_t n_state, n_in, n_out; /* states, scan inputs, scan outputs */
    int64_t in_axis[64], out_axis[64], in_back[64], out_back[64];
} scan_spec;

static void read_list(asc_onnx_call *c, const char *name, int64_t *out) {
    for (int i = 0; i < 64; i++) out[i] = 0;
    (void)asc_onnx_attr_ints(c, name, out, 64);
}

/* One sequence: state[] is replaced by the last states; scan outputs are collected in out[]. */
static asc_status scan_one(asc_onnx_call *c, const scan_spec *s, asc_onnx_value **state,
                           asc_onnx_value *const *in, int64_t steps, rows *out) {
    size_t n = s->n_state + s->n_in, m = s->n_state + s->n_out;
    asc_onnx_value **args = asc_onnx_memory(c, n + m + 1, sizeof(asc_onnx_value *)), **res;
    if (args == NULL) return c->st;
    res = args + n;
    for (int64_t k = 0; k < steps; k++) {
        for (size_t i = 0; i < s->n_state; i++) args[i] = state[i];
        for (size_t i = 0; i < s->n_in; i++) {
            int axis = asc_onnx_axis(c, s->in_axis[i], in[i]->shape.rank);
            int64_t at = s->in_back[i] ? steps - 1 - k : k;
            if (c->st == ASC_OK) args[s->n_state + i] = row_of(c, in[i], axis, at);
        }
        if (c->st != ASC_OK) return c->st;
        asc_status st = asc_onnx_run_body(c, s->g, args, n, res, m);
        if (st != ASC_OK) return st;
        for (size_t i = 0; i < s->n_state; i++) state[i] = res[i];
        for (size_t i = 0; i < s->n_out; i++) add_row(c, &out[i], res[s->n_state + i]);
    }
    for (size_t i = 0; i < s->n_out; i++) { /* a backward output starts with the last step */
        for (size_t k = 0; s->out_back[i] && k < out[i].n / 2; k++) {
            asc_onnx_value *v = out[i].v[k];
            out[i].v[k] = out[i].v[out[i].n - 1 - k];
            out[i].v[out[i].n - 1 - k] = v;
        }
    }
    return c->st;
}

static int64_t steps_of(asc_onnx_call *c, const scan_spec *s, asc_onnx_value *const *in) {
    int64_t steps = -1;
    for (size_t i = 0; i < s->n_in; i++) {
        if (in[i]->kind != ASC_ONNX_TENSOR || in[i]->shape.rank == 0) {
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a scan input without dimensions");
            return 0;
        }
        int64_t n = in[i]->shape.dims[asc_onnx_axis(c, s->in_axis[i], in[i]->shape.rank)];
        if (steps >= 0 && n != steps)
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "scan inputs of %lld and %lld steps", (long long)steps,
                          (long long)n);
        steps = n;
    }
    if (steps > ASC_ONNX_MAX_TRIPS) (void)too_long(c);
    return steps;
}

/* Opset 8: an axis 0 of independent sequences in front of everything. */
static asc_status scan_batches(asc_onnx_call *c, scan_spec *s) {
    size_t n = s->n_state + s->n_in, m = s->n_state + s->n_out;
    rows *all = asc_onnx_memory(c, m + 1, sizeof *all), *one = asc_onnx_memory(c, m + 1, sizeof *one);
    asc_onnx_value **v = asc_onnx_memory(c, n + 1, sizeof(asc_onnx_value *));
    if (all == NULL || one == NULL || v == NULL) return c->st;
    if (asc_onnx_has(c, 0)) return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "Scan with sequence_lens");
    int64_t batches = asc_onnx_shape(c, 1).rank > 0 ? asc_onnx_shape(c, 1).dims[0] : 0;
    for (int64_t b = 0; b < batches && c->st == ASC_OK; b++) {
        for (size_t i = 0; i < n && c->st == ASC_OK; i++) v[i] = row_of(c, asc_onnx_in(c, i + 1), 0, b);
        if (c->st != ASC_OK) return c->st;
        memset(one, 0, (m + 1) * sizeof *one);
        int64_t steps = steps_of(c, s, v + s->n_state);
        asc_status st = c->st == ASC_OK ? scan_one(c, s, v, v + s->n_state, steps, one) : c->st;
        if (st != ASC_OK) return st;
        for (size_t i = 0; i < s->n_state; i++) add_row(c, &all[i], v[i]);
        for (size_t i = 0; i < s->n_out; i++) {
            st = stack(c, &one[i], &s->g->outputs[s->n_state + i], 0, s->n_state + i);
            if (st != ASC_OK) return st;
            add_row(c, &all[s->n_state + i], c->out[s->n_state + i]);
        }
    }
    for (size_t i = 0; i < m && i < c->n_out && c->st == ASC_OK; i++)
        stack(c, &all[i], &s->g->outputs[i], 0, i);
    return c->st;
}

asc_status asc_onnx_Scan(asc_onnx_call *c) {
    scan_spec s = {.g = body_of(c, "body")};
    bool batched = c->opset < 9;
    size_t first = batched ? 1 : 0;
    int64_t n_scan = asc_onnx_attr_int(c, "num_scan_inputs", 1);
    if (c->st != ASC_OK) return c->st;
    if (n_scan < 1 || n_scan > 64 || (size_t)n_scan + first > c->n_in || s.g->n_inputs != c->n_in - first ||
        s.g->n_outputs < s.g->n_inputs - (size_t)n_scan || s.g->n_outputs > 64 || c->n_out > s.g->n_outputs)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the body's inputs and outputs do not fit the scan's");
    s.n_in = (size_t)n_scan;
    s.n_state = s.g->n_inputs - s.n_in;
    s.n_out = s.g->n_outputs - s.n_state;
    read_list(c, "scan_input_axes", s.in_axis);
    read_list(c, "scan_output_axes", s.out_axis);
    read_list(c, batched ? "directions" : "scan_input_directions", s.in_back);
    read_list(c, "scan_output_directions", s.out_back);
    if (c->st != ASC_OK) return c->st;
    if (batched) return scan_batches(c, &s);
    asc_onnx_value **v = asc_onnx_memory(c, c->n_in + 1, sizeof(asc_onnx_value *));
    rows *out = asc_onnx_memory(c, s.n_out + 1, sizeof *out);
    if (v == NULL || out == NULL) return c->st;
    for (size_t i = 0; i < c->n_in; i++) v[i] = asc_onnx_in(c, i);
    int64_t steps = steps_of(c, &s, v + s.n_state);
    asc_status st = c->st == ASC_OK ? scan_one(c, &s, v, v + s.n_state, steps, out) : c->st;
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < s.n_state; i++) asc_onnx_set_value(c, i, v[i]);
    for (size_t i = 0; i < s.n_out; i++) {
        if (asc_onnx_wants(c, s.n_state + i))
            stack(c, &out[i], &s.g->outputs[s.n_state + i], s.out_axis[i], s.n_state + i);
    }
    return c->st;
}
