/* harness.h - what every unit test includes: cmocka, a fresh context per test, and an allocator that fails on
 * demand. */
#ifndef ASC_TEST_HARNESS_H
#define ASC_TEST_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "cpu.h"
#include "ctx.h"

/* Counts allocations and fails number `fail_at` (1-based; 0 = never). Shared by the out-of-memory sweeps. */
typedef struct test_alloc {
    long count, fail_at, live;
} test_alloc;

static inline void *test_alloc_fn(void *self, void *ptr, size_t old_size, size_t new_size, size_t align) {
    test_alloc *t = self;
    if (new_size == 0) {
        if (ptr != NULL) t->live--;
        free(ptr);
        return NULL;
    }
    if (++t->count == t->fail_at) return NULL;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, new_size) != 0) return NULL;
    if (ptr != NULL) {
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
        free(ptr);
    } else {
        t->live++;
    }
    return p;
}

/* ASC_ISA and ASC_THREADS choose as they do for the program: with ASC_ISA=avx2 the suite tries those
 * kernels. */
static inline const char *suite_isa(void) { return getenv("ASC_ISA"); }
static inline int suite_threads(void) {
    const char *threads = getenv("ASC_THREADS");
    return threads != NULL ? atoi(threads) : 0;
}
/* ASC_MODE is the mode where tests do not ask for one. */
static inline const char *suite_mode(const char *mode) {
    const char *suite = getenv("ASC_MODE");
    return mode == NULL && suite != NULL && suite[0] != '\0' ? suite : mode;
}
/* Where products come from oneDNN (no AVX-512) a row's bits may depend on how many there are
 * (docs/perturbing.md, "Bits"): what is the same bits elsewhere may there differ by `rounding`, the caller's.
 */
static inline double suite_rows_differ(double rounding) {
    const char *isa = suite_isa();
    bool named = isa != NULL && (strcmp(isa, "avx2") == 0 || strcmp(isa, "baseline") == 0);
    return named || asc_cpu_best_isa() < ASC_ISA_AVX512 ? rounding : 0.0;
}
static inline asc_ctx *test_ctx(const char *device, const char *mode) {
    asc_ctx_options o = {.struct_size = sizeof o,
                         .device = device,
                         .mode = suite_mode(mode),
                         .n_threads = suite_threads(),
                         .isa = suite_isa(),
                         .seed = 1};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

/* Ends the context and demands that nothing is still allocated. */
static inline void test_ctx_end(asc_ctx *ctx) {
    if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
    ctx->rt_destroy = NULL;
    assert_int_equal(ctx->mem.live_allocs, 0);
    asc_ctx_destroy(ctx);
}

enum { TEST_TMP = 192, TEST_PATH = 256 }; /* bytes of a name in test_tmp(), and of a file in such a folder */

/* Where temporary files go; without a character that shells take apart, since tests write the names of what
 * is in it without quotes, and short enough for TEST_TMP. */
static inline const char *test_tmp(void) {
    const char *tmp = getenv("TMPDIR");
    bool good = tmp != NULL && tmp[0] == '/' && strlen(tmp) <= 150;
    return good && strpbrk(tmp, " \t\n'\"\\$`*?[](){}<>|&;#~") == NULL ? tmp : "/tmp";
}

/* `name` in test_tmp(), in `out` and returned: what mkstemp and mkdtemp take. */
static inline char *test_tmp_name(char out[TEST_TMP], const char *name) {
    assert_in_range(snprintf(out, TEST_TMP, "%s/%s", test_tmp(), name), 1, TEST_TMP - 1);
    return out;
}

/* Path of a file under tests/data; static buffer. */
static inline const char *test_data(const char *name) {
    static char path[4096];
    const char *root = getenv("ASC_TEST_DATA");
    snprintf(path, sizeof path, "%s/%s", root != NULL ? root : "tests/data", name);
    return path;
}

#define assert_ok(ctx, expr)                                                                                 \
    do {                                                                                                     \
        asc_status assert_ok_st = (expr);                                                                    \
        if (assert_ok_st != ASC_OK)                                                                          \
            fail_msg("%s: %s: %s", #expr, asc_status_name(assert_ok_st), asc_error_message(ctx));            \
    } while (0)

#endif
