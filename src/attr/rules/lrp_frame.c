/* lrp_frame.c - looks over a pass before it starts: numbers the layers, finds which additions of constants
 * are biases, and matches choices to ops. */
#include <math.h>
#include <string.h>

#include "lrp_parts.h"
#include "view.h"

static const char *const names[ASC_N_LRP_RULES] = {"epsilon",  "gamma", "alpha-beta", "z-plus",
                                                   "w-square", "flat",  "z-box",      "identity"};

const char *asc_lrp_rule_name(asc_lrp_rule r) { return names[r]; }

static int rule_from_name(const char *name) {
    for (int i = 0; i < ASC_N_LRP_RULES; i++) {
        if (name != NULL && strcmp(name, names[i]) == 0) return i;
    }
    return -1;
}

static asc_status bad(asc_ctx *ctx, size_t i, const char *what) {
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "rule %zu: %s", i, what);
}

asc_status asc_lrp_check_choices(asc_ctx *ctx, const asc_rule_options *o) {
    for (size_t i = 0; i < o->n_choices; i++) {
        const asc_rule_choice *c = &o->choices[i];
        const int rule = rule_from_name(c->rule);
        if (rule < 0) {
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "rule %zu: '%.40s' is not a relevance rule", i,
                     c->rule != NULL ? c->rule : "(null)");
            return asc_hint(ctx, "epsilon, gamma, alpha-beta, z-plus, w-square, flat, z-box, identity");
        }
        if (c->op != NULL && asc_op_find(asc_view_of(c->op)) == NULL)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "rule %zu: there is no op '%.40s'", i, c->op);
        if (!isfinite(c->a) || !isfinite(c->b)) return bad(ctx, i, "its parameters must be finite");
        if (rule == ASC_LRP_EPSILON && c->a < 0) return bad(ctx, i, "epsilon must not be negative");
        if (rule == ASC_LRP_GAMMA && c->a < 0) return bad(ctx, i, "gamma must not be negative");
        if (rule == ASC_LRP_ALPHA_BETA && (c->a != 0 || c->b != 0) &&
            (c->b < 0 || fabs(c->a - c->b - 1) > 1e-9))
            return bad(ctx, i, "alpha - beta must be 1, beta at least 0");
        if (rule == ASC_LRP_Z_BOX && c->a >= c->b) return bad(ctx, i, "low must be less than high");
        if (c->first_layer < 0 || c->last_layer < 0 || (c->last_layer > 0 && c->last_layer < c->first_layer))
            return bad(ctx, i, "the range of layers is empty");
    }
    return ASC_OK;
}

/* '*' stands for any characters, '?' for one. */
static bool matches(const char *pattern, const char *text) {
    const char *star = NULL, *resume = NULL;
    while (*text != 0) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

static asc_lrp_choice complete(const asc_rules *r, const asc_rule_choice *c) {
    asc_lrp_choice out = {
        .rule = (asc_lrp_rule)rule_from_name(c->rule), .a = c->a, .b = c->b, .no_bias = c->no_bias};
    if (c->a != 0 || c->b != 0) return out;
    switch (out.rule) {
    case ASC_LRP_EPSILON:
        out.a = r->o.epsilon;
        break;
    case ASC_LRP_GAMMA:
        out.a = 0.25;
        break;
    case ASC_LRP_ALPHA_BETA:
        out.a = 1;
        break;
    default:
        break;
    }
    return out;
}

asc_lrp_choice asc_lrp_choose(const asc_vjp_args *a) {
    const asc_rules *r = asc_rules_of(a);
    const int layer = r->frame->layer[a->slot];
    const asc_tensor *sum =
        r->frame->biased[a->slot]; /* of a net in code, the site may be the biased value */
    const char *label = a->y->label != NULL || sum == NULL ? a->y->label : sum->label;
    if (label == NULL) label = "";
    for (size_t i = 0; i < r->o.n_choices; i++) {
        const asc_rule_choice *c = &r->o.choices[i];
        if (c->site != NULL && !matches(c->site, label)) continue;
        if (c->op != NULL && strcmp(c->op, a->y->op->name) != 0) continue;
        if (c->first_layer > 0 && (layer == 0 || layer < c->first_layer)) continue;
        if (c->last_layer > 0 && (layer == 0 || layer > c->last_layer)) continue;
        return complete(r, c);
    }
    return (asc_lrp_choice){.rule = ASC_LRP_EPSILON, .a = r->o.epsilon};
}

static bool moves(const asc_grad_view *v, const asc_tensor *t) {
    return (size_t)t->slot < v->n && v->nodes[t->slot] == t && v->useful[t->slot];
}

/* Which expert a row takes is held fixed. */
static bool chooses(const asc_tensor *t, int k) {
    return t->op->opcode == ASC_OPCODE_EXPERT_MATMUL && k == 2;
}

bool asc_lrp_is_layer(const asc_tensor *t) {
    if (t->op == NULL) return false;
    const asc_vjp_fn fn = asc_lrp_row(t->op).fn;
    return fn == asc_lrp_layer || fn == asc_lrp_mul || fn == asc_lrp_div;
}

/* The one input that moves; NULL = none or several. */
static asc_tensor *moving_of(const asc_grad_view *v, const asc_tensor *t) {
    asc_tensor *found = NULL;
    int n = 0;
    for (int k = 0; k < t->n_in; k++) {
        if (!moves(v, t->in[k]) || chooses(t, k)) continue;
        n++;
        found = t->in[k];
    }
    return n == 1 ? found : NULL;
}

static bool is_one_of(const asc_tensor *t, asc_tensor *const *xs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (xs[i] == t) return true;
    }
    return false;
}

/* Whether t adds a constant to a value that has no other use and multiplies by constants. For Captum's
 * numbers a value that is computed is none: a module's bias is a parameter, and sums of activations hand all
 * on, also where only one of them depends on the site that is explained. */
static bool adds_bias(const asc_rules *r, const asc_grad_view *v, const asc_tensor *t, const asc_tensor *from,
                      const int *uses) {
    const int op = t->op->opcode;
    for (int k = 0; k < t->n_in && r->o.compat_captum; k++)
        if (t->in[k] != from && t->in[k]->op != NULL) return false;
    if (op != ASC_OPCODE_ADD && op != ASC_OPCODE_SHIFT && (op != ASC_OPCODE_SUB || t->in[0] != from))
        return false;
    if (uses[from->slot] != 1 || !asc_lrp_is_layer(from) || moving_of(v, from) == NULL) return false;
    return asc_shape_eq(&from->shape, &t->shape) && !is_one_of(from, v->xs, v->n_xs);
}

static void look(const asc_rules *r, asc_lrp_frame *f, const asc_grad_view *v, const int *uses) {
    int layers = 0;
    for (size_t i = 0; i < v->n; i++) {
        asc_tensor *t = v->nodes[i];
        if (!v->useful[i] || t->op == NULL) continue;
        f->routing[i] = asc_lrp_routes(f, v, t);
        const asc_tensor *from = moving_of(v, t);
        if (from == NULL) continue;
        if (asc_lrp_row(t->op).fn == asc_lrp_layer) f->layer[i] = ++layers;
        if (!adds_bias(r, v, t, from, uses)) continue;
        f->biased[from->slot] = t;
        f->is_bias[i] = true;
    }
}

asc_status asc_lrp_begin(asc_ctx *ctx, void *self, const asc_grad_view *v) {
    asc_rules *r = self;
    asc_lrp_frame *f = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *f);
    if (f == NULL) {
        r->n_frameless++; /* its end must not end the pass around it */
        return ASC_RESOURCE_EXHAUSTED;
    }
    f->outer = r->frame;
    r->frame = f;
    f->n = v->n;
    f->counting = f->outer == NULL && r->n_watched == 0;
    f->layer = asc_calloc(ctx, ASC_MEM_PROGRAM, v->n, sizeof *f->layer);
    f->biased = asc_calloc(ctx, ASC_MEM_PROGRAM, v->n, sizeof(asc_tensor *));
    f->is_bias = asc_calloc(ctx, ASC_MEM_PROGRAM, v->n, sizeof *f->is_bias);
    f->routing = asc_calloc(ctx, ASC_MEM_PROGRAM, v->n, sizeof *f->routing);
    f->seen = asc_calloc(ctx, ASC_MEM_PROGRAM, v->n, sizeof(const char *));
    int *uses = asc_calloc(ctx, ASC_MEM_PROGRAM, v->n, sizeof *uses);
    if (f->layer == NULL || f->biased == NULL || f->is_bias == NULL || f->routing == NULL ||
        f->seen == NULL || uses == NULL) {
        asc_free(ctx, uses);
        return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < v->n; i++) {
        if (!v->useful[i]) continue;
        for (int k = 0; k < v->nodes[i]->n_in; k++) {
            if (moves(v, v->nodes[i]->in[k])) uses[v->nodes[i]->in[k]->slot]++;
        }
    }
    look(r, f, v, uses);
    asc_free(ctx, uses);
    return ASC_OK;
}

void asc_lrp_end(asc_ctx *ctx, void *self) {
    asc_rules *r = self;
    asc_lrp_frame *f = r->frame;
    if (r->n_frameless > 0) {
        r->n_frameless--;
        return;
    }
    if (f == NULL) return;
    r->frame = f->outer;
    asc_free(ctx, f->layer);
    asc_free(ctx, f->biased);
    asc_free(ctx, f->is_bias);
    asc_free(ctx, f->routing);
    asc_free(ctx, (void *)f->seen);
    asc_free(ctx, f);
}
