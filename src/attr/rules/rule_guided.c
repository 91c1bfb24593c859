/* rule_guided.c - Guided Backprop: at each ReLU the gradient passes where both it and the ReLU's input are
 * positive (Springenberg, Dosovitskiy, Brox and Riedmiller 2014). All other ops keep their own derivative. */
#include "rule_parts.h"

static void relu(asc_vjp_args *a) {
    asc_tensor *g = a->g;
    a->g = asc_relu(a->ctx, g);
    asc_rule_own(a);
    a->g = g;
}

asc_status asc_rules_init_guided(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out) {
    asc_status st = asc_rules_init(ctx, o, "guided-backprop", out);
    out->grad.vjp[ASC_OPCODE_RELU] = relu;
    return st;
}
