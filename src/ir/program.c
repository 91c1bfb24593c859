/* program.c - building a program, its verifier, cost and structural hash; see program.h. */
#include "program.h"
#include "hash.h"
#include <string.h>

void asc_program_init(asc_program *p, asc_ctx *ctx) {
    *p = (asc_program){0};
    asc_arena_init(&p->arena, ctx, ASC_MEM_PROGRAM);
}

void asc_program_deinit(asc_program *p) {
    asc_ctx *ctx = p->arena.ctx;
    asc_free(ctx, p->nodes);
    asc_free(ctx, p->outputs);
    asc_arena_deinit(&p->arena);
    *p = (asc_program){0};
    p->arena.ctx = ctx;
}

int32_t asc_program_add(asc_program *p, const asc_node *node) {
    asc_ctx *ctx = p->arena.ctx;
    if (p->n_nodes >= ASC_PROGRAM_MAX_NODES) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a program holds at most %d nodes", ASC_PROGRAM_MAX_NODES);
        return -1;
    }
    if (asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&p->nodes, &p->cap_nodes, p->n_nodes + 1, sizeof *p->nodes) !=
        ASC_OK)
        return -1;
    p->nodes[p->n_nodes] = *node;
    return (int32_t)p->n_nodes++;
}

int32_t asc_program_input(asc_program *p, asc_dtype dtype, const asc_shape *shape) {
    asc_node n = {.dtype = dtype, .shape = *shape};
    return asc_program_add(p, &n);
}

asc_status asc_program_output(asc_program *p, int32_t node) {
    asc_status st = asc_grow(p->arena.ctx, ASC_MEM_PROGRAM, (void **)&p->outputs, &p->cap_outputs,
                             p->n_outputs + 1, sizeof *p->outputs);
    if (st == ASC_OK) p->outputs[p->n_outputs++] = node;
    return st;
}

void asc_node_call(const asc_program *p, const asc_node *node, asc_call *out) {
    out->op = node->op;
    out->attrs = &node->attrs;
    out->n_in = node->n_in;
    for (int i = 0; i < node->n_in; i++) {
        out->in_dtype[i] = p->nodes[node->in[i]].dtype;
        out->in_shape[i] = p->nodes[node->in[i]].shape;
    }
    out->dtype = node->dtype;
    out->shape = node->shape;
    out->level = node->level;
    out->many_rows = node->many_rows;
    out->pieces = node->pieces;
}

static asc_status verify_node(asc_ctx *ctx, const asc_program *p, size_t k) {
    const asc_node *n = &p->nodes[k];
    if (n->op == NULL) {
        if (n->n_in != 0) return ASC_FAIL(ctx, ASC_INTERNAL, "program: input %%%zu has inputs", k);
        return ASC_OK;
    }
    if (n->n_in < n->op->min_in || n->n_in > n->op->max_in)
        return ASC_FAIL(ctx, ASC_INTERNAL, "program: %%%zu: %s has %d inputs", k, n->op->name, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] < 0 || (size_t)n->in[i] >= k)
            return ASC_FAIL(ctx, ASC_INTERNAL, "program: %%%zu: %s uses %%%d before it is computed", k,
                            n->op->name, n->in[i]);
    }
    asc_call c;
    asc_node_call(p, n, &c);
    if (n->op->infer(ctx, &c) != ASC_OK) {
        asc_fail_context(ctx, "program: %%%zu", k);
        ctx->error.code = ASC_INTERNAL;
        return ASC_INTERNAL;
    }
    if (c.dtype != n->dtype || !asc_shape_eq(&c.shape, &n->shape)) {
        char a[128], b[128];
        return ASC_FAIL(ctx, ASC_INTERNAL, "program: %%%zu: %s is recorded as %s %s but infers %s %s", k,
                        n->op->name, asc_dtype_of(n->dtype)->name, asc_shape_text(&n->shape, a),
                        asc_dtype_of(c.dtype)->name, asc_shape_text(&c.shape, b));
    }
    return ASC_OK;
}

asc_status asc_program_verify(asc_ctx *ctx, const asc_program *p) {
    for (size_t k = 0; k < p->n_nodes; k++) {
        asc_status st = verify_node(ctx, p, k);
        if (st != ASC_OK) return st;
    }
    for (size_t i = 0; i < p->n_outputs; i++) {
        if (p->outputs[i] < 0 || (size_t)p->outputs[i] >= p->n_nodes)
            return ASC_FAIL(ctx, ASC_INTERNAL, "program: output %zu names node %d of %zu", i, p->outputs[i],
                            p->n_nodes);
    }
    return ASC_OK;
}

asc_cost asc_program_cost(const asc_program *p) {
    asc_cost sum = {0};
    for (size_t k = 0; k < p->n_nodes; k++) {
        if (p->nodes[k].op == NULL) continue;
        asc_call c;
        asc_cost one = {0};
        asc_node_call(p, &p->nodes[k], &c);
        c.op->cost(&c, &one);
        sum.flops += one.flops;
        sum.bytes_read += one.bytes_read;
        sum.bytes_written += one.bytes_written;
    }
    return sum;
}

static uint64_t hash_attrs(const asc_op *op, const asc_attrs *a, uint64_t h) {
    asc_attrs k = *a;
    for (int i = 0; i < op->n_attrs; i++) {
        if (op->attrs[i].kind == ASC_ATTR_SCALAR) k.f[op->attrs[i].slot] = 0.0;
    }
    return asc_hash64(&k, sizeof k, h);
}

uint64_t asc_program_hash(const asc_program *p) {
    uint64_t h = asc_hash64("program", 7, p->n_nodes);
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        int64_t head[4 + ASC_MAX_IN + ASC_MAX_RANK] = {
            n->op != NULL ? n->op->opcode : -1, (int64_t)n->dtype, n->shape.rank,
            (int64_t)n->level * 8 + n->pieces * 4 + n->many_rows * 2 + n->constant};
        for (int i = 0; i < n->n_in; i++) head[4 + i] = n->in[i] + 1;
        for (int i = 0; i < n->shape.rank; i++) head[4 + ASC_MAX_IN + i] = n->shape.dims[i];
        h = asc_hash64(head, sizeof head, h);
        if (n->op != NULL) h = hash_attrs(n->op, &n->attrs, h);
    }
    return p->n_outputs == 0 ? h : asc_hash64(p->outputs, p->n_outputs * sizeof *p->outputs, h);
}
