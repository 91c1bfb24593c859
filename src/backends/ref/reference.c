/* reference.c - the oracle: every value is stored as f64 and every op runs its reference kernel.
 * Integers are exact up to 2^53. Stored weights are expanded once when they are uploaded. */
#include "device.h"
#include "profile_unit.h"
#include <string.h>

static asc_status ref_open(asc_ctx *ctx, void **out_state) {
    (void)ctx;
    *out_state = NULL;
    return ASC_OK;
}
static void ref_close(asc_ctx *ctx, void *state) {
    (void)ctx;
    (void)state;
}

static size_t ref_storage_bytes(asc_dtype dtype, int64_t n) {
    (void)dtype;
    return (size_t)n * sizeof(double);
}

static void expand_upload(double *d, asc_dtype t, const char *src, int64_t n) {
    float tmp[1024];
    int64_t per = 1024; /* a multiple of every block size */
    for (int64_t i = 0; i < n; i += per) {
        int64_t k = n - i < per ? n - i : per;
        size_t skip = 0;
        (void)asc_dtype_bytes(t, i, &skip);
        asc_dtype_expand(t)(src + skip, tmp, k);
        for (int64_t j = 0; j < k; j++) d[i + j] = (double)tmp[j];
    }
}

static void ref_upload(asc_dtype dtype, void *dst, asc_dtype host_dtype, const void *host, int64_t n) {
    double *d = dst;
    (void)dtype;
    if (host_dtype == ASC_DTYPE_F64) {
        memcpy(d, host, (size_t)n * sizeof *d);
    } else if (host_dtype == ASC_DTYPE_I32) {
        const int32_t *s = host;
        for (int64_t i = 0; i < n; i++) d[i] = s[i];
    } else {
        expand_upload(d, host_dtype, host, n);
    }
}

static void ref_download(asc_dtype dtype, const void *src, asc_dtype host_dtype, void *host, int64_t n) {
    const double *s = src;
    (void)dtype;
    for (int64_t i = 0; i < n; i++) {
        if (host_dtype == ASC_DTYPE_F32) ((float *)host)[i] = (float)s[i];
        if (host_dtype == ASC_DTYPE_F64) ((double *)host)[i] = s[i];
        if (host_dtype == ASC_DTYPE_I32) ((int32_t *)host)[i] = (int32_t)s[i];
    }
}

static asc_status ref_supports(asc_ctx *ctx, void *state, const asc_call *c) {
    (void)state;
    if (c->op->ref != NULL) return ASC_OK;
    return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "the reference device cannot run %s", c->op->name);
}

static size_t ref_scratch_bytes(asc_ctx *ctx, void *state, const asc_call *c) {
    (void)ctx, (void)state, (void)c;
    return 0;
}

static asc_nd as_nd(void *data, const asc_shape *s) {
    asc_nd a = {.data = data, .rank = s->rank};
    memcpy(a.dims, s->dims, sizeof a.dims);
    asc_shape_strides(s, a.strides);
    return a;
}

static asc_status ref_run(asc_ctx *ctx, void *state, const asc_run_args *a) {
    const asc_program *p = a->program;
    (void)state;
    const size_t first = a->only > 0 ? a->only - 1 : 0, end = a->only > 0 ? a->only : p->n_nodes;
    for (size_t k = first; k < end; k++) {
        const asc_node *n = &p->nodes[k];
        if (n->op == NULL || a->plan->slots[k].place == ASC_PLACE_ALIAS || asc_shape_elems(&n->shape) == 0 ||
            (n->constant && a->folded))
            continue;
        asc_status st = asc_poll_cancel(ctx);
        if (st != ASC_OK) return st;
        asc_ref_args r = {.attrs = &n->attrs,
                          .n_in = n->n_in,
                          .out = as_nd(a->data[k], &n->shape),
                          .n_threads = ctx->n_threads};
        for (int i = 0; i < n->n_in; i++) r.in[i] = as_nd(a->data[n->in[i]], &p->nodes[n->in[i]].shape);
        uint64_t t0 = ctx->prof != NULL ? asc_now_ns() : 0;
        n->op->ref(&r);
        if (ctx->prof != NULL) {
            const asc_prof_unit u = asc_prof_unit_of(ctx, p, a->plan, k, 1, 1);
            asc_prof_ran(ctx, p, &u, t0);
        }
    }
    return ASC_OK;
}

const asc_device asc_device_reference = {
    .name = "reference",
    .doc = "every op in f64 by plain loops: the oracle",
    .has_data = true,
    .open = ref_open,
    .close = ref_close,
    .storage_bytes = ref_storage_bytes,
    .upload = ref_upload,
    .download = ref_download,
    .borrows_weights = false,
    .aliases_views = true,
    .supports = ref_supports,
    .scratch_bytes = ref_scratch_bytes,
    .run = ref_run,
};
