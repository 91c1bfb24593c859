/* apply.c - the table of ops and the one way to record an application of one. */
#include "ops.h"
#include "plain.h"
#include "view.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const asc_op *const asc_ops[ASC_N_OPS] = {
#define OP(E, name, proto) &asc_op_##name,
#include "ascribe/ops.def"
#undef OP
};

const asc_op *asc_op_find(asc_view name) {
    for (int i = 0; i < ASC_N_OPS; i++) {
        if (asc_view_eqs(name, asc_ops[i]->name)) return asc_ops[i];
    }
    return NULL;
}

asc_tensor *asc_apply(asc_ctx *ctx, const asc_op *op, const asc_attrs *attrs, asc_tensor *const *in,
                      int n_in) {
    static const asc_attrs none = {0};
    asc_graph *g = asc_graph_of(ctx);
    if (n_in < op->min_in || n_in > op->max_in || n_in > ASC_MAX_IN) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s takes %d to %d inputs, not %d", op->name, op->min_in,
                 op->max_in, n_in);
        return asc_graph_poison(g);
    }
    asc_call c; /* field by field: zeroing what only some ops use would take as long as all the rest */
    c.op = op;
    c.attrs = attrs != NULL ? attrs : &none;
    c.n_in = n_in;
    c.level = op->fuse == ASC_FUSE_GEMM ? g->level : ASC_PRECISION_HIGHEST;
    c.many_rows = g->many_rows;
    c.pieces = false;
    for (int i = 0; i < n_in; i++) {
        if (in[i]->poison != ASC_OK) return in[i];
        c.in_dtype[i] = in[i]->dtype;
        c.in_shape[i] = in[i]->shape;
    }
    if (op->infer(ctx, &c) != ASC_OK) return asc_graph_poison(g);
    if (asc_shape_elems(&c.shape) < 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: the result has too many elements", op->name);
        return asc_graph_poison(g);
    }
    asc_tensor *t = asc_graph_node_bare(g);
    if (t == NULL) return asc_graph_poison(g);
    t->op = op;
    t->n_in = n_in;
    t->attrs = *c.attrs;
    t->dtype = c.dtype;
    t->shape = c.shape;
    t->level = c.level;
    t->many_rows = c.many_rows;
    for (int i = 0; i < n_in; i++) {
        t->in[i] = in[i];
        in[i]->refs++;
    }
    if (g->on_record != NULL && !g->on_record(ctx, t, &c)) {
        asc_graph_drop_last(g);
        return asc_graph_poison(g);
    }
    return t;
}

asc_status asc_infer_fail(asc_ctx *ctx, const asc_call *c, const char *fmt, ...) {
    char detail[256], shapes[512] = "", one[128];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    for (int i = 0; i < c->n_in && i < 4; i++) {
        size_t n = strlen(shapes);
        snprintf(shapes + n, sizeof shapes - n, "%s%s %s", i > 0 ? ", " : "",
                 asc_dtype_of(c->in_dtype[i])->name, asc_shape_text(&c->in_shape[i], one));
    }
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: %s (inputs: %s)", c->op->name, detail, shapes);
}

asc_status asc_infer_need_f32(asc_ctx *ctx, const asc_call *c, int k) {
    if (c->in_dtype[k] == ASC_DTYPE_F32) return ASC_OK;
    return asc_infer_fail(ctx, c, "input %d must be f32", k);
}

asc_status asc_infer_float(asc_ctx *ctx, asc_call *c) {
    c->shape = c->in_shape[0];
    for (int i = 0; i < c->n_in; i++) {
        asc_status st = asc_infer_need_f32(ctx, c, i);
        if (st != ASC_OK) return st;
        if (asc_shape_eq(&c->shape, &c->in_shape[i])) continue;
        if (!asc_shape_broadcast(&c->shape, &c->in_shape[i], &c->shape))
            return asc_infer_fail(ctx, c, "shapes do not broadcast");
    }
    c->dtype = ASC_DTYPE_F32;
    return ASC_OK;
}

asc_status asc_infer_same(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[0];
    return st;
}

static void cost_bytes(const asc_call *c, asc_cost *out) {
    for (int i = 0; i < c->n_in; i++) {
        size_t b = 0;
        if (asc_dtype_bytes(c->in_dtype[i], asc_shape_elems(&c->in_shape[i]), &b))
            out->bytes_read += (double)b;
    }
    out->bytes_written = 4.0 * (double)asc_shape_elems(&c->shape);
}

void asc_cost_pointwise(const asc_call *c, asc_cost *out) {
    *out = (asc_cost){.flops = (double)asc_shape_elems(&c->shape)};
    cost_bytes(c, out);
}

void asc_cost_move(const asc_call *c, asc_cost *out) {
    *out = (asc_cost){0};
    cost_bytes(c, out);
}

asc_tensor *asc_unbroadcast(asc_ctx *ctx, asc_tensor *g, asc_tensor *like) {
    if (g->poison != ASC_OK || like->poison != ASC_OK || asc_shape_eq(&g->shape, &like->shape)) return g;
    int axes[ASC_MAX_RANK], n = 0, lead = g->shape.rank - like->shape.rank;
    for (int i = 0; i < g->shape.rank; i++) {
        if (i < lead || (like->shape.dims[i - lead] == 1 && g->shape.dims[i] != 1)) axes[n++] = i;
    }
    asc_tensor *s = n > 0 ? asc_sum(ctx, g, n, axes, true) : g;
    return asc_reshape(ctx, s, like->shape);
}

bool asc_nd_next(int rank, const int64_t *dims, int64_t *idx, int n, const int64_t (*strides)[ASC_MAX_RANK],
                 int64_t *offsets) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++idx[i] < dims[i]) {
            for (int k = 0; k < n; k++) offsets[k] += strides[k][i];
            return true;
        }
        idx[i] = 0;
        for (int k = 0; k < n; k++) offsets[k] -= strides[k][i] * (dims[i] - 1);
    }
    return false;
}

void asc_nd_broadcast(const asc_nd *a, const asc_nd *out, int64_t strides[ASC_MAX_RANK]) {
    for (int i = 0; i < out->rank; i++) {
        int ia = i - (out->rank - a->rank);
        strides[i] = ia >= 0 && a->dims[ia] != 1 ? a->strides[ia] : 0;
    }
}

int64_t asc_nd_elems(const asc_nd *a) {
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++) n *= a->dims[i];
    return n;
}
