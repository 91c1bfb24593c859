/* png_read.c - PNG through libpng, row by row. libpng reports errors by longjmp: everything that must survive
 * one lives in `reader`, and the jump never leaves this file. Gamma and colour profiles are left alone, as
 * Pillow leaves them. */
#include "image.h"
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* libpng's chunks besides the pixels: none of them is needed, so they are small or refused. */
enum { CHUNK_LIMIT = 1 << 23, CHUNKS_KEPT = 128 };
/* DEFLATE makes at most 1032 bytes out of one: a file that claims more pixels than that is cut or lies. */
enum { INFLATION_LIMIT = 1032 };

typedef struct reader {
    asc_ctx *ctx;
    jmp_buf jump;
    png_structp png;
    png_infop info;
    const uint8_t *data;
    size_t len, at;
    bool cut;      /* libpng asked for bytes behind the end */
    int64_t row;   /* the next one; -1 = still in the header */
    uint8_t *rgba; /* a row while it is read; of interlaced files, which take several passes, all of them */
    char problem[160];
} reader;

static void on_error(png_structp png, png_const_charp message) {
    reader *r = png_get_error_ptr(png);
    snprintf(r->problem, sizeof r->problem, "%s", message);
    longjmp(r->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message; /* only about chunks that are not used */
}

static void on_read(png_structp png, png_bytep out, size_t n) {
    reader *r = png_get_io_ptr(png);
    if (n > r->len - r->at) {
        r->cut = true;
        png_error(png, "the file ends too early");
    }
    memcpy(out, r->data + r->at, n);
    r->at += n;
}

static png_voidp on_alloc(png_structp png, png_alloc_size_t n) {
    reader *r = png_get_mem_ptr(png);
    return asc_alloc(r->ctx, ASC_MEM_SCRATCH, n);
}

static void on_free(png_structp png, png_voidp p) {
    reader *r = png_get_mem_ptr(png);
    asc_free(r->ctx, p);
}

/* Everything up to the first row; false after a jump. Sizes are checked by the caller between the two. */
static bool read_head(reader *r) {
    if (setjmp(r->jump) != 0) return false;
    png_set_read_fn(r->png, r, on_read);
    png_set_user_limits(r->png, 0x7fffffff, 0x7fffffff); /* ours are checked next, with a message of ours */
    png_set_chunk_malloc_max(r->png, CHUNK_LIMIT);
    png_set_chunk_cache_max(r->png, CHUNKS_KEPT);
    png_read_info(r->png, r->info);
    return true;
}

/* Rounded (c a + background (255 - a)) / 255. */
static bool flatten(const uint8_t *rgba, size_t n, const uint8_t background[3], uint8_t *rgb) {
    bool transparent = false;
    for (size_t i = 0; i < n; i++) {
        unsigned a = rgba[4 * i + 3];
        transparent = transparent || a != 255;
        for (size_t c = 0; c < 3; c++)
            rgb[3 * i + c] = (uint8_t)((rgba[4 * i + c] * a + background[c] * (255u - a) + 127u) / 255u);
    }
    return transparent;
}

/* One row at a time where that is the file's order, all of them where it is interlaced. */
static bool read_rows(reader *r, int64_t height, size_t row_bytes, const uint8_t background[3],
                      asc_image *out, bool *transparent) {
    if (setjmp(r->jump) != 0) return false;
    png_set_expand(r->png); /* palettes, 1, 2 and 4 bits, transparent colours */
    png_set_strip_16(r->png);
    png_set_gray_to_rgb(r->png);
    png_set_add_alpha(r->png, 255, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != row_bytes) png_error(r->png, "a row of unexpected length");
    for (int pass = 0; pass < passes; pass++)
        for (r->row = 0; r->row < height; r->row++) {
            uint8_t *row = r->rgba + (passes > 1 ? (size_t)r->row * row_bytes : 0);
            png_read_row(r->png, row, NULL);
            if (pass == passes - 1 &&
                flatten(row, row_bytes / 4, background, out->rgb + (size_t)r->row * row_bytes / 4 * 3))
                *transparent = true;
        }
    return true;
}

/* The chunks behind the pixels hold the EXIF block of some writers; a file that is cut there has all its
 * rows, but is damaged all the same. */
static bool read_tail(reader *r) {
    if (setjmp(r->jump) != 0) return false;
    png_read_end(r->png, r->info);
    return true;
}

static asc_status fail(reader *r) {
    asc_ctx *ctx = r->ctx;
    if (asc_error_code(ctx) == ASC_RESOURCE_EXHAUSTED) return ASC_RESOURCE_EXHAUSTED; /* from on_alloc */
    const char *what = r->cut ? "truncated" : "damaged";
    if (r->row < 0)
        ASC_FAIL(ctx, ASC_DATA_LOSS, "%s PNG picture, in its header: %s", what, r->problem);
    else
        ASC_FAIL(ctx, ASC_DATA_LOSS, "%s PNG picture, at row %lld: %s", what, (long long)r->row, r->problem);
    return asc_hint(ctx, "get the file again, or convert it with a program that repairs it");
}

static asc_status check_claim(reader *r, int64_t width, int64_t height) {
    asc_status st = asc_image_check_size(r->ctx, width, height);
    if (st != ASC_OK) return st;
    size_t bits = (size_t)png_get_bit_depth(r->png, r->info) * png_get_channels(r->png, r->info);
    size_t raw = ((size_t)width * bits + 7) / 8 * (size_t)height;
    if (raw / INFLATION_LIMIT <= r->len) return ASC_OK;
    r->cut = true;
    r->row = 0;
    snprintf(r->problem, sizeof r->problem, "%lld x %lld pixels cannot come out of %zu bytes",
             (long long)width, (long long)height, r->len);
    return fail(r);
}

static void remarks(reader *r, bool transparent, const uint8_t background[3], asc_image *out) {
    if (transparent)
        asc_image_remark(out, "transparent parts are laid over RGB %d %d %d", background[0], background[1],
                         background[2]);
#ifdef PNG_eXIf_SUPPORTED
    png_bytep exif = NULL;
    png_uint_32 n = 0;
    if (png_get_eXIf_1(r->png, r->info, &n, &exif) == 0) return;
    int o = asc_exif_orientation(exif, n);
    if (o > 1) asc_image_remark(out, "EXIF orientation %d was not applied", o);
#endif
}

asc_status asc_png_decode(asc_ctx *ctx, const uint8_t *data, size_t len, const uint8_t background[3],
                          asc_image *out) {
    reader r = {.ctx = ctx, .data = data, .len = len, .row = -1};
    asc_status st = ASC_OK;
    *out = (asc_image){0};
    asc_error_clear(ctx);
    r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning, &r, on_alloc, on_free);
    if (r.png != NULL) r.info = png_create_info_struct(r.png);
    if (r.info == NULL) {
        st = ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "no memory for the PNG reader");
        goto done;
    }
    if (!read_head(&r)) {
        st = fail(&r);
        goto done;
    }
    int64_t width = png_get_image_width(r.png, r.info), height = png_get_image_height(r.png, r.info);
    bool deep = png_get_bit_depth(r.png, r.info) == 16;
    ASC_TRY(check_claim(&r, width, height));
    ASC_TRY(asc_image_create(ctx, width, height, out));
    const bool interlaced = png_get_interlace_type(r.png, r.info) != PNG_INTERLACE_NONE;
    r.rgba = asc_alloc(ctx, ASC_MEM_SCRATCH, (size_t)(width * (interlaced ? height : 1)) * 4);
    if (r.rgba == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    bool transparent = false;
    if (!read_rows(&r, height, (size_t)width * 4, background, out, &transparent) || !read_tail(&r)) {
        st = fail(&r);
        goto done;
    }
    if (deep) asc_image_remark(out, "of 16 bits the upper 8 are kept");
    remarks(&r, transparent, background, out);
done:
    asc_free(ctx, r.rgba);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    if (st != ASC_OK) asc_image_free(ctx, out);
    return st;
}
