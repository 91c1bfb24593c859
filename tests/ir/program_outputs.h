/* program_outputs.h - runs a program on a context's device without the executor: inputs drawn by their
 * number, outputs read as f32. */
#ifndef ASC_TEST_PROGRAM_OUTPUTS_H
#define ASC_TEST_PROGRAM_OUTPUTS_H

#include "alloc.h"
#include "exec.h"
#include "hash.h"
#include <math.h>

typedef struct run_result {
    double *out; /* all outputs one behind the other; asc_free */
    size_t n, arena_bytes;
} run_result;

/* f32 in [-1, 1); i32 small and not negative. */
static inline void run_fill(asc_ctx *ctx, const asc_node *n, uint64_t number, void *data) {
    const asc_device *dev = asc_exec_device(ctx);
    int64_t elems = asc_shape_elems(&n->shape);
    float *host = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)elems + 1, sizeof *host);
    for (int64_t i = 0; host != NULL && i < elems; i++) {
        double u = asc_uniform(11, number, (uint64_t)i);
        host[i] = n->dtype == ASC_DTYPE_I32 ? (float)floor(7 * u) : (float)(2 * u - 1);
    }
    if (host != NULL) dev->upload(n->dtype, data, ASC_DTYPE_F32, host, elems);
    asc_free(ctx, host);
}

/* Inputs must be f32 or i32. `fused`: planned as for a device that runs regions. Errors as those of plan and
 * device; out->out is NULL then. */
static inline asc_status run_program(asc_ctx *ctx, asc_program *p, bool fused, run_result *out) {
    const asc_device *dev = asc_exec_device(ctx);
    void *state = asc_exec_device_state(ctx), *code = NULL;
    asc_plan plan;
    asc_status st;
    size_t n_out = 0, scratch = 0;
    uint64_t number = 0;
    *out = (run_result){0};
    if (fused)
        st = asc_plan_make_fused(ctx, p, dev->storage_bytes, &plan);
    else
        st = asc_plan_make(ctx, p, dev->storage_bytes, dev->aliases_views, &plan);
    void **data = asc_calloc(ctx, ASC_MEM_GENERAL, p->n_nodes + 1, sizeof *data);
    void **own = asc_calloc(ctx, ASC_MEM_GENERAL, p->n_nodes + 1, sizeof *own);
    void *arena = st == ASC_OK ? asc_alloc_buffer(ctx, ASC_MEM_GENERAL, plan.arena_bytes + 64) : NULL;
    if (st == ASC_OK && (data == NULL || own == NULL || arena == NULL)) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < p->n_nodes && st == ASC_OK; k++) {
        const asc_node *n = &p->nodes[k];
        const asc_slot *s = &plan.slots[k];
        int64_t elems = asc_shape_elems(&n->shape);
        if (s->place == ASC_PLACE_INPUT || s->place == ASC_PLACE_OUTPUT) {
            own[k] = data[k] =
                asc_alloc_buffer(ctx, ASC_MEM_GENERAL, dev->storage_bytes(n->dtype, elems) + 64);
            if (data[k] == NULL) st = ASC_RESOURCE_EXHAUSTED;
            if (st == ASC_OK && n->op == NULL) run_fill(ctx, n, number++, data[k]);
        } else if (s->place == ASC_PLACE_ARENA) {
            data[k] = (char *)arena + s->offset;
        } else if (s->place != ASC_PLACE_TILE) {
            data[k] = (char *)data[s->root] + s->offset;
        }
        if (n->op != NULL && s->place != ASC_PLACE_ALIAS && st == ASC_OK) {
            asc_call call;
            asc_node_call(p, n, &call);
            st = dev->supports(ctx, state, &call);
            size_t need = st == ASC_OK ? dev->scratch_bytes(ctx, state, &call) : 0;
            if (need > scratch) scratch = need;
        }
    }
    plan.scratch_bytes = scratch;
    if (st == ASC_OK && dev->prepare != NULL) st = dev->prepare(ctx, state, p, &plan, &code);
    if (st == ASC_OK && plan.scratch_bytes > scratch) scratch = plan.scratch_bytes;
    void *room = st == ASC_OK ? asc_alloc_buffer(ctx, ASC_MEM_GENERAL, scratch + 64) : NULL;
    if (st == ASC_OK && room == NULL) st = ASC_RESOURCE_EXHAUSTED;
    asc_run_args a = {.program = p, .plan = &plan, .code = code, .data = data, .scratch = room};
    if (st == ASC_OK) st = dev->run(ctx, state, &a);
    for (size_t i = 0; i < p->n_outputs; i++)
        n_out += (size_t)asc_shape_elems(&p->nodes[p->outputs[i]].shape);
    if (st == ASC_OK) out->out = asc_calloc(ctx, ASC_MEM_GENERAL, n_out + 1, sizeof *out->out);
    for (size_t i = 0; i < p->n_outputs && out->out != NULL; i++) {
        const asc_node *n = &p->nodes[p->outputs[i]];
        int64_t elems = asc_shape_elems(&n->shape);
        dev->download(n->dtype, data[p->outputs[i]], ASC_DTYPE_F64, out->out + out->n, elems);
        out->n += (size_t)elems;
    }
    out->arena_bytes = plan.arena_bytes;
    if (code != NULL) dev->discard(ctx, state, code);
    for (size_t k = 0; own != NULL && k < p->n_nodes; k++) asc_free(ctx, own[k]);
    asc_free(ctx, own);
    asc_free(ctx, data);
    asc_free(ctx, arena);
    asc_free(ctx, room);
    return st;
}

#endif
