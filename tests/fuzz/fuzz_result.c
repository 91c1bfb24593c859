/* fuzz_result.c - the reader of result files: any bytes are a result or an error, nothing leaks. */
#include "ascribe/report.h"
#include "ctx.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx *ctx = NULL;
    asc_saved *s = NULL;
    if (asc_ctx_create_base(NULL, &ctx) != ASC_OK) return 0;
    asc_status st = asc_saved_parse(ctx, (asc_view){(const char *)data, size}, &s);
    if ((st == ASC_OK) != (s != NULL)) abort();
    if (st == ASC_OK && s->request.struct_size != sizeof s->request) abort();
    asc_saved_destroy(ctx, s);
    if (ctx->mem.live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
