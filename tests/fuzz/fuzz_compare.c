/* fuzz_compare.c - two result files, separated by a NUL byte: any bytes are a comparison or an error. */
#include "ascribe/compare.h"
#include "ctx.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* keeps the reads */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx *ctx = NULL;
    asc_result_difference *d = NULL;
    const char *p = (const char *)data, *middle = size > 0 ? memchr(p, '\0', size) : NULL;
    size_t first = middle != NULL ? (size_t)(middle - p) : size;
    asc_view a = {p, first}, b = middle != NULL ? (asc_view){middle + 1, size - first - 1} : a;
    if (asc_ctx_create_base(NULL, &ctx) != ASC_OK) return 0;
    asc_status st = asc_results_compare(ctx, a, b, 3, &d);
    if ((st == ASC_OK) != (d != NULL)) abort();
    for (size_t i = 0; st == ASC_OK && i < d->d.n; i++)
        sink += strlen(d->scores[i].name) + (d->scores[i].tolerance > 0);
    for (size_t i = 0; st == ASC_OK && i < d->n_changes; i++) sink += strlen(d->changes[i]);
    asc_result_difference_destroy(ctx, d);
    if (ctx->mem.live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
