/* kept_keys.c - stores of keys and values with room to spare; see kept_keys.h. A step's attention is that of
 * a tree (op_sdpa_tree.c) which is one chain: rows behind the last kept one are nobody's ancestors. */
#include "kept_keys.h"
#include "exec.h"
#include "price.h"

/* A store has a multiple of ROWS, and when it grows a SPARE-th more than it needs: what all stores of a long
 * text took together stays in proportion to the last one. */
enum { ROWS = 64, SPARE = 4 };

asc_status asc_kept_keys_init(asc_decoder *d, asc_kept_keys *out) {
    const size_t n = (size_t)d->cfg.n_layers;
    *out = (asc_kept_keys){.d = d};
    out->store = asc_calloc(d->ctx, ASC_MEM_GENERAL, n, sizeof *out->store);
    out->now = asc_calloc(d->ctx, ASC_MEM_GENERAL, n, sizeof *out->now);
    return out->store == NULL || out->now == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
}

void asc_kept_keys_deinit(asc_kept_keys *s) {
    if (s->d == NULL) return;
    asc_ctx *ctx = s->d->ctx;
    for (int64_t l = 0; s->store != NULL && l < s->d->cfg.n_layers; l++) {
        asc_tensor_release(s->store[l].k);
        asc_tensor_release(s->store[l].v);
    }
    asc_free(ctx, s->store);
    asc_free(ctx, s->now);
    asc_free(ctx, s->ints);
    asc_free(ctx, s->before);
    *s = (asc_kept_keys){0};
}

void asc_kept_keys_cut(asc_kept_keys *s, int64_t n) {
    if (n < s->n) s->n = n;
}

size_t asc_kept_keys_bytes(const asc_kept_keys *s) {
    const asc_decoder_config *c = &s->d->cfg;
    return (size_t)s->room * (size_t)(2 * c->n_layers * c->n_kv * c->head_dim) * sizeof(float);
}

/* A token sees itself, the last key, and the chain of those kept. */
static asc_tensor *attend(void *self, int64_t layer, asc_tensor *q, asc_tensor *k, asc_tensor *v) {
    asc_kept_keys *s = self;
    const asc_kv past = s->n > 0 ? s->store[layer] : (asc_kv){0};
    asc_tensor *in[] = {q, k, v, s->parent, s->key_positions, past.k, past.v};
    s->now[layer] = (asc_kv){.k = k, .v = v};
    return asc_decoder_attend_tree(s->d, layer, in);
}

void asc_kept_keys_attend(asc_kept_keys *s, asc_decoder_run *run) {
    asc_ctx *ctx = s->d->ctx;
    run->pos = s->n;
    run->whole = s->n + run->x->shape.dims[1];
    if (s->n == 0) {
        run->out_kv = s->now;
        return;
    }
    const int32_t at = (int32_t)s->n;
    s->before[s->room] = at - 1;
    s->ints[s->room] = at;
    s->parent = asc_from_i32(ctx, ASC_SHAPE(s->room + 1), s->before);
    s->key_positions = asc_from_i32(ctx, ASC_SHAPE(s->room + 1), s->ints);
    run->positions = asc_from_i32(ctx, ASC_SHAPE(1), &at);
    run->attend = attend;
    run->attend_self = s;
}

asc_status asc_kept_keys_attend_many(asc_kept_keys *s, asc_decoder_run *run) {
    asc_ctx *ctx = s->d->ctx;
    const int64_t t = run->x->shape.dims[1], past = s->n > 0 ? s->room : 0, all = past + t;
    int32_t *ints = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)all * 2, sizeof *ints), *before = ints + all;
    if (ints == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < all; i++) {
        ints[i] = (int32_t)(i < past ? i : s->n + i - past);
        before[i] = (int32_t)(i == past ? s->n - 1 : i - 1);
    }
    run->pos = s->n;
    run->whole = s->n + t;
    s->parent = asc_from_i32(ctx, ASC_SHAPE(all), before);
    s->key_positions = asc_from_i32(ctx, ASC_SHAPE(all), ints);
    run->positions = asc_from_i32(ctx, ASC_SHAPE(t), ints + past);
    run->attend = attend;
    run->attend_self = s;
    asc_free(ctx, ints);
    return ASC_OK;
}

int64_t asc_kept_keys_room(int64_t n) { return ((n + n / SPARE) / ROWS + 1) * ROWS; }

/* Positions of `room` rows, and which comes before each. */
static asc_status number_rows(asc_kept_keys *s, int64_t room) {
    asc_ctx *ctx = s->d->ctx;
    int32_t *ints = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)room + 1, sizeof *ints);
    int32_t *before = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)room + 1, sizeof *before);
    if (ints == NULL || before == NULL) {
        asc_free(ctx, ints);
        asc_free(ctx, before);
        return ASC_RESOURCE_EXHAUSTED;
    }
    for (int32_t i = 0; i <= (int32_t)room; i++) ints[i] = i, before[i] = i - 1;
    asc_free(ctx, s->ints);
    asc_free(ctx, s->before);
    s->ints = ints;
    s->before = before;
    return ASC_OK;
}

asc_status asc_kept_keys_pretend(asc_kept_keys *s, int64_t n, int64_t room) {
    asc_ctx *ctx = s->d->ctx;
    const asc_decoder_config *c = &s->d->cfg;
    for (int64_t i = 0; i < 2 * c->n_layers; i++) {
        asc_tensor **at = i % 2 == 0 ? &s->store[i / 2].k : &s->store[i / 2].v;
        asc_tensor *leaf = asc_price_leaf(ctx, ASC_DTYPE_F32, ASC_SHAPE(1, room, c->n_kv, c->head_dim));
        if (asc_tensor_poisoned(leaf)) return asc_graph_take_error(asc_graph_of(ctx));
        asc_tensor_retain(leaf);
        asc_tensor_release(*at);
        *at = leaf;
    }
    s->n = n;
    s->room = room;
    return number_rows(s, room);
}

/* Room for so many rows in each store; what they hold stays. */
static asc_status grow(asc_kept_keys *s, int64_t room) {
    asc_ctx *ctx = s->d->ctx;
    const asc_decoder_config *c = &s->d->cfg;
    const asc_shape shape = ASC_SHAPE(1, room, c->n_kv, c->head_dim);
    const int64_t elems = asc_shape_elems(&shape), held = s->n * c->n_kv * c->head_dim;
    if (held > 0) asc_exec_trim(ctx); /* idle buffers are of sizes that will not come again */
    float *zeros = elems < 0 ? NULL : asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)elems + 1, sizeof *zeros);
    asc_status st = zeros == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    for (int64_t i = 0; st == ASC_OK && i < 2 * c->n_layers; i++) {
        asc_tensor **old = i % 2 == 0 ? &s->store[i / 2].k : &s->store[i / 2].v;
        asc_tensor *wide = asc_from_f32(ctx, shape, zeros);
        if (asc_tensor_poisoned(wide)) st = asc_graph_take_error(asc_graph_of(ctx));
        if (st == ASC_OK && held > 0) st = asc_exec_copy_part(ctx, wide, 0, *old, 0, held);
        if (st != ASC_OK) break;
        asc_tensor_retain(wide);
        asc_tensor_release(*old);
        *old = wide;
    }
    asc_free(ctx, zeros);
    if (held > 0) asc_exec_trim(ctx); /* the old stores */
    if (st == ASC_OK) st = number_rows(s, room);
    if (st != ASC_OK) s->n = s->room = 0; /* stores may differ in their room now: nothing is kept */
    if (st == ASC_OK) s->room = room;
    return st;
}

asc_status asc_kept_keys_append(asc_kept_keys *s, int64_t t) {
    asc_ctx *ctx = s->d->ctx;
    const int64_t width = s->d->cfg.n_kv * s->d->cfg.head_dim, need = s->n + t;
    asc_status st = ASC_OK;
    if (need > INT32_MAX / 2) return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "more tokens than can be kept");
    if (need > s->room) ASC_TRY(grow(s, asc_kept_keys_room(need)));
    for (int64_t l = 0; l < s->d->cfg.n_layers; l++) {
        ASC_TRY(asc_exec_copy_part(ctx, s->store[l].k, s->n * width, s->now[l].k, 0, t * width));
        ASC_TRY(asc_exec_copy_part(ctx, s->store[l].v, s->n * width, s->now[l].v, 0, t * width));
    }
    s->n = need;
done:
    return st;
}
