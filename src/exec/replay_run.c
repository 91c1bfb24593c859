/* replay_run.c - runs the program of a replay file: records it anew, op by op, so that mode, passes, device
 * and precision are those of the context and not those of the run that was saved. */
#include "replay_file.h"
#include "op.h"
#include <math.h>
#include <string.h>

/* A leaf with the array's elements. */
static asc_tensor *leaf(asc_ctx *ctx, const asc_node *n, const asc_replay_array *a) {
    const asc_device *dev = asc_exec_device(ctx);
    asc_graph *g = asc_graph_of(ctx);
    const int64_t elems = asc_shape_elems(&n->shape);
    const bool weights = asc_dtype_of(n->dtype)->is_weight_only;
    if (weights && a->kind == ASC_REPLAY_NATIVE) return asc_from_stored(ctx, n->dtype, n->shape, a->data);
    size_t native = 0;
    const bool same =
        asc_dtype_bytes(n->dtype, elems, &native) && native == dev->storage_bytes(n->dtype, elems);
    if (weights && same) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                 "the replay holds %s weights as plain numbers, which the %s device cannot take",
                 asc_dtype_of(n->dtype)->name, dev->name);
        asc_hint(ctx, "replay it on the reference device, where it was made");
        return asc_graph_poison(g);
    }
    asc_tensor *t = asc_graph_node(g);
    asc_buffer *b = t != NULL ? asc_buffer_make(ctx, ASC_MEM_ACTIVATIONS, n->dtype, elems) : NULL;
    if (b == NULL) return asc_graph_poison(g);
    t->dtype = n->dtype;
    t->shape = n->shape;
    t->buf = b;
    if (!dev->has_data || elems == 0) return t;
    if (a->kind == ASC_REPLAY_F64) {
        if (n->dtype == ASC_DTYPE_BOOL && same) {
            const double *v = a->data;
            for (int64_t i = 0; i < elems; i++) ((char *)b->data)[i] = v[i] > 0.5 || v[i] < -0.5;
        } else {
            dev->upload(n->dtype, b->data, ASC_DTYPE_F64, a->data, elems);
        }
    } else if (same) {
        memcpy(b->data, a->data, a->bytes);
    } else if (n->dtype == ASC_DTYPE_BOOL) {
        const char *v = a->data;
        for (int64_t i = 0; i < elems; i++) ((double *)b->data)[i] = v[i] != 0;
    } else {
        dev->upload(n->dtype, b->data, n->dtype, a->data, elems);
    }
    return t;
}

/* Element i of an array or of storage like it. */
static double element(asc_dtype dtype, uint32_t kind, const void *data, int64_t i) {
    if (kind == ASC_REPLAY_F64)
        return ((const double *)data)[i]; /* the file keeps arrays at multiples of 8 */
    if (dtype == ASC_DTYPE_I32) return ((const int32_t *)data)[i];
    if (dtype == ASC_DTYPE_BOOL) return ((const char *)data)[i] != 0;
    return (double)((const float *)data)[i];
}

static void compare(asc_ctx *ctx, const asc_node *n, const asc_tensor *t, const asc_replay_array *stored,
                    asc_replay_output *out) {
    const int64_t elems = asc_shape_elems(&n->shape);
    size_t native = 0;
    const bool plain = asc_dtype_bytes(n->dtype, elems, &native) &&
                       native == asc_exec_device(ctx)->storage_bytes(n->dtype, elems);
    double largest = 0.0;
    *out = (asc_replay_output){.shape = n->shape, .n = elems, .low = INFINITY, .high = -INFINITY};
    for (int64_t i = 0; i < elems && t->buf->data != NULL; i++) {
        const double v = element(n->dtype, plain ? ASC_REPLAY_NATIVE : ASC_REPLAY_F64, t->buf->data, i);
        out->n_nan += isnan(v) ? 1 : 0;
        if (isfinite(v) && v < out->low) out->low = v;
        if (isfinite(v) && v > out->high) out->high = v;
        if (stored == NULL) continue;
        const double s = element(n->dtype, stored->kind, stored->data, i);
        out->n_stored_nan += isnan(s) ? 1 : 0;
        if (isnan(v) && isnan(s)) continue;
        if (v < s || v > s || isnan(v) || isnan(s)) out->n_different++;
        if (!isfinite(v) || !isfinite(s)) continue;
        out->max_abs = fmax(out->max_abs, fabs(v - s));
        largest = fmax(largest, fabs(s));
    }
    if (largest > 0.0) out->max_rel = out->max_abs / largest;
}

static asc_status record(asc_replay *r, int level, asc_tensor **ts) {
    asc_ctx *ctx = r->ctx;
    const asc_program *p = &r->program;
    size_t k = 0;
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->op == NULL) {
            ts[i] = leaf(ctx, n, &r->inputs[k++]);
            continue;
        }
        asc_tensor *in[ASC_MAX_IN];
        for (int j = 0; j < n->n_in; j++) in[j] = ts[n->in[j]];
        const char *label = asc_set_label(ctx, asc_label_intern(ctx, n->label));
        const asc_precision old = asc_set_level(ctx, level < 0 ? n->level : (asc_precision)level);
        const bool many = asc_set_many_rows(ctx, n->many_rows);
        ts[i] = asc_apply(ctx, n->op, &n->attrs, in, n->n_in);
        asc_set_many_rows(ctx, many);
        asc_set_level(ctx, old);
        asc_set_label(ctx, label);
    }
    return ASC_OK;
}

asc_status asc_replay_run(asc_replay *r, const char *precision, asc_replay_output *outs) {
    asc_ctx *ctx = r->ctx;
    const asc_program *p = &r->program;
    asc_status st = ASC_OK;
    int level = -1;
    if (precision != NULL && (level = asc_precision_from_name(precision)) < 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "unknown precision '%.40s'", precision);
    memset(outs, 0, p->n_outputs * sizeof *outs);
    asc_tensor **ts = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof(asc_tensor *));
    asc_tensor **want = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_outputs + 1, sizeof(asc_tensor *));
    if (ts == NULL || want == NULL) {
        asc_free(ctx, ts);
        asc_free(ctx, want);
        return ASC_RESOURCE_EXHAUSTED;
    }
    asc_scope_begin(ctx);
    ASC_TRY(record(r, level, ts));
    for (size_t k = 0; k < p->n_outputs; k++) want[k] = ts[p->outputs[k]];
    ASC_TRY(asc_run(ctx, want, p->n_outputs));
    for (size_t k = 0; k < p->n_outputs; k++)
        compare(ctx, &p->nodes[p->outputs[k]], want[k], r->info.has_outputs ? &r->outputs[k] : NULL,
                &outs[k]);
done:
    st = asc_scope_close(ctx, st);
    asc_free(ctx, ts);
    asc_free(ctx, want);
    return st;
}
