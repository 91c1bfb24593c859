/* oom_attempt.h - a piece of work in a context of its own in which one allocation fails: it may run out of
 * memory, and nothing is left. */
#ifndef ASC_TEST_OOM_ATTEMPT_H
#define ASC_TEST_OOM_ATTEMPT_H

#include "harness.h"

/* Runs work in a context of options o with allocation fail_at failing; 0 = none, and work has to end with
 * status `whole`. How many allocations there were. */
static inline long oom_attempt(asc_status (*work)(asc_ctx *), asc_ctx_options o, long fail_at,
                               asc_status whole) {
    test_alloc a = {.fail_at = fail_at};
    asc_ctx *ctx = NULL;
    o.struct_size = sizeof o;
    o.alloc = test_alloc_fn;
    o.alloc_self = &a;
    o.n_threads = 1;
    if (asc_ctx_create(&o, &ctx) == ASC_OK) {
        const asc_status st = work(ctx);
        if (fail_at == 0) assert_int_equal(st, whole);
        if (fail_at > 0 && st != ASC_OK) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld: %ld blocks leak", fail_at, a.live);
    return a.count;
}

/* Work of which allocations fail, at most about n_tries of them, spread evenly. */
static inline void oom_spread(asc_status (*work)(asc_ctx *), long n_tries) {
    const asc_ctx_options none = {0};
    const long n = oom_attempt(work, none, 0, ASC_OK), step = n / n_tries + 1;
    for (long k = 1; k <= n; k += step) oom_attempt(work, none, k, ASC_OK);
}

#endif
