/* png_write.c - a picture as a PNG file in memory. Writing to disk is file.h's business. */
#include "image.h"
#include <png.h>
#include <setjmp.h>
#include <stdio.h>

typedef struct writer {
    asc_ctx *ctx;
    jmp_buf jump;
    asc_strbuf *out;
    char problem[160];
} writer;

static void on_error(png_structp png, png_const_charp message) {
    writer *w = png_get_error_ptr(png);
    snprintf(w->problem, sizeof w->problem, "%s", message);
    longjmp(w->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep data, size_t n) {
    writer *w = png_get_io_ptr(png);
    asc_strbuf_add(w->out, (const char *)data, n);
    if (w->out->failed) png_error(png, "out of memory");
}

static void on_flush(png_structp png) { (void)png; }

static png_voidp on_alloc(png_structp png, png_alloc_size_t n) {
    writer *w = png_get_mem_ptr(png);
    return asc_alloc(w->ctx, ASC_MEM_SCRATCH, n);
}

static void on_free(png_structp png, png_voidp p) {
    writer *w = png_get_mem_ptr(png);
    asc_free(w->ctx, p);
}

static bool write_all(writer *w, png_structp png, png_infop info, const asc_image *image) {
    if (setjmp(w->jump) != 0) return false;
    png_set_write_fn(png, w, on_write, on_flush);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t y = 0; y < image->height; y++)
        png_write_row(png, image->rgb + (size_t)(y * image->width) * 3);
    png_write_end(png, info);
    return true;
}

asc_status asc_png_encode(asc_ctx *ctx, const asc_image *image, asc_strbuf *out) {
    writer w = {.ctx = ctx, .out = out};
    png_infop info = NULL;
    asc_status st = asc_image_check_size(ctx, image->width, image->height);
    if (st != ASC_OK) return st;
    png_structp png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w, on_alloc, on_free);
    if (png != NULL) info = png_create_info_struct(png);
    if (info == NULL)
        st = ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "no memory for the PNG writer");
    else if (!write_all(&w, png, info, image))
        st = out->failed || asc_error_code(ctx) == ASC_RESOURCE_EXHAUSTED
                 ? ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "no memory to write a PNG picture of %lld x %lld",
                            (long long)image->width, (long long)image->height)
                 : ASC_FAIL(ctx, ASC_INTERNAL, "libpng: %s", w.problem);
    png_destroy_write_struct(&png, &info);
    return st;
}
