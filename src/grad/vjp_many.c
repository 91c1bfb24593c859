/* vjp_many.c - many cotangents through one recorded forward pass. Each op's own VJP is asked once for all of
 * them: its inputs and result, of batch 1, are shown to it repeated along the leading axis, so that all it
 * records has the cotangents' batch. Only ops that carry the leading axis along are let through. */
#include "grad.h"
#include "ops.h"

typedef struct pass {
    asc_ctx *ctx;
    asc_walk w;
    bool *useful;
    asc_tensor **g;     /* cotangents so far, [M,..]; NULL = zero */
    asc_tensor **shown; /* a node's value repeated; NULL = not made yet */
    int64_t m;
} pass;

static bool carries(const asc_tensor *t) {
    switch (t->op->opcode) {
    case ASC_OPCODE_MATMUL:
    case ASC_OPCODE_MATMUL_BIAS:
    case ASC_OPCODE_RMS_NORM:
    case ASC_OPCODE_LAYER_NORM:
    case ASC_OPCODE_ROPE:
    case ASC_OPCODE_RESHAPE:
    case ASC_OPCODE_SDPA:
    case ASC_OPCODE_SWIGLU:
        return true;
    case ASC_OPCODE_SLICE:
    case ASC_OPCODE_CONCAT:
        return t->attrs.i[0] != 0;
    default:
        return t->op->fuse == ASC_FUSE_POINTWISE;
    }
}

/* Rank 3 and up: [1,T,..]. A matrix [1,D] might be one row of tokens rather than one of a batch. */
static bool batch_of_one(const asc_tensor *t) { return t->shape.rank >= 3 && t->shape.dims[0] == 1; }

static bool fits(const pass *p, const asc_tensor *x) {
    if (!batch_of_one(x)) return false;
    for (size_t i = 0; i < p->w.n; i++) {
        const asc_tensor *t = p->w.nodes[i];
        if (!p->useful[i] || t == x) continue;
        if (t->op == NULL || !batch_of_one(t) || !carries(t)) return false;
    }
    return true;
}

static asc_tensor *repeated(pass *p, asc_tensor *t) {
    asc_shape s = t->shape;
    s.dims[0] = p->m;
    return asc_broadcast(p->ctx, t, s);
}

/* An input as the VJP is to see it; slot -1: a constant. Constants are as they were, except where the op
 * wants all inputs of one batch. */
static asc_tensor *shown(pass *p, const asc_tensor *t, int k, int slot) {
    asc_tensor *in = t->in[k];
    if (slot >= 0) {
        if (p->shown[slot] == NULL) p->shown[slot] = repeated(p, in);
        return p->shown[slot];
    }
    bool same = t->op->opcode == ASC_OPCODE_CONCAT || t->op->opcode == ASC_OPCODE_SDPA;
    return same && batch_of_one(in) ? repeated(p, in) : in;
}

/* The other VJPs that are let through look at inputs and cotangent only; a repeat that nobody reads would be
 * computed all the same in eager mode. Sums and products of pointwise ops do not look, either. */
static bool reads_result(const asc_tensor *t) {
    switch (t->op->opcode) {
    case ASC_OPCODE_ADD:
    case ASC_OPCODE_SUB:
    case ASC_OPCODE_MUL:
    case ASC_OPCODE_SCALE:
        return false;
    default: /* a decomposed one asks the result only which op it is */
        return t->op->opcode == ASC_OPCODE_SDPA ||
               (t->op->fuse == ASC_FUSE_POINTWISE && t->op->vjp != asc_vjp_decomposed);
    }
}

static asc_status one_step(pass *p, size_t i) {
    asc_ctx *ctx = p->ctx;
    asc_tensor *t = p->w.nodes[i], *in[ASC_MAX_IN] = {NULL};
    int slots[ASC_MAX_IN];
    asc_vjp_args a = {.ctx = ctx, .y = t, .g = p->g[i], .in = in, .attrs = &t->attrs, .n_in = t->n_in};
    bool any = false;
    if ((t->op->flags & ASC_OP_NO_GRAD) != 0) return ASC_OK;
    if (t->op->vjp == NULL) return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s has no gradient", t->op->name);
    for (int k = 0; k < t->n_in; k++) { /* before anything is recorded: eager mode walks over these nodes */
        bool moves = t->in[k]->mark == p->w.mark && p->useful[t->in[k]->slot];
        slots[k] = moves ? t->in[k]->slot : -1;
        a.need[k] = moves && t->in[k]->dtype == ASC_DTYPE_F32;
        any = any || a.need[k];
    }
    if (!any) return ASC_OK;
    for (int k = 0; k < t->n_in; k++) in[k] = shown(p, t, k, slots[k]);
    if (reads_result(t)) {
        if (p->shown[i] == NULL) p->shown[i] = repeated(p, t);
        a.y = p->shown[i];
    }
    const char *label = asc_set_label(ctx, t->label);
    asc_precision level = asc_set_level(ctx, t->op->fuse == ASC_FUSE_GEMM ? t->level : ctx->precision);
    t->op->vjp(&a);
    asc_set_level(ctx, level);
    for (int k = 0; k < t->n_in; k++) {
        if (!a.need[k] || a.gin[k] == NULL) continue;
        asc_tensor **g = &p->g[slots[k]];
        *g = *g == NULL ? a.gin[k] : asc_add(ctx, *g, a.gin[k]);
    }
    asc_set_label(ctx, label);
    return a.st;
}

static asc_status walk_back(pass *p, const asc_tensor *x) {
    asc_status st = ASC_OK;
    for (size_t i = p->w.n; st == ASC_OK && i-- > 0;) {
        if (!p->useful[i] || p->g[i] == NULL || p->w.nodes[i] == x) continue;
        st = one_step(p, i);
        asc_grad_restore(p->ctx, &p->w);
    }
    return st;
}

bool asc_grad_many(asc_ctx *ctx, asc_tensor *y, asc_tensor *seeds, asc_tensor *x, asc_tensor **out) {
    pass p = {.ctx = ctx};
    bool done = true;
    *out = NULL;
    if (y->poison != ASC_OK || seeds->poison != ASC_OK || x->poison != ASC_OK) {
        *out = y->poison != ASC_OK ? y : seeds->poison != ASC_OK ? seeds : x;
        return true;
    }
    p.m = seeds->shape.dims[0];
    asc_status st = asc_walk_ancestors(ctx, &y, 1, false, x->id, &p.w);
    if (st == ASC_OK) {
        p.useful = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof *p.useful);
        p.g = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof(asc_tensor *));
        p.shown = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof(asc_tensor *));
        if (p.useful == NULL || p.g == NULL || p.shown == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    if (st == ASC_OK) {
        asc_grad_mark_useful(&p.w, &x, 1, p.useful);
        done = fits(&p, x);
    }
    if (st == ASC_OK && done) {
        p.g[p.w.n - 1] = seeds; /* y has the largest id */
        st = walk_back(&p, x);
        if (st == ASC_OK && x->mark == p.w.mark) *out = p.g[x->slot];
    }
    if (st != ASC_OK) *out = asc_graph_poison(asc_graph_of(ctx));
    if (st == ASC_OK && done && *out == NULL) {
        asc_shape s = x->shape;
        s.dims[0] = p.m;
        *out = asc_full(ctx, s, 0.0);
    }
    asc_walk_free(ctx, &p.w);
    asc_free(ctx, p.g);
    asc_free(ctx, p.useful);
    asc_free(ctx, p.shown);
    return done;
}
