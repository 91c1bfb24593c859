/* rules.c - what all rule tables share: life, fall-backs, an op's own VJP used in other ways. */
#include "quadrature.h"
#include "rule_parts.h"
#include <string.h>

enum { DEFAULT_PATH_NODES = 16 };

int asc_fallback_from_name(const char *name) {
    if (name == NULL) return ASC_FALLBACK_REFUSE;
    if (strcmp(name, "gradient") == 0) return ASC_FALLBACK_GRADIENT;
    return strcmp(name, "path") == 0 ? ASC_FALLBACK_PATH : -1;
}

asc_status asc_rules_init(asc_ctx *ctx, const asc_rule_options *o, const char *name, asc_rules *out) {
    *out = (asc_rules){.ctx = ctx, .o = *o, .grad = {.name = name}};
    out->grad.self = out;
    out->f64 = strcmp(ctx->device_name, "reference") == 0;
    if (out->o.path_nodes == 0) out->o.path_nodes = DEFAULT_PATH_NODES;
    if (o->fallback == ASC_FALLBACK_REFUSE &&
        o->n_choices == 0) { /* a fall-back is noted while it is recorded */
        out->key[0] = (uint64_t)(uintptr_t)name;
        out->key[1] = o->compat_captum;
        memcpy(&out->key[2], &o->epsilon, sizeof o->epsilon);
        out->key[3] = out->o.path_nodes;
        out->grad.key = out->key;
        out->grad.n_key = sizeof out->key;
    }
    if (o->fallback != ASC_FALLBACK_PATH) return ASC_OK;
    const size_t n = out->o.path_nodes;
    out->nodes = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *out->nodes);
    out->weights = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *out->weights);
    if (out->nodes == NULL || out->weights == NULL) return ASC_RESOURCE_EXHAUSTED;
    return asc_rule_nodes(ctx, ASC_RULE_GAUSS_LEGENDRE, n, out->nodes, out->weights);
}

void asc_rules_deinit(asc_rules *r) {
    if (r->ctx == NULL) return;
    while (r->frame != NULL) r->grad.end(r->ctx, r);
    asc_free(r->ctx, r->used);
    asc_free(r->ctx, r->sums);
    asc_free(r->ctx, r->nodes);
    asc_free(r->ctx, r->weights);
    asc_free(r->ctx, r->watched);
    asc_free(r->ctx, r->sum_of);
    *r = (asc_rules){0};
}

asc_tensor *asc_rule_const(asc_ctx *ctx, double v) { return asc_full(ctx, ASC_SCALAR_SHAPE, v); }

asc_tensor *asc_rule_mean2(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return a == b ? a : asc_scale(ctx, asc_add(ctx, a, b), 0.5);
}

asc_tensor *asc_rule_is_zero(asc_ctx *ctx, asc_tensor *a) {
    return asc_equal(ctx, a, asc_rule_const(ctx, 0));
}

asc_tensor *asc_rule_ratio(asc_ctx *ctx, asc_tensor *num, asc_tensor *den, asc_tensor *flag,
                           asc_tensor *other) {
    asc_tensor *safe = asc_where(ctx, flag, asc_rule_const(ctx, 1), den);
    return asc_where(ctx, flag, other, asc_div(ctx, num, safe));
}

int asc_rule_n_moving(const asc_vjp_args *a) {
    int n = 0;
    for (int k = 0; k < a->n_in; k++) n += a->moving[k];
    return n;
}

void asc_rule_own(asc_vjp_args *a) {
    const asc_op *op = a->y->op;
    if (op->vjp != NULL) {
        op->vjp(a);
    } else if ((op->flags & ASC_OP_NO_GRAD) == 0) {
        a->st = ASC_FAIL(a->ctx, ASC_UNIMPLEMENTED, "%s has no gradient", op->name);
    }
}

void asc_rule_own_at(asc_vjp_args *a, asc_tensor *const *in, asc_tensor *y, asc_tensor *g, asc_tensor **gin) {
    asc_vjp_args c = *a;
    c.in = in;
    c.y = y;
    c.g = g;
    memset(c.gin, 0, sizeof c.gin);
    asc_rule_own(&c);
    a->st = c.st;
    for (int k = 0; k < a->n_in; k++) {
        if (!a->need[k]) continue;
        gin[k] = c.gin[k] != NULL ? c.gin[k] : asc_full(a->ctx, in[k]->shape, 0);
    }
}

void asc_rule_indexed(asc_vjp_args *a) {
    for (int k = 0; k < a->n_in; k++) {
        if (a->moving[k] && !a->need[k]) {
            asc_rule_fall_back(a);
            return;
        }
    }
    asc_rule_own(a);
}

static asc_status note_use(asc_rules *r, const asc_tensor *y) {
    for (size_t i = 0; i < r->n_used; i++) {
        if (strcmp(r->used[i].op, y->op->name) == 0 && r->used[i].label == y->label) return ASC_OK;
    }
    asc_status st =
        asc_grow(r->ctx, ASC_MEM_GENERAL, (void **)&r->used, &r->cap_used, r->n_used + 1, sizeof *r->used);
    if (st == ASC_OK) r->used[r->n_used++] = (asc_rule_use){.op = y->op->name, .label = y->label};
    return st;
}

static asc_status refuse(asc_vjp_args *a) {
    const char *label = a->y->label;
    ASC_FAIL(a->ctx, ASC_UNIMPLEMENTED, "%s has no rule for %s (at '%.80s')", a->rules->name, a->y->op->name,
             label != NULL ? label : "no site");
    asc_hint(a->ctx, a->y0 != NULL ? "fall back to gradient or path, and see the list of what did"
                                   : "fall back to gradient, and see the list of what did");
    return ASC_UNIMPLEMENTED;
}

/* sum_k w_k VJP of the op at in0 + a_k (in - in0): what moves the op's result from y0 to y, per input, to the
 * accuracy of the quadrature. */
static void local_path(asc_vjp_args *a, const asc_rules *r) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *at[ASC_MAX_IN], *gin[ASC_MAX_IN];
    for (size_t i = 0; i < r->o.path_nodes && a->st == ASC_OK; i++) {
        for (int k = 0; k < a->n_in; k++) {
            at[k] = a->in[k];
            if (a->need[k])
                at[k] = asc_add(ctx, asc_scale(ctx, a->in[k], r->nodes[i]),
                                asc_scale(ctx, a->in0[k], 1 - r->nodes[i]));
        }
        asc_tensor *y = asc_apply(ctx, a->y->op, a->attrs, at, a->n_in);
        asc_rule_own_at(a, at, y, asc_scale(ctx, a->g, r->weights[i]), gin);
        for (int k = 0; k < a->n_in; k++) {
            if (a->need[k]) a->gin[k] = i == 0 ? gin[k] : asc_add(ctx, a->gin[k], gin[k]);
        }
    }
}

void asc_rule_fall_back(asc_vjp_args *a) {
    asc_rules *r = asc_rules_of(a);
    if (r->o.fallback == ASC_FALLBACK_REFUSE) {
        a->st = refuse(a);
        return;
    }
    a->st = note_use(r, a->y);
    if (a->st != ASC_OK) return;
    if (r->o.fallback == ASC_FALLBACK_PATH && a->y0 != NULL && a->y->op->vjp != NULL) {
        local_path(a, r);
    } else {
        asc_rule_own(a);
    }
}

void asc_rule_general(asc_vjp_args *a) {
    const asc_op *op = a->y->op;
    int which = -1;
    for (int k = 0; k < a->n_in; k++) {
        if (a->moving[k]) which = which == -1 ? k : -2;
    }
    if (which >= 0 && which < 4 && a->need[which] &&
        (op->flags & (uint32_t)(ASC_OP_LINEAR_0 << which)) != 0) {
        asc_rule_own(a);
    } else if (op->decompose != NULL) {
        asc_vjp_decomposed_rules(a);
    } else {
        asc_rule_fall_back(a);
    }
}
