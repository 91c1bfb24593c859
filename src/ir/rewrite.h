/* rewrite.h - how a pass makes the new list of nodes of a program from the old one: old nodes are visited in
 * order, each becomes a node of the new list (or an existing one, or several), and the outputs follow. Inputs
 * keep their number and order. Outputs stay what executors rely on: distinct nodes, none of them an input. */
#ifndef ASC_REWRITE_H
#define ASC_REWRITE_H

#include "program.h"

typedef struct asc_rewrite {
    asc_ctx *ctx;
    asc_program *p; /* its nodes are the new list until asc_rewrite_end */
    asc_node *old;
    size_t n_old;
    int32_t *to;     /* [n_old] old node -> new node; -1 = not visited */
    bool *is_output; /* [n_old] */
    bool *claimed;   /* [n_claimed] new nodes that already stand for an output */
    size_t n_claimed;
    size_t n_done; /* for the pass to count */
} asc_rewrite;

/* Takes the nodes out of p. In any case asc_rewrite_end follows. */
ASC_MUST_USE asc_status asc_rewrite_begin(asc_ctx *ctx, asc_program *p, asc_rewrite *out);
/* Old node k with its inputs renamed. */
asc_node asc_rewrite_node(const asc_rewrite *rw, size_t k);
/* Works out type and shape of n; false on failure, with the error recorded. */
bool asc_rewrite_infer(const asc_rewrite *rw, asc_node *n);
/* Works out type and shape of n and appends it; -1 on failure, with the error recorded. */
int32_t asc_rewrite_add(asc_rewrite *rw, asc_node *n);
/* Old node k is new node `to` from here on. If k is an output and `to` cannot stand for it (an input, or
 * another output already), a copy of it (a reshape) is appended instead. False on failure. */
bool asc_rewrite_map(asc_rewrite *rw, size_t k, int32_t to);
/* With st OK: outputs follow their nodes. Otherwise p gets its old nodes back. Returns st. */
ASC_MUST_USE asc_status asc_rewrite_end(asc_rewrite *rw, asc_status st);

/* True when the values of ops of this kind depend on attributes that passes may not look at. */
bool asc_op_has_scalars(const asc_op *op);
/* n is a call of op. */
static inline bool asc_node_is(const asc_node *n, asc_opcode op) {
    return n->op != NULL && n->op->opcode == (int)op;
}

/* n appended after local rules that keep every bit (pass_simplify.c): what it returns may be a node that was
 * there already. *n_rules counts the rules that fired. -1 on failure. */
int32_t asc_simplify_add(asc_rewrite *rw, asc_node n, size_t *n_rules);

#endif
