/* pass_equal.h - whether a program gives the same bits after the passes, on one device. */
#ifndef ASC_TEST_PASS_EQUAL_H
#define ASC_TEST_PASS_EQUAL_H

#include "passes.h"
#include "program_outputs.h"
#include <stdlib.h>
#include <string.h>

static inline bool pass_copy(const asc_program *p, asc_program *out, bool all) {
    bool ok = true;
    for (size_t k = 0; k < p->n_nodes && ok; k++) ok = asc_program_add(out, &p->nodes[k]) >= 0;
    for (size_t k = 0; k < p->n_nodes && ok && all; k++)
        if (p->nodes[k].op != NULL) ok = asc_program_output(out, (int32_t)k) == ASC_OK;
    for (size_t i = 0; i < p->n_outputs && ok && !all; i++)
        ok = asc_program_output(out, p->outputs[i]) == ASC_OK;
    return ok;
}

/* 0: equal. 1: an error of passes or device (recorded in ctx). 2: other bits (*at: which of them). Values
 * that are not finite anywhere in the program are beyond what passes promise: 0. off: passes that do not run.
 */
static inline int pass_equal(asc_ctx *ctx, const asc_program *p, uint64_t off, size_t *done, size_t *at) {
    const asc_device *dev = asc_exec_device(ctx);
    asc_program q;
    run_result all = {0}, before = {0}, after = {0};
    int result = 1;
    bool finite = true;
    asc_pass_env env = {
        .storage_bytes = dev->storage_bytes, .alias = dev->aliases_views, .fuses = dev->fuses, .off = off};
    env.rows_depend = dev->rows_depend != NULL && dev->rows_depend(ctx);
    env.done = done;
    *at = 0;
    asc_program_init(&q, ctx);
    if (pass_copy(p, &q, true) && run_program(ctx, &q, false, &all) == ASC_OK) {
        for (size_t i = 0; i < all.n; i++) finite = finite && isfinite(all.out[i]);
        result = finite ? 1 : 0;
    }
    asc_program_deinit(&q);
    asc_program_init(&q, ctx);
    if (finite && all.out != NULL && pass_copy(p, &q, false) &&
        run_program(ctx, &q, false, &before) == ASC_OK) {
        asc_program r;
        asc_program_init(&r, ctx);
        env.memory_bytes = before.arena_bytes / 2; /* so that values are made again */
        if (pass_copy(p, &r, false) && asc_passes_run(ctx, &r, &env) == ASC_OK &&
            asc_program_cost(&r).flops <= 2.01 * asc_program_cost(p).flops &&
            run_program(ctx, &r, dev->fuses, &after) == ASC_OK) {
            result = before.n == after.n ? 0 : 2;
            while (result == 0 && *at < before.n &&
                   memcmp(&before.out[*at], &after.out[*at], sizeof(double)) == 0)
                (*at)++;
            if (*at < before.n) result = 2;
        }
        asc_program_deinit(&r);
    }
    asc_program_deinit(&q);
    asc_free(ctx, all.out);
    asc_free(ctx, before.out);
    asc_free(ctx, after.out);
    return result;
}

#endif
