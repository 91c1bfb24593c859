/* ask_net.c - questions about nets: reading them, asking them. */
#include "ask_net_parts.h"

asc_status asc_ask_net_parse(asc_question *q) {
    const size_t n = q->net->n_inputs;
    q->attr.struct_size = sizeof q->attr;
    if (n == 0 || q->net->n_outputs == 0)
        return asc_ask_refuse(q, "the net has no %s: there is nothing to ask", n == 0 ? "inputs" : "outputs");
    asc_ask_net *a = q->of_net = asc_ask_alloc(q, 1, sizeof *a);
    if (a == NULL) return ASC_RESOURCE_EXHAUSTED;
    a->inputs = asc_ask_alloc(q, 2 * n, sizeof *a->inputs);
    a->given_by = asc_ask_alloc(q, n, sizeof *a->given_by);
    if (a->inputs == NULL || a->given_by == NULL) return ASC_RESOURCE_EXHAUSTED;
    a->baselines = a->inputs + n;
    asc_status st = asc_ask_net_inputs(q);
    if (st == ASC_OK) st = asc_ask_net_options(q);
    if (st == ASC_OK) st = asc_ask_net_target(q);
    if (st == ASC_OK) st = asc_ask_net_method(q);
    if (st == ASC_INVALID_ARGUMENT && asc_error_hint(q->ctx)[0] == '\0')
        asc_hint(q->ctx, "docs/questions-nets.md has the forms of inputs and targets");
    return st;
}

void asc_ask_net_free(asc_question *q) {
    asc_ask_net *a = q->of_net;
    if (a == NULL) return;
    for (asc_ask_owned *o = a->owned; o != NULL; o = o->next) asc_array_free(q->ctx, &o->a);
    asc_image_free(q->ctx, &a->picture);
    asc_table_free(q->ctx, &a->table);
}

asc_status asc_ask_net_run(asc_question *q, asc_answer *a) {
    asc_status st = asc_attribute(q->net, &q->attr, &a->attribution);
    if (st == ASC_OK && q->of_net->sum_rows && !q->attr.dry_run)
        asc_attribution_sum_rows(a->attribution);
    /* documents show what the net says; what is held now may not be when they are written */
    size_t n_held;
    if (st == ASC_OK && !q->attr.dry_run && asc_net_held_site(q->net, &n_held) != NULL)
        st = asc_ask_net_look(q);
    return st;
}
