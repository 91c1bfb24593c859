/* onnx_op_recurrent.c - LSTM, GRU and RNN as visible loops over cells.
 *
 * Legend: T steps, B batch, I input width, H hidden width, D directions. The products of all inputs with W
 * are one matmul [T,B,GH]; each step adds the product of the last state with R. Formulas: the operators'
 * definitions (opset 14). */
#include "onnx_recurrent.h"

static asc_tensor *full(asc_onnx_call *c, double x) { return asc_full(c->ctx, ASC_SCALAR_SHAPE, x); }

static asc_tensor *clipped(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor *x) {
    if (r->clip <= 0.0) return x;
    return asc_maximum(c->ctx, asc_minimum(c->ctx, x, full(c, r->clip)), full(c, -r->clip));
}

/* Activation k of this direction. */
static asc_tensor *activated(asc_onnx_call *c, const asc_onnx_rnn *r, int k, asc_tensor *x) {
    const asc_onnx_rnn_act *f = &r->act[r->dir * r->n_acts + k];
    asc_ctx *ctx = c->ctx;
    if (asc_view_eqs(f->name, "sigmoid")) return asc_sigmoid(ctx, x);
    if (asc_view_eqs(f->name, "tanh")) return asc_tanh(ctx, x);
    if (asc_view_eqs(f->name, "relu")) return asc_relu(ctx, x);
    if (asc_view_eqs(f->name, "affine")) return asc_shift(ctx, asc_scale(ctx, x, f->alpha), f->beta);
    if (asc_view_eqs(f->name, "scaledtanh"))
        return asc_scale(ctx, asc_tanh(ctx, asc_scale(ctx, x, f->beta)), f->alpha);
    if (asc_view_eqs(f->name, "leakyrelu"))
        return asc_sub(ctx, asc_relu(ctx, x), asc_scale(ctx, asc_relu(ctx, asc_neg(ctx, x)), f->alpha));
    if (asc_view_eqs(f->name, "hardsigmoid")) {
        asc_tensor *y = asc_shift(ctx, asc_scale(ctx, x, f->alpha), f->beta);
        return asc_minimum(ctx, asc_relu(ctx, y), full(c, 1.0));
    }
    if (asc_view_eqs(f->name, "elu")) return asc_elu(ctx, x, f->alpha);
    if (asc_view_eqs(f->name, "softsign")) return asc_softsign(ctx, x);
    if (asc_view_eqs(f->name, "softplus")) return asc_softplus(ctx, x);
    if (asc_view_eqs(f->name, "thresholdedrelu"))
        return asc_where(ctx, asc_less(ctx, full(c, f->alpha), x), x, full(c, 0.0));
    asc_onnx_fail(c, ASC_UNIMPLEMENTED, "activation '" ASC_VIEW_FMT "'",
                  ASC_VIEW_ARG(asc_view_cut(f->name, 60)));
    return x;
}

/* The same on the clipped argument. */
static asc_tensor *act(asc_onnx_call *c, const asc_onnx_rnn *r, int k, asc_tensor *x) {
    return activated(c, r, k, clipped(c, r, x));
}

/* Columns [k H, (k+1) H) of the last axis. */
static asc_tensor *gate(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor *t, int k) {
    return asc_slice(c->ctx, t, -1, k * r->hidden, r->hidden);
}

static void rnn_cell(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor *x, asc_onnx_rnn_state *s) {
    asc_tensor *rec = asc_matmul(c->ctx, s->h, r->w_rec, false, true);
    asc_tensor *a = asc_add(c->ctx, x, rec);
    if (r->bias_rec != NULL) a = asc_add(c->ctx, a, r->bias_rec);
    s->h = act(c, r, 0, a);
}

/* z, r, h: z = f(..), h' = g(..), H = (1 - z) h' + z H */
static void gru_cell(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor *x, asc_onnx_rnn_state *s) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *w_h = asc_slice(ctx, r->w_rec, 0, 2 * r->hidden, r->hidden);
    asc_tensor *b_h = r->bias_rec != NULL ? gate(c, r, r->bias_rec, 2) : NULL, *zr, *h;
    zr = asc_matmul(ctx, s->h, asc_slice(ctx, r->w_rec, 0, 0, 2 * r->hidden), false, true);
    zr = asc_add(ctx, asc_slice(ctx, x, -1, 0, 2 * r->hidden), zr);
    if (r->bias_rec != NULL) zr = asc_add(ctx, zr, asc_slice(ctx, r->bias_rec, -1, 0, 2 * r->hidden));
    asc_tensor *z = act(c, r, 0, gate(c, r, zr, 0)), *reset = act(c, r, 0, gate(c, r, zr, 1));
    if (r->linear_before_reset) {
        h = asc_matmul(ctx, s->h, w_h, false, true);
        if (b_h != NULL) h = asc_add(ctx, h, b_h);
        h = asc_mul(ctx, reset, h);
    } else {
        h = asc_matmul(ctx, asc_mul(ctx, reset, s->h), w_h, false, true);
        if (b_h != NULL) h = asc_add(ctx, h, b_h);
    }
    h = act(c, r, 1, asc_add(ctx, gate(c, r, x, 2), h));
    asc_tensor *keep = asc_shift(ctx, asc_neg(ctx, z), 1.0);
    s->h = asc_add(ctx, asc_mul(ctx, keep, h), asc_mul(ctx, z, s->h));
}

/* i, o, f, c: C = f C + i c', H = o h(C); P adds the cell to i and f before, to o after the update. Gates are
 * clipped, the cell is not, as in onnxruntime. */
static void lstm_cell(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor *x, asc_onnx_rnn_state *s) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *a = asc_add(ctx, x, asc_matmul(ctx, s->h, r->w_rec, false, true));
    if (r->bias_rec != NULL) a = asc_add(ctx, a, r->bias_rec);
    asc_tensor *ai = gate(c, r, a, 0), *ao = gate(c, r, a, 1), *af = gate(c, r, a, 2), *ac = gate(c, r, a, 3);
    if (r->peephole != NULL) {
        ai = asc_add(ctx, ai, asc_mul(ctx, gate(c, r, r->peephole, 0), s->c));
        af = asc_add(ctx, af, asc_mul(ctx, gate(c, r, r->peephole, 2), s->c));
    }
    asc_tensor *i = act(c, r, 0, ai);
    asc_tensor *f = r->input_forget ? asc_shift(ctx, asc_neg(ctx, i), 1.0) : act(c, r, 0, af);
    s->c = asc_add(ctx, asc_mul(ctx, f, s->c), asc_mul(ctx, i, act(c, r, 1, ac)));
    if (r->peephole != NULL) ao = asc_add(ctx, ao, asc_mul(ctx, gate(c, r, r->peephole, 1), s->c));
    asc_tensor *o = act(c, r, 0, ao);
    s->h = asc_mul(ctx, o, activated(c, r, 2, s->c));
}

asc_status asc_onnx_LSTM(asc_onnx_call *c) {
    static const char *const acts[] = {"sigmoid", "tanh", "tanh"};
    return asc_onnx_recurrent(
        c, &(asc_onnx_rnn){.gates = 4, .n_acts = 3, .cell = lstm_cell, .has_cell = true}, acts);
}

asc_status asc_onnx_GRU(asc_onnx_call *c) {
    static const char *const acts[] = {"sigmoid", "tanh"};
    return asc_onnx_recurrent(c, &(asc_onnx_rnn){.gates = 3, .n_acts = 2, .cell = gru_cell}, acts);
}

asc_status asc_onnx_RNN(asc_onnx_call *c) {
    static const char *const acts[] = {"tanh"};
    return asc_onnx_recurrent(c, &(asc_onnx_rnn){.gates = 1, .n_acts = 1, .cell = rnn_cell}, acts);
}
