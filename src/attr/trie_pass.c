/* trie_pass.c - see trie_pass.h. */
#include "trie_pass.h"
#include "exec.h"
#include "neuron.h"
#include "price.h"
#include <string.h>

static size_t n_blocks(const asc_packed *x) { return (size_t)asc_neuron_blocks(x->j); }

static asc_tensor *ints(asc_job *j, asc_shape shape, const int32_t *data) {
    return data != NULL ? asc_from_i32(j->ctx, shape, data) : asc_price_leaf(j->ctx, ASC_DTYPE_I32, shape);
}

/* Rows of part i of the tail. */
static size_t rows_of(const asc_packed *x, size_t i) {
    size_t left = x->tail - i * x->part;
    return left < x->part ? left : x->part;
}

/* The tokens whose numbers layer k of a part holds; 0 where none is asked for. */
static asc_status take_leaves(asc_packed *x, const asc_trie_pass *p) {
    asc_ctx *ctx = x->j->ctx;
    int32_t *ids = asc_calloc(ctx, ASC_MEM_GENERAL, x->tail + 1, sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < x->n_layers; k++) {
        memset(ids, 0, x->tail * sizeof *ids);
        for (size_t i = 0; p != NULL && i < p->n_takes; i++)
            if (p->takes[i].layer == k) ids[p->takes[i].row] = p->takes[i].id;
        for (size_t i = 0; i < x->n_parts; i++)
            x->takes[i * x->n_layers + k] =
                ints(x->j, ASC_SHAPE(1, (int64_t)rows_of(x, i)), p != NULL ? ids + i * x->part : NULL);
    }
    asc_free(ctx, ids);
    return ASC_OK;
}

/* Parts of equal size, so that logits stay small: a vocabulary is hundreds of times as wide as the model. */
static void divide(asc_packed *x) {
    enum { MOST_BYTES = 16 << 20, FEWEST_ROWS = 16 };
    size_t most = MOST_BYTES / (4 * (size_t)x->j->m->decoder.cfg.n_vocab);
    if (most < FEWEST_ROWS) most = FEWEST_ROWS;
    if (x->j->neuron.on) most = x->tail; /* no logits */
    x->n_parts = (x->tail + most - 1) / most;
    x->part = (x->tail + x->n_parts - 1) / x->n_parts;
}

asc_status asc_packed_leaves(asc_packed *x, const asc_trie_pass *p) {
    asc_ctx *ctx = x->j->ctx;
    const int64_t n = (int64_t)x->n, keys = n + (int64_t)x->past;
    divide(x);
    const size_t n_numbers = x->n_parts * x->n_layers;
    x->takes = asc_calloc(ctx, ASC_MEM_GENERAL, n_numbers + 1, sizeof(asc_tensor *));
    x->kv = asc_calloc(ctx, ASC_MEM_GENERAL, n_blocks(x) + 1, sizeof *x->kv);
    x->results = asc_calloc(ctx, ASC_MEM_GENERAL, n_numbers + 2 * n_blocks(x) + 1, sizeof(asc_tensor *));
    if (x->takes == NULL || x->kv == NULL || x->results == NULL) return ASC_RESOURCE_EXHAUSTED;
    x->ids = ints(x->j, ASC_SHAPE(1, n), p != NULL ? p->ids : NULL);
    x->positions = ints(x->j, ASC_SHAPE(n), p != NULL ? p->positions : NULL);
    x->parent = ints(x->j, ASC_SHAPE(keys), p != NULL ? p->parent : NULL);
    x->key_positions = ints(x->j, ASC_SHAPE(keys), p != NULL ? p->key_positions : NULL);
    if (x->j->req->output == ASC_OUTPUT_KL) {
        const asc_shape v = ASC_SHAPE(x->j->m->decoder.cfg.n_vocab);
        x->whole_p = p != NULL ? asc_from_f64(ctx, v, x->j->whole_p) : asc_price_leaf(ctx, ASC_DTYPE_F32, v);
        x->whole_log_p =
            p != NULL ? asc_from_f64(ctx, v, x->j->whole_log_p) : asc_price_leaf(ctx, ASC_DTYPE_F32, v);
    }
    return take_leaves(x, p);
}

void asc_packed_deinit(asc_packed *x) {
    if (x->j == NULL) return;
    asc_free(x->j->ctx, x->takes);
    asc_free(x->j->ctx, x->kv);
    asc_free(x->j->ctx, x->results);
    x->takes = x->results = NULL;
    x->kv = NULL;
}

static asc_tensor *attend(void *self, int64_t layer, asc_tensor *q, asc_tensor *k, asc_tensor *v) {
    asc_packed *x = self;
    asc_tensor *in[] = {q, k, v, x->parent, x->key_positions, NULL, NULL};
    if (x->past > 0) {
        in[5] = x->store[layer].k;
        in[6] = x->store[layer].v;
    }
    x->kv[layer] = (asc_kv){.k = k, .v = v};
    return asc_decoder_attend_tree(&x->j->m->decoder, layer, in);
}

static asc_decoder_run run_of(asc_packed *x) {
    return (asc_decoder_run){.tail = (int64_t)x->tail,
                             .whole = (int64_t)x->whole,
                             .positions = x->positions,
                             .attend = attend,
                             .attend_self = x};
}

void asc_packed_blocks(asc_packed *x, int64_t first, int64_t end, asc_tensor *stream) {
    asc_decoder_run run = run_of(x);
    const bool many = asc_set_many_rows(x->j->ctx, true);
    x->n_results = 0;
    x->results[x->n_results++] = asc_decoder_blocks(&x->j->m->decoder, &run, first, end, stream);
    asc_set_many_rows(x->j->ctx, many);
    for (int64_t l = first; x->keep && l < end; l++) {
        x->results[x->n_results++] = x->kv[l].k;
        x->results[x->n_results++] = x->kv[l].v;
    }
}

/* Minus the divergence of each row's distribution from that of the whole prompt, p: sum p (log q - log p). */
static asc_tensor *divergence(asc_packed *x, asc_tensor *log_q) {
    asc_ctx *ctx = x->j->ctx;
    const int axes[] = {-1};
    return asc_sum(ctx, asc_mul(ctx, asc_sub(ctx, log_q, x->whole_log_p), x->whole_p), 1, axes, false);
}

/* Numbers of one part of the tail, behind its rows. */
static void numbers_of(asc_packed *x, asc_tensor *rows, asc_tensor *const *takes) {
    asc_ctx *ctx = x->j->ctx;
    asc_tensor *z = asc_decoder_logits(&x->j->m->decoder, rows, NULL, NULL);
    if (x->j->req->output != ASC_OUTPUT_LOGIT) z = asc_log_softmax(ctx, z);
    for (size_t k = 0; k < x->n_layers; k++)
        x->results[x->n_results++] =
            x->j->req->output == ASC_OUTPUT_KL ? divergence(x, z) : asc_take_last(ctx, z, takes[k]);
}

void asc_packed_numbers(asc_packed *x, asc_tensor *hidden) {
    asc_ctx *ctx = x->j->ctx;
    const bool many = asc_set_many_rows(ctx, true);
    x->n_results = 0;
    for (size_t i = 0; x->n_layers > 0 && i < x->n_parts; i++) {
        asc_tensor *rows = x->n_parts == 1
                               ? hidden
                               : asc_slice(ctx, hidden, 1, (int64_t)(i * x->part), (int64_t)rows_of(x, i));
        numbers_of(x, rows, x->takes + i * x->n_layers);
    }
    asc_set_many_rows(ctx, many);
}

/* A neuron's value in every row of the tail. */
static void neuron_numbers(asc_packed *x, asc_decoder_run *run) {
    asc_tensor *v = asc_neuron_column(x->j, run);
    if (!asc_tensor_poisoned(v) && x->tail < x->n)
        v = asc_slice(x->j->ctx, v, 1, (int64_t)(x->n - x->tail), (int64_t)x->tail);
    for (size_t k = 0; k < x->n_layers; k++) x->results[x->n_results++] = v;
}

asc_status asc_packed_record(asc_packed *x) {
    asc_ctx *ctx = x->j->ctx;
    asc_decoder_run run = run_of(x);
    const bool many = asc_set_many_rows(ctx, true);
    asc_tensor *hidden = NULL;
    run.x = asc_gather(ctx, x->j->m->decoder.embed, x->ids);
    x->n_results = 0;
    if (x->j->neuron.on)
        neuron_numbers(x, &run);
    else
        hidden = asc_decoder_hidden(&x->j->m->decoder, &run);
    asc_set_many_rows(ctx, many);
    if (hidden != NULL) asc_packed_numbers(x, hidden);
    for (size_t l = 0; x->keep && l < n_blocks(x); l++) {
        x->results[x->n_results++] = x->kv[l].k;
        x->results[x->n_results++] = x->kv[l].v;
    }
    for (size_t i = 0; i < x->n_results; i++)
        if (x->results[i] == NULL || asc_tensor_poisoned(x->results[i]))
            return asc_graph_take_error(asc_graph_of(ctx));
    return ASC_OK;
}

double asc_packed_pair_flops(const asc_job *j) {
    const asc_decoder_config *c = &j->m->decoder.cfg;
    return (double)c->n_heads * (4.0 * (double)c->head_dim + 5.0);
}

double asc_packed_priced_flops(const asc_job *j, size_t n, size_t tail, size_t past) {
    const double blocks = (double)asc_neuron_blocks(j), in_last = (double)(j->neuron.on ? n : tail);
    return asc_packed_pair_flops(j) * (double)(past + n) * ((blocks - 1.0) * (double)n + in_last);
}

/* ---- the store ---- */

asc_status asc_packed_store(asc_job *j, size_t past, int64_t first, int64_t end, bool dry, asc_kv **out) {
    asc_ctx *ctx = j->ctx;
    const asc_decoder_config *c = &j->m->decoder.cfg;
    const asc_shape shape = ASC_SHAPE(1, (int64_t)past, c->n_kv, c->head_dim);
    *out = NULL;
    if (past == 0) return ASC_OK;
    asc_kv *store = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)c->n_layers, sizeof *store);
    float *zeros =
        dry ? NULL : asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)asc_shape_elems(&shape) + 1, sizeof *zeros);
    asc_status st = store == NULL || (!dry && zeros == NULL) ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    for (int64_t l = first; st == ASC_OK && l < end; l++) {
        asc_tensor **kv[2] = {&store[l].k, &store[l].v};
        for (int i = 0; i < 2; i++) {
            *kv[i] = dry ? asc_price_leaf(ctx, ASC_DTYPE_F32, shape) : asc_from_f32(ctx, shape, zeros);
            if (asc_tensor_poisoned(*kv[i])) st = asc_graph_take_error(asc_graph_of(ctx));
        }
    }
    asc_free(ctx, zeros);
    if (st != ASC_OK) {
        asc_free(ctx, store);
        store = NULL;
    }
    *out = store;
    return st;
}

asc_status asc_packed_keep(asc_packed *x, const asc_trie_pass *p) {
    const asc_decoder_config *c = &x->j->m->decoder.cfg;
    const int64_t width = c->n_kv * c->head_dim;
    asc_status st = ASC_OK;
    for (size_t l = 0; l < n_blocks(x); l++) {
        for (size_t i = 0, n; i < p->n_keep; i += n) { /* neighbours stay neighbours, mostly */
            for (n = 1; i + n < p->n_keep && p->keep_from[i + n] == p->keep_from[i] + (int32_t)n &&
                        p->keep_to[i + n] == p->keep_to[i] + (int32_t)n;)
                n++;
            const int64_t to = p->keep_to[i] * width, from = p->keep_from[i] * width;
            ASC_TRY(asc_exec_copy_part(x->j->ctx, x->store[l].k, to, x->kv[l].k, from, (int64_t)n * width));
            ASC_TRY(asc_exec_copy_part(x->j->ctx, x->store[l].v, to, x->kv[l].v, from, (int64_t)n * width));
        }
    }
done:
    return st;
}
