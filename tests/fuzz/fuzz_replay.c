/* fuzz_replay.c - the reader of replay files: whatever is taken has its arrays inside the file, and nothing
 * is left allocated. The checksum at the end is made right first, or nothing would get past it. */
#include "alloc.h"
#include "hash.h"
#include "replay_file.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "null", .n_threads = 1};
    asc_ctx *ctx;
    asc_replay *r = NULL;
    char *copy = aligned_alloc(16, (size + 96 + 15) & ~(size_t)15), hex[65];
    if (copy == NULL || asc_ctx_create(&o, &ctx) != ASC_OK) {
        free(copy);
        return 0;
    }
    if (size > 0) memcpy(copy, data, size);
    for (int mended = 0; mended < 2; mended++) {
        if (mended == 1) {
            if (size < ASC_REPLAY_SUM) break;
            asc_sha256_hex(copy, size - ASC_REPLAY_SUM, hex);
            memcpy(copy + size - ASC_REPLAY_SUM, hex, ASC_REPLAY_SUM);
        }
        if (asc_replay_parse(ctx, copy, size, &r) == ASC_OK) {
            const asc_replay_info i = asc_replay_info_of(r);
            for (size_t k = 0; k < i.n_inputs; k++) {
                const char *at = r->inputs[k].data;
                if (at < copy || at + r->inputs[k].bytes > copy + size) abort();
            }
            if (i.program.ptr < copy || i.program.ptr + i.program.len > copy + size) abort();
        } else if (asc_error_message(ctx)[0] == '\0') {
            abort();
        }
        asc_replay_close(r);
    }
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    free(copy);
    return 0;
}
