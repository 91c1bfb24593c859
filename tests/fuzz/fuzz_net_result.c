/* fuzz_net_result.c - the reader of result files of nets: any bytes are a result or an error. */
#include "ascribe/net_report.h"
#include "ctx.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* keeps the reads */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx *ctx = NULL;
    asc_net_saved *s = NULL;
    if (asc_ctx_create_base(NULL, &ctx) != ASC_OK) return 0;
    asc_status st = asc_net_saved_parse(ctx, (asc_view){(const char *)data, size}, &s);
    if ((st == ASC_OK) != (s != NULL)) abort();
    if (st == ASC_OK) {
        sink += strlen(s->command);
        for (size_t i = 0; i < s->n_scores; i++)
            for (size_t k = 0; k < s->scores[i].n; k++) sink += s->scores[i].data[k] > 0;
    }
    asc_net_saved_destroy(ctx, s);
    if (ctx->mem.live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
