/* profile_unit.c - a node or region that ran becomes an event; a plan tells where it is fullest. */
#include "profile_unit.h"
#include <stdio.h>
#include <string.h>

enum { NAMED = 4 }; /* ops of a region that its name tells */

static void one_op(const asc_program *p, const asc_node *node, asc_cost *sum) {
    asc_call call;
    asc_cost cost = {0};
    asc_node_call(p, node, &call);
    if (node->op->cost != NULL) node->op->cost(&call, &cost);
    sum->flops += cost.flops;
    sum->bytes_read += cost.bytes_read;
    sum->bytes_written += cost.bytes_written;
}

static double bytes_of(const asc_node *node) {
    size_t bytes = 0;
    return asc_dtype_bytes(node->dtype, asc_shape_elems(&node->shape), &bytes) ? (double)bytes : 0.0;
}

/* What a region moves is what it reads from outside and what of it has storage. */
static void region_bytes(const asc_program *p, const asc_plan *plan, size_t first, size_t n, asc_cost *e) {
    e->bytes_read = e->bytes_written = 0.0;
    for (size_t i = first; i < first + n; i++) {
        const asc_node *node = &p->nodes[i];
        for (int k = 0; k < node->n_in; k++) {
            if (node->in[k] < (int32_t)first) e->bytes_read += bytes_of(&p->nodes[node->in[k]]);
        }
        if (plan == NULL || plan->slots[i].place != ASC_PLACE_TILE) e->bytes_written += bytes_of(node);
    }
}

static void region_name(const asc_program *p, size_t first, size_t n, char *out, size_t size) {
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = first; i < first + n && i < first + NAMED && len < size; i++) {
        if (p->nodes[i].op == NULL) continue;
        len += (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? "+" : "", p->nodes[i].op->name);
    }
    if (n > NAMED && len < size) snprintf(out + len, size - len, "+%zu more", n - NAMED);
}

asc_prof_unit asc_prof_unit_of(asc_ctx *ctx, const asc_program *p, const asc_plan *plan, size_t first,
                               size_t n, int threads) {
    const asc_node *last = &p->nodes[first + n - 1]; /* what the region is for */
    asc_prof_unit u = {.last = (int32_t)(first + n - 1), .kind = ASC_PROF_OP};
    u.threads = (uint16_t)(threads < 1 ? 1 : threads > UINT16_MAX ? UINT16_MAX : threads);
    u.name = last->op != NULL ? last->op->name : "input";
    for (size_t i = first; i < first + n; i++) {
        if (p->nodes[i].op != NULL) one_op(p, &p->nodes[i], &u.cost);
    }
    if (n > 1) {
        char name[128];
        region_bytes(p, plan, first, n, &u.cost);
        region_name(p, first, n, name, sizeof name);
        const char *kept = asc_label_intern(ctx, name);
        if (kept != NULL) u.name = kept; /* out of memory: the last op's name must do */
        u.kind = ASC_PROF_REGION;
    }
    return u;
}

uint64_t asc_prof_ran(asc_ctx *ctx, const asc_program *p, const asc_prof_unit *u, uint64_t start_ns) {
    asc_prof *prof = ctx->prof;
    const uint64_t now = asc_now_ns();
    asc_prof_add(prof, (asc_prof_event){.start_ns = start_ns,
                                        .ns = now - start_ns,
                                        .flops = u->cost.flops,
                                        .bytes_read = u->cost.bytes_read,
                                        .bytes_written = u->cost.bytes_written,
                                        .name = asc_prof_name(prof, u->name),
                                        .label = asc_prof_name(prof, p->nodes[u->last].label),
                                        .kind = u->kind,
                                        .threads = u->threads});
    return now;
}

void asc_prof_plan(asc_ctx *ctx, const asc_program *p, const asc_plan *plan) {
    asc_prof *prof = ctx->prof;
    if (prof == NULL || plan->arena_bytes <= prof->arena_bytes) return;
    prof->arena_bytes = plan->arena_bytes;
    const asc_error saved = ctx->error;
    size_t most = 0, at = 0, live = 0;
    int64_t *change = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 2, sizeof *change);
    if (change == NULL) { /* the figure is left out, the run is not harmed */
        ctx->error = saved;
        return;
    }
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_slot *s = &plan->slots[i];
        if (s->place != ASC_PLACE_ARENA) continue;
        size_t last = s->last_use < (int32_t)i ? i : (size_t)s->last_use;
        if (last > p->n_nodes) last = p->n_nodes;
        change[i] += (int64_t)s->bytes;
        change[last + 1] -= (int64_t)s->bytes;
    }
    for (size_t i = 0; i < p->n_nodes; i++) {
        live = (size_t)((int64_t)live + change[i]);
        if (live > most) {
            most = live;
            at = i;
        }
    }
    asc_free(ctx, change);
    const asc_node *node = &p->nodes[at];
    prof->arena_full_bytes = most;
    prof->arena_op = asc_prof_name(prof, node->op != NULL ? node->op->name : "input");
    prof->arena_label = asc_prof_name(prof, node->label);
}
