/* jpeg_read.c - JPEG through libjpeg-turbo: exact integer transform and smooth upsampling, Pillow's settings.
 * libjpeg ends by a call that must not return: it jumps back into this file and no further. A file that ends
 * early, or whose entropy-coded data are damaged, is an error here although libjpeg would go on with grey. */
#include "image.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum { EXIF_HEAD = 6 }; /* "Exif\0\0" before the TIFF part */
/* Huffman-coded files spend at least a bit on a block of 64 samples; chroma may have 16 times fewer of them.
 */
enum { PIXELS_PER_BYTE = 8192 };

typedef struct reader {
    asc_ctx *ctx;
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    bool cut, crowded, exhausted;
    uint8_t *line; /* CMYK: one row of four channels */
    char problem[JMSG_LENGTH_MAX];
} reader;

static reader *of(j_common_ptr c) { return c->client_data; }

static void on_error(j_common_ptr c) {
    reader *r = of(c);
    r->errors.format_message(c, r->problem);
    r->exhausted = r->errors.msg_code == JERR_OUT_OF_MEMORY;
    longjmp(r->jump, 1);
}

/* Warnings that say that pixels were made up are errors; the others are about padding and headers. */
static void on_message(j_common_ptr c, int level) {
    reader *r = of(c);
    if (level >= 0) return;
    switch (r->errors.msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_JPEG_EOF:
    case JWRN_BOGUS_PROGRESSION:
        on_error(c);
        break;
    default:
        break;
    }
}

static void on_output(j_common_ptr c) { (void)c; }
static void on_source(j_decompress_ptr d) { (void)d; }

static boolean on_fill(j_decompress_ptr d) {
    of((j_common_ptr)d)->cut = true;
    ERREXIT(d, JERR_INPUT_EOF);
    return FALSE;
}

static void on_skip(j_decompress_ptr d, long n) {
    if (n <= 0) return;
    if ((size_t)n > d->src->bytes_in_buffer) {
        (void)on_fill(d);
        return;
    }
    d->src->next_input_byte += n;
    d->src->bytes_in_buffer -= (size_t)n;
}

static void on_progress(j_common_ptr c) {
    reader *r = of(c);
    if (r->d.input_scan_number <= ASC_JPEG_MAX_SCANS) return;
    r->crowded = true;
    longjmp(r->jump, 1);
}

static bool read_head(reader *r, const uint8_t *data, size_t len) {
    if (setjmp(r->jump) != 0) return false;
    jpeg_create_decompress(&r->d);
    r->d.client_data = r;
    r->source = (struct jpeg_source_mgr){.next_input_byte = data,
                                         .bytes_in_buffer = len,
                                         .init_source = on_source,
                                         .fill_input_buffer = on_fill,
                                         .skip_input_data = on_skip,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = on_source};
    r->d.src = &r->source;
    r->progress.progress_monitor = on_progress;
    r->d.progress = &r->progress;
    jpeg_save_markers(&r->d, JPEG_APP0 + 1, 0xffff);
    (void)jpeg_read_header(&r->d, TRUE);
    return true;
}

/* The K channel multiplied in; Adobe's files, the only ones in use, store all four inverted. */
static void from_cmyk(const uint8_t *cmyk, int64_t n, uint8_t *rgb) {
    for (int64_t i = 0; i < n; i++) {
        unsigned k = cmyk[4 * i + 3];
        for (int c = 0; c < 3; c++) { /* k - rounded (255 - stored) k / 255, in the inverted scale */
            unsigned ink = 255u - cmyk[4 * i + c], t = ink * k + 128u;
            rgb[3 * i + c] = (uint8_t)(k - ((t + (t >> 8)) >> 8));
        }
    }
}

static bool read_rows(reader *r, asc_image *out) {
    if (setjmp(r->jump) != 0) return false;
    jpeg_start_decompress(&r->d);
    if ((int64_t)r->d.output_width != out->width || (int64_t)r->d.output_height != out->height)
        ERREXIT(&r->d, JERR_CANT_SUSPEND);
    while (r->d.output_scanline < r->d.output_height) {
        uint8_t *to = out->rgb + (size_t)r->d.output_scanline * (size_t)out->width * 3;
        JSAMPROW row = r->line != NULL ? r->line : to;
        (void)jpeg_read_scanlines(&r->d, &row, 1);
        if (r->line != NULL) from_cmyk(r->line, out->width, to);
    }
    (void)jpeg_finish_decompress(&r->d); /* reads to the end marker: what is missing there is missing */
    return true;
}

/* Row of pixels that was being decoded; progressive files are decoded scan by scan. */
static long long row_reached(const reader *r) {
    long long mcu = (long long)r->d.max_v_samp_factor * DCTSIZE, row = mcu * r->d.input_iMCU_row;
    long long last = (long long)r->d.image_height - 1;
    return row > last ? last : row;
}

static asc_status fail(reader *r) {
    asc_ctx *ctx = r->ctx;
    const char *what = r->cut ? "truncated" : "damaged";
    if (r->exhausted) return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "no memory for the JPEG picture");
    if (r->crowded) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a JPEG picture of more than %d scans", ASC_JPEG_MAX_SCANS);
        return asc_hint(ctx, "store it as a baseline JPEG or as PNG");
    }
    if (r->d.input_scan_number < 1)
        ASC_FAIL(ctx, ASC_DATA_LOSS, "%s JPEG picture, in its header: %s", what, r->problem);
    else if (r->d.progressive_mode)
        ASC_FAIL(ctx, ASC_DATA_LOSS, "%s JPEG picture, in scan %d at row %lld: %s", what,
                 r->d.input_scan_number, row_reached(r), r->problem);
    else
        ASC_FAIL(ctx, ASC_DATA_LOSS, "%s JPEG picture, at row %lld: %s", what, row_reached(r), r->problem);
    return asc_hint(ctx, "get the file again, or convert it with a program that repairs it");
}

static asc_status check_claim(reader *r, size_t len) {
    int64_t width = r->d.image_width, height = r->d.image_height;
    asc_status st = asc_image_check_size(r->ctx, width, height);
    if (st != ASC_OK) return st;
    if (!r->d.arith_code && (size_t)(width * height) / PIXELS_PER_BYTE > len) {
        r->cut = true;
        snprintf(r->problem, sizeof r->problem, "%lld x %lld pixels cannot come out of %zu bytes",
                 (long long)width, (long long)height, len);
        return fail(r);
    }
    switch (r->d.jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_RGB:
    case JCS_YCbCr:
        r->d.out_color_space = JCS_RGB;
        return ASC_OK;
    case JCS_CMYK:
    case JCS_YCCK:
        r->d.out_color_space = JCS_CMYK;
        return ASC_OK;
    default:
        ASC_FAIL(r->ctx, ASC_UNIMPLEMENTED, "a JPEG picture of %d channels of unknown meaning",
                 r->d.num_components);
        return asc_hint(r->ctx, "convert it to RGB");
    }
}

/* Before the pixels: libjpeg forgets the markers at the end of them. */
static int orientation(reader *r) {
    for (jpeg_saved_marker_ptr m = r->d.marker_list; m != NULL; m = m->next)
        if (m->data_length >= EXIF_HEAD && memcmp(m->data, "Exif\0", EXIF_HEAD) == 0)
            return asc_exif_orientation(m->data + EXIF_HEAD, m->data_length - EXIF_HEAD);
    return 0;
}

asc_status asc_jpeg_decode(asc_ctx *ctx, const uint8_t *data, size_t len, asc_image *out) {
    asc_status st = ASC_OK;
    *out = (asc_image){0};
    reader *r = asc_calloc(ctx, ASC_MEM_SCRATCH, 1, sizeof *r);
    if (r == NULL) return ASC_RESOURCE_EXHAUSTED;
    r->ctx = ctx;
    r->d.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->errors.output_message = on_output;
    r->d.client_data = r;
    if (!read_head(r, data, len)) {
        st = fail(r);
        goto done;
    }
    ASC_TRY(check_claim(r, len));
    int turned = orientation(r);
    ASC_TRY(asc_image_create(ctx, r->d.image_width, r->d.image_height, out));
    if (r->d.out_color_space == JCS_CMYK) {
        r->line = asc_alloc(ctx, ASC_MEM_SCRATCH, (size_t)out->width * 4);
        if (r->line == NULL) {
            st = ASC_RESOURCE_EXHAUSTED;
            goto done;
        }
    }
    if (!read_rows(r, out)) {
        st = fail(r);
        goto done;
    }
    if (r->line != NULL) asc_image_remark(out, "CMYK was turned into RGB without a colour profile");
    if (turned > 1) asc_image_remark(out, "EXIF orientation %d was not applied", turned);
done:
    jpeg_destroy_decompress(&r->d);
    asc_free(ctx, r->line);
    asc_free(ctx, r);
    if (st != ASC_OK) asc_image_free(ctx, out);
    return st;
}
