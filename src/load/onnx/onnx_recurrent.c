/* onnx_recurrent.c - the loop of the recurrent operators over directions and steps; see onnx_recurrent.h.
 * Rows whose sequence has ended keep their state and give zeros. */
#include "onnx_recurrent.h"

/* Lower-case copy of a name. */
static asc_view lower(asc_onnx_call *c, asc_view v) {
    char *s = asc_onnx_memory(c, v.len, 1);
    for (size_t i = 0; s != NULL && i < v.len; i++)
        s[i] = (char)(v.ptr[i] >= 'A' && v.ptr[i] <= 'Z' ? v.ptr[i] + 32 : v.ptr[i]);
    return asc_view_make(s, s != NULL ? v.len : 0);
}

/* Activations that take numbers, and these where the lists have none; the lists hold numbers of these only.
 */
typedef struct takes {
    const char *name;
    bool both; /* alpha and beta, else alpha */
    double alpha, beta;
} takes;

static const takes *takes_of(asc_view name) {
    static const takes all[] = {{"leakyrelu", false, 0.01, 0.0},      {"elu", false, 1.0, 0.0},
                                {"thresholdedrelu", false, 1.0, 0.0}, {"hardsigmoid", true, 0.2, 0.5},
                                {"affine", true, 1.0, 0.0},           {"scaledtanh", true, 1.0, 1.0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (asc_view_eqs(name, all[i].name)) return &all[i];
    return NULL;
}

static void read_activations(asc_onnx_call *c, asc_onnx_rnn *r, const char *const *acts) {
    const asc_onnx_attr *names = asc_onnx_attr_find(c, "activations");
    const asc_onnx_attr *alpha = asc_onnx_attr_find(c, "activation_alpha");
    const asc_onnx_attr *beta = asc_onnx_attr_find(c, "activation_beta");
    size_t a = 0, b = 0;
    for (int i = 0; i < r->n_acts * r->n_dirs; i++) {
        asc_onnx_rnn_act *f = &r->act[i];
        bool given = names != NULL && (size_t)i < names->n && names->strings != NULL;
        f->name = given ? lower(c, names->strings[i]) : asc_view_of(acts[i % r->n_acts]);
        const takes *t = takes_of(f->name);
        f->alpha = t != NULL ? t->alpha : 1.0;
        f->beta = t != NULL ? t->beta : 0.0;
        if (t != NULL && alpha != NULL && alpha->floats != NULL && a < alpha->n)
            f->alpha = alpha->floats[a++];
        if (t != NULL && t->both && beta != NULL && beta->floats != NULL && b < beta->n)
            f->beta = beta->floats[b++];
    }
}

/* t without its dimension `axis` of 1 (after a slice), or with one more. */
static asc_tensor *drop(asc_onnx_call *c, asc_tensor *t, int axis) {
    asc_shape s = t->shape;
    if (asc_tensor_poisoned(t)) return t;
    for (int i = axis; i + 1 < s.rank; i++) s.dims[i] = s.dims[i + 1];
    s.rank--;
    return asc_reshape(c->ctx, t, s);
}

static asc_tensor *part(asc_onnx_call *c, asc_tensor *t, int axis, int64_t at) {
    return drop(c, asc_slice(c->ctx, t, axis, at, 1), axis);
}

/* Input i's part of this direction, or NULL when it is left out. */
static asc_tensor *of_direction(asc_onnx_call *c, const asc_onnx_rnn *r, size_t i, int axis) {
    return asc_onnx_has(c, i) ? part(c, asc_onnx_t(c, i), axis, r->dir) : NULL;
}

static asc_tensor *initial(asc_onnx_call *c, const asc_onnx_rnn *r, size_t i, bool batch_first) {
    asc_tensor *t = of_direction(c, r, i, batch_first ? 1 : 0);
    return t != NULL ? t : asc_full(c->ctx, ASC_SHAPE(r->batch, r->hidden), 0.0);
}

/* 1 for rows whose sequence is longer than t, as [B,1]; NULL when all are. */
static asc_tensor *mask(asc_onnx_call *c, const asc_onnx_rnn *r, const double *lens, int64_t t) {
    bool all = true;
    double *m = lens != NULL ? asc_onnx_memory(c, (size_t)r->batch + 1, sizeof *m) : NULL;
    for (int64_t b = 0; m != NULL && b < r->batch; b++) {
        m[b] = lens[b] > (double)t;
        all = all && m[b] != 0.0;
    }
    return m == NULL || all ? NULL : asc_from_f64(c->ctx, ASC_SHAPE(r->batch, 1), m);
}

static asc_tensor *masked(asc_onnx_call *c, asc_tensor *m, asc_tensor *fresh, asc_tensor *old) {
    return m == NULL ? fresh : asc_where(c->ctx, m, fresh, old);
}

/* One direction: ys[t] [B,H] in the order of time, and the last state. x is [T,B,I]. */
static void run_direction(asc_onnx_call *c, asc_onnx_rnn *r, asc_tensor *x, const double *lens, bool backward,
                          bool batch_first, asc_tensor **ys, asc_onnx_rnn_state *s) {
    asc_ctx *ctx = c->ctx;
    int64_t g = r->gates * r->hidden;
    asc_tensor *bias = of_direction(c, r, 3, 0);
    r->w_rec = of_direction(c, r, 2, 0);
    if (r->w_rec == NULL) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no recurrent weights");
        return;
    }
    r->bias_rec = bias != NULL ? asc_slice(ctx, bias, 0, g, g) : NULL;
    r->peephole = r->has_cell ? of_direction(c, r, 7, 0) : NULL;
    s->h = initial(c, r, 5, batch_first);
    s->c = r->has_cell ? initial(c, r, 6, batch_first) : NULL;
    asc_tensor *w = of_direction(c, r, 1, 0), *zero = asc_full(ctx, ASC_SHAPE(r->batch, r->hidden), 0.0);
    asc_tensor *xw = asc_matmul(ctx, x, w, false, true);
    if (bias != NULL) xw = asc_add(ctx, xw, asc_slice(ctx, bias, 0, 0, g));
    for (int64_t k = 0; k < r->steps && c->st == ASC_OK; k++) {
        int64_t t = backward ? r->steps - 1 - k : k;
        asc_onnx_rnn_state old = *s;
        asc_tensor *m = mask(c, r, lens, t);
        r->cell(c, r, part(c, xw, 0, t), s);
        ys[t] = masked(c, m, s->h, zero);
        s->h = masked(c, m, s->h, old.h);
        if (r->has_cell) s->c = masked(c, m, s->c, old.c);
    }
}

/* [B,H] tensors of n positions as one [n,B,H] (or, batch first, [B,n,H]). */
static asc_tensor *stack(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor **ts, int64_t n, int axis) {
    asc_tensor **u = asc_onnx_memory(c, (size_t)n + 1, sizeof(asc_tensor *));
    asc_shape s = axis == 0 ? ASC_SHAPE(1, r->batch, r->hidden) : ASC_SHAPE(r->batch, 1, r->hidden);
    if (u == NULL) return ts[0];
    for (int64_t i = 0; i < n; i++) u[i] = asc_reshape(c->ctx, ts[i], s);
    return asc_concat_many(c->ctx, u, (size_t)n, axis);
}

/* Y: [T,D,B,H], batch first [B,T,D,H], from ys[d T + t]. */
static asc_tensor *all_steps(asc_onnx_call *c, const asc_onnx_rnn *r, asc_tensor **ys, bool batch_first) {
    asc_tensor *dirs[2];
    int axis = batch_first ? 1 : 0, dir_axis = batch_first ? 2 : 1;
    for (int d = 0; d < r->n_dirs; d++) {
        asc_tensor *t = stack(c, r, ys + d * r->steps, r->steps, axis);
        asc_shape s = {.rank = 4};
        s.dims[0] = batch_first ? r->batch : r->steps;
        s.dims[1] = batch_first ? r->steps : 1;
        s.dims[2] = batch_first ? 1 : r->batch;
        s.dims[3] = r->hidden;
        dirs[d] = asc_reshape(c->ctx, t, s);
    }
    return asc_concat_many(c->ctx, dirs, (size_t)r->n_dirs, dir_axis);
}

static asc_status check(asc_onnx_call *c, asc_onnx_rnn *r) {
    asc_shape x = asc_onnx_shape(c, 0), w = asc_onnx_shape(c, 1), rec = asc_onnx_shape(c, 2);
    if (x.rank != 3 || w.rank != 3 || rec.rank != 3)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "X, W and R need 3 dimensions");
    bool batch_first = asc_onnx_attr_int(c, "layout", 0) != 0;
    r->steps = x.dims[batch_first ? 1 : 0];
    r->batch = x.dims[batch_first ? 0 : 1];
    r->hidden = rec.dims[2];
    r->n_dirs = asc_onnx_attr_is(c, "direction", "forward", "bidirectional") ? 2 : 1;
    if (w.dims[0] != r->n_dirs || w.dims[1] != r->gates * r->hidden || w.dims[2] != x.dims[2] ||
        r->hidden < 1)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "W of [%lld,%lld,%lld] does not fit X and R",
                             (long long)w.dims[0], (long long)w.dims[1], (long long)w.dims[2]);
    if (r->steps < 1 || r->steps > 1 << 16)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "%lld steps", (long long)r->steps);
    if (asc_onnx_has(c, 4) && asc_shape_elems(&asc_onnx_in(c, 4)->shape) != r->batch)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "sequence_lens of another batch");
    return c->st;
}

asc_status asc_onnx_recurrent(asc_onnx_call *c, const asc_onnx_rnn *from, const char *const *acts) {
    asc_onnx_rnn r = *from;
    asc_status st = check(c, &r);
    if (st != ASC_OK) return st;
    bool batch_first = asc_onnx_attr_int(c, "layout", 0) != 0;
    bool reverse = asc_onnx_attr_is(c, "direction", "forward", "reverse");
    r.clip = asc_onnx_attr_float(c, "clip", 0.0);
    r.linear_before_reset = asc_onnx_attr_int(c, "linear_before_reset", 0) != 0;
    r.input_forget = asc_onnx_attr_int(c, "input_forget", 0) != 0;
    read_activations(c, &r, acts);
    const double *lens = asc_onnx_has(c, 4) ? asc_onnx_doubles(c, 4) : NULL;
    asc_tensor *x = asc_onnx_t(c, 0);
    if (batch_first) x = asc_transpose(c->ctx, x, 3, (int[]){1, 0, 2});
    asc_tensor **ys = asc_onnx_memory(c, (size_t)(r.n_dirs * r.steps), sizeof(asc_tensor *));
    asc_tensor *hs[2], *cs[2];
    if (ys == NULL || c->st != ASC_OK) return c->st;
    for (r.dir = 0; r.dir < r.n_dirs; r.dir++) {
        asc_onnx_rnn_state s;
        run_direction(c, &r, x, lens, reverse || r.dir == 1, batch_first, ys + r.dir * r.steps, &s);
        if (c->st != ASC_OK) return c->st;
        hs[r.dir] = s.h;
        cs[r.dir] = s.c;
    }
    int axis = batch_first ? 1 : 0;
    if (asc_onnx_wants(c, 0)) asc_onnx_set_like(c, 0, all_steps(c, &r, ys, batch_first));
    if (asc_onnx_wants(c, 1)) asc_onnx_set_like(c, 1, stack(c, &r, hs, r.n_dirs, axis));
    if (r.has_cell && asc_onnx_wants(c, 2)) asc_onnx_set_like(c, 2, stack(c, &r, cs, r.n_dirs, axis));
    return c->st;
}
