/* held.c - see held.h. */
#include "held.h"
#include "exec.h"

void asc_held_drop(asc_ledger *l, asc_held *h) {
    if (h->t == NULL) return;
    l->now -= h->bytes;
    asc_tensor_release(h->t);
    *h = (asc_held){0};
}

void asc_held_set(asc_ledger *l, asc_held *h, asc_tensor *t, bool counts) {
    asc_tensor_retain(t);
    asc_held_drop(l, h);
    *h = (asc_held){.t = t};
    if (counts && l->pricing) h->bytes = asc_price_buffer(l->ctx, t->dtype, &t->shape);
    l->now += h->bytes;
}

asc_status asc_held_keep(asc_ledger *l, asc_held *h, asc_tensor *t) {
    if (l->pricing) t = asc_price_leaf(l->ctx, t->dtype, t->shape);
    if (asc_tensor_poisoned(t)) return asc_graph_take_error(asc_graph_of(l->ctx));
    if (!l->pricing) asc_tensor_detach(t);
    asc_held_set(l, h, t, true);
    return ASC_OK;
}

void asc_held_stand_in(asc_ledger *l, asc_held *h, const asc_shape *shape) {
    asc_tensor *t = asc_price_leaf(l->ctx, ASC_DTYPE_F32, *shape);
    if (!asc_tensor_poisoned(t)) asc_held_set(l, h, t, true);
}

void asc_price_add(asc_price *s, const asc_price *p, size_t held_bytes) {
    if (p->arena_bytes > s->arena_bytes) s->arena_bytes = p->arena_bytes;
    if (p->scratch_bytes > s->scratch_bytes) s->scratch_bytes = p->scratch_bytes;
    if (held_bytes + p->output_bytes > s->output_bytes) s->output_bytes = held_bytes + p->output_bytes;
    s->cost.flops += p->cost.flops;
    s->cost.bytes_read += p->cost.bytes_read;
    s->cost.bytes_written += p->cost.bytes_written;
    s->program_bytes += p->program_bytes;
    s->code_bytes += p->code_bytes;
}

void asc_ledger_add(asc_ledger *l, const asc_price *p) { asc_price_add(&l->sum, p, l->now); }

asc_status asc_ledger_compute(asc_ledger *l, asc_tensor **ts, size_t n, asc_price *once) {
    asc_price p = {0};
    if (!l->pricing) return asc_run(l->ctx, ts, n);
    asc_status st = asc_price_of(l->ctx, ts, n, &p);
    if (st != ASC_OK) return st;
    asc_ledger_add(l, &p);
    if (once != NULL) {
        *once = p;
        once->program_bytes = once->code_bytes = 0;
    }
    return ASC_OK;
}
