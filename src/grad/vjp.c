/* vjp.c - reverse mode: walks recorded ops from y back to xs and asks each op's VJP for more ops. See grad.h.
 */
#include "grad.h"
#include "ops.h"

/* One backward pass. Slots are those of the walk. */
typedef struct pass {
    asc_ctx *ctx;
    const asc_grad_rules *rules;
    asc_tensor *const *xs;
    size_t n_xs;
    asc_walk w;
    asc_tensor **g;       /* cotangents so far; NULL = zero */
    bool *useful;         /* depends on an x */
    asc_tensor **partner; /* paired passes: of each useful value */
    asc_tensor **g0; /* cotangents of partners, by the slots of their values; NULL = the table has none */
} pass;

static void add_to(asc_ctx *ctx, asc_tensor **g, asc_tensor *more) {
    if (more == NULL) return;
    *g = *g == NULL ? more : asc_add(ctx, *g, more);
}

/* What only rules read. */
static void tell_rule(const pass *p, size_t i, asc_vjp_args *a) {
    asc_tensor *t = p->w.nodes[i], *t0 = p->partner != NULL ? p->partner[i] : NULL;
    a->rules = p->rules;
    a->self = p->rules->self;
    a->slot = i;
    a->y0 = t0;
    a->ends = p->xs;
    a->n_ends = p->n_xs;
    if (p->g0 != NULL) a->g0 = p->g0[i] != NULL ? p->g0[i] : a->g;
    for (int k = 0; k < t->n_in; k++) {
        a->moving[k] = t->in[k]->mark == p->w.mark && p->useful[t->in[k]->slot];
        a->in0[k] = t0 != NULL && a->moving[k] ? t0->in[k] : t->in[k];
    }
}

/* gin0, where the pass keeps both: a rule that has not filled it means the same number for both runs, an op's
 * own VJP is asked again at the partner. */
static void for_partner(asc_vjp_fn own, asc_vjp_args *a) {
    asc_vjp_args c = *a;
    if (own != NULL) {
        c.y = a->y0;
        c.in = a->in0;
        c.g = a->g0;
        for (int k = 0; k < a->n_in; k++) c.gin[k] = NULL;
        own(&c);
        a->st = c.st;
    }
    for (int k = 0; k < a->n_in; k++) {
        if (own != NULL || a->gin0[k] == NULL) a->gin0[k] = c.gin[k];
    }
}

static asc_status one_step(pass *p, size_t i) {
    asc_ctx *ctx = p->ctx;
    asc_tensor *t = p->w.nodes[i];
    if (p->rules != NULL && p->rules->on_value != NULL) {
        asc_status st = p->rules->on_value(ctx, p->rules->self, t, p->g[i]);
        if (st != ASC_OK) return st;
    }
    for (size_t k = 0; k < p->n_xs; k++) {
        if (p->xs[k] == t) return ASC_OK; /* derivatives stop at xs: they are taken as independent */
    }
    if (t->op == NULL) return ASC_OK;
    asc_vjp_fn rule = p->rules != NULL ? p->rules->vjp[t->op->opcode] : NULL;
    if (rule == NULL && (t->op->flags & ASC_OP_NO_GRAD) != 0) return ASC_OK;
    asc_vjp_args a = {.ctx = ctx, .y = t, .g = p->g[i], .in = t->in, .attrs = &t->attrs, .n_in = t->n_in};
    bool any = rule != NULL;
    int slots[ASC_MAX_IN]; /* a VJP may cut or take gradients itself, which walks over these nodes again */
    for (int k = 0; k < t->n_in; k++) {
        slots[k] = t->in[k]->slot;
        a.need[k] =
            t->in[k]->mark == p->w.mark && p->useful[t->in[k]->slot] && t->in[k]->dtype == ASC_DTYPE_F32;
        any = any || a.need[k];
    }
    if (!any) return ASC_OK;
    if (rule != NULL || p->g0 != NULL) tell_rule(p, i, &a);
    asc_vjp_fn fn = rule != NULL ? rule : t->op->vjp;
    if (fn == NULL) return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s has no gradient", t->op->name);
    const char *label = asc_set_label(ctx, t->label);
    asc_precision level = asc_set_level(ctx, t->op->fuse == ASC_FUSE_GEMM ? t->level : ctx->precision);
    fn(&a);
    if (p->g0 != NULL) for_partner(rule == NULL ? fn : NULL, &a);
    asc_set_level(ctx, level);
    for (int k = 0; k < t->n_in; k++) { /* a sum belongs to the op whose share it adds */
        if (a.need[k]) add_to(ctx, &p->g[slots[k]], a.gin[k]);
        if (a.need[k] && p->g0 != NULL) add_to(ctx, &p->g0[slots[k]], a.gin0[k]);
    }
    asc_set_label(ctx, label);
    return a.st;
}

static asc_status walk_back(pass *p) {
    asc_status st = ASC_OK;
    const asc_grad_rules *r = p->rules;
    if (r != NULL && r->begin != NULL) {
        const asc_grad_view v = {
            .nodes = p->w.nodes, .useful = p->useful, .n = p->w.n, .xs = p->xs, .n_xs = p->n_xs};
        st = r->begin(p->ctx, r->self, &v);
    }
    for (size_t i = p->w.n; st == ASC_OK && i-- > 0;) {
        if (!p->useful[i] || p->g[i] == NULL) continue;
        st = one_step(p, i);
        asc_grad_restore(p->ctx, &p->w);
    }
    if (r != NULL && r->end != NULL) r->end(p->ctx, r->self);
    return st;
}

static asc_status check_ends(const asc_grad_rules *rules, asc_ctx *ctx, asc_tensor *y, asc_tensor *y0,
                             asc_tensor **seed) {
    const bool by_value = rules != NULL && rules->seed_is_value;
    if (*seed == NULL && asc_tensor_elems(y) != 1 && !by_value)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "gradient of a value with %lld elements needs a seed",
                        (long long)asc_tensor_elems(y));
    if (*seed == NULL) *seed = by_value ? y : asc_full(ctx, y->shape, 1.0);
    if (!asc_shape_eq(&(*seed)->shape, &y->shape))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "gradient: the seed has another shape than the value");
    if (y0 != NULL && !asc_shape_eq(&y0->shape, &y->shape))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "gradient: the value and its partner differ in shape");
    return ASC_OK;
}

static asc_tensor *first_poisoned(asc_tensor *y, asc_tensor *y0, asc_tensor *seed, asc_tensor *const *xs,
                                  asc_tensor *const *xs0, size_t n) {
    asc_tensor *ends[] = {y, seed, y0};
    for (int i = 0; i < 3; i++) {
        if (ends[i] != NULL && ends[i]->poison != ASC_OK) return ends[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->poison != ASC_OK) return xs[i];
        if (y0 != NULL && xs0[i]->poison != ASC_OK) return xs0[i];
    }
    return NULL;
}

static asc_status backward(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *y0,
                           asc_tensor *seed, asc_tensor *const *xs, asc_tensor *const *xs0, size_t n,
                           asc_tensor **out) {
    asc_status st = ASC_OK;
    pass p = {.ctx = ctx, .rules = rules, .xs = xs, .n_xs = n};
    uint64_t oldest = UINT64_MAX;
    asc_tensor *bad = first_poisoned(y, y0, seed, xs, xs0, n);
    if (bad != NULL) { /* the gradients stand for the same failure */
        for (size_t i = 0; i < n; i++) out[i] = bad;
        return ASC_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->id < oldest) oldest = xs[i]->id;
    }
    ASC_TRY(check_ends(rules, ctx, y, y0, &seed));
    ASC_TRY(asc_walk_ancestors(ctx, &y, 1, false, oldest, &p.w));
    p.useful = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof *p.useful);
    p.g = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof(asc_tensor *));
    if (y0 != NULL) p.partner = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof(asc_tensor *));
    const bool both = y0 != NULL && rules != NULL && rules->both;
    if (both) p.g0 = asc_calloc(ctx, ASC_MEM_PROGRAM, p.w.n, sizeof(asc_tensor *));
    if (p.useful == NULL || p.g == NULL || (y0 != NULL && p.partner == NULL) || (both && p.g0 == NULL)) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_grad_mark_useful(&p.w, xs, n, p.useful);
    if (y0 != NULL) ASC_TRY(asc_grad_pair(ctx, &p.w, p.useful, y0, xs, xs0, n, p.partner));
    p.g[p.w.n - 1] = seed; /* y has the largest id */
    if (both) p.g0[p.w.n - 1] = seed;
    ASC_TRY(walk_back(&p));
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->mark == p.w.mark) out[i] = p.g[xs[i]->slot];
    }
done:
    asc_walk_free(ctx, &p.w);
    asc_free(ctx, p.g);
    asc_free(ctx, p.g0);
    asc_free(ctx, p.useful);
    asc_free(ctx, p.partner);
    return st;
}

static void finish(asc_ctx *ctx, asc_status st, asc_tensor *const *xs, size_t n, asc_tensor **out) {
    for (size_t i = 0; i < n; i++) {
        if (st != ASC_OK) {
            out[i] = asc_graph_poison(asc_graph_of(ctx));
        } else if (out[i] == NULL) {
            out[i] = asc_full(ctx, xs[i]->shape, 0.0);
        }
    }
}

void asc_grad_with_rules(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *seed,
                         asc_tensor *const *xs, size_t n, asc_tensor **out_grads) {
    for (size_t i = 0; i < n; i++) out_grads[i] = NULL;
    finish(ctx, backward(ctx, rules, y, NULL, seed, xs, NULL, n, out_grads), xs, n, out_grads);
}

void asc_grad_paired(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *y0,
                     asc_tensor *seed, asc_tensor *const *xs, asc_tensor *const *xs0, size_t n,
                     asc_tensor **out_grads) {
    for (size_t i = 0; i < n; i++) out_grads[i] = NULL;
    finish(ctx, backward(ctx, rules, y, y0, seed, xs, xs0, n, out_grads), xs, n, out_grads);
}

void asc_grad(asc_ctx *ctx, asc_tensor *y, asc_tensor *seed, asc_tensor *const *xs, size_t n,
              asc_tensor **out_grads) {
    asc_grad_with_rules(ctx, NULL, y, seed, xs, n, out_grads);
}

/* Records the op's decomposition on `in`, with each wanted input shadowed by a no-op so that derivatives stop
 * there, also when inputs depend on each other. fresh receives the shadows (and the rest as it is). NULL =
 * something is poisoned. */
static asc_tensor *shadowed(asc_vjp_args *a, asc_tensor *const *in, asc_tensor **fresh) {
    bool whole = true; /* a decomposition reads shapes: real inputs only */
    for (int k = 0; k < a->n_in; k++) {
        fresh[k] = a->need[k] ? asc_reshape(a->ctx, in[k], in[k]->shape) : in[k];
        whole = whole && fresh[k]->poison == ASC_OK;
    }
    asc_tensor *y = whole ? a->y->op->decompose(a->ctx, a->attrs, fresh, a->n_in) : NULL;
    return y == NULL || y->poison != ASC_OK ? NULL : y;
}

static void decomposed(asc_vjp_args *a, const asc_grad_rules *rules, asc_tensor *y0_of_pair) {
    asc_tensor *xs[ASC_MAX_IN], *xs0[ASC_MAX_IN], *grads[ASC_MAX_IN], *fresh[ASC_MAX_IN], *fresh0[ASC_MAX_IN];
    int where[ASC_MAX_IN];
    size_t n = 0;
    const bool paired = y0_of_pair != NULL;
    asc_tensor *y = shadowed(a, a->in, fresh), *y0 = paired ? shadowed(a, a->in0, fresh0) : NULL;
    for (int k = 0; k < a->n_in; k++) {
        if (!a->need[k]) continue;
        xs[n] = fresh[k];
        if (paired) xs0[n] = fresh0[k];
        where[n++] = k;
    }
    if (y == NULL || (paired && y0 == NULL)) {
        for (size_t i = 0; i < n; i++) grads[i] = asc_graph_poison(asc_graph_of(a->ctx));
    } else if (paired) {
        asc_grad_paired(a->ctx, rules, y, y0, a->g, xs, xs0, n, grads);
    } else {
        asc_grad_with_rules(a->ctx, rules, y, a->g, xs, n, grads);
    }
    for (size_t i = 0; i < n; i++) a->gin[where[i]] = grads[i];
}

void asc_vjp_decomposed(asc_vjp_args *a) { decomposed(a, NULL, NULL); }

void asc_vjp_decomposed_rules(asc_vjp_args *a) { decomposed(a, a->rules, a->y0); }
