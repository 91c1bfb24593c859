/* debug.c - runs programs op by op and looks at what comes out; see debug.h. Slow by design: an op is a
 * program of its own, every value has storage of its own. Kernels are the same, so the bits are too. */
#include "debug.h"
#include "env.h"
#include "ops.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 };

static asc_status whole(asc_ctx *ctx, asc_env_id id, const char *name, uint64_t most, uint64_t *out) {
    const char *s = asc_env_text(id);
    char *end;
    *out = strtoull(s, &end, 10);
    if (s[0] >= '0' && s[0] <= '9' && *end == '\0' && *out <= most) return ASC_OK;
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s is a number from 0 to %llu, not '%.40s'", name,
             (unsigned long long)most, s);
    return asc_hint(ctx, "unset it, or see docs/debugging.md");
}

asc_status asc_debug_configure(asc_ctx *ctx) {
    asc_runtime *rt = asc_runtime_of(ctx);
    uint64_t level = 0;
    const char *path = asc_env_text(ASC_ENV_REPLAY);
    asc_status st = whole(ctx, ASC_ENV_DEBUG, "ASC_DEBUG", ASC_DEBUG_MOST, &level);
    if (st == ASC_OK) st = whole(ctx, ASC_ENV_REPLAY_CUT, "ASC_REPLAY_CUT", UINT32_MAX, &rt->replay_cut);
    rt->debug = (int)level;
    if (st == ASC_OK && strlen(path) >= sizeof rt->replay_path)
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "ASC_REPLAY: the file's name is too long");
    if (st == ASC_OK) snprintf(rt->replay_path, sizeof rt->replay_path, "%s", path);
    return st;
}

/* What one value holds. */
typedef struct look {
    int64_t n, n_nan, n_inf, first_nan, first_inf;
    double low, high, sum; /* of the finite ones */
} look;

/* Elements first .. first + n - 1 as doubles; false for types without plain elements. */
static bool fetch(const asc_ctx *ctx, asc_dtype dtype, const void *data, int64_t first, int64_t n,
                  double *out) {
    const asc_device *dev = asc_exec_device(ctx);
    if (dtype != ASC_DTYPE_F32 && dtype != ASC_DTYPE_I32 && dtype != ASC_DTYPE_BOOL) return false;
    const char *p = (const char *)data + dev->storage_bytes(dtype, first);
    if (dtype == ASC_DTYPE_BOOL && dev->storage_bytes(dtype, 1) == 1) {
        for (int64_t i = 0; i < n; i++) out[i] = p[i] != 0;
        return true;
    }
    dev->download(dtype, p, ASC_DTYPE_F64, out, n);
    return true;
}

static bool look_at(const asc_ctx *ctx, asc_dtype dtype, const void *data, int64_t n, look *out) {
    double v[CHUNK];
    *out = (look){.n = n, .first_nan = -1, .first_inf = -1, .low = INFINITY, .high = -INFINITY};
    if (data == NULL) return false;
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t m = n - i < CHUNK ? n - i : CHUNK;
        if (!fetch(ctx, dtype, data, i, m, v)) return false;
        for (int64_t k = 0; k < m; k++) {
            if (isnan(v[k])) {
                if (out->n_nan++ == 0) out->first_nan = i + k;
            } else if (isinf(v[k])) {
                if (out->n_inf++ == 0) out->first_inf = i + k;
            } else {
                if (v[k] < out->low) out->low = v[k];
                if (v[k] > out->high) out->high = v[k];
                out->sum += v[k];
            }
        }
    }
    return true;
}

static bool has_nan(const asc_ctx *ctx, asc_dtype dtype, const void *data, int64_t n, int64_t *at) {
    look l;
    *at = -1;
    if (dtype != ASC_DTYPE_F32 || !look_at(ctx, dtype, data, n, &l) || l.n_nan == 0) return false;
    *at = l.first_nan;
    return true;
}

/* "3 NaN (first at 5), 1 infinity (first at 2), 10 finite in [-1, 4]". */
static void tell(const look *l, char *out, size_t size) {
    size_t n = 0;
    const int64_t finite = l->n - l->n_nan - l->n_inf;
    out[0] = '\0';
    if (l->n_nan > 0)
        n += (size_t)snprintf(out, size, "%lld NaN (first at %lld), ", (long long)l->n_nan,
                              (long long)l->first_nan);
    if (l->n_inf > 0 && n < size)
        n += (size_t)snprintf(out + n, size - n, "%lld infinite (first at %lld), ", (long long)l->n_inf,
                              (long long)l->first_inf);
    if (n >= size) return;
    if (finite > 0)
        asc_snprintf(out + n, size - n, "%lld finite in [%.6g, %.6g]", (long long)finite, l->low, l->high);
    else
        snprintf(out + n, size - n, "none finite");
}

/* "op 'log' (%7, f32 [2,3]) in 'head'". */
static void name_node(const asc_program *p, size_t i, char *out, size_t size) {
    const asc_node *n = &p->nodes[i];
    char shape[128];
    snprintf(out, size, "%s%s%s (%%%zu, %s %s)%s%.200s%s", n->op != NULL ? "op '" : "",
             n->op != NULL ? n->op->name : "input", n->op != NULL ? "'" : "", i, asc_dtype_of(n->dtype)->name,
             asc_shape_text(&n->shape, shape), n->label != NULL ? " in '" : "",
             n->label != NULL ? n->label : "", n->label != NULL ? "'" : "");
}

/* The op at i gave NaN: which of its inputs was bad already, or else what they all held. */
static asc_status nan_error(asc_ctx *ctx, const asc_program *p, void *const *vals, size_t i, const look *l) {
    char node[512], all[400] = "", one[160];
    const asc_node *n = &p->nodes[i];
    name_node(p, i, node, sizeof node);
    for (int k = 0; k < n->n_in; k++) {
        const asc_node *in = &p->nodes[n->in[k]];
        look li;
        if (!look_at(ctx, in->dtype, vals[n->in[k]], asc_shape_elems(&in->shape), &li)) continue;
        tell(&li, one, sizeof one);
        if (li.n_nan > 0 || li.n_inf > 0) {
            char bad[512];
            name_node(p, (size_t)n->in[k], bad, sizeof bad);
            ASC_FAIL(ctx, ASC_OUT_OF_RANGE,
                     "NaN: %s gave %lld NaN, the first at element %lld; bad first was its input %d, %s: %s",
                     node, (long long)l->n_nan, (long long)l->first_nan, k, bad, one);
            return asc_hint(ctx, "look at what feeds %s; ASC_DEBUG=5 logs the range of every value", bad);
        }
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%sinput %d: %s", at > 0 ? "; " : "", k, one);
    }
    ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "NaN: %s gave %lld NaN, the first at element %lld, from good inputs (%s)",
             node, (long long)l->n_nan, (long long)l->first_nan, all);
    return asc_hint(ctx, "this op made it: keep its inputs in the range where it is defined");
}

/* The input of the op that holds indices and their limit; -1 = it has none, or takes any. */
static int index_input(const asc_program *p, const asc_node *n, int64_t *limit) {
    const asc_shape *a = n->n_in > 0 ? &p->nodes[n->in[0]].shape : NULL;
    switch (n->op->opcode) {
    case ASC_OPCODE_GATHER:
        *limit = a->dims[0];
        return 1;
    case ASC_OPCODE_TAKE_ALONG:
        *limit = a->dims[n->attrs.i[0]];
        return 1;
    case ASC_OPCODE_TAKE_LAST:
        *limit = a->dims[a->rank - 1];
        return 1;
    case ASC_OPCODE_PUT_ALONG:
        *limit = n->shape.dims[n->attrs.i[ASC_MAX_RANK + 1]];
        return 1;
    case ASC_OPCODE_PUT_LAST:
        *limit = n->shape.dims[n->shape.rank - 1];
        return 1;
    case ASC_OPCODE_SCATTER_ADD:
        *limit = n->shape.dims[0];
        return 1;
    default:
        return -1;
    }
}

static asc_status check_indices(asc_ctx *ctx, const asc_program *p, void *const *vals, size_t i) {
    const asc_node *n = &p->nodes[i];
    int64_t limit = 0;
    const int k = index_input(p, n, &limit);
    if (k < 0 || vals[n->in[k]] == NULL) return ASC_OK;
    const asc_node *in = &p->nodes[n->in[k]];
    const int64_t count = asc_shape_elems(&in->shape);
    double v[CHUNK];
    for (int64_t at = 0; at < count; at += CHUNK) {
        const int64_t m = count - at < CHUNK ? count - at : CHUNK;
        if (!fetch(ctx, in->dtype, vals[n->in[k]], at, m, v)) return ASC_OK;
        for (int64_t j = 0; j < m; j++) {
            if (v[j] >= 0 && v[j] < (double)limit) continue;
            char node[512], from[512];
            name_node(p, i, node, sizeof node);
            name_node(p, (size_t)n->in[k], from, sizeof from);
            ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "index %.0f at element %lld of %s is outside [0, %lld) of %s",
                     v[j], (long long)(at + j), from, (long long)limit, node);
            return asc_hint(ctx, "without ASC_DEBUG the nearest element is read or written instead");
        }
    }
    return ASC_OK;
}

/* Runs node i alone, from vals into vals[i]. */
static asc_status run_one(asc_ctx *ctx, const asc_program *p, void *const *vals, size_t i) {
    const asc_device *dev = asc_exec_device(ctx);
    void *state = asc_exec_device_state(ctx), *data[ASC_MAX_IN + 1] = {0}, *scratch = NULL, *code = NULL;
    asc_program q;
    asc_plan plan;
    asc_call call;
    asc_node node = p->nodes[i];
    asc_status st = ASC_OK;
    asc_program_init(&q, ctx);
    for (int k = 0; k < node.n_in; k++) {
        const asc_node *in = &p->nodes[p->nodes[i].in[k]];
        node.in[k] = asc_program_input(&q, in->dtype, &in->shape);
        data[k] = vals[p->nodes[i].in[k]];
    }
    node.group = 0;
    node.origin = 0;
    const int32_t at = asc_program_add(&q, &node);
    if (at < 0) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    data[at] = vals[i];
    ASC_TRY(asc_program_output(&q, at));
    ASC_TRY(asc_plan_make(ctx, &q, dev->storage_bytes, false, &plan));
    asc_node_call(&q, &q.nodes[at], &call);
    ASC_TRY(dev->supports(ctx, state, &call));
    plan.scratch_bytes = dev->scratch_bytes(ctx, state, &call);
    if (plan.scratch_bytes > 0 &&
        (scratch = asc_alloc_buffer(ctx, ASC_MEM_SCRATCH, plan.scratch_bytes)) == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (dev->prepare != NULL) ASC_TRY(dev->prepare(ctx, state, &q, &plan, &code));
    asc_run_args a = {.program = &q, .plan = &plan, .code = code, .data = data, .scratch = scratch};
    st = dev->run(ctx, state, &a);
done:
    if (code != NULL) dev->discard(ctx, state, code);
    asc_free(ctx, scratch);
    asc_program_deinit(&q);
    return st;
}

/* Looks at what node i gave. */
static asc_status check_result(asc_ctx *ctx, const asc_program *p, void *const *vals, size_t i,
                               bool log_values) {
    const asc_node *n = &p->nodes[i];
    look l;
    if (!look_at(ctx, n->dtype, vals[i], asc_shape_elems(&n->shape), &l)) return ASC_OK;
    if (log_values && l.n > 0) {
        char node[512], what[160];
        name_node(p, i, node, sizeof node);
        tell(&l, what, sizeof what);
        asc_logf(ctx, ASC_LOG_DEBUG, "%s: %s, mean %.6g", node, what, l.sum / (double)l.n);
    }
    return l.n_nan > 0 && n->op != NULL && n->dtype == ASC_DTYPE_F32 ? nan_error(ctx, p, vals, i, &l)
                                                                     : ASC_OK;
}

asc_status asc_debug_steps(asc_ctx *ctx, const asc_program *p, void *const *data, bool log_values) {
    const asc_device *dev = asc_exec_device(ctx);
    asc_status st = ASC_OK;
    void **vals = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *vals);
    bool *own = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *own);
    size_t *last = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *last);
    if (vals == NULL || own == NULL || last == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < p->n_nodes; i++) {
        last[i] = i;
        for (int k = 0; k < p->nodes[i].n_in; k++) last[p->nodes[i].in[k]] = i;
    }
    for (size_t k = 0; k < p->n_outputs; k++) {
        last[p->outputs[k]] = SIZE_MAX;
        vals[p->outputs[k]] = data[p->outputs[k]];
    }
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->op == NULL) {
            vals[i] = data[i];
            ASC_TRY(check_result(ctx, p, vals, i, log_values));
            continue;
        }
        if (vals[i] == NULL) {
            const size_t bytes = dev->storage_bytes(n->dtype, asc_shape_elems(&n->shape));
            own[i] = true;
            vals[i] = bytes == SIZE_MAX ? NULL : asc_alloc_buffer(ctx, ASC_MEM_ACTIVATIONS, bytes + 1);
            if (vals[i] == NULL) {
                st = ASC_RESOURCE_EXHAUSTED;
                goto done;
            }
        }
        ASC_TRY(check_indices(ctx, p, vals, i));
        ASC_TRY(run_one(ctx, p, vals, i));
        ASC_TRY(check_result(ctx, p, vals, i, log_values));
        for (int k = 0; k < n->n_in; k++) {
            const int32_t in = n->in[k];
            if (!own[in] || last[in] != i) continue;
            asc_free(ctx, vals[in]);
            vals[in] = NULL;
            own[in] = false;
        }
    }
done:
    for (size_t i = 0; own != NULL && vals != NULL && i < p->n_nodes; i++) {
        if (own[i]) asc_free(ctx, vals[i]);
    }
    asc_free(ctx, vals);
    asc_free(ctx, own);
    asc_free(ctx, last);
    return st;
}

/* Level 2 behind a run: when an output holds NaN, the error of the op that made it. */
static asc_status after(asc_ctx *ctx, const asc_program *p, void *const *data) {
    for (size_t k = 0; k < p->n_outputs; k++) {
        const int32_t o = p->outputs[k];
        const asc_node *n = &p->nodes[o];
        int64_t at;
        if (n->op == NULL || !has_nan(ctx, n->dtype, data[o], asc_shape_elems(&n->shape), &at)) continue;
        void **inputs = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *inputs);
        if (inputs == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; i < p->n_nodes; i++) inputs[i] = p->nodes[i].op == NULL ? data[i] : NULL;
        asc_status st = asc_debug_steps(ctx, p, inputs, false); /* outputs go to storage of its own */
        asc_free(ctx, inputs);
        if (st != ASC_OK) return st;
        char node[512];
        name_node(p, (size_t)o, node, sizeof node);
        ASC_FAIL(ctx, ASC_INTERNAL, "NaN: %s, element %lld, only when the whole program runs, not op by op",
                 node, (long long)at);
        return asc_hint(ctx, "a fault of a pass or of a fused region: try ASC_PASSES=none and report it");
    }
    return ASC_OK;
}

/* Level 2 before a run: all indices are inside. Those that the program computes are computed here, op by op.
 */
static asc_status before(asc_ctx *ctx, const asc_program *p, void *const *data) {
    bool computed = false;
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < p->n_nodes; i++) {
        int64_t limit;
        const asc_node *n = &p->nodes[i];
        const int k = n->op != NULL ? index_input(p, n, &limit) : -1;
        if (k < 0) continue;
        if (p->nodes[n->in[k]].op == NULL)
            st = check_indices(ctx, p, data, i);
        else
            computed = true;
    }
    if (st != ASC_OK || !computed) return st;
    void **inputs = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *inputs);
    if (inputs == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < p->n_nodes; i++) inputs[i] = p->nodes[i].op == NULL ? data[i] : NULL;
    st = asc_debug_steps(ctx, p, inputs, false);
    asc_free(ctx, inputs);
    return st;
}

asc_status asc_debug_run(asc_ctx *ctx, const asc_run_args *a) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    if (!rt->device->has_data) return rt->device->run(ctx, rt->device_state, a);
    if (rt->debug >= ASC_DEBUG_STEPS)
        return asc_debug_steps(ctx, a->program, a->data, rt->debug >= ASC_DEBUG_VALUES);
    asc_status st = before(ctx, a->program, a->data);
    if (st == ASC_OK) st = rt->device->run(ctx, rt->device_state, a);
    return st == ASC_OK ? after(ctx, a->program, a->data) : st;
}

void asc_debug_text(asc_ctx *ctx, const char *heading, const asc_program *p) {
    asc_strbuf b;
    asc_strbuf_init(&b, ctx);
    asc_program_print(p, &b);
    asc_logf(ctx, ASC_LOG_DEBUG, "%s: %zu nodes", heading, p->n_nodes);
    for (const char *s = b.ptr, *end; s != NULL && *s != '\0'; s = end + (*end == '\n')) {
        end = s + strcspn(s, "\n");
        asc_logf(ctx, ASC_LOG_DEBUG, "  %.*s", (int)(end - s > 900 ? 900 : end - s), s);
    }
    asc_strbuf_deinit(&b);
}
