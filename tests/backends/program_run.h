/* program_run.h - runs a program on the cpu device without the executor above it: plan, storage, prepared
 * code. Inputs are drawn from a seed, so two runs of programs with the same inputs can be compared byte by
 * byte. */
#ifndef ASC_TEST_PROGRAM_RUN_H
#define ASC_TEST_PROGRAM_RUN_H

#include "harness.h"

#include "exec.h"
#include "program.h"
#include "view.h"

typedef struct prun {
    asc_ctx *ctx;
    asc_program *p; /* lent */
    asc_plan plan;
    void **data;
    uint8_t *arena, *scratch;
    void *code; /* NULL until prun_prepare */
} prun;

static inline uint8_t *prun_block(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 256) != 0) fail_msg("out of memory");
    memset(p, 0x5b, bytes + 256); /* a number in every type, and not zero */
    return p;
}

static inline double prun_uniform(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (double)(*s >> 11) / 9007199254740992.0;
}

/* Fills n elements: floats in [-2, 2), integers in [0, 3), booleans; stored weights byte by byte, small
 * exponents. */
static inline void prun_fill(asc_dtype t, void *at, int64_t n, size_t bytes, uint64_t *seed) {
    if (t == ASC_DTYPE_F32) {
        for (int64_t i = 0; i < n; i++) ((float *)at)[i] = (float)(4 * prun_uniform(seed) - 2);
    } else if (t == ASC_DTYPE_I32) {
        for (int64_t i = 0; i < n; i++) ((int32_t *)at)[i] = (int32_t)(3 * prun_uniform(seed));
    } else {
        for (size_t i = 0; i < bytes; i++) ((uint8_t *)at)[i] = (uint8_t)(prun_uniform(seed) * 50);
    }
}

/* Plans p (fused: groups are regions, and values inside them have no storage) and makes its storage. */
static inline void prun_init(prun *r, asc_ctx *ctx, asc_program *p, bool fused, uint64_t seed) {
    *r = (prun){.ctx = ctx, .p = p};
    const asc_device *dev = &asc_device_cpu;
    void *state = asc_exec_device_state(ctx);
    assert_ok(ctx, fused ? asc_plan_make_fused(ctx, p, dev->storage_bytes, &r->plan)
                         : asc_plan_make(ctx, p, dev->storage_bytes, true, &r->plan));
    r->data = calloc(p->n_nodes + 1, sizeof *r->data);
    size_t scratch = 0;
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->op == NULL || r->plan.slots[i].place == ASC_PLACE_ALIAS) continue;
        asc_call c;
        asc_node_call(p, n, &c);
        size_t s = dev->scratch_bytes(ctx, state, &c);
        scratch = s > scratch ? s : scratch;
    }
    r->plan.scratch_bytes = scratch;
    r->arena = prun_block(r->plan.arena_bytes);
    r->scratch = prun_block(scratch);
    seed = seed * 2 + 1;
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_slot *s = &r->plan.slots[i];
        const asc_node *n = &p->nodes[i];
        if (s->place == ASC_PLACE_INPUT || s->place == ASC_PLACE_OUTPUT) r->data[i] = prun_block(s->bytes);
        if (s->place == ASC_PLACE_INPUT)
            prun_fill(n->dtype, r->data[i], asc_shape_elems(&n->shape), s->bytes, &seed);
        if (s->place == ASC_PLACE_ARENA) r->data[i] = r->arena + s->offset;
        if (s->place == ASC_PLACE_ALIAS || s->place == ASC_PLACE_INPLACE)
            r->data[i] = (uint8_t *)r->data[s->root] + s->offset;
    }
}

static inline void prun_prepare(prun *r) {
    assert_ok(r->ctx,
              asc_device_cpu.prepare(r->ctx, asc_exec_device_state(r->ctx), r->p, &r->plan, &r->code));
}

static inline asc_status prun_run(prun *r) {
    asc_run_args a = {
        .program = r->p, .plan = &r->plan, .code = r->code, .data = r->data, .scratch = r->scratch};
    return asc_device_cpu.run(r->ctx, asc_exec_device_state(r->ctx), &a);
}

static inline void prun_deinit(prun *r) {
    if (r->code != NULL) asc_device_cpu.discard(r->ctx, asc_exec_device_state(r->ctx), r->code);
    for (size_t i = 0; i < r->p->n_nodes; i++) {
        const asc_place place = r->plan.slots[i].place;
        if (place == ASC_PLACE_INPUT || place == ASC_PLACE_OUTPUT) free(r->data[i]);
    }
    free(r->data);
    free(r->arena);
    free(r->scratch);
    *r = (prun){0};
}

/* Outputs of two runs, byte by byte. */
static inline void prun_same(const prun *a, const prun *b, const char *what) {
    assert_int_equal(a->p->n_outputs, b->p->n_outputs);
    for (size_t i = 0; i < a->p->n_outputs; i++) {
        const int32_t x = a->p->outputs[i], y = b->p->outputs[i];
        const size_t bytes = a->plan.slots[x].bytes;
        assert_int_equal(bytes, b->plan.slots[y].bytes);
        if (bytes == 0 || memcmp(a->data[x], b->data[y], bytes) == 0) continue;
        const float *f = a->data[x], *g = b->data[y];
        size_t at = 0;
        while (memcmp(f + at, g + at, sizeof *f) == 0) at++;
        fail_msg("%s: output %zu differs from element %zu of %zu on: %.9g and %.9g", what, i, at, bytes / 4,
                 (double)f[at], (double)g[at]);
    }
}

#endif
