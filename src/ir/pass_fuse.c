/* pass_fuse.c - finds nodes that can run together tile by tile (region.h), numbers their groups and moves
 * them next to each other.
 *
 * Nodes are looked at in order, and each joins the groups of what it reads as long as all members agree on
 * their rows. A matrix product takes what follows it one by one as its epilogue; where two products meet
 * (gate and up, the sum of two gradients), the later one does. A group is only made if it can run in one
 * piece: no way leads out of it and back into it, also not through other groups. Arithmetic and its order
 * stay those of the single nodes. */
#include "passes.h"
#include "region.h"
#include <string.h>

enum {
    NEAR = 128,          /* nodes: what is farther apart would keep values alive for too long */
    WIDEST = 1 << 14,    /* elements of a row: a few rows of several values must fit a cache */
    SMALL_PLANE = 512,   /* elements of a convolution's plane: parts of it are short strips, ... */
    FEW_STEPS = 3,       /* ... which cost more than they save when more steps than these go over them */
    FEW_ROWS = 8,        /* so few rows cannot be dealt to threads, ... */
    MANY_ELEMS = 1 << 12 /* ... which matters from here on */
};

typedef struct group {
    int32_t nodes[ASC_REGION_MAX_NODES]; /* by rising index */
    size_t n;                            /* 0 = merged into another one */
} group;

typedef struct fuser {
    asc_ctx *ctx;
    asc_program *p;
    int32_t *group_of; /* by node: 1 + its index in groups, 0 = none */
    group *groups;
    size_t n_groups, cap_groups;
    int32_t *seen; /* by node: generation of the last walk that met it */
    int32_t generation;
    int32_t *stack;
    size_t cap_stack;
} fuser;

static asc_status push(fuser *f, size_t *n, int32_t node) {
    asc_status st =
        asc_grow(f->ctx, ASC_MEM_PROGRAM, (void **)&f->stack, &f->cap_stack, *n + 1, sizeof *f->stack);
    if (st == ASC_OK) f->stack[(*n)++] = node;
    return st;
}

/* Members of node's group, or the node alone. */
static const int32_t *members(const fuser *f, const int32_t *node, size_t *n) {
    const int32_t g = f->group_of[*node];
    *n = g != 0 ? f->groups[g - 1].n : 1;
    return g != 0 ? f->groups[g - 1].nodes : node;
}

/* Pushes what the nodes of a unit read outside of it and this walk has not met. */
static asc_status push_inputs(fuser *f, const int32_t *nodes, size_t n_nodes, size_t *n) {
    asc_status st = ASC_OK;
    for (size_t k = 0; k < n_nodes; k++) {
        const asc_node *node = &f->p->nodes[nodes[k]];
        for (int i = 0; st == ASC_OK && i < node->n_in; i++) {
            const int32_t in = node->in[i], g = f->group_of[in];
            if (f->seen[in] != f->generation && (g == 0 || g != f->group_of[nodes[k]])) st = push(f, n, in);
        }
    }
    return st;
}

/* From which node on a way backwards may still come back into g: nodes before it, and the groups that hold
 * them, stand before g as a whole. */
static int32_t reach_of(const fuser *f, const group *g) {
    int32_t low = g->nodes[0];
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < f->n_groups; i++) {
            const group *o = &f->groups[i];
            if (o->n == 0 || o->nodes[0] >= low || o->nodes[o->n - 1] < low) continue;
            low = o->nodes[0];
            more = true;
        }
    }
    return low;
}

/* Whether a way leads from the group to a node outside and back into the group. */
static asc_status has_cycle(fuser *f, const group *g, bool *out) {
    const int32_t inside = ++f->generation, met = ++f->generation, low = reach_of(f, g);
    size_t n = 0, n_members;
    *out = false;
    for (size_t k = 0; k < g->n; k++) f->seen[g->nodes[k]] = inside;
    asc_status st = ASC_OK;
    for (size_t k = 0; st == ASC_OK && k < g->n; k++) {
        const asc_node *node = &f->p->nodes[g->nodes[k]];
        for (int i = 0; st == ASC_OK && i < node->n_in; i++) {
            if (f->seen[node->in[i]] != inside) st = push(f, &n, node->in[i]);
        }
    }
    while (st == ASC_OK && n > 0) {
        const int32_t at = f->stack[--n];
        if (f->seen[at] == inside) {
            *out = true;
            return ASC_OK;
        }
        if (f->seen[at] == met) continue;
        const int32_t *unit = members(f, &at, &n_members);
        for (size_t k = 0; k < n_members; k++) f->seen[unit[k]] = met;
        if (unit[n_members - 1] < low) continue;
        st = push_inputs(f, unit, n_members, &n);
    }
    return st;
}

/* a and b by rising index; false when they are too many. */
static bool unite(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b, group *out) {
    size_t i = 0, j = 0;
    out->n = 0;
    if (n_a + n_b > ASC_REGION_MAX_NODES) return false;
    while (i < n_a || j < n_b) out->nodes[out->n++] = j == n_b || (i < n_a && a[i] < b[j]) ? a[i++] : b[j++];
    return true;
}

/* Gates spend their time on arithmetic, not on memory: as an epilogue, in many short strips, they only get
 * slower (docs/SPEED.md, "Fused regions"). */
static bool is_arithmetic(const asc_node *n) {
    return n->op->opcode == ASC_OPCODE_SWIGLU || n->op->opcode == ASC_OPCODE_SWIGLU_GRAD;
}

static bool worth_it(const fuser *f, const group *g) {
    asc_region r;
    if (!asc_region_of_nodes(f->p, g->nodes, g->n, &r)) return false;
    for (size_t k = 0; k < g->n; k++) {
        const asc_node *n = &f->p->nodes[g->nodes[k]];
        if (r.product && is_arithmetic(n)) return false;
        if (r.product) continue;
        for (int i = -1; i < n->n_in; i++) {
            const int64_t elems = asc_shape_elems(i < 0 ? &n->shape : &f->p->nodes[n->in[i]].shape);
            if (elems / r.rows > WIDEST || (elems > MANY_ELEMS && r.rows < FEW_ROWS)) return false;
        }
    }
    return true;
}

/* Puts node k into the group of its input v, with all of k's own group. */
static asc_status join(fuser *f, int32_t k, int32_t v) {
    size_t n_k, n_v;
    const int32_t *mine = members(f, &k, &n_k), *theirs = members(f, &v, &n_v);
    group g;
    bool cycle = false;
    if (f->group_of[v] != 0 && f->group_of[v] == f->group_of[k]) return ASC_OK;
    if (!unite(mine, n_k, theirs, n_v, &g) || g.nodes[g.n - 1] - g.nodes[0] > NEAR || !worth_it(f, &g))
        return ASC_OK;
    asc_status st = has_cycle(f, &g, &cycle);
    if (st != ASC_OK || cycle) return st;
    int32_t into = f->group_of[v] != 0 ? f->group_of[v] : f->group_of[k];
    if (into == 0) {
        st = asc_grow(f->ctx, ASC_MEM_PROGRAM, (void **)&f->groups, &f->cap_groups, f->n_groups + 1,
                      sizeof *f->groups);
        if (st != ASC_OK) return st;
        into = (int32_t)++f->n_groups;
    }
    if (f->group_of[k] != 0 && f->group_of[k] != into) f->groups[f->group_of[k] - 1].n = 0;
    f->groups[into - 1] = g;
    for (size_t i = 0; i < g.n; i++) f->group_of[g.nodes[i]] = into;
    return ASC_OK;
}

/* A value that k might join: made by an op that can be in a region or lead one; a view alone starts nothing.
 */
static bool joinable(const fuser *f, int32_t v) {
    const asc_node *n = &f->p->nodes[v];
    if (n->op == NULL || n->constant) return false;
    if (f->group_of[v] != 0) return true;
    return asc_region_may_lead(n) || (asc_region_may_hold(n) && n->op->opcode != ASC_OPCODE_RESHAPE);
}

static bool is_led(const fuser *f, int32_t v) {
    size_t n;
    return asc_region_may_lead(&f->p->nodes[*members(f, &v, &n)]);
}

/* Products first, then later values first. */
static asc_status join_inputs(fuser *f, int32_t k) {
    const asc_node *n = &f->p->nodes[k];
    bool tried[ASC_MAX_IN] = {false};
    if (!asc_region_may_hold(n) || n->constant) return ASC_OK;
    for (int turn = 0; turn < n->n_in; turn++) {
        int best = -1;
        for (int i = 0; i < n->n_in; i++) {
            if (tried[i] || !joinable(f, n->in[i])) continue;
            const bool led = is_led(f, n->in[i]), best_led = best >= 0 && is_led(f, n->in[best]);
            if (best < 0 || (led && !best_led) || (led == best_led && n->in[i] > n->in[best])) best = i;
        }
        if (best < 0) break;
        tried[best] = true;
        asc_status st = join(f, k, n->in[best]);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

/* A long chain behind a convolution with small planes is faster as a region of its own. It is let go only
 * here, since half of it as an epilogue would be slower than either. */
static void let_go(fuser *f, group *g) {
    const asc_node *lead = &f->p->nodes[g->nodes[0]];
    if (lead->op->opcode != ASC_OPCODE_CONV || g->n - 1 <= FEW_STEPS) return;
    const asc_shape *s = &lead->shape;
    asc_region r;
    if (asc_shape_elems(s) / (s->dims[0] * s->dims[1]) >= SMALL_PLANE) return;
    f->group_of[g->nodes[0]] = 0;
    memmove(&g->nodes[0], &g->nodes[1], --g->n * sizeof g->nodes[0]);
    if (asc_region_of_nodes(f->p, g->nodes, g->n, &r)) return;
    for (size_t k = 0; k < g->n; k++) f->group_of[g->nodes[k]] = 0;
    g->n = 0;
}

/* Drops views that nobody in their group reads, and groups of fewer than two nodes that compute. */
static void trim(fuser *f, group *g) {
    size_t computing = 0;
    for (size_t k = g->n; k-- > 0;) {
        const int32_t node = g->nodes[k];
        bool read = f->p->nodes[node].op->opcode != ASC_OPCODE_RESHAPE;
        for (size_t j = k + 1; j < g->n && !read; j++) read = f->p->nodes[g->nodes[j]].in[0] == node;
        for (size_t j = k + 1; j < g->n && !read; j++) {
            const asc_node *user = &f->p->nodes[g->nodes[j]];
            for (int i = 1; i < user->n_in; i++) read = read || user->in[i] == node;
        }
        if (read) continue;
        f->group_of[node] = 0;
        memmove(&g->nodes[k], &g->nodes[k + 1], (g->n - k - 1) * sizeof g->nodes[0]);
        g->n--;
    }
    for (size_t k = 0; k < g->n; k++) computing += f->p->nodes[g->nodes[k]].op->opcode != ASC_OPCODE_RESHAPE;
    if (computing >= 2) return;
    for (size_t k = 0; k < g->n; k++) f->group_of[g->nodes[k]] = 0;
    g->n = 0;
}

/* Puts nodes into `order` such that groups stand together: each at its last member's place, or earlier when
 * someone needs it. Inputs go first, in their order; nothing else moves more than that asks for. */
static asc_status arrange(fuser *f, int32_t *order) {
    size_t n = 0, done = 0, n_members;
    asc_status st = ASC_OK;
    const int32_t placed = ++f->generation;
    for (size_t k = 0; k < f->p->n_nodes; k++) {
        if (f->p->nodes[k].op != NULL) continue;
        f->seen[k] = placed;
        order[done++] = (int32_t)k;
    }
    for (size_t k = 0; st == ASC_OK && k < f->p->n_nodes; k++) {
        const int32_t self = (int32_t)k;
        const int32_t *unit = members(f, &self, &n_members);
        if (unit[n_members - 1] != self || f->seen[k] == placed) continue;
        st = push(f, &n, self);
        while (st == ASC_OK && n > 0) { /* inputs first */
            const int32_t top = f->stack[n - 1];
            const size_t before = n;
            unit = members(f, &top, &n_members);
            if (f->seen[top] != placed) st = push_inputs(f, unit, n_members, &n);
            if (n > (ASC_MAX_IN + 1) * (f->p->n_nodes + 1)) /* more than there are ways: a circle of groups */
                return ASC_FAIL(f->ctx, ASC_INTERNAL, "node %%%d waits for itself", top);
            if (st != ASC_OK || n > before) continue;
            n--;
            if (f->seen[top] == placed) continue;
            for (size_t i = 0; i < n_members; i++) {
                f->seen[unit[i]] = placed;
                order[done++] = unit[i];
            }
        }
    }
    return st;
}

/* Writes the nodes in the new order, groups numbered from 1. */
static asc_status rewrite(fuser *f, const int32_t *order, size_t *n_done) {
    asc_program *p = f->p;
    const size_t n = p->n_nodes;
    asc_node *old = asc_calloc(f->ctx, ASC_MEM_PROGRAM, n + 1, sizeof *old);
    int32_t *to = f->seen, groups = 0, last = 0;
    if (old == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(old, p->nodes, n * sizeof *old);
    for (size_t k = 0; k < n; k++) to[order[k]] = (int32_t)k;
    for (size_t k = 0; k < n; k++) {
        asc_node *node = &p->nodes[k];
        const int32_t g = f->group_of[order[k]];
        *node = old[order[k]];
        for (int i = 0; i < node->n_in; i++) node->in[i] = to[node->in[i]];
        if (g != 0 && g != last) groups++;
        node->group = g != 0 ? groups : 0;
        *n_done += g != 0 ? 1 : 0;
        last = g;
    }
    for (size_t i = 0; i < p->n_outputs; i++) p->outputs[i] = to[p->outputs[i]];
    asc_free(f->ctx, old);
    return ASC_OK;
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    fuser f = {.ctx = ctx, .p = p};
    int32_t *order = NULL;
    bool any = false;
    asc_status st = ASC_OK;
    if (!env->fuses) return ASC_OK;
    f.group_of = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *f.group_of);
    f.seen = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *f.seen);
    order = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *order);
    if (f.group_of == NULL || f.seen == NULL || order == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t k = 0; k < p->n_nodes; k++) {
        if (p->nodes[k].group != 0) goto done; /* was here before */
        ASC_TRY(join_inputs(&f, (int32_t)k));
    }
    for (size_t g = 0; g < f.n_groups; g++) {
        if (f.groups[g].n > 0) let_go(&f, &f.groups[g]);
        if (f.groups[g].n > 0) trim(&f, &f.groups[g]);
        any = any || f.groups[g].n > 0;
    }
    if (!any) goto done;
    ASC_TRY(arrange(&f, order));
    ASC_TRY(rewrite(&f, order, n_done));
done:
    asc_free(ctx, f.group_of);
    asc_free(ctx, f.seen);
    asc_free(ctx, f.stack);
    asc_free(ctx, f.groups);
    asc_free(ctx, order);
    return st;
}

const asc_pass asc_pass_fuse = {
    .name = "fuse", .doc = "groups nodes that can run together tile by tile", .run = run};
