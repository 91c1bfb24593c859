/* pass_dead.c - drops nodes that no output needs. Inputs stay: they are the program's contract. */
#include "passes.h"

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    (void)env;
    size_t n = p->n_nodes, kept = 0;
    int32_t *to = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *to);
    if (to == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < p->n_outputs; i++) to[p->outputs[i]] = 1;
    for (size_t k = n; k-- > 0;) {
        const asc_node *node = &p->nodes[k];
        if (node->op == NULL) to[k] = 1;
        for (int i = 0; to[k] != 0 && i < node->n_in; i++) to[node->in[i]] = 1;
    }
    for (size_t k = 0; k < n; k++) {
        if (to[k] == 0) continue;
        asc_node node = p->nodes[k];
        for (int i = 0; i < node.n_in; i++) node.in[i] = to[node.in[i]];
        to[k] = (int32_t)kept;
        p->nodes[kept++] = node;
    }
    for (size_t i = 0; i < p->n_outputs; i++) p->outputs[i] = to[p->outputs[i]];
    *n_done = n - kept;
    p->n_nodes = kept;
    asc_free(ctx, to);
    return ASC_OK;
}

const asc_pass asc_pass_dead = {.name = "dead", .doc = "drops what no output needs", .run = run};
