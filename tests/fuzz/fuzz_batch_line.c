/* fuzz_batch_line.c - any bytes as a line of a file of prompts. */
#include "batch_parts.h"
#include "ctx.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_batch_line l;
    const asc_request base = {.struct_size = sizeof base, .generate = 1};
    asc_view text = {(const char *)data, size}, line;
    size_t pos = 0;
    bool ended;
    if (asc_ctx_create_base(&o, &ctx) != ASC_OK) abort();
    while (asc_batch_next_line(text, &pos, &line, &ended)) {
        if (pos > size || asc_batch_blank(line)) continue;
        if (asc_batch_line_read(ctx, NULL, line, &base, &l) != ASC_OK && asc_error_message(ctx)[0] == '\0')
            abort();
        asc_batch_line_free(&l);
    }
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
