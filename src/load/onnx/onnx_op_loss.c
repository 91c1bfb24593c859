/* onnx_op_loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: -w[t] x[t] for the class t of each
 * place, summed, averaged by weight, or left as they are. */
#include "onnx_parts.h"

/* x [N,C,d..] as [N,d..,C]. */
static asc_tensor *classes_last(asc_onnx_call *c, asc_tensor *x) {
    return asc_onnx_move_axis(c, x, 1, asc_onnx_shape(c, 0).rank - 1);
}

static asc_status loss(asc_onnx_call *c, asc_tensor *logp) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), ts = asc_onnx_shape(c, 1);
    if (c->st != ASC_OK) return c->st;
    if (s.rank < 2 || ts.rank != s.rank - 1)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "scores of %d dimensions, classes of %d", s.rank,
                             ts.rank);
    asc_tensor *target = asc_onnx_t(c, 1), *zero = asc_onnx_const(c, 0), *weight = NULL;
    if (asc_onnx_attr_find(c, "ignore_index") != NULL) {
        double ignored = (double)asc_onnx_attr_int(c, "ignore_index", 0);
        asc_tensor *skip = asc_equal(ctx, target, asc_onnx_const(c, ignored));
        weight = asc_logical_not(ctx, skip);
        target = asc_where(ctx, skip, zero, target);
    }
    asc_tensor *index = asc_onnx_i32(c, target);
    if (asc_onnx_has(c, 2)) {
        asc_tensor *w = asc_gather(ctx, asc_onnx_t(c, 2), index);
        weight = weight == NULL ? w : asc_mul(ctx, w, weight);
    }
    asc_tensor *each = asc_neg(ctx, asc_take_last(ctx, classes_last(c, logp), index));
    if (weight != NULL) each = asc_mul(ctx, each, weight);
    int all[ASC_MAX_RANK], n = ts.rank;
    for (int i = 0; i < n; i++) all[i] = i;
    if (asc_onnx_attr_is(c, "reduction", "mean", "none")) return asc_onnx_set_like(c, 0, each);
    asc_tensor *sum = asc_sum(ctx, each, n, all, false);
    if (asc_onnx_attr_is(c, "reduction", "mean", "sum")) return asc_onnx_set_like(c, 0, sum);
    if (!asc_onnx_attr_is(c, "reduction", "mean", "mean"))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "reduction is neither none, sum nor mean");
    if (weight == NULL) return asc_onnx_set_like(c, 0, asc_mean(ctx, each, n, all, false));
    return asc_onnx_set_like(c, 0, asc_div(ctx, sum, asc_sum(ctx, weight, n, all, false)));
}

asc_status asc_onnx_NegativeLogLikelihoodLoss(asc_onnx_call *c) { return loss(c, asc_onnx_t(c, 0)); }

asc_status asc_onnx_SoftmaxCrossEntropyLoss(asc_onnx_call *c) {
    int rank = asc_onnx_shape(c, 0).rank;
    asc_tensor *x = asc_onnx_t(c, 0);
    if (rank < 2) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "scores of %d dimensions", rank);
    asc_tensor *logp = asc_onnx_move_axis(c, asc_log_softmax(c->ctx, classes_last(c, x)), rank - 1, 1);
    if (asc_onnx_wants(c, 1)) asc_onnx_set_like(c, 1, logp);
    return loss(c, logp);
}
