/* decoder_experts.c - binds the router and the experts of a layer. GGUF files stack a layer's experts in one
 * tensor, ffn_gate_exps.weight [E,F,D]; other files hold a tensor per expert, ffn_gate.3.weight [F,D] (as do
 * old GGUF files), which are copied into a stack in the type that they have. */
#include "decoder_bind.h"
#include "exec.h"
#include <stdio.h>
#include <string.h>

/* The first expert's tensor says the type; the others must have the same. */
static asc_tensor *stack(asc_binder *b, const char *name, int64_t rows, int64_t cols) {
    const int64_t n = b->d->cfg.n_experts;
    asc_decoder *d = b->d;
    uint8_t *all = NULL;
    size_t one = 0, bytes = 0;
    asc_dtype type = ASC_DTYPE_F32;
    for (int64_t e = 0; e < n && b->st == ASC_OK; e++) {
        char full[96];
        snprintf(full, sizeof full, "%s.%lld.weight", name, (long long)e);
        const asc_weight *t = asc_bind_find(b, full, true);
        if (t == NULL || !asc_bind_fits(b, t, ASC_SHAPE(rows, cols))) return NULL;
        if (e == 0) {
            type = t->dtype;
            b->st = asc_grow(b->ctx, ASC_MEM_WEIGHTS, (void **)&d->copies, &d->cap_copies, d->n_copies + 1,
                             sizeof *d->copies);
            if (b->st != ASC_OK) return NULL;
            if (asc_dtype_bytes(type, rows * cols, &one) && asc_mul_size(one, (size_t)n, &bytes))
                all = asc_alloc_buffer(b->ctx, ASC_MEM_WEIGHTS, bytes);
            if (all == NULL) {
                b->st = ASC_FAIL(b->ctx, ASC_RESOURCE_EXHAUSTED,
                                 "out of memory: %zu bytes for a layer's experts", bytes);
                return NULL;
            }
            d->copies[d->n_copies++] = all;
        }
        if (t->dtype != type || t->transposed) {
            b->st = ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "'%s': the experts of %s are not all stored alike",
                             b->g->path, full);
            return NULL;
        }
        memcpy(all + (size_t)e * one, t->data, one);
    }
    return b->st == ASC_OK ? asc_bind_stored(b, type, ASC_SHAPE(n, rows, cols), all) : NULL;
}

/* E matrices [rows,cols], or stored turned; their biases where there are any. */
static asc_experts bind_stack(asc_binder *b, const char *name, bool required, int64_t rows, int64_t cols) {
    char full[64];
    const int64_t n = b->d->cfg.n_experts;
    snprintf(full, sizeof full, "%s_exps.weight", name);
    const asc_weight *t = asc_bind_find(b, full, false);
    asc_experts out = {.transposed = t != NULL && t->transposed};
    if (t == NULL && !required) return out;
    const asc_shape shape = out.transposed ? ASC_SHAPE(n, cols, rows) : ASC_SHAPE(n, rows, cols);
    if (t == NULL) out.w = stack(b, name, rows, cols);
    if (t != NULL && asc_bind_fits(b, t, shape)) out.w = asc_bind_stored(b, t->dtype, shape, t->data);
    snprintf(full, sizeof full, "%s_exps.bias", name);
    t = asc_bind_find(b, full, false);
    if (t != NULL && asc_bind_fits(b, t, ASC_SHAPE(n, rows)))
        out.b = asc_bind_stored(b, t->dtype, ASC_SHAPE(n, rows), t->data);
    if (out.b != NULL) b->d->has_bias = true;
    return out;
}

void asc_bind_experts(asc_binder *b, asc_layer *l) {
    const asc_decoder_config *c = &b->d->cfg;
    l->router = asc_bind_matrix(b, "ffn_gate_inp.weight", true, c->n_experts, c->d_model);
    l->router_bias = asc_bind_vector(b, "ffn_gate_inp.bias", false, c->n_experts, 0.0);
    l->choice_bias = asc_bind_vector(b, "exp_probs_b.bias", false, c->n_experts, 0.0);
    l->gate_up_exps = bind_stack(b, "ffn_gate_up", false, 2 * c->d_expert, c->d_model);
    if (l->gate_up_exps.w == NULL) {
        l->gate_exps = bind_stack(b, "ffn_gate", true, c->d_expert, c->d_model);
        l->up_exps = bind_stack(b, "ffn_up", true, c->d_expert, c->d_model);
    }
    l->down_exps = bind_stack(b, "ffn_down", true, c->d_model, c->d_expert);
}
