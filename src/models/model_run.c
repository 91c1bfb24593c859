/* model_run.c - one run of a language model or text encoder in which inner values are read and replaced; see
 * ascribe/model.h. All values and the head are one cut, so a run costs what a forward pass costs. */
#include "encoder.h"
#include "exec.h"
#include "model.h"
#include "site_edits.h"
#include "view.h"
#include <math.h>
#include <string.h>

enum { MAX_SITES = 4096 };

/* A site by its parts; what has been read there. */
typedef struct place {
    asc_decoder_site site;
    int64_t layer;
    asc_tensor *got; /* NULL: the run has not come to it */
} place;

typedef struct model_run {
    asc_model *m;
    const asc_model_run_options *o;
    place *reads, *patches; /* o->n_read, o->n_patches */
    asc_site_edits edits;   /* of the patches */
    asc_tensor *pos;        /* places of the tokens */
    bool poisoned;          /* an op failed on the way: the scope knows why */
} model_run;

static bool at_place(const place *p, asc_decoder_site site, int64_t layer) {
    return p->site == site && p->layer == layer;
}

/* ---- checks before the run ---- */

static bool pooled(const model_run *r, const place *p) {
    return r->m->kind == ASC_MODEL_ENCODER && p->site == ASC_SITE_FINAL_NORM;
}

static asc_status check(model_run *r) {
    asc_model *m = r->m;
    const asc_model_run_options *o = r->o;
    asc_status st = asc_model_check_ids(m, o->ids, o->n, m->kind == ASC_MODEL_ENCODER ? "text" : "prompt");
    if (st == ASC_OK && m->kind == ASC_MODEL_ENCODER) st = asc_model_check_types(m, o->types, o->n);
    if (st == ASC_OK && o->head == ASC_RUN_LOGITS) st = asc_model_needs_decoder(m, "predict next tokens");
    if (st == ASC_OK && (o->head == ASC_RUN_CLASSES || o->head == ASC_RUN_EMBEDDING))
        st = asc_model_needs_encoder(m);
    if (st == ASC_OK && o->head == ASC_RUN_CLASSES) st = asc_model_need_classes(m);
    if (st == ASC_OK && o->n_rows > o->n)
        st =
            ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "%zu rows of logits asked of %zu tokens", o->n_rows, o->n);
    for (size_t i = 0; st == ASC_OK && i < o->n_read; i++)
        st = asc_site_edit_find(m, o->read[i], &r->reads[i].site, &r->reads[i].layer);
    for (size_t i = 0; st == ASC_OK && i < o->n_patches; i++) {
        asc_site_edit *e = &r->edits.v[i];
        st = asc_site_edit_make(m, &o->patches[i], o->n, &r->edits.owned, e);
        r->patches[i] = (place){.site = e->site, .layer = e->layer};
    }
    return st;
}

/* ---- the run ---- */

static asc_tensor *at_site(void *self, asc_decoder_site site, int64_t layer, asc_tensor *value) {
    model_run *r = self;
    if (asc_tensor_poisoned(value)) {
        r->poisoned = true;
        return value;
    }
    for (size_t i = 0; i < r->o->n_patches; i++) {
        if (!at_place(&r->patches[i], site, layer)) continue;
        value = asc_site_edit_apply(r->m->ctx, &r->edits.v[i], value, r->pos);
        r->patches[i].got = value;
    }
    r->poisoned = asc_tensor_poisoned(value);
    for (size_t i = 0; i < r->o->n_read; i++) {
        if (at_place(&r->reads[i], site, layer)) r->reads[i].got = value;
    }
    return value;
}

/* Whether a site behind the blocks is spoken of, which then sees every token. */
static bool wants_final(const model_run *r) {
    bool wants = false;
    for (size_t i = 0; i < r->o->n_read; i++) wants = wants || r->reads[i].site == ASC_SITE_FINAL_NORM;
    for (size_t i = 0; i < r->o->n_patches; i++) wants = wants || r->patches[i].site == ASC_SITE_FINAL_NORM;
    return wants;
}

static asc_tensor *last_rows(asc_ctx *ctx, asc_tensor *x, int64_t n) {
    return asc_tensor_poisoned(x) || x->shape.dims[1] == n ? x
                                                           : asc_slice(ctx, x, 1, x->shape.dims[1] - n, n);
}

static asc_tensor *run_decoder(model_run *r) {
    asc_decoder *d = &r->m->decoder;
    const bool final = wants_final(r);
    const int64_t rows = r->o->n_rows > 0 ? (int64_t)r->o->n_rows : 1;
    asc_decoder_run run = {.x = asc_decoder_embed(d, r->o->ids, 1, (int64_t)r->o->n),
                           .whole_last_block = true,
                           .site = at_site,
                           .site_self = r};
    asc_tensor *hidden = asc_decoder_hidden(d, &run);
    if (r->o->head != ASC_RUN_LOGITS && !final) return NULL;
    if (!final) hidden = last_rows(d->ctx, hidden, rows);
    return last_rows(d->ctx, asc_decoder_logits(d, hidden, at_site, r), rows);
}

static asc_tensor *run_encoder(model_run *r) {
    asc_model *m = r->m;
    asc_encoder_run run = {
        .x = asc_model_embed(m, r->o->ids, 1, (int64_t)r->o->n), .site = at_site, .site_self = r};
    if (r->o->types != NULL) run.types = asc_from_i32(m->ctx, ASC_SHAPE(1, (int64_t)r->o->n), r->o->types);
    asc_tensor *hidden = asc_encoder_hidden(m->encoder, &run);
    for (size_t i = 0; i < r->o->n_read; i++) {
        if (pooled(r, &r->reads[i])) r->reads[i].got = asc_encoder_embedding(m->encoder, hidden, NULL);
    }
    if (r->o->head == ASC_RUN_CLASSES) return asc_encoder_classes(m->encoder, hidden, NULL);
    return r->o->head == ASC_RUN_EMBEDDING ? asc_encoder_embedding(m->encoder, hidden, NULL) : NULL;
}

/* ---- what comes out ---- */

/* Computes t and copies it, without the axis of the one text. */
static asc_status read_out(model_run *r, asc_tensor *t, const char *what, asc_array *out) {
    asc_ctx *ctx = r->m->ctx;
    const bool wide = asc_exec_device(ctx) == &asc_device_reference;
    const size_t n = (size_t)asc_tensor_elems(t);
    asc_shape shape = {.rank = t->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = t->shape.dims[i + 1];
    void *data = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, wide ? sizeof(double) : sizeof(float));
    if (data == NULL) return ASC_RESOURCE_EXHAUSTED;
    *out = (asc_array){.elem = wide ? ASC_ELEM_F64 : ASC_ELEM_F32, .shape = shape, .data = data};
    asc_status st = wide ? asc_read_f64(ctx, t, data, n) : asc_read_f32(ctx, t, data, n);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        double v = wide ? ((double *)data)[i] : (double)((float *)data)[i];
        if (isfinite(v)) continue;
        if (r->o->n_patches == 0) return asc_model_explain_nan(r->m, what);
        ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "%s is not a finite number with these values in place", what);
        return asc_hint(ctx, "the values put in place are too large for f32; try the reference device");
    }
    return st;
}

static asc_status run_and_read(model_run *r, asc_tensor **all, asc_array *out_values, asc_array *out_head) {
    asc_ctx *ctx = r->m->ctx;
    const asc_model_run_options *o = r->o;
    r->pos = asc_cast(ctx, asc_iota(ctx, (int64_t)o->n, 0.0, 1.0), ASC_DTYPE_I32);
    asc_tensor *head = r->m->kind == ASC_MODEL_ENCODER ? run_encoder(r) : run_decoder(r);
    size_t n = 0;
    if (r->poisoned || (head != NULL && asc_tensor_poisoned(head))) return ASC_OK; /* the scope knows */
    for (size_t i = 0; i < o->n_read + o->n_patches; i++) {
        const place *p = i < o->n_read ? &r->reads[i] : &r->patches[i - o->n_read];
        const char *name = i < o->n_read ? o->read[i] : o->patches[i - o->n_read].site;
        if (p->got == NULL) {
            ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "this model never comes to site '%s'", name);
            return asc_hint(ctx, "a mixture of experts has no mlp.act: its tokens go to different neurons");
        }
        if (i < o->n_read) all[n++] = p->got;
    }
    if (o->head != ASC_RUN_NOTHING) all[n++] = head;
    if (n == 0) return ASC_OK;
    asc_status st = asc_run(ctx, all, n);
    for (size_t i = 0; st == ASC_OK && i < o->n_read; i++)
        st = read_out(r, all[i], o->read[i], &out_values[i]);
    if (st == ASC_OK && o->head != ASC_RUN_NOTHING) st = read_out(r, head, "what the head gives", out_head);
    return st;
}

asc_status asc_model_run(asc_model *m, const asc_model_run_options *opts, asc_array *out_values,
                         asc_array *out_head) {
    asc_ctx *ctx = m->ctx;
    asc_status st = ASC_OK;
    asc_tensor **all = NULL;
    asc_model_run_options o = {0};
    model_run r = {.m = m, .o = &o};
    if (opts == NULL || opts->struct_size < sizeof o || opts->n_read > MAX_SITES ||
        opts->n_patches > MAX_SITES)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "run: options are missing, or more than %d sites",
                        MAX_SITES);
    o = *opts;
    for (size_t i = 0; i < o.n_read; i++) out_values[i] = (asc_array){0};
    if (out_head != NULL) *out_head = (asc_array){0};
    if (o.head != ASC_RUN_NOTHING && out_head == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "run: a head is asked for, but there is no place for it");
    asc_scope_begin(ctx);
    r.reads = asc_calloc(ctx, ASC_MEM_GENERAL, o.n_read + o.n_patches + 1, sizeof *r.reads);
    all = asc_calloc(ctx, ASC_MEM_GENERAL, o.n_read + 2, sizeof(asc_tensor *));
    r.edits.v = asc_calloc(ctx, ASC_MEM_GENERAL, o.n_patches + 1, sizeof *r.edits.v);
    if (r.reads == NULL || all == NULL || r.edits.v == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    r.patches = r.reads + o.n_read;
    ASC_TRY(check(&r));
    st = run_and_read(&r, all, out_values, out_head);
done:
    st = asc_scope_close(ctx, st);
    for (size_t i = 0; st != ASC_OK && i < o.n_read; i++) asc_array_free(ctx, &out_values[i]);
    if (st != ASC_OK && out_head != NULL) asc_array_free(ctx, out_head);
    asc_site_edits_deinit(ctx, &r.edits);
    asc_free(ctx, r.reads);
    asc_free(ctx, all);
    return st;
}
