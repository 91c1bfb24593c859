/* deep_lift_choices.c - rules where what is picked by integers differs between the two runs: the experts of a
 * mixture and the weights that a router gives them.
 *
 * What the same choice would have done keeps the rule of products. What is left, T, is the jump: it is given
 * to the values that the choice works on by the least multiplier that is complete, T (x - x0) / |x - x0|^2.
 * So contributions of a jump all have its sign and add up to it, however near the choices were to each other,
 * and where two choices only change places they cancel. The router's own weights get no part of a jump:
 * divided by what they changed, which may be next to nothing, it would be anything. */
#include "rule_parts.h"

enum { DATA = 0, STACK = 1, AT = 1, EXPERT = 2 };

/* jump (x - x0) / |x - x0|^2 over one axis; 0 where nothing moved. */
static asc_tensor *least(asc_ctx *ctx, asc_tensor *jump, asc_tensor *d, int axis) {
    asc_tensor *size = asc_sum(ctx, asc_square(ctx, d), 1, &axis, true);
    asc_tensor *none = asc_rule_is_zero(ctx, size);
    return asc_mul(ctx, d, asc_rule_ratio(ctx, jump, size, none, asc_rule_const(ctx, 0)));
}

/* y = x W, y0 = x0 V, where W and V may be matrices of different experts:
 * y - y0 = (x - x0) (W + V) / 2 + (x + x0) (W - V) / 2, of which the second is the jump. */
void asc_dl_experts(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const bool tw = a->attrs->i[0] != 0;
    if (!a->moving[EXPERT]) {
        asc_dl_product(a);
        return;
    }
    if (a->moving[STACK]) {
        asc_rule_fall_back(a);
        return;
    }
    if (!a->need[DATA]) return;
    asc_tensor *x = a->in[DATA], *x0 = a->in0[DATA], *w = a->in[STACK];
    asc_tensor *g = asc_expert_matmul(ctx, a->g, w, a->in[EXPERT], !tw),
               *g0 = asc_expert_matmul(ctx, a->g, w, a->in0[EXPERT], !tw);
    a->gin[DATA] = asc_rule_mean2(ctx, g, g0);
    if (!a->moving[DATA]) return;
    int last[] = {-1};
    asc_tensor *jump =
        asc_sum(ctx, asc_mul(ctx, asc_rule_mean2(ctx, x, x0), asc_sub(ctx, g, g0)), 1, last, true);
    a->gin[DATA] = asc_add(ctx, a->gin[DATA], least(ctx, jump, asc_sub(ctx, x, x0), x->shape.rank - 1));
}

static bool picks_largest(const asc_vjp_args *a) {
    const asc_tensor *at = a->in[AT];
    return at->op != NULL && at->op->opcode == ASC_OPCODE_TOP_K && at->in[0] == a->in[DATA];
}

/* The k largest of a row, in order: the same element keeps its derivative. Where another one is k-th, the
 * change is given to the row; sorted rows differ by no more than rows do, so multipliers stay within g. */
void asc_dl_take_along(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const int axis = (int)a->attrs->i[0];
    if (!a->moving[AT] || a->need[AT] || !picks_largest(a)) {
        asc_rule_indexed(a);
        return;
    }
    if (!a->need[DATA]) return;
    asc_tensor *at = asc_cast(ctx, a->in[AT], ASC_DTYPE_F32), *at0 = asc_cast(ctx, a->in0[AT], ASC_DTYPE_F32);
    asc_tensor *same = asc_equal(ctx, at, at0), *zero = asc_rule_const(ctx, 0), *own[ASC_MAX_IN];
    asc_rule_own_at(a, a->in, a->y, asc_where(ctx, same, a->g, zero), own);
    if (a->st != ASC_OK) return;
    asc_tensor *rise = asc_where(ctx, same, zero, asc_mul(ctx, a->g, asc_sub(ctx, a->y, a->y0)));
    asc_tensor *jump = asc_sum(ctx, rise, 1, &axis, true);
    a->gin[DATA] = asc_add(ctx, own[DATA], least(ctx, jump, asc_sub(ctx, a->in[DATA], a->in0[DATA]), axis));
}
