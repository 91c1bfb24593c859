/* nn_recurrent.c - recurrent layers as visible loops over cells: every gate is an op that rules can see.
 * Products with the input are made once for all steps; only products with the state wait for each other.
 * Gates and formulas as PyTorch documents them for torch.nn.LSTM, GRU and RNN (tanh). */
#include "layer.h"
#include "ops.h"

typedef struct recurrence {
    const asc_layer *l;
    asc_tensor *w, *bias; /* of the state: [gH,H], [gH] or NULL */
    int64_t h;            /* width H of the state */
    asc_tensor *c;        /* LSTM: the cell's memory [B,H] */
} recurrence;

/* One step: xg [B,gH] = products with this step's input, with their bias; h [B,H] -> the new h. */
typedef asc_tensor *(*cell_fn)(recurrence *r, asc_tensor *xg, asc_tensor *h);

static asc_tensor *gate(const recurrence *r, asc_tensor *all, int k) {
    return asc_slice(r->l->ctx, all, 1, k * r->h, r->h);
}

static asc_tensor *from_state(const recurrence *r, asc_tensor *h) {
    return asc_layer_affine(r->l, h, r->w, r->bias);
}

/* i, f, o = sigmoid; g = tanh; c = f c + i g; h = o tanh(c). */
static asc_tensor *lstm_cell(recurrence *r, asc_tensor *xg, asc_tensor *h) {
    asc_ctx *ctx = r->l->ctx;
    asc_tensor *all = asc_add(ctx, xg, from_state(r, h));
    asc_tensor *i = asc_sigmoid(ctx, gate(r, all, 0)), *f = asc_sigmoid(ctx, gate(r, all, 1)),
               *g = asc_tanh(ctx, gate(r, all, 2)), *o = asc_sigmoid(ctx, gate(r, all, 3));
    r->c = asc_add(ctx, asc_mul(ctx, f, r->c), asc_mul(ctx, i, g));
    return asc_mul(ctx, o, asc_tanh(ctx, r->c));
}

/* r, z = sigmoid; n = tanh(x part + r (state part)); h = (1 - z) n + z h. */
static asc_tensor *gru_cell(recurrence *r, asc_tensor *xg, asc_tensor *h) {
    asc_ctx *ctx = r->l->ctx;
    asc_tensor *s = from_state(r, h);
    asc_tensor *reset = asc_sigmoid(ctx, asc_add(ctx, gate(r, xg, 0), gate(r, s, 0)));
    asc_tensor *z = asc_sigmoid(ctx, asc_add(ctx, gate(r, xg, 1), gate(r, s, 1)));
    asc_tensor *n = asc_tanh(ctx, asc_add(ctx, gate(r, xg, 2), asc_mul(ctx, reset, gate(r, s, 2))));
    asc_tensor *keep = asc_shift(ctx, asc_neg(ctx, z), 1.0);
    return asc_add(ctx, asc_mul(ctx, keep, n), asc_mul(ctx, z, h));
}

static asc_tensor *rnn_cell(recurrence *r, asc_tensor *xg, asc_tensor *h) {
    return asc_tanh(r->l->ctx, asc_add(r->l->ctx, xg, from_state(r, h)));
}

static asc_tensor *unroll(recurrence *r, asc_tensor *x, asc_tensor *w_in, asc_tensor *b_in, int gates,
                          cell_fn cell) {
    const asc_layer *l = r->l;
    asc_ctx *ctx = l->ctx;
    if (x->poison != ASC_OK || w_in->poison != ASC_OK || r->w->poison != ASC_OK)
        return asc_graph_poison(asc_graph_of(ctx));
    if (x->shape.rank != 3 || x->shape.dims[1] < 1)
        return asc_layer_fail(l, "x must be [B,T,I] with at least one step");
    if (r->w->shape.rank != 2 || w_in->shape.rank != 2 ||
        r->w->shape.dims[0] != gates * r->w->shape.dims[1] || w_in->shape.dims[0] != r->w->shape.dims[0])
        return asc_layer_fail(l, "the weights must be [%dH,I] and [%dH,H]", gates, gates);
    const int64_t b = x->shape.dims[0], steps = x->shape.dims[1];
    r->h = r->w->shape.dims[1];
    asc_tensor **hs = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)steps, sizeof(asc_tensor *));
    if (hs == NULL) return asc_graph_poison(asc_graph_of(ctx));
    asc_tensor *xg = asc_layer_affine(l, x, w_in, b_in), *h = asc_full(ctx, ASC_SHAPE(b, r->h), 0.0);
    r->c = h;
    for (int64_t t = 0; t < steps; t++) {
        asc_tensor *now = asc_reshape(ctx, asc_slice(ctx, xg, 1, t, 1), ASC_SHAPE(b, gates * r->h));
        h = cell(r, now, h);
        hs[t] = asc_reshape(ctx, h, ASC_SHAPE(b, 1, r->h));
    }
    asc_tensor *y = asc_concat_many(ctx, hs, (size_t)steps, 1);
    asc_free(ctx, hs);
    return y;
}

static asc_tensor *recurrent(asc_frame *f, const char *name, asc_tensor *x, int gates, cell_fn cell) {
    asc_layer l = asc_layer_begin(f, name, &x);
    recurrence r = {.l = &l,
                    .w = asc_layer_weight(&l, "weight_hh_l0", false),
                    .bias = asc_layer_weight(&l, "bias_hh_l0", true)};
    asc_tensor *w_in = asc_layer_weight(&l, "weight_ih_l0", false),
               *b_in = asc_layer_weight(&l, "bias_ih_l0", true);
    return asc_layer_end(&l, unroll(&r, x, w_in, b_in, gates, cell));
}

asc_tensor *asc_nn_lstm(asc_frame *f, const char *name, asc_tensor *x) {
    return recurrent(f, name, x, 4, lstm_cell);
}
asc_tensor *asc_nn_gru(asc_frame *f, const char *name, asc_tensor *x) {
    return recurrent(f, name, x, 3, gru_cell);
}
asc_tensor *asc_nn_rnn(asc_frame *f, const char *name, asc_tensor *x) {
    return recurrent(f, name, x, 1, rnn_cell);
}
