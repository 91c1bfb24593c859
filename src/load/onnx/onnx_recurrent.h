/* onnx_recurrent.h - what the recurrent operators share: weights of one direction, states, the loop. */
#ifndef ASC_ONNX_RECURRENT_H
#define ASC_ONNX_RECURRENT_H

#include "onnx_ops.h"

typedef struct asc_onnx_rnn_act {
    asc_view name; /* lower case */
    double alpha, beta;
} asc_onnx_rnn_act;

typedef struct asc_onnx_rnn_state {
    asc_tensor *h, *c; /* [B,H] */
} asc_onnx_rnn_state;

typedef struct asc_onnx_rnn {
    int gates, n_acts; /* of the operator; n_acts per direction */
    bool has_cell;     /* the LSTM's second state */
    /* One step: x [B,GH] is input times W plus its bias; replaces the state. */
    void (*cell)(asc_onnx_call *c, const struct asc_onnx_rnn *r, asc_tensor *x, asc_onnx_rnn_state *s);
    /* set by asc_onnx_recurrent */
    asc_onnx_rnn_act act[6];
    double clip;
    bool linear_before_reset, input_forget;
    int64_t hidden, batch, steps;
    int dir, n_dirs;
    asc_tensor *w_rec, *bias_rec, *peephole; /* of direction dir: [GH,H], [GH] or NULL, [3H] or NULL */
} asc_onnx_rnn;

/* The operator: r has its first four fields; `acts` are the default activations. */
asc_status asc_onnx_recurrent(asc_onnx_call *c, const asc_onnx_rnn *r, const char *const *acts);

#endif
