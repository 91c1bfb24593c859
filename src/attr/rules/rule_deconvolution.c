/* rule_deconvolution.c - Deconvolution: at each ReLU the positive part of the gradient passes, whatever the
 * ReLU's input was (Zeiler and Fergus 2014). All other ops keep their own derivative. */
#include "rule_parts.h"

static void relu(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_relu(a->ctx, a->g);
}

asc_status asc_rules_init_deconvolution(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out) {
    asc_status st = asc_rules_init(ctx, o, "deconvolution", out);
    out->grad.vjp[ASC_OPCODE_RELU] = relu;
    return st;
}
