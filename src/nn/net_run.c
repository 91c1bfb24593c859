/* net_run.c - running a net once: outputs and inner values out, inner values replaced. */
#include "device.h"
#include "exec.h"
#include "net.h"
#include <math.h>
#include <string.h>

/* What a run does at sites: which values it keeps, and which it replaces. */
typedef struct visits {
    asc_net *net;
    const int64_t *sites; /* [n]; NULL = only the outputs are wanted */
    size_t n;
    asc_tensor **got; /* [n] */
    const asc_value_patch *patches;
    const int64_t *patched; /* [n_patches] their sites */
    bool *used;
    size_t n_patches;
    asc_status st;
} visits;

static asc_tensor *replaced(visits *v, const asc_value_patch *p, asc_tensor *value) {
    asc_ctx *ctx = v->net->ctx;
    const asc_shape *want = &value->shape, *have = &p->values.shape;
    bool same = want->rank == have->rank;
    for (int d = 0; same && d < want->rank; d++) same = want->dims[d] == have->dims[d];
    if (!same) {
        char a[128], b[128];
        asc_shape_text(have, a);
        asc_shape_text(want, b);
        v->st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the values for site '%s' are %s; its own are %s",
                         p->site, a, b);
        return value;
    }
    if (asc_elem_is_float(p->values.elem) != (value->dtype == ASC_DTYPE_F32)) {
        v->st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the values for site '%s' are %s; its own are %s",
                         p->site, asc_elem_name(p->values.elem),
                         value->dtype == ASC_DTYPE_F32 ? "floats"
                                                       : "whole numbers, or weights as they are stored");
        return value;
    }
    return asc_from_array(ctx, &p->values);
}

static asc_tensor *visit(void *self, size_t site, asc_tensor *value) {
    visits *v = self;
    for (size_t k = 0; k < v->n_patches && v->st == ASC_OK; k++) {
        if (v->patched[k] != (int64_t)site) continue;
        v->used[k] = true;
        if (!asc_tensor_poisoned(value)) value = replaced(v, &v->patches[k], value);
    }
    for (size_t k = 0; v->sites != NULL && k < v->n; k++) {
        if (v->sites[k] == (int64_t)site) v->got[k] = value;
    }
    return value;
}

static asc_status read_one(asc_ctx *ctx, asc_tensor *t, asc_array *out) {
    const size_t n = (size_t)asc_tensor_elems(t);
    const bool ints = t->dtype == ASC_DTYPE_I32;
    const bool wide = ints || asc_exec_device(ctx) == &asc_device_reference;
    void *data = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, wide ? 8 : 4);
    if (data == NULL) return ASC_RESOURCE_EXHAUSTED;
    *out = (asc_array){.elem = ints   ? ASC_ELEM_I64
                               : wide ? ASC_ELEM_F64
                                      : ASC_ELEM_F32,
                       .shape = t->shape,
                       .data = data};
    if (!wide) return asc_read_f32(ctx, t, data, n);
    if (!ints) return asc_read_f64(ctx, t, data, n);
    int64_t *wanted = data;
    int32_t *narrow = data; /* read into the front, then widened from the back */
    asc_status st = asc_read_i32(ctx, t, narrow, n);
    for (size_t i = n; st == ASC_OK && i-- > 0;) {
        int32_t v;
        memcpy(&v, (const char *)data + i * sizeof v, sizeof v);
        wanted[i] = v;
    }
    return st;
}

static asc_status run_and_read(visits *v, asc_tensor *const *in, asc_tensor **outs, asc_array *out) {
    asc_net *net = v->net;
    asc_ctx *ctx = net->ctx;
    asc_tap tap = {.at = visit, .self = v};
    asc_status st = asc_net_forward(net, in, v->sites != NULL || v->n_patches > 0 ? &tap : NULL, outs);
    if (st == ASC_OK) st = v->st;
    for (size_t k = 0; st == ASC_OK && k < v->n_patches; k++) {
        if (!v->used[k] && !(net->n_outputs > 0 && asc_tensor_poisoned(outs[0]))) /* not stopped on the way */
            st = ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "this run did not come to site '%s'",
                          v->patches[k].site);
    }
    for (size_t i = 0; st == ASC_OK && i < v->n; i++) {
        asc_tensor **got = &v->got[i];
        if (v->sites == NULL) *got = outs[i];
        if (*got == NULL && net->n_outputs > 0 && asc_tensor_poisoned(outs[0]))
            return outs[0]->poison; /* stopped on the way; what was wrong is recorded */
        if (*got == NULL)
            return ASC_FAIL(ctx, ASC_INTERNAL, "this run did not come to site '%s'",
                            net->sites[(size_t)v->sites[i]]);
        if ((*got)->poison == ASC_OK && (*got)->dtype != ASC_DTYPE_F32 && (*got)->dtype != ASC_DTYPE_I32)
            *got = asc_cast(ctx, *got, ASC_DTYPE_F32); /* a weight as it is stored */
    }
    if (st == ASC_OK) st = asc_run(ctx, v->got, v->n);
    for (size_t i = 0; st == ASC_OK && i < v->n; i++) st = read_one(ctx, v->got[i], &out[i]);
    return st;
}

static asc_status find_sites(const asc_net *net, const char *name, int64_t *out) {
    *out = asc_net_find_site(net, asc_view_of(name));
    return *out < 0 ? ASC_NOT_FOUND : ASC_OK;
}

asc_status asc_net_run_patched(asc_net *net, const asc_array *inputs, size_t n_inputs,
                               const asc_value_patch *patches, size_t n_patches, const char *const *names,
                               size_t n, asc_array *out) {
    asc_ctx *ctx = net->ctx;
    int64_t batch, *sites = NULL;
    asc_tensor **ts = NULL;
    bool *used = NULL;
    asc_status st = ASC_OK;
    if (names == NULL) n = net->n_outputs;
    for (size_t i = 0; i < n; i++) out[i] = (asc_array){0};
    asc_scope_begin(ctx);
    /* which free dimensions count examples is a guess about files, which a plain run does not need */
    ASC_TRY(asc_net_check_inputs(net, inputs, n_inputs, net->path != NULL, &batch));
    ts = asc_calloc(ctx, ASC_MEM_GENERAL, n_inputs + net->n_outputs + n + 1, sizeof(asc_tensor *));
    sites = asc_calloc(ctx, ASC_MEM_GENERAL, n + n_patches + 1, sizeof *sites);
    used = asc_calloc(ctx, ASC_MEM_GENERAL, n_patches + 1, sizeof *used);
    if (ts == NULL || sites == NULL || used == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; names != NULL && i < n; i++) ASC_TRY(find_sites(net, names[i], &sites[i]));
    for (size_t i = 0; i < n_patches; i++) ASC_TRY(find_sites(net, patches[i].site, &sites[n + i]));
    for (size_t i = 0; i < n_inputs; i++) ts[i] = asc_from_array(ctx, &inputs[i]);
    visits v = {.net = net, .sites = names != NULL ? sites : NULL, .n = n, .patches = patches};
    v.got = ts + n_inputs + net->n_outputs;
    v.patched = sites + n;
    v.used = used;
    v.n_patches = n_patches;
    st = run_and_read(&v, ts, ts + n_inputs, out);
done:
    st = asc_scope_close(ctx, st);
    for (size_t i = 0; st != ASC_OK && i < n; i++) asc_array_free(ctx, &out[i]);
    asc_free(ctx, ts);
    asc_free(ctx, sites);
    asc_free(ctx, used);
    return st;
}

asc_status asc_net_run(asc_net *net, const asc_array *inputs, size_t n_inputs, const char *const *names,
                       size_t n, asc_array *out) {
    return asc_net_run_patched(net, inputs, n_inputs, NULL, 0, names, n, out);
}
