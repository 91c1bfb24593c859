/* fuzz_jpeg.c - any bytes as a JPEG picture: decoded whole or refused with a message; nothing is lost. */
#include "ctx.h"
#include "image.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink; /* keeps the reads */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_image im;
    if (asc_ctx_create_base(&o, &ctx) != ASC_OK) abort();
    asc_status st = asc_jpeg_decode(ctx, data, size, &im);
    if ((st == ASC_OK) != (im.rgb != NULL)) abort();
    if (st == ASC_OK)
        for (int64_t i = 0; i < im.width * im.height * 3; i += 7) sink += im.rgb[i];
    else if (asc_error_message(ctx)[0] == '\0')
        abort();
    asc_image_free(ctx, &im);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
