/* pass_checkpoint.c - computes values a second time instead of keeping them, when the plan's temporaries are
 * more than the bound (asc_pass_env.memory_bytes).
 *
 * The step at which most bytes are alive divides the program in two; in a gradient that is where the way
 * forwards ends. Values made before it and read behind it are what fills memory. Two ways to have fewer of
 * them are tried:
 * - cheap values (pointwise ops, norms) are made again from what is kept anyway;
 * - the first part is cut into segments where few bytes pass from one to the next (Chen et al. 2016,
 * "Training deep nets with sublinear memory cost"); of the first ones only what passes is kept, and each is
 * made again from that when it is first read. The first ones, since the last are read again at once. Every
 * combination is priced; the cheapest whose real plan fits is taken. A node is made at most twice, so the
 * work added is at most that of the first part. The copies do what the originals did to the same values: the
 * same bits. */
#include "passes.h"
#include "rewrite.h"
#include <stdlib.h>
#include <string.h>

enum {
    BYTE_COST = 10,  /* moving a byte takes as long as so many operations of a matrix product */
    CHEAP_COST = 80, /* per byte kept: pointwise ops and norms, no products */
    MOST_SEGMENTS = 64,
    MAX_CHOICES = 128
};

typedef struct value {
    bool stays;   /* always there: inputs, outputs, constants; custom ops are not run twice */
    bool late;    /* made before the middle, read behind it, perhaps through a view */
    bool keep;    /* under the choice in work */
    bool again;   /* needed a second time under the choice in work */
    bool need;    /* scratch of one demand */
    int32_t last; /* last reader before the middle */
    int32_t twin; /* the copy's index in the new program; -1 = none yet */
    int32_t to;   /* the node's own */
    size_t bytes; /* of storage */
    double cost;  /* of making it */
    double redo;  /* of making it from late values and those that stay */
} value;

typedef struct choice {
    int segments, redone; /* cut into so many, the first `redone` made again; 0 = none */
    bool cheap;
    double cost;
    size_t arena;
} choice;

typedef struct remat {
    asc_ctx *ctx;
    const asc_program *p;
    const asc_pass_env *env;
    size_t n, middle;
    value *v;
    double
        *live; /* [n + 1] bytes alive at each step; later: bytes that pass over each step before the middle */
    size_t late_bytes;
    choice choices[MAX_CHOICES];
    int n_choices;
} remat;

/* ---- plans ---- */

static asc_status copy_of(const asc_program *p, asc_program *out) {
    asc_status st = ASC_OK;
    for (size_t k = 0; k < p->n_nodes && st == ASC_OK; k++)
        if (asc_program_add(out, &p->nodes[k]) < 0) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < p->n_outputs && st == ASC_OK; i++) st = asc_program_output(out, p->outputs[i]);
    return st;
}

static bool will_fuse(const asc_pass_env *env) {
    bool on = false;
    for (size_t i = 0; i < asc_n_passes; i++)
        on = on || (asc_passes[i] == &asc_pass_fuse && (env->off >> i & 1) == 0);
    return on && env->fuses && env->alias;
}

/* Bytes of temporaries as the executor will plan them. Changes p, a copy. */
static asc_status arena_of(const remat *r, asc_program *p, size_t *out) {
    asc_plan plan;
    size_t done = 0;
    asc_status st;
    if (will_fuse(r->env)) {
        st = asc_pass_fuse.run(r->ctx, p, r->env, &done);
        if (st == ASC_OK) st = asc_plan_make_fused(r->ctx, p, r->env->storage_bytes, &plan);
    } else {
        st = asc_plan_make(r->ctx, p, r->env->storage_bytes, r->env->alias, &plan);
    }
    *out = st == ASC_OK ? plan.arena_bytes : 0;
    return st;
}

/* ---- what is kept, and what that costs ---- */

static bool is_view(const remat *r, const asc_node *n) {
    return r->env->alias && asc_node_is(n, ASC_OPCODE_RESHAPE);
}

/* The first step at which most bytes are alive. */
static asc_status find_middle(remat *r) {
    asc_program p;
    asc_plan plan;
    asc_program_init(&p, r->ctx);
    asc_status st = copy_of(r->p, &p);
    if (st == ASC_OK) st = asc_plan_make(r->ctx, &p, r->env->storage_bytes, r->env->alias, &plan);
    for (size_t k = 0; k < r->n && st == ASC_OK; k++) {
        const asc_slot *s = &plan.slots[k];
        r->v[k].bytes = s->bytes;
        if (s->place != ASC_PLACE_ARENA) continue;
        r->live[k] += (double)s->bytes;
        r->live[s->last_use < (int32_t)r->n ? (size_t)s->last_use + 1 : r->n] -= (double)s->bytes;
    }
    double most = 0, now = 0;
    for (size_t k = 0; k < r->n && st == ASC_OK; k++) {
        now += r->live[k];
        if (now > most) {
            most = now;
            r->middle = k;
        }
    }
    asc_program_deinit(&p);
    return st;
}

static void find_costs(remat *r) {
    for (size_t k = 0; k < r->middle; k++) {
        const asc_node *n = &r->p->nodes[k];
        value *v = &r->v[k];
        asc_cost c = {0};
        asc_call call;
        v->last = (int32_t)k;
        v->stays = v->stays || n->op == NULL || n->constant || n->op->opcode == ASC_OPCODE_CUSTOM;
        if (is_view(r, n)) v->bytes = 0;
        if (n->op != NULL && !is_view(r, n)) {
            asc_node_call(r->p, n, &call);
            n->op->cost(&call, &c);
            v->cost = c.flops + BYTE_COST * (c.bytes_read + c.bytes_written);
        }
    }
}

static void find_late(remat *r) {
    const asc_node *nodes = r->p->nodes;
    for (size_t k = r->n; k-- > 0;) {
        bool view = k < r->middle && is_view(r, &nodes[k]);
        for (int i = 0; i < nodes[k].n_in; i++) {
            value *in = &r->v[nodes[k].in[i]];
            int32_t last = view ? r->v[k].last : (int32_t)k;
            if ((size_t)nodes[k].in[i] >= r->middle) continue;
            if (k >= r->middle || (view && r->v[k].late)) in->late = true;
            if (k < r->middle && in->last < last) in->last = last;
        }
    }
    for (size_t k = 0; k < r->middle; k++) {
        value *v = &r->v[k];
        v->redo = v->cost;
        for (int i = 0; i < nodes[k].n_in; i++) {
            const value *in = &r->v[nodes[k].in[i]];
            if (!in->stays && (!in->late || is_view(r, &nodes[nodes[k].in[i]]))) v->redo += in->redo;
        }
        if (v->late && !v->stays) r->late_bytes += v->bytes;
    }
}

/* live[t]: bytes that steps from t on (before the middle) read of what was made before t. */
static void find_widths(remat *r) {
    memset(r->live, 0, (r->n + 1) * sizeof *r->live);
    for (size_t k = 0; k < r->middle; k++) {
        const value *v = &r->v[k];
        if (v->stays || v->last <= (int32_t)k) continue;
        r->live[k + 1] += (double)v->bytes;
        r->live[v->last + 1] -= (double)v->bytes;
    }
    for (size_t t = 1; t <= r->middle; t++) r->live[t] += r->live[t - 1];
}

/* Where the i-th of `segments` segments ends: the narrowest step near its share of the late bytes. */
static size_t boundary(const remat *r, int segments, int i) {
    double share = (double)r->late_bytes / segments, from = (i - 0.5) * share, to = (i + 0.5) * share,
           seen = 0;
    size_t best = r->middle;
    double width = 0, off = 0;
    for (size_t t = 0; t < r->middle; t++) {
        double here = seen > i * share ? seen - i * share : i * share - seen;
        if (seen >= from && seen <= to && t > 0 &&
            (best == r->middle || r->live[t] < width || (!(r->live[t] > width) && here < off))) {
            best = t;
            width = r->live[t];
            off = here;
        }
        if (r->v[t].late && !r->v[t].stays) seen += (double)r->v[t].bytes;
    }
    return best;
}

/* Sets keep and again of every value for a choice, and the choice's cost. */
static void apply(remat *r, choice *c) {
    const asc_node *nodes = r->p->nodes;
    size_t end[MOST_SEGMENTS], until = 0;
    for (int i = 0; i < c->redone; i++) until = end[i] = boundary(r, c->segments, i + 1);
    for (size_t k = 0; k < r->middle; k++) {
        value *v = &r->v[k];
        bool passes = false;
        for (int i = 0; i < c->redone && !passes; i++) passes = k < end[i] && v->last >= (int32_t)end[i];
        v->keep = v->late && (k >= until || passes) &&
                  !(c->cheap && v->redo <= CHEAP_COST * (double)v->bytes && !passes);
        v->keep = (v->keep || passes) && !is_view(r, &nodes[k]);
        v->again = false;
        v->twin = -1;
    }
    for (size_t k = r->middle; k < r->n; k++)
        for (int i = 0; i < nodes[k].n_in; i++)
            if ((size_t)nodes[k].in[i] < r->middle) r->v[nodes[k].in[i]].again = true;
    c->cost = 0;
    for (size_t k = r->middle; k-- > 0;) {
        value *v = &r->v[k];
        v->again = v->again && !v->stays && !v->keep;
        if (!v->again) continue;
        c->cost += v->cost;
        for (int i = 0; i < nodes[k].n_in; i++) r->v[nodes[k].in[i]].again = true;
    }
}

/* ---- the new program ---- */

/* Copies what value k is made of, as far as it is not there, up to k itself. */
static bool make_again(remat *r, asc_program *out, int32_t k) {
    int32_t first = k;
    r->v[k].need = true;
    for (int32_t j = k; j >= first; j--) {
        const asc_node *n = &r->p->nodes[j];
        for (int i = 0; i < n->n_in && r->v[j].need; i++) {
            value *in = &r->v[n->in[i]];
            if (in->stays || in->keep || in->twin >= 0) continue;
            in->need = true;
            if (n->in[i] < first) first = n->in[i];
        }
    }
    for (int32_t j = first; j <= k; j++) {
        if (!r->v[j].need) continue;
        asc_node n = r->p->nodes[j];
        for (int i = 0; i < n.n_in; i++) {
            const value *in = &r->v[n.in[i]];
            n.in[i] = in->stays || in->keep ? in->to : in->twin;
        }
        r->v[j].need = false;
        r->v[j].twin = asc_program_add(out, &n);
        if (r->v[j].twin < 0) return false;
    }
    return true;
}

/* Writes the program of the choice last applied into out, which is empty. */
static asc_status write(remat *r, asc_program *out) {
    asc_status st = ASC_OK;
    for (size_t k = 0; k < r->n; k++) {
        asc_node n = r->p->nodes[k];
        for (int i = 0; i < n.n_in; i++) {
            value *in = &r->v[n.in[i]];
            bool again = k >= r->middle && (size_t)n.in[i] < r->middle && !in->stays && !in->keep;
            if (again && in->twin < 0 && !make_again(r, out, n.in[i])) return ASC_RESOURCE_EXHAUSTED;
            n.in[i] = again ? in->twin : in->to;
        }
        r->v[k].to = asc_program_add(out, &n);
        if (r->v[k].to < 0) return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < r->p->n_outputs && st == ASC_OK; i++)
        st = asc_program_output(out, r->v[r->p->outputs[i]].to);
    return st;
}

static asc_status price(remat *r, choice *c) {
    asc_program p;
    asc_program_init(&p, r->ctx);
    apply(r, c);
    asc_status st = write(r, &p);
    if (st == ASC_OK) st = arena_of(r, &p, &c->arena);
    asc_program_deinit(&p);
    return st;
}

/* ---- the choices ---- */

static void offer(remat *r, int segments, int redone, bool cheap) {
    if (r->n_choices == MAX_CHOICES) return;
    choice c = {.segments = segments, .redone = redone, .cheap = cheap};
    apply(r, &c);
    r->choices[r->n_choices++] = c;
}

static int by_cost(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->cost < y->cost || y->cost < x->cost) return x->cost < y->cost ? -1 : 1;
    return x->segments != y->segments ? x->segments - y->segments : x->redone - y->redone;
}

static void offer_all(remat *r) {
    static const int segments[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, MOST_SEGMENTS};
    offer(r, 0, 0, true);
    for (size_t s = 0; s < sizeof segments / sizeof segments[0]; s++) {
        int n = segments[s], before = 0;
        for (int part = 1; part <= 4; part++) {
            int redone = part * (n - 1) / 4; /* the last segment is read again at once */
            if (redone == before) continue;
            offer(r, n, redone, false);
            offer(r, n, redone, true);
            before = redone;
        }
    }
    qsort(r->choices, (size_t)r->n_choices, sizeof r->choices[0], by_cost);
}

/* The cheapest that fits, else the one with the smallest plan; -1 = none is smaller than `now` bytes. */
static asc_status choose(remat *r, size_t now, int *best) {
    *best = -1;
    size_t least = now;
    for (int i = 0; i < r->n_choices; i++) {
        asc_status st = price(r, &r->choices[i]);
        if (st != ASC_OK) return st;
        if (r->choices[i].arena >= least) continue;
        *best = i;
        least = r->choices[i].arena;
        if (least <= r->env->memory_bytes) return ASC_OK;
    }
    return ASC_OK;
}

static asc_status replace(remat *r, asc_program *p, choice *c, size_t *n_done) {
    asc_program out;
    asc_program_init(&out, r->ctx);
    apply(r, c);
    asc_status st = write(r, &out);
    if (st == ASC_OK) { /* the arena, with the labels, stays p's */
        *n_done = out.n_nodes - p->n_nodes;
        asc_node *nodes = p->nodes;
        int32_t *outputs = p->outputs;
        p->nodes = out.nodes;
        p->n_nodes = out.n_nodes;
        p->cap_nodes = out.cap_nodes;
        p->outputs = out.outputs;
        p->cap_outputs = out.cap_outputs;
        out.nodes = nodes;
        out.outputs = outputs;
    }
    asc_program_deinit(&out);
    return st;
}

static asc_status run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done) {
    remat *r = NULL;
    asc_program copy;
    size_t now = 0;
    int best = -1;
    asc_status st = ASC_OK;
    asc_program_init(&copy, ctx);
    if (env->memory_bytes == 0 || p->n_nodes == 0) goto done;
    r = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *r);
    if (r == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    *r = (remat){.ctx = ctx, .p = p, .env = env, .n = p->n_nodes};
    ASC_TRY(copy_of(p, &copy));
    ASC_TRY(arena_of(r, &copy, &now));
    if (now > env->memory_bytes) {
        r->v = asc_calloc(ctx, ASC_MEM_PROGRAM, r->n, sizeof *r->v);
        r->live = asc_calloc(ctx, ASC_MEM_PROGRAM, r->n + 1, sizeof *r->live);
        if (r->v == NULL || r->live == NULL) {
            st = ASC_RESOURCE_EXHAUSTED;
            goto done;
        }
        for (size_t i = 0; i < p->n_outputs; i++) r->v[p->outputs[i]].stays = true;
        ASC_TRY(find_middle(r));
        find_costs(r);
        find_late(r);
        find_widths(r);
        offer_all(r);
        ASC_TRY(choose(r, now, &best));
        if (best >= 0) {
            now = r->choices[best].arena;
            ASC_TRY(replace(r, p, &r->choices[best], n_done));
        }
    }
    if (env->arena_bytes != NULL) *env->arena_bytes = now;
done:
    asc_program_deinit(&copy);
    if (r != NULL) {
        asc_free(ctx, r->v);
        asc_free(ctx, r->live);
    }
    asc_free(ctx, r);
    return st;
}

const asc_pass asc_pass_checkpoint = {
    .name = "checkpoint",
    .doc = "computes values again instead of keeping them, under a memory bound",
    .run = run};
