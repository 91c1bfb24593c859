/* pass_common.c - common sub-expressions: a node that does what an earlier one does to the same inputs is
 * dropped. Equality is full (op, inputs, attributes byte by byte, type, level, rows, pieces); the hash only
 * finds candidates. Never merged: inputs; ops with run-time scalars, whose values may differ in the next run
 * (random is one of them); custom ops, whose functions may keep a state. */
#include "hash.h"
#include "passes.h"
#include "rewrite.h"
#include <string.h>

static bool mergeable(const asc_node *n) {
    return n->op != NULL && n->op->opcode != ASC_OPCODE_CUSTOM && !asc_op_has_scalars(n->op);
}

static uint64_t hash_of(const asc_node *n) {
    const int64_t head[2] = {n->op->opcode, (int64_t)n->level * 4 + n->pieces * 2 + n->many_rows};
    uint64_t h = asc_hash64(head, sizeof head, (uint64_t)n->n_in);
    if (n->n_in > 0) h = asc_hash64(n->in, (size_t)n->n_in * sizeof n->in[0], h);
    return asc_hash64(&n->attrs, sizeof n->attrs, h);
}

static bool same(const asc_node *a, const asc_node *b) {
    return a->op == b->op && a->n_in == b->n_in && a->level == b->level && a->many_rows == b->many_rows &&
           a->pieces == b->pieces && a->group == b->group && a->dtype == b->dtype &&
           asc_shape_eq(&a->shape, &b->shape) &&
           memcmp(a->in, b->in, (size_t)a->n_in * sizeof a->in[0]) == 0 &&
           memcmp(&a->attrs, &b->attrs, sizeof a->attrs) == 0;
}

/* Open addressing; an entry is 1 + the index of a new node. */
typedef struct table {
    int32_t *entry;
    size_t mask;
} table;

/* The earlier node that equals n, or -1, with *slot where n would go. */
static int32_t find(const table *t, const asc_program *p, const asc_node *n, size_t *slot) {
    for (size_t i = hash_of(n) & t->mask;; i = (i + 1) & t->mask) {
        *slot = i;
        if (t->entry[i] == 0) return -1;
        if (same(&p->nodes[t->entry[i] - 1], n)) return t->entry[i] - 1;
    }
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    (void)env;
    asc_rewrite rw;
    table t = {.mask = 63};
    asc_status st = asc_rewrite_begin(ctx, p, &rw);
    while (t.mask < 2 * rw.n_old) t.mask = 2 * t.mask + 1;
    t.entry = asc_calloc(ctx, ASC_MEM_PROGRAM, t.mask + 1, sizeof *t.entry);
    if (t.entry == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < rw.n_old && st == ASC_OK; k++) {
        asc_node n = asc_rewrite_node(&rw, k);
        size_t slot = 0;
        int32_t to = mergeable(&n) ? find(&t, p, &n, &slot) : -1;
        size_t before = p->n_nodes;
        if (to < 0) {
            to = asc_program_add(p, &n);
            if (to >= 0 && mergeable(&n)) t.entry[slot] = to + 1;
        }
        if (!asc_rewrite_map(&rw, k, to)) st = ctx->error.code;
        if (p->n_nodes == before) (*n_done)++;
    }
    asc_free(ctx, t.entry);
    return asc_rewrite_end(&rw, st);
}

const asc_pass asc_pass_common = {.name = "common", .doc = "computes equal expressions once", .run = run};
