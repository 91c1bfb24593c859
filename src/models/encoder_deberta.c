/* encoder_deberta.c - what DeBERTa (He et al. 2021, v1, v2 and v3) adds to attention's scores: how far a
 * query fits the position of a key, and a key that of a query, both as seen from each other; and its config.
 */
#include "encoder_family.h"
#include "hf_act.h"
#include "view.h"
#include <math.h>
#include <string.h>

/* ---- config ---- */

/* One of the words of pos_att_type, blanks around it and its case aside. */
static asc_status part(const asc_hf_keys *k, asc_deberta *d, asc_view word) {
    char low[4] = "";
    while (word.len > 0 && word.ptr[0] == ' ') word = asc_view_make(word.ptr + 1, word.len - 1);
    while (word.len > 0 && word.ptr[word.len - 1] == ' ') word.len--;
    for (size_t i = 0; word.len == 3 && i < 3; i++)
        low[i] = (char)(word.ptr[i] >= 'A' && word.ptr[i] <= 'Z' ? word.ptr[i] + 32 : word.ptr[i]);
    bool *on = strcmp(low, "c2p") == 0 ? &d->on_key : strcmp(low, "p2c") == 0 ? &d->on_query : NULL;
    if (on == NULL || *on) return asc_hf_refuse(k, "pos_att_type", "supported: c2p and p2c, each once");
    *on = true;
    return ASC_OK;
}

/* A list of words, or a text of words between bars; absent, null and an empty list are none. */
static asc_status parts(const asc_hf_keys *k, asc_deberta *d) {
    const asc_json *v = asc_hf_key(k, "pos_att_type");
    const asc_json_type type = asc_json_typeof(v);
    asc_status st = ASC_OK;
    asc_view text = asc_json_str(v);
    if (v == NULL) return ASC_OK;
    if (type != ASC_JSON_ARRAY && type != ASC_JSON_STRING)
        return asc_hf_invalid(k, "pos_att_type", "a list of c2p and p2c, or a text like \"p2c|c2p\"");
    for (size_t i = 0; type == ASC_JSON_ARRAY && st == ASC_OK && i < asc_json_len(v); i++)
        st = part(k, d, asc_json_str(asc_json_at(v, i)));
    for (size_t from = 0, i = 0; type == ASC_JSON_STRING && st == ASC_OK && i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '|') continue;
        st = part(k, d, asc_view_make(text.ptr + from, i - from));
        from = i + 1;
    }
    return st;
}

/* Is there layer_norm among the words of norm_rel_ebd? */
static bool normed(const asc_hf_keys *k) {
    static const char word[] = "layer_norm";
    asc_view text = asc_json_str(asc_hf_key(k, "norm_rel_ebd"));
    return text.ptr != NULL && memmem(text.ptr, text.len, word, sizeof word - 1) != NULL;
}

/* A whole number that may be 0 or below, which is "not used" (= absent). */
static asc_status maybe(const asc_hf_keys *k, const char *key, int64_t most, int64_t *out) {
    const asc_json *v = asc_hf_key(k, key);
    *out = 0;
    if (asc_json_typeof(v) == ASC_JSON_INT && asc_json_int(v, 0) <= 0) return ASC_OK;
    return asc_hf_count(k, key, -1, most, out);
}

asc_status asc_encoder_deberta(const asc_hf_keys *k, asc_encoder_config *c) {
    enum { MOST = 1 << 16 };
    asc_status st = ASC_OK;
    asc_deberta *d = &c->deberta;
    const bool first = c->family->by_head;
    int64_t width;
    bool relative, table, talks;
    ASC_TRY(asc_hf_flag(k, "relative_attention", false, &relative));
    ASC_TRY(asc_hf_flag(k, "position_biased_input", true, &table));
    if (!first) ASC_TRY(asc_hf_flag(k, "share_att_key", false, &d->shared));
    ASC_TRY(asc_hf_flag(k, "talking_head", false, &talks));
    if (first && talks) return asc_encoder_refuse(k, "talking_head");
    ASC_TRY(parts(k, d));
    d->parts = 1 + d->on_key + d->on_query;
    d->on = relative && d->parts > 1;
    ASC_TRY(maybe(k, "type_vocab_size", MOST, &c->n_types));
    ASC_TRY(maybe(k, "conv_kernel_size", MOST, &width));
    if (!first && width > 0) return asc_encoder_refuse(k, "conv_kernel_size");
    if (!first) ASC_TRY(maybe(k, "position_buckets", MOST, &d->buckets));
    ASC_TRY(maybe(k, "max_relative_positions", 1 << 24, &d->farthest));
    if (d->farthest == 0) d->farthest = c->n_positions;
    d->span = d->buckets > 0 ? d->buckets : d->farthest;
    if (d->buckets == 1 || (d->buckets > 0 && d->farthest <= d->buckets / 2 + 1))
        return asc_hf_invalid(k, "position_buckets",
                              "2 or more, and at most twice max_relative_positions less 3 (twice "
                              "max_position_embeddings, where that is not above 0)");
    d->normed = !first && normed(k);
    width = c->head_dim;
    ASC_TRY(asc_hf_count(k, "attention_head_size", width, 1 << 24, &width));
    if (width != c->head_dim) return asc_encoder_refuse(k, "attention_head_size");
    width = c->d_model;
    ASC_TRY(asc_hf_count(k, "pooler_hidden_size", width, 1 << 24, &width));
    if (width != c->d_model) return asc_encoder_refuse(k, "pooler_hidden_size");
    if (!table) c->n_positions = 0;
done:
    return st;
}

/* ---- scores ---- */

/* Row of the table of how far key i lies in front of its query: distances up to half of the buckets are their
 * own, farther ones share buckets that grow logarithmically. In f32, as the models were trained: at a border
 * the rounding decides. */
static int64_t place(const asc_deberta *d, int64_t i) {
    int64_t at = i;
    const int64_t mid = d->buckets / 2, far = i < 0 ? -i : i;
    if (d->buckets > 0 && far > mid) {
        const float part =
            logf((float)far / (float)mid) / logf((float)((double)(d->farthest - 1) / (double)mid));
        const int64_t bucket = (int64_t)ceilf(part * (float)(mid - 1)) + mid;
        at = i < 0 ? -bucket : bucket;
    }
    at += d->span;
    return at < 0 ? 0 : at >= 2 * d->span ? 2 * d->span - 1 : at;
}

/* The rows of the table that t tokens look at. */
static void reach(const asc_deberta *d, int64_t t, int64_t *first, int64_t *n) {
    *first = place(d, 1 - t);
    *n = place(d, t - 1) - *first + 1;
}

asc_tensor *asc_deberta_places(asc_encoder *e, int64_t t) {
    const asc_deberta *d = &e->cfg.deberta;
    int64_t first, n;
    size_t count;
    if (!d->on) return NULL;
    int32_t *at = asc_mul_size((size_t)t, (size_t)t, &count) && asc_mul_size(count, 2, &count)
                      ? asc_calloc(e->ctx, ASC_MEM_GENERAL, count, sizeof *at)
                      : NULL;
    if (at == NULL) return asc_graph_poison(asc_graph_of(e->ctx));
    reach(d, t, &first, &n);
    for (int64_t i = 0; i < t * t; i++) {
        const int64_t row = place(d, i / t - i % t) - first;
        at[i] = (int32_t)(i / t * n + row);         /* of query i / t */
        at[t * t + i] = (int32_t)(i % t * n + row); /* of key i % t */
    }
    asc_tensor *out = asc_from_i32(e->ctx, ASC_SHAPE(2, t * t), at);
    asc_free(e->ctx, at);
    return out;
}

/* x [B,H,T,Dh] times rows [1,H,N,Dh], of which each pair of tokens takes one, by at [T*T]: [B,H,T,T] */
static asc_tensor *fit(asc_ctx *ctx, asc_tensor *x, asc_tensor *rows, asc_tensor *at) {
    static const int behind[] = {2, 3, 0, 1};
    asc_tensor *y = asc_matmul(ctx, x, rows, false, true);
    if (asc_tensor_poisoned(y)) return y;
    const int64_t b = y->shape.dims[0], h = y->shape.dims[1], t = y->shape.dims[2], n = y->shape.dims[3];
    y = asc_reshape(ctx, asc_transpose(ctx, y, 4, behind), ASC_SHAPE(t * n, b * h));
    y = asc_reshape(ctx, asc_gather(ctx, y, at), ASC_SHAPE(t, t, b, h));
    return asc_transpose(ctx, y, 4, behind);
}

/* Of rows [N,D]: [1,H,N,Dh] */
static asc_tensor *heads(asc_encoder *e, asc_tensor *rows, const asc_proj *by) {
    static const int swap[] = {0, 2, 1, 3};
    return asc_transpose(e->ctx, asc_split_heads(e->ctx, asc_project(e->ctx, rows, by), e->cfg.head_dim), 4,
                         swap);
}

asc_tensor *asc_deberta_scores(asc_encoder *e, int64_t l, asc_tensor *q, asc_tensor *k, asc_tensor *places) {
    asc_ctx *ctx = e->ctx;
    const asc_deberta *d = &e->cfg.deberta;
    const asc_encoder_layer *w = &e->layers[l];
    const asc_norm *norm = &e->relative_norm;
    int64_t first, n;
    if (asc_tensor_poisoned(q)) return q;
    const int64_t t = q->shape.dims[2];
    reach(d, t, &first, &n);
    asc_tensor *seen = asc_cast(ctx, asc_iota(ctx, n, (double)first, 1.0), ASC_DTYPE_I32);
    asc_tensor *rows = asc_reshape(ctx, asc_gather(ctx, e->relative, seen), ASC_SHAPE(1, n, e->cfg.d_model));
    if (norm->w != NULL) rows = asc_layer_norm(ctx, rows, norm->w, norm->b, e->cfg.eps);
    asc_tensor *sum = NULL, *part;
    for (int side = 0; side < 2; side++) {
        if (!(side == 0 ? d->on_key : d->on_query)) continue;
        const asc_proj *by = side == 0 ? (d->shared ? &w->k : &w->pos_k) : d->shared ? &w->q : &w->pos_q;
        asc_tensor *at = asc_reshape(ctx, asc_slice(ctx, places, 0, side, 1), ASC_SHAPE(t * t));
        part = fit(ctx, side == 0 ? q : k, heads(e, rows, by), at);
        sum = sum == NULL ? part : asc_add(ctx, sum, part);
    }
    return sum;
}
