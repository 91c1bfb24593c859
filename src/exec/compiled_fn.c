/* compiled_fn.c - asc_compile: users' functions as captures, one for each signature; see ascribe/compile.h.
 */
#include "compiled_fn.h"
#include "capture_parts.h"
#include <string.h>

asc_status asc_compile(asc_ctx *ctx, const asc_compile_def *def, asc_compiled **out) {
    *out = NULL;
    if (def == NULL || def->struct_size != sizeof *def)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "compile: the definition's struct_size is not that of this library");
    if (def->fn == NULL || def->n_out == 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "compile: a function needs code and at least one output");
    return asc_compiled_create(ctx, def, out);
}

asc_status asc_compiled_create(asc_ctx *ctx, const asc_compile_def *def, asc_compiled **out) {
    *out = NULL;
    asc_compiled *c = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *c);
    if (c == NULL) return ASC_RESOURCE_EXHAUSTED;
    c->ctx = ctx;
    c->def = *def;
    strncpy(c->name, def->name != NULL ? def->name : "function", sizeof c->name - 1);
    c->def.name = c->name;
    c->key = asc_calloc(ctx, ASC_MEM_PROGRAM, def->n_in + 1, (2 + ASC_MAX_RANK) * sizeof *c->key);
    c->ins = asc_calloc(ctx, ASC_MEM_PROGRAM, def->n_in + 1, sizeof(asc_tensor *));
    c->outs = asc_calloc(ctx, ASC_MEM_PROGRAM, def->n_out + 1, sizeof(asc_tensor *));
    c->other = asc_calloc(ctx, ASC_MEM_PROGRAM, def->n_scalars + 1, sizeof *c->other);
    if (c->key == NULL || c->ins == NULL || c->outs == NULL || c->other == NULL) {
        asc_compiled_destroy(c);
        return ASC_RESOURCE_EXHAUSTED;
    }
    *out = c;
    return ASC_OK;
}

void asc_compiled_destroy(asc_compiled *c) {
    if (c == NULL) return;
    asc_capture_forget(c->ctx, c);
    for (size_t i = 0; i < c->n_loaded; i++) asc_capture_destroy(c->ctx, c->loaded[i]);
    asc_free(c->ctx, c->loaded);
    asc_free(c->ctx, c->key);
    asc_free(c->ctx, c->ins);
    asc_free(c->ctx, c->outs);
    asc_free(c->ctx, c->other);
    asc_free(c->ctx, c);
}

void asc_compiled_counts(const asc_compiled *c, uint64_t *recorded, uint64_t *run) {
    *recorded = c->recorded;
    *run = c->run;
}

/* Leaves that stand for the inputs while the function is recorded. */
static asc_status stand_ins(asc_compiled *c, asc_tensor *const *in) {
    for (size_t i = 0; i < c->def.n_in; i++) {
        asc_tensor *t = asc_graph_node(asc_graph_of(c->ctx));
        if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
        t->dtype = in[i]->dtype;
        t->shape = in[i]->shape;
        t->label = NULL;
        t->buf = in[i]->buf;
        asc_buffer_retain(t->buf);
        asc_capture_param(t);
        c->ins[i] = t;
    }
    return ASC_OK;
}

/* Calls the function; its outputs are in c->outs. */
static asc_status record(asc_compiled *c, asc_tensor *const *in, const double *scalars) {
    asc_ctx *ctx = c->ctx;
    asc_status st = stand_ins(c, in);
    if (st != ASC_OK) return st;
    memset(c->outs, 0, c->def.n_out * sizeof *c->outs);
    asc_capture_begin(ctx, true);
    c->def.fn(ctx, c->def.self, c->ins, scalars, c->outs);
    asc_error said = ctx->error;
    const char *read = asc_capture_end(ctx);
    st = asc_graph_take_error(asc_graph_of(ctx));
    c->recorded++;
    if (read != NULL) {
        ctx->error = said;
        if (said.code != ASC_FAILED_PRECONDITION || strncmp(said.message, "compile:", 8) != 0)
            ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                     "compile: the function reads the value of '%s', which its inputs decide", read);
        st = ASC_FAILED_PRECONDITION;
    }
    if (st != ASC_OK) {
        asc_fail_context(ctx, "%s", c->name);
        return st;
    }
    for (size_t i = 0; i < c->def.n_out; i++) {
        if (c->outs[i] == NULL)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: output %zu was not set", c->name, i);
        if (c->outs[i]->poison != ASC_OK)
            return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                            "%s: output %zu is of a computation that failed before", c->name, i);
    }
    return ASC_OK;
}

/* Which scalar of the function each run-time scalar of the executable is: -1 = a constant. Found by recording
 * a second time with other scalars. The first recording is what the room holds. */
static asc_status find_scalars(asc_compiled *c, asc_tensor *const *in, const double *scalars,
                               const asc_exe *e, int32_t *which) {
    asc_ctx *ctx = c->ctx;
    asc_cut_room *r = &asc_runtime_of(ctx)->room;
    asc_status st = ASC_OK;
    size_t n_key = r->n_key;
    uint64_t *key = asc_calloc(ctx, ASC_MEM_PROGRAM, n_key + 1, sizeof *key);
    if (key == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(key, r->key, n_key * sizeof *key);
    for (size_t k = 0; k < c->def.n_scalars; k++) c->other[k] = 1.618 * scalars[k] + 0.7131 * (double)(k + 1);
    asc_scope_begin(ctx);
    st = record(c, in, c->other);
    if (st == ASC_OK) st = asc_cut_collect(ctx, c->outs, c->def.n_out);
    if (st == ASC_OK && (r->n_key != n_key || memcmp(r->key, key, n_key * sizeof *key) != 0))
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: other scalars make it record other ops", c->name);
    for (size_t i = 0; st == ASC_OK && i < e->n_scalars; i++) {
        const asc_exe_scalar *s = &e->scalars[i];
        double a = e->program.nodes[s->node].attrs.f[s->slot], b = r->nodes[s->from]->attrs.f[s->slot];
        which[i] = -1;
        if (memcmp(&a, &b, sizeof a) == 0) continue;
        for (size_t k = 0; k < c->def.n_scalars; k++) {
            if (memcmp(&a, &scalars[k], sizeof a) == 0 && memcmp(&b, &c->other[k], sizeof b) == 0)
                which[i] = (int32_t)k;
        }
        if (which[i] >= 0) continue;
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: it computes with its scalars before op '%s' takes them",
                      c->name, e->program.nodes[s->node].op->name);
        st = asc_hint(ctx, "hand scalars to ops as they are, or make what is computed from them an input");
    }
    asc_free(ctx, key);
    return asc_scope_close(ctx, st);
}

static asc_status capture(asc_compiled *c, asc_tensor *const *in, const double *scalars, asc_capture **out) {
    asc_ctx *ctx = c->ctx;
    int32_t *which = NULL;
    *out = NULL;
    asc_scope_begin(ctx);
    asc_status st = record(c, in, scalars);
    if (st == ASC_OK)
        st = asc_capture_make(ctx, c, c->key, c->n_key * sizeof *c->key, c->ins, c->def.n_in, c->outs,
                              c->def.n_out, NULL, 0, out);
    asc_exe *e = st == ASC_OK ? asc_capture_exe(*out) : NULL;
    if (e != NULL && c->def.n_scalars > 0) {
        which = asc_calloc(ctx, ASC_MEM_PROGRAM, e->n_scalars + 1, sizeof *which);
        st = which != NULL ? find_scalars(c, in, scalars, e, which) : ASC_RESOURCE_EXHAUSTED;
        if (st == ASC_OK) st = asc_capture_attach(ctx, *out, which, e->n_scalars * sizeof *which);
        asc_free(ctx, which);
        if (st != ASC_OK) { /* not of use to anyone */
            asc_capture_drop(ctx, *out);
            *out = NULL;
        }
    }
    return asc_scope_close(ctx, st);
}

static void signature(asc_compiled *c, asc_tensor *const *in) {
    c->n_key = 0;
    for (size_t i = 0; i < c->def.n_in; i++) {
        c->key[c->n_key++] = (int64_t)in[i]->dtype;
        c->key[c->n_key++] = in[i]->shape.rank;
        for (int d = 0; d < in[i]->shape.rank; d++) c->key[c->n_key++] = in[i]->shape.dims[d];
    }
}

static asc_status run(asc_compiled *c, asc_capture *p, asc_tensor *const *in, const double *scalars) {
    asc_ctx *ctx = c->ctx;
    size_t bytes;
    const int32_t *which = asc_capture_note_of(p, &bytes);
    asc_exe *e = asc_capture_exe(p);
    for (size_t i = 0; i < c->def.n_in; i++) asc_capture_bind(ctx, p, i, in[i]->buf);
    for (size_t i = 0; e != NULL && i < bytes / sizeof *which; i++) {
        if (which[i] >= 0)
            e->program.nodes[e->scalars[i].node].attrs.f[e->scalars[i].slot] = scalars[which[i]];
    }
    c->run++;
    return asc_capture_run(ctx, p);
}

/* The outputs as leaves of the caller's scope. */
static asc_status hand_out(asc_compiled *c, asc_capture *p, asc_tensor **out) {
    asc_ctx *ctx = c->ctx;
    for (size_t i = 0; i < c->def.n_out; i++) {
        asc_tensor *t = asc_graph_node(asc_graph_of(ctx));
        if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
        t->shape = asc_capture_shape(p, i);
        t->buf = asc_capture_take(ctx, p, i);
        t->dtype = t->buf->dtype;
        out[i] = t;
    }
    return ASC_OK;
}

asc_status asc_compiled_call(asc_compiled *c, asc_tensor *const *in, const double *scalars,
                             asc_tensor **out) {
    asc_ctx *ctx = c->ctx;
    asc_status st = ASC_OK;
    asc_capture *p = NULL;
    for (size_t i = 0; i < c->def.n_out; i++) out[i] = NULL;
    if (asc_runtime_of(ctx)->capturing) {
        st = ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "%s: called while another function is being compiled",
                      c->name);
        goto done;
    }
    if (c->def.n_in > 0) ASC_TRY(asc_run(ctx, in, c->def.n_in));
    signature(c, in);
    if (c->def.fn == NULL) ASC_TRY(asc_compiled_find(c, &p));
    if (p == NULL) p = asc_capture_find(ctx, c, c->key, c->n_key * sizeof *c->key);
    if (p == NULL) ASC_TRY(capture(c, in, scalars, &p));
    ASC_TRY(run(c, p, in, scalars));
    st = hand_out(c, p, out);
    for (size_t i = 0; i < c->def.n_in; i++) asc_capture_bind(ctx, p, i, NULL); /* the caller's again */
done:
    for (size_t i = 0; st != ASC_OK && i < c->def.n_out; i++) out[i] = asc_graph_stand_in(asc_graph_of(ctx));
    return st;
}
