/* pass_fold_constants.c - finds what depends on no input (positions, masks, index tables): its value is the
 * same in every run until a run-time scalar changes, so it is computed once and kept. The mark is all that
 * this pass makes; src/exec/exe_fold.h is where values are kept. Values above MOST_BYTES, and what comes
 * after MOST_TOGETHER, are left alone: keeping them costs more memory than computing them costs time. Random
 * draws and custom ops are never marked: seeds are meant to change, and a caller's function may keep a state.
 */
#include "passes.h"
#include "rewrite.h"

enum { MOST_BYTES = 1 << 20, MOST_TOGETHER = 4 << 20 };

/* Bytes of the node, if it is a constant that may be kept; -1 if not. */
static int64_t constant_bytes(const asc_program *p, const asc_node *n) {
    if (n->op == NULL || n->op->opcode == ASC_OPCODE_RANDOM || n->op->opcode == ASC_OPCODE_CUSTOM) return -1;
    for (int i = 0; i < n->n_in; i++)
        if (!p->nodes[n->in[i]].constant) return -1;
    const int64_t n_elems = asc_shape_elems(&n->shape);
    return n_elems >= 0 && n_elems <= MOST_BYTES / 4 ? 4 * n_elems : -1;
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    (void)ctx, (void)env;
    int64_t total = 0;
    for (size_t k = 0; k < p->n_nodes; k++) {
        const int64_t bytes = constant_bytes(p, &p->nodes[k]);
        p->nodes[k].constant = bytes >= 0 && total + bytes <= MOST_TOGETHER;
        if (p->nodes[k].constant) total += bytes;
        *n_done += p->nodes[k].constant;
    }
    /* outputs have storage of their own in every run */
    for (size_t i = 0; i < p->n_outputs; i++) {
        asc_node *n = &p->nodes[p->outputs[i]];
        *n_done -= n->constant;
        n->constant = false;
    }
    return ASC_OK;
}

const asc_pass asc_pass_fold_constants = {
    .name = "fold-constants", .doc = "computes what depends on no input once, in the first run", .run = run};
