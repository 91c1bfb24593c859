/* compiled.c - captures and where a context keeps them; see compiled.h.
 * The table is small and its keys are long, so it is a list by last use with a hash to skip most comparisons.
 */
#include "capture_parts.h"
#include "disk.h"
#include "hash.h"
#include "profile.h"
#include "replay_file.h"
#include <string.h>

enum { MOST_CAPTURES = 128 };
static const size_t MOST_BYTES = (size_t)64 << 20;

void asc_capture_destroy(asc_ctx *ctx, asc_capture *c) {
    if (c == NULL) return;
    for (size_t k = 0; c->params != NULL && k < c->n_params; k++) asc_buffer_release(ctx, c->params[k]);
    for (size_t k = 0; c->fixed != NULL && k < c->exe->n_inputs; k++) asc_buffer_release(ctx, c->fixed[k]);
    for (size_t k = 0; c->outs != NULL && k < c->n_outs; k++) asc_buffer_release(ctx, c->outs[k].buf);
    asc_exe_destroy(ctx, c->exe);
    asc_free(ctx, c->params);
    asc_free(ctx, c->input_param);
    asc_free(ctx, c->fixed);
    asc_free(ctx, c->outs);
    asc_free(ctx, c->bounds);
    asc_free(ctx, c->key);
    asc_free(ctx, c->note);
    asc_free(ctx, c);
}

static uint64_t hash_of(const void *owner, const void *key, size_t n_key) {
    return asc_hash64(key, n_key, (uint64_t)(uintptr_t)owner);
}

asc_capture *asc_capture_find(asc_ctx *ctx, const void *owner, const void *key, size_t n_key) {
    asc_runtime *rt = asc_runtime_of(ctx);
    uint64_t hash = hash_of(owner, key, n_key);
    for (asc_capture **at = &rt->captures; *at != NULL; at = &(*at)->next) {
        asc_capture *c = *at;
        if (c->hash != hash || c->owner != owner || c->n_key != n_key || memcmp(c->key, key, n_key) != 0)
            continue;
        *at = c->next;
        c->next = rt->captures;
        rt->captures = c;
        return c;
    }
    return NULL;
}

void asc_capture_forget(asc_ctx *ctx, const void *owner) {
    asc_runtime *rt = ctx->rt;
    for (asc_capture **at = rt != NULL ? &rt->captures : NULL; at != NULL && *at != NULL;) {
        asc_capture *c = *at;
        if (owner != NULL && c->owner != owner) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        asc_capture_destroy(ctx, c);
    }
}

/* What c's end would free: weights are held by their owners as well. */
static size_t bytes_of(const asc_capture *c) {
    size_t bytes = c->bytes;
    for (size_t i = 0; c->fixed != NULL && i < c->exe->n_inputs; i++) {
        const asc_buffer *b = c->fixed[i];
        if (b != NULL && b->refs == 1 && !b->borrowed) bytes += b->bytes;
    }
    return bytes;
}

/* Puts c first and drops what is too much behind it. */
static void keep(asc_ctx *ctx, asc_capture *c) {
    asc_runtime *rt = asc_runtime_of(ctx);
    size_t n = 1, bytes = bytes_of(c);
    c->next = rt->captures;
    rt->captures = c;
    for (asc_capture **at = &c->next; *at != NULL;) {
        asc_capture *old = *at;
        bytes += bytes_of(old);
        if (++n > MOST_CAPTURES || bytes > MOST_BYTES) {
            *at = old->next;
            asc_capture_destroy(ctx, old);
        } else {
            at = &old->next;
        }
    }
}

asc_capture *asc_capture_create(asc_ctx *ctx, const void *owner, const void *key, size_t n_key,
                                const void *note, size_t n_note) {
    asc_capture *c = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *c);
    if (c == NULL) return NULL;
    c->owner = owner;
    c->n_key = n_key;
    c->hash = hash_of(owner, key, n_key);
    c->n_note = n_note;
    c->key = asc_calloc(ctx, ASC_MEM_PROGRAM, n_key + 1, 1);
    c->note = asc_calloc(ctx, ASC_MEM_PROGRAM, n_note + 1, 1);
    if (c->key == NULL || c->note == NULL) {
        asc_capture_destroy(ctx, c);
        return NULL;
    }
    memcpy(c->key, key, n_key);
    if (n_note > 0) memcpy(c->note, note, n_note);
    c->bytes = sizeof *c + n_key + n_note;
    return c;
}

asc_status asc_capture_note(asc_ctx *ctx, const void *owner, const void *key, size_t n_key, const void *note,
                            size_t n_note) {
    asc_capture *c = asc_capture_create(ctx, owner, key, n_key, note, n_note);
    if (c == NULL) return ASC_RESOURCE_EXHAUSTED;
    keep(ctx, c);
    return ASC_OK;
}

const void *asc_capture_note_of(const asc_capture *c, size_t *n) {
    *n = c->n_note;
    return c->note;
}
bool asc_capture_runs(const asc_capture *c) { return c->runs; }
asc_exe *asc_capture_exe(asc_capture *c) { return c->exe; }

static int32_t param_of(asc_tensor *const *params, size_t n, const asc_tensor *t) {
    for (size_t k = 0; k < n; k++) {
        if (params[k] == t) return (int32_t)k;
    }
    return -1;
}

static asc_buffer *held(asc_buffer *b) {
    if (b != NULL) asc_buffer_retain(b);
    return b;
}

/* Inputs of the executable: parameters, or values that stay. */
static asc_status tie_inputs(asc_ctx *ctx, asc_capture *c, asc_tensor *const *params) {
    asc_runtime *rt = asc_runtime_of(ctx);
    size_t n = c->exe->n_inputs;
    c->input_param = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *c->input_param);
    c->fixed = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *c->fixed);
    if (c->input_param == NULL || c->fixed == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        asc_tensor *t = rt->room.nodes[c->exe->input_from[i]];
        c->input_param[i] = param_of(params, c->n_params, t);
        if (c->input_param[i] < 0 && t->op != NULL) { /* a value that was computed on the way */
            bool moves;
            asc_status st = asc_capture_depends(ctx, &t, 1, &moves);
            if (st != ASC_OK) return st;
            if (moves)
                return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                                "a value of '%s' was computed while a function of it was captured",
                                t->op->name);
        }
        if (c->input_param[i] < 0) c->fixed[i] = held(t->buf);
    }
    return ASC_OK;
}

static asc_status tie_bounds(asc_ctx *ctx, asc_capture *c, asc_tensor *const *params) {
    asc_runtime *rt = asc_runtime_of(ctx);
    c->bounds = asc_calloc(ctx, ASC_MEM_PROGRAM, rt->n_capture_bounds + 1, sizeof *c->bounds);
    if (c->bounds == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < rt->n_capture_bounds; i++) {
        int32_t k = param_of(params, c->n_params, rt->capture_bounds[i].leaf);
        if (k < 0) continue; /* of a leaf that does not matter */
        c->bounds[c->n_bounds] = rt->capture_bounds[i];
        c->bounds[c->n_bounds].leaf = NULL;
        c->bounds[c->n_bounds++].param = (size_t)k;
    }
    rt->n_capture_bounds = 0;
    return ASC_OK;
}

static asc_status check_bounds(asc_ctx *ctx, const asc_capture *c) {
    enum { AT_ONCE = 256 };
    const asc_device *dev = asc_exec_device(ctx);
    for (size_t i = 0; i < c->n_bounds && dev->has_data; i++) {
        const asc_capture_bound *b = &c->bounds[i];
        const asc_buffer *p = c->params[b->param];
        int32_t v[AT_ONCE];
        for (int64_t at = 0; at < p->elems; at += AT_ONCE) {
            int64_t n = p->elems - at < AT_ONCE ? p->elems - at : AT_ONCE;
            dev->download(p->dtype, (const char *)p->data + dev->storage_bytes(p->dtype, at), ASC_DTYPE_I32,
                          v, n);
            for (int64_t k = 0; k < n; k++) {
                if (v[k] >= 0 && v[k] < b->n) continue;
                ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "%s: id %d; the table has %lld rows", b->what, v[k],
                         (long long)b->n);
                return asc_hint(ctx, "ids count from 0");
            }
        }
    }
    return ASC_OK;
}

/* outs in the order asked for; those of the executable come each once, in the order of the room. */
static asc_status tie_outputs(asc_ctx *ctx, asc_capture *c, asc_tensor *const *params,
                              asc_tensor *const *outs) {
    asc_runtime *rt = asc_runtime_of(ctx);
    for (size_t k = 0; k < c->n_outs; k++) {
        asc_capture_out *o = &c->outs[k];
        *o = (asc_capture_out){.output = -1,
                               .param = param_of(params, c->n_params, outs[k]),
                               .dtype = outs[k]->dtype,
                               .shape = outs[k]->shape,
                               .elems = asc_shape_elems(&outs[k]->shape)};
        if (outs[k]->buf != NULL) {
            if (o->param < 0) o->buf = held(outs[k]->buf);
            continue;
        }
        for (size_t i = 0; i < rt->room.n_outs; i++) {
            if (rt->room.outs[i].tensor == outs[k]) o->output = (int32_t)i;
        }
        const asc_exe *e = c->exe;
        const asc_node *node = &e->program.nodes[e->program.outputs[o->output]];
        if (node->op == NULL) { /* the passes found that it is an input */
            asc_tensor *t = rt->room.nodes[node->origin - 1];
            o->output = -1;
            o->param = param_of(params, c->n_params, t);
            if (o->param < 0) o->buf = held(t->buf);
        } else if (e->output_like[o->output] >= 0) {
            o->output = e->output_like[o->output];
        }
    }
    return ASC_OK;
}

/* A number of this many outputs has the same executable's output; the first of them owns the buffer. */
static asc_status own_outputs(asc_ctx *ctx, asc_capture *c) {
    for (size_t k = 0; k < c->n_outs; k++) {
        asc_capture_out *o = &c->outs[k];
        for (size_t j = 0; j < k && o->output >= 0 && o->buf == NULL; j++) {
            if (c->outs[j].output == o->output) o->buf = held(c->outs[j].buf);
        }
        if (o->output >= 0 && o->buf == NULL) {
            o->buf = asc_buffer_make(ctx, ASC_MEM_ACTIVATIONS, o->dtype, o->elems);
            if (o->buf == NULL) return ASC_RESOURCE_EXHAUSTED;
        }
        if (o->output >= 0) c->exe->data[c->exe->program.outputs[o->output]] = o->buf->data;
    }
    return ASC_OK;
}

static asc_status frozen(asc_ctx *ctx, asc_tensor *const *outs, size_t n_outs) {
    char text[128];
    asc_shape none = {0};
    ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
             "the context is frozen, and a function with %zu outputs, the first of shape %s, has not been "
             "captured",
             n_outs, asc_shape_text(n_outs > 0 ? &outs[0]->shape : &none, text));
    return asc_hint(ctx, "run it once before asc_exec_freeze, or without ASC_FREEZE=1");
}

/* For what the room holds: from disk, or made and written there. */
static asc_status executable(asc_ctx *ctx, asc_exe **out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    const asc_cut_room *r = &rt->room;
    asc_program p;
    *out = asc_disk_load(ctx, r->key, r->n_key);
    if (*out != NULL) return ASC_OK;
    asc_cache_explain(ctx, r->key, r->nodes);
    asc_program_init(&p, ctx);
    asc_status st = asc_cut_build(ctx, &p);
    if (st == ASC_OK) st = asc_exe_make(ctx, &p, rt->passes_off, out);
    asc_program_deinit(&p);
    if (st == ASC_OK) asc_disk_store(ctx, r->key, r->n_key, *out, asc_exec_cache_why(ctx, 0));
    return st;
}

asc_status asc_capture_make(asc_ctx *ctx, const void *owner, const void *key, size_t n_key,
                            asc_tensor *const *params, size_t n_params, asc_tensor *const *outs,
                            size_t n_outs, const void *note, size_t n_note, asc_capture **out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_status st = ASC_OK;
    *out = NULL;
    if (rt->cache.frozen) return frozen(ctx, outs, n_outs);
    asc_capture *c = asc_capture_create(ctx, owner, key, n_key, note, n_note);
    if (c == NULL) return ASC_RESOURCE_EXHAUSTED;
    c->params = asc_calloc(ctx, ASC_MEM_PROGRAM, n_params + 1, sizeof *c->params);
    c->outs = asc_calloc(ctx, ASC_MEM_PROGRAM, n_outs + 1, sizeof *c->outs);
    if (c->params == NULL || c->outs == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    c->n_params = n_params;
    ASC_TRY(asc_cut_collect(ctx, outs, n_outs));
    if (rt->room.n > 0) {
        ASC_TRY(executable(ctx, &c->exe));
        rt->stats.compile_ns += c->exe->compile_ns;
        ASC_TRY(tie_inputs(ctx, c, params));
    }
    for (size_t k = 0; k < n_params; k++) {
        c->params[k] = held(params[k]->buf);
        c->bytes += params[k]->buf->bytes;
    }
    c->n_outs = n_outs;
    ASC_TRY(tie_bounds(ctx, c, params));
    ASC_TRY(tie_outputs(ctx, c, params, outs));
    ASC_TRY(own_outputs(ctx, c));
    for (size_t k = 0; k < n_outs; k++) c->bytes += c->outs[k].output >= 0 ? c->outs[k].buf->bytes : 0;
    c->bytes += c->exe != NULL ? c->exe->bytes : 0;
    c->runs = true;
    rt->stats.captures++;
    keep(ctx, c);
    *out = c;
    c = NULL;
done:
    asc_capture_destroy(ctx, c);
    return st;
}

void asc_capture_write(asc_ctx *ctx, asc_capture *c, size_t k, int64_t first, asc_dtype host_dtype,
                       const void *host, int64_t n) {
    const asc_device *dev = asc_exec_device(ctx);
    asc_buffer *b = c->params[k];
    if (!dev->has_data || n == 0) return;
    asc_prof_mark m = asc_prof_begin(ctx);
    dev->upload(b->dtype, (char *)b->data + dev->storage_bytes(b->dtype, first), host_dtype, host, n);
    asc_prof_copy(ctx, m, "upload", dev->storage_bytes(b->dtype, n));
}

float *asc_capture_floats(asc_ctx *ctx, asc_capture *c, size_t k) {
    const asc_device *dev = asc_exec_device(ctx);
    bool plain = dev->has_data && dev->borrows_weights && c->params[k]->dtype == ASC_DTYPE_F32;
    return plain ? c->params[k]->data : NULL;
}

asc_shape asc_capture_shape(const asc_capture *c, size_t k) { return c->outs[k].shape; }

asc_status asc_capture_attach(asc_ctx *ctx, asc_capture *c, const void *note, size_t n_note) {
    void *copy = asc_calloc(ctx, ASC_MEM_PROGRAM, n_note + 1, 1);
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (n_note > 0) memcpy(copy, note, n_note);
    asc_free(ctx, c->note);
    c->note = copy;
    c->n_note = n_note;
    return ASC_OK;
}

void asc_capture_drop(asc_ctx *ctx, asc_capture *c) {
    asc_capture **at = &asc_runtime_of(ctx)->captures;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    asc_capture_destroy(ctx, c);
}

void asc_capture_bind(asc_ctx *ctx, asc_capture *c, size_t k, asc_buffer *b) {
    asc_buffer *old = c->params[k];
    c->params[k] = b != NULL ? held(b) : NULL;
    asc_buffer_release(ctx, old);
}

asc_buffer *asc_capture_take(asc_ctx *ctx, asc_capture *c, size_t k) {
    (void)ctx;
    asc_capture_out *o = &c->outs[k];
    c->taken = true;
    return held(o->param >= 0 ? c->params[o->param] : o->buf);
}

asc_status asc_capture_run(asc_ctx *ctx, asc_capture *c) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_exe *e = c->exe;
    asc_status st = e != NULL ? check_bounds(ctx, c) : ASC_OK;
    if (e == NULL || st != ASC_OK) return st;
    asc_prof_mark m = asc_prof_begin(ctx);
    for (size_t k = 0; c->taken && k < c->n_outs; k++) {
        if (c->outs[k].output < 0) continue;
        asc_buffer_release(ctx, c->outs[k].buf);
        c->outs[k].buf = NULL;
    }
    if (c->taken && own_outputs(ctx, c) != ASC_OK) return ASC_RESOURCE_EXHAUSTED;
    c->taken = false;
    for (size_t i = 0; i < e->n_inputs; i++)
        e->data[e->input_node[i]] =
            c->input_param[i] >= 0 ? c->params[c->input_param[i]]->data : c->fixed[i]->data;
    uint64_t made = e->compile_ns;
    st = asc_exe_begin(ctx, e);
    if (st == ASC_OK) st = asc_exe_run(ctx, e, ASC_CUT_CAPTURED);
    asc_prof_end(ctx, m, ASC_PROF_CUT, "captured", NULL);
    if (st != ASC_OK && (rt->debug > 0 || rt->replay_path[0] != '\0'))
        asc_replay_of_failure(ctx, &e->program, e->data);
    rt->stats.compile_ns += e->compile_ns - made;
    return st;
}

asc_status asc_capture_read_f64(asc_ctx *ctx, const asc_capture *c, size_t k, double *out, size_t n) {
    const asc_device *dev = asc_exec_device(ctx);
    const asc_capture_out *o = &c->outs[k];
    const asc_buffer *b = o->param >= 0 ? c->params[o->param] : o->buf;
    if ((int64_t)n != o->elems)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "read of %zu elements from an output of %lld", n,
                        (long long)o->elems);
    if (!dev->has_data) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the %s device computes no values", dev->name);
        return asc_hint(ctx, "use it for shapes and cost only; choose --device cpu or reference for numbers");
    }
    if (n == 0) return ASC_OK;
    asc_prof_mark m = asc_prof_begin(ctx);
    dev->download(o->dtype, b->data, ASC_DTYPE_F64, out, (int64_t)n);
    asc_prof_copy(ctx, m, "download", dev->storage_bytes(o->dtype, (int64_t)n));
    return ASC_OK;
}

void asc_capture_count_refused(asc_ctx *ctx, const char *why) {
    asc_runtime_of(ctx)->stats.refused_captures++;
    asc_logf(ctx, ASC_LOG_INFO, "compiled mode: recorded anew: %s", why);
}
