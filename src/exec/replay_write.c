/* replay_write.c - replay files from a program and its storage, and from a run that failed. */
#include "replay_file.h"
#include "packed.h"
#include "file.h"
#include "strbuf.h"
#include <string.h>

/* kind and bytes of a node's storage. */
static uint32_t kind_of(const asc_ctx *ctx, const asc_node *n, size_t *bytes) {
    const int64_t elems = asc_shape_elems(&n->shape);
    size_t native = 0;
    *bytes = asc_exec_device(ctx)->storage_bytes(n->dtype, elems);
    const bool known = asc_dtype_bytes(n->dtype, elems, &native);
    if (elems > 0 && (!known || native != *bytes)) return ASC_REPLAY_F64;
    *bytes = native;
    return ASC_REPLAY_NATIVE;
}

static void put_array(asc_ctx *ctx, asc_strbuf *b, const asc_program *p, int32_t node, const void *data) {
    size_t bytes;
    const uint32_t kind = kind_of(ctx, &p->nodes[node], &bytes);
    asc_pack_u32(b, (uint32_t)node);
    asc_pack_u32(b, kind);
    asc_pack_u64(b, bytes);
    asc_strbuf_add(b, data, bytes);
    asc_pack_fill(b);
}

static bool all_stored(const asc_program *p, void *const *data) {
    for (size_t k = 0; k < p->n_outputs; k++) {
        if (data[p->outputs[k]] == NULL && asc_shape_elems(&p->nodes[p->outputs[k]].shape) > 0) return false;
    }
    return true;
}

asc_status asc_replay_write(asc_ctx *ctx, const asc_program *p, void *const *data, bool with_outputs,
                            const char *error, const char *path) {
    asc_strbuf text, b;
    asc_status st = ASC_OK;
    if (!asc_exec_device(ctx)->has_data)
        return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the %s device has no values to be replayed",
                        asc_exec_device(ctx)->name);
    asc_strbuf_init(&text, ctx);
    asc_strbuf_init(&b, ctx);
    asc_program_print(p, &text);
    size_t n_inputs = 0, n_error = strlen(error);
    if (n_error > ASC_REPLAY_MOST_ERROR) n_error = ASC_REPLAY_MOST_ERROR;
    for (size_t i = 0; i < p->n_nodes; i++) n_inputs += p->nodes[i].op == NULL ? 1 : 0;
    const size_t n_outputs = with_outputs && all_stored(p, data) ? p->n_outputs : 0;
    asc_strbuf_adds(&b, ASC_REPLAY_MAGIC);
    asc_pack_u32(&b, ASC_REPLAY_VERSION);
    asc_pack_u32(&b, (uint32_t)n_inputs);
    asc_pack_u32(&b, (uint32_t)n_outputs);
    asc_pack_u32(&b, (uint32_t)strlen(ctx->device_name));
    asc_pack_u32(&b, (uint32_t)strlen(ctx->mode_name));
    asc_pack_u32(&b, (uint32_t)n_error);
    asc_pack_u64(&b, text.len);
    asc_pack_u64(&b, 0);
    asc_strbuf_adds(&b, ctx->device_name);
    asc_strbuf_adds(&b, ctx->mode_name);
    asc_strbuf_add(&b, error, n_error);
    asc_strbuf_addv(&b, asc_strbuf_view(&text));
    asc_pack_fill(&b);
    for (size_t i = 0; i < p->n_nodes; i++) {
        if (p->nodes[i].op == NULL) put_array(ctx, &b, p, (int32_t)i, data[i]);
    }
    for (size_t k = 0; k < n_outputs; k++) put_array(ctx, &b, p, p->outputs[k], data[p->outputs[k]]);
    ASC_TRY(asc_strbuf_status(&text));
    ASC_TRY(asc_pack_sum(&b));
    st = asc_file_write(ctx, path, b.ptr, b.len);
done:
    asc_strbuf_deinit(&text);
    asc_strbuf_deinit(&b);
    return st;
}

static void keep(asc_ctx *ctx, const asc_program *p, void *const *data, bool failed) {
    asc_runtime *rt = asc_runtime_of(ctx);
    const asc_error before = ctx->error;
    const char *path = rt->replay_path[0] != '\0' ? rt->replay_path : "ascribe.replay";
    asc_status st = asc_replay_write(ctx, p, data, !failed, failed ? before.message : "", path);
    if (st == ASC_OK)
        asc_logf(ctx, ASC_LOG_DEBUG, "the program and its inputs are in '%s' (see: ascribe replay)", path);
    else
        asc_logf(ctx, ASC_LOG_DEBUG, "no replay file: %s", ctx->error.message);
    ctx->error = before;
}

void asc_replay_of_failure(asc_ctx *ctx, const asc_program *p, void *const *data) {
    asc_runtime *rt = asc_runtime_of(ctx);
    if (rt->replayed || ctx->error.code == ASC_CANCELLED) return;
    rt->replayed = true; /* the first failure is the one to look at */
    keep(ctx, p, data, true);
}

void asc_replay_of_cut(asc_ctx *ctx, const asc_program *p, void *const *data) { keep(ctx, p, data, false); }

asc_status asc_replay_save(asc_ctx *ctx, asc_tensor *const *ts, size_t n, bool compute, const char *path) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_program p;
    void **data = NULL;
    asc_status st = asc_graph_take_error(&rt->graph);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (ts[i]->poison != ASC_OK) st = ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "replay: a poisoned value");
    }
    asc_program_init(&p, ctx);
    if (st == ASC_OK) st = asc_cut_collect(ctx, ts, n);
    if (st != ASC_OK) goto done;
    if (rt->room.n == 0) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "replay: every value has been computed already");
        st = asc_hint(ctx, "save it before values are read");
        goto done;
    }
    ASC_TRY(asc_cut_build(ctx, &p));
    data = asc_calloc(ctx, ASC_MEM_PROGRAM, p.n_nodes + 1, sizeof *data);
    if (data == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < p.n_nodes; i++) {
        if (p.nodes[i].op == NULL) data[i] = rt->room.nodes[i]->buf->data;
    }
    if (compute) { /* the room changes; the order of nodes and outputs is kept in p */
        asc_tensor **outs = asc_calloc(ctx, ASC_MEM_PROGRAM, p.n_outputs + 1, sizeof(asc_tensor *));
        if (outs == NULL) {
            st = ASC_RESOURCE_EXHAUSTED;
            goto done;
        }
        for (size_t k = 0; k < p.n_outputs; k++) outs[k] = rt->room.outs[k].tensor;
        st = asc_run(ctx, outs, p.n_outputs);
        for (size_t k = 0; st == ASC_OK && k < p.n_outputs; k++) data[p.outputs[k]] = outs[k]->buf->data;
        asc_free(ctx, outs);
        if (st != ASC_OK) goto done;
    }
    st = asc_replay_write(ctx, &p, data, compute, "", path);
done:
    asc_free(ctx, data);
    asc_program_deinit(&p);
    return st;
}
