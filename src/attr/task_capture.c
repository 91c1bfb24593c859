/* task_capture.c - passes in compiled mode: recorded once, kept, and run again by filling their leaves.
 *
 * A pass is known by what decides which ops it records: the net, the shapes and types of its inputs, how many
 * rows, what is wanted of them, the target's kind and the rules. Everything else that it reads from the
 * request or from rows is in leaves that were listed while it was recorded. A pass is recorded anew each time
 * when its rules keep state of their own, or when the net looked at a value that such a leaf decides: those
 * are counted (asc_exec_stats.refused_captures). */
#include "compiled.h"
#include "grad.h"
#include "task_parts.h"
#include <string.h>

asc_tensor *asc_task_leaf(asc_task *t, asc_tensor *leaf, asc_leaf_kind kind, size_t which) {
    asc_leaf_list *l = t->leaves;
    if (l == NULL || leaf->poison != ASC_OK) return leaf;
    if (asc_grow(t->ctx, ASC_MEM_PROGRAM, (void **)&l->leaves, &l->cap_leaves, l->n + 1, sizeof *l->leaves) !=
            ASC_OK ||
        asc_grow(t->ctx, ASC_MEM_PROGRAM, (void **)&l->tensors, &l->cap_tensors, l->n + 1,
                 sizeof *l->tensors) != ASC_OK)
        return asc_graph_poison(asc_graph_of(t->ctx));
    asc_capture_param(leaf);
    l->leaves[l->n] = (asc_leaf){.kind = kind, .which = (uint32_t)which, .partner = l->partner};
    l->tensors[l->n++] = leaf;
    return leaf;
}

void asc_pass_capture_deinit(asc_pass_run *r) {
    asc_free(r->t->ctx, r->leaves.leaves);
    asc_free(r->t->ctx, r->leaves.tensors);
    asc_free(r->t->ctx, r->key);
    asc_free(r->t->ctx, r->scratch);
}

/* ---- the key ---- */

static asc_status put(asc_pass_run *r, const void *words, size_t bytes) {
    size_t n = (bytes + 7) / 8;
    asc_status st =
        asc_grow(r->t->ctx, ASC_MEM_PROGRAM, (void **)&r->key, &r->cap_key, r->n_key + n, sizeof *r->key);
    if (st != ASC_OK || n == 0) return st;
    r->key[r->n_key + n - 1] = 0;
    memcpy(r->key + r->n_key, words, bytes);
    r->n_key += n;
    return ASC_OK;
}

static asc_status put_target(asc_pass_run *r) {
    const asc_aim *a = r->aim;
    const asc_target *w = a->want;
    size_t each = w->n_rows > 0 ? (size_t)w->rank * sizeof *w->index : 0;
    int64_t kind[] = {a->site, (int64_t)w->transform, w->n_rows > 1 ? 2 : (int64_t)w->n_rows,
                      w->rank, w->versus != NULL,     w->weights == NULL ? 0 : w->weight_rows == 1 ? 1 : 2};
    asc_status st = put(r, kind, sizeof kind);
    if (st == ASC_OK && w->n_rows == 1) st = put(r, w->index, each); /* one index is part of the program */
    if (st == ASC_OK && w->n_rows == 1 && w->versus != NULL) st = put(r, w->versus, each);
    return st;
}

static asc_status put_inputs(asc_pass_run *r) {
    const asc_task *t = r->t;
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < t->net->n_inputs; i++) {
        const asc_feed *f = &t->feeds[i];
        int64_t words[3 + ASC_MAX_RANK] = {(int64_t)f->given.elem, f->given.shape.rank, f->moving};
        memcpy(words + 3, f->given.shape.dims, (size_t)f->given.shape.rank * sizeof *words);
        if (t->batched && t->net->inputs[i].batch) words[3] = 0; /* passes count their rows themselves */
        st = put(r, words, (3 + (size_t)f->given.shape.rank) * sizeof *words);
    }
    for (size_t k = 0; st == ASC_OK && t->at_sites && k < t->n_at; k++)
        st = put(r, &t->at[k].site, sizeof t->at[k].site);
    return st;
}

/* All but the number of rows, which is the last word. */
static asc_status make_key(asc_pass_run *r) {
    const asc_task *t = r->t;
    const asc_pass *p = r->p;
    const asc_grad_rules *g = p->rules;
    int64_t kind[] = {p->replace_sites + 2 * p->want_values + 4 * p->want_gradients +
                          8 * (p->partner_rows != NULL) + 16 * (p->partner_f != NULL) + 32 * t->batched +
                          64 * t->at_sites + 128 * (t->copies > 1),
                      (int64_t)asc_graph_of(t->ctx)->level, (int64_t)t->n_at, (int64_t)t->net->n_inputs,
                      g != NULL ? (int64_t)g->n_key : -1};
    r->n_key = 0;
    asc_status st = put(r, kind, sizeof kind);
    if (st == ASC_OK && g != NULL) st = put(r, g->key, g->n_key);
    if (st == ASC_OK) st = put_inputs(r);
    if (st == ASC_OK) st = put_target(r);
    r->n_key_base = r->n_key;
    return st;
}

/* ---- what is kept with a capture ---- */

/* Shapes that recording would have taught, then the leaves. */
typedef struct note {
    asc_shape row;
    size_t n_leaves, n_at;
    asc_shape at[]; /* [n_at], then asc_leaf [n_leaves] */
} note;

static const asc_leaf *leaves_of(const note *n) { return (const asc_leaf *)(n->at + n->n_at); }

static asc_status learn(asc_pass_run *r, const note *n) {
    asc_task *t = r->t;
    for (size_t k = 0; t->at_sites && k < t->n_at; k++) {
        if (t->at[k].size > 0) continue;
        t->at[k].shape = n->at[k];
        t->at[k].size = (size_t)asc_shape_elems(&n->at[k]);
    }
    return r->aim->resolved ? ASC_OK : asc_aim_resolve(t, r->aim, &n->row);
}

static note *make_note(const asc_pass_run *r, size_t n_leaves, size_t *bytes) {
    const asc_task *t = r->t;
    *bytes = sizeof(note) + t->n_at * sizeof(asc_shape) + n_leaves * sizeof(asc_leaf);
    note *n = asc_calloc(t->ctx, ASC_MEM_PROGRAM, 1, *bytes);
    if (n == NULL) return NULL;
    n->row = r->aim->row;
    n->n_leaves = n_leaves;
    n->n_at = t->n_at;
    for (size_t k = 0; k < t->n_at; k++) n->at[k] = t->at[k].shape;
    if (n_leaves > 0) memcpy(n->at + n->n_at, r->leaves.leaves, n_leaves * sizeof(asc_leaf));
    return n;
}

static asc_status keep(asc_pass_run *r, asc_capture **out) {
    asc_ctx *ctx = r->t->ctx;
    size_t bytes;
    note *n = make_note(r, r->leaves.n, &bytes);
    if (n == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_capture_make(ctx, r->t->net, r->key, r->n_key * sizeof *r->key, r->leaves.tensors,
                                     r->leaves.n, r->outs, r->n_outs, n, bytes, out);
    asc_free(ctx, n);
    return st;
}

/* The word of keys under which shapes are kept, in the place of the number of rows. */
static const int64_t SHAPES_ONLY = -1;

asc_status asc_pass_recall(asc_pass_run *r, bool *known) {
    asc_ctx *ctx = r->t->ctx;
    size_t bytes;
    *known = false;
    if (!asc_exec_compiles(ctx)) return ASC_OK;
    asc_status st = make_key(r);
    if (st == ASC_OK) st = put(r, &SHAPES_ONLY, sizeof SHAPES_ONLY);
    if (st != ASC_OK) return st;
    const asc_capture *c = asc_capture_find(ctx, r->t->net, r->key, r->n_key * sizeof *r->key);
    if (c == NULL) return ASC_OK;
    *known = true;
    return learn(r, asc_capture_note_of(c, &bytes));
}

/* n_out's pass, recorded and thrown away: what it taught is kept unless the net looked at values. */
asc_status asc_pass_learn(asc_pass_run *r) {
    asc_task *t = r->t;
    asc_ctx *ctx = t->ctx;
    bool keeps = asc_exec_compiles(ctx);
    asc_scope_begin(ctx);
    if (keeps) asc_capture_begin(ctx, false);
    t->leaves = keeps ? &r->leaves : NULL;
    asc_status st = asc_task_record(t, r->p, r->p->rows, r->aim, 0, 1, &r->rec);
    t->leaves = NULL;
    bool fixed = keeps && asc_capture_end(ctx) == NULL;
    st = asc_scope_close(ctx, st);
    if (st != ASC_OK || !fixed) return st;
    size_t n = 0;
    note *kept = make_note(r, 0, &n);
    if (kept == NULL) return ASC_RESOURCE_EXHAUSTED;
    st = asc_capture_note(ctx, t->net, r->key, r->n_key * sizeof *r->key, kept, n);
    asc_free(ctx, kept);
    return st;
}

/* Records the pass and keeps it; *out NULL = it cannot be kept. */
static asc_status capture(asc_pass_run *r, size_t first, size_t n, asc_capture **out) {
    asc_task *t = r->t;
    asc_ctx *ctx = t->ctx;
    *out = NULL;
    r->leaves.n = 0;
    asc_scope_begin(ctx);
    asc_capture_begin(ctx, false);
    t->leaves = &r->leaves;
    asc_status st = asc_pass_record(r, first, n);
    t->leaves = NULL;
    bool fixed = asc_capture_end(ctx) == NULL;
    if (st == ASC_OK) st = asc_graph_take_error(asc_graph_of(ctx));
    if (st == ASC_OK && fixed) st = keep(r, out);
    if (st == ASC_OK && !fixed)
        st = asc_capture_note(ctx, t->net, r->key, r->n_key * sizeof *r->key, NULL, 0);
    return asc_scope_close(ctx, st);
}

/* ---- filling ---- */

static asc_status scratch(asc_pass_run *r, size_t n) {
    return asc_grow(r->t->ctx, ASC_MEM_SCRATCH, (void **)&r->scratch, &r->cap_scratch, n, sizeof *r->scratch);
}

/* n numbers in r->scratch as elements at.. of leaf k; integers as the recorded pass makes them. */
static asc_status write(asc_pass_run *r, asc_capture *c, size_t k, size_t at, size_t n, bool floats,
                        const char *name) {
    asc_ctx *ctx = r->t->ctx;
    if (floats) {
        float *to = asc_capture_floats(ctx, c, k);
        for (size_t i = 0; to != NULL && i < n; i++) to[at + i] = (float)r->scratch[i];
        if (to == NULL) asc_capture_write(ctx, c, k, (int64_t)at, ASC_DTYPE_F64, r->scratch, (int64_t)n);
        return ASC_OK;
    }
    int32_t *whole =
        (int32_t *)(void *)r->scratch; /* shorter elements: each is read before it is overwritten */
    for (size_t i = 0; i < n; i++) {
        double v;
        memcpy(&v, (const char *)r->scratch + i * sizeof v, sizeof v);
        if (!(v >= -2147483648.0 && v <= 2147483647.0))
            return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "input '%.60s': %.17g does not fit 32 bits", name, v);
        int32_t w = (int32_t)v;
        memcpy((char *)whole + i * sizeof w, &w, sizeof w);
    }
    asc_capture_write(ctx, c, k, (int64_t)at, ASC_DTYPE_I32, whole, (int64_t)n);
    return ASC_OK;
}

static asc_status fill_rows(asc_pass_run *r, asc_capture *c, size_t k, const asc_rows *rows, const asc_var *v,
                            size_t var, size_t first, size_t n) {
    bool floats = asc_elem_is_float(v->elem);
    asc_status st = scratch(r, v->size + 1);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        rows->fill(rows->self, first + i, var, r->scratch);
        st = write(r, c, k, i * v->size, v->size, floats, v->name);
    }
    return st;
}

/* The net's input as the request gives it: as a whole, or each row's example. */
static asc_status fill_input(asc_pass_run *r, asc_capture *c, size_t k, size_t input, const asc_rows *rows,
                             size_t first, size_t n) {
    const asc_task *t = r->t;
    const asc_array *a = &t->feeds[input].given;
    const char *name = t->net->inputs[input].name;
    bool floats = asc_elem_is_float(a->elem), whole = !t->batched || !t->net->inputs[input].batch;
    size_t count = (size_t)asc_array_count(a), each = whole ? count : count / (t->n / t->copies);
    asc_status st = scratch(r, each + 1);
    for (size_t i = 0; st == ASC_OK && i < (whole ? 1 : n); i++) {
        size_t e = whole ? 0 : asc_rows_example(t, rows, first + i);
        asc_array_get(a, (int64_t)(e * each), (int64_t)each, r->scratch);
        st = write(r, c, k, i * each, each, floats, name);
    }
    return st;
}

static asc_status fill_leaf(asc_pass_run *r, asc_capture *c, size_t k, const asc_leaf *l, size_t first,
                            size_t n) {
    asc_task *t = r->t;
    const asc_rows *rows = l->partner ? r->p->partner_rows : r->p->rows;
    asc_status st;
    switch (l->kind) {
    case ASC_LEAF_ROWS:
        return fill_rows(r, c, k, rows, r->p->replace_sites ? &t->at[l->which] : &t->in[l->which], l->which,
                         first, n);
    case ASC_LEAF_OWN: {
        asc_own_values own = {.t = t, .rows = rows};
        asc_rows copies = {.n = rows->n, .self = &own, .fill = asc_rows_own};
        return fill_rows(r, c, k, &copies, &t->in[l->which], l->which, first, n);
    }
    case ASC_LEAF_INPUT:
        return fill_input(r, c, k, l->which, rows, first, n);
    case ASC_LEAF_INDEX:
    case ASC_LEAF_VERSUS:
        st = scratch(r, n + 1);
        if (st != ASC_OK) return st;
        asc_aim_index(t, r->aim, l->kind == ASC_LEAF_VERSUS, rows, first, n, (int32_t *)(void *)r->scratch);
        asc_capture_write(t->ctx, c, k, 0, ASC_DTYPE_I32, r->scratch, (int64_t)n);
        return ASC_OK;
    case ASC_LEAF_WEIGHTS:
        st = scratch(r, r->aim->row_elems + 1);
        for (size_t i = 0; st == ASC_OK && i < (r->aim->want->weight_rows == 1 ? 1 : n); i++) {
            asc_aim_weights(t, r->aim, rows, first + i, r->scratch);
            st = write(r, c, k, i * r->aim->row_elems, r->aim->row_elems, true, "weights");
        }
        return st;
    }
    return ASC_OK;
}

/* In the order in which asc_pass_record lists the outputs. */
static asc_status read_back(asc_pass_run *r, const asc_capture *c, size_t first, size_t n) {
    const asc_task *t = r->t;
    const asc_pass *p = r->p;
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    size_t o = 0;
    ASC_TRY(asc_capture_read_f64(ctx, c, o++, r->f, n * r->aim->n_out));
    if (p->partner_f != NULL) ASC_TRY(asc_capture_read_f64(ctx, c, o++, p->partner_f + first, n));
    for (size_t k = 0; k < t->n_at; k++) {
        size_t m = n * t->at[k].size;
        if (p->want_values) ASC_TRY(asc_capture_read_f64(ctx, c, o++, r->y[k], m));
        if (r->y0[k] != NULL) ASC_TRY(asc_capture_read_f64(ctx, c, o++, r->y0[k], m));
        if (p->want_gradients) ASC_TRY(asc_capture_read_f64(ctx, c, o++, r->g[k], m));
    }
done:
    return st;
}

static bool can_keep(const asc_pass *p) {
    const asc_grad_rules *g = p->rules;
    return g == NULL || (g->key != NULL && g->watched == NULL && g->after == NULL);
}

asc_status asc_pass_captured(asc_pass_run *r, size_t first, size_t n, bool *ran) {
    asc_ctx *ctx = r->t->ctx;
    asc_status st = ASC_OK;
    size_t bytes;
    *ran = false;
    if (!asc_exec_compiles(ctx)) return ASC_OK;
    if (!can_keep(r->p)) {
        asc_capture_count_refused(ctx, r->p->rules->name);
        return ASC_OK;
    }
    if (r->n_key_base == 0) ASC_TRY(make_key(r));
    r->n_key = r->n_key_base;
    int64_t rows = (int64_t)n;
    ASC_TRY(put(r, &rows, sizeof rows));
    asc_capture *c = asc_capture_find(ctx, r->t->net, r->key, r->n_key * sizeof *r->key);
    bool made = c == NULL;
    if (made) ASC_TRY(capture(r, first, n, &c));
    if (c == NULL || !asc_capture_runs(c)) {
        asc_capture_count_refused(ctx, "the net looks at values that its inputs decide");
        return ASC_OK;
    }
    const note *kept = asc_capture_note_of(c, &bytes);
    ASC_TRY(learn(r, kept));
    for (size_t k = 0; !made && k < kept->n_leaves; k++) /* a new one holds its values already */
        ASC_TRY(fill_leaf(r, c, k, &leaves_of(kept)[k], first, n));
    if (r->f == NULL) ASC_TRY(asc_pass_make_buffers(r, n));
    ASC_TRY(asc_capture_run(ctx, c));
    ASC_TRY(read_back(r, c, first, n));
    *ran = true;
done:
    return st;
}
