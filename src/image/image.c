/* image.c - the picture record: making, freeing, reading and writing files. */
#include "image.h"
#include "file.h"
#include "plain.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 29 }; /* bytes of a picture file */

static const uint8_t png_start[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

asc_status asc_image_check_size(asc_ctx *ctx, int64_t width, int64_t height) {
    if (width < 1 || height < 1)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a picture of %lld x %lld pixels has nothing to show",
                        (long long)width, (long long)height);
    if (width > ASC_IMAGE_MAX_SIDE || height > ASC_IMAGE_MAX_SIDE || width * height > ASC_IMAGE_MAX_PIXELS) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
                 "a picture of %lld x %lld pixels; at most %d a side and %lld in all are read",
                 (long long)width, (long long)height, ASC_IMAGE_MAX_SIDE, (long long)ASC_IMAGE_MAX_PIXELS);
        return asc_hint(ctx, "make the picture smaller first; nets look at far fewer pixels");
    }
    return ASC_OK;
}

asc_status asc_image_create(asc_ctx *ctx, int64_t width, int64_t height, asc_image *out) {
    *out = (asc_image){0};
    asc_status st = asc_image_check_size(ctx, width, height);
    if (st != ASC_OK) return st;
    out->rgb = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)(width * height), 3);
    if (out->rgb == NULL) return ASC_RESOURCE_EXHAUSTED;
    out->width = width;
    out->height = height;
    return ASC_OK;
}

void asc_image_free(asc_ctx *ctx, asc_image *image) {
    asc_free(ctx, image->rgb);
    *image = (asc_image){0};
}

void asc_image_remark(asc_image *image, const char *fmt, ...) {
    size_t used = strlen(image->note), room = sizeof image->note - used;
    if (used > 0 && room > 3) {
        memcpy(image->note + used, "; ", 3);
        used += 2;
        room -= 2;
    }
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(image->note + used, room, fmt, ap);
    va_end(ap);
}

static int64_t be16(const uint8_t *p) { return p[0] << 8 | p[1]; }

/* The first frame header of a JPEG file: markers with their sizes, up to it. */
static bool peek_jpeg(const uint8_t *p, size_t len, int64_t *width, int64_t *height) {
    for (size_t at = 2; at + 9 <= len && p[at] == 0xff;) {
        const uint8_t marker = p[at + 1];
        if (marker == 0xff) { /* padding */
            at++;
            continue;
        }
        if (marker == 0xda) return false; /* the picture's data */
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
            *height = be16(p + at + 5);
            *width = be16(p + at + 7);
            return true;
        }
        at += 2 + (size_t)be16(p + at + 2);
    }
    return false;
}

bool asc_image_peek(const void *data, size_t len, int64_t *width, int64_t *height) {
    const uint8_t *p = data;
    if (len >= 24 && memcmp(p, png_start, sizeof png_start) == 0 && memcmp(p + 12, "IHDR", 4) == 0) {
        *width = be16(p + 16) << 16 | be16(p + 18);
        *height = be16(p + 20) << 16 | be16(p + 22);
        return true;
    }
    return len >= 2 && p[0] == 0xff && p[1] == 0xd8 && peek_jpeg(p, len, width, height);
}

asc_status asc_image_decode(asc_ctx *ctx, const void *data, size_t len, const uint8_t background[3],
                            asc_image *out) {
    static const uint8_t white[3] = {255, 255, 255};
    const uint8_t *p = data;
    *out = (asc_image){0};
    if (len >= sizeof png_start && memcmp(p, png_start, sizeof png_start) == 0)
        return asc_png_decode(ctx, p, len, background != NULL ? background : white, out);
    if (len >= 3 && p[0] == 0xff && p[1] == 0xd8 && p[2] == 0xff) return asc_jpeg_decode(ctx, p, len, out);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "this is neither a PNG nor a JPEG picture (%zu bytes)", len);
    return asc_hint(ctx, "convert the picture to PNG or JPEG");
}

asc_status asc_image_read(asc_ctx *ctx, const char *path, asc_image *out) {
    char *data = NULL;
    size_t len = 0;
    *out = (asc_image){0};
    asc_status st = asc_file_read(ctx, path, FILE_LIMIT, &data, &len);
    if (st != ASC_OK) return st;
    st = asc_image_decode(ctx, data, len, NULL, out);
    asc_free(ctx, data);
    if (st != ASC_OK) return asc_fail_context(ctx, "%s", path);
    if (out->note[0] != '\0') asc_logf(ctx, ASC_LOG_INFO, "%s: %s", path, out->note);
    return ASC_OK;
}

asc_status asc_image_write(asc_ctx *ctx, const char *path, const asc_image *image) {
    asc_strbuf png;
    asc_strbuf_init(&png, ctx);
    asc_status st = asc_png_encode(ctx, image, &png);
    if (st == ASC_OK) st = asc_file_write(ctx, path, png.ptr, png.len);
    asc_strbuf_deinit(&png);
    return st;
}
