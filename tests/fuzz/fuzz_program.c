/* fuzz_program.c - the program parser: whatever is taken must verify, print, and parse back to the same text.
 */
#include "program.h"
#include "view.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "null", .n_threads = 1};
    asc_ctx *ctx;
    asc_program p, q;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) return 0;
    if (asc_program_parse(ctx, asc_view_make((const char *)data, size), &p) == ASC_OK) {
        asc_strbuf a, b;
        asc_strbuf_init(&a, ctx);
        asc_strbuf_init(&b, ctx);
        if (asc_program_verify(ctx, &p) != ASC_OK) abort();
        asc_program_print(&p, &a);
        if (asc_program_parse(ctx, asc_strbuf_view(&a), &q) != ASC_OK) abort();
        asc_program_print(&q, &b);
        if (!asc_view_eq(asc_strbuf_view(&a), asc_strbuf_view(&b))) abort();
        asc_strbuf_deinit(&a);
        asc_strbuf_deinit(&b);
        asc_program_deinit(&q);
    }
    asc_program_deinit(&p);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
