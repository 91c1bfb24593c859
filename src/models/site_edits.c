/* site_edits.c - see site_edits.h, and asc_model_hold of ascribe/model.h. */
#include "site_edits.h"
#include "compiled.h"
#include "encoder.h"
#include "exec.h"
#include "hash.h"
#include "kept_prompt.h"
#include "kept_text.h"
#include "view.h"
#include <math.h>
#include <string.h>

enum { MAX_HELD = 4096 }; /* more are a mistake: every one is looked at in each visit of a site */

int64_t asc_model_site_width(const asc_model *m, asc_decoder_site site, int64_t layer) {
    if (m->kind == ASC_MODEL_ENCODER) {
        const asc_encoder_config *e = &m->encoder->cfg;
        return site == ASC_SITE_ATTN_HEADS ? e->n_heads * e->head_dim
               : site == ASC_SITE_MLP_ACT  ? e->d_ff
                                           : e->d_model;
    }
    const asc_decoder_config *c = &m->decoder.cfg;
    if (site == ASC_SITE_ATTN_HEADS) return c->n_heads * c->head_dim;
    if (site == ASC_SITE_MLP_ACT) return c->plan[layer].moe ? 0 : c->d_ff;
    return c->d_model;
}

asc_status asc_site_edit_find(const asc_model *m, const char *name, asc_decoder_site *site, int64_t *layer) {
    char last[96] = "";
    if (name != NULL && asc_model_find_site(m, asc_view_of(name), site, layer)) return ASC_OK;
    for (size_t i = 0; asc_model_site(m, i, last, sizeof last); i++) continue;
    asc_view cut = asc_view_cut(asc_view_of(name != NULL ? name : ""), 80);
    ASC_FAIL(m->ctx, ASC_NOT_FOUND, "the model has no site '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(cut));
    return asc_hint(
        m->ctx, "sites are embed, blocks.0.attn.out, ..., %s: see asc_model_site, or ascribe inspect", last);
}

/* ---- checks ---- */

static asc_status check_numbers(asc_ctx *ctx, const asc_site_patch *p) {
    const int64_t count = asc_array_count(&p->values);
    double v[256];
    for (int64_t k = 0; k < count; k += 256) {
        int64_t part = count - k < 256 ? count - k : 256;
        asc_array_get(&p->values, k, part, v);
        for (int64_t e = 0; e < part; e++) {
            if (!isfinite(v[e]))
                return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                                "the values for site '%s' hold a number that is not finite, at place %lld",
                                p->site, (long long)(k + e));
        }
    }
    return ASC_OK;
}

static asc_status check_values(const asc_model *m, const asc_site_patch *p, size_t n_tokens, int64_t width) {
    asc_ctx *ctx = m->ctx;
    const asc_array *a = &p->values;
    const bool one = p->tokens == NULL && a->shape.rank == 2 && a->shape.dims[0] == 1;
    const size_t n = p->tokens != NULL ? p->n_tokens : n_tokens;
    if (p->tokens != NULL && n == 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "site '%s': no tokens", p->site);
    if (p->tokens == NULL && n_tokens == 0 && !one) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the values for site '%s' must be one row, for every token",
                 p->site);
        return asc_hint(ctx, "say which tokens rows are for: runs are of many lengths");
    }
    if (!asc_elem_is_float(a->elem) || a->shape.rank != 2 || (!one && a->shape.dims[0] != (int64_t)n) ||
        a->shape.dims[1] < 1 || a->data == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "the values for site '%s' must be floats, a row for each of %zu tokens", p->site, n);
    asc_status st = check_numbers(ctx, p);
    if (st == ASC_OK && a->shape.dims[1] != width)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "site '%s' is %lld wide; the values for it are %lld",
                        p->site, (long long)width, (long long)a->shape.dims[1]);
    return st;
}

/* ---- making ---- */

/* Rows and mask by place, [last + 2]: behind the last place nothing is replaced. */
static asc_status make_tables(const asc_model *m, const asc_site_patch *p, int64_t width, asc_owned *owned,
                              asc_site_edit *out) {
    asc_ctx *ctx = m->ctx;
    const int64_t n = out->last + 2;
    asc_status st = ASC_OK;
    double *rows = NULL;
    float *mask = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *mask);
    if (p->change == NULL) rows = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)(n * width), sizeof *rows);
    if (mask == NULL || (p->change == NULL && rows == NULL)) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; st == ASC_OK && k < out->n_places; k++) {
        const int64_t at = p->tokens != NULL ? (int64_t)p->tokens[k] : (int64_t)k;
        mask[at] = 1.0f;
        if (rows != NULL) asc_array_get(&p->values, (int64_t)k * width, width, rows + at * width);
    }
    if (st == ASC_OK) out->mask = asc_owned_add(ctx, owned, asc_from_f32(ctx, ASC_SHAPE(n, 1), mask), &st);
    if (st == ASC_OK && rows != NULL)
        out->rows = asc_owned_add(ctx, owned, asc_from_f64(ctx, ASC_SHAPE(n, width), rows), &st);
    asc_free(ctx, rows);
    asc_free(ctx, mask);
    return st;
}

static asc_status make_row(const asc_model *m, const asc_site_patch *p, int64_t width, asc_owned *owned,
                           asc_site_edit *out) {
    asc_ctx *ctx = m->ctx;
    asc_status st = ASC_OK;
    double *row = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)width, sizeof *row);
    if (row == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_array_get(&p->values, 0, width, row);
    out->rows = asc_owned_add(ctx, owned, asc_from_f64(ctx, ASC_SHAPE(1, width), row), &st);
    asc_free(ctx, row);
    return st;
}

asc_status asc_site_edit_make(const asc_model *m, const asc_site_patch *p, size_t n_tokens, asc_owned *owned,
                              asc_site_edit *out) {
    asc_ctx *ctx = m->ctx;
    *out = (asc_site_edit){.change = p->change, .self = p->self};
    asc_status st = asc_site_edit_find(m, p->site, &out->site, &out->layer);
    if (st != ASC_OK) return st;
    out->name = p->site;
    if (m->kind == ASC_MODEL_ENCODER && out->site == ASC_SITE_FINAL_NORM) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "site '%s' cannot be replaced: nothing is computed from it",
                 p->site);
        return asc_hint(ctx, "replace the last block's output");
    }
    const int64_t width = asc_model_site_width(m, out->site, out->layer);
    if (width == 0) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "this model never comes to site '%s'", p->site);
        return asc_hint(ctx, "a mixture of experts has no mlp.act: its tokens go to different neurons");
    }
    for (size_t k = 0; p->tokens != NULL && k < p->n_tokens; k++) {
        if (n_tokens > 0 && p->tokens[k] >= n_tokens)
            return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "site '%s': token %zu of %zu", p->site, p->tokens[k],
                            n_tokens);
        if (p->tokens[k] >= (size_t)m->info.context_length)
            return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "site '%s': token %zu; this model's context is %lld",
                            p->site, p->tokens[k], (long long)m->info.context_length);
        if ((int64_t)p->tokens[k] > out->last) out->last = (int64_t)p->tokens[k];
    }
    if (p->change == NULL) st = check_values(m, p, n_tokens, width);
    if (st != ASC_OK) return st;
    if (p->tokens != NULL) {
        out->n_places = p->n_tokens;
        return p->n_tokens > 0 ? make_tables(m, p, width, owned, out)
                               : ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "site '%s': no tokens", p->site);
    }
    if (p->change != NULL) return ASC_OK;
    if (p->values.shape.dims[0] == 1) return make_row(m, p, width, owned, out);
    out->n_places = (size_t)p->values.shape.dims[0];
    out->last = p->values.shape.dims[0] - 1;
    return make_tables(m, p, width, owned, out);
}

/* ---- at the site ---- */

static asc_tensor *poison(asc_ctx *ctx) { return asc_graph_poison(asc_graph_of(ctx)); }

/* change of value [..,W], which it sees as rows [n,W]. */
static asc_tensor *changed(asc_ctx *ctx, const asc_site_edit *e, asc_tensor *value) {
    if (asc_tensor_poisoned(value)) return value;
    const asc_shape shape = value->shape;
    const int64_t w = shape.dims[shape.rank - 1];
    asc_tensor *rows = asc_reshape(ctx, value, ASC_SHAPE(asc_tensor_elems(value) / w, w));
    if (asc_tensor_poisoned(rows)) return rows;
    asc_tensor *y = e->change(e->self, ctx, rows);
    if (y == NULL) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the function for site '%s' gave no value", e->name);
        return poison(ctx);
    }
    if (asc_tensor_poisoned(y)) return y;
    if (y->dtype != ASC_DTYPE_F32 || y->shape.rank != 2 || y->shape.dims[0] != rows->shape.dims[0] ||
        y->shape.dims[1] != w) {
        char have[128], want[128];
        asc_shape_text(&y->shape, have);
        asc_shape_text(&rows->shape, want);
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "site '%s': the function gave %s of %s for floats of %s", e->name,
                 have, asc_dtype_of(y->dtype)->name, want);
        return poison(ctx);
    }
    return asc_reshape(ctx, y, shape);
}

asc_tensor *asc_site_edit_apply(asc_ctx *ctx, const asc_site_edit *e, asc_tensor *value, asc_tensor *pos) {
    if (asc_tensor_poisoned(value)) return value;
    if (e->n_places == 0)
        return e->change != NULL ? changed(ctx, e, value) : asc_broadcast(ctx, e->rows, value->shape);
    if (asc_tensor_poisoned(pos)) return pos;
    const int64_t t = value->shape.dims[1], all = pos->shape.dims[0];
    if (t != all) pos = asc_slice(ctx, pos, 0, all - t, t);
    /* places are exact in f32 below 2^24, and no context is longer */
    asc_tensor *at = asc_clip(ctx, asc_cast(ctx, pos, ASC_DTYPE_F32), 0.0, (double)(e->last + 1));
    at = asc_cast(ctx, at, ASC_DTYPE_I32);
    asc_tensor *mask = asc_reshape(ctx, asc_gather(ctx, e->mask, at), ASC_SHAPE(1, t, 1));
    asc_tensor *put = e->change != NULL ? changed(ctx, e, value)
                                        : asc_reshape(ctx, asc_gather(ctx, e->rows, at),
                                                      ASC_SHAPE(1, t, value->shape.dims[2]));
    return asc_where(ctx, mask, put, value);
}

asc_tensor *asc_site_edits_apply(asc_ctx *ctx, const asc_site_edits *e, asc_decoder_site site, int64_t layer,
                                 asc_tensor *value, asc_tensor *pos) {
    for (size_t i = 0; e != NULL && i < e->n; i++) {
        if (e->v[i].site == site && e->v[i].layer == layer)
            value = asc_site_edit_apply(ctx, &e->v[i], value, pos);
    }
    return value;
}

/* ---- held by a model ---- */

asc_site_edits *asc_model_edits(const asc_model *m) {
    if (m->kind != ASC_MODEL_ENCODER) return m->decoder.edits;
    return m->encoder != NULL ? m->encoder->edits : NULL;
}

void asc_site_edits_deinit(asc_ctx *ctx, asc_site_edits *e) {
    asc_owned_release(ctx, &e->owned);
    asc_free(ctx, e->v);
    asc_free(ctx, e->names);
    *e = (asc_site_edits){0};
}

/* A function must see each row by itself, since runs bring rows of many prompts, or of one token: what it
 * makes of three rows must be what it makes of each. */
static asc_status check_change(const asc_model *m, const asc_site_edit *e) {
    enum { ROWS = 3 };
    asc_ctx *ctx = m->ctx;
    const int64_t w = asc_model_site_width(m, e->site, e->layer);
    const size_t n = (size_t)(ROWS * w);
    asc_status st = ASC_OK;
    double largest = 0.0, *x = asc_calloc(ctx, ASC_MEM_GENERAL, 3 * n, sizeof *x);
    if (x == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) x[i] = sin(1.7 * (double)i + 0.3);
    asc_scope_begin(ctx);
    asc_tensor *t = asc_from_f64(ctx, ASC_SHAPE(ROWS, w), x), *outs[2], *each[ROWS];
    outs[0] = changed(ctx, e, t);
    for (int k = 0; k < ROWS && !asc_tensor_poisoned(outs[0]); k++)
        each[k] = changed(ctx, e, asc_slice(ctx, t, 0, k, 1));
    if (!asc_tensor_poisoned(outs[0])) {
        outs[1] = asc_concat(ctx, each, ROWS, 0);
        st = asc_run(ctx, outs, 2);
        for (size_t i = 0; st == ASC_OK && i < 2; i++) st = asc_read_f64(ctx, outs[i], x + (1 + i) * n, n);
    }
    st = asc_scope_close(ctx, st);
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[n + i]));
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        /* sums in another order, at any precision; a mean over three rows moves values by their own size */
        const double many = x[n + i], alone = x[2 * n + i];
        if (!isfinite(largest) || (isnan(many) && isnan(alone)) || fabs(many - alone) <= 0.02 * largest)
            continue; /* what is no number at these values may be one at the model's own */
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "the function for site '%s' makes something else of a token's row when "
                 "other rows stand beside it",
                 e->name);
        st = asc_hint(
            ctx, "let it work on each row by itself (axis 1, keepdims): rows come alone, or many together");
    }
    asc_free(ctx, x);
    return st;
}

static uint64_t hash_of(const asc_site_patch *p, uint64_t h) {
    const int64_t count = p->change == NULL ? asc_array_count(&p->values) : 0;
    double v[256];
    h = asc_hash64(p->site, strlen(p->site), h + p->n_tokens + (p->change != NULL ? 1 : 0));
    if (p->tokens != NULL) h = asc_hash64(p->tokens, p->n_tokens * sizeof *p->tokens, h);
    for (int64_t k = 0; k < count; k += 256) {
        const int64_t part = count - k < 256 ? count - k : 256;
        asc_array_get(&p->values, k, part, v);
        h = asc_hash64(v, (size_t)part * sizeof *v, h);
    }
    return h;
}

static asc_status make_held(asc_model *m, const asc_site_patch *patches, size_t n, asc_site_edits *out) {
    asc_ctx *ctx = m->ctx;
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++) bytes += (patches[i].site != NULL ? strlen(patches[i].site) : 0) + 1;
    out->v = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *out->v);
    out->names = asc_calloc(ctx, ASC_MEM_GENERAL, bytes, 1);
    if (out->v == NULL || out->names == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = ASC_OK;
    char *at = out->names;
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        asc_site_edit *e = &out->v[i];
        st = asc_site_edit_make(m, &patches[i], 0, &out->owned, e);
        if (st != ASC_OK) break;
        e->name = at;
        at += strlen(strcpy(at, patches[i].site)) + 1;
        out->n = i + 1;
        if (e->n_places > 0 && e->site == ASC_SITE_FINAL_NORM) {
            ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "site '%s' is replaced for every token or for none",
                     e->name);
            return asc_hint(ctx, "replace the last block's output, blocks.%lld.out",
                            (long long)m->info.n_layers - 1);
        }
        if (e->change != NULL) st = check_change(m, e);
        out->hash = hash_of(&patches[i], out->hash);
    }
    return st;
}

asc_status asc_model_hold(asc_model *m, const asc_site_patch *patches, size_t n) {
    asc_ctx *ctx = m->ctx;
    asc_site_edits *held = NULL,
                   **place = m->kind == ASC_MODEL_ENCODER ? &m->encoder->edits : &m->decoder.edits;
    asc_status st = ASC_OK;
    if (n > MAX_HELD)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu sites to replace; at most %d", n, MAX_HELD);
    if (n > 0) {
        held = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *held);
        if (held == NULL) return ASC_RESOURCE_EXHAUSTED;
        asc_scope_begin(ctx);
        st = asc_scope_close(ctx, make_held(m, patches, n, held));
    }
    asc_site_edits *old = st == ASC_OK ? *place : held;
    if (st == ASC_OK && (old != NULL || held != NULL)) { /* what was made with other values */
        asc_capture_forget(ctx, m);
        asc_model_forget_prompt(m);
        asc_model_forget_text(m);
        *place = held;
    }
    if (old != NULL) asc_site_edits_deinit(ctx, old);
    asc_free(ctx, old);
    return st;
}
