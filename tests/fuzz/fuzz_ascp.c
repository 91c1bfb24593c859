/* fuzz_ascp.c - the reader of files of compiled functions: whatever is taken lies inside the file, compiles
 * or says why not, and nothing is left allocated. Build name and checksum are made right first, or nothing
 * would get past them and the seeds would be of use to one build only. */
#include "alloc.h"
#include "ascp_file.h"
#include "hash.h"
#include <stdlib.h>
#include <string.h>

/* What an asc_ascp says of itself is inside the bytes. */
static void inside(const asc_ascp *f, const char *copy, size_t size) {
    const asc_ascp_info i = asc_ascp_info_of(f);
    for (size_t k = 0; k < i.n_arrays; k++) {
        const char *at = f->arrays[k].data;
        if (at < copy || at + f->arrays[k].bytes > copy + size) abort();
    }
    for (size_t s = 0; s < i.n_signatures; s++) {
        const asc_ascp_signature g = asc_ascp_signature_of(f, s);
        if (g.program.ptr < copy || g.program.ptr + g.program.len > copy + size) abort();
        for (size_t k = 0; k < i.n_out; k++) {
            if (asc_ascp_output(f, s, k).dtype == NULL) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { BUILD_AT = 56 };
    asc_ctx_options o = {.struct_size = sizeof o, .device = "null", .n_threads = 1};
    asc_ctx *ctx;
    asc_ascp *f = NULL;
    asc_compiled *c = NULL;
    char *copy = aligned_alloc(16, (size + 16) & ~(size_t)15), hex[65];
    if (copy == NULL || asc_ctx_create(&o, &ctx) != ASC_OK) {
        free(copy);
        return 0;
    }
    if (size > 0) memcpy(copy, data, size);
    for (int mended = 0; mended < 2; mended++) {
        if (mended == 1) {
            char build[ASC_ASCP_BUILD];
            if (size < ASC_ASCP_HEAD + ASC_ASCP_SUM) break;
            asc_ascp_build_text(build);
            memcpy(copy + BUILD_AT, build, sizeof build);
            asc_sha256_hex(copy, size - ASC_ASCP_SUM, hex);
            memcpy(copy + size - ASC_ASCP_SUM, hex, ASC_ASCP_SUM);
        }
        if (asc_ascp_parse(ctx, copy, size, &f) == ASC_OK) {
            inside(f, copy, size);
            if (asc_ascp_compile(f, &c) != ASC_OK && asc_error_message(ctx)[0] == '\0') abort();
        } else if (asc_error_message(ctx)[0] == '\0') {
            abort();
        }
        asc_compiled_destroy(c);
        asc_ascp_close(f);
        c = NULL;
        f = NULL;
    }
    asc_exec_trim(ctx);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    free(copy);
    return 0;
}
