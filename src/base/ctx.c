/* ctx.c - creation and end of a context, error record, log, progress and cancellation.
 * Guarantees: works with exhausted memory (the error record is inside the context). */
#include "alloc.h"
#include "cpu.h"
#include "ctx.h"
#include "ctx_alloc.h"
#include "plain.h"
#include "profile.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Large blocks come in huge pages where the system has them: kernels that walk down columns miss the TLB on
 * every row otherwise (a quarter of a matrix product's time on virtual machines, docs/SPEED.md, "Huge
 * pages"), and the first touch costs one fault for 2 MB instead of 512. */
enum { HUGE_PAGE = 2 << 20 };

static void *aligned(size_t align, size_t size) {
    void *p = NULL;
    if (posix_memalign(&p, size >= HUGE_PAGE ? HUGE_PAGE : align, size) != 0) return NULL;
#if defined(MADV_HUGEPAGE)
    if (size >= HUGE_PAGE) (void)madvise(p, size & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE); /* advice only */
#endif
    return p;
}

static void *default_alloc(void *self, void *ptr, size_t old_size, size_t new_size, size_t align) {
    (void)self;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    if (ptr == NULL || align > 16) {
        void *p = align <= 16 ? malloc(new_size) : aligned(align, new_size);
        if (p != NULL && ptr != NULL) {
            memcpy(p, ptr, old_size < new_size ? old_size : new_size);
            free(ptr);
        }
        return p;
    }
    return realloc(ptr, new_size);
}

bool asc_ctx_has_default_alloc(const asc_ctx *ctx) { return ctx->alloc == default_alloc; }

const char *asc_status_name(asc_status st) {
    switch (st) {
#define CASE(name, number, text)                                                                             \
    case ASC_##name:                                                                                         \
        return #name;
        ASC_STATUS_TABLE(CASE)
#undef CASE
    }
    return "UNKNOWN";
}

static const struct {
    const char *name, *doc;
} levels[ASC_N_PRECISIONS] = {
#define ROW(e, text, what) [ASC_PRECISION_##e] = {text, what},
    ASC_PRECISION_TABLE(ROW)
#undef ROW
};

const char *asc_precision_name(asc_precision p) {
    return (unsigned)p < ASC_N_PRECISIONS ? levels[p].name : NULL;
}
const char *asc_precision_doc(asc_precision p) {
    return (unsigned)p < ASC_N_PRECISIONS ? levels[p].doc : NULL;
}
int asc_precision_from_name(const char *name) {
    for (int i = 0; i < ASC_N_PRECISIONS; i++) {
        if (strcmp(levels[i].name, name) == 0) return i;
    }
    return -1;
}

static asc_status copy_name(asc_ctx *ctx, char *out, const char *name, const char *fallback,
                            const char *const *known, const char *what) {
    const char *v = name != NULL && name[0] != '\0' ? name : fallback;
    for (size_t i = 0; known[i] != NULL; i++) {
        if (strcmp(known[i], v) == 0) {
            snprintf(out, 32, "%s", v);
            return ASC_OK;
        }
    }
    snprintf(out, 32, "%s", fallback);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "unknown %s '%.40s'", what, v);
    char list[256] = "";
    for (size_t i = 0; known[i] != NULL; i++) {
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "", known[i]);
    }
    return asc_hint(ctx, "use one of: %s", list);
}

asc_status asc_ctx_create_base(const asc_ctx_options *opts, asc_ctx **out_ctx) {
    static const char *const devices[] = {"cpu", "reference", "null", NULL};
    static const char *const modes[] = {"deferred", "eager", "compiled", NULL};
    *out_ctx = NULL;
    asc_ctx_options o = {.struct_size = sizeof o};
    if (opts != NULL) {
        size_t n = opts->struct_size < sizeof o ? opts->struct_size : sizeof o;
        memcpy(&o, opts, n);
    }
    if (o.alloc == NULL) {
        o.alloc = default_alloc;
        o.alloc_self = NULL;
    }
    asc_ctx *ctx = o.alloc(o.alloc_self, NULL, 0, sizeof *ctx, 16);
    if (ctx == NULL) return ASC_RESOURCE_EXHAUSTED;
    memset(ctx, 0, sizeof *ctx);
    ctx->alloc = o.alloc;
    ctx->alloc_self = o.alloc_self;
    ctx->log = o.log;
    ctx->log_self = o.log_self;
    ctx->progress = o.progress;
    ctx->progress_self = o.progress_self;
    ctx->seed = o.seed;
    ctx->n_threads = o.n_threads > 0 ? o.n_threads : asc_cpu_count();
    atomic_init(&ctx->cancel, 0);
    *out_ctx = ctx;
    asc_status st = ASC_OK;
    int isa = asc_isa_from_name(o.isa != NULL ? o.isa : "auto");
    if (isa < 0) {
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "unknown instruction set '%.40s'", o.isa);
        st = asc_hint(ctx, "use one of: auto, avx512, avx2, baseline");
        isa = ASC_ISA_BASELINE;
    } else if (isa > (int)asc_cpu_best_isa()) {
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "this processor has no %s", asc_isa_name((asc_isa)isa));
        st = asc_hint(ctx, "use auto, or %s and below", asc_isa_name(asc_cpu_best_isa()));
        isa = ASC_ISA_BASELINE;
    }
    ctx->isa = isa;
    asc_status st2 = copy_name(ctx, ctx->device_name, o.device, "cpu", devices, "device");
    if (st == ASC_OK) st = st2;
    st2 = copy_name(ctx, ctx->mode_name, o.mode, "deferred", modes, "mode");
    if (st == ASC_OK) st = st2;
    int level = o.precision != NULL && o.precision[0] != '\0' ? asc_precision_from_name(o.precision) : 0;
    if (level < 0) {
        st2 = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "unknown precision '%.40s'", o.precision);
        st2 = asc_hint(ctx, "use one of: highest, bf16x6, high, medium, int8");
        if (st == ASC_OK) st = st2;
    }
    ctx->precision = level < 0 ? ASC_PRECISION_HIGHEST : (asc_precision)level;
    return st;
}

void asc_ctx_destroy(asc_ctx *ctx) {
    if (ctx == NULL) return;
    if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
    asc_prof_free(ctx);
    ctx->alloc(ctx->alloc_self, ctx, sizeof *ctx, 0, 16);
}

asc_status asc_fail_at(asc_ctx *ctx, asc_status code, const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ctx->error.code = code;
    asc_vsnprintf(ctx->error.message, sizeof ctx->error.message, fmt, ap);
    va_end(ap);
    for (char *p = ctx->error.message; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' '; /* one line, no terminal control */
    }
    ctx->error.hint[0] = '\0';
    ctx->error.file = file;
    ctx->error.line = line;
    return code;
}

asc_status asc_hint(asc_ctx *ctx, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(ctx->error.hint, sizeof ctx->error.hint, fmt, ap);
    va_end(ap);
    return ctx->error.code;
}

asc_status asc_fail_context(asc_ctx *ctx, const char *fmt, ...) {
    char old[sizeof ctx->error.message];
    memcpy(old, ctx->error.message, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = asc_vsnprintf(ctx->error.message, sizeof ctx->error.message, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof old) {
        snprintf(ctx->error.message + n, sizeof old - (size_t)n, ": %s", old);
    }
    return ctx->error.code;
}

asc_status asc_error_code(const asc_ctx *ctx) { return ctx->error.code; }
const char *asc_error_message(const asc_ctx *ctx) { return ctx->error.message; }
const char *asc_error_hint(const asc_ctx *ctx) { return ctx->error.hint; }
void asc_error_clear(asc_ctx *ctx) {
    ctx->error.code = ASC_OK;
    ctx->error.message[0] = '\0';
    ctx->error.hint[0] = '\0';
}

void asc_cancel(asc_ctx *ctx) { atomic_store(&ctx->cancel, 1); }
void asc_cancel_reset(asc_ctx *ctx) { atomic_store(&ctx->cancel, 0); }

void asc_logf(asc_ctx *ctx, asc_log_level level, const char *fmt, ...) {
    if (ctx->log == NULL) return;
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    ctx->log(ctx->log_self, level, line);
}

asc_status asc_poll_cancel(asc_ctx *ctx) {
    if (atomic_load(&ctx->cancel) == 0) return ASC_OK;
    return ASC_FAIL(ctx, ASC_CANCELLED, "stopped on request");
}

asc_status asc_progress(asc_ctx *ctx, const char *what, double done, double total) {
    if (ctx->progress != NULL && !ctx->progress(ctx->progress_self, what, done, total)) asc_cancel(ctx);
    return asc_poll_cancel(ctx);
}

uint64_t asc_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const char *asc_version(void) { return ASC_VERSION_STRING; }
