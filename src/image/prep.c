/* prep.c - from a picture to the array of a net: size, normalisation, order of axes and channels. */
#include "image.h"
#include "view.h"
#include <string.h>

typedef struct preset {
    const char *name;
    double mean[3], deviation[3];
} preset;

static const preset presets[] = {
#define PRESET(name, mr, mg, mb, dr, dg, db, what) {name, {mr, mg, mb}, {dr, dg, db}},
    ASC_NORMALISATION_TABLE(PRESET)
#undef PRESET
};

/* The names of a table as "a, b, c". */
static asc_status no_such(asc_ctx *ctx, const char *what, const char *name, const char *const *names,
                          size_t n) {
    asc_strbuf b;
    asc_strbuf_init(&b, ctx);
    for (size_t i = 0; i < n; i++) asc_strbuf_addf(&b, "%s%s", i > 0 ? ", " : "", names[i]);
    ASC_FAIL(ctx, ASC_NOT_FOUND, "there is no %s '%.60s'", what, name);
    asc_status st = asc_hint(ctx, "one of: %s", b.failed || b.ptr == NULL ? "" : b.ptr);
    asc_strbuf_deinit(&b);
    return st;
}

asc_status asc_filter_by_name(asc_ctx *ctx, const char *name, asc_filter *out) {
    static const char *const names[ASC_N_FILTERS] = {
#define NAME(e, text) text,
        ASC_FILTER_TABLE(NAME)
#undef NAME
    };
    *out = ASC_FILTER_BILINEAR;
    for (size_t i = 0; i < ASC_N_FILTERS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (asc_filter)i;
            return ASC_OK;
        }
    return no_such(ctx, "filter", name, names, ASC_N_FILTERS);
}

/* Value of each byte in each channel. In f32, step by step as torchvision's ToTensor and Normalize. */
static asc_status value_table(asc_ctx *ctx, const asc_image_prep *prep, float table[3][256]) {
    const char *name = prep->normalise != NULL ? prep->normalise : "unit";
    const preset *p = NULL;
    const char *names[sizeof presets / sizeof *presets];
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        names[i] = presets[i].name;
        if (strcmp(name, names[i]) == 0) p = &presets[i];
    }
    if (p == NULL) return no_such(ctx, "normalisation", name, names, sizeof presets / sizeof *presets);
    const double *mean = prep->mean != NULL ? prep->mean : p->mean;
    const double *deviation = prep->deviation != NULL ? prep->deviation : p->deviation;
    float scale = strcmp(name, "none") == 0 ? 1.0f : 255.0f;
    for (int c = 0; c < 3; c++) {
        float m = (float)mean[c], d = (float)deviation[c];
        if (!(d > 0)) {
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the deviation of channel %d is %g", c, deviation[c]);
            return asc_hint(ctx, "deviations are above 0");
        }
        for (int b = 0; b < 256; b++) table[c][b] = ((float)b / scale - m) / d;
    }
    return ASC_OK;
}

static asc_status check_prep(asc_ctx *ctx, const asc_image_prep *p) {
    if (p->struct_size != sizeof *p)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "asc_image_prep: struct_size is %zu, not %zu",
                        p->struct_size, sizeof *p);
    bool exact = p->width != 0 || p->height != 0;
    if (exact && p->resize_short != 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a picture is resized to a size or by its shorter side");
    if ((p->width != 0) != (p->height != 0) || (p->crop_width != 0) != (p->crop_height != 0))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "width and height of a picture are given together");
    return ASC_OK;
}

asc_status asc_image_level(asc_ctx *ctx, const asc_image_prep *prep, int byte, float out[3]) {
    float table[3][256];
    asc_status st = check_prep(ctx, prep);
    if (st == ASC_OK) st = value_table(ctx, prep, table);
    if (st != ASC_OK) return st;
    if (byte < 0 || byte > 255) return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "%d is no byte of a picture", byte);
    for (int c = 0; c < 3; c++) out[c] = table[c][byte];
    return ASC_OK;
}

/* Pillow's conversion to "L": ITU-R 601 in 16 bits of fraction. */
static uint8_t grey_of(const uint8_t *rgb) {
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

static void fill(const asc_image *in, const asc_image_prep *p, float table[3][256], float *out) {
    size_t n = (size_t)(in->width * in->height), channels = p->grey ? 1 : 3;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *rgb = in->rgb + 3 * i;
        for (size_t c = 0; c < channels; c++) {
            size_t from = p->bgr ? 2 - c : c;
            float v = p->grey ? table[0][grey_of(rgb)] : table[from][rgb[from]];
            out[p->nhwc ? i * channels + c : c * n + i] = v;
        }
    }
}

static asc_status resized(asc_ctx *ctx, const asc_image *in, const asc_image_prep *p, asc_image *out) {
    if (p->resize_short != 0) return asc_image_resize_short(ctx, in, p->resize_short, p->filter, out);
    return asc_image_resize(ctx, in, p->width != 0 ? p->width : in->width,
                            p->height != 0 ? p->height : in->height, p->filter, out);
}

asc_status asc_image_to_array(asc_ctx *ctx, const asc_image *in, const asc_image_prep *prep, asc_array *out,
                              asc_image *shown) {
    asc_image sized = {0}, cut = {0};
    float table[3][256];
    asc_status st = ASC_OK;
    *out = (asc_array){0};
    if (shown != NULL) *shown = (asc_image){0};
    ASC_TRY(check_prep(ctx, prep));
    ASC_TRY(value_table(ctx, prep, table));
    ASC_TRY(resized(ctx, in, prep, &sized));
    if (prep->crop_width != 0) {
        ASC_TRY(asc_image_crop(ctx, &sized, prep->crop_width, prep->crop_height, &cut));
        asc_image_free(ctx, &sized);
        sized = cut;
        cut = (asc_image){0};
    }
    int64_t channels = prep->grey ? 1 : 3;
    float *data =
        asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)(sized.width * sized.height * channels), sizeof *data);
    if (data == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    fill(&sized, prep, table, data);
    *out = (asc_array){.elem = ASC_ELEM_F32, .data = data};
    out->shape = prep->nhwc ? ASC_SHAPE(1, sized.height, sized.width, channels)
                            : ASC_SHAPE(1, channels, sized.height, sized.width);
    if (shown != NULL) {
        *shown = sized;
        sized = (asc_image){0};
    }
done:
    asc_image_free(ctx, &sized);
    asc_image_free(ctx, &cut);
    return st;
}

asc_status asc_image_level_array(asc_ctx *ctx, const asc_image_prep *prep, int64_t width, int64_t height,
                                 int byte, asc_array *out) {
    asc_image flat = {0};
    asc_image_prep same = *prep;
    same.resize_short = same.width = same.height = same.crop_width = same.crop_height = 0;
    *out = (asc_array){0};
    if (byte < 0 || byte > 255) return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "%d is no byte of a picture", byte);
    asc_status st = asc_image_create(ctx, width, height, &flat);
    if (st == ASC_OK) {
        memset(flat.rgb, byte, (size_t)(width * height * 3));
        st = asc_image_to_array(ctx, &flat, &same, out, NULL);
    }
    asc_image_free(ctx, &flat);
    return st;
}
