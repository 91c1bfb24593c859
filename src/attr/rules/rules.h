/* rules.h - rule tables for modified backward passes: what a method makes, hands to its passes, and asks
 * afterwards. A rule sees a recorded op, not a layer object: functional and layer forms give the same
 * numbers, an op that is used twice has two records, and nothing is stored in a net. The formulas are in
 * docs/rules.md. */
#ifndef ASC_RULES_H
#define ASC_RULES_H

#include "ascribe/attribute.h"
#include "grad.h"

/* For an op that is not linear in what moves and has no rule. */
typedef enum asc_fallback {
    ASC_FALLBACK_REFUSE,   /* UNIMPLEMENTED, naming op and site */
    ASC_FALLBACK_GRADIENT, /* its own derivative; the sum is then not kept */
    ASC_FALLBACK_PATH /* paired tables: its mean derivative on the straight line between its two inputs */
} asc_fallback;
/* "gradient", "path", NULL = refuse; -1 = unknown. */
int asc_fallback_from_name(const char *name);

typedef struct asc_rule_options {
    asc_fallback fallback;
    size_t path_nodes; /* Gauss nodes of a local path; 0 = 16 */
    bool compat_captum;
    double epsilon;                 /* lrp: of the epsilon rule where no choice gives another; 0 = 1e-9 */
    const asc_rule_choice *choices; /* lrp; borrowed until deinit */
    size_t n_choices;
} asc_rule_options;

/* A fall-back that was used, once for each op and site. Texts are lent by the context. */
typedef struct asc_rule_use {
    const char *op, *label; /* label NULL = outside of any site */
} asc_rule_use;

/* Relevance at the last value of a site, added over all passes so far. */
typedef struct asc_rule_sum {
    const char *site; /* lent by the context */
    double relevance;
} asc_rule_sum;

/* One table and what its passes left behind. Must stay where it is between init and deinit. */
typedef struct asc_rules {
    asc_ctx *ctx;
    asc_rule_options o;
    asc_grad_rules grad; /* hand this to passes; grad.self is this record */
    bool f64;            /* the device computes in double: thresholds */
    asc_rule_use *used;
    size_t n_used, cap_used;
    asc_rule_sum *sums; /* lrp: in the order of the backward pass */
    size_t n_sums, cap_sums;
    void *observer; /* of whoever replaces grad.on_value */
    /* ---- inside ---- */
    uint64_t key[4];         /* grad.key: the name and the options */
    double *nodes, *weights; /* of local paths */
    struct asc_lrp_frame *frame;
    size_t n_frameless; /* passes on top of it whose own frame could not be made */
    asc_tensor **watched; /* relevance sums of passes that have not run yet; sum_of: their index in sums */
    size_t *sum_of;
    size_t n_watched, cap_watched, cap_sum_of;
} asc_rules;

/* Each fills out; asc_rules_deinit is called in any case. RESOURCE_EXHAUSTED; lrp: INVALID_ARGUMENT names a
 * choice that means nothing. */
/* Paired passes: multipliers by the rescale rule and the closed forms of docs/rules.md. */
ASC_MUST_USE asc_status asc_rules_init_deep_lift(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out);
/* Plain passes. Guided: only positive gradients pass a ReLU, where its input is positive; deconvolution: only
 * positive gradients pass, whatever its input. */
ASC_MUST_USE asc_status asc_rules_init_guided(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out);
ASC_MUST_USE asc_status asc_rules_init_deconvolution(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out);
/* Plain passes whose cotangents are relevances, starting with the explained value itself. */
ASC_MUST_USE asc_status asc_rules_init_lrp(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out);
void asc_rules_deinit(asc_rules *r);

/* Name of the rule a table applies to an op: for docs and `ascribe inspect`. kind: "deep-lift", "lrp". */
const char *asc_rule_name_of(const char *kind, const asc_op *op);

#endif
