/* grad.h - derivatives of recorded ops. Gradients are more ops in the same graph, so they can be
 * differentiated again. A rule table replaces the VJP of chosen ops for one backward pass (DeepLift, LRP,
 * Guided Backprop): data, not state. */
#ifndef ASC_GRAD_H
#define ASC_GRAD_H

#include "op.h"

typedef void (*asc_vjp_fn)(asc_vjp_args *a);

/* What a pass walks over, lent to a table's begin(). */
typedef struct asc_grad_view {
    asc_tensor *const *nodes; /* [n], inputs before uses; the last one is y */
    const bool *useful;       /* [n]: lies between the xs and y */
    size_t n;
    asc_tensor *const *xs; /* derivatives stop at these */
    size_t n_xs;
} asc_grad_view;

/* Rules of one or more passes. All but vjp may be NULL. A rule for an op without gradient (ASC_OP_NO_GRAD) is
 * used as well; without one the walk stops there. */
typedef struct asc_grad_rules {
    const char *name;
    asc_vjp_fn vjp[ASC_N_OPS]; /* NULL = the op's own */
    void *self;                /* reaches rules as asc_vjp_args.self */
    bool both;          /* paired passes: the partner's values have cotangents, too (asc_vjp_args.g0, gin0) */
    bool seed_is_value; /* no seed given: cotangents start as y itself (relevance), not as ones */
    /* Around each pass, also those that a rule makes inside another pass; end() is called whenever begin()
     * was. */
    asc_status (*begin)(asc_ctx *ctx, void *self, const asc_grad_view *v);
    void (*end)(asc_ctx *ctx, void *self);
    /* Sees the complete cotangent of each value before its rule is asked. */
    asc_status (*on_value)(asc_ctx *ctx, void *self, asc_tensor *value, asc_tensor *cotangent);
    /* Values that the passes since the last call of after() want to know: whoever records a pass computes
     * them together with its results and calls after() before the scope ends; ran = false: they were not
     * computed. */
    size_t (*watched)(void *self, asc_tensor *const **out);
    asc_status (*after)(asc_ctx *ctx, void *self, bool ran);
    /* Bytes that decide what passes under these rules record; NULL = more than bytes do, and passes are not
     * kept for another run. */
    const void *key;
    size_t n_key;
} asc_grad_rules;

/* As asc_grad (ascribe/tensor.h), with rules (NULL = none). */
void asc_grad_with_rules(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *seed,
                         asc_tensor *const *xs, size_t n, asc_tensor **out_grads);
/* The same for rules that compare two runs of one net: y from xs, and y0 from xs0, the net's ops having been
 * recorded twice in the same order. Values that depend on the xs are paired with those that depend on the
 * xs0, in order of recording; a pair that differs in op, attributes or shape is an INTERNAL error that names
 * both. Cotangents are those of the first run. Examples are not coupled: each value only meets its own
 * partner. */
void asc_grad_paired(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *y0,
                     asc_tensor *seed, asc_tensor *const *xs, asc_tensor *const *xs0, size_t n,
                     asc_tensor **out_grads);
/* A rule: records the op's decomposition (on both runs of a paired pass) and applies the table inside it. */
void asc_vjp_decomposed_rules(asc_vjp_args *a);
/* vjp_many.c: many backward passes of one forward pass. y [1,..] was recorded from x [1,..] alone (and
 * constants); seeds [M,..] are cotangents of y; *out [M,..] is the gradient at x of each. What was computed
 * forwards is read by all of them, never computed again. False, with nothing recorded, when an op on the way
 * does more with the leading axis than carry it: then take them one by one. */
bool asc_grad_many(asc_ctx *ctx, asc_tensor *y, asc_tensor *seeds, asc_tensor *x, asc_tensor **out);
/* Forward mode: tangent of y for tangents txs of xs. */
asc_tensor *asc_jvp(asc_ctx *ctx, asc_tensor *y, asc_tensor *const *xs, asc_tensor *const *txs, size_t n);

/* pair.c: the partners of w's useful nodes (by index; NULL elsewhere). Marks and slots of w are those of its
 * own walk again afterwards. */
ASC_MUST_USE asc_status asc_grad_pair(asc_ctx *ctx, asc_walk *w, const bool *useful, asc_tensor *y0,
                                      asc_tensor *const *xs, asc_tensor *const *xs0, size_t n,
                                      asc_tensor **partner);
/* Sets useful[] for the nodes of w that depend on an x. */
void asc_grad_mark_useful(const asc_walk *w, asc_tensor *const *xs, size_t n_xs, bool *useful);
/* Gives w's nodes their marks and slots back after another walk has used them. */
void asc_grad_restore(asc_ctx *ctx, asc_walk *w);

#endif
