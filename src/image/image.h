/* image.h - what the files of this folder share: checked sizes, the two decoders, encoding. */
#ifndef ASC_IMAGE_H
#define ASC_IMAGE_H

#include "ascribe/image.h"
#include "strbuf.h"

/* Limits that only decoders need. */
enum {
    ASC_JPEG_MAX_SCANS = 200
}; /* a progressive file may repeat scans; each costs a walk over all blocks */

/* INVALID_ARGUMENT below 1, RESOURCE_EXHAUSTED above the limits; the message has both sides. */
ASC_MUST_USE asc_status asc_image_check_size(asc_ctx *ctx, int64_t width, int64_t height);
/* Adds a sentence to the note, cut where it does not fit. */
void asc_image_remark(asc_image *image, const char *fmt, ...) ASC_PRINTF(2, 3);

/* On failure out->rgb is NULL. data is borrowed. */
ASC_MUST_USE asc_status asc_png_decode(asc_ctx *ctx, const uint8_t *data, size_t len,
                                       const uint8_t background[3], asc_image *out);
ASC_MUST_USE asc_status asc_jpeg_decode(asc_ctx *ctx, const uint8_t *data, size_t len, asc_image *out);
/* Appends a PNG file. */
ASC_MUST_USE asc_status asc_png_encode(asc_ctx *ctx, const asc_image *image, asc_strbuf *out);

/* Orientation of an EXIF block (TIFF, from "II" or "MM" on): 1 to 8, or 0 when there is none or it is
 * damaged. */
int asc_exif_orientation(const uint8_t *data, size_t len);

#endif
