/* ascribe/image.h - pictures: PNG and JPEG files, resizing with Pillow's bytes, and the arrays that nets
 * want.
 *
 * Guarantees: a picture in memory is RGB, 8 bits a channel, row after row from the top. Resizing gives the
 * bytes of Pillow 13 for RGB pictures. Damaged, truncated and absurdly large files are errors. Not done:
 * colour management (gAMA, sRGB and ICC profiles are left alone) and EXIF orientation; the note says so where
 * a file has one.
 */
#ifndef ASCRIBE_IMAGE_H
#define ASCRIBE_IMAGE_H

#include "ascribe/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits, checked before anything of the size is allocated. */
#define ASC_IMAGE_MAX_SIDE 65500
#define ASC_IMAGE_MAX_PIXELS ((int64_t)1 << 27)

typedef struct asc_image {
    int64_t width, height;
    uint8_t *rgb;   /* [height][width][3]; owned, freed by asc_image_free */
    char note[256]; /* what reading did besides: "transparent parts stand on white; ..."; "" if nothing */
} asc_image;

/* Reads a PNG or JPEG file: grey, palette, 16 bit (the upper 8 are kept) and CMYK become RGB; transparency is
 * laid over white. Errors name the file: NOT_FOUND, INVALID_ARGUMENT (neither PNG nor JPEG),
 * RESOURCE_EXHAUSTED (over the limits), DATA_LOSS (damaged or truncated, with the row), UNIMPLEMENTED. */
ASC_API ASC_MUST_USE asc_status asc_image_read(asc_ctx *ctx, const char *path, asc_image *out);
/* The same from memory; `background` is what transparency is laid over, NULL = white. */
ASC_API ASC_MUST_USE asc_status asc_image_decode(asc_ctx *ctx, const void *data, size_t len,
                                                 const uint8_t background[3], asc_image *out);
/* Width and height that a PNG or JPEG file says it has, before anything is decoded; false when it does not
 * say (then asc_image_decode tells why). */
ASC_API bool asc_image_peek(const void *data, size_t len, int64_t *width, int64_t *height);
/* Writes a PNG file, all of it or nothing. */
ASC_API ASC_MUST_USE asc_status asc_image_write(asc_ctx *ctx, const char *path, const asc_image *image);
/* A black picture. INVALID_ARGUMENT, RESOURCE_EXHAUSTED (over the limits). */
ASC_API ASC_MUST_USE asc_status asc_image_create(asc_ctx *ctx, int64_t width, int64_t height, asc_image *out);
ASC_API void asc_image_free(asc_ctx *ctx, asc_image *image); /* NULL rgb is accepted */

/* Pillow's filters: X(ENUM, name). */
#define ASC_FILTER_TABLE(X)                                                                                  \
    X(BILINEAR, "bilinear")                                                                                  \
    X(BICUBIC, "bicubic")                                                                                    \
    X(LANCZOS, "lanczos")                                                                                    \
    X(BOX, "box")                                                                                            \
    X(NEAREST, "nearest")
typedef enum asc_filter {
#define ASC_FILTER_ENUM(e, name) ASC_FILTER_##e,
    ASC_FILTER_TABLE(ASC_FILTER_ENUM)
#undef ASC_FILTER_ENUM
        ASC_N_FILTERS
} asc_filter;
/* NOT_FOUND with the names in the hint. */
ASC_API ASC_MUST_USE asc_status asc_filter_by_name(asc_ctx *ctx, const char *name, asc_filter *out);

/* A new picture of width x height. */
ASC_API ASC_MUST_USE asc_status asc_image_resize(asc_ctx *ctx, const asc_image *in, int64_t width,
                                                 int64_t height, asc_filter filter, asc_image *out);
/* The shorter side becomes `side`, the longer one is cut to whole pixels (torchvision's Resize(side)). */
ASC_API ASC_MUST_USE asc_status asc_image_resize_short(asc_ctx *ctx, const asc_image *in, int64_t side,
                                                       asc_filter filter, asc_image *out);
/* The middle part; odd margins are split as torchvision's CenterCrop does. OUT_OF_RANGE when it is larger. */
ASC_API ASC_MUST_USE asc_status asc_image_crop(asc_ctx *ctx, const asc_image *in, int64_t width,
                                               int64_t height, asc_image *out);

/* Usual normalisations: X(name, mean of R G B, deviation of R G B, what it is). The value of a channel is
 * (byte / 255 - mean) / deviation, in f32; "none" leaves 0 to 255. */
#define ASC_NORMALISATION_TABLE(X)                                                                           \
    X("imagenet", 0.485, 0.456, 0.406, 0.229, 0.224, 0.225, "torchvision and most ImageNet classifiers")     \
    X("clip", 0.48145466, 0.4578275, 0.40821073, 0.26862954, 0.26130258, 0.27577711, "CLIP encoders")        \
    X("half", 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, "-1 to 1")                                                       \
    X("unit", 0, 0, 0, 1, 1, 1, "0 to 1")                                                                    \
    X("none", 0, 0, 0, 1, 1, 1, "0 to 255")

/* How a picture becomes an array. Zero-initialise, then set struct_size: no resizing, "unit", [1,3,H,W]. */
typedef struct asc_image_prep {
    size_t struct_size;
    asc_filter filter;
    int64_t resize_short;            /* first: shorter side to this; 0 = no */
    int64_t width, height;           /* or: to exactly this; 0 = no */
    int64_t crop_width, crop_height; /* then: middle part; 0 = no */
    const char *normalise;           /* a preset's name; NULL = "unit" */
    const double *mean, *deviation;  /* [3], instead of the preset's */
    bool nhwc, bgr;
    bool grey; /* one channel by ITU-R 601 as Pillow's "L"; the mean and deviation of R are used */
} asc_image_prep;

/* A float32 array [1,3,H,W] or [1,H,W,3], freed by asc_array_free. shown receives the resized and cropped
 * picture, the one whose pixels the scores belong to (asc_image_free); NULL = not wanted. Errors:
 * INVALID_ARGUMENT, NOT_FOUND (preset), OUT_OF_RANGE, RESOURCE_EXHAUSTED. */
ASC_API ASC_MUST_USE asc_status asc_image_to_array(asc_ctx *ctx, const asc_image *in,
                                                   const asc_image_prep *prep, asc_array *out,
                                                   asc_image *shown);
/* What the preset makes of black (and, with 255, white): baselines. byte 0-255, out[3] in R G B order. */
ASC_API ASC_MUST_USE asc_status asc_image_level(asc_ctx *ctx, const asc_image_prep *prep, int byte,
                                                float out[3]);
/* A whole input of that level, for a picture that is width x height when it is prepared (`shown`); freed by
 * asc_array_free. */
ASC_API ASC_MUST_USE asc_status asc_image_level_array(asc_ctx *ctx, const asc_image_prep *prep, int64_t width,
                                                      int64_t height, int byte, asc_array *out);

/* Feature masks: int32 arrays [rows, cols] with ids 0 .. n-1, freed by asc_array_free. */

/* Patches of patch_rows x patch_cols, row after row; those at the right and lower border may be smaller. */
ASC_API ASC_MUST_USE asc_status asc_mask_grid(asc_ctx *ctx, int64_t rows, int64_t cols, int64_t patch_rows,
                                              int64_t patch_cols, asc_array *out, int64_t *n);
/* Superpixels by SLIC: about `wanted` connected regions that follow the colours. compactness weighs distance
 * in pixels against distance in CIELAB (0 = 10). The same picture always gives the same regions. */
ASC_API ASC_MUST_USE asc_status asc_mask_superpixels(asc_ctx *ctx, const asc_image *image, int64_t wanted,
                                                     double compactness, asc_array *out, int64_t *n);

#ifdef __cplusplus
}
#endif
#endif
