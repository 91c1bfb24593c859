/* lrp_experts.c - relevance through a mixture of experts: which experts a router chose, and with which
 * weights, is held fixed, as the probabilities of a choice that was made. What they computed takes all
 * relevance, each matrix by the rule of its layer; none goes into the router. A router is known by what it
 * does: it takes, out of values that move, those that top_k of values that move names. */
#include "lrp_parts.h"

static bool is_marked(const bool *mark, const asc_grad_view *v, const asc_tensor *t) {
    return (size_t)t->slot < v->n && v->nodes[t->slot] == t && mark[t->slot];
}

bool asc_lrp_routes(const asc_lrp_frame *f, const asc_grad_view *v, const asc_tensor *t) {
    if (t->op->opcode == ASC_OPCODE_TAKE_ALONG) {
        const asc_tensor *which = t->in[1];
        return which->op != NULL && which->op->opcode == ASC_OPCODE_TOP_K && is_marked(v->useful, v, which);
    }
    /* shares made to add up to 1, and other shapes of them; a denominator takes no relevance anyway */
    const bool same = t->op->opcode == ASC_OPCODE_SIGMOID || t->op->opcode == ASC_OPCODE_DIV ||
                      t->op->opcode == ASC_OPCODE_SCALE || t->op->fuse == ASC_FUSE_VIEW;
    return same && t->n_in > 0 && is_marked(f->routing, v, t->in[0]);
}

void asc_lrp_gather(asc_vjp_args *a) {
    if (a->moving[0]) asc_rule_indexed(a); /* else biases of the experts chosen: nothing to pass on */
}

int asc_lrp_beside_routing(const asc_vjp_args *a) {
    const asc_rules *r = asc_rules_of(a);
    if (a->n_in != 2 || !a->moving[0] || !a->moving[1] || r->o.compat_captum) return -1;
    const bool first = r->frame->routing[a->in[0]->slot], second = r->frame->routing[a->in[1]->slot];
    return first == second ? -1 : first ? 1 : 0;
}
