/* memplan.c - places every temporary of a program in one block by liveness.
 * Values are placed in order of size, largest first, each at the lowest offset that is free during its whole
 * life
 * ("greedy by size", Pisarchyk and Lee 2020). The block's size is then exact and known before anything runs.
 * Views (reshape, a slice of leading rows) take no storage when the device lets them alias, and a pointwise
 * op writes over an input that dies there.
 *
 * A fused region is one step: tiles of its first node are written while others are still to be read, so what
 * it reads and what it writes live from its first node to its last. What nobody outside reads lives in tiles
 * only. */
#include "region.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

static size_t round_up(size_t n) { return (n + (ALIGN - 1)) & ~(size_t)(ALIGN - 1); }

/* A view whose elements lie contiguously in its input: all reshapes; slices whose outer dimensions are 1. */
static bool view_offset(const asc_program *p, const asc_node *n, int64_t *first_elem) {
    if (n->op == NULL || n->op->fuse != ASC_FUSE_VIEW || n->n_in != 1) return false;
    const asc_node *in = &p->nodes[n->in[0]];
    if (in->dtype != n->dtype) return false;
    if (n->op->opcode == ASC_OPCODE_RESHAPE) {
        *first_elem = 0;
        return true;
    }
    if (n->op->opcode != ASC_OPCODE_SLICE) return false;
    int axis = (int)n->attrs.i[0];
    int64_t inner = 1;
    for (int i = 0; i < axis; i++) {
        if (in->shape.dims[i] != 1) return false;
    }
    for (int i = axis + 1; i < in->shape.rank; i++) inner *= in->shape.dims[i];
    *first_elem = n->attrs.i[1] * inner;
    return true;
}

typedef struct item {
    size_t bytes, offset;
    int32_t first, last; /* life: nodes [first, last] */
    int32_t node;
} item;

static int by_size(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Placed items are kept sorted by offset; the gap search walks those that live at the same time. */
static size_t place(item *items, size_t n_items, int32_t *order) {
    size_t total = 0, n_placed = 0;
    for (size_t k = 0; k < n_items; k++) {
        item *it = &items[k];
        size_t at = 0;
        for (size_t j = 0; j < n_placed; j++) {
            const item *o = &items[order[j]];
            if (o->last < it->first || it->last < o->first) continue;
            if (o->offset >= at + it->bytes) break;
            if (o->offset + o->bytes > at) at = o->offset + o->bytes;
        }
        it->offset = at;
        if (at + it->bytes > total) total = at + it->bytes;
        size_t pos = n_placed++;
        for (; pos > 0 && items[order[pos - 1]].offset > at; pos--) order[pos] = order[pos - 1];
        order[pos] = (int32_t)k;
    }
    return total;
}

/* What the planner knows of each node besides its slot. */
typedef struct step {
    int32_t begin, end; /* the region's nodes; the node itself outside */
    int32_t read_at;    /* of a root: the last node that reads it or a view of it */
    bool seen;          /* read outside its region, or an output */
} step;

static void find_steps(const asc_program *p, bool fused, step *steps) {
    for (size_t k = 0; k < p->n_nodes; k++) {
        asc_region r;
        const size_t last = fused ? asc_region_end(p, k) : k;
        const bool whole = last > k && asc_region_of(p, k, last, &r);
        for (size_t j = k; j <= last; j++)
            steps[j] = (step){.begin = (int32_t)(whole ? k : j), .end = (int32_t)(whole ? last : j)};
        k = last;
    }
}

/* Values that live in tiles. Roots before views: a view of a tile is in the tile. */
static void find_tiles(const asc_program *p, step *steps, asc_slot *slots) {
    for (size_t k = p->n_nodes; k-- > 0;) {
        const asc_node *n = &p->nodes[k];
        if (slots[k].place == ASC_PLACE_OUTPUT || asc_region_may_lead(n)) steps[k].seen = true;
        for (int i = 0; i < n->n_in; i++) {
            step *in = &steps[n->in[i]];
            if (in->begin != steps[k].begin || (slots[k].place == ASC_PLACE_ALIAS && steps[k].seen))
                in->seen = true;
        }
    }
    for (size_t k = 0; k < p->n_nodes; k++) {
        asc_slot *s = &slots[k];
        if (steps[k].begin == steps[k].end || steps[k].seen) continue;
        if (s->place == ASC_PLACE_ARENA ||
            (s->place == ASC_PLACE_ALIAS && slots[p->nodes[k].in[0]].place == ASC_PLACE_TILE))
            s->place = ASC_PLACE_TILE;
    }
}

static void find_slots(const asc_program *p, size_t (*storage_bytes)(asc_dtype, int64_t), bool alias,
                       step *steps, asc_slot *slots) {
    int32_t end = (int32_t)p->n_nodes;
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        int64_t first;
        asc_slot *s = &slots[k];
        *s = (asc_slot){.place = n->op == NULL ? ASC_PLACE_INPUT : ASC_PLACE_ARENA,
                        .root = (int32_t)k,
                        .last_use = (int32_t)k,
                        .bytes = storage_bytes(n->dtype, asc_shape_elems(&n->shape))};
        if (alias && view_offset(p, n, &first)) {
            const asc_slot *in = &slots[n->in[0]];
            s->place = ASC_PLACE_ALIAS;
            s->root = in->root;
            s->offset = (in->place == ASC_PLACE_ALIAS ? in->offset : 0) + storage_bytes(n->dtype, first);
        }
    }
    for (size_t i = 0; i < p->n_outputs; i++) {
        asc_slot *s = &slots[p->outputs[i]];
        if (s->place != ASC_PLACE_INPUT) { /* an output owns its storage: a view among them is copied */
            s->place = ASC_PLACE_OUTPUT;
            s->root = p->outputs[i];
            s->offset = 0;
        }
        s->last_use = end;
    }
    for (size_t k = 0; k < p->n_nodes; k++) { /* views of an output hang off their new root */
        asc_slot *s = &slots[k];
        if (s->place != ASC_PLACE_ALIAS) continue;
        const asc_node *n = &p->nodes[k];
        int64_t first = 0;
        const asc_slot *in = &slots[n->in[0]];
        (void)view_offset(p, n, &first);
        s->root = in->root;
        s->offset = (in->place == ASC_PLACE_ALIAS ? in->offset : 0) + storage_bytes(n->dtype, first);
    }
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        for (int i = 0; i < n->n_in; i++) {
            asc_slot *s = &slots[n->in[i]];
            step *read = &steps[slots[n->in[i]].root];
            if (s->last_use < steps[k].end) s->last_use = steps[k].end;
            if (read->read_at < (int32_t)k) read->read_at = (int32_t)k;
        }
    }
    for (size_t k = p->n_nodes; k-- > 0;) { /* a root lives as long as its views */
        asc_slot *s = &slots[k], *root = &slots[s->root];
        if (root->last_use < s->last_use) root->last_use = s->last_use;
    }
}

/* Whether the nodes of k's region read the storage of `root` at the very rows that k writes, if at all. */
static bool read_by_rows(const asc_program *p, const asc_slot *slots, const step *steps, int32_t root,
                         size_t k) {
    asc_region r;
    if (steps[k].begin == steps[k].end) return true;
    if (!asc_region_of(p, (size_t)steps[k].begin, (size_t)steps[k].end, &r)) return false;
    for (size_t j = r.first; j <= k; j++) {
        const asc_node *n = &p->nodes[j];
        for (int i = 0; i < n->n_in; i++) {
            const asc_slot *in = &slots[n->in[i]];
            if (in->root == root && n->in[i] < (int32_t)j &&
                (in->bytes != slots[root].bytes || asc_region_reads(p, n, i, r.rows) != ASC_READS_ROWS))
                return false;
        }
    }
    return true;
}

/* An input that node k may overwrite: same shape, so that each element is read where it is written; the only
 * value in its storage; read for the last time here; no constant, which later runs may want. -1 = none. */
static int overwritable(const asc_program *p, const asc_slot *slots, const step *steps, size_t k) {
    const asc_node *n = &p->nodes[k];
    for (int i = 0; i < n->n_in; i++) {
        const asc_node *in = &p->nodes[n->in[i]];
        const asc_slot *s = &slots[n->in[i]], *root = &slots[s->root];
        bool fits = root->place == ASC_PLACE_ARENA && !p->nodes[s->root].constant &&
                    root->last_use == steps[k].end && steps[s->root].read_at == (int32_t)k &&
                    s->bytes == root->bytes && slots[k].bytes == root->bytes && in->dtype == n->dtype &&
                    asc_shape_eq(&in->shape, &n->shape);
        for (int j = 0; j < n->n_in && fits; j++)
            fits = n->in[j] == n->in[i] || slots[n->in[j]].root != s->root;
        if (fits && read_by_rows(p, slots, steps, s->root, k)) return i;
    }
    return -1;
}

static void share_in_place(const asc_program *p, step *steps, asc_slot *slots) {
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        asc_slot *s = &slots[k];
        if (s->place == ASC_PLACE_ALIAS && slots[s->root].place == ASC_PLACE_INPLACE)
            s->root = slots[s->root].root;
        if (s->place != ASC_PLACE_ARENA || n->op == NULL || (n->op->flags & ASC_OP_INPLACE) == 0) continue;
        int i = overwritable(p, slots, steps, k);
        if (i < 0) continue;
        s->place = ASC_PLACE_INPLACE;
        s->root = slots[n->in[i]].root;
        slots[s->root].last_use = s->last_use;
        steps[s->root].read_at = steps[k].read_at;
    }
}

static asc_status make(asc_ctx *ctx, asc_program *p, size_t (*storage_bytes)(asc_dtype, int64_t), bool alias,
                       bool fused, asc_plan *out) {
    *out = (asc_plan){0};
    size_t n = p->n_nodes, n_items = 0, bytes;
    asc_slot *slots;
    if (!asc_mul_size(n + 1, sizeof *slots, &bytes) || (slots = asc_arena_alloc(&p->arena, bytes)) == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    step *steps = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *steps);
    item *items = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *items);
    int32_t *order = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *order);
    asc_status st = steps == NULL || items == NULL || order == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    if (st == ASC_OK) {
        find_steps(p, fused, steps);
        find_slots(p, storage_bytes, alias, steps, slots);
        if (fused) find_tiles(p, steps, slots);
        if (alias) share_in_place(p, steps, slots);
        for (size_t k = 0; k < n; k++) {
            if (slots[k].place == ASC_PLACE_OUTPUT) out->output_bytes += round_up(slots[k].bytes);
            if (slots[k].place != ASC_PLACE_ARENA) continue;
            items[n_items++] =
                (item){.bytes = round_up(slots[k].bytes + ALIGN), /* slack for over-reading kernels */
                       .first = steps[k].begin,
                       .last = slots[k].last_use,
                       .node = (int32_t)k};
        }
        qsort(items, n_items, sizeof *items, by_size);
        out->arena_bytes = place(items, n_items, order);
        for (size_t k = 0; k < n_items; k++) slots[items[k].node].offset = items[k].offset;
        out->slots = slots;
        out->cost = asc_program_cost(p);
    }
    asc_free(ctx, steps);
    asc_free(ctx, items);
    asc_free(ctx, order);
    return st;
}

asc_status asc_plan_make(asc_ctx *ctx, asc_program *p, size_t (*storage_bytes)(asc_dtype, int64_t),
                         bool alias, asc_plan *out) {
    return make(ctx, p, storage_bytes, alias, false, out);
}

asc_status asc_plan_make_fused(asc_ctx *ctx, asc_program *p, size_t (*storage_bytes)(asc_dtype, int64_t),
                               asc_plan *out) {
    return make(ctx, p, storage_bytes, true, true, out);
}
