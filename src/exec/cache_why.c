/* cache_why.c - says why a program was not in the cache: its first difference to the entry nearest to it.
 * Nearest is the newest entry with the same ops in the same order; without one, the one with the longest run
 * of equal ops from the start. */
#include "cache.h"
#include "disk.h"
#include "plain.h"
#include <stdio.h>
#include <string.h>

static size_t n_nodes(const uint64_t *key) { return (size_t)(uint32_t)key[2]; }

/* How near two keys are: nodes from the start with equal ops, then with everything equal. */
typedef struct nearness {
    size_t ops, nodes;
} nearness;

static nearness near_to(const uint64_t *a, const uint64_t *b) {
    size_t n = n_nodes(a) < n_nodes(b) ? n_nodes(a) : n_nodes(b), i = 0;
    nearness out = {0};
    asc_key_node x, y;
    bool equal = true;
    a += ASC_KEY_HEAD;
    b += ASC_KEY_HEAD;
    for (; i < n; i++) {
        const uint64_t *from = a, *other = b;
        a = asc_key_read(a, &x);
        b = asc_key_read(b, &y);
        if (x.opcode != y.opcode) break;
        equal = equal && a - from == b - other && memcmp(from, other, (size_t)(a - from) * sizeof *a) == 0;
        out.nodes += equal;
    }
    out.ops = i;
    return out;
}

bool asc_key_nearer(const uint64_t *key, const uint64_t *a, const uint64_t *b) {
    const nearness x = near_to(key, a), y = near_to(key, b);
    return x.ops > y.ops || (x.ops == y.ops && x.nodes > y.nodes);
}

static const asc_cache_entry *nearest(const asc_cache *c, const uint64_t *key) {
    /* Where nothing is found again and again, looking for the reason must not be the work. */
    enum { LOOK_AT = 32, LOOK_LATER = 2, MANY = 64 };
    const size_t look = c->n_why < MANY ? LOOK_AT : LOOK_LATER;
    const asc_cache_entry *best = NULL;
    uint64_t ops = asc_key_ops_hash(key);
    nearness most = {0};
    size_t seen = 0;
    for (const asc_cache_entry *e = c->newest; e != NULL && seen < look; e = e->older, seen++) {
        nearness n = near_to(key, e->key);
        if (e->ops_hash == ops) n.ops = SIZE_MAX; /* as far as its end as well */
        if (best != NULL && (n.ops < most.ops || (n.ops == most.ops && n.nodes <= most.nodes))) continue;
        best = e;
        most = n;
    }
    return best;
}

static const char *op_name(int opcode) { return opcode < 0 ? "input" : asc_ops[opcode]->name; }

static const char *attr_name(int opcode, asc_attr_kind a, asc_attr_kind b, int slot) {
    const asc_op *op = asc_ops[opcode];
    const char *best = "attribute";
    for (int i = 0; i < op->n_attrs; i++) { /* lists take the slots behind theirs */
        bool is_float = op->attrs[i].kind == ASC_ATTR_FLOAT || op->attrs[i].kind == ASC_ATTR_SCALAR;
        if (is_float == (a == ASC_ATTR_FLOAT && b == ASC_ATTR_FLOAT) && op->attrs[i].slot <= slot)
            best = op->attrs[i].name;
    }
    return best;
}

/* The first difference of two nodes; false = none. */
static bool differ(const asc_key_node *x, const asc_key_node *y, char *out, size_t room) {
    char a[128], b[128];
    if (x->opcode != y->opcode) {
        snprintf(out, room, "%s here, %s in the nearest entry", op_name(x->opcode), op_name(y->opcode));
        return true;
    }
    if (x->dtype != y->dtype) {
        snprintf(out, room, "type %s here, %s in the nearest entry", asc_dtype_of(x->dtype)->name,
                 asc_dtype_of(y->dtype)->name);
        return true;
    }
    if (!asc_shape_eq(&x->shape, &y->shape)) {
        snprintf(out, room, "shape %s here, %s in the nearest entry", asc_shape_text(&x->shape, a),
                 asc_shape_text(&y->shape, b));
        return true;
    }
    for (int k = 0; k < ASC_MAX_IN; k++) {
        if (x->n_in == y->n_in && x->in[k] == y->in[k]) continue;
        snprintf(out, room, "input %d is node %d of %d here, node %d of %d in the nearest entry", k, x->in[k],
                 x->n_in, y->in[k], y->n_in);
        return true;
    }
    if (x->level != y->level) {
        snprintf(out, room, "precision %s here, %s in the nearest entry", asc_precision_name(x->level),
                 asc_precision_name(y->level));
        return true;
    }
    if (x->many_rows != y->many_rows) {
        snprintf(out, room, "kernels for many rows %s, not in the nearest entry",
                 x->many_rows ? "here" : "in general");
        return true;
    }
    for (int k = 0; k < ASC_N_IATTR; k++) {
        if (x->i[k] == y->i[k]) continue;
        snprintf(out, room, "%s %lld here, %lld in the nearest entry",
                 attr_name(x->opcode, ASC_ATTR_INT, ASC_ATTR_INT, k), (long long)x->i[k], (long long)y->i[k]);
        return true;
    }
    for (int k = 0; k < ASC_N_FATTR; k++) {
        if (memcmp(&x->f[k], &y->f[k], sizeof x->f[k]) == 0) continue;
        asc_snprintf(out, room, "%s %.17g here, %.17g in the nearest entry",
                     attr_name(x->opcode, ASC_ATTR_FLOAT, ASC_ATTR_FLOAT, k), x->f[k], y->f[k]);
        return true;
    }
    return false;
}

static void compare(const uint64_t *key, const uint64_t *other, asc_tensor *const *nodes, char *out,
                    size_t room) {
    const uint64_t *a = key + ASC_KEY_HEAD, *b = other + ASC_KEY_HEAD;
    size_t n = n_nodes(key), m = n_nodes(other);
    char what[320];
    for (size_t i = 0; i < n && i < m; i++) {
        asc_key_node x, y;
        a = asc_key_read(a, &x);
        b = asc_key_read(b, &y);
        if (!differ(&x, &y, what, sizeof what)) continue;
        const char *label = nodes[i]->label;
        snprintf(out, room, "node %zu %s: %s%s%.60s", i, op_name(x.opcode), what,
                 label != NULL ? "; label " : "", label != NULL ? label : "");
        return;
    }
    if (n != m) {
        snprintf(out, room, "%zu nodes here, %zu in the nearest entry, equal as far as the shorter goes", n,
                 m);
    } else if (memcmp(key, other, 2 * sizeof *key) != 0) {
        snprintf(out, room, "other passes, device, instruction set or threads");
    } else {
        snprintf(out, room,
                 "the same %zu nodes with %zu outputs here, %zu in the nearest entry, or others of them", n,
                 (size_t)(key[2] >> 32), (size_t)(other[2] >> 32));
    }
}

void asc_cache_explain(asc_ctx *ctx, const uint64_t *key, asc_tensor *const *nodes) {
    asc_cache *c = &asc_runtime_of(ctx)->cache;
    char *out = c->why[c->n_why++ % ASC_CACHE_WHYS];
    const asc_cache_entry *e = nearest(c, key);
    uint64_t *stored = e == NULL ? asc_disk_nearest(ctx, key) : NULL;
    if (e == NULL && stored == NULL) {
        snprintf(out, sizeof c->why[0], "first program of this context: %zu nodes", n_nodes(key));
    } else {
        compare(key, e != NULL ? e->key : stored, nodes, out, sizeof c->why[0]);
    }
    asc_free(ctx, stored);
}

const char *asc_exec_cache_why(const asc_ctx *ctx, size_t i) {
    const asc_cache *c = &asc_runtime_of(ctx)->cache;
    if (i >= c->n_why || i >= ASC_CACHE_WHYS) return NULL;
    return c->why[(c->n_why - 1 - i) % ASC_CACHE_WHYS];
}
