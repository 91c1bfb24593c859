/* lrp_parts.h - what the files of the relevance rules share. Cotangents are relevances here: what arrives at
 * a value is its share of the explained number, and a rule hands it on to the inputs. */
#ifndef ASC_LRP_PARTS_H
#define ASC_LRP_PARTS_H

#include "rule_parts.h"

typedef enum asc_lrp_rule {
    ASC_LRP_EPSILON,
    ASC_LRP_GAMMA,
    ASC_LRP_ALPHA_BETA,
    ASC_LRP_Z_PLUS,
    ASC_LRP_W_SQUARE,
    ASC_LRP_FLAT,
    ASC_LRP_Z_BOX,
    ASC_LRP_IDENTITY,
    ASC_N_LRP_RULES
} asc_lrp_rule;

/* A choice with its defaults filled in. */
typedef struct asc_lrp_choice {
    asc_lrp_rule rule;
    double a, b; /* epsilon; gamma; alpha and beta; low and high */
    bool no_bias;
} asc_lrp_choice;

/* What is known of a pass before it starts, by slot. */
typedef struct asc_lrp_frame {
    struct asc_lrp_frame *outer; /* the pass that this one is part of */
    size_t n;
    int *layer;          /* number of the layer (op with weights), from the input, from 1; 0 = none */
    asc_tensor **biased; /* the sum of this value and a constant, where that is its only use: its bias */
    bool *is_bias;       /* this value is such a sum */
    bool *routing;       /* weights of what a router chose: held fixed (lrp_experts.c) */
    bool counting;       /* this pass adds to the sums of sites */
    const char **seen;   /* labels met so far */
    size_t n_seen;
} asc_lrp_frame;

asc_status asc_lrp_begin(asc_ctx *ctx, void *self, const asc_grad_view *v);
void asc_lrp_end(asc_ctx *ctx, void *self);
/* Whether a value multiplies what moves by constants, so that a constant added to it is its bias. */
bool asc_lrp_is_layer(const asc_tensor *t);
/* The rule for a's op: the first choice that matches, else epsilon. */
asc_lrp_choice asc_lrp_choose(const asc_vjp_args *a);
/* INVALID_ARGUMENT naming the choice that means nothing. */
ASC_MUST_USE asc_status asc_lrp_check_choices(asc_ctx *ctx, const asc_rule_options *o);
const char *asc_lrp_rule_name(asc_lrp_rule r);

/* R / (z + eps sign z), sign 0 = +1. */
asc_tensor *asc_lrp_share(asc_ctx *ctx, asc_tensor *relevance, asc_tensor *z, double eps);
/* The epsilon rule with denominators z: x VJP(R / z). */
void asc_lrp_linear(asc_vjp_args *a, asc_tensor *z, double eps);

/* lrp_experts.c: whether a value is the weights of chosen experts, or made of nothing else that counts.
 * Values are asked about in the order of recording. */
bool asc_lrp_routes(const asc_lrp_frame *f, const asc_grad_view *v, const asc_tensor *t);
/* Rows of a table; where only the choice of rows moves, as that of experts, it is held fixed. */
void asc_lrp_gather(asc_vjp_args *a);
/* The input of a product that takes all of it because the other one is fixed; -1 = none. */
int asc_lrp_beside_routing(const asc_vjp_args *a);

void asc_lrp_layer(asc_vjp_args *a); /* matmul, convolution, matrices of experts: by the choice */
void asc_lrp_mul(asc_vjp_args *a);   /* elementwise products */
void asc_lrp_div(asc_vjp_args *a);
void asc_lrp_generic(asc_vjp_args *a); /* linear in what moves */
void asc_lrp_sum(asc_vjp_args *a);     /* add, sub, shift */
void asc_lrp_pass(asc_vjp_args *a);    /* elementwise, one input that counts: unchanged */
void asc_lrp_pick(asc_vjp_args *a);    /* maximum, minimum */
void asc_lrp_halves(asc_vjp_args *a);  /* bilinear in two inputs that move */
void asc_lrp_softmax(asc_vjp_args *a);
void asc_lrp_norm(asc_vjp_args *a);

#endif
