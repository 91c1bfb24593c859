/* fuzz_png.c - any bytes as a PNG picture: decoded whole or refused with a message; nothing is lost. Once as
 * they are, and once with the check sums of all chunks put right, so that changes reach what is behind them.
 */
#include "ctx.h"
#include "image.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink; /* keeps the reads */

static void decode(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_image im;
    if (asc_ctx_create_base(&o, &ctx) != ASC_OK) abort();
    static const uint8_t black[3] = {0, 0, 0};
    asc_status st = asc_png_decode(ctx, data, size, black, &im);
    if ((st == ASC_OK) != (im.rgb != NULL)) abort();
    if (st == ASC_OK)
        for (int64_t i = 0; i < im.width * im.height * 3; i += 7) sink += im.rgb[i];
    else if (asc_error_message(ctx)[0] == '\0')
        abort();
    asc_image_free(ctx, &im);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
}

static uint32_t check_sum(const uint8_t *p, size_t n) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    return ~c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    decode(data, size);
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) return 0;
    if (size > 0) memcpy(copy, data, size);
    for (size_t at = 8; size >= 20 && at <= size - 12;) {
        size_t n =
            (size_t)copy[at] << 24 | (size_t)copy[at + 1] << 16 | (size_t)copy[at + 2] << 8 | copy[at + 3];
        if (n > size - 12 - at) break;
        uint32_t c = check_sum(copy + at + 4, n + 4);
        for (int i = 0; i < 4; i++) copy[at + 8 + n + (size_t)i] = (uint8_t)(c >> (24 - 8 * i));
        at += n + 12;
    }
    decode(copy, size);
    free(copy);
    return 0;
}
