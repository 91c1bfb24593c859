/* pass_fold_constants.c - marks what depends on no input (positions, masks, index tables): its value is the
 * same in every run until a run-time scalar changes, so an executor may compute it once and keep it. Values
 * above MOST_BYTES are left alone: keeping them costs more memory than computing them costs time. Random
 * draws and custom ops are never marked: seeds are meant to change, and a caller's function may keep a state.
 */
#include "passes.h"
#include "rewrite.h"

enum { MOST_BYTES = 1 << 20 };

static bool constant(const asc_program *p, const asc_node *n) {
    if (n->op == NULL || n->op->opcode == ASC_OPCODE_RANDOM || n->op->opcode == ASC_OPCODE_CUSTOM)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!p->nodes[n->in[i]].constant) return false;
    int64_t n_elems = asc_shape_elems(&n->shape);
    return n_elems >= 0 && n_elems <= MOST_BYTES / 4;
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    (void)ctx, (void)env;
    for (size_t k = 0; k < p->n_nodes; k++) {
        p->nodes[k].constant = constant(p, &p->nodes[k]);
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
    .name = "fold-constants", .doc = "marks what depends on no input, to be computed once", .run = run};
